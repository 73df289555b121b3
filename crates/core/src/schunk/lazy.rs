//! Lazy chunks: of a chunk on disk the header and the block starts, and a trailer that says where in the frame the rest is.

use super::chunks::Bytes;
use super::state::State;
use super::store::{Location, Store, lock};
use super::superchunk::SuperChunk;
use oxiblosc_chunk::header::{ChunkHeader, EXTENDED_HEADER_LENGTH, Special, flags2, i32_at};
use oxiblosc_chunk::source::BlockSource;
use oxiblosc_error::{Error, Result};
use oxiblosc_frame::header::Kind;
use oxiblosc_memory::{Buffer, Collect, List, boxed};

/// Where the second flags byte of an extended header is.
const FLAGS2: usize = 31;

/// Where the frame has a chunk, as the trailer says. Nothing of it was checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LazyTrailer {
    /// The chunk's index; of a chunk in a directory, the number of its file.
    pub nchunk: i32,
    /// Where the chunk begins in the frame; of a chunk in a directory, the number of its file.
    pub offset: i64,
}

/// Whether the chunk of this header is lazy; special values never are.
#[inline]
pub fn is_lazy(header: &ChunkHeader) -> bool {
    header.is_lazy() && header.special() == Special::None
}

/// Size of the table of block starts. The chunk of stored data has room for one that it does not use.
pub fn table_len(header: &ChunkHeader) -> usize {
    4 * header.nblocks
}

/// Size of the lazy chunk of this header: the table, the index, the place, and the size of each block.
pub fn size(header: &ChunkHeader) -> usize {
    header.overhead() + table_len(header) + 4 + 8 + table_len(header)
}

/// Reads the trailer of a whole lazy chunk.
///
/// # Errors
/// [`Error::ReadBuffer`] where `lazy` is cut short.
pub fn place(header: &ChunkHeader, lazy: &[u8]) -> Result<LazyTrailer> {
    if lazy.len() < size(header) {
        return Err(Error::ReadBuffer);
    }
    let trailer = &lazy[header.overhead() + table_len(header)..];
    let (low, high) = (i32_at(trailer, 4), i32_at(trailer, 8));
    Ok(LazyTrailer {
        nchunk: i32_at(trailer, 0),
        offset: i64::from(high) << 32 | i64::from(low as u32),
    })
}

impl State {
    /// A chunk: a lazy one if it is on disk and not special.
    ///
    /// # Errors
    /// As for [`State::chunk`].
    pub fn lazy_chunk(&self, nchunk: usize) -> Result<Bytes<'_>> {
        let Location::File(stored) = self.store.find(nchunk)? else {
            return self.chunk(nchunk);
        };
        let header = stored.header()?;
        self.check_size(nchunk, header.nbytes)?;
        if !header.is_extended() {
            // A chunk of Blosc 1 has no flag that says it is lazy.
            return self.chunk(nchunk);
        }
        if header.special() != Special::None {
            let mut chunk = Buffer::zeroed(header.cbytes)?;
            stored.read(0, &mut chunk)?;
            return Ok(Bytes::Owned(chunk));
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
        let mut chunk = Buffer::zeroed(size(&header))?;
        stored.read(0, &mut chunk[..front])?;
        chunk[FLAGS2] |= flags2::LAZY;
        let place = self.lazy_place(nchunk)?;
        let trailer = EXTENDED_HEADER_LENGTH + table;
        chunk[trailer..trailer + 4].copy_from_slice(&place.nchunk.to_le_bytes());
        chunk[trailer + 4..trailer + 12].copy_from_slice(&place.offset.to_le_bytes());
        let sizes = sizes(&header, &chunk[EXTENDED_HEADER_LENGTH..trailer])?;
        for (i, size) in sizes.iter().enumerate() {
            let at = trailer + 12 + 4 * i;
            chunk[at..at + 4].copy_from_slice(&size.to_le_bytes());
        }
        Ok(Bytes::Owned(chunk))
    }

    /// What the trailer says of where a chunk is.
    fn lazy_place(&self, nchunk: usize) -> Result<LazyTrailer> {
        let Store::Disk(disk) = &self.store else {
            return Err(Error::Failure);
        };
        let disk = lock(disk);
        let offset = disk.offsets().get(nchunk).ok_or(Error::InvalidParam)?;
        Ok(match disk.kind() {
            Kind::Contiguous => LazyTrailer {
                nchunk: nchunk as i32,
                offset: offset + disk.header_len() as i64,
            },
            Kind::Sparse => LazyTrailer {
                nchunk: offset as i32,
                offset,
            },
        })
    }
}

impl SuperChunk {
    /// The bytes of the chunk that a lazy chunk of this super-chunk stands for; none if its chunks are in memory.
    ///
    /// # Errors
    /// Those of input.
    pub fn lazy_source(&self, place: LazyTrailer) -> Result<Option<Box<dyn BlockSource>>> {
        match &self.peek()?.store {
            Store::Disk(disk) => Ok(Some(boxed(lock(disk).at(place.offset)?)?)),
            Store::Separate(_) | Store::Memory(_) => Ok(None),
        }
    }
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
