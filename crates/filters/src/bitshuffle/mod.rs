//! Bitshuffle: the bits of an array's elements sorted by their place in the element.
//!
//! A block of `n` elements of `typesize` bytes, `n` a multiple of 8, becomes `8 * typesize` rows of `n / 8` bytes: bit
//! `i` of byte `m` of row `8 * b + k` is bit `k` of byte `b` of element `8 * m + i`. Elements past the last multiple of
//! 8, and what is left after the last whole element, are copied as they are.

pub(crate) mod generic;
mod groups;
pub(crate) mod portable;
#[cfg(test)]
mod tests;

use super::{copy, simd};

/// The last version of the chunk format in which blocks were bitshuffled whole or not at all.
const WHOLE_BLOCKS_VERSION: u8 = 2;

/// The bytes at the start of a block of `len` bytes that are transposed.
fn transposed(typesize: usize, len: usize) -> usize {
    len.checked_div(typesize).unwrap_or(0) / 8 * 8 * typesize
}

/// Bitshuffles `src` into the first `src.len()` bytes of `dst`.
///
/// Any `typesize` is allowed; with less than eight elements (or a `typesize` of 0) it is a copy.
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

/// Undoes [`bitshuffle`] in a chunk of version `format_version` of the format: the first `src.len()` bytes of `dst`
/// become what was bitshuffled into `src`.
///
/// In version 2 blocks whose number of elements is no multiple of 8 were not transposed at all, and are copied. In the
/// others what was left after the last element was never stored: those bytes become 0.
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
