//! A destination that is read and written without bounds checks, and copies of matches in it.

use core::marker::PhantomData;
use core::slice;

use crate::copy::replicate;
use crate::unaligned::{Bytes16, bytes16};

/// [`UncheckedDst::repeat`] may write this many bytes past the end of a match.
pub(super) const MATCH_OVERRUN: usize = 31;
/// From this length on a run of one byte is filled by a call of `memset`.
const LONG_RUN: usize = 512;

/// A mutable slice whose unsafe methods check bounds in debug builds only, such as the tests and
/// the fuzz targets.
///
/// Invariant: `base` and `len` are those of a slice that is borrowed mutably for `'a`.
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

    /// Length in bytes.
    #[inline(always)]
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// The slice, for code that checks bounds.
    #[inline(always)]
    pub(super) fn slice(&mut self) -> &mut [u8] {
        // SAFETY: the invariant, and `&mut self` makes this the only access to the bytes.
        unsafe { slice::from_raw_parts_mut(self.base, self.len) }
    }

    /// Loads the integer that starts at `at`.
    ///
    /// # Safety
    /// `at + size_of::<T>() <= self.len()`, and any bytes are a valid `T`.
    #[inline(always)]
    pub(super) unsafe fn load<T: Copy>(&self, at: usize) -> T {
        debug_assert!(at <= self.len && size_of::<T>() <= self.len - at);
        // SAFETY: the bytes lie in the slice (invariant) and are a valid `T` (# Safety);
        // `read_unaligned` needs no alignment.
        unsafe { self.base.add(at).cast::<T>().read_unaligned() }
    }

    /// Stores an integer at `at`.
    ///
    /// # Safety
    /// `at + size_of::<T>() <= self.len()`.
    #[inline(always)]
    pub(super) unsafe fn store<T: Copy>(&mut self, at: usize, value: T) {
        debug_assert!(at <= self.len && size_of::<T>() <= self.len - at);
        // SAFETY: the bytes lie in the slice (# Safety), which is borrowed mutably (invariant);
        // `write_unaligned` needs no alignment.
        unsafe { self.base.add(at).cast::<T>().write_unaligned(value) }
    }

    /// Copies a match with this distance to `at..stop`. Up to [`MATCH_OVERRUN`] bytes past `stop`
    /// are written.
    ///
    /// # Safety
    /// `1 <= distance <= at < stop`, and `stop + MATCH_OVERRUN <= self.len()`.
    #[inline(always)]
    pub(super) unsafe fn repeat(&mut self, mut at: usize, distance: usize, stop: usize) {
        debug_assert!(1 <= distance && distance <= at && at < stop);
        debug_assert!(stop + MATCH_OVERRUN <= self.len());
        let from = at - distance;
        // In each loop below a step begins before `stop` and stores at most 32 bytes, so it ends at
        // `stop + MATCH_OVERRUN` at most, which is within the slice (# Safety). Loads begin at
        // `from` or later, which is not negative since `distance <= at`.
        if distance == 1 {
            // Runs come first because they are the most frequent, for example in shuffled numbers.
            // SAFETY: as required of the caller.
            unsafe { self.repeat_byte(at, stop) };
        } else if distance > 32 {
            while at < stop {
                // SAFETY: a step of 32 bytes, from before `stop`. The loads end before `at`.
                unsafe {
                    self.store::<u128>(at, self.load(at - distance));
                    self.store::<u128>(at + 16, self.load(at + 16 - distance));
                }
                at += 32;
            }
        } else if distance >= 16 {
            // SAFETY: `distance` is at least 16, so both loads end at `at` at most.
            let (first, last) =
                unsafe { (self.load::<Bytes16>(from), self.load::<Bytes16>(at - 16)) };
            while at < stop {
                // SAFETY: a step of `distance` bytes, 32 at most, from before `stop`.
                unsafe {
                    self.store(at, first);
                    self.store(at + distance - 16, last);
                }
                at += distance;
            }
        } else if distance >= 8 {
            // SAFETY: `distance` is at least 8, so both loads end at `at` at most.
            let (first, last) = unsafe { (self.load::<u64>(from), self.load::<u64>(at - 8)) };
            while at < stop {
                // SAFETY: a step of `2 * distance` bytes, 30 at most, from before `stop`.
                unsafe {
                    self.store(at, first);
                    self.store(at + distance - 8, last);
                    self.store(at + distance, first);
                    self.store(at + 2 * distance - 8, last);
                }
                at += 2 * distance;
            }
        } else {
            // SAFETY: as required of the caller. The distance is 2 to 7.
            unsafe { self.repeat_pattern(at, distance, stop) };
        }
    }

    /// Copies a match with distance 1: a run of one byte.
    ///
    /// # Safety
    /// As for [`Self::repeat`].
    #[inline(always)]
    unsafe fn repeat_byte(&mut self, mut at: usize, stop: usize) {
        // SAFETY: `at - 1` is before `at`, and not negative (# Safety).
        let byte = unsafe { self.load::<u8>(at - 1) };
        if stop - at >= LONG_RUN {
            self.slice()[at..stop].fill(byte);
            return;
        }
        let eight = u64::from_ne_bytes([byte; 8]);
        let repeated = bytes16(eight, eight);
        while at < stop {
            // SAFETY: a step of 32 bytes, from before `stop`, ends at `stop + MATCH_OVERRUN` at
            // most (# Safety).
            unsafe {
                self.store(at, repeated);
                self.store(at + 16, repeated);
            }
            at += 32;
        }
    }

    /// Copies a match with a distance of 2 to 7.
    ///
    /// # Safety
    /// As for [`Self::repeat`].
    #[inline(always)]
    unsafe fn repeat_pattern(&mut self, mut at: usize, distance: usize, stop: usize) {
        let from = at - distance;
        // SAFETY: the load ends before `at + 8`, and `MATCH_OVERRUN` bytes lie behind `stop`.
        let (low, whole) = replicate(u64::from_le(unsafe { self.load(from) }), distance);
        // The upper eight bytes continue the pattern where the lower eight end.
        let cut = 8 - whole;
        let high = low >> (8 * cut) | low << (8 * (distance - cut));
        let repeated = bytes16(low, high);
        let whole = 2 * whole;
        while at < stop {
            // SAFETY: a step of `whole + 16` bytes with `whole <= 16`, from before `stop`.
            unsafe {
                self.store(at, repeated);
                self.store(at + whole, repeated);
            }
            at += 2 * whole;
        }
    }
}
