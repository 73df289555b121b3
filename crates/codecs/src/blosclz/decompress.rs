//! The decompressor. It copies in fixed steps where there is room to write past the end of a packet, and exactly near the end.

use super::FAR;
use crate::copy::{STEP, array_at, array_at_mut, copy_match, read8, replicate};
use oxiblosc_error::{Error, Result};

/// Input that the fast loop reads at once: the longest run of literals, and the bytes of the match behind it.
const SRC_MARGIN: usize = STEP + 4;
/// Output that one turn of the fast loop may write: a step of literals, and a short match in one step of eight.
const DST_MARGIN: usize = STEP + 8;
/// The length code that is followed by extra length bytes.
const MAX_LENGTH_CODE: u8 = 7;

/// Decodes the stream `src` into `dst`. Returns the number of bytes written.
pub(crate) fn decompress(src: &[u8], dst: &mut [u8]) -> Result<usize> {
    let Some(&first) = src.first() else {
        return Ok(0);
    };
    let mut control = first & 31;
    let mut at = 1;
    let mut out = 0;
    loop {
        (control, at, out) = decode_fast(src, dst, control, at, out)?;
        // Decode one packet with every check: the fast loop stops at unusual packets and near both ends.
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
            if control >> 5 == MAX_LENGTH_CODE {
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
            let mut distance = near_distance(control, low);
            if distance > FAR {
                let far = array_at::<2>(src, at).ok_or(Error::Data)?;
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

/// The distance in a control byte and the byte after it, counted from 1. `FAR + 1` means that two more bytes follow.
#[inline(always)]
fn near_distance(control: u8, low: u8) -> usize {
    (usize::from(control & 31) << 8 | usize::from(low)) + 1
}

/// Decodes packets until one is unusual (a far distance, or a length of several extra bytes) or close to the end of `src` or
/// `dst`. Takes and returns the control byte of the next packet, the position after it, and the length of the output.
#[inline(always)]
fn decode_fast(
    src: &[u8],
    dst: &mut [u8],
    mut control: u8,
    mut at: usize,
    mut out: usize,
) -> Result<(u8, usize, usize)> {
    while let Some(input) = array_at::<SRC_MARGIN>(src, at)
        && dst.len() - out >= DST_MARGIN
    {
        let mut used = 0;
        if control < 32 {
            let n = usize::from(control) + 1;
            if let (Some(room), Some(step)) = (array_at_mut::<STEP>(dst, out), input.first_chunk())
            {
                *room = *step;
            }
            out += n;
            control = input[n];
            at += n + 1;
            if control < 32 {
                continue;
            }
            used = n + 1;
        }
        let code = control >> 5;
        if code != MAX_LENGTH_CODE {
            let distance = near_distance(control, input[used]);
            if distance > FAR {
                break;
            }
            if distance > out {
                return Err(Error::Data);
            }
            // The match is at most eight bytes, which one store writes. For a distance below eight the pattern is replicated.
            let (eight, _) = replicate(read8(dst, out - distance), distance.min(8));
            if let Some(room) = array_at_mut(dst, out) {
                *room = eight.to_le_bytes();
            }
            out += usize::from(code) + 2;
            control = input[used + 1];
            at += 2;
        } else {
            let more = input[used];
            let distance = near_distance(control, input[used + 1]);
            let len = usize::from(MAX_LENGTH_CODE) + 2 + usize::from(more);
            if more == 255 || distance > FAR || len > dst.len() - out {
                break;
            }
            if distance > out {
                return Err(Error::Data);
            }
            copy_match(dst, out, distance, len);
            out += len;
            control = input[used + 2];
            at += 3;
        }
    }
    Ok((control, at, out))
}
