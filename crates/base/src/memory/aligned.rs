//! Buffers for the data of blocks: aligned and zeroed, with pages that take memory only when they
//! are used.

use super::kept_blocks::allocate;
use crate::error::{Error, Result};
use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

/// Alignment of every buffer: that of a cache line and of the widest vector.
const ALIGN: usize = 64;

/// Buffers of at least this size are aligned by hand within a larger allocation, since only then
/// the allocator leaves their pages untouched. A smaller buffer is exactly its allocation.
const UNTOUCHED: usize = 1 << 20;

/// A zeroed buffer whose growth can fail. The pages of a large one take no memory until they are
/// used, so a size that a header merely claims costs nothing.
pub struct AlignedBuffer {
    /// The aligned start of the used memory; dangling if there is none.
    start: NonNull<u8>,
    len: usize,
    /// The allocation.
    memory: Option<(NonNull<u8>, Layout)>,
}

// SAFETY: the buffer is the only owner of its memory.
unsafe impl Send for AlignedBuffer {}

impl Default for AlignedBuffer {
    fn default() -> Self {
        Self {
            start: NonNull::dangling(),
            len: 0,
            memory: None,
        }
    }
}

impl AlignedBuffer {
    /// Larger buffers than this are replaced by smaller ones when far less is needed.
    pub const LARGE: usize = 16 << 20;

    /// A new buffer; `len` must not be 0.
    fn new(len: usize) -> Result<Self> {
        let layout = if len < UNTOUCHED {
            Layout::from_size_align(len, ALIGN)
        } else {
            // For a larger alignment than this the allocator would zero the memory itself, and so
            // touch all pages.
            Layout::from_size_align(len.saturating_add(ALIGN), align_of::<usize>())
        };
        let layout = layout.map_err(|_| Error::MEMORY_ALLOC)?;
        // SAFETY: the size is not 0, since the only caller passes a `len` that is not.
        let base = allocate(|| NonNull::new(unsafe { alloc_zeroed(layout) }))?;
        // SAFETY: the offset is less than ALIGN. It is 0 for a small buffer, whose layout has that
        // alignment; a large one has ALIGN bytes more than `len`.
        let start = unsafe { base.add(base.align_offset(ALIGN)) };
        Ok(Self {
            start,
            len,
            memory: Some((base, layout)),
        })
    }

    /// Makes the buffer at least `len` bytes long. Its content may be lost.
    ///
    /// # Errors
    /// [`Error::MEMORY_ALLOC`].
    #[inline(always)]
    pub fn ensure(&mut self, len: usize) -> Result<&mut [u8]> {
        let have = self.len;
        if have < len || (have > Self::LARGE && have / 4 > len) {
            self.remake(len)?;
        }
        Ok(&mut self[..len])
    }

    #[cold]
    fn remake(&mut self, len: usize) -> Result<()> {
        *self = Self::default();
        if len > 0 {
            *self = Self::new(len)?;
        }
        Ok(())
    }
}

impl Drop for AlignedBuffer {
    fn drop(&mut self) {
        if let Some((base, layout)) = self.memory {
            // SAFETY: `new` allocated this memory with this layout, and nothing else refers to it.
            unsafe { dealloc(base.as_ptr(), layout) }
        }
    }
}

impl Deref for AlignedBuffer {
    type Target = [u8];
    #[inline]
    fn deref(&self) -> &[u8] {
        // SAFETY: the memory has `len` bytes from `start` on, was zeroed, and is borrowed with
        // `self`.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }
}

impl DerefMut for AlignedBuffer {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above; `self` is borrowed mutably.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_grow_are_aligned_and_fail_without_abort() {
        let mut buf = AlignedBuffer::default();
        assert_eq!(buf.ensure(0).unwrap().len(), 0);
        assert_eq!(buf.ensure(100).unwrap().as_ptr() as usize % ALIGN, 0);
        buf.ensure(1000).unwrap().fill(7);
        assert_eq!(buf.ensure(10).unwrap(), &[7; 10]);
        assert_eq!(
            buf.ensure(isize::MAX as usize).err(),
            Some(Error::MEMORY_ALLOC)
        );
        assert_eq!(buf.ensure(5).unwrap(), &[0; 5]);
        for len in [UNTOUCHED - 1, UNTOUCHED, 3 * UNTOUCHED + 1] {
            let mut buf = AlignedBuffer::default();
            let bytes = buf.ensure(len).unwrap();
            assert_eq!((bytes.len(), bytes.as_ptr() as usize % ALIGN), (len, 0));
            assert!(bytes == vec![0; len]);
            bytes.fill(1);
        }
    }
}
