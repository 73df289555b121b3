//! Decodes streams that are much shorter than their data: few sequences, long matches. The library moves those eight bytes
//! at a time, unless it is compiled to be a third larger.
//!
//! A stream is a row of sequences: a token, literals, and a match, the token's halves being the lengths of the two
//! (<https://github.com/lz4/lz4/blob/dev/doc/lz4_Block_format.md>). The last has no match.

use crate::codec::copy::{chunk, chunk_mut, copy_match};
use crate::error::{Error, Result};

/// The length in a token with further bytes.
const OPEN_ENDED: usize = 15;
/// The least length of a match.
const LEAST: usize = 4;
/// Literals up to so many are copied in one step, where there is room.
const STEP: usize = 16;

/// Decodes a stream; the number of bytes written. Takes all streams that the library takes, and those with a match nearer
/// to the end than an encoder would leave one.
#[inline(never)]
pub(super) fn decompress(src: &[u8], dst: &mut [u8]) -> Result<usize> {
    let (mut at, mut out) = (0, 0);
    loop {
        let token = usize::from(*src.get(at).ok_or(Error::Data)?);
        at += 1;
        let literals = length(src, &mut at, token >> 4)?;
        if literals <= STEP
            && let (Some(bytes), Some(room)) = (chunk::<STEP>(src, at), chunk_mut(dst, out))
        {
            *room = *bytes;
        } else {
            let bytes = src.get(at..at + literals).ok_or(Error::Data)?;
            dst.get_mut(out..out + literals)
                .ok_or(Error::Data)?
                .copy_from_slice(bytes);
        }
        at += literals;
        out += literals;
        if at == src.len() {
            return Ok(out);
        }
        let distance = chunk::<2>(src, at).ok_or(Error::Data)?;
        let distance = usize::from(u16::from_le_bytes(*distance));
        at += 2;
        let len = length(src, &mut at, token & 15)? + LEAST;
        if distance > out || len > dst.len() - out {
            return Err(Error::Data);
        }
        if distance == 0 {
            // No valid stream has this, but the library takes it and writes zeros.
            dst[out..out + len].fill(0);
        } else {
            copy_match(dst, out, distance, len);
        }
        out += len;
    }
}

/// A length and its further bytes.
fn length(src: &[u8], at: &mut usize, code: usize) -> Result<usize> {
    let mut len = code;
    if code == OPEN_ENDED {
        loop {
            let more = *src.get(*at).ok_or(Error::Data)?;
            *at += 1;
            len += usize::from(more);
            if more != 255 {
                break;
            }
        }
    }
    Ok(len)
}
