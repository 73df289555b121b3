//! LZ4 and LZ4HC through the codec's own library.
//!
//! The states live on the heap and are carried over from stream to stream with the library's fast reset, which spares
//! clearing 16 KiB (LZ4) or 256 KiB (LZ4HC) per stream. The fast reset rejects whatever an earlier stream left in the
//! tables, so the bytes are those of a fresh state; the tests hold it to that.

mod redundant;

use core::ffi::{CStr, c_char, c_int, c_void};
use core::ptr::NonNull;

// The crate only builds and links the library: the functions used here are not all among its declarations.
use lz4_sys as _;

use crate::error::{Error, Result};

/// Size of the library's `LZ4_stream_t`, a plain block of memory without pointers into itself.
const STREAM_SIZE: usize = (1 << 14) + 32;
/// Size of the library's `LZ4_streamHC_t`, likewise.
const STREAM_HC_SIZE: usize = 262_200;

unsafe extern "C" {
    fn LZ4_versionString() -> *const c_char;
    fn LZ4_createStream() -> *mut c_void;
    fn LZ4_freeStream(stream: *mut c_void) -> c_int;
    fn LZ4_loadDict(stream: *mut c_void, dict: *const c_char, size: c_int) -> c_int;
    fn LZ4_compress_fast_extState_fastReset(
        state: *mut c_void,
        src: *const c_char,
        dst: *mut c_char,
        src_size: c_int,
        dst_capacity: c_int,
        acceleration: c_int,
    ) -> c_int;
    fn LZ4_compress_fast_continue(
        stream: *mut c_void,
        src: *const c_char,
        dst: *mut c_char,
        src_size: c_int,
        dst_capacity: c_int,
        acceleration: c_int,
    ) -> c_int;
    fn LZ4_createStreamHC() -> *mut c_void;
    fn LZ4_freeStreamHC(stream: *mut c_void) -> c_int;
    fn LZ4_resetStreamHC_fast(stream: *mut c_void, level: c_int);
    fn LZ4_loadDictHC(stream: *mut c_void, dict: *const c_char, size: c_int) -> c_int;
    fn LZ4_compress_HC_extStateHC_fastReset(
        state: *mut c_void,
        src: *const c_char,
        dst: *mut c_char,
        src_size: c_int,
        dst_capacity: c_int,
        level: c_int,
    ) -> c_int;
    fn LZ4_compress_HC_continue(
        stream: *mut c_void,
        src: *const c_char,
        dst: *mut c_char,
        src_size: c_int,
        dst_capacity: c_int,
    ) -> c_int;
    fn LZ4_decompress_safe(
        src: *const c_char,
        dst: *mut c_char,
        src_size: c_int,
        dst_capacity: c_int,
    ) -> c_int;
    fn LZ4_decompress_safe_partial(
        src: *const c_char,
        dst: *mut c_char,
        src_size: c_int,
        target: c_int,
        dst_capacity: c_int,
    ) -> c_int;
    fn LZ4_decompress_safe_usingDict(
        src: *const c_char,
        dst: *mut c_char,
        src_size: c_int,
        dst_capacity: c_int,
        dict: *const c_char,
        dict_size: c_int,
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
// SAFETY: a shared reference is only ever read from (copied out of, as a prepared dictionary).
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

/// An `LZ4_streamHC_t` that the library allocated; freed with this value.
struct StreamHc(NonNull<c_void>);

// SAFETY: as for `Stream`.
unsafe impl Send for StreamHc {}
// SAFETY: as for `Stream`.
unsafe impl Sync for StreamHc {}

impl StreamHc {
    fn new() -> Result<Self> {
        // SAFETY: takes nothing; returns an initialised stream, or null.
        NonNull::new(unsafe { LZ4_createStreamHC() })
            .map(StreamHc)
            .ok_or(Error::MemoryAlloc)
    }
}

impl Drop for StreamHc {
    fn drop(&mut self) {
        // SAFETY: the pointer came from `LZ4_createStreamHC` and is freed once.
        unsafe { LZ4_freeStreamHC(self.0.as_ptr()) };
    }
}

/// A value of the tuple's state, made on first use.
fn get_or_make<T>(slot: &mut Option<T>, make: impl FnOnce() -> Result<T>) -> Result<&mut T> {
    match slot {
        Some(value) => Ok(value),
        None => Ok(slot.insert(make()?)),
    }
}

/// What the library's compressors return: bytes written, 0 when they did not fit.
fn written(n: c_int) -> Result<usize> {
    usize::try_from(n).or(Ok(0))
}

/// The acceleration of a level: the lower the level, the more positions are skipped.
fn acceleration(clevel: u8) -> c_int {
    10 - c_int::from(clevel)
}

/// The LZ4 compressor. Streams with a dictionary have a state of their own, which leaves the other ready for a fast reset.
#[derive(Default)]
pub(super) struct Fast {
    plain: Option<Stream>,
    with_dict: Option<Stream>,
}

impl Fast {
    /// `src` and `dst` are at most `i32::MAX` long; 0 when the result does not fit.
    pub(super) fn compress(&mut self, clevel: u8, src: &[u8], dst: &mut [u8]) -> Result<usize> {
        let state = get_or_make(&mut self.plain, Stream::new)?.0.as_ptr();
        // SAFETY: `state` is an initialised stream that only ever saw this function, as its fast reset demands; the
        // library reads `src.len()` bytes and writes at most `dst.len()`, both of which fit a `c_int`.
        written(unsafe {
            LZ4_compress_fast_extState_fastReset(
                state,
                src.as_ptr().cast(),
                dst.as_mut_ptr().cast(),
                src.len() as c_int,
                dst.len() as c_int,
                acceleration(clevel),
            )
        })
    }

    /// The same with a dictionary, which must outlive the call, not more.
    pub(super) fn compress_with(
        &mut self,
        dict: &FastDict,
        clevel: u8,
        src: &[u8],
        dst: &mut [u8],
    ) -> Result<usize> {
        let state = get_or_make(&mut self.with_dict, Stream::new)?.0.as_ptr();
        // SAFETY: both are streams of `STREAM_SIZE` bytes and distinct allocations. The copy points into the
        // dictionary's bytes, which `dict` keeps alive during the call; the next call overwrites it before use.
        // Lengths as in `compress`.
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
                acceleration(clevel),
            )
        })
    }
}

