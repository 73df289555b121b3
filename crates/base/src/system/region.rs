//! What maps have in common on all systems. How they are made, grown and cut is in `map` of each.

use crate::system::map::Region;

impl Region {
    /// The address of the byte at `pos`, which is at most `mapped`.
    pub fn at(&self, pos: usize) -> *mut u8 {
        assert!(pos <= self.mapped);
        // SAFETY: inside the region or at its end, as was just checked.
        unsafe { self.base.as_ptr().add(pos) }
    }

    /// Copies bytes out of the region. What comes from the file must be there.
    pub fn get(&self, pos: usize, buf: &mut [u8]) {
        assert!(pos + buf.len() <= self.mapped);
        // SAFETY: the bytes lie inside the region, as was just checked, and it cannot change or
        // move while it is looked at; `buf` is no part of it, as there are no references into it.
        unsafe {
            self.at(pos)
                .copy_to_nonoverlapping(buf.as_mut_ptr(), buf.len());
        }
    }

    /// Copies bytes into a writable region. What comes from the file must be there.
    pub fn put(&mut self, pos: usize, bytes: &[u8]) {
        assert!(pos + bytes.len() <= self.mapped);
        // SAFETY: the bytes lie inside the region, as was just checked, and are not accessed
        // otherwise meanwhile.
        unsafe { self.at(pos).copy_from(bytes.as_ptr(), bytes.len()) };
    }
}
