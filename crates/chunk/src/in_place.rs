//! Changes some blocks of a chunk and leaves the others where they are.
//!
//! A changed block is written over the old one if it fits into the old one's *room*, the bytes up to the next block. Otherwise it is appended to the
//! chunk, and its entry in the table of block starts is changed. Readers find blocks by that table, so they may lie in any order, with free bytes
//! between them. There is one limit: the reference reads a single block of a file up to the next start, and refuses to if that is
//! further away than a block can be long.
//!
//! In a file only the changed blocks are read; a chunk can grow there if bytes behind it are free. In memory a chunk grows until
//! too many of its bytes are unused. Then it is rewritten, with a few free bytes (*slack*) behind each block, so that blocks can grow in place.

use super::Chunk;
use super::checksum::{self, CHECKSUMS, Checksums, Layout};
use super::decode_block::streams_len;
use super::encode_block::difference;
use super::header::{ChunkHeader, Special, flags2, i32_at};
use super::patch::Touched;
use super::source::BlockSource;
use oxiblosc_error::{Error, Result};
use oxiblosc_memory::sort::{sort, sort_by_key};
use oxiblosc_memory::{Buffer, Collect, Edit, List, ToList};
use std::ops::Range;

/// In a file at most one byte in this many is overwritten. Overwritten bytes are written twice (to the undo record, too), so beyond that a new chunk
/// costs less.
const MAX_OVERWRITTEN: usize = 2;
/// A chunk is rewritten if a block leaves more of its room unused than it fills, and more than this many bytes. A chunk in memory is also rewritten
/// if its blocks have no more bytes than this on average: that is little work, and may turn it into a chunk of zeros.
const WASTE: usize = 64;
/// A chunk in memory is rewritten when more than one byte in this many is unused.
const MAX_UNUSED: usize = 8;
/// The slack behind a block of a rewritten chunk: its size divided by the first number, plus the second, but no more than the block's share of
/// [`MAX_UNUSED`], as otherwise a chunk of many short blocks would be rewritten at once.
const SLACK: (usize, usize) = (32, 8);

/// The largest distance between the starts of two blocks at which the reference reads single blocks.
pub(super) fn longest(header: &ChunkHeader) -> usize {
    header.blocksize_field() + 4 * usize::from(header.typesize)
}

/// Where a chunk is.
enum Origin<'a> {
    /// In a file. The buffer is a small chunk of the touched blocks alone: header, table of block starts, and the content of their rooms, one behind
    /// the other. Its starts are offsets in the buffer, 0 for blocks that were not read. The header is that of this small chunk.
    File(&'a dyn BlockSource, Buffer, ChunkHeader),
    /// In memory.
    Memory(&'a [u8]),
}

/// A chunk of which some blocks are to be changed in place.
pub struct PatchTarget<'a> {
    origin: Origin<'a>,
    header: &'a ChunkHeader,
    /// The room of each touched block, in their order.
    rooms: List<Range<usize>>,
    /// Where the content of each room begins in [`Self::bytes`].
    places: List<usize>,
    /// The starts of all blocks, ascending; empty without a table.
    starts: List<usize>,
    /// How many bytes are free behind the chunk.
    free_behind: usize,
    /// Whether the chunk gets slack between its blocks if it is rewritten.
    slack: bool,
    /// Header, block starts and checksums of a chunk in a file, if it has checksums.
    file_front: List<u8>,
}

/// The room of each touched block, and the starts of all blocks.
type BlockLayout = (List<Range<usize>>, List<usize>);

