//! Chunks with checksums whose front is damaged: put right where the checksum of the front proves it, or without any.

use crate::checksum::{CHECKSUMS, Layout, MAGIC, crc32c};
use crate::decode::{Chunk, streams_len};
use crate::header::{Blocks, ChunkHeader, Special, flags2, i32_at};
use oxiblosc_error::{Error, Result};
use oxiblosc_memory::{Buffer, List};

/// Where in a chunk things are, if its header is this one.
struct Parts<'a> {
    header: &'a ChunkHeader,
    blocksize: usize,
    /// Where the table of checksums is.
    table: usize,
    /// Where the front ends.
    end: usize,
}

impl<'a> Parts<'a> {
    fn new(header: &'a ChunkHeader, bytes: &[u8]) -> Option<Self> {
        let Blocks::Regular { blocksize } = header.blocks else {
            return None;
        };
        let has_streams = header.special() == Special::None && !header.is_memcpyed();
        if !has_streams || !header.has_checksums() || header.is_lazy() || header.nbytes == 0 {
            return None;
        }
        let mut table = header.overhead() + 4 * header.nblocks;
        if header.blosc2_flags & flags2::USE_DICT != 0 {
            let len = i32_at(bytes.get(table..table + 4)?, 0);
            table = table.checked_add(4 + usize::try_from(len).ok()?)?;
        }
        let end = table + Layout::of(header).table_len();
        let fits = end < header.cbytes && header.cbytes <= bytes.len();
        fits.then_some(Self {
            header,
            blocksize,
            table,
            end,
        })
    }

    fn start_at(&self, nblock: usize) -> usize {
        self.header.overhead() + 4 * nblock
    }

    /// The streams of a block, from `start` on in `bytes`.
    fn streams<'b>(&self, bytes: &'b [u8], start: usize, nblock: usize) -> Option<&'b [u8]> {
        let bytes = bytes.get(start..)?;
        let size = self
            .blocksize
            .min(self.header.nbytes - nblock * self.blocksize);
        let len = streams_len(self.header, bytes, size, |_| ()).ok()?;
        bytes.get(..len)
    }

    /// Writes where blocks start, if each follows the one before it.
    fn walk(&self, bytes: &mut [u8]) {
        let mut start = self.end;
        for nblock in 0..self.header.nblocks {
            let at = self.start_at(nblock);
            bytes[at..at + 4].copy_from_slice(&(start as i32).to_le_bytes());
            start = match self.streams(bytes, start, nblock) {
                Some(streams) => start + streams.len(),
                // Where the next one starts only its own entry can tell.
                None if nblock + 1 < self.header.nblocks => {
                    usize::try_from(i32_at(bytes, at + 4)).unwrap_or(0)
                }
                None => start,
            };
        }
    }

    /// Writes the checksums of the blocks as they are.
    fn sum(&self, bytes: &mut [u8]) {
        for nblock in 0..self.header.nblocks {
            let start = usize::try_from(i32_at(bytes, self.start_at(nblock))).unwrap_or(0);
            let (front, behind) = bytes.split_at_mut(self.end);
            let start = start.checked_sub(self.end);
            if let Some(streams) = start.and_then(|start| self.streams(behind, start, nblock)) {
                Layout::of(self.header).set_block(&mut front[self.table..], nblock, streams);
            }
        }
    }

    fn is_right(&self, bytes: &[u8]) -> bool {
        bytes[..self.end]
            .split_last_chunk()
            .is_some_and(|(before, sum)| crc32c(before).to_le_bytes() == *sum)
    }
}

/// The chunk at the front of `bytes` as it was before its header, its block starts or its table were damaged, if its header was
/// this one: what is damaged is made anew out of the blocks, and the checksum of the front says whether that is how it was.
///
/// # Errors
/// [`Error::MemoryAlloc`].
pub fn rebuild(header: &ChunkHeader, bytes: &[u8]) -> Result<Option<Buffer>> {
    let Some(parts) = Parts::new(header, bytes) else {
        return Ok(None);
    };
    let mut chunk = Buffer::copy_of(&bytes[..header.cbytes])?;
    header.write(&mut chunk);
    chunk[parts.table..parts.table + MAGIC.len()].copy_from_slice(&MAGIC);
    for (walks, sums) in [(false, false), (false, true), (true, false), (true, true)] {
        let mut attempt = Buffer::copy_of(&chunk)?;
        if walks {
            parts.walk(&mut attempt);
        }
        if sums {
            parts.sum(&mut attempt);
        }
        if parts.is_right(&attempt) {
            return Ok(Some(attempt));
        }
    }
    Ok(None)
}

/// The chunk without its checksums, where the front is damaged and cannot be rebuilt, and the blocks that do not fit their
/// checksums in it. What the others decompress to is in doubt.
///
/// # Errors
/// Those of a damaged chunk, [`Error::MemoryAlloc`].
pub fn doubtful(header: &ChunkHeader, bytes: &[u8]) -> Result<(Buffer, List<usize>)> {
    let parts = Parts::new(header, bytes).ok_or(Error::Data)?;
    let mut chunk = Buffer::copy_of(&bytes[..header.cbytes])?;
    let plain = ChunkHeader {
        blosc2_flags2: header.blosc2_flags2 & !CHECKSUMS,
        ..*header
    };
    plain.write(&mut chunk);
    chunk[parts.table..parts.table + MAGIC.len()].fill(0);
    let parsed = Chunk::parse(&plain, &chunk)?;
    let (layout, mut wrong) = (Layout::of(header), List::new());
    for nblock in 0..header.nblocks {
        let fits = match parsed.block_streams(nblock) {
            Ok(streams) => layout.fits(&chunk[parts.table..parts.end], nblock, streams)?,
            Err(_) => false,
        };
        if !fits {
            wrong.push(nblock)?;
        }
    }
    Ok((chunk, wrong))
}
