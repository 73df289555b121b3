//! Damaged frames in a single file.

use crate::budget::ScanBudget;
use crate::chunks::ChunkFinder;
use crate::contexts::Contexts;
use crate::end::End;
use crate::fields::{ChunkHints, UsualFields};
use crate::files::Files;
use crate::header::{NO_EXTENT, SalvagedHeader, header_or};
use crate::index::{SalvagedIndex, would_fit};
use crate::integrity::Integrity;
use crate::location::{ChunkLocation, HEADER, MISPLACED};
use crate::order::arrange;
use crate::plausible::plausible;
use crate::rolled_back::RolledBackFile;
use crate::run_list::RunList;
use crate::salvage::{PartStates, Result, Salvage, Unrepairable};
use crate::scan::{Scan, cut_at, header_from, mended, scan};
use crate::specials;
use crate::start;
use crate::words::bytes;
use oxiblosc_frame::header::{Extent, FrameKind, Header, MIN_LEN};
use std::collections::HashSet;
use std::ops::Range;

/// The header of a frame, and contexts for its chunks.
type Frame<'a> = (&'a Header, &'a Contexts);

/// The parts of a frame besides its chunks, as far as they can be read.
struct Surroundings<'a> {
    image: &'a RolledBackFile<'a>,
    contexts: &'a Contexts,
    prefix: Option<SalvagedHeader>,
    /// Whether the header is as it was written.
    state: Integrity,
    extent: Extent,
    end: End,
    index: Option<SalvagedIndex>,
    /// The position before which the last chunk ends.
    limit: u64,
}

impl<'a> Surroundings<'a> {
    fn read(
        image: &'a RolledBackFile<'a>,
        contexts: &'a Contexts,
        notes: &mut Vec<String>,
    ) -> Self {
        let prefix = SalvagedHeader::read(image, notes);
        let known = prefix.as_ref().map(|prefix| &prefix.header);
        let extent = prefix.as_ref().map_or(NO_EXTENT, |prefix| prefix.extent);
        notes.extend(shortfall(&extent, image.size));
        let end = End::find(image, &extent, known, notes);
        let state = prefix
            .as_ref()
            .map(|prefix| prefix.state(end.sums.as_ref()));
        let state = state.unwrap_or(Integrity::Damaged);
        let said = u64::from(extent.header_len) + extent.cbytes;
        let index = find_index(image, contexts, said, state, &end)
            .filter(|index| index.belongs(known.filter(|_| state != Integrity::Damaged)));
        let limit = index.as_ref().map_or(end.pos, |index| index.pos);
        Self {
            image,
            contexts,
            prefix,
            state,
            extent,
            end,
            index,
            limit,
        }
    }

    /// The header, unless it is damaged.
    fn header(&self) -> Option<&Header> {
        let prefix = self
            .prefix
            .as_ref()
            .filter(|_| self.state != Integrity::Damaged);
        prefix.map(|prefix| &prefix.header)
    }

    /// The end of the header, by its own length.
    fn said_start(&self) -> u64 {
        u64::from(self.extent.header_len)
    }

    /// Whether the header says that there are no chunks, and the trailer follows it.
    fn is_empty(&self) -> bool {
        self.header().and_then(Header::nchunks) == Some(0) && self.end.pos == self.said_start()
    }

    fn index_state(&self) -> Integrity {
        self.index
            .as_ref()
            .map_or(Integrity::Damaged, |index| index.state)
    }

    fn parts(&self) -> PartStates {
        PartStates {
            header: self.state,
            index: self.index_state(),
            trailer: self.end.state,
        }
    }

    /// The chunks, if header and index lead to all of them, and whether their order is certain.
    fn indexed(&self, notes: &mut Vec<String>) -> Option<(RunList<ChunkLocation>, bool)> {
        let (header, start) = (self.header()?, self.said_start());
        let locations = if self.is_empty() {
            RunList::new()
        } else {
            let index = self.index.as_ref();
            let index =
                index.filter(|index| index.is_whole() && index.state != Integrity::Damaged)?;
            let locations = index.locations(Some(header), start);
            let trusted = self.state == Integrity::Intact && index.state == Integrity::Intact;
            if !trusted && !lead_to_chunks(&locations, self.image, header, self.limit) {
                return None;
            }
            locations
        };
        let chunks = ChunkFinder::new(self.image, None);
        let index = self.index.as_ref();
        if index.is_some_and(|index| index.is_misleading(start, &chunks)) {
            notes.push(MISPLACED.into());
            return Some((locations, false));
        }
        let in_order = self.index_state() == Integrity::Intact
            || are_all(
                &locations,
                self.image,
                start..self.limit,
                &(header, self.contexts),
            );
        Some((locations, in_order))
    }

