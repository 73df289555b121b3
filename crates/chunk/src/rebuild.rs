//! Repairs damaged chunks that have checksums: parts that can be reconstructed so that a checksum
//! matches, and single flipped bits.

use crate::Chunk;
use crate::checksum::{CHECKSUMS, MAGIC, PAGE, TableLayout, crc32c, extended};
use crate::header::{Blocks, ChunkHeader, Special, flags2, i32_at};
use crate::one_bit;
use crate::streams::streams_len;
use oxiblosc_base::memory::sort::sort;
use oxiblosc_base::memory::{Buffer, Collect, TryVec};
use oxiblosc_base::{Error, Result};
use oxiblosc_codecs::MAX_DICT_SIZE;
use std::ops::Range;

/// The layout of a chunk, if `header` is its header.
struct ChunkLayout<'a> {
    header: &'a ChunkHeader,
    /// Where the table of checksums is.
    table: usize,
    /// Where the front ends.
    end: usize,
}

impl<'a> ChunkLayout<'a> {
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
                // The size of the dictionary is damaged, or the magic of the table: looks for the
                // magic behind every possible dictionary.
                true => (table + 5..table + 5 + MAX_DICT_SIZE)
                    .find(|at| is_table(*at))
                    .unwrap_or(said),
                false => said,
            };
        }
        let sums = match header.has_checksums() {
            true => TableLayout::of(header).table_len(),
            false => 0,
        };
        let end = table.checked_add(sums)?;
        let fits = end < header.cbytes && header.cbytes <= bytes.len();
        fits.then_some(Self { header, table, end })
    }

    /// The layout of a chunk with checksums; none for other chunks.
    fn with_sums(header: &'a ChunkHeader, bytes: &[u8]) -> Option<Self> {
        Self::new(header, bytes).filter(|_| header.has_checksums())
    }

    /// Writes the size of the dictionary, if there is one.
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

    /// The start of block `nblock`, as the table of block starts says.
    fn start(&self, bytes: &[u8], nblock: usize) -> usize {
        usize::try_from(i32_at(bytes, self.start_at(nblock))).unwrap_or(0)
    }

    /// The streams of block `nblock`, if it starts at `start`.
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

    /// The streams of block `nblock`, if it starts where the table says.
    fn block(&self, bytes: &[u8], nblock: usize) -> Option<Range<usize>> {
        let start = self.start(bytes, nblock);
        (start >= self.end).then(|| self.streams(bytes, start, nblock))?
    }

    /// Reconstructs the starts of variable-length blocks that follow each other: a block ends where
    /// the bytes up to there match its checksum.
    fn rebuild_variable_starts(&self, bytes: &mut [u8]) {
        let mut start = self.end;
        for nblock in 0..self.header.nblocks {
            let at = self.start_at(nblock);
            bytes[at..at + 4].copy_from_slice(&(start as i32).to_le_bytes());
            let place = TableLayout::of(self.header).place(nblock).start;
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

    /// Reconstructs the table of starts of blocks that follow each other.
    fn rebuild_starts(&self, bytes: &mut [u8]) {
        if self.header.has_vlblocks() {
            return self.rebuild_variable_starts(bytes);
        }
        let mut start = self.end;
        for nblock in 0..self.header.nblocks {
            let at = self.start_at(nblock);
            bytes[at..at + 4].copy_from_slice(&(start as i32).to_le_bytes());
            start = match self.streams(bytes, start, nblock) {
                Some(streams) => streams.end,
                // The streams of this block are damaged, so only the next one's own entry tells
                // where that starts.
                None if nblock + 1 < self.header.nblocks => self.start(bytes, nblock + 1),
                None => start,
            };
        }
    }

    /// Computes the checksums of the blocks as they are.
    fn rebuild_sums(&self, bytes: &mut [u8]) {
        for nblock in 0..self.header.nblocks {
            if let Some(place) = self.block(bytes, nblock) {
                let (prefix, behind) = bytes.split_at_mut(self.end);
                let streams = &behind[place.start - self.end..place.end - self.end];
                TableLayout::of(self.header).set_block(&mut prefix[self.table..], nblock, streams);
            }
        }
    }

    fn prefix_matches(&self, bytes: &[u8]) -> bool {
        bytes[..self.end]
            .split_last_chunk()
            .is_some_and(|(before, sum)| crc32c(before).to_le_bytes() == *sum)
    }
}

/// A repaired chunk.
pub struct Rebuilt {
    /// The chunk.
    pub chunk: Buffer,
    /// Whether the checksum of the front proves the repair. Otherwise one bit was flipped back so
    /// that the checksum matches; other damage is unlikely to look like a single flipped bit.
    pub proven: bool,
}

/// Repairs the front of the chunk at the front of `bytes`, if its header was `header`. Block starts
/// and table are reconstructed from the blocks in every combination, until the checksum of the
/// front matches. If none does, a single bit that makes it match is flipped. None if neither works.
///
/// # Errors
/// [`Error::MEMORY_ALLOC`].
pub fn rebuild(header: &ChunkHeader, bytes: &[u8]) -> Result<Option<Rebuilt>> {
    let Some(parts) = ChunkLayout::with_sums(header, bytes) else {
        return Ok(None);
    };
    let mut chunk = Buffer::copy_of(&bytes[..header.cbytes])?;
    header.write(&mut chunk);
    parts.write_dict_len(&mut chunk);
    chunk[parts.table..parts.table + MAGIC.len()].copy_from_slice(&MAGIC);
    for (starts, sums) in [(false, false), (false, true), (true, false), (true, true)] {
        let mut attempt = Buffer::copy_of(&chunk)?;
        if starts {
            parts.rebuild_starts(&mut attempt);
        }
        if sums {
            parts.rebuild_sums(&mut attempt);
        }
        if parts.prefix_matches(&attempt) {
            let (chunk, proven) = (attempt, true);
            return Ok(Some(Rebuilt { chunk, proven }));
        }
    }
    let Some((before, sum)) = chunk[..parts.end].split_last_chunk_mut() else {
        return Ok(None);
    };
    let wanted = u32::from_le_bytes(*sum);
    let proven = false;
    match one_bit::correct(before, wanted) {
        true => Ok(Some(Rebuilt { chunk, proven })),
        // The flipped bit may be one of the checksum itself.
        false if (crc32c(before) ^ wanted).is_power_of_two() => {
            *sum = crc32c(before).to_le_bytes();
            Ok(Some(Rebuilt { chunk, proven }))
        }
        false => Ok(None),
    }
}

/// For a chunk whose front is damaged beyond [`rebuild`]: the chunk without checksums, and the
/// blocks that do not match theirs. The other blocks can be decompressed, but their data are not
/// certain.
///
/// # Errors
/// Those of a damaged chunk, [`Error::MEMORY_ALLOC`].
pub fn without_checksums(header: &ChunkHeader, bytes: &[u8]) -> Result<(Buffer, TryVec<usize>)> {
    let parts = ChunkLayout::with_sums(header, bytes).ok_or(Error::DATA)?;
    let mut chunk = Buffer::copy_of(&bytes[..header.cbytes])?;
    let damaged = parts.damaged_blocks(&chunk)?;
    let plain = ChunkHeader {
        blosc2_flags2: header.blosc2_flags2 & !CHECKSUMS,
        ..*header
    };
    plain.write(&mut chunk);
    parts.write_dict_len(&mut chunk);
    chunk[parts.table..parts.table + MAGIC.len()].fill(0);
    if !header.has_vlblocks() && Chunk::parse(&plain, &chunk).is_err() {
        // The dictionary may be damaged; blocks that do not use it can still be decompressed.
        let dict = parts.start_at(header.nblocks)..parts.table;
        chunk[dict].iter_mut().skip(4).for_each(|byte| *byte = 0);
        Chunk::parse(&plain, &chunk)?;
    }
    Ok((chunk, damaged))
}

/// Whether the checksum of the front of a chunk with streams matches; the blocks are not looked at.
pub fn prefix_matches(header: &ChunkHeader, chunk: &[u8]) -> bool {
    ChunkLayout::with_sums(header, chunk).is_some_and(|parts| parts.prefix_matches(chunk))
}

/// The blocks of a chunk that do not match their checksums. Empty for a chunk without checksums.
///
/// # Errors
/// [`Error::DATA`] if the front is damaged, [`Error::MEMORY_ALLOC`].
pub fn damaged_blocks(header: &ChunkHeader, chunk: &[u8]) -> Result<TryVec<usize>> {
    let parts = ChunkLayout::new(header, chunk).ok_or(Error::DATA)?;
    match header.has_checksums() {
        true => parts.damaged_blocks(chunk),
        false => Ok(TryVec::new()),
    }
}

impl ChunkLayout<'_> {
    fn fits(&self, bytes: &[u8], nblock: usize) -> Result<bool> {
        match self.block(bytes, nblock) {
            Some(place) => {
                let table = &bytes[self.table..self.end];
                TableLayout::of(self.header).fits(table, nblock, &bytes[place])
            }
            None => Ok(false),
        }
    }

    fn damaged_blocks(&self, bytes: &[u8]) -> Result<TryVec<usize>> {
        let mut damaged = TryVec::new();
        for nblock in 0..self.header.nblocks {
            if !self.fits(bytes, nblock)? {
                damaged.push(nblock)?;
            }
        }
        Ok(damaged)
    }

    /// Tries to flip one bit of block `nblock`, which lies in `span`, so that its checksum
    /// matches; with checksums of pages, one bit of each page.
    fn correct_block(&self, bytes: &mut [u8], nblock: usize, span: Range<usize>) {
        let layout = TableLayout::of(self.header);
        let place = layout.place(nblock);
        let (prefix, behind) = bytes.split_at_mut(self.end);
        let sums = &prefix[self.table..][place];
        let whole = &mut behind[span.start - self.end..span.end - self.end];
        if layout.has_pages() {
            let Some((size, data)) = whole.split_first_chunk_mut::<4>() else {
                return;
            };
            size.copy_from_slice(&sums[..4]);
            for (sum, page) in sums[4..].chunks_exact(4).zip(data.chunks_mut(PAGE)) {
                one_bit::correct(page, i32_at(sum, 0) as u32);
            }
            return;
        }
        let sum = i32_at(sums, 0) as u32;
        if !one_bit::correct(whole, sum)
            && let Some(streams) = self.streams(bytes, span.start, nblock)
        {
            // The room has free bytes behind the streams, which the checksum does not cover.
            one_bit::correct(&mut bytes[streams], sum);
        }
    }
}

