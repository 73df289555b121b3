//! The shuffle kernels, for any [`Vector`].
//!
//! A tile is `16 * V::LANES * S` elements: lane `l` of vector `s` of a stream has elements `16 * (s * V::LANES + l) ..` of it, so every
//! stream gets `S` whole vectors per tile. `S` is chosen to make that a cache line. Streams are often a multiple of the page size apart,
//! so that their lines map to the same cache set, and a half-written line is likely to be evicted before its second half is written.
//! The last tile of a block overlaps the one before it instead of leaving a remainder; the bytes in both are written twice with the same
//! value.
//!
//! The method depends on the size of an element:
//!
//! - 2, 4 and 8 bytes: as many vectors as bytes, each lane a run of whole elements;
//! - 3 and 5 to 7 bytes, if vectors have a byte lookup: the same, with elements spread to 4 or 8 bytes;
//! - others: 16 vectors, each lane 16 bytes (a column) of one element, transposed as a 16 x 16 matrix.

use crate::simd::vector::{
    SETS, Scratch, Vector, WRITE_AHEAD, load_lanes, prefetch, rotate, rotate_bytes, runs, starts,
    store_lanes, transpose16, transpose16_half, unroll,
};
use crate::simd::{Joiner, Kernel};

/// The number of elements in the largest tile: a cache line of each stream.
const MAX_TILE: usize = 64;
/// How many bytes past a tile the loads and stores of spread elements may touch.
const SLACK: usize = 16;

/// Shuffles `src` into `dst`, which has the same length (or back), in tiles of `S` vectors of `V`. Less than a tile is left to `fewer`.
/// Unshuffling uses `joiner` for the sizes that it accepts.
///
/// # Safety
/// The CPU has the instruction sets of `V`, of `fewer` and of `joiner`.
#[inline(always)]
pub(crate) unsafe fn run<V: Vector, const S: usize, const FORWARD: bool>(
    typesize: usize,
    src: &[u8],
    dst: &mut [u8],
    fewer: Kernel,
    joiner: Option<Joiner>,
) {
    let n = src.len() / typesize;
    // SAFETY: the caller promises the instruction sets; `tiles` gets at least one tile, as the first check ensures.
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

/// The most streams that [`join_streams`] accepts.
pub(crate) const MAX_JOINED: usize = 16;

/// The shortest streams for which joining is faster. Shorter ones the processor prefetches one after the other, not all at once.
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
    // SAFETY: the caller promises the instruction set. A tile ends at `n` at most (see `starts`), so it lies within each stream, and its
    // elements within `dst`, as asserted.
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
                for start in starts(n, 16 * V::LANES) {
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
/// The CPU has the instruction set of `V`; the streams have the same length, at least one tile, and `dst` that of all.
#[inline(always)]
unsafe fn join_small<V: Vector, const S: usize, const T: usize>(
    streams: [&[u8]; T],
    dst: &mut [u8],
) {
    let from = streams.map(<[u8]>::as_ptr);
    for start in starts(streams[0].len(), 16 * V::LANES * S) {
        // SAFETY: a tile ends at the end of the streams at most (see `starts`), so its elements end at the end of `dst` at most.
        unsafe {
            let to = dst.as_mut_ptr().add(start * T);
            prefetch(to.wrapping_add(WRITE_AHEAD), 16 * V::LANES * S * T);
            small_backward::<V, S, T, T>(|j| from[j].add(start), to);
        }
    }
}

/// Chooses the kernel for `typesize` (at least 2) and runs it on all `n` elements, which must be at least one tile.
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
    // SAFETY: the caller promises the instruction set; the assertions are what the kernels require.
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
            // The constant lets the compiler unroll the loops, which is a quarter faster for this common size.
            16 if FORWARD => columns::<V, S, FORWARD>(16, n, src, dst),
            9..16 => narrow_columns::<V, S, FORWARD>(typesize, n, src, dst),
            _ => columns::<V, S, FORWARD>(typesize, n, src, dst),
        }
    }
}

