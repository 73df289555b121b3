//! Chooses the library's search that suits a stream.
//!
//! The library chooses a search by level and length alone. So it tries as many candidates where they do not pay as elsewhere: where nothing is
//! repeated, and where bytes have so few values that a match takes more bits than the entropy codes of its bytes.

use super::super::StreamContent;
use super::super::noise::{Distribution, NoiseDetector, distribution, has_noise, takes_turns};
use core::ffi::c_int;
use core::ops::RangeInclusive;
use oxiblosc_error::Result;
use zstd_sys::ZSTD_strategy::{ZSTD_dfast, ZSTD_greedy, ZSTD_lazy, ZSTD_lazy2};
use zstd_sys::{ZSTD_cParameter, ZSTD_strategy};

/// For shorter streams nothing is planned, because most of their time is not spent in the search.
const MIN_PLANNED: usize = 16 << 10;
/// From this length on a stream is taken for a whole block of many planes of bytes or bits. The streams of split blocks are shorter, by
/// default. Streams that are longer than the default blocks of a level get another search from the library.
const BLOCK: usize = 128 << 10;
/// The length of whole blocks at levels 7 and 8.
const LARGE_BLOCK: usize = 512 << 10;

/// If no more than this many of 256 long words are repeated, the bytes of a stream are independent of each other.
const INDEPENDENT: usize = 2;

/// If two bytes of a stream of independent bytes are equal in at most this many of 65,536 cases, entropy codes alone are as small as what the
/// level's search finds. Where more are equal, matches save something, since a code takes at least one bit.
fn max_collisions(clevel: u8) -> u64 {
    match clevel {
        ..=3 => 65_536 / 2,
        _ => 65_536 * 4 / 15,
    }
}

/// The length of the pieces into which a stream is cut, each of which gets blocks of its own: that of some bit planes, and of one of sixteen
/// planes in a block of half a megabyte. Where two planes with different statistics share entropy codes, these are up to 8 % longer.
pub(super) const PIECE: usize = 32 << 10;

/// Parameters of a search. The other parameters are those of the level.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Search {
    strategy: ZSTD_strategy,
    /// The binary logarithm of the number of candidates, for strategies that try several.
    attempts: c_int,
    min_match: c_int,
    /// Whether candidates are in rows, which are compared at once. Otherwise they are in hash chains, which are faster where most searches find
    /// something.
    rows: bool,
}

/// What to do with a stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Plan {
    /// Use the parameters of the level.
    Level,
    /// Store the stream, since it is random.
    Store,
    /// Write entropy-coded literals without a search, since matches would take more bits.
    Literals,
    /// Use this search.
    Search(Search),
    /// Use this search in pieces of [`PIECE`], each of which has entropy codes of its own. At the beginning of a piece the search tries every position
    /// again.
    SearchPieces(Search),
}

