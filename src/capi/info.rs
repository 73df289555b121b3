//! What a chunk's header says, what the library is made of, and what time it is.

use super::registry::{CODECS, c_name};
use crate::capi::prelude::*;
use oxiblosc::codec::Codec;
use oxiblosc::format::chunk::header::{ChunkHeader, MIN_HEADER_LENGTH};
use oxiblosc_base::memory::CStrBuf;
use oxiblosc_base::system::clock;

/// The part of a header that every chunk has.
///
/// # Safety
/// `cbuffer` is null or has 16 bytes.
unsafe fn basic_header(cbuffer: *const c_void) -> Result<ChunkHeader> {
    ChunkHeader::parse_basic(unsafe_granted!(bytes(cbuffer.cast(), MIN_HEADER_LENGTH)?))
}

/// Gives the sizes in a header, as `T` counts them; zeros for one that cannot be right.
///
/// # Safety
/// As for [`basic_header`]; each place is null or can be written.
unsafe fn give_sizes<T>(
    cbuffer: *const c_void,
    places: [*mut T; 3],
    count: fn(usize) -> T,
) -> Result<()> {
    let header = unsafe_granted!(basic_header(cbuffer));
    let sizes = header.as_ref();
    let sizes = sizes.map_or([0; 3], |h| [h.nbytes, h.cbytes, h.blocksize_field()]);
    for (place, size) in places.into_iter().zip(sizes) {
        unsafe_granted!(give(place, count(size)));
    }
    header.map(|_| ())
}

/// Gives the sizes in the header of a chunk: its data (`nbytes`), itself (`cbytes`), a block; all 0
/// if the header cannot be right. Each pointer may be NULL. Returns 0 or a negative error code.
///
/// # Safety
/// `cbuffer` has 16 bytes.
#[export]
pub unsafe extern "C" fn blosc2_cbuffer_sizes(
    cbuffer: *const c_void,
    nbytes: *mut i32,
    cbytes: *mut i32,
    blocksize: *mut i32,
) -> c_int {
    give_sizes(cbuffer, [nbytes, cbytes, blocksize], |size| size as i32)
}

/// As `blosc2_cbuffer_sizes`, for sizes as Blosc 1 counts them.
///
/// # Safety
/// `cbuffer` has 16 bytes; the pointers are NULL or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blosc1_cbuffer_sizes(
    cbuffer: *const c_void,
    nbytes: *mut usize,
    cbytes: *mut usize,
    blocksize: *mut usize,
) {
    unsafe_granted!(guard((), || {
        let places = [nbytes, cbytes, blocksize];
        // The zeros say what is wrong.
        let _ = give_sizes(cbuffer, places, |size| size);
    }));
}

/// Whether `cbytes` bytes can be a chunk as far as its header tells: 0, and the size of the data in
/// `*nbytes`; or a negative error code, and 0.
///
/// # Safety
/// `cbuffer` has `cbytes` bytes; `nbytes` can be written.
#[export]
pub unsafe extern "C" fn blosc1_cbuffer_validate(
    cbuffer: *const c_void,
    cbytes: usize,
    nbytes: *mut usize,
) -> c_int {
    // A chunk that is too short is not looked at.
    let seen = cbytes >= MIN_HEADER_LENGTH;
    let prefix = bytes(cbuffer.cast(), if seen { MIN_HEADER_LENGTH } else { 0 });
    let result = prefix.and_then(|prefix| ChunkHeader::validate(prefix, cbytes));
    give(nbytes, result.unwrap_or(0));
    result.map(|_| 0)
}

/// Gives the typesize and the flags in the header of a chunk (bits `BLOSC_DOSHUFFLE`,
/// `BLOSC_MEMCPYED`, ...), or zeros if the header cannot be right.
///
/// # Safety
/// `cbuffer` has 16 bytes; the pointers can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blosc1_cbuffer_metainfo(
    cbuffer: *const c_void,
    typesize: *mut usize,
    flags: *mut c_int,
) {
    unsafe_granted!(guard((), || {
        let info = basic_header(cbuffer).map_or((0, 0), |h| (h.typesize, h.flags));
        give(typesize, info.0.into());
        give(flags, info.1.into());
    }));
}

