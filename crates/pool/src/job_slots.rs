//! The protocol by which callers post jobs and worker threads join them. Checked by a model checker
//! (`model.rs`).
//!
//! A posted job occupies a slot. The slot's state is one atomic word: how many permits are left (as
//! in a semaphore), how many workers are active in the job, and whether the caller sleeps until
//! they have left. A worker joins by taking a permit. When it leaves, it revokes all remaining
//! permits, since it has seen that no work is left to claim. The caller posts the job, works on it,
//! revokes the permits, waits until no worker is active, and frees the slot. If no slot is free, it
//! works on the job alone.
//!
//! To wake a thread takes a microsecond or more. So the caller wakes only a few threads, and each
//! worker that joins wakes a few more while there are permits for them. The caller can thus begin
//! to work soon, and once the job is done no more threads are woken. If woken threads come too
//! late, because jobs are short or the processors are busy, fewer are woken for the next job.
//!
//! There is no deadlock. A thread waits only for workers in a job that it posted itself, and a
//! worker joins a job only when it is in no other. So each wait is for a job posted later than the
//! one that the waiting thread is in.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::fork;
use super::spin_policy::SpinPolicy;
use super::sync::{AtomicBool, AtomicPtr, AtomicU32, Futex, Hint, Ordering, spin_until};
use oxiblosc_base::memory::env::on_caught_panic;

/// The work of one parallel run, called with a worker index.
///
/// - All workers have the floating-point state of the caller: results do not depend on their
///   number.
/// - The caller of [`run`](crate::run) is worker 0. Each worker thread that joins gets the next
///   index, and no index is given twice in one run, so it can select the worker's own scratch
///   buffers.
/// - A call may return only when no work is left to claim: after the first return no further worker
///   joins.
pub type Job<'a> = dyn Fn(usize) + Sync + 'a;

/// How many jobs can be posted at once.
#[cfg(not(all(test, loom)))]
const SLOTS: usize = 32;
#[cfg(all(test, loom))]
const SLOTS: usize = 2;

// A slot's state: in the lowest bit whether the caller sleeps until the last worker has left; in
// the next 15 bits the number of active workers; in the upper 16 bits the number of permits.
const WAITING: u32 = 1;
const ACTIVE: u32 = 1 << 1;
const PERMIT: u32 = 1 << 16;

/// The largest number of sleeping workers that one thread wakes for a job. Each takes it about a
/// microsecond, and runs five microseconds later (fifty on a virtual machine). With eight, two
/// rounds are enough for 72 workers. `simulation.rs` compares other numbers.
pub const FANOUT: u32 = 8;

/// The largest number of workers that can join one job, as limited by the bits for them in the
/// state.
pub const MAX_JOINED: usize = (PERMIT / ACTIVE - 1) as usize;

fn permits(state: u32) -> u32 {
    state / PERMIT
}

fn active(state: u32) -> u32 {
    state % PERMIT / ACTIVE
}

/// Calls `job(worker)`. Returns false if it panicked.
pub fn call(job: &Job<'_>, worker: usize) -> bool {
    match catch_unwind(AssertUnwindSafe(|| job(worker))) {
        Ok(()) => true,
        Err(payload) => {
            // The payload is not dropped, since its `drop` could panic, and a caller must not
            // unwind while workers use its stack.
            std::mem::forget(payload);
            on_caught_panic();
            false
        }
    }
}

/// A posted job, on the stack of its caller.
struct Task<'a> {
    job: &'a Job<'a>,
    panicked: AtomicBool,
}

/// A place for a posted job. It has cache lines of its own, so that jobs do not slow each other
/// down by false sharing.
#[repr(align(128))]
struct JobSlot {
    state: Futex,
    /// The number of permits at the start, from which a worker computes its index.
    initial_permits: AtomicU32,
    /// The number of permits for which no thread was woken yet.
    unannounced: Hint,
    /// How many workers have joined.
    joined: Hint,
    task: AtomicPtr<Task<'static>>,
}

impl JobSlot {
    fn new() -> Self {
        Self {
            state: Futex::new(0),
            initial_permits: AtomicU32::new(0),
            unannounced: Hint::new(0),
            joined: Hint::new(0),
            task: AtomicPtr::new(std::ptr::null_mut()),
        }
    }

    /// Takes a permit, works on the job, and leaves. Returns false if there was no permit. `before`
    /// is called before the work.
    fn join(&self, before: impl Fn(&Self)) -> bool {
        let mut state = self.state.word.load(Ordering::Relaxed);
        loop {
            if permits(state) == 0 {
                return false;
            }
            let joined = state - PERMIT + ACTIVE;
            match self.state.word.compare_exchange_weak(
                state,
                joined,
                Ordering::Acquire,
                Ordering::Relaxed,
            ) {
                Ok(_) => break,
                Err(now) => state = now,
            }
        }
        let worker = self.initial_permits.load(Ordering::Relaxed) - permits(state) + 1;
        // SAFETY: the caller stored the pointer before it published the permits (release in `run`),
        // and the exchange above acquired that. The caller keeps the task on its stack until this
        // worker has left: `close` waits while any is active.
        let task = unsafe { &*self.task.load(Ordering::Relaxed) };
        self.joined.fetch_add(1, Ordering::Relaxed);
        before(self);
        if !call(task.job, worker as usize) {
            task.panicked.store(true, Ordering::Relaxed);
        }
        self.leave();
        true
    }

