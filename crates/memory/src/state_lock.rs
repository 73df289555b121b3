//! A value that many threads read and one at a time changes, and its lock.
//!
//! It has the levels that SQLite's locks have. Readers share it. One thread at a time may *reserve* it to prepare a change,
//! while readers go on; to make the change it waits until the readers have left and has it *exclusively*. Readers that
//! arrive while a change waits for this wait behind it, so that readers that always overlap cannot starve it. Readers that are
//! part of an operation that is already reading do not wait: it could never end.
//!
//! To read costs one atomic operation, and another to end: it is what a program does for each small chunk.

#[cfg(all(test, loom))]
use loom::cell::UnsafeCell;
#[cfg(all(test, loom))]
use loom::sync::atomic::{AtomicUsize, Ordering};
#[cfg(all(test, loom))]
use loom::sync::{Condvar, Mutex, MutexGuard};
#[cfg(not(all(test, loom)))]
use std::cell::UnsafeCell;
use std::ops::{Deref, DerefMut};
use std::sync::PoisonError;
#[cfg(not(all(test, loom)))]
use std::sync::atomic::{AtomicUsize, Ordering};
#[cfg(not(all(test, loom)))]
use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// When somebody who waits has lost patience.
fn end_of(patience: Option<Duration>) -> Option<Instant> {
    patience.map(|patience| Instant::now() + patience)
}

/// A writer has the value exclusively.
const EXCLUSIVE: usize = 1;
/// A writer waits for the readers to leave.
const PENDING: usize = 2;
/// One reader.
const READER: usize = 4;
/// One reader within an operation that keeps changes out already. They are counted apart in the upper half of the word, since they are
/// on the threads of other readers.
const NESTED: usize = 1 << (usize::BITS / 2);
/// The most readers of each kind. There cannot be so many threads; but who forgets guards must not make the count run over.
const MOST: usize = (NESTED / READER) - 1;

/// See the module.
///
/// The word and the queue come first, so that a value whose own fields come in the order in which they are declared can keep what is often
/// read away from them.
#[repr(C)]
pub struct StateLock<T> {
    /// [`EXCLUSIVE`], [`PENDING`], and [`READER`] and [`NESTED`] as often as there are readers.
    word: AtomicUsize,
    /// Every thread that waits, for whatever reason, sleeps with this mutex.
    queue: Mutex<Queue>,
    changed: Condvar,
    value: UnsafeCell<T>,
}

// SAFETY: the value goes to other threads with the lock, or by reference to several threads that read it at the same time, or as a
// mutable reference to one that has it exclusively.
unsafe impl<T: Send + Sync> Sync for StateLock<T> {}

/// What changes under the mutex alone.
#[derive(Default)]
struct Queue {
    /// Whether the value is reserved.
    reserved: bool,
    /// How many threads sleep. To wake them is a system call even if there are none.
    sleeping: usize,
}

impl<T> StateLock<T> {
    /// A value that nobody has locked.
    pub fn new(value: T) -> Self {
        Self {
            word: AtomicUsize::new(0),
            queue: Mutex::new(Queue::default()),
            changed: Condvar::new(),
            value: UnsafeCell::new(value),
        }
    }

    /// The value, for the owner of the lock.
    pub fn into_inner(self) -> T {
        self.value.into_inner()
    }

