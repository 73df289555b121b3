//! The compressor and decompressor that a worker reuses for all streams. The state of each codec is
//! allocated when it is first used.

use super::{
    Codec, Dialect, Dict, HAS_BLOSC1, PaddedDst, PaddedSrc, blosclz, lz4, noise,
    noise::NoiseDetector, zlib, zstd,
};
use oxiblosc_base::{Error, Result};

/// Compresses streams. One per worker. Earlier streams never influence the bytes of later ones.
#[derive(Default)]
pub struct Encoder {
    blosclz: blosclz::Compressor,
    lz4: lz4::Compressor,
    lz4hc: lz4::HcCompressor,
    zlib: zlib::Compressor,
    zstd: zstd::Compressor,
    noise: NoiseDetector,
    /// Whether the streams are planes of shuffled numbers: of bytes or of bits. Only Zstd uses it.
    /// It writes the same streams as its library would at the level, except for incompressible
    /// ones, and for large blocks of planes at levels 7 and 8.
    pub shuffled: bool,
    /// The library whose streams are written.
    pub dialect: Dialect,
}

impl Encoder {
    /// An encoder that has not allocated anything yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// How many bytes of memory it has that are worth counting: those of Zstd.
    pub fn bytes(&self) -> usize {
        self.zstd.bytes()
    }

    /// Compresses `src` into `dst`. Returns the number of bytes written, at most `dst.len()`, or
    /// `Ok(0)` if the result does not fit or the codec gives up on the data as incompressible.
    ///
    /// `clevel` is 1..=9. `dict` must have been made for compression with the same codec and level.
    ///
    /// # Errors
    /// [`Error::CODEC_PARAM`] for a level out of range, [`Error::TWO_GB_LIMIT`] for a stream longer
    /// than `i32::MAX`, [`Error::CODEC_DICT`] for a dictionary that is not this codec's,
    /// [`Error::MEMORY_ALLOC`].
    pub fn compress(
        &mut self,
        codec: Codec,
        clevel: u8,
        dict: Option<&Dict>,
        src: &[u8],
        dst: &mut [u8],
    ) -> Result<usize> {
        if !(1..=9).contains(&clevel) {
            return Err(Error::CODEC_PARAM);
        }
        if src.len() > i32::MAX as usize {
            return Err(Error::TWO_GB_LIMIT);
        }
        // The libraries take lengths as `int`. No stream is longer than that.
        let dst_len = dst.len().min(i32::MAX as usize);
        let dst = &mut dst[..dst_len];
        // A destination longer than the source may get a stream that is longer too. With a
        // dictionary, even random bytes may have matches.
        let must_shrink = dict.is_none() && dst_len <= src.len();
        if must_shrink && self.is_known_incompressible(codec, clevel, src)? {
            return Ok(0);
        }
        if HAS_BLOSC1 && let Dialect::Blosc1 { split } = self.dialect {
            match codec {
                Codec::BloscLz => return self.blosclz.compress_as_blosc1(split, clevel, src, dst),
                Codec::Lz4hc => return self.lz4hc.compress_as_blosc1(clevel, src, dst),
                Codec::Zlib => {
                    let levels = (clevel, zlib::BLOSC1_EFFORT + clevel);
                    return self.zlib.compress(&mut self.noise, levels, src, dst);
                }
                _ => {}
            }
        }
        match (codec, dict) {
            (Codec::BloscLz, None) => self.blosclz.compress(clevel, src, dst),
            (Codec::Lz4, None) => self.lz4.compress(clevel, src, dst),
            (Codec::Lz4, Some(dict)) => {
                self.lz4.compress_with(dict.lz4_encode()?, clevel, src, dst)
            }
            (Codec::Lz4hc, None) => self.lz4hc.compress(clevel, src, dst),
            (Codec::Lz4hc, Some(dict)) => {
                self.lz4hc
                    .compress_with(dict.lz4hc_encode(clevel)?, clevel, src, dst)
            }
            (Codec::Zlib, None) => self
                .zlib
                .compress(&mut self.noise, (clevel, clevel), src, dst),
            (Codec::Zstd, None) => {
                let noise = self.shuffled.then_some(&mut self.noise);
                self.zstd.compress(clevel, src, dst, noise)
            }
            (Codec::Zstd, Some(dict)) => self.zstd.compress_with(dict.zstd_encode()?, src, dst),
            (Codec::BloscLz | Codec::Zlib, Some(_)) => Err(Error::CODEC_DICT),
        }
    }

