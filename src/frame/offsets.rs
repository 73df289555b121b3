//! The index of a frame: where each chunk is.
//!
//! On disk it is a chunk of 64-bit little-endian numbers. Those below 0 stand for chunks whose content follows from the
//! kind in their uppermost byte; see the contiguous frame format document, "Chunks".

use crate::chunk::decode::Chunk;
use crate::chunk::encode::{EncodeParams, Source, compress};
use crate::chunk::getitem::{ItemRange, getitem};
use crate::chunk::header::{
    ChunkHeader, EXTENDED_HEADER_LENGTH, MAX_BUFFERSIZE, Special, filter_id,
};
use crate::chunk::hooks::{NoHooks, Serial};
use crate::chunk::special;
use crate::codec::Codec;
use crate::error::{Error, Result};
use crate::tune::Request;

/// Bytes of one offset.
pub const WIDTH: usize = 8;
/// The most chunks of a frame: their offsets must fit into a chunk.
pub const MAX_CHUNKS: usize = MAX_BUFFERSIZE as usize / WIDTH;
/// Bytes of a block of an index that is written.
const BLOCKSIZE: usize = 16 << 10;
/// Offsets that are decoded at once: memory grows with what was really decoded, not with what a header claims.
const PIECE: usize = 8 << 10;

/// Where a chunk is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// At a distance from the end of the header, or in the file of this number.
    At(u64),
    /// Nowhere: every item is the same.
    Special(Special),
}

impl Place {
    /// The place that an offset stands for.
    pub fn from_offset(offset: i64) -> Result<Self> {
        if offset >= 0 {
            return Ok(Self::At(offset as u64));
        }
        let kind = (offset as u64 >> 56) as u8 & 0x7f;
        // As the reference looks at the bits: zeros first, then uninitialised, then NaNs.
        match kind {
            kind if kind & 1 != 0 => Ok(Self::Special(Special::Zero)),
            kind if kind & 4 != 0 => Ok(Self::Special(Special::Uninit)),
            kind if kind & 2 != 0 => Ok(Self::Special(Special::Nan)),
            _ => Err(Error::Data),
        }
    }

    /// The offset that stands for the place. Only zeros, NaNs and uninitialised chunks have one without a place.
    pub fn to_offset(self) -> i64 {
        let kind = match self {
            Self::At(offset) => return offset as i64,
            Self::Special(Special::Nan) => 2u64,
            Self::Special(Special::Uninit) => 4,
            Self::Special(_) => 1,
        };
        ((1 << 63) | (kind << 56)) as i64
    }

    /// Where a chunk with this header goes: nowhere, if all that it says is its kind.
    pub fn special_of(header: &ChunkHeader) -> Option<Self> {
        match header.special() {
            kind @ (Special::Zero | Special::Nan | Special::Uninit) => Some(Self::Special(kind)),
            _ => None,
        }
    }
}

/// All offsets, in the order of the chunks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Offsets {
    /// The same offset many times: a frame filled with special values, of which there may be very many.
    Repeated {
        /// The offset.
        offset: i64,
        /// How often.
        count: usize,
    },
    /// Any offsets.
    List(Vec<i64>),
}

impl Offsets {
    /// No chunks.
    pub const EMPTY: Self = Self::List(Vec::new());

    /// How many chunks there are.
    pub fn len(&self) -> usize {
        match self {
            Self::Repeated { count, .. } => *count,
            Self::List(list) => list.len(),
        }
    }

    /// Whether there are no chunks.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The offset of chunk `nchunk`, if there is one.
    pub fn get(&self, nchunk: usize) -> Option<i64> {
        match self {
            Self::Repeated { offset, count } => (nchunk < *count).then_some(*offset),
            Self::List(list) => list.get(nchunk).copied(),
        }
    }

    /// The place of chunk `nchunk`.
    pub fn place(&self, nchunk: usize) -> Result<Place> {
        Place::from_offset(self.get(nchunk).ok_or(Error::InvalidParam)?)
    }

