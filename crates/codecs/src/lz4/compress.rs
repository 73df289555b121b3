//! The compressor: a greedy parse with one candidate per position, which skips more positions the longer it finds no match.
//!
//! It takes the matches that the LZ4 library takes, so the streams are the same bytes, and a test compares the two. The code is
//! arranged for shuffled data. Whether a candidate is within the window is unpredictable in a long stream with few matches, so it
//! is not a branch of its own. The end of a match is found before its beginning, because the next search depends on the end. The
//! backward extension compares eight bytes at once. Bit planes, some of them noise, take two thirds of the time this way.

use core::hint::{cold_path, select_unpredictable};

use super::decompress::{LAST_LITERALS, MF_LIMIT, MIN_MATCH, RUN_MASK};
use crate::copy::copy_all;
use crate::table::{Table, hash, position};
use crate::unaligned::{first_mismatch, load, xor8};
use crate::unchecked::UncheckedDst;
use oxiblosc_error::Result;

/// Binary logarithm of the number of slots in the table with 16-bit positions.
const NARROW_LOG: u32 = 13;
/// The same for the table with 32-bit positions.
const WIDE_LOG: u32 = 12;
/// The longest stream for 16-bit positions. It is longer than 64 KiB because no match begins in the last bytes.
const MAX_NARROW_STREAM: usize = (1 << 16) + MF_LIMIT - 2;
/// Shorter streams share a table that is not cleared between them.
const SHORT_STREAM: usize = 8192;
/// After so many sequences of a short stream, if so many bytes are left, its entries are made those of a cleared table. That takes as long as
/// some 30 sequences, each of which takes an eighth less then.
const MANY_SEQUENCES: usize = 32;
const LONG_REST: usize = 2048;
/// Matches reach back less than this.
const WINDOW: usize = 1 << 16;
/// After `1 << SKIP_TRIGGER` positions without a match, the search step grows by one.
const SKIP_TRIGGER: u32 = 6;
/// The destination must have this much room, besides the literals, for a sequence to be written without checks.
///
/// [`put_sequence_unchecked`] needs at most 17 of it. A last sequence of 6 bytes must fit behind the sequence as well, or the
/// library would have given up; token, distance, one extra byte per length and the last sequence are 11.
const SEQUENCE_MARGIN: usize = 24;

/// The compressor's hash tables.
#[derive(Default)]
pub(super) struct Tables {
    narrow: Table<u16, { 1 << NARROW_LOG }>,
    wide: Table<u32, { 1 << WIDE_LOG }>,
}

impl Tables {
    /// Compresses `src` into `dst`. Returns the bytes written, or 0 if they do not fit. A search tries two positions one after the
    /// other, then every `acceleration`-th.
    pub(super) fn compress(
        &mut self,
        acceleration: usize,
        src: &[u8],
        dst: &mut [u8],
    ) -> Result<usize> {
        let len = src.len();
        let mut progress = Progress::default();
        let written = if len < SHORT_STREAM {
            let (slots, base) = self.narrow.without_clearing(len)?;
            let finder = Narrow::<true> { slots, base };
            let written = encode(finder, acceleration, src, dst, &mut progress);
            if progress.is_paused {
                let slots = self.narrow.rebased(base, len)?;
                let finder = Narrow::<false> { slots, base: 0 };
                encode(finder, acceleration, src, dst, &mut progress)
            } else {
                written
            }
        } else if len <= MAX_NARROW_STREAM {
            let slots = self.narrow.cleared(len, 1 << NARROW_LOG)?;
            let finder = Narrow::<false> { slots, base: 0 };
            encode(finder, acceleration, src, dst, &mut progress)
        } else {
            let slots = self.wide.cleared(len, 1 << WIDE_LOG)?;
            encode(Wide { slots }, acceleration, src, dst, &mut progress)
        };
        Ok(written.unwrap_or(0))
    }
}

/// A hash table of positions. Positions are inserted in increasing order, from 0 on; an empty slot reads as 0. So every candidate
/// lies before the position that it is a candidate for, unless that is 0.
trait Finder {
    /// Whether a candidate may lie outside the window.
    const CHECK_WINDOW: bool;
    /// Whether the search pauses once it has found some matches, if much is left.
    const PAUSES: bool = false;

    /// The slot for a position, given five bytes there or more, the first one lowest.
    fn slot(&self, bytes: u64) -> usize;

    /// Stores `at` in a slot and returns the position that was there.
    fn replace(&mut self, slot: usize, at: usize) -> usize;