/// Elements of `T` bytes, spread to `G` bytes (a power of two, 2 to 8, at least `T`).
///
/// # Safety
/// The CPU has the instruction set of `V`; `n` is at least one tile; both slices hold `n * T` bytes.
#[inline(always)]
unsafe fn small<V: Vector, const S: usize, const T: usize, const G: usize, const FORWARD: bool>(
    n: usize,
    src: &[u8],
    dst: &mut [u8],
) {
    let tile = 16 * V::LANES * S;
    for start in starts(n, tile) {
        let at = start * T;
        // Elements of `G` bytes fill vectors exactly. Others are loaded and stored together with bytes behind the tile.
        let inside = T == G || at + tile * T + SLACK <= n * T;
        // SAFETY: a tile ends at `n` at most (see `starts`), so it lies within the elements, and its part of stream `j` within the
        // stream. The slack behind it lies within the elements, too, or the tile is copied through a buffer with slack.
        unsafe {
            if FORWARD {
                let to = dst.as_mut_ptr().add(start);
                if inside {
                    small_forward::<V, S, T, G>(src.as_ptr().add(at), to, n);
                } else {
                    let mut padded = [0_u8; MAX_TILE * 8 + SLACK];
                    padded[..tile * T].copy_from_slice(&src[at..at + tile * T]);
                    small_forward::<V, S, T, G>(padded.as_ptr(), to, n);
                }
            } else {
                let from = |j: usize| src.as_ptr().add(start + j * n);
                if T < G {
                    // Only here, since for `T == G` long streams are joined instead.
                    prefetch(dst.as_ptr().wrapping_add(at + WRITE_AHEAD), tile * T);
                }
                if inside {
                    small_backward::<V, S, T, G>(from, dst.as_mut_ptr().add(at));
                } else {
                    let mut padded = [0_u8; MAX_TILE * 8 + SLACK];
                    small_backward::<V, S, T, G>(from, padded.as_mut_ptr());
                    dst[at..at + tile * T].copy_from_slice(&padded[..tile * T]);
                }
            }
        }
    }
}

/// A lookup table that transposes a run of `T`-byte elements into `G` groups of `16 / G` bytes. Group `j` has byte `j` of every element,
/// or zeros if `j >= T`.
const fn group_table<const T: usize, const G: usize>() -> [u8; 16] {
    let mut table = [0x80; 16];
    let run = 16 / G;
    let mut j = 0;
    while j < T {
        let mut e = 0;
        while e < run {
            table[j * run + e] = (e * T + j) as u8;
            e += 1;
        }
        j += 1;
    }
    table
}

/// A lookup table that packs elements of `T` bytes, which are `G` bytes apart.
const fn squeeze_table<const T: usize, const G: usize>() -> [u8; 16] {
    let mut table = [0x80; 16];
    let mut i = 0;
    while i < 16 / G * T {
        table[i] = (i / T * G + i % T) as u8;
        i += 1;
    }
    table
}

/// One tile of [`small`]: stream `j` is written at `dst + j * n`.
///
/// # Safety
/// The CPU has the instruction set of `V`. Readable at `src`: a tile, and `SLACK` bytes more where `T < G`. Writable at
/// `dst + j * n`: `S` vectors for each `j < T`.
#[inline(always)]
unsafe fn small_forward<V: Vector, const S: usize, const T: usize, const G: usize>(
    src: *const u8,
    dst: *mut u8,
    n: usize,
) {
    // SAFETY: the `S` parts of the tile are adjacent, and so are the vectors of each stream; the caller promises both.
    unsafe {
        let mut streams = [[V::zero(); G]; S];
        unroll!(s < S, {
            streams[s] = split::<V, T, G>(src.add(s * 16 * V::LANES * T));
        });
        unroll!(j < T, {
            unroll!(s < S, {
                streams[s][j].store(dst.add(j * n + s * 16 * V::LANES));
            });
        });
    }
}

