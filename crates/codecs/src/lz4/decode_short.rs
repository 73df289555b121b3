//! The decoding loop for short sequences, which text and unshuffled numbers consist of.
//!
//! The position of the next sequence depends on the token of this one. So the critical path is the load of the token, the addition to the
//! position, and mispredicted branches. The loop keeps everything else off that path: one load of eight bytes gets token, literals and
//! distance where they fit, and there are as few branches as possible. The loop is a function of its own, so that all its values stay in
//! registers.
//!
//! At the beginning of the data there is little to refer to, and the number of literals is unpredictable; there the loop does not branch
//! on it. Further on such a branch is nearly always predicted right, and faster than the code without it.

use core::hint::black_box;

use super::decode_fast::{DST_MARGIN, SRC_MARGIN};
use super::decompress::{MIN_MATCH, RUN_MASK};
use crate::unaligned::load;
use crate::unchecked::UncheckedDst;

/// The size of token and distance: of a sequence without its literals.
const WITHOUT_LITERALS: usize = 1 + 2;
/// The most literals that fit into a load of eight bytes together with token and distance.
const WORD_LITERALS: usize = 8 - WITHOUT_LITERALS;
/// In this many bytes from the beginning of the data, the number of literals is unpredictable.
const UNPREDICTABLE_BYTES: usize = 6 << 10;
/// The bytes of a match that are copied, in two steps.
const MATCH_BYTES: usize = 2 * STEP;
const STEP: usize = 8;
// The margins are enough for what a sequence reads (sixteen bytes behind the token, or token, literals and distance) and for what it
// writes (sixteen bytes of literals, or all literals and a match).
const _: () = assert!(
    16 < SRC_MARGIN
        && WITHOUT_LITERALS + RUN_MASK - 1 <= SRC_MARGIN
        && RUN_MASK - 1 + MATCH_BYTES <= DST_MARGIN
);

/// Decodes sequences from `at` in the stream and `out` in the data on. It stops at a sequence that has extra bytes, or a match of more than
/// `MATCH_BYTES`, or a distance less than `STEP` or greater than the data, or that begins behind `last_token` or `last_out`. Returns
/// where that sequence begins, in stream and data. Some of its literals may have been written.
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
    // SAFETY: the same conditions (# Safety); a lower last position has at least as many bytes.
    unsafe {
        if out < UNPREDICTABLE_BYTES {
            let lasts = (last_token, last_out.min(UNPREDICTABLE_BYTES));
            decode_loop::<false>(src, dst, (at, out), lasts)
        } else {
            decode_loop::<true>(src, dst, (at, out), (last_token, last_out))
        }
    }
}

/// The loop of [`decode_short`]. Without `FEW_LITERALS` it does not branch on the number of literals.
///
/// # Safety
/// As for [`decode_short`].
#[inline(always)]
unsafe fn decode_loop<const FEW_LITERALS: bool>(
    src: &[u8],
    mut dst: UncheckedDst,
    (mut at, mut out): (usize, usize),
    (last_token, last_out): (usize, usize),
) -> (usize, usize) {
    debug_assert!(last_token + SRC_MARGIN <= src.len() && last_out + DST_MARGIN <= dst.len());
    debug_assert!(STEP <= out);
    // `black_box` makes the compiler add this to the position while the token is loaded, and not to the sum afterwards.
    let without_literals = black_box(WITHOUT_LITERALS);
    while at <= last_token && out <= last_out {
        // SAFETY: `at <= last_token`, so `SRC_MARGIN` bytes lie at `at`.
        let token = usize::from(unsafe { load::<u8>(src, at) });
        let (literals, match_code) = (token >> 4, token & 15);
        let next = at + without_literals + literals;
        let end = out + literals;
        let distance = if FEW_LITERALS && literals <= WORD_LITERALS {
            // SAFETY: `at <= last_token` and `out <= last_out`, so `SRC_MARGIN` and `DST_MARGIN` bytes lie there; both are more than 8.
            let behind_token = unsafe {
                let behind_token = u64::from_le(load(src, at)) >> 8;
                dst.store(out, behind_token.to_le());
                behind_token
            };
            usize::from((behind_token >> (8 * literals)) as u16)
        } else {
            // SAFETY: as above; the load ends at `at + 17`, and `16 < SRC_MARGIN`.
            unsafe { dst.store::<u128>(out, load(src, at + 1)) };
            if literals == RUN_MASK {
                break;
            }
            // SAFETY: `next` is at most `WITHOUT_LITERALS + RUN_MASK - 1` behind `at`, which is at most `SRC_MARGIN` (asserted above).
            usize::from(u16::from_le_bytes(unsafe { load(src, next - 2) }))
        };
        // The second check says that the distance is from `STEP` to `end`; `end - STEP` is not negative since `STEP <= out <= end`.
        if match_code + MIN_MATCH > MATCH_BYTES || distance.wrapping_sub(STEP) > end - STEP {
            break;
        }
        // SAFETY: `STEP <= distance <= end`, so loads begin at 0 or later and end at `end + STEP` at most. `end` is at most `RUN_MASK - 1`
        // behind `out`, where `DST_MARGIN` bytes lie, so `MATCH_BYTES` lie at `end` (asserted above).
        unsafe {
            let from = end - distance;
            dst.store::<u64>(end, dst.load(from));
            dst.store::<u64>(end + STEP, dst.load(from + STEP));
        }
        (at, out) = (next, end + match_code + MIN_MATCH);
    }
    (at, out)
}
