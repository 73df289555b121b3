//! The decompressor. The library's own is slower by up to a third, depending on how it is compiled and where its loops
//! happen to lie; this one takes the same streams and refuses the same.
//!
//! A stream is a row of sequences: a token, literals, and a match, the token's halves being the lengths of the two
//! (<https://github.com/lz4/lz4/blob/dev/doc/lz4_Block_format.md>). The last has no match.

use super::sequences;
use crate::copy::{copy_all, copy_match};
use crate::{Packed, Room};
use oxiblosc_error::{Error, Result};

/// The length in a token with further bytes.
pub(super) const OPEN_ENDED: usize = 15;
/// The least length of a match.
pub(super) const LEAST: usize = 4;
/// No match ends nearer to the end of the data,
pub(super) const LAST_LITERALS: usize = 5;
/// nor begins nearer to it.
pub(super) const LAST_BEGIN: usize = 12;
/// The bytes of a stream behind the literals before a match: its distance, and a last sequence.
pub(super) const BEHIND: usize = 2 + 1 + LAST_LITERALS;
/// With more bytes of the stream than these behind the token of few literals, and at least these of the data to come, the
/// library does not look how near the match is to the end.
const FAR_SRC: usize = 16;
const FAR_DST: usize = 32;

/// Decodes a stream whose matches may reach back into `dict`, as far as its first `wanted` bytes at least; the number of
/// bytes written. Bytes of `dst` behind these may be overwritten.
#[inline(never)]
pub(super) fn decompress(dict: &[u8], src: Packed, mut dst: Room, wanted: usize) -> Result<usize> {
    let packed = src;
    let (src, src_len) = packed.among();
    if dst.size() == 0 && packed.alone() != [0] {
        return Err(Error::Data);
    }
    let roomy = src.len() > src_len && dst.behind() > 0;
    let (mut at, mut out) = (0, 0);
    loop {
        (at, out) = sequences::decode(dict, packed, dst.again(), (at, out), wanted);
        if roomy {
            (at, out) = sequences::decode_end(packed, dst.again(), (at, out));
        }
        if out >= wanted || (at == src_len && at > 0) {
            return Ok(out);
        }
        // One sequence with every check, for what is left over there: the unusual, and the end.
        let token = usize::from(*packed.alone().get(at).ok_or(Error::Data)?);
        let (dst, dst_len) = dst.again().among();
        at += 1;
        let far = token >> 4 < OPEN_ENDED && src_len - at > FAR_SRC && dst_len - out >= FAR_DST;
        let literals = length(packed.alone(), &mut at, token >> 4, OPEN_ENDED)?;
        if literals > src_len - at || literals > dst_len - out {
            return Err(Error::Data);
        }
        copy_all(&src[at..at + literals], &mut dst[out..]);
        at += literals;
        out += literals;
        if at == src_len {
            return Ok(out);
        }
        if !far && (dst_len - out < LAST_BEGIN || src_len - at < BEHIND) {
            return Err(Error::Data);
        }
        let distance = usize::from(u16::from_le_bytes([src[at], src[at + 1]]));
        at += 2;
        let len = length(packed.alone(), &mut at, token & 15, LAST_LITERALS - 1)? + LEAST;
        if len > dst_len - LAST_LITERALS - out {
            return Err(Error::Data);
        }
        let mut done = 0;
        if distance == 0 {
            // No valid stream has this, but the library takes it and writes zeros.
            dst[out..out + len].fill(0);
            done = len;
        } else if distance > out {
            let back = distance - out;
            let from = dict.len().checked_sub(back).ok_or(Error::Data)?;
            done = back.min(len);
            dst[out..out + done].copy_from_slice(&dict[from..from + done]);
        }
        if done < len {
            copy_match(dst, out + done, distance, len - done);
        }
        out += len;
    }
}

/// A length and its further bytes, behind which the stream has `behind` more.
fn length(src: &[u8], at: &mut usize, code: usize, behind: usize) -> Result<usize> {
    let mut len = code;
    if code == OPEN_ENDED {
        loop {
            let more = *src.get(*at).ok_or(Error::Data)?;
            *at += 1;
            if src.len() - *at < behind {
                return Err(Error::Data);
            }
            len += usize::from(more);
            if more != 255 {
                break;
            }
        }
    }
    Ok(len)
}
