//! Hash chains, in which LZ4HC looks for the longest match: for each position, the one before it with the same hash.

use core::hint::cold_path;

use super::compress::{match_end, match_len_backward};
use super::decompress::{LAST_LITERALS, MF_LIMIT, MIN_MATCH};
use super::get_or_make;
use super::high::Joined;
use super::seen::{Bits, NotNoted, Words};
use super::writer::Match;
use crate::copy::array_at;
use crate::table::{hash, zeros};
use crate::unaligned::load;
use oxiblosc_error::Result;

/// Binary logarithm of the number of hashes.
const HASH_LOG: u32 = 15;
/// The number of links, one for each position of the window.
const LINKS: usize = 1 << 16;
/// The longest distance of a match.
const MAX_DISTANCE: u32 = LINKS as u32 - 1;
/// Where the positions of a stream are counted from at most, so that none is over `u32::MAX`: streams and dictionaries
/// have less than 2^31 + 2^16 bytes.
const MAX_BASE: u32 = 1 << 30;

/// For each hash, the index of the last position that has it; something below the base if there is none.
type Heads = [u32; 1 << HASH_LOG];
/// For each index, modulo the window, the distance to the one before it in its chain.
type Links = [u16; LINKS];

/// The tables, which are reused from stream to stream.
#[derive(Default)]
pub(super) struct Tables {
    heads: Option<Box<Heads>>,
    links: Option<Box<Links>>,
    seen: Option<Box<Bits>>,
    next_base: u32,
}

/// How many bytes at the end of a dictionary no match begins in.
const DICT_TAIL: usize = MIN_MATCH - 1;

impl Tables {
    /// The chains of a dictionary.
    pub(super) fn of_dict(dict: &[u8]) -> Result<Self> {
        let mut tables = Self::default();
        tables
            .chains(Joined::without_dict(dict), 0, false)?
            .0
            .insert_before(&mut NotNoted, dict.len().saturating_sub(DICT_TAIL));
        Ok(tables)
    }

    /// Puts the chains of a dictionary of `len` bytes in place of what was there.
    pub(super) fn copy_from(&mut self, dict: &Tables, len: usize) -> Result<()> {
        let heads = get_or_make(&mut self.heads, zeros)?;
        let links = get_or_make(&mut self.links, zeros)?;
        if let (Some(from_heads), Some(from_links)) = (&dict.heads, &dict.links) {
            heads.copy_from_slice(&**from_heads);
            // The first base is the number of links, so the dictionary's are the first.
            links[..len].copy_from_slice(&from_links[..len]);
        }
        self.next_base = 0;
        Ok(())
    }

    /// Chains for a stream, empty but for what [`Tables::copy_from`] put there. Every position of an earlier stream is out of the
    /// window, because clearing would take longer than a short stream does. A search tries at most `attempts` candidates; with
    /// `skip_runs`, those in one run count as one. Also returns where the table of noted words is, or will be.
    pub(super) fn chains<'a>(
        &'a mut self,
        joined: Joined<'a>,
        attempts: u32,
        skip_runs: bool,
    ) -> Result<(Chains<'a>, &'a mut Option<Box<Bits>>)> {
        let Joined { bytes: src, start } = joined;
        let heads = get_or_make(&mut self.heads, zeros)?;
        let links = get_or_make(&mut self.links, zeros)?;
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
        Ok((chains, &mut self.seen))
    }
}

/// The chains of a stream. An index is a position plus `base`.
pub(super) struct Chains<'a> {
    src: &'a [u8],
    /// Where the data begin. Before them lies the dictionary.
    start: usize,
    heads: &'a mut Heads,
    links: &'a mut Links,
    base: u32,
    /// The positions before this one are in the chains.
    inserted: usize,
    attempts: u32,
    skip_runs: bool,
}

