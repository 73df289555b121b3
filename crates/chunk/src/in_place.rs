//! Changes some blocks of a chunk and leaves the others where they are.
//!
//! A changed block is written over the old one if it fits into the old one's *room*, the bytes up
//! to the next block. Otherwise it is appended to the chunk, and its entry in the table of block
//! starts is changed. Readers find blocks by that table, so they may lie in any order, with free
//! bytes between them. There is one limit: the reference reads a single block of a file up to the
//! next start, and refuses to if that is further away than a block can be long.
//!
//! In a file only the changed blocks are read; a chunk can grow there if bytes behind it are free.
//! In memory a chunk grows until too many of its bytes are unused. Then it is rewritten, with a few
//! free bytes (*slack*) behind each block, so that blocks can grow in place.

mod edits;

use super::Chunk;
use super::checksum::{CHECKSUMS, Checksums, TableLayout};
use super::header::{ChunkHeader, Special, flags2, i32_at};
use super::source::BlockSource;
use super::streams::streams_len;
use super::touched::Touched;
pub(super) use edits::push_edits;
use oxiblosc_base::memory::sort::sort;
use oxiblosc_base::memory::{Buffer, Collect, ToTryVec, TryVec};
use oxiblosc_base::{Error, Result};
use std::ops::Range;

/// A chunk in memory is rewritten when more than one byte in this many is unused.
const MAX_UNUSED: usize = 8;
/// The slack behind a block of a rewritten chunk: its size divided by this, and some bytes, but no
/// more than the block's share of [`MAX_UNUSED`], as otherwise a chunk of many short blocks would
/// be rewritten at once.
const SLACK_DIVISOR: usize = 32;
const LEAST_SLACK: usize = 8;

/// The largest distance between the starts of two blocks at which the reference can read single
/// blocks.
pub(super) fn max_block_distance(header: &ChunkHeader) -> usize {
    header.blocksize_field() + 4 * usize::from(header.typesize)
}

/// Where the bytes of a chunk are.
enum ChunkBytes<'a> {
    /// In a file. The buffer is a small chunk that has only the touched blocks: header, table of
    /// block starts, and the content of their spans, one behind the other. Its starts are offsets
    /// in the buffer, 0 for blocks that were not read. The header is that of this small chunk.
    File(&'a dyn BlockSource, Buffer, ChunkHeader),
    /// In memory.
    Memory(&'a [u8]),
}

/// A chunk of which some blocks are to be changed in place.
pub struct PatchTarget<'a> {
    chunk_bytes: ChunkBytes<'a>,
    header: &'a ChunkHeader,
    /// The room of each touched block, in the order of the touched blocks.
    spans: TryVec<Range<usize>>,
    /// Where the content of each room begins in [`Self::bytes`].
    places: TryVec<usize>,
    /// The starts of all blocks, ascending; empty without a table.
    starts: TryVec<usize>,
    /// How many bytes are free behind the chunk.
    free_behind: usize,
    /// Whether the chunk gets slack between its blocks if it is rewritten.
    slack: bool,
    /// Header, block starts and checksums of a chunk in a file, if it has checksums.
    file_prefix: TryVec<u8>,
}

/// The room of each touched block, and the starts of all blocks.
type BlockLayout = (TryVec<Range<usize>>, TryVec<usize>);

/// The layout of the blocks of a chunk that begins with `prefix`. None if the blocks in `touched`
/// do not have spans of their own.
fn block_layout(
    header: &ChunkHeader,
    prefix: &[u8],
    touched: &[Touched],
) -> Result<Option<BlockLayout>> {
    let blocksize = header.blocksize_field();
    if header.special() != Special::None || header.has_vlblocks() || blocksize == 0 {
        return Ok(None);
    }
    if touched.iter().any(|t| t.nblock >= header.nblocks) {
        return Err(Error::INVALID_PARAM);
    }
    if header.is_memcpyed() {
        if header.cbytes != header.nbytes + header.overhead() || header.has_checksums() {
            return Ok(None);
        }
        let span = |t: &Touched| {
            let from = header.overhead() + t.nblock * blocksize;
            from..header.cbytes.min(from + blocksize)
        };
        return Ok(Some((
            touched.iter().map(span).collect_vec()?,
            TryVec::new(),
        )));
    }
    // The bytes of touched blocks, one behind the other, would be taken for the dictionary.
    if header.blosc2_flags & flags2::USE_DICT != 0 {
        return Ok(None);
    }
    let body = body(header);
    let table = header.overhead()..header.overhead() + 4 * header.nblocks;
    let Some(table) = prefix.get(table) else {
        return Ok(None);
    };
    let start = |nblock: usize| usize::try_from(i32_at(table, 4 * nblock)).unwrap_or(0);
    let mut starts: TryVec<usize> = (0..header.nblocks).map(start).collect_vec()?;
    sort(&mut starts);
    let span = |t: &Touched| {
        let from = start(t.nblock);
        let i = starts.partition_point(|other| *other < from);
        let to = starts.get(i + 1).map_or(header.cbytes, |next| *next);
        // Blocks that share a start have no room of their own.
        (from >= body && from < to && to <= header.cbytes).then_some(from..to)
    };
    let mut spans = TryVec::with_capacity(touched.len())?;
    for t in touched {
        let Some(span) = span(t) else {
            return Ok(None);
        };
        spans.push(span)?;
    }
    Ok(Some((spans, starts)))
}

