//! A value of each thread's own, for which there may be no memory.
//!
//! `thread_local!` in a library that is loaded at run time asks the dynamic loader for memory, which ends the process where
//! there is none. This is memory from `calloc`, which the system's thread-specific data point to and `free` when the thread
//! ends.

use oxiblosc_error::{Error, Result};
use std::marker::PhantomData;
use std::sync::OnceLock;

/// A type whose bytes may all be zero.
///
/// # Safety
/// Zeros are a value of it, and dropping it does nothing.
pub unsafe trait Zeroed {}

/// See the module.
pub struct PerThread<T> {
    /// None where the system has no more keys.
    key: OnceLock<Option<libc::pthread_key_t>>,
    value: PhantomData<fn() -> T>,
}

impl<T: Zeroed> PerThread<T> {
    /// No thread has a value yet.
    pub const fn empty() -> Self {
        Self {
            key: OnceLock::new(),
            value: PhantomData,
        }
    }

    fn key(&self) -> Option<libc::pthread_key_t> {
        *self.key.get_or_init(|| {
            let mut key = 0;
            // SAFETY: the key is written; `free` takes what `get_or_new` gets from `calloc`.
            let rc = unsafe { libc::pthread_key_create(&raw mut key, Some(libc::free)) };
            (rc == 0).then_some(key)
        })
    }

    /// Runs something on the value of this thread, if it has one.
    pub fn with<R>(&self, body: impl FnOnce(&T) -> R) -> Option<R> {
        // SAFETY: the key was made; what it points to is a value of this thread's, which is there until the thread ends or
        // `discard`s it, which `body` cannot while it borrows this.
        let value = unsafe { libc::pthread_getspecific(self.key()?).cast::<T>().as_ref() };
        value.map(body)
    }

    /// Runs something on the value of this thread, which is zeros if it is new.
    ///
    /// # Errors
    /// [`Error::MemoryAlloc`].
    pub fn with_new<R>(&self, body: impl FnOnce(&T) -> R) -> Result<R> {
        let key = self.key().ok_or(Error::MemoryAlloc)?;
        // SAFETY: as for `with`; zeros are a value of this type.
        unsafe {
            let mut value = libc::pthread_getspecific(key);
            if value.is_null() {
                value = libc::calloc(1, size_of::<T>());
                if value.is_null() || libc::pthread_setspecific(key, value) != 0 {
                    libc::free(value);
                    return Err(Error::MemoryAlloc);
                }
            }
            Ok(body(&*value.cast::<T>()))
        }
    }

    /// Frees the value of this thread if `unused` says so.
    pub fn discard_if(&self, unused: impl FnOnce(&T) -> bool) {
        if self.with(unused) != Some(true) {
            return;
        }
        if let Some(key) = self.key() {
            // SAFETY: the value came from `calloc`, and nobody borrows it: that lasts no longer than `with` and `with_new`,
            // within which this is not called.
            unsafe {
                libc::free(libc::pthread_getspecific(key));
                libc::pthread_setspecific(key, std::ptr::null());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    // SAFETY: a number.
    unsafe impl Zeroed for Cell<usize> {}

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
}