    /// Every offset.
    pub fn iter(&self) -> impl Iterator<Item = i64> + '_ {
        (0..self.len()).filter_map(|nchunk| self.get(nchunk))
    }

    /// The offsets of real places, in the order of the chunks; of equal ones in a row of special length, one.
    pub fn places(&self) -> impl Iterator<Item = u64> + '_ {
        let list: &[i64] = match self {
            Self::Repeated { offset, count } => &std::slice::from_ref(offset)[..(*count).min(1)],
            Self::List(list) => list,
        };
        list.iter().filter_map(|offset| u64::try_from(*offset).ok())
    }

    /// As a list that can be changed.
    pub fn list_mut(&mut self) -> Result<&mut Vec<i64>> {
        if let Self::Repeated { offset, count } = *self {
            let mut list = Vec::new();
            list.try_reserve_exact(count)
                .map_err(|_| Error::MemoryAlloc)?;
            list.resize(count, offset);
            *self = Self::List(list);
        }
        match self {
            Self::List(list) => Ok(list),
            Self::Repeated { .. } => Err(Error::Failure),
        }
    }

    /// Reads an index chunk. `count` is the number of chunks, where the frame's header knows it; an index may hold
    /// more offsets than that while another process is appending, and those are left out.
    pub fn decode(bytes: &[u8], count: Option<usize>) -> Result<Self> {
        let header = ChunkHeader::parse(bytes)?;
        if !header.nbytes.is_multiple_of(WIDTH) {
            return Err(Error::InvalidHeader);
        }
        let held = header.nbytes / WIDTH;
        let count = count.unwrap_or(held);
        if count > held || (count < held && !header.is_memcpyed()) {
            return Err(Error::Data);
        }
        let chunk = Chunk::parse(&header, bytes)?;
        let repeated = match header.special() {
            Special::None => None,
            Special::Zero => Some(0),
            Special::Value if header.cbytes == header.overhead() + WIDTH => {
                let mut value = [0; WIDTH];
                value.copy_from_slice(&bytes[header.overhead()..header.cbytes]);
                Some(i64::from_le_bytes(value))
            }
            _ => return Err(Error::Data),
        };
        if let Some(offset) = repeated {
            return Ok(Self::Repeated { offset, count });
        }
        let mut list: Vec<i64> = Vec::new();
        let mut piece = vec![0; PIECE.min(count) * WIDTH];
        while list.len() < count {
            let len = PIECE.min(count - list.len()) * WIDTH;
            let range = ItemRange {
                start: list.len() * WIDTH,
                len,
            };
            getitem(&chunk, range, &mut piece[..len], &NoHooks)?;
            list.try_reserve(PIECE).map_err(|_| Error::MemoryAlloc)?;
            list.extend(piece[..len].chunks_exact(WIDTH).map(|item| {
                i64::from_le_bytes([
                    item[0], item[1], item[2], item[3], item[4], item[5], item[6], item[7],
                ])
            }));
        }
        list.shrink_to_fit();
        Ok(Self::List(list))
    }

    /// The offsets as they lie in memory and in an index that is not compressed.
    fn to_bytes(&self) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        bytes
            .try_reserve_exact(self.len() * WIDTH)
            .map_err(|_| Error::MemoryAlloc)?;
        for offset in self.iter() {
            bytes.extend(offset.to_le_bytes());
        }
        Ok(bytes)
    }

    /// A compressed index chunk, as the reference writes it.
    pub fn encode(&self) -> Result<Vec<u8>> {
        if self.len() > MAX_CHUNKS {
            return Err(Error::Data);
        }
        if let Self::Repeated { offset, count } = *self {
            let mut chunk = vec![0; EXTENDED_HEADER_LENGTH + WIDTH];
            let nbytes = count * WIDTH;
            let blocksize = nbytes.clamp(1, BLOCKSIZE);
            special::write(
                Special::Value,
                nbytes,
                blocksize,
                WIDTH,
                &offset.to_le_bytes(),
                &mut chunk,
            );
            return Ok(chunk);
        }
        let bytes = self.to_bytes()?;
        let mut chunk = Vec::new();
        chunk
            .try_reserve_exact(bytes.len() + EXTENDED_HEADER_LENGTH)
            .map_err(|_| Error::MemoryAlloc)?;
        chunk.resize(bytes.len() + EXTENDED_HEADER_LENGTH, 0);
        let cbytes = compress(
            &params(bytes.len()),
            Source::Buffer(&bytes),
            &mut chunk,
            &NoHooks,
            &Serial,
        )?;
        chunk.truncate(cbytes);
        Ok(chunk)
    }

    /// An index chunk that holds the offsets as they are, so that one more can be written behind them.
    pub fn encode_stored(&self) -> Result<Vec<u8>> {
        let mut chunk = vec![0; EXTENDED_HEADER_LENGTH];
        chunk[..].copy_from_slice(&stored_header(self.len())?);
        chunk.extend(self.to_bytes()?);
        Ok(chunk)
    }
}

