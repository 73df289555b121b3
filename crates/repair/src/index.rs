//! The index of a damaged frame.

use crate::budget::ScanBudget;
use crate::check;
use crate::chunks::ChunkFinder;
use crate::contexts::Contexts;
use crate::files::Files;
use crate::integrity::Integrity;
use crate::location::{ChunkLocation, HEADER, MOST_CHUNKS, location};
use crate::plausible::{most_cbytes, plausible};
use crate::rolled_back::RolledBackFile;
use crate::run_list::RunList;
use oxiblosc_base::memory::{Buffer, TryVec};
use oxiblosc_chunk::Chunk;
use oxiblosc_chunk::encoded::EncodedChunk;
use oxiblosc_chunk::header::{ChunkHeader, MIN_HEADER_LENGTH, Special};
use oxiblosc_frame::binding::{Binding, sum_of};
use oxiblosc_frame::fingerprint::of_index;
use oxiblosc_frame::header::{FrameKind, Header, MIN_LEN};
use oxiblosc_frame::offsets::{ChunkPosition, Offsets, WIDTH};
use oxiblosc_frame::runs::{Runs, Span};

/// The position of the size of an item in a chunk's header.
const TYPESIZE: usize = 3;
/// Bytes that are searched at a time.
const WINDOW: usize = 1 << 20;

/// An index, or the readable part of it.
pub(crate) struct SalvagedIndex {
    /// Its position in the file.
    pub pos: u64,
    /// The offsets; `None` for those in a damaged block.
    pub offsets: RunList<Option<i64>>,
    /// Whether it is as it was written.
    pub state: Integrity,
    /// Whether it may have room for more offsets than there are chunks.
    growing: bool,
    /// What binds the chunks to their places; none if it is unknown.
    binding: Option<Binding>,
}

impl SalvagedIndex {
    /// The offsets that belong to chunks. `header` is given if it can be trusted.
    pub fn counted(&self, header: Option<&Header>) -> RunList<Option<i64>> {
        let count = header.and_then(Header::nchunks);
        let count = count.filter(|count| self.growing && *count > 0);
        let count = count.and_then(|count| usize::try_from(count).ok());
        let mut offsets = self.offsets.clone();
        offsets.truncate(count.unwrap_or(usize::MAX));
        offsets
    }

    /// Whether all of it could be read.
    pub fn is_whole(&self) -> bool {
        self.offsets.runs().all(|(_, offset)| offset.is_some())
    }

    /// Whether it can be the index of a frame with this header. A remnant of an older index has
    /// another number of offsets.
    pub fn belongs(&self, header: Option<&Header>) -> bool {
        let count = header.and_then(Header::nchunks);
        self.is_whole()
            || self.growing
            || count.is_none_or(|count| count == self.offsets.len() as u64)
    }

    /// The offsets of chunks that are not of special values.
    pub fn positions(&self) -> Vec<u64> {
        stored(&self.offsets).collect()
    }

    /// The locations of the chunks. Offsets count from `start`.
    pub fn locations(&self, header: Option<&Header>, start: u64) -> RunList<ChunkLocation> {
        let mut locations = RunList::new();
        for (range, offset) in self.counted(header).runs() {
            let found = offset.map_or(ChunkLocation::Lost, |offset| location(offset, start));
            locations.push(found, range.len());
        }
        locations
    }

    /// Whether the chunks that it leads to are not those that were there when it was written.
    /// Offsets count from `start`. A chunk whose front is damaged tells nothing, and then the
    /// others do not, either.
    pub fn is_misleading(&self, start: u64, chunks: &ChunkFinder) -> bool {
        let known = self.binding.filter(|_| self.state == Integrity::Intact);
        let Some(known) = known else {
            return false;
        };
        let positions = self.positions();
        let bound = positions
            .iter()
            .try_fold(Binding::EMPTY, |mut bound, position| {
                let chunk = chunks.read(start.checked_add(*position)?)?;
                bound.add(*position, sum_of(&EncodedChunk::parse(&chunk).ok()?).ok()?);
                Some(bound)
            });
        bound.is_some_and(|bound| bound != known)
    }

