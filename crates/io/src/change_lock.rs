//! The lock that handles of this library take to change a file, and the table of the threads of
//! this process that hold one.

use super::operation;
use oxiblosc_base::memory::env;
use oxiblosc_base::system::locks::change::{self, Blocked};
use oxiblosc_base::system::{locks, thread};
use oxiblosc_base::{Doing, Error, Result};
use std::ffi::CStr;
use std::fs::File;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How long to wait for those who share the lock. Readers of this library do so for milliseconds.
const TIMEOUT: Duration = Duration::from_secs(2);
/// How long to wait for others in all, unless [`LIMIT_VARIABLE`] says otherwise.
const LIMIT: Duration = Duration::from_secs(300);
/// The environment variable with the number of seconds after which a wait for a lock ends.
const LIMIT_VARIABLE: &CStr = c"BLOSC_LOCK_TIMEOUT";

/// The time after which a wait for a lock ends, if the environment says so.
pub(crate) fn limit() -> Option<Duration> {
    let seconds = env::number(LIMIT_VARIABLE)?;
    u64::try_from(seconds).ok().map(Duration::from_secs)
}

#[cfg(all(test, loom))]
mod model;

/// An unused entry of [`HOLDERS`].
const NO_HOLDER: u64 = 0;

/// The threads that hold locks, each as a hash of thread and file: see [`holder`]. If the table is
/// full, further holders are not recorded.
static HOLDERS: [AtomicU64; 64] = [const { AtomicU64::new(NO_HOLDER) }; 64];

/// Replaces an entry of [`HOLDERS`], if it is there.
fn replace_holder(old: u64, new: u64) {
    let (order, failed) = (Ordering::Relaxed, Ordering::Relaxed);
    let _ = HOLDERS.iter().any(|holder| {
        holder.load(order) == old && holder.compare_exchange(old, new, order, failed).is_ok()
    });
}

/// A hash of the calling thread and a file. Two pairs have the same hash with a probability of
/// 2^-64.
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
        const MAX_PAUSE: Duration = Duration::from_millis(1);
        let since = Instant::now();
        std::thread::sleep(self.0);
        self.0 = MAX_PAUSE.min(2 * self.0);
        since.elapsed()
    }
}

/// A thread that waits for the lock.
pub(crate) struct Waiting {
    pauses: Pauses,
    /// How long it may wait, if that is less than [`limit`].
    timeout: Option<Duration>,
    /// The limit, once it was asked for.
    limit: Option<Duration>,
    waited: Duration,
    /// The part of it without a break for which others shared the lock.
    waited_for_sharers: Duration,
    sharers: bool,
}

impl Waiting {
    pub(crate) fn new(timeout: Option<Duration>) -> Self {
        Self {
            pauses: Pauses::new(),
            timeout,
            limit: None,
            waited: Duration::ZERO,
            waited_for_sharers: Duration::ZERO,
            sharers: false,
        }
    }

    /// Waits before the next attempt.
    pub(crate) fn pause(&mut self) {
        let waited = self.pauses.wait();
        self.waited += waited;
        self.waited_for_sharers = match self.sharers {
            true => self.waited_for_sharers + waited,
            false => Duration::ZERO,
        };
    }

    /// Notes that there is somebody to wait for.
    ///
    /// # Errors
    /// [`Error::LOCK`] after the time limit.
    fn go_on(&mut self, sharers: bool) -> Result<()> {
        self.sharers = sharers;
        let limit = *self.limit.get_or_insert_with(|| limit().unwrap_or(LIMIT));
        let most = self.timeout.map_or(limit, |timeout| timeout.min(limit));
        match self.waited >= most {
            true => Err(Error::LOCK.at(Doing::WaitForLock)),
            false => Ok(()),
        }
    }
}

/// What an attempt to lock a file exclusively has come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exclusion {
    /// A lock was granted that keeps all other writers out.
    Granted,
    /// The file system grants no locks: whether others change the file is not known.
    Unavailable,
}

/// The system's locks of an open file.
pub trait LockCalls {
    /// See [`change::try_take`].
    fn try_take(&self, alone: bool) -> std::result::Result<(), Blocked>;
    /// See [`change::try_take_whole`].
    fn try_take_whole(&self) -> std::result::Result<(), Blocked>;
    /// See [`change::leave`].
    fn leave(&self);
    /// See [`change::leave_whole`].
    fn leave_whole(&self);
}

impl LockCalls for File {
    fn try_take(&self, alone: bool) -> std::result::Result<(), Blocked> {
        change::try_take(self, alone)
    }
    fn try_take_whole(&self) -> std::result::Result<(), Blocked> {
        change::try_take_whole(self)
    }
    fn leave(&self) {
        change::leave(self);
    }
    fn leave_whole(&self) {
        change::leave_whole(self);
    }
}

/// Which locks a [`ChangeLock`] has: bits.
mod held {
    /// That of the byte, exclusively.
    pub const BYTE: u8 = 1;
    /// That of the byte, shared. It keeps others from [`BYTE`].
    pub const SHARED: u8 = 2;
    /// That of the whole file.
    pub const WHOLE: u8 = 4;
}

/// The lock of one open file.
///
/// A writer has the lock of the byte exclusively. Where others share it all the time, which takes
/// no more than the right to read the file, it shares it, too, and has the lock of the whole file.
/// Nobody can have the one while another has the other. Whoever has both kinds exclusively knows
/// that no change is going on, whatever locks a writer may have got: only then is the record of
/// another process's change applied.
#[derive(Debug)]
pub struct ChangeLock {
    /// The entry in [`HOLDERS`] of the thread that holds it.
    holder: AtomicU64,
    /// Whether a thread holds it exclusively: the system's lock belongs to the file, so it does not
    /// exclude other threads.
    taken: AtomicBool,
    /// Which locks it has, see [`held`].
    held: AtomicU8,
    /// Whether the lock was last taken beside others who share it, so that they are not waited for
    /// again.
    has_sharers: AtomicBool,
}

