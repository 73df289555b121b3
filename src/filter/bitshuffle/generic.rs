//! The bitshuffle kernels, for any [`Vector`]: one pass over the data.
//!
//! A *group* is eight elements, `8 * typesize` bytes, and becomes one byte of every row. A tile is `16 * V::LANES`
//! groups: lane `l` works on groups `16 * l ..` of it, so that every row gets one whole vector per tile. Transposing the
//! groups' bytes gives one vector for each byte `b` of each element `i` of a group; the eight vectors of one `b`, with
//! their bits transposed, are the rows `8 * b ..`. The last tile of a block overlaps the one before it.

use super::portable;
use crate::filter::simd::vector::{Vector, rotate_bytes, transpose_bits, transpose16};

/// Typesizes below this one are transposed in columns of whole groups, the others in columns of one element.
const WIDE: usize = 16;
/// Bytes in a tile of one lane with the largest typesize that a partial tile is padded to.
const PADDED: usize = 16 * 8 * WIDE;

/// Transposes all of `src`, a multiple of eight elements, into `dst` of the same length: with `W` where there is at
/// least one tile of it, else with `N`, on a padded copy where there is less than a tile of that.
///
/// # Safety
/// The CPU has the instruction sets of `W` and `N`; `N` has one lane.
#[inline(always)]
pub(crate) unsafe fn bitshuffle<W: Vector, N: Vector>(typesize: usize, src: &[u8], dst: &mut [u8]) {
    let groups = src.len() / (8 * typesize);
    // SAFETY: the caller vouches for the instruction sets.
    unsafe {
        if groups >= 16 * W::LANES {
            tiles::<W, true>(typesize, groups, src, dst);
        } else if groups >= 16 {
            tiles::<N, true>(typesize, groups, src, dst);
        } else if typesize <= WIDE {
            let mut from = [0_u8; PADDED];
            let mut to = [0_u8; PADDED];
            from[..src.len()].copy_from_slice(src);
            tiles::<N, true>(typesize, 16, &from, &mut to);
            for (row, whole) in dst.chunks_exact_mut(groups).zip(to.chunks_exact(16)) {
                row.copy_from_slice(&whole[..groups]);
            }
        } else {
            portable::bitshuffle(typesize, src, dst);
        }
    }
}

/// The inverse of [`bitshuffle`].
///
/// # Safety
/// The CPU has the instruction sets of `W` and `N`; `N` has one lane.
#[inline(always)]
pub(crate) unsafe fn bitunshuffle<W: Vector, N: Vector>(
    typesize: usize,
    src: &[u8],
    dst: &mut [u8],
) {
    let groups = src.len() / (8 * typesize);
    // SAFETY: the caller vouches for the instruction sets.
    unsafe {
        if groups >= 16 * W::LANES {
            tiles::<W, false>(typesize, groups, src, dst);
        } else if groups >= 16 {
            tiles::<N, false>(typesize, groups, src, dst);
        } else if typesize <= WIDE {
            let mut from = [0_u8; PADDED];
            let mut to = [0_u8; PADDED];
            for (row, whole) in src.chunks_exact(groups).zip(from.chunks_exact_mut(16)) {
                whole[..groups].copy_from_slice(row);
            }
            tiles::<N, false>(typesize, 16, &from, &mut to);
            dst.copy_from_slice(&to[..src.len()]);
        } else {
            portable::bitunshuffle(typesize, src, dst);
        }
    }
}

/// Picks the kernel for `typesize` and runs it over all groups, at least one tile.
///
/// # Safety
/// The CPU has the instruction set of `V`.
#[inline(always)]
unsafe fn tiles<V: Vector, const FORWARD: bool>(
    typesize: usize,
    groups: usize,
    src: &[u8],
    dst: &mut [u8],
) {
    // Every bound below rests on this one.
    assert!(groups >= 16 * V::LANES && typesize > 0);
    assert!(
        groups
            .checked_mul(8 * typesize)
            .is_some_and(|bytes| bytes <= src.len() && bytes <= dst.len())
    );
    let (src, dst) = (src.as_ptr(), dst.as_mut_ptr());
    // SAFETY: zeros need nothing but the instruction set.
    let mut bytes = unsafe { [V::zero(); 8 * WIDE] };
    // SAFETY: just asserted, as far as it goes; the caller vouches for the instruction set. A tile ends at `groups` at
    // the latest, so it lies inside the elements, and its part of each row inside the row.
    unsafe {
        for start in starts(groups, 16 * V::LANES) {
            let at = start * 8 * typesize;
            let (src, dst) = if FORWARD {
                (src.add(at), dst.add(start))
            } else {
                (src.add(start), dst.add(at))
            };
            match (typesize, FORWARD) {
                (1, true) => bytes_forward::<V>(src, dst, groups),
                (1, false) => bytes_backward::<V>(src, dst, groups),
                (2, true) => pairs_forward::<V>(src, dst, groups),
                (2, false) => pairs_backward::<V>(src, dst, groups),
                // A kernel of their own for the common sizes: the same code with the loops unrolled.
                (4, true) => narrow_forward::<V>(4, src, dst, groups, &mut bytes),
                (4, false) => narrow_backward::<V>(4, src, dst, groups, &mut bytes),
                (8, true) => narrow_forward::<V>(8, src, dst, groups, &mut bytes),
                (8, false) => narrow_backward::<V>(8, src, dst, groups, &mut bytes),
                (3..WIDE, true) => narrow_forward::<V>(typesize, src, dst, groups, &mut bytes),
                (3..WIDE, false) => narrow_backward::<V>(typesize, src, dst, groups, &mut bytes),
                (_, true) => wide_forward::<V>(typesize, src, dst, groups, &mut bytes),
                (_, false) => wide_backward::<V>(typesize, src, dst, groups, &mut bytes),
            }
        }
    }
}