    /// How many workers, at most `most`, the calling thread must wake for the job. They count as
    /// woken from now on.
    fn announce(&self, most: u32) -> u32 {
        let mut left = self.unannounced.load(Ordering::Relaxed);
        while left > 0 {
            let now = left.saturating_sub(most);
            let (order, failed) = (Ordering::Relaxed, Ordering::Relaxed);
            match self
                .unannounced
                .compare_exchange_weak(left, now, order, failed)
            {
                Ok(_) => return left - now,
                Err(other) => left = other,
            }
        }
        0
    }

    fn leave(&self) {
        let mut state = self.state.word.load(Ordering::Relaxed);
        loop {
            let left = state % PERMIT - ACTIVE;
            // Release: the work on the job and the last use of the task happen before the caller
            // continues.
            match self.state.word.compare_exchange_weak(
                state,
                left,
                Ordering::Release,
                Ordering::Relaxed,
            ) {
                Ok(_) if left == WAITING => return self.state.wake(1),
                Ok(_) => return,
                Err(now) => state = now,
            }
        }
    }

    /// Revokes the remaining permits and waits until no worker is active. Returns false if the
    /// process has forked since `generation` was read and the active workers exist in the parent
    /// only.
    fn close(&self, generation: u32, spin: bool) -> bool {
        if active(self.state.word.fetch_and(PERMIT - 1, Ordering::Acquire)) != 0 {
            if fork::generation() != generation {
                return false;
            }
            let left = || active(self.state.word.load(Ordering::Acquire)) == 0;
            if !(spin && spin_until(left)) {
                self.state.word.fetch_or(WAITING, Ordering::Relaxed);
                loop {
                    let state = self.state.word.load(Ordering::Acquire);
                    if active(state) == 0 {
                        break;
                    }
                    self.state.wait(state);
                }
            }
        }
        self.state.word.store(0, Ordering::Relaxed);
        true
    }
}

/// Padded to cache lines of its own, so that writes to it do not slow down reads of its neighbours
/// (false sharing).
#[repr(align(128))]
struct CachePadded<T>(T);

/// The slots for the jobs of one thread pool.
pub struct JobSlots {
    /// The number of jobs posted and of stops, modulo 2^32. Idle workers spin on it, then sleep on
    /// it.
    posts: CachePadded<Futex>,
    /// A bit mask of the slots in use.
    used: CachePadded<AtomicU32>,
    /// Workers that sleep, or are about to.
    sleepers: AtomicU32,
    /// Workers that spin until a job is posted.
    spinners: AtomicU32,
    /// How many workers one thread wakes, at most [`FANOUT`].
    fanout: Hint,
    /// How many workers were woken.
    #[cfg(test)]
    pub wakeups: std::sync::atomic::AtomicUsize,
    /// The largest number of workers that may spin. More would take processors from threads that
    /// work.
    max_spinners: u32,
    /// The number of stops. A worker ends when it is no longer what it was when the worker was
    /// started.
    epoch: AtomicU32,
    slots: [JobSlot; SLOTS],
}

impl JobSlots {
    /// Empty slots, for a process that may use `cores` processors.
    pub fn new(cores: usize) -> Self {
        Self {
            posts: CachePadded(Futex::new(0)),
            used: CachePadded(AtomicU32::new(0)),
            sleepers: AtomicU32::new(0),
            spinners: AtomicU32::new(0),
            fanout: Hint::new(FANOUT),
            #[cfg(test)]
            wakeups: std::sync::atomic::AtomicUsize::new(0),
            max_spinners: u32::try_from(cores.saturating_sub(1)).unwrap_or(u32::MAX),
            epoch: AtomicU32::new(0),
            slots: std::array::from_fn(|_| JobSlot::new()),
        }
    }

    /// Posts `job` for up to `helpers` workers (1 to [`MAX_JOINED`]), works on it on this thread,
    /// and returns when all workers that joined have left. Returns false if a call panicked or was
    /// lost in a fork.
    pub fn run(&self, helpers: usize, job: &Job<'_>) -> bool {
        let Some(index) = self.take_slot() else {
            return call(job, 0);
        };
        let slot = &self.slots[index];
        let generation = fork::generation();
        let task = Task {
            job,
            panicked: AtomicBool::new(false),
        };
        let permits = helpers.min(MAX_JOINED) as u32;
        slot.initial_permits.store(permits, Ordering::Relaxed);
        slot.joined.store(0, Ordering::Relaxed);
        slot.task
            .store((&raw const task).cast_mut().cast(), Ordering::Relaxed);
        // Workers that spin need not be woken.
        let spinners = self.spinners.load(Ordering::Relaxed);
        slot.unannounced
            .store(permits.saturating_sub(spinners), Ordering::Relaxed);
        // Release: a worker that sees the permits also sees the task.
        slot.state.word.store(permits * PERMIT, Ordering::Release);
        // This increments the count and then reads the sleepers; `idle` increments the sleepers and
        // then reads the count. All are sequentially consistent, so at least one of the two sees
        // the other's increment, and no wake-up is lost.
        self.posts.0.word.fetch_add(1, Ordering::SeqCst);
        self.wake_for(slot);

        let done = call(job, 0);
        let complete = slot.close(generation, self.max_spinners > 0);
        self.adapt_fanout(slot.joined.load(Ordering::Relaxed), permits);
        self.used.0.fetch_and(!(1 << index), Ordering::Release);
        done && complete && !task.panicked.load(Ordering::Relaxed)
    }

