//! Bytes that may be borrowed until they are changed (copy on write).

use super::buffer::Buffer;
use oxiblosc_error::Result;

enum Bytes {
    Own(Buffer),
    Borrowed(&'static mut [u8]),
}

/// Bytes that are the library's own, or borrowed from the program and copied before they grow or shrink: copy on write, as
/// `Cow` does it. The program may come to hand a borrowed buffer over.
pub struct CowBuffer(Bytes);

/// The promise that the library owns a buffer from now on, from the program that it borrowed it from.
pub struct HandedOver(*const u8);

impl HandedOver {
    /// The buffer that begins at `start`.
    ///
    /// # Safety
    /// `malloc` gave this address, and the program neither uses nor frees it any more.
    pub unsafe fn at(start: *const u8) -> Self {
        Self(start)
    }
}

impl From<Buffer> for CowBuffer {
    fn from(buffer: Buffer) -> Self {
        Self(Bytes::Own(buffer))
    }
}

impl CowBuffer {
    /// Bytes without another reference to them.
    pub fn borrow(bytes: &'static mut [u8]) -> Self {
        Self(Bytes::Borrowed(bytes))
    }

    /// The `len` bytes at `start`, in a buffer of the program's.
    ///
    /// # Safety
    /// They are there and initialised, and nothing else changes or frees them for as long as this uses them: until they are
    /// copied ([`Self::to_mut`], [`Self::front_to_mut`]), handed over, or until this is dropped.
    pub unsafe fn borrow_raw(start: *mut u8, len: usize) -> Self {
        // SAFETY: `# Safety` says that the bytes are there, and this alone changes them; references that it gives out last no longer than
        // `self` is borrowed.
        Self::borrow(unsafe { std::slice::from_raw_parts_mut(start, len) })
    }

    /// Where the bytes are, if they are borrowed.
    pub fn borrowed(&self) -> Option<*const u8> {
        match &self.0 {
            Bytes::Own(_) => None,
            Bytes::Borrowed(bytes) => Some(bytes.as_ptr()),
        }
    }

    /// The buffer, to be changed. Borrowed bytes are copied first.
    ///
    /// # Errors
    /// [`Error::MemoryAlloc`](oxiblosc_error::Error::MemoryAlloc).
    pub fn to_mut(&mut self) -> Result<&mut Buffer> {
        self.front_to_mut(self.len())
    }

    /// The buffer, to be changed, of whose bytes only the first `len` are needed: of borrowed ones no more are copied.
    ///
    /// # Errors
    /// [`Error::MemoryAlloc`](oxiblosc_error::Error::MemoryAlloc).
    pub fn front_to_mut(&mut self, len: usize) -> Result<&mut Buffer> {
        if let Bytes::Borrowed(bytes) = &self.0 {
            self.0 = Bytes::Own(Buffer::copy_of(&bytes[..len])?);
        }
        match &mut self.0 {
            Bytes::Own(buffer) => Ok(buffer),
            Bytes::Borrowed(_) => unreachable!("they were copied"),
        }
    }

    /// The library's own buffer, or none if the bytes are borrowed.
    pub fn own_mut(&mut self) -> Option<&mut Buffer> {
        match &mut self.0 {
            Bytes::Own(buffer) => Some(buffer),
            Bytes::Borrowed(_) => None,
        }
    }

    /// The bytes, where they are.
    pub fn in_place(&mut self) -> &mut [u8] {
        match &mut self.0 {
            Bytes::Own(buffer) => buffer,
            Bytes::Borrowed(bytes) => bytes,
        }
    }

    /// Makes borrowed bytes the library's own without a copy. Nothing happens where it is another buffer that was handed over.
    pub fn take_over(&mut self, buffer: HandedOver) {
        if let Bytes::Borrowed(bytes) = &mut self.0
            && bytes.as_ptr() == buffer.0
        {
            // SAFETY: the maker of `HandedOver` promised that `malloc` gave the memory and that it is ours; the bytes in it
            // are initialised, since there is a slice of them. That slice is gone with this assignment.
            let own = unsafe { Buffer::from_raw(bytes.as_mut_ptr(), bytes.len()) };
            self.0 = Bytes::Own(own);
        }
    }

    /// The library's own buffer, or none if the bytes are borrowed.
    pub fn into_own(self) -> Option<Buffer> {
        match self.0 {
            Bytes::Own(buffer) => Some(buffer),
            Bytes::Borrowed(_) => None,
        }
    }
}

impl std::ops::Deref for CowBuffer {
    type Target = [u8];
    #[inline]
    fn deref(&self) -> &[u8] {
        match &self.0 {
            Bytes::Own(buffer) => buffer,
            Bytes::Borrowed(bytes) => bytes,
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
        assert!(cow.own_mut().is_none());
        cow.in_place()[2] = 7;
        cow.front_to_mut(2).unwrap().extend(&[9]).unwrap();
        assert_eq!((&cow[..], cow.borrowed()), (&[1, 2, 9][..], None));
        let own = cow.as_ptr();
        cow.to_mut().unwrap()[0] = 5;
        assert_eq!((cow[0], cow.as_ptr()), (5, own), "one copy is enough");
        assert_eq!(cow.into_own().unwrap()[..], [5, 2, 9]);
        assert!(CowBuffer::borrow(vec![1].leak()).into_own().is_none());
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
        cow.take_over(unsafe { HandedOver::at(other.as_ptr()) });
        assert!(cow.own_mut().is_none(), "it was another one");
        // SAFETY: it came from `malloc`, and only `cow` uses it.
        cow.take_over(unsafe { HandedOver::at(start) });
        assert_eq!(cow.own_mut().unwrap()[..], [4, 5]);
        assert_eq!(cow.as_ptr(), start.cast_const());
    }
}