impl Search {
    const fn double_fast(min_match: c_int) -> Self {
        Self::chains(ZSTD_dfast, 1, min_match)
    }

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
        // Small tables stay in the caches. Rows need a slot for each position; chains find nearly as much with a quarter of that.
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

/// Whether a search is chosen for streams of this length by what they hold. The fast levels take hardly longer than it would take to look at that.
pub(in super::super) fn is_planned(clevel: u8, len: usize) -> bool {
    let lengths = match clevel {
        3 => MIN_PLANNED..BLOCK + 1,
        4 | 5 => MIN_PLANNED..2 * BLOCK + 1,
        7 | 8 => LARGE_BLOCK..usize::MAX,
        _ => 0..0,
    };
    lengths.contains(&len)
}

/// The longest streams for which the library has special parameters.
const SHORT: usize = 16 << 10;
/// The shortest streams for which setting other parameters pays.
const MIN_SHORT: usize = 128;
/// The lengths of streams for which the library's table of rows at level 5 has twice as many slots as there are positions.
const SPARSE_ROWS: RangeInclusive<usize> = BLOCK + 1..=2 * BLOCK;

/// The plan for a stream of which nothing is known but its length.
pub(super) fn plan_for_length(clevel: u8, stream: &[u8]) -> Plan {
    match (clevel, stream.len()) {
        // The library would use a binary tree. Hash chains, which are short here, find as much in half the time. But the search with chains
        // takes large steps in noise, and so misses matches behind it.
        (5, MIN_SHORT..=SHORT) if !has_noise(stream) => {
            Plan::Search(Search::chains(ZSTD_lazy2, 6, 4))
        }
        // The library's search with a table of half the size, more of which stays in the caches.
        (5, len) if SPARSE_ROWS.contains(&len) => Plan::Search(Search::rows(ZSTD_lazy2, 5, 4)),
        _ => Plan::Level,
    }
}

/// Plans the compression of a stream that is one plane of bytes or several planes. Stores it only with `may_store`.
#[inline(never)]
pub(super) fn plan(
    clevel: u8,
    stream: &[u8],
    content: StreamContent,
    may_store: bool,
    noise: &mut NoiseDetector,
) -> Result<Plan> {
    let len = stream.len();
    if !is_planned(clevel, len) {
        return Ok(Plan::Level);
    }
    let block = len >= BLOCK || content != StreamContent::Plane;
    let (distribution, collisions) = distribution(stream);
    // For these no search is better than the library's. Only random streams are treated in a special way.
    if block && clevel == 4 && distribution != Distribution::Uniform {
        return Ok(Plan::Level);
    }
    let skewed = match distribution {
        // Shorter searches would find less.
        Distribution::Sparse => return Ok(Plan::Level),
        // The level's search is fast here.
        Distribution::Runs if block || clevel == 3 => return Ok(Plan::Level),
        Distribution::Runs | Distribution::Skewed => true,
        Distribution::Uniform | Distribution::Even => false,
    };
    if !block && distribution != Distribution::Uniform {
        let is_searched =
            distribution != Distribution::Runs && collisions <= max_collisions(clevel);
        return plan_for_plane(clevel, stream, skewed, (collisions, is_searched), noise);
    }
    let uniform = distribution == Distribution::Uniform;
    if clevel <= 5 && uniform && may_store && noise.rarely_repeats_anywhere(stream)? {
        return Ok(Plan::Store);
    }
    let enough = match block && matches!(clevel, 4 | 5) {
        true => ENOUGH_IN_BLOCK,
        false => 256,
    };
    // Where a search tries several candidates, words of planes of few values that are repeated by chance do not count.
    let word_len = if clevel == 3 { 5 } else { 8 };
    let repeats = noise.repeats(stream, word_len, enough)?;
    Ok(match clevel {
        3 if distribution != Distribution::Uniform => {
            plan_for_block_at_level_3(repeats, collisions)
        }
        7.. => plan_for_large_block(clevel, repeats, collisions),
        _ if block => plan_for_block(clevel, repeats),
        _ => plan_for_repeats_in_plane(clevel, repeats),
    })
}

/// The plan for a plane whose bytes are not uniformly distributed. Two of its bytes are equal in `collisions` of 65,536 cases; its long
/// words are looked up if `is_searched`.
fn plan_for_plane(
    clevel: u8,
    stream: &[u8],
    skewed: bool,
    (collisions, is_searched): (u64, bool),
    noise: &mut NoiseDetector,
) -> Result<Plan> {
    // More repeated words than this, of 256, do not change the choice.
    let enough = if skewed || clevel == 3 { 32 } else { 256 };
    let long_repeats = match is_searched {
        true => noise.long_repeats(stream, collisions, enough)?,
        false => None,
    };
    let plan = match long_repeats {
        Some(..=INDEPENDENT) => Plan::Literals,
        Some(230..) | None if clevel == 3 => Plan::Level,
        _ if skewed => plan_for_skewed_plane(clevel),
        Some(repeats) => plan_for_repeats_in_plane(clevel, repeats),
        None => Plan::Level,
    };
    if plan == Plan::Level || !noise.shares_short_words(stream, collisions)? {
        return Ok(plan);
    }
    // Codes of single bytes would take more bits. At levels 3 and 4 the faster searches would miss these words, too.
    Ok(match (clevel, long_repeats) {
        // Many matches are short here, and there is often a longer one a byte or two later. With fewer values most are long.
        (4 | 5, _) if collisions < 65_536 / 8 && takes_turns(stream) => {
            Plan::Search(Search::rows(ZSTD_lazy2, 3, 4))
        }
        (5, _) if skewed => plan_for_skewed_plane(clevel),
        (5, Some(repeats)) => plan_for_repeats_in_plane(5, repeats),
        (4, Some(repeats)) if !skewed => plan_for_repeats_in_plane(5, repeats),
        _ => Plan::Level,
    })
}

/// The plan for a plane in which a few values are frequent.
fn plan_for_skewed_plane(clevel: u8) -> Plan {
    Plan::Search(match clevel {
        3 => Search::chains(ZSTD_greedy, 2, 5),
        4 => Search::chains(ZSTD_lazy, 3, 5),
        5 => Search::chains(ZSTD_lazy, 4, 5),
        _ => return Plan::Level,
    })
}

/// The plan for another plane, of which `repeats` of 256 words are repeated.
fn plan_for_repeats_in_plane(clevel: u8, repeats: usize) -> Plan {
    Plan::Search(match (clevel, repeats) {
        (3, 0) => Search::double_fast(5),
        (3, ..20) => Search::double_fast(4),
        (4, 0) => Search::chains(ZSTD_lazy, 3, 5),
        (4, ..230) => Search::chains(ZSTD_greedy, 3, 4),
        (5, 0) => Search::chains(ZSTD_lazy, 4, 5),
        (5, ..230) => Search::rows(ZSTD_lazy, 4, 4),
        _ => return Plan::Level,
    })
}

/// The plan for a block at level 3 that is not random. The double fast search takes larger and larger steps where it finds nothing, and so misses
/// matches behind that, unless they are in the next piece.
fn plan_for_block_at_level_3(repeats: usize, collisions: u64) -> Plan {
    let few_values = collisions > 65_536 / 11;
    match repeats {
        0..4 => Plan::Search(Search::double_fast(4)),
        4..48 => Plan::SearchPieces(Search::double_fast(4)),
        48..200 if few_values => Plan::Search(Search::chains(ZSTD_greedy, 3, 4)),
        _ => Plan::Level,
    }
}

/// If this many of 256 words in a block are repeated, the level's search pays; see [`plan_for_block`].
const ENOUGH_IN_BLOCK: usize = 77;

/// The plan for a block of planes of bits or bytes, of which `repeats` of 256 words are repeated.
fn plan_for_block(clevel: u8, repeats: usize) -> Plan {
    Plan::Search(match (clevel, repeats) {
        (5, ..26) => Search::chains(ZSTD_greedy, 4, 4),
        (5, ..ENOUGH_IN_BLOCK) => Search::rows(ZSTD_lazy, 4, 4),
        _ => return Plan::Level,
    })
}

/// The plan for a block at the levels that use large blocks. Entropy codes of its own for each piece gain as much as a longer search.
fn plan_for_large_block(clevel: u8, repeats: usize, collisions: u64) -> Plan {
    let (many_values, few_values) = (collisions < 65_536 / 22, collisions > 65_536 * 2 / 5);
    // In these blocks longer searches find more.
    if repeats >= 100 && many_values || repeats >= 180 && few_values {
        return Plan::Level;
    }
    let attempts = match (clevel, repeats) {
        (7, ..77) => 5,
        (7, ..230) => 6,
        (8, ..77) => 6,
        _ => return Plan::Level,
    };
    Plan::SearchPieces(Search::rows(ZSTD_lazy2, attempts, 5))
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

    fn plan(clevel: u8, stream: &[u8]) -> Plan {
        super::plan(
            clevel,
            stream,
            match stream.len() < BLOCK {
                true => StreamContent::Plane,
                false => StreamContent::BytePlanes,
            },
            true,
            &mut NoiseDetector::default(),
        )
        .unwrap()
    }

    #[test]
    fn random_streams_are_stored() {
        for len in [MIN_PLANNED, 32 << 10, 100_001] {
            let stream = random(len, 256, 1);
            assert_eq!([1, 2].map(|level| plan(level, &stream)), [Plan::Level; 2]);
            assert_eq!(
                [3, 4, 5].map(|level| plan(level, &stream)),
                [Plan::Store; 3]
            );
            let mut noise = NoiseDetector::default();
            let roomy = super::plan(3, &stream, StreamContent::Plane, false, &mut noise).unwrap();
            assert!(matches!(roomy, Plan::Search(_)));
            assert_eq!(plan(3, &stream[..MIN_PLANNED - 1]), Plan::Level, "short");
        }
        // Repeated once, it is searched.
        let twice = random(20_000, 256, 1).repeat(2);
        assert!(!matches!(plan(3, &twice), Plan::Store));
    }

    #[test]
    fn independent_bytes_are_hardly_searched() {
        let len = 60_000;
        for values in [5, 12, 25, 100] {
            let stream = random(len, values, 1);
            for clevel in [1, 2, 6, 9] {
                assert_eq!(plan(clevel, &stream), Plan::Level);
            }
            let plans = [3, 4, 5].map(|level| plan(level, &stream));
            assert_eq!(plans, [Plan::Literals; 3], "{values} values");
            let repetitive = stream[..3000].repeat(20);
            let plans = [1, 2, 3, 4, 5].map(|level| plan(level, &repetitive));
            assert!(!plans.contains(&Plan::Literals), "{values} values");
            let of_planes = |level| {
                super::plan(
                    level,
                    &stream,
                    StreamContent::BytePlanes,
                    true,
                    &mut NoiseDetector::default(),
                )
            };
            let plans = [1, 2, 3, 4, 5].map(|level| of_planes(level).unwrap());
            assert!(!plans.contains(&Plan::Literals), "{values} values");
        }
        // Codes for three values are hardly shorter than what level 5 finds.
        let three = random(len, 3, 1);
        assert_eq!(plan(3, &three), Plan::Literals);
        assert!(matches!(plan(5, &three), Plan::Search(_)));
        assert_eq!(plan(3, &random(len, 256, 100)), Plan::Level, "runs");
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
    fn blocks_have_plans_of_their_own() {
        let block = |len: usize| {
            let planes = [(256, 1), (200, 1), (9, 1), (5, 40)];
            planes
                .map(|(values, run)| random(len / 4, values, run))
                .concat()
        };
        let fast = Search::double_fast(4);
        assert_eq!(plan(3, &random(BLOCK, 100, 1)), Plan::Search(fast));
        let mut mixed = random(BLOCK, 100, 1);
        let pieces = mixed.chunks_mut(PIECE);
        for piece in pieces {
            piece.copy_within(4096..5120, 10_000);
        }
        assert_eq!(plan(3, &mixed), Plan::SearchPieces(fast));
        let repetitive = random(3000, 100, 1).repeat(BLOCK.div_ceil(3000));
        assert_eq!(plan(3, &repetitive[..BLOCK]), Plan::Level);
        assert_eq!(plan(4, &block(BLOCK)), Plan::Level);
        for clevel in [7, 8] {
            assert!(matches!(
                plan(clevel, &block(LARGE_BLOCK)),
                Plan::SearchPieces(..)
            ));
            assert_eq!(plan(clevel, &block(LARGE_BLOCK - 4)), Plan::Level);
        }
    }
}
