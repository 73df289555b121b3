//! SSE2, which every x86-64 CPU has: one lane. Optionally with the byte lookup of SSSE3.

use crate::simd::kernel::BitKernel;
use crate::simd::vector::{Vector, even_bits};
use crate::simd::{bitshuffle, bytes, shuffle};
use core::arch::x86_64::*;

/// A vector of one lane. With `SSSE3` it needs that instruction set, too.
#[derive(Clone, Copy)]
pub(crate) struct Lane<const SSSE3: bool>(__m128i);

// SAFETY: each operation is what the trait says, on one lane; loads and stores touch 16 bytes.
unsafe impl<const SSSE3: bool> Vector for Lane<SSSE3> {
    const LANES: usize = 1;
    const FAST_LOOKUP: bool = SSSE3;

    #[inline(always)]
    unsafe fn zero() -> Self {
        // SAFETY: every x86-64 has SSE2.
        unsafe { Self(_mm_setzero_si128()) }
    }

    #[inline(always)]
    unsafe fn load(p: *const u8) -> Self {
        // SAFETY: 16 bytes are readable (# Safety).
        unsafe { Self(_mm_loadu_si128(p.cast())) }
    }

    #[inline(always)]
    unsafe fn store(self, p: *mut u8) {
        // SAFETY: 16 bytes are writable (# Safety).
        unsafe { _mm_storeu_si128(p.cast(), self.0) }
    }

    #[inline(always)]
    unsafe fn load_lanes(p: *const u8, _stride: usize) -> Self {
        // SAFETY: one lane, so this is `load` or `store` of the vector, with the same condition (#
        // Safety).
        unsafe { Self::load(p) }
    }

    #[inline(always)]
    unsafe fn store_lane(self, _lane: usize, p: *mut u8) {
        // SAFETY: one lane, so this is `load` or `store` of the vector, with the same condition (#
        // Safety).
        unsafe { self.store(p) }
    }

    #[inline(always)]
    unsafe fn zip8(a: Self, b: Self) -> (Self, Self) {
        // SAFETY: every x86-64 has SSE2.
        unsafe {
            (
                Self(_mm_unpacklo_epi8(a.0, b.0)),
                Self(_mm_unpackhi_epi8(a.0, b.0)),
            )
        }
    }

    #[inline(always)]
    unsafe fn zip16(a: Self, b: Self) -> (Self, Self) {
        // SAFETY: every x86-64 has SSE2.
        unsafe {
            (
                Self(_mm_unpacklo_epi16(a.0, b.0)),
                Self(_mm_unpackhi_epi16(a.0, b.0)),
            )
        }
    }

    #[inline(always)]
    unsafe fn zip32(a: Self, b: Self) -> (Self, Self) {
        // SAFETY: every x86-64 has SSE2.
        unsafe {
            (
                Self(_mm_unpacklo_epi32(a.0, b.0)),
                Self(_mm_unpackhi_epi32(a.0, b.0)),
            )
        }
    }

    #[inline(always)]
    unsafe fn zip64(a: Self, b: Self) -> (Self, Self) {
        // SAFETY: every x86-64 has SSE2.
        unsafe {
            (
                Self(_mm_unpacklo_epi64(a.0, b.0)),
                Self(_mm_unpackhi_epi64(a.0, b.0)),
            )
        }
    }

    #[inline(always)]
    unsafe fn lookup(self, table: &[u8; 16]) -> Self {
        if SSSE3 {
            // SAFETY: the CPU has SSSE3 (# Safety); the table is 16 bytes.
            return unsafe { Self(_mm_shuffle_epi8(self.0, Self::load(table.as_ptr()).0)) };
        }
        let mut bytes = [0_u8; 16];
        // SAFETY: the array is 16 bytes, as is the vector.
        unsafe { self.store(bytes.as_mut_ptr()) };
        let picked: [u8; 16] =
            core::array::from_fn(|i| bytes.get(table[i] as usize).copied().unwrap_or(0));
        // SAFETY: as above.
        unsafe { Self::load(picked.as_ptr()) }
    }

    #[inline(always)]
    unsafe fn swap_bits<const S: i32>(a: Self, b: Self) -> (Self, Self) {
        // SAFETY: every x86-64 has SSE2.
        unsafe {
            let mask = _mm_set1_epi8(even_bits(S) as i8);
            let t = _mm_and_si128(_mm_xor_si128(_mm_srli_epi16::<S>(a.0), b.0), mask);
            // Adding a vector to itself shifts it by one bit, and more execution ports can add than
            // shift.
            let up = if S == 1 {
                _mm_add_epi8(t, t)
            } else {
                _mm_slli_epi16::<S>(t)
            };
            (Self(_mm_xor_si128(a.0, up)), Self(_mm_xor_si128(b.0, t)))
        }
    }
}