/// Shuffles the `16 * V::LANES` elements at `src` into one vector of each of `T` streams. The other vectors of the result are unused.
///
/// # Safety
/// The CPU has the instruction set of `V`. Readable at `src`: those elements, and `SLACK` bytes more where `T < G`.
#[inline(always)]
unsafe fn split<V: Vector, const T: usize, const G: usize>(src: *const u8) -> [V; G] {
    // SAFETY: vector `i` of lane `l` starts at element `16 * l + i * 16 / G` and reads 16 bytes, at most `SLACK` past
    // the elements' end, and none past it where `T == G`.
    unsafe {
        let mut v = [V::zero(); G];
        if T == G {
            v = load_lanes(src);
        } else {
            unroll!(i < G, {
                v[i] = V::load_lanes(src.add(i * (16 / G) * T), 16 * T);
            });
        }
        if V::FAST_LOOKUP {
            unroll!(i < G, {
                v[i] = v[i].lookup(const { &group_table::<T, G>() });
            });
            match G {
                2 => rotate(v, |a, b| V::zip64(a, b)),
                4 => {
                    let half = rotate(v, |a, b| V::zip32(a, b));
                    rotate(half, |a, b| V::zip32(a, b))
                }
                _ => {
                    let once = rotate(v, |a, b| V::zip16(a, b));
                    let twice = rotate(once, |a, b| V::zip16(a, b));
                    rotate(twice, |a, b| V::zip16(a, b))
                }
            }
        } else {
            debug_assert!(T == G, "`tiles` uses `narrow_columns` for these sizes");
            rotate_bytes(v, 4)
        }
    }
}

/// The inverse of [`small_forward`]: stream `j` is read at `src(j)`.
///
/// # Safety
/// The CPU has the instruction set of `V`. Readable at `src(j)`: `S` vectors for each `j < T`. Writable at `dst`: a tile, and
/// `SLACK` bytes more where `T < G`.
#[inline(always)]
unsafe fn small_backward<V: Vector, const S: usize, const T: usize, const G: usize>(
    src: impl Fn(usize) -> *const u8,
    dst: *mut u8,
) {
    // SAFETY: the `S` vectors of each stream are adjacent, and so are the parts of the tile; the caller promises both. The parts are
    // written in ascending order, as `join` requires.
    unsafe {
        let mut streams = [[V::zero(); G]; S];
        unroll!(j < T, {
            unroll!(s < S, {
                streams[s][j] = V::load(src(j).add(s * 16 * V::LANES));
            });
        });
        unroll!(s < S, {
            join::<V, T, G>(streams[s], dst.add(s * 16 * V::LANES * T));
        });
    }
}

/// The inverse of [`split`]: writes the elements at `dst`. A store may write past its elements; the next one overwrites that, so only the
/// bytes past the last element are left overwritten.
///
/// # Safety
/// The CPU has the instruction set of `V`. Writable at `dst`: `16 * V::LANES` elements, and `SLACK` bytes more where
/// `T < G`.
#[inline(always)]
unsafe fn join<V: Vector, const T: usize, const G: usize>(streams: [V; G], dst: *mut u8) {
    // SAFETY: as in `split`.
    unsafe {
        let mut v = rotate_bytes(streams, G.ilog2() as usize);
        if T == G {
            return store_lanes(v, dst);
        }
        unroll!(i < G, {
            v[i] = v[i].lookup(const { &squeeze_table::<T, G>() });
        });
        unroll!(lane < V::LANES, {
            unroll!(i < G, {
                v[i].store_lane(lane, dst.add((16 * lane + i * (16 / G)) * T));
            });
        });
    }
}

