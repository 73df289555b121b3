//! Writes sequences of the LZ4 format. The fast compressor and LZ4HC share it.

use core::hint::cold_path;

use super::format::{LAST_LITERALS, MF_LIMIT, MIN_MATCH, RUN_MASK};
use crate::copy::copy_all;
use crate::unaligned::load;
use crate::unchecked::UncheckedDst;

/// The destination must have room for the literals and this many bytes before a sequence is written
/// without checks.
///
/// [`put_sequence_unchecked`] needs at most 17 of them. The LZ4 library gives up if a last sequence
/// of 6 bytes does not fit behind the sequence, and so must we: token, distance, one extra byte for
/// each length and that last sequence are 11.
pub(super) const SEQUENCE_MARGIN: usize = 24;

/// How many extra bytes a length takes that does not fit into a token; 0 if it fits.
pub(super) fn extra_bytes(len: usize) -> usize {
    (len + 255 - RUN_MASK) / 255
}

/// Writes the extra bytes of a length at `out`. Returns where they end.
fn put_extra_bytes(dst: &mut [u8], out: usize, len: usize) -> usize {
    let end = out + extra_bytes(len);
    if let Some((last, full)) = dst[out..end].split_last_mut() {
        full.fill(255);
        *last = ((len - RUN_MASK) % 255) as u8;
    }
    end
}

/// Writes a token and literals. Returns where they end. Panics if they do not fit.
fn put_literals(dst: &mut [u8], out: usize, literals: &[u8], match_code: usize) -> usize {
    let len = literals.len();
    dst[out] = (len.min(RUN_MASK) << 4 | match_code) as u8;
    let out = put_extra_bytes(dst, out + 1, len);
    copy_all(literals, &mut dst[out..out + len]);
    out + len
}

/// A sequence: literals, and a match behind them.
#[derive(Clone, Copy)]
pub(super) struct Sequence {
    /// The position of the first literal in the source.
    pub(super) anchor: usize,
    /// The number of literals.
    pub(super) literals: usize,
    /// The distance of the match, little-endian as in the stream.
    pub(super) distance: [u8; 2],
    /// The length of the match less `MIN_MATCH`.
    pub(super) extra_len: usize,
}

impl Sequence {
    /// Whether [`put_sequence_unchecked`] may write this sequence into a destination with
    /// `capacity` bytes left.
    #[inline(always)]
    pub(super) fn has_margins(&self, src: &[u8], capacity: usize) -> bool {
        let Sequence {
            anchor,
            literals,
            extra_len,
            ..
        } = *self;
        literals.max(extra_len) < RUN_MASK + 255
            && capacity >= literals + SEQUENCE_MARGIN
            && anchor + literals + MIN_MATCH + extra_len + MF_LIMIT <= src.len()
    }
}

/// Writes a sequence at `out` without checks. Returns where it ends.
///
/// # Safety
/// [`Sequence::has_margins`] holds for the room behind `out`, so each length has at most one extra
/// byte.
#[inline(always)]
pub(super) unsafe fn put_sequence_unchecked(
    dst: &mut UncheckedDst,
    mut out: usize,
    src: &[u8],
    sequence: Sequence,
) -> usize {
    let Sequence {
        anchor,
        literals,
        distance,
        extra_len,
    } = sequence;
    debug_assert!(sequence.has_margins(src, dst.len() - out));
    let match_code = extra_len.min(RUN_MASK);
    // SAFETY: `has_margins` (# Safety) gives `literals + SEQUENCE_MARGIN` bytes at `out` and
    // `MF_LIMIT` bytes of `src` behind the match. Stores, as offsets from the first `out`: with
    // fewer than 15 literals they end at 1 (token), 17 (16 bytes of literals) and `1 + literals +
    // 3` (distance and extra byte); with more, at 2 (token and extra byte), `2 + literals - 1 + 16`
    // (the last step of literals begins before their end) and `2 + literals + 3`. None is over
    // `literals + SEQUENCE_MARGIN`. Loads: a step of literals is 16 bytes long and begins at
    // `anchor`, or before `anchor + literals`. The match is at least `MIN_MATCH` long, so
    // `MIN_MATCH + MF_LIMIT`, that is 16, bytes lie behind the literals.
    unsafe {
        if literals < RUN_MASK {
            dst.store(out, (literals << 4 | match_code) as u8);
            dst.store::<u128>(out + 1, load(src, anchor));
            out += 1 + literals;
        } else {
            cold_path();
            dst.store(out, (RUN_MASK << 4 | match_code) as u8);
            dst.store(out + 1, (literals - RUN_MASK) as u8);
            out += 2;
            for done in (0..literals).step_by(16) {
                dst.store::<u128>(out + done, load(src, anchor + done));
            }
            out += literals;
        }
        dst.store(out, distance);
        // Without an extra byte this is overwritten by the next sequence.
        dst.store(out + 2, extra_len.wrapping_sub(RUN_MASK) as u8);
    }
    out + 2 + usize::from(match_code == RUN_MASK)
}

/// Writes a sequence at `out`. Returns where it ends; `None` if there is no room for it and a last
/// sequence of `LAST_LITERALS` literals.
#[inline(always)]
pub(super) fn put_sequence(
    dst: &mut [u8],
    out: usize,
    src: &[u8],
    sequence: Sequence,
) -> Option<usize> {
    let min_last_sequence = 1 + LAST_LITERALS;
    let lengths = extra_bytes(sequence.literals) + extra_bytes(sequence.extra_len);
    if 1 + sequence.literals + 2 + lengths + min_last_sequence > dst.len() - out {
        return None;
    }
    Some(put_fitting_sequence(dst, out, src, sequence))
}

/// Writes a sequence at `out`. Returns where it ends. Panics if it does not fit.
#[inline(always)]
pub(super) fn put_fitting_sequence(
    dst: &mut [u8],
    out: usize,
    src: &[u8],
    sequence: Sequence,
) -> usize {
    let literals = &src[sequence.anchor..][..sequence.literals];
    let out = put_literals(dst, out, literals, sequence.extra_len.min(RUN_MASK));
    dst[out..out + 2].copy_from_slice(&sequence.distance);
    put_extra_bytes(dst, out + 2, sequence.extra_len)
}

/// Writes the last sequence, which has no match, at `out`. Returns where it ends; `None` if it does
/// not fit.
#[inline(always)]
pub(super) fn put_last_literals(dst: &mut [u8], out: usize, literals: &[u8]) -> Option<usize> {
    if 1 + literals.len() + extra_bytes(literals.len()) > dst.len() - out {
        return None;
    }
    Some(put_literals(dst, out, literals, 0))
}
