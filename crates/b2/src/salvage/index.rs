//! The index of a damaged frame.

use super::budget::ScanBudget;
use super::scan::{most_cbytes, plausible};
use super::{ChunkFinder, ChunkLocation, HEADER, MOST_CHUNKS, RolledBackFile, location};
use crate::faults::Faults;
use crate::integrity::Integrity;
use crate::library::SuperChunk;
use oxiblosc_chunk::Chunk;
use oxiblosc_chunk::header::{ChunkHeader, MIN_HEADER_LENGTH, Special};
use oxiblosc_frame::binding::{Binding, front_of};
use oxiblosc_frame::fingerprint::of_index;
use oxiblosc_frame::header::{FrameKind, Header, MIN_LEN};
use oxiblosc_frame::offsets::{ChunkPlace, Offsets, WIDTH};

/// The position of the size of an item in a chunk's header.
const TYPESIZE: usize = 3;
/// Bytes that are searched at a time.
const WINDOW: usize = 1 << 20;

/// An index, or the readable part of it.
pub(super) struct SalvagedIndex {
    /// Its position in the file.
    pub pos: u64,
    /// The offsets; `None` for those in a damaged block.
    pub offsets: Vec<Option<i64>>,
    /// Whether it is as it was written.
    pub state: Integrity,
    /// Whether it may have room for more offsets than there are chunks.
    growing: bool,
    /// What binds the chunks to their places; none if it is unknown.
    binding: Option<Binding>,
}

/// The note about a frame whose index is right, but leads to other chunks than it did.
pub(super) const MISPLACED: &str =
    "chunks were swapped, or some are older than others: which is right is not known";

impl SalvagedIndex {
    /// The offsets that belong to chunks. `header` is given if it can be trusted.
    pub fn counted(&self, header: Option<&Header>) -> &[Option<i64>] {
        let count = header.and_then(Header::nchunks);
        let count = count.filter(|count| self.growing && *count > 0);
        let count = count.and_then(|count| usize::try_from(count).ok());
        &self.offsets[..count.map_or(self.offsets.len(), |count| count.min(self.offsets.len()))]
    }

    /// Whether all of it could be read.
    pub fn is_whole(&self) -> bool {
        self.offsets.iter().all(Option::is_some)
    }

    /// Whether it can be the index of a frame with this header. A remnant of an older index has another number of offsets.
    pub fn belongs(&self, header: Option<&Header>) -> bool {
        let count = header.and_then(Header::nchunks);
        self.is_whole()
            || self.growing
            || count.is_none_or(|count| count == self.offsets.len() as u64)
    }

    /// The offsets of chunks that are not of special values.
    pub fn places(&self) -> Vec<u64> {
        let offsets = self.offsets.iter().flatten();
        offsets
            .filter_map(|offset| u64::try_from(*offset).ok())
            .collect()
    }

    /// The locations of the chunks. Offsets count from `start`.
    pub fn locations(&self, header: Option<&Header>, start: u64) -> Vec<ChunkLocation> {
        let offsets = self.counted(header).iter();
        offsets
            .map(|offset| offset.map_or(ChunkLocation::Lost, |offset| location(offset, start)))
            .collect()
    }

    /// Whether the chunks that it leads to are not those that were there when it was written.
    /// Offsets count from `start`. Chunks that cannot be read tell nothing.
    pub fn is_misleading(&self, start: u64, chunks: &ChunkFinder) -> bool {
        let places = self.places();
        let bound = places.iter().try_fold(Binding::EMPTY, |mut bound, place| {
            let chunk = chunks.read(start.checked_add(*place)?)?;
            bound.add(*place, front_of(&chunk).ok()?);
            Some(bound)
        });
        let known = self.binding.filter(|_| self.state == Integrity::Intact);
        known
            .zip(bound)
            .is_some_and(|(known, bound)| known != bound)
    }

    /// Reads the index at a position, and checks it against the checksum `sum`.
    pub fn at(
        image: &RolledBackFile,
        contexts: &SuperChunk,
        pos: u64,
        sum: Option<u32>,
    ) -> Option<Self> {
        let mut front = image.read(pos, HEADER)?;
        // The size of an offset is known, so it is put right if it is damaged.
        let is_mended = usize::from(front[TYPESIZE]) != WIDTH;
        front[TYPESIZE] = WIDTH as u8;
        let header = ChunkHeader::parse(&front).ok()?;
        let is_possible = most_cbytes(&header).is_some_and(|most| header.cbytes <= most);
        let numbers = header.nbytes.is_multiple_of(WIDTH) && header.nbytes > 0;
        if !numbers || !is_possible || !has_room(&header) {
            return None;
        }
        let mut chunk = image.bytes(pos, header.cbytes)?;
        chunk[TYPESIZE] = WIDTH as u8;
        let index = Self::of_chunk(image, contexts, (pos, &header, &chunk), sum)?;
        // Other bytes than an index would not make offsets that are all different, as those of chunks are.
        let is_index =
            index.state == Integrity::Intact || (index.is_whole() && index.is_distinct());
        (!is_mended || is_index).then_some(index)
    }