    /// Reads the index at a position, and checks it against the checksum `sum`.
    pub fn at(
        image: &RolledBackFile,
        contexts: &Contexts,
        pos: u64,
        sum: Option<u32>,
    ) -> Option<Self> {
        let mut prefix = image.read(pos, HEADER)?;
        // The size of an offset is known, so it is put right if it is damaged.
        let is_mended = usize::from(prefix[TYPESIZE]) != WIDTH;
        prefix[TYPESIZE] = WIDTH as u8;
        let header = ChunkHeader::parse(&prefix).ok()?;
        let is_possible = most_cbytes(&header).is_some_and(|most| header.cbytes <= most);
        let numbers = header.nbytes.is_multiple_of(WIDTH) && header.nbytes > 0;
        if !numbers || !is_possible || !has_capacity(&header) {
            return None;
        }
        let mut chunk = image.bytes(pos, header.cbytes)?;
        chunk[TYPESIZE] = WIDTH as u8;
        let index = Self::of_chunk(image, contexts, (pos, &header, &chunk), sum)?;
        // Other bytes than an index would not make offsets that are all different, as those of
        // chunks are.
        let is_index =
            index.state == Integrity::Intact || (index.is_whole() && index.is_distinct());
        (!is_mended || is_index).then_some(index)
    }

    /// The offsets of two chunks are never the same, unless they are of special values.
    fn is_distinct(&self) -> bool {
        let mut positions = self.positions();
        positions.sort_unstable();
        positions.windows(2).all(|pair| pair[0] != pair[1])
    }

    /// Decodes the index in a chunk with this position and header, and checks it against the
    /// checksum `sum`.
    fn of_chunk(
        image: &RolledBackFile,
        contexts: &Contexts,
        (pos, header, chunk): (u64, &ChunkHeader, &[u8]),
        sum: Option<u32>,
    ) -> Option<Self> {
        let right = sum.is_some_and(|sum| of_index(chunk) == sum);
        let state = match sum {
            Some(_) if right => Integrity::Intact,
            Some(_) => Integrity::Damaged,
            None => Integrity::Unknown,
        };
        let growing = header.is_memcpyed();
        let faults = image.faults;
        let index = |offsets, state| Self {
            pos,
            offsets,
            state,
            growing,
            binding: Binding::of_index(chunk),
        };
        let decoded = Offsets::decode(chunk, None, FrameKind::Contiguous, chunk.len() as u64);
        if let Some(offsets) = faults.readable(decoded) {
            return Some(index(as_runs(&offsets), state));
        }
        // More would take too much memory, one by one.
        if header.special() != Special::None || header.nbytes / WIDTH > MOST_CHUNKS {
            return None;
        }
        let mut offsets = RunList::new();
        let capacity = header.blocksize_field().min(WINDOW);
        let mut data = faults.readable(Buffer::zeroed(capacity))?;
        let parsed = faults.readable(Chunk::parse(header, chunk))?;
        for range in check::blocks(header)? {
            let count = range.len() / WIDTH;
            let read = check::block(contexts, (&parsed, chunk), range.clone(), &mut data);
            match faults.readable(read) {
                Some(()) => {
                    let (items, _) = data[..range.len()].as_chunks::<WIDTH>();
                    for item in items {
                        offsets.push(Some(i64::from_le_bytes(*item)), 1);
                    }
                }
                None => offsets.push(None, count),
            }
        }
        let some = offsets.runs().any(|(_, offset)| offset.is_some());
        some.then_some(index(offsets, Integrity::Damaged))
    }

