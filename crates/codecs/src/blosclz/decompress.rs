//! The decompressor. Copies are of fixed size wherever there is room to write too much, exact near the end.

use super::FAR;
use crate::copy::{STEP, chunk, chunk_mut, copy_match, read8, repeated};
use oxiblosc_error::{Error, Result};

/// Input looked at in one piece: the longest run of literals, and the control bytes around it.
const WINDOW: usize = STEP + 4;
/// Room that the fixed-size copies of one window may use up: literals, and a match in one step of eight.
const ROOM: usize = STEP + 8;
/// The length code with further bytes.
const OPEN_ENDED: u8 = 7;

/// Decodes the stream `src` into `dst`; the number of bytes written.
pub(crate) fn decompress(src: &[u8], dst: &mut [u8]) -> Result<usize> {
    let Some(&first) = src.first() else {
        return Ok(0);
    };
    let mut control = first & 31;
    let mut at = 1;
    let mut out = 0;
    loop {
        (control, at, out) = packets(src, dst, control, at, out)?;
        // One packet with every check, for what the quick way leaves: the unusual, and the end.
        if control < 32 {
            let n = usize::from(control) + 1;
            let from = src.get(at..at + n).ok_or(Error::Data)?;
            dst.get_mut(out..out + n)
                .ok_or(Error::Data)?
                .copy_from_slice(from);
            at += n;
            out += n;
        } else {
            let mut len = usize::from(control >> 5) + 2;
            if control >> 5 == OPEN_ENDED {
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
            let mut distance = near(control, low);
            if distance > FAR {
                let far = chunk::<2>(src, at).ok_or(Error::Data)?;
                distance += usize::from(u16::from_be_bytes(*far));
                at += 2;
            }
            if distance > out || len > dst.len() - out {
                return Err(Error::Data);
            }
            copy_match(dst, out, distance, len);
            out += len;
        }
        match src.get(at) {
            Some(&next) => control = next,
            None => return Ok(out),
        }
        at += 1;
    }
}

/// The distance in a control byte and the one that follows, counted from 1; `FAR + 1` when it goes on.
#[inline(always)]
fn near(control: u8, low: u8) -> usize {
    (usize::from(control & 31) << 8 | usize::from(low)) + 1
}

/// Decodes packets as long as they are of the usual sort and far from both ends: literals and the match behind them
/// are taken from one window of the input. Takes and gives the control byte of the next packet, the position behind
/// it, and the length of the output.
#[inline(always)]
fn packets(
    src: &[u8],
    dst: &mut [u8],
    mut control: u8,
    mut at: usize,
    mut out: usize,
) -> Result<(u8, usize, usize)> {
    while let Some(window) = chunk::<WINDOW>(src, at)
        && dst.len() - out >= ROOM
    {
        let mut seen = 0;
        if control < 32 {
            let n = usize::from(control) + 1;
            if let (Some(room), Some(step)) = (chunk_mut::<STEP>(dst, out), window.first_chunk()) {
                *room = *step;
            }
            out += n;
            control = window[n];
            at += n + 1;
            if control < 32 {
                continue;
            }
            seen = n + 1;
        }
        let code = control >> 5;
        if code != OPEN_ENDED {
            let distance = near(control, window[seen]);
            if distance > FAR {
                break;
            }
            if distance > out {
                return Err(Error::Data);
            }
            // At most eight bytes, in one go: a distance below that is made good by repeating the pattern.
            let (eight, _) = repeated(read8(dst, out - distance), distance.min(8));
            if let Some(room) = chunk_mut(dst, out) {
                *room = eight.to_le_bytes();
            }
            out += usize::from(code) + 2;
            control = window[seen + 1];
            at += 2;
        } else {
            let more = window[seen];
            let distance = near(control, window[seen + 1]);
            let len = usize::from(OPEN_ENDED) + 2 + usize::from(more);
            if more == 255 || distance > FAR || len > dst.len() - out {
                break;
            }
            if distance > out {
                return Err(Error::Data);
            }
            copy_match(dst, out, distance, len);
            out += len;
            control = window[seen + 2];
            at += 3;
        }
    }
    Ok((control, at, out))
}
