//! The lock that handles of this library take to change a file, and the table of the threads of this process that hold one.

use super::operation;
use oxiblosc_error::{Error, Result};
use oxiblosc_system::locks::change::{self, Blocked};
use oxiblosc_system::{locks, thread};
use std::fs::File;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How long to wait for a lock of the whole file. Such a lock is not this library's; the program itself may hold it.
const TIMEOUT: Duration = Duration::from_secs(2);

/// An unused entry of [`HOLDERS`].
const NO_HOLDER: u64 = 0;

/// The threads that hold locks, each as a hash of thread and file: see [`holder`]. If the table is full, further holders are not recorded.
static HOLDERS: [AtomicU64; 64] = [const { AtomicU64::new(NO_HOLDER) }; 64];

/// Replaces an entry of [`HOLDERS`], if it is there.
fn replace_holder(old: u64, new: u64) {
    let (order, failed) = (Ordering::Relaxed, Ordering::Relaxed);
    let _ = HOLDERS.iter().any(|holder| {
        holder.load(order) == old && holder.compare_exchange(old, new, order, failed).is_ok()
    });
}

/// A hash of the calling thread and a file. Two pairs have the same hash with a probability of 2^-64.
fn holder(identity: Option<(u64, u64)>) -> u64 {
    const K: u64 = 0x9e37_79b9_7f4a_7c15;
    let (device, number) = identity.unwrap_or_default();
    let thread = thread::number();
    let words = [device, number, thread, u64::from(locks::forks())];
    let mixed = words.iter().fold(K, |mixed, word| {
        (mixed ^ word).wrapping_mul(K).rotate_left(29)
    });
    mixed.wrapping_mul(K).max(NO_HOLDER + 1)
}

/// The pauses between attempts, which become longer.
pub(crate) struct Pauses(Duration);

impl Pauses {
    pub(crate) fn new() -> Self {
        Self(Duration::from_micros(20))
    }

    /// Waits, and returns how long that took, which is longer than the pause on a busy machine.
    pub(crate) fn wait(&mut self) -> Duration {
        const MOST: Duration = Duration::from_millis(1);
        let since = Instant::now();
        std::thread::sleep(self.0);
        self.0 = MOST.min(2 * self.0);
        since.elapsed()
    }
}

/// Who has to be waited for.
#[derive(Clone, Copy)]
enum WaitsFor {
    /// Another user of this lock.
    Holder,
    /// A program that has locked the whole file.
    Stranger,
    /// The user of another lock of the whole file, by `flock`.
    Whole,
}

/// A thread that waits for the lock.
pub(crate) struct Waiting {
    pauses: Pauses,
    /// How long it may wait for other users of this lock, if there is a limit.
    timeout: Option<Duration>,
    now: WaitsFor,
    /// How long it has waited for each of [`WaitsFor`].
    waited: [Duration; 3],
}

impl Waiting {
    pub(crate) fn new(timeout: Option<Duration>) -> Self {
        Self {
            pauses: Pauses::new(),
            timeout,
            now: WaitsFor::Holder,
            waited: [Duration::ZERO; 3],
        }
    }

    fn waited(&self, whom: WaitsFor) -> Duration {
        self.waited[whom as usize]
    }

    /// Waits before the next attempt.
    pub(crate) fn pause(&mut self) {
        self.waited[self.now as usize] += self.pauses.wait();
    }
}

/// The lock of one open file.
#[derive(Debug)]
pub struct ChangeLock {
    /// The entry in [`HOLDERS`] of the thread that holds it.
    holder: AtomicU64,
    /// Whether a thread holds it exclusively: the system's lock belongs to the file, so it does not exclude other threads.
    taken: AtomicBool,
    /// Whether `flock` is used because another program holds a lock of the whole file that did not end within [`TIMEOUT`]. `flock` does not
    /// conflict with that one.
    uses_flock: AtomicBool,
}

impl ChangeLock {
    /// An unlocked lock.
    pub const fn new() -> Self {
        Self {
            holder: AtomicU64::new(NO_HOLDER),
            taken: AtomicBool::new(false),
            uses_flock: AtomicBool::new(false),
        }
    }

    /// Takes the lock exclusively. It waits as long as other users of this lock hold it, since they release it at the latest when their process
    /// ends; within another operation only for [`operation::TIMEOUT`].
    ///
    /// # Errors
    /// [`Error::Lock`]: another program holds both kinds of locks of the whole file, this thread holds the lock through another open file,
    /// or the wait was too long.
    pub fn take(&self, file: &File, identity: Option<(u64, u64)>) -> Result<()> {
        let mut waiting = Waiting::new(operation::timeout(1));
        while !self.attempt(file, identity, &mut waiting)? {
            waiting.pause();
        }
        Ok(())
    }

