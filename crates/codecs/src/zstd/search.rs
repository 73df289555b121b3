//! Chooses the library's search that suits a stream.
//!
//! The library chooses a search by level and length alone. At the levels that use large blocks it
//! tries as many candidates where they do not pay as elsewhere: where nothing is repeated.

use super::super::noise::{NoiseDetector, has_noise};
use core::ffi::c_int;
use core::ops::RangeInclusive;
use oxiblosc_base::Result;
use zstd_sys::ZSTD_strategy::ZSTD_lazy2;
use zstd_sys::{ZSTD_cParameter, ZSTD_strategy};

/// The lengths of whole blocks of many planes of bytes or bits at levels 7 and 8. The streams of
/// split blocks are shorter, by default.
const LARGE_BLOCK: usize = 512 << 10;

/// The length of the pieces into which a stream is cut, each of which gets blocks of its own: that
/// of some bit planes, and of one of sixteen planes in a block of half a megabyte. Where two planes
/// with different statistics share entropy codes, these are up to 8 % longer.
pub(super) const PIECE: usize = 32 << 10;

/// Parameters of a search. The other parameters are those of the level.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Search {
    strategy: ZSTD_strategy,
    /// The binary logarithm of the number of candidates, for strategies that try several.
    attempts: c_int,
    min_match: c_int,
    /// Whether candidates are in rows, which are compared at once. Otherwise they are in hash
    /// chains, which are faster where most searches find something.
    rows: bool,
}

/// What to do with a stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Plan {
    /// Use the parameters of the level.
    Level,
    /// Use this search.
    Search(Search),
    /// Use this search in pieces of [`PIECE`], each of which has entropy codes of its own. At the
    /// beginning of a piece the search tries every position again.
    SearchPieces(Search),
}

impl Search {
    const fn chains(strategy: ZSTD_strategy, attempts: c_int, min_match: c_int) -> Self {
        Self {
            strategy,
            attempts,
            min_match,
            rows: false,
        }
    }

    pub(super) const fn rows(strategy: ZSTD_strategy, attempts: c_int, min_match: c_int) -> Self {
        Self {
            strategy,
            attempts,
            min_match,
            rows: true,
        }
    }

    /// The parameters and their values, for a stream of `len` bytes.
    pub(super) fn parameters(self, len: usize) -> [(ZSTD_cParameter, c_int); 6] {
        use ZSTD_cParameter::*;
        const USE_ROW_MATCH_FINDER: ZSTD_cParameter = ZSTD_c_experimentalParam14;
        // Small tables stay in the caches. Rows need a slot for each position; chains find nearly
        // as much with a quarter of that.
        let less = if self.rows { 0 } else { 2 };
        let table_log = len.next_power_of_two().ilog2().saturating_sub(less).max(15) as c_int;
        [
            (ZSTD_c_strategy, self.strategy as c_int),
            (ZSTD_c_searchLog, self.attempts),
            (ZSTD_c_minMatch, self.min_match),
            (ZSTD_c_hashLog, table_log),
            (ZSTD_c_chainLog, table_log),
            // 1 turns rows on, 2 off.
            (USE_ROW_MATCH_FINDER, 2 - c_int::from(self.rows)),
        ]
    }
}

/// Whether a search is chosen for streams of this length by what they hold. At lower levels it
/// would take as long to look at that as it saves.
fn is_planned(clevel: u8, len: usize) -> bool {
    matches!(clevel, 7 | 8) && len >= LARGE_BLOCK
}

/// The longest streams for which the library has special parameters.
const SHORT: usize = 16 << 10;
/// The shortest streams for which setting other parameters pays.
const MIN_SHORT: usize = 128;
/// The lengths of streams for which the library's table of rows at level 5 has twice as many slots
/// as there are positions.
const SPARSE_ROWS: RangeInclusive<usize> = (128 << 10) + 1..=256 << 10;

/// The plan for a stream of which nothing is known but its length.
pub(super) fn plan_for_length(clevel: u8, stream: &[u8]) -> Plan {
    match (clevel, stream.len()) {
        // The library would use a binary tree. Hash chains, which are short here, find as much in
        // half the time. But the search with chains takes large steps in noise, and so misses
        // matches behind it.
        (5, MIN_SHORT..=SHORT) if !has_noise(stream) => {
            Plan::Search(Search::chains(ZSTD_lazy2, 6, 4))
        }
        // The library's search with a table of half the size, more of which stays in the caches.
        (5, len) if SPARSE_ROWS.contains(&len) => Plan::Search(Search::rows(ZSTD_lazy2, 5, 4)),
        _ => Plan::Level,
    }
}

/// If fewer of 256 words are repeated, shorter searches in pieces find as much as the level's,
/// since entropy codes of its own for each piece gain as much as a longer search.
const FEW_REPEATS: usize = 77;

/// Plans the compression of a block of several planes.
#[inline(never)]
pub(super) fn plan(clevel: u8, stream: &[u8], noise: &mut NoiseDetector) -> Result<Plan> {
    if !is_planned(clevel, stream.len()) || noise.repeats(stream, FEW_REPEATS)? >= FEW_REPEATS {
        return Ok(Plan::Level);
    }
    let attempts = if clevel == 7 { 5 } else { 6 };
    Ok(Plan::SearchPieces(Search::rows(ZSTD_lazy2, attempts, 5)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Random bytes below `values` (splitmix), each `run` times.
    fn random(len: usize, values: u64, run: usize) -> Vec<u8> {
        let mut seed = values;
        let next = || {
            seed = seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
            let z = (seed ^ (seed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
            (((z >> 32) * values) >> 32) as u8
        };
        let runs = std::iter::repeat_with(next).flat_map(|byte| std::iter::repeat_n(byte, run));
        runs.take(len).collect()
    }

    #[test]
    fn short_streams_without_noise_follow_chains_at_level_5() {
        let text = random(SHORT, 20, 3);
        let chains = Plan::Search(Search::chains(ZSTD_lazy2, 6, 4));
        for len in [MIN_SHORT, 1000, SHORT] {
            assert_eq!(plan_for_length(5, &text[..len]), chains, "{len}");
            assert_eq!(plan_for_length(4, &text[..len]), Plan::Level, "{len}");
        }
        for at in [0, 5000, SHORT - 2048] {
            let mut mixed = text.clone();
            mixed[at..at + 2048].copy_from_slice(&random(2048, 64, 1));
            assert_eq!(plan_for_length(5, &mixed), Plan::Level, "noise at {at}");
        }
        assert_eq!(plan_for_length(5, &random(SHORT + 1, 20, 3)), Plan::Level);
    }

    #[test]
    fn large_blocks_in_which_little_is_repeated_are_searched_in_pieces() {
        let block = |len: usize| {
            let planes = [(256, 1), (200, 1), (9, 1), (5, 40)];
            planes
                .map(|(values, run)| random(len / 4, values, run))
                .concat()
        };
        let plan = |clevel, stream: &[u8]| plan(clevel, stream, &mut NoiseDetector::default());
        for clevel in 1..=9 {
            let planned = plan(clevel, &block(LARGE_BLOCK)).unwrap();
            let in_pieces = matches!(planned, Plan::SearchPieces(..));
            assert_eq!(in_pieces, matches!(clevel, 7 | 8), "{clevel}");
            for other in [block(LARGE_BLOCK - 4), vec![7; LARGE_BLOCK]] {
                assert_eq!(plan(clevel, &other), Ok(Plan::Level));
            }
        }
    }
}
