//! Thread-local values whose creation can fail.
//!
//! In a library that is loaded at run time, `thread_local!` makes the dynamic loader allocate
//! memory, and it ends the process if there is none. Here the value is in memory from `malloc`, to
//! which the system's thread-specific data point. It is freed when the thread ends.
//!
//! A process has only so many keys of thread-specific data. Where none is left, the values of all
//! threads are in a list, in which each thread looks for its own. A value in the list stays when
//! its thread ends, and becomes that of the next thread with the same number.

use crate::error::{Error, Result};
use crate::system::thread::{self, Key};
use std::cell::Cell;
use std::marker::PhantomData;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

/// The alignment of memory from `malloc`: that of a pair of pointers.
const MALLOC_ALIGN: usize = 2 * size_of::<usize>();

/// See the module.
pub struct PerThread<T> {
    key: Key,
    /// The first item of the list that is used where the system has no key.
    listed: AtomicPtr<Listed<T>>,
    value: PhantomData<fn() -> T>,
}

/// The value of one thread.
struct ThreadValue<T> {
    /// How many functions that use the value are running on the thread.
    users: Cell<usize>,
    value: T,
}

/// A value in the list. It is never freed.
struct Listed<T> {
    /// The thread that alone uses the value.
    thread: AtomicU64,
    next: *mut Self,
    value: ThreadValue<T>,
}

/// Noted for values that no thread uses.
const NO_THREAD: u64 = 0;

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

impl<T: Default> ThreadValue<T> {
    fn new() -> Self {
        Self {
            users: Cell::new(0),
            value: T::default(),
        }
    }
}

