//! AVX2: two lanes.

use super::sse2::Lane;
use crate::filter::simd::vector::{Vector, even_bits, starts};
use crate::filter::{bitshuffle, bytedelta, shuffle};
use core::arch::x86_64::*;

/// Two lanes; with `GFNI` it needs that instruction set too.
#[derive(Clone, Copy)]
pub(crate) struct Avx2<const GFNI: bool>(__m256i);

// SAFETY: each operation is what the trait says, on two lanes; whole loads and stores touch 32 bytes, those of a lane 16.
unsafe impl<const GFNI: bool> Vector for Avx2<GFNI> {
    const LANES: usize = 2;
    const FAST_LOOKUP: bool = true;
    const FAST_MATRICES: bool = GFNI;

    #[inline(always)]
    unsafe fn zero() -> Self {
        // SAFETY: the caller vouches for AVX2.
        unsafe { Self(_mm256_setzero_si256()) }
    }

    #[inline(always)]
    unsafe fn load(p: *const u8) -> Self {
        // SAFETY: the caller vouches for AVX2 and 32 readable bytes.
        unsafe { Self(_mm256_loadu_si256(p.cast())) }
    }

    #[inline(always)]
    unsafe fn store(self, p: *mut u8) {
        // SAFETY: the caller vouches for AVX2 and 32 writable bytes.
        unsafe { _mm256_storeu_si256(p.cast(), self.0) }
    }

    #[inline(always)]
    unsafe fn load_lanes(p: *const u8, stride: usize) -> Self {
        // SAFETY: the caller vouches for AVX2 and 16 readable bytes at both places.
        unsafe {
            let low = _mm256_castsi128_si256(_mm_loadu_si128(p.cast()));
            let high = _mm_loadu_si128(p.add(stride).cast());
            Self(_mm256_inserti128_si256::<1>(low, high))
        }
    }

    #[inline(always)]
    unsafe fn store_lane(self, lane: usize, p: *mut u8) {
        // SAFETY: the caller vouches for AVX2 and 16 writable bytes.
        unsafe {
            let lane = match lane {
                0 => _mm256_castsi256_si128(self.0),
                _ => _mm256_extracti128_si256::<1>(self.0),
            };
            _mm_storeu_si128(p.cast(), lane);
        }
    }

    #[inline(always)]
    unsafe fn store_pair(a: Self, b: Self, p: *mut u8, stride: usize) {
        // SAFETY: the caller vouches for AVX2 and 32 writable bytes at both places.
        unsafe {
            Self(_mm256_permute2x128_si256::<0x20>(a.0, b.0)).store(p);
            Self(_mm256_permute2x128_si256::<0x31>(a.0, b.0)).store(p.add(stride));
        }
    }

    #[inline(always)]
    unsafe fn zip8(a: Self, b: Self) -> (Self, Self) {
        // SAFETY: the caller vouches for AVX2.
        unsafe {
            (
                Self(_mm256_unpacklo_epi8(a.0, b.0)),
                Self(_mm256_unpackhi_epi8(a.0, b.0)),
            )
        }
    }

    #[inline(always)]
    unsafe fn zip16(a: Self, b: Self) -> (Self, Self) {
        // SAFETY: the caller vouches for AVX2.
        unsafe {
            (
                Self(_mm256_unpacklo_epi16(a.0, b.0)),
                Self(_mm256_unpackhi_epi16(a.0, b.0)),
            )
        }
    }

    #[inline(always)]
    unsafe fn zip32(a: Self, b: Self) -> (Self, Self) {
        // SAFETY: the caller vouches for AVX2.
        unsafe {
            (
                Self(_mm256_unpacklo_epi32(a.0, b.0)),
                Self(_mm256_unpackhi_epi32(a.0, b.0)),
            )
        }
    }

    #[inline(always)]
    unsafe fn zip64(a: Self, b: Self) -> (Self, Self) {
        // SAFETY: the caller vouches for AVX2.
        unsafe {
            (
                Self(_mm256_unpacklo_epi64(a.0, b.0)),
                Self(_mm256_unpackhi_epi64(a.0, b.0)),
            )
        }
    }

