//! Zlib streams. Our own code compresses them ([`super::deflate`]); two libraries decompress them.
//!
//! Measured on blocks of 16 KiB to 1 MiB against zlib-ng, which the reference uses:
//! - Compressing, ours is 1.1 to 3.5 times as fast, and its streams are as small: at most 1 % larger (`docs/performance.md`).
//! - zlib-rs makes the same streams as zlib-ng at 0.8 to 1 times the speed, and a preset dictionary makes its bytes depend on
//!   earlier calls.
//! - libdeflate is 1.3 to 6 times as fast at levels 5 to 9. But some of its streams are more than 0.5 % larger (2.6 % for 32-bit
//!   integers), and all of them have many short blocks, so that they inflate at half the speed.
//! - zlib-ng itself would need cmake to build.
//! - Decompressing, libdeflate is the fastest, by up to 1.3 times, except for very redundant data, where zlib-rs is.
//!
//! The time that all of them spend on incompressible data is saved: see [`super::noise`].

use core::ptr::NonNull;
use oxiblosc_memory::boxed;

use libdeflate_sys as sys;
use zlib_rs::adler32::adler32;
use zlib_rs::c_api::z_stream;
use zlib_rs::inflate::{self, InflateStream};
use zlib_rs::{InflateConfig, InflateFlush, ReturnCode};

use super::deflate::Deflater;
#[cfg(feature = "blosc1")]
use super::deflate::MATCH3_LEVEL;
use super::noise::{Method, Noise, Part, SearchParams};
use oxiblosc_error::{Error, Result};

/// The version reported to callers: the version of zlib that zlib-rs, which decompresses, declares to implement.
pub(super) const VERSION: &str = "1.3.0-zlib-rs-0.6";

/// zlib's window, as a power of two.
const WINDOW_BITS: u8 = 15;
/// Data with a higher compression ratio counts as very redundant.
const REDUNDANT_RATIO: usize = 4;

/// The properties of the search at a level. High levels find matches of three bytes, which also occur by chance. At the lowest
/// level a search takes no longer than Huffman codes only.
fn search_params(clevel: u8) -> SearchParams {
    let (min_match, expected_repeats) = if clevel < 7 { (4, 5) } else { (3, 3) };
    SearchParams {
        window: 1 << WINDOW_BITS,
        min_match,
        sampling: 16,
        expected_repeats,
        huffman_only: (2..7).contains(&clevel),
    }
}

/// The compressor. It searches for matches only where some are likely; other stretches are stored or get Huffman codes only.
#[derive(Default)]
pub(super) struct Compressor {
    noise: Noise,
    deflater: Option<Box<Deflater>>,
}

impl Compressor {
    /// Not inlined, since it needs a large stack frame, which would add to those of the functions that write blocks.
    #[cold]
    #[inline(never)]
    fn deflater() -> Result<Box<Deflater>> {
        boxed(Deflater::new()?)
    }

    /// Returns the bytes written, or 0 if they do not fit.
    pub(super) fn compress(&mut self, clevel: u8, src: &[u8], dst: &mut [u8]) -> Result<usize> {
        let deflater = match &mut self.deflater {
            Some(deflater) => deflater,
            none => none.insert(Self::deflater()?),
        };
        let parts = self.noise.parts(src, search_params(clevel))?;
        Ok(write(parts, deflater, clevel, clevel, src, dst).unwrap_or(0))
    }

    /// The same with streams that are as small as those of zlib itself, which Blosc 1 has: matches of three bytes are taken at all
    /// levels.
    #[cfg(feature = "blosc1")]
    pub(super) fn compress_as_blosc1(
        &mut self,
        clevel: u8,
        src: &[u8],
        dst: &mut [u8],
    ) -> Result<usize> {
        let deflater = match &mut self.deflater {
            Some(deflater) => deflater,
            none => none.insert(Self::deflater()?),
        };
        let search = search_params(MATCH3_LEVEL);
        let parts = self.noise.parts(src, search)?;
        Ok(write(parts, deflater, clevel, MATCH3_LEVEL + clevel, src, dst).unwrap_or(0))
    }
}

