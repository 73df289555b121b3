//! The small vector vocabulary that the shuffle and bitshuffle kernels are written in.
//!
//! A vector is one to four *lanes* of 16 bytes, and every operation works inside its lanes. Lane `l` of a tile holds
//! the elements `16 * l ..`: loading the lanes from places far apart (or storing them there) is what makes one kernel
//! fit every vector width without a shuffle that crosses lanes.

use crate::bitshuffle;
use core::mem::MaybeUninit;

/// Runs the block for `i` = 0 up to a count of 16 at most in straight lines. A loop that the compiler leaves a loop would
/// keep arrays of vectors in memory, and how many turns it unrolls by itself depends on how it is asked to optimise.
macro_rules! unroll {
    ($i:ident < $count:expr, $block:block) => {
        unroll!($i < $count, $block; 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15)
    };
    ($i:ident < $count:expr, $block:block; $($value:literal)+) => {
        $(if $value < $count {
            let $i = $value;
            $block
        })+
    };
}
pub(crate) use unroll;

/// One SIMD register type. All functions are `#[inline(always)]` so that they take on the features of the entry point
/// they are inlined into.
///
/// # Safety
/// Every function may only run on a CPU that has the instruction set of the implementation. Functions that take a
/// pointer say which bytes must be readable or writable; no alignment is required.
pub(crate) unsafe trait Vector: Copy {
    /// 16-byte lanes in a vector.
    const LANES: usize;
    /// Whether [`Vector::lookup`] is one instruction; kernels then use it to save interleaving steps.
    const FAST_LOOKUP: bool;
    /// Whether [`Vector::transpose_matrices`] is one instruction; kernels then use it instead of [`transpose_bits`].
    const FAST_MATRICES: bool = false;
    /// Whether [`Vector::permute`] is one instruction, which says so of fast matrices, too.
    const FAST_PERMUTE: bool = false;

    /// All bits zero.
    unsafe fn zero() -> Self;
    /// Reads one vector at `p`.
    unsafe fn load(p: *const u8) -> Self;
    /// Writes one vector at `p`.
    unsafe fn store(self, p: *mut u8);
    /// Lane `l` reads 16 bytes at `p + l * stride`.
    unsafe fn load_lanes(p: *const u8, stride: usize) -> Self;
    /// Writes the 16 bytes of lane `lane` (< `LANES`) at `p`.
    unsafe fn store_lane(self, lane: usize, p: *mut u8);
    /// Lane `lane` (< `LANES`) of `a`, then that of `b`: 32 bytes written at `p`.
    #[inline(always)]
    unsafe fn store_pair(a: Self, b: Self, lane: usize, p: *mut u8) {
        // SAFETY: the caller vouches for the 32 bytes.
        unsafe {
            a.store_lane(lane, p);
            b.store_lane(lane, p.add(16));
        }
    }

