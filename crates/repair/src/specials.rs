//! Chunks of special values, which are not in the file: only the index named them. If it is lost,
//! all ways to arrange them among the others are tried, unless there are too many. The checksum of
//! the index proves the right one.

use crate::files::Files;
use crate::index::would_fit;
use crate::location::ChunkLocation;
use crate::run_list::RunList;
use oxiblosc_chunk::header::Special;

/// The most arrangements that are tried with each kind of value. A wrong one fits by chance once in
/// 2^32, so these are few enough.
const MOST_TRIED: usize = 4096;

/// The `count` chunks of a frame: those in `found`, in the order of the file, with chunks of
/// special values among them, so that their index has the checksum `sum`. None if no arrangement
/// has, or there are too many. Offsets count from `start`.
pub(crate) fn placed(
    found: &[u64],
    count: usize,
    start: u64,
    sum: u32,
    faults: &dyn Files,
) -> Option<RunList<ChunkLocation>> {
    let missing = count.checked_sub(found.len())?;
    let kinds: &[Special] = match missing {
        0 => &[Special::Zero],
        _ => &[Special::Zero, Special::Nan, Special::Uninit],
    };
    let ways = (0..missing.min(found.len())).try_fold(1, |ways: usize, i| {
        let more = ways.checked_mul(count - i)? / (i + 1);
        (more <= MOST_TRIED).then_some(more)
    })?;
    if found.is_empty() {
        return kinds.iter().find_map(|kind| {
            let mut locations = RunList::new();
            locations.push(ChunkLocation::Special(*kind), count);
            would_fit(&locations, start, sum, faults).then_some(locations)
        });
    }
    let mut at: Vec<usize> = (0..missing).collect();
    for _ in 0..ways {
        for kind in kinds {
            let locations = arranged(found, &at, *kind, count);
            if would_fit(&locations, start, sum, faults) {
                return Some(locations);
            }
        }
        advance(&mut at, count);
    }
    None
}

fn arranged(found: &[u64], at: &[usize], kind: Special, count: usize) -> RunList<ChunkLocation> {
    let mut found = found.iter();
    let location = |nchunk: usize| match at.contains(&nchunk) {
        true => ChunkLocation::Special(kind),
        false => found
            .next()
            .map_or(ChunkLocation::Lost, |pos| ChunkLocation::At(*pos)),
    };
    (0..count).map(location).collect()
}

/// Steps to the next choice of as many numbers below `count`. The last choice does not change.
fn advance(choice: &mut [usize], count: usize) {
    let len = choice.len();
    let can_grow = (0..len).rev().find(|i| choice[*i] < count - (len - i));
    if let Some(i) = can_grow {
        choice[i] += 1;
        for j in i + 1..len {
            choice[j] = choice[j - 1] + 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::SystemFiles;
    use oxiblosc_frame::fingerprint::of_index;
    use oxiblosc_frame::offsets::Offsets;

    #[test]
    fn all_choices_come() {
        let mut choice = vec![0, 1];
        let mut all = vec![choice.clone()];
        for _ in 1..6 {
            advance(&mut choice, 4);
            all.push(choice.clone());
        }
        let expected = [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]];
        assert_eq!(all, expected.map(Vec::from));
    }

    #[test]
    fn the_checksum_tells_where_they_were() {
        let zeros = oxiblosc_frame::offsets::ChunkPosition::Special(Special::Zero).to_offset();
        let offsets = [0, zeros, 500, 1200, zeros, 1300];
        let sum = of_index(&Offsets::List(offsets.to_vec().into()).encode().unwrap());
        let found = [100, 600, 1300, 1400];
        let faults = SystemFiles::default();
        let locations = placed(&found, 6, 100, sum, &faults).unwrap();
        let special = ChunkLocation::Special(Special::Zero);
        let [a, b, c, d] = found.map(ChunkLocation::At);
        let expected = [a, special, b, c, special, d];
        assert_eq!(locations, RunList::from_iter(expected));
        // Neither with another number of them, nor in another order.
        assert_eq!(placed(&found, 5, 100, sum, &faults), None);
        assert_eq!(placed(&[100, 1300, 600, 1400], 6, 100, sum, &faults), None);
        // There are too many ways.
        assert_eq!(placed(&found, 60, 100, sum, &faults), None);
    }
}
