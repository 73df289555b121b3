//! The shuffle kernels, for any [`Vector`].
//!
//! A tile is `16 * V::LANES` elements: lane `l` works on elements `16 * l ..` of it, so that every stream gets one whole
//! vector per tile. The last tile of a block overlaps the one before it instead of leaving a remainder; its bytes are
//! written twice with the same value. Vectors are grouped by the width of an element rounded up to a power of two:
//!
//! - 2, 4, 8: as many vectors as bytes, each lane a run of whole elements;
//! - 3 and 5 to 7: the same, with elements spread to 4 or 8 bytes on the way in and squeezed on the way out;
//! - 9 and above: 16 vectors, each lane 16 bytes (a column) of one element, transposed as a 16 x 16 matrix.

use super::portable;
use crate::filter::simd::vector::{Vector, rotate, rotate_bytes, transpose16};

/// Elements in the tile of the widest vector (4 lanes).
const MAX_TILE: usize = 64;
/// Bytes past a tile that a padded load or store may touch.
const SLACK: usize = 16;

/// Shuffles with `W` where the block has at least one tile of it, else with `N`, else with the portable kernel.
///
/// # Safety
/// The CPU has the instruction sets of `W` and `N`.
#[inline(always)]
pub(crate) unsafe fn shuffle<W: Vector, N: Vector>(typesize: usize, src: &[u8], dst: &mut [u8]) {
    let n = src.len() / typesize;
    // SAFETY: the caller vouches for the instruction sets.
    unsafe {
        if typesize == 1 {
            return dst.copy_from_slice(src);
        } else if n >= 16 * W::LANES {
            tiles::<W, true>(typesize, n, src, dst);
        } else if n >= 16 * N::LANES {
            tiles::<N, true>(typesize, n, src, dst);
        } else {
            return portable::shuffle(typesize, src, dst);
        }
    }
    dst[n * typesize..src.len()].copy_from_slice(&src[n * typesize..]);
}

/// Unshuffles with `W` where the block has at least one tile of it, else with `N`, else with the portable kernel.
///
/// # Safety
/// The CPU has the instruction sets of `W` and `N`.
#[inline(always)]
pub(crate) unsafe fn unshuffle<W: Vector, N: Vector>(typesize: usize, src: &[u8], dst: &mut [u8]) {
    let n = src.len() / typesize;
    // SAFETY: the caller vouches for the instruction sets.
    unsafe {
        if typesize == 1 {
            return dst.copy_from_slice(src);
        } else if n >= 16 * W::LANES {
            tiles::<W, false>(typesize, n, src, dst);
        } else if n >= 16 * N::LANES {
            tiles::<N, false>(typesize, n, src, dst);
        } else {
            return portable::unshuffle(typesize, src, dst);
        }
    }
    dst[n * typesize..src.len()].copy_from_slice(&src[n * typesize..]);
}

/// Picks the kernel for `typesize` and runs it over all `n` elements, `n` at least one tile.
///
/// # Safety
/// The CPU has the instruction set of `V`.
#[inline(always)]
unsafe fn tiles<V: Vector, const FORWARD: bool>(
    typesize: usize,
    n: usize,
    src: &[u8],
    dst: &mut [u8],
) {
    // Every bound below rests on these.
    assert!(typesize > 1);
    assert!(
        n >= 16 * V::LANES
            && n.checked_mul(typesize)
                .is_some_and(|bytes| { bytes <= src.len() && bytes <= dst.len() })
    );
    // SAFETY: just asserted; the caller vouches for the instruction set.
    unsafe {
        match typesize {
            2 => small::<V, 2, 2, FORWARD>(n, src, dst),
            3 => small::<V, 3, 4, FORWARD>(n, src, dst),
            4 => small::<V, 4, 4, FORWARD>(n, src, dst),
            5 => small::<V, 5, 8, FORWARD>(n, src, dst),
            6 => small::<V, 6, 8, FORWARD>(n, src, dst),
            7 => small::<V, 7, 8, FORWARD>(n, src, dst),
            8 => small::<V, 8, 8, FORWARD>(n, src, dst),
            9..16 => narrow_columns::<V, FORWARD>(typesize, n, src, dst),
            _ => columns::<V, FORWARD>(typesize, n, src, dst),
        }
    }
}

/// The starts of the tiles that cover `n` elements: one after the other, the last one moved back to end at `n`.
#[inline(always)]
fn starts(n: usize, tile: usize) -> impl Iterator<Item = usize> {
    (0..n.div_ceil(tile)).map(move |i| (i * tile).min(n - tile))
}

