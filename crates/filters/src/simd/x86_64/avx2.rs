//! AVX2: two lanes.

use super::sse2::{self, Lane};
use crate::simd::kernel::BitKernel;
use crate::simd::vector::{Vector, WRITE_AHEAD, even_bits, prefetch};
use crate::simd::{bitshuffle, bytes, shuffle};
use core::arch::x86_64::*;

/// A vector of two lanes. With `GFNI` it needs that instruction set, too.
#[derive(Clone, Copy)]
pub(crate) struct Avx2<const GFNI: bool>(__m256i);

// SAFETY: each operation is what the trait says, on two lanes; whole loads and stores touch 32
// bytes, those of a lane 16.
unsafe impl<const GFNI: bool> Vector for Avx2<GFNI> {
    const LANES: usize = 2;
    const FAST_LOOKUP: bool = true;
    const FAST_MATRICES: bool = GFNI;

    #[inline(always)]
    unsafe fn zero() -> Self {
        // SAFETY: the CPU has AVX2 (# Safety).
        unsafe { Self(_mm256_setzero_si256()) }
    }

    #[inline(always)]
    unsafe fn load(p: *const u8) -> Self {
        // SAFETY: the CPU has AVX2, and 32 bytes are readable (# Safety).
        unsafe { Self(_mm256_loadu_si256(p.cast())) }
    }

    #[inline(always)]
    unsafe fn store(self, p: *mut u8) {
        // SAFETY: the CPU has AVX2, and 32 bytes are writable (# Safety).
        unsafe { _mm256_storeu_si256(p.cast(), self.0) }
    }

    #[inline(always)]
    unsafe fn load_lanes(p: *const u8, stride: usize) -> Self {
        // SAFETY: the CPU has AVX2, and 16 bytes are readable (# Safety) at both addresses.
        unsafe {
            let low = _mm256_castsi128_si256(_mm_loadu_si128(p.cast()));
            let high = _mm_loadu_si128(p.add(stride).cast());
            Self(_mm256_inserti128_si256::<1>(low, high))
        }
    }

    #[inline(always)]
    unsafe fn store_lane(self, lane: usize, p: *mut u8) {
        // SAFETY: the CPU has AVX2, and 16 bytes are writable (# Safety).
        unsafe {
            let lane = match lane {
                0 => _mm256_castsi256_si128(self.0),
                _ => _mm256_extracti128_si256::<1>(self.0),
            };
            _mm_storeu_si128(p.cast(), lane);
        }
    }

    #[inline(always)]
    unsafe fn store_pair(a: Self, b: Self, lane: usize, p: *mut u8) {
        // SAFETY: the CPU has AVX2, and 32 bytes are writable (# Safety).
        unsafe {
            let pair = match lane {
                0 => _mm256_permute2x128_si256::<0x20>(a.0, b.0),
                _ => _mm256_permute2x128_si256::<0x31>(a.0, b.0),
            };
            Self(pair).store(p);
        }
    }

    #[inline(always)]
    unsafe fn zip8(a: Self, b: Self) -> (Self, Self) {
        // SAFETY: the CPU has AVX2 (# Safety).
        unsafe {
            (
                Self(_mm256_unpacklo_epi8(a.0, b.0)),
                Self(_mm256_unpackhi_epi8(a.0, b.0)),
            )
        }
    }

    #[inline(always)]
    unsafe fn zip16(a: Self, b: Self) -> (Self, Self) {
        // SAFETY: the CPU has AVX2 (# Safety).
        unsafe {
            (
                Self(_mm256_unpacklo_epi16(a.0, b.0)),
                Self(_mm256_unpackhi_epi16(a.0, b.0)),
            )
        }
    }

    #[inline(always)]
    unsafe fn zip32(a: Self, b: Self) -> (Self, Self) {
        // SAFETY: the CPU has AVX2 (# Safety).
        unsafe {
            (
                Self(_mm256_unpacklo_epi32(a.0, b.0)),
                Self(_mm256_unpackhi_epi32(a.0, b.0)),
            )
        }
    }

