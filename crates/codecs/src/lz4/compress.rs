//! The fast compressor: a greedy parse with one candidate per position, which skips more positions
//! the longer it finds no match.
//!
//! It takes the matches that the LZ4 library takes, so the streams are the same bytes, and a test
//! compares the two. What differs is the code, which is arranged for shuffled data and takes two
//! thirds of the library's time for bit planes:
//! - In a long stream with few matches it is unpredictable whether a candidate lies within the
//!   window, so that check is merged with the comparison of the first four bytes.
//! - The end of a match is found before its beginning, because the next search depends on the end.
//!   Only short sequences need both at once.
//! - The backward extension compares eight bytes at once.

use core::hint::cold_path;

use super::finder::{Finder, NARROW_LOG, Narrow, Stale, WIDE_LOG, Wide};
use super::format::{LAST_LITERALS, MF_LIMIT, MIN_MATCH, RUN_MASK};
use super::match_end::{
    MAX_SHORT_EXTRA, SHORT_MATCH_MARGIN, match_end, match_len_backward, short_match,
};
use super::sequence::{
    SEQUENCE_MARGIN, Sequence, put_last_literals, put_sequence, put_sequence_unchecked,
};
use crate::hash_table::Table;
use crate::unaligned::load;
use crate::unchecked::UncheckedDst;
use oxiblosc_base::Result;

/// The longest stream for 16-bit positions. It is longer than 64 KiB because no match begins in the
/// last bytes.
const MAX_NARROW_STREAM: usize = (1 << 16) + MF_LIMIT - 2;
/// After so many matches in a row that were too long for [`put_short_sequences`], it is not tried
/// any more.
const MAX_SHORT_MISSES: u32 = 8;
/// Shorter streams share a table that is not cleared between them: clearing it takes as long as
/// compressing a buffer of 256 bytes twice.
const SHORT_STREAM: usize = 4096;
/// After `1 << SKIP_TRIGGER` positions without a match, the search step grows by one.
const SKIP_TRIGGER: u32 = 6;

/// The compressor's hash tables.
#[derive(Default)]
pub(super) struct Tables {
    narrow: Table<u16, { 1 << NARROW_LOG }>,
    wide: Table<u32, { 1 << WIDE_LOG }>,
}

impl Tables {
    /// Compresses `src` into `dst`. Returns the bytes written, or 0 if they do not fit. A search
    /// tries two adjacent positions, then every `acceleration`-th.
    pub(super) fn compress(
        &mut self,
        acceleration: usize,
        src: &[u8],
        dst: &mut [u8],
    ) -> Result<usize> {
        let len = src.len();
        let written = if len < SHORT_STREAM {
            let (slots, base) = self.narrow.without_clearing(len)?;
            encode(Stale { slots, base }, acceleration, src, dst)
        } else if len <= MAX_NARROW_STREAM {
            let slots = self.narrow.cleared(len, 1 << NARROW_LOG)?;
            encode(Narrow { slots }, acceleration, src, dst)
        } else {
            let slots = self.wide.cleared(len, 1 << WIDE_LOG)?;
            encode(Wide { slots }, acceleration, src, dst)
        };
        Ok(written.unwrap_or(0))
    }
}

/// Searches for a match behind `at`, and inserts the positions that it tries. Returns the position
/// of the match, which is at most `last`, and the candidate, which lies before it; `None` if there
/// is no match up to `last`.
///
/// # Safety
/// `last + MF_LIMIT <= src.len()`.
#[inline(always)]
unsafe fn find_match<F: Finder>(
    finder: &mut F,
    acceleration: usize,
    src: &[u8],
    at: usize,
    last: usize,
) -> Option<(usize, usize)> {
    debug_assert!(last + MF_LIMIT <= src.len());
    let mut tries = acceleration << SKIP_TRIGGER;
    let mut step = 1;
    let mut at = at + 1;
    loop {
        let next = at + step;
        if next > last + 1 {
            return None;
        }
        // SAFETY: `at < next <= last + 1`, so `at <= last`, and `MF_LIMIT` (12) bytes lie at `at`.
        // The candidate lies before it (`Finder`).
        unsafe {
            let from = finder.insert(src, at);
            if F::is_match(src, from, at) {
                return Some((at, from));
            }
        }
        at = next;
        step = tries >> SKIP_TRIGGER;
        tries += 1;
    }
}

