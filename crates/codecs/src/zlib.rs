//! Zlib streams: deflated here ([`super::deflate`]), inflated by two libraries.
//!
//! Measured on blocks of 16 KiB to 1 MiB against zlib-ng (which the reference uses). Deflating, zlib-rs makes the same
//! streams as zlib-ng in 0.8 to 1 times the speed, and what it is told was seen before shows in its bytes what it did
//! before; libdeflate is 1.3 to 6 times as fast at levels 5 to 9, but some of its streams are more than 0.5 % larger
//! (32-bit integers: 2.6 %), and all of them, being cut into many short blocks, inflate at half the speed; zlib-ng itself
//! would need cmake to build. Ours is 1.1 to 3.5 times as fast as zlib-ng with streams as short. Inflating, libdeflate is
//! the fastest (by up to 1.3) but for very redundant data, where zlib-rs is. What all of them spend on noise is spared:
//! see [`super::noise`].

use core::ptr::NonNull;
use oxiblosc_memory::boxed;

use libdeflate_sys as sys;
use zlib_rs::adler32::adler32;
use zlib_rs::c_api::z_stream;
use zlib_rs::inflate::{self, InflateStream};
use zlib_rs::{InflateConfig, InflateFlush, ReturnCode};

use super::deflate::Deflater;
use super::noise::{Noise, Part, Search, Worth};
use oxiblosc_error::{Error, Result};

/// The version reported to callers: the zlib that zlib-rs stands for, which inflates.
pub(super) const VERSION: &str = "1.3.0-zlib-rs-0.6";

/// zlib's window, as a power of two.
const WINDOW_BITS: u8 = 15;
/// A stream that is smaller than its data by more than this factor is very redundant.
const REDUNDANT: usize = 4;

/// What pays at a level: the high ones find words of three bytes, which are also repeated by chance; at the lowest a
/// search costs no more than a code.
fn sought(clevel: u8) -> Search {
    let (word, chance) = if clevel < 7 { (4, 5) } else { (3, 3) };
    Search {
        window: 1 << WINDOW_BITS,
        word,
        sparse: 16,
        chance,
        code: (2..7).contains(&clevel),
    }
}

/// The compressor.
///
/// Where looking for repeated bytes is wasted it is spared: such stretches are stored, or given a code for single bytes
/// only.
#[derive(Default)]
pub(super) struct Compressor {
    noise: Noise,
    deflater: Option<Box<Deflater>>,
}

impl Compressor {
    /// A function of its own, as it takes much of the stack, on which the blocks of a stream need room too.
    #[cold]
    #[inline(never)]
    fn deflater() -> Result<Box<Deflater>> {
        boxed(Deflater::new()?)
    }

    /// Bytes written; 0 when they do not fit.
    pub(super) fn compress(&mut self, clevel: u8, src: &[u8], dst: &mut [u8]) -> Result<usize> {
        let deflater = match &mut self.deflater {
            Some(deflater) => deflater,
            none => none.insert(Self::deflater()?),
        };
        let parts = self.noise.parts(src, sought(clevel))?;
        Ok(write(parts, deflater, clevel, src, dst).unwrap_or(0))
    }
}

/// Writes a whole stream; none when it does not fit.
fn write(
    parts: &[Part],
    deflater: &mut Deflater,
    clevel: u8,
    src: &[u8],
    dst: &mut [u8],
) -> Option<usize> {
    let stored: usize = parts
        .iter()
        .filter(|part| part.worth == Worth::Nothing)
        .map(|part| part.len)
        .sum();
    if stored > dst.len() {
        return None;
    }
    let (head, rest) = dst.split_first_chunk_mut()?;
    // The window's size and the effort (RFC 1950, 2.2); together a multiple of 31.
    *head = match clevel {
        ..=1 => [0x78, 0x01],
        2..=5 => [0x78, 0x5E],
        6 => [0x78, 0x9C],
        7.. => [0x78, 0xDA],
    };
    let mut stream = deflater.stream(clevel, src, rest);
    for part in parts {
        match part.worth {
            Worth::Nothing => stream.store(part.len)?,
            Worth::Code => stream.code(part.len)?,
            Worth::Search => stream.search(part.len, part.repeats_from)?,
        }
    }
    let written = stream.finish()?;
    let sum = adler32(1, src).to_be_bytes();
    *rest.get_mut(written..)?.first_chunk_mut()? = sum;
    Some(head.len() + written + sum.len())
}

