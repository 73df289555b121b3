//! The match finder: hash chains, as in zlib. `head` holds the last position with each hash, and
//! `prev` links each position to the previous one with the same hash.
//!
//! The chains and their names are zlib's. Switching to the chain of a later part of the match,
//! where that chain has fewer candidates ([`MatchFinder::longer_match`]), is Konstantin Nosov's
//! idea (<https://github.com/gildor2/fast_zlib>), which zlib-ng uses too. The code is our own.

use core::hint::{cold_path, select_unpredictable};

use super::match3::Table3;
use super::skips::Skips;
use super::symbols::MAX_MATCH;
use super::window::{MAX_DISTANCE, MAX_HASH_BITS, MAX_POSITION, Match, WINDOW_SIZE};
use crate::copy::match_len;
use crate::hash_table::KNUTH_MULTIPLIER;
use crate::unaligned::{first_mismatch, load};

/// How many candidates are tried whose distance is shorter than the match, so that the match
/// overlaps itself.
const MAX_OVERLAPPING: u32 = 4;
/// How many bytes are hashed.
pub(super) const HASH_BYTES: usize = 4;
/// When a search for a match ends.
#[derive(Clone, Copy)]
pub(super) struct SearchLimits {
    /// At most this many candidates are tried.
    pub max_chain: u32,
    /// The search ends at a match of this length.
    pub nice_length: usize,
}

/// The match finder of one stream. It is a local value with all that changes with every byte, so
/// that the compiler keeps it in registers.
///
/// With `SKIP`, its methods keep the [`Skips`] up to date and use them.
/// [`fill_skips`](Self::fill_skips) must have returned true, and every position since then must
/// have been inserted with `SKIP`.
///
/// Invariant: positions are inserted in increasing order, so a position in the tables is not
/// greater than the one that is searched for.
pub(super) struct MatchFinder<'a> {
    pub(super) src: &'a [u8],
    pub(super) head: &'a mut [u16; 1 << MAX_HASH_BITS],
    pub(super) prev: &'a mut [u16; WINDOW_SIZE],
    pub(super) skips: &'a mut Skips,
    pub(super) table3: Table3<'a>,
    pub(super) shift: u32,
    pub(super) base: usize,
    /// How many candidates the searches have tried.
    pub(super) tried: u32,
}

/// The length of the match between `at` and `from`, at most `max_len`, whose first `HASH_BYTES`
/// bytes are known to match. It returns what [`match_len`] does, but has no branch on lengths up to
/// 36 bytes, since these are unpredictable.
///
/// # Safety
/// `from < at`.
#[inline(always)]
unsafe fn match_len_branchless(src: &[u8], at: usize, from: usize, max_len: usize) -> usize {
    debug_assert!(from < at);
    let mut n = HASH_BYTES;
    while n < max_len {
        if at + n + 32 > src.len() {
            cold_path();
            return match_len(src, at, from, at + max_len, n);
        }
        // SAFETY: the check above leaves 32 bytes at `at + n`, and `from < at` (# Safety).
        if let Some(first) = unsafe { first_mismatch(src, from + n, at + n) } {
            return max_len.min(n + first);
        }
        n += 32;
    }
    max_len
}

