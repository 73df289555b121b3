//! The board on which callers post their jobs and from which helpers take part in them.
//!
//! A posted job occupies a slot. The slot's state is one word: how many seats are left for helpers, how many helpers are
//! inside, whether the caller sleeps until they are out. A helper enters by taking a seat, and leaves by striking all
//! remaining seats (it has seen that no work is left to claim) and itself. The caller posts, works, strikes the seats,
//! waits until nobody is inside, and frees the slot. With all slots taken it just works alone.
//!
//! No deadlock: a thread waits only for helpers inside a job that it posted itself, a helper enters a job only when it
//! is in no other, so each wait is for a job posted later than the one that the waiting thread is in.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::sync::{AtomicBool, AtomicPtr, AtomicU32, Gate, Ordering, spin_until};
use super::{Job, fork};

/// Jobs that can be posted at once.
#[cfg(not(all(test, loom)))]
const SLOTS: usize = 32;
#[cfg(all(test, loom))]
const SLOTS: usize = 2;

/// A slot's state, low bit: the caller sleeps until the last helper is out.
const WAITING: u32 = 1;
/// A slot's state, next 15 bits: helpers inside.
const INSIDE: u32 = 1 << 1;
/// A slot's state, high 16 bits: seats left.
const SEAT: u32 = 1 << 16;

/// Helpers that one job can have: the state counts no more.
pub const MAX_HELPERS: usize = (SEAT / INSIDE - 1) as usize;

fn seats(state: u32) -> u32 {
    state / SEAT
}

fn inside(state: u32) -> u32 {
    state % SEAT / INSIDE
}

/// Calls `job(worker)`. False when it panicked.
pub fn call(job: &Job<'_>, worker: usize) -> bool {
    match catch_unwind(AssertUnwindSafe(|| job(worker))) {
        Ok(()) => true,
        Err(payload) => {
            // Dropping it could panic again, and a caller must not unwind while helpers use its stack.
            std::mem::forget(payload);
            false
        }
    }
}

/// A posted job, on the stack of its caller.
struct Task<'a> {
    job: &'a Job<'a>,
    panicked: AtomicBool,
}

/// One place for a posted job. A line of its own, so that jobs do not slow each other down.
#[repr(align(128))]
struct Slot {
    state: Gate,
    /// The first number of seats, by which a helper knows the index of the one that it took.
    posted: AtomicU32,
    task: AtomicPtr<Task<'static>>,
}

impl Slot {
    fn new() -> Self {
        Self {
            state: Gate::new(0),
            posted: AtomicU32::new(0),
            task: AtomicPtr::new(std::ptr::null_mut()),
        }
    }

    /// Takes a seat, if there is one, works on the job, and leaves. False when there was no seat.
    fn join(&self) -> bool {
        let mut state = self.state.word.load(Ordering::Relaxed);
        loop {
            if seats(state) == 0 {
                return false;
            }
            let entered = state - SEAT + INSIDE;
            match self.state.word.compare_exchange_weak(
                state,
                entered,
                Ordering::Acquire,
                Ordering::Relaxed,
            ) {
                Ok(_) => break,
                Err(now) => state = now,
            }
        }
        let worker = self.posted.load(Ordering::Relaxed) - seats(state) + 1;
        // SAFETY: the seat was taken from a state that the task's caller published after storing the pointer, and that
        // caller keeps the task on its stack until we leave: it waits while anybody is inside.
        let task = unsafe { &*self.task.load(Ordering::Relaxed) };
        if !call(task.job, worker as usize) {
            task.panicked.store(true, Ordering::Relaxed);
        }
        self.leave();
        true
    }

