//! Bytes read and written where they are known to be.

use core::marker::PhantomData;
use core::slice;

/// The bytes of a slice.
pub(super) struct Bytes<'a> {
    base: *mut u8,
    len: usize,
    slice: PhantomData<&'a mut [u8]>,
}

impl<'a> Bytes<'a> {
    pub(super) fn new(slice: &'a mut [u8]) -> Self {
        Bytes {
            base: slice.as_mut_ptr(),
            len: slice.len(),
            slice: PhantomData,
        }
    }

    /// How many there are.
    #[inline(always)]
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// All of them, to be written with every check.
    #[inline(always)]
    pub(super) fn slice(&mut self) -> &mut [u8] {
        // SAFETY: these are a slice's, which is borrowed for as long.
        unsafe { slice::from_raw_parts_mut(self.base, self.len) }
    }

    /// The integer at `at`.
    ///
    /// # Safety
    /// All of its bytes are among these.
    #[inline(always)]
    pub(super) unsafe fn load<T: Copy>(&self, at: usize) -> T {
        debug_assert!(at <= self.len && size_of::<T>() <= self.len - at);
        // SAFETY: as the caller promises; the bytes of any integer are one.
        unsafe { self.base.add(at).cast::<T>().read_unaligned() }
    }

    /// Writes an integer at `at`.
    ///
    /// # Safety
    /// As for [`load`](Self::load).
    #[inline(always)]
    pub(super) unsafe fn store<T: Copy>(&mut self, at: usize, value: T) {
        debug_assert!(at <= self.len && size_of::<T>() <= self.len - at);
        // SAFETY: as the caller promises.
        unsafe { self.base.add(at).cast::<T>().write_unaligned(value) }
    }
}
