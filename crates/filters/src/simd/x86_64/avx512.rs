//! AVX-512 (F and BW, and VBMI beside GFNI): four lanes.

use super::{avx2, sse2};
use crate::simd::kernel::{BitKernel, JoinKernel, Kernel};
use crate::simd::vector::{Vector, even_bits};
use crate::simd::{bitshuffle, shuffle};
use core::arch::x86_64::*;

/// A vector of four lanes. With `GFNI` it needs that instruction set and VBMI, too.
#[derive(Clone, Copy)]
pub(crate) struct Avx512<const GFNI: bool>(__m512i);

/// The truth table of "`a` if the mask is set, else `b`" for ternary logic with the operands (mask,
/// a, b).
const SELECT: i32 = 0xca;

// SAFETY: each operation is what the trait says, on four lanes; whole loads and stores touch 64
// bytes, those of a lane 16.
unsafe impl<const GFNI: bool> Vector for Avx512<GFNI> {
    const LANES: usize = 4;
    const FAST_LOOKUP: bool = true;
    const FAST_MATRICES: bool = GFNI;
    const FAST_PERMUTE: bool = GFNI;

    #[inline(always)]
    unsafe fn zero() -> Self {
        // SAFETY: the CPU has AVX-512F (# Safety).
        unsafe { Self(_mm512_setzero_si512()) }
    }

    #[inline(always)]
    unsafe fn load(p: *const u8) -> Self {
        // SAFETY: the CPU has AVX-512F, and 64 bytes are readable (# Safety).
        unsafe { Self(_mm512_loadu_si512(p.cast())) }
    }

    #[inline(always)]
    unsafe fn store(self, p: *mut u8) {
        // SAFETY: the CPU has AVX-512F, and 64 bytes are writable (# Safety).
        unsafe { _mm512_storeu_si512(p.cast(), self.0) }
    }

    #[inline(always)]
    unsafe fn load_lanes(p: *const u8, stride: usize) -> Self {
        // SAFETY: the CPU has AVX-512F, and 16 bytes are readable (# Safety) at the four addresses.
        unsafe {
            let lane = |l: usize| _mm_loadu_si128(p.add(l * stride).cast());
            let v = _mm512_castsi128_si512(lane(0));
            let v = _mm512_inserti32x4::<1>(v, lane(1));
            let v = _mm512_inserti32x4::<2>(v, lane(2));
            Self(_mm512_inserti32x4::<3>(v, lane(3)))
        }
    }

    #[inline(always)]
    unsafe fn store_lane(self, lane: usize, p: *mut u8) {
        // SAFETY: the CPU has AVX-512F, and 16 bytes are writable (# Safety).
        unsafe {
            let lane = match lane {
                0 => _mm512_castsi512_si128(self.0),
                1 => _mm512_extracti32x4_epi32::<1>(self.0),
                2 => _mm512_extracti32x4_epi32::<2>(self.0),
                _ => _mm512_extracti32x4_epi32::<3>(self.0),
            };
            _mm_storeu_si128(p.cast(), lane);
        }
    }

    #[inline(always)]
    unsafe fn zip8(a: Self, b: Self) -> (Self, Self) {
        // SAFETY: the CPU has AVX-512BW (# Safety).
        unsafe {
            (
                Self(_mm512_unpacklo_epi8(a.0, b.0)),
                Self(_mm512_unpackhi_epi8(a.0, b.0)),
            )
        }
    }

    #[inline(always)]
    unsafe fn zip16(a: Self, b: Self) -> (Self, Self) {
        // SAFETY: the CPU has AVX-512BW (# Safety).
        unsafe {
            (
                Self(_mm512_unpacklo_epi16(a.0, b.0)),
                Self(_mm512_unpackhi_epi16(a.0, b.0)),
            )
        }
    }

    #[inline(always)]
    unsafe fn zip32(a: Self, b: Self) -> (Self, Self) {
        // SAFETY: the CPU has AVX-512F (# Safety).
        unsafe {
            (
                Self(_mm512_unpacklo_epi32(a.0, b.0)),
                Self(_mm512_unpackhi_epi32(a.0, b.0)),
            )
        }
    }

    #[inline(always)]
    unsafe fn zip64(a: Self, b: Self) -> (Self, Self) {
        // SAFETY: the CPU has AVX-512F (# Safety).
        unsafe {
            (
                Self(_mm512_unpacklo_epi64(a.0, b.0)),
                Self(_mm512_unpackhi_epi64(a.0, b.0)),
            )
        }
    }

