//! The parse: which of the matches are taken.

use super::Stream;
use super::bits::BitWriter;
use super::block::{self, Block, MAX_MATCH, MAX_SYMBOLS};
use super::finder::{HASH_BYTES, Match, MatchFinder, SearchLimits};

/// The level at which only speed counts.
pub(super) const QUICK_LEVEL: u8 = 1;

/// The level from which on matches of three bytes are taken.
#[cfg(feature = "blosc1")]
pub(in super::super) const MATCH3_LEVEL: u8 = 9;

/// How many positions share a bucket of four, as a logarithm, in the table of matches of three bytes at a level; `None` if there is no table.
pub(super) fn buckets_shift(clevel: u8) -> Option<u32> {
    match clevel {
        ..=8 => None,
        // Up to half of the matches are lost, which is a hundredth of the size in random walks, for up to 5 % of the time of short streams.
        #[cfg(feature = "blosc1")]
        10..=17 => Some(3),
        _ => Some(1),
    }
}

/// Matches of three bytes are taken up to this distance (zlib's name), and from farther back where literals are long.
const TOO_FAR: usize = 4096;
/// About the bits of a match of three bytes from farther back. (Some 22 are written; but counts of a block that has just begun say too little,
/// and with 21 random walks of bytes are larger than zlib-ng's.)
const FAR_MATCH_BITS: u32 = 19;

/// How a level parses.
#[derive(Clone, Copy)]
struct Config {
    limits: SearchLimits,
    strategy: Strategy,
}

/// Ways to parse.
#[derive(Clone, Copy)]
enum Strategy {
    /// Takes the longest match at each position. Then it looks at the match behind, and lets that replace the first if it reaches back
    /// far enough (zlib-ng's `deflate_medium`). The positions of a match of up to `max_insert` bytes are inserted into the hash
    /// chains; of a longer one those at its ends.
    Medium { max_insert: usize },
    /// Lazy matching (zlib's `deflate_slow`): a match shorter than `max_lazy` is dropped for a better one a byte later. From a match
    /// of `good_length` on, fewer candidates are tried for that.
    Lazy { max_lazy: usize, good_length: usize },
    /// The same for all lengths, and takes matches of three bytes.
    LazyMatch3,
    /// [`Self::Lazy`], and takes matches of three bytes.
    #[cfg(feature = "blosc1")]
    Zlib { max_lazy: usize, good_length: usize },
}

/// The configuration of a level, whose compression ratio is about that of the same level of zlib, or better.
///
/// The figures come from zlib-ng's `configuration_table` and have their names there (`max_chain`, `nice_length`, `max_lazy`,
/// `good_length`; `max_insert` is 16 times a `max_lazy`). Level 3 and those from 6 on search longer in some way: otherwise masks and
/// photographs were up to 3 % larger than zlib-ng's (`tests/zlib_sizes.rs`). The strategies are zlib's (lazy) and zlib-ng's (medium, first
/// written at Intel). Figures and ideas are theirs, the code is not.
const fn config(clevel: u8) -> Config {
    let (max_chain, nice_length, strategy) = match clevel {
        ..=2 => (4, 8, medium(16)),
        3 => (8, 16, medium(96)),
        4 => (24, 32, medium(192)),
        5 => (32, 32, medium(256)),
        6 => (192, 128, medium(256)),
        7 => (256, MAX_MATCH, lazy(32, 8)),
        8 => (4096, MAX_MATCH, lazy(MAX_MATCH, 32)),
        #[cfg(feature = "blosc1")]
        10..=17 => return config_of_blosc1(clevel - 9),
        9.. => (16384, MAX_MATCH, Strategy::LazyMatch3),
    };
    Config {
        limits: SearchLimits {
            max_chain,
            nice_length,
        },
        strategy,
    }
}

/// The level whose configuration a stream of `len` bytes gets. In a short one each match is more of the whole: shorter searches made some
/// planes of bits up to 7 % larger than zlib-ng's.
fn effort(clevel: u8, len: usize) -> u8 {
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

/// The configuration of a level up to 8 of Blosc 1, with zlib's own figures or higher ones: streams as small as zlib's. Level 5, which most
/// programs take, has half of zlib's `max_chain`: its streams are as small with that, too.
#[cfg(feature = "blosc1")]
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
        strategy: Strategy::Zlib {
            max_lazy,
            good_length,
        },
    }
}

/// The search for matches in one stretch.
struct Search<'a> {
    finder: MatchFinder<'a>,
    src: &'a [u8],
    end: usize,
    limits: SearchLimits,
    /// All positions before this one are inserted, or need not be.
    inserted: usize,
}

