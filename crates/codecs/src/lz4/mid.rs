//! LZ4HC's levels 1 and 2: for each position the last one with the same seven bytes is looked at, then the last one with the same four.
//!
//! It takes the matches that the LZ4 library 1.10 takes, so the streams are the same bytes, and a test compares the two. (The search is
//! that of Yann Collet's `lz4hc.c`, where it is called `LZ4MID`.)

use super::decompress::{LAST_LITERALS, MF_LIMIT, MIN_MATCH};
use super::get_or_make;
use super::writer::{Match, Writer};
use super::{compress::match_len_backward, high::Joined};
use crate::copy::match_len;
use crate::table::{hash, zeros};
use crate::unaligned::load;
use oxiblosc_error::Result;

/// The levels that search this way.
pub(super) const LEVELS: core::ops::RangeInclusive<u8> = 1..=2;
/// Binary logarithm of the number of hashes of each table.
const HASH_LOG: u32 = 14;
/// How many bytes are read to hash seven.
const WORD: usize = 8;
/// The longest distance of a match, and one more: where the positions of a stream are counted from at least.
const WINDOW: u32 = 1 << 16;
/// Where they are counted from at most, so that none is over `u32::MAX`: streams and dictionaries have less than 2^31 + 2^16 bytes.
const MAX_BASE: u32 = 1 << 30;
/// After `1 << SKIP_TRIGGER` positions without a match, the step grows by one.
const SKIP_TRIGGER: u32 = 9;

/// For each hash, the index of the last position that has it; something out of the window if there is none.
type Heads = [u32; 1 << HASH_LOG];

/// The tables, which are reused from stream to stream.
#[derive(Default)]
pub(super) struct Tables {
    four: Option<Box<Heads>>,
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
            // SAFETY: as above.
            unsafe { heads.insert_seven(dict, at, at) };
        }
        Ok(tables)
    }

    /// Puts what `dict` holds in place of what was there.
    pub(super) fn copy_from(&mut self, dict: &Tables) -> Result<()> {
        let four = get_or_make(&mut self.four, zeros)?;
        let seven = get_or_make(&mut self.seven, zeros)?;
        if let (Some(from_four), Some(from_seven)) = (&dict.four, &dict.seven) {
            four.copy_from_slice(&**from_four);
            seven.copy_from_slice(&**from_seven);
        }
        self.next_base = 0;
        Ok(())
    }

    /// The tables for `len` bytes. What an earlier stream left is out of their window; after [`Tables::copy_from`], what the
    /// dictionary left is at its place.
    fn heads(&mut self, len: usize) -> Result<SearchHeads<'_>> {
        let four = get_or_make(&mut self.four, zeros)?;
        let seven = get_or_make(&mut self.seven, zeros)?;
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
    /// Gives `at` the hash of the four bytes at `of`, and the distance from `at` to the last position that had it.
    ///
    /// # Safety
    /// `of + MIN_MATCH <= src.len()`.
    #[inline(always)]
    unsafe fn insert_four(&mut self, src: &[u8], of: usize, at: usize) -> usize {
        // SAFETY: the caller promises four bytes at `of`.
        let four = u32::from_le(unsafe { load(src, of) });
        self.insert(at, |heads| &mut heads.four[hash::<HASH_LOG>(four)])
    }

    /// As [`insert_four`](Self::insert_four), for seven bytes.
    ///
    /// # Safety
    /// `of + WORD <= src.len()`.
    #[inline(always)]
    unsafe fn insert_seven(&mut self, src: &[u8], of: usize, at: usize) -> usize {
        // SAFETY: the caller promises eight bytes at `of`.
        let slot = unsafe { Self::slot_of_seven(src, of) };
        self.insert(at, |heads| &mut heads.seven[slot])
    }

    #[inline(always)]
    fn insert(&mut self, at: usize, head: impl FnOnce(&mut Self) -> &mut u32) -> usize {
        let index = self.base + at as u32;
        let last = core::mem::replace(head(self), index);
        index.wrapping_sub(last) as usize
    }

    /// The slot of the seven bytes at `of`. The factor is the library's, since the streams are to be the same.
    ///
    /// # Safety
    /// `of + WORD <= src.len()`.
    #[inline(always)]
    unsafe fn slot_of_seven(src: &[u8], of: usize) -> usize {
        // SAFETY: the caller promises eight bytes at `of`.
        let seven = u64::from_le(unsafe { load(src, of) }) << 8;
        (seven.wrapping_mul(58_295_818_150_454_627) >> (64 - HASH_LOG)) as usize
    }
}

