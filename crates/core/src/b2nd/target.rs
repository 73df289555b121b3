//! The caller's buffer, filled by several workers, each of which writes other bytes of it.

use oxiblosc_error::{Error, Result};
use std::marker::PhantomData;

/// A buffer of which workers write parts.
pub struct Target<'a> {
    ptr: *mut u8,
    len: usize,
    _buffer: PhantomData<&'a mut [u8]>,
}

// SAFETY: it stands for a buffer that is borrowed alone; what workers write through it they promise not to share.
unsafe impl Sync for Target<'_> {}
// SAFETY: as above.
unsafe impl Send for Target<'_> {}

impl<'a> Target<'a> {
    /// Lends a buffer to workers.
    pub fn new(buffer: &'a mut [u8]) -> Self {
        Self {
            ptr: buffer.as_mut_ptr(),
            len: buffer.len(),
            _buffer: PhantomData,
        }
    }

    /// The `len` bytes from `at` on.
    ///
    /// # Errors
    /// [`Error::InvalidParam`] beyond the end.
    ///
    /// # Safety
    /// No other worker gets any of these bytes, and this one gives them back before it asks for them again.
    #[allow(clippy::mut_from_ref, reason = "the caller's promise")]
    #[inline]
    pub unsafe fn part(&self, at: usize, len: usize) -> Result<&mut [u8]> {
        if at > self.len || len > self.len - at {
            return Err(Error::InvalidParam);
        }
        // SAFETY: within the buffer, and by the caller's word nobody else's.
        Ok(unsafe { std::slice::from_raw_parts_mut(self.ptr.add(at), len) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_inside() {
        let mut buffer = [0u8; 10];
        let target = Target::new(&mut buffer);
        // SAFETY: one part at a time.
        unsafe {
            target.part(3, 4).unwrap().fill(7);
            assert!(target.part(10, 0).is_ok());
            assert!(target.part(10, 1).is_err());
            assert!(target.part(usize::MAX, 2).is_err());
            assert!(target.part(2, usize::MAX).is_err());
        }
        assert_eq!(buffer, [0, 0, 0, 7, 7, 7, 7, 0, 0, 0]);
    }
}