    /// Searches for chunks. If none fit the header, searches without it, since it may be damaged.
    fn scan(&self) -> Scan {
        let start = self.said_start();
        let from = match self.state {
            Integrity::Intact => start,
            _ => MIN_LEN as u64,
        };
        let frame = self.header();
        let mut found = scan(self.image, from, self.limit, frame, self.contexts);
        // The search passes over a chunk that the file cuts, unless it follows another one.
        if found.chunks.is_empty() {
            found.chunks.extend(cut_at(self.image, start, frame));
        }
        if found.first() == Some(start) {
            // The bytes before the first chunk are the header, not a lost chunk.
            found.gaps.retain(|gap| *gap != 0);
        }
        if found.chunks.is_empty() && frame.is_some() {
            found = scan(self.image, MIN_LEN as u64, self.limit, None, self.contexts);
        }
        found
    }

    /// The result, with these chunks.
    fn salvage(
        &mut self,
        header: Header,
        parts: PartStates,
        locations: RunList<ChunkLocation>,
        in_order: bool,
        notes: Vec<String>,
    ) -> Salvage {
        Salvage {
            header,
            specials_proven: in_order && parts.index == Integrity::Intact,
            parts,
            locations,
            in_order,
            limit: self.limit,
            vlmetalayers: std::mem::take(&mut self.end.layers),
            notes,
            lost: Vec::new(),
        }
    }
}

/// Finds what is left of the frame in a file.
///
/// # Errors
/// [`Unrepairable`] says why nothing can be made of it.
pub fn contiguous(
    image: &RolledBackFile,
    contexts: &Contexts,
    mut notes: Vec<String>,
) -> Result<Salvage> {
    let mut frame = Surroundings::read(image, contexts, &mut notes);
    let (state, start, mut parts) = (frame.state, frame.said_start(), frame.parts());
    if let Some((locations, in_order)) = frame.indexed(&mut notes) {
        if frame.is_empty() {
            parts.index = state;
        }
        let header = frame.prefix.take().map(|prefix| prefix.header);
        let header = header.ok_or(Unrepairable::Nothing)?;
        return Ok(frame.salvage(header, parts, locations, in_order, notes));
    }
    let mut found = frame.scan();
    let chunks = ChunkFinder::new(image, None);
    let positions = found.chunks.iter().map(|(pos, _)| *pos);
    let is_proven = |pos: &u64| chunks.header(*pos).is_some_and(|(_, proven)| proven);
    let proven: HashSet<u64> = positions.filter(is_proven).collect();
    let index = frame.index.take().or(found.index.take());
    let is_lost = frame.prefix.is_none();
    let from_chunks = || header_from(&found, |pos| proven.contains(&pos));
    let header = Header {
        kind: FrameKind::Contiguous,
        ..header_or(frame.prefix.take(), state, &mut notes, from_chunks)?
    };
    let said = (frame.extent != NO_EXTENT).then_some(start);
    let evidence = Evidence {
        header: &header,
        state,
        is_lost,
        at: start_of(index.as_ref(), said, &found, &proven, frame.limit),
        index,
        found: &found,
        said_start: start,
        size: image.size,
        faults: image.faults,
    };
    let sum = frame.end.sums.as_ref().map(|sums| sums.index);
    if let Some(locations) = evidence.locations_by_checksum(sum) {
        notes.push("the index is lost, but its checksum says which chunk is which".into());
        return Ok(Salvage {
            specials_proven: true,
            ..frame.salvage(header, parts, locations, true, notes)
        });
    }
    let (locations, start, mut in_order) = evidence.locations(&mut notes);
    let index = evidence.index.as_ref();
    if index.is_some_and(|index| index.is_misleading(start, &chunks)) {
        notes.push(MISPLACED.into());
        return Ok(frame.salvage(header, parts, locations, false, notes));
    }
    if !in_order && sum.is_some_and(|sum| would_fit(&locations, start, sum, image.faults)) {
        notes.push("the checksum of the index says that this is their order".into());
        in_order = true;
    }
    Ok(frame.salvage(header, parts, locations, in_order, notes))
}

