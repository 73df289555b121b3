//! Skips: links that pass over one position of a hash chain.
//!
//! A search that follows a chain waits for the load of each link before it can load the next one,
//! which takes most of its time where chains are long. With skips it follows the positions with
//! even and with odd numbers by links of their own, so that two loads overlap. The candidates and
//! their order are those of the chain. An insertion takes longer with skips, so they are used only
//! where searches try many candidates.

use super::window::WINDOW_SIZE;
use crate::hash_table::zeros;

/// For each position modulo `WINDOW_SIZE`, the position after the next one on its chain. It is only
/// valid if the next one is in the window.
///
/// The memory is allocated when it is needed first.
#[derive(Default)]
pub(super) struct Skips(Option<Box<[u16; WINDOW_SIZE]>>);

impl Skips {
    /// Fills the skips of all positions up to `pos`. Returns false if there is no memory.
    #[inline(never)]
    pub(super) fn fill(&mut self, prev: &[u16; WINDOW_SIZE], pos: usize) -> bool {
        if self.0.is_none() {
            self.0 = zeros().ok();
        }
        let Some(skips) = &mut self.0 else {
            return false;
        };
        for (skip, next) in skips.iter_mut().zip(prev).take(pos + 1) {
            *skip = prev[usize::from(*next) % WINDOW_SIZE];
        }
        true
    }

    /// Sets the skip of a position.
    #[inline(always)]
    pub(super) fn set(&mut self, pos: usize, skip: u16) {
        if let Some(skips) = &mut self.0 {
            skips[pos % WINDOW_SIZE] = skip;
        }
    }

    /// The skips, which must have been filled.
    #[inline(always)]
    pub(super) fn links(&self) -> &[u16; WINDOW_SIZE] {
        self.0.as_deref().expect("filled before")
    }

    /// The skips, for a slide of the tables.
    pub(super) fn positions(&mut self) -> &mut [u16] {
        match &mut self.0 {
            Some(skips) => &mut skips[..],
            None => &mut [],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::finder::{HASH_BYTES, MatchFinder, SearchLimits};
    use super::super::symbols::MAX_MATCH;
    use super::super::tables::HashTables;
    use super::super::window::Match;
    use crate::tests::Numbers;

    /// What a search finds, as length and distance, and how many candidates it tries.
    fn tried(
        finder: &mut MatchFinder,
        search: impl FnOnce(&mut MatchFinder) -> Match,
    ) -> (usize, usize, u32) {
        finder.tried = 0;
        let found = search(finder);
        (found.len, found.distance, finder.tried)
    }

    /// Some positions are not inserted, some are inserted without skips, and the tables slide
    /// several times.
    #[test]
    fn searches_with_skips_try_the_candidates_of_the_chain() {
        let mut numbers = Numbers(5);
        for of in [2, 4, 12] {
            let src = numbers.bytes(400_000, of);
            let mut tables = HashTables::new().unwrap();
            tables.start(src.len(), false, None);
            let mut finder = tables.open(&src);
            let mut at = 0;
            let mut found = 0;
            while at + MAX_MATCH < src.len() {
                let end = (at + numbers.below(20_000)).min(src.len() - MAX_MATCH);
                at = finder.insert_all::<false, false>(at, end);
                assert!(finder.fill_skips(at));
                let end = (at + numbers.below(30_000)).min(src.len() - MAX_MATCH);
                while at < end {
                    finder.slide_if_needed::<true>(at);
                    let limits = SearchLimits {
                        max_chain: 1 + numbers.below(100) as u32,
                        nice_length: HASH_BYTES + numbers.below(MAX_MATCH),
                    };
                    let known = match numbers.below(2) {
                        0 => Match::default(),
                        _ => Match {
                            len: HASH_BYTES + numbers.below(4),
                            distance: 1 + numbers.below(1000),
                        },
                    };
                    // SAFETY: `MAX_MATCH` bytes lie at `at`.
                    let (candidate, _) = unsafe { finder.insert::<false, true>(at) };
                    let place = (at, candidate);
                    let longest = tried(&mut finder, |finder| {
                        // SAFETY: `MAX_MATCH` bytes lie at `at`.
                        unsafe { finder.longest_match::<true>(place, MAX_MATCH, limits) }
                    });
                    let by_chain = tried(&mut finder, |finder| {
                        // SAFETY: `MAX_MATCH` bytes lie at `at`.
                        unsafe { finder.longest_match::<false>(place, MAX_MATCH, limits) }
                    });
                    assert_eq!(longest, by_chain, "{at}");
                    let longer = tried(&mut finder, |finder| {
                        // SAFETY: `MAX_MATCH` bytes lie at `at`.
                        unsafe { finder.longer_match::<true>(place, known, MAX_MATCH, limits) }
                    });
                    let by_chain = tried(&mut finder, |finder| {
                        // SAFETY: `MAX_MATCH` bytes lie at `at`.
                        unsafe { finder.longer_match::<false>(place, known, MAX_MATCH, limits) }
                    });
                    assert_eq!(longer, by_chain, "{at} {known:?}");
                    found += usize::from(longest.0 > 0);
                    at += 1;
                }
                at += [0, 10, 40_000][numbers.below(3)];
            }
            assert!(found > 10_000, "{found}");
        }
    }
}
