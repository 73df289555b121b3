//! The lock on the state of a super-chunk, for threads of this process.
//!
//! It has the levels that SQLite's locks have. Readers share it. One thread at a time may *reserve* it to prepare a change,
//! while readers go on; to make the change it waits until the readers have left and has it *exclusively*. Readers that
//! arrive while a change waits for this wait behind it, so that readers that always overlap cannot starve it. Readers that are
//! part of an operation that is already reading do not wait: it could never end.

#[cfg(all(test, loom))]
use loom::sync::atomic::{AtomicUsize, Ordering};
#[cfg(all(test, loom))]
use loom::sync::{Condvar, Mutex, MutexGuard};
use std::sync::PoisonError;
#[cfg(not(all(test, loom)))]
use std::sync::atomic::{AtomicUsize, Ordering};
#[cfg(not(all(test, loom)))]
use std::sync::{Condvar, Mutex, MutexGuard};

/// A writer has the state exclusively.
const EXCLUSIVE: usize = 1;
/// A writer waits for the readers to leave.
const PENDING: usize = 2;
/// One reader.
const READER: usize = 4;

/// See the module.
pub struct StateLock {
    /// [`EXCLUSIVE`], [`PENDING`], and [`READER`] as often as there are readers.
    word: AtomicUsize,
    /// Every thread that waits, for whatever reason, sleeps with this mutex.
    queue: Mutex<Queue>,
    changed: Condvar,
}

/// What changes under the mutex alone.
#[derive(Default)]
struct Queue {
    /// Whether the state is reserved.
    reserved: bool,
    /// How many threads sleep. To wake them is a system call even if there are none.
    sleeping: usize,
}

impl Default for StateLock {
    fn default() -> Self {
        Self {
            word: AtomicUsize::new(0),
            queue: Mutex::new(Queue::default()),
            changed: Condvar::new(),
        }
    }
}

impl StateLock {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sleeps until something may have changed.
    fn wait<'a>(&self, mut queue: MutexGuard<'a, Queue>) -> MutexGuard<'a, Queue> {
        queue.sleeping += 1;
        let mut queue = self
            .changed
            .wait(queue)
            .unwrap_or_else(PoisonError::into_inner);
        queue.sleeping -= 1;
        queue
    }

    /// Wakes the threads that sleep, after a change that was made before the mutex was locked, or under it: a thread that waits has
    /// either seen the change or sleeps by now.
    fn wake(&self, queue: MutexGuard<'_, Queue>) {
        let sleeping = queue.sleeping > 0;
        drop(queue);
        if sleeping {
            self.changed.notify_all();
        }
    }

    /// Becomes a reader if that is possible without waiting; `nested`: also while a writer waits for the readers to leave.
    fn try_lock_shared(&self, nested: bool) -> bool {
        let blocked = if nested {
            EXCLUSIVE
        } else {
            EXCLUSIVE | PENDING
        };
        let mut word = self.word.load(Ordering::Relaxed);
        while word & blocked == 0 {
            match self.word.compare_exchange_weak(
                word,
                word + READER,
                Ordering::Acquire,
                Ordering::Relaxed,
            ) {
                Ok(_) => return true,
                Err(now) => word = now,
            }
        }
        false
    }

    /// Becomes a reader. `nested` says that this thread, or one that waits for it, is in the middle of another operation.
    pub fn lock_shared(&self, nested: bool) {
        if self.try_lock_shared(nested) {
            return;
        }
        let mut queue = self.queue();
        while !self.try_lock_shared(nested) {
            queue = self.wait(queue);
        }
    }

    /// Ends what [`Self::lock_shared`] began.
    pub fn unlock_shared(&self) {
        // Release: what the reader read comes before what the next writer writes.
        let before = self.word.fetch_sub(READER, Ordering::Release);
        if before & PENDING != 0 {
            self.wake(self.queue());
        }
    }

    /// Whether more than one thread reads.
    pub fn has_several_readers(&self) -> bool {
        self.word.load(Ordering::Relaxed) >= 2 * READER
    }

    /// Reserves the state for a change, once no other thread has it reserved.
    pub fn reserve(&self) {
        let mut queue = self.queue();
        while queue.reserved {
            queue = self.wait(queue);
        }
        queue.reserved = true;
    }

    /// Ends what [`Self::reserve`] began.
    pub fn release(&self) {
        let mut queue = self.queue();
        queue.reserved = false;
        self.wake(queue);
    }

    /// Waits until no reader is left; new ones wait from now on. For the thread that reserved the state, which is no reader.
    pub fn upgrade(&self) {
        if self.take_exclusive() {
            return;
        }
        let mut queue = self.queue();
        self.word.fetch_or(PENDING, Ordering::Relaxed);
        while !self.take_exclusive() {
            queue = self.wait(queue);
        }
    }

    /// Has the state exclusively if there is no reader.
    fn take_exclusive(&self) -> bool {
        let mut word = self.word.load(Ordering::Relaxed);
        while word / READER == 0 {
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

    /// Lets readers in again.
    pub fn downgrade(&self) {
        self.leave_exclusive(0);
    }

    /// Becomes the first reader of what was written.
    pub fn downgrade_to_shared(&self) {
        self.leave_exclusive(READER);
    }

    fn leave_exclusive(&self, readers: usize) {
        // Release: what was written comes before what readers read.
        self.word.store(readers, Ordering::Release);
        self.wake(self.queue());
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicBool;
    use std::time::Duration;

    #[test]
    fn readers_that_overlap_for_ever_keep_no_change_waiting() {
        let (lock, done) = (StateLock::default(), AtomicBool::new(false));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    while !done.load(Ordering::Relaxed) {
                        lock.lock_shared(false);
                        std::thread::sleep(Duration::from_micros(200));
                        lock.unlock_shared();
                    }
                });
            }
            for _ in 0..100 {
                lock.reserve();
                lock.upgrade();
                lock.downgrade();
                lock.release();
            }
            done.store(true, Ordering::Relaxed);
        });
    }

    #[test]
    fn nested_readers_pass_who_waits() {
        let lock = StateLock::default();
        lock.lock_shared(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                lock.reserve();
                lock.upgrade();
                lock.downgrade();
                lock.release();
            });
            while lock.word.load(Ordering::Relaxed) & PENDING == 0 {
                std::thread::yield_now();
            }
            assert!(!lock.try_lock_shared(false));
            lock.lock_shared(true);
            lock.unlock_shared();
            lock.unlock_shared();
        });
        lock.lock_shared(false);
        lock.unlock_shared();
    }
}
