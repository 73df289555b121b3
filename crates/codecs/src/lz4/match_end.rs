//! How far a match reaches, forward and backward.
//!
//! The code suits shuffled data, where the length of a match is unpredictable: no branch depends on
//! it for matches of up to 44 bytes.

use core::hint::{cold_path, select_unpredictable};

use super::format::{MF_LIMIT, MIN_MATCH};
use crate::unaligned::{first_mismatch, load, xor8};

/// The end of the match at `at`, whose first 12 bytes (`MIN_MATCH` and eight) are known to match.
///
/// # Safety
/// `at + MF_LIMIT <= src.len()`, and `1 <= distance <= at`.
#[inline(always)]
unsafe fn long_match_end(src: &[u8], at: usize, distance: usize) -> usize {
    debug_assert!(at + MF_LIMIT <= src.len() && 1 <= distance && distance <= at);
    let mut end = at + MIN_MATCH + 8;
    while end + 32 <= src.len() {
        // SAFETY: the loop's condition leaves 32 bytes at `end`; `end - distance` is an earlier
        // position since `distance <= at < end`.
        if let Some(first) = unsafe { first_mismatch(src, end - distance, end) } {
            return end + first;
        }
        end += 32;
    }
    cold_path();
    while end + 16 <= src.len() {
        // SAFETY: the loop's condition leaves 16 bytes at `end`, and `end - distance` is an earlier
        // position.
        let xor = unsafe { load::<u128>(src, end) ^ load::<u128>(src, end - distance) };
        if xor != 0 {
            return end + (u128::from_le(xor).trailing_zeros() / 8) as usize;
        }
        end += 16;
    }
    if end + 8 <= src.len() {
        // SAFETY: the condition leaves 8 bytes at `end`, and `end - distance` is an earlier
        // position.
        let xor = unsafe { xor8(src, end - distance, end) };
        if xor != 0 {
            return end + (xor.trailing_zeros() / 8) as usize;
        }
    }
    cold_path();
    // Compare the last eight bytes of `src`. They overlap bytes that are known to match. If all of
    // them match, there are 64 trailing zeros, and the result is the end of `src`.
    let tail = src.len() - 8;
    // SAFETY: 8 bytes lie at `tail`. `at + MF_LIMIT <= src.len()` (# Safety) gives `tail >= at +
    // 4`, and `distance <= at`, so `tail - distance` is not negative.
    tail + (unsafe { xor8(src, tail - distance, tail) }.trailing_zeros() / 8) as usize
}

/// The end of the match between `from` and `at`, whose first `MIN_MATCH` bytes are known to match.
///
/// # Safety
/// `from < at` and `at + MF_LIMIT <= src.len()`.
#[inline(always)]
pub(in super::super) unsafe fn match_end(src: &[u8], from: usize, at: usize) -> usize {
    debug_assert!(from < at && at + MF_LIMIT <= src.len());
    // SAFETY: `MF_LIMIT` is 12, so `MIN_MATCH` and eight more bytes lie at `at`, and `from < at` (#
    // Safety).
    let xor = unsafe { xor8(src, from + MIN_MATCH, at + MIN_MATCH) };
    if xor != 0 {
        at + MIN_MATCH + (xor.trailing_zeros() / 8) as usize
    } else {
        // SAFETY: `at + MF_LIMIT <= src.len()` (# Safety), and `from < at` makes the distance at
        // least 1 and at most `at`.
        unsafe { long_match_end(src, at, at - from) }
    }
}

/// How many bytes before `at` match those before `from`, at most `limit`. (The LZ4 library calls
/// this step "catch up".)
///
/// # Safety
/// `limit <= from < at <= src.len()`.
#[inline(always)]
pub(in super::super) unsafe fn match_len_backward(
    src: &[u8],
    from: usize,
    at: usize,
    limit: usize,
) -> usize {
    debug_assert!(limit <= from && from < at && at <= src.len());
    let mut len = 0;
    while from - len >= 8 {
        // SAFETY: the loop's condition says that `from - len - 8` is not negative. The eight bytes
        // before `at - len` end at `at` at most, which is within `src`, and `from < at` (# Safety).
        let xor = unsafe { xor8(src, from - len - 8, at - len - 8) }.swap_bytes();
        // After `swap_bytes` the byte before `at` is the lowest, so trailing zeros are counted:
        // processors without `lzcnt` count leading zeros slowly.
        if xor != 0 {
            return limit.min(len + (xor.trailing_zeros() / 8) as usize);
        }
        cold_path();
        len += 8;
        if len >= limit {
            return limit;
        }
    }
    cold_path();
    while len < limit && src[at - len - 1] == src[from - len - 1] {
        len += 1;
    }
    len
}

/// A match that [`short_match`] finds is at most this much longer than `MIN_MATCH`.
pub(super) const MAX_SHORT_EXTRA: usize = 7;
/// [`short_match`] requires this many bytes at the match: the longest short match, and `MF_LIMIT`
/// bytes behind it.
pub(in super::super) const SHORT_MATCH_MARGIN: usize = MIN_MATCH + MAX_SHORT_EXTRA + MF_LIMIT;

/// Finds the end of the match between `from` and `at`, whose first `MIN_MATCH` bytes are known to
/// match. Returns the end and a word whose lowest five bytes are the bytes at the end, in
/// little-endian order; `None` if the match is longer than 11 bytes.
///
/// The next search usually begins at the end of the match and cannot begin before the end is known.
/// Shifting the bytes at the end out of words that are loaded already is faster than a load that
/// waits for the position.
///
/// # Safety
/// `from < at` and `at + SHORT_MATCH_MARGIN <= src.len()`.
#[inline(always)]
pub(in super::super) unsafe fn short_match(
    src: &[u8],
    from: usize,
    at: usize,
) -> Option<(usize, u64)> {
    debug_assert!(from < at && at + SHORT_MATCH_MARGIN <= src.len());
    // SAFETY: `SHORT_MATCH_MARGIN` is more than 16, so all three loads at `at` end within `src`;
    // those at `from` do since `from < at`.
    let (near, xor, ahead) = unsafe {
        let near: u64 = load(src, at + MIN_MATCH);
        let xor = xor8(src, from + MIN_MATCH, at + MIN_MATCH);
        let ahead: u64 = load(src, at + MIN_MATCH + 4);
        (u64::from_le(near), xor, u64::from_le(ahead))
    };
    let bits = xor.trailing_zeros();
    let end = at + MIN_MATCH + (bits / 8) as usize;
    let end_bytes = select_unpredictable(bits < 32, near, ahead) >> (bits & 24);
    (xor != 0).then_some((end, end_bytes))
}
