//! A lock for a value that many threads read and one at a time changes.
//!
//! It has the levels of SQLite's locks. Readers hold it *shared*. One thread at a time
//! may *reserve* it to prepare a change, while others go on reading. To make the change, that
//! thread waits until the readers have left, and then holds the lock *exclusively*. While it waits,
//! new readers wait, too, so that readers that always overlap cannot starve it. Only readers that
//! are part of an operation that already reads do not wait: the operation could never end.
//!
//! To lock for reading is one atomic operation, and so is to unlock, as a program does both for
//! each small chunk.

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

/// The end of a wait with this timeout.
fn deadline(timeout: Option<Duration>) -> Option<Instant> {
    timeout.map(|timeout| Instant::now() + timeout)
}

/// A writer holds the lock exclusively.
const EXCLUSIVE: usize = 1;
/// A writer waits for the readers to leave.
const PENDING: usize = 2;
/// One reader.
const READER: usize = 4;
/// One reader within an operation that already keeps writers out. Such readers are counted
/// separately, in the upper half of the word.
const NESTED: usize = 1 << (usize::BITS / 2);
/// The largest number of readers of each kind. There are never so many threads, but leaked guards
/// must not overflow the count.
const MAX_READERS: usize = (NESTED / READER) - 1;

/// See the module.
///
/// The word and the queue come first, so that a value with `repr(C)` can keep the fields that are
/// read often on other cache lines.
#[repr(C)]
pub struct StateLock<T> {
    /// The bits [`EXCLUSIVE`] and [`PENDING`], and [`READER`] and [`NESTED`] times their numbers of
    /// readers.
    word: AtomicUsize,
    /// The mutex of the condition variable on which all waiting threads sleep.
    queue: Mutex<Queue>,
    changed: Condvar,
    value: UnsafeCell<T>,
}

// SAFETY: threads share the value while they read it, which `T: Sync` allows, or one has a mutable
// reference to it, which `T: Send` allows.
unsafe impl<T: Send + Sync> Sync for StateLock<T> {}

/// What only changes under the mutex.
#[derive(Default)]
struct Queue {
    /// Whether the value is reserved.
    reserved: bool,
    /// How many threads sleep. It is kept because to wake them is a system call, even if there are
    /// none.
    sleeping: usize,
}

impl<T> StateLock<T> {
    /// An unlocked value.
    pub fn new(value: T) -> Self {
        Self {
            word: AtomicUsize::new(0),
            queue: Mutex::new(Queue::default()),
            changed: Condvar::new(),
            value: UnsafeCell::new(value),
        }
    }

    /// Consumes the lock and returns the value.
    pub fn into_inner(self) -> T {
        self.value.into_inner()
    }

    /// A mutable reference to the value. It needs no locking, as `self` is borrowed mutably.
    #[cfg(not(all(test, loom)))]
    pub fn get_mut(&mut self) -> &mut T {
        self.value.get_mut()
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sleeps until something may have changed. None if the deadline has passed.
    fn wait<'a>(
        &self,
        mut queue: MutexGuard<'a, Queue>,
        deadline: Option<Instant>,
    ) -> Option<MutexGuard<'a, Queue>> {
        let left = match deadline {
            Some(deadline) => Some(deadline.checked_duration_since(Instant::now())?),
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

    /// Wakes the threads that sleep. The change for which they are woken was made before the mutex
    /// was locked, or under it, so each of them has either seen it or sleeps by now.
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
    fn add(&self, reader: usize, blocked: usize) -> Option<Reader<'_, T>> {
        let mut word = self.word.load(Ordering::Relaxed);
        while word & blocked == 0 && word / reader % (NESTED / READER) < MAX_READERS {
            // Acquire: what the last writer wrote happens before what is read now.
            match self.word.compare_exchange_weak(
                word,
                word + reader,
                Ordering::Acquire,
                Ordering::Relaxed,
            ) {
                Ok(_) => return Some(Reader { lock: self, reader }),
                Err(now) => word = now,
            }
        }
        None
    }

