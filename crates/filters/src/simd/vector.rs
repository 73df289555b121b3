//! The vector operations of the shuffle and bitshuffle kernels, for all instruction sets.
//!
//! A vector is one to four *lanes* of 16 bytes, and most operations work within lanes. Lane `l` of
//! a tile holds 16 elements from `16 * l` on. Lanes can be loaded from and stored to addresses that
//! are far apart, so one kernel fits every vector width without shuffles across lanes.

use core::mem::MaybeUninit;

/// Unrolls a loop of at most 16 iterations. If the compiler does not unroll a loop, which depends
/// on the optimisation level, arrays of vectors in it are in memory.
///
/// Iterations that are not made are code for the compiler to remove, sixteen times sixteen where
/// loops are nested. So there are as few as possible for the usual counts.
macro_rules! unroll {
    ($i:ident < 4, $block:block) => {
        unroll!($i < 4, $block; 0 1 2 3)
    };
    ($i:ident < 8, $block:block) => {
        unroll!($i < 8, $block; 0 1 2 3 4 5 6 7)
    };
    ($i:ident < S, $block:block) => {
        const { assert!(S <= 4) };
        unroll!($i < S, $block; 0 1 2 3)
    };
    ($i:ident < V::LANES, $block:block) => {
        const { assert!(V::LANES <= 4) };
        unroll!($i < V::LANES, $block; 0 1 2 3)
    };
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

/// Transposes the 8 x 8 bit matrix in a word: bit `i` of byte `k` of the result is bit `k` of byte
/// `i`.
pub(crate) fn transpose(mut x: u64) -> u64 {
    for (shift, mask) in [
        (7, 0x00aa_00aa_00aa_00aa),
        (14, 0x0000_cccc_0000_cccc),
        (28, 0x0000_0000_f0f0_f0f0),
    ] {
        let t = (x ^ (x >> shift)) & mask;
        x ^= t ^ (t << shift);
    }
    x
}

/// A SIMD register type. All functions are `#[inline(always)]`, so that they are compiled with the
/// features of the entry point that they are inlined into.
///
/// # Safety
/// An implementation must do in every function what this trait says. To call one, the CPU must have
/// the instruction set of the implementation, and the bytes that a function says it reads or writes
/// at a pointer must be accessible. No alignment is required.
pub(crate) unsafe trait Vector: Copy {
    /// The number of 16-byte lanes in a vector.
    const LANES: usize;
    /// Whether [`Vector::lookup`] is one instruction. Kernels then use it to save interleaving
    /// steps.
    const FAST_LOOKUP: bool;
    /// Whether [`Vector::transpose_matrices`] is one instruction. Kernels then use it instead of
    /// [`transpose_bits`].
    const FAST_MATRICES: bool = false;
    /// Whether [`Vector::permute`] is one instruction. Implies `FAST_MATRICES`.
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
    /// Writes lane `lane` (< `LANES`) of `a` and then that of `b`, 32 bytes, at `p`.
    #[inline(always)]
    unsafe fn store_pair(a: Self, b: Self, lane: usize, p: *mut u8) {
        // SAFETY: 32 bytes are writable (# Safety).
        unsafe {
            a.store_lane(lane, p);
            b.store_lane(lane, p.add(16));
        }
    }

    /// Interleaves the bytes of each lane: (low halves, high halves).
    unsafe fn zip8(a: Self, b: Self) -> (Self, Self);
    /// Like [`Vector::zip8`], in units of 2 bytes.
    unsafe fn zip16(a: Self, b: Self) -> (Self, Self);
    /// Like [`Vector::zip8`], in units of 4 bytes.
    unsafe fn zip32(a: Self, b: Self) -> (Self, Self);
    /// Like [`Vector::zip8`], in units of 8 bytes.
    unsafe fn zip64(a: Self, b: Self) -> (Self, Self);
    /// Byte `i` of each lane becomes byte `table[i]` of that lane, or zero if `table[i]` is 0x80.
    unsafe fn lookup(self, table: &[u8; 16]) -> Self;
    /// Byte `i` of the vector becomes byte `table[i]` of the whole vector. Entries must be less
    /// than the vector's size.
    #[inline(always)]
    unsafe fn permute(self, table: &[u8; 64]) -> Self {
        let mut bytes = [0_u8; 64];
        // SAFETY: a vector is at most 64 bytes, the size of the array.
        unsafe { self.store(bytes.as_mut_ptr()) };
        let permuted = table.map(|from| bytes[usize::from(from) % 64]);
        // SAFETY: as above.
        unsafe { Self::load(permuted.as_ptr()) }
    }
    /// Transposes the 4 x 4 matrix of lanes of four vectors with four lanes: lane `k` of vector `l`
    /// of the result is lane `l` of vector `k`.
    #[inline(always)]
    unsafe fn transpose_lanes(v: [Self; 4]) -> [Self; 4] {
        let mut bytes = [0_u8; 4 * 64];
        let at = bytes.as_mut_ptr();
        // SAFETY: a vector is at most 64 bytes, a quarter of the array. The lanes are loaded from
        // offsets 0 to 240.
        unsafe {
            unroll!(k < 4, {
                v[k].store(at.add(64 * k));
            });
            [0, 16, 32, 48].map(|lane| Self::load_lanes(at.add(lane), 64))
        }
    }
    /// Interleaves the lanes of two vectors with four lanes: (low halves, high halves).
    #[inline(always)]
    unsafe fn zip_lanes(a: Self, b: Self) -> (Self, Self) {
        let mut bytes = [0_u8; 4 * 64];
        let at = bytes.as_mut_ptr();
        // SAFETY: the lanes are stored at offsets 0 to 112, and vectors, of at most 64 bytes, are
        // loaded from offsets 0 and 64.
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
        // SAFETY: vectors, of at most 64 bytes, are stored at offsets 0 and 64, and lanes are
        // loaded from offsets 0 to 112.
        unsafe {
            a.store(at);
            b.store(at.add(64));
            (Self::load_lanes(at, 32), Self::load_lanes(at.add(16), 32))
        }
    }
    /// In each byte, exchanges the odd `S`-bit groups of `a` with the even ones of `b` (`S` is 1, 2
    /// or 4): one step of a bit transposition.
    unsafe fn swap_bits<const S: i32>(a: Self, b: Self) -> (Self, Self);

    /// Transposes the 8 x 8 bit matrix in each 8 bytes, given with its rows in descending order:
    /// bit `i` of byte `k` of the result is bit `k` of byte `7 - i`.
    #[inline(always)]
    unsafe fn transpose_matrices(self) -> Self {
        let mut bytes = [0_u8; 64];
        // SAFETY: a vector is at most 64 bytes, the size of the array.
        unsafe { self.store(bytes.as_mut_ptr()) };
        for matrix in bytes.as_chunks_mut::<8>().0 {
            *matrix = transpose(u64::from_be_bytes(*matrix)).to_le_bytes();
        }
        // SAFETY: as above.
        unsafe { Self::load(bytes.as_ptr()) }
    }
}

/// The mask of the even `s`-bit groups of a byte.
pub(crate) const fn even_bits(s: i32) -> u8 {
    match s {
        1 => 0x55,
        2 => 0x33,
        _ => 0x0f,
    }
}

/// One step of a perfect shuffle of `N` vectors, a power of two: the address of a unit (the index
/// of its vector, then its position in the lane) is rotated left by one bit.
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

/// Repeats [`rotate`] `times` times (at most 4), with bytes as the units.
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
            // SAFETY: the CPU has the instruction set (# Safety).
            v = unsafe { rotate(v, |a, b| V::zip8(a, b)) };
        }
    });
    v
}