/// Memory from `malloc` that holds `value`.
fn on_heap<T>(value: T) -> Result<*mut T> {
    const {
        assert!(
            align_of::<T>() <= MALLOC_ALIGN,
            "`malloc` aligns no further"
        );
    }
    // SAFETY: the memory is large enough, and aligned by the assertion.
    unsafe {
        let slot = libc::malloc(size_of::<T>()).cast::<T>();
        if slot.is_null() {
            return Err(Error::MEMORY_ALLOC);
        }
        slot.write(value);
        Ok(slot)
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
        }
        Self {
            key: Key::unmade(),
            listed: AtomicPtr::new(null_mut()),
            value: PhantomData,
        }
    }

    /// The value of this thread, or null.
    #[inline]
    fn slot(&'static self) -> *mut ThreadValue<T> {
        match self.key.get() {
            Some(slot) => slot.cast(),
            None => self
                .item_of(thread::number())
                .map_or(null_mut(), |item| (&raw const item.value).cast_mut()),
        }
    }

    /// The first item of the list that this thread, or no thread, uses.
    #[cold]
    fn item_of(&'static self, thread: u64) -> Option<&'static Listed<T>> {
        let mut item = self.listed.load(Ordering::Acquire);
        // SAFETY: items are never freed.
        while let Some(listed) = unsafe { item.as_ref() } {
            if listed.thread.load(Ordering::Acquire) == thread {
                return Some(listed);
            }
            item = listed.next;
        }
        None
    }

    #[inline]
    fn slot_or_new(&'static self) -> Result<*mut ThreadValue<T>> {
        let slot = self.slot();
        if !slot.is_null() {
            return Ok(slot);
        }
        self.new_slot()
    }

    #[cold]
    fn new_slot(&'static self) -> Result<*mut ThreadValue<T>> {
        if self.key.get().is_none() {
            return self.new_item();
        }
        let slot = on_heap(ThreadValue::new())?;
        // SAFETY: the memory is from `malloc`, and is freed only if it is not set.
        unsafe {
            if !self.key.set(slot.cast()) {
                libc::free(slot.cast());
                return Err(Error::MEMORY_ALLOC);
            }
        }
        Ok(slot)
    }

    /// An item of the list for this thread, which has none: one that no thread uses, or a new one.
    fn new_item(&'static self) -> Result<*mut ThreadValue<T>> {
        let this = thread::number();
        while let Some(item) = self.item_of(NO_THREAD) {
            let (order, failed) = (Ordering::AcqRel, Ordering::Relaxed);
            let taken = item.thread.compare_exchange(NO_THREAD, this, order, failed);
            if taken.is_ok() {
                return Ok((&raw const item.value).cast_mut());
            }
        }
        let item = on_heap(Listed {
            thread: AtomicU64::new(this),
            next: self.listed.load(Ordering::Acquire),
            value: ThreadValue::<T>::new(),
        })?;
        loop {
            // SAFETY: no other thread has the address yet.
            let next = unsafe { (*item).next };
            let (order, failed) = (Ordering::AcqRel, Ordering::Acquire);
            match self.listed.compare_exchange(next, item, order, failed) {
                // SAFETY: as above, and it is never freed.
                Ok(_) => return Ok(unsafe { &raw mut (*item).value }),
                // SAFETY: as above.
                Err(now) => unsafe { (*item).next = now },
            }
        }
    }

    /// Calls `body` with the value of this thread, if there is one.
    #[inline]
    pub fn with<R>(&'static self, body: impl FnOnce(&T) -> R) -> Option<R> {
        // SAFETY: the slot is null or that of a value of this thread. The value lives until the
        // thread ends or `discard_if` frees it, which does not happen while it has a user.
        let slot = unsafe { self.slot().as_ref()? };
        let _user = User::of(&slot.users);
        Some(body(&slot.value))
    }

    /// Calls `body` with the value of this thread, which is created if there is none.
    ///
    /// # Errors
    /// [`Error::MEMORY_ALLOC`].
    #[inline]
    pub fn with_new<R>(&'static self, body: impl FnOnce(&T) -> R) -> Result<R> {
        let slot = self.slot_or_new()?;
        // SAFETY: as for `with`, and it is not null.
        let slot = unsafe { &*slot };
        let _user = User::of(&slot.users);
        Ok(body(&slot.value))
    }

    /// Frees the value of this thread if `unused` returns true and nothing uses it.
    pub fn discard_if(&'static self, unused: impl FnOnce(&T) -> bool) {
        if self.with(unused) != Some(true) {
            return;
        }
        let slot = self.slot();
        // SAFETY: as for `with`.
        let users = unsafe { slot.as_ref() }.map(|slot| slot.users.get());
        if users != Some(0) {
            return;
        }
        // There is no reference to the value, since references exist only inside `with` and
        // `with_new`, which count as users.
        if self.key.get().is_some() {
            // SAFETY: the slot came from `malloc`.
            unsafe {
                libc::free(slot.cast());
                self.key.set(null_mut());
            }
        } else if let Some(item) = self.item_of(thread::number()) {
            // SAFETY: the value of this thread, until the next line.
            unsafe { slot.write(ThreadValue::new()) };
            item.thread.store(NO_THREAD, Ordering::Release);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_thread_has_its_own() {
        static VALUE: PerThread<Cell<usize>> = PerThread::empty();
        each_has_its_own(&VALUE);
    }

    fn each_has_its_own(value: &'static PerThread<Cell<usize>>) {
        assert_eq!(value.with(Cell::get), None);
        assert_eq!(value.with_new(|cell| cell.replace(3)), Ok(0));
        std::thread::spawn(|| {
            assert_eq!(value.with(Cell::get), None);
            assert_eq!(value.with_new(Cell::get), Ok(0));
        })
        .join()
        .unwrap();
        value.discard_if(|cell| cell.get() == 0);
        assert_eq!(value.with(Cell::get), Some(3));
        value.discard_if(|cell| cell.get() == 3);
        assert_eq!(value.with(Cell::get), None);
    }

    #[test]
    fn what_is_used_is_not_discarded() {
        static VALUE: PerThread<Cell<usize>> = PerThread::empty();
        is_not_discarded_while_used(&VALUE);
    }

    fn is_not_discarded_while_used(value: &'static PerThread<Cell<usize>>) {
        let inner = value.with_new(|cell| {
            cell.set(4);
            value.discard_if(|_| true);
            value.with(|cell| {
                value.discard_if(|_| true);
                cell.get()
            })
        });
        assert_eq!(inner, Ok(Some(4)));
        // Without the hook for panics: a forked child has its lock as it was.
        let panics = || value.with(|_| std::panic::resume_unwind(Box::new("does not return")));
        assert!(std::panic::catch_unwind(panics).is_err());
        value.discard_if(|cell| cell.get() == 4);
        assert_eq!(value.with(Cell::get), None);
    }

    /// In a process of its own, which uses up the keys.
    #[cfg(all(unix, not(miri)))]
    #[test]
    fn without_a_key_each_thread_has_its_own() {
        static VALUE: PerThread<Cell<usize>> = PerThread::empty();
        // SAFETY: the child leaves without unwinding, and uses no lock that another thread of the
        // parent may have.
        unsafe {
            let child = libc::fork();
            if child == 0 {
                let mut key = 0;
                while libc::pthread_key_create(&mut key, None) == 0 {}
                let done = std::panic::catch_unwind(|| {
                    assert_eq!(VALUE.key.get(), None);
                    each_has_its_own(&VALUE);
                    is_not_discarded_while_used(&VALUE);
                });
                libc::_exit(i32::from(done.is_err()));
            }
            let mut status = 0;
            assert_eq!(libc::waitpid(child, &mut status, 0), child);
            assert_eq!(status, 0);
        }
    }
}
