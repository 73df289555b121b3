//! The bitshuffle kernels, for any [`Vector`]: one pass over the data.
//!
//! A *group* is eight elements, `8 * typesize` bytes, and becomes one byte of every row. A *tile* is `16 * V::LANES * S`
//! groups: lane `l` of vector `s` of a row has groups `16 * (s * V::LANES + l) ..` of it, so every row gets `S` whole vectors per
//! tile. As in shuffle, `S` is chosen to make that a cache line. Transposing the groups' bytes gives one vector for each byte `b` of
//! each element `i` of a group. The eight vectors of one `b`, with their bits transposed, are the rows `8 * b ..`. The last tile of a
//! block overlaps the one before it.
//!
//! Rows that are a power of two apart map to few sets of the first-level cache. A processor fetches the lines that it is about to write
//! before it writes the first of them; if these are more than a set has ways, most are evicted before they are written. So several
//! tiles are transposed at once, and eight rows get a few lines before the next eight get any.

use super::groups::groups_of;
use crate::simd::BitKernel;
use crate::simd::vector::{
    SETS, Scratch, Vector, load_lanes, prefetch, rotate_bytes, runs, starts, store_lanes,
    transpose_bits, transpose16, unroll,
};

/// Smaller typesizes are transposed in columns of whole groups, larger ones in columns of one element.
const WIDE: usize = 16;
/// A partial tile is padded in columns of at most so many bytes of an element.
const PADDED_WIDTH: usize = 8;
/// The size in bytes of a tile of one lane with elements of that width.
const PADDED: usize = 16 * 8 * PADDED_WIDTH;
/// How many bytes of each row are written at once: four cache lines.
const BATCH: usize = 256;
/// The largest typesize with such batches. Larger ones have half of it. Typesize 1 and wide ones have one tile.
const MAX_BATCH_TYPESIZE: usize = 8;

/// Bitshuffles all of `src`, a multiple of eight elements, into `dst`, which has the same length (or back), in tiles of `S` vectors
/// of `V`. Returns `others` for what `V` cannot do: less than a tile, and, if it has fast bit matrices, typesizes for which these are
/// of no use.
///
/// # Safety
/// The CPU has the instruction set of `V`.
#[inline(always)]
pub(crate) unsafe fn run<V: Vector, const S: usize, const FORWARD: bool>(
    typesize: usize,
    src: &[u8],
    dst: &mut [u8],
    others: BitKernel,
) -> Option<BitKernel> {
    let groups = src.len() / (8 * typesize);
    let matrices_fit = match typesize {
        1 | 2 => true,
        4 | 8 => V::FAST_PERMUTE,
        _ => false,
    };
    if groups < 16 * V::LANES * S || (V::FAST_MATRICES && !matrices_fit) {
        return Some(others);
    }
    // SAFETY: the caller promises the instruction set; the check above leaves at least one tile.
    unsafe { tiles::<V, S, FORWARD>(typesize, groups, src, dst) };
    None
}

/// Like [`run`], in tiles of one vector. Returns `others` for less than a tile.
///
/// # Safety
/// The CPU has the instruction set of `V`, which has one lane.
#[inline(always)]
pub(crate) unsafe fn run_small<V: Vector, const FORWARD: bool>(
    typesize: usize,
    src: &[u8],
    dst: &mut [u8],
    others: BitKernel,
) -> Option<BitKernel> {
    let groups = src.len() / (8 * typesize);
    if groups < 16 {
        return Some(others);
    }
    // SAFETY: the caller promises the instruction set; the check above leaves at least one tile.
    unsafe { tiles::<V, 1, FORWARD>(typesize, groups, src, dst) };
    None
}

