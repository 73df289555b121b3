//! Typesizes 1 and 2, whose groups are no longer than 16 bytes.
//!
//! In these functions, and in those for larger typesizes, one pointer leads to tiles of `16 *
//! V::LANES * S` groups. The other leads to the rows, which are `row` bytes apart: a tile has `S`
//! vectors of each of the `8 * typesize` rows. Several tiles are at most `BATCH` bytes of a row, or
//! half of that for typesizes above `MAX_BATCH_TYPESIZE`, so that they fit into [`Rows`].

use super::matrices::{matrices_backward, matrices_forward};
use super::rows::{Rows, load_rows, store_rows, transpose_each};
use crate::simd::vector::{
    SET_STRIDE, Vector, load_lanes, prefetch, rotate_bytes, store_lanes, transpose16, unroll,
};

/// Bitshuffles one tile of typesize 1.
///
/// # Safety
/// The CPU has the instruction set of `V`; all tiles are readable at `src` and writable at `dst`.
#[inline(always)]
pub(super) unsafe fn bytes_forward<V: Vector, const S: usize>(
    src: *const u8,
    dst: *mut u8,
    row: usize,
) {
    let size = 8 * 16 * V::LANES;
    prefetch(src.wrapping_add(S * size), S * size);
    // SAFETY: the tile is `S` parts of `size` bytes, and `S` vectors of each of eight rows; all are
    // accessible (# Safety).
    unsafe {
        let mut rows = [[V::zero(); 8]; S];
        unroll!(s < S, {
            let src = src.add(s * size);
            if V::FAST_MATRICES {
                rows[s] = matrices_forward(src);
            } else {
                rows[s] = rotate_bytes(load_lanes(src), 4);
            }
        });
        if !V::FAST_MATRICES {
            rows = transpose_each(rows);
        }
        store_rows(rows, dst, row);
    }
}

/// The inverse of [`bytes_forward`].
///
/// # Safety
/// As [`bytes_forward`].
#[inline(always)]
pub(super) unsafe fn bytes_backward<V: Vector, const S: usize>(
    src: *const u8,
    dst: *mut u8,
    row: usize,
) {
    let size = 8 * 16 * V::LANES;
    prefetch(dst.wrapping_add(S * size), S * size);
    // SAFETY: as in `bytes_forward`, with source and destination exchanged.
    unsafe {
        let mut rows: [[V; 8]; S] = load_rows(src, row);
        if !V::FAST_MATRICES {
            rows = transpose_each(rows);
        }
        unroll!(s < S, {
            let dst = dst.add(s * size);
            if V::FAST_MATRICES {
                matrices_backward(rows[s], dst);
            } else {
                store_lanes(rotate_bytes(rows[s], 3), dst);
            }
        });
    }
}

/// Bitshuffles `tiles` tiles of typesize 2, where a group is one column of 16 bytes. If all rows
/// start in the same cache set, half of them are buffered and written later.
///
/// # Safety
/// As [`bytes_forward`].
#[inline(always)]
pub(super) unsafe fn pairs_forward<V: Vector, const S: usize>(
    tiles: usize,
    src: *const u8,
    dst: *mut u8,
    row: usize,
) {
    let tile = 16 * V::LANES * S;
    let same_set = row.is_multiple_of(SET_STRIDE);
    let mut later = Rows::new();
    // SAFETY: the tiles are adjacent, and so are the `S` parts of each; all are readable, and the
    // rows writable (# Safety). The indices of `later` are less than `8 * tiles * S`, which fits
    // `Rows`, and each vector is stored before it is loaded.
    unsafe {
        for t in 0..tiles {
            let src = src.add(16 * t * tile);
            prefetch(src.wrapping_add(16 * tile), 16 * tile);
            let (mut low, mut high) = ([[V::zero(); 8]; S], [[V::zero(); 8]; S]);
            unroll!(s < S, {
                let src = src.add(16 * s * 16 * V::LANES);
                if V::FAST_MATRICES {
                    let v: [V; 16] = matrices_forward(src);
                    unroll!(i < 8, {
                        (low[s][i], high[s][i]) = (v[i], v[8 + i]);
                    });
                } else {
                    let v: [V; 16] = transpose16(load_lanes(src));
                    unroll!(i < 8, {
                        (low[s][i], high[s][i]) = (v[2 * i], v[2 * i + 1]);
                    });
                }
            });
            if !V::FAST_MATRICES {
                (low, high) = (transpose_each(low), transpose_each(high));
            }
            store_rows(low, dst.add(t * tile), row);
            if same_set {
                unroll!(s < S, {
                    unroll!(k < 8, {
                        later.put(8 * (t * S + s) + k, high[s][k]);
                    });
                });
            } else {
                store_rows(high, dst.add(8 * row + t * tile), row);
            }
        }
        if same_set {
            for t in 0..tiles {
                let mut high = [[V::zero(); 8]; S];
                unroll!(s < S, {
                    unroll!(k < 8, {
                        high[s][k] = later.get(8 * (t * S + s) + k);
                    });
                });
                store_rows(high, dst.add(8 * row + t * tile), row);
            }
        }
    }
}

/// The inverse of [`pairs_forward`].
///
/// # Safety
/// As [`bytes_forward`].
#[inline(always)]
pub(super) unsafe fn pairs_backward<V: Vector, const S: usize>(
    tiles: usize,
    src: *const u8,
    dst: *mut u8,
    row: usize,
) {
    let tile = 16 * V::LANES * S;
    for t in 0..tiles {
        // SAFETY: as in `pairs_forward`, with source and destination exchanged.
        unsafe {
            let dst = dst.add(16 * t * tile);
            prefetch(dst.wrapping_add(16 * tile), 16 * tile);
            let src = src.add(t * tile);
            let mut low: [[V; 8]; S] = load_rows(src, row);
            let mut high: [[V; 8]; S] = load_rows(src.add(8 * row), row);
            if !V::FAST_MATRICES {
                (low, high) = (transpose_each(low), transpose_each(high));
            }
            unroll!(s < S, {
                let dst = dst.add(16 * s * 16 * V::LANES);
                let mut v = [V::zero(); 16];
                if V::FAST_MATRICES {
                    unroll!(i < 8, {
                        (v[i], v[8 + i]) = (low[s][i], high[s][i]);
                    });
                    matrices_backward(v, dst);
                } else {
                    unroll!(i < 8, {
                        (v[2 * i], v[2 * i + 1]) = (low[s][i], high[s][i]);
                    });
                    store_lanes(transpose16(v), dst);
                }
            });
        }
    }
}
