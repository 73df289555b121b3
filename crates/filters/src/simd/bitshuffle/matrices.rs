//! Typesizes 1 and 2 on processors that transpose a matrix of 8 x 8 bits with one instruction.

use crate::simd::vector::{Vector, load_lanes, rotate_bytes, store_lanes, unroll};

/// A lookup table for the two groups of typesize 1, or the one group of typesize 2, in 16 bytes. It
/// collects each byte of the elements of a group in an 8-byte matrix, the first element last.
const fn matrix_table(typesize: usize) -> [u8; 16] {
    let mut table = [0; 16];
    let mut i = 0;
    while i < 16 {
        let (half, element) = (i / 8, 7 - i % 8);
        table[i] = match typesize {
            1 => (8 * half + element) as u8,
            _ => (2 * element + half) as u8,
        };
        i += 1;
    }
    table
}

/// The inverse of [`matrix_table`] for typesize 2, but with the first element first in each matrix.
const fn pair_table() -> [u8; 16] {
    let mut table = [0; 16];
    let mut i = 0;
    while i < 16 {
        table[i] = (i / 2 + 8 * (i % 2)) as u8;
        i += 1;
    }
    table
}

/// Computes one vector of each row of typesize 1 (`ROWS` = 8) or 2 (16). The bits are transposed
/// before the bytes.
///
/// # Safety
/// The CPU has the instruction set of `V`. Readable at `src`: `16 * V::LANES` groups of `ROWS`
/// bytes.
#[inline(always)]
pub(crate) unsafe fn matrices_forward<V: Vector, const ROWS: usize>(src: *const u8) -> [V; ROWS] {
    // SAFETY: `ROWS` vectors are `16 * V::LANES` groups of `ROWS` bytes, which are readable (#
    // Safety).
    unsafe {
        let mut v: [V; ROWS] = load_lanes(src);
        unroll!(i < ROWS, {
            let matrices = v[i].lookup(const { &matrix_table(ROWS / 8) });
            v[i] = matrices.transpose_matrices();
        });
        rotate_bytes(v, 4)
    }
}

/// The inverse of [`matrices_forward`].
///
/// # Safety
/// The CPU has the instruction set of `V`. Writable at `dst`: `16 * V::LANES` groups of `ROWS`
/// bytes.
#[inline(always)]
pub(crate) unsafe fn matrices_backward<V: Vector, const ROWS: usize>(
    rows: [V; ROWS],
    dst: *mut u8,
) {
    // SAFETY: `ROWS` vectors are `16 * V::LANES` groups of `ROWS` bytes, which are writable (#
    // Safety).
    unsafe {
        let mut v = rows;
        unroll!(r < ROWS, {
            // `transpose_matrices` takes the rows of each matrix in descending order.
            v[r] = rows[r ^ 7];
        });
        let mut v = rotate_bytes(v, ROWS.ilog2() as usize);
        unroll!(i < ROWS, {
            v[i] = v[i].transpose_matrices();
            if ROWS == 16 {
                v[i] = v[i].lookup(const { &pair_table() });
            }
        });
        store_lanes(v, dst);
    }
}