/// What is searched: the data from `start` on, and the dictionary before them.
struct Search<'a> {
    src: &'a [u8],
    start: usize,
    heads: SearchHeads<'a>,
}

impl Search<'_> {
    /// The match at `at` whose source is `distance` bytes before it, if there is one. A match in the dictionary ends with it.
    ///
    /// Requires `at + MF_LIMIT <= src.len()`.
    #[inline(always)]
    fn match_at(&self, at: usize, distance: usize) -> Option<Match> {
        if distance >= WINDOW as usize {
            return None;
        }
        let from = at.checked_sub(distance)?;
        // SAFETY: `MF_LIMIT` bytes lie at `at`, and `from` is not behind it.
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

    /// Looks for a match at `at`, or for a longer one behind it.
    ///
    /// Requires `at + MF_LIMIT <= src.len()`.
    #[inline(always)]
    fn find(&mut self, at: usize) -> Option<Match> {
        // SAFETY: `MF_LIMIT` bytes, which are more than `WORD`, lie at `at`.
        let distance = unsafe { self.heads.insert_seven(self.src, at, at) };
        if let Some(found) = self.match_at(at, distance) {
            return Some(found);
        }
        // SAFETY: as above.
        let distance = unsafe { self.heads.insert_four(self.src, at, at) };
        let found = self.match_at(at, distance)?;
        if at - distance < self.start || at + MF_LIMIT == self.src.len() {
            return Some(found);
        }
        // SAFETY: `MF_LIMIT` bytes lie at `at + 1`.
        let slot = unsafe { SearchHeads::slot_of_seven(self.src, at + 1) };
        let index = self.heads.base + at as u32 + 1;
        let distance = index.wrapping_sub(self.heads.seven[slot]) as usize;
        match self.match_at(at + 1, distance) {
            Some(longer) if longer.len > found.len && at + 1 - distance >= self.start => {
                self.heads.seven[slot] = index;
                Some(longer)
            }
            _ => Some(found),
        }
    }

    /// Puts positions near the beginning of a match that was found at `at` into the tables. (They get the indices behind `at`
    /// wherever the match begins, as in the library.)
    #[inline(always)]
    fn insert_beginning(&mut self, start: usize, at: usize) {
        // SAFETY: `start + MF_LIMIT <= src.len()`, since a match begins where one was looked for, or before.
        unsafe {
            self.heads.insert_seven(self.src, start + 1, at + 1);
            self.heads.insert_seven(self.src, start + 2, at + 2);
            self.heads.insert_four(self.src, start + 1, at + 1);
        }
    }

    /// Puts positions near the end of a match into the tables.
    #[inline(always)]
    fn insert_end(&mut self, end: usize) {
        if end - 2 + WORD >= self.src.len() {
            return;
        }
        // SAFETY: `WORD` bytes lie at `end - 2` by the condition above; a match has `MIN_MATCH` bytes, so `end - 3` is a position.
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

/// Compresses the data of `joined` into `dst`. Returns the bytes written, or 0 if they do not fit. Where there is a dictionary,
/// [`Tables::copy_from`] was called.
pub(super) fn compress(tables: &mut Tables, joined: Joined, dst: &mut [u8]) -> Result<usize> {
    let Joined { bytes: src, start } = joined;
    let heads = tables.heads(src.len())?;
    let search = Search { src, start, heads };
    Ok(encode(search, Writer::new(src, start, dst)).unwrap_or(0))
}

/// Writes the stream. Returns its length, or `None` if it does not fit.
#[inline(never)]
fn encode(mut search: Search, mut writer: Writer) -> Option<usize> {
    let (src, start) = (search.src, search.start);
    let mut at = start;
    // A stream of `MF_LIMIT` bytes has no match, although there would be room for one.
    while at + MF_LIMIT <= src.len() && src.len() - start > MF_LIMIT {
        let anchor = writer.anchor();
        let Some(mut found) = search.find(at) else {
            at += 1 + ((at - anchor) >> SKIP_TRIGGER);
            continue;
        };
        let from = found.start - found.distance;
        let most = (found.start - anchor).min(from.saturating_sub(start));
        let before = match_len_backward(src, from, found.start, most);
        found.start -= before;
        found.len += before;
        search.insert_beginning(found.start, at);
        writer.put(found)?;
        at = found.end();
        search.insert_end(at);
    }
    writer.finish()
}
