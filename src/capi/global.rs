//! The functions without a context: their settings are the process's.

use super::compress::source_and_place;
use super::registry::{self, CODECS, c_name, code_of};
use crate::capi::prelude::*;
use oxiblosc::encoding;
use oxiblosc::format::chunk::ChunkInput;
use oxiblosc::format::chunk::getitem::ItemRange;
use oxiblosc::format::chunk::header::ChunkHeader;
use oxiblosc::process;

/// Begins the use of the library. Other functions do it by themselves where it is needed.
#[unsafe(no_mangle)]
pub extern "C" fn blosc2_init() {
    process::init();
}

/// Ends the use of the library: worker threads end, memory that was kept for the next call is
/// freed, and codecs, filters and tuners that the program registered are forgotten. Contexts stay
/// valid.
#[unsafe(no_mangle)]
pub extern "C" fn blosc2_destroy() {
    guard((), || {
        if process::destroy() {
            registry::clear();
        }
    });
}

/// Frees memory that is kept for the next call. Returns 0, or `BLOSC2_ERROR_FAILURE` if the library
/// was not initialized.
#[export]
pub extern "C" fn blosc2_free_resources() -> c_int {
    process::free_resources()
}

/// Sets how many bytes of memory the library keeps at most for the next call, while nothing needs
/// them, and frees what it keeps beyond that. At first that is what the environment variable
/// `BLOSC_KEPT_MEMORY` says, or 16 MiB. `blosc2_free_resources` and `blosc2_destroy` free all of
/// it. Returns the number before, or `BLOSC2_ERROR_INVALID_PARAM` for a negative one.
#[export]
pub extern "C" fn oxiblosc_set_kept_memory(nbytes: i64) -> i64 {
    let bytes = usize::try_from(nbytes).map_err(|_| Error::INVALID_PARAM)?;
    Ok(process::set_kept_memory(bytes) as u64)
}

/// Returns the number of threads that the functions without a context use.
#[unsafe(no_mangle)]
pub extern "C" fn blosc2_get_nthreads() -> i16 {
    process::nthreads()
}

/// Sets the number of threads, at least 1, that the functions without a context use. Returns the
/// number before, or `BLOSC2_ERROR_INVALID_PARAM`.
#[export]
pub extern "C" fn blosc2_set_nthreads(nthreads: i16) -> i16 {
    process::set_nthreads(nthreads)
}

/// Returns the name of the codec that the functions without a context use (not to be freed).
#[unsafe(no_mangle)]
pub extern "C" fn blosc1_get_compressor() -> *const c_char {
    guard(null(), || c_name(CODECS.name_of(process::compressor())))
}

/// Sets the codec that the functions without a context use, one of the built-in ones. Returns its
/// id, -1 if there is none of this name (later compressions then fail), or
/// `BLOSC2_ERROR_CODEC_SUPPORT` for a registered one.
///
/// # Safety
/// `compname` is a C string.
#[export]
pub unsafe extern "C" fn blosc1_set_compressor(compname: *const c_char) -> c_int {
    let compcode = code_of(text(compname).unwrap_or_default());
    process::set_compressor(compcode)
}

/// Sets whether the functions without a context apply the delta filter (1) or not (0).
#[unsafe(no_mangle)]
pub extern "C" fn blosc2_set_delta(dodelta: c_int) {
    process::set_delta(dodelta != 0);
}

/// Returns the block size that the functions without a context use; 0 means that it is chosen for
/// each buffer.
#[unsafe(no_mangle)]
pub extern "C" fn blosc1_get_blocksize() -> c_int {
    process::blocksize()
}

/// Sets the block size in bytes that the functions without a context use; 0 means that it is chosen
/// for each buffer.
#[unsafe(no_mangle)]
pub extern "C" fn blosc1_set_blocksize(blocksize: usize) {
    process::set_blocksize(blocksize as i32);
}

/// Sets when the functions without a context split blocks, `BLOSC_ALWAYS_SPLIT` and so on.
#[unsafe(no_mangle)]
pub extern "C" fn blosc1_set_splitmode(splitmode: c_int) {
    process::set_splitmode(splitmode);
}