    #[inline(always)]
    unsafe fn zip64(a: Self, b: Self) -> (Self, Self) {
        // SAFETY: the CPU has AVX2 (# Safety).
        unsafe {
            (
                Self(_mm256_unpacklo_epi64(a.0, b.0)),
                Self(_mm256_unpackhi_epi64(a.0, b.0)),
            )
        }
    }

    #[inline(always)]
    unsafe fn lookup(self, table: &[u8; 16]) -> Self {
        // SAFETY: the CPU has AVX2 (# Safety); the table is 16 bytes.
        unsafe {
            let table = _mm256_broadcastsi128_si256(_mm_loadu_si128(table.as_ptr().cast()));
            Self(_mm256_shuffle_epi8(self.0, table))
        }
    }

    #[inline(always)]
    unsafe fn swap_bits<const S: i32>(a: Self, b: Self) -> (Self, Self) {
        // SAFETY: the CPU has AVX2 (# Safety).
        unsafe {
            let mask = _mm256_set1_epi8(even_bits(S) as i8);
            let t = _mm256_and_si256(_mm256_xor_si256(_mm256_srli_epi16::<S>(a.0), b.0), mask);
            // Adding a vector to itself shifts it by one bit, and more execution ports can add than
            // shift.
            let up = if S == 1 {
                _mm256_add_epi8(t, t)
            } else {
                _mm256_slli_epi16::<S>(t)
            };
            (
                Self(_mm256_xor_si256(a.0, up)),
                Self(_mm256_xor_si256(b.0, t)),
            )
        }
    }

    #[inline(always)]
    unsafe fn transpose_matrices(self) -> Self {
        // SAFETY: the CPU has AVX2 (# Safety), and GFNI, since kernels call this only if
        // `FAST_MATRICES` is true. Byte `k` of the result is the product of the matrix, with its
        // rows in descending order, and the unit vector of bit `k`.
        unsafe {
            let units = _mm256_set1_epi64x(0x8040_2010_0804_0201_u64 as i64);
            Self(_mm256_gf2p8affine_epi64_epi8::<0>(units, self.0))
        }
    }
}

/// See [`crate::simd::Kernels::shuffle`].
#[target_feature(enable = "avx2")]
pub(crate) fn shuffle(typesize: usize, src: &[u8], dst: &mut [u8]) {
    // SAFETY: this function is compiled for the features of the vectors, so it is only called where
    // the CPU has them.
    unsafe { shuffle::generic::run::<Avx2<false>, 2, true>(typesize, src, dst, shuffle_few, None) }
}

/// See [`crate::simd::Kernels::unshuffle`].
#[target_feature(enable = "avx2")]
pub(crate) fn unshuffle(typesize: usize, src: &[u8], dst: &mut [u8]) {
    // SAFETY: this function is compiled for the features of the vectors, so it is only called where
    // the CPU has them.
    unsafe {
        shuffle::generic::run::<Avx2<false>, 2, false>(
            typesize,
            src,
            dst,
            unshuffle_few,
            Some(join),
        )
    }
}

/// See [`crate::simd::Kernels::join`].
#[target_feature(enable = "avx2")]
pub(crate) fn join(streams: &[&[u8]], dst: &mut [u8]) {
    // SAFETY: this function is compiled for the features of the vectors, so it is only called where
    // the CPU has them.
    unsafe { shuffle::generic::join_streams::<Avx2<false>, 2>(streams, dst) }
}

/// See [`crate::simd::Kernels::bitshuffle`].
#[target_feature(enable = "avx2")]
pub(crate) fn bitshuffle(typesize: usize, src: &[u8], dst: &mut [u8]) -> Option<BitKernel> {
    let others = BitKernel(sse2::bitshuffle);
    // SAFETY: this function is compiled for the features of the vectors, so it is only called where
    // the CPU has them.
    unsafe { bitshuffle::generic::run::<Avx2<false>, 2, true>(typesize, src, dst, others) }
}

