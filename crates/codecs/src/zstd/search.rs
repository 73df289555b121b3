//! Which of the library's searches suits a stream.
//!
//! The library chooses by level and length alone. It tries as many candidates where the bytes are so few that each match costs more
//! than the codes for single bytes that it replaces, and where nothing is repeated, as where that pays.

use super::super::noise::{Distribution, Noise, distribution, has_noise, looks_uniform};
use core::ffi::c_int;
use core::ops::RangeInclusive;
use oxiblosc_error::Result;
use zstd_sys::ZSTD_strategy::{ZSTD_dfast, ZSTD_greedy, ZSTD_lazy, ZSTD_lazy2};
use zstd_sys::{ZSTD_cParameter, ZSTD_strategy};

/// Shorter streams are not sampled: most of the time is not spent in the search.
const MIN_SAMPLED: usize = 16 << 10;
/// Streams of this length are whole blocks, of many planes of bytes or bits: split blocks have shorter ones, by default. For longer
/// ones than the default of a level the library has another search.
const BLOCK: usize = 128 << 10;
/// The same for blocks of levels 7 and 8.
const LARGE_BLOCK: usize = 512 << 10;

/// If no more than so many of 256 words that are long enough are seen to be repeated, the bytes say nothing of one another.
const INDEPENDENT: usize = 2;

/// In how many of 65,536 cases two bytes may be equal for codes alone to be as small as what the level finds. No code is shorter than a
/// bit, so matches save something of bytes that need less.
fn max_collisions(clevel: u8) -> u64 {
    match clevel {
        ..=3 => 65_536 / 2,
        _ => 65_536 * 4 / 15,
    }
}

/// The length of the library's blocks where they are cut: that of some planes of bits, and of a plane of sixteen in a block of half a
/// megabyte. Where two planes of different kinds share codes, these are up to 8 % longer.
const PIECE: usize = 32 << 10;

/// Parameters of a search. What is not here is as the level has it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Search {
    strategy: ZSTD_strategy,
    /// The logarithm of the number of candidates, for strategies that have more than one.
    attempts: c_int,
    min_match: c_int,
    /// Whether candidates are in rows that are compared at once. Else each is linked to the one before, which is faster where most
    /// searches find something.
    rows: bool,
}

/// What to do with a stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Plan {
    /// As the level says.
    Level,
    /// Store it, since it is random.
    Store,
    /// As the level says, but without codes for single bytes, which would save nothing: the library spends most of the time on them.
    PlainLiterals,
    /// Codes for single bytes and no search: matches take more bits than the codes for their bytes.
    Literals,
    /// Search it so.
    Search(Search),
    /// Search it so, in pieces of so many bytes that have codes of their own, and at whose beginning the search looks at each byte again.
    SearchPieces(Search, usize),
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

    const fn rows(strategy: ZSTD_strategy, attempts: c_int, min_match: c_int) -> Self {
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
        // Small tables stay in the caches. Rows need a place for each position; chains find nearly as much with fewer.
        let less = if self.rows { 0 } else { 2 };
        let table = len.next_power_of_two().ilog2().saturating_sub(less).max(15) as c_int;
        [
            (ZSTD_c_strategy, self.strategy as c_int),
            (ZSTD_c_searchLog, self.attempts),
            (ZSTD_c_minMatch, self.min_match),
            (ZSTD_c_hashLog, table),
            (ZSTD_c_chainLog, table),
            // 1 turns it on, 2 off.
            (USE_ROW_MATCH_FINDER, 2 - c_int::from(self.rows)),
        ]
    }
}

/// Whether streams of this length are sampled, to find out how to search them.
pub(in super::super) fn is_sampled(clevel: u8, len: usize) -> bool {
    let lengths = match clevel {
        ..=2 => MIN_SAMPLED..usize::MAX,
        3 => MIN_SAMPLED..BLOCK + 1,
        4 | 5 => MIN_SAMPLED..2 * BLOCK + 1,
        7 | 8 => LARGE_BLOCK..usize::MAX,
        _ => 0..0,
    };
    lengths.contains(&len)
}

/// The longest streams for which the library has parameters of their own, and the shortest for which others are worth setting.
const SHORT: usize = 16 << 10;
const MIN_SHORT: usize = 128;
/// The lengths of streams for which the table of rows at level 5 has twice as many places as there are positions.
const SPARSE_ROWS: RangeInclusive<usize> = BLOCK + 1..=2 * BLOCK;

/// How to search a stream that is not sampled, or of which samples say nothing.
pub(super) fn of_length(clevel: u8, stream: &[u8]) -> Plan {
    match (clevel, stream.len()) {
        // The library would sort positions into a tree. To follow chains finds as much in half the time, since these are short. But behind
        // noise it passes over what could be repeated.
        (5, MIN_SHORT..=SHORT) if !has_noise(stream) => {
            Plan::Search(Search::chains(ZSTD_lazy2, 6, 4))
        }
        // The library's search, with a table of half the size, more of which is in the caches.
        (5, len) if SPARSE_ROWS.contains(&len) => Plan::Search(Search::rows(ZSTD_lazy2, 5, 4)),
        _ => Plan::Level,
    }
}

