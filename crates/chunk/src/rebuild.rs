//! Chunks with checksums that are damaged: put right where a checksum proves it, or says which bit is wrong, or without any.

use crate::Chunk;
use crate::checksum::{CHECKSUMS, Layout, MAGIC, PAGE, crc32c, extended};
use crate::decode_block::streams_len;
use crate::header::{Blocks, ChunkHeader, Special, flags2, i32_at};
use crate::one_bit;
use oxiblosc_codecs::MAX_DICT_SIZE;
use oxiblosc_error::{Error, Result};
use oxiblosc_memory::sort::sort;
use oxiblosc_memory::{Buffer, Collect, List};
use std::ops::Range;

/// Where in a chunk things are, if its header is this one.
struct Parts<'a> {
    header: &'a ChunkHeader,
    /// Where the table of checksums is.
    table: usize,
    /// Where the front ends.
    end: usize,
}

impl<'a> Parts<'a> {
    fn new(header: &'a ChunkHeader, bytes: &[u8]) -> Option<Self> {
        let has_streams = header.special() == Special::None && !header.is_memcpyed();
        if !has_streams || header.is_lazy() || header.nbytes == 0 {
            return None;
        }
        let starts_end = header.nblocks.checked_mul(4)?;
        let mut table = starts_end.checked_add(header.overhead())?;
        if header.blosc2_flags & flags2::USE_DICT != 0 {
            let len = i32_at(bytes.get(table..table + 4)?, 0);
            let said = table.checked_add(4 + usize::try_from(len).unwrap_or(0))?;
            let is_table = |at: usize| bytes.get(at..at + MAGIC.len()) == Some(&MAGIC);
            table = match header.has_checksums() && !is_table(said) {
                // The size of the dictionary is damaged, or the table.
                true => (table + 5..table + 5 + MAX_DICT_SIZE)
                    .find(|at| is_table(*at))
                    .unwrap_or(said),
                false => said,
            };
        }
        let sums = match header.has_checksums() {
            true => Layout::of(header).table_len(),
            false => 0,
        };
        let end = table.checked_add(sums)?;
        let fits = end < header.cbytes && header.cbytes <= bytes.len();
        fits.then_some(Self { header, table, end })
    }

    /// Those of a chunk with checksums.
    fn with_sums(header: &'a ChunkHeader, bytes: &[u8]) -> Option<Self> {
        Self::new(header, bytes).filter(|_| header.has_checksums())
    }

    /// Writes how long the dictionary is, if there is one.
    fn write_dict_len(&self, bytes: &mut [u8]) {
        let at = self.start_at(self.header.nblocks);
        if at + 4 <= self.table {
            let len = (self.table - at - 4) as i32;
            bytes[at..at + 4].copy_from_slice(&len.to_le_bytes());
        }
    }

    fn start_at(&self, nblock: usize) -> usize {
        self.header.overhead() + 4 * nblock
    }

    /// Where the table says that block `nblock` starts.
    fn start(&self, bytes: &[u8], nblock: usize) -> usize {
        usize::try_from(i32_at(bytes, self.start_at(nblock))).unwrap_or(0)
    }

    /// Where the streams of a block are that starts at `start`.
    fn streams(&self, bytes: &[u8], start: usize, nblock: usize) -> Option<Range<usize>> {
        let behind = bytes.get(start..self.header.cbytes)?;
        let len = match self.header.blocks {
            Blocks::Regular { blocksize } => {
                let size = blocksize.min(self.header.nbytes - nblock * blocksize);
                streams_len(self.header, behind, size, |_| ()).ok()?
            }
            Blocks::Variable { nblocks } if nblock + 1 < nblocks => {
                self.start(bytes, nblock + 1).checked_sub(start)?
            }
            Blocks::Variable { .. } => behind.len(),
        };
        (len > 0 && len <= behind.len()).then_some(start..start + len)
    }

    /// Where they are if the block starts where the table says.
    fn block(&self, bytes: &[u8], nblock: usize) -> Option<Range<usize>> {
        let start = self.start(bytes, nblock);
        (start >= self.end).then(|| self.streams(bytes, start, nblock))?
    }

    /// Writes where blocks of variable length start, if each follows the one before it: the checksums tell where they end.
    fn walk_by_sums(&self, bytes: &mut [u8]) {
        let mut start = self.end;
        for nblock in 0..self.header.nblocks {
            let at = self.start_at(nblock);
            bytes[at..at + 4].copy_from_slice(&(start as i32).to_le_bytes());
            let place = Layout::of(self.header).place(nblock).start;
            let sum = i32_at(bytes, self.table + place) as u32;
            let mut crc = crc32c(&[]);
            let ends = (start + 1..=self.header.cbytes).find(|end| {
                crc = extended(crc, &bytes[end - 1..*end]);
                crc == sum
            });
            match ends {
                Some(end) => start = end,
                None => return,
            }
        }
    }