    /// Inserts `at` and returns the candidate: the last position with the same hash.
    ///
    /// # Safety
    /// `at + 8 <= src.len()`.
    #[inline(always)]
    unsafe fn insert(&mut self, src: &[u8], at: usize) -> usize {
        // SAFETY: the caller promises eight bytes at `at`.
        self.insert_bytes(at, u64::from_le(unsafe { load(src, at) }))
    }

    /// The same where the first five bytes at `at`, or more, are known, the first one lowest.
    #[inline(always)]
    fn insert_bytes(&mut self, at: usize, bytes: u64) -> usize {
        let candidate = self.replace(self.slot(bytes), at);
        debug_assert!(candidate < at || at == 0);
        candidate
    }

    /// Inserts the second position before a match's end and its end, where `there` are five bytes or more, and returns the candidate.
    ///
    /// # Safety
    /// `end + MF_LIMIT <= src.len()`, and `end >= 2`.
    #[inline(always)]
    unsafe fn insert_end(&mut self, src: &[u8], end: usize, there: u64) -> usize {
        // SAFETY: the caller promises 12 bytes at `end`.
        unsafe { self.insert(src, end - 2) };
        self.insert_bytes(end, there)
    }

    /// Whether the first four bytes match and the candidate `from` lies in the window.
    ///
    /// # Safety
    /// `from <= at` and `at + 4 <= src.len()`.
    #[inline(always)]
    unsafe fn is_match(src: &[u8], from: usize, at: usize) -> bool {
        // SAFETY: the caller promises four bytes at `at`, and `from` is not after it.
        let xor = unsafe { load::<u32>(src, from) ^ load::<u32>(src, at) };
        let outside = if Self::CHECK_WINDOW {
            (at - from) / WINDOW
        } else {
            0
        };
        outside as u32 | xor == 0
    }
}

/// A table of 16-bit positions. With `REUSED` it was not cleared: entries below `base` are stale.
struct Narrow<'a, const REUSED: bool> {
    slots: &'a mut [u16; 1 << NARROW_LOG],
    base: usize,
}

impl<const REUSED: bool> Finder for Narrow<'_, REUSED> {
    const CHECK_WINDOW: bool = false;
    const PAUSES: bool = REUSED;

    #[inline(always)]
    fn slot(&self, bytes: u64) -> usize {
        hash::<NARROW_LOG>(bytes as u32)
    }

    #[inline(always)]
    fn replace(&mut self, slot: usize, at: usize) -> usize {
        if REUSED {
            let entry = core::mem::replace(&mut self.slots[slot], (self.base + at) as u16);
            // A stale entry reads as position 0, like an empty slot.
            position(entry.into(), self.base, at)
        } else {
            core::mem::replace(&mut self.slots[slot], at as u16).into()
        }
    }
}

/// A table of 32-bit positions.
struct Wide<'a> {
    slots: &'a mut [u32; 1 << WIDE_LOG],
}

impl Finder for Wide<'_> {
    const CHECK_WINDOW: bool = true;

    #[inline(always)]
    fn slot(&self, bytes: u64) -> usize {
        // Hashes five bytes. In a long stream four would give too many candidates that match in no more than four. The factor
        // is the LZ4 library's, since the streams are to be the same.
        let five = bytes << 24;
        (five.wrapping_mul(889_523_592_379) >> (64 - WIDE_LOG)) as usize
    }

    #[inline(always)]
    fn replace(&mut self, slot: usize, at: usize) -> usize {
        core::mem::replace(&mut self.slots[slot], at as u32) as usize
    }
}

/// How many extra bytes encode a length that does not fit into a token.
pub(super) fn extra_bytes(len: usize) -> usize {
    (len + 255 - RUN_MASK) / 255
}

/// Writes the extra bytes of a length at `out`. Returns where they end.
fn put_extra_bytes(dst: &mut [u8], out: usize, len: usize) -> usize {
    let end = out + extra_bytes(len);
    if let Some((last, full)) = dst[out..end].split_last_mut() {
        full.fill(255);
        *last = ((len - RUN_MASK) % 255) as u8;
    }
    end
}

/// Writes a token and literals, which must fit. Returns where they end.
fn put_literals(dst: &mut [u8], out: usize, literals: &[u8], match_code: usize) -> usize {
    let len = literals.len();
    dst[out] = (len.min(RUN_MASK) << 4 | match_code) as u8;
    let out = put_extra_bytes(dst, out + 1, len);
    copy_all(literals, &mut dst[out..out + len]);
    out + len
}

