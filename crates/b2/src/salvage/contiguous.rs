//! A damaged frame in one file.

use super::end::End;
use super::header::{Front, NO_EXTENT, header_or, nothing};
use super::index::{Index, would_fit};
use super::order::arrange;
use super::scan::{Scan, header_from, plausible, scan};
use super::{Chunks, HEADER, Image, Parts, Salvage, Slot, shortfall, specials, start};
use crate::failure::Result;
use crate::library::SuperChunk;
use crate::state::State;
use oxiblosc_frame::header::{Header, Kind, MIN_LEN};
use std::collections::HashSet;
use std::ops::Range;

/// The header of a frame, and contexts for its chunks.
type Frame<'a> = (&'a Header, &'a SuperChunk);

/// Finds what there is.
pub fn contiguous(image: &Image, contexts: &SuperChunk, mut notes: Vec<String>) -> Result<Salvage> {
    let front = Front::read(image, &mut notes);
    let known = front.as_ref().map(|front| &front.header);
    let extent = front.as_ref().map_or(NO_EXTENT, |front| front.extent);
    notes.extend(shortfall(&extent, image.size));
    let end = End::find(image, &extent, known, &mut notes);
    let state = front.as_ref().map(|front| front.state(end.sums.as_ref()));
    let state = state.unwrap_or(State::Wrong);
    let said_start = u64::from(extent.header_len);
    let index = find_index(image, contexts, said_start + extent.cbytes, state, &end)
        .filter(|index| index.belongs(known.filter(|_| state != State::Wrong)));
    let limit = index.as_ref().map_or(end.pos, |index| index.pos);
    let parts = Parts {
        header: state,
        index: index.as_ref().map_or(State::Wrong, |index| index.state),
        trailer: end.state,
    };
    let salvage = |header, parts: Parts, slots, in_order, vlmetalayers, notes| Salvage {
        header,
        specials_proven: in_order && parts.index == State::Right,
        parts,
        slots,
        in_order,
        limit,
        vlmetalayers,
        notes,
        lost: Vec::new(),
    };
    if let Some(header) = known.filter(|_| state != State::Wrong) {
        let is_empty = header.nchunks() == Some(0) && end.pos == said_start;
        let whole = index
            .as_ref()
            .filter(|index| index.is_whole() && index.state != State::Wrong);
        let slots = match whole {
            _ if is_empty => Some(Vec::new()),
            Some(index) => {
                let slots = index.slots(Some(header), said_start);
                let trusted = state == State::Right && index.state == State::Right;
                let usable = trusted || lead_to_chunks(&slots, image, header);
                usable.then_some(slots)
            }
            None => None,
        };
        if let Some(slots) = slots {
            let in_order = parts.index == State::Right
                || are_all(&slots, image, said_start..limit, &(header, contexts));
            let parts = match is_empty {
                true => Parts {
                    index: state,
                    ..parts
                },
                false => parts,
            };
            let header = front.map(|front| front.header).ok_or_else(nothing)?;
            return Ok(salvage(header, parts, slots, in_order, end.layers, notes));
        }
    }
    // The header may be wrong about its chunks.
    let frame = known.filter(|_| state != State::Wrong);
    let from = match state {
        State::Right => said_start,
        _ => MIN_LEN as u64,
    };
    let mut found = scan(image, from, limit, frame, contexts);
    if found.first() == Some(said_start) {
        // What lies before it is the header.
        found.gaps.retain(|gap| *gap != 0);
    }
    if found.chunks.is_empty() && frame.is_some() {
        found = scan(image, MIN_LEN as u64, limit, None, contexts);
    }
    let chunks = Chunks::new(image, None);
    let proven: HashSet<u64> = found
        .chunks
        .iter()
        .map(|(pos, _)| *pos)
        .filter(|pos| chunks.header(*pos).is_some_and(|(_, proven)| proven))
        .collect();
    let index = index.or(found.index.take());
    let is_lost = front.is_none();
    let from_chunks = || header_from(&found, |pos| proven.contains(&pos));
    let header = header_or(front, state, &mut notes, from_chunks)?;
    let header = Header {
        kind: Kind::Contiguous,
        ..header
    };
    let believed = (state != State::Wrong).then_some(&header);
    let said = (extent != NO_EXTENT).then_some(said_start);
    let at = start_of(index.as_ref(), said, &found, &proven, limit);
    let is_right = |index: &Index| index.state == State::Right;
    let by_sum = || {
        let sums = end.sums.as_ref()?;
        let count = usize::try_from(believed.and_then(Header::nchunks)?).ok()?;
        let places: Vec<u64> = found.chunks.iter().map(|(pos, _)| *pos).collect();
        specials::placed(&places, count, said_start, sums.index)
    };
    let is_lost_index = !index.as_ref().is_some_and(is_right);
    if let Some(slots) = is_lost_index.then(by_sum).flatten() {
        notes.push("the index is lost, but its checksum says which chunk is which".into());
        let salvage = salvage(header, parts, slots, true, end.layers, notes);
        let specials_proven = true;
        return Ok(Salvage {
            specials_proven,
            ..salvage
        });
    }
    let (slots, start, mut in_order) = match (index, at) {
        (Some(index), Some((start, sure))) if index.state == State::Right => {
            if !sure {
                notes.push(
                    "where the header ended is a guess, and so is which chunk is which".into(),
                );
            }
            (index.slots(believed, start), start, sure)
        }
        // It leads to most of the chunks: without a header it is the best word there is.
        (Some(index), Some((start, _)))
            if is_lost && index.is_whole() && index.state == State::Unknown =>
        {
            notes.push("which chunk is which only an index without a checksum tells".into());
            (index.slots(None, start), start, false)
        }
        (index, at) => {
            let start = match state {
                State::Right => None,
                State::Wrong => at.map(|(start, _)| start).or(found.first()),
                State::Unknown => at.map(|(start, _)| start),
            };
            let start = start.unwrap_or(said_start);
            if index
                .as_ref()
                .is_some_and(|index| index.is_whole() && index.state == State::Wrong)
            {
                notes.push("the index is damaged: what it says may be wrong".into());
            }
            if is_lost && index.is_none() {
                notes.push("how many chunks there were is not known".into());
            }
            let counting = (!is_lost).then_some(&header);
            let slots = arrange(
                counting,
                index.as_ref(),
                &found,
                start,
                image.size,
                &mut notes,
            );
            (slots, start, false)
        }
    };
    if let Some(sums) = &end.sums
        && !in_order
        && would_fit(&slots, start, sums.index)
    {
        notes.push("the checksum of the index says that this is their order".into());
        in_order = true;
    }
    Ok(salvage(header, parts, slots, in_order, end.layers, notes))
}

