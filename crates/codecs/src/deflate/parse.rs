//! The parse: chooses which matches are taken.

use super::DeflateStream;
use super::bits::BitWriter;
use super::block::{self, Block, MAX_SYMBOLS};
use super::finder::{HASH_BYTES, MatchFinder, SearchLimits};
use super::levels::{Config, QUICK_LEVEL, Strategy, config, effort};
use super::symbols::MAX_MATCH;
use super::window::Match;
use crate::copy::read4;

/// Matches of three bytes are taken up to this distance (the name is zlib's), and from farther back
/// only where the literals would take more bits.
const TOO_FAR: usize = 4096;
/// About the number of bits of a match of three bytes from farther back. Some 22 are written. The
/// constant is lower because the counts at the beginning of a block underestimate the bits of
/// literals: with 21, random walks of bytes are larger than zlib-ng's.
const FAR_MATCH_BITS: u32 = 19;

/// Behind so many bytes it is chosen anew whether to search with skips.
const PART: usize = 8 << 10;

/// The search for matches in one stretch.
struct Search<'a> {
    finder: MatchFinder<'a>,
    src: &'a [u8],
    /// The end of the stretch, which lies within `src`.
    end: usize,
    limits: SearchLimits,
    /// All positions before this one are in the hash tables, or need not be.
    inserted: usize,
}

impl Search<'_> {
    /// Inserts the positions before `to` that are not inserted yet.
    #[inline(always)]
    fn insert_up_to<const MATCH3: bool, const SKIP: bool>(&mut self, to: usize) {
        self.inserted = self.finder.insert_all::<MATCH3, SKIP>(self.inserted, to);
    }

    /// Inserts `at`. Returns the head of its chain, the largest possible length of a match, and the
    /// match of three bytes. `None` if fewer than `HASH_BYTES` bytes are left in the stretch.
    #[inline(always)]
    fn insert<const MATCH3: bool, const SKIP: bool>(
        &mut self,
        at: usize,
    ) -> Option<(usize, usize, Match)> {
        let rest = self.end - at;
        if rest < HASH_BYTES {
            return None;
        }
        self.finder.slide_if_needed::<SKIP>(at);
        self.inserted = at + 1;
        // SAFETY: the check above leaves `HASH_BYTES` bytes before `end`, which lies within `src`.
        let (candidate, match3) = unsafe { self.finder.insert::<MATCH3, SKIP>(at) };
        Some((candidate, MAX_MATCH.min(rest), match3))
    }

    /// Inserts `at` and returns the longest match there.
    #[inline(always)]
    fn find<const SKIP: bool>(&mut self, at: usize) -> Match {
        let Some((candidate, max_len, _)) = self.insert::<false, SKIP>(at) else {
            return Match::default();
        };
        // SAFETY: `insert` returns a length from `HASH_BYTES` to what is left before `end`, which
        // lies within `src`.
        unsafe {
            self.finder
                .longest_match::<SKIP>((at, candidate), max_len, self.limits)
        }
    }

    /// Inserts `at` and returns a match there that is better than `known`.
    #[inline(always)]
    fn find_better<const MATCH3: bool, const SKIP: bool>(
        &mut self,
        at: usize,
        known: Match,
        limits: SearchLimits,
    ) -> Match {
        // The match of three bytes is looked up before it is known whether it is needed, so that
        // the processor overlaps this with the search.
        let Some((candidate, max_len, match3)) = self.insert::<MATCH3, SKIP>(at) else {
            return Match::default();
        };
        // SAFETY: `insert` returns a length from `HASH_BYTES` to what is left before `end`, which
        // lies within `src`.
        let found = unsafe {
            self.finder
                .longer_match::<SKIP>((at, candidate), known, max_len, limits)
        };
        if MATCH3 && found.len == 0 && known.len == 0 {
            match3
        } else {
            found
        }
    }

    /// Whether to search with skips behind a part of `len` bytes, which was searched with `skip`:
    /// if more candidates were tried than positions inserted.
    #[inline(always)]
    fn choose_skips(&mut self, skip: bool, len: usize) -> bool {
        let tried = core::mem::take(&mut self.finder.tried) as usize;
        tried > len && (skip || self.finder.fill_skips(self.inserted))
    }

    /// How many bytes before `at` match the bytes at `distance` before them, at most `limit`. 0 if
    /// fewer than three do, which one comparison shows.
    #[inline(always)]
    fn match_len_backward(&self, at: usize, distance: usize, limit: usize) -> usize {
        let limit = limit.min(at - distance);
        let four = |at: usize| read4(self.src, at);
        if limit < 3 || (four(at - 3) ^ four(at - 3 - distance)) << 8 != 0 {
            return 0;
        }
        let (now, earlier) = (
            &self.src[at - limit..at],
            &self.src[at - distance - limit..],
        );
        (1..=limit)
            .take_while(|back| now[limit - back] == earlier[limit - back])
            .count()
    }
}

