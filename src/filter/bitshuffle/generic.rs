//! The bitshuffle kernels, for any [`Vector`]: one pass over the data.
//!
//! A *group* is eight elements, `8 * typesize` bytes, and becomes one byte of every row. A tile is `16 * V::LANES * S`
//! groups: lane `l` of vector `s` of a row works on groups `16 * (s * V::LANES + l) ..` of it, so that every row gets `S`
//! whole vectors per tile; as in shuffle, `S` makes that a cache line. Transposing the groups' bytes gives one vector for
//! each byte `b` of each element `i` of a group; the eight vectors of one `b`, with their bits transposed, are the rows
//! `8 * b ..`. The last tile of a block overlaps the one before it.

use crate::filter::simd::Kernel;
use crate::filter::simd::vector::{
    Vector, prefetch, rotate_bytes, starts, store_lanes, transpose_bits, transpose16, unroll,
};
use core::mem::MaybeUninit;

/// Typesizes below this one are transposed in columns of whole groups, the others in columns of one element.
const WIDE: usize = 16;
/// Bytes in a tile of one lane with the largest typesize that a partial tile is padded to.
const PADDED: usize = 16 * 8 * WIDE;

/// Transposes all of `src`, a multiple of eight elements, into `dst` of the same length (or back), in tiles of `S` vectors
/// of `V`. What `V` is not for goes to `others`: less than a tile, and, where it has fast matrices, elements of sizes that
/// these are no use for.
///
/// # Safety
/// The CPU has the instruction sets of `V` and of `others`.
#[inline(always)]
pub(crate) unsafe fn run<V: Vector, const S: usize, const FORWARD: bool>(
    typesize: usize,
    src: &[u8],
    dst: &mut [u8],
    others: Kernel,
) {
    let groups = src.len() / (8 * typesize);
    // SAFETY: the caller vouches for the instruction sets.
    unsafe {
        let matrices_fit = match typesize {
            1 | 2 => true,
            4 | 8 => V::FAST_PERMUTE,
            _ => false,
        };
        if groups < 16 * V::LANES * S || (V::FAST_MATRICES && !matrices_fit) {
            others(typesize, src, dst);
        } else {
            tiles::<V, S, FORWARD>(typesize, groups, src, dst);
        }
    }
}

/// As [`run`], for any number of groups: tiles of one vector, on a padded copy where there is less than one of them.
/// `itself` is the function that this is inlined into, so that both cases use the same code.
///
/// # Safety
/// The CPU has the instruction sets of `V`, which has one lane, and of `itself`.
#[inline(always)]
pub(crate) unsafe fn few<V: Vector, const FORWARD: bool>(
    typesize: usize,
    src: &[u8],
    dst: &mut [u8],
    itself: Kernel,
) {
    let groups = src.len() / (8 * typesize);
    // SAFETY: the caller vouches for the instruction sets.
    unsafe {
        if groups < 16 {
            padded::<FORWARD>(typesize, groups, src, dst, itself);
        } else {
            tiles::<V, 1, FORWARD>(typesize, groups, src, dst);
        }
    }
}