/// Bitshuffles fewer than 16 groups with `kernel`, padded to a tile of 16. Elements of more than `PADDED_WIDTH` bytes are done in
/// columns of that width, of which the last one overlaps.
///
/// # Safety
/// The CPU has the instruction set of `kernel`.
#[inline(always)]
pub(crate) unsafe fn padded<const FORWARD: bool>(
    typesize: usize,
    src: &[u8],
    dst: &mut [u8],
    kernel: BitKernel,
) {
    let groups = src.len() / (8 * typesize);
    let width = typesize.min(PADDED_WIDTH);
    let mut from = [0_u8; PADDED];
    let mut to = [0_u8; PADDED];
    for column in starts(typesize, width) {
        let rows = 8 * column * groups..8 * (column + width) * groups;
        if FORWARD {
            let elements = from.chunks_exact_mut(width).zip(src.chunks_exact(typesize));
            for (part, element) in elements {
                part.copy_from_slice(&element[column..column + width]);
            }
        } else {
            let whole = from.chunks_exact_mut(16);
            for (whole, row) in whole.zip(src[rows.clone()].chunks_exact(groups)) {
                whole[..groups].copy_from_slice(row);
            }
        }
        let bytes = 16 * 8 * width;
        // SAFETY: the caller promises the instruction set.
        unsafe { kernel.run(width, &from[..bytes], &mut to[..bytes]) };
        if FORWARD {
            for (row, whole) in dst[rows].chunks_exact_mut(groups).zip(to.chunks_exact(16)) {
                row.copy_from_slice(&whole[..groups]);
            }
        } else {
            let elements = dst.chunks_exact_mut(typesize);
            for (element, part) in elements.zip(to.chunks_exact(width)) {
                element[column..column + width].copy_from_slice(part);
            }
        }
    }
}

/// Chooses the kernel for `typesize` and runs it on all groups, which must be at least one tile. If `V` has fast bit matrices, they must
/// fit the typesize (see [`run`]).
///
/// # Safety
/// The CPU has the instruction set of `V`.
#[inline(always)]
unsafe fn tiles<V: Vector, const S: usize, const FORWARD: bool>(
    typesize: usize,
    groups: usize,
    src: &[u8],
    dst: &mut [u8],
) {
    let tile = 16 * V::LANES * S;
    // All bounds below follow from these assertions.
    const { assert!(16 * V::LANES * S <= 64) };
    assert!(groups >= tile && typesize > 0);
    let bytes = groups.checked_mul(8 * typesize);
    assert!(bytes.is_some_and(|bytes| bytes <= src.len() && bytes <= dst.len()));
    let (src, dst) = (src.as_ptr(), dst.as_mut_ptr());
    // SAFETY: the caller promises the instruction set. `groups * 8 * typesize` bytes are readable and writable, as asserted. A run of
    // tiles ends at `groups` at most (see `runs`), so it lies within the elements, and its part of each row, of `groups` bytes, within
    // the row.
    unsafe {
        match typesize {
            2 if V::FAST_PERMUTE => return groups_of::<V, 16, FORWARD>(groups, src, dst),
            4 if V::FAST_PERMUTE => return groups_of::<V, 32, FORWARD>(groups, src, dst),
            8 if V::FAST_PERMUTE => return groups_of::<V, 64, FORWARD>(groups, src, dst),
            _ => {}
        }
        let most = if typesize == 1 || typesize >= WIDE {
            1
        } else if typesize > MAX_BATCH_TYPESIZE {
            BATCH / 2 / tile
        } else {
            BATCH / tile
        };
        for (start, tiles) in runs(groups, tile, most) {
            let at = start * 8 * typesize;
            let (src, dst) = if FORWARD {
                (src.add(at), dst.add(start))
            } else {
                (src.add(start), dst.add(at))
            };
            match (typesize, FORWARD) {
                (1, true) => bytes_forward::<V, S>(src, dst, groups),
                (1, false) => bytes_backward::<V, S>(src, dst, groups),
                (2, true) => pairs_forward::<V, S>(tiles, src, dst, groups),
                (2, false) => pairs_backward::<V, S>(tiles, src, dst, groups),
                _ if V::FAST_MATRICES => unreachable!("[`run`] takes another way"),
                (3..WIDE, true) => narrow_forward::<V, S>(typesize, tiles, src, dst, groups),
                (3..WIDE, false) => narrow_backward::<V, S>(typesize, tiles, src, dst, groups),
                (_, true) => wide_forward::<V, S>(typesize, src, dst, groups),
                (_, false) => wide_backward::<V, S>(typesize, src, dst, groups),
            }
        }
    }
}

