//! Hash chains, in which LZ4HC looks for the longest match: each position is linked to the previous
//! one with the same hash.

use core::hint::cold_path;

use super::format::{LAST_LITERALS, MF_LIMIT, MIN_MATCH};
use super::get_or_try_init;
use super::match_end::{match_end, match_len_backward};
use super::prefixed::PrefixedSrc;
use super::word_filter::{Bits, NoFilter, WordFilter};
use super::writer::Match;
use crate::copy::array_at;
use crate::hash_table::{hash, zeros};
use crate::unaligned::load;
use oxiblosc_base::Result;

/// Binary logarithm of the number of hashes.
const HASH_LOG: u32 = 15;
/// The number of links, one for each position of the window.
const LINKS: usize = 1 << 16;
/// The longest distance of a match.
const MAX_DISTANCE: u32 = LINKS as u32 - 1;
/// The largest base of a stream. A stream with its dictionary has less than 2^31 + 2^16 bytes, so
/// no index exceeds `u32::MAX`.
const MAX_BASE: u32 = 1 << 30;

/// For each hash, the index of the last position that has it. An index below the base is of an
/// earlier stream, or 0 in a fresh table.
type Heads = [u32; 1 << HASH_LOG];
/// For each index, modulo the window, the distance to the previous position of its chain.
type Links = [u16; LINKS];

/// The tables, which are reused from stream to stream.
#[derive(Default)]
pub(super) struct Tables {
    heads: Option<Box<Heads>>,
    links: Option<Box<Links>>,
    filter_bits: Option<Box<Bits>>,
    next_base: u32,
}

/// The last positions of a dictionary, at which no match begins: fewer than `MIN_MATCH` bytes of
/// the dictionary lie there.
const DICT_TAIL: usize = MIN_MATCH - 1;

impl Tables {
    /// The chains of a dictionary.
    pub(super) fn of_dict(dict: &[u8]) -> Result<Self> {
        let mut tables = Self::default();
        let (mut chains, _) = tables.chains(PrefixedSrc::without_dict(dict), 0, false)?;
        // SAFETY: `DICT_TAIL` is `MIN_MATCH - 1`, and nothing is inserted into a dictionary that is
        // shorter.
        unsafe { chains.insert_before(&mut NoFilter, dict.len().saturating_sub(DICT_TAIL)) };
        Ok(tables)
    }

    /// Replaces the chains by those of a dictionary of `len` bytes.
    pub(super) fn copy_from(&mut self, dict: &Tables, len: usize) -> Result<()> {
        let heads = get_or_try_init(&mut self.heads, zeros)?;
        let links = get_or_try_init(&mut self.links, zeros)?;
        if let (Some(from_heads), Some(from_links)) = (&dict.heads, &dict.links) {
            heads.copy_from_slice(&**from_heads);
            // The dictionary's base is `LINKS`, so its links begin at index 0 modulo the window.
            links[..len].copy_from_slice(&from_links[..len]);
        }
        self.next_base = 0;
        Ok(())
    }

    /// Chains for a stream, which hold nothing but what [`Tables::copy_from`] copied. Clearing the
    /// tables would take longer than compressing a short stream; instead the base grows, so that
    /// all positions of earlier streams lie outside the window. A search tries at most `attempts`
    /// candidates; with `skip_runs`, the candidates in one run count as one. Also returns the bits
    /// for a [`SeenWords`](super::word_filter::SeenWords) filter.
    pub(super) fn chains<'a>(
        &'a mut self,
        src: PrefixedSrc<'a>,
        attempts: u32,
        skip_runs: bool,
    ) -> Result<(Chains<'a>, &'a mut Option<Box<Bits>>)> {
        let PrefixedSrc { bytes: src, start } = src;
        let heads = get_or_try_init(&mut self.heads, zeros)?;
        let links = get_or_try_init(&mut self.links, zeros)?;
        if self.next_base > MAX_BASE {
            heads.fill(0);
            self.next_base = 0;
        }
        let base = self.next_base + LINKS as u32;
        self.next_base = base + src.len() as u32;
        let chains = Chains {
            src,
            start,
            heads,
            links,
            base,
            inserted: start,
            attempts,
            skip_runs,
        };
        Ok((chains, &mut self.filter_bits))
    }
}