/// For a chunk whose front is not damaged: the chunk with a bit flipped in each block that matches
/// its checksum by that, and these blocks.
///
/// # Errors
/// [`Error::DATA`] if the front is damaged, [`Error::MEMORY_ALLOC`].
pub fn correct_blocks(header: &ChunkHeader, chunk: &[u8]) -> Result<(Buffer, TryVec<usize>)> {
    let parts = ChunkLayout::with_sums(header, chunk).ok_or(Error::DATA)?;
    let mut bytes = Buffer::copy_of(&chunk[..header.cbytes])?;
    let all = 0..header.nblocks;
    let mut starts: TryVec<usize> = all.map(|nblock| parts.start(chunk, nblock)).collect_vec()?;
    starts.push(header.cbytes)?;
    sort(&mut starts);
    let mut corrected = TryVec::new();
    for nblock in parts.damaged_blocks(chunk)? {
        let start = parts.start(chunk, nblock);
        let next = starts.partition_point(|other| *other <= start);
        let end = starts.get(next).copied().unwrap_or(0);
        if start < parts.end || end > header.cbytes || start >= end {
            continue;
        }
        let before = Buffer::copy_of(&bytes[start..end])?;
        parts.correct_block(&mut bytes, nblock, start..end);
        match parts.fits(&bytes, nblock)? {
            true => corrected.push(nblock)?,
            false => bytes[start..end].copy_from_slice(&before),
        }
    }
    Ok((bytes, corrected))
}

/// Copies block `nblock` of a chunk of variable-length blocks to a chunk of its own, without
/// checksums. Returns it with the number of bytes of data that the block claims.
///
/// # Errors
/// [`Error::DATA`] if there is no such block, [`Error::MEMORY_ALLOC`].
pub fn single_block(header: &ChunkHeader, chunk: &[u8], nblock: usize) -> Result<(Buffer, usize)> {
    let parts = ChunkLayout::new(header, chunk).ok_or(Error::DATA)?;
    let place = parts.block(chunk, nblock).ok_or(Error::DATA)?;
    let stream = &chunk[place];
    let nbytes = stream
        .first_chunk()
        .map_or(0, |size| i32::from_le_bytes(*size));
    let nbytes = usize::try_from(nbytes).unwrap_or(0);
    if nbytes == 0 || nbytes > header.nbytes {
        return Err(Error::DATA);
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
