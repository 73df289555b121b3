//! The compressor and decompressor that a worker reuses for all streams. Each codec's state is made when it is first needed.

use super::{
    Codec, Dict, PaddedDst, PaddedSrc, Release, blosclz, lz4, noise, noise::Noise, zlib, zstd,
};
use oxiblosc_error::{Error, Result};

/// What streams hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Layout {
    /// Anything. Then Zstd's streams are the library's byte for byte, unless they are incompressible, or short or longer than 128 KB at
    /// level 5.
    #[default]
    Unknown,
    /// One plane of shuffled numbers: the bytes of all of them at one place. Then a search that suits what a stream holds finds as much
    /// as the library's.
    Plane,
    /// Several planes of bytes or bits.
    Planes,
}

/// Compresses streams. One per worker. Earlier streams never influence the bytes of later ones.
#[derive(Default)]
pub struct Encoder {
    blosclz: blosclz::Compressor,
    lz4: lz4::Fast,
    lz4hc: lz4::High,
    zlib: zlib::Compressor,
    zstd: zstd::Compressor,
    noise: Noise,
    /// What the streams hold. Only Zstd looks at it.
    pub layout: Layout,
    /// Whose streams are written.
    pub release: Release,
}

impl Encoder {
    /// An encoder that has not allocated anything yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Compresses `src` into `dst`. Returns the number of bytes written, at most `dst.len()`, or `Ok(0)` if the result does not fit
    /// or the codec gives up on the data as incompressible.
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
        // The libraries' lengths are of type `int`. No result needs more room than that.
        let dst_len = dst.len().min(i32::MAX as usize);
        let dst = &mut dst[..dst_len];
        let sampled = codec == Codec::Zstd
            && self.layout != Layout::Unknown
            && zstd::is_sampled(clevel, src.len());
        // With a dictionary even random bytes may have matches.
        let must_shrink = dict.is_none() && dst_len <= src.len();
        if must_shrink && self.is_not_worth_a_search(codec, clevel, sampled, src)? {
            return Ok(0);
        }
        #[cfg(feature = "blosc1")]
        if let Release::Blosc1 { split } = self.release {
            match codec {
                Codec::BloscLz => return self.blosclz.compress_as_blosc1(split, clevel, src, dst),
                Codec::Lz4hc => return self.lz4hc.compress_as_blosc1(clevel, src, dst),
                Codec::Zlib => return self.zlib.compress_as_blosc1(clevel, src, dst),
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
            (Codec::Zlib, None) => self.zlib.compress(clevel, src, dst),
            (Codec::Zstd, None) => {
                let noise = sampled.then_some(&mut self.noise);
                self.zstd.compress(clevel, src, dst, self.layout, noise)
            }
            (Codec::Zstd, Some(dict)) => self.zstd.compress_with(dict.zstd_encode()?, src, dst),
            (Codec::BloscLz | Codec::Zlib, Some(_)) => Err(Error::CodecDict),
        }
    }

    /// Whether a codec that would search a stream for long would not make it shorter. Fast levels skip such data as quickly, zlib looks for
    /// it in parts of a stream, and LZ4HC is faster for short streams. Zstd does it with what it samples anyway (`sampled`), up to level 5.
    fn is_not_worth_a_search(
        &mut self,
        codec: Codec,
        clevel: u8,
        sampled: bool,
        src: &[u8],
    ) -> Result<bool> {
        let noise = &mut self.noise;
        match codec {
            Codec::Lz4hc if clevel >= 3 && src.len() >= noise::PIECE => {
                Ok(noise.is_incompressible(src)? || noise.rarely_repeats(src)?)
            }
            Codec::Zstd if clevel > 5 || (clevel == 5 && !sampled) => noise.is_incompressible(src),
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

    /// Decompresses the stream `src` into `dst`. Returns the number of bytes written, which is less than `dst.len()` for a stream of
    /// less data. Bytes of `dst` behind it may have been overwritten.
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

    /// Like [`Decoder::decompress`], with padding behind both buffers. That of `dst` may be overwritten.
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
            // The fastest codec is called directly, since the cost of another call would show.
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

    /// Like [`Decoder::decompress`], but may stop once the first `wanted` bytes of `dst` are there.
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
            // Stopping early saves something only if matches are short, that is if the stream did not compress well: a match is
            // always decoded as a whole.
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