    /// Whether a test that takes less time than the search shows that the codec would not make a
    /// stream shorter. There is no test where it would not save time: fast levels skip
    /// incompressible data as quickly, zlib classifies the parts of a stream itself, and LZ4HC is
    /// fast for short streams.
    fn is_known_incompressible(&mut self, codec: Codec, clevel: u8, src: &[u8]) -> Result<bool> {
        let noise = &mut self.noise;
        match codec {
            Codec::Lz4hc if clevel >= 3 && src.len() >= noise::PIECE => noise.rarely_repeats(src),
            Codec::Zstd if clevel > 5 => noise.is_incompressible(src),
            _ => Ok(false),
        }
    }
}

/// Decompresses streams. One per worker.
#[derive(Default)]
pub struct Decoder {
    zlib: zlib::Decompressor,
    zstd: zstd::Decompressor,
}

impl Decoder {
    /// A decoder that has not allocated anything yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Decompresses the stream `src` into `dst`. Returns the number of bytes decompressed, which
    /// may be less than `dst.len()`. Bytes of `dst` behind them may have been overwritten.
    ///
    /// # Errors
    /// [`Error::DATA`] for a stream that is malformed or longer than `dst`; [`Error::CODEC_DICT`]
    /// for a dictionary that is not this codec's; [`Error::TWO_GB_LIMIT`] for lengths over
    /// `i32::MAX`; [`Error::MEMORY_ALLOC`].
    pub fn decompress(
        &mut self,
        codec: Codec,
        dict: Option<&Dict>,
        src: &[u8],
        dst: &mut [u8],
    ) -> Result<usize> {
        self.decompress_padded(codec, dict, src.into(), dst.into())
    }

    /// Like [`Decoder::decompress`], with padding behind both buffers. That of `dst` may be
    /// overwritten.
    ///
    /// # Errors
    /// As [`Decoder::decompress`].
    #[inline(always)]
    pub fn decompress_padded(
        &mut self,
        codec: Codec,
        dict: Option<&Dict>,
        src: PaddedSrc,
        dst: PaddedDst,
    ) -> Result<usize> {
        if src.exact().len() > i32::MAX as usize || dst.size() > i32::MAX as usize {
            return Err(Error::TWO_GB_LIMIT);
        }
        match (codec, dict) {
            // LZ4 is so fast that the time of another call would show.
            (Codec::Lz4 | Codec::Lz4hc, None) => lz4::decompress(src, dst),
            _ => self.decompress_other(codec, dict, src.exact(), dst.exact()),
        }
    }

    #[inline(never)]
    fn decompress_other(
        &mut self,
        codec: Codec,
        dict: Option<&Dict>,
        src: &[u8],
        dst: &mut [u8],
    ) -> Result<usize> {
        match (codec, dict) {
            (Codec::BloscLz, None) => blosclz::decompress(src, dst),
            (Codec::Lz4 | Codec::Lz4hc, None) => lz4::decompress(src.into(), dst.into()),
            (Codec::Lz4 | Codec::Lz4hc, Some(dict)) => {
                lz4::decompress_with(dict.lz4_decode()?, src, dst)
            }
            (Codec::Zlib, None) => self.zlib.decompress(src, dst),
            (Codec::Zstd, None) => self.zstd.decompress(src, dst),
            (Codec::Zstd, Some(dict)) => self.zstd.decompress_with(dict.zstd_decode()?, src, dst),
            (Codec::BloscLz | Codec::Zlib, Some(_)) => Err(Error::CODEC_DICT),
        }
    }

    /// Like [`Decoder::decompress`], but may stop once the first `wanted` bytes are decompressed.
    ///
    /// # Errors
    /// As [`Decoder::decompress`].
    pub fn decompress_prefix(
        &mut self,
        codec: Codec,
        dict: Option<&Dict>,
        src: &[u8],
        dst: &mut [u8],
        wanted: usize,
    ) -> Result<usize> {
        match (codec, dict) {
            // A match is always decoded whole, so stopping early saves time only if matches are
            // short: in a stream that did not compress well.
            (Codec::Lz4 | Codec::Lz4hc, None)
                if wanted < dst.len() / 4 * 3
                    && src.len() > dst.len() / 4
                    && dst.len() <= i32::MAX as usize =>
            {
                lz4::decompress_prefix(src, dst, wanted)
            }
            _ => self.decompress(codec, dict, src, dst),
        }
    }
}
