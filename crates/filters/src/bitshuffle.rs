//! Bitshuffle: transposes the bits of an array, so that the bits of all elements at the same
//! position are together.
//!
//! A block of `n` elements of `typesize` bytes, `n` a multiple of 8, becomes `8 * typesize` rows of
//! `n / 8` bytes: bit `i` of byte `m` of row `8 * b + k` is bit `k` of byte `b` of element `8 * m +
//! i`. Elements past the last multiple of 8, and bytes after the last whole element, are copied.

#[cfg(test)]
mod tests;

use super::{copy, simd};

/// The last version of the chunk format in which a block is bitshuffled whole or not at all.
const WHOLE_BLOCKS_VERSION: u8 = 2;
/// Any later version.
pub(crate) const CURRENT_VERSION: u8 = WHOLE_BLOCKS_VERSION + 1;

/// How many bytes at the start of a block of `len` bytes are transposed.
fn transposed(typesize: usize, len: usize) -> usize {
    len.checked_div(typesize).unwrap_or(0) / 8 * 8 * typesize
}

/// Bitshuffles `src` into the first `src.len()` bytes of `dst`.
///
/// Any `typesize` is allowed. With fewer than eight elements, or a `typesize` of 0, this is a copy.
///
/// # Panics
/// If `dst` is shorter than `src`.
pub fn bitshuffle(typesize: usize, src: &[u8], dst: &mut [u8]) {
    let whole = transposed(typesize, src.len());
    copy(&src[whole..], &mut dst[whole..]);
    if whole > 0 {
        simd::best().bitshuffle(typesize, &src[..whole], &mut dst[..whole]);
    }
}

/// Undoes [`bitshuffle`], from `src` into the first `src.len()` bytes of `dst`. `format_version` is
/// that of the chunk.
///
/// In version 2, a block whose number of elements is not a multiple of 8 is not transposed, so it
/// is copied. Other blocks do not store the bytes after the last whole element; these become 0.
///
/// # Panics
/// If `dst` is shorter than `src`.
pub fn bitunshuffle(typesize: usize, src: &[u8], dst: &mut [u8], format_version: u8) {
    let mut whole = transposed(typesize, src.len());
    let old = format_version == WHOLE_BLOCKS_VERSION;
    if old && src.len() - whole >= typesize {
        whole = 0;
    }
    if old && whole > 0 {
        dst[whole..src.len()].fill(0);
    } else {
        copy(&src[whole..], &mut dst[whole..]);
    }
    if whole > 0 {
        simd::best().bitunshuffle(typesize, &src[..whole], &mut dst[..whole]);
    }
}
