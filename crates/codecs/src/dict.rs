//! Dictionaries: bytes that are stored once in a chunk, and to which matches in all of its blocks
//! may refer.

use super::{Codec, lz4, zstd};
use oxiblosc_base::memory::TryVec;
use oxiblosc_base::{Error, Result};

/// The largest dictionary a chunk may carry, in bytes.
pub const MAX_DICT_SIZE: usize = 32 * 1024;
/// A smaller dictionary does not pay, and the chunk is written without one.
pub const MIN_USEFUL_DICT: usize = 256;

/// Unused bytes behind a dictionary. If the data happened to follow the dictionary in memory, the
/// LZ4 library would find other matches. The gap prevents that, so that the output does not depend
/// on addresses.
const GAP: usize = 16;

/// What is made of the bytes for one codec.
enum PreparedDict {
    Lz4Encode(lz4::EncodeDict),
    Lz4hcEncode(lz4::HcEncodeDict, u8),
    ZstdEncode(zstd::EncodeDict),
    Lz4Decode,
    ZstdDecode(zstd::DecodeDict),
}

/// A dictionary that is prepared for one codec, to compress or to decompress. All workers of a
/// chunk share it.
pub struct Dict {
    // Before `bytes`, so that it is dropped first: one variant points into them.
    prepared: PreparedDict,
    /// The dictionary, with a gap behind it.
    bytes: TryVec<u8>,
    /// The length without the gap.
    len: usize,
}

impl Dict {
    /// For compressing with `codec` at `clevel` (1..=9).
    ///
    /// # Errors
    /// [`Error::CODEC_DICT`] when the codec takes no dictionaries, or these bytes are empty or over
    /// [`MAX_DICT_SIZE`]; [`Error::MEMORY_ALLOC`].
    pub fn for_compression(codec: Codec, clevel: u8, bytes: &[u8]) -> Result<Self> {
        let (owned, len) = copy_with_gap(bytes)?;
        let prepared = match codec {
            // SAFETY: `owned` moves into the same `Dict` as the prepared form, which is dropped
            // first. The bytes are on the heap, so they stay where they are, and they do not
            // change, since no method of `Dict` borrows them mutably.
            Codec::Lz4 => PreparedDict::Lz4Encode(unsafe { lz4::EncodeDict::new(&owned[..len]) }?),
            Codec::Lz4hc => {
                PreparedDict::Lz4hcEncode(lz4::HcEncodeDict::new(bytes, clevel)?, clevel)
            }
            Codec::Zstd => PreparedDict::ZstdEncode(zstd::EncodeDict::new(bytes)?),
            Codec::BloscLz | Codec::Zlib => return Err(Error::CODEC_DICT),
        };
        Ok(Dict {
            prepared,
            bytes: owned,
            len,
        })
    }

    /// For decompressing streams of `codec`. The bytes need not be trusted.
    ///
    /// # Errors
    /// As for [`Dict::for_compression`], and [`Error::CODEC_DICT`] when the bytes are a damaged
    /// Zstd dictionary.
    pub fn for_decompression(codec: Codec, bytes: &[u8]) -> Result<Self> {
        let (owned, len) = copy_with_gap(bytes)?;
        let prepared = match codec {
            Codec::Lz4 | Codec::Lz4hc => PreparedDict::Lz4Decode,
            Codec::Zstd => PreparedDict::ZstdDecode(zstd::DecodeDict::new(bytes)?),
            Codec::BloscLz | Codec::Zlib => return Err(Error::CODEC_DICT),
        };
        Ok(Dict {
            prepared,
            bytes: owned,
            len,
        })
    }

    /// Makes a dictionary of at most `max_size` bytes from samples of the given sizes, which lie
    /// one behind the other at the start of `samples`. For LZ4 and LZ4HC it consists of the samples
    /// themselves; Zstd trains one. `None` if there is no useful dictionary; then the chunk should
    /// be written without one.
    ///
    /// # Errors
    /// [`Error::CODEC_DICT`] when the codec takes no dictionaries; [`Error::INVALID_PARAM`] when
    /// `samples` is shorter than the samples it should hold; [`Error::MEMORY_ALLOC`].
    pub fn train(
        codec: Codec,
        samples: &[u8],
        sizes: &[usize],
        max_size: usize,
    ) -> Result<Option<TryVec<u8>>> {
        if !codec.supports_dict() {
            return Err(Error::CODEC_DICT);
        }
        let total = sizes
            .iter()
            .try_fold(0usize, |sum, size| sum.checked_add(*size))
            .filter(|&t| t <= samples.len())
            .ok_or(Error::INVALID_PARAM)?;
        let max_size = max_size.min(MAX_DICT_SIZE);
        if max_size < MIN_USEFUL_DICT || total == 0 {
            return Ok(None);
        }
        let mut dict = TryVec::new();
        if codec == Codec::Zstd {
            dict.reserve_exact(max_size)?;
            dict.resize(max_size, 0)?;
            let Some(len) = zstd::train(&mut dict, samples, sizes)? else {
                return Ok(None);
            };
            dict.truncate(len);
        } else {
            let len = total.min(max_size);
            dict.reserve_exact(len)?;
            dict.extend_from_slice(&samples[..len])?;
        }
        Ok(Some(dict))
    }

    /// The dictionary's bytes, as they are stored in the chunk.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    pub(super) fn lz4_encode(&self) -> Result<&lz4::EncodeDict> {
        match &self.prepared {
            PreparedDict::Lz4Encode(dict) => Ok(dict),
            _ => Err(Error::CODEC_DICT),
        }
    }

    pub(super) fn lz4hc_encode(&self, clevel: u8) -> Result<(&[u8], &lz4::HcEncodeDict)> {
        match &self.prepared {
            PreparedDict::Lz4hcEncode(dict, level) if *level == clevel => Ok((self.bytes(), dict)),
            _ => Err(Error::CODEC_DICT),
        }
    }

    pub(super) fn zstd_encode(&self) -> Result<&zstd::EncodeDict> {
        match &self.prepared {
            PreparedDict::ZstdEncode(dict) => Ok(dict),
            _ => Err(Error::CODEC_DICT),
        }
    }

    pub(super) fn lz4_decode(&self) -> Result<&[u8]> {
        match &self.prepared {
            PreparedDict::Lz4Decode => Ok(self.bytes()),
            _ => Err(Error::CODEC_DICT),
        }
    }

    pub(super) fn zstd_decode(&self) -> Result<&zstd::DecodeDict> {
        match &self.prepared {
            PreparedDict::ZstdDecode(dict) => Ok(dict),
            _ => Err(Error::CODEC_DICT),
        }
    }
}

/// A copy of `bytes` with a gap behind it, and the length without the gap.
fn copy_with_gap(bytes: &[u8]) -> Result<(TryVec<u8>, usize)> {
    if bytes.is_empty() || bytes.len() > MAX_DICT_SIZE {
        return Err(Error::CODEC_DICT);
    }
    let mut owned = TryVec::new();
    owned.reserve_exact(bytes.len() + GAP)?;
    owned.extend_from_slice(bytes)?;
    owned.resize(bytes.len() + GAP, 0)?;
    Ok((owned, bytes.len()))
}
