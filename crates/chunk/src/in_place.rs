//! Changing some blocks of a chunk whose other blocks stay where they are.
//!
//! A block that comes out no larger than the room up to the next one is written there; another goes behind the chunk, and its
//! start in the table is changed. In a file only the bytes of these blocks are read, and room may have been left behind the
//! chunk; in memory a chunk grows until too many of its bytes are of no use. Blocks may lie in any order in a chunk, with room
//! between them: every reader of the format uses the table. But the reference reads single blocks from a file up to where
//! the next one starts, and refuses to if that is further than a block can be long. A chunk that is written anew because its
//! blocks grew gets a little room behind each of them.

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

/// What is overwritten is written twice (record and place). If that is more than the chunk's bytes divided by this, a new chunk costs less.
const MOST_OVERWRITTEN: usize = 2;
/// A chunk is written anew if a block leaves more of its room empty than it fills, and more than this; in memory also if its blocks
/// have no more bytes than this on average: that is little to write, and the chunk may have become one of zeros.
const WASTE: usize = 64;
/// A chunk in memory is written anew when more of its bytes than its size divided by this are unused.
const MOST_UNUSED: usize = 8;
/// A chunk that is written anew has room behind each block for one byte in so many of it, and these, but no more than its share
/// of what a chunk in memory may have unused: most blocks may be short runs of zeros.
const SLACK: (usize, usize) = (32, 8);

/// How far the starts of two blocks may be apart for the reference to read them one by one.
pub(super) fn longest(header: &ChunkHeader) -> usize {
    header.blocksize_field() + 4 * usize::from(header.typesize)
}

/// Where a chunk is.
enum Origin<'a> {
    /// In a file, and of it these bytes in memory: header and block starts, and behind them what is in the rooms, one after
    /// the other. The starts are those in here; the other blocks have none. And the header of these bytes.
    File(&'a dyn BlockSource, Buffer, ChunkHeader),
    /// In memory, all of it.
    Memory(&'a [u8]),
}

/// A chunk some of whose blocks are to be changed.
pub struct PatchTarget<'a> {
    origin: Origin<'a>,
    header: &'a ChunkHeader,
    /// What each block to be changed may take, in their order.
    rooms: List<Range<usize>>,
    /// Where what is in each room begins in [`Self::bytes`].
    places: List<usize>,
    /// Where all blocks start, in ascending order; empty where they have no table.
    starts: List<usize>,
    /// How many bytes are free behind the chunk.
    tail: usize,
    /// Whether the chunk, if it is written anew, gets room between its blocks.
    slack: bool,
    /// Header, block starts and checksums as they are in the chunk, if it has checksums; of a chunk in memory they are there.
    kept: List<u8>,
}

/// What each block to be changed may take, and where all start.
type BlockLayout = (List<Range<usize>>, List<usize>);

/// The layout of a chunk that begins with `front`: none where it cannot be said what the blocks in `touched` may take.
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

/// How changed blocks get into a chunk.
#[derive(Default)]
struct BlockEdits {
    /// Blocks that fit where the old ones are.
    inside: List<Edit>,
    /// Where the others start.
    starts: List<Edit>,
    /// The bytes of these, behind the chunk.
    behind: List<u8>,
    /// Where they started, ascending.
    left: List<usize>,
    /// Where they start, ascending.
    moved: List<usize>,
    /// Whether a block has another length than before.
    resized: bool,
}