/// Elements of `T` bytes in groups of `G` (a power of two, 2 to 8, at least `T`).
///
/// # Safety
/// The CPU has the instruction set of `V`; `n` is at least one tile; both slices hold `n * T` bytes.
#[inline(always)]
unsafe fn small<V: Vector, const T: usize, const G: usize, const FORWARD: bool>(
    n: usize,
    src: &[u8],
    dst: &mut [u8],
) {
    let tile = 16 * V::LANES;
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
                    small_forward::<V, T, G>(src.as_ptr().add(at), to, n);
                } else {
                    let mut padded = [0_u8; MAX_TILE * 8 + SLACK];
                    padded[..tile * T].copy_from_slice(&src[at..at + tile * T]);
                    small_forward::<V, T, G>(padded.as_ptr(), to, n);
                }
            } else {
                let from = src.as_ptr().add(start);
                if inside {
                    small_backward::<V, T, G>(from, n, dst.as_mut_ptr().add(at));
                } else {
                    let mut padded = [0_u8; MAX_TILE * 8 + SLACK];
                    small_backward::<V, T, G>(from, n, padded.as_mut_ptr());
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

/// The table that moves `T`-byte elements `G` bytes apart.
const fn spread_table<const T: usize, const G: usize>() -> [u8; 16] {
    let mut table = [0x80; 16];
    let mut i = 0;
    while i < 16 {
        if i % G < T {
            table[i] = (i / G * T + i % G) as u8;
        }
        i += 1;
    }
    table
}

/// The table that undoes [`spread_table`].
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
/// `dst + j * n`: one vector for each `j < T`.
#[inline(always)]
unsafe fn small_forward<V: Vector, const T: usize, const G: usize>(
    src: *const u8,
    dst: *mut u8,
    n: usize,
) {
    // SAFETY: vector `v` of lane `l` starts at element `16 * l + v * 16 / G` and reads 16 bytes, at most `SLACK` past
    // the tile's end, and none past it where `T == G`.
    unsafe {
        let mut v = [V::zero(); G];
        for (i, v) in v.iter_mut().enumerate() {
            *v = V::load_lanes(src.add(i * (16 / G) * T), 16 * T);
        }
        let streams = if V::FAST_LOOKUP {
            for v in &mut v {
                *v = v.lookup(const { &group_table::<T, G>() });
            }
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
            if T < G {
                for v in &mut v {
                    *v = v.lookup(const { &spread_table::<T, G>() });
                }
            }
            rotate_bytes(v, 4)
        };
        for (j, stream) in streams.iter().take(T).enumerate() {
            stream.store(dst.add(j * n));
        }
    }
}

/// The inverse of [`small_forward`]: stream `j` is read at `src + j * n`.
///
/// # Safety
/// The CPU has the instruction set of `V`. Readable at `src + j * n`: one vector for each `j < T`. Writable at
/// `dst`: a tile, and `SLACK` bytes more where `T < G`.
#[inline(always)]
unsafe fn small_backward<V: Vector, const T: usize, const G: usize>(
    src: *const u8,
    n: usize,
    dst: *mut u8,
) {
    // SAFETY: as in `small_forward`, with the places read and written exchanged. Where `T < G` the stores go up in
    // address, so that what one writes past its elements is overwritten by the next.
    unsafe {
        let mut v = [V::zero(); G];
        for (j, v) in v.iter_mut().take(T).enumerate() {
            *v = V::load(src.add(j * n));
        }
        let elements = rotate_bytes(v, G.ilog2() as usize);
        if T == G {
            for i in 0..G / 2 {
                V::store_pair(
                    elements[2 * i],
                    elements[2 * i + 1],
                    dst.add(32 * i),
                    16 * T,
                );
            }
        } else {
            let mut squeezed = elements;
            for v in &mut squeezed {
                *v = v.lookup(const { &squeeze_table::<T, G>() });
            }
            for lane in 0..V::LANES {
                for (i, v) in squeezed.iter().enumerate() {
                    v.store_lane(lane, dst.add((16 * lane + i * (16 / G)) * T));
                }
            }
        }
    }
}

/// Elements of 9 to 15 bytes: one column, moved with the first bytes of the next element.
///
/// # Safety
/// The CPU has the instruction set of `V`; `n` is at least one tile; both slices hold `n * typesize` bytes.
#[inline(always)]
unsafe fn narrow_columns<V: Vector, const FORWARD: bool>(
    typesize: usize,
    n: usize,
    src: &[u8],
    dst: &mut [u8],
) {
    let tile = 16 * V::LANES;
    let bytes = tile * typesize;
    for start in starts(n, tile) {
        let at = start * typesize;
        let inside = at + bytes + SLACK <= n * typesize;
        // SAFETY: as in `small`.
        unsafe {
            if FORWARD {
                let to = dst.as_mut_ptr().add(start);
                if inside {
                    column_forward::<V>(src.as_ptr().add(at), typesize, to, n, typesize);
                } else {
                    let mut padded = [0_u8; MAX_TILE * 16 + SLACK];
                    padded[..bytes].copy_from_slice(&src[at..at + bytes]);
                    column_forward::<V>(padded.as_ptr(), typesize, to, n, typesize);
                }
            } else {
                let from = src.as_ptr().add(start);
                if inside {
                    column_backward::<V>(from, n, typesize, dst.as_mut_ptr().add(at), typesize);
                } else {
                    let mut padded = [0_u8; MAX_TILE * 16 + SLACK];
                    column_backward::<V>(from, n, typesize, padded.as_mut_ptr(), typesize);
                    dst[at..at + bytes].copy_from_slice(&padded[..bytes]);
                }
            }
        }
    }
}

/// Elements of 16 bytes and more, in columns of 16 bytes; the last column overlaps the one before it.
///
/// # Safety
/// The CPU has the instruction set of `V`; `n` is at least one tile; both slices hold `n * typesize` bytes; `typesize`
/// is at least 16.
#[inline(always)]
unsafe fn columns<V: Vector, const FORWARD: bool>(
    typesize: usize,
    n: usize,
    src: &[u8],
    dst: &mut [u8],
) {
    for start in starts(n, 16 * V::LANES) {
        for column in starts(typesize, 16) {
            let element = start * typesize + column;
            let stream = column * n + start;
            // SAFETY: the tile ends at `n` and the column at `typesize` at the latest, so that all 16 bytes of the
            // column of each element, and the tile's part of each of the 16 streams, are inside the slices.
            unsafe {
                if FORWARD {
                    let from = src.as_ptr().add(element);
                    column_forward::<V>(from, typesize, dst.as_mut_ptr().add(stream), n, 16);
                } else {
                    let to = dst.as_mut_ptr().add(element);
                    column_backward::<V>(src.as_ptr().add(stream), n, 16, to, typesize);
                }
            }
        }
    }
}

/// One column of one tile: 16 bytes of elements `typesize` apart, written as `streams` (at most 16) streams `n` apart.
///
/// # Safety
/// The CPU has the instruction set of `V`. Readable: 16 bytes at `src + e * typesize` for each element `e` of the tile.
/// Writable: one vector at `dst + j * n` for each `j < streams`.
#[inline(always)]
unsafe fn column_forward<V: Vector>(
    src: *const u8,
    typesize: usize,
    dst: *mut u8,
    n: usize,
    streams: usize,
) {
    // SAFETY: lane `l` of vector `e` is element `16 * l + e`.
    unsafe {
        let mut v = [V::zero(); 16];
        for (e, v) in v.iter_mut().enumerate() {
            *v = V::load_lanes(src.add(e * typesize), 16 * typesize);
        }
        for (j, stream) in transpose16(v).iter().enumerate() {
            if j < streams {
                stream.store(dst.add(j * n));
            }
        }
    }
}

/// The inverse of [`column_forward`]. Elements are written whole, 16 bytes each, going up in address.
///
/// # Safety
/// The CPU has the instruction set of `V`. Readable: one vector at `src + j * n` for each `j < streams`. Writable: 16
/// bytes at `dst + e * typesize` for each element `e` of the tile.
#[inline(always)]
unsafe fn column_backward<V: Vector>(
    src: *const u8,
    n: usize,
    streams: usize,
    dst: *mut u8,
    typesize: usize,
) {
    // SAFETY: as in `column_forward`.
    unsafe {
        let mut v = [V::zero(); 16];
        for (j, v) in v.iter_mut().enumerate() {
            if j < streams {
                *v = V::load(src.add(j * n));
            }
        }
        let elements = transpose16(v);
        if typesize == 16 {
            for i in 0..8 {
                V::store_pair(elements[2 * i], elements[2 * i + 1], dst.add(32 * i), 256);
            }
        } else {
            for lane in 0..V::LANES {
                for (e, v) in elements.iter().enumerate() {
                    v.store_lane(lane, dst.add((16 * lane + e) * typesize));
                }
            }
        }
    }
}