/// The starts of the pieces of `size` that cover `n`: one after the other, the last one moved back to end at `n`.
#[inline(always)]
fn starts(n: usize, size: usize) -> impl Iterator<Item = usize> {
    (0..n.div_ceil(size)).map(move |i| (i * size).min(n - size))
}

/// Transposes the bits of the vectors of one byte's place and writes them as the eight rows at `dst`, `row` apart.
///
/// # Safety
/// The CPU has the instruction set of `V`. Writable at `dst + k * row`: one vector for each `k < 8`.
#[inline(always)]
unsafe fn store_rows<V: Vector>(v: [V; 8], dst: *mut u8, row: usize) {
    // SAFETY: the caller's contract.
    unsafe {
        for (k, v) in transpose_bits(v).iter().enumerate() {
            v.store(dst.add(k * row));
        }
    }
}

/// The inverse of [`store_rows`].
///
/// # Safety
/// The CPU has the instruction set of `V`. Readable at `src + k * row`: one vector for each `k < 8`.
#[inline(always)]
unsafe fn load_rows<V: Vector>(src: *const u8, row: usize) -> [V; 8] {
    // SAFETY: the caller's contract.
    unsafe {
        let mut v = [V::zero(); 8];
        for (k, v) in v.iter_mut().enumerate() {
            *v = V::load(src.add(k * row));
        }
        transpose_bits(v)
    }
}

/// One tile of typesize 1. In this and the functions below, a tile is `16 * V::LANES` groups at one pointer, and
/// one vector of each of the `8 * typesize` rows, which are `row` bytes apart, at the other.
///
/// # Safety
/// The CPU has the instruction set of `V`; the tile is readable at `src` and writable at `dst`.
#[inline(always)]
unsafe fn bytes_forward<V: Vector>(src: *const u8, dst: *mut u8, row: usize) {
    // SAFETY: lane `l` reads its 16 groups of 8 bytes in 8 vectors.
    unsafe {
        let mut v = [V::zero(); 8];
        for (i, v) in v.iter_mut().enumerate() {
            *v = V::load_lanes(src.add(16 * i), 128);
        }
        store_rows(rotate_bytes(v, 4), dst, row);
    }
}

/// The inverse of [`bytes_forward`].
///
/// # Safety
/// As [`bytes_forward`].
#[inline(always)]
unsafe fn bytes_backward<V: Vector>(src: *const u8, dst: *mut u8, row: usize) {
    // SAFETY: as in `bytes_forward`.
    unsafe {
        let v = rotate_bytes(load_rows::<V>(src, row), 3);
        for i in 0..4 {
            V::store_pair(v[2 * i], v[2 * i + 1], dst.add(32 * i), 128);
        }
    }
}

/// One tile of typesize 2: a group is one column of 16 bytes.
///
/// # Safety
/// As [`bytes_forward`].
#[inline(always)]
unsafe fn pairs_forward<V: Vector>(src: *const u8, dst: *mut u8, row: usize) {
    // SAFETY: lane `l` reads its 16 groups of 16 bytes in 16 vectors.
    unsafe {
        let mut v = [V::zero(); 16];
        for (m, v) in v.iter_mut().enumerate() {
            *v = V::load_lanes(src.add(16 * m), 256);
        }
        let v = transpose16(v);
        for b in 0..2 {
            let eight = core::array::from_fn(|i| v[2 * i + b]);
            store_rows(eight, dst.add(8 * b * row), row);
        }
    }
}