    /// The loop of a worker thread: joins jobs until it is stopped. `epoch` is what
    /// [`JobSlots::epoch`] returned when it was started.
    pub fn work(&self, epoch: u32) {
        let generation = fork::generation();
        let mut first = 0;
        let mut policy = SpinPolicy::default();
        loop {
            let seen = self.posts.0.word.load(Ordering::Acquire);
            // If a job forked on this thread, it returns here in the child too, where this is the
            // only thread. It must end.
            if self.epoch.load(Ordering::Relaxed) != epoch || fork::generation() != generation {
                return;
            }
            if !self.join_any(&mut first) {
                self.idle(seen, &mut policy);
            }
        }
    }

    /// The current epoch, for workers that are to be started.
    pub fn epoch(&self) -> u32 {
        self.epoch.load(Ordering::Relaxed)
    }

    /// Makes every worker started so far return from [`JobSlots::work`] after the job it is in.
    pub fn stop(&self) {
        self.epoch.fetch_add(1, Ordering::Relaxed);
        // Release: a worker that sees the new count also sees the new epoch.
        self.posts.0.word.fetch_add(1, Ordering::Release);
        self.posts.0.wake(usize::MAX);
    }

    fn take_slot(&self) -> Option<usize> {
        let mut used = self.used.0.load(Ordering::Relaxed);
        loop {
            let index = used.trailing_ones() as usize;
            if index >= SLOTS {
                return None;
            }
            let ours = used | 1 << index;
            // Acquire: the previous caller's last use of the slot happens before ours.
            match self.used.0.compare_exchange_weak(
                used,
                ours,
                Ordering::Acquire,
                Ordering::Relaxed,
            ) {
                Ok(_) => return Some(index),
                Err(now) => used = now,
            }
        }
    }

    /// Wakes workers for a job, if there are any that sleep.
    fn wake_for(&self, slot: &JobSlot) {
        let count = slot.announce(self.fanout.load(Ordering::Relaxed));
        if count > 0 && self.sleepers.load(Ordering::SeqCst) > 0 {
            #[cfg(test)]
            self.wakeups.fetch_add(count as usize, Ordering::Relaxed);
            self.posts.0.wake(count as usize);
        }
    }

    /// Increases the fan-out if all workers joined that could, and decreases it if less than half
    /// of them did.
    fn adapt_fanout(&self, joined: u32, permits: u32) {
        let fanout = self.fanout.load(Ordering::Relaxed);
        let better = match joined {
            all if all == permits => FANOUT.min(2 * fanout),
            few if 2 * few < permits => 1.max(fanout / 2),
            _ => fanout,
        };
        if better != fanout {
            self.fanout.store(better, Ordering::Relaxed);
        }
    }

    /// Joins one job that has a permit left. Returns false if there is none. The search starts
    /// behind the slot where it last found one, so that no caller is always the last to be served.
    fn join_any(&self, first: &mut u32) -> bool {
        let used = self.used.0.load(Ordering::Relaxed);
        let behind = used & (u32::MAX << *first);
        for mut candidates in [behind, used & !behind] {
            while candidates != 0 {
                let index = candidates.trailing_zeros();
                if self.slots[index as usize].join(|slot| self.wake_for(slot)) {
                    *first = (index + 1) % SLOTS as u32;
                    return true;
                }
                candidates &= candidates - 1;
            }
        }
        false
    }

    /// Waits until the count of posts is no longer `seen`: spins for a while if the policy says so,
    /// then sleeps.
    fn idle(&self, seen: u32, policy: &mut SpinPolicy) {
        if policy.should_spin() && self.spin(seen, policy) {
            return;
        }
        self.sleepers.fetch_add(1, Ordering::SeqCst);
        self.posts.0.wait(seen);
        self.sleepers.fetch_sub(1, Ordering::Relaxed);
    }

    /// Spins for a while, unless enough other workers do. Returns whether the count of posts is no
    /// longer `seen`.
    fn spin(&self, seen: u32, policy: &mut SpinPolicy) -> bool {
        let may_spin = self.spinners.fetch_add(1, Ordering::Relaxed) < self.max_spinners;
        let found = may_spin && spin_until(|| self.posts.0.word.load(Ordering::Relaxed) != seen);
        self.spinners.fetch_sub(1, Ordering::Relaxed);
        if may_spin {
            policy.record(found);
        }
        found
    }
}
