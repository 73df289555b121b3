//! The sequences far from both ends of a stream and of its data, which are nearly all: copied in steps that may go past
//! what is wanted, since there is room, and with no check a step.
//!
//! Matches overlap what they write. One that repeats few bytes is made of registers that hold them, so that no step waits
//! for the one before.

use core::hint::cold_path;

use super::bytes::Bytes;
use super::decompress::{BEHIND, LAST_BEGIN, LAST_LITERALS, LEAST, OPEN_ENDED};
use crate::copy::repeated;
use crate::known::load;
use crate::{Packed, Room};

/// How far from the end of the bytes the last sequence begins that is decoded here: a token, and 16 literals in one step.
/// Where a stream has no bytes behind it, the library, too, looks at nothing more from there on.
const SRC_MARGIN: usize = 1 + 16 + 1;
/// What more literals are copied with in one step: in most cases there is only one, so that no branch is spent on it.
const LITERALS: usize = 64;
/// How far from the end of the data it may lie if its lengths are in its token: 14 literals, and 24 bytes written for a match.
const SHORT_MARGIN: usize = 14 + 24;
/// The same for any: what a step of literals writes.
const DST_MARGIN: usize = LITERALS;
/// What a match may write beyond its end.
const MATCH: usize = 31;

impl Bytes<'_> {
    /// Copies the first `len` of `bytes` to `at`, or 32 where there are so many and `len` is less.
    ///
    /// # Safety
    /// There are `len` of them, and at `at` there is room for that or 32.
    #[inline(always)]
    unsafe fn copy(&mut self, at: usize, bytes: &[u8], len: usize) {
        if len <= 32 && bytes.len() >= 32 {
            // SAFETY: as the caller promises.
            unsafe {
                self.store::<u128>(at, load(bytes, 0));
                self.store::<u128>(at + 16, load(bytes, 16));
            }
        } else {
            self.slice()[at..at + len].copy_from_slice(&bytes[..len]);
        }
    }

    /// Repeats at `at` the bytes from `distance` before it, 18 of them, and up to 6 more.
    ///
    /// # Safety
    /// The 24 bytes from `at` on are among these, and so are those `distance` before `at`. It is not 0.
    #[inline(always)]
    unsafe fn repeat_short(&mut self, at: usize, distance: usize) {
        let back = at - distance;
        // SAFETY: as the caller promises; those read lie before the ones written.
        unsafe {
            let first = self.load::<u64>(back);
            if distance >= 8 {
                self.store(at, first);
                self.store::<u64>(at + 8, self.load(back + 8));
                self.store::<u16>(at + 16, self.load(back + 16));
            } else {
                cold_path();
                let (eight, whole) = repeated(u64::from_le(first), distance);
                self.store(at, eight.to_le());
                self.store(at + whole, eight.to_le());
                self.store(at + 2 * whole, eight.to_le());
            }
        }
    }

    /// Repeats at `at` the bytes from `distance` before it, up to `stop`, and up to 31 bytes more.
    ///
    /// # Safety
    /// The bytes up to 31 behind `stop` are among these, and so are those `distance` before `at`. It is not 0.
    #[inline(always)]
    unsafe fn repeat(&mut self, mut at: usize, distance: usize, stop: usize) {
        let back = at - distance;
        if distance > 32 {
            while at < stop {
                // SAFETY: 32 bytes from before `stop` on, and from before those.
                unsafe {
                    self.store::<u128>(at, self.load(at - distance));
                    self.store::<u128>(at + 16, self.load(at + 16 - distance));
                }
                at += 32;
            }
        } else if distance >= 16 {
            // SAFETY: both end at `at` at most.
            let (first, last) = unsafe { (self.load::<u128>(back), self.load::<u128>(at - 16)) };
            while at < stop {
                // SAFETY: `distance` bytes from before `stop` on.
                unsafe {
                    self.store(at, first);
                    self.store(at + distance - 16, last);
                }
                at += distance;
            }
        } else if distance >= 8 {
            // SAFETY: both end at `at` at most.
            let (first, last) = unsafe { (self.load::<u64>(back), self.load::<u64>(at - 8)) };
            while at < stop {
                // SAFETY: twice `distance` bytes from before `stop` on.
                unsafe {
                    self.store(at, first);
                    self.store(at + distance - 8, last);
                    self.store(at + distance, first);
                    self.store(at + 2 * distance - 8, last);
                }
                at += 2 * distance;
            }
        } else {
            // SAFETY: 8 bytes from before `at` on.
            let (low, whole) = repeated(u64::from_le(unsafe { self.load(back) }), distance);
            // The next eight bytes go on where these stop.
            let over = 8 - whole;
            let high = low >> (8 * over) | low << (8 * (distance - over));
            let sixteen = (u128::from(low) | u128::from(high) << 64).to_le();
            let whole = 2 * whole;
            while at < stop {
                // SAFETY: 32 bytes at most from before `stop` on.
                unsafe {
                    self.store(at, sixteen);
                    self.store(at + whole, sixteen);
                }
                at += 2 * whole;
            }
        }
    }
}

/// The further bytes of a length, of those at `last` at most; a length that no data have where they are not all there.
///
/// # Safety
/// There is a byte at `last`.
#[inline(always)]
unsafe fn further(src: &[u8], at: &mut usize, last: usize) -> usize {
    let mut len = 0;
    while *at <= last {
        // SAFETY: one before that at `last`, or that one.
        let more = unsafe { load::<u8>(src, *at) };
        *at += 1;
        len += usize::from(more);
        if more != 255 {
            return len;
        }
    }
    usize::MAX / 2
}

