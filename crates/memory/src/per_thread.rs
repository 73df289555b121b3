//! Thread-local values whose creation can fail.
//!
//! In a library that is loaded at run time, `thread_local!` makes the dynamic loader allocate memory, and it ends the process if there is none. Here
//! the value is in memory from `malloc`, to which the system's thread-specific data point. It is freed when the thread ends.

use oxiblosc_error::{Error, Result};
use oxiblosc_system::thread::Key;
use std::cell::Cell;
use std::marker::PhantomData;
use std::ptr::null_mut;
use std::sync::OnceLock;

/// The alignment of memory from `malloc`: that of a pair of pointers.
const MALLOC_ALIGN: usize = 2 * size_of::<usize>();

/// See the module.
pub struct PerThread<T> {
    /// None if the system has no more keys.
    key: OnceLock<Option<Key>>,
    value: PhantomData<fn() -> T>,
}

/// The value of one thread.
struct ThreadValue<T> {
    /// How many functions that use the value are running on the thread.
    users: Cell<usize>,
    value: T,
}

/// Counts as one user of the value until it is dropped.
struct User<'a>(&'a Cell<usize>);

impl<'a> User<'a> {
    #[inline]
    fn of(users: &'a Cell<usize>) -> Self {
        users.set(users.get() + 1);
        Self(users)
    }
}

impl Drop for User<'_> {
    #[inline]
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
                align_of::<ThreadValue<T>>() <= MALLOC_ALIGN,
                "`malloc` aligns no further"
            );
        }
        Self {
            key: OnceLock::new(),
            value: PhantomData,
        }
    }

    #[inline]
    fn key(&self) -> Option<Key> {
        *self.key.get_or_init(Key::new)
    }

    /// The place of this thread, or null.
    #[inline]
    fn place(key: Key) -> *mut ThreadValue<T> {
        key.get().cast()
    }

    #[inline]
    fn place_or_new(key: Key) -> Result<*mut ThreadValue<T>> {
        let place = Self::place(key);
        if !place.is_null() {
            return Ok(place);
        }
        let new = ThreadValue {
            users: Cell::new(0),
            value: T::default(),
        };
        // SAFETY: the memory is large enough, and aligned by the assertion in `empty`. It is stored under the key only after it holds a value.
        unsafe {
            let place = libc::malloc(size_of::<ThreadValue<T>>()).cast::<ThreadValue<T>>();
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

    /// Calls `body` with the value of this thread, if there is one.
    #[inline]
    pub fn with<R>(&self, body: impl FnOnce(&T) -> R) -> Option<R> {
        // SAFETY: the key's pointer is null or that of a value of this thread (`place_or_new` stores nothing else). The value lives until the thread
        // ends or `discard_if` frees it, which does not happen while it has a user.
        let place = unsafe { Self::place(self.key()?).as_ref()? };
        let _user = User::of(&place.users);
        Some(body(&place.value))
    }

    /// Calls `body` with the value of this thread, which is created if there is none.
    ///
    /// # Errors
    /// [`Error::MemoryAlloc`].
    #[inline]
    pub fn with_new<R>(&self, body: impl FnOnce(&T) -> R) -> Result<R> {
        let place = Self::place_or_new(self.key().ok_or(Error::MemoryAlloc)?)?;
        // SAFETY: as for `with`, and it is not null.
        let place = unsafe { &*place };
        let _user = User::of(&place.users);
        Ok(body(&place.value))
    }

    /// Frees the value of this thread if `unused` returns true and nothing uses it.
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
            // SAFETY: the place came from `malloc`. There is no reference to it, since references exist only inside `with` and `with_new`, which
            // count as users.
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
