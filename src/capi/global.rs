//! The functions without a context: their settings are the process's.
//!
//! The settings are single atomics, and every call works on a context of its own, so calls from several threads do
//! not wait for each other, and a child after `fork` never finds a lock taken.

use super::compress::{Format, buffers};
use super::context::{self, Context};
use super::decompress::getitem_of;
use super::registry;
use crate::capi::prelude::*;
use oxiblosc_chunk::scratch;
use oxiblosc_core::environment::Overrides;
use oxiblosc_core::params::{Shuffle, set_shuffle};
use oxiblosc_core::schunk::operation;
use oxiblosc_memory::env;
use oxiblosc_pool as pool;
use std::sync::atomic::{AtomicBool, AtomicI16, AtomicI32, Ordering::Relaxed};

static INITIALIZED: AtomicBool = AtomicBool::new(false);
static COMPRESSOR: AtomicI32 = AtomicI32::new(BLOSC_BLOSCLZ);
static DELTA: AtomicI32 = AtomicI32::new(0);
static SPLITMODE: AtomicI32 = AtomicI32::new(BLOSC_FORWARD_COMPAT_SPLIT);
static NTHREADS: AtomicI16 = AtomicI16::new(1);
static BLOCKSIZE: AtomicI32 = AtomicI32::new(0);

/// Whether the use of the library has begun, and not ended.
pub(super) fn is_initialized() -> bool {
    INITIALIZED.load(Relaxed)
}

/// Begins the use of the library. Other functions do it by themselves where it is needed.
#[unsafe(no_mangle)]
pub extern "C" fn blosc2_init() {
    init();
}

/// Begins the use of the library, if it has not begun.
fn init() {
    INITIALIZED.store(true, Relaxed);
}

/// Ends the use of the library: worker threads end, memory that was kept for the next call is freed, and codecs,
/// filters and tuners that the program registered are forgotten. Contexts stay valid.
#[unsafe(no_mangle)]
pub extern "C" fn blosc2_destroy() {
    guard((), || {
        if INITIALIZED.swap(false, Relaxed) {
            registry::clear();
        }
        pool::shutdown();
        scratch::release();
        operation::forget_thread();
    });
}

/// Frees memory that is kept for the next call. Returns 0, or `BLOSC2_ERROR_FAILURE` if the library was not
/// initialized.
#[unsafe(no_mangle)]
pub extern "C" fn blosc2_free_resources() -> c_int {
    code("blosc2_free_resources", || {
        if !INITIALIZED.load(Relaxed) {
            return Err(Error::Failure);
        }
        scratch::release();
        Ok(0)
    })
}

/// Returns the number of threads that the functions without a context use.
#[unsafe(no_mangle)]
pub extern "C" fn blosc2_get_nthreads() -> i16 {
    get_nthreads()
}

/// The number of threads that the functions without a context use.
pub fn get_nthreads() -> i16 {
    init();
    NTHREADS.load(Relaxed)
}

/// Sets the number of threads, at least 1, that the functions without a context use. Returns the number before, or
/// `BLOSC2_ERROR_INVALID_PARAM`.
#[unsafe(no_mangle)]
pub extern "C" fn blosc2_set_nthreads(nthreads: i16) -> i16 {
    init();
    if nthreads <= 0 {
        return Error::InvalidParam.code() as i16;
    }
    NTHREADS.swap(nthreads, Relaxed)
}

/// Returns the name of the codec that the functions without a context use (not to be freed).
#[unsafe(no_mangle)]
pub extern "C" fn blosc1_get_compressor() -> *const c_char {
    init();
    guard(null(), || {
        registry::compname_of(COMPRESSOR.load(Relaxed)).map_or(null(), CStr::as_ptr)
    })
}

/// Sets the codec that the functions without a context use, one of the built-in ones. Returns its id, -1 if there is
/// none of this name (later compressions then fail), or `BLOSC2_ERROR_CODEC_SUPPORT` for a registered one.
///
/// # Safety
/// `compname` is a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blosc1_set_compressor(compname: *const c_char) -> c_int {
    guard(-1, || {
        let name = unsafe_granted!(text(compname));
        set_compressor(name.unwrap_or_default())
    })
}