    #[inline(always)]
    unsafe fn lookup(self, table: &[u8; 16]) -> Self {
        // SAFETY: the CPU has AVX-512BW (# Safety); the table is 16 bytes.
        unsafe {
            let table = _mm512_broadcast_i32x4(_mm_loadu_si128(table.as_ptr().cast()));
            Self(_mm512_shuffle_epi8(self.0, table))
        }
    }

    #[inline(always)]
    unsafe fn permute(self, table: &[u8; 64]) -> Self {
        // SAFETY: the CPU has AVX-512F (# Safety), and VBMI, since kernels call this only if
        // `FAST_PERMUTE` is true. The table is 64 bytes.
        unsafe {
            let table = _mm512_loadu_si512(table.as_ptr().cast());
            Self(_mm512_permutexvar_epi8(table, self.0))
        }
    }

    #[inline(always)]
    unsafe fn transpose_lanes(v: [Self; 4]) -> [Self; 4] {
        // SAFETY: the CPU has AVX-512F (# Safety). It combines halves of two vectors first, then
        // every other lane of two of those.
        unsafe {
            let [a, b, c, d] = v.map(|v| v.0);
            let low = |a, b| _mm512_shuffle_i32x4::<0x44>(a, b);
            let high = |a, b| _mm512_shuffle_i32x4::<0xee>(a, b);
            let even = |a, b| Self(_mm512_shuffle_i32x4::<0x88>(a, b));
            let odd = |a, b| Self(_mm512_shuffle_i32x4::<0xdd>(a, b));
            let (ab, cd) = (low(a, b), low(c, d));
            let (above_ab, above_cd) = (high(a, b), high(c, d));
            [
                even(ab, cd),
                odd(ab, cd),
                even(above_ab, above_cd),
                odd(above_ab, above_cd),
            ]
        }
    }

    #[inline(always)]
    unsafe fn zip_lanes(a: Self, b: Self) -> (Self, Self) {
        // SAFETY: the CPU has AVX-512F (# Safety).
        unsafe {
            let low = _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11);
            let high = _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15);
            (
                Self(_mm512_permutex2var_epi64(a.0, low, b.0)),
                Self(_mm512_permutex2var_epi64(a.0, high, b.0)),
            )
        }
    }

    #[inline(always)]
    unsafe fn unzip_lanes(a: Self, b: Self) -> (Self, Self) {
        // SAFETY: the CPU has AVX-512F (# Safety).
        unsafe {
            (
                Self(_mm512_shuffle_i32x4::<0x88>(a.0, b.0)),
                Self(_mm512_shuffle_i32x4::<0xdd>(a.0, b.0)),
            )
        }
    }

    #[inline(always)]
    unsafe fn swap_bits<const S: i32>(a: Self, b: Self) -> (Self, Self) {
        // SAFETY: the CPU has AVX-512BW (# Safety).
        unsafe {
            let mask = _mm512_set1_epi8(even_bits(S) as i8);
            let (down, up) = match S {
                1 => (_mm512_srli_epi16::<1>(a.0), _mm512_add_epi8(b.0, b.0)),
                2 => (_mm512_srli_epi16::<2>(a.0), _mm512_slli_epi16::<2>(b.0)),
                _ => (_mm512_srli_epi16::<4>(a.0), _mm512_slli_epi16::<4>(b.0)),
            };
            (
                Self(_mm512_ternarylogic_epi32::<SELECT>(mask, a.0, up)),
                Self(_mm512_ternarylogic_epi32::<SELECT>(mask, down, b.0)),
            )
        }
    }

    #[inline(always)]
    unsafe fn transpose_matrices(self) -> Self {
        // SAFETY: the CPU has AVX-512F (# Safety), and GFNI, since kernels call this only if
        // `FAST_MATRICES` is true. Byte `k` of the result is the product of the matrix, with its
        // rows in descending order, and the unit vector of bit `k`.
        unsafe {
            let units = _mm512_set1_epi64(0x8040_2010_0804_0201_u64 as i64);
            Self(_mm512_gf2p8affine_epi64_epi8::<0>(units, self.0))
        }
    }
}