/// The layout of a chunk that begins with `front`. None if the blocks in `touched` have no rooms of their own.
fn layout(header: &ChunkHeader, front: &[u8], touched: &[Touched]) -> Result<Option<BlockLayout>> {
    let blocksize = header.blocksize_field();
    if header.special() != Special::None || header.has_vlblocks() || blocksize == 0 {
        return Ok(None);
    }
    if touched.iter().any(|t| t.nblock >= header.nblocks) {
        return Err(Error::InvalidParam);
    }
    if header.is_memcpyed() {
        if header.cbytes != header.nbytes + header.overhead() || header.has_checksums() {
            return Ok(None);
        }
        let room = |t: &Touched| {
            let from = header.overhead() + t.nblock * blocksize;
            from..header.cbytes.min(from + blocksize)
        };
        return Ok(Some((touched.iter().map(room).list()?, List::new())));
    }
    if header.has_checksums() && header.blosc2_flags & flags2::USE_DICT != 0 {
        return Ok(None);
    }
    let body = body(header);
    let table = header.overhead()..header.overhead() + 4 * header.nblocks;
    let Some(table) = front.get(table) else {
        return Ok(None);
    };
    let start = |nblock: usize| usize::try_from(i32_at(table, 4 * nblock)).unwrap_or(0);
    let mut starts: List<usize> = (0..header.nblocks).map(start).list()?;
    sort(&mut starts);
    let room = |t: &Touched| {
        let from = start(t.nblock);
        let i = starts.partition_point(|other| *other < from);
        let to = starts.get(i + 1).map_or(header.cbytes, |next| *next);
        // Blocks that share a start have no room of their own.
        (from >= body && from < to && to <= header.cbytes).then_some(from..to)
    };
    let mut rooms = List::with_capacity(touched.len())?;
    for t in touched {
        let Some(room) = room(t) else {
            return Ok(None);
        };
        rooms.push(room)?;
    }
    Ok(Some((rooms, starts)))
}

/// The edits that put changed blocks into a chunk.
#[derive(Default)]
struct BlockEdits {
    /// Writes of blocks that fit into their rooms.
    overwrites: List<Edit>,
    /// Changes of the table of block starts, for the other blocks.
    starts: List<Edit>,
    /// The bytes of these blocks, which are appended to the chunk.
    appended: List<u8>,
    /// Their starts before, ascending.
    old_starts: List<usize>,
    /// Their starts now, ascending.
    new_starts: List<usize>,
    /// Whether the length of any block changes.
    resized: bool,
}

