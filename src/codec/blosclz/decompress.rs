//! The decompressor. Copies are of fixed size wherever there is room to write too much, exact near the end.

use super::FAR;
use crate::error::{Error, Result};

/// What fixed-size copies move at once; also the longest run of literals.
const STEP: usize = 32;

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
            if let (Some(from), Some(to)) = (
                src.get(at..).and_then(|t| t.first_chunk::<STEP>()),
                dst.get_mut(out..).and_then(|t| t.first_chunk_mut::<STEP>()),
            ) {
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
    if end + STEP > dst.len() {
        for i in out..end {
            dst[i] = dst[i - distance];
        }
        return;
    }
    if distance == 1 {
        let block = [dst[out - 1]; STEP];
        let mut to = out;
        while to < end {
            dst[to..to + STEP].copy_from_slice(&block);
            to += STEP;
        }
        return;
    }
    let mut from = out - distance;
    let mut to = out;
    // Short distances: what is written may be read again, in steps that double until a step is a whole block.
    let mut reach = distance;
    while reach < STEP && to < end {
        dst.copy_within(from..from + reach, to);
        to += reach;
        reach *= 2;
    }
    while to < end {
        dst.copy_within(from..from + STEP, to);
        from += STEP;
        to += STEP;
    }
}