    /// The offsets of two chunks are never the same, unless they are of special values.
    fn is_distinct(&self) -> bool {
        let mut places = self.places();
        places.sort_unstable();
        places.windows(2).all(|pair| pair[0] != pair[1])
    }

    /// Decodes the index in a chunk with this position and header, and checks it against the checksum `sum`.
    fn of_chunk(
        image: &RolledBackFile,
        contexts: &SuperChunk,
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
        let faults = &image.faults;
        let index = |offsets, state| Self {
            pos,
            offsets,
            state,
            growing,
            binding: Binding::of_index(chunk),
        };
        let decoded = Offsets::decode(chunk, None, FrameKind::Contiguous, chunk.len() as u64);
        if let Some(offsets) = faults.readable(decoded) {
            // If all offsets are the same there may be very many. Then none of them leads to a chunk, and the first ones are enough.
            let offsets = offsets.iter().take(MOST_CHUNKS).map(Some).collect();
            return Some(index(offsets, state));
        }
        if header.special() != Special::None {
            return None;
        }
        let mut offsets = Vec::new();
        let room = header.blocksize_field().min(WINDOW);
        let mut data = faults.readable(crate::library::zeros(room))?;
        let parsed = faults.readable(Chunk::parse(header, chunk))?;
        for range in crate::check::blocks(header)? {
            let count = range.len() / WIDTH;
            let read = crate::check::block(contexts, (&parsed, chunk), range.clone(), &mut data);
            match faults.readable(read) {
                Some(()) => offsets.extend(data[..range.len()].chunks_exact(WIDTH).map(|bytes| {
                    let mut offset = [0; WIDTH];
                    offset.copy_from_slice(bytes);
                    Some(i64::from_le_bytes(offset))
                })),
                None => offsets.extend(std::iter::repeat_n(None, count)),
            }
        }
        let some = offsets.iter().any(Option::is_some);
        some.then_some(index(offsets, Integrity::Damaged))
    }

    /// Searches backwards for the index before the trailer, which begins at `end`. It is recognised by its checksum `sum`; if that is unknown,
    /// it must end at the trailer, and be readable.
    pub fn before(
        image: &RolledBackFile,
        contexts: &SuperChunk,
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

/// Whether a chunk is long enough for its number of blocks. If not, its damaged size could ask for more offsets than there is memory.
fn has_room(header: &ChunkHeader) -> bool {
    let least = match header.is_memcpyed() {
        true => header.nbytes,
        false => 4 * header.nblocks,
    };
    header.special() != Special::None
        || (MIN_HEADER_LENGTH + least <= header.cbytes && header.nbytes / WIDTH <= MOST_CHUNKS)
}

/// Whether the chunk at a position has this checksum as an index.
fn has_sum(image: &RolledBackFile, pos: u64, sum: u32) -> bool {
    image
        .chunk(pos)
        .is_some_and(|chunk| of_index(&chunk) == sum)
}

/// Whether the index of these chunks would have this checksum.
pub(super) fn would_fit(
    locations: &[ChunkLocation],
    start: u64,
    sum: u32,
    faults: &Faults,
) -> bool {
    let offsets: Option<Vec<i64>> = locations
        .iter()
        .map(|location| match location {
            ChunkLocation::At(pos) => pos
                .checked_sub(start)
                .map(|at| ChunkPlace::At(at).to_offset()),
            ChunkLocation::Special(kind) => Some(ChunkPlace::Special(*kind).to_offset()),
            ChunkLocation::Lost => None,
        })
        .collect();
    let Some(offsets) = offsets.filter(|offsets| !offsets.is_empty()) else {
        return false;
    };
    let offsets = Offsets::List(offsets.into());
    [offsets.encode(), offsets.encode_stored()]
        .into_iter()
        .filter_map(|bytes| faults.readable(bytes))
        .any(|bytes| of_index(&bytes) == sum)
}
