//! The fast loops of the decompressor, which decode nearly all sequences. They copy in fixed steps,
//! which may read and write past the end of what is copied, without a check for each step. Margins
//! at the ends of both buffers make that safe; they are checked once for each sequence.
//!
//! A match may overlap what it writes. For a short distance the repeated bytes are kept in
//! registers, so that no step waits for the store of the step before.
//!
//! # Why no input makes the unchecked accesses go out of bounds
//! Positions and lengths come from the stream, which may be hostile. Each sequence is checked
//! against the [`Limits`], whose comments say what follows from each. The safety comments refer to
//! them, and debug builds (the tests and the fuzz targets) assert every single access.

use core::hint::cold_path;

use super::format::{LAST_LITERALS, MF_LIMIT, MIN_MATCH, MIN_REST, RUN_MASK};
use crate::copy::{copy_all, copy_match, replicate};
use crate::unaligned::load;
use crate::unchecked::{MATCH_OVERRUN, UncheckedDst};
use crate::{PaddedDst, PaddedSrc};

/// This many bytes of the source lie at every token that is decoded here: the token, and 16 bytes
/// of literals that are copied in one step. In a stream without padding the library's own fast loop
/// ends at the same place.
pub(super) const SRC_MARGIN: usize = 1 + 16 + 1;
/// The step in which long literals are copied. Most long literals fit into one step, so the loop's
/// branch is predicted right.
const LITERAL_STEP: usize = 64;
/// The most literals that a token encodes without extra bytes.
const MAX_SHORT_LITERALS: usize = RUN_MASK - 1;
/// The most bytes that [`repeat_short`](UncheckedDst::repeat_short) writes.
const SHORT_MATCH_STEP: usize = 24;
/// The most bytes that a sequence without extra bytes writes: its literals, and a match in fixed
/// steps.
const SHORT_DST_MARGIN: usize = MAX_SHORT_LITERALS + SHORT_MATCH_STEP;
/// The most bytes that any sequence writes before the end of its match is checked: a step of
/// literals.
pub(super) const DST_MARGIN: usize = LITERAL_STEP;
// Sixteen bytes of literals are stored before their number is known, and a short match follows
// without another check.
const _: () = assert!(16 <= DST_MARGIN && SHORT_DST_MARGIN <= DST_MARGIN);

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

    /// Copies the first `len` of `bytes` to `at`. For a `len` up to 32 it copies 32 bytes, if
    /// `bytes` has as many.
    ///
    /// # Safety
    /// `len <= bytes.len()`, and `at + len.max(32) <= self.len()`.
    #[inline(always)]
    unsafe fn copy(&mut self, at: usize, bytes: &[u8], len: usize) {
        debug_assert!(len <= bytes.len() && at + len.max(32) <= self.len());
        if len <= 32 && bytes.len() >= 32 {
            // SAFETY: the condition leaves 32 bytes to load; the caller promises 32 bytes at `at`.
            unsafe {
                self.store::<u128>(at, load(bytes, 0));
                self.store::<u128>(at + 16, load(bytes, 16));
            }
        } else {
            self.slice()[at..at + len].copy_from_slice(&bytes[..len]);
        }
    }
}

/// The sum of the extra bytes of a length. The last of them may lie at `last`. If the length
/// continues behind `last`, the result is larger than any valid length, so that the caller's check
/// rejects it.
///
/// # Safety
/// `last < src.len()`.
#[inline(always)]
unsafe fn extra_length(src: &[u8], at: &mut usize, last: usize) -> usize {
    debug_assert!(last < src.len());
    let mut len = 0;
    while *at <= last {
        // SAFETY: `*at <= last < src.len()`.
        let more = unsafe { load::<u8>(src, *at) };
        *at += 1;
        len += usize::from(more);
        if more != 255 {
            return len;
        }
    }
    usize::MAX / 2
}

/// The last positions at which the steps of [`decode_general`] may happen. `src` and `dst` are the
/// buffers with padding; the stream and the data are without it.
struct Limits {
    /// The last token. `SRC_MARGIN` bytes of `src` lie there, and `MIN_REST` of the stream.
    token: usize,
    /// The last position at which literals may end that a match follows. `MIN_REST` bytes of the
    /// stream lie there, so a distance can be read.
    distance: usize,
    /// The last position at which long literals may end. `LITERAL_STEP` bytes of `src` lie there,
    /// or it is 0.
    literals: usize,
    /// The last position of the data at which a sequence may begin, or long literals may end.
    /// `DST_MARGIN` bytes of the data lie there.
    out: usize,
    /// The last position of the data at which a match may end: as near the end of the data as the
    /// format allows, if there is padding for the overrun. `MATCH_OVERRUN` bytes of `dst` lie
    /// there.
    match_out: usize,
}