fn set_compressor(name: &str) -> c_int {
    init();
    let compcode = registry::compcode_of(name);
    if compcode >= BLOSC_LAST_CODEC {
        env::trace(
            "error",
            "user-defined codecs can only be used through a context",
        );
        return Error::CodecSupport.code();
    }
    COMPRESSOR.store(compcode, Relaxed);
    compcode
}

/// Sets whether the functions without a context apply the delta filter (1) or not (0).
#[unsafe(no_mangle)]
pub extern "C" fn blosc2_set_delta(dodelta: c_int) {
    init();
    DELTA.store(dodelta, Relaxed);
}

/// Returns the block size that the functions without a context use; 0 means that it is chosen for each buffer.
#[unsafe(no_mangle)]
pub extern "C" fn blosc1_get_blocksize() -> c_int {
    init();
    BLOCKSIZE.load(Relaxed)
}

/// Sets the block size in bytes that the functions without a context use; 0 means that it is chosen for each buffer.
#[unsafe(no_mangle)]
pub extern "C" fn blosc1_set_blocksize(blocksize: usize) {
    init();
    BLOCKSIZE.store(blocksize as i32, Relaxed);
}

/// Sets when the functions without a context split blocks, `BLOSC_ALWAYS_SPLIT` and so on.
#[unsafe(no_mangle)]
pub extern "C" fn blosc1_set_splitmode(splitmode: c_int) {
    init();
    SPLITMODE.store(splitmode, Relaxed);
}

/// Compresses without a context, with the process's settings, which environment variables override (`BLOSC_CLEVEL`,
/// `BLOSC_SHUFFLE`, `BLOSC_DELTA`, `BLOSC_TYPESIZE`, `BLOSC_COMPRESSOR`, `BLOSC_BLOCKSIZE`, `BLOSC_NTHREADS`,
/// `BLOSC_SPLITMODE`, `BLOSC_NOLOCK`, `BLOSC_BLOSC1_COMPAT`). Returns the size of the chunk, 0 if it does not fit into
/// `destsize` bytes, or a negative error code.
///
/// # Safety
/// The buffers have the sizes given and do not overlap.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blosc2_compress(
    clevel: c_int,
    doshuffle: c_int,
    typesize: i32,
    src: *const c_void,
    srcsize: i32,
    dest: *mut c_void,
    destsize: i32,
) -> c_int {
    unsafe_granted!(compress(
        clevel, doshuffle, typesize, src, srcsize, dest, destsize
    ))
}

/// See [`blosc2_compress`].
///
/// # Safety
/// As for that.
unsafe fn compress(
    clevel: c_int,
    doshuffle: c_int,
    typesize: i32,
    src: *const c_void,
    srcsize: i32,
    dest: *mut c_void,
    destsize: i32,
) -> c_int {
    code("blosc2_compress", || {
        init();
        let env = Overrides::read();
        let clevel = env.level.unwrap_or(clevel);
        let doshuffle = env.shuffle.or_else(|| Shuffle::from_code(doshuffle));
        let typesize = env.typesize.unwrap_or(typesize);
        env::get(c"BLOSC_COMPRESSOR", set_compressor);
        // What the environment says otherwise stays the process's.
        if let Some(delta) = env.delta {
            DELTA.store(delta.into(), Relaxed);
        }
        if let Some(blocksize) = env.blocksize {
            BLOCKSIZE.store(blocksize, Relaxed);
        }
        if let Some(nthreads) = env.nthreads {
            NTHREADS.store(nthreads, Relaxed);
        }
        if let Some(split) = env.split {
            SPLITMODE.store(split as c_int, Relaxed);
        }
        let mut filters = [0; 6];
        let delta = DELTA.load(Relaxed) != 0;
        if env::is_set(c"BLOSC_NOLOCK") {
            let mut cparams = blosc2_cparams::defaults();
            set_shuffle(&mut cparams.filters, doshuffle, delta, typesize);
            cparams.typesize = i32::from(typesize as u8);
            cparams.compcode = COMPRESSOR.load(Relaxed) as u8;
            cparams.clevel = clevel as u8;
            cparams.nthreads = NTHREADS.load(Relaxed);
            cparams.splitmode = SPLITMODE.load(Relaxed);
            let ctx = unsafe_granted!(context::compression(cparams)?);
            let (source, dest) = unsafe_granted!(buffers(src, srcsize, dest, destsize)?);
            return ctx.compress(source, dest, destsize, Format::Blosc2);
        }
        set_shuffle(&mut filters, doshuffle, delta, typesize);
        let ctx = Context::zeroed();
        ctx.filters.set(filters);
        ctx.clevel.set(clevel);
        ctx.typesize.set(typesize);
        ctx.compcode.set(COMPRESSOR.load(Relaxed));
        ctx.blocksize.set(BLOCKSIZE.load(Relaxed));
        ctx.nthreads.set(NTHREADS.load(Relaxed));
        ctx.new_nthreads.set(ctx.nthreads.get());
        ctx.splitmode.set(SPLITMODE.load(Relaxed));
        let format = match env::is_set(c"BLOSC_BLOSC1_COMPAT") {
            true => Format::Blosc1,
            false => Format::Blosc2,
        };
        let (source, dest) = unsafe_granted!(buffers(src, srcsize, dest, destsize)?);
        ctx.compress(source, dest, destsize, format)
    })
}

