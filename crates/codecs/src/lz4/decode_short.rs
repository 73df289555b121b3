//! The decoding loops for sequences with up to 32 literals and matches of up to 48 bytes, which
//! text and unshuffled numbers consist of. They stop at others.
//!
//! The position of the next sequence depends on the token of this one. So what takes time is the
//! way from one token to the next (the load of the token, and an addition to the position) and
//! mispredicted branches. There are two loops, since one saves the first, the other the second:
//!
//! - [`decode_predictable`] branches on whether a match is longer than 16 bytes, and copies no more
//!   if it is not.
//! - [`decode_branchless`] always loads the extra byte of the length, and copies 32 bytes. Where
//!   many matches are longer than 16 bytes, branches on their lengths would be mispredicted.
//!
//! [`decode`](super::decode_fast::decode) chooses by what the last kilobytes were like
//! ([`Recent`]). The loops are functions of their own, so that all their values stay in registers.

use core::hint::{black_box, cold_path};

use super::format::{LAST_LITERALS, MIN_MATCH, MIN_REST, RUN_MASK};
use crate::copy::replicate;
use crate::unaligned::load;
use crate::unchecked::UncheckedDst;

/// The size of token and distance: of a sequence without its literals.
const WITHOUT_LITERALS: usize = 1 + 2;
/// A step in which short matches are copied. They have this distance or a greater one.
const SHORT_STEP: usize = 8;
/// The longest match that is copied in two steps of `SHORT_STEP`.
const SHORT_MATCH: usize = 2 * SHORT_STEP;
/// A step in which longer matches are copied. They have this distance or a greater one.
pub(super) const LONG_STEP: usize = 16;
/// The most bytes that [`repeat_short`](UncheckedDst::repeat_short) writes.
pub(super) const SHORT_MATCH_STEP: usize = 24;
/// The longest match that [`decode_branchless`] copies without a branch.
const BRANCHLESS_MATCH: usize = 2 * LONG_STEP;
/// The longest match that the loops copy.
const LONGEST_MATCH: usize = 3 * LONG_STEP;
/// The most literals that the loops copy.
const LONGEST_LITERALS: usize = 2 * LONG_STEP;
/// This many bytes of the stream lie where a sequence begins that is decoded here: token, an extra
/// byte, literals, and what follows these at least, which is more than distance and another extra
/// byte.
pub(super) const SRC_MARGIN: usize = 1 + 1 + LONGEST_LITERALS + MIN_REST;
/// This many bytes of the data lie there: literals, a match, and the literals of the last sequence,
/// within which no match may end.
pub(super) const DST_MARGIN: usize = LONGEST_LITERALS + LONGEST_MATCH + LAST_LITERALS;
/// Fewer bytes of the stream than this say nothing of the lengths of its matches.
const MIN_SAMPLE: usize = 64;
/// Lengths are predictable if there are at least this many bytes of the stream for each match of
/// more than `SHORT_MATCH` bytes. A branch that is mispredicted takes as long as
/// [`decode_branchless`] takes more than the other loop for some 20 sequences.
const BYTES_PER_LONGER_MATCH: usize = 80;
/// The short loops pay if there are at least this many bytes of the stream for each sequence at
/// which they stop, which costs a mispredicted branch and two calls.
const BYTES_PER_EXCEPTION: usize = 128;
/// Counts are halved from so many bytes of the stream on: what comes is like what was last.
const MAX_SAMPLE: usize = 8 << 10;
const _: () =
    assert!(2 < MIN_REST && RUN_MASK - 1 <= LONG_STEP && SHORT_MATCH_STEP <= LONGEST_MATCH);

impl UncheckedDst<'_> {
    /// Copies a match of up to 18 bytes from `distance` before `at` to `at`. Up to
    /// [`SHORT_MATCH_STEP`] bytes are written.
    ///
    /// # Safety
    /// `1 <= distance <= at`, and `at + SHORT_MATCH_STEP <= self.len()`.
    #[inline(always)]
    pub(super) unsafe fn repeat_short(&mut self, at: usize, distance: usize) {
        debug_assert!(1 <= distance && distance <= at && at + SHORT_MATCH_STEP <= self.len());
        let from = at - distance;
        // SAFETY: `from` is not negative since `distance <= at` (# Safety). Loads end at `from +
        // 18`, before `at + 18`. Stores end at `at + 18`, or at `at + 2 * whole + 8` with `whole <=
        // 8`: at `at + SHORT_MATCH_STEP` at most.
        unsafe {
            let first = self.load::<u64>(from);
            if distance >= 8 {
                self.store(at, first);
                self.store::<u64>(at + 8, self.load(from + 8));
                self.store::<u16>(at + 16, self.load(from + 16));
            } else {
                cold_path();
                let (eight, whole) = replicate(u64::from_le(first), distance);
                self.store(at, eight.to_le());
                self.store(at + whole, eight.to_le());
                self.store(at + 2 * whole, eight.to_le());
            }
        }
    }
}