/// The end of the match at `at`, of which the first 12 bytes (`MIN_MATCH` and eight) are known to match. Requires
/// `at + MF_LIMIT <= src.len()` and `1 <= distance <= at`.
///
/// It finds what `copy::match_len` would find, in steps that suit shuffled data: where a match ends is unpredictable, so no branch
/// depends on it for matches up to 44 bytes.
#[inline(always)]
fn long_match_end(src: &[u8], at: usize, distance: usize) -> usize {
    debug_assert!(at + MF_LIMIT <= src.len() && distance <= at);
    let mut end = at + MIN_MATCH + 8;
    while end + 32 <= src.len() {
        // SAFETY: the loop's condition leaves 32 bytes at `end`; `end - distance` is an earlier position since `distance <= at < end`.
        if let Some(first) = unsafe { first_mismatch(src, end - distance, end) } {
            return end + first;
        }
        end += 32;
    }
    cold_path();
    while end + 16 <= src.len() {
        // SAFETY: the loop's condition leaves 16 bytes at `end`, and `end - distance` is an earlier position.
        let xor = unsafe { load::<u128>(src, end) ^ load::<u128>(src, end - distance) };
        if xor != 0 {
            return end + (u128::from_le(xor).trailing_zeros() / 8) as usize;
        }
        end += 16;
    }
    if end + 8 <= src.len() {
        // SAFETY: the condition leaves 8 bytes at `end`, and `end - distance` is an earlier position.
        let xor = unsafe { xor8(src, end - distance, end) };
        if xor != 0 {
            return end + (xor.trailing_zeros() / 8) as usize;
        }
    }
    cold_path();
    // Compare the last eight bytes, which overlap what is known to match. If all match, the number of zeros is 64, which gives
    // the end of `src`.
    let tail = src.len() - 8;
    // SAFETY: 8 bytes lie at `tail`. It is at least `at + 4` since `at + MF_LIMIT <= src.len()`, so `tail - distance` is an earlier
    // position.
    tail + (unsafe { xor8(src, tail - distance, tail) }.trailing_zeros() / 8) as usize
}

/// The end of the match between `from` and `at`, of which the first `MIN_MATCH` bytes are known.
///
/// # Safety
/// `from < at` and `at + MF_LIMIT <= src.len()`.
#[inline(always)]
pub(in super::super) unsafe fn match_end(src: &[u8], from: usize, at: usize) -> usize {
    // SAFETY: the caller promises 12 bytes at `at`: `MIN_MATCH` and the eight that are compared. `from` is less than `at`.
    let xor = unsafe { xor8(src, from + MIN_MATCH, at + MIN_MATCH) };
    if xor != 0 {
        at + MIN_MATCH + (xor.trailing_zeros() / 8) as usize
    } else {
        long_match_end(src, at, at - from)
    }
}

/// How many bytes before `at` match those before `from`, at most `limit`. Requires `limit <= from < at <= src.len()`. (The
/// LZ4 library calls this step "catch up".)
#[inline(always)]
pub(in super::super) fn match_len_backward(
    src: &[u8],
    from: usize,
    at: usize,
    limit: usize,
) -> usize {
    debug_assert!(limit <= from && from < at && at <= src.len());
    let mut len = 0;
    while from - len >= 8 {
        // SAFETY: `from - len - 8` is not negative by the loop's condition, and `at - len - 8 + 8 <= at <= src.len()`, with `from < at`.
        let xor = unsafe { xor8(src, from - len - 8, at - len - 8) }.swap_bytes();
        // The swap makes the last byte the lowest: where the processor has no instruction to count leading zeros, counting
        // trailing ones is faster.
        if xor != 0 {
            return limit.min(len + (xor.trailing_zeros() / 8) as usize);
        }
        cold_path();
        len += 8;
        if len >= limit {
            return limit;
        }
    }
    cold_path();
    while len < limit && src[at - len - 1] == src[from - len - 1] {
        len += 1;
    }
    len
}