/// The header of an index chunk of `count` offsets that are stored as they are.
pub fn stored_header(count: usize) -> Result<[u8; EXTENDED_HEADER_LENGTH]> {
    use crate::chunk::header::{Blocks, flags, version};
    if count > MAX_CHUNKS {
        return Err(Error::Data);
    }
    let nbytes = count * WIDTH;
    let mut bytes = [0; EXTENDED_HEADER_LENGTH];
    ChunkHeader {
        version: version::STABLE,
        versionlz: 1,
        flags: flags::EXTENDED | flags::MEMCPYED,
        typesize: WIDTH as u8,
        nbytes,
        cbytes: nbytes + EXTENDED_HEADER_LENGTH,
        blocks: Blocks::Regular {
            blocksize: nbytes.clamp(1, BLOCKSIZE),
        },
        ..ChunkHeader::EMPTY
    }
    .write(&mut bytes);
    Ok(bytes)
}

/// How an index is compressed: BloscLZ at its default level, shuffled.
fn params(nbytes: usize) -> EncodeParams {
    const CLEVEL: u8 = 5;
    const NEVER_SPLIT: i32 = 2;
    let compcode = Codec::BloscLz;
    let mut filters = [filter_id::NONE; 6];
    filters[5] = filter_id::SHUFFLE;
    let request = Request {
        compcode: compcode as i32,
        clevel: i32::from(CLEVEL),
        typesize: WIDTH as i32,
        nbytes: nbytes as i32,
        shuffle: true,
        splitmode: NEVER_SPLIT,
    };
    EncodeParams {
        compcode: compcode as u8,
        compcode_meta: 0,
        versionlz: 1,
        clevel: CLEVEL,
        typesize: WIDTH,
        blocksize: request.blocksize(BLOCKSIZE as i32) as usize,
        filters,
        filters_meta: [0; 6],
        split: false,
        use_dict: false,
        instrumented: false,
        extended: true,
        nthreads: 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back() {
        for count in [0usize, 1, 2, 7, 1000, 20_000] {
            let list: Vec<i64> = (0..count as i64)
                .map(|i| {
                    if i % 7 == 3 {
                        i64::MIN | 1 << 56
                    } else {
                        i * 1234
                    }
                })
                .collect();
            let offsets = Offsets::List(list.clone());
            for bytes in [offsets.encode().unwrap(), offsets.encode_stored().unwrap()] {
                let back = Offsets::decode(&bytes, Some(count)).unwrap();
                assert_eq!(back.iter().collect::<Vec<_>>(), list);
                assert_eq!(back.len(), count);
                assert!(Offsets::decode(&bytes, Some(count + 1)).is_err());
            }
        }
    }

    #[test]
    fn a_great_many_equal_chunks_take_no_room() {
        let offset = Place::Special(Special::Nan).to_offset();
        let offsets = Offsets::Repeated {
            offset,
            count: 200_000_000,
        };
        let bytes = offsets.encode().unwrap();
        assert_eq!(bytes.len(), 40);
        assert_eq!(Offsets::decode(&bytes, None), Ok(offsets));
    }

    #[test]
    fn special_places_survive() {
        for kind in [Special::Zero, Special::Nan, Special::Uninit] {
            let place = Place::Special(kind);
            assert_eq!(Place::from_offset(place.to_offset()), Ok(place));
        }
        assert_eq!(Place::from_offset(77), Ok(Place::At(77)));
        assert_eq!(Place::from_offset(i64::MIN), Err(Error::Data));
    }
}