/// What the short loops decoded lately.
#[derive(Default)]
pub(super) struct Recent {
    /// How many bytes of the stream.
    pub(super) read: usize,
    /// At how many sequences they stopped.
    pub(super) exceptions: usize,
    /// How many matches had more than `SHORT_MATCH` bytes.
    longer_matches: usize,
}

impl Recent {
    /// Whether they are faster than the general loop.
    #[inline(always)]
    pub(super) fn pays(&self) -> bool {
        self.exceptions * BYTES_PER_EXCEPTION <= self.read
    }

    /// Whether the lengths of matches are predictable, if that is known.
    #[inline(always)]
    pub(super) fn predictable(&self) -> Option<bool> {
        (self.read >= MIN_SAMPLE)
            .then_some(self.longer_matches * BYTES_PER_LONGER_MATCH < self.read)
    }

    /// Halves the counts if they are large.
    #[inline(always)]
    pub(super) fn forget(&mut self) {
        if self.read >= MAX_SAMPLE {
            self.read /= 2;
            self.exceptions /= 2;
            self.longer_matches /= 2;
        }
    }
}

/// The loop that branches on the lengths of matches. It decodes from `at` in the stream and `out`
/// in the data on, and stops at a sequence with more than `LONGEST_LITERALS`, or a match of more
/// than `LONGEST_MATCH`, or a distance that is greater than the data or too small for the steps, or
/// that begins behind `last_token` or `last_out`. Returns where that sequence begins, in stream and
/// data. Some of its literals may have been written.
///
/// # Safety
/// `SRC_MARGIN` bytes of `src` lie at `last_token`, or it is less than `at`; `DST_MARGIN` bytes of
/// `dst` lie at `last_out`, or it is less than `out`; `LONG_STEP <= out`.
#[inline(never)]
pub(super) unsafe fn decode_predictable(
    src: &[u8],
    mut dst: UncheckedDst,
    (mut at, mut out): (usize, usize),
    (last_token, last_out): (usize, usize),
    recent: &mut Recent,
) -> (usize, usize) {
    debug_assert!(LONG_STEP <= out);
    let mut longer_matches = 0;
    // `black_box` makes the compiler add this to the position while the token is loaded, and not to
    // the sum afterwards.
    let without_literals = black_box(WITHOUT_LITERALS);
    while at <= last_token && out <= last_out {
        debug_assert!(at + SRC_MARGIN <= src.len() && out + DST_MARGIN <= dst.len());
        // SAFETY: `at <= last_token` and `out <= last_out`, so the margins lie there (# Safety):
        // token and 16 bytes of literals, and more than 16.
        let token = usize::from(unsafe {
            // First, since the next sequence waits for it.
            let token = load::<u8>(src, at);
            dst.store::<u128>(out, load(src, at + 1));
            token
        });
        let (literals, match_code) = (token >> 4, token & RUN_MASK);
        if literals == RUN_MASK {
            cold_path();
            // SAFETY: the same conditions, and the margins lie at `at` and `out`.
            match unsafe { decode_long_literals(src, dst.reborrow(), (at, out)) } {
                Some(next) => (at, out) = next,
                None => break,
            }
            continue;
        }
        let (next, end) = (at + without_literals + literals, out + literals);
        // SAFETY: `next` is at most `WITHOUT_LITERALS + RUN_MASK - 1` behind `at`, which is less
        // than `SRC_MARGIN`.
        let distance = usize::from(u16::from_le_bytes(unsafe { load(src, next - 2) }));
        let mut len = match_code + MIN_MATCH;
        // The second check says that the distance is from `SHORT_STEP` to `end`; `end - SHORT_STEP`
        // is not negative since `LONG_STEP <= out`.
        if len <= SHORT_MATCH && distance.wrapping_sub(SHORT_STEP) <= end - SHORT_STEP {
            // SAFETY: the checks; `end` is at most `RUN_MASK - 1` behind `out`, where `DST_MARGIN`
            // bytes lie.
            unsafe { copy_short(&mut dst, end, distance) };
            (at, out) = (next, end + len);
            continue;
        }
        cold_path();
        if len <= SHORT_MATCH && distance.wrapping_sub(1) < SHORT_STEP {
            // SAFETY: the distance is from 1 to `SHORT_STEP`, which is less than `LONG_STEP <= out
            // <= end`. `end` is at most `RUN_MASK - 1` behind `out`, where `DST_MARGIN` bytes lie,
            // so `LONGEST_MATCH` lie at `end`, and `SHORT_MATCH_STEP` are fewer (asserted above).
            unsafe { dst.repeat_short(end, distance) };
            (at, out) = (next, end + len);
            continue;
        }
        let mut behind_match = next;
        if match_code == RUN_MASK {
            // SAFETY: `next` is less than `SRC_MARGIN` behind `at`.
            len += usize::from(unsafe { load::<u8>(src, next) });
            behind_match += 1;
        }
        if len > LONGEST_MATCH || distance < LONG_STEP || distance > end {
            break;
        }
        longer_matches += 1;
        // SAFETY: the check; `end` is at most `RUN_MASK - 1` behind `out`, where `DST_MARGIN` bytes
        // lie.
        unsafe { copy_long(&mut dst, end, distance) };
        (at, out) = (behind_match, end + len);
    }
    recent.longer_matches += longer_matches;
    (at, out)
}