/// Everything that tells the order of the chunks that were found.
struct Evidence<'a> {
    /// The header, or one that was made from the chunks.
    header: &'a Header,
    /// Whether it is as it was written.
    state: Integrity,
    /// Whether it was made from the chunks.
    is_lost: bool,
    index: Option<SalvagedIndex>,
    /// Where the header ended, and whether that is certain.
    at: Option<(u64, bool)>,
    found: &'a Scan,
    /// The end of the header, by its own length.
    said_start: u64,
    /// Bytes of the file.
    size: u64,
    faults: &'a dyn Files,
}

impl Evidence<'_> {
    /// The header, unless it is damaged.
    fn believed(&self) -> Option<&Header> {
        (self.state != Integrity::Damaged).then_some(self.header)
    }

    /// The chunks of a frame whose index is lost, in the order that the checksum of the index
    /// proves.
    fn locations_by_checksum(&self, sum: Option<u32>) -> Option<RunList<ChunkLocation>> {
        if self
            .index
            .as_ref()
            .is_some_and(|index| index.state == Integrity::Intact)
        {
            return None;
        }
        let count = usize::try_from(self.believed().and_then(Header::nchunks)?).ok()?;
        let positions: Vec<u64> = self.found.chunks.iter().map(|(pos, _)| *pos).collect();
        specials::placed(&positions, count, self.said_start, sum?, self.faults)
    }

    /// The chunks, where the first of them may begin, and whether their order is certain.
    fn locations(&self, notes: &mut Vec<String>) -> (RunList<ChunkLocation>, u64, bool) {
        match (&self.index, self.at) {
            (Some(index), Some((start, sure))) if index.state == Integrity::Intact => {
                if !sure {
                    let guess = "where the header ended is a guess, and so is which chunk is which";
                    notes.push(guess.into());
                }
                (index.locations(self.believed(), start), start, sure)
            }
            // The index leads to most of the chunks. Without a header there is nothing better.
            (Some(index), Some((start, _)))
                if self.is_lost && index.is_whole() && index.state == Integrity::Unknown =>
            {
                notes.push("which chunk is which only an index without a checksum tells".into());
                (index.locations(None, start), start, false)
            }
            _ => self.arranged(notes),
        }
    }

    /// The chunks in the order of the file, unless a damaged index says otherwise.
    fn arranged(&self, notes: &mut Vec<String>) -> (RunList<ChunkLocation>, u64, bool) {
        let (index, at) = (self.index.as_ref(), self.at.map(|(start, _)| start));
        let start = match self.state {
            Integrity::Intact => None,
            Integrity::Damaged => at.or(self.found.first()),
            Integrity::Unknown => at,
        };
        let start = start.unwrap_or(self.said_start);
        if index.is_some_and(|index| index.is_whole() && index.state == Integrity::Damaged) {
            notes.push("the index is damaged: what it says may be wrong".into());
        }
        if self.is_lost && index.is_none() {
            notes.push("how many chunks there were is not known".into());
        }
        let counting = (!self.is_lost).then_some(self.header);
        let locations = arrange(counting, index, self.found, start, self.size, notes);
        (locations, start, false)
    }
}

/// The index at the position `said` by the header, or else the one before the trailer. Its checksum
/// decides, if it has one.
fn find_index(
    image: &RolledBackFile,
    contexts: &Contexts,
    said: u64,
    state: Integrity,
    end: &End,
) -> Option<SalvagedIndex> {
    let sum = end.sums.as_ref().map(|sums| sums.index);
    let said = SalvagedIndex::at(image, contexts, said, sum);
    if said.as_ref().is_some_and(|index| {
        index.state == Integrity::Intact || (state != Integrity::Damaged && index.is_whole())
    }) {
        return said;
    }
    // Without a trailer it is not known where the index ends.
    let before = (end.state != Integrity::Damaged || end.sums.is_some())
        .then(|| SalvagedIndex::before(image, contexts, end.pos, sum))
        .flatten();
    before.or(said)
}

