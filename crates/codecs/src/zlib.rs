//! Zlib streams. Our own code compresses them ([`super::deflate`]); two libraries decompress them.
//!
//! The choice rests on measurements with blocks of 16 KiB to 1 MiB, against zlib-ng, which the
//! reference uses:
//! - Our compressor is 1.1 to 3.5 times as fast, and its streams are at most 1 % larger
//!   (`docs/performance.md`).
//! - zlib-rs writes the same streams as zlib-ng at 0.8 to 1 times the speed. With a preset
//!   dictionary its bytes depend on earlier calls.
//! - libdeflate compresses 1.3 to 6 times as fast at levels 5 to 9. But some of its streams are
//!   more than 0.5 % larger (2.6 % for 32-bit integers), and all of them consist of many short
//!   blocks, so that they inflate at half the speed.
//! - zlib-ng needs cmake to build.
//! - libdeflate decompresses fastest, by up to 1.3 times, except for very redundant data, where
//!   zlib-rs does.
//!
//! All of these spend time on incompressible data, which [`super::noise`] saves.

use core::ptr::NonNull;
use oxiblosc_base::memory::boxed;

use libdeflate_sys as sys;
use zlib_rs::adler32::adler32;
use zlib_rs::c_api::z_stream;
use zlib_rs::inflate::{self, InflateStream};
use zlib_rs::{InflateConfig, InflateFlush, ReturnCode};

pub(super) use super::deflate::BLOSC1_EFFORT;
use super::deflate::Deflater;
use super::noise::{Method, NoiseDetector, SearchParams, Stretch};
use oxiblosc_base::{Error, Result};

/// The version reported to callers: the version of zlib that zlib-rs, which decompresses, declares
/// to implement.
pub(super) const VERSION: &str = "1.3.0-zlib-rs-0.6";

/// zlib's window, as a power of two.
const WINDOW_BITS: u8 = 15;
/// Data with a higher compression ratio than this are very redundant.
const REDUNDANT_RATIO: usize = 4;

/// The properties of the search at a level. High levels find matches of three bytes, which also
/// occur by chance. At level 1 a search takes no longer than Huffman codes without one.
fn search_params(clevel: u8) -> SearchParams {
    SearchParams {
        window: 1 << WINDOW_BITS,
        min_match: if clevel < 7 { 4 } else { 3 },
        // Less than one in a hundred words, each of which saves a byte at most.
        max_repeats: 32,
        huffman_only: (2..7).contains(&clevel),
    }
}

/// The compressor. It searches for matches where some are likely. Other stretches are stored or get
/// Huffman codes only.
#[derive(Default)]
pub(super) struct Compressor {
    noise: NoiseDetector,
    deflater: Option<Box<Deflater>>,
}

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
        clevel: u8,
        effort: u8,
        src: &[u8],
        dst: &mut [u8],
    ) -> Result<usize> {
        let deflater = match &mut self.deflater {
            Some(deflater) => deflater,
            none => none.insert(Self::deflater()?),
        };
        let stretches = self.noise.stretches(src, search_params(effort))?;
        Ok(write(stretches, deflater, clevel, effort, src, dst).unwrap_or(0))
    }
}

/// Writes a whole stream. Its header names level `clevel`; matches are searched with the parameters
/// of level `effort`. Returns the length, or `None` if it does not fit.
fn write(
    stretches: &[Stretch],
    deflater: &mut Deflater,
    clevel: u8,
    effort: u8,
    src: &[u8],
    dst: &mut [u8],
) -> Option<usize> {
    let stored: usize = stretches
        .iter()
        .filter(|stretch| stretch.method == Method::Store)
        .map(|stretch| stretch.len)
        .sum();
    if stored > dst.len() {
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
            Method::Search => stream.search(stretch.len, stretch.repeats_from)?,
        }
    }
    let written = stream.finish()?;
    let sum = adler32(1, src).to_be_bytes();
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

/// zlib-rs's decompressor, freed with this value.
struct ZlibRs(z_stream);

// SAFETY: this value alone owns the state, to which its pointers lead, and zlib-rs keeps no data
// that belong to a thread. The pointers to the buffers are set and used within `decompress`.
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
            _ => Err(Error::MEMORY_ALLOC),
        }
    }

    /// Returns the number of bytes written.
    fn decompress(&mut self, src: &[u8], dst: &mut [u8]) -> Result<usize> {
        let count = |len: usize| len.try_into().map_err(|_| Error::TWO_GB_LIMIT);
        self.0.next_in = src.as_ptr().cast_mut();
        self.0.avail_in = count(src.len())?;
        self.0.next_out = dst.as_mut_ptr();
        self.0.avail_out = count(dst.len())?;
        // SAFETY: `new` initialised the stream, and `&mut self` makes this its only user. It reads
        // the `avail_in` bytes of `src` and writes at most the `avail_out` bytes of `dst`, which
        // are set above.
        let (end, left) = unsafe {
            let stream = InflateStream::from_stream_mut(&mut self.0).ok_or(Error::FAILURE)?;
            inflate::reset(stream);
            (
                inflate::inflate(stream, InflateFlush::Finish),
                self.0.avail_out as usize,
            )
        };
        match end {
            ReturnCode::StreamEnd => Ok(dst.len() - left),
            ReturnCode::MemError => Err(Error::MEMORY_ALLOC),
            _ => Err(Error::DATA),
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
    /// Returns the number of bytes written. Ignores bytes of `src` behind the stream.
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