/// Gives the versions of the chunk's format and of its codec's format, or zeros if the header
/// cannot be right.
///
/// # Safety
/// `cbuffer` has 16 bytes; the pointers can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blosc2_cbuffer_versions(
    cbuffer: *const c_void,
    version: *mut c_int,
    versionlz: *mut c_int,
) {
    unsafe_granted!(guard((), || {
        let info = basic_header(cbuffer).map_or((0, 0), |h| (h.version, h.versionlz));
        give(version, info.0.into());
        give(versionlz, info.1.into());
    }));
}

/// Returns the name of the library that reads a chunk's streams (the library's, not to be freed),
/// or NULL.
///
/// # Safety
/// `cbuffer` has 16 bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blosc2_cbuffer_complib(cbuffer: *const c_void) -> *const c_char {
    unsafe_granted!(guard(null(), || {
        let header = basic_header(cbuffer).ok();
        c_name(header.and_then(|h| CODECS.library_name(c_int::from(h.flags >> 5))))
    }))
}

/// Returns the names of the built-in codecs, separated by commas (the library's, not to be freed).
#[unsafe(no_mangle)]
pub extern "C" fn blosc2_list_compressors() -> *const c_char {
    const NAMES: &CStr = c"blosclz,lz4,lz4hc,zlib,zstd";
    NAMES.as_ptr()
}

/// Returns the version of the library this one stands for, `BLOSC2_VERSION_STRING` (not to be
/// freed).
#[unsafe(no_mangle)]
pub extern "C" fn blosc2_get_version_string() -> *const c_char {
    BLOSC2_VERSION_STRING.as_ptr()
}

/// Returns what an error code means (the library's text, not to be freed).
#[unsafe(no_mangle)]
pub extern "C" fn blosc2_error_string(error_code: c_int) -> *const c_char {
    let error = Error::known(error_code);
    error.map_or(c"Unknown error", Error::message).as_ptr()
}

/// Gives the name and version of the library that a codec comes from, in buffers that the caller
/// frees with `free()`. Returns the library's code, or `BLOSC2_ERROR_NOT_FOUND` and NULLs for a
/// codec that is not there.
///
/// # Safety
/// `compname` is a C string; the other pointers can be written.
#[export]
pub unsafe extern "C" fn blosc2_get_complib_info(
    compname: *const c_char,
    complib: *mut *mut c_char,
    version: *mut *mut c_char,
) -> c_int {
    give(complib, null_mut());
    give(version, null_mut());
    let name = text(compname).unwrap_or_default();
    let library = CODECS.library_of(name).ok_or(Error::NOT_FOUND)?;
    let library_name = CODECS.library_name(library).ok_or(Error::NOT_FOUND)?;
    let known = Codec::from_name(name).map_or("unknown", Codec::library_version);
    let library_name = CStrBuf::to_buffer(library_name.to_bytes())?;
    give(version, CStrBuf::to_malloc(known.as_bytes())?);
    give(complib, library_name.into_raw().cast());
    Ok(library)
}

/// Sets a timestamp to now, on a clock that only goes forward.
///
/// # Safety
/// `timestamp` can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blosc_set_timestamp(timestamp: *mut blosc_timestamp_t) {
    if let Some(timestamp) = unsafe_granted!(timestamp.as_mut()) {
        clock::now(timestamp);
    }
}

/// Returns the nanoseconds from one timestamp to another.
#[unsafe(no_mangle)]
pub extern "C" fn blosc_elapsed_nsecs(
    start_time: blosc_timestamp_t,
    end_time: blosc_timestamp_t,
) -> f64 {
    clock::nanoseconds(start_time, end_time)
}

/// Returns the seconds from one timestamp to another.
#[unsafe(no_mangle)]
pub extern "C" fn blosc_elapsed_secs(
    start_time: blosc_timestamp_t,
    end_time: blosc_timestamp_t,
) -> f64 {
    1e-9 * clock::nanoseconds(start_time, end_time)
}
