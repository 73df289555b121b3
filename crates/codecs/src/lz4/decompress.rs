//! The decompressor. It accepts and rejects the same streams as the LZ4 library. Here is the loop
//! that checks everything; it calls the fast loops in `decode_fast.rs` where the buffers are long
//! enough.
//!
//! A stream consists of sequences: a token, literals, and a match. The halves of the token are the
//! lengths of literals and match, which extra bytes continue
//! (<https://github.com/lz4/lz4/blob/dev/doc/lz4_Block_format.md>). The last sequence has no match.

use super::decode_fast;
use super::format::{LAST_LITERALS, MF_LIMIT, MIN_MATCH, MIN_REST, RUN_MASK};
use crate::copy::{copy_all, copy_match};
use crate::{PaddedDst, PaddedSrc};
use oxiblosc_base::{Error, Result};

/// The library has a shortcut for literals without extra bytes, which it takes if more than
/// `SHORTCUT_SRC` bytes of the stream and at least `SHORTCUT_DST` of the data are left. The
/// shortcut does not check how close the match is to the end. To accept the same streams, we do not
/// check it there either.
const SHORTCUT_SRC: usize = 16;
const SHORTCUT_DST: usize = 32;

/// Decodes a stream whose matches may reach back into `dict`, until at least the first `wanted`
/// bytes are decoded. Returns the number of bytes decoded. Bytes of `dst` behind these may be
/// overwritten.
#[inline(never)]
pub(super) fn decompress(
    dict: &[u8],
    src: PaddedSrc,
    mut dst: PaddedDst,
    wanted: usize,
) -> Result<usize> {
    let stream = src.exact();
    if dst.size() == 0 && stream != [0] {
        return Err(Error::DATA);
    }
    let wants_all = wanted >= dst.size();
    let (mut at, mut out) = (0, 0);
    loop {
        // Without the margins the call would return at once, and in short streams the time of calls
        // shows.
        if decode_fast::has_margins(src, &dst, (at, out)) {
            let decode = match dict.is_empty() {
                true => decode_fast::decode::<false>,
                false => decode_fast::decode::<true>,
            };
            let last_out = wanted.saturating_sub(1);
            (at, out) = decode(dict, src, dst.reborrow(), (at, out), last_out);
        }
        if wants_all {
            (at, out) = decode_fast::decode_near_end(src, dst.reborrow(), (at, out));
        }
        if out >= wanted || (at == stream.len() && at > 0) {
            return Ok(out);
        }
        // The loops above stop at unusual sequences and near the ends.
        (at, out) = decode_checked(dict, stream, dst.reborrow(), (at, out))?;
        if at == stream.len() {
            return Ok(out);
        }
    }
}

/// Decodes one sequence of a stream, with every check.
#[inline(never)]
fn decode_checked(
    dict: &[u8],
    stream: &[u8],
    dst: PaddedDst,
    (mut at, mut out): (usize, usize),
) -> Result<(usize, usize)> {
    let src_len = stream.len();
    let token = usize::from(*stream.get(at).ok_or(Error::DATA)?);
    let (dst, dst_len) = dst.with_padding();
    at += 1;
    let shortcut =
        token >> 4 < RUN_MASK && src_len - at > SHORTCUT_SRC && dst_len - out >= SHORTCUT_DST;
    let literals = length(stream, &mut at, token >> 4, RUN_MASK)?;
    if literals > src_len - at || literals > dst_len - out {
        return Err(Error::DATA);
    }
    copy_all(&stream[at..at + literals], &mut dst[out..]);
    at += literals;
    out += literals;
    if at == src_len {
        return Ok((at, out));
    }
    if !shortcut && (dst_len - out < MF_LIMIT || src_len - at < MIN_REST) {
        return Err(Error::DATA);
    }
    let distance = usize::from(u16::from_le_bytes([stream[at], stream[at + 1]]));
    at += 2;
    let len = length(stream, &mut at, token & 15, LAST_LITERALS - 1)? + MIN_MATCH;
    if len > dst_len - LAST_LITERALS - out {
        return Err(Error::DATA);
    }
    copy_checked_match(dict, dst, out, distance, len)?;
    Ok((at, out + len))
}

/// Copies a match of `len` bytes to `out`. Its source may begin in the dictionary.
fn copy_checked_match(
    dict: &[u8],
    dst: &mut [u8],
    out: usize,
    distance: usize,
    len: usize,
) -> Result<()> {
    let mut done = 0;
    if distance == 0 {
        // Invalid, but the library accepts it and writes zeros.
        dst[out..out + len].fill(0);
        done = len;
    } else if distance > out {
        let back = distance - out;
        let from = dict.len().checked_sub(back).ok_or(Error::DATA)?;
        done = back.min(len);
        dst[out..out + done].copy_from_slice(&dict[from..from + done]);
    }
    if done < len {
        copy_match(dst, out + done, distance, len - done);
    }
    Ok(())
}

/// The length for `code` in a token, with its extra bytes, which begin at `at`. An error if fewer
/// than `min_rest` bytes follow an extra byte.
fn length(src: &[u8], at: &mut usize, code: usize, min_rest: usize) -> Result<usize> {
    let mut len = code;
    if code == RUN_MASK {
        loop {
            let more = *src.get(*at).ok_or(Error::DATA)?;
            *at += 1;
            if src.len() - *at < min_rest {
                return Err(Error::DATA);
            }
            len += usize::from(more);
            if more != 255 {
                break;
            }
        }
    }
    Ok(len)
}
