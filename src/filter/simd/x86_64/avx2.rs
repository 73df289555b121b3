//! AVX2: two lanes.

use super::sse2::{self, Lane};
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
    unsafe { shuffle::generic::run::<Avx2<false>, 2, true>(typesize, src, dst, few_shuffle) }
}

/// See [`crate::filter::simd::Kernels::unshuffle`].
#[target_feature(enable = "avx2")]
pub(crate) fn unshuffle(typesize: usize, src: &[u8], dst: &mut [u8]) {
    // SAFETY: the features of this function are those of the vectors.
    unsafe { shuffle::generic::run::<Avx2<false>, 2, false>(typesize, src, dst, few_unshuffle) }
}

/// See [`crate::filter::simd::Kernels::bitshuffle`].
#[target_feature(enable = "avx2")]
pub(crate) fn bitshuffle(typesize: usize, src: &[u8], dst: &mut [u8]) {
    // SAFETY: the features of this function are those of the vectors.
    unsafe {
        bitshuffle::generic::run::<Avx2<false>, 2, true>(typesize, src, dst, sse2::bitshuffle)
    }
}

/// See [`crate::filter::simd::Kernels::bitunshuffle`].
#[target_feature(enable = "avx2")]
pub(crate) fn bitunshuffle(typesize: usize, src: &[u8], dst: &mut [u8]) {
    // SAFETY: the features of this function are those of the vectors.
    unsafe {
        bitshuffle::generic::run::<Avx2<false>, 2, false>(typesize, src, dst, sse2::bitunshuffle)
    }
}

/// As [`shuffle`], in small tiles, for little data.
#[target_feature(enable = "avx2")]
fn few_shuffle(typesize: usize, src: &[u8], dst: &mut [u8]) {
    // SAFETY: the features of this function are those of the vectors.
    unsafe {
        shuffle::generic::run::<Lane<true>, 1, true>(typesize, src, dst, shuffle::portable::shuffle)
    }
}

/// As [`unshuffle`], in small tiles, for little data.
#[target_feature(enable = "avx2")]
fn few_unshuffle(typesize: usize, src: &[u8], dst: &mut [u8]) {
    // SAFETY: the features of this function are those of the vectors.
    unsafe {
        shuffle::generic::run::<Lane<true>, 1, false>(
            typesize,
            src,
            dst,
            shuffle::portable::unshuffle,
        )
    }
}

/// As [`bitshuffle`], with GFNI.
#[target_feature(enable = "avx2,gfni")]
pub(crate) fn bitshuffle_gfni(typesize: usize, src: &[u8], dst: &mut [u8]) {
    // SAFETY: the features of this function are those of the vectors.
    unsafe { bitshuffle::generic::run::<Avx2<true>, 2, true>(typesize, src, dst, bitshuffle) }
}

/// As [`bitunshuffle`], with GFNI.
#[target_feature(enable = "avx2,gfni")]
pub(crate) fn bitunshuffle_gfni(typesize: usize, src: &[u8], dst: &mut [u8]) {
    // SAFETY: the features of this function are those of the vectors.
    unsafe { bitshuffle::generic::run::<Avx2<true>, 2, false>(typesize, src, dst, bitunshuffle) }
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

/// Sums of the last so many bytes, up to each byte of a vector and of the one before.
struct Windows {
    of_4: __m256i,
    of_8: __m256i,
    of_16: __m256i,
    /// Sums of all bytes.
    of_all: __m256i,
}

impl Windows {
    /// The sums for the 32 bytes at `p`.
    ///
    /// A sum of twice as many bytes is that up to this byte and that up to the one so many before. Up to 4 bytes come from
    /// memory, which has ports to spare; shuffles have not. The sum of all is that of the last 32 and what it was then.
    ///
    /// # Safety
    /// `p` points to 32 bytes, and 3 before them, that can be read.
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn step(&self, p: *const u8) -> Self {
        // SAFETY: by the caller's word.
        let [a, b, c, d] = unsafe {
            [
                _mm256_loadu_si256(p.cast()),
                _mm256_loadu_si256(p.sub(1).cast()),
                _mm256_loadu_si256(p.sub(2).cast()),
                _mm256_loadu_si256(p.sub(3).cast()),
            ]
        };
        // The upper lane of what was before, and the lower lane of what is.
        let between = |before, now| _mm256_permute2x128_si256::<0x21>(before, now);
        let of_4 = _mm256_add_epi8(_mm256_add_epi8(a, b), _mm256_add_epi8(c, d));
        let earlier = _mm256_alignr_epi8::<12>(of_4, between(self.of_4, of_4));
        let of_8 = _mm256_add_epi8(of_4, earlier);
        let earlier = _mm256_alignr_epi8::<8>(of_8, between(self.of_8, of_8));
        let of_16 = _mm256_add_epi8(of_8, earlier);
        let of_32 = _mm256_add_epi8(of_16, between(self.of_16, of_16));
        Self {
            of_4,
            of_8,
            of_16,
            of_all: _mm256_add_epi8(self.of_all, of_32),
        }
    }
}

/// See [`crate::filter::simd::Kernels::sums`].
#[target_feature(enable = "avx2")]
pub(crate) fn sums(src: &[u8], dst: &mut [u8]) {
    const STEP: usize = 32;
    assert_eq!(src.len(), dst.len());
    let Some(first) = src.first_chunk::<STEP>() else {
        return bytedelta::sums(src, dst);
    };
    let zero = _mm256_setzero_si256();
    let mut windows = Windows {
        of_4: zero,
        of_8: zero,
        of_16: zero,
        of_all: zero,
    };
    // Before the first byte there are zeros.
    let mut front = [0; 2 * STEP];
    front[STEP..].copy_from_slice(first);
    // SAFETY: the array has bytes before the second half, and `dst` is as long as `src`.
    unsafe {
        windows = windows.step(front.as_ptr().add(STEP));
        _mm256_storeu_si256(dst.as_mut_ptr().cast(), windows.of_all);
    }
    let mut at = STEP;
    while src.len() - at >= STEP {
        // SAFETY: there are this many bytes left, and some before, in both.
        unsafe {
            windows = windows.step(src.as_ptr().add(at));
            _mm256_storeu_si256(dst.as_mut_ptr().add(at).cast(), windows.of_all);
        }
        at += STEP;
    }
    bytedelta::sums_from(dst[at - 1], &src[at..], &mut dst[at..]);
}
