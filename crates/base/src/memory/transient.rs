//! Bytes that are needed until the end of a call, and the memory that is kept for them.

use super::object_pool::{Borrowed, ObjectPool};
use super::{ToTryVec, TryVec};
use crate::error::Result;
use std::fmt;
use std::ops::Deref;

/// Fewer bytes than this come from the allocator, which is fast enough with them.
const MIN_KEPT: usize = 4 << 10;
/// Memory of more bytes than this is not kept.
const MAX_KEPT: usize = 1 << 20;
/// How many allocations are kept at most.
const SLOTS: usize = 16;
static DEPOT: ObjectPool<TryVec<u8>, SLOTS> = ObjectPool::empty();

/// Bytes that are needed until the end of a call, such as compressed blocks before they are put
/// into their chunk. Their memory is kept for the next call: `malloc` may return it to the system
/// each time, and the page faults of the next call take as long as compressing a block.
pub struct TransientBytes(Memory);

enum Memory {
    Own(TryVec<u8>),
    Kept(Borrowed<TryVec<u8>>),
}

impl TransientBytes {
    /// A copy of `bytes`.
    ///
    /// # Errors
    /// [`Error::MEMORY_ALLOC`](crate::error::Error::MEMORY_ALLOC).
    pub fn copy_of(bytes: &[u8]) -> Result<Self> {
        if bytes.len() < MIN_KEPT {
            return Ok(bytes.to_try_vec()?.into());
        }
        let mut list = DEPOT.borrow(TryVec::new)?;
        list.clear();
        if list.capacity() < bytes.len() {
            // Freed first, since `reserve_exact` would copy it. Rounded, as the next block is about
            // as long.
            *list = TryVec::new();
            list.reserve_exact(bytes.len().next_multiple_of(MIN_KEPT))?;
        }
        list.extend_from_slice(bytes)?;
        Ok(Self(Memory::Kept(list)))
    }
}

/// Frees the memory that is kept.
pub fn release() {
    DEPOT.release();
}

impl From<TryVec<u8>> for TransientBytes {
    fn from(list: TryVec<u8>) -> Self {
        Self(Memory::Own(list))
    }
}

impl Drop for TransientBytes {
    fn drop(&mut self) {
        if let Memory::Kept(list) = &mut self.0
            && list.capacity() > MAX_KEPT
        {
            **list = TryVec::new();
        }
    }
}

impl Deref for TransientBytes {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        match &self.0 {
            Memory::Own(list) => list,
            Memory::Kept(list) => list,
        }
    }
}

impl fmt::Debug for TransientBytes {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl PartialEq for TransientBytes {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for TransientBytes {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_used_again_unless_it_is_large() {
        let address = |bytes: &[u8]| {
            let copy = TransientBytes::copy_of(bytes).unwrap();
            assert_eq!(*copy, *bytes);
            match &copy.0 {
                Memory::Own(_) => None,
                Memory::Kept(list) => Some((list.as_ptr().addr(), list.capacity())),
            }
        };
        release();
        assert_eq!(address(&[1; MIN_KEPT - 1]), None);
        let first = address(&[2; 3 * MIN_KEPT + 1]);
        assert_eq!(first.unwrap().1, 4 * MIN_KEPT);
        assert_eq!(address(&[3; MIN_KEPT]), first);
        assert_eq!(address(&[4; 4 * MIN_KEPT]), first);
        let larger = address(&[5; 9 * MIN_KEPT]);
        assert_eq!(address(&[6; 5 * MIN_KEPT]), larger);
        address(&vec![7; MAX_KEPT + 1]);
        assert_eq!(address(&[8; MIN_KEPT]).unwrap().1, MIN_KEPT);
        release();
    }
}