/// Transposes a 16 x 16 byte matrix in every lane: vector `c` of the result holds byte `c` of all
/// vectors.
///
/// # Safety
/// The CPU has the instruction set of `V`.
#[inline(always)]
pub(crate) unsafe fn transpose16<V: Vector>(v: [V; 16]) -> [V; 16] {
    // SAFETY: the CPU has the instruction set (# Safety).
    unsafe { rotate_bytes(v, 4) }
}

/// Half of [`transpose16`]: vectors 0 to 7 of its result, or with `HIGH` 8 to 15. It needs half the
/// work and half the registers.
///
/// # Safety
/// The CPU has the instruction set of `V`.
#[inline(always)]
pub(crate) unsafe fn transpose16_half<V: Vector, const HIGH: bool>(v: [V; 16]) -> [V; 8] {
    // SAFETY: the CPU has the instruction set (# Safety).
    unsafe {
        let mut half = [V::zero(); 8];
        unroll!(j < 8, {
            let (low, high) = V::zip8(v[j], v[j + 8]);
            half[j] = if HIGH { high } else { low };
        });
        rotate_bytes(half, 3)
    }
}

/// Transposes the 8 x 8 bit matrices that the same byte of eight vectors forms: in each byte, bit
/// `i` of vector `k` of the result is bit `k` of vector `i`. It is its own inverse.
///
/// # Safety
/// The CPU has the instruction set of `V`.
#[inline(always)]
pub(crate) unsafe fn transpose_bits<V: Vector>(v: [V; 8]) -> [V; 8] {
    let mut v = v;
    // SAFETY: the CPU has the instruction set (# Safety).
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

/// Stores `N` vectors, an even number, lane by lane: lane `l` of all vectors from `p + 16 * N * l`
/// on. Writing in ascending order, a cache line at a time, is a fifth faster than vector by vector
/// if the lines are not in the first-level cache.
///
/// # Safety
/// The CPU has the instruction set of `V`. Writable at `p`: `N` vectors.
#[inline(always)]
pub(crate) unsafe fn store_lanes<V: Vector, const N: usize>(v: [V; N], p: *mut u8) {
    // SAFETY: the CPU has the instruction set, and the bytes are accessible (# Safety).
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
    // SAFETY: the CPU has the instruction set, and the bytes are accessible (# Safety).
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
        // SAFETY: the CPU has the instruction set (# Safety).
        *four = unsafe { V::transpose_lanes(*four) };
    }
    v
}