    /// An attempt of [`Self::take`], which does not wait. Returns whether the lock was taken. Otherwise the caller calls [`Waiting::pause`] and tries
    /// again.
    ///
    /// # Errors
    /// As for [`Self::take`].
    pub fn attempt(
        &self,
        file: &File,
        identity: Option<(u64, u64)>,
        waiting: &mut Waiting,
    ) -> Result<bool> {
        let holder = holder(identity);
        match self.try_now(file) {
            Ok(()) => self.uses_flock.store(false, Ordering::Relaxed),
            Err(Blocked::Stranger) => {
                let known = self.uses_flock.load(Ordering::Relaxed);
                if !known && waiting.waited(WaitsFor::Stranger) < TIMEOUT {
                    waiting.now = WaitsFor::Stranger;
                    return Ok(false);
                }
                if !self.try_whole(file) {
                    waiting.now = WaitsFor::Whole;
                    let is_too_long = waiting.waited(WaitsFor::Whole) >= TIMEOUT;
                    return if is_too_long {
                        Err(Error::Lock)
                    } else {
                        Ok(false)
                    };
                }
                self.uses_flock.store(true, Ordering::Relaxed);
            }
            Err(Blocked::Holder) => {
                let has = |there: &AtomicU64| there.load(Ordering::Relaxed) == holder;
                let waited = waiting.waited(WaitsFor::Holder);
                if HOLDERS.iter().any(has) || waiting.timeout.is_some_and(|most| waited >= most) {
                    return Err(Error::Lock);
                }
                waiting.waited[WaitsFor::Stranger as usize] = Duration::ZERO;
                waiting.now = WaitsFor::Holder;
                return Ok(false);
            }
        }
        self.set_holder(holder);
        Ok(true)
    }

    /// Locks the byte, if neither another thread nor another open file has locked it.
    fn try_now(&self, file: &File) -> std::result::Result<(), Blocked> {
        self.among_threads(|| change::try_take(file, true))
    }

    /// Runs `take`, unless another thread holds the lock.
    fn among_threads(
        &self,
        take: impl FnOnce() -> std::result::Result<(), Blocked>,
    ) -> std::result::Result<(), Blocked> {
        if self.taken.swap(true, Ordering::Acquire) {
            return Err(Blocked::Holder);
        }
        let taken = take();
        if taken.is_err() {
            self.taken.store(false, Ordering::Release);
        }
        taken
    }

    /// As [`Self::try_now`], with `flock`. Returns whether the lock was taken.
    fn try_whole(&self, file: &File) -> bool {
        let take = || match change::try_take_whole(file) {
            true => Ok(()),
            false => Err(Blocked::Holder),
        };
        self.among_threads(take).is_ok()
    }

    /// Takes the lock exclusively if it is free. Returns whether it did.
    pub fn try_take(&self, file: &File, identity: Option<(u64, u64)>) -> bool {
        let known = self.uses_flock.load(Ordering::Relaxed);
        let taken = match self.try_now(file) {
            Ok(()) => {
                self.uses_flock.store(false, Ordering::Relaxed);
                true
            }
            Err(Blocked::Stranger) => known && self.try_whole(file),
            Err(Blocked::Holder) => false,
        };
        if taken {
            self.set_holder(holder(identity));
        }
        taken
    }

    /// Takes the lock shared, and waits for at most `timeout` while it is held exclusively. Returns whether it did.
    pub fn share(&self, file: &File, timeout: Duration) -> bool {
        let (mut pauses, mut waited) = (Pauses::new(), Duration::ZERO);
        while change::try_take(file, false).is_err() {
            if waited >= timeout {
                return false;
            }
            waited += pauses.wait();
        }
        true
    }

    /// Releases the lock.
    pub fn release(&self, file: &File) {
        if self.uses_flock.load(Ordering::Relaxed) {
            change::leave_whole(file);
        }
        change::leave(file);
        self.set_holder(NO_HOLDER);
        self.taken.store(false, Ordering::Release);
    }

    fn set_holder(&self, holder: u64) {
        let before = self.holder.swap(holder, Ordering::Relaxed);
        if before != NO_HOLDER {
            replace_holder(before, NO_HOLDER);
        }
        if holder != NO_HOLDER {
            replace_holder(NO_HOLDER, holder);
        }
    }
}

impl Drop for ChangeLock {
    fn drop(&mut self) {
        self.set_holder(NO_HOLDER);
    }
}
