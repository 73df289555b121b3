//! Synchronisation primitives: atomics and a futex. Under `--cfg loom` the tests get them from the
//! model checker.
//!
//! Only the atomics order memory; sleeping and waking do not. So a race detector that does not know
//! futexes still understands the whole protocol.

#[cfg(all(test, loom))]
pub use loom::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicUsize, Ordering};
#[cfg(not(all(test, loom)))]
pub use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicUsize, Ordering};

/// An atomic number that only influences how many threads are woken. Every value is correct, so the
/// model checker need not explore it.
pub use std::sync::atomic::AtomicU32 as Hint;

pub use futex::Futex;

/// How long a thread spins before it sleeps. In a loop over chunks, calls follow each other within
/// this time, while waking a sleeping thread takes tens of microseconds on a virtual machine,
/// longer than a small chunk.
#[cfg(not(all(test, loom)))]
const SPIN: std::time::Duration = std::time::Duration::from_micros(30);

/// How often the condition is checked before the next look at the clock.
#[cfg(not(all(test, loom)))]
const LOOKS: usize = 32;

/// Spins until `done`, for a short time. Returns whether it is done. (For the model checker it
/// always gives up, since the path that sleeps is the one to explore.)
#[cfg(not(all(test, loom)))]
pub fn spin_until(done: impl Fn() -> bool) -> bool {
    let start = std::time::Instant::now();
    loop {
        for _ in 0..LOOKS {
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
mod futex {
    use super::{AtomicU32, Ordering};

    /// An atomic word on which threads can sleep until it changes.
    pub struct Futex {
        /// The word.
        pub word: AtomicU32,
    }

    impl Futex {
        /// A futex whose word is `value`.
        pub fn new(value: u32) -> Self {
            Self {
                word: AtomicU32::new(value),
            }
        }

        /// Sleeps until woken, unless the word is no longer `expected`. May also wake up
        /// spuriously.
        pub fn wait(&self, expected: u32) {
            if self.word.load(Ordering::SeqCst) != expected {
                return;
            }
            let forever: *const libc::timespec = std::ptr::null();
            // SAFETY: the address is that of an aligned 32-bit word, which `&self` keeps alive, and
            // a null timeout means none.
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
            // SAFETY: the address is that of an aligned 32-bit word, which `&self` keeps alive.
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
mod futex {
    use super::{AtomicU32, Ordering};
    #[cfg(all(test, loom))]
    use loom::sync::{Condvar, Mutex};
    use std::sync::PoisonError;
    #[cfg(not(all(test, loom)))]
    use std::sync::{Condvar, Mutex};

    /// An atomic word on which threads can sleep until it changes.
    pub struct Futex {
        /// The word.
        pub word: AtomicU32,
        mutex: Mutex<()>,
        condvar: Condvar,
    }

    impl Futex {
        /// A futex whose word is `value`.
        pub fn new(value: u32) -> Self {
            Self {
                word: AtomicU32::new(value),
                mutex: Mutex::new(()),
                condvar: Condvar::new(),
            }
        }

        /// Sleeps until woken, unless the word is no longer `expected`. May also wake up
        /// spuriously.
        pub fn wait(&self, expected: u32) {
            let guard = self.mutex.lock().unwrap_or_else(PoisonError::into_inner);
            if self.word.load(Ordering::SeqCst) == expected {
                drop(self.condvar.wait(guard));
            }
        }

        /// Wakes at most `count` of the threads that sleep here. Change the word first.
        pub fn wake(&self, count: usize) {
            // A waiting thread checks the word and starts to sleep under this lock. Once we have
            // had the lock, it has either seen the change or is asleep and will be notified.
            drop(self.mutex.lock());
            if count == 1 {
                self.condvar.notify_one();
            } else {
                self.condvar.notify_all();
            }
        }
    }
}
