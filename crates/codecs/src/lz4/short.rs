//! The loop of the decompressor for short sequences, as in text and in numbers that were not shuffled.
//!
//! Where the next sequence begins depends on the token of this one, so the time of a sequence is that of loading a token and adding
//! to the position, and of the branches that are predicted wrong. So the rest is kept off that path: literals and distance come from
//! one load of eight bytes where they fit, and there are as few branches as possible. The loop is a function of its own, so that all
//! it needs is in registers.
//!
//! How many literals there are is unpredictable at the beginning of the data, where little can be repeated. There the loop has no branch
//! on that; further on the branch is right nearly always, and faster.

use core::hint::black_box;

use super::decompress::{MIN_MATCH, RUN_MASK};
use super::sequences::{DST_MARGIN, SRC_MARGIN};
use crate::unaligned::load;
use crate::unchecked::UncheckedDst;

/// Bytes of a sequence without extra bytes, except for its literals: token and distance.
const WITHOUT_LITERALS: usize = 1 + 2;
/// The most literals that eight bytes hold besides.
const WORD_LITERALS: usize = 8 - WITHOUT_LITERALS;
/// In so many bytes of data from their beginning on literals are frequent.
const FRESH: usize = 6 << 10;
/// The bytes of a match that are copied, in two steps.
const MATCH_BYTES: usize = 2 * STEP;
const STEP: usize = 8;
// What a sequence reads and writes: sixteen bytes behind the token, or token, literals and distance; sixteen bytes of literals, or all
// of them and a match.
const _: () = assert!(
    16 < SRC_MARGIN
        && WITHOUT_LITERALS + RUN_MASK - 1 <= SRC_MARGIN
        && RUN_MASK - 1 + MATCH_BYTES <= DST_MARGIN
);

/// Decodes sequences from `at` in the stream and `out` in the data on, until one has extra bytes, or a match of more than
/// `MATCH_BYTES` or from less than `STEP` bytes back, or not from the data, or begins behind `last_token` or `last_out`. Returns the
/// positions of that one, of which literals may have been written.
///
/// # Safety
/// `SRC_MARGIN` bytes of `src` lie at `last_token` and `DST_MARGIN` bytes of `dst` at `last_out`; `STEP <= out`.
#[inline(never)]
pub(super) unsafe fn decode_short(
    src: &[u8],
    dst: UncheckedDst,
    (at, out): (usize, usize),
    (last_token, last_out): (usize, usize),
) -> (usize, usize) {
    // SAFETY: as the caller says; the last position is at most what the caller gave.
    unsafe {
        if out < FRESH {
            let lasts = (last_token, last_out.min(FRESH));
            decode_all::<true>(src, dst, (at, out), lasts)
        } else {
            decode_all::<false>(src, dst, (at, out), (last_token, last_out))
        }
    }
}

/// [`decode_short`]. With `MANY_LITERALS` literals of any number are copied without a branch.
///
/// # Safety
/// As there.
#[inline(always)]
unsafe fn decode_all<const MANY_LITERALS: bool>(
    src: &[u8],
    mut dst: UncheckedDst,
    (mut at, mut out): (usize, usize),
    (last_token, last_out): (usize, usize),
) -> (usize, usize) {
    debug_assert!(last_token + SRC_MARGIN <= src.len() && last_out + DST_MARGIN <= dst.len());
    debug_assert!(STEP <= out);
    // Opaque, so that it is added to the position while the token is loaded, and not after that.
    let without_literals = black_box(WITHOUT_LITERALS);
    while at <= last_token && out <= last_out {
        // SAFETY: `at <= last_token`, so `SRC_MARGIN` bytes lie at `at`.
        let token = usize::from(unsafe { load::<u8>(src, at) });
        let (literals, match_code) = (token >> 4, token & 15);
        let next = at + without_literals + literals;
        let end = out + literals;
        let distance = if !MANY_LITERALS && literals <= WORD_LITERALS {
            // SAFETY: `SRC_MARGIN` bytes of the source lie at `at`, `DST_MARGIN` of the destination at `out`; both are more than 8.
            let behind_token = unsafe {
                let behind_token = u64::from_le(load(src, at)) >> 8;
                dst.store(out, behind_token.to_le());
                behind_token
            };
            usize::from((behind_token >> (8 * literals)) as u16)
        } else {
            // SAFETY: the same; `SRC_MARGIN` is at least 17.
            unsafe { dst.store::<u128>(out, load(src, at + 1)) };
            if literals == RUN_MASK {
                break;
            }
            // SAFETY: `next` is at most `WITHOUT_LITERALS + RUN_MASK - 1` behind `at`, and so not behind `SRC_MARGIN`.
            usize::from(u16::from_le_bytes(unsafe { load(src, next - 2) }))
        };
        // The latter says that the distance is from `STEP` to `end`, since `STEP <= out <= end`.
        if match_code + MIN_MATCH > MATCH_BYTES || distance.wrapping_sub(STEP) > end - STEP {
            break;
        }
        // SAFETY: `STEP <= distance <= end`, so loads begin at 0 or later, and end at `end + STEP` at most. `end` is at most
        // `RUN_MASK - 1` behind `out`, and `DST_MARGIN` bytes lie there: these and `MATCH_BYTES`.
        unsafe {
            let from = end - distance;
            dst.store::<u64>(end, dst.load(from));
            dst.store::<u64>(end + STEP, dst.load(from + STEP));
        }
        (at, out) = (next, end + match_code + MIN_MATCH);
    }
    (at, out)
}
