//! The sizes of chunks that differ in size, once they were needed.

use crate::schunk::slices::ChunkSizes;
use oxiblosc_base::Result;
use oxiblosc_base::memory::lock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// The sizes, if they are known, and whether they agree with the header of the frame.
#[derive(Default)]
pub(super) struct SizeCache {
    sizes: Mutex<Option<ChunkSizes>>,
    /// Whether it was checked that their sum agrees with `nbytes` in the header.
    is_sum_checked: AtomicBool,
}

impl SizeCache {
    /// The sizes, which `read` gives if they are not known. One thread reads them; others that need
    /// them wait for it.
    ///
    /// # Errors
    /// Those of `read`.
    pub fn get_or_read(&self, read: impl FnOnce() -> Result<ChunkSizes>) -> Result<ChunkSizes> {
        let mut sizes = lock(&self.sizes);
        if let Some(sizes) = &*sizes {
            return Ok(sizes.clone());
        }
        Ok(sizes.insert(read()?).clone())
    }

    /// Whether the sum was checked.
    pub fn is_sum_checked(&self) -> bool {
        self.is_sum_checked.load(Ordering::Relaxed)
    }

    /// Notes that the sum was checked. Changes keep it right.
    pub fn note_sum_checked(&self) {
        self.is_sum_checked.store(true, Ordering::Relaxed);
    }

    /// Forgets the sizes, after a change.
    pub fn forget_sizes(&mut self) {
        *self.sizes.get_mut().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Forgets everything, after a change was rolled back.
    pub fn forget(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use oxiblosc_base::Error;
    use oxiblosc_base::memory::{Shared, TryVec};

    fn of(nbytes: u64) -> Result<ChunkSizes> {
        let starts: TryVec<u64> = vec![0, nbytes].into();
        Ok(ChunkSizes::Starts(Shared::new(starts)?))
    }

    #[test]
    fn sizes_are_read_once_until_a_change() {
        let mut cache = SizeCache::default();
        let nbytes = |cache: &SizeCache, read: fn() -> Result<ChunkSizes>| {
            cache.get_or_read(read).map(|sizes| sizes.nbytes())
        };
        assert_eq!(nbytes(&cache, || Err(Error::DATA)), Err(Error::DATA));
        assert_eq!(nbytes(&cache, || of(5)), Ok(5));
        assert_eq!(nbytes(&cache, || Err(Error::DATA)), Ok(5));
        cache.note_sum_checked();
        cache.forget_sizes();
        assert_eq!(nbytes(&cache, || of(7)), Ok(7));
        assert!(cache.is_sum_checked(), "changes keep the sum right");
        cache.forget();
        assert!(!cache.is_sum_checked());
        assert_eq!(nbytes(&cache, || of(9)), Ok(9));
    }
}