/// The chains of a stream. An index is a position plus `base`.
///
/// Invariant: positions are inserted in order, and searches never go back to an inserted position.
/// So every index from `base` on that a search finds is of a position before the one that it
/// searches for.
pub(super) struct Chains<'a> {
    src: &'a [u8],
    /// Where the data begin. Before them lies the dictionary.
    start: usize,
    heads: &'a mut Heads,
    links: &'a mut Links,
    base: u32,
    /// All positions before this one are in the chains.
    inserted: usize,
    attempts: u32,
    skip_runs: bool,
}

impl Chains<'_> {
    /// The longest match that begins at `at`.
    ///
    /// # Safety
    /// `at + MF_LIMIT <= src.len()`, and no search was behind `at`.
    #[inline(always)]
    pub(super) unsafe fn longest<W: WordFilter>(
        &mut self,
        words: &mut W,
        at: usize,
    ) -> Option<Match> {
        // SAFETY: the same conditions (# Safety), and `MIN_MATCH - 1` lies between 0 and
        // `MIN_MATCH`.
        unsafe { self.search::<false, W>(words, at, at, MIN_MATCH - 1) }
    }

    /// The longest match that is longer than `than`, covers the position `overlap` bytes before the
    /// end of `than`, and does not begin before `than` does.
    ///
    /// # Safety
    /// `than` is a match of these chains, `overlap < MIN_MATCH`, and no search was behind
    /// `than.end() - overlap`.
    #[inline(never)]
    pub(super) unsafe fn longer<W: WordFilter>(
        &mut self,
        words: &mut W,
        than: Match,
        overlap: usize,
    ) -> Option<Match> {
        if than.end() + MF_LIMIT > self.src.len() {
            return None;
        }
        // SAFETY: the check above leaves `MF_LIMIT` bytes. A match has at least `MIN_MATCH` bytes,
        // so the position does not lie before its start, and `than.len` is greater by `overlap`
        // than the distance of the two.
        unsafe { self.search::<true, W>(words, than.end() - overlap, than.start, than.len) }
    }

    /// The length of the dictionary and the data, and where the data begin.
    pub(super) fn extent(&self) -> (usize, usize) {
        (self.src.len(), self.start)
    }

    /// The words at the positions that are in the chains and in the window of position `at`.
    pub(super) fn words_before(&self, at: usize) -> impl Iterator<Item = &[u8; MIN_MATCH]> {
        let from = at.saturating_sub(MAX_DISTANCE as usize);
        let end = self.inserted.max(from) + MIN_MATCH - 1;
        self.src[from..end].array_windows()
    }

    /// Puts the positions before `at` into the chains, and records the words there.
    ///
    /// # Safety
    /// `at + MIN_MATCH - 1 <= src.len()`.
    #[inline(always)]
    unsafe fn insert_before<W: WordFilter>(&mut self, words: &mut W, at: usize) {
        debug_assert!(self.inserted >= at || at + MIN_MATCH - 1 <= self.src.len());
        for position in self.inserted..at {
            // SAFETY: `position + 1 <= at`, so four bytes lie at `position` (# Safety).
            let four = u32::from_le(unsafe { load(self.src, position) });
            let index = self.base + position as u32;
            let head = &mut self.heads[hash::<HASH_LOG>(four)];
            self.links[index as usize % LINKS] = (index - *head).min(MAX_DISTANCE) as u16;
            *head = index;
            words.add(four);
        }
        self.inserted = self.inserted.max(at);
    }

    /// Whether the position is one of the last in the dictionary, which are in no chain.
    #[inline(always)]
    fn is_dict_tail(&self, index: u32) -> bool {
        let start = self.base + self.start as u32;
        (start.wrapping_sub(DICT_TAIL as u32)..start).contains(&index)
    }

    /// The position, or the first of the data if it is one of the last in the dictionary.
    #[inline(always)]
    fn skip_dict_tail(&self, index: u32) -> u32 {
        if self.is_dict_tail(index) {
            self.base + self.start as u32
        } else {
            index
        }
    }

    /// The longest match that covers `at`, begins at `low` or (if `BACKWARD`) later, and is longer
    /// than `longest`; the first of several.
    ///
    /// # Safety
    /// `at + MF_LIMIT <= src.len()`, `low <= at`, `at - low < longest < at - low + MIN_MATCH`, and
    /// no search was behind `at`.
    #[inline(always)]
    unsafe fn search<const BACKWARD: bool, W: WordFilter>(
        &mut self,
        words: &mut W,
        at: usize,
        low: usize,
        longest: usize,
    ) -> Option<Match> {
        debug_assert!(low <= at && self.inserted <= at && at + MF_LIMIT <= self.src.len());
        debug_assert!((1..MIN_MATCH).contains(&(longest - (at - low))));
        // SAFETY: `MF_LIMIT` (12) bytes lie at `at` (# Safety).
        unsafe { self.insert_before(words, at) };
        let src = self.src;
        // SAFETY: as above.
        let four: u32 = unsafe { load(src, at) };
        if words.is_new(u32::from_le(four), !BACKWARD) {
            return None;
        }
        let index = self.base + at as u32;
        let lowest = index.saturating_sub(MAX_DISTANCE).max(self.base);
        // If there is a run of one byte at `at`, the positions in a run of that byte have links
        // of 1. Otherwise 0, which is no link.
        let link_in_run = u32::from(self.skip_runs && four == four.rotate_left(8));
        let mut run_len = None;
        let max_before = if BACKWARD { at - low } else { 0 };
        // SAFETY: `MF_LIMIT` bytes lie at `at` (# Safety).
        let mut best = unsafe { LongestMatch::new(src, self.start, at, max_before, longest) };
        let mut candidate = self.heads[hash::<HASH_LOG>(u32::from_le(four))];
        let mut attempts = self.attempts;
        while candidate >= lowest && attempts > 0 {
            debug_assert!(candidate < index);
            attempts -= 1;
            let from = (candidate - self.base) as usize;
            let link = u32::from(self.links[candidate as usize % LINKS]);
            candidate -= link;
            // SAFETY: `from` lies before `at` (invariant of `Chains`).
            let may_be_longer = unsafe { best.may_be_longer_from(src, from) };
            if !may_be_longer && link != link_in_run {
                continue;
            }
            cold_path();
            // SAFETY: `from` lies before `at` (invariant of `Chains`), where `MF_LIMIT` bytes lie
            // (# Safety).
            if unsafe { load::<u32>(src, from) == four && best.extend(src, from) } {
                break;
            }
            if link == link_in_run && candidate >= lowest && !self.is_dict_tail(candidate) {
                // SAFETY: the next candidate is the position `from - 1`, and `candidate >=
                // lowest >= base`, so `from` is not 0.
                if unsafe { load::<u32>(src, from - 1) } != four {
                    continue;
                }
                let (limit, byte) = (best.limit, four as u8);
                let run_len = *run_len.get_or_insert_with(|| run_end(src, at, limit, byte) - at);
                let from = from - 1;
                let after = run_end(src, from, limit, byte) - from;
                let lowest_from = (lowest - self.base) as usize;
                let before = run_len_backward(&src[lowest_from..from], byte);
                if before + after >= run_len && after <= run_len {
                    // This run is at least as long as the one at `at`. Go to the position from
                    // which both are equally long: a match there may continue behind the runs.
                    candidate = self.skip_dict_tail(candidate + after as u32 - run_len as u32);
                    continue;
                }
                candidate -= before as u32;
                if self.is_dict_tail(candidate) {
                    candidate = self.skip_dict_tail(candidate);
                    continue;
                }
                if best.max_before == 0 {
                    let distance = (index - candidate) as usize;
                    if best.update(src, 0, run_len.min(before + after), distance) {
                        break;
                    }
                    candidate -= u32::from(self.links[candidate as usize % LINKS]);
                }
            }
        }
        best.found
    }
}