impl Chains<'_> {
    /// The longest match that begins at `at`. Requires `at + MF_LIMIT <= src.len()`.
    #[inline(always)]
    pub(super) fn longest<W: Words>(&mut self, words: &mut W, at: usize) -> Option<Match> {
        self.search::<false, W>(words, at, at, MIN_MATCH - 1)
    }

    /// The longest match that is longer than `than`, covers the position `overlap` bytes before its end, and does not begin before it.
    #[inline(never)]
    pub(super) fn longer<W: Words>(
        &mut self,
        words: &mut W,
        than: Match,
        overlap: usize,
    ) -> Option<Match> {
        if than.end() + MF_LIMIT > self.src.len() {
            return None;
        }
        self.search::<true, W>(words, than.end() - overlap, than.start, than.len)
    }

    /// How long the data are with the dictionary before them, and where they begin.
    pub(super) fn extent(&self) -> (usize, usize) {
        (self.src.len(), self.start)
    }

    /// The words at which a match may begin that is found at `at` or later, as far as they are in the chains.
    pub(super) fn words_before(&self, at: usize) -> impl Iterator<Item = &[u8; MIN_MATCH]> {
        let from = at.saturating_sub(MAX_DISTANCE as usize);
        let end = self.inserted.max(from) + MIN_MATCH - 1;
        self.src[from..end].array_windows()
    }

    /// Puts the positions before `at` into the chains, and notes the words there.
    #[inline(always)]
    fn insert_before<W: Words>(&mut self, words: &mut W, at: usize) {
        for position in self.inserted..at {
            // SAFETY: `search` requires 12 bytes at `at`, and `position` lies before it.
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

    /// The longest match that covers `at`, begins at `low` or (if `BACKWARD`) later, and is longer than `longest`; the first of
    /// several.
    ///
    /// Requires `at + MF_LIMIT <= src.len()`, `low <= at` and `at - low < longest < at - low + MIN_MATCH`.
    #[inline(always)]
    fn search<const BACKWARD: bool, W: Words>(
        &mut self,
        words: &mut W,
        at: usize,
        low: usize,
        longest: usize,
    ) -> Option<Match> {
        debug_assert!(low <= at && at + MF_LIMIT <= self.src.len());
        debug_assert!((1..MIN_MATCH).contains(&(longest - (at - low))));
        self.insert_before(words, at);
        let src = self.src;
        // SAFETY: 12 bytes lie at `at`.
        let four: u32 = unsafe { load(src, at) };
        if words.is_new(u32::from_le(four), !BACKWARD) {
            return None;
        }
        let index = self.base + at as u32;
        let lowest = index.saturating_sub(MAX_DISTANCE).max(self.base);
        // The link between two positions in a run like the one at `at`. No link is 0.
        let link_in_run = u32::from(self.skip_runs && four == four.rotate_left(8));
        let mut run = None;
        let most_before = if BACKWARD { at - low } else { 0 };
        let mut best = Best::new(src, self.start, at, most_before, longest);
        let mut candidate = self.heads[hash::<HASH_LOG>(u32::from_le(four))];
        let mut attempts = self.attempts;
        while candidate >= lowest && attempts > 0 {
            debug_assert!(candidate < index);
            attempts -= 1;
            let from = (candidate - self.base) as usize;
            let link = u32::from(self.links[candidate as usize % LINKS]);
            candidate -= link;
            // SAFETY: `from` lies before `at`.
            let may_be_longer = unsafe { best.may_be_longer_from(src, from) };
            if !may_be_longer && link != link_in_run {
                continue;
            }
            cold_path();
            // SAFETY: `from` lies before `at`, where 12 bytes lie.
            if unsafe { load::<u32>(src, from) == four && best.extend(src, from) } {
                break;
            }
            if link == link_in_run && candidate >= lowest && !self.is_dict_tail(candidate) {
                // SAFETY: as above; a candidate that is the position before it says that `from` is not 0.
                if unsafe { load::<u32>(src, from - 1) } != four {
                    continue;
                }
                let (limit, byte) = (best.limit, four as u8);
                let run = *run.get_or_insert_with(|| run_end(src, at, limit, byte) - at);
                let from = from - 1;
                let after = run_end(src, from, limit, byte) - from;
                let lowest_from = (lowest - self.base) as usize;
                let before = run_len_backward(&src[lowest_from..from], byte);
                if before + after >= run && after <= run {
                    // From where as much of this run is left as of the one at `at`, a match may go on behind both.
                    candidate = self.skip_dict_tail(candidate + after as u32 - run as u32);
                    continue;
                }
                candidate -= before as u32;
                if self.is_dict_tail(candidate) {
                    candidate = self.skip_dict_tail(candidate);
                    continue;
                }
                if best.most_before == 0 {
                    let distance = (index - candidate) as usize;
                    if best.take(src, 0, run.min(before + after), distance) {
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
struct Best {
    at: usize,
    /// Where the data begin. A match in them does not reach back into the dictionary.
    start: usize,
    /// Where matches end at most.
    limit: usize,
    /// How many bytes before `at` matches begin at most.
    most_before: usize,
    longest: usize,
    found: Option<Match>,
    /// A longer match has at least `longest + 1 - most_before` bytes from `at` on. These are the last four of them, by which most
    /// candidates are ruled out, and how far behind `at` they lie.
    four_ahead: u32,
    ahead: usize,
}

impl Best {
    /// Nothing is found; a match is to be longer than `longest`.
    #[inline(always)]
    fn new(src: &[u8], start: usize, at: usize, most_before: usize, longest: usize) -> Self {
        // SAFETY: `search` requires 12 bytes at `at`.
        let four_ahead = unsafe { load(src, at) };
        Best {
            at,
            start,
            limit: src.len() - LAST_LITERALS,
            most_before,
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
        // SAFETY: the same load at `at` was in bounds.
        unsafe { load::<u32>(src, from + self.ahead) == self.four_ahead }
    }

    /// Extends the match between `from` and `at`, of which the first `MIN_MATCH` bytes are known, in both directions, and takes it
    /// if it is longer. True if no other can be longer.
    ///
    /// # Safety
    /// `from < at` and `at + MF_LIMIT <= src.len()`.
    #[inline(always)]
    unsafe fn extend(&mut self, src: &[u8], from: usize) -> bool {
        let at = self.at;
        // SAFETY: the caller promises as much.
        let end = unsafe { match_end(src, from, at) }.min(self.limit);
        let before = if self.most_before > 0 {
            let room = from.checked_sub(self.start).unwrap_or(from);
            match_len_backward(src, from, at, self.most_before.min(room))
        } else {
            0
        };
        self.take(src, before, before + end - at, at - from)
    }

    /// Takes a match that begins `before` bytes before `at`, if it is longer. True if no other can be longer.
    #[inline(always)]
    fn take(&mut self, src: &[u8], before: usize, len: usize, distance: usize) -> bool {
        if len <= self.longest {
            return false;
        }
        self.longest = len;
        self.found = Some(Match {
            start: self.at - before,
            len,
            distance,
        });
        let least = len + 1 - self.most_before;
        if least > self.limit - self.at {
            return true;
        }
        self.ahead = least.max(MIN_MATCH) - MIN_MATCH;
        // SAFETY: the bytes end at `at + least`, that is at `limit` at most, or they are the first four, as in `new`.
        self.four_ahead = unsafe { load(src, self.at + self.ahead) };
        false
    }
}

/// Where the run of `byte` that begins at `at` ends, at most at `limit`.
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
    while let Some((front, eight)) = rest.split_last_chunk::<8>() {
        let xor = u64::from_le_bytes(*eight) ^ u64::from_ne_bytes([byte; 8]);
        if xor != 0 {
            return src.len() - rest.len() + (xor.leading_zeros() / 8) as usize;
        }
        rest = front;
    }
    src.len() - rest.len() + rest.iter().rev().take_while(|&&b| b == byte).count()
}