/// As `blosc2_compress`, with sizes as Blosc 1 counts them.
///
/// # Safety
/// As for `blosc2_compress`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blosc1_compress(
    clevel: c_int,
    doshuffle: c_int,
    typesize: usize,
    nbytes: usize,
    src: *const c_void,
    dest: *mut c_void,
    destsize: usize,
) -> c_int {
    let capped = |size: usize| i32::try_from(size).unwrap_or(i32::MAX);
    let (typesize, nbytes, destsize) = (capped(typesize), capped(nbytes), capped(destsize));
    unsafe_granted!(compress(
        clevel, doshuffle, typesize, src, nbytes, dest, destsize
    ))
}

/// Decompresses without a context, with the process's number of threads, which `BLOSC_NTHREADS` overrides. Returns the
/// size of the data, or a negative error code.
///
/// # Safety
/// `src` points to a chunk, or to `srcsize` bytes if those are fewer; `dest` has `destsize` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blosc2_decompress(
    src: *const c_void,
    srcsize: i32,
    dest: *mut c_void,
    destsize: i32,
) -> c_int {
    unsafe_granted!(decompress(src, srcsize, dest, destsize))
}

/// See [`blosc2_decompress`].
///
/// # Safety
/// As for that.
unsafe fn decompress(src: *const c_void, srcsize: i32, dest: *mut c_void, destsize: i32) -> c_int {
    code("blosc2_decompress", || {
        init();
        if let Some(nthreads) = env::number(c"BLOSC_NTHREADS") {
            let nthreads = i16::try_from(nthreads)
                .ok()
                .filter(|n| *n > 0)
                .ok_or(Error::InvalidParam)?;
            NTHREADS.store(nthreads, Relaxed);
        }
        let ctx = Context::zeroed();
        ctx.new_nthreads.set(NTHREADS.load(Relaxed));
        unsafe_granted!(ctx.decompress(src, srcsize, dest, destsize))
    })
}

/// As `blosc2_decompress`, for a chunk whose size only its header tells. Do not use it on data from elsewhere: a
/// chunk that was cut short is read past its end.
///
/// # Safety
/// `src` points to a whole chunk; `dest` has `destsize` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blosc1_decompress(
    src: *const c_void,
    dest: *mut c_void,
    destsize: usize,
) -> c_int {
    let destsize = i32::try_from(destsize).unwrap_or(i32::MAX);
    unsafe_granted!(decompress(src, i32::MAX, dest, destsize))
}

/// As `blosc2_getitem`, for a chunk whose size only its header tells, and a destination with room for the items.
///
/// # Safety
/// `src` points to a whole chunk; `dest` has room for `nitems` items.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blosc1_getitem(
    src: *const c_void,
    start: c_int,
    nitems: c_int,
    dest: *mut c_void,
) -> c_int {
    unsafe_granted!(getitem_of(src, i32::MAX, start, nitems, dest, i32::MAX))
}