/// The longest match that a search has found so far.
struct LongestMatch {
    /// The position that is searched for. `MF_LIMIT` bytes of the source lie there.
    at: usize,
    /// Where the data begin. A match in them does not extend backward into the dictionary.
    start: usize,
    /// No match ends behind it.
    limit: usize,
    /// No match begins more than this many bytes before `at`.
    max_before: usize,
    /// The length of the longest match so far. A new one must be longer.
    longest: usize,
    found: Option<Match>,
    /// A longer match has at least `longest + 1 - max_before` bytes from `at` on. These are the
    /// last four of those bytes: a comparison with them rules out most candidates.
    four_ahead: u32,
    /// How far behind `at` the four bytes lie.
    ahead: usize,
}

impl LongestMatch {
    /// A state without a match, for matches longer than `longest`.
    ///
    /// # Safety
    /// `at + MF_LIMIT <= src.len()`.
    #[inline(always)]
    unsafe fn new(src: &[u8], start: usize, at: usize, max_before: usize, longest: usize) -> Self {
        // SAFETY: `MF_LIMIT` (12) bytes lie at `at` (# Safety).
        let four_ahead = unsafe { load(src, at) };
        LongestMatch {
            at,
            start,
            limit: src.len() - LAST_LITERALS,
            max_before,
            longest,
            found: None,
            four_ahead,
            ahead: 0,
        }
    }

