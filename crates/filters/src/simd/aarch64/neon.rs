//! NEON, which every aarch64 CPU has: one lane.

use crate::simd::kernel::BitKernel;
use crate::simd::vector::{Vector, even_bits};
use crate::simd::{bitshuffle, bytes, shuffle};
use core::arch::aarch64::*;

/// A vector of one lane.
#[derive(Clone, Copy)]
pub(crate) struct Neon(uint8x16_t);

// SAFETY: each operation is what the trait says, on one lane; loads and stores touch 16 bytes.
unsafe impl Vector for Neon {
    const LANES: usize = 1;
    const FAST_LOOKUP: bool = true;

    #[inline(always)]
    unsafe fn zero() -> Self {
        // SAFETY: every aarch64 has NEON.
        unsafe { Self(vdupq_n_u8(0)) }
    }

    #[inline(always)]
    unsafe fn load(p: *const u8) -> Self {
        // SAFETY: 16 bytes are readable (# Safety).
        unsafe { Self(vld1q_u8(p)) }
    }

    #[inline(always)]
    unsafe fn store(self, p: *mut u8) {
        // SAFETY: 16 bytes are writable (# Safety).
        unsafe { vst1q_u8(p, self.0) }
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
        // SAFETY: every aarch64 has NEON.
        unsafe { (Self(vzip1q_u8(a.0, b.0)), Self(vzip2q_u8(a.0, b.0))) }
    }

    #[inline(always)]
    unsafe fn zip16(a: Self, b: Self) -> (Self, Self) {
        // SAFETY: every aarch64 has NEON.
        unsafe {
            let (a, b) = (vreinterpretq_u16_u8(a.0), vreinterpretq_u16_u8(b.0));
            (
                Self(vreinterpretq_u8_u16(vzip1q_u16(a, b))),
                Self(vreinterpretq_u8_u16(vzip2q_u16(a, b))),
            )
        }
    }

    #[inline(always)]
    unsafe fn zip32(a: Self, b: Self) -> (Self, Self) {
        // SAFETY: every aarch64 has NEON.
        unsafe {
            let (a, b) = (vreinterpretq_u32_u8(a.0), vreinterpretq_u32_u8(b.0));
            (
                Self(vreinterpretq_u8_u32(vzip1q_u32(a, b))),
                Self(vreinterpretq_u8_u32(vzip2q_u32(a, b))),
            )
        }
    }

    #[inline(always)]
    unsafe fn zip64(a: Self, b: Self) -> (Self, Self) {
        // SAFETY: every aarch64 has NEON.
        unsafe {
            let (a, b) = (vreinterpretq_u64_u8(a.0), vreinterpretq_u64_u8(b.0));
            (
                Self(vreinterpretq_u8_u64(vzip1q_u64(a, b))),
                Self(vreinterpretq_u8_u64(vzip2q_u64(a, b))),
            )
        }
    }

    #[inline(always)]
    unsafe fn lookup(self, table: &[u8; 16]) -> Self {
        // SAFETY: every aarch64 has NEON; the table is 16 bytes. Indices past 15 give zero.
        unsafe { Self(vqtbl1q_u8(self.0, vld1q_u8(table.as_ptr()))) }
    }

    #[inline(always)]
    unsafe fn swap_bits<const S: i32>(a: Self, b: Self) -> (Self, Self) {
        // SAFETY: every aarch64 has NEON.
        unsafe {
            let mask = vdupq_n_u8(even_bits(S));
            let (down, up) = match S {
                1 => (vshrq_n_u8::<1>(a.0), vshlq_n_u8::<1>(b.0)),
                2 => (vshrq_n_u8::<2>(a.0), vshlq_n_u8::<2>(b.0)),
                _ => (vshrq_n_u8::<4>(a.0), vshlq_n_u8::<4>(b.0)),
            };
            (
                Self(vbslq_u8(mask, a.0, up)),
                Self(vbslq_u8(mask, down, b.0)),
            )
        }
    }
}

/// See [`crate::simd::Kernels::shuffle`].
pub(crate) fn shuffle(typesize: usize, src: &[u8], dst: &mut [u8]) {
    // SAFETY: every aarch64 has NEON.
    unsafe { shuffle::generic::run::<Neon, 4, true>(typesize, src, dst, shuffle_few, None) }
}

/// See [`crate::simd::Kernels::unshuffle`].
pub(crate) fn unshuffle(typesize: usize, src: &[u8], dst: &mut [u8]) {
    // SAFETY: every aarch64 has NEON.
    unsafe {
        shuffle::generic::run::<Neon, 4, false>(typesize, src, dst, unshuffle_few, Some(join))
    }
}

