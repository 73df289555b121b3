//! A value of each thread's own, for which there may be no memory.
//!
//! `thread_local!` in a library that is loaded at run time asks the dynamic loader for memory, which ends the process where
//! there is none. This is memory from `malloc`, which the system's thread-specific data point to and `free` when the thread
//! ends.

use oxiblosc_error::{Error, Result};
use oxiblosc_system::thread::Key;
use std::cell::Cell;
use std::marker::PhantomData;
use std::ptr::null_mut;
use std::sync::OnceLock;

/// What `malloc` aligns to: a pair of pointers.
const MALLOC_ALIGN: usize = 2 * size_of::<usize>();

/// See the module.
pub struct PerThread<T> {
    /// None where the system has no more keys.
    key: OnceLock<Option<Key>>,
    value: PhantomData<fn() -> T>,
}

/// What a thread has.
struct Place<T> {
    /// How many functions that use the value are running.
    users: Cell<usize>,
    value: T,
}

/// One user of a value, until it is dropped.
struct User<'a>(&'a Cell<usize>);

impl<'a> User<'a> {
    fn of(users: &'a Cell<usize>) -> Self {
        users.set(users.get() + 1);
        Self(users)
    }
}

impl Drop for User<'_> {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}

impl<T: Default + 'static> PerThread<T> {
    /// No thread has a value yet.
    pub const fn empty() -> Self {
        const {
            assert!(
                !std::mem::needs_drop::<T>(),
                "at the end of a thread the value is freed and not dropped"
            );
            assert!(
                align_of::<Place<T>>() <= MALLOC_ALIGN,
                "`malloc` aligns no further"
            );
        }
        Self {
            key: OnceLock::new(),
            value: PhantomData,
        }
    }

    fn key(&self) -> Option<Key> {
        *self.key.get_or_init(Key::new)
    }

    /// The place of this thread, or null.
    fn place(key: Key) -> *mut Place<T> {
        key.get().cast()
    }

    fn place_or_new(key: Key) -> Result<*mut Place<T>> {
        let place = Self::place(key);
        if !place.is_null() {
            return Ok(place);
        }
        let new = Place {
            users: Cell::new(0),
            value: T::default(),
        };
        // SAFETY: the memory is large enough and aligned (see `empty`), and becomes the thread's only once it holds a value.
        unsafe {
            let place = libc::malloc(size_of::<Place<T>>()).cast::<Place<T>>();
            if place.is_null() {
                return Err(Error::MemoryAlloc);
            }
            place.write(new);
            if !key.set(place.cast()) {
                libc::free(place.cast());
                return Err(Error::MemoryAlloc);
            }
            Ok(place)
        }
    }

    /// Runs something on the value of this thread, if it has one.
    pub fn with<R>(&self, body: impl FnOnce(&T) -> R) -> Option<R> {
        // SAFETY: what the key points to is null or a value of this thread's (`place_or_new` puts nothing else there), which
        // is there until the thread ends or `discard_if` frees it; that leaves it alone while it has a user.
        let place = unsafe { Self::place(self.key()?).as_ref()? };
        let _user = User::of(&place.users);
        Some(body(&place.value))
    }

    /// Runs something on the value of this thread, which is made if there is none.
    ///
    /// # Errors
    /// [`Error::MemoryAlloc`].
    pub fn with_new<R>(&self, body: impl FnOnce(&T) -> R) -> Result<R> {
        let place = Self::place_or_new(self.key().ok_or(Error::MemoryAlloc)?)?;
        // SAFETY: as for `with`, and it is not null.
        let place = unsafe { &*place };
        let _user = User::of(&place.users);
        Ok(body(&place.value))
    }

    /// Frees the value of this thread if `unused` says so and nothing uses it.
    pub fn discard_if(&self, unused: impl FnOnce(&T) -> bool) {
        if self.with(unused) != Some(true) {
            return;
        }
        let Some(key) = self.key() else {
            return;
        };
        let place = Self::place(key);
        // SAFETY: as for `with`.
        let users = unsafe { place.as_ref() }.map(|place| place.users.get());
        if users == Some(0) {
            // SAFETY: the place came from `malloc`, and without a user there is no reference to it: there are none outside of
            // `with` and `with_new`.
            unsafe {
                libc::free(place.cast());
                key.set(null_mut());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_thread_has_its_own() {
        static VALUE: PerThread<Cell<usize>> = PerThread::empty();
        assert_eq!(VALUE.with(Cell::get), None);
        assert_eq!(VALUE.with_new(|value| value.replace(3)), Ok(0));
        std::thread::spawn(|| {
            assert_eq!(VALUE.with(Cell::get), None);
            assert_eq!(VALUE.with_new(Cell::get), Ok(0));
        })
        .join()
        .unwrap();
        VALUE.discard_if(|value| value.get() == 0);
        assert_eq!(VALUE.with(Cell::get), Some(3));
        VALUE.discard_if(|value| value.get() == 3);
        assert_eq!(VALUE.with(Cell::get), None);
    }

    #[test]
    fn what_is_used_is_not_discarded() {
        static VALUE: PerThread<Cell<usize>> = PerThread::empty();
        let inner = VALUE.with_new(|value| {
            value.set(4);
            VALUE.discard_if(|_| true);
            VALUE.with(|value| {
                VALUE.discard_if(|_| true);
                value.get()
            })
        });
        assert_eq!(inner, Ok(Some(4)));
        let panics = || VALUE.with(|_| panic!("a user that does not return"));
        assert!(std::panic::catch_unwind(panics).is_err());
        VALUE.discard_if(|value| value.get() == 4);
        assert_eq!(VALUE.with(Cell::get), None);
    }
}
