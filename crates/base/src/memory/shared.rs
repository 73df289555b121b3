//! A value with several owners.

use super::heap::boxed;
use crate::error::Result;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering, fence};

/// The limit for the number of owners. It cannot be reached without leaking them, as each takes
/// memory. It is far below the largest count, so that threads that increment it at the same time
/// cannot overflow it.
const MAX_OWNERS: usize = isize::MAX as usize;

/// A value and the number of its owners.
#[doc(hidden)]
#[repr(C)]
pub struct Counted<T: ?Sized> {
    owners: AtomicUsize,
    value: T,
}

/// A value with several owners: like `Arc`, but creating it can fail, and there are no weak
/// references.
pub struct Shared<T: ?Sized> {
    /// From a box. The last owner frees it.
    ptr: NonNull<Counted<T>>,
    owns: PhantomData<Counted<T>>,
}

// SAFETY: owners on several threads share the value, so it must be `Sync`, and any of them may be
// the one that drops it, so it must be `Send`. The count is atomic.
unsafe impl<T: ?Sized + Sync + Send> Send for Shared<T> {}
// SAFETY: as above.
unsafe impl<T: ?Sized + Sync + Send> Sync for Shared<T> {}

impl<T> Shared<T> {
    /// A value with one owner.
    ///
    /// # Errors
    /// [`Error::MEMORY_ALLOC`](crate::error::Error::MEMORY_ALLOC); the value is dropped then.
    pub fn new(value: T) -> Result<Self> {
        let counted = boxed(Counted {
            owners: AtomicUsize::new(1),
            value,
        })?;
        Ok(Self {
            ptr: NonNull::from(Box::leak(counted)),
            owns: PhantomData,
        })
    }
}

impl<T: ?Sized> Shared<T> {
    /// Turns the owner into a pointer, without changing the count.
    pub fn into_raw(self) -> *mut Counted<T> {
        let ptr = self.ptr.as_ptr();
        std::mem::forget(self);
        ptr
    }

    /// Turns a pointer from [`Self::into_raw`] back into an owner.
    ///
    /// # Safety
    /// `ptr` came from there, perhaps coerced to a pointer to a trait object, and each owner is
    /// turned back once.
    pub unsafe fn from_raw(ptr: *mut Counted<T>) -> Self {
        Self {
            // SAFETY: by `# Safety` the pointer is from `into_raw`, which never returns null.
            ptr: unsafe { NonNull::new_unchecked(ptr) },
            owns: PhantomData,
        }
    }

    fn counted(&self) -> &Counted<T> {
        // SAFETY: the pointer is from `new`, and only the last owner frees it.
        unsafe { self.ptr.as_ref() }
    }
}

/// `shared_dyn!(value => dyn Trait)`: a `Shared<dyn Trait>` with this value.
#[macro_export]
macro_rules! shared_dyn {
    ($value:expr => dyn $trait:path) => {
        $crate::memory::Shared::new($value).map(|shared| $crate::memory::as_dyn!(shared => dyn $trait))
    };
}

/// `as_dyn!(shared => dyn Trait)`: converts an owner to a `Shared<dyn Trait>`.
#[macro_export]
macro_rules! as_dyn {
    ($shared:expr => dyn $trait:path) => {{
        let ptr: *mut $crate::memory::Counted<dyn $trait> = $shared.into_raw();
        // SAFETY: the pointer is from `into_raw` in this macro, and was only coerced to a trait
        // object.
        unsafe { $crate::memory::Shared::from_raw(ptr) }
    }};
}

impl<T: ?Sized> Clone for Shared<T> {
    fn clone(&self) -> Self {
        // Relaxed: a new owner comes from an existing one, so nothing has to be seen that other
        // threads did.
        let before = self.counted().owners.fetch_add(1, Ordering::Relaxed);
        assert!(before < MAX_OWNERS, "owners were given away and forgotten");
        Self {
            ptr: self.ptr,
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
        // Release: what this owner did with the value happens before the last owner drops it, which
        // has an acquire fence.
        if self.counted().owners.fetch_sub(1, Ordering::Release) == 1 {
            fence(Ordering::Acquire);
            // SAFETY: this was the last owner, and the pointer came from a box, perhaps coerced to
            // a trait object.
            drop(unsafe { Box::from_raw(self.ptr.as_ptr()) });
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

    struct DropCounter<'a>(&'a AtomicUsize);
    trait Count: Send + Sync {
        fn dropped(&self) -> usize;
    }
    impl Count for DropCounter<'static> {
        fn dropped(&self) -> usize {
            self.0.load(Ordering::SeqCst)
        }
    }
    impl Drop for DropCounter<'_> {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    #[test]
    fn the_last_owner_drops_the_value() {
        let dropped = AtomicUsize::new(0);
        let one = Shared::new(DropCounter(&dropped)).unwrap();
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
        let one: Shared<dyn Count> = shared_dyn!(DropCounter(&DROPPED) => dyn Count).unwrap();
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
