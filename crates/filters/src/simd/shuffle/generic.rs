//! The shuffle kernels, for any [`Vector`].
//!
//! A tile is `16 * V::LANES * S` elements. Lane `l` of vector `s` of a stream holds the bytes of
//! the 16 elements from `16 * (s * V::LANES + l)` on, so every stream gets `S` whole vectors per
//! tile. `S` is chosen so that these are a cache line. Streams are often a multiple of the page
//! size apart, so that their lines map to the same cache set, and a line that is written in two
//! halves is likely to be evicted in between. The last tile of a block overlaps the one before it,
//! so that no remainder is left; the bytes in both are written twice with the same value.
//!
//! The method depends on the size of an element:
//!
//! - 2, 4 and 8 bytes ([`small`](super::small)): as many vectors as bytes, in which each lane holds
//!   whole elements;
//! - 3 and 5 to 7 bytes, if vectors have a byte lookup: the same, with elements spread to 4 or 8
//!   bytes;
//! - others ([`columns`](super::columns)): 16 vectors, in which each lane holds 16 bytes (a column)
//!   of one element, transposed as a 16 x 16 matrix.

use super::columns::{MAX_TILE, column_backward, columns, narrow_columns, sixteens};
use super::small::{small, small_backward};
use crate::simd::kernel::{JoinKernel, Kernel};
use crate::simd::vector::{Vector, WRITE_AHEAD, piece_starts, prefetch};

/// Shuffles (`FORWARD`) or unshuffles `src` into `dst`, which has the same length, in tiles of `S`
/// vectors of `V`. Less than a tile is left to `fewer`. Unshuffling uses `joiner` for the sizes
/// that [`can_join`] accepts.
///
/// # Safety
/// The CPU has the instruction sets of `V`, of `fewer` and of `joiner`.
#[inline(always)]
pub(crate) unsafe fn run<V: Vector, const S: usize, const FORWARD: bool>(
    typesize: usize,
    src: &[u8],
    dst: &mut [u8],
    fewer: Kernel,
    joiner: Option<JoinKernel>,
) {
    let n = src.len() / typesize;
    // SAFETY: the CPU has the instruction sets (# Safety). The first check leaves at least one tile
    // for `tiles`.
    unsafe {
        if n < 16 * V::LANES * S || typesize == 1 {
            return fewer(typesize, src, dst);
        }
        match joiner {
            // For shorter streams, setting up the pointers costs more than it gains.
            Some(joiner) if can_join(typesize) && n >= MIN_JOINED_LEN => {
                let mut streams = [&src[..0]; MAX_JOINED];
                let mut rest = src;
                for stream in &mut streams[..typesize] {
                    (*stream, rest) = rest.split_at(n);
                }
                joiner(&streams[..typesize], &mut dst[..n * typesize]);
            }
            _ => tiles::<V, S, FORWARD>(typesize, n, src, dst),
        }
    }
    dst[n * typesize..src.len()].copy_from_slice(&src[n * typesize..]);
}

/// The largest number of streams that [`join_streams`] accepts.
pub(crate) const MAX_JOINED: usize = 16;

/// The shortest streams for which joining is faster. The processor's own prefetcher does not
/// recognise shorter ones that are read in parallel.
pub(crate) const MIN_JOINED_LEN: usize = 2048;

/// Whether [`join_streams`] accepts `nstreams` streams.
pub(crate) fn can_join(nstreams: usize) -> bool {
    matches!(nstreams, 2 | 4 | 8 | MAX_JOINED)
}