/// A position and its candidate. All data before `at` are written.
struct Candidate {
    at: usize,
    from: usize,
    /// Where the next sequence is written.
    out: usize,
}

/// Writes the match of `next` with its literals if both are short, and then the short matches that
/// follow it without literals. `None` if the match is too long for that, or too near the end of a
/// buffer; then nothing is written. Otherwise returns whether the candidate it ends with is a
/// match.
///
/// # Safety
/// `next.from < next.at` and `next.at <= src.len() - MF_LIMIT`; the first `MIN_MATCH` bytes match.
/// `literals` bytes from `anchor` on precede the match, whose beginning lies `back` bytes before
/// `next.at`.
#[inline(always)]
unsafe fn put_short_sequences<F: Finder>(
    finder: &mut F,
    src: &[u8],
    dst: &mut UncheckedDst,
    (anchor, literals, back): (usize, usize, usize),
    next: &mut Candidate,
) -> Option<bool> {
    let Candidate { at, from, out } = *next;
    debug_assert!(from < at && anchor + literals + back == at);
    if literals >= RUN_MASK
        || back >= RUN_MASK - MAX_SHORT_EXTRA
        || at + SHORT_MATCH_MARGIN > src.len()
        || out + RUN_MASK + SEQUENCE_MARGIN > dst.len()
    {
        return None;
    }
    // SAFETY: the condition above leaves `SHORT_MATCH_MARGIN` bytes at `at`, and `from < at` (#
    // Safety).
    let (end, end_bytes) = unsafe { short_match(src, from, at) }?;
    let extra = end - at - MIN_MATCH + back;
    let distance = ((at - from) as u16).to_le_bytes();
    // SAFETY: the condition leaves `RUN_MASK + SEQUENCE_MARGIN` (39) bytes at `out`; the stores end
    // at 17 and at `1 + literals + 2`. More than 16 bytes of `src` lie at `anchor`, since `anchor
    // <= at` and `SHORT_MATCH_MARGIN` lie at `at`.
    unsafe {
        dst.store(out, (literals << 4 | extra) as u8);
        dst.store::<u128>(out + 1, load(src, anchor));
        dst.store(out + 1 + literals, distance);
    }
    // SAFETY: a short match ends `MF_LIMIT` bytes or more before the end of `src`
    // (`SHORT_MATCH_MARGIN`), and the candidate for its end lies before it (`Finder`).
    unsafe {
        next.from = finder.insert_end(src, end, end_bytes);
        (next.at, next.out) = (end, out + 3 + literals);
        Some(F::is_match(src, next.from, end) && put_short_matches(finder, src, dst, next))
    }
}

/// Writes consecutive matches of up to 11 bytes without literals between them. Returns whether the
/// candidate it ends with is a match (a longer one, or one near the end of a buffer).
///
/// # Safety
/// For `next`: `from < at`, `at + MF_LIMIT <= src.len()`, and the first `MIN_MATCH` bytes match.
#[inline(always)]
unsafe fn put_short_matches<F: Finder>(
    finder: &mut F,
    src: &[u8],
    dst: &mut UncheckedDst,
    next: &mut Candidate,
) -> bool {
    let Candidate { at, from, out } = next;
    while *at + SHORT_MATCH_MARGIN <= src.len() && *out + SEQUENCE_MARGIN <= dst.len() {
        // SAFETY: `*from < *at`, at first by the caller (# Safety), then since a candidate lies
        // before its position (`Finder`). The loop's condition leaves `SHORT_MATCH_MARGIN` bytes at
        // `*at`.
        let Some((end, end_bytes)) = (unsafe { short_match(src, *from, *at) }) else {
            return true;
        };
        let sequence = (*at - *from) << 8 | (end - *at - MIN_MATCH);
        // SAFETY: the loop's condition leaves `SEQUENCE_MARGIN` bytes, more than the four that are
        // stored.
        unsafe { dst.store(*out, (sequence as u32).to_le()) };
        *out += 3;
        *at = end;
        // SAFETY: a short match ends `MF_LIMIT` bytes or more before the end of `src`
        // (`SHORT_MATCH_MARGIN`), and the candidate for its end lies before it (`Finder`).
        unsafe {
            *from = finder.insert_end(src, end, end_bytes);
            if !F::is_match(src, *from, end) {
                return false;
            }
        }
    }
    true
}

