//! Elements of 2, 4 and 8 bytes with vectors of 64 bytes and fast transposition of bit matrices
//! (GFNI). A vector holds whole groups, so their bits are transposed before their bytes.

use crate::simd::vector::{
    SET_STRIDE, Vector, VectorBuffer, prefetch, tile_runs, transpose16, unroll,
};

/// A permutation table for groups of `rows` bytes in 64 bytes. With `sort` it collects each byte of
/// the elements in a matrix of 8 bytes, the first element last. Otherwise it distributes such
/// matrices, in which the first element is first.
const fn group_table(rows: usize, sort: bool) -> [u8; 64] {
    let typesize = rows / 8;
    let mut table = [0; 64];
    let mut i = 0;
    while i < 64 {
        let (group, element, byte) = (i / rows * rows, i % rows / typesize, i % typesize);
        if sort {
            table[group + 8 * byte + 7 - element] = i as u8;
        } else {
            table[i] = (group + 8 * byte + element) as u8;
        }
        i += 1;
    }
    table
}

/// How many vectors of transposed groups are buffered at most, in 16 KB of stack.
const BUFFERED: usize = 256;
/// How many tiles of 64 groups are transposed together.
const TILES: usize = 4;
/// The same if all rows start in the same cache set, for typesizes of which the buffer holds so
/// many.
const MORE_TILES: usize = 8;
/// How many of 16 rows are buffered and written later if all rows start in the same cache set. A
/// set of the first-level cache holds at least 8 lines.
const LATER: usize = 8;

/// Transposes all groups, at least 64, of typesize 2 (`ROWS` = 16), 4 (32) or 8 (64).
///
/// # Safety
/// The CPU has the instruction set of `V`, whose vectors have 64 bytes. `groups * ROWS` bytes are
/// readable at `src` and writable at `dst`.
#[inline(always)]
pub(super) unsafe fn groups_of<V: Vector, const ROWS: usize, const FORWARD: bool>(
    groups: usize,
    src: *const u8,
    dst: *mut u8,
) {
    let same_set = groups.is_multiple_of(SET_STRIDE);
    let most = match FORWARD && same_set && MORE_TILES * ROWS <= BUFFERED {
        true => MORE_TILES,
        false => TILES,
    };
    for (start, tiles) in tile_runs(groups, 64, most) {
        // SAFETY: `tiles` is at most `most`, and `most * ROWS <= BUFFERED`, since `ROWS` is at
        // most 64. A run ends at `groups` at most (see `tile_runs`), so its groups end at `groups *
        // ROWS`, and its part of each row, of `groups` bytes, within the row.
        unsafe {
            let at = start * ROWS;
            if !FORWARD {
                groups_backward::<V, ROWS>(tiles, src.add(start), dst.add(at), groups);
            } else if same_set {
                groups_forward::<V, ROWS, LATER>(tiles, src.add(at), dst.add(start), groups);
            } else {
                groups_forward::<V, ROWS, 0>(tiles, src.add(at), dst.add(start), groups);
            }
        }
    }
}

/// The offset of group `16 * l + m` of a tile. A vector at this offset holds one, two or four
/// groups.
#[inline(always)]
const fn line_of<const ROWS: usize>(tile: usize, l: usize, m: usize) -> usize {
    (64 * tile + 16 * l + m) * ROWS
}

/// The index in the buffer of the vector with 16 rows of groups `m`, `16 + m`, `32 + m` and `48 +
/// m` of a tile. `k` counts the 16 rows of these groups, and continues with those of the next
/// groups.
#[inline(always)]
const fn column_of<const ROWS: usize>(tile: usize, m: usize, k: usize) -> usize {
    let columns = ROWS / 16;
    tile * ROWS + k % columns * 16 + m + k / columns
}

