//! LZ4HC's levels 1 and 2. Each position has two candidates: the last position with the same hash
//! of seven bytes, and, if that gives no match, the last one with the same hash of four.
//!
//! It takes the matches that the LZ4 library 1.10 takes, so the streams are the same bytes, and a
//! test compares the two. (The search is that of Yann Collet's `lz4hc.c`, where it is called
//! `LZ4MID`.)

use super::format::{LAST_LITERALS, MF_LIMIT, MIN_MATCH};
use super::get_or_try_init;
use super::match_end::match_len_backward;
use super::prefixed::PrefixedSrc;
use super::writer::{Match, Writer};
use crate::copy::match_len;
use crate::hash_table::{hash, zeros};
use crate::unaligned::load;
use oxiblosc_base::Result;

/// The levels that use this search.
pub(super) const LEVELS: core::ops::RangeInclusive<u8> = 1..=2;
/// Binary logarithm of the number of hashes of each table.
const HASH_LOG: u32 = 14;
/// How many bytes are loaded to hash seven.
const WORD: usize = 8;
/// Matches reach back less than this. The base of a stream grows by at least as much, so that
/// earlier streams are out of reach.
const WINDOW: u32 = 1 << 16;
/// The largest base of a stream. A stream with its dictionary has less than 2^31 + 2^16 bytes, so
/// no index exceeds `u32::MAX`.
const MAX_BASE: u32 = 1 << 30;
/// After `1 << SKIP_TRIGGER` positions without a match, the step grows by one.
const SKIP_TRIGGER: u32 = 9;

/// For each hash, the index of the last position that has it. An index below the base is of an
/// earlier stream, or 0 in a fresh table.
type Heads = [u32; 1 << HASH_LOG];

/// The tables, which are reused from stream to stream.
#[derive(Default)]
pub(super) struct Tables {
    /// For hashes of four bytes.
    four: Option<Box<Heads>>,
    /// For hashes of seven bytes.
    seven: Option<Box<Heads>>,
    next_base: u32,
}

impl Tables {
    /// The tables of a dictionary.
    pub(super) fn of_dict(dict: &[u8]) -> Result<Self> {
        let mut tables = Self::default();
        let mut heads = tables.heads(dict.len())?;
        let end = dict.len().saturating_sub(WORD);
        for at in (0..end).step_by(3) {
            // SAFETY: `at + 1 + WORD <= dict.len()`, since `at < end`.
            unsafe {
                heads.insert_four(dict, at, at);
                heads.insert_seven(dict, at + 1, at + 1);
            }
        }
        for at in 0..end {
            // SAFETY: `at < end`, so `at + WORD < dict.len()`.
            unsafe { heads.insert_seven(dict, at, at) };
        }
        Ok(tables)
    }

    /// Replaces the tables by those of a dictionary.
    pub(super) fn copy_from(&mut self, dict: &Tables) -> Result<()> {
        let four = get_or_try_init(&mut self.four, zeros)?;
        let seven = get_or_try_init(&mut self.seven, zeros)?;
        if let (Some(from_four), Some(from_seven)) = (&dict.four, &dict.seven) {
            four.copy_from_slice(&**from_four);
            seven.copy_from_slice(&**from_seven);
        }
        self.next_base = 0;
        Ok(())
    }

    /// The tables for a dictionary and data of `len` bytes together. Positions of earlier streams
    /// are outside the window. After [`Tables::copy_from`] the base is the dictionary's, so that
    /// its positions are found.
    fn heads(&mut self, len: usize) -> Result<SearchHeads<'_>> {
        let four = get_or_try_init(&mut self.four, zeros)?;
        let seven = get_or_try_init(&mut self.seven, zeros)?;
        if self.next_base > MAX_BASE {
            four.fill(0);
            seven.fill(0);
            self.next_base = 0;
        }
        let base = self.next_base + WINDOW;
        self.next_base = base + len as u32;
        Ok(SearchHeads { four, seven, base })
    }
}

/// The tables of one stream. An index is a position plus `base`.
struct SearchHeads<'a> {
    four: &'a mut Heads,
    seven: &'a mut Heads,
    base: u32,
}