/// See [`crate::simd::Kernels::join`].
pub(crate) fn join(streams: &[&[u8]], dst: &mut [u8]) {
    // SAFETY: every aarch64 has NEON.
    unsafe { shuffle::generic::join_streams::<Neon, 4>(streams, dst) }
}

/// See [`crate::simd::Kernels::bitshuffle`].
pub(crate) fn bitshuffle(typesize: usize, src: &[u8], dst: &mut [u8]) -> Option<BitKernel> {
    let others = BitKernel(few_bitshuffle);
    // SAFETY: every aarch64 has NEON.
    unsafe { bitshuffle::generic::run::<Neon, 4, true>(typesize, src, dst, others) }
}

/// See [`crate::simd::Kernels::bitunshuffle`].
pub(crate) fn bitunshuffle(typesize: usize, src: &[u8], dst: &mut [u8]) -> Option<BitKernel> {
    let others = BitKernel(few_bitunshuffle);
    // SAFETY: every aarch64 has NEON.
    unsafe { bitshuffle::generic::run::<Neon, 4, false>(typesize, src, dst, others) }
}

/// Like [`shuffle`](fn@shuffle), in small tiles, for few elements.
fn shuffle_few(typesize: usize, src: &[u8], dst: &mut [u8]) {
    // SAFETY: every aarch64 has NEON.
    unsafe {
        shuffle::generic::run::<Neon, 1, true>(typesize, src, dst, shuffle::portable::shuffle, None)
    }
}

/// Like [`unshuffle`], in small tiles, for few elements.
fn unshuffle_few(typesize: usize, src: &[u8], dst: &mut [u8]) {
    // SAFETY: every aarch64 has NEON.
    unsafe {
        shuffle::generic::run::<Neon, 1, false>(
            typesize,
            src,
            dst,
            shuffle::portable::unshuffle,
            None,
        )
    }
}

/// Like [`bitshuffle`](fn@bitshuffle), in small tiles, for few elements.
fn few_bitshuffle(typesize: usize, src: &[u8], dst: &mut [u8]) -> Option<BitKernel> {
    let others = BitKernel(padded_bitshuffle);
    // SAFETY: every aarch64 has NEON.
    unsafe { bitshuffle::generic::run_small::<Neon, true>(typesize, src, dst, others) }
}

/// Like [`few_bitshuffle`], for less than a tile.
fn padded_bitshuffle(typesize: usize, src: &[u8], dst: &mut [u8]) -> Option<BitKernel> {
    let kernel = BitKernel(few_bitshuffle);
    // SAFETY: every aarch64 has NEON.
    unsafe { bitshuffle::generic::padded::<true>(typesize, src, dst, kernel) };
    None
}

/// Like [`bitunshuffle`], in small tiles, for few elements.
fn few_bitunshuffle(typesize: usize, src: &[u8], dst: &mut [u8]) -> Option<BitKernel> {
    let others = BitKernel(padded_bitunshuffle);
    // SAFETY: every aarch64 has NEON.
    unsafe { bitshuffle::generic::run_small::<Neon, false>(typesize, src, dst, others) }
}

/// Like [`few_bitunshuffle`], for less than a tile.
fn padded_bitunshuffle(typesize: usize, src: &[u8], dst: &mut [u8]) -> Option<BitKernel> {
    let kernel = BitKernel(few_bitunshuffle);
    // SAFETY: every aarch64 has NEON.
    unsafe { bitshuffle::generic::padded::<false>(typesize, src, dst, kernel) };
    None
}

/// See [`crate::simd::Kernels::sums`].
pub(crate) fn sums(src: &[u8], dst: &mut [u8]) {
    let (blocks, leftover) = src.as_chunks::<16>();
    let (outs, rest) = dst.as_chunks_mut::<16>();
    // SAFETY: every aarch64 has NEON; a block has 16 bytes.
    let sum = unsafe {
        let zero = vdupq_n_u8(0);
        // Every byte of this vector is the sum of all previous blocks.
        let mut sum = zero;
        for (block, out) in blocks.iter().zip(outs) {
            let mut x = vld1q_u8(block.as_ptr());
            x = vaddq_u8(x, vextq_u8::<15>(zero, x));
            x = vaddq_u8(x, vextq_u8::<14>(zero, x));
            x = vaddq_u8(x, vextq_u8::<12>(zero, x));
            x = vaddq_u8(x, vextq_u8::<8>(zero, x));
            vst1q_u8(out.as_mut_ptr(), vaddq_u8(x, sum));
            sum = vaddq_u8(sum, vdupq_laneq_u8::<15>(x));
        }
        vgetq_lane_u8::<0>(sum)
    };
    bytes::sums_from(sum, leftover, rest);
}