impl ChangeLock {
    /// An unlocked lock.
    pub const fn new() -> Self {
        Self {
            holder: AtomicU64::new(NO_HOLDER),
            taken: AtomicBool::new(false),
            held: AtomicU8::new(0),
            has_sharers: AtomicBool::new(false),
        }
    }

    /// Takes the lock exclusively. It waits as long as others hold it, but not longer than
    /// [`limit`]; within another operation only for [`operation::TIMEOUT`].
    ///
    /// # Errors
    /// [`Error::LOCK`] if this thread holds the lock through another open file, or the wait was too
    /// long.
    pub fn take(&self, file: &impl LockCalls, identity: Option<(u64, u64)>) -> Result<Exclusion> {
        let mut waiting = Waiting::new(operation::timeout(1));
        loop {
            if let Some(exclusion) = self.attempt(file, identity, &mut waiting)? {
                return Ok(exclusion);
            }
            waiting.pause();
        }
    }

    /// An attempt of [`Self::take`], which does not wait. None if others have the lock: then the
    /// caller calls [`Waiting::pause`] and tries again.
    ///
    /// # Errors
    /// As for [`Self::take`].
    pub fn attempt(
        &self,
        file: &impl LockCalls,
        identity: Option<(u64, u64)>,
        waiting: &mut Waiting,
    ) -> Result<Option<Exclusion>> {
        let holder = holder(identity);
        let is_patient = waiting.waited_for_sharers < TIMEOUT;
        match self.try_now(file, is_patient) {
            Ok(exclusion) => {
                self.set_holder(holder);
                Ok(Some(exclusion))
            }
            Err(blocked) => {
                let has = |there: &AtomicU64| there.load(Ordering::Relaxed) == holder;
                if blocked == Blocked::Writer && HOLDERS.iter().any(has) {
                    return Err(Error::LOCK.at(Doing::LockByThisThread));
                }
                waiting.go_on(matches!(blocked, Blocked::Sharers | Blocked::OwnProcess))?;
                Ok(None)
            }
        }
    }

    /// Takes the lock if neither another thread nor another open file has it. If `is_patient`,
    /// others who share it are waited for, unless they were before.
    fn try_now(
        &self,
        file: &impl LockCalls,
        is_patient: bool,
    ) -> std::result::Result<Exclusion, Blocked> {
        if self.taken.swap(true, Ordering::Acquire) {
            return Err(Blocked::Writer);
        }
        let is_patient = is_patient && !self.has_sharers.load(Ordering::Relaxed);
        let taken = match file.try_take(true) {
            Ok(()) => Ok((held::BYTE, Exclusion::Granted)),
            Err(Blocked::Unsupported) => Ok((0, Exclusion::Unavailable)),
            Err(Blocked::Sharers) if !is_patient => Self::try_beside(file),
            // The process has itself locked the file against all others.
            Err(Blocked::OwnProcess) if !is_patient => file
                .try_take_whole()
                .map(|()| (held::WHOLE, Exclusion::Granted)),
            Err(blocked) => Err(blocked),
        };
        match taken {
            Ok((locks, exclusion)) => {
                self.held.store(locks, Ordering::Relaxed);
                let has_sharers = locks & held::WHOLE != 0;
                self.has_sharers.store(has_sharers, Ordering::Relaxed);
                Ok(exclusion)
            }
            Err(blocked) => {
                self.taken.store(false, Ordering::Release);
                Err(blocked)
            }
        }
    }

    /// Takes the lock while others share that of the byte.
    fn try_beside(file: &impl LockCalls) -> std::result::Result<(u8, Exclusion), Blocked> {
        file.try_take(false)?;
        match file.try_take_whole() {
            Ok(()) => Ok((held::SHARED | held::WHOLE, Exclusion::Granted)),
            Err(_) => {
                file.leave();
                Err(Blocked::Writer)
            }
        }
    }

    /// While the lock is held, takes the other kind of lock as well, if it is free. Returns whether
    /// all kinds that the system has are held exclusively, so that no other process can be changing
    /// the file, even one that has got only one kind.
    pub fn complete(&self, file: &impl LockCalls) -> bool {
        let locks = self.held.load(Ordering::Relaxed);
        if locks & held::BYTE == 0 {
            return false;
        }
        let is_whole = locks & held::WHOLE != 0 || file.try_take_whole().is_ok();
        if is_whole {
            self.held.store(locks | held::WHOLE, Ordering::Relaxed);
        }
        is_whole
    }

    /// Takes the lock exclusively if it is free. None if it is not.
    pub fn try_take(
        &self,
        file: &impl LockCalls,
        identity: Option<(u64, u64)>,
    ) -> Option<Exclusion> {
        let exclusion = self.try_now(file, true).ok()?;
        self.set_holder(holder(identity));
        Some(exclusion)
    }

    /// Takes the lock shared, and waits for at most `timeout` while it is held exclusively. Returns
    /// whether it did.
    pub fn share(&self, file: &impl LockCalls, timeout: Duration) -> bool {
        let (mut pauses, mut waited) = (Pauses::new(), Duration::ZERO);
        loop {
            match file.try_take(false) {
                Ok(()) => return true,
                Err(Blocked::Unsupported) => return false,
                Err(_) if waited >= timeout => return false,
                Err(_) => waited += pauses.wait(),
            }
        }
    }

    /// Releases the lock.
    pub fn release(&self, file: &impl LockCalls) {
        if self.held.swap(0, Ordering::Relaxed) & held::WHOLE != 0 {
            file.leave_whole();
        }
        file.leave();
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
