//! Values that are kept for the next use, by any thread.

use super::heap::boxed;
use oxiblosc_error::Result;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::ptr::{null_mut, without_provenance_mut};
use std::sync::atomic::{AtomicPtr, Ordering};

/// A place for one value. It holds null where it has none, [`AT_WORK`] where its value is borrowed, or else a pointer from
/// `Box::into_raw`, whose value is the slot's own.
type Slot<T> = AtomicPtr<T>;

/// The address of nothing: no value with an alignment of more than 1 is there.
const AT_WORK: usize = 1;

/// As many values as can be expected to be in use at the same time. Taking one is a single atomic exchange, leaving it a
/// store, so no thread ever waits. A `fork` leaves every slot in order, but what another thread had borrowed is lost to the
/// child, and its slot.
pub struct Depot<T: Send + 'static, const SLOTS: usize> {
    slots: [Slot<T>; SLOTS],
}

/// A value that goes back to its depot when it is dropped: into this slot, or nowhere if there was none for it.
pub struct Borrowed<T: Send + 'static> {
    value: ManuallyDrop<Box<T>>,
    /// It holds [`AT_WORK`], and no other thread stores to it.
    slot: Option<&'static Slot<T>>,
}

/// Takes the value of a slot that has one, and leaves this there for it.
#[inline(always)]
fn take<T: Send>(slot: &Slot<T>, instead: *mut T) -> Option<Box<T>> {
    let kept = slot.load(Ordering::Relaxed);
    if kept.is_null() || kept.addr() == AT_WORK {
        return None;
    }
    slot.compare_exchange(kept, instead, Ordering::Acquire, Ordering::Relaxed)
        // SAFETY: neither null nor `AT_WORK`, so it was put there with `into_raw`, and the exchange made it ours alone.
        .map(|kept| unsafe { Box::from_raw(kept) })
        .ok()
}

impl<T: Send + 'static, const SLOTS: usize> Depot<T, SLOTS> {
    /// Nothing is kept yet.
    pub const fn empty() -> Self {
        const { assert!(align_of::<T>() > AT_WORK) };
        Self {
            slots: [const { Slot::new(null_mut()) }; SLOTS],
        }
    }

    /// Takes a value that is kept, or makes one.
    ///
    /// # Errors
    /// [`Error::MemoryAlloc`](oxiblosc_error::Error::MemoryAlloc).
    #[inline(always)]
    pub fn borrow(&'static self, make: impl FnOnce() -> T) -> Result<Borrowed<T>> {
        let kept = self.slots.iter().find_map(|slot| {
            let value = take(slot, without_provenance_mut(AT_WORK))?;
            Some(Borrowed {
                value: ManuallyDrop::new(value),
                slot: Some(slot),
            })
        });
        match kept {
            Some(kept) => Ok(kept),
            None => self.make(make),
        }
    }

    /// Makes a value, for a slot that has none.
    #[cold]
    #[inline(never)]
    fn make(&'static self, make: impl FnOnce() -> T) -> Result<Borrowed<T>> {
        let value = ManuallyDrop::new(boxed(make())?);
        let free = |slot: &&Slot<T>| {
            let at_work = without_provenance_mut(AT_WORK);
            slot.compare_exchange(null_mut(), at_work, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok()
        };
        let slot = self.slots.iter().find(free);
        Ok(Borrowed { value, slot })
    }

    /// Drops all that is kept.
    pub fn release(&self) {
        for slot in &self.slots {
            drop(take(slot, null_mut()));
        }
    }
}

impl<T: Send> Borrowed<T> {
    /// Whether the value will be kept.
    pub fn has_slot(&self) -> bool {
        self.slot.is_some()
    }
}

impl<T: Send> Drop for Borrowed<T> {
    #[inline(always)]
    fn drop(&mut self) {
        // SAFETY: the field is not used after this.
        let value = unsafe { ManuallyDrop::take(&mut self.value) };
        if let Some(slot) = self.slot {
            slot.store(Box::into_raw(value), Ordering::Release);
        }
    }
}

impl<T: Send> Deref for Borrowed<T> {
    type Target = T;
    #[inline]
    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T: Send> DerefMut for Borrowed<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        &mut self.value
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicUsize;

    #[test]
    fn a_value_comes_back() {
        static DEPOT: Depot<u64, 4> = Depot::empty();
        let mut first = DEPOT.borrow(|| 1).unwrap();
        assert_eq!(*DEPOT.borrow(|| 2).unwrap(), 2);
        *first = 5;
        drop(first);
        let (again, other) = (DEPOT.borrow(|| 3).unwrap(), DEPOT.borrow(|| 4).unwrap());
        assert_eq!((*again, *other), (5, 2));
        drop((again, other));
        DEPOT.release();
        assert_eq!(*DEPOT.borrow(|| 6).unwrap(), 6);
    }

    #[test]
    fn there_are_more_values_than_slots() {
        static DEPOT: Depot<usize, 4> = Depot::empty();
        let mut all: Vec<_> = (0..9).map(|i| DEPOT.borrow(|| i).unwrap()).collect();
        assert_eq!(all.iter().filter(|value| value.has_slot()).count(), 4);
        for (i, value) in all.iter_mut().enumerate() {
            assert_eq!(**value, i);
            **value += 100;
        }
        drop(all);
        let value = DEPOT.borrow(|| 0).unwrap();
        assert!(value.has_slot(), "the slots are free again");
        assert!(*value >= 100);
    }

    #[test]
    fn every_value_is_dropped_once() {
        static DROPPED: AtomicUsize = AtomicUsize::new(0);
        struct Counts(#[expect(dead_code, reason = "for its alignment")] u32);
        impl Drop for Counts {
            fn drop(&mut self) {
                DROPPED.fetch_add(1, Ordering::Relaxed);
            }
        }
        static DEPOT: Depot<Counts, 2> = Depot::empty();
        let all = [(); 3].map(|()| DEPOT.borrow(|| Counts(7)).unwrap());
        drop(all);
        assert_eq!(DROPPED.load(Ordering::Relaxed), 1);
        DEPOT.release();
        assert_eq!(DROPPED.load(Ordering::Relaxed), 3);
    }

    #[test]
    fn no_thread_has_the_value_of_another() {
        static DEPOT: Depot<usize, 3> = Depot::empty();
        std::thread::scope(|scope| {
            for id in 1..=4 {
                scope.spawn(move || {
                    for _ in 0..if cfg!(miri) { 50 } else { 2000 } {
                        let mut value = DEPOT.borrow(|| 0).unwrap();
                        *value = id;
                        std::thread::yield_now();
                        assert_eq!(*value, id);
                    }
                });
            }
        });
    }
}
