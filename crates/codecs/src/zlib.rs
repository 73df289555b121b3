//! Zlib streams. Our own code compresses them ([`super::deflate`]); libdeflate decompresses them.
//!
//! The choice rests on measurements with blocks of 16 KiB to 1 MiB, against zlib-ng, which the
//! reference uses:
//! - Our compressor is 1.1 to 3.5 times as fast, and its streams are at most 1 % larger
//!   (`docs/performance.md`).
//! - zlib-rs writes the same streams as zlib-ng at 0.8 to 1 times the speed. With a preset
//!   dictionary its bytes depend on earlier calls. It decompresses at 0.85 times the speed of
//!   libdeflate, and at the same speed what is very redundant.
//! - libdeflate compresses 1.3 to 6 times as fast at levels 5 to 9. But some of its streams are
//!   more than 0.5 % larger (2.6 % for 32-bit integers), and all of them consist of many short
//!   blocks, so that they inflate at half the speed.
//! - zlib-ng needs cmake to build.
//!
//! All of these spend time on incompressible data, which [`super::noise`] saves.

use core::ptr::NonNull;
use oxiblosc_base::memory::boxed;

use libdeflate_sys as sys;

pub(super) use super::deflate::BLOSC1_EFFORT;
use super::deflate::Deflater;
use super::noise::{Method, NoiseDetector, Stretch};
use oxiblosc_base::{Error, Result};

/// The version that is reported to callers: that of zlib whose streams these are, and that of the
/// library that decompresses them.
pub(super) const VERSION: &str = "1.3.0-libdeflate-1.26";

/// From this level on matches of three bytes are found, which also occur by chance.
const MATCH3_LEVEL: u8 = 7;

/// The compressor. It searches for matches where some are likely. Other stretches are stored or get
/// Huffman codes only.
#[derive(Default)]
pub(super) struct Compressor(Option<Box<Deflater>>);

impl Compressor {
    /// Not inlined, so that its large stack frame does not add to those of the functions that write
    /// blocks.
    #[cold]
    #[inline(never)]
    fn deflater() -> Result<Box<Deflater>> {
        boxed(Deflater::new()?)
    }

    /// Writes a stream whose header names level `clevel`. Matches are searched as at level
    /// `effort`, which is the same, or higher by [`BLOSC1_EFFORT`]. Returns the bytes written, or 0
    /// if they do not fit.
    pub(super) fn compress(
        &mut self,
        noise: &mut NoiseDetector,
        (clevel, effort): (u8, u8),
        src: &[u8],
        dst: &mut [u8],
    ) -> Result<usize> {
        let deflater = match &mut self.0 {
            Some(deflater) => deflater,
            none => none.insert(Self::deflater()?),
        };
        // At level 1 a search takes no longer than Huffman codes without one.
        let (min_match, least) = match effort {
            ..=1 => (4, Method::Store),
            2..MATCH3_LEVEL => (4, Method::HuffmanOnly),
            _ => (3, Method::Store),
        };
        let stretches = noise.stretches(src, min_match, least)?;
        Ok(write(stretches, deflater, (clevel, effort), src, dst).unwrap_or(0))
    }
}

/// Writes a whole stream, as [`Compressor::compress`]. Returns the length, or `None` if it does not
/// fit.
fn write(
    stretches: &[Stretch],
    deflater: &mut Deflater,
    (clevel, effort): (u8, u8),
    src: &[u8],
    dst: &mut [u8],
) -> Option<usize> {
    let stored = stretches
        .iter()
        .filter(|stretch| stretch.method == Method::Store);
    if stored.map(|stretch| stretch.len).sum::<usize>() > dst.len() {
        return None;
    }
    let (head, rest) = dst.split_first_chunk_mut()?;
    // The window size and the level, with check bits that make the two bytes a multiple of 31 (RFC
    // 1950, 2.2).
    *head = match clevel {
        ..=1 => [0x78, 0x01],
        2..=5 => [0x78, 0x5E],
        6 => [0x78, 0x9C],
        7.. => [0x78, 0xDA],
    };
    let mut stream = deflater.stream(effort, src, rest);
    for stretch in stretches {
        match stretch.method {
            Method::Store => stream.store(stretch.len)?,
            Method::HuffmanOnly => stream.huffman_only(stretch.len)?,
            Method::Search => stream.search(stretch.len)?,
        }
    }
    let written = stream.finish()?;
    // SAFETY: the function reads the bytes of `src`.
    let sum = unsafe { sys::libdeflate_adler32(1, src.as_ptr().cast(), src.len()) }.to_be_bytes();
    *rest.get_mut(written..)?.first_chunk_mut()? = sum;
    Some(head.len() + written + sum.len())
}

/// libdeflate's decompressor, freed with this value.
struct Libdeflate(NonNull<sys::libdeflate_decompressor>);

// SAFETY: this value alone owns the memory, and the library keeps no data that belong to a thread.
unsafe impl Send for Libdeflate {}

impl Drop for Libdeflate {
    fn drop(&mut self) {
        // SAFETY: the pointer came from `libdeflate_alloc_decompressor` and is freed once.
        unsafe { sys::libdeflate_free_decompressor(self.0.as_ptr()) };
    }
}

/// The decompressor.
#[derive(Default)]
pub(super) struct Decompressor(Option<Libdeflate>);

impl Decompressor {
    /// Returns the number of bytes written. Ignores bytes of `src` behind the stream.
    pub(super) fn decompress(&mut self, src: &[u8], dst: &mut [u8]) -> Result<usize> {
        let libdeflate = match &self.0 {
            Some(libdeflate) => libdeflate,
            None => {
                // SAFETY: the function takes nothing and returns null if there is no memory.
                let raw = unsafe { sys::libdeflate_alloc_decompressor() };
                self.0
                    .insert(Libdeflate(NonNull::new(raw).ok_or(Error::MEMORY_ALLOC)?))
            }
        };
        let (mut taken, mut written) = (0, 0);
        // SAFETY: `libdeflate_alloc_decompressor` returned the decompressor, and `&mut self` makes
        // this its only user. It reads at most `src.len()` bytes of `src` and writes at most
        // `dst.len()` bytes of `dst`.
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
            Err(Error::DATA)
        }
    }
}
