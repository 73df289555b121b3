//! The settings of the process, for functions that do not take settings as arguments.
//!
//! Each is an atomic. No call waits for another, so there is no lock that a `fork` could leave
//! locked, and the environment variable `BLOSC_NOLOCK` has no effect.

use super::blocks::FORWARD_COMPAT;
use super::border::FAILED;
use super::compressors::{BLOSCLZ, code_of, name_of};
use super::snappy;
use oxiblosc_border::{guard, text};
use oxiblosc_chunk::scratch;
use std::ffi::{CStr, c_char, c_int};
use std::ptr::null;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering::Relaxed};

static INITIALIZED: AtomicBool = AtomicBool::new(false);
/// The code of the compressor; -1 after it was set to an unknown name.
static COMPRESSOR: AtomicI32 = AtomicI32::new(BLOSCLZ);
static NTHREADS: AtomicI32 = AtomicI32::new(1);
static BLOCKSIZE: AtomicI32 = AtomicI32::new(0);
static SPLITMODE: AtomicI32 = AtomicI32::new(FORWARD_COMPAT);

/// Marks the library as in use.
pub fn init() {
    INITIALIZED.store(true, Relaxed);
}

/// The code of the compressor.
pub fn compressor() -> c_int {
    COMPRESSOR.load(Relaxed)
}

/// Sets the compressor. Returns its code, or -1.
pub fn set_compressor(name: &str) -> c_int {
    init();
    let code = code_of(name).unwrap_or(FAILED);
    COMPRESSOR.store(code, Relaxed);
    code
}

/// The number of threads.
pub fn nthreads() -> c_int {
    NTHREADS.load(Relaxed)
}

/// Sets the number of threads. Returns the previous number.
pub fn set_nthreads(nthreads: c_int) -> c_int {
    init();
    NTHREADS.swap(nthreads, Relaxed)
}

/// The size of a block; 0 if it is chosen automatically.
pub fn blocksize() -> c_int {
    BLOCKSIZE.load(Relaxed)
}

/// Sets the size of a block. A size that does not fit into an `int` is truncated, as in c-blosc.
pub fn set_blocksize(blocksize: usize) {
    BLOCKSIZE.store(blocksize as c_int, Relaxed);
}

/// The split mode.
pub fn splitmode() -> c_int {
    SPLITMODE.load(Relaxed)
}

/// Sets the split mode.
pub fn set_splitmode(mode: c_int) {
    SPLITMODE.store(mode, Relaxed);
}

/// Ends the worker threads and frees the memory that is kept for the next call.
fn release() {
    oxiblosc_pool::shutdown();
    scratch::release();
    snappy::release();
}

/// Initialises the library. Programs need not call it, since the other functions initialise the
/// library if that is necessary.
#[unsafe(no_mangle)]
pub extern "C" fn blosc_init() {
    init();
}

/// Ends the worker threads, and frees the memory that is kept between calls. The settings stay, and
/// the library can be used again.
#[unsafe(no_mangle)]
pub extern "C" fn blosc_destroy() {
    guard((), || {
        if INITIALIZED.swap(false, Relaxed) {
            release();
        }
    });
}

/// Ends the worker threads, and frees the memory that is kept between calls. The next call creates
/// both again if it needs them. Returns 0, or -1 if the library is not initialised.
#[unsafe(no_mangle)]
pub extern "C" fn blosc_free_resources() -> c_int {
    guard(FAILED, || {
        if !INITIALIZED.load(Relaxed) {
            return FAILED;
        }
        release();
        0
    })
}

/// Returns the number of threads that `blosc_compress` and `blosc_decompress` use.
#[unsafe(no_mangle)]
pub extern "C" fn blosc_get_nthreads() -> c_int {
    nthreads()
}

/// Sets the number of threads that `blosc_compress` and `blosc_decompress` use, 1 to
/// `BLOSC_MAX_THREADS`. Returns the previous number.
#[unsafe(no_mangle)]
pub extern "C" fn blosc_set_nthreads(nthreads: c_int) -> c_int {
    set_nthreads(nthreads)
}

/// Returns the name of the compressor that `blosc_compress` uses, or NULL if the program has set
/// one that does not exist. The library owns the name.
#[unsafe(no_mangle)]
pub extern "C" fn blosc_get_compressor() -> *const c_char {
    name_of(compressor()).map_or(null(), CStr::as_ptr)
}

/// Sets the compressor that `blosc_compress` uses, by name. Returns its code, or -1 if it does not
/// exist: then `blosc_compress` fails until another compressor is set.
///
/// # Safety
/// `compname` is a C string, or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blosc_set_compressor(compname: *const c_char) -> c_int {
    guard(FAILED, || {
        // SAFETY: a C string or null, by `# Safety`; `text` takes both.
        let name = unsafe { text(compname) };
        set_compressor(name.unwrap_or_default())
    })
}

/// Returns the block size that `blosc_compress` uses, in bytes; 0 if the library chooses it for
/// each buffer.
#[unsafe(no_mangle)]
pub extern "C" fn blosc_get_blocksize() -> c_int {
    blocksize()
}

/// Sets the block size that `blosc_compress` uses, in bytes; with 0 the library chooses it for each
/// buffer. Blocks that are split may be larger.
#[unsafe(no_mangle)]
pub extern "C" fn blosc_set_blocksize(blocksize: usize) {
    set_blocksize(blocksize);
}

/// Sets the mode in which blocks are split into one stream for each byte of an item:
/// `BLOSC_ALWAYS_SPLIT`, `BLOSC_NEVER_SPLIT`, `BLOSC_AUTO_SPLIT`, or `BLOSC_FORWARD_COMPAT_SPLIT`,
/// which is the default. `blosc_compress_ctx` uses the mode, too.
#[unsafe(no_mangle)]
pub extern "C" fn blosc_set_splitmode(splitmode: c_int) {
    set_splitmode(splitmode);
}