/// Like [`decode_predictable`], but it does not branch on the lengths of most matches, nor on the
/// number of literals if it is in the token.
///
/// # Safety
/// As for [`decode_predictable`].
#[inline(never)]
pub(super) unsafe fn decode_branchless(
    src: &[u8],
    mut dst: UncheckedDst,
    (mut at, mut out): (usize, usize),
    (last_token, last_out): (usize, usize),
    recent: &mut Recent,
) -> (usize, usize) {
    debug_assert!(LONG_STEP <= out);
    let mut longer_matches = 0_usize;
    // As in the other loop.
    let without_literals = black_box(WITHOUT_LITERALS);
    while at <= last_token && out <= last_out {
        debug_assert!(at + SRC_MARGIN <= src.len() && out + DST_MARGIN <= dst.len());
        // SAFETY: `at <= last_token` and `out <= last_out`, so the margins lie there (# Safety):
        // token and 16 bytes of literals, and more than 16.
        let token = usize::from(unsafe {
            // First, since the next sequence waits for it.
            let token = load::<u8>(src, at);
            dst.store::<u128>(out, load(src, at + 1));
            token
        });
        let literals = token >> 4;
        if literals == RUN_MASK {
            cold_path();
            // SAFETY: the same conditions, and the margins lie at `at` and `out`.
            match unsafe { decode_long_literals(src, dst.reborrow(), (at, out)) } {
                Some(next) => (at, out) = next,
                None => break,
            }
            continue;
        }
        // The number of literals, and 1 for an extra byte of the match: a code of 15 carries.
        // Either takes the place of a byte in the stream.
        let extra_or_literals = (token + 1) >> 4;
        // All bits (-1) if there is an extra byte, else none.
        let mask = literals.wrapping_sub(extra_or_literals);
        let (next, end) = (at + without_literals + extra_or_literals, out + literals);
        // SAFETY: there are at most `RUN_MASK - 1` literals, and token, literals, distance and an
        // extra byte are fewer than `SRC_MARGIN` bytes. If there is no extra byte, the one that is
        // loaded belongs to the next sequence.
        let (distance, extra) = unsafe {
            (
                usize::from(u16::from_le_bytes(load(src, at + literals + 1))),
                usize::from(load::<u8>(src, at + literals + WITHOUT_LITERALS)) & mask,
            )
        };
        let len = (token & RUN_MASK) + MIN_MATCH + extra;
        // Those with an extra byte are counted, since that costs one instruction.
        longer_matches = longer_matches.wrapping_sub(mask);
        // The first check says that the distance is from `LONG_STEP` to `end`; `end - LONG_STEP` is
        // not negative since `LONG_STEP <= out`.
        if distance.wrapping_sub(LONG_STEP) <= end - LONG_STEP && len <= BRANCHLESS_MATCH {
            // SAFETY: the check; `end` is at most `RUN_MASK - 1` behind `out`, where `DST_MARGIN`
            // bytes lie. Steps of `SHORT_STEP` for what most matches have: a load waits if its
            // bytes come from several stores, and there are fewer of those.
            unsafe {
                copy_short(&mut dst, end, distance);
                dst.store::<u128>(end + LONG_STEP, dst.load(end + LONG_STEP - distance));
            }
            (at, out) = (next, end + len);
            continue;
        }
        cold_path();
        if distance.wrapping_sub(1) >= end {
            break;
        }
        // SAFETY: the checks here and above; `end` is at most `RUN_MASK - 1` behind `out`, where
        // `DST_MARGIN` bytes lie.
        unsafe {
            if len <= SHORT_MATCH {
                dst.repeat_short(end, distance);
            } else if len <= LONGEST_MATCH && distance >= LONG_STEP {
                copy_long(&mut dst, end, distance);
            } else {
                break;
            }
        }
        (at, out) = (next, end + len);
    }
    recent.longer_matches += longer_matches;
    (at, out)
}

