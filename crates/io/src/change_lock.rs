//! The lock of those who change a file, as the handles of this library take it, and who of the process has it.

use super::operation;
use oxiblosc_error::{Error, Result};
use oxiblosc_system::locks::change::{self, Blocked};
use oxiblosc_system::{locks, thread};
use std::fs::File;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How long somebody is waited for who locks all of a file, and so does not use this lock: the program itself, it may be, which has
/// reasons of its own.
const PATIENCE: Duration = Duration::from_secs(2);

/// What has no holder.
const NOBODY: u64 = 0;

/// Which threads have which files; those for which there is no room are not found.
static HOLDERS: [AtomicU64; 64] = [const { AtomicU64::new(NOBODY) }; 64];

fn replace_holder(old: u64, new: u64) {
    let (order, failed) = (Ordering::Relaxed, Ordering::Relaxed);
    let _ = HOLDERS.iter().any(|holder| {
        holder.load(order) == old && holder.compare_exchange(old, new, order, failed).is_ok()
    });
}

/// A number for the calling thread and a file, which two have together once in 2^64.
fn holder(identity: Option<(u64, u64)>) -> u64 {
    const K: u64 = 0x9e37_79b9_7f4a_7c15;
    let (device, number) = identity.unwrap_or_default();
    let thread = thread::number();
    let words = [device, number, thread, u64::from(locks::forks())];
    let mixed = words.iter().fold(K, |mixed, word| {
        (mixed ^ word).wrapping_mul(K).rotate_left(29)
    });
    mixed.wrapping_mul(K).max(NOBODY + 1)
}

/// How long to wait before the next look: first a little, then longer.
struct Pauses(Duration);

impl Pauses {
    fn new() -> Self {
        Self(Duration::from_micros(20))
    }

    /// Waits; gives how long, which on a busy machine is longer than what was asked for.
    fn wait(&mut self) -> Duration {
        const MOST: Duration = Duration::from_millis(1);
        let since = Instant::now();
        std::thread::sleep(self.0);
        self.0 = MOST.min(2 * self.0);
        since.elapsed()
    }
}

/// The lock, as one open file has it.
#[derive(Debug)]
pub struct ChangeLock {
    holder: AtomicU64,
    /// Whether a thread has it alone: the system tells files apart, and no threads.
    taken: AtomicBool,
    /// Somebody else locks all of the file, and was waited for: until that ends, those who use this lock have one on the whole file
    /// that goes with the stranger's.
    uses_flock: AtomicBool,
}

impl ChangeLock {
    /// It is not taken.
    pub const fn new() -> Self {
        Self {
            holder: AtomicU64::new(NOBODY),
            taken: AtomicBool::new(false),
            uses_flock: AtomicBool::new(false),
        }
    }

    /// Takes it alone. Others who use it are waited for as long as it takes, as they release it at their end if not before; within another
    /// operation for a while.
    ///
    /// # Errors
    /// [`Error::Lock`]: somebody else locks all of the file in every way that there is, this thread has the lock through another open
    /// file, or it was waited for too long.
    pub fn take(&self, file: &File, identity: Option<(u64, u64)>) -> Result<()> {
        let holder = holder(identity);
        let known = self.uses_flock.load(Ordering::Relaxed);
        let (mut pauses, mut strange) = (Pauses::new(), Duration::ZERO);
        let (patience, mut waited) = (operation::patience(1), Duration::ZERO);
        loop {
            match self.try_now(file) {
                Ok(()) => {
                    self.uses_flock.store(false, Ordering::Relaxed);
                    break;
                }
                Err(Blocked::Stranger) if known || strange >= PATIENCE => {
                    self.take_whole(file)?;
                    self.uses_flock.store(true, Ordering::Relaxed);
                    break;
                }
                Err(Blocked::Stranger) => strange += pauses.wait(),
                Err(Blocked::Holder) => {
                    let has = |there: &AtomicU64| there.load(Ordering::Relaxed) == holder;
                    if HOLDERS.iter().any(has) || patience.is_some_and(|most| waited >= most) {
                        return Err(Error::Lock);
                    }
                    strange = Duration::ZERO;
                    waited += pauses.wait();
                }
            }
        }
        self.set_holder(holder);
        Ok(())
    }

    /// Takes the byte, if neither another thread nor another file has it.
    fn try_now(&self, file: &File) -> std::result::Result<(), Blocked> {
        self.among_threads(|| change::try_take(file, true))
    }

    /// Takes something by `take`, unless another thread has it.
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

    /// The same, of the lock of those that are beside a stranger.
    fn try_whole(&self, file: &File) -> bool {
        let take = || match change::try_take_whole(file) {
            true => Ok(()),
            false => Err(Blocked::Holder),
        };
        self.among_threads(take).is_ok()
    }

    /// Waits for it.
    fn take_whole(&self, file: &File) -> Result<()> {
        let (mut pauses, mut waited) = (Pauses::new(), Duration::ZERO);
        while !self.try_whole(file) {
            if waited >= PATIENCE {
                return Err(Error::Lock);
            }
            waited += pauses.wait();
        }
        Ok(())
    }

    /// Takes it alone if nobody has it. Whether that was so.
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

    /// Shares it, once nobody has it alone; waits at most as long as `patience`. Whether it was done.
    pub fn share(&self, file: &File, patience: Duration) -> bool {
        let (mut pauses, mut waited) = (Pauses::new(), Duration::ZERO);
        while change::try_take(file, false).is_err() {
            if waited >= patience {
                return false;
            }
            waited += pauses.wait();
        }
        true
    }

    /// Ends what any of these began.
    pub fn leave(&self, file: &File) {
        if self.uses_flock.load(Ordering::Relaxed) {
            change::leave_whole(file);
        }
        change::leave(file);
        self.set_holder(NOBODY);
        self.taken.store(false, Ordering::Release);
    }

    fn set_holder(&self, holder: u64) {
        let before = self.holder.swap(holder, Ordering::Relaxed);
        if before != NOBODY {
            replace_holder(before, NOBODY);
        }
        if holder != NOBODY {
            replace_holder(NOBODY, holder);
        }
    }
}

impl Drop for ChangeLock {
    fn drop(&mut self) {
        self.set_holder(NOBODY);
    }
}
