//! Elements that are transposed in columns of 16 bytes: those of 16 bytes and more, and shorter
//! ones where vectors have no byte lookup.

use crate::simd::vector::{
    SET_STRIDE, Vector, VectorBuffer, WRITE_AHEAD, load_lanes, piece_starts, prefetch, store_lanes,
    tile_runs, transpose16, transpose16_half, unroll,
};

/// The number of elements in the largest tile: a cache line of each stream.
pub(crate) const MAX_TILE: usize = 64;
/// How many bytes past a tile the loads and stores of elements that do not fill a vector may touch.
pub(super) const SLACK: usize = 16;

/// Shuffles or unshuffles elements of less than 16 bytes. An element is one column. Loads and
/// stores of a column include the first bytes of the next element.
///
/// # Safety
/// The CPU has the instruction set of `V`; `n` is at least one tile; both slices hold `n *
/// typesize` bytes.
#[inline(always)]
pub(super) unsafe fn narrow_columns<V: Vector, const S: usize, const FORWARD: bool>(
    typesize: usize,
    n: usize,
    src: &[u8],
    dst: &mut [u8],
) {
    let tile = 16 * V::LANES * S;
    let bytes = tile * typesize;
    let mut padded = [0_u8; MAX_TILE * 16 + SLACK];
    for start in piece_starts(n, tile) {
        let at = start * typesize;
        let inside = at + bytes + SLACK <= n * typesize;
        // SAFETY: a tile ends at `n` at most (see `piece_starts`), so it lies within the elements,
        // and its part of each stream within the stream. If the slack behind it does not lie within
        // the elements (`inside`), the tile is copied through a buffer with slack.
        unsafe {
            if FORWARD {
                let from = if inside {
                    src.as_ptr().add(at)
                } else {
                    padded[..bytes].copy_from_slice(&src[at..at + bytes]);
                    padded.as_ptr()
                };
                let to = dst.as_mut_ptr().add(start);
                column_forward::<V, S>(from, typesize, to, n, typesize);
            } else {
                let from = src.as_ptr().add(start);
                let to = if inside {
                    dst.as_mut_ptr().add(at)
                } else {
                    padded.as_mut_ptr()
                };
                prefetch(dst.as_ptr().wrapping_add(at + WRITE_AHEAD), bytes);
                // One vector of each stream at a time, so that elements are written in ascending
                // order: each store overwrites the slack of the one before.
                for first in (0..tile).step_by(16 * V::LANES) {
                    let to = to.add(first * typesize);
                    let from = |j: usize| from.add(first + j * n);
                    column_backward::<V, 1>(from, typesize, to, typesize);
                }
                if !inside {
                    dst[at..at + bytes].copy_from_slice(&padded[..bytes]);
                }
            }
        }
    }
}

/// Shuffles elements of 16 bytes, a cache line of all 16 streams at a time. If all streams start in
/// the same cache set, which has fewer ways than 16, half of them are buffered and written later.
///
/// # Safety
/// The CPU has the instruction set of `V`, which has four lanes; `n` is at least one tile; both
/// slices hold `16 * n` bytes.
#[inline(always)]
pub(super) unsafe fn sixteens<V: Vector>(n: usize, src: &[u8], dst: &mut [u8]) {
    const TILES: usize = 4;
    let same_set = n.is_multiple_of(SET_STRIDE);
    let mut later = VectorBuffer::<{ 8 * TILES }>::new();
    for (start, tiles) in tile_runs(n, 64, TILES) {
        // SAFETY: a run of tiles ends at `n` at most (see `tile_runs`), so it lies within the
        // elements, and its part of each stream within the stream. The indices of `later` are less
        // than `8 * TILES`, and each vector is stored before it is loaded.
        unsafe {
            let (src, dst) = (src.as_ptr().add(16 * start), dst.as_mut_ptr().add(start));
            for t in 0..tiles {
                let src = src.add(16 * 64 * t);
                prefetch(src.wrapping_add(16 * 64), 16 * 64);
                let v = transpose16(load_lanes::<V, 16>(src));
                unroll!(j < 16, {
                    if j < 8 || !same_set {
                        v[j].store(dst.add(j * n + 64 * t));
                    } else {
                        later.put((j - 8) * TILES + t, v[j]);
                    }
                });
            }
            if same_set {
                for (j, t) in (8..16).flat_map(|j| (0..tiles).map(move |t| (j, t))) {
                    let v: V = later.get((j - 8) * TILES + t);
                    v.store(dst.add(j * n + 64 * t));
                }
            }
        }
    }
}