impl<'a> PatchTarget<'a> {
    /// Reads the blocks in `touched` of the chunk in `source`, which begins with `prefix`.
    /// `free_behind` is how many bytes are free behind it, and `slack` whether it gets slack
    /// between its blocks if it is rewritten. None if the chunk cannot be changed in place.
    ///
    /// # Errors
    /// Those of input; [`Error::INVALID_PARAM`] for blocks that do not exist.
    pub fn read(
        source: &'a dyn BlockSource,
        header: &'a ChunkHeader,
        prefix: &[u8],
        touched: &[Touched],
        (free_behind, slack): (usize, bool),
    ) -> Result<Option<Self>> {
        let Some((spans, starts)) = block_layout(header, prefix, touched)? else {
            return Ok(None);
        };
        let prefix = &prefix[..body(header).min(prefix.len())];
        let mut bytes = Buffer::copy_of(prefix)?;
        bytes.resize(prefix.len() + spans.iter().map(Range::len).sum::<usize>())?;
        if !header.is_memcpyed() {
            bytes[header.overhead()..prefix.len()].fill(0);
        }
        // Adjacent spans are read by one call.
        let mut to = prefix.len();
        let places: TryVec<usize> = spans
            .iter()
            .scan(to, |end, span| {
                *end += span.len();
                Some(*end - span.len())
            })
            .collect_vec()?;
        for run in spans.chunk_by(|a, b| a.end == b.start) {
            let (first, end) = (run[0].start, run[run.len() - 1].end);
            source.read_at(first, &mut bytes[to..to + end - first])?;
            to += end - first;
        }
        let file_prefix = prefix_with_checksums(header, prefix).to_try_vec()?;
        if header.has_checksums() {
            Checksums::in_prefix(prefix, header)?;
        }
        let mut small = *header;
        small.blosc2_flags2 &= !CHECKSUMS;
        if !header.is_memcpyed() {
            for (t, place) in touched.iter().zip(&places) {
                let start = (*place as i32).to_le_bytes();
                bytes[header.overhead() + 4 * t.nblock..][..4].copy_from_slice(&start);
            }
            small.cbytes = bytes.len();
            small.write(&mut bytes);
        }
        Ok(Some(Self {
            chunk_bytes: ChunkBytes::File(source, bytes, small),
            header,
            spans,
            places,
            starts,
            free_behind,
            slack,
            file_prefix,
        }))
    }

    /// Like [`Self::read`], for a chunk in memory.
    ///
    /// # Errors
    /// [`Error::INVALID_PARAM`] for blocks that do not exist.
    pub(super) fn of(chunk: &Chunk<'a>, touched: &[Touched]) -> Result<Option<Self>> {
        let (header, bytes) = (chunk.header(), chunk.bytes());
        let Some((spans, starts)) = block_layout(header, bytes, touched)? else {
            return Ok(None);
        };
        Ok(Some(Self {
            chunk_bytes: ChunkBytes::Memory(bytes),
            header,
            places: spans.iter().map(|span| span.start).collect_vec()?,
            spans,
            starts,
            free_behind: usize::MAX,
            slack: true,
            file_prefix: TryVec::new(),
        }))
    }