impl SearchHeads<'_> {
    /// Inserts `at` under the hash of the four bytes at `bytes_at`. Returns the distance from `at`
    /// to the position that it replaces.
    ///
    /// # Safety
    /// `bytes_at + MIN_MATCH <= src.len()`.
    #[inline(always)]
    unsafe fn insert_four(&mut self, src: &[u8], bytes_at: usize, at: usize) -> usize {
        // SAFETY: four bytes lie at `bytes_at` (# Safety).
        let four = u32::from_le(unsafe { load(src, bytes_at) });
        self.insert(at, |heads| &mut heads.four[hash::<HASH_LOG>(four)])
    }

    /// Like [`insert_four`](Self::insert_four), with the hash of seven bytes.
    ///
    /// # Safety
    /// `bytes_at + WORD <= src.len()`.
    #[inline(always)]
    unsafe fn insert_seven(&mut self, src: &[u8], bytes_at: usize, at: usize) -> usize {
        // SAFETY: `WORD` bytes lie at `bytes_at` (# Safety).
        let slot = unsafe { Self::slot_of_seven(src, bytes_at) };
        self.insert(at, |heads| &mut heads.seven[slot])
    }

    #[inline(always)]
    fn insert(&mut self, at: usize, head: impl FnOnce(&mut Self) -> &mut u32) -> usize {
        let index = self.base + at as u32;
        let last = core::mem::replace(head(self), index);
        index.wrapping_sub(last) as usize
    }

    /// The slot for the seven bytes at `bytes_at`. The multiplier must be the library's for the
    /// streams to be the same.
    ///
    /// # Safety
    /// `bytes_at + WORD <= src.len()`.
    #[inline(always)]
    unsafe fn slot_of_seven(src: &[u8], bytes_at: usize) -> usize {
        // SAFETY: `WORD` (8) bytes lie at `bytes_at` (# Safety).
        let seven = u64::from_le(unsafe { load(src, bytes_at) }) << 8;
        (seven.wrapping_mul(58_295_818_150_454_627) >> (64 - HASH_LOG)) as usize
    }
}

/// A dictionary and data, with their tables.
struct Search<'a> {
    /// The dictionary and the data.
    src: &'a [u8],
    /// Where the data begin.
    start: usize,
    heads: SearchHeads<'a>,
}

