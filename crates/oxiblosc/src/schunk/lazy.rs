//! Lazy chunks of a super-chunk: see [`lazy`](crate::lazy).

use super::chunks::WholeChunk;
use super::state::State;
use super::store::{ChunkStore, Location};
use super::superchunk::SuperChunk;
use crate::lazy::{LazySource, LazyTrailer, size, sizes};
use oxiblosc_base::memory::{Buffer, boxed};
use oxiblosc_base::{Error, Result};
use oxiblosc_chunk::header::{EXTENDED_HEADER_LENGTH, Special, flags2};
use oxiblosc_frame::disk::Disk;
use oxiblosc_frame::header::FrameKind;

/// The offset of the second flags byte in an extended header.
const FLAGS2: usize = 31;

/// A chunk: a lazy one if it is on disk and not special.
///
/// # Errors
/// As for [`State::chunk`].
pub fn lazy_chunk(state: &State, nchunk: usize) -> Result<WholeChunk<'_>> {
    let (ChunkStore::Disk(disk), Location::File(stored)) =
        (&state.store, state.store.find(nchunk)?)
    else {
        // In a transaction the offsets of chunks are not known yet.
        return state.chunk(nchunk);
    };
    let header = stored.header()?;
    state.check_size(nchunk, header.nbytes)?;
    if !header.is_extended() {
        // The header of Blosc 1 has no flag for lazy chunks.
        return state.chunk(nchunk);
    }
    if header.special() != Special::None {
        let mut chunk = Buffer::zeroed(header.cbytes)?;
        stored.read(0, &mut chunk)?;
        return Ok(WholeChunk::Owned(chunk));
    }
    if header.is_memcpyed() && header.cbytes != header.nbytes + header.overhead() {
        // The lazy chunk has a table for all blocks that the header claims, so there must be the
        // data of so many blocks.
        return Err(Error::DATA);
    }
    let table = 4 * header.nblocks;
    let prefix = EXTENDED_HEADER_LENGTH + if header.is_memcpyed() { 0 } else { table };
    if prefix > header.cbytes {
        return Err(Error::INVALID_HEADER);
    }
    let mut chunk = Buffer::zeroed(size(&header))?;
    stored.read(0, &mut chunk[..prefix])?;
    chunk[FLAGS2] |= flags2::LAZY;
    let location = trailer_of(&disk.lock(), nchunk)?;
    let trailer = EXTENDED_HEADER_LENGTH + table;
    chunk[trailer..trailer + 4].copy_from_slice(&location.nchunk.to_le_bytes());
    chunk[trailer + 4..trailer + 12].copy_from_slice(&location.offset.to_le_bytes());
    let sizes = sizes(&header, &chunk[EXTENDED_HEADER_LENGTH..trailer])?;
    for (i, size) in sizes.iter().enumerate() {
        let at = trailer + 12 + 4 * i;
        chunk[at..at + 4].copy_from_slice(&size.to_le_bytes());
    }
    Ok(WholeChunk::Owned(chunk))
}

/// The location of a chunk for the trailer of a lazy chunk.
fn trailer_of(disk: &Disk, nchunk: usize) -> Result<LazyTrailer> {
    let offset = disk.offsets().get(nchunk).ok_or(Error::INVALID_PARAM)?;
    Ok(match disk.kind() {
        FrameKind::Contiguous => LazyTrailer {
            nchunk: nchunk as i32,
            offset: offset + disk.header_len() as i64,
        },
        FrameKind::Sparse => LazyTrailer {
            nchunk: offset as i32,
            offset,
        },
    })
}

/// Where to read the blocks of a lazy chunk of this super-chunk. None if its chunks are in memory.
///
/// # Errors
/// Those of input.
pub fn lazy_source(schunk: &SuperChunk, location: LazyTrailer) -> Result<LazySource> {
    let at =
        |disk: &mut Disk| -> Result<LazySource> { Ok(Some(boxed(disk.at(location.offset)?)?)) };
    schunk.peek()?.store.with_disk(Ok(None), at)
}
