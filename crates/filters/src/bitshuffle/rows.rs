//! Vectors of the eight rows of one byte of the elements: loaded, stored, and their bits transposed.

use super::generic::{BATCH, MAX_BATCH_TYPESIZE};
use crate::simd::vector::{Scratch, Vector, transpose_bits, unroll};

/// The scratch of the kernels: a batch of each row.
pub(super) type Rows = Scratch<{ BATCH * 8 * MAX_BATCH_TYPESIZE / 64 }>;

/// [`transpose_bits`] of `S` times eight vectors, one after the other. The compiler keeps this order of instructions. If each eight
/// vectors were also loaded and stored in between, it would be up to a sixth slower.
///
/// # Safety
/// The CPU has the instruction set of `V`.
#[inline(always)]
pub(super) unsafe fn transpose_each<V: Vector, const S: usize>(mut v: [[V; 8]; S]) -> [[V; 8]; S] {
    unroll!(s < S, {
        // SAFETY: the caller promises the instruction set.
        v[s] = unsafe { transpose_bits(v[s]) };
    });
    v
}

/// Stores `S` vectors to each of eight rows, which are `row` bytes apart.
///
/// # Safety
/// The CPU has the instruction set of `V`. Writable at `dst + k * row`: `S` vectors for each `k < 8`.
#[inline(always)]
pub(super) unsafe fn store_rows<V: Vector, const S: usize>(
    v: [[V; 8]; S],
    dst: *mut u8,
    row: usize,
) {
    unroll!(k < 8, {
        unroll!(s < S, {
            // SAFETY: vector `s < S` of row `k < 8`, all of which the caller promises to be writable.
            unsafe { v[s][k].store(dst.add(k * row + s * 16 * V::LANES)) };
        });
    });
}

/// The inverse of [`store_rows`].
///
/// # Safety
/// The CPU has the instruction set of `V`. Readable at `src + k * row`: `S` vectors for each `k < 8`.
#[inline(always)]
pub(super) unsafe fn load_rows<V: Vector, const S: usize>(
    src: *const u8,
    row: usize,
) -> [[V; 8]; S] {
    // SAFETY: vectors `s < S` of rows `k < 8`, all of which the caller promises to be readable.
    unsafe {
        let mut v = [[V::zero(); 8]; S];
        unroll!(k < 8, {
            unroll!(s < S, {
                v[s][k] = V::load(src.add(k * row + s * 16 * V::LANES));
            });
        });
        v
    }
}
