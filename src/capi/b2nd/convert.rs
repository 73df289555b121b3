//! Arrays out of and into buffers and files.

use super::array::{self, ArrayGuard};
use super::context::Params;
use super::create::{adopt, deliver, make};
use crate::capi::prelude::*;
use crate::capi::schunk::convert::{copy_apart, from_buffer, to_buffer, with_file};
use crate::capi::schunk::create as schunk;
use crate::capi::schunk::handle;
use oxiblosc::b2nd::geometry::check_capacity;
use oxiblosc::format::chunk::header::Special;
use oxiblosc::schunk::save::Savable;

/// Makes an array of a super-chunk that was just opened. Frees the super-chunk if it is no array.
///
/// # Safety
/// `sc` is null or valid.
unsafe fn own(sc: Result<*mut blosc2_schunk>, missing: Error) -> Result<*mut b2nd_array_t> {
    let sc = sc.map_err(|error| error.or(missing))?;
    unsafe_granted!({
        adopt(sc).inspect_err(|_| {
            handle::free(sc);
        })
    })
}

/// Writes an array as a contiguous frame in a buffer. Where `*needs_free` is set, the program frees
/// `*cframe` with `free`; else the buffer is the array's, until that changes. Returns 0, or a
/// negative error code.
///
/// # Safety
/// The pointers are NULL or valid.
#[export]
pub unsafe extern "C" fn b2nd_to_cframe(
    array: *const b2nd_array_t,
    cframe: *mut *mut u8,
    cframe_len: *mut i64,
    needs_free: *mut bool,
) -> c_int {
    not_null!(array, cframe, cframe_len, needs_free)?;
    let len = to_buffer(array::shown(array), &mut *cframe, &mut *needs_free);
    *cframe_len = len.map_or_else(|error| error.code().into(), |len| len as i64);
    len.map(|_| 0).map_err(Error::or_failure)
}

/// Makes an array of a contiguous frame of `cframe_len` bytes; `copy` as in
/// `blosc2_schunk_from_buffer`. Returns 0, or a negative error code; `*array` is then NULL.
///
/// # Safety
/// The pointers are NULL or valid; `cframe` has `cframe_len` bytes.
#[export]
pub unsafe extern "C" fn b2nd_from_cframe(
    cframe: *mut u8,
    cframe_len: i64,
    copy: bool,
    array: *mut *mut b2nd_array_t,
) -> c_int {
    not_null!(cframe)?;
    deliver(array, || {
        own(from_buffer(cframe, cframe_len, copy), Error::FAILURE)
    })
}

/// Opens an array for C.
///
/// # Safety
/// The pointers are null or valid.
unsafe fn open(urlpath: *const c_char, offset: i64, array: *mut *mut b2nd_array_t) -> Result<()> {
    not_null!(urlpath)?;
    let open = || {
        unsafe_granted!(own(
            schunk::open(urlpath, offset, null()),
            Error::NULL_POINTER
        ))
    };
    unsafe_granted!(deliver(array, open))
}

/// Opens the array at `urlpath`, a file or a directory. Returns 0, or a negative error code;
/// `*array` is then NULL.
///
/// # Safety
/// The pointers are NULL or valid.
#[export]
pub unsafe extern "C" fn b2nd_open(urlpath: *const c_char, array: *mut *mut b2nd_array_t) -> c_int {
    open(urlpath, 0, array)
}

/// As `b2nd_open`, for an array that begins `offset` bytes into a file.
///
/// # Safety
/// As for `b2nd_open`.
#[export]
pub unsafe extern "C" fn b2nd_open_offset(
    urlpath: *const c_char,
    array: *mut *mut b2nd_array_t,
    offset: i64,
) -> c_int {
    open(urlpath, offset, array)
}

/// Writes a copy of an array to `urlpath`, where nothing may be yet: a file, or a directory if the
/// array's chunks are each on their own. Returns 0, or a negative error code.
///
/// # Safety
/// The pointers are NULL or valid.
#[export]
pub unsafe extern "C" fn b2nd_save(array: *const b2nd_array_t, urlpath: *mut c_char) -> c_int {
    not_null!(urlpath)?;
    let array = ArrayGuard::open(array, false)?;
    let (shown, path) = (array.shown, CStr::from_ptr(urlpath));
    let copied = copy_apart(shown, Some(path), shown.storage().contiguous);
    copied.map(drop).map_err(Error::or_failure)
}

/// Appends an array to a file as a contiguous frame; `b2nd_open_offset` opens it there. Returns
/// where it begins in the file, or a negative error code.
///
/// # Safety
/// The pointers are NULL or valid.
#[export]
pub unsafe extern "C" fn b2nd_save_append(
    array: *const b2nd_array_t,
    urlpath: *const c_char,
) -> i64 {
    not_null!(array)?;
    with_file((*array).sc, urlpath, Handle::append_to)
}

/// Makes an array of the items at `buffer`, in C order; `buffersize` is at least their size.
/// Returns 0, or a negative error code; `*array` is then NULL.
///
/// # Safety
/// The pointers are NULL or valid; `buffer` has `buffersize` bytes.
#[export]
pub unsafe extern "C" fn b2nd_from_cbuffer(
    ctx: *mut b2nd_context_t,
    array: *mut *mut b2nd_array_t,
    buffer: *const c_void,
    buffersize: i64,
) -> c_int {
    let params = Params::from_c(ctx)?;
    not_null!(buffer)?;
    deliver(array, || {
        let typesize = params.storage.cparams().typesize;
        check_capacity(params.shapes().0, typesize, buffersize)?;
        let buffer = bytes(buffer.cast(), size(buffersize)?)?;
        make(params, Special::Zero, &mut |array| array.write_all(buffer))
    })
}

/// Reads all items of an array into `buffer`, in C order; `buffersize` is at least their size.
/// Returns 0, or a negative error code.
///
/// # Safety
/// The pointers are NULL or valid; `buffer` has `buffersize` bytes.
#[export]
pub unsafe extern "C" fn b2nd_to_cbuffer(
    array: *const b2nd_array_t,
    buffer: *mut c_void,
    buffersize: i64,
) -> c_int {
    not_null!(buffer)?;
    let array = ArrayGuard::open(array, false)?;
    let nitems = array.geometry.nitems;
    check_capacity(&[nitems], array.typesize, buffersize)?;
    if nitems == 0 {
        return Ok(());
    }
    array.read_all(bytes_mut(buffer.cast(), size(buffersize)?)?)
}