/// See [`crate::simd::Kernels::bitunshuffle`].
#[target_feature(enable = "avx2")]
pub(crate) fn bitunshuffle(typesize: usize, src: &[u8], dst: &mut [u8]) -> Option<BitKernel> {
    let others = BitKernel(sse2::bitunshuffle);
    // SAFETY: this function is compiled for the features of the vectors, so it is only called where
    // the CPU has them.
    unsafe { bitshuffle::generic::run::<Avx2<false>, 2, false>(typesize, src, dst, others) }
}

/// Like [`shuffle`](fn@shuffle), in small tiles, for few elements.
#[target_feature(enable = "avx2")]
pub(super) fn shuffle_few(typesize: usize, src: &[u8], dst: &mut [u8]) {
    // SAFETY: this function is compiled for the features of the vectors, so it is only called where
    // the CPU has them.
    unsafe {
        shuffle::generic::run::<Lane<true>, 1, true>(
            typesize,
            src,
            dst,
            shuffle::portable::shuffle,
            None,
        )
    }
}

/// Like [`unshuffle`], in small tiles, for few elements.
#[target_feature(enable = "avx2")]
pub(super) fn unshuffle_few(typesize: usize, src: &[u8], dst: &mut [u8]) {
    // SAFETY: this function is compiled for the features of the vectors, so it is only called where
    // the CPU has them.
    unsafe {
        shuffle::generic::run::<Lane<true>, 1, false>(
            typesize,
            src,
            dst,
            shuffle::portable::unshuffle,
            None,
        )
    }
}

/// Like [`bitshuffle`](fn@bitshuffle), with GFNI.
#[target_feature(enable = "avx2,gfni")]
pub(crate) fn bitshuffle_gfni(typesize: usize, src: &[u8], dst: &mut [u8]) -> Option<BitKernel> {
    let others = BitKernel(bitshuffle);
    // SAFETY: this function is compiled for the features of the vectors, so it is only called where
    // the CPU has them.
    unsafe { bitshuffle::generic::run::<Avx2<true>, 2, true>(typesize, src, dst, others) }
}

/// Like [`bitunshuffle`], with GFNI.
#[target_feature(enable = "avx2,gfni")]
pub(crate) fn bitunshuffle_gfni(typesize: usize, src: &[u8], dst: &mut [u8]) -> Option<BitKernel> {
    let others = BitKernel(bitunshuffle);
    // SAFETY: this function is compiled for the features of the vectors, so it is only called where
    // the CPU has them.
    unsafe { bitshuffle::generic::run::<Avx2<true>, 2, false>(typesize, src, dst, others) }
}

/// See [`crate::simd::Kernels::copy`]. Stores are aligned, so that they do not cross cache lines.
/// That takes half the time in the first-level cache, and three quarters of it in others.
#[target_feature(enable = "avx2")]
pub(crate) fn copy(src: &[u8], dst: &mut [u8]) {
    type Vector2 = Avx2<false>;
    const SIZE: usize = 32;
    const STEP: usize = 4 * SIZE;
    assert_eq!(src.len(), dst.len());
    if src.len() < SIZE + STEP {
        return dst.copy_from_slice(src);
    }
    let (from, to) = (src.as_ptr(), dst.as_mut_ptr());
    let last = src.len() - STEP;
    let step = |at: usize| {
        prefetch(to.wrapping_add(at + WRITE_AHEAD), STEP);
        // SAFETY: this function has the feature of the vector. `at` is at most `last`, which is
        // `STEP` before the end of both slices.
        unsafe {
            let v = [0, 1, 2, 3].map(|i| Vector2::load(from.add(at + SIZE * i)));
            for (i, v) in v.into_iter().enumerate() {
                v.store(to.add(at + SIZE * i));
            }
        }
    };
    // SAFETY: this function has the feature of the vector, and both slices are longer than one, as
    // checked above.
    unsafe { Vector2::load(from).store(to) };
    let mut at = SIZE - to.addr() % SIZE;
    while at <= last {
        step(at);
        at += STEP;
    }
    step(last);
}