impl MatchFinder<'_> {
    /// The first position that a match at `at` can refer to.
    pub(super) fn window_start(at: usize) -> usize {
        at.saturating_sub(MAX_DISTANCE)
    }

    /// Slides the tables if necessary, so that the positions of a match at `at` can be inserted.
    #[inline(always)]
    pub(super) fn slide_if_needed<const SKIP: bool>(&mut self, at: usize) {
        let pos = at.wrapping_sub(self.base);
        if pos > MAX_POSITION {
            self.slide(pos / WINDOW_SIZE * WINDOW_SIZE, SKIP);
        }
    }

    /// Raises `base` by `by`, which lowers all positions. Those that leave the window become 0.
    #[cold]
    fn slide(&mut self, by: usize, skip: bool) {
        let less = u16::try_from(by).unwrap_or(u16::MAX);
        let skips = match skip {
            true => self.skips.positions(),
            false => &mut [],
        };
        for positions in [&mut self.head[..1 << (32 - self.shift)], self.prev, skips] {
            for pos in positions {
                *pos = pos.saturating_sub(less);
            }
        }
        self.table3.slide(less);
        self.base = self.base.wrapping_add(by);
    }

    /// Prepares for searches with `SKIP` at `at` and behind. Returns false if there is no memory.
    pub(super) fn fill_skips(&mut self, at: usize) -> bool {
        self.skips.fill(self.prev, at - self.base)
    }

    /// Inserts a position, with `MATCH3` also into the table of three bytes. Returns the head that
    /// its chain had before, and the match of three bytes.
    ///
    /// # Safety
    /// `at + HASH_BYTES <= src.len()`.
    #[inline(always)]
    pub(super) unsafe fn insert<const MATCH3: bool, const SKIP: bool>(
        &mut self,
        at: usize,
    ) -> (usize, Match) {
        // SAFETY: `HASH_BYTES` (4) bytes lie at `at` (# Safety).
        let four = u32::from_le(unsafe { load(self.src, at) });
        let pos = at.wrapping_sub(self.base);
        let match3 = match MATCH3 {
            true => self.table3.insert(pos, four),
            false => Match::default(),
        };
        let slot = self.slot(four);
        let head = core::mem::replace(&mut self.head[slot], pos as u16);
        self.prev[pos % WINDOW_SIZE] = head;
        if SKIP {
            let skip = self.prev[usize::from(head) % WINDOW_SIZE];
            self.skips.set(pos, skip);
        }
        (head.into(), match3)
    }

    /// Inserts the positions `from..to` at which `HASH_BYTES` bytes lie. Returns the first position
    /// that is not inserted.
    #[inline(always)]
    pub(super) fn insert_all<const MATCH3: bool, const SKIP: bool>(
        &mut self,
        from: usize,
        to: usize,
    ) -> usize {
        let mut at = from;
        let to = to.min(self.src.len().saturating_sub(HASH_BYTES - 1));
        while at < to {
            self.slide_if_needed::<SKIP>(at);
            let to = to.min(at + MAX_MATCH);
            // A loop with two exits is not unrolled. Since most matches are short, unrolling costs
            // more than it saves, except with `MATCH3`, where an insertion takes longer.
            while at < to && (MATCH3 || at.wrapping_sub(self.base) <= MAX_POSITION) {
                // SAFETY: `at < to`, and `to + HASH_BYTES - 1` is at most the length of `src`.
                unsafe { self.insert::<MATCH3, SKIP>(at) };
                at += 1;
            }
        }
        at
    }

    /// The slot of four bytes in `head`.
    #[inline(always)]
    fn slot(&self, four: u32) -> usize {
        (four.wrapping_mul(KNUTH_MULTIPLIER) >> self.shift) as usize % (1 << MAX_HASH_BITS)
    }

    /// The match with the last position of the same hash, of at most `max_len` bytes. It inserts
    /// `at` into `head`, but not into the chains, so all of a stream must be searched in this way.
    ///
    /// # Safety
    /// `HASH_BYTES <= max_len <= src.len() - at`.
    #[inline(always)]
    pub(super) unsafe fn quick_match(&mut self, at: usize, max_len: usize) -> Match {
        debug_assert!(HASH_BYTES <= max_len && max_len <= self.src.len() - at);
        // SAFETY: `HASH_BYTES` (4) bytes lie at `at` (# Safety).
        let four = unsafe { load::<u32>(self.src, at) };
        let pos = at.wrapping_sub(self.base);
        let slot = self.slot(four);
        let head = core::mem::replace(&mut self.head[slot], pos as u16);
        let distance = pos.wrapping_sub(head.into());
        // A position of an earlier stream has a distance greater than `at`.
        let in_window = distance.wrapping_sub(1) < at.min(MAX_DISTANCE);
        // Whether it is in the window is unpredictable, so there is no branch. If not, `at` is
        // compared with itself and the result ignored.
        let from = at - select_unpredictable(in_window, distance, 0);
        // SAFETY: `from <= at`, where four bytes lie (# Safety). It is not negative, since
        // `distance <= at` in the window.
        let xor = unsafe { load::<u32>(self.src, from) } ^ four;
        if xor | u32::from(!in_window) != 0 {
            return Match::default();
        }
        Match {
            len: match_len(self.src, at, from, at + max_len, HASH_BYTES),
            distance,
        }
    }

    /// The longest match at `at` on the chain that begins at `candidate`, of at most `max_len`
    /// bytes.
    ///
    /// # Safety
    /// `HASH_BYTES <= max_len <= src.len() - at`.
    #[inline(always)]
    pub(super) unsafe fn longest_match<const SKIP: bool>(
        &mut self,
        (at, candidate): (usize, usize),
        max_len: usize,
        limits: SearchLimits,
    ) -> Match {
        let pos = at - self.base;
        debug_assert!(HASH_BYTES <= max_len && max_len <= self.src.len() - at);
        let limit = pos.saturating_sub(1).min(MAX_DISTANCE);
        let mut best = Match::default();
        if pos.wrapping_sub(candidate).wrapping_sub(1) >= limit {
            return best;
        }
        let mut chain = Chain {
            candidate,
            next: self.prev[candidate % WINDOW_SIZE].into(),
            offset: 0,
            best_len: HASH_BYTES - 1,
        };
        let mut chain_length = limits.max_chain;
        while let Some(distance) = {
            // SAFETY: `limit` is 0 or less than `pos`. `best_len` is less than `max_len`, and
            // `max_len` bytes lie at `at` (# Safety).
            unsafe { self.next_candidate::<SKIP>(&mut chain, at, limit, &mut chain_length) }
        } {
            let len = match_len(self.src, at, at - distance, at + max_len, HASH_BYTES);
            if len > chain.best_len {
                best = Match { len, distance };
                if len >= limits.nice_length || len >= max_len {
                    break;
                }
                chain.best_len = len;
            }
        }
        self.tried += limits.max_chain - chain_length;
        best
    }

    /// A match at `at` that is better than `known`, of at most `max_len` bytes, on the chain that
    /// begins at `candidate` or on one that [`rarer_chain`](Self::rarer_chain) finds.
    ///
    /// # Safety
    /// `HASH_BYTES <= max_len <= src.len() - at`.
    #[inline(always)]
    pub(super) unsafe fn longer_match<const SKIP: bool>(
        &mut self,
        (at, candidate): (usize, usize),
        known: Match,
        max_len: usize,
        limits: SearchLimits,
    ) -> Match {
        let src = self.src;
        let none = Match::default();
        let pos = at - self.base;
        debug_assert!(HASH_BYTES <= max_len && max_len <= src.len() - at);
        // The largest distance. It lies within the window and does not reach position 0.
        let limit = pos.saturating_sub(1).min(MAX_DISTANCE);
        if pos.wrapping_sub(candidate).wrapping_sub(1) >= limit {
            return none;
        }
        let mut chain = Chain {
            candidate,
            next: self.prev[candidate % WINDOW_SIZE].into(),
            offset: 0,
            best_len: HASH_BYTES - 1,
        };
        let mut best = none;
        let mut to_beat = known;
        let mut chain_length = limits.max_chain;
        let mut overlapping = MAX_OVERLAPPING;
        // The distance up to which this chain is followed. Once there is a match to beat, a rarer
        // chain is better, except for distances shorter than that match: their candidates are not
        // on the rarer chain, since the end of such a match is not inserted yet.
        let mut reach = match known.len < HASH_BYTES {
            true => limit,
            false => limit.min(known.len - 3),
        };
        loop {
            let nearby = reach < limit;
            let budget = if nearby {
                overlapping.min(chain_length)
            } else {
                chain_length
            };
            let mut left = budget;
            // SAFETY: `reach <= limit`, which is 0 or less than `pos`. `best_len` is less than
            // `max_len`, since the loop ends at a match of that length, and `rarer_chain` keeps it
            // so; `max_len` bytes lie at `at` (# Safety).
            let found = unsafe { self.next_candidate::<SKIP>(&mut chain, at, reach, &mut left) };
            chain_length -= budget - left;
            if nearby {
                cold_path();
                overlapping -= budget - left;
                if overlapping == 0 {
                    reach = 0;
                }
            }
            if let Some(distance) = found {
                // SAFETY: `next_candidate` returns a distance of at least 1.
                let len = unsafe { match_len_branchless(src, at, at - distance, max_len) };
                if len > chain.best_len && len > to_beat.len + to_beat.min_gain(distance) {
                    best = Match { len, distance };
                    to_beat = best;
                    if len >= limits.nice_length || len >= max_len {
                        break;
                    }
                    reach = match overlapping {
                        0 => 0,
                        _ => limit.min(len - 3),
                    };
                }
            } else if chain_length == 0 || !nearby || chain.distance(pos).wrapping_sub(1) >= limit {
                break;
            } else {
                // SAFETY: `max_len` bytes lie at `at` (# Safety). `nearby` says that `reach <
                // limit`, which it is only where `to_beat` has `HASH_BYTES` bytes or more.
                match unsafe { self.rarer_chain(chain, to_beat, (at, max_len, limit)) } {
                    Some(rarer) => chain = rarer,
                    None => break,
                }
                reach = limit;
            }
        }
        self.tried += limits.max_chain - chain_length;
        best
    }

    /// Follows a chain to the next candidate that matches in the first bytes and in the last ones
    /// up to `best_len`, so that its match is probably longer. Tries at most `budget` candidates,
    /// which are subtracted from it, at distances up to `reach`. Returns the distance, which is
    /// not 0.
    ///
    /// # Safety
    /// `reach` is 0 or less than `at - base`, and `HASH_BYTES - 1 <= best_len < src.len() - at`.
    #[inline(always)]
    unsafe fn next_candidate<const SKIP: bool>(
        &self,
        chain: &mut Chain,
        at: usize,
        reach: usize,
        budget: &mut u32,
    ) -> Option<usize> {
        // SAFETY: the same conditions (# Safety), and `T` is no longer than `best_len + 1` bytes.
        unsafe {
            match chain.best_len {
                ..7 => self.next_candidate_by::<u32, SKIP>(chain, at, reach, budget),
                7..15 => self.next_candidate_by::<u64, SKIP>(chain, at, reach, budget),
                15.. => self.next_candidate_by::<u128, SKIP>(chain, at, reach, budget),
            }
        }
    }

    /// [`next_candidate`](Self::next_candidate), which compares integers of type `T`.
    ///
    /// # Safety
    /// `reach` is 0 or less than `at - base`, and `size_of::<T>() <= best_len + 1 <= src.len() -
    /// at`.
    #[inline(always)]
    unsafe fn next_candidate_by<T: Copy + PartialEq, const SKIP: bool>(
        &self,
        chain: &mut Chain,
        at: usize,
        reach: usize,
        budget: &mut u32,
    ) -> Option<usize> {
        let src = self.src;
        let pos = at - self.base;
        debug_assert!(size_of::<T>() <= chain.best_len + 1 && chain.best_len < src.len() - at);
        debug_assert!(reach < pos || reach == 0);
        let last = chain.best_len + 1 - size_of::<T>();
        // SAFETY: `best_len + 1` bytes lie at `at` (# Safety), and both loads end there at most.
        let (start, end) = unsafe { (load::<T>(src, at), load::<T>(src, at + last)) };
        // The loop takes most of the time at the higher levels, so all that does not change is
        // added up before it: the match of a candidate is `target - candidate` bytes back, and its
        // bytes lie `candidate` bytes behind these addresses.
        let target = pos + chain.offset;
        let starts = src.as_ptr().wrapping_add(at).wrapping_sub(target);
        let ends = starts.wrapping_add(last);
        let farthest = target - reach;
        let Chain {
            mut candidate,
            mut next,
            ..
        } = *chain;
        let mut left = *budget;
        let mut found = None;
        let links = match SKIP {
            true => self.skips.links(),
            false => self.prev,
        };
        while left > 0 && candidate.wrapping_sub(farthest) < reach {
            left -= 1;
            let this = candidate;
            let linked = links[this % WINDOW_SIZE].into();
            (candidate, next) = match SKIP {
                true => (next, linked),
                false => (linked, 0),
            };
            debug_assert!(target - this <= at);
            // SAFETY: the condition of the loop says that the distance `target - this` is from 1 to
            // `reach`, and `reach < pos <= at` (# Safety). So the match begins in `src`, before
            // `at`, and `best_len + 1` bytes lie there, too; any bytes are a valid integer.
            let matches = unsafe {
                ends.wrapping_add(this).cast::<T>().read_unaligned() == end
                    && starts.wrapping_add(this).cast::<T>().read_unaligned() == start
            };
            if matches {
                found = Some(target - this);
                break;
            }
        }
        (chain.candidate, chain.next) = (candidate, next);
        *budget = left;
        found
    }

    /// A chain that leads to matches longer than `best` with fewer candidates: the chain of the
    /// four bytes at the end of such a match. It replaces `chain` if its head is farther back than
    /// the next candidate of `chain`. If its head is so far back that a match there must be even
    /// longer to be better, the chain at the end of that longer match is tried. `None` if the
    /// window has no better match.
    ///
    /// # Safety
    /// `best.len >= HASH_BYTES`, and `max_len <= src.len() - at`.
    #[inline(always)]
    unsafe fn rarer_chain(
        &self,
        chain: Chain,
        best: Match,
        (at, max_len, limit): (usize, usize, usize),
    ) -> Option<Chain> {
        debug_assert!(best.len >= HASH_BYTES);
        let mut best_len = best.len;
        while best_len < max_len {
            let offset = best_len - 3;
            // SAFETY: the load takes the four bytes up to `at + best_len`. `best_len < max_len`, so
            // that many lie at `at` (# Safety), and `best_len >= HASH_BYTES`, so the offset is not
            // negative.
            let end = unsafe { load::<u32>(self.src, at + offset) };
            let candidate = usize::from(self.head[self.slot(end)]);
            let distance = (at - self.base + offset).wrapping_sub(candidate);
            if distance.wrapping_sub(1) >= limit {
                return None;
            }
            let min_len = best.len + best.min_gain(distance);
            if min_len <= best_len {
                let farther = candidate + chain.offset < chain.candidate + offset;
                return Some(if farther {
                    Chain {
                        candidate,
                        next: self.prev[candidate % WINDOW_SIZE].into(),
                        offset,
                        best_len,
                    }
                } else {
                    Chain { best_len, ..chain }
                });
            }
            best_len = min_len;
        }
        None
    }
}

/// A hash chain that is being followed.
#[derive(Clone, Copy)]
struct Chain {
    /// The position of the next candidate.
    candidate: usize,
    /// With `SKIP`, the position of the candidate after it, if `candidate` is in the window.
    next: usize,
    /// How far the position lies behind the start of the candidate's match.
    offset: usize,
    /// A match must be longer than this.
    best_len: usize,
}

impl Chain {
    /// The distance of the next candidate's match from `pos`.
    #[inline(always)]
    fn distance(self, pos: usize) -> usize {
        pos.wrapping_sub(self.candidate).wrapping_add(self.offset)
    }
}