/// Shuffles or unshuffles elements of 16 bytes and more, in columns of 16 bytes (half columns when
/// shuffling). The last column overlaps the one before it.
///
/// # Safety
/// The CPU has the instruction set of `V`; `n` is at least one tile; both slices hold `n *
/// typesize` bytes; `typesize` is at least 16.
#[inline(always)]
pub(super) unsafe fn columns<V: Vector, const S: usize, const FORWARD: bool>(
    typesize: usize,
    n: usize,
    src: &[u8],
    dst: &mut [u8],
) {
    for start in piece_starts(n, 16 * V::LANES * S) {
        let at = start * typesize;
        // SAFETY: the tile ends at `n` at most, and the column at `typesize` at most (see
        // `piece_starts`). So the column's 16 bytes of each element, and the tile's part of each of
        // the column's streams, lie within the slices.
        unsafe {
            if FORWARD {
                let (from, to) = (src.as_ptr().add(at), dst.as_mut_ptr().add(start));
                for half in piece_starts(typesize, 8) {
                    let to = to.add(half * n);
                    if half + 16 <= typesize {
                        half_forward::<V, S, false>(from.add(half), typesize, to, n);
                    } else {
                        half_forward::<V, S, true>(from.add(half - 8), typesize, to, n);
                    }
                }
            } else {
                let (from, to) = (src.as_ptr().add(start), dst.as_mut_ptr().add(at));
                let bytes = 16 * V::LANES * S * typesize;
                prefetch(dst.as_ptr().wrapping_add(at + WRITE_AHEAD), bytes);
                for column in piece_starts(typesize, 16) {
                    let from = |j: usize| from.add((column + j) * n);
                    column_backward::<V, S>(from, 16, to.add(column), typesize);
                }
            }
        }
    }
}

/// Shuffles a column of one tile, vector by vector. The column is 16 bytes of elements that are
/// `typesize` apart. The first `streams` of these bytes become streams that are `n` apart.
///
/// # Safety
/// The CPU has the instruction set of `V`. Readable: 16 bytes at `src + e * typesize` for each
/// element `e` of the tile. Writable: `S` vectors at `dst + j * n` for each `j < streams`.
#[inline(always)]
unsafe fn column_forward<V: Vector, const S: usize>(
    src: *const u8,
    typesize: usize,
    dst: *mut u8,
    n: usize,
    streams: usize,
) {
    // SAFETY: in round `s`, lane `l` of vector `e` is element `16 * (s * V::LANES + l) + e` of the
    // tile, and vector `s` of stream `j` is written; all are accessible (# Safety).
    unsafe {
        for s in 0..S {
            let (src, dst) = (
                src.add(s * 16 * V::LANES * typesize),
                dst.add(s * 16 * V::LANES),
            );
            let mut v = [V::zero(); 16];
            unroll!(e < 16, {
                v[e] = V::load_lanes(src.add(e * typesize), 16 * typesize);
            });
            let v = transpose16(v);
            unroll!(j < 16, {
                if j < streams {
                    v[j].store(dst.add(j * n));
                }
            });
        }
    }
}

/// Shuffles half a column of one tile. The column is 16 bytes of elements that are `typesize`
/// apart. The first 8 of these bytes, or with `HIGH` the last 8, become streams that are `n` apart.
///
/// # Safety
/// The CPU has the instruction set of `V`. Readable: 16 bytes at `src + e * typesize` for each
/// element `e` of the tile. Writable: `S` vectors at `dst + j * n` for each `j < 8`.
#[inline(always)]
unsafe fn half_forward<V: Vector, const S: usize, const HIGH: bool>(
    src: *const u8,
    typesize: usize,
    dst: *mut u8,
    n: usize,
) {
    // SAFETY: as in `column_forward`.
    unsafe {
        let mut out = [[V::zero(); 8]; S];
        unroll!(s < S, {
            let src = src.add(s * 16 * V::LANES * typesize);
            let mut v = [V::zero(); 16];
            unroll!(e < 16, {
                v[e] = V::load_lanes(src.add(e * typesize), 16 * typesize);
            });
            out[s] = transpose16_half::<V, HIGH>(v);
        });
        unroll!(j < 8, {
            unroll!(s < S, {
                out[s][j].store(dst.add(j * n + s * 16 * V::LANES));
            });
        });
    }
}

/// Unshuffles a column of one tile. 16 bytes of each element are written, in ascending order of the
/// elements.
///
/// # Safety
/// The CPU has the instruction set of `V`. Readable: `S` vectors at `src(j)` for each `j <
/// streams`. Writable: 16 bytes at `dst + e * typesize` for each element `e` of the tile.
#[inline(always)]
pub(super) unsafe fn column_backward<V: Vector, const S: usize>(
    src: impl Fn(usize) -> *const u8,
    streams: usize,
    dst: *mut u8,
    typesize: usize,
) {
    // SAFETY: as in `column_forward`.
    unsafe {
        let mut v = [[V::zero(); 16]; S];
        unroll!(j < 16, {
            if j < streams {
                unroll!(s < S, {
                    v[s][j] = V::load(src(j).add(s * 16 * V::LANES));
                });
            }
        });
        unroll!(s < S, {
            let dst = dst.add(s * 16 * V::LANES * typesize);
            let v = transpose16(v[s]);
            if typesize == 16 {
                store_lanes(v, dst);
            } else {
                unroll!(lane < V::LANES, {
                    unroll!(e < 16, {
                        v[e].store_lane(lane, dst.add((16 * lane + e) * typesize));
                    });
                });
            }
        });
    }
}
