//! The locks that a program has taken and not released yet.

use std::sync::atomic::{AtomicUsize, Ordering};

/// How many calls of [`SuperChunk::lock`](super::SuperChunk::lock) have not been followed by one of
/// [`SuperChunk::unlock`](super::SuperChunk::unlock).
#[derive(Default)]
pub(super) struct ProgramLocks(AtomicUsize);

impl ProgramLocks {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.load(Ordering::Relaxed) == 0
    }

    /// Counts one.
    pub fn add(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    /// Takes one away. False if there is none.
    pub fn take(&self) -> bool {
        let less = |locks: usize| locks.checked_sub(1);
        let (order, failed) = (Ordering::Relaxed, Ordering::Relaxed);
        self.0.fetch_update(order, failed, less).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_are_taken_away_as_were_added() {
        let locks = ProgramLocks::default();
        assert!(!locks.take());
        (0..3).for_each(|_| locks.add());
        assert!(!locks.is_empty());
        assert_eq!((0..5).filter(|_| locks.take()).count(), 3);
        assert!(locks.is_empty());
    }
}