impl Search<'_> {
    /// Inserts the positions before `to` that are not yet inserted.
    #[inline(always)]
    fn insert_up_to<const MATCH3: bool>(&mut self, to: usize) {
        self.inserted = self.finder.insert_all::<MATCH3>(self.inserted, to);
    }

    /// Inserts `at`. Returns the head of its chain, the longest possible match, and that of three bytes; `None` if too few bytes are left.
    #[inline(always)]
    fn insert<const MATCH3: bool>(&mut self, at: usize) -> Option<(usize, usize, Match)> {
        let rest = self.end - at;
        if rest < HASH_BYTES {
            return None;
        }
        self.finder.slide_if_needed(at);
        self.inserted = at + 1;
        // SAFETY: `HASH_BYTES` bytes or more are left before `end`, which lies in `src`.
        let (candidate, match3) = unsafe { self.finder.insert::<MATCH3>(at) };
        Some((candidate, MAX_MATCH.min(rest), match3))
    }

    /// Inserts `at` and returns the longest match there.
    #[inline(always)]
    fn find(&mut self, at: usize) -> Match {
        let Some((candidate, max_len, _)) = self.insert::<false>(at) else {
            return Match::default();
        };
        self.finder
            .longest_match((at, candidate), max_len, self.limits)
    }

    /// Inserts `at` and returns a match there that is better than `known`.
    #[inline(always)]
    fn find_better<const MATCH3: bool>(
        &mut self,
        at: usize,
        known: Match,
        limits: SearchLimits,
    ) -> Match {
        // A match of three bytes is always looked up, and before the search, so that the two run at the same time.
        let Some((candidate, max_len, match3)) = self.insert::<MATCH3>(at) else {
            return Match::default();
        };
        let found = self
            .finder
            .longer_match((at, candidate), known, max_len, limits);
        if MATCH3 && found.len == 0 && known.len == 0 {
            match3
        } else {
            found
        }
    }

    /// How many bytes before `at` match those `distance` before them, at most `limit`.
    #[inline(always)]
    fn match_len_backward(&self, at: usize, distance: usize, limit: usize) -> usize {
        let limit = limit.min(at - distance);
        let (now, earlier) = (
            &self.src[at - limit..at],
            &self.src[at - distance - limit..],
        );
        (1..=limit)
            .take_while(|back| now[limit - back] == earlier[limit - back])
            .count()
    }
}

/// Collects the symbols of a block.
struct BlockBuilder<'a, 'b> {
    block: &'a mut Block,
    bits: &'a mut BitWriter<'b>,
    src: &'a [u8],
    /// Where the block begins in `src`.
    start: usize,
    /// How many symbols it has.
    symbols: usize,
}

impl BlockBuilder<'_, '_> {
    /// Writes the block if it is full; the next one begins at `at`. `None` if there is no room, here and below.
    #[inline(always)]
    fn flush_if_full(&mut self, at: usize) -> Option<()> {
        if self.symbols == MAX_SYMBOLS {
            self.block
                .write(self.bits, self.symbols, &self.src[self.start..at], false)?;
            self.start = at;
            self.symbols = 0;
        }
        Some(())
    }

    /// Whether a match of three bytes at `at` takes more bits than these as literals, going by how often they were literals of the block.
    #[inline(always)]
    fn is_too_far(&self, at: usize, distance: usize) -> bool {
        if distance <= TOO_FAR {
            return false;
        }
        let bytes = &self.src[at..at + 3];
        let counts = bytes.iter().map(|byte| self.block.count(*byte) + 1);
        // As literals they take the logarithm of this quotient.
        let (all, these) = ((self.symbols as u64).pow(3), counts.product::<u64>());
        all >> FAR_MATCH_BITS < these
    }

    #[inline(always)]
    fn push_literal(&mut self, at: usize) {
        self.block.push_literal(self.symbols, self.src[at]);
        self.symbols += 1;
    }

    #[inline(always)]
    fn push_match(&mut self, found: Match) {
        self.block
            .push_match(self.symbols, found.len, found.distance);
        self.symbols += 1;
    }
}

impl Stream<'_> {
    /// [`search`](Self::search) at the level for speed: each position is compared with the last one of the same hash only, the
    /// positions of a match are not inserted, and the block has fixed codes (zlib-ng's `deflate_quick`). Positions from `from` on are
    /// not yet inserted.
    #[inline(never)]
    fn search_quickly(&mut self, from: usize, at: usize, end: usize, last: bool) -> Option<()> {
        block::begin_fixed(&mut self.bits, last)?;
        let mut finder = self.tables.open(self.src);
        finder.insert_all::<false>(from, at);
        self.inserted = end;
        let (src, fixed) = (self.src, &self.block.fixed);
        let mut base = finder.base;
        self.bits.with_local(|mut bits| {
            let mut at = at;
            while at < end {
                if end - at >= HASH_BYTES {
                    finder.slide_if_needed(at);
                    let found = finder.quick_match(at, MAX_MATCH.min(end - at));
                    if found.len > 0 {
                        fixed.write_match(&mut bits, found.len, found.distance)?;
                        at += found.len;
                        continue;
                    }
                }
                fixed.write_literal(&mut bits, src[at])?;
                at += 1;
            }
            base = finder.base;
            Some(bits)
        })?;
        self.tables.close(base);
        fixed.write_end(&mut self.bits)
    }

    /// Compresses the next `len` bytes with matches, which may refer to bytes from `seen_from` on. `None` if there is no room.
    #[inline(never)]
    pub(crate) fn search(&mut self, len: usize, seen_from: usize) -> Option<()> {
        let (at, end, last) = self.advance(len);
        let inserted = self
            .inserted
            .max(seen_from)
            .max(MatchFinder::window_start(at));
        if self.clevel <= QUICK_LEVEL {
            return self.search_quickly(inserted, at, end, last);
        }
        let Config { limits, strategy } = config(effort(self.clevel, self.src.len()));
        let mut search = Search {
            finder: self.tables.open(self.src),
            src: self.src,
            end,
            limits,
            inserted,
        };
        let mut builder = BlockBuilder {
            block: self.block,
            bits: &mut self.bits,
            src: self.src,
            start: at,
            symbols: 0,
        };
        match strategy {
            Strategy::Medium { max_insert } => {
                parse_medium(&mut search, &mut builder, at, max_insert)
            }
            Strategy::Lazy {
                max_lazy,
                good_length,
            } => parse_lazy::<false, false>(&mut search, &mut builder, at, max_lazy, good_length),
            #[cfg(feature = "blosc1")]
            Strategy::Zlib {
                max_lazy,
                good_length,
            } => parse_lazy::<true, true>(&mut search, &mut builder, at, max_lazy, good_length),
            Strategy::LazyMatch3 => {
                parse_lazy::<true, false>(&mut search, &mut builder, at, MAX_MATCH, MAX_MATCH)
            }
        }?;
        let BlockBuilder { start, symbols, .. } = builder;
        self.inserted = search.inserted;
        let base = search.finder.base;
        self.tables.close(base);
        self.block
            .write(&mut self.bits, symbols, &self.src[start..end], last)
    }
}