/// Collects symbols, and writes them as blocks.
struct BlockBuilder<'a, 'b> {
    block: &'a mut Block,
    bits: &'a mut BitWriter<'b>,
    src: &'a [u8],
    /// Where the current block begins in `src`.
    start: usize,
    /// The number of symbols of the current block.
    symbols: usize,
}

impl BlockBuilder<'_, '_> {
    /// Writes the block if it is full; the next one begins at `at`. `None` if it does not fit, here
    /// and below.
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

    /// Whether a match of three bytes at `at` takes more bits than three literals. How many those
    /// take is estimated by how often each byte was a literal of this block.
    #[inline(always)]
    fn is_too_far(&self, at: usize, distance: usize) -> bool {
        if distance <= TOO_FAR {
            return false;
        }
        let bytes = &self.src[at..at + 3];
        let counts = bytes.iter().map(|byte| self.block.count(*byte) + 1);
        // The literals take the binary logarithm of `all / these` bits.
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

impl DeflateStream<'_> {
    /// [`search`](Self::search) at [`QUICK_LEVEL`]: each position is only compared with the last
    /// one of the same hash, the positions of a match are not inserted, and the block has fixed
    /// codes (zlib-ng's `deflate_quick`). Positions from `from` on are not inserted yet.
    #[inline(never)]
    fn search_quickly(&mut self, from: usize, at: usize, end: usize, last: bool) -> Option<()> {
        block::begin_fixed(&mut self.bits, last)?;
        let mut finder = self.tables.open(self.src);
        finder.insert_all::<false, false>(from, at);
        self.inserted = end;
        let (src, fixed) = (self.src, &self.block.fixed);
        let mut base = finder.base;
        self.bits.with_local(|mut bits| {
            let mut at = at;
            while at < end {
                if end - at >= HASH_BYTES {
                    finder.slide_if_needed::<false>(at);
                    // SAFETY: the check above leaves `HASH_BYTES` bytes before `end`, which lies
                    // within `src`.
                    let found = unsafe { finder.quick_match(at, MAX_MATCH.min(end - at)) };
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

    /// Compresses the next `len` bytes with matches. `None` if the result does not fit.
    #[inline(never)]
    pub(crate) fn search(&mut self, len: usize) -> Option<()> {
        let (at, end, last) = self.advance(len);
        let inserted = self.inserted.max(MatchFinder::window_start(at));
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
            } => parse_lazy::<false>(&mut search, &mut builder, at, max_lazy, good_length),
            Strategy::LazyMatch3 {
                max_lazy,
                good_length,
            } => parse_lazy::<true>(&mut search, &mut builder, at, max_lazy, good_length),
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
/// A match of at least this length, at a distance of `MAX_PERIOD` or less, is a run.
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
    search.insert_up_to::<false, false>(at);
    // The match at `at`, if the search for it has happened already.
    let mut known = None;
    let mut skip = false;
    while at < search.end {
        let from = at;
        builder.flush_if_full(at)?;
        let limits = (max_insert, search.end.min(at + PART));
        (at, known) = match skip {
            true => medium_part::<true>(search, builder, (at, known), limits),
            false => medium_part::<false>(search, builder, (at, known), limits),
        };
        skip = search.choose_skips(skip, at - from);
    }
    Some(())
}

/// Goes on up to `until` or behind it, or until the block is full.
#[inline(always)]
fn medium_part<const SKIP: bool>(
    search: &mut Search,
    builder: &mut BlockBuilder,
    (mut at, mut known): (usize, Option<Match>),
    (max_insert, until): (usize, usize),
) -> (usize, Option<Match>) {
    while at < until && builder.symbols < MAX_SYMBOLS {
        let found = known.take().unwrap_or_else(|| search.find::<SKIP>(at));
        if found.len == 0 {
            builder.push_literal(at);
            at += 1;
            continue;
        }
        let match_end = at + found.len;
        if found.len > max_insert.max(2 * INSERTED_ENDS) {
            search.insert_up_to::<false, SKIP>(at + INSERTED_ENDS);
            search.inserted = match_end - INSERTED_ENDS;
        }
        search.insert_up_to::<false, SKIP>(match_end);
        let next = search.find::<SKIP>(match_end);
        known = Some(next);
        if next.len > 0 {
            let limit = found.len.min(MAX_MATCH - next.len);
            let back = search.match_len_backward(match_end, next.distance, limit);
            // The next match can be extended backward over this one, or over all but its first
            // byte, which becomes a literal.
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
    (at, known)
}

/// Where a lazy parse stands.
#[derive(Clone, Copy)]
struct Lazy {
    at: usize,
    /// The match at the position before (the name is zlib's).
    prev: Match,
    /// Whether the literal there is pending (the name is zlib's).
    match_available: bool,
}

/// [`Strategy::Lazy`], with `MATCH3` also with matches of three bytes; then only the ends of runs
/// are inserted.
#[inline(always)]
fn parse_lazy<const MATCH3: bool>(
    search: &mut Search,
    builder: &mut BlockBuilder,
    at: usize,
    max_lazy: usize,
    good_length: usize,
) -> Option<()> {
    search.insert_up_to::<MATCH3, false>(at);
    let mut lazy = Lazy {
        at,
        prev: Match::default(),
        match_available: false,
    };
    let mut skip = false;
    while lazy.at < search.end {
        let from = lazy.at;
        builder.flush_if_full(from - usize::from(lazy.match_available))?;
        let limits = (max_lazy, good_length, search.end.min(from + PART));
        lazy = match skip {
            true => lazy_part::<MATCH3, true>(search, builder, lazy, limits),
            false => lazy_part::<MATCH3, false>(search, builder, lazy, limits),
        };
        skip = search.choose_skips(skip, lazy.at - from);
    }
    if lazy.match_available {
        builder.flush_if_full(lazy.at - 1)?;
        builder.push_literal(lazy.at - 1);
    }
    Some(())
}

/// Goes on up to `until` or behind it, or until the block is full.
#[inline(always)]
fn lazy_part<const MATCH3: bool, const SKIP: bool>(
    search: &mut Search,
    builder: &mut BlockBuilder,
    lazy: Lazy,
    (max_lazy, good_length, until): (usize, usize, usize),
) -> Lazy {
    let Lazy {
        mut at,
        mut prev,
        mut match_available,
    } = lazy;
    while at < until && builder.symbols < MAX_SYMBOLS {
        let mut current = Match::default();
        if prev.len < max_lazy {
            let mut limits = search.limits;
            if prev.len >= good_length {
                limits.max_chain /= 4;
            }
            current = search.find_better::<MATCH3, SKIP>(at, prev, limits);
            if MATCH3 && current.len == 3 && builder.is_too_far(at, current.distance) {
                current = Match::default();
            }
        }
        if prev.len > 0 && current.len == 0 {
            builder.push_match(prev);
            at += prev.len - 1;
            if MATCH3 && prev.len >= MIN_RUN && prev.distance <= MAX_PERIOD {
                // The positions between the ends would find the same matches as those at the ends.
                search.insert_up_to::<MATCH3, SKIP>(at - prev.len + INSERTED_ENDS);
                search.inserted = at - INSERTED_ENDS;
            }
            search.insert_up_to::<MATCH3, SKIP>(at);
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
    Lazy {
        at,
        prev,
        match_available,
    }
}