impl<'a> PatchTarget<'a> {
    /// Reads the blocks in `touched` of the chunk in `source`, which begins with `front`. `free_behind` is how many bytes are free behind it, and
    /// `slack` whether it gets slack between its blocks if it is rewritten. None if the chunk cannot be changed in place.
    ///
    /// # Errors
    /// Those of input; [`Error::InvalidParam`] for blocks that are not there.
    pub fn read(
        source: &'a dyn BlockSource,
        header: &'a ChunkHeader,
        front: &[u8],
        touched: &[Touched],
        (free_behind, slack): (usize, bool),
    ) -> Result<Option<Self>> {
        let Some((rooms, starts)) = layout(header, front, touched)? else {
            return Ok(None);
        };
        let front = &front[..body(header).min(front.len())];
        let mut bytes = Buffer::copy_of(front)?;
        bytes.resize(front.len() + rooms.iter().map(Range::len).sum::<usize>())?;
        if !header.is_memcpyed() {
            bytes[header.overhead()..front.len()].fill(0);
        }
        // Adjacent rooms are read by one call.
        let mut to = front.len();
        let places: List<usize> = rooms
            .iter()
            .scan(to, |end, room| {
                *end += room.len();
                Some(*end - room.len())
            })
            .list()?;
        for run in rooms.chunk_by(|a, b| a.end == b.start) {
            let (first, end) = (run[0].start, run[run.len() - 1].end);
            source.read_at(first, &mut bytes[to..to + end - first])?;
            to += end - first;
        }
        let file_front = front_with_checksums(header, front).to_list()?;
        if header.has_checksums() {
            Checksums::in_front(front, header)?;
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
            origin: Origin::File(source, bytes, small),
            header,
            rooms,
            places,
            starts,
            free_behind,
            slack,
            file_front,
        }))
    }

    /// The same for a chunk in memory.
    ///
    /// # Errors
    /// [`Error::InvalidParam`] for blocks that are not there.
    pub(super) fn of(chunk: &Chunk<'a>, touched: &[Touched]) -> Result<Option<Self>> {
        let (header, bytes) = (chunk.header(), chunk.bytes());
        let layout = layout(header, bytes, touched)?;
        let Some((rooms, starts)) = layout else {
            return Ok(None);
        };
        Ok(Some(Self {
            origin: Origin::Memory(bytes),
            header,
            places: rooms.iter().map(|room| room.start).list()?,
            rooms,
            starts,
            free_behind: usize::MAX,
            slack: true,
            file_front: List::new(),
        }))
    }

    /// Checks the blocks that were read from a file, except those that will be overwritten as a whole. This is done here because the small chunk
    /// of [`Origin::File`] has no checksums.
    ///
    /// # Errors
    /// [`Error::Data`].
    pub(super) fn check(&self, touched: &[Touched]) -> Result<()> {
        let header = self.header;
        if !header.has_checksums() {
            return Ok(());
        }
        let sums = Checksums::in_checked_front(self.front(), header)?;
        for (i, t) in touched.iter().enumerate().filter(|(_, t)| !t.whole) {
            let (room, size) = (self.room(i), blocksize_of(header, t.nblock));
            let len = streams_len(header, room, size, |_| ()).map_err(|_| Error::Data)?;
            sums.check_block(t.nblock, &room[..len])?;
        }
        Ok(())
    }

    /// The chunk, of which only the touched blocks can be decoded: for a [`Patcher`](super::patch::Patcher).
    ///
    /// # Errors
    /// Those of a damaged chunk.
    pub fn chunk(&self) -> Result<Chunk<'_>> {
        match &self.origin {
            Origin::Memory(bytes) => Chunk::loaded(self.header, bytes),
            Origin::File(source, bytes, _) if self.header.is_memcpyed() => {
                Chunk::lazy(self.header, bytes, *source)
            }
            Origin::File(_, bytes, small) => Chunk::parse(small, bytes),
        }
    }

    /// The chunk in memory, or the small chunk of [`Origin::File`].
    pub fn bytes(&self) -> &[u8] {
        match &self.origin {
            Origin::Memory(bytes) => bytes,
            Origin::File(_, bytes, _) => bytes,
        }
    }

    /// The slack behind a block of `len` bytes.
    pub(super) fn slack(&self, len: usize) -> usize {
        match self.slack {
            true => (len / SLACK.0 + SLACK.1).min(len / MAX_UNUSED),
            false => 0,
        }
    }

    /// The header of the chunk.
    pub(super) fn header(&self) -> &'a ChunkHeader {
        self.header
    }

    /// The content of the room of the `i`th touched block.
    pub(super) fn room(&self, i: usize) -> &[u8] {
        &self.bytes()[self.places[i]..][..self.rooms[i].len()]
    }

    /// The same, and where in the chunk it begins.
    pub(super) fn room_at(&self, i: usize) -> (usize, &[u8]) {
        (self.rooms[i].start, self.room(i))
    }

    /// Header, block starts and checksums of the chunk, if it has checksums.
    pub(super) fn front(&self) -> &[u8] {
        match self.origin {
            Origin::Memory(bytes) => front_with_checksums(self.header, bytes),
            Origin::File(..) => &self.file_front,
        }
    }

    /// Reads the whole chunk from its file. None if it is in memory.
    pub(super) fn whole(&self) -> Result<Option<Buffer>> {
        let Origin::File(source, ..) = self.origin else {
            return Ok(None);
        };
        let mut bytes = Buffer::zeroed(self.header.cbytes)?;
        source.read_at(0, &mut bytes)?;
        Ok(Some(bytes))
    }

    /// Whether the streams of the touched blocks end within their rooms.
    pub(super) fn blocks_fit(&self, chunk: &Chunk, touched: &[Touched]) -> bool {
        let mut blocks = touched.iter().zip(&self.rooms);
        blocks.all(|(t, room)| {
            let bytes = chunk.compressed(t.nblock, |_| ());
            bytes.is_ok_and(|bytes| bytes.len() <= room.len())
        })
    }

    /// Whether the edits overwrite no more than is cheaper than a new chunk.
    pub(super) fn may_overwrite(&self, edits: &[Edit]) -> bool {
        let overwritten: usize = edits.iter().map(|edit| edit.len).sum();
        matches!(self.origin, Origin::Memory(_))
            || overwritten <= self.header.cbytes / MAX_OVERWRITTEN
    }

    /// Whether a chunk in memory that will have `cbytes` bytes because of the changed blocks is dense enough not to be rewritten: not tiny, and with
    /// few unused bytes.
    fn is_dense(
        &self,
        chunk: &Chunk,
        touched: &[Touched],
        changed: &[List<u8>],
        cbytes: usize,
    ) -> bool {
        let header = self.header;
        let body = body(header);
        if header.cbytes - body <= WASTE * header.nblocks {
            return false;
        }
        if cbytes == header.cbytes {
            return true;
        }
        let mut changed = touched.iter().zip(changed).peekable();
        // A damaged block counts as unused.
        let len = |nblock| match changed.next_if(|(t, _)| t.nblock == nblock) {
            Some((_, new)) => new.len(),
            None => chunk.compressed(nblock, |_| ()).map_or(0, <[u8]>::len),
        };
        let used: usize = (0..header.nblocks).map(len).sum();
        cbytes - body <= used + cbytes / MAX_UNUSED
    }

    /// Whether the reference can read single blocks after the starts `old` have become `new`, both ascending.
    fn is_readable(&self, old: &[usize], new: &[usize], cbytes: usize) -> bool {
        let most = longest(self.header);
        let stay = |start: &&usize| old.binary_search(start).is_err();
        let starts = self.starts.iter().filter(stay).chain(new);
        let ends = starts.clone().skip(1).chain([&cbytes]);
        let mut gaps = starts.zip(ends).map(|(start, end)| end.checked_sub(*start));
        gaps.all(|gap| gap.is_some_and(|gap| gap <= most))
    }

    /// The edits that replace the blocks in `touched` by those in `changed`, in ascending order, so that an edit of the header comes first. None if the
    /// chunk has to be rewritten.
    pub(super) fn edits(
        &self,
        chunk: &Chunk,
        touched: &[Touched],
        changed: &[List<u8>],
    ) -> Result<Option<List<Edit>>> {
        let header = self.header;
        let Some(mut blocks) = self.block_edits(chunk, touched, changed)? else {
            return Ok(None);
        };
        let cbytes = header.cbytes + blocks.appended.len();
        if !self.may_overwrite(&blocks.overwrites)
            || blocks.appended.len() > self.free_behind
            || cbytes > header.nbytes + header.overhead() + self.front().len() + 4 * self.sums()
        {
            return Ok(None);
        }
        let grows = !blocks.appended.is_empty();
        if grows
            && !(self.is_readable(&blocks.old_starts, &blocks.new_starts, cbytes)
                && self.keeps_layout(cbytes))
        {
            return Ok(None);
        }
        let in_memory = matches!(self.origin, Origin::Memory(_));
        if in_memory && blocks.resized && !self.is_dense(chunk, touched, changed, cbytes) {
            return Ok(None);
        }
        let mut edits = List::new();
        if grows {
            let mut front = self.bytes()[..header.overhead()].to_list()?;
            ChunkHeader { cbytes, ..*header }.write(&mut front);
            edits.push(Edit {
                at: 0,
                len: front.len(),
                new: front,
            })?;
            edits.extend(blocks.starts)?;
        }
        if self.sums() > 0 && (grows || !blocks.overwrites.is_empty()) {
            self.add_checksums(touched, changed, &mut edits)?;
        }
        sort_by_key(&mut blocks.overwrites, |edit| edit.at);
        edits.extend(blocks.overwrites)?;
        if grows {
            edits.push(Edit {
                at: header.cbytes,
                len: 0,
                new: blocks.appended,
            })?;
        }
        Ok(Some(edits))
    }

    /// The edits for the blocks alone, without header and checksums. None if a block became so much smaller that the chunk has to be rewritten.
    fn block_edits(
        &self,
        chunk: &Chunk,
        touched: &[Touched],
        changed: &[List<u8>],
    ) -> Result<Option<BlockEdits>> {
        let header = self.header;
        let mut edits = BlockEdits::default();
        for ((t, new), room) in touched.iter().zip(changed).zip(&self.rooms) {
            let old = chunk.compressed(t.nblock, |_| ())?;
            edits.resized |= new.len() != old.len();
            if new.len() > room.len() {
                let start = header.cbytes + edits.appended.len();
                edits.starts.push(Edit {
                    at: header.overhead() + 4 * t.nblock,
                    len: 4,
                    new: (start as i32).to_le_bytes().to_list()?,
                })?;
                edits.old_starts.push(room.start)?;
                edits.new_starts.push(start)?;
                edits.appended.extend_from_slice(new)?;
                continue;
            }
            let smaller = new.len() < old.len();
            if smaller && room.len() - new.len() > new.len().max(WASTE) {
                return Ok(None);
            }
            let range = if new.len() == old.len() {
                difference(new, old)
            } else {
                0..new.len()
            };
            if !range.is_empty() {
                edits.overwrites.push(Edit {
                    at: room.start + range.start,
                    len: range.len(),
                    new: new[range].to_list()?,
                })?;
            }
        }
        sort(&mut edits.old_starts);
        Ok(Some(edits))
    }

    /// How many checksums the chunk has.
    fn sums(&self) -> usize {
        match self.header.has_checksums() {
            true => self.header.nblocks,
            false => 0,
        }
    }

    /// Whether the table of checksums keeps its layout if the chunk gets `cbytes` bytes.
    fn keeps_layout(&self, cbytes: usize) -> bool {
        let grown = ChunkHeader {
            cbytes,
            ..*self.header
        };
        !self.header.has_checksums() || Layout::of(&grown) == Layout::of(self.header)
    }

    /// Adds the edits of the checksums. `edits` are those of header and block starts, which the checksum of the front covers.
    fn add_checksums(
        &self,
        touched: &[Touched],
        changed: &[List<u8>],
        edits: &mut List<Edit>,
    ) -> Result<()> {
        let Some(first) = touched.first() else {
            return Ok(());
        };
        let layout = Layout::of(self.header);
        let front = self.front();
        let begin = layout.place(first.nblock).start;
        let from = checksums_at(self.header) + begin;
        let mut tail = front[from..].to_list()?;
        let place = |nblock| {
            let place = layout.place(nblock);
            place.start - begin..place.end - begin
        };
        for (t, new) in touched.iter().zip(changed) {
            layout.sum_block(&mut tail[place(t.nblock)], new);
        }
        if let Some((sums, sum)) = tail.split_last_chunk_mut() {
            let crc = match edits.is_empty() {
                true => {
                    let was = &front[from..front.len() - sum.len()];
                    u32::from_le_bytes(*sum) ^ checksum::difference(was, sums)
                }
                false => {
                    let mut head = front[..from].to_list()?;
                    for edit in edits.iter() {
                        head[edit.at..][..edit.len].copy_from_slice(&edit.new);
                    }
                    checksum::extended(checksum::crc32c(&head), sums)
                }
            };
            *sum = crc.to_le_bytes();
        }
        push_edits(edits, from, tail, touched.iter().map(|t| place(t.nblock)))
    }
}