/// Where the header ended, and whether that is certain.
fn start_of(
    index: Option<&SalvagedIndex>,
    said: Option<u64>,
    found: &Scan,
    proven: &HashSet<u64>,
    limit: u64,
) -> Option<(u64, bool)> {
    let positions = index?.positions();
    if positions.is_empty() {
        // There are only chunks of special values, for which it does not matter.
        return Some((said?, true));
    }
    let mut spans = found.spans();
    if !proven.is_empty() {
        spans.retain(|(pos, _)| proven.contains(pos));
    }
    let (start, _, sure) = start::find(said, &positions, &spans, limit)?;
    Some((start, sure && !proven.is_empty()))
}

/// Whether each offset of an index leads to a chunk that ends before `limit`, and no two of them
/// overlap. An index without a checksum may be damaged and look right. One field of a chunk's
/// header may be damaged if the chunk fills the space up to the next one.
fn lead_to_chunks(
    locations: &RunList<ChunkLocation>,
    image: &RolledBackFile,
    header: &Header,
    limit: u64,
) -> bool {
    let (mut ends, mut fronts, mut doubtful) = (Vec::new(), Vec::new(), Vec::new());
    for (range, location) in locations.runs() {
        match location {
            // The others would overlap the first one.
            ChunkLocation::At(_) if range.len() > 1 => return false,
            ChunkLocation::At(pos) => {
                let len = image.size.saturating_sub(*pos);
                let Some(prefix) = image.read(*pos, HEADER) else {
                    return false;
                };
                let chunk = plausible(&prefix, len, Some(header));
                match chunk {
                    Some(chunk) => {
                        ends.push((*pos, *pos + chunk.cbytes as u64));
                        fronts.extend(prefix.first_chunk().copied());
                    }
                    None => doubtful.push((range.start, *pos)),
                }
            }
            ChunkLocation::Special(_) => {}
            ChunkLocation::Lost => return false,
        }
    }
    let usual = UsualFields::among(&fronts);
    let mut budget = ScanBudget::of(image.size);
    let mut starts: Vec<u64> = ends.iter().map(|(pos, _)| *pos).collect();
    starts.extend(doubtful.iter().map(|(_, pos)| *pos).chain([limit]));
    starts.sort_unstable();
    for (nchunk, pos) in doubtful {
        let next = starts.partition_point(|start| *start <= pos);
        let len = starts.get(next).map_or(0, |next| next - pos);
        let hints = ChunkHints {
            parameters: &header.parameters,
            usual: &usual,
            nbytes: nbytes_of(header, nchunk),
            cbytes: usize::try_from(len).ok(),
        };
        if mended(image, pos, header, &hints, &mut budget).is_none() {
            return false;
        }
        ends.push((pos, pos + len));
    }
    ends.sort_unstable();
    ends.windows(2).all(|pair| pair[0].1 <= pair[1].0)
}

/// Bytes of data of a chunk, as the header of its frame says; none if its chunks differ in size.
fn nbytes_of(header: &Header, nchunk: usize) -> Option<usize> {
    let size = u64::try_from(header.chunksize).ok().filter(|n| *n > 0)?;
    let start = size.checked_mul(nchunk as u64)?;
    let rest = u64::try_from(header.nbytes).ok()?.checked_sub(start)?;
    usize::try_from(rest.min(size)).ok()
}

/// Whether these are all chunks in the file, and checksums prove some of them. Then an index
/// without a checksum is right, too, since a damaged offset would lead to no chunk.
fn are_all(
    locations: &RunList<ChunkLocation>,
    image: &RolledBackFile,
    area: Range<u64>,
    frame: &Frame,
) -> bool {
    let mut positions: Vec<u64> = locations.positions().collect();
    let chunks = ChunkFinder::new(image, None);
    let is_proven = |pos: &u64| chunks.header(*pos).is_some_and(|(_, proven)| proven);
    if !positions.iter().any(is_proven) {
        return false;
    }
    positions.sort_unstable();
    let (header, contexts) = frame;
    let found = scan(image, area.start, area.end, Some(header), contexts);
    found.chunks.iter().map(|(pos, _)| *pos).eq(positions)
}

/// The note about a file that is shorter than its header says.
fn shortfall(extent: &Extent, size: u64) -> Option<String> {
    let missing = extent
        .frame_len
        .checked_sub(size)
        .filter(|missing| *missing > 0)?;
    Some(format!(
        "the file is cut short: {} are missing",
        bytes(missing)
    ))
}
