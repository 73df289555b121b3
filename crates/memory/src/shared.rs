//! A value with several owners.

use super::heap::boxed;
use oxiblosc_error::Result;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering, fence};

/// More owners than this there cannot be: each takes memory. It leaves room for threads that count at the same time.
const MOST_OWNERS: usize = isize::MAX as usize;

/// A value, and how many own it.
#[doc(hidden)]
#[repr(C)]
pub struct Counted<T: ?Sized> {
    owners: AtomicUsize,
    value: T,
}

/// A value that lives as long as one of its owners: an `Arc` without weak owners, whose making can fail.
pub struct Shared<T: ?Sized> {
    /// From a box; freed by the last owner.
    place: NonNull<Counted<T>>,
    owns: PhantomData<Counted<T>>,
}

// SAFETY: owners in several threads share the value (so it must be `Sync`), and any of them may drop it (`Send`); the
// count is atomic.
unsafe impl<T: ?Sized + Sync + Send> Send for Shared<T> {}
// SAFETY: as above.
unsafe impl<T: ?Sized + Sync + Send> Sync for Shared<T> {}

impl<T> Shared<T> {
    /// A value with one owner.
    ///
    /// # Errors
    /// [`Error::MemoryAlloc`](oxiblosc_error::Error::MemoryAlloc); the value is dropped then.
    pub fn new(value: T) -> Result<Self> {
        let counted = boxed(Counted {
            owners: AtomicUsize::new(1),
            value,
        })?;
        Ok(Self {
            place: NonNull::from(Box::leak(counted)),
            owns: PhantomData,
        })
    }
}

impl<T: ?Sized> Shared<T> {
    /// Gives the owner away as a pointer.
    pub fn into_raw(self) -> *mut Counted<T> {
        let place = self.place.as_ptr();
        std::mem::forget(self);
        place
    }

    /// The owner that [`Self::into_raw`] gave away.
    ///
    /// # Safety
    /// `place` came from there, perhaps as a pointer to another type that the value can be seen as, and each owner is
    /// taken back once.
    pub unsafe fn from_raw(place: *mut Counted<T>) -> Self {
        Self {
            // SAFETY: `into_raw` gives no null.
            place: unsafe { NonNull::new_unchecked(place) },
            owns: PhantomData,
        }
    }

    fn counted(&self) -> &Counted<T> {
        // SAFETY: it was made by `new`, and is freed only by the last owner.
        unsafe { self.place.as_ref() }
    }
}

/// `shared_dyn!(value => dyn Trait)`: a value of which the owners know only that it has a trait.
#[macro_export]
macro_rules! shared_dyn {
    ($value:expr => dyn $trait:path) => {
        $crate::Shared::new($value).map(|shared| $crate::as_dyn!(shared => dyn $trait))
    };
}

/// `as_dyn!(shared => dyn Trait)`: the same owner, which knows only that the value has a trait.
#[macro_export]
macro_rules! as_dyn {
    ($shared:expr => dyn $trait:path) => {{
        let place: *mut $crate::Counted<dyn $trait> = $shared.into_raw();
        // SAFETY: the pointer was only made one to a trait object.
        unsafe { $crate::Shared::from_raw(place) }
    }};
}

impl<T: ?Sized> Clone for Shared<T> {
    fn clone(&self) -> Self {
        // Relaxed: an owner can be made from another without seeing what others did.
        let before = self.counted().owners.fetch_add(1, Ordering::Relaxed);
        assert!(before < MOST_OWNERS, "owners were given away and forgotten");
        Self {
            place: self.place,
            owns: PhantomData,
        }
    }
}

impl<T: ?Sized> Deref for Shared<T> {
    type Target = T;
    #[inline]
    fn deref(&self) -> &T {
        &self.counted().value
    }
}

impl<T: ?Sized> Drop for Shared<T> {
    fn drop(&mut self) {
        // Release: what this owner did with the value comes before its end, which the last one sees by its fence.
        if self.counted().owners.fetch_sub(1, Ordering::Release) == 1 {
            fence(Ordering::Acquire);
            // SAFETY: this was the last owner, and the place came from a box of this type, or one seen as this type.
            drop(unsafe { Box::from_raw(self.place.as_ptr()) });
        }
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for Shared<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Counts<'a>(&'a AtomicUsize);
    trait Count: Send + Sync {
        fn dropped(&self) -> usize;
    }
    impl Count for Counts<'static> {
        fn dropped(&self) -> usize {
            self.0.load(Ordering::SeqCst)
        }
    }
    impl Drop for Counts<'_> {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    #[test]
    fn the_last_owner_drops_the_value() {
        let dropped = AtomicUsize::new(0);
        let one = Shared::new(Counts(&dropped)).unwrap();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                let another = one.clone();
                scope.spawn(move || {
                    for _ in 0..if cfg!(miri) { 50 } else { 1000 } {
                        drop(another.clone());
                    }
                });
            }
        });
        assert_eq!(dropped.load(Ordering::SeqCst), 0);
        drop(one);
        assert_eq!(dropped.load(Ordering::SeqCst), 1);
    }

    #[test]
    fn owners_of_what_has_a_trait_and_owners_given_away() {
        static DROPPED: AtomicUsize = AtomicUsize::new(0);
        let one: Shared<dyn Count> = shared_dyn!(Counts(&DROPPED) => dyn Count).unwrap();
        let raw = one.clone().into_raw();
        drop(one);
        assert_eq!(DROPPED.load(Ordering::SeqCst), 0);
        // SAFETY: given away once.
        let last = unsafe { Shared::from_raw(raw) };
        assert_eq!(last.dropped(), 0);
        drop(last);
        assert_eq!(DROPPED.load(Ordering::SeqCst), 1);
    }
}
