//! A thread pool: job slots, and the worker threads that join the jobs in them.

use std::sync::{Mutex, PoisonError, TryLockError};

use super::cores;
use super::job_slots::{self, Job, JobSlots, MAX_JOINED};
use super::sync::{AtomicUsize, Ordering};
use super::thread::{self, Thread};
use oxiblosc_base::Error;
use oxiblosc_base::memory::TryVec;
use oxiblosc_base::system::thread::SignalsBlocked;

/// The stack size of a worker thread in bytes. It is what the main thread usually has, since users'
/// codecs and filters run on it. Pages that are never touched take no memory.
const STACK: usize = 8 << 20;

/// The worker threads for all runs of one thread count.
pub struct ThreadPool {
    nthreads: usize,
    next: Option<&'static ThreadPool>,
    slots: JobSlots,
    /// How many threads run.
    started: AtomicUsize,
    /// How many threads may run. It is lowered when the system refuses a thread, so that not every
    /// run tries again.
    limit: AtomicUsize,
    /// Locked to start or stop threads, never while a job runs.
    threads: Mutex<TryVec<Thread>>,
}

impl ThreadPool {
    /// A pool for runs of `nthreads` workers (2 or more), with no thread started.
    pub fn new(nthreads: usize) -> Self {
        let cores = cores::count();
        Self {
            nthreads,
            next: None,
            slots: JobSlots::new(cores),
            started: AtomicUsize::new(0),
            limit: AtomicUsize::new(max_threads(nthreads)),
            threads: Mutex::new(TryVec::new()),
        }
    }

    /// The number of workers of its runs, callers included.
    pub fn nthreads(&self) -> usize {
        self.nthreads
    }

    /// The next pool in the registry's list.
    pub fn next(&self) -> Option<&'static ThreadPool> {
        self.next
    }

    /// Sets the next pool in the list, before the pool is published.
    pub fn set_next(&mut self, next: Option<&'static ThreadPool>) {
        self.next = next;
    }

    /// How many workers a run can have, the caller included.
    pub fn available(&self) -> usize {
        1 + self.limit.load(Ordering::Relaxed)
    }

    /// How many times a thread was woken.
    #[cfg(all(test, not(loom)))]
    pub fn wakeups(&self) -> usize {
        self.slots
            .wakeups
            .load(std::sync::atomic::Ordering::Relaxed)
    }

    /// Runs `job` on this thread and on at most `wanted` worker threads; starts those that are
    /// missing. Returns false if a call of the job panicked or was lost in a fork.
    pub fn run(&'static self, wanted: usize, job: &Job<'_>) -> bool {
        let wanted = wanted.min(self.limit.load(Ordering::Relaxed));
        let mut started = self.started.load(Ordering::Relaxed);
        if started < wanted {
            self.grow(wanted);
            started = self.started.load(Ordering::Relaxed);
        }
        match wanted.min(started) {
            0 => job_slots::call(job, 0),
            helpers => self.slots.run(helpers, job),
        }
    }

    /// Whether the calling thread is one of the pool's.
    pub fn has_this_thread(&self) -> bool {
        let threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        threads.iter().any(Thread::is_this)
    }

    /// Makes all threads end after the job they are in. The caller is to join the returned threads.
    pub fn stop(&self) -> TryVec<Thread> {
        let mut threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        self.started.store(0, Ordering::Relaxed);
        self.limit
            .store(max_threads(self.nthreads), Ordering::Relaxed);
        self.slots.stop();
        std::mem::take(&mut *threads)
    }

    /// Starts threads until there are `wanted`. If another thread is already doing that, it does
    /// not wait: a run also works with the threads that exist.
    fn grow(&'static self, wanted: usize) {
        let mut threads = match self.threads.try_lock() {
            Ok(threads) => threads,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return,
        };
        let epoch = self.slots.epoch();
        let _blocked = SignalsBlocked::new();
        while threads.len() < wanted {
            // Reserve before starting: a thread that is not in the list could not be joined.
            if threads.reserve(1).is_err() {
                break;
            }
            match thread::start(threads.len() + 1, STACK, move || self.slots.work(epoch)) {
                Ok(thread) => threads.push_within_capacity(thread),
                // The next run may try again: there may be memory then.
                Err(error) if error == Error::MEMORY_ALLOC => break,
                Err(_) => {
                    self.limit.store(threads.len(), Ordering::Relaxed);
                    break;
                }
            }
        }
        self.started.store(threads.len(), Ordering::Relaxed);
    }
}

fn max_threads(nthreads: usize) -> usize {
    (nthreads - 1).min(MAX_JOINED)
}