    #[inline(always)]
    unsafe fn lookup(self, table: &[u8; 16]) -> Self {
        // SAFETY: the caller vouches for AVX2; the table is 16 bytes.
        unsafe {
            let table = _mm256_broadcastsi128_si256(_mm_loadu_si128(table.as_ptr().cast()));
            Self(_mm256_shuffle_epi8(self.0, table))
        }
    }

    #[inline(always)]
    unsafe fn swap_bits<const S: i32>(a: Self, b: Self) -> (Self, Self) {
        // SAFETY: the caller vouches for AVX2.
        unsafe {
            let mask = _mm256_set1_epi8(even_bits(S) as i8);
            let t = _mm256_and_si256(_mm256_xor_si256(_mm256_srli_epi16::<S>(a.0), b.0), mask);
            // Doubling is an addition, which more ports can do than a shift.
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
        // SAFETY: the caller vouches for AVX2 and, as `FAST_MATRICES` is true with it alone, for GFNI. Byte `k` of the
        // result is the product of the matrix, its first row last, with the unit vector of bit `k`.
        unsafe {
            let units = _mm256_set1_epi64x(0x8040_2010_0804_0201_u64 as i64);
            Self(_mm256_gf2p8affine_epi64_epi8::<0>(units, self.0))
        }
    }
}

/// See [`crate::filter::simd::Kernels::shuffle`].
#[target_feature(enable = "avx2")]
pub(crate) fn shuffle(typesize: usize, src: &[u8], dst: &mut [u8]) {
    // SAFETY: the features of this function are those of the vectors.
    unsafe { shuffle::generic::shuffle::<Avx2<false>, 2, Lane<true>>(typesize, src, dst) }
}

/// See [`crate::filter::simd::Kernels::unshuffle`].
#[target_feature(enable = "avx2")]
pub(crate) fn unshuffle(typesize: usize, src: &[u8], dst: &mut [u8]) {
    // SAFETY: the features of this function are those of the vectors.
    unsafe { shuffle::generic::unshuffle::<Avx2<false>, 2, Lane<true>>(typesize, src, dst) }
}

/// See [`crate::filter::simd::Kernels::bitshuffle`].
#[target_feature(enable = "avx2")]
pub(crate) fn bitshuffle(typesize: usize, src: &[u8], dst: &mut [u8]) {
    // SAFETY: the features of this function are those of the vectors.
    unsafe { bitshuffle::generic::bitshuffle::<Avx2<false>, 2, Lane<true>>(typesize, src, dst) }
}

/// See [`crate::filter::simd::Kernels::bitunshuffle`].
#[target_feature(enable = "avx2")]
pub(crate) fn bitunshuffle(typesize: usize, src: &[u8], dst: &mut [u8]) {
    // SAFETY: the features of this function are those of the vectors.
    unsafe { bitshuffle::generic::bitunshuffle::<Avx2<false>, 2, Lane<true>>(typesize, src, dst) }
}

/// As [`bitshuffle`], with GFNI.
#[target_feature(enable = "avx2,gfni")]
pub(crate) fn bitshuffle_gfni(typesize: usize, src: &[u8], dst: &mut [u8]) {
    // SAFETY: the features of this function are those of the vectors.
    unsafe { bitshuffle::generic::bitshuffle::<Avx2<true>, 2, Lane<true>>(typesize, src, dst) }
}

/// As [`bitunshuffle`], with GFNI.
#[target_feature(enable = "avx2,gfni")]
pub(crate) fn bitunshuffle_gfni(typesize: usize, src: &[u8], dst: &mut [u8]) {
    // SAFETY: the features of this function are those of the vectors.
    unsafe { bitshuffle::generic::bitunshuffle::<Avx2<true>, 2, Lane<true>>(typesize, src, dst) }
}

/// See [`crate::filter::simd::Kernels::copy`].
#[target_feature(enable = "avx2")]
pub(crate) fn copy(src: &[u8], dst: &mut [u8]) {
    type Vector2 = Avx2<false>;
    const STEP: usize = 128;
    assert_eq!(src.len(), dst.len());
    if src.len() < STEP {
        return dst.copy_from_slice(src);
    }
    for start in starts(src.len(), STEP) {
        // SAFETY: the feature of this function is that of the vector; each step ends at the slices' end at the latest.
        unsafe {
            let (from, to) = (src.as_ptr().add(start), dst.as_mut_ptr().add(start));
            let mut v = [Vector2::zero(); STEP / 32];
            for (i, v) in v.iter_mut().enumerate() {
                *v = Vector2::load(from.add(32 * i));
            }
            for (i, v) in v.iter().enumerate() {
                v.store(to.add(32 * i));
            }
        }
    }
}

/// Whether GFNI gives what its manual says. Emulators may not: that of Bochs 2.7 gives the complement, which would go
/// into the data unnoticed.
#[target_feature(enable = "avx2,gfni")]
pub(crate) fn gfni_works() -> bool {
    let rows: [u8; 32] = core::array::from_fn(|i| (i * i * 37 + 11) as u8);
    let mut got = [0; 32];
    // SAFETY: the features of this function are those of the vector, and the arrays are as large as it.
    unsafe {
        Avx2::<true>::load(rows.as_ptr())
            .transpose_matrices()
            .store(got.as_mut_ptr());
    }
    let matrices = rows.as_chunks::<8>().0.iter();
    let transposed = matrices.map(|&m| bitshuffle::portable::transpose(u64::from_be_bytes(m)));
    transposed.eq(got
        .as_chunks::<8>()
        .0
        .iter()
        .map(|&m| u64::from_le_bytes(m)))
}

/// See [`crate::filter::simd::Kernels::differences`].
#[target_feature(enable = "avx2")]
pub(crate) fn differences(src: &[u8], dst: &mut [u8]) {
    bytedelta::differences(src, dst);
}

/// See [`crate::filter::simd::Kernels::sums`].
#[target_feature(enable = "avx2")]
pub(crate) fn sums(src: &[u8], dst: &mut [u8]) {
    let (blocks, leftover) = src.as_chunks::<32>();
    let (outs, rest) = dst.as_chunks_mut::<32>();
    let upper_half = _mm256_set1_epi64x(-1);
    let upper_half = _mm256_slli_si256::<8>(upper_half);
    let seventh = _mm256_or_si256(
        _mm256_andnot_si256(upper_half, _mm256_set1_epi8(-128)),
        _mm256_and_si256(upper_half, _mm256_set1_epi8(7)),
    );
    let last = _mm256_set1_epi8(15);
    // In every byte, the sum of all blocks before.
    let mut sum = _mm256_setzero_si256();
    for (block, out) in blocks.iter().zip(outs) {
        // SAFETY: a block has 32 bytes.
        let mut x = unsafe { _mm256_loadu_si256(block.as_ptr().cast()) };
        // Sums over 2, 4 and 8 bytes, then over a lane of 16.
        x = _mm256_add_epi8(x, _mm256_slli_epi64::<8>(x));
        x = _mm256_add_epi8(x, _mm256_slli_epi64::<16>(x));
        x = _mm256_add_epi8(x, _mm256_slli_epi64::<32>(x));
        x = _mm256_add_epi8(x, _mm256_shuffle_epi8(x, seventh));
        let totals = _mm256_shuffle_epi8(x, last);
        let of_lower = _mm256_permute2x128_si256::<0x08>(totals, totals);
        let swapped = _mm256_permute2x128_si256::<0x01>(totals, totals);
        x = _mm256_add_epi8(_mm256_add_epi8(x, of_lower), sum);
        // SAFETY: as above.
        unsafe { _mm256_storeu_si256(out.as_mut_ptr().cast(), x) };
        sum = _mm256_add_epi8(sum, _mm256_add_epi8(totals, swapped));
    }
    bytedelta::sums_from(_mm256_extract_epi8::<0>(sum) as u8, leftover, rest);
}