/// The LZ4HC compressor.
#[derive(Default)]
pub(super) struct High {
    plain: Option<StreamHc>,
    with_dict: Option<StreamHc>,
}

impl High {
    /// `src` and `dst` are at most `i32::MAX` long; 0 when the result does not fit.
    pub(super) fn compress(&mut self, clevel: u8, src: &[u8], dst: &mut [u8]) -> Result<usize> {
        let state = get_or_make(&mut self.plain, StreamHc::new)?.0.as_ptr();
        // SAFETY: as in `Fast::compress`.
        written(unsafe {
            LZ4_compress_HC_extStateHC_fastReset(
                state,
                src.as_ptr().cast(),
                dst.as_mut_ptr().cast(),
                src.len() as c_int,
                dst.len() as c_int,
                c_int::from(clevel),
            )
        })
    }

    /// The same with a dictionary that was prepared for the level wanted.
    pub(super) fn compress_with(
        &mut self,
        dict: &HighDict,
        src: &[u8],
        dst: &mut [u8],
    ) -> Result<usize> {
        let state = get_or_make(&mut self.with_dict, StreamHc::new)?.0.as_ptr();
        // SAFETY: as in `Fast::compress_with`, with streams of `STREAM_HC_SIZE` bytes.
        written(unsafe {
            core::ptr::copy_nonoverlapping(
                dict.stream.0.as_ptr().cast::<u8>(),
                state.cast::<u8>(),
                STREAM_HC_SIZE,
            );
            LZ4_compress_HC_continue(
                state,
                src.as_ptr().cast(),
                dst.as_mut_ptr().cast(),
                src.len() as c_int,
                dst.len() as c_int,
            )
        })
    }
}

/// A dictionary hashed for LZ4. It points into the bytes it was made from: keep them together.
pub(super) struct FastDict {
    stream: Stream,
}

