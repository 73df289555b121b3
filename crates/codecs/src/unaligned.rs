//! Unaligned loads without bounds checks, and comparisons made of them.

/// Sixteen bytes in one register. An integer of 128 bits that is kept for a while takes two, and two stores.
#[cfg(target_arch = "x86_64")]
pub(super) type Sixteen = core::arch::x86_64::__m128i;
/// Sixteen bytes.
#[cfg(not(target_arch = "x86_64"))]
pub(super) type Sixteen = u128;

/// The bytes of two integers, the lowest byte of `low` first.
#[inline(always)]
pub(super) fn sixteen(low: u64, high: u64) -> Sixteen {
    #[cfg(target_arch = "x86_64")]
    {
        // SAFETY: every x86-64 has SSE2.
        unsafe { core::arch::x86_64::_mm_set_epi64x(high as i64, low as i64) }
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        (u128::from(low) | u128::from(high) << 64).to_le()
    }
}

/// Loads the integer (or vector of integers) that starts at `at`.
///
/// # Safety
/// `at + size_of::<T>() <= src.len()`, and any bytes are a valid `T`.
#[inline(always)]
pub(super) unsafe fn load<T: Copy>(src: &[u8], at: usize) -> T {
    debug_assert!(at <= src.len() && size_of::<T>() <= src.len() - at);
    // SAFETY: the caller promises that the bytes lie in `src` and form a `T`; `read_unaligned` needs no alignment.
    unsafe { src.as_ptr().add(at).cast::<T>().read_unaligned() }
}

/// The XOR of the 8 bytes at `at` and the 8 at `from`, the first byte lowest: the number of its trailing zeros, divided by 8, is
/// the number of leading bytes that match.
///
/// # Safety
/// `at + 8` and `from + 8` are at most `src.len()`.
#[inline(always)]
pub(super) unsafe fn xor8(src: &[u8], from: usize, at: usize) -> u64 {
    // SAFETY: the caller promises that 8 bytes follow both positions.
    u64::from_le(unsafe { load::<u64>(src, at) ^ load::<u64>(src, from) })
}

/// The index of the first of the 32 bytes at `at` that differs from its counterpart at `from`; `None` if all match.
///
/// # Safety
/// `at + 32` and `from + 32` are at most `src.len()`.
#[inline(always)]
pub(super) unsafe fn first_mismatch(src: &[u8], from: usize, at: usize) -> Option<usize> {
    #[cfg(target_arch = "x86_64")]
    {
        use core::arch::x86_64::*;
        // SAFETY: every x86-64 has SSE2. The caller promises 32 bytes at both positions, of which each load takes 16.
        let [low, high] = [0, 16].map(|half| unsafe {
            let near = load::<__m128i>(src, at + half);
            let far = load::<__m128i>(src, from + half);
            _mm_movemask_epi8(_mm_cmpeq_epi8(near, far)) as u32
        });
        let mismatches = !(low | high << 16);
        (mismatches != 0).then(|| mismatches.trailing_zeros() as usize)
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        (0..32).step_by(8).find_map(|step| {
            // SAFETY: `step` is at most 24, and the caller promises 32 bytes at both positions.
            let xor = unsafe { xor8(src, from + step, at + step) };
            (xor != 0).then(|| step + (xor.trailing_zeros() / 8) as usize)
        })
    }
}