/// If the table of checksums has no more bytes than this from the first change to its end, they are one edit: in a file each edit costs two system
/// calls.
const ONE_PIECE: usize = 1024;

/// Adds edits for the changed ranges `places`, ascending, of `tail`, the end of a table of checksums, and for the checksum of the front at its end.
/// `tail` is at `at` in the chunk.
pub(super) fn push_edits(
    edits: &mut List<Edit>,
    at: usize,
    tail: List<u8>,
    places: impl Iterator<Item = Range<usize>>,
) -> Result<()> {
    let edit = |at: usize, new: List<u8>| Edit {
        at,
        len: new.len(),
        new,
    };
    if tail.len() <= ONE_PIECE {
        return edits.push(edit(at, tail));
    }
    let sum = tail.len() - 4..tail.len();
    for place in places.chain(std::iter::once(sum)) {
        edits.push(edit(at + place.start, tail[place].to_list()?))?;
    }
    Ok(())
}

/// Where the blocks of a chunk without a dictionary may begin: behind header, block starts and checksums.
fn body(header: &ChunkHeader) -> usize {
    let starts = match header.is_memcpyed() {
        true => 0,
        false => 4 * header.nblocks,
    };
    let checksums = match header.has_checksums() {
        true => Layout::of(header).table_len(),
        false => 0,
    };
    header.overhead() + starts + checksums
}

/// The front of a chunk with checksums; empty for other chunks.
fn front_with_checksums<'b>(header: &ChunkHeader, bytes: &'b [u8]) -> &'b [u8] {
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