/// The scratch of the kernels: a batch of each row.
type Rows = Scratch<{ BATCH * 8 * MAX_BATCH_TYPESIZE / 64 }>;

/// [`transpose_bits`] of `S` times eight vectors, one after the other. The compiler keeps this order of instructions. If each eight
/// vectors were also loaded and stored in between, it would be up to a sixth slower.
///
/// # Safety
/// The CPU has the instruction set of `V`.
#[inline(always)]
unsafe fn transpose_each<V: Vector, const S: usize>(mut v: [[V; 8]; S]) -> [[V; 8]; S] {
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
unsafe fn store_rows<V: Vector, const S: usize>(v: [[V; 8]; S], dst: *mut u8, row: usize) {
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
unsafe fn load_rows<V: Vector, const S: usize>(src: *const u8, row: usize) -> [[V; 8]; S] {
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

/// Returns `n` in such a way that the compiler knows nothing about it. The addresses in a column are multiples of a group apart. If the
/// compiler could compute them outside of the loop over columns, it would keep each of them in memory, since there are more of them than
/// registers.
#[inline(always)]
fn opaque(n: usize) -> usize {
    core::hint::black_box(n)
}

/// Loads 16 bytes of each of the `16 * V::LANES` groups at `src`, `group` bytes apart, and transposes them.
///
/// # Safety
/// The CPU has the instruction set of `V`. Readable: 16 bytes at `src + m * group` for each group `m`.
#[inline(always)]
unsafe fn load_column<V: Vector>(src: *const u8, group: usize) -> [V; 16] {
    // SAFETY: lane `l` of vector `m` is group `16 * l + m`.
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
/// The CPU has the instruction set of `V`. Writable: 16 bytes at `dst + m * group` for each group `m`.
#[inline(always)]
unsafe fn store_column<V: Vector>(v: [V; 16], dst: *mut u8, group: usize) {
    // SAFETY: as in `load_column`.
    unsafe {
        let v = transpose16(v);
        unroll!(m < 16, {
            unroll!(lane < V::LANES, {
                v[m].store_lane(lane, dst.add((16 * lane + m) * group));
            });
        });
    }
}

/// Bitshuffles one tile of typesize 1. In this and the functions below, a tile is `16 * V::LANES * S` groups at one pointer, and `S`
/// vectors of each of the `8 * typesize` rows, which are `row` bytes apart, at the other. Several tiles are at most `BATCH` bytes of a
/// row, or half of that for typesizes above `MAX_BATCH_TYPESIZE`, so that they fit into [`Rows`].
///
/// # Safety
/// The CPU has the instruction set of `V`; all tiles are readable at `src` and writable at `dst`.
#[inline(always)]
unsafe fn bytes_forward<V: Vector, const S: usize>(src: *const u8, dst: *mut u8, row: usize) {
    let size = 8 * 16 * V::LANES;
    prefetch(src.wrapping_add(S * size), S * size);
    // SAFETY: `S` parts of `size` bytes are the tile, which the caller promises to be readable; so are the rows writable.
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
unsafe fn bytes_backward<V: Vector, const S: usize>(src: *const u8, dst: *mut u8, row: usize) {
    let size = 8 * 16 * V::LANES;
    prefetch(dst.wrapping_add(S * size), S * size);
    // SAFETY: as in `bytes_forward`.
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

/// Bitshuffles `tiles` tiles of typesize 2: a group is one column of 16 bytes. If all rows start in the same cache set, half of them are
/// buffered and written later.
///
/// # Safety
/// As [`bytes_forward`].
#[inline(always)]
unsafe fn pairs_forward<V: Vector, const S: usize>(
    tiles: usize,
    src: *const u8,
    dst: *mut u8,
    row: usize,
) {
    let tile = 16 * V::LANES * S;
    let same_set = row.is_multiple_of(SETS);
    let mut later = Rows::new();
    // SAFETY: the tiles are adjacent, and so are the `S` parts of each; all are readable. The indices of `later` are less than
    // `8 * tiles * S`, which fits `Rows`, and each is put before it is got.
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
unsafe fn pairs_backward<V: Vector, const S: usize>(
    tiles: usize,
    src: *const u8,
    dst: *mut u8,
    row: usize,
) {
    let tile = 16 * V::LANES * S;
    for t in 0..tiles {
        // SAFETY: as in `pairs_forward`.
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

/// A lookup table for the two groups of typesize 1, or the one group of typesize 2, in 16 bytes. It collects each byte of the elements
/// of a group in an 8-byte matrix, the first element last.
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

/// Computes one vector of each row of typesize 1 (`ROWS` = 8) or 2 (16). The bits are transposed before the bytes.
///
/// # Safety
/// The CPU has the instruction set of `V`. Readable at `src`: `16 * V::LANES` groups of `ROWS` bytes.
#[inline(always)]
pub(super) unsafe fn matrices_forward<V: Vector, const ROWS: usize>(src: *const u8) -> [V; ROWS] {
    // SAFETY: `ROWS` vectors are `16 * V::LANES` groups of `ROWS` bytes, which the caller promises to be readable.
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
/// The CPU has the instruction set of `V`. Writable at `dst`: `16 * V::LANES` groups of `ROWS` bytes.
#[inline(always)]
pub(super) unsafe fn matrices_backward<V: Vector, const ROWS: usize>(
    rows: [V; ROWS],
    dst: *mut u8,
) {
    // SAFETY: `ROWS` vectors are `16 * V::LANES` groups of `ROWS` bytes, which the caller promises to be writable.
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

/// Bitshuffles `tiles` tiles of a typesize from 3 to 15: a group is several columns of 16 bytes, of which the last one overlaps.
///
/// # Safety
/// As [`bytes_forward`]; `typesize` is in that range.
#[inline(always)]
unsafe fn narrow_forward<V: Vector, const S: usize>(
    typesize: usize,
    tiles: usize,
    src: *const u8,
    dst: *mut u8,
    row: usize,
) {
    let (group, tile) = (8 * typesize, 16 * V::LANES * S);
    // Of one vector's groups.
    let size = 16 * V::LANES * group;
    let mut bytes = Rows::new();
    // SAFETY: every column lies within its group (see `starts`), and so within the tile. Together the columns put all bytes of the
    // group, so every vector is put before it is got.
    unsafe {
        for s in 0..tiles * S {
            let src = src.add(s * size);
            prefetch(src.wrapping_add(size), size);
            for column in starts(group, 16) {
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
unsafe fn narrow_backward<V: Vector, const S: usize>(
    typesize: usize,
    tiles: usize,
    src: *const u8,
    dst: *mut u8,
    row: usize,
) {
    let (group, tile) = (8 * typesize, 16 * V::LANES * S);
    // Of one vector's groups.
    let size = 16 * V::LANES * group;
    let mut bytes = Rows::new();
    // SAFETY: as in `narrow_forward`.
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
            for column in starts(group, 16) {
                let mut v = [V::zero(); 16];
                unroll!(c < 16, {
                    v[c] = bytes.get(s * group + column + c);
                });
                store_column(v, dst.add(column), opaque(group));
            }
        }
    }
}

/// Bitshuffles one tile of a typesize of 16 or more: columns of 16 bytes of an element, of which the last one overlaps.
///
/// # Safety
/// As [`bytes_forward`]; `typesize` is in that range.
#[inline(always)]
unsafe fn wide_forward<V: Vector, const S: usize>(
    typesize: usize,
    src: *const u8,
    dst: *mut u8,
    row: usize,
) {
    let group = 8 * typesize;
    let mut bytes = Rows::new();
    let tile = 16 * V::LANES * S * group;
    prefetch(src.wrapping_add(tile), tile);
    // SAFETY: every column lies within its element (see `starts`), and so within the tile. All 128 vectors of the eight columns are put
    // before they are got.
    unsafe {
        for column in starts(typesize, 16) {
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
unsafe fn wide_backward<V: Vector, const S: usize>(
    typesize: usize,
    src: *const u8,
    dst: *mut u8,
    row: usize,
) {
    let group = 8 * typesize;
    let mut bytes = Rows::new();
    let tile = 16 * V::LANES * S * group;
    prefetch(dst.wrapping_add(tile), tile);
    // SAFETY: as in `wide_forward`.
    unsafe {
        for column in starts(typesize, 16) {
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
