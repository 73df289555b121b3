//! Unaligned loads without bounds checks, and comparisons made of them.

/// Sixteen bytes in one vector register. The compiler keeps a `u128` in two integer registers and
/// needs two stores for it.
#[cfg(target_arch = "x86_64")]
pub(super) type Bytes16 = core::arch::x86_64::__m128i;
/// Sixteen bytes.
#[cfg(not(target_arch = "x86_64"))]
pub(super) type Bytes16 = u128;

/// The bytes of two integers in little-endian order, those of `low` first.
#[inline(always)]
pub(super) fn bytes16(low: u64, high: u64) -> Bytes16 {
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
    // SAFETY: the bytes lie in `src` and are a valid `T` (# Safety); `read_unaligned` needs no
    // alignment.
    unsafe { src.as_ptr().add(at).cast::<T>().read_unaligned() }
}

/// The XOR of the eight bytes at `at` and the eight at `from`, in little-endian order: a match of
/// these has `trailing_zeros() / 8` bytes.
///
/// # Safety
/// `at + 8` and `from + 8` are at most `src.len()`.
#[inline(always)]
pub(super) unsafe fn xor8(src: &[u8], from: usize, at: usize) -> u64 {
    // SAFETY: eight bytes lie at both positions (# Safety).
    u64::from_le(unsafe { load::<u64>(src, at) ^ load::<u64>(src, from) })
}

/// The index of the first of the 32 bytes at `at` that differs from its counterpart at `from`;
/// `None` if all match.
///
/// # Safety
/// `at + 32` and `from + 32` are at most `src.len()`.
#[inline(always)]
pub(super) unsafe fn first_mismatch(src: &[u8], from: usize, at: usize) -> Option<usize> {
    #[cfg(target_arch = "x86_64")]
    {
        use core::arch::x86_64::*;
        // SAFETY: every x86-64 has SSE2. Each load takes 16 of the 32 bytes at its position (#
        // Safety).
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
            // SAFETY: `step` is at most 24, and 32 bytes lie at both positions (# Safety).
            let xor = unsafe { xor8(src, from + step, at + step) };
            (xor != 0).then(|| step + (xor.trailing_zeros() / 8) as usize)
        })
    }
}
