//! Bit transposition without vectors: eight elements at a time, in 64-bit words.

use crate::simd::kernel::BitKernel;
use crate::simd::vector::transpose;

/// Bitshuffles `src`, a multiple of eight elements, into `dst`, which has the same length.
pub(crate) fn bitshuffle(typesize: usize, src: &[u8], dst: &mut [u8]) -> Option<BitKernel> {
    let row = src.len() / typesize / 8;
    if row == 0 {
        return None;
    }
    for (m, eight) in src.chunks_exact(8 * typesize).enumerate() {
        for (byte, rows) in dst.chunks_exact_mut(8 * row).enumerate() {
            let word = u64::from_le_bytes(core::array::from_fn(|i| eight[i * typesize + byte]));
            for (k, bits) in transpose(word).to_le_bytes().into_iter().enumerate() {
                rows[k * row + m] = bits;
            }
        }
    }
    None
}

/// The inverse of [`bitshuffle`].
pub(crate) fn bitunshuffle(typesize: usize, src: &[u8], dst: &mut [u8]) -> Option<BitKernel> {
    let row = src.len() / typesize / 8;
    if row == 0 {
        return None;
    }
    for (m, eight) in dst.chunks_exact_mut(8 * typesize).enumerate() {
        for (byte, rows) in src.chunks_exact(8 * row).enumerate() {
            let word = u64::from_le_bytes(core::array::from_fn(|k| rows[k * row + m]));
            for (i, value) in transpose(word).to_le_bytes().into_iter().enumerate() {
                eight[i * typesize + byte] = value;
            }
        }
    }
    None
}
