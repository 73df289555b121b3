//! Finds where the header of a damaged frame ended: the offsets in the index count from there.

use oxiblosc_frame::header::MIN_LEN;
use std::collections::{HashMap, HashSet};

/// The longest header, in bytes.
const MAX_HEADER_LEN: u64 = 1 << 20;
/// How many of the lowest and of the highest offsets propose ends of the header.
const SAMPLE: usize = 16;
/// The most ends of the header that are tried.
const TRIED: usize = 32;

/// The positions of the first byte of a chunk, and behind its last.
pub(crate) type Span = (u64, u64);

/// The end of the header with which most offsets of the index (`positions`) lead to chunks that
/// were found, how many do, and whether no other end is likely. `said` is the end in the header;
/// chunks end before `limit`.
pub(crate) fn find(
    said: Option<u64>,
    positions: &[u64],
    chunks: &[Span],
    limit: u64,
) -> Option<(u64, usize, bool)> {
    let mut sorted = positions.to_vec();
    sorted.sort_unstable();
    let ends = sorted.iter().take(SAMPLE);
    let ends = ends.chain(sorted.iter().rev().take(SAMPLE));
    let mut votes: HashMap<u64, usize> = HashMap::new();
    for position in ends {
        let from = position + MIN_LEN as u64;
        let first = chunks.partition_point(|(pos, _)| *pos < from);
        let near = chunks[first..]
            .iter()
            .take_while(|(pos, _)| *pos <= position + MAX_HEADER_LEN);
        for (pos, _) in near {
            *votes.entry(pos - position).or_default() += 1;
        }
    }
    let mut tried: Vec<(usize, u64)> = votes.into_iter().map(|(at, votes)| (votes, at)).collect();
    tried.sort_unstable_by(|a, b| b.cmp(a));
    tried.truncate(TRIED);
    let mut tried: Vec<u64> = tried.into_iter().map(|(_, at)| at).collect();
    tried.extend(said.filter(|said| !tried.contains(said)));
    let positions: HashSet<u64> = chunks.iter().map(|(pos, _)| *pos).collect();
    let hits = |start: u64| {
        let mut hits = 0;
        for position in &sorted {
            let pos = start + position;
            if positions.contains(&pos) {
                hits += 1;
                continue;
            }
            // An offset into a chunk, or behind all of them, rules this end out.
            let before = chunks.partition_point(|(from, _)| *from < pos);
            let within = before > 0 && chunks[before - 1].1 > pos;
            if within || pos >= limit {
                return 0;
            }
        }
        hits
    };
    let mut all: Vec<(usize, u64)> = tried.iter().map(|start| (hits(*start), *start)).collect();
    all.retain(|(hits, _)| *hits > 0);
    all.sort_unstable_by(|a, b| b.cmp(a));
    let (best, start) = *all.first()?;
    let next = all.get(1).map_or(0, |(hits, _)| *hits);
    let sure = best > 2 * next || (said == Some(start) && best > next);
    Some((start, best, sure))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lost_chunk_at_the_front_is_missed() {
        // Chunks of one size, the first of which is gone.
        let positions: Vec<u64> = (0..10).map(|n| n * 1000).collect();
        let chunks: Vec<Span> = (1..10).map(|n| (120 + n * 1000, 1120 + n * 1000)).collect();
        assert_eq!(
            find(None, &positions, &chunks, 10_120),
            Some((120, 9, true))
        );
        // With the last one gone too it may as well have begun one chunk before, where that is
        // possible.
        let positions: Vec<u64> = (0..10).map(|n| n * 20).collect();
        let chunks: Vec<Span> = (1..9).map(|n| (120 + n * 20, 140 + n * 20)).collect();
        let (_, _, sure) = find(None, &positions, &chunks, 320).expect("some start");
        assert!(!sure);
    }
}
