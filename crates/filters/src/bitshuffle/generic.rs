//! The bitshuffle kernels, for any [`Vector`]: one pass over the data.
//!
//! A *group* is eight elements, `8 * typesize` bytes, and becomes one byte of every row. A *tile* is `16 * V::LANES * S`
//! groups: lane `l` of vector `s` of a row works on groups `16 * (s * V::LANES + l) ..` of it, so that every row gets `S`
//! whole vectors per tile; as in shuffle, `S` makes that a cache line. Transposing the groups' bytes gives one vector for
//! each byte `b` of each element `i` of a group; the eight vectors of one `b`, with their bits transposed, are the rows
//! `8 * b ..`. The last tile of a block overlaps the one before it.
//!
//! Rows that are a power of two apart share few sets of the nearest cache, and a processor asks for the lines that it is about
//! to write before it writes the first of them: more at once than a set has room for, and most are lost before they are
//! written. So several tiles are transposed at once, and eight rows get a few lines before the next eight get any.

use super::groups::groups_of;
use crate::simd::BitKernel;
use crate::simd::vector::{
    SETS, Scratch, Vector, load_lanes, prefetch, rotate_bytes, runs, starts, store_lanes,
    transpose_bits, transpose16, unroll,
};

/// Typesizes below this one are transposed in columns of whole groups, the others in columns of one element.
const WIDE: usize = 16;
/// A partial tile is padded in columns of at most so many bytes of an element.
const PADDED_WIDTH: usize = 8;
/// Bytes in a tile of one lane with elements of that size.
const PADDED: usize = 16 * 8 * PADDED_WIDTH;
/// Bytes that a row gets of so many tiles as are transposed at once: four lines.
const AT_ONCE: usize = 256;
/// The largest typesize for which that is so; others get half of it, and those of 1 and wide ones what a tile gives them.
const MOST_AT_ONCE: usize = 8;

/// Transposes all of `src`, a multiple of eight elements, into `dst` of the same length (or back), in tiles of `S` vectors
/// of `V`. What `V` is not for is left to `others`: less than a tile, and, where it has fast matrices, elements of sizes that
/// these are no use for.
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
    // SAFETY: the caller vouches for the instruction set.
    unsafe { tiles::<V, S, FORWARD>(typesize, groups, src, dst) };
    None
}

/// As [`run`], in tiles of one vector; less than one of them is left to `others`.
///
/// # Safety
/// The CPU has the instruction set of `V`, which has one lane.
#[inline(always)]
pub(crate) unsafe fn few<V: Vector, const FORWARD: bool>(
    typesize: usize,
    src: &[u8],
    dst: &mut [u8],
    others: BitKernel,
) -> Option<BitKernel> {
    let groups = src.len() / (8 * typesize);
    if groups < 16 {
        return Some(others);
    }
    // SAFETY: the caller vouches for the instruction set.
    unsafe { tiles::<V, 1, FORWARD>(typesize, groups, src, dst) };
    None
}

/// Transposes fewer than 16 groups, as part of a tile of 16 with whatever bytes after them, by `kernel`; elements of more
/// than `PADDED_WIDTH` bytes in columns of as many, the last one overlapping.
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
        // SAFETY: the caller vouches for the instruction set.
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