impl Limits {
    /// `None` if one of the buffers is shorter than its margin.
    #[inline(always)]
    fn new((src, src_len): (&[u8], usize), (dst, dst_len): (&[u8], usize)) -> Option<Self> {
        let distance = src_len.checked_sub(MIN_REST)?;
        let token = src.len().checked_sub(SRC_MARGIN)?.min(distance);
        Some(Limits {
            token,
            distance,
            literals: src.len().saturating_sub(LITERAL_STEP).min(distance),
            out: dst_len.checked_sub(DST_MARGIN)?,
            match_out: (dst_len - LAST_LITERALS).min(dst.len() - MATCH_OVERRUN),
        })
    }
}

/// Whether both buffers have the margins at these positions that [`decode`] needs.
#[inline(always)]
pub(super) fn has_margins(src: PaddedSrc, dst: &PaddedDst, (at, out): (usize, usize)) -> bool {
    let (src, _) = src.with_padding();
    at + SRC_MARGIN <= src.len() && out + DST_MARGIN <= dst.size()
}

/// Decodes sequences whose matches may reach back into `dict`, starting at `at` in the stream and
/// `out` in the data. It stops at a sequence that begins near an end, or behind `last_out` of the
/// data, or that may be invalid. Returns where that sequence begins, in stream and data. All data
/// before it are decoded; bytes behind it may have been overwritten. Without a dictionary
/// (`WITH_DICT` is false, and `dict` is empty) the loop needs fewer registers.
#[inline(never)]
pub(super) fn decode<const WITH_DICT: bool>(
    dict: &[u8],
    src: PaddedSrc,
    dst: PaddedDst,
    (mut at, mut out): (usize, usize),
    last_out: usize,
) -> (usize, usize) {
    let dict = if WITH_DICT { dict } else { &[] };
    let ((src, src_len), (dst, dst_len)) = (src.with_padding(), dst.with_padding());
    let Some(limits) = Limits::new((src, src_len), (dst, dst_len)) else {
        return (at, out);
    };
    let last_out = last_out.min(limits.out);
    let mut dst = UncheckedDst::new(dst);
    // This makes the function begin at a cache line, so that the speed of the loop does not depend
    // on where the linker puts it. It was 8 % slower where the comparison at its end and the jump
    // were in different cache lines. SAFETY: this only adds `nop` instructions.
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    unsafe {
        core::arch::asm!(".p2align 6", options(nomem, nostack, preserves_flags));
    }
    while at <= limits.token && out <= last_out {
        let mut next = at + 1;
        // SAFETY: `at <= limits.token` leaves `SRC_MARGIN` bytes at `at`, so 17 at `next`; `out <=
        // limits.out` leaves `DST_MARGIN` bytes.
        let token = usize::from(unsafe {
            // First, since the next sequence waits for it.
            let token = load::<u8>(src, at);
            dst.store::<u128>(out, load(src, next));
            token
        });
        let mut literals = token >> 4;
        if literals == RUN_MASK {
            // This is not rare. `cold_path` only moves it out of line, so that the path without
            // extra bytes has no jump.
            cold_path();
            // SAFETY: `src_len` is at least `MIN_REST`, so both `src_len - 16` and 0 are less than
            // it.
            literals +=
                unsafe { extra_length(src, &mut next, src_len.saturating_sub(1 + RUN_MASK)) };
            if next + literals > limits.literals || literals > limits.out - out {
                break;
            }
            // SAFETY: the check above says that the literals end at `limits.literals` in the source
            // and at `limits.out` in the data at most, and both leave `LITERAL_STEP` bytes. (A
            // `limits.literals` of 0 fails the check, since `next` is not 0.)
            unsafe { copy_long_literals(&mut dst, out, src, next, literals) };
        }
        next += literals;
        let end = out + literals;
        if next > limits.distance {
            break;
        }
        // SAFETY: `next <= limits.distance` leaves `MIN_REST` bytes, of which two are the distance.
        let distance = usize::from(u16::from_le_bytes(unsafe { load(src, next) }));
        next += 2;
        let match_code = token & 15;
        let in_data = distance.wrapping_sub(1) < end;
        if match_code < RUN_MASK && in_data {
            // SAFETY: `in_data` says that `1 <= distance <= end`. Short literals end at
            // `limits.out + MAX_SHORT_LITERALS` at most, and long ones at `limits.out`, so
            // `DST_MARGIN - MAX_SHORT_LITERALS` (50) bytes of the data lie at `end`.
            unsafe { dst.repeat_short(end, distance) };
            at = next;
            out = end + match_code + MIN_MATCH;
            continue;
        }
        cold_path();
        let len = if match_code == RUN_MASK {
            // SAFETY: `src_len` is at least `MIN_REST`, which is more than `LAST_LITERALS`, so the
            // position lies within the stream.
            let extra = unsafe { extra_length(src, &mut next, src_len - LAST_LITERALS) };
            RUN_MASK + MIN_MATCH + extra
        } else if WITH_DICT {
            match_code + MIN_MATCH
        } else {
            // The match begins before the data.
            break;
        };
        // The sum of extra bytes may wrap on 32-bit systems.
        if len < MIN_MATCH || end > limits.match_out || len > limits.match_out - end {
            break;
        }
        // SAFETY: the check above says that `end + len <= limits.match_out`.
        if !unsafe { copy_long_match(&mut dst, dict, end, distance, len) } {
            break;
        }
        at = next;
        out = end + len;
    }
    (at, out)
}

