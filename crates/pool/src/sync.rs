//! The primitives of the pool: atomics, and a word to sleep on. Under `--cfg loom` the tests get them from the model
//! checker.
//!
//! What a thread may read after waiting is settled by the atomics alone; sleeping and waking carry no meaning of their
//! own. So a race detector that knows nothing of futexes still understands the whole protocol.

#[cfg(all(test, loom))]
pub use loom::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicUsize, Ordering};
#[cfg(not(all(test, loom)))]
pub use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicUsize, Ordering};

pub use gate::Gate;

/// How long a thread watches for a change before it sleeps. Waking a sleeping thread takes tens of microseconds on a
/// virtual machine, longer than a small chunk; the calls of a loop over chunks follow each other faster than this.
#[cfg(not(all(test, loom)))]
const SPIN: std::time::Duration = std::time::Duration::from_micros(30);

/// Watches for `done` for a short while. False when it gave up. (The model checker explores the way without it, the one
/// that waits.)
#[cfg(not(all(test, loom)))]
pub fn spin_until(done: impl Fn() -> bool) -> bool {
    let start = std::time::Instant::now();
    loop {
        for _ in 0..32 {
            if done() {
                return true;
            }
            std::hint::spin_loop();
        }
        if start.elapsed() > SPIN {
            return false;
        }
    }
}

#[cfg(all(test, loom))]
pub fn spin_until(_done: impl Fn() -> bool) -> bool {
    false
}

#[cfg(all(target_os = "linux", not(all(test, loom))))]
mod gate {
    use super::{AtomicU32, Ordering};

    /// An atomic word on which threads can sleep until it changes.
    pub struct Gate {
        /// The word.
        pub word: AtomicU32,
    }

    impl Gate {
        /// A gate whose word is `value`.
        pub fn new(value: u32) -> Self {
            Self {
                word: AtomicU32::new(value),
            }
        }

        /// Sleeps until woken, unless the word is no longer `expected`. May return early for no reason.
        pub fn wait(&self, expected: u32) {
            if self.word.load(Ordering::SeqCst) != expected {
                return;
            }
            let forever: *const libc::timespec = std::ptr::null();
            // SAFETY: the address is that of a live, aligned 32-bit word, and a null timeout means none.
            unsafe {
                libc::syscall(
                    libc::SYS_futex,
                    self.word.as_ptr(),
                    libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG,
                    expected,
                    forever,
                )
            };
        }

        /// Wakes at most `count` of the threads that sleep here. Change the word first.
        pub fn wake(&self, count: usize) {
            let count = i32::try_from(count).unwrap_or(i32::MAX);
            // SAFETY: the address is that of a live, aligned 32-bit word.
            unsafe {
                libc::syscall(
                    libc::SYS_futex,
                    self.word.as_ptr(),
                    libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG,
                    count,
                )
            };
        }
    }
}

#[cfg(any(not(target_os = "linux"), all(test, loom)))]
mod gate {
    use super::{AtomicU32, Ordering};
    #[cfg(all(test, loom))]
    use loom::sync::{Condvar, Mutex};
    use std::sync::PoisonError;
    #[cfg(not(all(test, loom)))]
    use std::sync::{Condvar, Mutex};

    /// An atomic word on which threads can sleep until it changes.
    pub struct Gate {
        /// The word.
        pub word: AtomicU32,
        parking: Mutex<()>,
        bell: Condvar,
    }

    impl Gate {
        /// A gate whose word is `value`.
        pub fn new(value: u32) -> Self {
            Self {
                word: AtomicU32::new(value),
                parking: Mutex::new(()),
                bell: Condvar::new(),
            }
        }

        /// Sleeps until woken, unless the word is no longer `expected`. May return early for no reason.
        pub fn wait(&self, expected: u32) {
            let parked = self.parking.lock().unwrap_or_else(PoisonError::into_inner);
            if self.word.load(Ordering::SeqCst) == expected {
                drop(self.bell.wait(parked));
            }
        }

        /// Wakes at most `count` of the threads that sleep here. Change the word first.
        pub fn wake(&self, count: usize) {
            // A sleeper checks the word and falls asleep under this lock: past it, it either saw the change or hears
            // the bell.
            drop(self.parking.lock());
            if count == 1 {
                self.bell.notify_one();
            } else {
                self.bell.notify_all();
            }
        }
    }
}