/// How far a stream is written.
#[derive(Default)]
struct Progress {
    /// The last position that was inserted.
    at: usize,
    /// All data before it are written.
    anchor: usize,
    /// Where the next sequence is written.
    out: usize,
}

/// Writes the match of `progress.at` with `from`, which ends at `end` if all of it is used. It
/// begins `back` bytes sooner, behind `literals`. Then `progress` goes on to its end, and true is
/// returned, or false if no match may begin there. `None` if `dst` is too short.
///
/// # Safety
/// `from < progress.at <= src.len() - MF_LIMIT`, and `end` is what [`match_end`] returns.
#[inline(always)]
unsafe fn put_match(
    src: &[u8],
    dst: &mut UncheckedDst,
    (from, end): (usize, usize),
    (literals, back): (usize, usize),
    progress: &mut Progress,
) -> Option<bool> {
    let Progress { at, anchor, out } = progress;
    let mut sequence = Sequence {
        anchor: *anchor,
        literals,
        distance: ((*at - from) as u16).to_le_bytes(),
        extra_len: end - *at + back - MIN_MATCH,
    };
    if sequence.has_margins(src, dst.len() - *out) {
        // SAFETY: `has_margins` is what the function requires.
        *out = unsafe { put_sequence_unchecked(dst, *out, src, sequence) };
    } else {
        cold_path();
        // A match must end before the last `LAST_LITERALS` bytes.
        let end = end.min(src.len() - LAST_LITERALS);
        sequence.extra_len = end - *at + back - MIN_MATCH;
        *out = put_sequence(dst.slice(), *out, src, sequence)?;
        if end > src.len() - MF_LIMIT {
            *anchor = end;
            return Some(false);
        }
    }
    *at = end;
    *anchor = end;
    Some(true)
}

/// Writes a match and those that begin where the one before ends. `progress` goes on to where no
/// match begins. Returns whether a match may begin behind that; `None` if `dst` is too short. With
/// `TRY_SHORT`, short sequences are tried first, and `short_misses` counts how often in a row that
/// did not succeed.
///
/// # Safety
/// `from < progress.at <= src.len() - MF_LIMIT`, and the first `MIN_MATCH` bytes match.
/// `progress.anchor <= progress.at`.
#[inline(always)]
unsafe fn put_adjacent_matches<F: Finder, const TRY_SHORT: bool>(
    finder: &mut F,
    src: &[u8],
    dst: &mut UncheckedDst,
    mut from: usize,
    progress: &mut Progress,
    short_misses: &mut u32,
) -> Option<bool> {
    let last = src.len() - MF_LIMIT;
    loop {
        debug_assert!(progress.anchor <= progress.at && from < progress.at && progress.at <= last);
        // The next search waits for the end, so it is found before the beginning. SAFETY: `from <
        // progress.at` (# Safety, or `Finder` in later rounds), and `progress.at <= last`.
        let known_end = (!TRY_SHORT).then(|| unsafe { match_end(src, from, progress.at) });
        let mut literals = progress.at - progress.anchor;
        let mut back = 0;
        if literals > 0 {
            // SAFETY: the limit is at most `from`; the rest is as for `match_end`.
            back = unsafe { match_len_backward(src, from, progress.at, literals.min(from)) };
            literals -= back;
        }
        if TRY_SHORT {
            let mut next = Candidate {
                at: progress.at,
                from,
                out: progress.out,
            };
            let pending = (progress.anchor, literals, back);
            // SAFETY: as for `match_len_backward`; the first `MIN_MATCH` bytes match by `is_match`,
            // or as the caller ensures (# Safety).
            match unsafe { put_short_sequences(finder, src, dst, pending, &mut next) } {
                Some(more) => {
                    *short_misses = 0;
                    from = next.from;
                    progress.at = next.at;
                    progress.anchor = next.at;
                    progress.out = next.out;
                    if !more {
                        return Some(true);
                    }
                    (literals, back) = (0, 0);
                }
                None => *short_misses += 1,
            }
        }
        let end = match known_end {
            Some(end) => end,
            // SAFETY: as above, also behind short matches, which end `MF_LIMIT` bytes before the
            // end of `src`.
            None => unsafe { match_end(src, from, progress.at) },
        };
        // SAFETY: as for `match_end`, which has returned `end`.
        if !unsafe { put_match(src, dst, (from, end), (literals, back), progress) }? {
            return Some(false);
        }
        let at = progress.at;
        // SAFETY: `at <= last`, as `put_match` returned true, so 12 bytes lie there. Both positions
        // are higher than all that were inserted before, since a match is at least `MIN_MATCH`
        // long, so `from < at` (`Finder`).
        unsafe {
            finder.insert(src, at - 2);
            from = finder.insert(src, at);
            if !F::is_match(src, from, at) {
                return Some(true);
            }
        }
    }
}