/// Copies `len` bytes of `src` from `from` on to `at`, in steps of `LITERAL_STEP` bytes.
///
/// # Safety
/// `from + len + LITERAL_STEP <= src.len()`, and `at + len + LITERAL_STEP <= dst.len()`.
#[inline(always)]
unsafe fn copy_long_literals(
    dst: &mut UncheckedDst,
    at: usize,
    src: &[u8],
    from: usize,
    len: usize,
) {
    debug_assert!(from + len + LITERAL_STEP <= src.len());
    debug_assert!(at + len + LITERAL_STEP <= dst.len());
    let mut done = 0;
    while done < len {
        // SAFETY: this step begins before `from + len` and `at + len`, where `LITERAL_STEP` bytes
        // lie (# Safety).
        unsafe {
            let all = [0, 16, 32, 48].map(|i| load::<u128>(src, from + done + i));
            for (i, sixteen) in all.into_iter().enumerate() {
                dst.store(at + done + 16 * i, sixteen);
            }
        }
        done += LITERAL_STEP;
    }
}

/// Copies a match of `len` bytes to `at`. Its source lies in the data or in `dict`; if it lies in
/// neither or in both, nothing is copied, and the result is false.
///
/// # Safety
/// `len >= MIN_MATCH`, and `at + len + MATCH_OVERRUN <= dst.len()`.
#[inline(always)]
unsafe fn copy_long_match(
    dst: &mut UncheckedDst,
    dict: &[u8],
    at: usize,
    distance: usize,
    len: usize,
) -> bool {
    debug_assert!(len >= MIN_MATCH && at + len + MATCH_OVERRUN <= dst.len());
    if distance.wrapping_sub(1) < at {
        // SAFETY: the condition says that `1 <= distance <= at`; `MATCH_OVERRUN` bytes lie behind
        // the match (# Safety).
        unsafe { dst.repeat(at, distance, at + len) };
        return true;
    }
    let from = distance
        .checked_sub(at)
        .and_then(|back| dict.len().checked_sub(back));
    match from.and_then(|from| dict.get(from..)) {
        Some(bytes) if len <= bytes.len() => {
            // SAFETY: the guard says that `len <= bytes.len()`. `len` is not 0, so `at +
            // len.max(32)` is at most `at + len + MATCH_OVERRUN`, which is within `dst` (# Safety).
            unsafe { dst.copy(at, bytes, len) };
            true
        }
        _ => false,
    }
}

