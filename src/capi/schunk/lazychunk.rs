//! Lazy chunks: the front of a chunk on disk, and where the rest is.

use super::chunks::{Bytes, bytes_of};
use super::handle::{Handle, Inner};
use crate::capi::lazy::{self, Place};
use oxiblosc_chunk::header::{ChunkHeader, EXTENDED_HEADER_LENGTH, Special, flags2, i32_at};
use oxiblosc_chunk::source::BlockSource;
use oxiblosc_core::schunk::{Store, Where};
use oxiblosc_error::{Error, Result};
use oxiblosc_frame::header::Kind;
use oxiblosc_memory::{Buffer, Collect, List, boxed};

/// Where the second flags byte of an extended header is.
const FLAGS2: usize = 31;

/// Chunk `nchunk`: lazy, if it is on disk and not told by its header alone.
pub fn of(handle: &Handle, nchunk: usize) -> Result<Bytes> {
    let stored = match handle.inner().store.find(nchunk)? {
        Where::Stored(stored) => Some(stored),
        _ => None,
    };
    let Some(stored) = stored else {
        return bytes_of(handle, nchunk);
    };
    let header = stored.header()?;
    handle
        .inner()
        .expect(&handle.counts(), nchunk, header.nbytes)?;
    if !header.is_extended() {
        // A chunk of Blosc 1 has no flag that says it is lazy.
        return bytes_of(handle, nchunk);
    }
    if header.special() != Special::None {
        let mut chunk = Buffer::zeroed(header.cbytes)?;
        stored.read(0, &mut chunk)?;
        return Ok(Bytes::Apart(chunk));
    }
    if header.is_memcpyed() && header.cbytes != header.nbytes + header.overhead() {
        // The table has room for as many blocks as the header claims, so there must be as much data.
        return Err(Error::Data);
    }
    let table = 4 * header.nblocks;
    let front = EXTENDED_HEADER_LENGTH + if header.is_memcpyed() { 0 } else { table };
    if front > header.cbytes {
        return Err(Error::InvalidHeader);
    }
    let mut chunk = Buffer::zeroed(lazy::size(&header))?;
    stored.read(0, &mut chunk[..front])?;
    chunk[FLAGS2] |= flags2::LAZY;
    let place = place_of(&handle.inner(), nchunk)?;
    let trailer = EXTENDED_HEADER_LENGTH + table;
    chunk[trailer..trailer + 4].copy_from_slice(&place.nchunk.to_le_bytes());
    chunk[trailer + 4..trailer + 12].copy_from_slice(&place.offset.to_le_bytes());
    let sizes = sizes(&header, &chunk[EXTENDED_HEADER_LENGTH..trailer])?;
    for (i, size) in sizes.iter().enumerate() {
        let at = trailer + 12 + 4 * i;
        chunk[at..at + 4].copy_from_slice(&size.to_le_bytes());
    }
    Ok(Bytes::Apart(chunk))
}

/// What the trailer says of where a chunk is.
fn place_of(inner: &Inner, nchunk: usize) -> Result<Place> {
    let Store::Disk(disk) = &inner.store else {
        return Err(Error::Failure);
    };
    let offset = disk.offsets().get(nchunk).ok_or(Error::InvalidParam)?;
    Ok(match disk.kind() {
        Kind::Contiguous => Place {
            nchunk: nchunk as i32,
            offset: offset + disk.header_len() as i64,
        },
        Kind::Sparse => Place {
            nchunk: offset as i32,
            offset,
        },
    })
}

/// The size of each compressed block: up to the next one, wherever that is in the table.
fn sizes(header: &ChunkHeader, table: &[u8]) -> Result<List<i32>> {
    if header.is_memcpyed() {
        let blocksize = header.blocksize_field();
        let blocks = (0..header.nblocks)
            .map(|nblock| blocksize.min(header.nbytes - nblock * blocksize) as i32);
        return blocks.list();
    }
    let start = |nblock: usize| i64::from(i32_at(table, 4 * nblock));
    let mut order: List<(i64, usize)> = (0..header.nblocks).map(|n| (start(n), n)).list()?;
    order.sort_unstable();
    let mut sizes = List::filled(0, header.nblocks)?;
    for (i, (start, nblock)) in order.iter().enumerate() {
        let next = order.get(i + 1).map_or(header.cbytes as i64, |next| next.0);
        sizes[*nblock] = (next - start) as i32;
    }
    Ok(sizes)
}

/// The bytes of the chunk that a lazy chunk of this super-chunk stands for.
pub fn source(handle: &Handle, place: Place) -> Result<Option<Box<dyn BlockSource>>> {
    let mut inner = handle.inner();
    match &mut inner.store {
        Store::Disk(disk) => Ok(Some(boxed(disk.at(place.offset)?)?)),
        _ => Ok(None),
    }
}
