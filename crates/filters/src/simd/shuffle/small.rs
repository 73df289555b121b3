//! Elements of 2 to 8 bytes. A tile fills as many vectors as an element has bytes, or, where
//! vectors have a byte lookup, as the next power of two.

use super::columns::{MAX_TILE, SLACK};
use crate::simd::vector::{
    Vector, WRITE_AHEAD, load_lanes, piece_starts, prefetch, rotate, rotate_bytes, store_lanes,
    unroll,
};

/// Shuffles or unshuffles elements of `T` bytes, which are spread to `G` bytes in a vector (a power
/// of two, 2 to 8, at least `T`).
///
/// # Safety
/// The CPU has the instruction set of `V`; `n` is at least one tile; both slices hold `n * T`
/// bytes.
#[inline(always)]
pub(super) unsafe fn small<
    V: Vector,
    const S: usize,
    const T: usize,
    const G: usize,
    const FORWARD: bool,
>(
    n: usize,
    src: &[u8],
    dst: &mut [u8],
) {
    let tile = 16 * V::LANES * S;
    for start in piece_starts(n, tile) {
        let at = start * T;
        // Elements of `G` bytes fill vectors exactly. For others, loads and stores include bytes
        // behind the tile.
        let inside = T == G || at + tile * T + SLACK <= n * T;
        // SAFETY: a tile ends at `n` at most (see `piece_starts`), so it lies within the elements,
        // and its part of stream `j` within the stream. If the slack behind it does not lie within
        // the elements (`inside`), the tile is copied through a buffer with slack.
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
                    // For `T == G` long streams are joined, which prefetches by itself.
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

/// A lookup table that transposes `16 / G` adjacent elements of `T` bytes into `G` groups of `16 /
/// G` bytes. Group `j` holds byte `j` of every element, or zeros if `j >= T`.
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

/// A lookup table that moves elements of `T` bytes, which are `G` bytes apart, together.
const fn squeeze_table<const T: usize, const G: usize>() -> [u8; 16] {
    let mut table = [0x80; 16];
    let mut i = 0;
    while i < 16 / G * T {
        table[i] = (i / T * G + i % T) as u8;
        i += 1;
    }
    table
}

/// Shuffles one tile of [`small`]. Stream `j` is written at `dst + j * n`.
///
/// # Safety
/// The CPU has the instruction set of `V`. Readable at `src`: a tile, and `SLACK` bytes more where
/// `T < G`. Writable at `dst + j * n`: `S` vectors for each `j < T`.
#[inline(always)]
unsafe fn small_forward<V: Vector, const S: usize, const T: usize, const G: usize>(
    src: *const u8,
    dst: *mut u8,
    n: usize,
) {
    // SAFETY: the `S` parts of the tile are adjacent at `src`, and the `S` vectors of stream `j` at
    // `dst + j * n`; all are accessible (# Safety).
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

/// Shuffles the `16 * V::LANES` elements at `src` into one vector of each of `T` streams. The
/// remaining vectors of the result are zero or unused.
///
/// # Safety
/// The CPU has the instruction set of `V`. Readable at `src`: those elements, and `SLACK` bytes
/// more where `T < G`.
#[inline(always)]
unsafe fn split<V: Vector, const T: usize, const G: usize>(src: *const u8) -> [V; G] {
    // SAFETY: vector `i` of lane `l` starts at element `16 * l + i * 16 / G` and reads 16 bytes, at
    // most `SLACK` past the elements' end, and none past it where `T == G`.
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
/// The CPU has the instruction set of `V`. Readable at `src(j)`: `S` vectors for each `j < T`.
/// Writable at `dst`: a tile, and `SLACK` bytes more where `T < G`.
#[inline(always)]
pub(super) unsafe fn small_backward<V: Vector, const S: usize, const T: usize, const G: usize>(
    src: impl Fn(usize) -> *const u8,
    dst: *mut u8,
) {
    // SAFETY: the `S` vectors of stream `j` are adjacent at `src(j)`, and the `S` parts of the tile
    // at `dst`; all are accessible (# Safety). The slack that `join` overwrites behind a part lies
    // in the next part, which is written later, or behind the tile.
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

/// The inverse of [`split`]: writes the elements at `dst`. A store may write past its elements. The
/// next store overwrites these bytes, so in the end only bytes past the last element differ.
///
/// # Safety
/// The CPU has the instruction set of `V`. Writable at `dst`: `16 * V::LANES` elements, and `SLACK`
/// bytes more where `T < G`.
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