/// Searches for a match from the position after `at` on, and inserts the positions that it tries. Returns the position and its
/// candidate; `None` once the next position would lie behind `last`, which must be `src.len() - MF_LIMIT`.
#[inline(always)]
fn find_match<F: Finder>(
    finder: &mut F,
    acceleration: usize,
    src: &[u8],
    at: usize,
    last: usize,
) -> Option<(usize, usize)> {
    let mut tries = acceleration << SKIP_TRIGGER;
    let mut step = 1;
    let mut at = at + 1;
    loop {
        let next = at + step;
        if next > last + 1 {
            return None;
        }
        // SAFETY: `at < next <= last + 1`, so `at + MF_LIMIT <= src.len()`: 12 bytes lie at `at`. The candidate is an earlier position.
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

/// A sequence: literals, and a match behind them.
#[derive(Clone, Copy)]
pub(super) struct Sequence {
    /// Where the literals begin, and how many there are.
    pub(super) anchor: usize,
    pub(super) literals: usize,
    /// The distance of the match.
    pub(super) distance: [u8; 2],
    /// Its length less `MIN_MATCH`.
    pub(super) extra_len: usize,
}

impl Sequence {
    /// Whether [`put_sequence_unchecked`] may write it where `room` bytes are left.
    #[inline(always)]
    pub(super) fn has_margins(&self, src: &[u8], room: usize) -> bool {
        let Sequence {
            anchor,
            literals,
            extra_len,
            ..
        } = *self;
        literals.max(extra_len) < RUN_MASK + 255
            && room >= literals + SEQUENCE_MARGIN
            && anchor + literals + MIN_MATCH + extra_len + MF_LIMIT <= src.len()
    }
}

/// Writes a sequence at `out` without checks. Returns where it ends.
///
/// # Safety
/// [`Sequence::has_margins`] for the room behind `out`: literals and match have at most one extra byte each.
#[inline(always)]
pub(super) unsafe fn put_sequence_unchecked(
    dst: &mut UncheckedDst,
    mut out: usize,
    src: &[u8],
    sequence: Sequence,
) -> usize {
    let Sequence {
        anchor,
        literals,
        distance,
        extra_len,
    } = sequence;
    debug_assert!(sequence.has_margins(src, dst.len() - out));
    let match_code = extra_len.min(RUN_MASK);
    // SAFETY: Writes, as offsets from the first `out`, must end at `literals + 24` at most. With less than 15 literals they end at 1
    // (token), 17 (16 bytes of literals) and `1 + literals + 3` (distance and extra byte). With more they end at 2 (token and extra
    // byte), at `2 + literals - 1 + 16` (the last step of literals begins before their end) and at `2 + literals + 3`.
    // Reads: the last step of literals begins at `anchor + literals - 1` at most, or at `anchor`, and is 16 bytes long. The match
    // ends at `anchor + literals + 4` at least, and 12 bytes lie behind it, so there are 16 bytes behind the literals.
    unsafe {
        if literals < RUN_MASK {
            dst.store(out, (literals << 4 | match_code) as u8);
            dst.store::<u128>(out + 1, load(src, anchor));
            out += 1 + literals;
        } else {
            cold_path();
            dst.store(out, (RUN_MASK << 4 | match_code) as u8);
            dst.store(out + 1, (literals - RUN_MASK) as u8);
            out += 2;
            for done in (0..literals).step_by(16) {
                dst.store::<u128>(out + done, load(src, anchor + done));
            }
            out += literals;
        }
        dst.store(out, distance);
        // Without an extra byte this is overwritten by the next sequence.
        dst.store(out + 2, extra_len.wrapping_sub(RUN_MASK) as u8);
    }
    out + 2 + usize::from(match_code == RUN_MASK)
}

/// Writes a sequence at `out`, with checks. Returns where it ends; `None` if the sequence and a last one, of literals only, do not fit.
#[inline(always)]
fn put_sequence(dst: &mut [u8], out: usize, src: &[u8], sequence: Sequence) -> Option<usize> {
    let min_last_sequence = 1 + LAST_LITERALS;
    let lengths = extra_bytes(sequence.literals) + extra_bytes(sequence.extra_len);
    if 1 + sequence.literals + 2 + lengths + min_last_sequence > dst.len() - out {
        return None;
    }
    Some(put_fitting_sequence(dst, out, src, sequence))
}

/// Writes a sequence at `out`, which must fit. Returns where it ends.
#[inline(always)]
pub(super) fn put_fitting_sequence(
    dst: &mut [u8],
    out: usize,
    src: &[u8],
    sequence: Sequence,
) -> usize {
    let literals = &src[sequence.anchor..][..sequence.literals];
    let out = put_literals(dst, out, literals, sequence.extra_len.min(RUN_MASK));
    dst[out..out + 2].copy_from_slice(&sequence.distance);
    put_extra_bytes(dst, out + 2, sequence.extra_len)
}

/// Writes the last sequence, which has no match, at `out`. Returns where it ends; `None` if it does not fit.
#[inline(always)]
pub(super) fn put_last_literals(dst: &mut [u8], out: usize, literals: &[u8]) -> Option<usize> {
    if 1 + literals.len() + extra_bytes(literals.len()) > dst.len() - out {
        return None;
    }
    Some(put_literals(dst, out, literals, 0))
}

/// The longest match that [`short_match`] finds, less `MIN_MATCH`.
pub(in super::super) const MAX_SHORT_EXTRA: usize = 7;
/// How many bytes have to lie at a match for [`short_match`].
pub(in super::super) const SHORT_REACH: usize = MIN_MATCH + MAX_SHORT_EXTRA + MF_LIMIT;

/// The end of the match between `from` and `at`, of which the first `MIN_MATCH` bytes are known, and the bytes there, the first one
/// lowest, of which five are right. `None` if it is longer than 11 bytes.
///
/// The next match is often looked for there, and can be only when this is known. These bytes are cut out of what was compared, which
/// takes less time than to load them.
///
/// # Safety
/// `from < at` and `at + SHORT_REACH <= src.len()`.
#[inline(always)]
pub(in super::super) unsafe fn short_match(
    src: &[u8],
    from: usize,
    at: usize,
) -> Option<(usize, u64)> {
    debug_assert!(from < at && at + SHORT_REACH <= src.len());
    // SAFETY: more than 16 bytes lie at `at`, and `from` is less than `at`.
    let (near, xor, ahead) = unsafe {
        let near: u64 = load(src, at + MIN_MATCH);
        let xor = xor8(src, from + MIN_MATCH, at + MIN_MATCH);
        let ahead: u64 = load(src, at + MIN_MATCH + 4);
        (u64::from_le(near), xor, u64::from_le(ahead))
    };
    let bits = xor.trailing_zeros();
    let end = at + MIN_MATCH + (bits / 8) as usize;
    let there = select_unpredictable(bits < 32, near, ahead) >> (bits & 24);
    (xor != 0).then_some((end, there))
}

/// A match between `from` and `at`. Everything before `at` is written.
struct Next {
    at: usize,
    from: usize,
    /// Where the next sequence is written.
    out: usize,
}

/// Writes matches of up to 11 bytes that follow each other without literals. True if there is another match.
///
/// # Safety
/// `from < at` and `at + MF_LIMIT <= src.len()`, and the first `MIN_MATCH` bytes match.
#[inline(always)]
unsafe fn put_short_matches<F: Finder>(
    finder: &mut F,
    src: &[u8],
    dst: &mut UncheckedDst,
    next: &mut Next,
) -> bool {
    let Next { at, from, out } = next;
    while *at + SHORT_REACH <= src.len() && *out + SEQUENCE_MARGIN <= dst.len() {
        // SAFETY: as the caller says, with the loop's condition.
        let Some((end, there)) = (unsafe { short_match(src, *from, *at) }) else {
            return true;
        };
        let sequence = (*at - *from) << 8 | (end - *at - MIN_MATCH);
        // SAFETY: the loop's condition leaves more than four bytes.
        unsafe { dst.store(*out, (sequence as u32).to_le()) };
        *out += 3;
        *at = end;
        // SAFETY: `MF_LIMIT` bytes lie at `end`, and the candidate lies before it.
        unsafe {
            *from = finder.insert_end(src, end, there);
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
    /// Everything before it is written.
    anchor: usize,
    /// Where the next sequence is written.
    out: usize,
    /// Whether the rest is left to a table of another kind.
    is_paused: bool,
}

/// Writes the stream, or what is left of it. Returns its length, or `None` if `dst` is too short or if it pauses. Compiled once for each kind
/// of table.
///
/// # Why no input makes the unchecked accesses go out of bounds
/// - Loads: a match begins at `at <= last`, so `MF_LIMIT` bytes of `src` lie there. Its candidate lies before it, as tables only give positions that
///   were inserted before. The path for short matches has `SHORT_REACH` bytes at `at`, so that a short match, of `MIN_MATCH + MAX_SHORT_EXTRA` bytes
///   at most, still ends `MF_LIMIT` bytes before the end of `src`. Other matches are cut at `src.len() - LAST_LITERALS`, and the loop ends if one ends
///   behind `last`.
/// - Stores: the path for short matches begins with `RUN_MASK + SEQUENCE_MARGIN` bytes left in `dst`, and stores no more than 17 of them (a token and
///   16 bytes, over whose end the distance may go by one). [`put_short_matches`] checks for `SEQUENCE_MARGIN` bytes each time and stores four.
///   Other sequences are written without checks only if [`Sequence::has_margins`], and otherwise by `put_sequence`, which checks each part.
///
/// Debug builds (the tests and the fuzz targets) assert every access, in [`load`] and [`UncheckedDst`].
#[inline(never)]
fn encode<F: Finder>(
    mut finder: F,
    acceleration: usize,
    src: &[u8],
    dst: &mut [u8],
    progress: &mut Progress,
) -> Option<usize> {
    let mut dst = UncheckedDst::new(dst);
    let Progress {
        mut at,
        mut anchor,
        mut out,
        ..
    } = *progress;
    let mut sequences = 0;
    if src.len() > MF_LIMIT {
        // The last position at which a match may begin.
        let last = src.len() - MF_LIMIT;
        if at == 0 {
            // SAFETY: `src` has more than `MF_LIMIT`, that is 12, bytes.
            unsafe { finder.insert(src, 0) };
        }
        'sequences: while let Some(found) = find_match(&mut finder, acceleration, src, at, last) {
            let mut from;
            (at, from) = found;
            loop {
                debug_assert!(from < at && at <= last);
                sequences += usize::from(F::PAUSES);
                let mut literals = at - anchor;
                let mut back = 0;
                if literals > 0 {
                    back = match_len_backward(src, from, at, literals.min(from));
                    literals -= back;
                }
                if literals < RUN_MASK
                    && back < RUN_MASK - MAX_SHORT_EXTRA
                    && at + SHORT_REACH <= src.len()
                    && out + RUN_MASK + SEQUENCE_MARGIN <= dst.len()
                    // SAFETY: `SHORT_REACH` bytes lie at `at`. The candidate `from` is an earlier position.
                    && let Some((end, there)) = unsafe { short_match(src, from, at) }
                {
                    let extra = end - at - MIN_MATCH + back;
                    let distance = ((at - from) as u16).to_le_bytes();
                    // SAFETY: the condition leaves room for 15 bytes and 24 more. More than 16 lie at `anchor`, since as many lie at `at`.
                    unsafe {
                        dst.store(out, (literals << 4 | extra) as u8);
                        dst.store::<u128>(out + 1, load(src, anchor));
                        dst.store(out + 1 + literals, distance);
                    }
                    // SAFETY: `MF_LIMIT` bytes lie at `end`, and the candidate lies before it.
                    let (more, next) = unsafe {
                        let from = finder.insert_end(src, end, there);
                        let out = out + 3 + literals;
                        let mut next = Next { at: end, from, out };
                        let more = F::is_match(src, from, end)
                            && put_short_matches(&mut finder, src, &mut dst, &mut next);
                        (more, next)
                    };
                    Next { at, from, out } = next;
                    anchor = at;
                    if !more {
                        break;
                    }
                    (literals, back) = (0, 0);
                }
                // SAFETY: `at <= last`, so `at + MF_LIMIT <= src.len()`.
                let end = unsafe { match_end(src, from, at) };
                let mut sequence = Sequence {
                    anchor,
                    literals,
                    distance: ((at - from) as u16).to_le_bytes(),
                    extra_len: end - at + back - MIN_MATCH,
                };
                if sequence.has_margins(src, dst.len() - out) {
                    // SAFETY: the condition above is what the function requires.
                    out = unsafe { put_sequence_unchecked(&mut dst, out, src, sequence) };
                } else {
                    cold_path();
                    // The last literals are never part of a match.
                    let end = end.min(src.len() - LAST_LITERALS);
                    sequence.extra_len = end - at + back - MIN_MATCH;
                    out = put_sequence(dst.slice(), out, src, sequence)?;
                    if end > last {
                        anchor = end;
                        break 'sequences;
                    }
                }
                // Where a match ends, another one may begin.
                at = end;
                anchor = end;
                // SAFETY: here `end <= last`, so 12 bytes lie at `at`. Both positions are higher than all inserted so far, since the
                // match is at least `MIN_MATCH` long, so `from` is less than `at`.
                unsafe {
                    finder.insert(src, at - 2);
                    from = finder.insert(src, at);
                    if !F::is_match(src, from, at) {
                        break;
                    }
                }
            }
            if F::PAUSES && sequences >= MANY_SEQUENCES && src.len() - at >= at.max(LONG_REST) {
                *progress = Progress {
                    at,
                    anchor,
                    out,
                    is_paused: true,
                };
                return None;
            }
        }
    }
    put_last_literals(dst.slice(), out, &src[anchor..])
}
