//! A destination that is read and written without bounds checks.

use core::marker::PhantomData;
use core::slice;

/// A mutable slice whose unsafe methods check bounds in debug builds only (the tests and the fuzz targets are such builds).
pub(super) struct UncheckedDst<'a> {
    base: *mut u8,
    len: usize,
    slice: PhantomData<&'a mut [u8]>,
}

impl<'a> UncheckedDst<'a> {
    pub(super) fn new(slice: &'a mut [u8]) -> Self {
        UncheckedDst {
            base: slice.as_mut_ptr(),
            len: slice.len(),
            slice: PhantomData,
        }
    }

    /// The same destination, borrowed for a shorter time.
    #[inline(always)]
    pub(super) fn reborrow(&mut self) -> UncheckedDst<'_> {
        UncheckedDst { ..*self }
    }

    /// Length in bytes.
    #[inline(always)]
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// The slice, for code that checks bounds.
    #[inline(always)]
    pub(super) fn slice(&mut self) -> &mut [u8] {
        // SAFETY: `new` took pointer and length from one slice, which is borrowed mutably for `'a`.
        unsafe { slice::from_raw_parts_mut(self.base, self.len) }
    }

    /// Loads the integer that starts at `at`.
    ///
    /// # Safety
    /// `at + size_of::<T>() <= self.len()`, and any bytes are a valid `T`.
    #[inline(always)]
    pub(super) unsafe fn load<T: Copy>(&self, at: usize) -> T {
        debug_assert!(at <= self.len && size_of::<T>() <= self.len - at);
        // SAFETY: the caller promises that the bytes lie in the slice and form a `T`; `read_unaligned` needs no alignment.
        unsafe { self.base.add(at).cast::<T>().read_unaligned() }
    }

    /// Stores an integer at `at`.
    ///
    /// # Safety
    /// `at + size_of::<T>() <= self.len()`.
    #[inline(always)]
    pub(super) unsafe fn store<T: Copy>(&mut self, at: usize, value: T) {
        debug_assert!(at <= self.len && size_of::<T>() <= self.len - at);
        // SAFETY: the caller promises that the bytes lie in the slice; `write_unaligned` needs no alignment.
        unsafe { self.base.add(at).cast::<T>().write_unaligned(value) }
    }
}
