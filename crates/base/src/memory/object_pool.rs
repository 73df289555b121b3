//! An object pool: values that are kept for the next use, by any thread.

use super::heap::boxed;
use crate::error::Result;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::ptr::{null_mut, without_provenance_mut};
use std::sync::atomic::{AtomicPtr, Ordering};

/// A place for one value: null if it is empty, [`BORROWED`] if its value is in use, otherwise a
/// pointer from `Box::into_raw` that the slot owns.
type Slot<T> = AtomicPtr<T>;

/// Not the address of any value, since values have an alignment of more than 1.
const BORROWED: usize = 1;

/// A pool of up to `SLOTS` values, as many as are expected to be in use at the same time. To borrow
/// a value is one atomic exchange, to return it one store, so no thread waits. After a `fork` every
/// slot is valid in the child; those whose values other threads had borrowed stay unused.
pub struct ObjectPool<T: Send + 'static, const SLOTS: usize> {
    slots: [Slot<T>; SLOTS],
}

/// A borrowed value. It goes back to its slot when it is dropped; without a slot it is freed.
pub struct Borrowed<T: Send + 'static> {
    value: ManuallyDrop<Box<T>>,
    /// It holds [`BORROWED`], and no other thread stores to it.
    slot: Option<&'static Slot<T>>,
}

/// Takes the value of a slot, if it has one, and leaves `instead` in its place.
#[inline(always)]
fn take<T: Send>(slot: &Slot<T>, instead: *mut T) -> Option<Box<T>> {
    let kept = slot.load(Ordering::Relaxed);
    if kept.is_null() || kept.addr() == BORROWED {
        return None;
    }
    slot.compare_exchange(kept, instead, Ordering::Acquire, Ordering::Relaxed)
        // SAFETY: it is neither null nor `BORROWED`, so it came from `into_raw`; by the exchange no
        // other thread can take it.
        .map(|kept| unsafe { Box::from_raw(kept) })
        .ok()
}

/// The slot out of `slots` at which a thread begins to search. It depends on `stack`, the address
/// of a local variable, which is quicker to find out than the thread's identity.
#[inline(always)]
fn first_slot(stack: usize, slots: usize) -> usize {
    // Multiplicative hashing by the golden ratio: stacks at equal distances get different slots.
    let hash = ((stack >> 20) as u32).wrapping_mul(0x9e37_79b9);
    ((u64::from(hash) * slots as u64) >> 32) as usize
}

impl<T: Send + 'static, const SLOTS: usize> ObjectPool<T, SLOTS> {
    /// An empty pool.
    pub const fn empty() -> Self {
        const { assert!(align_of::<T>() > BORROWED) };
        Self {
            slots: [const { Slot::new(null_mut()) }; SLOTS],
        }
    }

    /// Borrows a value that is kept, or makes a new one. A thread looks first for the value that it
    /// had last, which is still in its processor's cache.
    ///
    /// # Errors
    /// [`Error::MEMORY_ALLOC`](crate::error::Error::MEMORY_ALLOC).
    #[inline(always)]
    pub fn borrow(&'static self, make: impl FnOnce() -> T) -> Result<Borrowed<T>> {
        let local = 0_u8;
        let first = first_slot((&raw const local).addr(), SLOTS);
        let slot = &self.slots[first];
        match take(slot, without_provenance_mut(BORROWED)) {
            Some(value) => Ok(Borrowed {
                value: ManuallyDrop::new(value),
                slot: Some(slot),
            }),
            None => self.search(first, make),
        }
    }

    /// Borrows a value from another slot than the thread's `first`, or makes a new one. If `first`
    /// is empty, the value moves there, so that each thread soon has one of its own.
    #[inline(never)]
    fn search(&'static self, first: usize, make: impl FnOnce() -> T) -> Result<Borrowed<T>> {
        let borrowed = without_provenance_mut(BORROWED);
        let claim = |slot: &&Slot<T>| {
            slot.compare_exchange(null_mut(), borrowed, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok()
        };
        let (before, from) = self.slots.split_at(first);
        let (own, behind) = (&from[0], &from[1..]);
        let mut others = behind.iter().chain(before);
        let (slot, kept) = if claim(&own) {
            (Some(own), others.find_map(|slot| take(slot, null_mut())))
        } else {
            let in_place = |slot| Some((slot, take(slot, borrowed)?));
            match others.clone().find_map(in_place) {
                Some((slot, value)) => (Some(slot), Some(value)),
                None => (others.find(claim), None),
            }
        };
        match kept.map_or_else(|| boxed(make()), Ok) {
            Ok(value) => Ok(Borrowed {
                value: ManuallyDrop::new(value),
                slot,
            }),
            Err(error) => {
                if let Some(slot) = slot {
                    slot.store(null_mut(), Ordering::Relaxed);
                }
                Err(error)
            }
        }
    }

    /// Drops all values that are not borrowed.
    pub fn release(&self) {
        for slot in &self.slots {
            drop(take(slot, null_mut()));
        }
    }
}

impl<T: Send> Borrowed<T> {
    /// Whether the value will be kept when it is returned.
    pub fn has_slot(&self) -> bool {
        self.slot.is_some()
    }
}

impl<T: Send> Drop for Borrowed<T> {
    #[inline(always)]
    fn drop(&mut self) {
        // SAFETY: the field is not used after this, as `self` is being dropped.
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
        static DEPOT: ObjectPool<u64, 4> = ObjectPool::empty();
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
    fn threads_begin_at_different_slots() {
        for megabytes in [1, 2, 4, 8, 16] {
            let stack = |thread: usize| (1 << 30) + thread * ((megabytes << 20) + 4096);
            let mut slots: Vec<_> = (0..8).map(|thread| first_slot(stack(thread), 32)).collect();
            slots.sort_unstable();
            slots.dedup();
            assert!(slots.len() >= 7, "{megabytes} MB: {slots:?}");
        }
        assert_eq!(first_slot(usize::MAX, 1), 0);
    }

    #[test]
    fn a_value_moves_to_the_thread_that_uses_it() {
        static DEPOT: ObjectPool<u64, 4> = ObjectPool::empty();
        let created = || DEPOT.borrow(|| 0).map(|mut value| *value += 1).unwrap();
        for _ in 0..5 {
            created();
            std::thread::scope(|scope| scope.spawn(created).join().unwrap());
        }
        assert_eq!(*DEPOT.borrow(|| 0).unwrap(), 10, "there is only one value");
    }

    #[test]
    fn there_are_more_values_than_slots() {
        static DEPOT: ObjectPool<usize, 4> = ObjectPool::empty();
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
        struct DropCounter(#[expect(dead_code, reason = "for its alignment")] u32);
        impl Drop for DropCounter {
            fn drop(&mut self) {
                DROPPED.fetch_add(1, Ordering::Relaxed);
            }
        }
        static DEPOT: ObjectPool<DropCounter, 2> = ObjectPool::empty();
        let all = [(); 3].map(|()| DEPOT.borrow(|| DropCounter(7)).unwrap());
        drop(all);
        assert_eq!(DROPPED.load(Ordering::Relaxed), 1);
        DEPOT.release();
        assert_eq!(DROPPED.load(Ordering::Relaxed), 3);
    }

    #[test]
    fn no_thread_has_the_value_of_another() {
        static DEPOT: ObjectPool<usize, 3> = ObjectPool::empty();
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
