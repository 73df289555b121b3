//! Buffers for the data of blocks: aligned, zeroed, and no page touched before it is needed.

use oxiblosc_error::{Error, Result};
use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

/// Alignment of every buffer: a cache line, and the widest vector.
const ALIGN: usize = 64;

/// Buffers from this size on are asked for in the one way that leaves their pages untouched, at the price of some bytes
/// behind them. Smaller ones end where their memory does.
const UNTOUCHED: usize = 1 << 20;

/// A zeroed buffer that reports failure instead of aborting. If it is large it touches no page before it is used: what a
/// header claims costs memory only once there are data.
pub struct AlignedBuffer {
    /// The aligned part of the memory that is used; dangling if that is nothing.
    start: NonNull<u8>,
    len: usize,
    /// What the allocator gave.
    memory: Option<(NonNull<u8>, Layout)>,
}

// SAFETY: the buffer owns its memory alone.
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
    /// Buffers above this size are given back when far less is needed.
    pub const LARGE: usize = 16 << 20;

    /// `len` is not 0.
    fn new(len: usize) -> Result<Self> {
        let layout = if len < UNTOUCHED {
            Layout::from_size_align(len, ALIGN)
        } else {
            // Memory of a larger alignment would be zeroed by hand.
            Layout::from_size_align(len.saturating_add(ALIGN), align_of::<usize>())
        };
        let layout = layout.map_err(|_| Error::MemoryAlloc)?;
        // SAFETY: the size is not 0: the only caller asks for some bytes.
        let base = NonNull::new(unsafe { alloc_zeroed(layout) }).ok_or(Error::MemoryAlloc)?;
        // SAFETY: less than ALIGN further on, and that many bytes are there beyond `len` unless it is none.
        let start = unsafe { base.add(base.align_offset(ALIGN)) };
        Ok(Self {
            start,
            len,
            memory: Some((base, layout)),
        })
    }

    /// Makes the buffer at least `len` bytes; what was in it may be lost.
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
            // SAFETY: `new` got this memory with this layout, and nothing else holds it.
            unsafe { dealloc(base.as_ptr(), layout) }
        }
    }
}

impl Deref for AlignedBuffer {
    type Target = [u8];
    #[inline]
    fn deref(&self) -> &[u8] {
        // SAFETY: the memory has `len` bytes from `start` on, was zeroed, and is borrowed with `self`.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }
}

impl DerefMut for AlignedBuffer {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, borrowed mutably.
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
            Some(Error::MemoryAlloc)
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