impl FastDict {
    /// # Safety
    /// `bytes` must stay where it is and unchanged as long as the value lives.
    pub(super) unsafe fn new(bytes: &[u8]) -> Result<Self> {
        let stream = Stream::new()?;
        // SAFETY: an initialised stream, and `bytes` as the caller promises; its length is that of a dictionary.
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

/// A dictionary hashed for LZ4HC at one level. It points into the bytes it was made from: keep them together.
pub(super) struct HighDict {
    stream: StreamHc,
}

impl HighDict {
    /// # Safety
    /// `bytes` must stay where it is and unchanged as long as the value lives.
    pub(super) unsafe fn new(bytes: &[u8], clevel: u8) -> Result<Self> {
        let stream = StreamHc::new()?;
        // SAFETY: an initialised stream, and `bytes` as the caller promises; its length is that of a dictionary.
        unsafe {
            LZ4_resetStreamHC_fast(stream.0.as_ptr(), c_int::from(clevel));
            LZ4_loadDictHC(
                stream.0.as_ptr(),
                bytes.as_ptr().cast(),
                bytes.len() as c_int,
            );
        }
        Ok(HighDict { stream })
    }
}

/// A stream that is smaller than its data by more than this factor is very redundant ...
const REDUNDANT: usize = 16;
/// ... unless there are fewer data than this, of which no match can be very long.
const LONG: usize = 4096;

/// Decodes an LZ4 stream; the number of bytes written.
///
/// No valid stream has a match of distance 0, but the library takes it and writes zeros.
#[inline(always)]
pub(super) fn decompress(src: &[u8], dst: &mut [u8]) -> Result<usize> {
    if dst.len() >= LONG && src.len() < dst.len() / REDUNDANT {
        return redundant::decompress(src, dst);
    }
    // SAFETY: the library reads only `src` and writes only `dst`, whatever the bytes; the lengths fit a `c_int`.
    let n = unsafe {
        LZ4_decompress_safe(
            src.as_ptr().cast(),
            dst.as_mut_ptr().cast(),
            src.len() as c_int,
            dst.len() as c_int,
        )
    };
    usize::try_from(n).map_err(|_| Error::Data)
}

/// Decodes an LZ4 stream up to its first `wanted` bytes, or all of it; the number of bytes written.
///
/// A match of distance 0 that reaches to where it stops, or nearly, the library leaves as the memory was, while the whole
/// stream has zeros there. So it is made to stop well behind what is wanted, and a mark left in between that only such
/// a match can pass over.
pub(super) fn decompress_front(src: &[u8], dst: &mut [u8], wanted: usize) -> Result<usize> {
    /// No copy writes further than this behind the end of what it copies.
    const OVERSHOOT: usize = 32;
    /// Where a match ends further than this from the end of the output, the library copies it in full.
    const END: usize = 16;
    const MARK: [u8; 16] = *b"\x9c\x13 left alone \xe7\x5a";
    let mark = wanted.saturating_add(OVERSHOOT);
    let target = mark.saturating_add(MARK.len() + END);
    let Some(place) = dst
        .get_mut(..target)
        .and_then(|dst| dst[mark..].first_chunk_mut())
    else {
        return decompress(src, dst);
    };
    *place = MARK;
    // SAFETY: as in `decompress`; the target is no larger than `dst`.
    let n = unsafe {
        LZ4_decompress_safe_partial(
            src.as_ptr().cast(),
            dst.as_mut_ptr().cast(),
            src.len() as c_int,
            target as c_int,
            dst.len() as c_int,
        )
    };
    match usize::try_from(n) {
        Ok(n) if n > mark && dst[mark..].starts_with(&MARK) => decompress(src, dst),
        Ok(n) => Ok(n),
        Err(_) => Err(Error::Data),
    }
}

/// Decodes an LZ4 stream whose matches may reach back into `dict`.
pub(super) fn decompress_with(dict: &[u8], src: &[u8], dst: &mut [u8]) -> Result<usize> {
    // SAFETY: as in `decompress`; of the dictionary the library reads no more than its length.
    let n = unsafe {
        LZ4_decompress_safe_usingDict(
            src.as_ptr().cast(),
            dst.as_mut_ptr().cast(),
            src.len() as c_int,
            dst.len() as c_int,
            dict.as_ptr().cast(),
            dict.len() as c_int,
        )
    };
    usize::try_from(n).map_err(|_| Error::Data)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A stream: literals, a match of distance 0, the same again, and literals to end with. Gives its data's size too.
    fn repeating_nothing(literals: usize, matched: usize, tail: usize) -> (Vec<u8>, usize) {
        let length = |n: usize, out: &mut Vec<u8>| {
            if n >= 15 {
                out.extend(std::iter::repeat_n(255, (n - 15) / 255));
                out.push(((n - 15) % 255) as u8);
            }
        };
        let mut stream = Vec::new();
        for _ in 0..2 {
            stream.push((literals.min(15) << 4 | (matched - 4).min(15)) as u8);
            length(literals, &mut stream);
            stream.extend((0..literals).map(|i| b'a' + (i % 26) as u8));
            stream.extend([0, 0]);
            length(matched - 4, &mut stream);
        }
        stream.push((tail.min(15) << 4) as u8);
        length(tail, &mut stream);
        stream.extend(std::iter::repeat_n(b'Z', tail));
        (stream, 2 * (literals + matched) + tail)
    }

    /// What the library makes of a stream.
    fn by_library(src: &[u8], dst: &mut [u8]) -> Result<usize> {
        // SAFETY: as in `decompress`.
        let n = unsafe {
            LZ4_decompress_safe(
                src.as_ptr().cast(),
                dst.as_mut_ptr().cast(),
                src.len() as c_int,
                dst.len() as c_int,
            )
        };
        usize::try_from(n).map_err(|_| Error::Data)
    }

    #[test]
    fn streams_that_the_library_takes_are_decoded_as_it_does() {
        let mut seed = 1_u64;
        let mut random = |below: usize| {
            seed = seed.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(1);
            (seed >> 33) as usize % below
        };
        let (mut taken, mut refused) = (0, 0);
        for round in 0..20_000 {
            // Long runs of few words, of any period.
            let len = [0, 1, 12, 13, 40, 300, 5000][random(7)];
            let mut data = Vec::new();
            while data.len() < len {
                let period = 1 + random(40).min(random(300));
                let word: Vec<u8> = (0..period).map(|_| random(3) as u8).collect();
                data.extend(word.into_iter().cycle().take(1 + random(900)));
            }
            data.truncate(len);
            let mut stream = vec![0; len + len / 255 + 16];
            let n = Fast::default().compress(9, &data, &mut stream).unwrap();
            stream.truncate(n);
            for _ in 0..round % 4 {
                let at = random(stream.len());
                match random(4) {
                    0 => stream[at] = random(256) as u8,
                    1 => stream[at] ^= 1 << random(8),
                    2 => stream.truncate(at + 1),
                    _ => stream.insert(at, 255),
                }
            }
            let room = [len, len, len + 100, len / 2, len.saturating_sub(1)][random(5)].max(1);
            let (mut ours, mut theirs) = (vec![0xaa; room], vec![0xaa; room]);
            match by_library(&stream, &mut theirs) {
                Ok(n) => {
                    assert_eq!(redundant::decompress(&stream, &mut ours), Ok(n));
                    assert!(ours[..n] == theirs[..n]);
                    taken += 1;
                }
                Err(_) => {
                    // Whatever it says.
                    let _ = redundant::decompress(&stream, &mut ours);
                    refused += 1;
                }
            }
        }
        assert!(taken > 4000 && refused > 4000, "{taken} {refused}");
    }

    #[test]
    fn a_match_of_distance_0_shows_nothing_of_the_memory() {
        let mut decoded = 0;
        for literals in [0, 1, 5, 14, 15, 16, 40, 300] {
            for matched in (4..40).chain([64, 100, 273, 300, 1000]) {
                for tail in [5, 8, 12, 13, 16, 40, 200] {
                    let (stream, len) = repeating_nothing(literals, matched, tail);
                    let (mut first, mut second) = (vec![0u8; len], vec![0xffu8; len]);
                    let result = decompress(&stream, &mut first);
                    assert_eq!(decompress(&stream, &mut second), result);
                    if result != Ok(len) {
                        continue;
                    }
                    decoded += 1;
                    assert!(first == second, "{literals} {matched} {tail}");
                    let dict = [0xee; 500];
                    second.fill(0xff);
                    assert_eq!(decompress_with(&dict, &stream, &mut second), Ok(len));
                    assert!(
                        first == second,
                        "{literals} {matched} {tail} with a dictionary"
                    );
                    for wanted in (1..len).step_by(1 + len / 50) {
                        second.fill(0xff);
                        let n = decompress_front(&stream, &mut second, wanted);
                        assert!(n.is_ok_and(|n| n >= wanted));
                        assert!(
                            first[..wanted] == second[..wanted],
                            "{literals} {matched} {tail} {wanted}"
                        );
                    }
                }
            }
        }
        assert!(decoded > 1000, "only {decoded} streams were taken");
    }
}
