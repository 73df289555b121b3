//! Bytes that may be borrowed until they are changed (copy on write).

use super::buffer::Buffer;
use crate::error::Result;

enum CowBytes {
    Own(Buffer),
    Borrowed(&'static mut [u8]),
}

/// Bytes that the library owns, or borrows from the program until they have to grow or shrink and
/// are copied (like `Cow`). The program may hand over a borrowed buffer later.
pub struct CowBuffer(CowBytes);

/// A buffer whose ownership the program hands over to the library.
pub struct MallocOwned(*const u8);

impl MallocOwned {
    /// The buffer that begins at `start`.
    ///
    /// # Safety
    /// The address came from `malloc`, and the program neither uses nor frees it from now on.
    pub unsafe fn at(start: *const u8) -> Self {
        Self(start)
    }
}

impl From<Buffer> for CowBuffer {
    fn from(buffer: Buffer) -> Self {
        Self(CowBytes::Own(buffer))
    }
}

impl CowBuffer {
    /// Borrows bytes.
    pub fn borrow(bytes: &'static mut [u8]) -> Self {
        Self(CowBytes::Borrowed(bytes))
    }

    /// Borrows the `len` bytes at `start`, which belong to the program.
    ///
    /// # Safety
    /// They are valid and initialised, and nothing else changes or frees them while this borrows
    /// them: until they are copied ([`Self::to_mut`], [`Self::prefix_to_mut`]), handed over, or
    /// this is dropped.
    pub unsafe fn borrow_raw(start: *mut u8, len: usize) -> Self {
        // SAFETY: by `# Safety` the bytes are valid and only this changes them, until it stops
        // using them. The references that it returns live no longer than a borrow of `self`.
        Self::borrow(unsafe { std::slice::from_raw_parts_mut(start, len) })
    }

    /// The address of the bytes, if they are borrowed.
    pub fn borrowed(&self) -> Option<*const u8> {
        match &self.0 {
            CowBytes::Own(_) => None,
            CowBytes::Borrowed(bytes) => Some(bytes.as_ptr()),
        }
    }

    /// The buffer, as a mutable reference. Borrowed bytes are copied first.
    ///
    /// # Errors
    /// [`Error::MEMORY_ALLOC`](crate::error::Error::MEMORY_ALLOC).
    pub fn to_mut(&mut self) -> Result<&mut Buffer> {
        self.prefix_to_mut(self.len())
    }

    /// The same, if only the first `len` bytes are needed: no more are copied of borrowed bytes.
    ///
    /// # Errors
    /// [`Error::MEMORY_ALLOC`](crate::error::Error::MEMORY_ALLOC).
    pub fn prefix_to_mut(&mut self, len: usize) -> Result<&mut Buffer> {
        if let CowBytes::Borrowed(bytes) = &self.0 {
            self.0 = CowBytes::Own(Buffer::copy_of(&bytes[..len])?);
        }
        match &mut self.0 {
            CowBytes::Own(buffer) => Ok(buffer),
            CowBytes::Borrowed(_) => unreachable!("they were copied"),
        }
    }

    /// The buffer, if the library owns it.
    pub fn owned_mut(&mut self) -> Option<&mut Buffer> {
        match &mut self.0 {
            CowBytes::Own(buffer) => Some(buffer),
            CowBytes::Borrowed(_) => None,
        }
    }

    /// The bytes, to be changed where they are; this never copies.
    pub fn in_place(&mut self) -> &mut [u8] {
        match &mut self.0 {
            CowBytes::Own(buffer) => buffer,
            CowBytes::Borrowed(bytes) => bytes,
        }
    }

    /// Takes ownership of the borrowed bytes without a copy, if they are the buffer that was handed
    /// over; otherwise does nothing.
    pub fn take_over(&mut self, buffer: MallocOwned) {
        if let CowBytes::Borrowed(bytes) = &mut self.0
            && bytes.as_ptr() == buffer.0
        {
            // SAFETY: `MallocOwned::at` requires that the memory came from `malloc` and that
            // nothing else owns it. The bytes are initialised, since there is a slice of them,
            // which this assignment ends.
            let own = unsafe { Buffer::from_raw(bytes.as_mut_ptr(), bytes.len()) };
            self.0 = CowBytes::Own(own);
        }
    }

    /// The buffer, if the library owns it.
    pub fn into_owned(self) -> Option<Buffer> {
        match self.0 {
            CowBytes::Own(buffer) => Some(buffer),
            CowBytes::Borrowed(_) => None,
        }
    }
}

impl std::ops::Deref for CowBuffer {
    type Target = [u8];
    #[inline]
    fn deref(&self) -> &[u8] {
        match &self.0 {
            CowBytes::Own(buffer) => buffer,
            CowBytes::Borrowed(bytes) => bytes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn borrowed_bytes_are_copied_before_they_change() {
        let bytes = vec![1, 2, 3].leak();
        let start = bytes.as_ptr();
        let mut cow = CowBuffer::borrow(bytes);
        assert_eq!((&cow[..], cow.borrowed()), (&[1, 2, 3][..], Some(start)));
        assert!(cow.owned_mut().is_none());
        cow.in_place()[2] = 7;
        cow.prefix_to_mut(2).unwrap().extend(&[9]).unwrap();
        assert_eq!((&cow[..], cow.borrowed()), (&[1, 2, 9][..], None));
        let own = cow.as_ptr();
        cow.to_mut().unwrap()[0] = 5;
        assert_eq!((cow[0], cow.as_ptr()), (5, own), "one copy is enough");
        assert_eq!(cow.into_owned().unwrap()[..], [5, 2, 9]);
        assert!(CowBuffer::borrow(vec![1].leak()).into_owned().is_none());
    }

    #[test]
    fn a_buffer_is_handed_over_without_a_copy() {
        let (start, other) = (
            Buffer::copy_of(&[4, 5]).unwrap().into_raw(),
            Buffer::copy_of(&[6]).unwrap(),
        );
        // SAFETY: it was given away, and only this uses it.
        let mut cow = unsafe { CowBuffer::borrow_raw(start, 2) };
        // SAFETY: that buffer is no longer used.
        cow.take_over(unsafe { MallocOwned::at(other.as_ptr()) });
        assert!(cow.owned_mut().is_none(), "it was another one");
        // SAFETY: it came from `malloc`, and only `cow` uses it.
        cow.take_over(unsafe { MallocOwned::at(start) });
        assert_eq!(cow.owned_mut().unwrap()[..], [4, 5]);
        assert_eq!(cow.as_ptr(), start.cast_const());
    }
}
