//! Typesizes of 3 and more. They are transposed in columns of 16 bytes: of a group or, for wide
//! elements, of one element.
//!
//! Each direction is a function of its own, because they have little in common: the inverse does
//! the two halves in the opposite order, and has a store where the other has a load.

use super::rows::{Rows, load_rows, store_rows, transpose_each};
use crate::simd::vector::{Vector, piece_starts, prefetch, transpose16, unroll};

/// Hides the value of `n` from the compiler. The addresses in a column are multiples of a group
/// apart. The compiler would compute them outside of the loop over columns, and then keep them in
/// memory, since there are more of them than registers.
#[inline(always)]
fn opaque(n: usize) -> usize {
    core::hint::black_box(n)
}

/// Loads 16 bytes of each of the `16 * V::LANES` groups at `src`, `group` bytes apart, and
/// transposes them.
///
/// # Safety
/// The CPU has the instruction set of `V`. Readable: 16 bytes at `src + m * group` for each group
/// `m`.
#[inline(always)]
unsafe fn load_column<V: Vector>(src: *const u8, group: usize) -> [V; 16] {
    // SAFETY: lane `l` of vector `m` is group `16 * l + m`, whose 16 bytes are readable (# Safety).
    unsafe {
        let mut v = [V::zero(); 16];
        unroll!(m < 16, {
            v[m] = V::load_lanes(src.add(m * group), 16 * group);
        });
        transpose16(v)
    }
}

/// The inverse of [`load_column`].
///
/// # Safety
/// The CPU has the instruction set of `V`. Writable: 16 bytes at `dst + m * group` for each group
/// `m`.
#[inline(always)]
unsafe fn store_column<V: Vector>(v: [V; 16], dst: *mut u8, group: usize) {
    // SAFETY: lane `l` of vector `m` is group `16 * l + m`, whose 16 bytes are writable (# Safety).
    unsafe {
        let v = transpose16(v);
        unroll!(m < 16, {
            unroll!(lane < V::LANES, {
                v[m].store_lane(lane, dst.add((16 * lane + m) * group));
            });
        });
    }
}

/// Bitshuffles `tiles` tiles of a typesize from 3 to 15. A group is several columns of 16 bytes, of
/// which the last one overlaps the one before it.
///
/// # Safety
/// As [`bytes_forward`](super::small::bytes_forward); `typesize` is in that range.
#[inline(always)]
pub(super) unsafe fn narrow_forward<V: Vector, const S: usize>(
    typesize: usize,
    tiles: usize,
    src: *const u8,
    dst: *mut u8,
    row: usize,
) {
    let (group, tile) = (8 * typesize, 16 * V::LANES * S);
    // The size of the groups of one vector.
    let size = 16 * V::LANES * group;
    let mut bytes = Rows::new();
    // SAFETY: every column lies within its group (see `piece_starts`), and so within the tile.
    // Together the columns store all bytes of the group, so every vector of `bytes` is stored
    // before it is loaded.
    unsafe {
        for s in 0..tiles * S {
            let src = src.add(s * size);
            prefetch(src.wrapping_add(size), size);
            for column in piece_starts(group, 16) {
                let v = load_column::<V>(src.add(column), opaque(group));
                unroll!(c < 16, {
                    bytes.put(s * group + column + c, v[c]);
                });
            }
        }
        for b in 0..typesize {
            for t in 0..tiles {
                let mut rows = [[V::zero(); 8]; S];
                unroll!(s < S, {
                    unroll!(i < 8, {
                        rows[s][i] = bytes.get((t * S + s) * group + i * typesize + b);
                    });
                });
                store_rows(transpose_each(rows), dst.add(8 * b * row + t * tile), row);
            }
        }
    }
}