/// Decodes a sequence at `at` and `out` whose literals have extra bytes. Returns the positions of
/// the next one, or `None` if there are more than `LONGEST_LITERALS`, or the match is not one that
/// [`copy_long`] can copy.
///
/// # Safety
/// `SRC_MARGIN` bytes of `src` lie at `at`, and `DST_MARGIN` bytes of `dst` at `out`; `LONG_STEP <=
/// out`.
#[inline(always)]
unsafe fn decode_long_literals(
    src: &[u8],
    mut dst: UncheckedDst,
    (at, out): (usize, usize),
) -> Option<(usize, usize)> {
    // SAFETY: `SRC_MARGIN` is more than 2.
    let [token, extra] = unsafe { load::<[u8; 2]>(src, at) }.map(usize::from);
    let literals = RUN_MASK + extra;
    if literals > LONGEST_LITERALS {
        return None;
    }
    let from = at + 2;
    // SAFETY: `LONGEST_LITERALS` bytes lie at `from` and at `out`, and `MIN_REST` behind the
    // literals in the source: distance and an extra byte.
    let (distance, extra) = unsafe {
        dst.store::<u128>(out, load(src, from));
        dst.store::<u128>(out + LONG_STEP, load(src, from + LONG_STEP));
        (
            usize::from(u16::from_le_bytes(load(src, from + literals))),
            usize::from(load::<u8>(src, from + literals + 2)),
        )
    };
    let (mut next, end) = (from + literals + 2, out + literals);
    let mut len = (token & RUN_MASK) + MIN_MATCH;
    if len == RUN_MASK + MIN_MATCH {
        len += extra;
        next += 1;
    }
    if len > LONGEST_MATCH || distance < LONG_STEP || distance > end {
        return None;
    }
    // SAFETY: the check; `LONGEST_MATCH` bytes lie behind `LONGEST_LITERALS` bytes of literals.
    unsafe { copy_long(&mut dst, end, distance) };
    Some((next, end + len))
}

/// Copies a match of up to `SHORT_MATCH` bytes from `distance` before `at` to `at`.
///
/// # Safety
/// `SHORT_STEP <= distance <= at`, and `at + SHORT_MATCH <= dst.len()`.
#[inline(always)]
unsafe fn copy_short(dst: &mut UncheckedDst, at: usize, distance: usize) {
    debug_assert!(SHORT_STEP <= distance && distance <= at);
    let from = at - distance;
    // SAFETY: loads begin at 0 or later and end where this step's store begins, or before;
    // `SHORT_MATCH` bytes lie at `at` (# Safety).
    unsafe {
        dst.store::<u64>(at, dst.load(from));
        dst.store::<u64>(at + SHORT_STEP, dst.load(from + SHORT_STEP));
    }
}

/// Copies a match of up to `LONGEST_MATCH` bytes from `distance` before `at` to `at`.
///
/// # Safety
/// `LONG_STEP <= distance <= at`, and `at + LONGEST_MATCH <= dst.len()`.
#[inline(always)]
unsafe fn copy_long(dst: &mut UncheckedDst, at: usize, distance: usize) {
    debug_assert!(LONG_STEP <= distance && distance <= at);
    for step in [0, LONG_STEP, 2 * LONG_STEP] {
        // SAFETY: loads begin at 0 or later and end where this step's store begins, or before;
        // `LONGEST_MATCH` bytes lie at `at` (# Safety).
        unsafe { dst.store::<u128>(at + step, dst.load(at + step - distance)) };
    }
}