    /// The same, in place.
    #[cfg(not(all(test, loom)))]
    pub fn get_mut(&mut self) -> &mut T {
        self.value.get_mut()
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sleeps until something may have changed. None after `end`, if there is one.
    fn wait<'a>(
        &self,
        mut queue: MutexGuard<'a, Queue>,
        end: Option<Instant>,
    ) -> Option<MutexGuard<'a, Queue>> {
        let left = match end {
            Some(end) => Some(end.checked_duration_since(Instant::now())?),
            None => None,
        };
        queue.sleeping += 1;
        let mut queue = match left {
            Some(left) => {
                let waited = self.changed.wait_timeout(queue, left);
                waited.unwrap_or_else(PoisonError::into_inner).0
            }
            None => {
                let waited = self.changed.wait(queue);
                waited.unwrap_or_else(PoisonError::into_inner)
            }
        };
        queue.sleeping -= 1;
        Some(queue)
    }

    /// Wakes the threads that sleep, after a change that was made before the mutex was locked, or under it: a thread that waits has
    /// either seen the change or sleeps by now.
    #[cold]
    fn wake(&self, queue: MutexGuard<'_, Queue>) {
        let sleeping = queue.sleeping > 0;
        drop(queue);
        if sleeping {
            self.changed.notify_all();
        }
    }

    /// Adds a reader of this kind unless one of the bits `blocked` is set.
    #[inline(always)]
    fn add(&self, reader: usize, blocked: usize) -> Option<Shared<'_, T>> {
        let mut word = self.word.load(Ordering::Relaxed);
        while word & blocked == 0 && word / reader % (NESTED / READER) < MOST {
            // Acquire: what the last writer wrote comes before what is read now.
            match self.word.compare_exchange_weak(
                word,
                word + reader,
                Ordering::Acquire,
                Ordering::Relaxed,
            ) {
                Ok(_) => return Some(Shared { lock: self, reader }),
                Err(now) => word = now,
            }
        }
        None
    }

    /// Becomes a reader.
    #[inline(always)]
    pub fn shared(&self) -> Shared<'_, T> {
        let blocked = EXCLUSIVE | PENDING;
        loop {
            let shared = self.add(READER, blocked);
            if let Some(shared) = shared.or_else(|| self.shared_later(blocked, None)) {
                return shared;
            }
        }
    }

    /// Becomes a reader, where this thread, or one that waits for it, is in the middle of another operation: it does not wait behind a
    /// writer that waits for the readers to leave, and for one that has the value at most so long.
    #[inline(always)]
    pub fn shared_within(&self, patience: Duration) -> Option<Shared<'_, T>> {
        let shared = self.add(READER, EXCLUSIVE);
        shared.or_else(|| self.shared_later(EXCLUSIVE, Some(patience)))
    }

    #[cold]
    fn shared_later(&self, blocked: usize, patience: Option<Duration>) -> Option<Shared<'_, T>> {
        let end = end_of(patience);
        let mut queue = self.queue();
        loop {
            if let Some(shared) = self.add(READER, blocked) {
                return Some(shared);
            }
            queue = self.wait(queue, end)?;
        }
    }

    /// Becomes a reader within an operation that reads, or has the value reserved: it keeps changes out already. None where the operation
    /// has it exclusively.
    #[inline(always)]
    pub fn nested(&self) -> Option<Shared<'_, T>> {
        self.add(NESTED, EXCLUSIVE)
    }

    /// Whether more than one thread reads.
    #[inline(always)]
    pub fn has_several_readers(&self) -> bool {
        self.word.load(Ordering::Relaxed) % NESTED >= 2 * READER
    }

    /// Reserves the value for a change, once no other thread has it reserved. None where it waited for as long as `patience`.
    pub fn reserve(&self, patience: Option<Duration>) -> Option<Reserved<'_, T>> {
        let end = end_of(patience);
        let mut queue = self.queue();
        while queue.reserved {
            queue = self.wait(queue, end)?;
        }
        queue.reserved = true;
        Some(Reserved(self))
    }

    /// Waits until no reader is left; new ones wait from now on. For the thread that reserved the value, which is no reader. None where it
    /// waited for as long as `patience`, and where those that are left are nested ones alone: while an operation reads they have a reader
    /// beside them, so they are of the operation that reserved the value, which would wait for itself.
    pub fn upgrade(&self, patience: Option<Duration>) -> Option<Exclusive<'_, T>> {
        if self.take_exclusive() {
            return Some(Exclusive(self));
        }
        let end = end_of(patience);
        let mut queue = self.queue();
        loop {
            let word = self.word.fetch_or(PENDING, Ordering::Relaxed);
            if self.take_exclusive() {
                return Some(Exclusive(self));
            }
            let waits_for_itself = word >= NESTED && word % NESTED < READER;
            let waited = match waits_for_itself {
                true => Err(queue),
                false => self.wait(queue, end).ok_or_else(|| self.queue()),
            };
            match waited {
                Ok(waited) => queue = waited,
                Err(queue) => {
                    self.word.fetch_and(!PENDING, Ordering::Relaxed);
                    self.wake(queue);
                    return None;
                }
            }
        }
    }

    /// Has the value exclusively if nobody else has it.
    fn take_exclusive(&self) -> bool {
        let mut word = self.word.load(Ordering::Relaxed);
        while word & !PENDING == 0 {
            // Acquire: what the last readers read comes before what is written now.
            match self.word.compare_exchange_weak(
                word,
                EXCLUSIVE,
                Ordering::Acquire,
                Ordering::Relaxed,
            ) {
                Ok(_) => return true,
                Err(now) => word = now,
            }
        }
        false
    }

    fn leave_exclusive(&self, readers: usize) {
        // Release: what was written comes before what readers read.
        self.word.store(readers, Ordering::Release);
        self.wake(self.queue());
    }
}

/// The right to read. It ends when this is dropped.
pub struct Shared<'a, T> {
    lock: &'a StateLock<T>,
    /// [`READER`] or [`NESTED`].
    reader: usize,
}

impl<T> Deref for Shared<'_, T> {
    type Target = T;

    #[cfg(not(all(test, loom)))]
    #[inline(always)]
    fn deref(&self) -> &T {
        // SAFETY: this was counted when no thread had the value exclusively, and as long as it is counted none gets it so.
        unsafe { &*self.lock.value.get() }
    }

    #[cfg(all(test, loom))]
    fn deref(&self) -> &T {
        // SAFETY: as above; loom checks it.
        self.lock.value.with(|value| unsafe { &*value })
    }
}

impl<T> Drop for Shared<'_, T> {
    #[inline(always)]
    fn drop(&mut self) {
        // Release: what the reader read comes before what the next writer writes.
        let before = self.lock.word.fetch_sub(self.reader, Ordering::Release);
        if before & PENDING != 0 {
            self.lock.wake(self.lock.queue());
        }
    }
}