    /// False if no longer match is at `from`.
    ///
    /// # Safety
    /// `from <= at`.
    #[inline(always)]
    unsafe fn may_be_longer_from(&self, src: &[u8], from: usize) -> bool {
        debug_assert!(from <= self.at);
        // SAFETY: `new` or `update` loaded the four bytes at `at + ahead`, and `from <= at` (#
        // Safety).
        unsafe { load::<u32>(src, from + self.ahead) == self.four_ahead }
    }

    /// Extends the match between `from` and `at`, whose first `MIN_MATCH` bytes are known to match,
    /// in both directions, and updates the longest match. Returns whether no other can be longer.
    ///
    /// # Safety
    /// `from < at`.
    #[inline(always)]
    unsafe fn extend(&mut self, src: &[u8], from: usize) -> bool {
        let at = self.at;
        // SAFETY: `from < at` (# Safety), and `MF_LIMIT` bytes lie at `at`, as `new` requires.
        let end = unsafe { match_end(src, from, at) }.min(self.limit);
        let before = if self.max_before > 0 {
            let reach = from.checked_sub(self.start).unwrap_or(from);
            // SAFETY: `reach` is at most `from`, `from < at` (# Safety), and `at` lies within
            // `src`, as `new` requires.
            unsafe { match_len_backward(src, from, at, self.max_before.min(reach)) }
        } else {
            0
        };
        self.update(src, before, before + end - at, at - from)
    }

    /// Takes a match that begins `before` bytes before `at`, if it is longer than the longest so
    /// far. Returns whether no other can be longer.
    #[inline(always)]
    fn update(&mut self, src: &[u8], before: usize, len: usize, distance: usize) -> bool {
        if len <= self.longest {
            return false;
        }
        self.longest = len;
        self.found = Some(Match {
            start: self.at - before,
            len,
            distance,
        });
        // A longer match has at least this many bytes from `at` on.
        let min_len = len + 1 - self.max_before;
        if min_len > self.limit - self.at {
            return true;
        }
        self.ahead = min_len.max(MIN_MATCH) - MIN_MATCH;
        // SAFETY: the four bytes end at `at + min_len`, which the check above puts at `limit` at
        // most, or they are the first four at `at`, as in `new`.
        self.four_ahead = unsafe { load(src, self.at + self.ahead) };
        false
    }
}

/// Where the run of `byte` at `at` ends; `limit` if it reaches that far.
fn run_end(src: &[u8], at: usize, limit: usize, byte: u8) -> usize {
    let mut end = at;
    while let Some(eight) = array_at::<8>(&src[..limit], end) {
        let xor = u64::from_le_bytes(*eight) ^ u64::from_ne_bytes([byte; 8]);
        if xor != 0 {
            return end + (xor.trailing_zeros() / 8) as usize;
        }
        end += 8;
    }
    end + src[end..limit].iter().take_while(|&&b| b == byte).count()
}

/// How many bytes at the end of `src` are `byte`.
fn run_len_backward(src: &[u8], byte: u8) -> usize {
    let mut rest = src;
    while let Some((prefix, eight)) = rest.split_last_chunk::<8>() {
        let xor = u64::from_le_bytes(*eight) ^ u64::from_ne_bytes([byte; 8]);
        if xor != 0 {
            return src.len() - rest.len() + (xor.leading_zeros() / 8) as usize;
        }
        rest = prefix;
    }
    src.len() - rest.len() + rest.iter().rev().take_while(|&&b| b == byte).count()
}