/// The index, where the header says it is, or where it must be. Which of them it is its checksum decides, if there is one.
fn find_index(
    image: &Image,
    contexts: &SuperChunk,
    said: u64,
    state: State,
    end: &End,
) -> Option<Index> {
    let sum = end.sums.as_ref().map(|sums| sums.index);
    let said = Index::at(image, contexts, said, sum);
    if said.as_ref().is_some_and(|index| {
        index.state == State::Right || (state != State::Wrong && index.is_whole())
    }) {
        return said;
    }
    // Without a trailer nothing is known to follow it.
    let before = (end.state != State::Wrong || end.sums.is_some())
        .then(|| Index::before(image, contexts, end.pos, sum))
        .flatten();
    before.or(said)
}

/// Where the header ended, and whether that is known.
fn start_of(
    index: Option<&Index>,
    said: Option<u64>,
    found: &Scan,
    proven: &HashSet<u64>,
    limit: u64,
) -> Option<(u64, bool)> {
    let places = index?.places();
    if places.is_empty() {
        // It matters to no chunk.
        return Some((said?, true));
    }
    let mut spans = found.spans();
    if !proven.is_empty() {
        spans.retain(|(pos, _)| proven.contains(pos));
    }
    let (start, _, sure) = start::find(said, &places, &spans, limit)?;
    Some((start, sure && !proven.is_empty()))
}

/// Whether an index leads to chunks, each to one of its own: without a checksum it may be wrong and look right.
fn lead_to_chunks(slots: &[Slot], image: &Image, header: &Header) -> bool {
    let mut ends = Vec::new();
    for slot in slots {
        match slot {
            Slot::At(pos) => {
                let room = image.size.saturating_sub(*pos);
                let front = image.read(*pos, HEADER);
                let Some(chunk) = front.and_then(|front| plausible(&front, room, Some(header)))
                else {
                    return false;
                };
                ends.push((*pos, *pos + chunk.cbytes as u64));
            }
            Slot::Special(_) => {}
            Slot::Lost => return false,
        }
    }
    ends.sort_unstable();
    ends.windows(2).all(|pair| pair[0].1 <= pair[1].0)
}

/// Whether these are all the chunks that there are, some of them for sure: then an index without a checksum is right, too, since
/// damage of it leads away from a chunk, and to no other.
fn are_all(slots: &[Slot], image: &Image, area: Range<u64>, frame: &Frame) -> bool {
    let places = slots.iter().filter_map(|slot| match slot {
        Slot::At(pos) => Some(*pos),
        Slot::Special(_) | Slot::Lost => None,
    });
    let mut places: Vec<u64> = places.collect();
    let chunks = Chunks::new(image, None);
    let is_proven = |pos: &u64| chunks.header(*pos).is_some_and(|(_, proven)| proven);
    if !places.iter().any(is_proven) {
        return false;
    }
    places.sort_unstable();
    let (header, contexts) = frame;
    let found = scan(image, area.start, area.end, Some(header), contexts);
    found.chunks.iter().map(|(pos, _)| *pos).eq(places)
}