impl Search<'_> {
    /// The match at `at` with this distance, if there is one. A match whose source begins in the
    /// dictionary ends there.
    ///
    /// # Safety
    /// `at + MF_LIMIT <= src.len()`.
    #[inline(always)]
    unsafe fn match_at(&self, at: usize, distance: usize) -> Option<Match> {
        if distance >= WINDOW as usize {
            return None;
        }
        let from = at.checked_sub(distance)?;
        // SAFETY: `MF_LIMIT` bytes lie at `at` (# Safety), and `from <= at`.
        if unsafe { load::<u32>(self.src, at) != load::<u32>(self.src, from) } {
            return None;
        }
        let mut limit = self.src.len() - LAST_LITERALS;
        if from < self.start {
            limit = limit.min(at + self.start - from);
        }
        let len = match_len(self.src, at, from, limit, 0);
        (len >= MIN_MATCH).then_some(Match {
            start: at,
            len,
            distance,
        })
    }

    /// Looks for a match at `at`, or a longer one at the position behind it.
    ///
    /// # Safety
    /// `at + MF_LIMIT <= src.len()`.
    #[inline(always)]
    unsafe fn find(&mut self, at: usize) -> Option<Match> {
        debug_assert!(at + MF_LIMIT <= self.src.len());
        // SAFETY: `MF_LIMIT` (12) bytes lie at `at` (# Safety), more than `WORD`.
        let distance = unsafe { self.heads.insert_seven(self.src, at, at) };
        // SAFETY: `MF_LIMIT` bytes lie at `at` (# Safety).
        if let Some(found) = unsafe { self.match_at(at, distance) } {
            return Some(found);
        }
        // SAFETY: `MF_LIMIT` bytes lie at `at` (# Safety), more than `MIN_MATCH`.
        let found = unsafe {
            let distance = self.heads.insert_four(self.src, at, at);
            self.match_at(at, distance)?
        };
        if found.start - found.distance < self.start || at + MF_LIMIT == self.src.len() {
            return Some(found);
        }
        // SAFETY: the check above says that `at + MF_LIMIT` is less than the length, so `MF_LIMIT`
        // bytes lie at `at + 1`.
        let slot = unsafe { SearchHeads::slot_of_seven(self.src, at + 1) };
        let index = self.heads.base + at as u32 + 1;
        let distance = index.wrapping_sub(self.heads.seven[slot]) as usize;
        // SAFETY: as above.
        match unsafe { self.match_at(at + 1, distance) } {
            Some(longer) if longer.len > found.len && at + 1 - distance >= self.start => {
                self.heads.seven[slot] = index;
                Some(longer)
            }
            _ => Some(found),
        }
    }

    /// Inserts positions near the beginning of a match that begins at `start` and was searched for
    /// at `at`. (The indices count from `at` even if the match begins sooner, as in the library.)
    ///
    /// # Safety
    /// `start + MF_LIMIT <= src.len()`.
    #[inline(always)]
    unsafe fn insert_beginning(&mut self, start: usize, at: usize) {
        debug_assert!(start + MF_LIMIT <= self.src.len());
        // SAFETY: `MF_LIMIT` (12) bytes lie at `start` (# Safety), so at least 10 lie at `start +
        // 2`: more than `WORD`.
        unsafe {
            self.heads.insert_seven(self.src, start + 1, at + 1);
            self.heads.insert_seven(self.src, start + 2, at + 2);
            self.heads.insert_four(self.src, start + 1, at + 1);
        }
    }

    /// Inserts positions near the end of a match.
    #[inline(always)]
    fn insert_end(&mut self, end: usize) {
        if end - 2 + WORD >= self.src.len() {
            return;
        }
        // SAFETY: the check above leaves more than `WORD` bytes at `end - 2`, so at least `WORD` at
        // `end - 1`. A match has `MIN_MATCH` bytes, so `end - 3` is not negative; `end - 5` is
        // checked.
        unsafe {
            if end - self.start > 5 {
                self.heads.insert_seven(self.src, end - 5, end - 5);
            }
            self.heads.insert_seven(self.src, end - 3, end - 3);
            self.heads.insert_seven(self.src, end - 2, end - 2);
            self.heads.insert_four(self.src, end - 2, end - 2);
            self.heads.insert_four(self.src, end - 1, end - 1);
        }
    }
}

/// Compresses the data of `src` into `dst`. Returns the bytes written, or 0 if they do not fit.
/// With a dictionary, [`Tables::copy_from`] must have been called.
pub(super) fn compress(tables: &mut Tables, src: PrefixedSrc, dst: &mut [u8]) -> Result<usize> {
    let PrefixedSrc { bytes: src, start } = src;
    let heads = tables.heads(src.len())?;
    let search = Search { src, start, heads };
    Ok(encode(search, Writer::new(src, start, dst)).unwrap_or(0))
}

/// Writes the stream. Returns its length, or `None` if it does not fit.
#[inline(never)]
fn encode(mut search: Search, mut writer: Writer) -> Option<usize> {
    let (src, start) = (search.src, search.start);
    let mut at = start;
    // Data of `MF_LIMIT` bytes get no match, although one would fit: the library does not search
    // them.
    while at + MF_LIMIT <= src.len() && src.len() - start > MF_LIMIT {
        let anchor = writer.anchor();
        // SAFETY: the loop's condition leaves `MF_LIMIT` bytes.
        let Some(mut found) = (unsafe { search.find(at) }) else {
            at += 1 + ((at - anchor) >> SKIP_TRIGGER);
            continue;
        };
        let from = found.start - found.distance;
        let max_before = (found.start - anchor).min(from.saturating_sub(start));
        // SAFETY: `max_before` is at most `from`, a match has a distance of 1 or more, and it lies
        // within `src`.
        let before = unsafe { match_len_backward(src, from, found.start, max_before) };
        found.start -= before;
        found.len += before;
        // SAFETY: `find` returns a match that begins `MF_LIMIT` bytes before the end of `src` or
        // sooner.
        unsafe { search.insert_beginning(found.start, at) };
        writer.put(found)?;
        at = found.end();
        search.insert_end(at);
    }
    writer.finish()
}
