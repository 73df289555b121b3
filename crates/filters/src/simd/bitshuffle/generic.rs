//! The bitshuffle kernels, for any [`Vector`]: one pass over the data.
//!
//! A *group* is eight elements, `8 * typesize` bytes, and becomes one byte of every row. A *tile*
//! is `16 * V::LANES * S` groups. Lane `l` of vector `s` of a row holds the bytes of the 16 groups
//! from `16 * (s * V::LANES + l)` on, so every row gets `S` whole vectors per tile. As in shuffle,
//! `S` is chosen so that these are a cache line. Transposing the bytes of the groups gives one
//! vector for each byte `b` of each element `i` of a group. The eight vectors of one `b`, with
//! their bits transposed, belong to rows `8 * b` to `8 * b + 7`. The last tile of a block overlaps
//! the one before it.
//!
//! Rows that are a power of two apart map to few sets of the first-level cache. A processor fetches
//! the lines that it is about to write ahead of the writes; if more lines of a set are fetched than
//! it has ways, most are evicted before they are written. So several tiles are transposed at once,
//! and a few lines of eight rows are written before any of the next eight rows.

use super::columns::{narrow_backward, narrow_forward, wide_backward, wide_forward};
use super::groups::groups_of;
use super::rows::{BATCH, MAX_BATCH_TYPESIZE};
use super::small::{bytes_backward, bytes_forward, pairs_backward, pairs_forward};
use crate::simd::kernel::BitKernel;
use crate::simd::vector::{Vector, piece_starts, tile_runs};

/// Smaller typesizes are transposed in columns of whole groups, larger ones in columns of one
/// element.
const WIDE: usize = 16;
/// A partial tile is padded in columns of at most this many bytes of an element.
const PADDED_WIDTH: usize = 8;
/// The size in bytes of a tile of one lane with elements of that width.
const PADDED: usize = 16 * 8 * PADDED_WIDTH;

/// Bitshuffles (`FORWARD`) or unshuffles all of `src`, a multiple of eight elements, into `dst`,
/// which has the same length, in tiles of `S` vectors of `V`. Returns `others` for what `V` does
/// not handle: less than a tile, and, if it has fast bit matrices, typesizes for which these do not
/// help.
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
    // SAFETY: the CPU has the instruction set (# Safety); the check above leaves at least one tile.
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
    // SAFETY: the CPU has the instruction set (# Safety); the check above leaves at least one tile.
    unsafe { tiles::<V, 1, FORWARD>(typesize, groups, src, dst) };
    None
}

/// Bitshuffles fewer than 16 groups with `kernel`, padded to a tile of 16. Elements of more than
/// `PADDED_WIDTH` bytes are handled in columns of that width, of which the last one overlaps the
/// one before it.
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
    for column in piece_starts(typesize, width) {
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
        // SAFETY: the CPU has the instruction set (# Safety).
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

/// Chooses the kernel for `typesize` and runs it on all groups. Panics if these are less than a
/// tile. If `V` has fast bit matrices, they must fit the typesize (see [`run`]).
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
    // SAFETY: the CPU has the instruction set (# Safety). `groups * 8 * typesize` bytes are
    // readable and writable, as asserted. A run of tiles ends at `groups` at most (see
    // `tile_runs`), so it lies within the elements, and its part of each row, of `groups` bytes,
    // within the row.
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
        for (start, tiles) in tile_runs(groups, tile, most) {
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
