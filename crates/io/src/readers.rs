//! How many read handles the process keeps open: a program may hold thousands of frames, and descriptors are few.

use oxiblosc_system::files;
use std::ffi::CStr;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The most handles kept, if nothing says otherwise.
const MOST: usize = 96;

/// The share of the process's descriptors that may be kept: one in so many.
const SHARE: u64 = 16;

/// Counts handles that are kept open. One atomic, so neither threads nor the child of a `fork`, which has the handles
/// as well as the count, can find it locked.
pub struct ReaderSlots {
    /// How many are taken.
    taken: AtomicUsize,
    /// How many there are, plus 1; 0 until the environment was asked.
    limit: AtomicUsize,
}

/// The right to keep one handle open; returned when dropped. Drop it together with the handle.
pub struct ReaderSlot<'a>(&'a ReaderSlots);

/// The slots of this process: as many as the environment variable `BLOSC_MAX_CACHED_READERS` said when the first was
/// wanted, else 96 or a sixteenth of the descriptors that the process may have, whichever is less.
pub static READERS: ReaderSlots = ReaderSlots {
    taken: AtomicUsize::new(0),
    limit: AtomicUsize::new(0),
};

impl ReaderSlots {
    /// So many slots.
    pub const fn new(limit: usize) -> Self {
        Self {
            taken: AtomicUsize::new(0),
            limit: AtomicUsize::new(limit.saturating_add(1)),
        }
    }

    /// Takes a slot, if one is free.
    pub fn take(&self) -> Option<ReaderSlot<'_>> {
        let limit = self.limit();
        self.taken
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |taken| {
                (taken < limit).then(|| taken + 1)
            })
            .ok()
            .map(|_| ReaderSlot(self))
    }

    fn limit(&self) -> usize {
        match self.limit.load(Ordering::Relaxed) {
            0 => {
                // SAFETY: a C string, as is the value, if any, which is read at once.
                let asked = unsafe {
                    let value = libc::getenv(c"BLOSC_MAX_CACHED_READERS".as_ptr());
                    (!value.is_null()).then(|| CStr::from_ptr(value))
                };
                let asked = asked.and_then(|value| value.to_str().ok());
                let limit = limit(asked, files::most_open());
                self.limit.store(limit.saturating_add(1), Ordering::Relaxed);
                limit
            }
            known => known - 1,
        }
    }
}

impl Drop for ReaderSlot<'_> {
    fn drop(&mut self) {
        self.0.taken.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The number of slots: what was asked for, if that is a number as C reads numbers, else by the descriptors there are.
fn limit(asked: Option<&str>, descriptors: Option<u64>) -> usize {
    if let Some(asked) = asked.filter(|asked| !asked.is_empty()) {
        let number = asked.trim_start();
        let digits = number.strip_prefix('+').unwrap_or(number);
        let end = digits
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(digits.len());
        // No digits at all are a zero to C; a number out of range is none.
        match digits[..end].parse::<i32>() {
            Ok(number) => return number as usize,
            Err(_) if end == 0 && !number.starts_with('-') => return 0,
            Err(_) => {}
        }
    }
    let share = descriptors.map_or(u64::MAX, |descriptors| descriptors / SHARE);
    usize::try_from(share).unwrap_or(usize::MAX).min(MOST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_taken_and_come_back() {
        let slots = ReaderSlots::new(2);
        let first = slots.take();
        let second = slots.take();
        assert!(first.is_some() && second.is_some() && slots.take().is_none());
        drop(first);
        let third = slots.take();
        assert!(third.is_some() && slots.take().is_none());
        assert!(ReaderSlots::new(0).take().is_none());
    }

    #[test]
    fn slots_under_threads() {
        let slots = ReaderSlots::new(3);
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
        assert_eq!(limit(None, Some(1 << 20)), MOST);
        assert_eq!(limit(None, None), MOST);
        assert_eq!(limit(None, Some(15)), 0);
        assert!(READERS.limit() <= i32::MAX as usize);
    }
}
