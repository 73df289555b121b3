//! The levels: how long each searches, and how it parses.

use super::finder::SearchLimits;
use super::symbols::MAX_MATCH;

/// The level of the fastest search, which uses fixed codes.
pub(super) const QUICK_LEVEL: u8 = 1;

/// What is added to a level for Blosc 1: its levels take matches of three bytes, too, so that
/// streams are as small as those of zlib.
pub(in super::super) const BLOSC1_EFFORT: u8 = 9;

/// The binary logarithm of the number of positions that share a bucket in the table of matches of
/// three bytes, at a level. `None` if the level does not use the table.
pub(super) fn buckets_shift(clevel: u8) -> Option<u32> {
    match clevel {
        ..=8 => None,
        // With fewer buckets up to half of the matches are lost, which makes random walks 1 %
        // larger, but short streams take up to 5 % less time.
        10..=17 => Some(3),
        _ => Some(1),
    }
}

/// How a level parses.
#[derive(Clone, Copy)]
pub(super) struct Config {
    pub limits: SearchLimits,
    pub strategy: Strategy,
}

/// Ways to parse.
#[derive(Clone, Copy)]
pub(super) enum Strategy {
    /// Finds the longest match at each position, and the match behind it. If the second can be
    /// extended backward over the first, it replaces it (zlib-ng's `deflate_medium`). All positions
    /// of a match of up to `max_insert` bytes are inserted into the hash chains; of a longer match,
    /// those at its ends.
    Medium { max_insert: usize },
    /// Lazy matching (zlib's `deflate_slow`): a match shorter than `max_lazy` is dropped if there
    /// is a better one a byte later. If the match has `good_length` bytes or more, fewer candidates
    /// are tried for the better one.
    Lazy { max_lazy: usize, good_length: usize },
    /// [`Self::Lazy`] with matches of three bytes.
    LazyMatch3 { max_lazy: usize, good_length: usize },
}

/// The configuration of a level. Its compression ratio is about that of the same level of zlib, or
/// better.
///
/// The figures come from zlib-ng's `configuration_table` and have their names there (`max_chain`,
/// `nice_length`, `max_lazy`, `good_length`; `max_insert` is 16 times a `max_lazy`). Level 3 and
/// the levels from 6 on search longer than zlib-ng, since masks and photographs would be up to 3 %
/// larger than zlib-ng's otherwise (`tests/chunks/zlib_sizes.rs`). The strategies are zlib's (lazy)
/// and zlib-ng's (medium, first written at Intel). Figures and ideas are theirs, the code is our
/// own.
pub(super) const fn config(clevel: u8) -> Config {
    let (max_chain, nice_length, strategy) = match clevel {
        ..=2 => (4, 8, medium(16)),
        3 => (8, 16, medium(96)),
        4 => (24, 32, medium(192)),
        5 => (32, 32, medium(256)),
        6 => (192, 128, medium(256)),
        7 => (256, MAX_MATCH, lazy(32, 8)),
        8 => (4096, MAX_MATCH, lazy(MAX_MATCH, 32)),
        10..=17 => return config_of_blosc1(clevel - BLOSC1_EFFORT),
        9.. => (16384, MAX_MATCH, lazy_match3(MAX_MATCH, MAX_MATCH)),
    };
    Config {
        limits: SearchLimits {
            max_chain,
            nice_length,
        },
        strategy,
    }
}

/// The level whose configuration is used for a stream of `len` bytes. In a short stream each match
/// counts more: with shorter searches some bit planes are up to 7 % larger than zlib-ng's.
pub(super) fn effort(clevel: u8, len: usize) -> u8 {
    match clevel {
        2 | 4 if len < 16 << 10 => 5,
        _ => clevel,
    }
}

const fn medium(max_insert: usize) -> Strategy {
    Strategy::Medium { max_insert }
}

const fn lazy(max_lazy: usize, good_length: usize) -> Strategy {
    Strategy::Lazy {
        max_lazy,
        good_length,
    }
}

const fn lazy_match3(max_lazy: usize, good_length: usize) -> Strategy {
    Strategy::LazyMatch3 {
        max_lazy,
        good_length,
    }
}

/// The configuration of a level up to 8 of Blosc 1. The figures are zlib's or higher, so that
/// streams are as small as zlib's. Only level 5, which most programs use, has half of zlib's
/// `max_chain`, which does not make streams larger.
const fn config_of_blosc1(clevel: u8) -> Config {
    let (max_chain, nice_length, max_lazy, good_length) = match clevel {
        ..=2 => (6, 16, 4, 4),
        3 => (12, 32, 6, 4),
        4 => (16, 32, 8, 8),
        5 => (16, 32, 16, 8),
        6 => (128, 128, 24, 8),
        7 => (256, MAX_MATCH, 32, 8),
        8.. => (4096, MAX_MATCH, MAX_MATCH, 32),
    };
    Config {
        limits: SearchLimits {
            max_chain,
            nice_length,
        },
        strategy: lazy_match3(max_lazy, good_length),
    }
}
