//! Bytes read and compared where they are known to be.

/// The integer at `at`.
///
/// # Safety
/// All of its bytes are among those of `src`.
#[inline(always)]
pub(super) unsafe fn load<T: Copy>(src: &[u8], at: usize) -> T {
    debug_assert!(at <= src.len() && size_of::<T>() <= src.len() - at);
    // SAFETY: as the caller promises; the bytes of any integer are one.
    unsafe { src.as_ptr().add(at).cast::<T>().read_unaligned() }
}

/// In what the integers at `at` and at `from` differ, the first byte lowest.
///
/// # Safety
/// All of their bytes are in `src`.
#[inline(always)]
pub(super) unsafe fn differ(src: &[u8], from: usize, at: usize) -> u64 {
    // SAFETY: as the caller promises.
    u64::from_le(unsafe { load::<u64>(src, at) ^ load::<u64>(src, from) })
}

/// Which of the 32 bytes at `at` is the first that is not the one at `from`.
///
/// # Safety
/// All of them are in `src`.
#[inline(always)]
pub(super) unsafe fn first_difference(src: &[u8], from: usize, at: usize) -> Option<usize> {
    #[cfg(target_arch = "x86_64")]
    {
        use core::arch::x86_64::*;
        // SAFETY: SSE2 is in every x86-64; each load takes half of the bytes.
        let [low, high] = [0, 16].map(|half| unsafe {
            let near = load::<__m128i>(src, at + half);
            let far = load::<__m128i>(src, from + half);
            _mm_movemask_epi8(_mm_cmpeq_epi8(near, far)) as u32
        });
        let differ = !(low | high << 16);
        (differ != 0).then(|| differ.trailing_zeros() as usize)
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        (0..32).step_by(8).find_map(|step| {
            // SAFETY: as the caller promises.
            let differ = unsafe { differ(src, from + step, at + step) };
            (differ != 0).then(|| step + (differ.trailing_zeros() / 8) as usize)
        })
    }
}