/// Elements of less than 16 bytes: one column, which is loaded and stored together with the first bytes of the next element.
///
/// # Safety
/// The CPU has the instruction set of `V`; `n` is at least one tile; both slices hold `n * typesize` bytes.
#[inline(always)]
unsafe fn narrow_columns<V: Vector, const S: usize, const FORWARD: bool>(
    typesize: usize,
    n: usize,
    src: &[u8],
    dst: &mut [u8],
) {
    let tile = 16 * V::LANES * S;
    let bytes = tile * typesize;
    let mut padded = [0_u8; MAX_TILE * 16 + SLACK];
    for start in starts(n, tile) {
        let at = start * typesize;
        let inside = at + bytes + SLACK <= n * typesize;
        // SAFETY: as in `small`.
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
                // Vector by vector, so that elements are written in ascending order.
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

/// Elements of 16 bytes, a cache line of all 16 streams at a time. If all streams start in the same cache set, which has too few ways for
/// that, half of them are buffered and written later.
///
/// # Safety
/// The CPU has the instruction set of `V`, which has four lanes; `n` is at least one tile; both slices hold `16 * n` bytes.
#[inline(always)]
unsafe fn sixteens<V: Vector>(n: usize, src: &[u8], dst: &mut [u8]) {
    const TILES: usize = 4;
    let same_set = n.is_multiple_of(SETS);
    let mut later = Scratch::<{ 8 * TILES }>::new();
    for (start, tiles) in runs(n, 64, TILES) {
        // SAFETY: a run of tiles ends at `n` at most (see `runs`), so it lies within the elements, and its parts of the streams within
        // them. The indices of `later` are less than `8 * TILES`, and each is put before it is got.
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

/// Elements of 16 bytes and more, in columns of 16 bytes (half columns when shuffling). The last column overlaps the one before it.
///
/// # Safety
/// The CPU has the instruction set of `V`; `n` is at least one tile; both slices hold `n * typesize` bytes; `typesize`
/// is at least 16.
#[inline(always)]
unsafe fn columns<V: Vector, const S: usize, const FORWARD: bool>(
    typesize: usize,
    n: usize,
    src: &[u8],
    dst: &mut [u8],
) {
    for start in starts(n, 16 * V::LANES * S) {
        let at = start * typesize;
        // SAFETY: the tile ends at `n` at most, and the column at `typesize` at most (see `starts`). So the column's 16 bytes of each
        // element, and the tile's part of each of the column's streams, lie within the slices.
        unsafe {
            if FORWARD {
                let (from, to) = (src.as_ptr().add(at), dst.as_mut_ptr().add(start));
                for half in starts(typesize, 8) {
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
                for column in starts(typesize, 16) {
                    let from = |j: usize| from.add((column + j) * n);
                    column_backward::<V, S>(from, 16, to.add(column), typesize);
                }
            }
        }
    }
}

/// Shuffles a column of one tile, vector by vector: of 16 bytes of elements that are `typesize` apart, the first `streams` become streams
/// that are `n` apart.
///
/// # Safety
/// The CPU has the instruction set of `V`. Readable: 16 bytes at `src + e * typesize` for each element `e` of the tile.
/// Writable: `S` vectors at `dst + j * n` for each `j < streams`.
#[inline(always)]
unsafe fn column_forward<V: Vector, const S: usize>(
    src: *const u8,
    typesize: usize,
    dst: *mut u8,
    n: usize,
    streams: usize,
) {
    // SAFETY: lane `l` of vector `e` is element `16 * l + e` of the vectors' part of the tile.
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

/// Shuffles half a column of one tile: of 16 bytes of elements that are `typesize` apart, the first 8, or with `HIGH` the last 8, become
/// streams that are `n` apart.
///
/// # Safety
/// The CPU has the instruction set of `V`. Readable: 16 bytes at `src + e * typesize` for each element `e` of the tile.
/// Writable: `S` vectors at `dst + j * n` for each `j < 8`.
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

/// Unshuffles a column of one tile. Elements are written 16 bytes each, in ascending order.
///
/// # Safety
/// The CPU has the instruction set of `V`. Readable: `S` vectors at `src(j)` for each `j < streams`. Writable: 16 bytes at
/// `dst + e * typesize` for each element `e` of the tile.
#[inline(always)]
unsafe fn column_backward<V: Vector, const S: usize>(
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
