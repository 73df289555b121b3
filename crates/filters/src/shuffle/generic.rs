//! The shuffle kernels, for any [`Vector`].
//!
//! A tile is `16 * V::LANES * S` elements: lane `l` of vector `s` of a stream works on elements `16 * (s * V::LANES + l) ..`
//! of it, so that every stream gets `S` whole vectors per tile. `S` is chosen to make that a cache line: streams are
//! often a multiple of the page size apart, so that their lines compete for the same few places in the cache, and a line
//! that is left half done is likely gone when its second half is due. The last tile of a block overlaps the one before
//! it instead of leaving a remainder; its bytes are written twice with the same value.
//!
//! The way of a tile depends on the size of an element, rounded up to a power of two:
//!
//! - 2, 4, 8: as many vectors as bytes, each lane a run of whole elements;
//! - 3 and 5 to 7: the same, with elements spread to 4 or 8 bytes on the way in and squeezed on the way out, if vectors can
//!   do that;
//! - all others: 16 vectors, each lane 16 bytes (a column) of one element, transposed as a 16 x 16 matrix.

use crate::simd::vector::{
    SETS, Scratch, Vector, WRITE_AHEAD, load_lanes, prefetch, rotate, rotate_bytes, runs, starts,
    store_lanes, transpose16, transpose16_half, unroll,
};
use crate::simd::{Joiner, Kernel};

/// Elements in the largest tile: a cache line of each stream.
const MAX_TILE: usize = 64;
/// Bytes past a tile that a padded load or store may touch.
const SLACK: usize = 16;

/// Shuffles `src` into `dst` of the same length (or back), in tiles of `S` vectors of `V`; with `fewer` where that is less
/// than one. The way back may be that of `joiner`, for the sizes it is for.
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
    // SAFETY: the caller vouches for the instruction sets.
    unsafe {
        if n < 16 * V::LANES * S || typesize == 1 {
            return fewer(typesize, src, dst);
        }
        match joiner {
            // With less it costs more to say where the streams are than to take them as they come.
            Some(joiner) if can_join(typesize) && n >= JOINED => {
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

/// The most streams that [`join_streams`] can put together.
pub(crate) const MAX_JOINED: usize = 16;

/// The least bytes in each of them for which it is worth it: the processor reads shorter streams ahead one after the other, not
/// all at once.
pub(crate) const JOINED: usize = 2048;

/// Whether [`join_streams`] can put `nstreams` streams together.
pub(crate) fn can_join(nstreams: usize) -> bool {
    matches!(nstreams, 2 | 4 | 8 | MAX_JOINED)
}

/// Puts the elements whose bytes are in `streams`, wherever each of them is, together in `dst`.
///
/// # Safety
/// The CPU has the instruction set of `V`.
#[inline(always)]
pub(crate) unsafe fn join_streams<V: Vector, const S: usize>(streams: &[&[u8]], dst: &mut [u8]) {
    // Every bound below rests on these.
    const { assert!(16 * V::LANES * S <= MAX_TILE) };
    let n = streams[0].len();
    assert!(n >= MAX_TILE && streams.iter().all(|stream| stream.len() == n));
    assert!(n.checked_mul(streams.len()) == Some(dst.len()));
    // SAFETY: just asserted; the caller vouches for the instruction set.
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
        // SAFETY: a tile ends where the streams do at the latest, and with it its elements in `dst`.
        unsafe {
            let to = dst.as_mut_ptr().add(start * T);
            prefetch(to.wrapping_add(WRITE_AHEAD), 16 * V::LANES * S * T);
            small_backward::<V, S, T, T>(|j| from[j].add(start), to);
        }
    }
}

/// Picks the kernel for `typesize` (at least 2) and runs it over all `n` elements, `n` at least one tile.
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
    // Every bound below rests on these.
    const { assert!(16 * V::LANES * S <= MAX_TILE) };
    assert!(typesize > 1 && n >= 16 * V::LANES * S);
    let bytes = n.checked_mul(typesize);
    assert!(bytes.is_some_and(|bytes| bytes <= src.len() && bytes <= dst.len()));
    // SAFETY: just asserted; the caller vouches for the instruction set.
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
            // A kernel of its own for a common size: the same code with its loops unrolled, a fourth faster.
            16 if FORWARD => columns::<V, S, FORWARD>(16, n, src, dst),
            9..16 => narrow_columns::<V, S, FORWARD>(typesize, n, src, dst),
            _ => columns::<V, S, FORWARD>(typesize, n, src, dst),
        }
    }
}

/// Elements of `T` bytes in groups of `G` (a power of two, 2 to 8, at least `T`).
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
        // Whole elements fill their vectors exactly; others are moved with bytes of what follows them.
        let inside = T == G || at + tile * T + SLACK <= n * T;
        // SAFETY: a tile ends at `n` at the latest, so it lies inside the elements, and its part of stream `j` inside
        // stream `j`. The slack past it is inside too, or the tile is moved through a buffer that has it.
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
                    // The others of more than a few elements are joined.
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

/// The table that brings a run of `T`-byte elements into `G` groups of `16 / G` bytes, group `j` holding byte `j` of
/// every element (zeros where `j >= T`).
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

/// The table that moves elements of `T` bytes, `G` bytes apart, together.
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
    // SAFETY: the vectors' parts of the tile, and of the streams, follow each other.
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

/// One vector of each of `T` streams, from the `16 * V::LANES` elements at `src`. The rest of the result is of no use.
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
            debug_assert!(T == G, "[`tiles`] takes another way");
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
    // SAFETY: the vectors' parts of the streams, and of the tile, follow each other, going up in address.
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

/// The inverse of [`split`]: the elements are written at `dst`. What a store writes past its elements is overwritten by
/// the next one, so that the bytes past the last element are the only ones to be spoilt.
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

/// Elements of less than 16 bytes: one column, moved with the first bytes of the next element.
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
                // Vector by vector, so that their elements are written going up in address too.
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

/// Elements of 16 bytes, a cache line of all 16 streams at a time. Where these begin in the same set of the cache, which has
/// not the room for so many lines, half of them are written later.
///
/// # Safety
/// The CPU has the instruction set of `V`, which has four lanes; `n` is at least one tile; both slices hold `16 * n` bytes.
#[inline(always)]
unsafe fn sixteens<V: Vector>(n: usize, src: &[u8], dst: &mut [u8]) {
    const TILES: usize = 4;
    let same_set = n.is_multiple_of(SETS);
    let mut later = Scratch::<{ 8 * TILES }>::new();
    for (start, tiles) in runs(n, 64, TILES) {
        // SAFETY: the tiles lie among the elements, and their parts of the streams in these; all that is kept is read again.
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

/// Elements of 16 bytes and more, in columns of 16 bytes (half columns on the way forward); the last column overlaps
/// the one before it.
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
        // SAFETY: the tile ends at `n` and the column at `typesize` at the latest, so that all 16 bytes of the column
        // of each element, and the tile's part of each of the column's streams, are inside the slices.
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

/// A whole column of one tile, vector by vector: 16 bytes of elements `typesize` apart, of which the first `streams`
/// become streams `n` apart.
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

/// Half a column of one tile: of 16 bytes of elements `typesize` apart the first 8, or with `HIGH` the last 8, become
/// streams `n` apart.
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

/// A whole column of one tile, on the way back. Elements are written 16 bytes each, going up in address.
///
/// # Safety
/// The CPU has the instruction set of `V`. Readable: `S` vectors at `src(j)` for each `j < streams`. Writable: 16 bytes at `dst + e * typesize` for each element `e` of the tile.
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
