//! The decompressor. Copies are of fixed size wherever there is room to write too much, exact near the end.

use super::{FAR, chunk, chunk_mut, read8};
use crate::error::{Error, Result};

/// What fixed-size copies move at once; also the longest run of literals.
const STEP: usize = 32;
/// Matches longer than this are not copied in steps.
const LONG: usize = 64;

/// Decodes the stream `src` into `dst`; the number of bytes written.
pub(in crate::codec) fn decompress(src: &[u8], dst: &mut [u8]) -> Result<usize> {
    let Some(&first) = src.first() else {
        return Ok(0);
    };
    let mut control = usize::from(first & 31);
    let mut at = 1;
    let mut out = 0;
    loop {
        if control < 32 {
            let n = control + 1;
            if let (Some(from), Some(to)) = (chunk::<STEP>(src, at), chunk_mut::<STEP>(dst, out)) {
                *to = *from;
            } else {
                let from = src.get(at..at + n).ok_or(Error::Data)?;
                dst.get_mut(out..out + n)
                    .ok_or(Error::Data)?
                    .copy_from_slice(from);
            }
            at += n;
            out += n;
        } else {
            let mut len = (control >> 5) + 2;
            if len == 7 + 2 {
                loop {
                    let more = *src.get(at).ok_or(Error::Data)?;
                    at += 1;
                    len += usize::from(more);
                    if more != 255 {
                        break;
                    }
                }
            }
            let low = *src.get(at).ok_or(Error::Data)?;
            at += 1;
            let mut distance = (control & 31) << 8 | usize::from(low);
            if distance == FAR {
                let far = src
                    .get(at..)
                    .and_then(|t| t.first_chunk::<2>())
                    .ok_or(Error::Data)?;
                distance = FAR + usize::from(u16::from_be_bytes(*far));
                at += 2;
            }
            let distance = distance + 1;
            if distance > out || len > dst.len() - out {
                return Err(Error::Data);
            }
            copy_match(dst, out, distance, len);
            out += len;
        }
        match src.get(at) {
            Some(&c) => control = usize::from(c),
            None => return Ok(out),
        }
        at += 1;
    }
}

/// Repeats at `out` the bytes from `distance` before it, `len` of them. `distance` is 1..=`out`, and `out + len` at
/// most `dst.len()`; bytes behind `out + len` may be overwritten too.
#[inline(always)]
fn copy_match(dst: &mut [u8], out: usize, distance: usize, len: usize) {
    let end = out + len;
    if len > LONG || end + STEP > dst.len() {
        return repeat_exactly(dst, out, distance, len);
    }
    let mut from = out - distance;
    let mut to = out;
    if distance >= 16 {
        loop {
            dst.copy_within(from..from + 16, to);
            from += 16;
            to += 16;
            if to >= end {
                return;
            }
        }
    }
    if distance >= 8 {
        loop {
            dst.copy_within(from..from + 8, to);
            from += 8;
            to += 8;
            if to >= end {
                return;
            }
        }
    }
    // The pattern is made once and written over and over, so that no step waits for the one before.
    let (mask, repeat, step) = PATTERNS[distance];
    let pattern = ((read8(dst, from) & mask).wrapping_mul(repeat)).to_le_bytes();
    loop {
        dst[to..to + 8].copy_from_slice(&pattern);
        to += step;
        if to >= end {
            return;
        }
    }
}

/// For distances below 8: which bits of eight bytes are the pattern, what they are multiplied by to fill all eight, and
/// how many of these are whole repetitions.
const PATTERNS: [(u64, u64, usize); 8] = {
    let mut patterns = [(0, 0, 8); 8];
    let mut distance = 1;
    while distance < 8 {
        let mut repeat = 0;
        let mut at = 0;
        while at < 8 {
            repeat |= 1 << (8 * at);
            at += distance;
        }
        patterns[distance] = ((1 << (8 * distance)) - 1, repeat, 8 - 8 % distance);
        distance += 1;
    }
    patterns
};

/// The same for long matches and near the end, without a byte too much: what is there already is copied as a whole, so
/// that there is twice as much to copy each time.
fn repeat_exactly(dst: &mut [u8], out: usize, distance: usize, len: usize) {
    let from = out - distance;
    if distance == 1 {
        let byte = dst[from];
        dst[out..out + len].fill(byte);
        return;
    }
    let mut done = 0;
    while done < len {
        let n = (distance + done).min(len - done);
        dst.copy_within(from..from + n, out + done);
        done += n;
    }
}