/// Whether GFNI does what its manual says. In the emulator Bochs 2.7 it returns the complement,
/// which would corrupt data.
#[target_feature(enable = "avx2,gfni")]
pub(crate) fn gfni_works() -> bool {
    let rows: [u8; 32] = core::array::from_fn(|i| (i * i * 37 + 11) as u8);
    let mut got = [0; 32];
    // SAFETY: this function has the features of the vector, and the arrays have its size.
    unsafe {
        Avx2::<true>::load(rows.as_ptr())
            .transpose_matrices()
            .store(got.as_mut_ptr());
    }
    let matrices = rows.as_chunks::<8>().0.iter();
    let transposed = matrices.map(|&m| crate::simd::vector::transpose(u64::from_be_bytes(m)));
    transposed.eq(got
        .as_chunks::<8>()
        .0
        .iter()
        .map(|&m| u64::from_le_bytes(m)))
}

/// See [`crate::simd::Kernels::differences`].
#[target_feature(enable = "avx2")]
pub(crate) fn differences(src: &[u8], dst: &mut [u8]) {
    bytes::differences(src, dst);
}

/// See [`crate::simd::Kernels::repeats`].
#[target_feature(enable = "avx2")]
pub(crate) fn repeats(value: u8, data: &[u8]) -> bool {
    bytes::repeats(value, data)
}

/// The prefix sums of the bytes in each lane.
#[target_feature(enable = "avx2")]
fn sums_of_halves(bytes: &[u8; 32]) -> __m256i {
    // SAFETY: the array has 32 bytes.
    let bytes = unsafe { _mm256_loadu_si256(bytes.as_ptr().cast()) };
    // Shifts sum up to 8 bytes; only the last step needs a shuffle, for which there are fewer
    // execution ports.
    let of_2 = _mm256_add_epi8(bytes, _mm256_slli_epi64::<8>(bytes));
    let of_4 = _mm256_add_epi8(of_2, _mm256_slli_epi64::<16>(of_2));
    let of_8 = _mm256_add_epi8(of_4, _mm256_slli_epi64::<32>(of_4));
    let last_of_8 = _mm256_set1_epi64x(0x0707_0707_0707_0707);
    let upper = _mm256_shuffle_epi8(of_8, _mm256_unpacklo_epi64(_mm256_set1_epi8(-1), last_of_8));
    _mm256_add_epi8(of_8, upper)
}

/// See [`crate::simd::Kernels::sums`].
#[target_feature(enable = "avx2")]
pub(crate) fn sums(src: &[u8], dst: &mut [u8]) {
    assert_eq!(src.len(), dst.len());
    let (body, leftover) = src.as_chunks::<64>();
    let (out, rest) = dst.as_chunks_mut::<64>();
    // Every byte of this vector is the sum of all previous bytes.
    let mut before = _mm256_setzero_si256();
    for (from, to) in body.iter().zip(out) {
        // Two vectors per iteration. They depend on each other only by `before`.
        for (from, to) in from.as_chunks().0.iter().zip(to.as_chunks_mut::<32>().0) {
            let halves = sums_of_halves(from);
            let of_half = _mm256_shuffle_epi8(halves, _mm256_set1_epi8(15));
            let lower = _mm256_permute2x128_si256::<0x08>(of_half, of_half);
            let other = _mm256_permute2x128_si256::<0x01>(of_half, of_half);
            let sums = _mm256_add_epi8(_mm256_add_epi8(halves, lower), before);
            // SAFETY: `to` has 32 bytes.
            unsafe { _mm256_storeu_si256(to.as_mut_ptr().cast(), sums) };
            before = _mm256_add_epi8(before, _mm256_add_epi8(of_half, other));
        }
    }
    let before = _mm256_extract_epi8::<0>(before) as u8;
    bytes::sums_from(before, leftover, rest);
}