/// The inverse of [`narrow_forward`].
///
/// # Safety
/// As [`narrow_forward`].
#[inline(always)]
pub(super) unsafe fn narrow_backward<V: Vector, const S: usize>(
    typesize: usize,
    tiles: usize,
    src: *const u8,
    dst: *mut u8,
    row: usize,
) {
    let (group, tile) = (8 * typesize, 16 * V::LANES * S);
    // The size of the groups of one vector.
    let size = 16 * V::LANES * group;
    let mut bytes = Rows::new();
    // SAFETY: as in `narrow_forward`. The first loop stores all `group` vectors of each part,
    // before the second loads them.
    unsafe {
        for b in 0..typesize {
            for t in 0..tiles {
                let rows: [[V; 8]; S] = load_rows(src.add(8 * b * row + t * tile), row);
                let eight = transpose_each(rows);
                unroll!(s < S, {
                    unroll!(i < 8, {
                        bytes.put((t * S + s) * group + i * typesize + b, eight[s][i]);
                    });
                });
            }
        }
        for s in 0..tiles * S {
            let dst = dst.add(s * size);
            prefetch(dst.wrapping_add(size), size);
            for column in piece_starts(group, 16) {
                let mut v = [V::zero(); 16];
                unroll!(c < 16, {
                    v[c] = bytes.get(s * group + column + c);
                });
                store_column(v, dst.add(column), opaque(group));
            }
        }
    }
}

/// Bitshuffles one tile of a typesize of 16 or more. An element is columns of 16 bytes, of which
/// the last one overlaps the one before it.
///
/// # Safety
/// As [`bytes_forward`](super::small::bytes_forward); `typesize` is in that range.
#[inline(always)]
pub(super) unsafe fn wide_forward<V: Vector, const S: usize>(
    typesize: usize,
    src: *const u8,
    dst: *mut u8,
    row: usize,
) {
    let group = 8 * typesize;
    let mut bytes = Rows::new();
    let tile = 16 * V::LANES * S * group;
    prefetch(src.wrapping_add(tile), tile);
    // SAFETY: every column lies within its element (see `piece_starts`), and so within the tile.
    // All 128 vectors of a column of eight elements are stored before they are loaded.
    unsafe {
        for column in piece_starts(typesize, 16) {
            for s in 0..S {
                let src = src.add(s * 16 * V::LANES * group + column);
                for i in 0..8 {
                    let v = load_column::<V>(src.add(i * typesize), opaque(group));
                    unroll!(c < 16, {
                        bytes.put(128 * s + 16 * i + c, v[c]);
                    });
                }
            }
            for c in 0..16 {
                let mut rows = [[V::zero(); 8]; S];
                unroll!(s < S, {
                    unroll!(i < 8, {
                        rows[s][i] = bytes.get(128 * s + 16 * i + c);
                    });
                });
                store_rows(transpose_each(rows), dst.add(8 * (column + c) * row), row);
            }
        }
    }
}

/// The inverse of [`wide_forward`].
///
/// # Safety
/// As [`wide_forward`].
#[inline(always)]
pub(super) unsafe fn wide_backward<V: Vector, const S: usize>(
    typesize: usize,
    src: *const u8,
    dst: *mut u8,
    row: usize,
) {
    let group = 8 * typesize;
    let mut bytes = Rows::new();
    let tile = 16 * V::LANES * S * group;
    prefetch(dst.wrapping_add(tile), tile);
    // SAFETY: as in `wide_forward`, with source and destination exchanged.
    unsafe {
        for column in piece_starts(typesize, 16) {
            for c in 0..16 {
                let rows: [[V; 8]; S] = load_rows(src.add(8 * (column + c) * row), row);
                let eight = transpose_each(rows);
                unroll!(s < S, {
                    unroll!(i < 8, {
                        bytes.put(128 * s + 16 * i + c, eight[s][i]);
                    });
                });
            }
            for s in 0..S {
                let dst = dst.add(s * 16 * V::LANES * group + column);
                for i in 0..8 {
                    let mut v = [V::zero(); 16];
                    unroll!(c < 16, {
                        v[c] = bytes.get(128 * s + 16 * i + c);
                    });
                    store_column(v, dst.add(i * typesize), opaque(group));
                }
            }
        }
    }
}