/// Compresses without a context, with the process's settings, which environment variables override
/// (`BLOSC_CLEVEL`, `BLOSC_SHUFFLE`, `BLOSC_DELTA`, `BLOSC_TYPESIZE`, `BLOSC_COMPRESSOR`,
/// `BLOSC_BLOCKSIZE`, `BLOSC_NTHREADS`, `BLOSC_SPLITMODE`, `BLOSC_NOLOCK`, `BLOSC_BLOSC1_COMPAT`).
/// Returns the size of the chunk, 0 if it does not fit into `destsize` bytes, or a negative error
/// code.
///
/// # Safety
/// The buffers have the sizes given and do not overlap.
#[export]
pub unsafe extern "C" fn blosc2_compress(
    clevel: c_int,
    doshuffle: c_int,
    typesize: i32,
    src: *const c_void,
    srcsize: i32,
    dest: *mut c_void,
    destsize: i32,
) -> c_int {
    let buffers = || source_and_place(src, srcsize, dest, destsize);
    compress((clevel, doshuffle, typesize), buffers, or_zero(destsize))
}

/// Compresses data with the process's settings into a place of `capacity` bytes.
fn compress<'a>(
    (clevel, doshuffle, typesize): (c_int, c_int, i32),
    buffers: impl FnOnce() -> Result<(ChunkInput<'a>, Result<&'a mut [u8]>)>,
    capacity: usize,
) -> Result<usize> {
    let call = process::compression(clevel, doshuffle, typesize, code_of)?;
    let ctx = Context::zeroed();
    ctx.set_parameters(&call.parameters, call.nthreads);
    let (source, dest) = buffers()?;
    let header = encoding::compress(&ctx, source, dest, capacity, call.format)?;
    Ok(header.map_or(0, |header| header.cbytes))
}

/// As `blosc2_compress`, with sizes as Blosc 1 counts them.
///
/// # Safety
/// As for `blosc2_compress`.
#[export]
pub unsafe extern "C" fn blosc1_compress(
    clevel: c_int,
    doshuffle: c_int,
    typesize: usize,
    nbytes: usize,
    src: *const c_void,
    dest: *mut c_void,
    destsize: usize,
) -> c_int {
    let (typesize, nbytes, destsize) = (c_size(typesize), c_size(nbytes), c_size(destsize));
    let buffers = || source_and_place(src, nbytes, dest, destsize);
    compress((clevel, doshuffle, typesize), buffers, or_zero(destsize))
}

/// Decompresses without a context, with the process's number of threads, which `BLOSC_NTHREADS`
/// overrides. Returns the size of the data, or a negative error code.
///
/// # Safety
/// `src` points to a chunk, or to `srcsize` bytes if those are fewer; `dest` has `destsize` bytes.
#[export]
pub unsafe extern "C" fn blosc2_decompress(
    src: *const c_void,
    srcsize: i32,
    dest: *mut c_void,
    destsize: i32,
) -> c_int {
    decompress(src, srcsize, dest, destsize)
}

/// Decompresses with the settings of the process; gives the size of the data.
///
/// # Safety
/// As for [`blosc2_decompress`].
unsafe fn decompress(
    src: *const c_void,
    srcsize: i32,
    dest: *mut c_void,
    destsize: i32,
) -> Result<usize> {
    let ctx = Context::zeroed();
    ctx.new_nthreads.set(process::nthreads_of_decompression()?);
    unsafe_granted!(ctx.decompress(src, srcsize, dest, destsize))
}

/// As `blosc2_decompress`, for a chunk whose size only its header tells. Do not use it on data from
/// elsewhere: a chunk that was cut short is read past its end.
///
/// # Safety
/// `src` points to a whole chunk; `dest` has `destsize` bytes.
#[export]
pub unsafe extern "C" fn blosc1_decompress(
    src: *const c_void,
    dest: *mut c_void,
    destsize: usize,
) -> c_int {
    let destsize = c_size(destsize);
    decompress(src, i32::MAX, dest, destsize)
}

/// As `blosc2_getitem`, for a chunk whose size only its header tells, and a destination with room
/// for the items.
///
/// # Safety
/// `src` points to a whole chunk; `dest` has room for `nitems` items.
#[export]
pub unsafe extern "C" fn blosc1_getitem(
    src: *const c_void,
    start: c_int,
    nitems: c_int,
    dest: *mut c_void,
) -> c_int {
    let range = |header: &ChunkHeader| ItemRange::new(header, start, nitems, i32::MAX);
    Context::zeroed().getitem(src, i32::MAX, range, dest, i32::MAX)
}