    /// Interleaves the bytes of each lane: (low halves, high halves).
    unsafe fn zip8(a: Self, b: Self) -> (Self, Self);
    /// As [`Vector::zip8`], in units of 2 bytes.
    unsafe fn zip16(a: Self, b: Self) -> (Self, Self);
    /// As [`Vector::zip8`], in units of 4 bytes.
    unsafe fn zip32(a: Self, b: Self) -> (Self, Self);
    /// As [`Vector::zip8`], in units of 8 bytes.
    unsafe fn zip64(a: Self, b: Self) -> (Self, Self);
    /// Byte `i` of each lane becomes byte `table[i]` of that lane, or zero where `table[i]` is 0x80.
    unsafe fn lookup(self, table: &[u8; 16]) -> Self;
    /// Byte `i` of the vector becomes byte `table[i]` of it, which is less than its size, in whatever lane that is.
    #[inline(always)]
    unsafe fn permute(self, table: &[u8; 64]) -> Self {
        let mut bytes = [0_u8; 64];
        // SAFETY: no vector is larger than the array.
        unsafe { self.store(bytes.as_mut_ptr()) };
        let permuted = table.map(|from| bytes[usize::from(from) % 64]);
        // SAFETY: as above.
        unsafe { Self::load(permuted.as_ptr()) }
    }
    /// Transposes the matrix of the lanes of four vectors of four: lane `k` of vector `l` of the result is lane `l` of vector `k`.
    #[inline(always)]
    unsafe fn transpose_lanes(v: [Self; 4]) -> [Self; 4] {
        let mut bytes = [0_u8; 4 * 64];
        let at = bytes.as_mut_ptr();
        // SAFETY: no vector is larger than a quarter of the array, and lanes are read from within it.
        unsafe {
            unroll!(k < 4, {
                v[k].store(at.add(64 * k));
            });
            [0, 16, 32, 48].map(|lane| Self::load_lanes(at.add(lane), 64))
        }
    }
    /// The lanes of two vectors of four in turns: the first two of each, and the last two.
    #[inline(always)]
    unsafe fn zip_lanes(a: Self, b: Self) -> (Self, Self) {
        let mut bytes = [0_u8; 4 * 64];
        let at = bytes.as_mut_ptr();
        // SAFETY: no vector is larger than a quarter of the array, and vectors are read from within it.
        unsafe {
            unroll!(lane < 4, {
                if lane < Self::LANES {
                    a.store_lane(lane, at.add(32 * lane));
                    b.store_lane(lane, at.add(32 * lane + 16));
                }
            });
            (Self::load(at), Self::load(at.add(64)))
        }
    }
    /// The inverse of [`Vector::zip_lanes`].
    #[inline(always)]
    unsafe fn unzip_lanes(a: Self, b: Self) -> (Self, Self) {
        let mut bytes = [0_u8; 4 * 64];
        let at = bytes.as_mut_ptr();
        // SAFETY: as in `zip_lanes`.
        unsafe {
            a.store(at);
            b.store(at.add(64));
            (Self::load_lanes(at, 32), Self::load_lanes(at.add(16), 32))
        }
    }
    /// In each byte, exchanges the `S`-bit groups at odd places of `a` with those at even places of `b` (`S` is 1, 2 or
    /// 4): one step of a bit transpose.
    unsafe fn swap_bits<const S: i32>(a: Self, b: Self) -> (Self, Self);

    /// Transposes the 8 x 8 bit matrix in each 8 bytes, given with its rows in descending order: bit `i` of byte `k` of
    /// the result is bit `k` of byte `7 - i`.
    #[inline(always)]
    unsafe fn transpose_matrices(self) -> Self {
        let mut bytes = [0_u8; 64];
        // SAFETY: no vector is larger than the array.
        unsafe { self.store(bytes.as_mut_ptr()) };
        for matrix in bytes.as_chunks_mut::<8>().0 {
            *matrix = bitshuffle::portable::transpose(u64::from_be_bytes(*matrix)).to_le_bytes();
        }
        // SAFETY: as above.
        unsafe { Self::load(bytes.as_ptr()) }
    }
}

/// The mask that keeps the `s`-bit groups at even places of a byte.
pub(crate) const fn even_bits(s: i32) -> u8 {
    match s {
        1 => 0x55,
        2 => 0x33,
        _ => 0x0f,
    }
}

/// One step of a perfect shuffle over `N` vectors (`N` a power of two): the address of a unit (vector number, then
/// place in the lane) rotates left by one bit.
///
/// # Safety
/// The CPU has the instruction set of `V`.
#[inline(always)]
pub(crate) unsafe fn rotate<V: Vector, const N: usize>(
    v: [V; N],
    zip: impl Fn(V, V) -> (V, V),
) -> [V; N] {
    let mut out = v;
    unroll!(j < N / 2, {
        (out[2 * j], out[2 * j + 1]) = zip(v[j], v[j + N / 2]);
    });
    out
}

/// As [`rotate`] with bytes as the units, `times` (4 at most) times over.
///
/// # Safety
/// The CPU has the instruction set of `V`.
#[inline(always)]
pub(crate) unsafe fn rotate_bytes<V: Vector, const N: usize>(
    mut v: [V; N],
    times: usize,
) -> [V; N] {
    unroll!(time < 4, {
        if time < times {
            // SAFETY: the caller vouches for the instruction set.
            v = unsafe { rotate(v, |a, b| V::zip8(a, b)) };
        }
    });
    v
}