    fn leave(&self) {
        let mut state = self.state.word.load(Ordering::Relaxed);
        loop {
            let left = state % SEAT - INSIDE;
            // Release: what we did for the job, and our last use of the task, come before the caller's going on.
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

    /// Strikes the remaining seats and waits until nobody is inside. False when the process forked since `generation`
    /// was read, and helpers that were inside exist in the parent only.
    fn close(&self, generation: u32, spin: bool) -> bool {
        if inside(self.state.word.fetch_and(SEAT - 1, Ordering::Acquire)) != 0 {
            if fork::generation() != generation {
                return false;
            }
            if !(spin && spin_until(|| inside(self.state.word.load(Ordering::Acquire)) == 0)) {
                self.state.word.fetch_or(WAITING, Ordering::Relaxed);
                loop {
                    let state = self.state.word.load(Ordering::Acquire);
                    if inside(state) == 0 {
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

/// A line of its own for what many threads write, apart from what helpers watch.
#[repr(align(128))]
struct Apart<T>(T);

/// The jobs that callers offer to one team of helpers.
pub struct Board {
    /// Counts the jobs posted (and the dismissals), modulo 2^32. Idle helpers watch it, then sleep on it.
    posts: Apart<Gate>,
    /// One bit per slot that is taken.
    taken: Apart<AtomicU32>,
    /// Helpers that sleep, or are about to.
    sleepers: AtomicU32,
    /// Helpers that watch for a job.
    watchers: AtomicU32,
    /// Watchers that there may be: more would take the processor from those who work.
    max_watchers: u32,
    /// Counts dismissals. A helper serves while this is the term that it was hired for.
    term: AtomicU32,
    slots: [Slot; SLOTS],
}

impl Board {
    /// An empty board, for a process that may use `cores` processors.
    pub fn new(cores: usize) -> Self {
        Self {
            posts: Apart(Gate::new(0)),
            taken: Apart(AtomicU32::new(0)),
            sleepers: AtomicU32::new(0),
            watchers: AtomicU32::new(0),
            max_watchers: u32::try_from(cores.saturating_sub(1)).unwrap_or(u32::MAX),
            term: AtomicU32::new(0),
            slots: std::array::from_fn(|_| Slot::new()),
        }
    }

    /// Posts `job` with `helpers` seats (1 to [`MAX_HELPERS`]), does it on this thread, and returns when all who joined
    /// have left. False when a call panicked or was left behind by a fork.
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
        let seats = helpers.min(MAX_HELPERS) as u32;
        slot.posted.store(seats, Ordering::Relaxed);
        slot.task
            .store((&raw const task).cast_mut().cast(), Ordering::Relaxed);
        slot.state.word.store(seats * SEAT, Ordering::Release);
        self.announce(seats);

        let done = call(job, 0);
        let complete = slot.close(generation, self.max_watchers > 0);
        self.taken.0.fetch_and(!(1 << index), Ordering::Release);
        done && complete && !task.panicked.load(Ordering::Relaxed)
    }

    /// The life of a helper: joins jobs until it is dismissed. `term` is what [`Board::term`] said when it was hired.
    pub fn serve(&self, term: u32) {
        let generation = fork::generation();
        let mut first = 0;
        loop {
            let seen = self.posts.0.word.load(Ordering::Acquire);
            // A job that forked may return here in the child, where this is the only thread: end it.
            if self.term.load(Ordering::Relaxed) != term || fork::generation() != generation {
                return;
            }
            if !self.join_any(&mut first) {
                self.idle(seen);
            }
        }
    }

    /// The current term, for helpers to be hired.
    pub fn term(&self) -> u32 {
        self.term.load(Ordering::Relaxed)
    }

    /// Makes every helper hired so far return from [`Board::serve`] after the job it is in.
    pub fn dismiss(&self) {
        self.term.fetch_add(1, Ordering::Relaxed);
        // Release: who sees the new count sees the new term.
        self.posts.0.word.fetch_add(1, Ordering::Release);
        self.posts.0.wake(usize::MAX);
    }

    fn take_slot(&self) -> Option<usize> {
        let mut taken = self.taken.0.load(Ordering::Relaxed);
        loop {
            let index = taken.trailing_ones() as usize;
            if index >= SLOTS {
                return None;
            }
            let ours = taken | 1 << index;
            // Acquire: the former owner's last use of the slot comes before ours.
            match self.taken.0.compare_exchange_weak(
                taken,
                ours,
                Ordering::Acquire,
                Ordering::Relaxed,
            ) {
                Ok(_) => return Some(index),
                Err(now) => taken = now,
            }
        }
    }

    /// Calls helpers to a job just posted. The order of the two accesses against the helper's in `idle` makes sure that
    /// either it sees the new count or we see it among the sleepers.
    fn announce(&self, seats: u32) {
        self.posts.0.word.fetch_add(1, Ordering::SeqCst);
        if self.sleepers.load(Ordering::SeqCst) > 0 {
            let missing = seats.saturating_sub(self.watchers.load(Ordering::Relaxed));
            if missing > 0 {
                self.posts.0.wake(missing as usize);
            }
        }
    }

    /// Joins one job that has a seat. False when there is none. Starts behind the slot where it last found one, so that
    /// no caller is always last.
    fn join_any(&self, first: &mut u32) -> bool {
        let taken = self.taken.0.load(Ordering::Relaxed);
        let behind = taken & (u32::MAX << *first);
        for mut candidates in [behind, taken & !behind] {
            while candidates != 0 {
                let index = candidates.trailing_zeros();
                if self.slots[index as usize].join() {
                    *first = (index + 1) % SLOTS as u32;
                    return true;
                }
                candidates &= candidates - 1;
            }
        }
        false
    }

    /// Waits until something was posted since the count was `seen`: watches for a while, then sleeps.
    fn idle(&self, seen: u32) {
        let watching = self.watchers.fetch_add(1, Ordering::Relaxed) < self.max_watchers;
        let posted = watching && spin_until(|| self.posts.0.word.load(Ordering::Relaxed) != seen);
        self.watchers.fetch_sub(1, Ordering::Relaxed);
        if !posted {
            self.sleepers.fetch_add(1, Ordering::SeqCst);
            self.posts.0.wait(seen);
            self.sleepers.fetch_sub(1, Ordering::Relaxed);
        }
    }
}
