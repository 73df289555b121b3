//! Dictionaries: bytes stored once in a chunk, that every block of it may refer back to.

use super::{Codec, lz4, zstd};
use oxiblosc_error::{Error, Result};
use oxiblosc_memory::List;

/// The largest dictionary a chunk may carry, in bytes.
pub const MAX_DICT_SIZE: usize = 32 * 1024;
/// Below this size a dictionary is not worth its place, and the chunk is written without one.
pub const MIN_USEFUL_DICT: usize = 256;

/// Bytes kept free behind a dictionary. LZ4 looks whether a stream happens to follow its dictionary in memory and then
/// writes other bytes; with a gap it never does, and the output does not depend on where buffers lie.
const GAP: usize = 16;

/// The digested form of the bytes.
enum Prepared {
    Lz4Encode(lz4::FastDict),
    Lz4hcEncode(lz4::HighDict, u8),
    ZstdEncode(zstd::EncodeDict),
    Lz4Decode,
    ZstdDecode(zstd::DecodeDict),
}

/// A dictionary made ready for one codec and one direction; shared by all workers of a chunk.
pub struct Dict {
    // Dropped before `bytes`, into which some forms point.
    prepared: Prepared,
    bytes: List<u8>,
    len: usize,
}

impl Dict {
    /// For compressing with `codec` at `clevel` (1..=9).
    ///
    /// # Errors
    /// [`Error::CodecDict`] when the codec takes no dictionaries, or these bytes are empty or over [`MAX_DICT_SIZE`];
    /// [`Error::MemoryAlloc`].
    pub fn for_compression(codec: Codec, clevel: u8, bytes: &[u8]) -> Result<Self> {
        let (owned, len) = own(bytes)?;
        let prepared = match codec {
            // SAFETY: the heap allocation of `owned` is never written to or replaced, and lives in the same value.
            Codec::Lz4 => Prepared::Lz4Encode(unsafe { lz4::FastDict::new(&owned[..len]) }?),
            // SAFETY: as above.
            Codec::Lz4hc => Prepared::Lz4hcEncode(
                unsafe { lz4::HighDict::new(&owned[..len], clevel) }?,
                clevel,
            ),
            Codec::Zstd => Prepared::ZstdEncode(zstd::EncodeDict::new(bytes)?),
            Codec::BloscLz | Codec::Zlib => return Err(Error::CodecDict),
        };
        Ok(Dict {
            prepared,
            bytes: owned,
            len,
        })
    }

    /// For decompressing streams of `codec`, from bytes that may come from anywhere.
    ///
    /// # Errors
    /// As for [`Dict::for_compression`], and [`Error::CodecDict`] when the bytes are a damaged Zstd dictionary.
    pub fn for_decompression(codec: Codec, bytes: &[u8]) -> Result<Self> {
        let (owned, len) = own(bytes)?;
        let prepared = match codec {
            Codec::Lz4 | Codec::Lz4hc => Prepared::Lz4Decode,
            Codec::Zstd => Prepared::ZstdDecode(zstd::DecodeDict::new(bytes)?),
            Codec::BloscLz | Codec::Zlib => return Err(Error::CodecDict),
        };
        Ok(Dict {
            prepared,
            bytes: owned,
            len,
        })
    }

    /// Makes the bytes of a dictionary of at most `max_size` bytes from samples of the given sizes, which lie end to
    /// end at the start of `samples`. LZ4 and LZ4HC take the samples as they are; Zstd trains on them.
    /// `None` when nothing useful comes of it: the chunk is then to be written without a dictionary.
    ///
    /// # Errors
    /// [`Error::CodecDict`] when the codec takes no dictionaries; [`Error::InvalidParam`] when `samples` is shorter
    /// than the samples it should hold; [`Error::MemoryAlloc`].
    pub fn train(
        codec: Codec,
        samples: &[u8],
        sizes: &[usize],
        max_size: usize,
    ) -> Result<Option<List<u8>>> {
        if !codec.supports_dict() {
            return Err(Error::CodecDict);
        }
        let total = sizes
            .iter()
            .try_fold(0usize, |sum, size| sum.checked_add(*size))
            .filter(|&t| t <= samples.len())
            .ok_or(Error::InvalidParam)?;
        let max_size = max_size.min(MAX_DICT_SIZE);
        if max_size < MIN_USEFUL_DICT || total == 0 {
            return Ok(None);
        }
        let mut dict = List::new();
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

    pub(super) fn lz4_encode(&self) -> Result<&lz4::FastDict> {
        match &self.prepared {
            Prepared::Lz4Encode(dict) => Ok(dict),
            _ => Err(Error::CodecDict),
        }
    }

    pub(super) fn lz4hc_encode(&self, clevel: u8) -> Result<&lz4::HighDict> {
        match &self.prepared {
            Prepared::Lz4hcEncode(dict, level) if *level == clevel => Ok(dict),
            _ => Err(Error::CodecDict),
        }
    }

    pub(super) fn zstd_encode(&self) -> Result<&zstd::EncodeDict> {
        match &self.prepared {
            Prepared::ZstdEncode(dict) => Ok(dict),
            _ => Err(Error::CodecDict),
        }
    }

    pub(super) fn lz4_decode(&self) -> Result<&[u8]> {
        match &self.prepared {
            Prepared::Lz4Decode => Ok(self.bytes()),
            _ => Err(Error::CodecDict),
        }
    }

    pub(super) fn zstd_decode(&self) -> Result<&zstd::DecodeDict> {
        match &self.prepared {
            Prepared::ZstdDecode(dict) => Ok(dict),
            _ => Err(Error::CodecDict),
        }
    }
}

/// A copy of `bytes` with a gap behind it, and the length of the part that counts.
fn own(bytes: &[u8]) -> Result<(List<u8>, usize)> {
    if bytes.is_empty() || bytes.len() > MAX_DICT_SIZE {
        return Err(Error::CodecDict);
    }
    let mut owned = List::new();
    owned.reserve_exact(bytes.len() + GAP)?;
    owned.extend_from_slice(bytes)?;
    owned.resize(bytes.len() + GAP, 0)?;
    Ok((owned, bytes.len()))
}