/// Transposes a 16 x 16 byte matrix in every lane: vector `c` of the result holds byte `c` of all vectors.
///
/// # Safety
/// The CPU has the instruction set of `V`.
#[inline(always)]
pub(crate) unsafe fn transpose16<V: Vector>(v: [V; 16]) -> [V; 16] {
    // SAFETY: the caller vouches for the instruction set.
    unsafe { rotate_bytes(v, 4) }
}

/// Half of [`transpose16`]: vectors 0 to 7 of its result, or with `HIGH` 8 to 15. Half the work, and half the registers.
///
/// # Safety
/// The CPU has the instruction set of `V`.
#[inline(always)]
pub(crate) unsafe fn transpose16_half<V: Vector, const HIGH: bool>(v: [V; 16]) -> [V; 8] {
    // SAFETY: the caller vouches for the instruction set.
    unsafe {
        let mut half = [V::zero(); 8];
        unroll!(j < 8, {
            let (low, high) = V::zip8(v[j], v[j + 8]);
            half[j] = if HIGH { high } else { low };
        });
        rotate_bytes(half, 3)
    }
}

/// Transposes the 8 x 8 bit matrices formed by the same byte of eight vectors: bit `i` of vector `k` of the result is
/// bit `k` of vector `i`. Its own inverse.
///
/// # Safety
/// The CPU has the instruction set of `V`.
#[inline(always)]
pub(crate) unsafe fn transpose_bits<V: Vector>(v: [V; 8]) -> [V; 8] {
    let mut v = v;
    // SAFETY: the caller vouches for the instruction set.
    unsafe {
        unroll!(i < 4, {
            (v[i], v[i + 4]) = V::swap_bits::<4>(v[i], v[i + 4]);
        });
        unroll!(n < 4, {
            let i = n % 2 + n / 2 * 4;
            (v[i], v[i + 2]) = V::swap_bits::<2>(v[i], v[i + 2]);
        });
        unroll!(n < 4, {
            let i = 2 * n;
            (v[i], v[i + 1]) = V::swap_bits::<1>(v[i], v[i + 1]);
        });
    }
    v
}

/// Writes a lane of all `N` (even) vectors after the other, lane `l` at `p + 16 * N * l`. Going up in address, a cache line at a
/// time, is a fifth faster than vector by vector where the nearest cache does not hold the lines.
///
/// # Safety
/// The CPU has the instruction set of `V`. Writable at `p`: `N` vectors.
#[inline(always)]
pub(crate) unsafe fn store_lanes<V: Vector, const N: usize>(v: [V; N], p: *mut u8) {
    // SAFETY: the caller vouches for the instruction set and the bytes.
    unsafe {
        if V::LANES == 4 && N.is_multiple_of(4) {
            let v = transpose_fours(v);
            unroll!(lane < 4, {
                unroll!(i < N / 4, {
                    v[4 * i + lane].store(p.add(16 * N * lane + 64 * i));
                });
            });
        } else if V::LANES == 4 && N == 2 {
            let (low, high) = V::zip_lanes(v[0], v[1]);
            low.store(p);
            high.store(p.add(64));
        } else {
            unroll!(lane < V::LANES, {
                unroll!(i < N / 2, {
                    V::store_pair(v[2 * i], v[2 * i + 1], lane, p.add(16 * N * lane + 32 * i));
                });
            });
        }
    }
}

/// The inverse of [`store_lanes`].
///
/// # Safety
/// The CPU has the instruction set of `V`. Readable at `p`: `N` vectors.
#[inline(always)]
pub(crate) unsafe fn load_lanes<V: Vector, const N: usize>(p: *const u8) -> [V; N] {
    // SAFETY: the caller vouches for the instruction set and the bytes.
    unsafe {
        let mut v = [V::zero(); N];
        if V::LANES == 4 && N.is_multiple_of(4) {
            unroll!(lane < 4, {
                unroll!(i < N / 4, {
                    v[4 * i + lane] = V::load(p.add(16 * N * lane + 64 * i));
                });
            });
            transpose_fours(v)
        } else if V::LANES == 4 && N == 2 {
            (v[0], v[1]) = V::unzip_lanes(V::load(p), V::load(p.add(64)));
            v
        } else {
            unroll!(i < N, {
                v[i] = V::load_lanes(p.add(16 * i), 16 * N);
            });
            v
        }
    }
}

