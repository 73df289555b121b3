//! The sequences far from both ends of a stream and of its data, which are nearly all: copied in steps that may go past
//! what is wanted, since there is room, and with no check a step.
//!
//! Matches overlap what they write. One that repeats few bytes is made of registers that hold them, so that no step waits
//! for the one before.

use core::hint::cold_path;

use super::bytes::{Bytes, load};
use super::decompress::{LEAST, OPEN_ENDED};
use crate::codec::copy::repeated;

/// How far from the end of a stream the last sequence begins that is decoded here: a token, and 16 literals in one step.
/// The library, too, looks at nothing more from there on.
const SRC_MARGIN: usize = 1 + 16 + 1;
/// What more literals are read with in one step.
const LITERALS: usize = 32;
/// How far from the end of the data it may lie: 14 literals, and 24 bytes written for a match whose length is in its token.
const DST_MARGIN: usize = 14 + 24;

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

/// The further bytes of a length, of those at `last` at most; `at` is behind `last` where they are not all there.
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
            break;
        }
    }
    len
}

/// Decodes sequences from `at` on, whose matches may reach back into `dict`, into `dst` from `out` on, up to one that begins near an end, or behind `wanted` bytes
/// of the data, or that is odd. Gives where that one begins, in the stream and in the data; what is decoded is right,
/// and bytes behind it may be overwritten.
///
/// A function of its own, which keeps all that its loop needs in registers.
#[inline(never)]
pub(super) fn decode(
    dict: &[u8],
    src: &[u8],
    dst: &mut [u8],
    mut at: usize,
    mut out: usize,
    wanted: usize,
) -> (usize, usize) {
    let (Some(src_last), Some(dst_last)) = (
        src.len().checked_sub(SRC_MARGIN),
        dst.len().checked_sub(DST_MARGIN),
    ) else {
        return (at, out);
    };
    let literals_last = src.len().saturating_sub(LITERALS);
    let out_last = dst_last.min(wanted.saturating_sub(1));
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
            // SAFETY: `src_last` is before the end.
            literals += unsafe { further(src, &mut next, src_last) };
            if next + literals > literals_last || literals > dst_last - out {
                break;
            }
            let mut done = 0;
            while done < literals {
                // SAFETY: the literals end `LITERALS` from the end of the stream and at `dst_last` at most, and these
                // bytes, as many, begin before that.
                unsafe {
                    let first = load::<u128>(src, next + done);
                    let second = load::<u128>(src, next + done + 16);
                    dst.store(out + done, first);
                    dst.store(out + done + 16, second);
                }
                done += LITERALS;
            }
        }
        next += literals;
        let end = out + literals;
        // SAFETY: `next` is 1 + 14 behind `src_last` at most.
        let distance = usize::from(u16::from_le_bytes(unsafe { load(src, next) }));
        next += 2;
        let code = token & 15;
        let within = distance.wrapping_sub(1) < end;
        if code < OPEN_ENDED && within {
            let back = end - distance;
            // SAFETY: `end` is 14 behind `dst_last` at most, and 24 bytes from there on are written at most. Those read
            // lie before the ones written.
            unsafe {
                let first = dst.load::<u64>(back);
                if distance >= 8 {
                    dst.store(end, first);
                    dst.store::<u64>(end + 8, dst.load(back + 8));
                    dst.store::<u16>(end + 16, dst.load(back + 16));
                } else {
                    cold_path();
                    let (eight, whole) = repeated(u64::from_le(first), distance);
                    dst.store(end, eight.to_le());
                    dst.store(end + whole, eight.to_le());
                    dst.store(end + 2 * whole, eight.to_le());
                }
            }
            at = next;
            out = end + code + LEAST;
            continue;
        }
        cold_path();
        let mut len = code + LEAST;
        if code == OPEN_ENDED {
            // SAFETY: `src_last` is before the end.
            len += unsafe { further(src, &mut next, src_last) };
        }
        if next > src_last || end > dst_last || len > dst_last - end {
            break;
        }
        let stop = end + len;
        if within {
            // SAFETY: the match ends at `dst_last` at most, every step begins before that and writes 32 bytes at most.
            // Those read lie before the ones written.
            unsafe { dst.repeat(end, distance, stop) };
        } else {
            let from = distance
                .checked_sub(end)
                .and_then(|back| dict.len().checked_sub(back));
            match from.and_then(|from| dict.get(from..)) {
                // SAFETY: there are so many; it ends at `dst_last` at most, and what goes beyond is within the margin.
                Some(bytes) if len <= bytes.len() => unsafe { dst.copy(end, bytes, len) },
                _ => break,
            }
        }
        at = next;
        out = stop;
    }
    (at, out)
}