/// Plans the compression of a stream, which is one plane of bytes or several planes. It is stored only with `may_store`.
#[inline(never)]
pub(super) fn plan(
    clevel: u8,
    stream: &[u8],
    is_plane: bool,
    may_store: bool,
    noise: &mut Noise,
) -> Result<Plan> {
    let len = stream.len();
    if !is_sampled(clevel, len) {
        return Ok(Plan::Level);
    }
    let block = len >= BLOCK || !is_plane;
    // Here no search is better than the library's, so that only random streams matter.
    let only_random = block && [1, 2, 4].contains(&clevel);
    if only_random && !looks_uniform(stream) {
        return Ok(Plan::Level);
    }
    let (distribution, collisions) = distribution(stream);
    if only_random && distribution != Distribution::Uniform {
        return Ok(Plan::Level);
    }
    if clevel < 3 {
        return plan_of_fast(stream, distribution, collisions, noise);
    }
    let skewed = match distribution {
        // Shorter searches find less there.
        Distribution::Sparse => return Ok(Plan::Level),
        // Searches are fast there.
        Distribution::Runs if block || clevel == 3 => return Ok(Plan::Level),
        Distribution::Runs | Distribution::Skewed => true,
        Distribution::Uniform | Distribution::Even => false,
    };
    if !block && distribution != Distribution::Uniform {
        let is_sampled = distribution != Distribution::Runs && collisions <= max_collisions(clevel);
        let collisions = is_sampled.then_some(collisions);
        return plan_of_plane(clevel, stream, skewed, collisions, noise);
    }
    if clevel == 3 && distribution != Distribution::Uniform {
        return Ok(of_block_at_3(
            noise.repeats(stream, skewed, true)?,
            collisions,
        ));
    }
    let Some(repeats) = noise.repeats(stream, skewed, false)? else {
        return Ok(Plan::Level);
    };
    Ok(match clevel {
        ..=5 if distribution == Distribution::Uniform && repeats == 0 && may_store => Plan::Store,
        7.. => of_large_block(clevel, repeats, collisions),
        _ if block => of_block(clevel, repeats),
        _ => of_plane(clevel, repeats),
    })
}

/// The plan of a plane whose bytes are not all equally frequent. Words of it are sampled where `collisions` are given.
fn plan_of_plane(
    clevel: u8,
    stream: &[u8],
    skewed: bool,
    collisions: Option<u64>,
    noise: &mut Noise,
) -> Result<Plan> {
    // How many of 256 matter to the choice.
    let enough = if skewed || clevel == 3 { 32 } else { 256 };
    let long_repeats = match collisions {
        Some(collisions) => noise.long_repeats(stream, collisions, enough)?,
        None => None,
    };
    Ok(match long_repeats {
        Some(..=INDEPENDENT) => Plan::Literals,
        Some(230..) | None if clevel == 3 => Plan::Level,
        _ if skewed => of_skewed_plane(clevel),
        Some(repeats) => of_plane(clevel, repeats),
        None => Plan::Level,
    })
}

/// The plan of the fast levels. They search only planes of few values for long, since they find many short matches there.
fn plan_of_fast(
    stream: &[u8],
    distribution: Distribution,
    collisions: u64,
    noise: &mut Noise,
) -> Result<Plan> {
    let independent = distribution == Distribution::Skewed
        && matches!(
            noise.long_repeats(stream, collisions, INDEPENDENT)?,
            Some(..=INDEPENDENT)
        );
    Ok(match distribution {
        Distribution::Uniform => Plan::PlainLiterals,
        _ if independent => Plan::Literals,
        _ => Plan::Level,
    })
}

/// How to search a plane in which a few values are frequent, whether they are repeated or not.
fn of_skewed_plane(clevel: u8) -> Plan {
    Plan::Search(match clevel {
        3 => Search::chains(ZSTD_greedy, 2, 5),
        4 => Search::chains(ZSTD_lazy, 3, 5),
        5 => Search::chains(ZSTD_lazy, 4, 5),
        _ => return Plan::Level,
    })
}

