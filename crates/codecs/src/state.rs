//! What a worker keeps between streams: one state per library, made when it is first needed.

use super::{Codec, Dict, PaddedDst, PaddedSrc, blosclz, lz4, noise, noise::Noise, zlib, zstd};
use oxiblosc_error::{Error, Result};

/// Compresses streams. One per worker; see the module for what is promised about reuse.
#[derive(Default)]
pub struct Encoder {
    blosclz: blosclz::Compressor,
    lz4: lz4::Fast,
    lz4hc: lz4::High,
    zlib: zlib::Compressor,
    zstd: zstd::Compressor,
    noise: Noise,
}

impl Encoder {
    /// An encoder that holds no memory yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Compresses `src` into `dst` and gives the number of bytes written, or `Ok(0)` when the result does not fit into
    /// `dst` or the codec judges the data not worth its while. The result may be as long as `dst`.
    ///
    /// `clevel` is 1..=9. `dict` must have been made for compression with the same codec and level.
    ///
    /// # Errors
    /// [`Error::CodecParam`] for a level out of range, [`Error::TwoGbLimit`] for a stream longer than `i32::MAX`,
    /// [`Error::CodecDict`] for a dictionary that is not this codec's, [`Error::MemoryAlloc`].
    pub fn compress(
        &mut self,
        codec: Codec,
        clevel: u8,
        dict: Option<&Dict>,
        src: &[u8],
        dst: &mut [u8],
    ) -> Result<usize> {
        if !(1..=9).contains(&clevel) {
            return Err(Error::CodecParam);
        }
        if src.len() > i32::MAX as usize {
            return Err(Error::TwoGbLimit);
        }
        // The libraries count in `int`; no stream gains from more room than its own length and a little.
        let room = dst.len().min(i32::MAX as usize);
        let dst = &mut dst[..room];
        // What searches little passes over noise as quickly as it is found, and zlib looks for it in parts.
        // LZ4HC is through with a short stream before noise is found in it. A dictionary may have what is nowhere else.
        let searches = match codec {
            Codec::Lz4hc => clevel >= 3 && src.len() >= noise::PIECE,
            Codec::Zstd => clevel >= 5,
            _ => false,
        };
        let searches = searches && dict.is_none();
        let hopeless = |noise: &mut Noise| -> Result<bool> {
            Ok(noise.fills(src)? || (codec == Codec::Lz4hc && noise.repeats_nothing(src)?))
        };
        if searches && room <= src.len() && hopeless(&mut self.noise)? {
            return Ok(0);
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
                    .compress_with(dict.lz4hc_encode(clevel)?, src, dst)
            }
            (Codec::Zlib, None) => self.zlib.compress(clevel, src, dst),
            (Codec::Zstd, None) => self.zstd.compress(clevel, src, dst),
            (Codec::Zstd, Some(dict)) => self.zstd.compress_with(dict.zstd_encode()?, src, dst),
            (Codec::BloscLz | Codec::Zlib, Some(_)) => Err(Error::CodecDict),
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
    /// A decoder that holds no memory yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Decompresses the stream `src` into `dst` and gives the number of bytes written, which is less than `dst.len()`
    /// when the stream ends early. Bytes of `dst` behind that number may have been overwritten.
    ///
    /// # Errors
    /// [`Error::Data`] for a stream that is malformed or longer than `dst`; [`Error::CodecDict`] for a dictionary that
    /// is not this codec's; [`Error::TwoGbLimit`] for lengths over `i32::MAX`; [`Error::MemoryAlloc`].
    pub fn decompress(
        &mut self,
        codec: Codec,
        dict: Option<&Dict>,
        src: &[u8],
        dst: &mut [u8],
    ) -> Result<usize> {
        self.decompress_padded(codec, dict, src.into(), dst.into())
    }

    /// The same among other bytes, of which those behind `dst` may be overwritten too.
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
            return Err(Error::TwoGbLimit);
        }
        match (codec, dict) {
            // What is fastest feels every call on the way the most.
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
            (Codec::BloscLz | Codec::Zlib, Some(_)) => Err(Error::CodecDict),
        }
    }

    /// As [`Decoder::decompress`], but stops once the first `wanted` bytes of `dst` are there, where the codec can.
    ///
    /// # Errors
    /// As [`Decoder::decompress`].
    pub fn decompress_front(
        &mut self,
        codec: Codec,
        dict: Option<&Dict>,
        src: &[u8],
        dst: &mut [u8],
        wanted: usize,
    ) -> Result<usize> {
        match (codec, dict) {
            // The library ends a partial decode byte by byte, within what may be a very long match: it pays only where
            // matches are short, that is where the stream did not compress well.
            (Codec::Lz4 | Codec::Lz4hc, None)
                if wanted < dst.len() / 4 * 3
                    && src.len() > dst.len() / 4
                    && dst.len() <= i32::MAX as usize =>
            {
                lz4::decompress_front(src, dst, wanted)
            }
            _ => self.decompress(codec, dict, src, dst),
        }
    }
}