    /// Checks the blocks that were read from a file, except those that will be overwritten as a
    /// whole. This is done here because the small chunk of [`ChunkBytes::File`] has no checksums.
    ///
    /// # Errors
    /// [`Error::DATA`].
    pub(super) fn check(&self, touched: &[Touched]) -> Result<()> {
        let header = self.header;
        if !header.has_checksums() {
            return Ok(());
        }
        let sums = Checksums::in_checked_prefix(self.prefix(), header)?;
        for (i, t) in touched.iter().enumerate().filter(|(_, t)| !t.whole) {
            let (span, size) = (self.block(i), blocksize_of(header, t.nblock));
            let len = streams_len(header, span, size, |_| ()).map_err(|_| Error::DATA)?;
            sums.check_block(t.nblock, &span[..len])?;
        }
        Ok(())
    }

    /// The chunk for a [`Patcher`](super::patch::Patcher): only its touched blocks can be decoded.
    ///
    /// # Errors
    /// Those of a damaged chunk.
    pub fn chunk(&self) -> Result<Chunk<'_>> {
        match &self.chunk_bytes {
            ChunkBytes::Memory(bytes) => Chunk::loaded(self.header, bytes),
            ChunkBytes::File(source, bytes, _) if self.header.is_memcpyed() => {
                Chunk::lazy(self.header, bytes, *source)
            }
            ChunkBytes::File(_, bytes, small) => Chunk::parse(small, bytes),
        }
    }

    /// The chunk in memory, or the small chunk of [`ChunkBytes::File`].
    pub fn bytes(&self) -> &[u8] {
        match &self.chunk_bytes {
            ChunkBytes::Memory(bytes) => bytes,
            ChunkBytes::File(_, bytes, _) => bytes,
        }
    }

    /// The slack behind a block of `len` bytes.
    pub(super) fn slack(&self, len: usize) -> usize {
        match self.slack {
            true => (len / SLACK_DIVISOR + LEAST_SLACK).min(len / MAX_UNUSED),
            false => 0,
        }
    }

    /// The header of the chunk.
    pub(super) fn header(&self) -> &'a ChunkHeader {
        self.header
    }

    /// The content of the room of the `i`th touched block.
    pub(super) fn block(&self, i: usize) -> &[u8] {
        &self.bytes()[self.places[i]..][..self.spans[i].len()]
    }

    /// The content of the room of the `i`th touched block, and where in the chunk it begins.
    pub(super) fn block_at(&self, i: usize) -> (usize, &[u8]) {
        (self.spans[i].start, self.block(i))
    }

    /// Header, block starts and checksums of the chunk, if it has checksums.
    pub(super) fn prefix(&self) -> &[u8] {
        match self.chunk_bytes {
            ChunkBytes::Memory(bytes) => prefix_with_checksums(self.header, bytes),
            ChunkBytes::File(..) => &self.file_prefix,
        }
    }

    /// Reads the whole chunk from its file. None if it is in memory.
    pub(super) fn whole(&self) -> Result<Option<Buffer>> {
        let ChunkBytes::File(source, ..) = self.chunk_bytes else {
            return Ok(None);
        };
        let mut bytes = Buffer::zeroed(self.header.cbytes)?;
        source.read_at(0, &mut bytes)?;
        Ok(Some(bytes))
    }

    /// Whether the streams of the touched blocks end within their spans.
    pub(super) fn blocks_fit(&self, chunk: &Chunk, touched: &[Touched]) -> bool {
        let mut blocks = touched.iter().zip(&self.spans);
        blocks.all(|(t, span)| {
            let bytes = chunk.compressed(t.nblock, |_| ());
            bytes.is_ok_and(|bytes| bytes.len() <= span.len())
        })
    }
}

/// Where the blocks of a chunk without a dictionary may begin: behind header, block starts and
/// checksums.
fn body(header: &ChunkHeader) -> usize {
    let starts = match header.is_memcpyed() {
        true => 0,
        false => 4 * header.nblocks,
    };
    let checksums = match header.has_checksums() {
        true => TableLayout::of(header).table_len(),
        false => 0,
    };
    header.overhead() + starts + checksums
}

/// The front of a chunk with checksums; empty for other chunks.
fn prefix_with_checksums<'b>(header: &ChunkHeader, bytes: &'b [u8]) -> &'b [u8] {
    match header.has_checksums() {
        true => &bytes[..body(header).min(bytes.len())],
        false => &[],
    }
}

/// Where the table of checksums begins in a chunk without a dictionary.
pub(super) fn checksums_at(header: &ChunkHeader) -> usize {
    header.overhead() + 4 * header.nblocks
}

/// Bytes of data in block `nblock` of a chunk with regular blocks.
pub(super) fn blocksize_of(header: &ChunkHeader, nblock: usize) -> usize {
    let blocksize = header.blocksize_field();
    blocksize.min(header.nbytes - nblock * blocksize)
}
