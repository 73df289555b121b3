//! LZ4 and LZ4HC. Compressing and decompressing both is our own code; the LZ4 library compresses LZ4 with a dictionary.

mod chain;
mod compress;
mod decompress;
mod high;
mod lazy;
mod mid;
mod seen;
mod sequences;
mod short;
mod writer;

#[cfg(feature = "blosc1")]
pub(super) use compress::{SHORT_REACH, match_end, match_len_backward, short_match};
#[cfg(feature = "blosc1")]
pub(super) use decompress::MF_LIMIT;
pub(super) use high::{High, HighDict};

use core::ffi::{CStr, c_char, c_int, c_void};
use core::ptr::NonNull;

// The crate builds and links the library, but does not declare all functions that are used here.
use lz4_sys as _;

use super::{PaddedDst, PaddedSrc};
use oxiblosc_error::{Error, Result};

/// Size of the library's `LZ4_stream_t`, plain memory without pointers into itself, so that it can be copied.
const STREAM_SIZE: usize = (1 << 14) + 32;

unsafe extern "C" {
    fn LZ4_versionString() -> *const c_char;
    fn LZ4_createStream() -> *mut c_void;
    fn LZ4_freeStream(stream: *mut c_void) -> c_int;
    fn LZ4_loadDict(stream: *mut c_void, dict: *const c_char, size: c_int) -> c_int;
    fn LZ4_compress_fast_continue(
        stream: *mut c_void,
        src: *const c_char,
        dst: *mut c_char,
        src_size: c_int,
        dst_capacity: c_int,
        acceleration: c_int,
    ) -> c_int;
}

/// The library's version, such as "1.10.0".
pub(super) fn version() -> &'static str {
    // SAFETY: the function takes nothing and returns a string constant of the library.
    unsafe { CStr::from_ptr(LZ4_versionString()) }
        .to_str()
        .unwrap_or("unknown")
}

/// An `LZ4_stream_t` that the library allocated; freed with this value.
struct Stream(NonNull<c_void>);

// SAFETY: the state is plain memory owned by this value alone; the library keeps no thread-bound data.
unsafe impl Send for Stream {}
// SAFETY: a shared reference (of a dictionary) is only used to copy the stream from.
unsafe impl Sync for Stream {}

impl Stream {
    fn new() -> Result<Self> {
        // SAFETY: takes nothing; returns an initialised stream, or null.
        NonNull::new(unsafe { LZ4_createStream() })
            .map(Stream)
            .ok_or(Error::MemoryAlloc)
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        // SAFETY: the pointer came from `LZ4_createStream` and is freed once.
        unsafe { LZ4_freeStream(self.0.as_ptr()) };
    }
}

/// The value in `slot`, made on first use.
fn get_or_make<T>(slot: &mut Option<T>, make: impl FnOnce() -> Result<T>) -> Result<&mut T> {
    match slot {
        Some(value) => Ok(value),
        None => Ok(slot.insert(make()?)),
    }
}

/// Converts the return value of the library's compressors: the bytes written, 0 if they did not fit.
fn written(n: c_int) -> Result<usize> {
    usize::try_from(n).or(Ok(0))
}

/// The acceleration for a level. At lower levels more positions are skipped.
fn acceleration(clevel: u8) -> u8 {
    10 - clevel
}

/// The LZ4 compressor.
#[derive(Default)]
pub(super) struct Fast {
    plain: compress::Tables,
    with_dict: Option<Stream>,
}

impl Fast {
    /// Returns the bytes written, or 0 if they do not fit. `src` and `dst` are at most `i32::MAX` long.
    pub(super) fn compress(&mut self, clevel: u8, src: &[u8], dst: &mut [u8]) -> Result<usize> {
        self.plain.compress(acceleration(clevel).into(), src, dst)
    }

    /// Like [`compress`](Self::compress), with a dictionary, which is needed during the call only.
    pub(super) fn compress_with(
        &mut self,
        dict: &FastDict,
        clevel: u8,
        src: &[u8],
        dst: &mut [u8],
    ) -> Result<usize> {
        let state = get_or_make(&mut self.with_dict, Stream::new)?.0.as_ptr();
        // SAFETY: both are streams of `STREAM_SIZE` bytes in allocations of their own. The copy points into the dictionary's
        // bytes, which `dict` keeps alive during the call (see `FastDict::new`); the next call overwrites it before use.
        // The library reads `src.len()` bytes and writes at most `dst.len()`; `Encoder::compress` made sure that both fit a `c_int`.
        written(unsafe {
            core::ptr::copy_nonoverlapping(
                dict.stream.0.as_ptr().cast::<u8>(),
                state.cast::<u8>(),
                STREAM_SIZE,
            );
            LZ4_compress_fast_continue(
                state,
                src.as_ptr().cast(),
                dst.as_mut_ptr().cast(),
                src.len() as c_int,
                dst.len() as c_int,
                acceleration(clevel).into(),
            )
        })
    }
}

/// A dictionary hashed for LZ4. It points into the bytes it was made from.
pub(super) struct FastDict {
    stream: Stream,
}

impl FastDict {
    /// # Safety
    /// `bytes` must neither move nor change as long as the value lives.
    pub(super) unsafe fn new(bytes: &[u8]) -> Result<Self> {
        let stream = Stream::new()?;
        // SAFETY: the stream is initialised, the caller promises that `bytes` outlives it, and the length of a dictionary (at most
        // `MAX_DICT_SIZE`) fits a `c_int`.
        unsafe {
            LZ4_loadDict(
                stream.0.as_ptr(),
                bytes.as_ptr().cast(),
                bytes.len() as c_int,
            )
        };
        Ok(FastDict { stream })
    }
}

/// Decodes an LZ4 stream. Returns the number of bytes written.
///
/// A match of distance 0 is not valid, but the LZ4 library accepts it and writes zeros, so this does too.
pub(super) fn decompress(src: PaddedSrc, dst: PaddedDst) -> Result<usize> {
    decompress::decompress(&[], src, dst, usize::MAX)
}

/// Decodes an LZ4 stream at least until its first `wanted` bytes are there. Returns the number of bytes written.
pub(super) fn decompress_front(src: &[u8], dst: &mut [u8], wanted: usize) -> Result<usize> {
    let wanted = if wanted < dst.len() {
        wanted
    } else {
        usize::MAX
    };
    decompress::decompress(&[], src.into(), dst.into(), wanted)
}

/// Decodes an LZ4 stream whose matches may reach back into `dict`.
pub(super) fn decompress_with(dict: &[u8], src: &[u8], dst: &mut [u8]) -> Result<usize> {
    decompress::decompress(dict, src.into(), dst.into(), usize::MAX)
}

#[cfg(test)]
mod tests;