/// Shuffles or unshuffles elements of the sizes for which these vectors are faster; other sizes are
/// left to `others`. Each call passes a constant size, so that no kernels for other sizes are
/// compiled.
///
/// # Safety
/// The CPU has the instruction sets of the vectors and of all given functions.
#[inline(always)]
unsafe fn by_size<const FORWARD: bool>(
    typesize: usize,
    src: &[u8],
    dst: &mut [u8],
    [few, others]: [Kernel; 2],
    joiner: Option<JoinKernel>,
) {
    let run = shuffle::generic::run::<Avx512<false>, 1, FORWARD>;
    // SAFETY: the CPU has the instruction sets (# Safety).
    unsafe {
        match typesize {
            2 => run(2, src, dst, few, joiner),
            4 if !FORWARD => run(4, src, dst, few, joiner),
            8 => run(8, src, dst, few, joiner),
            16 => run(16, src, dst, few, joiner),
            _ => others(typesize, src, dst),
        }
    }
}

/// See [`crate::simd::Kernels::shuffle`].
#[target_feature(enable = "avx2,avx512f,avx512bw")]
pub(crate) fn shuffle(typesize: usize, src: &[u8], dst: &mut [u8]) {
    // SAFETY: this function is compiled for the features of the vectors, so it is only called where
    // the CPU has them.
    unsafe { by_size::<true>(typesize, src, dst, [avx2::shuffle_few, avx2::shuffle], None) }
}

/// See [`crate::simd::Kernels::unshuffle`].
#[target_feature(enable = "avx2,avx512f,avx512bw")]
pub(crate) fn unshuffle(typesize: usize, src: &[u8], dst: &mut [u8]) {
    let kernels: [Kernel; 2] = [avx2::unshuffle_few, avx2::unshuffle];
    // SAFETY: this function is compiled for the features of the vectors, so it is only called where
    // the CPU has them.
    unsafe { by_size::<false>(typesize, src, dst, kernels, Some(join)) }
}

/// See [`crate::simd::Kernels::join`].
#[target_feature(enable = "avx2,avx512f,avx512bw")]
pub(crate) fn join(streams: &[&[u8]], dst: &mut [u8]) {
    // SAFETY: this function is compiled for the features of the vectors, so it is only called where
    // the CPU has them.
    unsafe { shuffle::generic::join_streams::<Avx512<false>, 1>(streams, dst) }
}

/// See [`crate::simd::Kernels::bitshuffle`].
#[target_feature(enable = "avx2,avx512f,avx512bw")]
pub(crate) fn bitshuffle(typesize: usize, src: &[u8], dst: &mut [u8]) -> Option<BitKernel> {
    let others = BitKernel(sse2::bitshuffle);
    // SAFETY: this function is compiled for the features of the vectors, so it is only called where
    // the CPU has them.
    unsafe { bitshuffle::generic::run::<Avx512<false>, 1, true>(typesize, src, dst, others) }
}

/// See [`crate::simd::Kernels::bitunshuffle`].
#[target_feature(enable = "avx2,avx512f,avx512bw")]
pub(crate) fn bitunshuffle(typesize: usize, src: &[u8], dst: &mut [u8]) -> Option<BitKernel> {
    let others = BitKernel(sse2::bitunshuffle);
    // SAFETY: this function is compiled for the features of the vectors, so it is only called where
    // the CPU has them.
    unsafe { bitshuffle::generic::run::<Avx512<false>, 1, false>(typesize, src, dst, others) }
}

/// Like [`bitshuffle`](fn@bitshuffle), with GFNI and VBMI.
#[target_feature(enable = "avx2,avx512f,avx512bw,avx512vbmi,gfni")]
pub(crate) fn bitshuffle_gfni(typesize: usize, src: &[u8], dst: &mut [u8]) -> Option<BitKernel> {
    let others = BitKernel(bitshuffle);
    // SAFETY: this function is compiled for the features of the vectors, so it is only called where
    // the CPU has them.
    unsafe { bitshuffle::generic::run::<Avx512<true>, 1, true>(typesize, src, dst, others) }
}

/// Like [`bitunshuffle`], with GFNI and VBMI.
#[target_feature(enable = "avx2,avx512f,avx512bw,avx512vbmi,gfni")]
pub(crate) fn bitunshuffle_gfni(typesize: usize, src: &[u8], dst: &mut [u8]) -> Option<BitKernel> {
    let others = BitKernel(bitunshuffle);
    // SAFETY: this function is compiled for the features of the vectors, so it is only called where
    // the CPU has them.
    unsafe { bitshuffle::generic::run::<Avx512<true>, 1, false>(typesize, src, dst, others) }
}