/// Joins streams in separate buffers into elements in `dst`.
///
/// # Safety
/// The CPU has the instruction set of `V`.
#[inline(always)]
pub(crate) unsafe fn join_streams<V: Vector, const S: usize>(streams: &[&[u8]], dst: &mut [u8]) {
    // All bounds below follow from these assertions.
    const { assert!(16 * V::LANES * S <= MAX_TILE) };
    let n = streams[0].len();
    assert!(n >= MAX_TILE && streams.iter().all(|stream| stream.len() == n));
    assert!(n.checked_mul(streams.len()) == Some(dst.len()));
    // SAFETY: the CPU has the instruction set (# Safety). A tile ends at `n` at most (see
    // `piece_starts`), so it lies within each stream, and its elements within `dst`, as asserted.
    unsafe {
        match streams {
            [a, b] => join_small::<V, S, 2>([a, b], dst),
            [a, b, c, d] => join_small::<V, S, 4>([a, b, c, d], dst),
            [a, b, c, d, e, f, g, h] => {
                join_small::<V, S, 8>([a, b, c, d, e, f, g, h], dst);
            }
            _ => {
                let streams: &[&[u8]; MAX_JOINED] = streams
                    .try_into()
                    .unwrap_or_else(|_| unreachable!("[`can_join`]"));
                for start in piece_starts(n, 16 * V::LANES) {
                    let to = dst.as_mut_ptr().add(start * MAX_JOINED);
                    let from = |j: usize| streams[j].as_ptr().add(start);
                    prefetch(to.wrapping_add(WRITE_AHEAD), 16 * V::LANES * MAX_JOINED);
                    column_backward::<V, 1>(from, MAX_JOINED, to, MAX_JOINED);
                }
            }
        }
    }
}

/// See [`join_streams`].
///
/// # Safety
/// The CPU has the instruction set of `V`; the streams have the same length, at least one tile, and
/// `dst` that of all.
#[inline(always)]
unsafe fn join_small<V: Vector, const S: usize, const T: usize>(
    streams: [&[u8]; T],
    dst: &mut [u8],
) {
    let from = streams.map(<[u8]>::as_ptr);
    for start in piece_starts(streams[0].len(), 16 * V::LANES * S) {
        // SAFETY: a tile ends at the end of the streams at most (see `piece_starts`), so its
        // elements end at the end of `dst` at most.
        unsafe {
            let to = dst.as_mut_ptr().add(start * T);
            prefetch(to.wrapping_add(WRITE_AHEAD), 16 * V::LANES * S * T);
            small_backward::<V, S, T, T>(|j| from[j].add(start), to);
        }
    }
}

/// Chooses the kernel for `typesize` and runs it on all `n` elements. Panics unless `typesize` is
/// at least 2 and `n` at least a tile.
///
/// # Safety
/// The CPU has the instruction set of `V`.
#[inline(always)]
unsafe fn tiles<V: Vector, const S: usize, const FORWARD: bool>(
    typesize: usize,
    n: usize,
    src: &[u8],
    dst: &mut [u8],
) {
    // All bounds below follow from these assertions.
    const { assert!(16 * V::LANES * S <= MAX_TILE) };
    assert!(typesize > 1 && n >= 16 * V::LANES * S);
    let bytes = n.checked_mul(typesize);
    assert!(bytes.is_some_and(|bytes| bytes <= src.len() && bytes <= dst.len()));
    // SAFETY: the CPU has the instruction set (# Safety); the assertions are what the kernels
    // require.
    unsafe {
        match typesize {
            3 | 5..8 if !V::FAST_LOOKUP => narrow_columns::<V, S, FORWARD>(typesize, n, src, dst),
            2 => small::<V, S, 2, 2, FORWARD>(n, src, dst),
            3 => small::<V, S, 3, 4, FORWARD>(n, src, dst),
            4 => small::<V, S, 4, 4, FORWARD>(n, src, dst),
            5 => small::<V, S, 5, 8, FORWARD>(n, src, dst),
            6 => small::<V, S, 6, 8, FORWARD>(n, src, dst),
            7 => small::<V, S, 7, 8, FORWARD>(n, src, dst),
            8 => small::<V, S, 8, 8, FORWARD>(n, src, dst),
            16 if FORWARD && V::LANES == 4 => sixteens::<V>(n, src, dst),
            // With a constant the compiler unrolls the loops, which is a quarter faster for this
            // common size.
            16 if FORWARD => columns::<V, S, FORWARD>(16, n, src, dst),
            9..16 => narrow_columns::<V, S, FORWARD>(typesize, n, src, dst),
            _ => columns::<V, S, FORWARD>(typesize, n, src, dst),
        }
    }
}