/// libdeflate's decompressor, freed with this value.
struct Whole(NonNull<sys::libdeflate_decompressor>);

// SAFETY: plain memory owned by this value alone.
unsafe impl Send for Whole {}

impl Drop for Whole {
    fn drop(&mut self) {
        // SAFETY: came from `libdeflate_alloc_decompressor`, freed once.
        unsafe { sys::libdeflate_free_decompressor(self.0.as_ptr()) };
    }
}

/// zlib-rs's decompressor, freed with this value.
struct Inflater(z_stream);

// SAFETY: its state is plain memory owned by this value alone.
unsafe impl Send for Inflater {}

impl Inflater {
    fn new() -> Result<Self> {
        let mut stream = z_stream::default();
        match inflate::init(
            &mut stream,
            InflateConfig {
                window_bits: WINDOW_BITS.into(),
            },
        ) {
            ReturnCode::Ok => Ok(Self(stream)),
            _ => Err(Error::MemoryAlloc),
        }
    }

    /// Bytes written.
    fn decompress(&mut self, src: &[u8], dst: &mut [u8]) -> Result<usize> {
        let count = |len: usize| len.try_into().map_err(|_| Error::TwoGbLimit);
        self.0.next_in = src.as_ptr().cast_mut();
        self.0.avail_in = count(src.len())?;
        self.0.next_out = dst.as_mut_ptr();
        self.0.avail_out = count(dst.len())?;
        // SAFETY: `new` made the stream with `init`; it reads `src`, writes at most `dst.len()`, and is used by no one else.
        let (end, left) = unsafe {
            let stream = InflateStream::from_stream_mut(&mut self.0).ok_or(Error::Failure)?;
            inflate::reset(stream);
            (
                inflate::inflate(stream, InflateFlush::Finish),
                self.0.avail_out as usize,
            )
        };
        match end {
            ReturnCode::StreamEnd => Ok(dst.len() - left),
            ReturnCode::MemError => Err(Error::MemoryAlloc),
            _ => Err(Error::Data),
        }
    }
}

impl Drop for Inflater {
    fn drop(&mut self) {
        // SAFETY: made with `init`, ended once.
        if let Some(stream) = unsafe { InflateStream::from_stream_mut(&mut self.0) } {
            inflate::end(stream);
        }
    }
}

/// The decompressor.
#[derive(Default)]
pub(super) struct Decompressor {
    redundant: Option<Inflater>,
    whole: Option<Whole>,
}

impl Decompressor {
    /// Bytes written. What follows the stream in `src` is left alone.
    pub(super) fn decompress(&mut self, src: &[u8], dst: &mut [u8]) -> Result<usize> {
        if src.len() < dst.len() / REDUNDANT {
            let inflater = match &mut self.redundant {
                Some(inflater) => inflater,
                none => none.insert(Inflater::new()?),
            };
            return inflater.decompress(src, dst);
        }
        let whole = match &self.whole {
            Some(whole) => whole,
            None => {
                // SAFETY: takes nothing; null when there is no memory.
                let raw = unsafe { sys::libdeflate_alloc_decompressor() };
                self.whole
                    .insert(Whole(NonNull::new(raw).ok_or(Error::MemoryAlloc)?))
            }
        };
        let (mut taken, mut written) = (0, 0);
        // SAFETY: live decompressor; reads `src`, writes at most `dst.len()`.
        let result = unsafe {
            sys::libdeflate_zlib_decompress_ex(
                whole.0.as_ptr(),
                src.as_ptr().cast(),
                src.len(),
                dst.as_mut_ptr().cast(),
                dst.len(),
                &mut taken,
                &mut written,
            )
        };
        if result == sys::libdeflate_result_LIBDEFLATE_SUCCESS {
            Ok(written)
        } else {
            Err(Error::Data)
        }
    }
}