/// How to search a plane of other bytes, given how many of 256 words are repeated.
fn of_plane(clevel: u8, repeats: usize) -> Plan {
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

/// How to search a block at level 3, if it is not random. The double fast search passes over more and more bytes where it finds nothing, and so over
/// what follows, if that is not a piece of its own.
fn of_block_at_3(repeats: Option<usize>, collisions: u64) -> Plan {
    let few_values = collisions > 65_536 / 11;
    match repeats {
        Some(..4) => Plan::Search(Search::double_fast(4)),
        Some(..48) => Plan::SearchPieces(Search::double_fast(4), PIECE),
        Some(..200) if few_values => Plan::Search(Search::chains(ZSTD_greedy, 3, 4)),
        None if collisions > 65_536 / 3 => Plan::Search(Search::chains(ZSTD_greedy, 3, 4)),
        _ => Plan::Level,
    }
}

/// How to search a block of bits or of bytes of all kinds.
fn of_block(clevel: u8, repeats: usize) -> Plan {
    Plan::Search(match (clevel, repeats) {
        (5, ..26) => Search::chains(ZSTD_greedy, 4, 4),
        (5, ..77) => Search::rows(ZSTD_lazy, 4, 4),
        _ => return Plan::Level,
    })
}

/// The same for the levels that take large blocks. They gain as much from codes of their own for each piece as from a longer search.
fn of_large_block(clevel: u8, repeats: usize, collisions: u64) -> Plan {
    let (many_values, few_values) = (collisions < 65_536 / 22, collisions > 65_536 * 2 / 5);
    // There longer searches find more.
    if repeats >= 100 && many_values || repeats >= 180 && few_values {
        return Plan::Level;
    }
    let attempts = match (clevel, repeats) {
        (7, ..77) => 5,
        (7, ..230) => 6,
        (8, ..77) => 6,
        _ => return Plan::Level,
    };
    Plan::SearchPieces(Search::rows(ZSTD_lazy2, attempts, 5), PIECE)
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
            stream.len() < BLOCK,
            true,
            &mut Noise::default(),
        )
        .unwrap()
    }

    #[test]
    fn random_streams_are_stored_or_at_least_not_coded() {
        for len in [MIN_SAMPLED, 32 << 10, 100_001] {
            let stream = random(len, 256, 1);
            assert_eq!(
                [1, 2].map(|level| plan(level, &stream)),
                [Plan::PlainLiterals; 2]
            );
            assert_eq!(
                [3, 4, 5].map(|level| plan(level, &stream)),
                [Plan::Store; 3]
            );
            let mut noise = Noise::default();
            let roomy = super::plan(3, &stream, true, false, &mut noise).unwrap();
            assert!(matches!(roomy, Plan::Search(_)));
            assert_eq!(plan(3, &stream[..MIN_SAMPLED - 1]), Plan::Level, "short");
        }
        // Repeated once, it is searched.
        let twice = random(20_000, 256, 1).repeat(2);
        assert!(!matches!(plan(3, &twice), Plan::Store));
    }

    #[test]
    fn bytes_that_say_nothing_of_one_another_are_hardly_searched() {
        let len = 60_000;
        for values in [5, 12, 25, 100] {
            let stream = random(len, values, 1);
            for clevel in [6, 9] {
                assert_eq!(plan(clevel, &stream), Plan::Level);
            }
            // What has many values is searched quickly.
            let fast = if values < 16 {
                Plan::Literals
            } else {
                Plan::Level
            };
            assert_eq!([1, 2].map(|level| plan(level, &stream)), [fast; 2]);
            let plans = [3, 4, 5].map(|level| plan(level, &stream));
            assert_eq!(plans, [Plan::Literals; 3], "{values} values");
            let repetitive = stream[..3000].repeat(20);
            let plans = [1, 2, 3, 4, 5].map(|level| plan(level, &repetitive));
            assert!(!plans.contains(&Plan::Literals), "{values} values");
            let of_planes = |level| super::plan(level, &stream, false, true, &mut Noise::default());
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
            assert_eq!(of_length(5, &text[..len]), chains, "{len}");
            assert_eq!(of_length(4, &text[..len]), Plan::Level, "{len}");
        }
        for at in [0, 5000, SHORT - 2048] {
            let mut mixed = text.clone();
            mixed[at..at + 2048].copy_from_slice(&random(2048, 64, 1));
            assert_eq!(of_length(5, &mixed), Plan::Level, "noise at {at}");
        }
        assert_eq!(of_length(5, &random(SHORT + 1, 20, 3)), Plan::Level);
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
        assert_eq!(plan(3, &mixed), Plan::SearchPieces(fast, PIECE));
        let repetitive = random(3000, 100, 1).repeat(BLOCK.div_ceil(3000));
        assert_eq!(plan(3, &repetitive[..BLOCK]), Plan::Level);
        assert_eq!(plan(4, &block(BLOCK)), Plan::Level);
        for clevel in [7, 8] {
            assert!(matches!(
                plan(clevel, &block(LARGE_BLOCK)),
                Plan::SearchPieces(_, PIECE)
            ));
            assert_eq!(plan(clevel, &block(LARGE_BLOCK - 4)), Plan::Level);
        }
    }
}