/// See [`crate::simd::Kernels::shuffle`].
pub(crate) fn shuffle(typesize: usize, src: &[u8], dst: &mut [u8]) {
    // SAFETY: every x86-64 has SSE2.
    unsafe {
        shuffle::generic::run::<Lane<false>, 4, true>(
            typesize,
            src,
            dst,
            shuffle::portable::shuffle,
            None,
        )
    }
}

/// See [`crate::simd::Kernels::unshuffle`].
pub(crate) fn unshuffle(typesize: usize, src: &[u8], dst: &mut [u8]) {
    // SAFETY: every x86-64 has SSE2.
    unsafe {
        shuffle::generic::run::<Lane<false>, 4, false>(
            typesize,
            src,
            dst,
            shuffle::portable::unshuffle,
            Some(join),
        )
    }
}

/// See [`crate::simd::Kernels::join`].
pub(crate) fn join(streams: &[&[u8]], dst: &mut [u8]) {
    // SAFETY: every x86-64 has SSE2.
    unsafe { shuffle::generic::join_streams::<Lane<false>, 4>(streams, dst) }
}

/// See [`crate::simd::Kernels::bitshuffle`]. It also handles what the kernels of wider vectors
/// leave.
pub(crate) fn bitshuffle(typesize: usize, src: &[u8], dst: &mut [u8]) -> Option<BitKernel> {
    let others = BitKernel(padded_bitshuffle);
    // SAFETY: every x86-64 has SSE2.
    unsafe { bitshuffle::generic::run_small::<Lane<false>, true>(typesize, src, dst, others) }
}

/// Like [`bitshuffle`](fn@bitshuffle), for less than a tile.
fn padded_bitshuffle(typesize: usize, src: &[u8], dst: &mut [u8]) -> Option<BitKernel> {
    let kernel = BitKernel(bitshuffle);
    // SAFETY: every x86-64 has SSE2.
    unsafe { bitshuffle::generic::padded::<true>(typesize, src, dst, kernel) };
    None
}

/// See [`crate::simd::Kernels::bitunshuffle`]. It also handles what the kernels of wider vectors
/// leave.
pub(crate) fn bitunshuffle(typesize: usize, src: &[u8], dst: &mut [u8]) -> Option<BitKernel> {
    let others = BitKernel(padded_bitunshuffle);
    // SAFETY: every x86-64 has SSE2.
    unsafe { bitshuffle::generic::run_small::<Lane<false>, false>(typesize, src, dst, others) }
}

/// Like [`bitunshuffle`], for less than a tile.
fn padded_bitunshuffle(typesize: usize, src: &[u8], dst: &mut [u8]) -> Option<BitKernel> {
    let kernel = BitKernel(bitunshuffle);
    // SAFETY: every x86-64 has SSE2.
    unsafe { bitshuffle::generic::padded::<false>(typesize, src, dst, kernel) };
    None
}

/// See [`crate::simd::Kernels::sums`].
pub(crate) fn sums(src: &[u8], dst: &mut [u8]) {
    let (blocks, leftover) = src.as_chunks::<16>();
    let (outs, rest) = dst.as_chunks_mut::<16>();
    // SAFETY: every x86-64 has SSE2; a block has 16 bytes.
    let sum = unsafe {
        // Every byte of this vector is the sum of all previous blocks.
        let mut sum = _mm_setzero_si128();
        for (block, out) in blocks.iter().zip(outs) {
            let mut x = _mm_loadu_si128(block.as_ptr().cast());
            x = _mm_add_epi8(x, _mm_slli_si128::<1>(x));
            x = _mm_add_epi8(x, _mm_slli_si128::<2>(x));
            x = _mm_add_epi8(x, _mm_slli_si128::<4>(x));
            x = _mm_add_epi8(x, _mm_slli_si128::<8>(x));
            _mm_storeu_si128(out.as_mut_ptr().cast(), _mm_add_epi8(x, sum));
            let last = _mm_shufflehi_epi16::<0xff>(_mm_unpackhi_epi8(x, x));
            sum = _mm_add_epi8(sum, _mm_shuffle_epi32::<0xff>(last));
        }
        _mm_cvtsi128_si32(sum) as u8
    };
    bytes::sums_from(sum, leftover, rest);
}