/// Decodes sequences whose matches may reach back into `dict`, from `at` on in the stream and `out` in the data, up to one
/// that begins near an end, or behind `wanted` bytes of the data, or that is odd. Gives where that one begins, in both; what
/// is decoded is right, and bytes behind it may be overwritten.
///
/// A function of its own, which keeps all that its loop needs in registers.
#[inline(never)]
pub(super) fn decode(
    dict: &[u8],
    src: Packed,
    dst: Room,
    (mut at, mut out): (usize, usize),
    wanted: usize,
) -> (usize, usize) {
    let ((src, src_len), (dst, dst_len)) = (src.among(), dst.among());
    let (Some(distance_last), Some(src_last), Some(dst_last)) = (
        src_len.checked_sub(BEHIND),
        src.len().checked_sub(SRC_MARGIN),
        dst_len.checked_sub(DST_MARGIN),
    ) else {
        return (at, out);
    };
    let src_last = src_last.min(distance_last);
    let literals_last = src.len().saturating_sub(LITERALS).min(distance_last);
    let out_last = dst_last.min(wanted.saturating_sub(1));
    // A match may end as near to the end of the data as any does, where what is written too much has room behind them.
    let match_last = (dst_len - LAST_LITERALS).min(dst.len() - MATCH);
    let mut dst = Bytes::new(dst);
    while at <= src_last && out <= out_last {
        let token = usize::from(src[at]);
        let mut next = at + 1;
        let mut literals = token >> 4;
        // SAFETY: the 16 bytes behind `src_last`, and 16 from `dst_last` on, are within the margins.
        unsafe { dst.store::<u128>(out, load(src, next)) };
        // What is said to be cold is not: it is what may lie apart, so that the rest is one straight piece of code.
        if literals == OPEN_ENDED {
            cold_path();
            // SAFETY: there are so many bytes, or at least the one at 0.
            literals += unsafe { further(src, &mut next, src_len.saturating_sub(1 + OPEN_ENDED)) };
            if next + literals > literals_last || literals > dst_last - out {
                break;
            }
            let mut done = 0;
            while done < literals {
                // SAFETY: the literals end `LITERALS` from the end of the stream and of the data at least, and these bytes, as many,
                // begin before that.
                unsafe {
                    let all = [0, 16, 32, 48].map(|i| load::<u128>(src, next + done + i));
                    for (i, sixteen) in all.into_iter().enumerate() {
                        dst.store(out + done + 16 * i, sixteen);
                    }
                }
                done += LITERALS;
            }
        }
        next += literals;
        let end = out + literals;
        if next > distance_last {
            break;
        }
        // SAFETY: two bytes are there at least.
        let distance = usize::from(u16::from_le_bytes(unsafe { load(src, next) }));
        next += 2;
        let code = token & 15;
        let within = distance.wrapping_sub(1) < end;
        if code < OPEN_ENDED && within {
            // SAFETY: `end` is 14 behind `dst_last` at most.
            unsafe { dst.repeat_short(end, distance) };
            at = next;
            out = end + code + LEAST;
            continue;
        }
        cold_path();
        let mut len = code + LEAST;
        if code == OPEN_ENDED {
            // SAFETY: this is before the end.
            len += unsafe { further(src, &mut next, src_len - LAST_LITERALS) };
        }
        if end > match_last || len > match_last - end {
            break;
        }
        let stop = end + len;
        if within {
            // SAFETY: the match ends at `match_last` at most, every step begins before that and writes 32 bytes at most.
            // Those read lie before the ones written.
            unsafe { dst.repeat(end, distance, stop) };
        } else {
            let from = distance
                .checked_sub(end)
                .and_then(|back| dict.len().checked_sub(back));
            match from.and_then(|from| dict.get(from..)) {
                // SAFETY: there are so many; it ends at `match_last` at most, `MATCH` before the end.
                Some(bytes) if len <= bytes.len() => unsafe { dst.copy(end, bytes, len) },
                _ => break,
            }
        }
        at = next;
        out = stop;
    }
    (at, out)
}

/// The same near the ends, where each step is checked, as long as there are other bytes behind both: sequences that tell all
/// in their tokens, and the last one, behind which the stream ends.
#[inline(never)]
pub(super) fn decode_end(
    src: Packed,
    dst: Room,
    (mut at, mut out): (usize, usize),
) -> (usize, usize) {
    let ((src, src_len), (dst, dst_len)) = (src.among(), dst.among());
    let (Some(src_last), Some(dst_last)) = (
        src.len().checked_sub(SRC_MARGIN),
        dst.len().checked_sub(SHORT_MARGIN),
    ) else {
        return (at, out);
    };
    let mut dst = Bytes::new(dst);
    while at <= src_last && out <= dst_last {
        let token = usize::from(src[at]);
        let (literals, code) = (token >> 4, token & 15);
        if literals == OPEN_ENDED {
            break;
        }
        // SAFETY: both are within the margins.
        unsafe { dst.store::<u128>(out, load(src, at + 1)) };
        let (next, end) = (at + 1 + literals, out + literals);
        if next + BEHIND > src_len || end + LAST_BEGIN > dst_len {
            if next == src_len && end <= dst_len {
                (at, out) = (next, end);
            }
            break;
        }
        // SAFETY: two bytes are there at least.
        let distance = usize::from(u16::from_le_bytes(unsafe { load(src, next) }));
        let stop = end + code + LEAST;
        let odd = distance.wrapping_sub(1) >= end || code == OPEN_ENDED;
        if odd || stop + LAST_LITERALS > dst_len {
            break;
        }
        // SAFETY: `end` is 14 behind `dst_last` at most.
        unsafe { dst.repeat_short(end, distance) };
        (at, out) = (next + 2, stop);
    }
    (at, out)
}