/// Like [`decode`], but with smaller margins, which padding may provide, so that it decodes
/// sequences nearer the ends. Each sequence is checked against the lengths without padding. It
/// decodes the last sequence of the stream too.
#[inline(always)]
pub(super) fn decode_near_end(
    src: PaddedSrc,
    mut dst: PaddedDst,
    (at, out): (usize, usize),
) -> (usize, usize) {
    let (padded, len) = src.with_padding();
    if out + SHORT_DST_MARGIN > dst.size() + dst.padding() {
        return (at, out);
    }
    let (mut at, mut out) = (at, out);
    if at + SRC_MARGIN <= padded.len() {
        (at, out) = decode_last(src, dst.reborrow(), (at, out));
    }
    if at + SRC_MARGIN > padded.len() && at < len {
        // What is left of the stream is shorter than the margin. A copy of it can have the margin.
        let mut tail = [0; 2 * SRC_MARGIN];
        copy_all(&padded[at..len], &mut tail);
        let Some(tail) = PaddedSrc::new(&tail, len - at) else {
            return (at, out);
        };
        let read;
        (read, out) = decode_last(tail, dst, (0, out));
        at += read;
    }
    (at, out)
}

/// The loop of [`decode_near_end`]. It ends at a sequence that begins within the margins or is
/// invalid.
#[inline(never)]
fn decode_last(
    src: PaddedSrc,
    dst: PaddedDst,
    (mut at, mut out): (usize, usize),
) -> (usize, usize) {
    let ((src, src_len), (dst, dst_len)) = (src.with_padding(), dst.with_padding());
    let (Some(last_token), Some(last_out)) = (
        src.len().checked_sub(SRC_MARGIN),
        dst.len().checked_sub(SHORT_DST_MARGIN),
    ) else {
        return (at, out);
    };
    let mut dst = UncheckedDst::new(dst);
    while at <= last_token && out <= last_out {
        let token = usize::from(src[at]);
        let (mut literals, match_code) = (token >> 4, token & 15);
        let mut next = at + 1;
        // SAFETY: `at <= last_token` leaves `SRC_MARGIN` bytes at `at`, so 17 at `next`; `out <=
        // last_out` leaves `SHORT_DST_MARGIN`.
        unsafe { dst.store::<u128>(out, load(src, next)) };
        if literals == RUN_MASK {
            cold_path();
            // SAFETY: the last position is 0 or less than `src_len`; there are `SRC_MARGIN` bytes
            // of the source.
            literals +=
                unsafe { extra_length(src, &mut next, src_len.saturating_sub(1 + RUN_MASK)) };
            if literals > src_len.saturating_sub(next) || literals > dst_len.saturating_sub(out) {
                break;
            }
            dst.slice()[out..out + literals].copy_from_slice(&src[next..next + literals]);
        }
        next += literals;
        let end = out + literals;
        if next + MIN_REST > src_len || end + MF_LIMIT > dst_len {
            if next == src_len && end <= dst_len {
                (at, out) = (next, end);
            }
            break;
        }
        // SAFETY: the check above leaves `MIN_REST` bytes at `next`, of which two are the distance.
        let distance = usize::from(u16::from_le_bytes(unsafe { load(src, next) }));
        next += 2;
        if distance.wrapping_sub(1) >= end {
            break;
        }
        let mut len = match_code + MIN_MATCH;
        if match_code == RUN_MASK {
            cold_path();
            // SAFETY: `src_len` is at least `MIN_REST`, so this position is not negative and lies
            // before the end.
            len += unsafe { extra_length(src, &mut next, src_len - LAST_LITERALS) };
            // `end + MF_LIMIT` is at most `dst_len`. The sum of extra bytes may wrap where a
            // position has 32 bits.
            if len < MIN_MATCH || len > dst_len - LAST_LITERALS - end {
                break;
            }
            if end + len + MATCH_OVERRUN <= dst.len() {
                // SAFETY: `1 <= distance <= end`, and the condition.
                unsafe { dst.repeat(end, distance, end + len) };
            } else {
                copy_match(dst.slice(), end, distance, len);
            }
        } else {
            if end + len + LAST_LITERALS > dst_len || end > last_out + MAX_SHORT_LITERALS {
                break;
            }
            // SAFETY: `1 <= distance <= end`, and `SHORT_MATCH_STEP` bytes lie at `last_out +
            // MAX_SHORT_LITERALS`.
            unsafe { dst.repeat_short(end, distance) };
        }
        (at, out) = (next, end + len);
    }
    (at, out)
}