/// [`Vector::transpose_lanes`] of each four of the vectors.
///
/// # Safety
/// The CPU has the instruction set of `V`, which has four lanes.
#[inline(always)]
unsafe fn transpose_fours<V: Vector, const N: usize>(mut v: [V; N]) -> [V; N] {
    for four in v.as_chunks_mut::<4>().0 {
        // SAFETY: the caller vouches for the instruction set.
        *four = unsafe { V::transpose_lanes(*four) };
    }
    v
}

/// The most that [`prefetch`] asks for at once.
const AHEAD: usize = 4096;

/// Asks for the `len` bytes at `p`, which need not be there, or the first of them: soon they will be read or written in an
/// order that the processor does not see through.
#[inline(always)]
pub(crate) fn prefetch(p: *const u8, len: usize) {
    #[cfg(target_arch = "x86_64")]
    for line in (0..len.min(AHEAD)).step_by(64) {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: all processors of this architecture have it, and it never faults.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(p.wrapping_add(line).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (p, len, AHEAD);
}

/// How far before they are written bytes are asked for by what writes one after the other. The processor sees the order by
/// itself, but looks less far ahead, and not at all beyond a page: this is worth a tenth to a third where the nearest cache
/// does not hold the bytes, and costs nothing where it does.
pub(crate) const WRITE_AHEAD: usize = 2048;

/// The starts of the pieces of `size` that cover `n` (at least `size`): one after the other, the last one moved back to
/// end at `n`.
#[inline(always)]
pub(crate) fn starts(n: usize, size: usize) -> impl Iterator<Item = usize> {
    let last = n - size;
    let mut next = Some(0);
    core::iter::from_fn(move || {
        let start = next?;
        next = (start < last).then(|| (start + size).min(last));
        Some(start)
    })
}

/// Covers `n` (at least one tile) by runs of tiles, `most` of them at once: where each begins, and how many tiles it has. As in
/// [`starts`], what is less than a tile at the end is one moved back.
#[inline(always)]
pub(crate) fn runs(n: usize, tile: usize, most: usize) -> impl Iterator<Item = (usize, usize)> {
    let mut start = 0;
    core::iter::from_fn(move || {
        let left = n - start;
        let tiles = (left / tile).clamp(1, most);
        let begin = start.min(n - tile);
        start += left.min(tiles * tile);
        (left > 0).then_some((begin, tiles))
    })
}

/// Bytes as far apart as a multiple of this lie in the same set of the nearest cache.
pub(crate) const SETS: usize = 4096;

/// A place for vectors between the two halves of the work, `LINES` times 64 bytes that are not initialised before they are
/// written.
#[repr(align(64))]
pub(crate) struct Scratch<const LINES: usize>([MaybeUninit<[u8; 64]>; LINES]);

impl<const LINES: usize> Scratch<LINES> {
    #[inline(always)]
    pub(crate) fn new() -> Self {
        Scratch([MaybeUninit::uninit(); LINES])
    }

    /// Stores `v` as number `i`.
    ///
    /// # Safety
    /// There is room for so many vectors; the CPU has the instruction set of `V`.
    #[inline(always)]
    pub(crate) unsafe fn put<V: Vector>(&mut self, i: usize, v: V) {
        debug_assert!((i + 1) * V::LANES <= LINES * 4);
        // SAFETY: the caller's contract.
        unsafe { v.store(self.0.as_mut_ptr().cast::<u8>().add(i * 16 * V::LANES)) };
    }

    /// Number `i`.
    ///
    /// # Safety
    /// It was stored before; the CPU has the instruction set of `V`.
    #[inline(always)]
    pub(crate) unsafe fn get<V: Vector>(&self, i: usize) -> V {
        debug_assert!((i + 1) * V::LANES <= LINES * 4);
        // SAFETY: the caller's contract.
        unsafe { V::load(self.0.as_ptr().cast::<u8>().add(i * 16 * V::LANES)) }
    }
}