/// Transposes fewer than 16 groups, as part of a tile of 16 with whatever bytes after them, by `kernel`; elements of more
/// than `WIDE` bytes in columns of `WIDE`, the last one overlapping.
///
/// # Safety
/// The CPU has the instruction set of `kernel`.
#[inline(always)]
unsafe fn padded<const FORWARD: bool>(
    typesize: usize,
    groups: usize,
    src: &[u8],
    dst: &mut [u8],
    kernel: Kernel,
) {
    let width = typesize.min(WIDE);
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
        unsafe { kernel(width, &from[..bytes], &mut to[..bytes]) };
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
    assert!(groups >= tile && typesize > 0);
    let bytes = groups.checked_mul(8 * typesize);
    assert!(bytes.is_some_and(|bytes| bytes <= src.len() && bytes <= dst.len()));
    let (src, dst) = (src.as_ptr(), dst.as_mut_ptr());
    // SAFETY: just asserted, as far as it goes; the caller vouches for the instruction set. A tile ends at `groups` at
    // the latest, so it lies inside the elements, and its part of each row inside the row.
    unsafe {
        match typesize {
            2 if V::FAST_PERMUTE => return groups_of::<V, 16, FORWARD>(groups, src, dst),
            4 if V::FAST_PERMUTE => return groups_of::<V, 32, FORWARD>(groups, src, dst),
            8 if V::FAST_PERMUTE => return groups_of::<V, 64, FORWARD>(groups, src, dst),
            _ => {}
        }
        for start in starts(groups, tile) {
            let at = start * 8 * typesize;
            let items = if FORWARD { src } else { dst.cast_const() };
            let size = tile * 8 * typesize;
            prefetch(items.wrapping_add(at + size), size);
            let (src, dst) = if FORWARD {
                (src.add(at), dst.add(start))
            } else {
                (src.add(start), dst.add(at))
            };
            match (typesize, FORWARD) {
                (1, _) if V::FAST_MATRICES => matrices::<V, S, 8, FORWARD>(src, dst, groups),
                _ if V::FAST_MATRICES => matrices::<V, S, 16, FORWARD>(src, dst, groups),
                (1, true) => bytes_forward::<V, S>(src, dst, groups),
                (1, false) => bytes_backward::<V, S>(src, dst, groups),
                (2, true) => pairs_forward::<V, S>(src, dst, groups),
                (2, false) => pairs_backward::<V, S>(src, dst, groups),
                (3..WIDE, true) => narrow_forward::<V, S>(typesize, src, dst, groups),
                (3..WIDE, false) => narrow_backward::<V, S>(typesize, src, dst, groups),
                (_, true) => wide_forward::<V, S>(typesize, src, dst, groups),
                (_, false) => wide_backward::<V, S>(typesize, src, dst, groups),
            }
        }
    }
}

/// Vectors of transposed bytes between the two halves of the work: for each vector of a row `N`, not initialised before
/// they are written.
struct Scratch<V, const S: usize, const N: usize>([[MaybeUninit<V>; N]; S]);

impl<V: Vector, const S: usize, const N: usize> Scratch<V, S, N> {
    #[inline(always)]
    fn new() -> Self {
        Self([[MaybeUninit::uninit(); N]; S])
    }

    /// Stores `v` as number `i`.
    ///
    /// # Safety
    /// There is that number: `s < S` and `i < N`.
    #[inline(always)]
    unsafe fn put(&mut self, s: usize, i: usize, v: V) {
        debug_assert!(s < S && i < N);
        // SAFETY: the caller's contract.
        unsafe { self.0.get_unchecked_mut(s).get_unchecked_mut(i).write(v) };
    }

    /// Number `i`.
    ///
    /// # Safety
    /// It was stored before.
    #[inline(always)]
    unsafe fn get(&self, s: usize, i: usize) -> V {
        debug_assert!(s < S && i < N);
        // SAFETY: the caller's contract.
        unsafe { self.0.get_unchecked(s).get_unchecked(i).assume_init() }
    }
}

