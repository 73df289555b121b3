//! LZ4 and LZ4HC, in our own code. Only LZ4 with a dictionary is compressed by the LZ4 library.

mod chain;
mod compress;
mod decode_fast;
mod decompress;
mod finder;
mod format;
mod hc;
mod lazy;
mod match_end;
mod mid;
mod prefixed;
mod sequence;
mod word_filter;
mod writer;

pub(super) use format::MF_LIMIT;
pub(super) use hc::{HcCompressor, HcEncodeDict};
pub(super) use match_end::{SHORT_MATCH_MARGIN, match_end, match_len_backward, short_match};

use core::ffi::{CStr, c_char, c_int, c_void};
use core::ptr::NonNull;

// The crate builds and links the library, but does not declare all functions that are used here.
use lz4_sys as _;

use super::{PaddedDst, PaddedSrc};
use oxiblosc_base::{Error, Result};

/// Size of the library's `LZ4_stream_t`. It holds no pointers into itself, so it can be copied.
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
struct LibraryStream(NonNull<c_void>);

// SAFETY: this value alone owns the memory, and the library keeps no data that belong to a thread.
unsafe impl Send for LibraryStream {}
// SAFETY: through a shared reference (that of an `EncodeDict`) the stream is only read, by the copy
// in `compress_with`.
unsafe impl Sync for LibraryStream {}

impl LibraryStream {
    fn new() -> Result<Self> {
        // SAFETY: takes nothing; returns an initialised stream, or null.
        NonNull::new(unsafe { LZ4_createStream() })
            .map(LibraryStream)
            .ok_or(Error::MEMORY_ALLOC)
    }
}

impl Drop for LibraryStream {
    fn drop(&mut self) {
        // SAFETY: the pointer came from `LZ4_createStream` and is freed once.
        unsafe { LZ4_freeStream(self.0.as_ptr()) };
    }
}

/// The value in `slot`, which `make` creates on first use.
fn get_or_try_init<T>(slot: &mut Option<T>, make: impl FnOnce() -> Result<T>) -> Result<&mut T> {
    match slot {
        Some(value) => Ok(value),
        None => Ok(slot.insert(make()?)),
    }
}

/// Converts what the library's compressors return: the bytes written, or 0 if they did not fit.
fn written(n: c_int) -> Result<usize> {
    usize::try_from(n).or(Ok(0))
}

/// The acceleration for a level: lower levels skip more positions.
fn acceleration(clevel: u8) -> u8 {
    10 - clevel
}

/// The LZ4 compressor.
#[derive(Default)]
pub(super) struct Compressor {
    plain: compress::Tables,
    with_dict: Option<LibraryStream>,
}

impl Compressor {
    /// Returns the bytes written, or 0 if they do not fit. `src` and `dst` are at most `i32::MAX`
    /// long.
    pub(super) fn compress(&mut self, clevel: u8, src: &[u8], dst: &mut [u8]) -> Result<usize> {
        self.plain.compress(acceleration(clevel).into(), src, dst)
    }

    /// Like [`compress`](Self::compress), with a dictionary.
    pub(super) fn compress_with(
        &mut self,
        dict: &EncodeDict,
        clevel: u8,
        src: &[u8],
        dst: &mut [u8],
    ) -> Result<usize> {
        let state = get_or_try_init(&mut self.with_dict, LibraryStream::new)?
            .0
            .as_ptr();
        // SAFETY: both are streams of `STREAM_SIZE` bytes in allocations of their own. The copy
        // points into the dictionary's bytes, which live as long as `dict` (`EncodeDict::new`); the
        // next call overwrites the copy before it is used. The library reads `src.len()` bytes and
        // writes at most `dst.len()`; `Encoder::compress` made sure that both fit a `c_int`.
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

/// A dictionary hashed for LZ4. It points into the bytes that it was made from.
pub(super) struct EncodeDict {
    stream: LibraryStream,
}

impl EncodeDict {
    /// # Safety
    /// `bytes` must neither move nor change while the value lives.
    pub(super) unsafe fn new(bytes: &[u8]) -> Result<Self> {
        let stream = LibraryStream::new()?;
        // SAFETY: the stream is initialised, `bytes` stay where they are while it lives (# Safety),
        // and the length of a dictionary (at most `MAX_DICT_SIZE`, see `Dict`) fits a `c_int`.
        unsafe {
            LZ4_loadDict(
                stream.0.as_ptr(),
                bytes.as_ptr().cast(),
                bytes.len() as c_int,
            )
        };
        Ok(EncodeDict { stream })
    }
}

/// Decodes an LZ4 stream. Returns the number of bytes written.
///
/// A match of distance 0 is invalid, but the LZ4 library accepts it and writes zeros, and so do we.
pub(super) fn decompress(src: PaddedSrc, dst: PaddedDst) -> Result<usize> {
    decompress::decompress(&[], src, dst, usize::MAX)
}

/// Decodes an LZ4 stream until at least its first `wanted` bytes are decoded. Returns the number of
/// bytes written.
pub(super) fn decompress_prefix(src: &[u8], dst: &mut [u8], wanted: usize) -> Result<usize> {
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
