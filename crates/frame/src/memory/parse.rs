//! Parses a frame in a buffer.

use crate::binding::Binding;
use crate::fingerprint;
use crate::header::{Extent, FrameKind, Header};
use crate::loaded::Loaded;
use crate::offsets::{Offsets, WIDTH};
use crate::trailer;
use oxiblosc_base::memory::{ToTryVec, TryVec};
use oxiblosc_base::{Error, Result};
use oxiblosc_chunk::header::ChunkHeader;

/// The index that `bytes` begin with; empty if there is none.
fn index_bytes(bytes: &[u8]) -> &[u8] {
    let len = ChunkHeader::parse_basic(bytes).map_or(0, |header| header.cbytes);
    bytes.get(..len).unwrap_or_default()
}

/// The number of offsets in an index.
fn held(index: &[u8]) -> Result<usize> {
    Ok(ChunkHeader::parse_basic(index)?.nbytes / WIDTH)
}

/// The offsets in the index of a frame with this header. `index` is what lies before the trailer;
/// none if the header's sizes allow none.
fn offsets_in(index: Option<&[u8]>, header: &Header, frame_len: u64) -> Result<Offsets> {
    let count = match (header.nchunks(), index) {
        // When the last chunk is deleted, the reference does not update the size from which the
        // position of the index follows.
        (Some(0), None | Some([])) => Some(0),
        (_, None) => return Err(Error::INVALID_HEADER),
        (Some(0) | None, _) => None,
        (Some(count), _) => Some(usize::try_from(count).map_err(|_| Error::INVALID_HEADER)?),
    };
    match (count, index) {
        // Only in a file that another process appends to may an index have more offsets than the
        // header says.
        (Some(count), Some(index)) if count > 0 && held(index)? != count => {
            Err(Error::INVALID_HEADER)
        }
        (Some(0), _) | (_, None) => Ok(Offsets::EMPTY),
        (count, Some(index)) => match Offsets::decode(index, count, header.kind, frame_len) {
            Err(error) if header.tolerates(error) => Ok(Offsets::EMPTY),
            other => other,
        },
    }
}

/// A frame in a buffer.
pub struct Parsed {
    /// Its sizes.
    pub extent: Extent,
    /// Header and metalayers.
    pub loaded: Loaded,
    /// The offsets of the chunks.
    pub offsets: Offsets,
    /// The bytes of the trailer.
    pub trailer: TryVec<u8>,
    /// What binds the chunks to their places.
    pub binding: Option<Binding>,
}

/// Parses a frame.
pub fn parse(bytes: &[u8]) -> Result<Parsed> {
    if !Header::has_magic(bytes) {
        return Err(Error::INVALID_HEADER);
    }
    let extent = Extent::parse(bytes)?;
    if extent.frame_len != bytes.len() as u64 {
        return Err(Error::INVALID_HEADER);
    }
    let header = Header::parse(bytes)?;
    if header.kind != FrameKind::Contiguous {
        return Err(Error::FRAME_TYPE);
    }
    let header_len = u64::from(extent.header_len);
    let end = bytes
        .len()
        .checked_sub(trailer::MIN_LEN)
        .ok_or(Error::INVALID_HEADER)?;
    let trailer_len = trailer::len(&bytes[end..], extent.frame_len, header_len)?;
    let mut trailer_pos = bytes.len() - trailer_len;
    let mut trailer = bytes[trailer_pos..].to_try_vec()?;
    let vlmetalayers = match trailer::parse(&trailer) {
        // The length in it is wrong; the trailer then begins right behind the header.
        Err(error) if header.tolerates(error) => {
            trailer_pos = extent.header_len as usize;
            trailer = bytes[trailer_pos..].to_try_vec()?;
            trailer::correct_len(&mut trailer)?;
            trailer::parse(&trailer)?
        }
        parsed => parsed?,
    };
    let index = header_len
        .checked_add(extent.cbytes)
        .filter(|pos| *pos <= trailer_pos as u64)
        .map(|pos| &bytes[pos as usize..trailer_pos]);
    let offsets = offsets_in(index, &header, extent.frame_len)?;
    offsets.check(header.kind, &extent)?;
    let index_crc = || match index {
        Some(index) if !offsets.is_empty() => fingerprint::of_index(index_bytes(index)),
        _ => 0,
    };
    let coverage = fingerprint::check(&bytes[..extent.header_len as usize], index_crc, &trailer)?;
    Ok(Parsed {
        extent,
        loaded: Loaded {
            header,
            vlmetalayers,
            coverage,
        },
        offsets,
        trailer,
        binding: index.and_then(Binding::of_index),
    })
}