/// Transposes the bits of the vectors of one byte's place, `S` times eight of them, and writes them as the eight rows at
/// `dst`, `row` apart.
///
/// # Safety
/// The CPU has the instruction set of `V`. Writable at `dst + k * row`: `S` vectors for each `k < 8`.
#[inline(always)]
unsafe fn store_rows<V: Vector, const S: usize>(mut v: [[V; 8]; S], dst: *mut u8, row: usize) {
    // SAFETY: the caller's contract.
    unsafe {
        unroll!(s < S, {
            v[s] = transpose_bits(v[s]);
        });
        unroll!(k < 8, {
            unroll!(s < S, {
                v[s][k].store(dst.add(k * row + s * 16 * V::LANES));
            });
        });
    }
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
        unroll!(s < S, {
            v[s] = transpose_bits(v[s]);
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
/// vectors of each of the `8 * typesize` rows, which are `row` bytes apart, at the other.
///
/// # Safety
/// The CPU has the instruction set of `V`; the tile is readable at `src` and writable at `dst`.
#[inline(always)]
unsafe fn bytes_forward<V: Vector, const S: usize>(src: *const u8, dst: *mut u8, row: usize) {
    // SAFETY: lane `l` reads its 16 groups of 8 bytes in 8 vectors.
    unsafe {
        let mut bytes = [[V::zero(); 8]; S];
        unroll!(s < S, {
            unroll!(i < 8, {
                bytes[s][i] = V::load_lanes(src.add(s * 128 * V::LANES + 16 * i), 128);
            });
            bytes[s] = rotate_bytes(bytes[s], 4);
        });
        store_rows(bytes, dst, row);
    }
}

/// The inverse of [`bytes_forward`].
///
/// # Safety
/// As [`bytes_forward`].
#[inline(always)]
unsafe fn bytes_backward<V: Vector, const S: usize>(src: *const u8, dst: *mut u8, row: usize) {
    // SAFETY: as in `bytes_forward`.
    unsafe {
        let bytes = load_rows::<V, S>(src, row);
        unroll!(s < S, {
            store_lanes(rotate_bytes(bytes[s], 3), dst.add(s * 128 * V::LANES));
        });
    }
}

/// One tile of typesize 2: a group is one column of 16 bytes.
///
/// # Safety
/// As [`bytes_forward`].
#[inline(always)]
unsafe fn pairs_forward<V: Vector, const S: usize>(src: *const u8, dst: *mut u8, row: usize) {
    // SAFETY: lane `l` reads its 16 groups of 16 bytes in 16 vectors.
    unsafe {
        let mut low = [[V::zero(); 8]; S];
        let mut high = [[V::zero(); 8]; S];
        unroll!(s < S, {
            let v = load_column::<V>(src.add(s * 256 * V::LANES), 16);
            unroll!(i < 8, {
                (low[s][i], high[s][i]) = (v[2 * i], v[2 * i + 1]);
            });
        });
        store_rows(low, dst, row);
        store_rows(high, dst.add(8 * row), row);
    }
}

/// The inverse of [`pairs_forward`].
///
/// # Safety
/// As [`bytes_forward`].
#[inline(always)]
unsafe fn pairs_backward<V: Vector, const S: usize>(src: *const u8, dst: *mut u8, row: usize) {
    // SAFETY: as in `pairs_forward`.
    unsafe {
        let low = load_rows::<V, S>(src, row);
        let high = load_rows::<V, S>(src.add(8 * row), row);
        unroll!(s < S, {
            let mut v = [V::zero(); 16];
            unroll!(i < 8, {
                (v[2 * i], v[2 * i + 1]) = (low[s][i], high[s][i]);
            });
            store_lanes(transpose16(v), dst.add(s * 256 * V::LANES));
        });
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

/// One tile of typesize 1 or 2, an eighth of `ROWS`, with fast matrices.
///
/// # Safety
/// As [`bytes_forward`].
#[inline(always)]
unsafe fn matrices<V: Vector, const S: usize, const ROWS: usize, const FORWARD: bool>(
    src: *const u8,
    dst: *mut u8,
    row: usize,
) {
    unroll!(s < S, {
        let (elements, rows) = (s * ROWS * 16 * V::LANES, s * 16 * V::LANES);
        // SAFETY: the vectors' parts of the tile, and of the rows, follow each other.
        unsafe {
            if FORWARD {
                matrices_forward::<V, ROWS>(src.add(elements), dst.add(rows), row);
            } else {
                matrices_backward::<V, ROWS>(src.add(rows), dst.add(elements), row);
            }
        }
    });
}

/// One vector of each row of typesize 1 (`ROWS` = 8) or 2 (16), with the bits transposed before the bytes.
///
/// # Safety
/// The CPU has the instruction set of `V`. Readable at `src`: `16 * V::LANES` groups of `ROWS` bytes. Writable at
/// `dst + r * row`: one vector for each `r < ROWS`.
#[inline(always)]
pub(super) unsafe fn matrices_forward<V: Vector, const ROWS: usize>(
    src: *const u8,
    dst: *mut u8,
    row: usize,
) {
    // SAFETY: lane `l` reads its 16 groups in `ROWS` vectors.
    unsafe {
        let mut v = [V::zero(); ROWS];
        unroll!(i < ROWS, {
            let bytes = V::load_lanes(src.add(16 * i), 16 * ROWS);
            let matrices = bytes.lookup(const { &matrix_table(ROWS / 8) });
            v[i] = matrices.transpose_matrices();
        });
        let v = rotate_bytes(v, 4);
        unroll!(r < ROWS, {
            v[r].store(dst.add(r * row));
        });
    }
}

/// The inverse of [`matrices_forward`].
///
/// # Safety
/// As [`matrices_forward`], with the places read and written exchanged.
#[inline(always)]
pub(super) unsafe fn matrices_backward<V: Vector, const ROWS: usize>(
    src: *const u8,
    dst: *mut u8,
    row: usize,
) {
    // SAFETY: as in `matrices_forward`.
    unsafe {
        let mut v = [V::zero(); ROWS];
        unroll!(r < ROWS, {
            // In each matrix the last row comes first.
            v[r] = V::load(src.add((r ^ 7) * row));
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

/// So many tiles of 64 groups are transposed as one where rows begin in different sets of the nearest cache, ...
const TILES: usize = 4;
/// ... and where all begin in the same.
const MORE_TILES: usize = 8;
/// Rows as far apart as a multiple of this begin in the same set.
const SETS: usize = 4096;
/// The rows of 16 that are written later then: a set has room for 8 lines at least.
const LATER: usize = 8;

/// A place for lines of bytes, not initialised before they are written.
#[repr(align(64))]
struct Lines<const N: usize>([MaybeUninit<[u8; 64]>; N]);

impl<const N: usize> Lines<N> {
    #[inline(always)]
    fn new() -> Self {
        Lines([MaybeUninit::uninit(); N])
    }

    #[inline(always)]
    fn start(&mut self) -> *mut u8 {
        self.0.as_mut_ptr().cast()
    }
}

/// All groups, at least 64 of them, of typesize 2 (`ROWS` = 16), 4 (32) or 8 (64), with the bits transposed before the bytes:
/// those of a group lie in one vector.
///
/// Rows that are a power of two apart share few sets of the cache, and a processor asks for the lines that it is about to
/// write before it writes the first of them: more at once than a set has room for, and most are lost before they are
/// written. So each row gets a few lines before the next ones get any.
///
/// # Safety
/// The CPU has the instruction set of `V`, a vector of which has 64 bytes. `groups * ROWS` bytes are readable and writable.
#[inline(always)]
unsafe fn groups_of<V: Vector, const ROWS: usize, const FORWARD: bool>(
    groups: usize,
    src: *const u8,
    dst: *mut u8,
) {
    let same_set = groups.is_multiple_of(SETS);
    let most = match FORWARD && same_set {
        true => MORE_TILES,
        false => TILES,
    };
    let mut start = 0;
    while start < groups {
        // What is less than a tile at the end is one with groups before it.
        let tiles = ((groups - start) / 64).clamp(1, most);
        let begin = start.min(groups - 64);
        // SAFETY: all lie among the groups, and the parts of the rows in the rows.
        unsafe {
            if !FORWARD {
                groups_backward::<V, ROWS>(tiles, src.add(begin), dst.add(begin * ROWS), groups);
            } else if same_set {
                groups_forward::<V, ROWS, LATER>(
                    tiles,
                    src.add(begin * ROWS),
                    dst.add(begin),
                    groups,
                );
            } else {
                groups_forward::<V, ROWS, 0>(tiles, src.add(begin * ROWS), dst.add(begin), groups);
            }
        }
        start += 64 * tiles;
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
    64 * (tile * ROWS + k % columns * 16 + m + k / columns)
}

/// `tiles` vectors of each row, at most `MORE_TILES`; `LATER` of 16 rows go through another place. What comes next is asked
/// for line by line, so that nothing else waits for it.
///
/// # Safety
/// As [`matrices_forward`], for each of the tiles.
#[inline(always)]
unsafe fn groups_forward<V: Vector, const ROWS: usize, const LATER: usize>(
    tiles: usize,
    src: *const u8,
    dst: *mut u8,
    row: usize,
) {
    debug_assert!(16 * V::LANES == 64 && ROWS <= 64 && tiles <= MORE_TILES);
    let mut bytes = Lines::<{ MORE_TILES * 64 }>::new();
    let bytes = bytes.start();
    let mut later = Lines::<{ MORE_TILES * self::LATER }>::new();
    let later = later.start();
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
                    v[k].store(bytes.add(column_of::<ROWS>(tile, m, k)));
                });
            }
        }
        for column in (0..ROWS).step_by(16) {
            for tile in 0..tiles {
                let mut v = [V::zero(); 16];
                unroll!(m < 16, {
                    v[m] = V::load(bytes.add(64 * (tile * ROWS + column + m)));
                });
                let v = transpose16(v);
                unroll!(r < 16, {
                    if r < 16 - LATER {
                        v[r].store(dst.add((column + r) * row + 64 * tile));
                    } else {
                        v[r].store(later.add(((r + LATER - 16) * MORE_TILES + tile) * 64));
                    }
                });
            }
            for r in 0..LATER {
                for tile in 0..tiles {
                    let v = V::load(later.add((r * MORE_TILES + tile) * 64));
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
    let mut bytes = Lines::<{ TILES * 64 }>::new();
    let bytes = bytes.start();
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
                    v[m].store(bytes.add(64 * (tile * ROWS + column + m)));
                });
            }
        }
        for tile in 0..tiles {
            for m in (0..16).step_by(64 / ROWS) {
                let mut v = [V::zero(); 4];
                unroll!(k < 4, {
                    v[k] = V::load(bytes.add(column_of::<ROWS>(tile, m, k)));
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

/// One tile of a typesize from 3 to 15: a group is several columns of 16 bytes, the last one overlapping.
///
/// # Safety
/// As [`bytes_forward`]; `typesize` is in that range.
#[inline(always)]
unsafe fn narrow_forward<V: Vector, const S: usize>(
    typesize: usize,
    src: *const u8,
    dst: *mut u8,
    row: usize,
) {
    let group = 8 * typesize;
    let mut bytes = Scratch::<V, S, { 8 * WIDE }>::new();
    // SAFETY: every column lies inside the group, so inside the tile; together they store all of the group's bytes.
    unsafe {
        for s in 0..S {
            let src = src.add(s * 16 * V::LANES * group);
            for column in starts(group, 16) {
                let v = load_column::<V>(src.add(column), anew(group));
                unroll!(c < 16, {
                    bytes.put(s, column + c, v[c]);
                });
            }
        }
        for b in 0..typesize {
            let mut eight = [[V::zero(); 8]; S];
            unroll!(s < S, {
                unroll!(i < 8, {
                    eight[s][i] = bytes.get(s, i * typesize + b);
                });
            });
            store_rows(eight, dst.add(8 * b * row), row);
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
    src: *const u8,
    dst: *mut u8,
    row: usize,
) {
    let group = 8 * typesize;
    let mut bytes = Scratch::<V, S, { 8 * WIDE }>::new();
    // SAFETY: as in `narrow_forward`.
    unsafe {
        for b in 0..typesize {
            let eight = load_rows::<V, S>(src.add(8 * b * row), row);
            unroll!(s < S, {
                unroll!(i < 8, {
                    bytes.put(s, i * typesize + b, eight[s][i]);
                });
            });
        }
        for s in 0..S {
            let dst = dst.add(s * 16 * V::LANES * group);
            for column in starts(group, 16) {
                let mut v = [V::zero(); 16];
                unroll!(c < 16, {
                    v[c] = bytes.get(s, column + c);
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
    let mut bytes = Scratch::<V, S, { 8 * 16 }>::new();
    // SAFETY: every column lies inside its element, so inside the tile; all 16 bytes of the eight columns are stored.
    unsafe {
        for column in starts(typesize, 16) {
            for s in 0..S {
                let src = src.add(s * 16 * V::LANES * group + column);
                for i in 0..8 {
                    let v = load_column::<V>(src.add(i * typesize), anew(group));
                    unroll!(c < 16, {
                        bytes.put(s, 16 * i + c, v[c]);
                    });
                }
            }
            for c in 0..16 {
                let mut eight = [[V::zero(); 8]; S];
                unroll!(s < S, {
                    unroll!(i < 8, {
                        eight[s][i] = bytes.get(s, 16 * i + c);
                    });
                });
                store_rows(eight, dst.add(8 * (column + c) * row), row);
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
    let mut bytes = Scratch::<V, S, { 8 * 16 }>::new();
    // SAFETY: as in `wide_forward`.
    unsafe {
        for column in starts(typesize, 16) {
            for c in 0..16 {
                let eight = load_rows::<V, S>(src.add(8 * (column + c) * row), row);
                unroll!(s < S, {
                    unroll!(i < 8, {
                        bytes.put(s, 16 * i + c, eight[s][i]);
                    });
                });
            }
            for s in 0..S {
                let dst = dst.add(s * 16 * V::LANES * group + column);
                for i in 0..8 {
                    let mut v = [V::zero(); 16];
                    unroll!(c < 16, {
                        v[c] = bytes.get(s, 16 * i + c);
                    });
                    store_column(v, dst.add(i * typesize), anew(group));
                }
            }
        }
    }
}
