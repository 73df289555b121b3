//! Puts the chunks that were found in order.

use crate::index::{SalvagedIndex, stored};
use crate::location::{ChunkLocation, MOST_CHUNKS, location};
use crate::run_list::RunList;
use crate::scan::Scan;
use crate::words::plural;
use oxiblosc_chunk::header::ChunkHeader;
use oxiblosc_frame::header::Header;
use oxiblosc_frame::offsets::ChunkPosition;
use std::collections::{HashMap, HashSet};

/// The chunks in order, by the index if there is one, or else by their positions. If there is a
/// header there are as many as it says.
pub(crate) fn arrange(
    header: Option<&Header>,
    index: Option<&SalvagedIndex>,
    scan: &Scan,
    start: u64,
    size: u64,
    notes: &mut Vec<String>,
) -> RunList<ChunkLocation> {
    let expected = header.and_then(Header::nchunks);
    let expected = expected.filter(|count| *count > 0).map(|n| n as usize);
    let found = scan.chunks.len();
    if let Some(index) = index {
        return complete(&index.counted(header), &scan.chunks, start, notes);
    }
    notes.push(
        "the index is lost: chunks are taken in the order in which they lie in the file".into(),
    );
    let mut locations = RunList::new();
    let missing = expected.map_or(0, |expected| expected.saturating_sub(found));
    let gaps = &scan.gaps;
    // Each gap between chunks is taken as one lost chunk, and a single gap as all missing chunks.
    // If more are missing they are taken as lost at the end of the file.
    for (at, (pos, _)) in scan.chunks.iter().enumerate() {
        let nth = gaps.partition_point(|gap| *gap < at);
        if gaps.get(nth) == Some(&at) && nth < missing {
            let alone = gaps.len() == 1;
            locations.push(ChunkLocation::Lost, if alone { missing } else { 1 });
        }
        locations.push(ChunkLocation::At(*pos), 1);
    }
    if let Some(expected) = expected {
        fit(&mut locations, expected, found, size, notes);
    }
    if missing > 0 {
        notes.push(format!(
            "{} of {} found; where the others were is a guess, and chunks of special values cannot be found",
            found,
            found + missing
        ));
    }
    locations
}

/// Adds or removes locations until there are as many as the header expects, in a file of `size`
/// bytes in which `found` chunks were found.
fn fit(
    locations: &mut RunList<ChunkLocation>,
    expected: usize,
    found: usize,
    size: u64,
    notes: &mut Vec<String>,
) {
    if locations.len() < expected {
        let lost = expected - locations.len();
        // A damaged header may name very many chunks, but each lost one had some bytes in the file.
        let most = usize::try_from(size / 8).unwrap_or(MOST_CHUNKS).max(1024);
        if lost > most {
            notes.push(format!(
                "the header asks for {expected} chunks, which cannot have been here"
            ));
        }
        let lost = lost.min(most).min(MOST_CHUNKS);
        locations.push(ChunkLocation::Lost, lost);
    } else if locations.len() > expected {
        notes.push(format!(
            "{} found, {expected} expected: some are older versions of others, and the order is a guess",
            plural(found, "chunk", "chunks")
        ));
        locations.truncate(expected);
    }
}

/// The positions of chunks that the offsets of an index do not name.
fn unnamed(offsets: &RunList<Option<i64>>, chunks: &[(u64, ChunkHeader)], start: u64) -> Vec<u64> {
    let named: HashSet<u64> = stored(offsets).collect();
    let is_named = |pos: u64| pos.checked_sub(start).is_some_and(|at| named.contains(&at));
    let positions = chunks.iter().map(|(pos, _)| *pos);
    positions.filter(|pos| !is_named(*pos)).collect()
}

/// Fills the gaps in an index with chunks that it does not name.
fn complete(
    offsets: &RunList<Option<i64>>,
    chunks: &[(u64, ChunkHeader)],
    start: u64,
    notes: &mut Vec<String>,
) -> RunList<ChunkLocation> {
    let positions = chunks.iter().map(|(pos, _)| pos.checked_sub(start));
    let positions: HashSet<u64> = positions.flatten().collect();
    let mut times: HashMap<u64, usize> = HashMap::new();
    stored(offsets).for_each(|position| *times.entry(position).or_default() += 1);
    let trusted = |offset: i64| match u64::try_from(offset) {
        Ok(position) => positions.contains(&position) && times.get(&position) == Some(&1),
        Err(_) => ChunkPosition::from_offset(offset).is_ok(),
    };
    // If one offset leads to no chunk, the others cannot be trusted either.
    let mut trusted_ones = RunList::new();
    for (range, offset) in offsets.runs() {
        trusted_ones.push(offset.filter(|offset| trusted(*offset)), range.len());
    }
    let (wrong, offsets) = (trusted_ones != *offsets, trusted_ones);
    if wrong && chunks.len() == offsets.len() {
        notes.push(
            "the index is damaged: chunks are taken in the order in which they lie in the file"
                .into(),
        );
        return chunks
            .iter()
            .map(|(pos, _)| ChunkLocation::At(*pos))
            .collect();
    }
    let unnamed = unnamed(&offsets, chunks, start);
    let lost = offsets.runs().filter(|(_, offset)| offset.is_none());
    let holes: usize = lost.map(|(range, _)| range.len()).sum();
    if holes > 0 {
        let how = if unnamed.len() == holes {
            "all were found in the file"
        } else {
            "which chunks they were is a guess"
        };
        notes.push(format!(
            "the index is damaged: the places of {} are lost; {how}",
            plural(holes, "chunk", "chunks")
        ));
    }
    let mut unnamed = unnamed.into_iter();
    let mut locations = RunList::new();
    for (range, offset) in offsets.runs() {
        match offset {
            Some(offset) => locations.push(location(*offset, start), range.len()),
            None => {
                let found = unnamed.by_ref().take(range.len()).map(ChunkLocation::At);
                let end = locations.len() + range.len();
                found.for_each(|found| locations.push(found, 1));
                locations.push(ChunkLocation::Lost, end - locations.len());
            }
        }
    }
    locations
}

/// The chunks in the order of their file numbers, with lost chunks for missing numbers, as far as
/// `expected` chunks allow.
pub(crate) fn numbered(numbers: &[u64], expected: Option<usize>) -> RunList<ChunkLocation> {
    let missing = expected
        .map_or(0, |expected| expected.saturating_sub(numbers.len()))
        .min(1024 + 8 * numbers.len());
    let mut locations = RunList::new();
    let mut next = 0;
    let mut lost = 0;
    for number in numbers {
        while next < *number && lost < missing {
            locations.push(ChunkLocation::Lost, 1);
            (next, lost) = (next + 1, lost + 1);
        }
        locations.push(ChunkLocation::At(*number), 1);
        next = number + 1;
    }
    locations
}
