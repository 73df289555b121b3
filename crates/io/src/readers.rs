//! Limits how many files the process keeps open between calls: a program may have thousands of open
//! frames, but file descriptors are limited.

use oxiblosc_base::memory::env::environment;
use oxiblosc_base::system::files;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The limit, unless the environment sets one.
const DEFAULT_LIMIT: usize = 96;

/// At most one of this many file descriptors of the process is kept open.
const SHARE: u64 = 16;

/// Counts the files that are kept open. The count is atomic, since a `fork` could leave a lock
/// locked. A child process inherits the files and the count.
pub struct FileSlots {
    /// How many slots are taken.
    taken: AtomicUsize,
    /// The number of slots plus 1; 0 until it is determined.
    limit: AtomicUsize,
}

/// Permission to keep one file open, given back when this is dropped. Drop it together with the
/// file.
pub struct FileSlot<'a>(&'a FileSlots);

/// The slots of this process for files that are open for reading: as many as the environment
/// variable `BLOSC_MAX_CACHED_READERS` said when the first was taken, otherwise 96 or a sixteenth
/// of the file descriptors that the process may have, whichever is less.
pub static READERS: FileSlots = FileSlots {
    taken: AtomicUsize::new(0),
    limit: AtomicUsize::new(0),
};

/// The slots for files that are open for changes, as many again.
pub static WRITERS: FileSlots = FileSlots {
    taken: AtomicUsize::new(0),
    limit: AtomicUsize::new(0),
};

impl FileSlots {
    /// `limit` slots.
    pub const fn new(limit: usize) -> Self {
        Self {
            taken: AtomicUsize::new(0),
            limit: AtomicUsize::new(limit.saturating_add(1)),
        }
    }

    /// Takes a slot, if one is free.
    pub fn take(&self) -> Option<FileSlot<'_>> {
        let limit = self.limit();
        self.taken
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |taken| {
                (taken < limit).then(|| taken + 1)
            })
            .ok()
            .map(|_| FileSlot(self))
    }

    fn limit(&self) -> usize {
        match self.limit.load(Ordering::Relaxed) {
            0 => {
                let descriptors = files::most_open();
                let limit = environment(c"BLOSC_MAX_CACHED_READERS", |asked| {
                    limit(asked.to_str().ok(), descriptors)
                });
                let limit = limit.unwrap_or_else(|| self::limit(None, descriptors));
                self.limit.store(limit.saturating_add(1), Ordering::Relaxed);
                limit
            }
            known => known - 1,
        }
    }
}

impl Drop for FileSlot<'_> {
    fn drop(&mut self) {
        self.0.taken.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The number of slots: the value of the environment variable, read as C reads numbers; without
/// one, from the limit of file descriptors.
fn limit(asked: Option<&str>, descriptors: Option<u64>) -> usize {
    if let Some(asked) = asked.filter(|asked| !asked.is_empty()) {
        let number = asked.trim_start();
        let digits = number.strip_prefix('+').unwrap_or(number);
        let end = digits
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(digits.len());
        // As in C, a value without digits is 0; a number out of range is ignored.
        match digits[..end].parse::<i32>() {
            Ok(number) => return number as usize,
            Err(_) if end == 0 && !number.starts_with('-') => return 0,
            Err(_) => {}
        }
    }
    let share = descriptors.map_or(u64::MAX, |descriptors| descriptors / SHARE);
    usize::try_from(share)
        .unwrap_or(usize::MAX)
        .min(DEFAULT_LIMIT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_taken_and_come_back() {
        let slots = FileSlots::new(2);
        let first = slots.take();
        let second = slots.take();
        assert!(first.is_some() && second.is_some() && slots.take().is_none());
        drop(first);
        let third = slots.take();
        assert!(third.is_some() && slots.take().is_none());
        assert!(FileSlots::new(0).take().is_none());
    }

    #[test]
    fn slots_under_threads() {
        let slots = FileSlots::new(3);
        let most = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..2000 {
                        if let Some(slot) = slots.take() {
                            most.fetch_max(slots.taken.load(Ordering::Relaxed), Ordering::Relaxed);
                            drop(slot);
                        }
                    }
                });
            }
        });
        assert!((1..=3).contains(&most.load(Ordering::Relaxed)));
        assert_eq!(slots.taken.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn the_limit_is_what_was_asked_for() {
        for (asked, expected) in [
            (Some("5"), 5),
            (Some(" +7x"), 7),
            (Some("0"), 0),
            (Some("x"), 0),
            (Some(""), 62),
            (Some("-3"), 62),
            (Some("99999999999"), 62),
            (None, 62),
        ] {
            assert_eq!(limit(asked, Some(1000)), expected, "{asked:?}");
        }
        assert_eq!(limit(None, Some(1 << 20)), DEFAULT_LIMIT);
        assert_eq!(limit(None, None), DEFAULT_LIMIT);
        assert_eq!(limit(None, Some(15)), 0);
        assert!(READERS.limit() <= i32::MAX as usize);
    }
}