/// Writes the stream. Returns its length, or `None` if `dst` is too short. Compiled once for each
/// kind of table.
///
/// # Why no input makes the unchecked accesses go out of bounds
/// - Loads: a match begins at `at <= last`, so `MF_LIMIT` bytes of `src` lie there. Its candidate
///   lies before it, as tables only return positions that were inserted before.
///   [`put_short_sequences`] checks for `SHORT_MATCH_MARGIN` bytes at `at`, so a short match (of
///   `MIN_MATCH + MAX_SHORT_EXTRA` bytes at most) ends `MF_LIMIT` bytes before the end of `src`.
///   Other matches are cut at `src.len() - LAST_LITERALS`, and the loop ends behind a match that
///   ends behind `last`.
/// - Stores: [`put_short_sequences`] checks for `RUN_MASK + SEQUENCE_MARGIN` bytes left in `dst`,
///   and stores no more than 17 of them (a token and 16 bytes, over whose end the distance may go
///   by one). [`put_short_matches`] checks for `SEQUENCE_MARGIN` bytes each time and stores four.
///   Other sequences are written without checks only if [`Sequence::has_margins`], and otherwise by
///   `put_sequence`, which checks each part.
///
/// Debug builds (the tests and the fuzz targets) assert every access, in [`load`] and
/// [`UncheckedDst`].
#[inline(never)]
fn encode<F: Finder>(
    mut finder: F,
    acceleration: usize,
    src: &[u8],
    dst: &mut [u8],
) -> Option<usize> {
    let mut dst = UncheckedDst::new(dst);
    let mut now = Progress::default();
    let mut short_misses = 0;
    if src.len() > MF_LIMIT {
        // The last position at which a match may begin.
        let last = src.len() - MF_LIMIT;
        // SAFETY: `src` has more than `MF_LIMIT` (12) bytes.
        unsafe { finder.insert(src, 0) };
        while let Some((at, from)) = {
            // SAFETY: `last + MF_LIMIT` is the length of `src`.
            unsafe { find_match(&mut finder, acceleration, src, now.at, last) }
        } {
            now.at = at;
            let tries_short = short_misses < MAX_SHORT_MISSES;
            let misses = &mut short_misses;
            let (finder, dst) = (&mut finder, &mut dst);
            // SAFETY: `find_match` returns a match at `last` at most, whose candidate lies before
            // it, and behind `now.at`, which is not before `now.anchor`.
            let more = unsafe {
                match tries_short {
                    true => {
                        put_adjacent_matches::<F, true>(finder, src, dst, from, &mut now, misses)
                    }
                    false => {
                        put_adjacent_matches::<F, false>(finder, src, dst, from, &mut now, misses)
                    }
                }
            }?;
            if !more {
                break;
            }
        }
    }
    put_last_literals(dst.slice(), now.out, &src[now.anchor..])
}