/// Writes a whole stream, searched as at level `effort`. Returns its length, or `None` if it does not fit.
fn write(
    parts: &[Part],
    deflater: &mut Deflater,
    clevel: u8,
    effort: u8,
    src: &[u8],
    dst: &mut [u8],
) -> Option<usize> {
    let stored: usize = parts
        .iter()
        .filter(|part| part.method == Method::Store)
        .map(|part| part.len)
        .sum();
    if stored > dst.len() {
        return None;
    }
    let (head, rest) = dst.split_first_chunk_mut()?;
    // The window size and the level (RFC 1950, 2.2), as a multiple of 31.
    *head = match clevel {
        ..=1 => [0x78, 0x01],
        2..=5 => [0x78, 0x5E],
        6 => [0x78, 0x9C],
        7.. => [0x78, 0xDA],
    };
    let mut stream = deflater.stream(effort, src, rest);
    for part in parts {
        match part.method {
            Method::Store => stream.store(part.len)?,
            Method::HuffmanOnly => stream.huffman_only(part.len)?,
            Method::Search => stream.search(part.len, part.repeats_from)?,
        }
    }
    let written = stream.finish()?;
    let sum = adler32(1, src).to_be_bytes();
    *rest.get_mut(written..)?.first_chunk_mut()? = sum;
    Some(head.len() + written + sum.len())
}

/// libdeflate's decompressor, freed with this value.
struct Libdeflate(NonNull<sys::libdeflate_decompressor>);

// SAFETY: plain memory that only this value owns.
unsafe impl Send for Libdeflate {}

impl Drop for Libdeflate {
    fn drop(&mut self) {
        // SAFETY: the pointer came from `libdeflate_alloc_decompressor` and is freed once.
        unsafe { sys::libdeflate_free_decompressor(self.0.as_ptr()) };
    }
}

/// zlib-rs's decompressor, freed with this value.
struct ZlibRs(z_stream);

// SAFETY: its state is plain memory that only this value owns.
unsafe impl Send for ZlibRs {}

impl ZlibRs {
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

    /// Returns the number of bytes written.
    fn decompress(&mut self, src: &[u8], dst: &mut [u8]) -> Result<usize> {
        let count = |len: usize| len.try_into().map_err(|_| Error::TwoGbLimit);
        self.0.next_in = src.as_ptr().cast_mut();
        self.0.avail_in = count(src.len())?;
        self.0.next_out = dst.as_mut_ptr();
        self.0.avail_out = count(dst.len())?;
        // SAFETY: `new` initialised the stream, and `&mut self` makes this its only user. It reads `avail_in` bytes of `src` and
        // writes at most `avail_out` bytes to `dst`, as set above.
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

impl Drop for ZlibRs {
    fn drop(&mut self) {
        // SAFETY: `new` initialised the stream, and it is ended once.
        if let Some(stream) = unsafe { InflateStream::from_stream_mut(&mut self.0) } {
            inflate::end(stream);
        }
    }
}

/// The decompressor.
#[derive(Default)]
pub(super) struct Decompressor {
    zlib_rs: Option<ZlibRs>,
    libdeflate: Option<Libdeflate>,
}

impl Decompressor {
    /// Returns the number of bytes written. Bytes behind the stream in `src` are ignored.
    pub(super) fn decompress(&mut self, src: &[u8], dst: &mut [u8]) -> Result<usize> {
        if src.len() < dst.len() / REDUNDANT_RATIO {
            let zlib_rs = match &mut self.zlib_rs {
                Some(zlib_rs) => zlib_rs,
                none => none.insert(ZlibRs::new()?),
            };
            return zlib_rs.decompress(src, dst);
        }
        let libdeflate = match &self.libdeflate {
            Some(libdeflate) => libdeflate,
            None => {
                // SAFETY: the function takes nothing and returns null if there is no memory.
                let raw = unsafe { sys::libdeflate_alloc_decompressor() };
                self.libdeflate
                    .insert(Libdeflate(NonNull::new(raw).ok_or(Error::MemoryAlloc)?))
            }
        };
        let (mut taken, mut written) = (0, 0);
        // SAFETY: the decompressor is live, and `&mut self` makes this its only user. It reads `src.len()` bytes of `src` and writes at
        // most `dst.len()` bytes to `dst`.
        let result = unsafe {
            sys::libdeflate_zlib_decompress_ex(
                libdeflate.0.as_ptr(),
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