/// Transposes `tiles` tiles, at most `MORE_TILES`. The last `LATER` of each 16 rows are buffered
/// and written after the others. The next tile is prefetched line by line in between, so that
/// nothing waits for it.
///
/// # Safety
/// The CPU has the instruction set of `V`. `tiles * ROWS <= BUFFERED`. Readable at `src`: `tiles`
/// tiles of 64 groups of `ROWS` bytes. Writable at `dst + r * row`: `tiles` vectors for each `r <
/// ROWS`.
#[inline(always)]
unsafe fn groups_forward<V: Vector, const ROWS: usize, const LATER: usize>(
    tiles: usize,
    src: *const u8,
    dst: *mut u8,
    row: usize,
) {
    debug_assert!(16 * V::LANES == 64 && tiles <= MORE_TILES && tiles * ROWS <= BUFFERED);
    let mut bytes = VectorBuffer::<BUFFERED>::new();
    // SAFETY: loads begin at `line_of` with `m < 16` and `l < 4`, so they lie in the tile. The
    // indices of `bytes` are less than `tiles * ROWS <= BUFFERED`; each vector is stored before it
    // is loaded. The stores to `dst` write one vector per tile to each row.
    unsafe {
        for tile in 0..tiles {
            for m in (0..16).step_by(64 / ROWS) {
                let mut v = [V::zero(); 4];
                unroll!(l < 4, {
                    let line = src.add(line_of::<ROWS>(tile, l, m));
                    prefetch(line.wrapping_add(64 * ROWS), 64);
                    let sorted = V::load(line).permute(const { &group_table(ROWS, true) });
                    v[l] = sorted.transpose_matrices();
                });
                let v = V::transpose_lanes(v);
                unroll!(k < 4, {
                    bytes.put(column_of::<ROWS>(tile, m, k), v[k]);
                });
            }
        }
        for column in (0..ROWS).step_by(16) {
            for tile in 0..tiles {
                let mut v = [V::zero(); 16];
                unroll!(m < 16, {
                    v[m] = bytes.get(tile * ROWS + column + m);
                });
                let v = transpose16(v);
                unroll!(r < 16, {
                    if r < 16 - LATER {
                        v[r].store(dst.add((column + r) * row + 64 * tile));
                    } else {
                        // In place of the bytes that were just loaded.
                        bytes.put(tile * ROWS + column + r, v[r]);
                    }
                });
            }
            for r in 16 - LATER..16 {
                for tile in 0..tiles {
                    let v: V = bytes.get(tile * ROWS + column + r);
                    v.store(dst.add((column + r) * row + 64 * tile));
                }
            }
        }
    }
}

/// The inverse of [`groups_forward`]. It needs no buffer for rows in the same cache set, since
/// evicting lines that are only read costs little.
///
/// # Safety
/// As [`groups_forward`], but readable at `src + r * row` and writable at `dst`.
#[inline(always)]
unsafe fn groups_backward<V: Vector, const ROWS: usize>(
    tiles: usize,
    src: *const u8,
    dst: *mut u8,
    row: usize,
) {
    debug_assert!(16 * V::LANES == 64 && tiles * ROWS <= BUFFERED);
    let mut bytes = VectorBuffer::<BUFFERED>::new();
    // SAFETY: as in `groups_forward`, with source and destination exchanged.
    unsafe {
        for column in (0..ROWS).step_by(16) {
            for tile in 0..tiles {
                let mut v = [V::zero(); 16];
                unroll!(r < 16, {
                    // `transpose_matrices` takes the rows of each matrix in descending order.
                    v[r] = V::load(src.add((column + (r ^ 7)) * row + 64 * tile));
                });
                let v = transpose16(v);
                unroll!(m < 16, {
                    bytes.put(tile * ROWS + column + m, v[m]);
                });
            }
        }
        for tile in 0..tiles {
            for m in (0..16).step_by(64 / ROWS) {
                let mut v = [V::zero(); 4];
                unroll!(k < 4, {
                    v[k] = bytes.get(column_of::<ROWS>(tile, m, k));
                });
                let v = V::transpose_lanes(v);
                unroll!(l < 4, {
                    let line = dst.add(line_of::<ROWS>(tile, l, m));
                    prefetch(line.wrapping_add(64 * ROWS), 64);
                    let sorted = v[l].transpose_matrices();
                    sorted
                        .permute(const { &group_table(ROWS, false) })
                        .store(line);
                });
            }
        }
    }
}