/// How many positions at each end of a long match are inserted.
const INSERTED_ENDS: usize = 16;
/// A match of so many bytes, at a distance of no more than so many, is a run.
const MIN_RUN: usize = 3 * INSERTED_ENDS;
const MAX_PERIOD: usize = 8;

/// [`Strategy::Medium`].
#[inline(always)]
fn parse_medium(
    search: &mut Search,
    builder: &mut BlockBuilder,
    mut at: usize,
    max_insert: usize,
) -> Option<()> {
    search.insert_up_to::<false>(at);
    // The match at `at` if that was already looked for.
    let mut known = None;
    while at < search.end {
        builder.flush_if_full(at)?;
        let found = known.take().unwrap_or_else(|| search.find(at));
        if found.len == 0 {
            builder.push_literal(at);
            at += 1;
            continue;
        }
        let match_end = at + found.len;
        if found.len > max_insert.max(2 * INSERTED_ENDS) {
            search.insert_up_to::<false>(at + INSERTED_ENDS);
            search.inserted = match_end - INSERTED_ENDS;
        }
        search.insert_up_to::<false>(match_end);
        let next = search.find(match_end);
        known = Some(next);
        if next.len > 0 {
            let limit = found.len.min(MAX_MATCH - next.len);
            let back = search.match_len_backward(match_end, next.distance, limit);
            // The next match reaches back over this one, or all but its first byte, which then is a literal.
            if back + 1 >= found.len {
                if back < found.len {
                    builder.push_literal(at);
                }
                at = match_end - back;
                known = Some(Match {
                    len: next.len + back,
                    ..next
                });
                continue;
            }
        }
        builder.push_match(found);
        at = match_end;
    }
    Some(())
}

/// [`Strategy::Lazy`], and with `MATCH3` also matches of three bytes. As in zlib, `prev` is the match at the position before, and
/// `match_available` says that the literal there is not written yet. With `SKIP_RUNS` only the ends of runs are inserted.
#[inline(always)]
fn parse_lazy<const MATCH3: bool, const SKIP_RUNS: bool>(
    search: &mut Search,
    builder: &mut BlockBuilder,
    mut at: usize,
    max_lazy: usize,
    good_length: usize,
) -> Option<()> {
    search.insert_up_to::<MATCH3>(at);
    let mut prev = Match::default();
    let mut match_available = false;
    while at < search.end {
        builder.flush_if_full(at - usize::from(match_available))?;
        let mut current = Match::default();
        if prev.len < max_lazy {
            let mut limits = search.limits;
            if prev.len >= good_length {
                limits.max_chain /= 4;
            }
            current = search.find_better::<MATCH3>(at, prev, limits);
            if MATCH3 && current.len == 3 && builder.is_too_far(at, current.distance) {
                current = Match::default();
            }
        }
        if prev.len > 0 && current.len == 0 {
            builder.push_match(prev);
            at += prev.len - 1;
            if SKIP_RUNS && prev.len >= MIN_RUN && prev.distance <= MAX_PERIOD {
                // What lies between the ends is the same as they are.
                search.insert_up_to::<MATCH3>(at - prev.len + INSERTED_ENDS);
                search.inserted = at - INSERTED_ENDS;
            }
            search.insert_up_to::<MATCH3>(at);
            prev = Match::default();
            match_available = false;
        } else {
            if match_available {
                builder.push_literal(at - 1);
            }
            match_available = true;
            prev = current;
            at += 1;
        }
    }
    if match_available {
        builder.flush_if_full(at - 1)?;
        builder.push_literal(at - 1);
    }
    Some(())
}