/// A reservation of the value: other threads may read it, but not reserve it.
pub struct Reserved<'a, T>(&'a StateLock<T>);

impl<T> Drop for Reserved<'_, T> {
    fn drop(&mut self) {
        let mut queue = self.0.queue();
        queue.reserved = false;
        self.0.wake(queue);
    }
}

/// The right to change. It ends when this is dropped.
pub struct Exclusive<'a, T>(&'a StateLock<T>);

impl<'a, T> Exclusive<'a, T> {
    /// Becomes the first reader of what was written.
    pub fn into_shared(self) -> Shared<'a, T> {
        let lock = self.0;
        std::mem::forget(self);
        lock.leave_exclusive(READER);
        Shared {
            lock,
            reader: READER,
        }
    }
}

#[cfg(not(all(test, loom)))]
impl<T> Deref for Exclusive<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: the word says that there are no readers and no other writer, and lets none in as long as this is there.
        unsafe { &*self.0.value.get() }
    }
}

#[cfg(not(all(test, loom)))]
impl<T> DerefMut for Exclusive<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as in `deref`; and there is one of these at a time, which is borrowed mutably.
        unsafe { &mut *self.0.value.get() }
    }
}

#[cfg(all(test, loom))]
impl<T> Deref for Exclusive<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: loom checks it.
        self.0.value.with(|value| unsafe { &*value })
    }
}

#[cfg(all(test, loom))]
impl<T> DerefMut for Exclusive<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: loom checks it.
        self.0.value.with_mut(|value| unsafe { &mut *value })
    }
}

impl<T> Drop for Exclusive<'_, T> {
    fn drop(&mut self) {
        self.0.leave_exclusive(0);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicBool;

    #[test]
    fn readers_that_overlap_for_ever_keep_no_change_waiting() {
        let (lock, done) = (StateLock::new(0), AtomicBool::new(false));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    while !done.load(Ordering::Relaxed) {
                        let _shared = lock.shared();
                        std::thread::sleep(Duration::from_micros(200));
                    }
                });
            }
            for _ in 0..if cfg!(miri) { 5 } else { 100 } {
                let _reserved = lock.reserve(None);
                *lock.upgrade(None).expect("no nested reader") += 1;
            }
            done.store(true, Ordering::Relaxed);
        });
        assert_eq!(lock.into_inner(), if cfg!(miri) { 5 } else { 100 });
    }

    #[test]
    fn readers_within_an_operation_pass_who_waits() {
        let lock = StateLock::new(0);
        let outer = lock.shared();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let _reserved = lock.reserve(None);
                *lock.upgrade(None).expect("no nested reader") += 1;
            });
            while lock.word.load(Ordering::Relaxed) & PENDING == 0 {
                std::thread::yield_now();
            }
            assert!(lock.add(READER, EXCLUSIVE | PENDING).is_none());
            assert_eq!(lock.shared_within(Duration::ZERO).as_deref(), Some(&0));
            assert_eq!(lock.nested().as_deref(), Some(&0));
            drop(outer);
        });
        assert_eq!(*lock.shared(), 1);
    }

    #[test]
    fn who_has_it_exclusively_lets_nobody_in() {
        let mut lock = StateLock::new(5);
        *lock.get_mut() += 1;
        let mut exclusive = lock.upgrade(None).expect("no reader");
        *exclusive += 1;
        assert!(lock.nested().is_none() && !lock.take_exclusive());
        let shared = exclusive.into_shared();
        assert!(!lock.take_exclusive());
        assert_eq!((*shared, lock.nested().as_deref()), (7, Some(&7)));
    }

    #[test]
    fn an_operation_does_not_wait_for_its_own_readers() {
        let lock = StateLock::new(0);
        let reserved = lock.reserve(None);
        let nested = lock.nested();
        assert!(nested.is_some() && lock.upgrade(None).is_none());
        // Nobody waits behind a change that was not made.
        assert_eq!(*lock.shared(), 0);
        drop(nested);
        *lock.upgrade(None).expect("no reader") += 1;
        drop(reserved);
        assert_eq!(lock.into_inner(), 1);
    }

    #[test]
    fn nested_readers_are_no_further_threads() {
        let lock = StateLock::new(());
        let one = lock.shared();
        let nested = [(); 3].map(|()| lock.nested());
        assert!(nested.iter().all(Option::is_some) && !lock.has_several_readers());
        let two = lock.shared_within(Duration::ZERO);
        assert!(lock.has_several_readers());
        drop((one, two));
        assert!(!lock.take_exclusive());
        drop(nested);
        assert!(lock.take_exclusive());
    }

    #[test]
    fn forgotten_readers_do_not_run_over() {
        let lock = StateLock::new(());
        lock.word.store((MOST - 1) * READER, Ordering::Relaxed);
        std::mem::forget(lock.add(READER, EXCLUSIVE));
        assert!(lock.add(READER, EXCLUSIVE).is_none());
        lock.word.store((MOST - 1) * NESTED, Ordering::Relaxed);
        std::mem::forget(lock.nested());
        assert!(lock.nested().is_none() && !lock.has_several_readers());
    }
}