/// Picks the kernel for `typesize` (one that they fit where `V` has fast matrices) and runs it over all groups, at least one
/// tile.
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
    // Every bound below rests on these.
    const { assert!(16 * V::LANES * S <= 64) };
    assert!(groups >= tile && typesize > 0);
    let bytes = groups.checked_mul(8 * typesize);
    assert!(bytes.is_some_and(|bytes| bytes <= src.len() && bytes <= dst.len()));
    let (src, dst) = (src.as_ptr(), dst.as_mut_ptr());
    // SAFETY: just asserted, as far as it goes; the caller vouches for the instruction set. All tiles end at `groups` at
    // the latest, so they lie inside the elements, and their parts of each row inside the row.
    unsafe {
        match typesize {
            2 if V::FAST_PERMUTE => return groups_of::<V, 16, FORWARD>(groups, src, dst),
            4 if V::FAST_PERMUTE => return groups_of::<V, 32, FORWARD>(groups, src, dst),
            8 if V::FAST_PERMUTE => return groups_of::<V, 64, FORWARD>(groups, src, dst),
            _ => {}
        }
        let most = if typesize == 1 || typesize >= WIDE {
            1
        } else if typesize > MOST_AT_ONCE {
            AT_ONCE / 2 / tile
        } else {
            AT_ONCE / tile
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

/// The scratch of the kernels here: so many bytes of so many rows as they write at once.
type Rows = Scratch<{ AT_ONCE * 8 * MOST_AT_ONCE / 64 }>;

/// [`transpose_bits`] of `S` times eight vectors, one after the other: the compiler keeps the order of what it is given, and
/// with all else done for one before the next is begun it is up to a sixth slower.
///
/// # Safety
/// The CPU has the instruction set of `V`.
#[inline(always)]
unsafe fn transpose_each<V: Vector, const S: usize>(mut v: [[V; 8]; S]) -> [[V; 8]; S] {
    unroll!(s < S, {
        // SAFETY: the caller's contract.
        v[s] = unsafe { transpose_bits(v[s]) };
    });
    v
}

/// Writes `S` vectors each of the rows at `dst`, `row` apart.
///
/// # Safety
/// The CPU has the instruction set of `V`. Writable at `dst + k * row`: `S` vectors for each `k < 8`.
#[inline(always)]
unsafe fn store_rows<V: Vector, const S: usize>(v: [[V; 8]; S], dst: *mut u8, row: usize) {
    unroll!(k < 8, {
        unroll!(s < S, {
            // SAFETY: the caller's contract.
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
    // SAFETY: the caller's contract.
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

/// `n`, of which the compiler forgets all it knew. The places of a column are multiples of a group apart; known before the
/// loop over columns, each of them would be kept up to date there in memory, there being more of them than registers.
#[inline(always)]
fn anew(n: usize) -> usize {
    core::hint::black_box(n)
}

/// Reads 16 bytes of each of the `16 * V::LANES` groups at `src`, `group` bytes apart, and transposes them.
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

/// One tile of typesize 1. In this and the functions below, a tile is `16 * V::LANES * S` groups at one pointer, and `S`
/// vectors of each of the `8 * typesize` rows, which are `row` bytes apart, at the other. Where there are several tiles, they
/// are at most `AT_ONCE` bytes of a row, and half of that for typesizes above `MOST_AT_ONCE`, so that [`Rows`] holds what is
/// kept of them.
///
/// # Safety
/// The CPU has the instruction set of `V`; all tiles are readable at `src` and writable at `dst`.
#[inline(always)]
unsafe fn bytes_forward<V: Vector, const S: usize>(src: *const u8, dst: *mut u8, row: usize) {
    let size = 8 * 16 * V::LANES;
    prefetch(src.wrapping_add(S * size), S * size);
    // SAFETY: the vectors' parts of the tile follow each other.
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

/// `tiles` tiles of typesize 2: a group is one column of 16 bytes. Half of the rows are written later where all begin
/// in the same set.
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
    // SAFETY: the tiles follow each other, and the vectors' parts of them; all that is kept is read again.
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

/// The table that sorts the two groups of typesize 1, or the one group of typesize 2, in 16 bytes into matrices of 8
/// bytes, one for each group and byte of an element, the first element last.
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

/// The table that undoes the sorting of [`matrix_table`] for typesize 2, the first element first.
const fn pair_table() -> [u8; 16] {
    let mut table = [0; 16];
    let mut i = 0;
    while i < 16 {
        table[i] = (i / 2 + 8 * (i % 2)) as u8;
        i += 1;
    }
    table
}

/// One vector of each row of typesize 1 (`ROWS` = 8) or 2 (16), with the bits transposed before the bytes.
///
/// # Safety
/// The CPU has the instruction set of `V`. Readable at `src`: `16 * V::LANES` groups of `ROWS` bytes.
#[inline(always)]
pub(super) unsafe fn matrices_forward<V: Vector, const ROWS: usize>(src: *const u8) -> [V; ROWS] {
    // SAFETY: lane `l` reads its 16 groups in `ROWS` vectors.
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
    // SAFETY: the caller's contract.
    unsafe {
        let mut v = rows;
        unroll!(r < ROWS, {
            // In each matrix the last row comes first.
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

/// `tiles` tiles of a typesize from 3 to 15: a group is several columns of 16 bytes, the last one overlapping.
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
    // SAFETY: every column lies inside the group, so inside the tile; together they store all of the group's bytes.
    unsafe {
        for s in 0..tiles * S {
            let src = src.add(s * size);
            prefetch(src.wrapping_add(size), size);
            for column in starts(group, 16) {
                let v = load_column::<V>(src.add(column), anew(group));
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
                store_column(v, dst.add(column), anew(group));
            }
        }
    }
}

/// One tile of a typesize of 16 or more: columns of 16 bytes of an element, the last one overlapping.
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
    // SAFETY: every column lies inside its element, so inside the tile; all 16 bytes of the eight columns are stored.
    unsafe {
        for column in starts(typesize, 16) {
            for s in 0..S {
                let src = src.add(s * 16 * V::LANES * group + column);
                for i in 0..8 {
                    let v = load_column::<V>(src.add(i * typesize), anew(group));
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
                    store_column(v, dst.add(i * typesize), anew(group));
                }
            }
        }
    }
}
