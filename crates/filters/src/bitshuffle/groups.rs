//! Bitshuffle of items of 2, 4 and 8 bytes with vectors of 64 bytes and fast matrices: the groups in a vector are whole,
//! and their bits are transposed before their bytes.

use crate::simd::vector::{SETS, Scratch, Vector, prefetch, runs, transpose16, unroll};

/// The table that sorts the groups of `rows` bytes in 64 bytes into matrices of 8 bytes, one for each byte of an element,
/// the first element last; or what undoes that, the first element first.
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

/// So many tiles of 64 groups are transposed as one. More would not fit into 16 KB of the stack.
const TILES: usize = 4;
/// The rows of 16 that are written later where all rows begin in the same set of the nearest cache, which has room for 8 lines
/// at least.
const LATER: usize = 8;

/// All groups, at least 64 of them, of typesize 2 (`ROWS` = 16), 4 (32) or 8 (64), with the bits transposed before the bytes:
/// those of a group lie in one vector.
///
/// # Safety
/// The CPU has the instruction set of `V`, a vector of which has 64 bytes. `groups * ROWS` bytes are readable and writable.
#[inline(always)]
pub(super) unsafe fn groups_of<V: Vector, const ROWS: usize, const FORWARD: bool>(
    groups: usize,
    src: *const u8,
    dst: *mut u8,
) {
    let same_set = groups.is_multiple_of(SETS);
    for (start, tiles) in runs(groups, 64, TILES) {
        // SAFETY: all lie among the groups, and the parts of the rows in the rows.
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

/// Where group `16 * l + m` of a tile begins, and with it 64 bytes that are one, two or four groups.
#[inline(always)]
const fn line_of<const ROWS: usize>(tile: usize, l: usize, m: usize) -> usize {
    (64 * tile + 16 * l + m) * ROWS
}

/// Where the bytes for 16 rows of groups `m`, `16 + m`, `32 + m` and `48 + m` of a tile are kept: `k` counts the sixteens of all
/// rows, and goes on with those of the groups behind.
#[inline(always)]
const fn column_of<const ROWS: usize>(tile: usize, m: usize, k: usize) -> usize {
    let columns = ROWS / 16;
    tile * ROWS + k % columns * 16 + m + k / columns
}

/// `tiles` vectors of each row, at most `TILES`; `LATER` of 16 rows go through another place. What comes next is asked
/// for line by line, so that nothing else waits for it.
///
/// # Safety
/// The CPU has the instruction set of `V`. Readable at `src`: the tiles, of 64 groups of `ROWS` bytes. Writable at
/// `dst + r * row`: `tiles` vectors for each `r < ROWS`.
#[inline(always)]
unsafe fn groups_forward<V: Vector, const ROWS: usize, const LATER: usize>(
    tiles: usize,
    src: *const u8,
    dst: *mut u8,
    row: usize,
) {
    debug_assert!(16 * V::LANES == 64 && ROWS <= 64 && tiles <= TILES);
    let mut bytes = Scratch::<{ TILES * 64 }>::new();
    let mut later = Scratch::<{ TILES * self::LATER }>::new();
    // SAFETY: so many groups are read and kept, and all that is kept is read again.
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
                        later.put((r + LATER - 16) * TILES + tile, v[r]);
                    }
                });
            }
            for r in 0..LATER {
                for tile in 0..tiles {
                    let v: V = later.get(r * TILES + tile);
                    v.store(dst.add((column + 16 - LATER + r) * row + 64 * tile));
                }
            }
        }
    }
}

/// The inverse of [`groups_forward`], for `TILES` tiles at most: lines that are read are not lost.
///
/// # Safety
/// As [`groups_forward`], with the places read and written exchanged.
#[inline(always)]
unsafe fn groups_backward<V: Vector, const ROWS: usize>(
    tiles: usize,
    src: *const u8,
    dst: *mut u8,
    row: usize,
) {
    debug_assert!(16 * V::LANES == 64 && ROWS <= 64 && tiles <= TILES);
    let mut bytes = Scratch::<{ TILES * 64 }>::new();
    // SAFETY: as in `groups_forward`.
    unsafe {
        for column in (0..ROWS).step_by(16) {
            for tile in 0..tiles {
                let mut v = [V::zero(); 16];
                unroll!(r < 16, {
                    // In each matrix the last row comes first.
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