    /// Searches backwards for the index before the trailer, which begins at `end`. It is recognised
    /// by its checksum `sum`; if that is unknown, it must end at the trailer, and be readable.
    pub fn before(
        image: &RolledBackFile,
        contexts: &Contexts,
        end: u64,
        sum: Option<u32>,
    ) -> Option<Self> {
        let least = MIN_LEN as u64;
        let mut budget = ScanBudget::of(end);
        let mut to = end;
        while to > least {
            let from = to.saturating_sub(WINDOW as u64).max(least);
            let len = (to - from) as usize + HEADER - 1;
            let len = len.min(usize::try_from(end - from).unwrap_or(len));
            let window = image.read(from, len)?;
            for (at, bytes) in window.windows(HEADER).enumerate().rev() {
                let pos = from + at as u64;
                if usize::from(bytes[3]) != WIDTH {
                    continue;
                }
                let Some(header) = plausible(bytes, end - pos, None) else {
                    continue;
                };
                let behind = pos + header.cbytes as u64;
                if sum.is_none() && behind < end {
                    continue;
                }
                if !budget.spend(header.cbytes as u64) {
                    return None;
                }
                if sum.is_some_and(|sum| !has_sum(image, pos, sum)) {
                    continue;
                }
                let index = Self::at(image, contexts, pos, sum);
                if let Some(index) = index.filter(Self::is_whole) {
                    return Some(index);
                }
                // It was decompressed in vain, which costs, too.
                let decoded = header.nbytes.min(WIDTH * MOST_CHUNKS);
                if !budget.spend(decoded as u64) {
                    return None;
                }
            }
            to = from;
        }
        None
    }
}

/// The offsets of chunks with bytes.
pub(crate) fn stored(offsets: &RunList<Option<i64>>) -> impl Iterator<Item = u64> {
    offsets.runs().flat_map(|(range, offset)| {
        let position = offset.and_then(|offset| u64::try_from(offset).ok());
        std::iter::repeat_n(position.unwrap_or(0), position.map_or(0, |_| range.len()))
    })
}

/// The offsets of a frame. Those of chunks with bytes that are the same lead to no chunk, so that
/// the first ones are enough.
fn as_runs(offsets: &Offsets) -> RunList<Option<i64>> {
    let (mut runs, mut stored, mut next) = (RunList::new(), 0, 0);
    while let Some(offset) = offsets.get(next).filter(|_| stored < MOST_CHUNKS) {
        let count = offsets.alike_from(next, usize::MAX);
        runs.push(Some(offset), count);
        stored += usize::from(offset >= 0);
        next += count;
    }
    runs
}

/// Whether a chunk is long enough for its number of blocks. If not, its damaged size could ask for
/// more offsets than there is memory.
fn has_capacity(header: &ChunkHeader) -> bool {
    let least = match header.is_memcpyed() {
        true => header.nbytes,
        false => 4 * header.nblocks,
    };
    header.special() != Special::None || MIN_HEADER_LENGTH + least <= header.cbytes
}

/// Whether the chunk at a position has this checksum as an index.
fn has_sum(image: &RolledBackFile, pos: u64, sum: u32) -> bool {
    image
        .chunk(pos)
        .is_some_and(|chunk| of_index(&chunk) == sum)
}

/// Whether the index of these chunks would have this checksum.
pub(crate) fn would_fit(
    locations: &RunList<ChunkLocation>,
    start: u64,
    sum: u32,
    faults: &dyn Files,
) -> bool {
    let offset = |location: &ChunkLocation| match location {
        ChunkLocation::At(pos) => pos
            .checked_sub(start)
            .map(|at| ChunkPosition::At(at).to_offset()),
        ChunkLocation::Special(kind) => Some(ChunkPosition::Special(*kind).to_offset()),
        ChunkLocation::Lost => None,
    };
    let mut runs = Runs::default();
    for (range, location) in locations.runs() {
        let Some(first) = offset(location) else {
            return false;
        };
        let (step, count) = (0, range.len());
        if runs.push_span(Span { first, step, count }).is_err() {
            return false;
        }
    }
    let offsets = Offsets::of_runs(runs);
    let has_sum = |bytes| {
        let bytes: Option<TryVec<u8>> = faults.readable(bytes);
        bytes.is_some_and(|bytes| of_index(&bytes) == sum)
    };
    // An index of very many chunks is not stored, as that would be out of proportion.
    !offsets.is_empty()
        && (has_sum(offsets.encode())
            || (offsets.is_listable() && has_sum(offsets.encode_stored())))
}