    /// Writes where blocks start, if each follows the one before it.
    fn walk(&self, bytes: &mut [u8]) {
        if self.header.has_vlblocks() {
            return self.walk_by_sums(bytes);
        }
        let mut start = self.end;
        for nblock in 0..self.header.nblocks {
            let at = self.start_at(nblock);
            bytes[at..at + 4].copy_from_slice(&(start as i32).to_le_bytes());
            start = match self.streams(bytes, start, nblock) {
                Some(streams) => streams.end,
                // Where the next one starts only its own entry can tell.
                None if nblock + 1 < self.header.nblocks => self.start(bytes, nblock + 1),
                None => start,
            };
        }
    }

    /// Writes the checksums of the blocks as they are.
    fn sum(&self, bytes: &mut [u8]) {
        for nblock in 0..self.header.nblocks {
            if let Some(place) = self.block(bytes, nblock) {
                let (front, behind) = bytes.split_at_mut(self.end);
                let streams = &behind[place.start - self.end..place.end - self.end];
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

/// A chunk that was put right.
pub struct Rebuilt {
    /// The chunk.
    pub chunk: Buffer,
    /// Whether a checksum proves it. Otherwise it would fit, too, if only one bit had been wrong; greater damage is not likely to look so.
    pub proven: bool,
}

/// The chunk at the front of `bytes` as it was before its header, its block starts or its table were damaged, if its header was
/// this one: what is damaged is made anew out of the blocks, and the checksum of the front says whether that is how it was. Failing that,
/// one bit is put right.
///
/// # Errors
/// [`Error::MemoryAlloc`].
pub fn rebuild(header: &ChunkHeader, bytes: &[u8]) -> Result<Option<Rebuilt>> {
    let Some(parts) = Parts::with_sums(header, bytes) else {
        return Ok(None);
    };
    let mut chunk = Buffer::copy_of(&bytes[..header.cbytes])?;
    header.write(&mut chunk);
    parts.write_dict_len(&mut chunk);
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
            let (chunk, proven) = (attempt, true);
            return Ok(Some(Rebuilt { chunk, proven }));
        }
    }
    let Some((before, sum)) = chunk[..parts.end].split_last_chunk_mut() else {
        return Ok(None);
    };
    let wanted = u32::from_le_bytes(*sum);
    let proven = false;
    match one_bit::put_right(before, wanted) {
        true => Ok(Some(Rebuilt { chunk, proven })),
        // The bit may be one of the checksum.
        false if (crc32c(before) ^ wanted).is_power_of_two() => {
            *sum = crc32c(before).to_le_bytes();
            Ok(Some(Rebuilt { chunk, proven }))
        }
        false => Ok(None),
    }
}

/// The chunk without its checksums, where the front is damaged and cannot be rebuilt, and the blocks that do not fit their
/// checksums in it. What the others decompress to is in doubt.
///
/// # Errors
/// Those of a damaged chunk, [`Error::MemoryAlloc`].
pub fn doubtful(header: &ChunkHeader, bytes: &[u8]) -> Result<(Buffer, List<usize>)> {
    let parts = Parts::with_sums(header, bytes).ok_or(Error::Data)?;
    let mut chunk = Buffer::copy_of(&bytes[..header.cbytes])?;
    let wrong = parts.wrong_blocks(&chunk)?;
    let plain = ChunkHeader {
        blosc2_flags2: header.blosc2_flags2 & !CHECKSUMS,
        ..*header
    };
    plain.write(&mut chunk);
    parts.write_dict_len(&mut chunk);
    chunk[parts.table..parts.table + MAGIC.len()].fill(0);
    if !header.has_vlblocks() && Chunk::parse(&plain, &chunk).is_err() {
        // It may be the dictionary, which not every block needs.
        let dict = parts.start_at(header.nblocks)..parts.table;
        chunk[dict].iter_mut().skip(4).for_each(|byte| *byte = 0);
        Chunk::parse(&plain, &chunk)?;
    }
    Ok((chunk, wrong))
}

/// Whether the checksum of the front of a chunk with streams fits, whatever its blocks are like.
pub fn has_right_front(header: &ChunkHeader, chunk: &[u8]) -> bool {
    Parts::with_sums(header, chunk).is_some_and(|parts| parts.is_right(chunk))
}

/// The blocks of a chunk that do not fit their checksums. None of one that has no checksums.
///
/// # Errors
/// [`Error::Data`] where the front is damaged, [`Error::MemoryAlloc`].
pub fn wrong_blocks(header: &ChunkHeader, chunk: &[u8]) -> Result<List<usize>> {
    let parts = Parts::new(header, chunk).ok_or(Error::Data)?;
    match header.has_checksums() {
        true => parts.wrong_blocks(chunk),
        false => Ok(List::new()),
    }
}

impl Parts<'_> {
    fn fits(&self, bytes: &[u8], nblock: usize) -> Result<bool> {
        match self.block(bytes, nblock) {
            Some(place) => {
                let table = &bytes[self.table..self.end];
                Layout::of(self.header).fits(table, nblock, &bytes[place])
            }
            None => Ok(false),
        }
    }

    fn wrong_blocks(&self, bytes: &[u8]) -> Result<List<usize>> {
        let mut wrong = List::new();
        for nblock in 0..self.header.nblocks {
            if !self.fits(bytes, nblock)? {
                wrong.push(nblock)?;
            }
        }
        Ok(wrong)
    }

    /// Puts one bit of block `nblock` right, whose room is `room`; of stored data, one of each page.
    fn put_right(&self, bytes: &mut [u8], nblock: usize, room: Range<usize>) {
        let layout = Layout::of(self.header);
        let place = layout.place(nblock);
        let (front, behind) = bytes.split_at_mut(self.end);
        let sums = &front[self.table..][place];
        let whole = &mut behind[room.start - self.end..room.end - self.end];
        if layout.has_pages() {
            let Some((size, data)) = whole.split_first_chunk_mut::<4>() else {
                return;
            };
            size.copy_from_slice(&sums[..4]);
            for (sum, page) in sums[4..].chunks_exact(4).zip(data.chunks_mut(PAGE)) {
                one_bit::put_right(page, i32_at(sum, 0) as u32);
            }
            return;
        }
        let sum = i32_at(sums, 0) as u32;
        if !one_bit::put_right(whole, sum)
            && let Some(streams) = self.streams(bytes, room.start, nblock)
        {
            // There is free room behind it.
            one_bit::put_right(&mut bytes[streams], sum);
        }
    }
}

/// The chunk, whose front is right, with one bit put right in each block that does not fit its checksum and does then. Says which those are.
///
/// # Errors
/// [`Error::Data`] where the front is damaged, [`Error::MemoryAlloc`].
pub fn put_blocks_right(header: &ChunkHeader, chunk: &[u8]) -> Result<(Buffer, List<usize>)> {
    let parts = Parts::with_sums(header, chunk).ok_or(Error::Data)?;
    let mut bytes = Buffer::copy_of(&chunk[..header.cbytes])?;
    let all = 0..header.nblocks;
    let mut starts: List<usize> = all.map(|nblock| parts.start(chunk, nblock)).list()?;
    starts.push(header.cbytes)?;
    sort(&mut starts);
    let mut right = List::new();
    for nblock in parts.wrong_blocks(chunk)? {
        let start = parts.start(chunk, nblock);
        let next = starts.partition_point(|other| *other <= start);
        let end = starts.get(next).copied().unwrap_or(0);
        if start < parts.end || end > header.cbytes || start >= end {
            continue;
        }
        let before = Buffer::copy_of(&bytes[start..end])?;
        parts.put_right(&mut bytes, nblock, start..end);
        match parts.fits(&bytes, nblock)? {
            true => right.push(nblock)?,
            false => bytes[start..end].copy_from_slice(&before),
        }
    }
    Ok((bytes, right))
}

/// A chunk that has nothing but block `nblock` of this one, whose blocks are of variable length, and no checksums; and how many bytes of
/// data the block says it has.
///
/// # Errors
/// [`Error::Data`] where there is no such block, [`Error::MemoryAlloc`].
pub fn single_block(header: &ChunkHeader, chunk: &[u8], nblock: usize) -> Result<(Buffer, usize)> {
    let parts = Parts::new(header, chunk).ok_or(Error::Data)?;
    let place = parts.block(chunk, nblock).ok_or(Error::Data)?;
    let stream = &chunk[place];
    let nbytes = stream
        .first_chunk()
        .map_or(0, |size| i32::from_le_bytes(*size));
    let nbytes = usize::try_from(nbytes).unwrap_or(0);
    if nbytes == 0 || nbytes > header.nbytes {
        return Err(Error::Data);
    }
    let starts_end = parts.start_at(header.nblocks);
    let dict = &chunk[starts_end..parts.table];
    let start = header.overhead() + 4 + dict.len();
    let mut single = ChunkHeader {
        nbytes,
        cbytes: start + stream.len(),
        blosc2_flags2: header.blosc2_flags2 & !CHECKSUMS,
        ..*header
    };
    single.set_blocks(Blocks::Variable { nblocks: 1 });
    let mut bytes = Buffer::zeroed(header.overhead())?;
    single.write(&mut bytes);
    bytes.extend(&(start as i32).to_le_bytes())?;
    bytes.extend(dict)?;
    bytes.extend(stream)?;
    Ok((bytes, nbytes))
}