/// The largest number of bytes that [`prefetch`] fetches at once.
const MAX_PREFETCH: usize = 4096;

/// Prefetches the first `MAX_PREFETCH` of the `len` bytes at `p`. The address need not be valid. It
/// is for bytes that will soon be accessed in an order that the processor's own prefetcher does not
/// recognise.
#[inline(always)]
pub(crate) fn prefetch(p: *const u8, len: usize) {
    #[cfg(target_arch = "x86_64")]
    for line in (0..len.min(MAX_PREFETCH)).step_by(64) {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: every x86-64 has the instruction. It never faults, whatever the address is.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(p.wrapping_add(line).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (p, len, MAX_PREFETCH);
}

/// How far ahead sequential writes prefetch. The processor recognises the order by itself, but
/// prefetches less far ahead and not across pages. This gains a tenth to a third if the bytes are
/// not in the first-level cache, and costs nothing if they are.
pub(crate) const WRITE_AHEAD: usize = 2048;

/// The starts of pieces of `size` that cover `0..n`, where `n >= size`. Pieces are adjacent, except
/// that the last one is moved back to end at `n`. So every piece ends at `n` at most.
#[inline(always)]
pub(crate) fn piece_starts(n: usize, size: usize) -> impl Iterator<Item = usize> {
    let last = n - size;
    let mut next = Some(0);
    core::iter::from_fn(move || {
        let start = next?;
        next = (start < last).then(|| (start + size).min(last));
        Some(start)
    })
}

/// Covers `0..n`, at least one tile, with runs of at most `most` tiles. Yields the start of each
/// run and its number of tiles. As in [`piece_starts`], a partial tile at the end becomes a whole
/// tile that is moved back, so every run ends at `n` at most.
#[inline(always)]
pub(crate) fn tile_runs(
    n: usize,
    tile: usize,
    most: usize,
) -> impl Iterator<Item = (usize, usize)> {
    let mut start = 0;
    core::iter::from_fn(move || {
        let left = n - start;
        let tiles = (left / tile).clamp(1, most);
        let begin = start.min(n - tile);
        start += left.min(tiles * tile);
        (left > 0).then_some((begin, tiles))
    })
}

/// Addresses whose difference is a multiple of this are in the same set of the first-level cache.
pub(crate) const SET_STRIDE: usize = 4096;

/// A buffer for vectors between two passes: `LINES` times 64 bytes, which are not initialised.
#[repr(align(64))]
pub(crate) struct VectorBuffer<const LINES: usize>([MaybeUninit<[u8; 64]>; LINES]);

impl<const LINES: usize> VectorBuffer<LINES> {
    #[inline(always)]
    pub(crate) fn new() -> Self {
        VectorBuffer([MaybeUninit::uninit(); LINES])
    }

    /// Stores vector number `i`.
    ///
    /// # Safety
    /// `(i + 1) * V::LANES <= LINES * 4`; the CPU has the instruction set of `V`.
    #[inline(always)]
    pub(crate) unsafe fn put<V: Vector>(&mut self, i: usize, v: V) {
        debug_assert!((i + 1) * V::LANES <= LINES * 4);
        // SAFETY: the vector ends within the buffer, and the CPU has the instruction set (#
        // Safety).
        unsafe { v.store(self.0.as_mut_ptr().cast::<u8>().add(i * 16 * V::LANES)) };
    }

    /// Loads vector number `i`.
    ///
    /// # Safety
    /// It was stored before, as the same type; the CPU has the instruction set of `V`.
    #[inline(always)]
    pub(crate) unsafe fn get<V: Vector>(&self, i: usize) -> V {
        debug_assert!((i + 1) * V::LANES <= LINES * 4);
        // SAFETY: these bytes lie within the buffer and are initialised, since the vector was
        // stored, and the CPU has the instruction set (# Safety).
        unsafe { V::load(self.0.as_ptr().cast::<u8>().add(i * 16 * V::LANES)) }
    }
}