    /// Locks the value for reading.
    #[inline(always)]
    pub fn shared(&self) -> Reader<'_, T> {
        let blocked = EXCLUSIVE | PENDING;
        loop {
            let shared = self.add(READER, blocked);
            if let Some(shared) = shared.or_else(|| self.shared_later(blocked, None)) {
                return shared;
            }
        }
    }

    /// Locks the value for reading, for a thread within another operation. It does not queue behind
    /// a writer that waits for readers, as the writer may be waiting for this thread. It waits for
    /// a writer that holds the lock for at most `timeout`; none after that.
    #[inline(always)]
    pub fn shared_within(&self, timeout: Duration) -> Option<Reader<'_, T>> {
        let shared = self.add(READER, EXCLUSIVE);
        shared.or_else(|| self.shared_later(EXCLUSIVE, Some(timeout)))
    }

    #[cold]
    fn shared_later(&self, blocked: usize, timeout: Option<Duration>) -> Option<Reader<'_, T>> {
        let deadline = deadline(timeout);
        let mut queue = self.queue();
        loop {
            if let Some(shared) = self.add(READER, blocked) {
                return Some(shared);
            }
            queue = self.wait(queue, deadline)?;
        }
    }

    /// Locks the value for reading within an operation that already reads it or has reserved it,
    /// which keeps writers out. It never waits. None if the operation holds the lock exclusively.
    #[inline(always)]
    pub fn nested(&self) -> Option<Reader<'_, T>> {
        self.add(NESTED, EXCLUSIVE)
    }

    /// Whether more than one thread reads.
    #[inline(always)]
    pub fn has_several_readers(&self) -> bool {
        self.word.load(Ordering::Relaxed) % NESTED >= 2 * READER
    }

    /// Reserves the value for a change; waits while another thread has reserved it. None after
    /// `timeout`, if there is one.
    pub fn reserve(&self, timeout: Option<Duration>) -> Option<Reserved<'_, T>> {
        let deadline = deadline(timeout);
        let mut queue = self.queue();
        while queue.reserved {
            queue = self.wait(queue, deadline)?;
        }
        queue.reserved = true;
        Some(Reserved(self))
    }

    /// Locks the value exclusively, for the thread that reserved it and does not read it. It waits
    /// until all readers have left, and new ones wait from now on.
    ///
    /// None after `timeout`, if there is one, and if only nested readers are left. A nested reader
    /// whose operation reads has that operation's reader beside it; so the ones that are left
    /// belong to the operation that reserved the value, which would wait for itself.
    pub fn upgrade(&self, timeout: Option<Duration>) -> Option<Exclusive<'_, T>> {
        if self.take_exclusive() {
            return Some(Exclusive(self));
        }
        let deadline = deadline(timeout);
        let mut queue = self.queue();
        loop {
            let word = self.word.fetch_or(PENDING, Ordering::Relaxed);
            if self.take_exclusive() {
                return Some(Exclusive(self));
            }
            let waits_for_itself = word >= NESTED && word % NESTED < READER;
            let waited = match waits_for_itself {
                true => Err(queue),
                false => self.wait(queue, deadline).ok_or_else(|| self.queue()),
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

    /// Locks the value exclusively if there are no readers. Returns whether it did.
    fn take_exclusive(&self) -> bool {
        let mut word = self.word.load(Ordering::Relaxed);
        while word & !PENDING == 0 {
            // Acquire: what the last readers read happens before what is written now.
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
        // Release: what was written happens before what readers read.
        self.word.store(readers, Ordering::Release);
        self.wake(self.queue());
    }
}

/// A read lock, released when this is dropped.
pub struct Reader<'a, T> {
    lock: &'a StateLock<T>,
    /// [`READER`] or [`NESTED`].
    reader: usize,
}

impl<T> Deref for Reader<'_, T> {
    type Target = T;

    #[cfg(not(all(test, loom)))]
    #[inline(always)]
    fn deref(&self) -> &T {
        // SAFETY: this reader was counted while no thread held the lock exclusively, and none can
        // get it while the reader is counted.
        unsafe { &*self.lock.value.get() }
    }

    #[cfg(all(test, loom))]
    fn deref(&self) -> &T {
        // SAFETY: as above; loom checks it.
        self.lock.value.with(|value| unsafe { &*value })
    }
}

impl<T> Drop for Reader<'_, T> {
    #[inline(always)]
    fn drop(&mut self) {
        // Release: what the reader read happens before what the next writer writes.
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

/// An exclusive lock, released when this is dropped.
pub struct Exclusive<'a, T>(&'a StateLock<T>);

impl<'a, T> Exclusive<'a, T> {
    /// Turns the exclusive lock into a read lock, without letting another writer in between.
    pub fn into_shared(self) -> Reader<'a, T> {
        let lock = self.0;
        std::mem::forget(self);
        lock.leave_exclusive(READER);
        Reader {
            lock,
            reader: READER,
        }
    }
}

#[cfg(not(all(test, loom)))]
impl<T> Deref for Exclusive<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: while this exists, the word has the bit EXCLUSIVE, which keeps out readers and
        // other writers.
        unsafe { &*self.0.value.get() }
    }
}

#[cfg(not(all(test, loom)))]
impl<T> DerefMut for Exclusive<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as in `deref`; this is the only guard, and it is borrowed mutably.
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
        // No reader waits after the change was given up.
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
        lock.word
            .store((MAX_READERS - 1) * READER, Ordering::Relaxed);
        std::mem::forget(lock.add(READER, EXCLUSIVE));
        assert!(lock.add(READER, EXCLUSIVE).is_none());
        lock.word
            .store((MAX_READERS - 1) * NESTED, Ordering::Relaxed);
        std::mem::forget(lock.nested());
        assert!(lock.nested().is_none() && !lock.has_several_readers());
    }
}
