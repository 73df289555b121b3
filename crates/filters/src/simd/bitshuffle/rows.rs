//! Loads and stores vectors of eight rows, which belong to one byte of the elements, and transposes
//! their bits.

use crate::simd::vector::{Vector, VectorBuffer, transpose_bits, unroll};

/// How many bytes of each row are written at once: four cache lines.
pub(super) const BATCH: usize = 256;
/// The largest typesize with batches of this size. Larger typesizes have half of it. Typesize 1 and
/// wide elements have batches of one tile.
pub(super) const MAX_BATCH_TYPESIZE: usize = 8;

/// The buffer of the kernels. It holds a batch of each row.
pub(super) type Rows = VectorBuffer<{ BATCH * 8 * MAX_BATCH_TYPESIZE / 64 }>;

/// [`transpose_bits`] of `S` times eight vectors. Loads and stores come before and after, and not
/// in between, which would be up to a sixth slower: the compiler keeps the order of these
/// instructions.
///
/// # Safety
/// The CPU has the instruction set of `V`.
#[inline(always)]
pub(super) unsafe fn transpose_each<V: Vector, const S: usize>(mut v: [[V; 8]; S]) -> [[V; 8]; S] {
    unroll!(s < S, {
        // SAFETY: the CPU has the instruction set (# Safety).
        v[s] = unsafe { transpose_bits(v[s]) };
    });
    v
}

/// Stores `S` vectors to each of eight rows, which are `row` bytes apart.
///
/// # Safety
/// The CPU has the instruction set of `V`. Writable at `dst + k * row`: `S` vectors for each `k <
/// 8`.
#[inline(always)]
pub(super) unsafe fn store_rows<V: Vector, const S: usize>(
    v: [[V; 8]; S],
    dst: *mut u8,
    row: usize,
) {
    unroll!(k < 8, {
        unroll!(s < S, {
            // SAFETY: this is vector `s < S` of row `k < 8`, which is writable (# Safety).
            unsafe { v[s][k].store(dst.add(k * row + s * 16 * V::LANES)) };
        });
    });
}

/// The inverse of [`store_rows`].
///
/// # Safety
/// The CPU has the instruction set of `V`. Readable at `src + k * row`: `S` vectors for each `k <
/// 8`.
#[inline(always)]
pub(super) unsafe fn load_rows<V: Vector, const S: usize>(
    src: *const u8,
    row: usize,
) -> [[V; 8]; S] {
    // SAFETY: these are vectors `s < S` of rows `k < 8`, which are readable (# Safety).
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