impl<'a> PatchTarget<'a> {
    /// Reads of the chunk in `source`, whose first bytes are `front`, the blocks in `touched`. `tail` is how many bytes are free
    /// behind it, and `slack` whether it gets room between its blocks if it is written anew. None where the chunk cannot be
    /// changed in place.
    ///
    /// # Errors
    /// Those of input; [`Error::InvalidParam`] for blocks that are not there.
    pub fn read(
        source: &'a dyn BlockSource,
        header: &'a ChunkHeader,
        front: &[u8],
        touched: &[Touched],
        (tail, slack): (usize, bool),
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
        // Neighbours are read together.
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
        let kept = front_with_checksums(header, front).to_list()?;
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
            tail,
            slack,
            kept,
        }))
    }

    /// A chunk that is in memory. None where it cannot be changed in place.
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
            tail: usize::MAX,
            slack: true,
            kept: List::new(),
        }))
    }

    /// Checks what was read from a file of the blocks that are not to be overwritten as a whole. The chunk is without checksums.
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

    /// The chunk, as far as it was read, for a [`Patcher`](super::patch::Patcher) only.
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

    /// The first bytes of the chunk and some of its blocks.
    pub fn bytes(&self) -> &[u8] {
        match &self.origin {
            Origin::Memory(bytes) => bytes,
            Origin::File(_, bytes, _) => bytes,
        }
    }

    /// How much room to leave behind a block of `len` bytes.
    pub(super) fn slack(&self, len: usize) -> usize {
        match self.slack {
            true => (len / SLACK.0 + SLACK.1).min(len / MOST_UNUSED),
            false => 0,
        }
    }

    /// The header of the chunk.
    pub(super) fn header(&self) -> &'a ChunkHeader {
        self.header
    }

    /// What is in the room of the `i`th of the touched blocks.
    pub(super) fn room(&self, i: usize) -> &[u8] {
        &self.bytes()[self.places[i]..][..self.rooms[i].len()]
    }

    /// That, and where in the chunk it begins.
    pub(super) fn room_at(&self, i: usize) -> (usize, &[u8]) {
        (self.rooms[i].start, self.room(i))
    }

    /// Header, block starts and checksums as they are in the chunk, if it has checksums.
    pub(super) fn front(&self) -> &[u8] {
        match self.origin {
            Origin::Memory(bytes) => front_with_checksums(self.header, bytes),
            Origin::File(..) => &self.kept,
        }
    }

    /// All bytes of a chunk in a file; none of one in memory.
    pub(super) fn whole(&self) -> Result<Option<Buffer>> {
        let Origin::File(source, ..) = self.origin else {
            return Ok(None);
        };
        let mut bytes = Buffer::zeroed(self.header.cbytes)?;
        source.read_at(0, &mut bytes)?;
        Ok(Some(bytes))
    }

    /// Whether the blocks lie in their rooms.
    pub(super) fn blocks_fit(&self, chunk: &Chunk, touched: &[Touched]) -> bool {
        let mut blocks = touched.iter().zip(&self.rooms);
        blocks.all(|(t, room)| {
            let bytes = chunk.compressed(t.nblock, |_| ());
            bytes.is_ok_and(|bytes| bytes.len() <= room.len())
        })
    }

    /// Whether so much may be overwritten.
    pub(super) fn may_overwrite(&self, edits: &[Edit]) -> bool {
        let overwritten: usize = edits.iter().map(|edit| edit.len).sum();
        matches!(self.origin, Origin::Memory(_))
            || overwritten <= self.header.cbytes / MOST_OVERWRITTEN
    }

    /// Whether a chunk that gets `cbytes` bytes, since its blocks change their sizes, is better than one written anew: if it is
    /// in memory, not tiny, and few bytes are of no use.
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
        // The bytes of a damaged block are unused.
        let len = |nblock| match changed.next_if(|(t, _)| t.nblock == nblock) {
            Some((_, new)) => new.len(),
            None => chunk.compressed(nblock, |_| ()).map_or(0, <[u8]>::len),
        };
        let used: usize = (0..header.nblocks).map(len).sum();
        cbytes - body <= used + cbytes / MOST_UNUSED
    }

    /// Whether the reference reads single blocks when those that started at `left` start at `new`, both ascending.
    fn is_readable(&self, left: &[usize], new: &[usize], cbytes: usize) -> bool {
        let most = longest(self.header);
        let stay = |start: &&usize| left.binary_search(start).is_err();
        let starts = self.starts.iter().filter(stay).chain(new);
        let ends = starts.clone().skip(1).chain([&cbytes]);
        let mut gaps = starts.zip(ends).map(|(start, end)| end.checked_sub(*start));
        gaps.all(|gap| gap.is_some_and(|gap| gap <= most))
    }

    /// The edits that replace the blocks in `touched` by those in `changed`, by ascending position; the header's edit comes first, if any.
    /// None where the chunk is to be written anew.
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
        let cbytes = header.cbytes + blocks.behind.len();
        if !self.may_overwrite(&blocks.inside)
            || blocks.behind.len() > self.tail
            || cbytes > header.nbytes + header.overhead() + self.front().len() + 4 * self.sums()
        {
            return Ok(None);
        }
        let grows = !blocks.behind.is_empty();
        if grows
            && !(self.is_readable(&blocks.left, &blocks.moved, cbytes) && self.keeps_layout(cbytes))
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
        if self.sums() > 0 && (grows || !blocks.inside.is_empty()) {
            self.add_checksums(touched, changed, &mut edits)?;
        }
        sort_by_key(&mut blocks.inside, |edit| edit.at);
        edits.extend(blocks.inside)?;
        if grows {
            edits.push(Edit {
                at: header.cbytes,
                len: 0,
                new: blocks.behind,
            })?;
        }
        Ok(Some(edits))
    }

    /// What becomes of the blocks alone. None where a block got so much smaller that the chunk is to be written anew.
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
                let start = header.cbytes + edits.behind.len();
                edits.starts.push(Edit {
                    at: header.overhead() + 4 * t.nblock,
                    len: 4,
                    new: (start as i32).to_le_bytes().to_list()?,
                })?;
                edits.left.push(room.start)?;
                edits.moved.push(start)?;
                edits.behind.extend_from_slice(new)?;
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
                edits.inside.push(Edit {
                    at: room.start + range.start,
                    len: range.len(),
                    new: new[range].to_list()?,
                })?;
            }
        }
        sort(&mut edits.left);
        Ok(Some(edits))
    }

    /// How many checksums the chunk has.
    fn sums(&self) -> usize {
        match self.header.has_checksums() {
            true => self.header.nblocks,
            false => 0,
        }
    }

    /// Whether the table of checksums stays as long as it is in a chunk of another size.
    fn keeps_layout(&self, cbytes: usize) -> bool {
        let grown = ChunkHeader {
            cbytes,
            ..*self.header
        };
        !self.header.has_checksums() || Layout::of(&grown) == Layout::of(self.header)
    }

    /// Adds to the edits of header and block starts those of the checksums.
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

/// What changed of a table of checksums is written as one from there to its end, if that is no more: in a file each piece costs two calls.
const ONE_PIECE: usize = 1024;

/// Adds the edits of some ascending places in what a table of checksums ends with, and of the checksum at its end. It lies at `at` in the
/// chunk.
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

/// Where the blocks of a chunk without a dictionary may begin.
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

/// The front of a chunk that has checksums; nothing of another.
fn front_with_checksums<'b>(header: &ChunkHeader, bytes: &'b [u8]) -> &'b [u8] {
    match header.has_checksums() {
        true => &bytes[..body(header).min(bytes.len())],
        false => &[],
    }
}

/// Where the checksums are in a chunk without a dictionary.
pub(super) fn checksums_at(header: &ChunkHeader) -> usize {
    header.overhead() + 4 * header.nblocks
}

/// Bytes of data in block `nblock` of blocks of one size.
pub(super) fn blocksize_of(header: &ChunkHeader, nblock: usize) -> usize {
    let blocksize = header.blocksize_field();
    blocksize.min(header.nbytes - nblock * blocksize)
}