/// The inverse of [`pairs_forward`].
///
/// # Safety
/// As [`bytes_forward`].
#[inline(always)]
unsafe fn pairs_backward<V: Vector>(src: *const u8, dst: *mut u8, row: usize) {
    // SAFETY: as in `pairs_forward`.
    unsafe {
        let low = load_rows::<V>(src, row);
        let high = load_rows::<V>(src.add(8 * row), row);
        let both = core::array::from_fn(|c| if c % 2 == 0 { low[c / 2] } else { high[c / 2] });
        let v = transpose16(both);
        for i in 0..8 {
            V::store_pair(v[2 * i], v[2 * i + 1], dst.add(32 * i), 256);
        }
    }
}

/// One tile of a typesize from 3 to 15: a group is several columns of 16 bytes, the last one overlapping. `bytes` is
/// scratch, one vector for each byte of a group.
///
/// # Safety
/// As [`bytes_forward`]; `typesize` is in that range.
#[inline(always)]
unsafe fn narrow_forward<V: Vector>(
    typesize: usize,
    src: *const u8,
    dst: *mut u8,
    row: usize,
    bytes: &mut [V; 8 * WIDE],
) {
    let group = 8 * typesize;
    // SAFETY: every column lies inside the group, so inside the tile.
    unsafe {
        for column in starts(group, 16) {
            let mut v = [V::zero(); 16];
            for (m, v) in v.iter_mut().enumerate() {
                *v = V::load_lanes(src.add(m * group + column), 16 * group);
            }
            bytes[column..column + 16].copy_from_slice(&transpose16(v));
        }
        for b in 0..typesize {
            let eight = core::array::from_fn(|i| bytes[i * typesize + b]);
            store_rows(eight, dst.add(8 * b * row), row);
        }
    }
}

/// The inverse of [`narrow_forward`].
///
/// # Safety
/// As [`narrow_forward`].
#[inline(always)]
unsafe fn narrow_backward<V: Vector>(
    typesize: usize,
    src: *const u8,
    dst: *mut u8,
    row: usize,
    bytes: &mut [V; 8 * WIDE],
) {
    let group = 8 * typesize;
    // SAFETY: as in `narrow_forward`.
    unsafe {
        for b in 0..typesize {
            let eight = load_rows::<V>(src.add(8 * b * row), row);
            for (i, v) in eight.into_iter().enumerate() {
                bytes[i * typesize + b] = v;
            }
        }
        for column in starts(group, 16) {
            let v = transpose16(core::array::from_fn(|c| bytes[column + c]));
            store_column(v, dst.add(column), group);
        }
    }
}

/// One tile of a typesize of 16 or more: columns of 16 bytes of an element, the last one overlapping. `bytes` is
/// scratch, 16 vectors for a column of each element of a group.
///
/// # Safety
/// As [`bytes_forward`]; `typesize` is in that range.
#[inline(always)]
unsafe fn wide_forward<V: Vector>(
    typesize: usize,
    src: *const u8,
    dst: *mut u8,
    row: usize,
    bytes: &mut [V; 8 * WIDE],
) {
    let group = 8 * typesize;
    // SAFETY: every column lies inside its element, so inside the tile.
    unsafe {
        let (bytes, _) = bytes.as_chunks_mut::<16>();
        for column in starts(typesize, 16) {
            for (i, bytes) in bytes.iter_mut().enumerate() {
                let mut v = [V::zero(); 16];
                for (m, v) in v.iter_mut().enumerate() {
                    let element = m * group + i * typesize;
                    *v = V::load_lanes(src.add(element + column), 16 * group);
                }
                *bytes = transpose16(v);
            }
            for c in 0..16 {
                let eight = core::array::from_fn(|i| bytes[i][c]);
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
unsafe fn wide_backward<V: Vector>(
    typesize: usize,
    src: *const u8,
    dst: *mut u8,
    row: usize,
    bytes: &mut [V; 8 * WIDE],
) {
    let group = 8 * typesize;
    // SAFETY: as in `wide_forward`.
    unsafe {
        let (bytes, _) = bytes.as_chunks_mut::<16>();
        for column in starts(typesize, 16) {
            for c in 0..16 {
                let eight = load_rows::<V>(src.add(8 * (column + c) * row), row);
                for (bytes, v) in bytes.iter_mut().zip(eight) {
                    bytes[c] = v;
                }
            }
            for (i, bytes) in bytes.iter().enumerate() {
                store_column(transpose16(*bytes), dst.add(i * typesize + column), group);
            }
        }
    }
}

/// Writes a column of 16 bytes of each group of a tile, the groups `group` bytes apart.
///
/// # Safety
/// The CPU has the instruction set of `V`. Writable: 16 bytes at `dst + m * group` for each group `m` of the tile.
#[inline(always)]
unsafe fn store_column<V: Vector>(v: [V; 16], dst: *mut u8, group: usize) {
    // SAFETY: lane `l` of vector `m` is group `16 * l + m`.
    unsafe {
        for (m, v) in v.iter().enumerate() {
            for lane in 0..V::LANES {
                v.store_lane(lane, dst.add((16 * lane + m) * group));
            }
        }
    }
}
