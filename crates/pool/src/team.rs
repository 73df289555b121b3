//! A board and the threads that serve it.

use std::mem::MaybeUninit;
use std::sync::{Mutex, PoisonError, TryLockError};

use super::Job;
use super::board::{self, Board, MAX_HELPERS};
use super::sync::{AtomicUsize, Ordering};
use super::thread::Thread;
use oxiblosc_error::Error;
use oxiblosc_memory::List;

/// Stack of a helper, in bytes: what the main thread usually has, since users' codecs and filters run on it. Only what
/// is touched takes memory.
const STACK: usize = 8 << 20;

/// The helpers that serve all runs of one thread count.
pub struct Team {
    nthreads: usize,
    older: Option<&'static Team>,
    board: Board,
    /// Helpers started and not dismissed.
    helpers: AtomicUsize,
    /// Helpers that there can be: lowered when the system refuses a thread, so that not every run asks it again.
    ceiling: AtomicUsize,
    /// Held to start or dismiss helpers, never while a job runs.
    threads: Mutex<List<Thread>>,
}

impl Team {
    /// A team for runs of `nthreads` workers (2 or more), with no thread started.
    pub fn new(nthreads: usize) -> Self {
        let cores = super::cores::count();
        Self {
            nthreads,
            older: None,
            board: Board::new(cores),
            helpers: AtomicUsize::new(0),
            ceiling: AtomicUsize::new(most_helpers(nthreads)),
            threads: Mutex::new(List::new()),
        }
    }

    /// The thread count of the runs it serves.
    pub fn nthreads(&self) -> usize {
        self.nthreads
    }

    /// The next team in the registry's list.
    pub fn older(&self) -> Option<&'static Team> {
        self.older
    }

    /// Links the team to the list it is about to join.
    pub fn set_older(&mut self, older: Option<&'static Team>) {
        self.older = older;
    }

    /// Workers that a run can have, the caller included.
    pub fn available(&self) -> usize {
        1 + self.ceiling.load(Ordering::Relaxed)
    }

    /// Does `job` on this thread with at most `wanted` helpers, starting those that are missing. False when a call of
    /// the job panicked or was left behind by a fork.
    pub fn run(&'static self, wanted: usize, job: &Job<'_>) -> bool {
        let wanted = wanted.min(self.ceiling.load(Ordering::Relaxed));
        let mut helpers = self.helpers.load(Ordering::Relaxed);
        if helpers < wanted {
            self.grow(wanted);
            helpers = self.helpers.load(Ordering::Relaxed);
        }
        match wanted.min(helpers) {
            0 => board::call(job, 0),
            seats => self.board.run(seats, job),
        }
    }

    /// Whether the thread that asks is one of the helpers.
    pub fn has_this_thread(&self) -> bool {
        let threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        threads.iter().any(Thread::is_this)
    }

    /// Tells all helpers to end after the job they are in; the caller joins what is returned.
    pub fn dismiss(&self) -> List<Thread> {
        let mut threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        self.helpers.store(0, Ordering::Relaxed);
        self.ceiling
            .store(most_helpers(self.nthreads), Ordering::Relaxed);
        self.board.dismiss();
        std::mem::take(&mut *threads)
    }

    /// Starts helpers until there are `wanted`. Does not wait for another thread that is at it: a run can do with the
    /// helpers there are.
    fn grow(&'static self, wanted: usize) {
        let mut threads = match self.threads.try_lock() {
            Ok(threads) => threads,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return,
        };
        let term = self.board.term();
        let _quiet = SignalsBlocked::new();
        while threads.len() < wanted {
            // Room for it first: a helper that nobody knows of could not be waited for.
            if threads.reserve(1).is_err() {
                break;
            }
            match Thread::start(threads.len() + 1, STACK, move || self.board.serve(term)) {
                Ok(helper) => threads.push_within_capacity(helper),
                // Where there is no memory now, there may be some for the next run.
                Err(Error::MemoryAlloc) => break,
                Err(_) => {
                    self.ceiling.store(threads.len(), Ordering::Relaxed);
                    break;
                }
            }
        }
        self.helpers.store(threads.len(), Ordering::Relaxed);
    }
}

fn most_helpers(nthreads: usize) -> usize {
    (nthreads - 1).min(MAX_HELPERS)
}

/// While it lives, this thread takes no signal, and neither do the threads it starts, for all their life: the host's
/// handlers run on threads the host knows. Left open are the signals by which the processor reports a fault of the
/// running thread: blocking those would kill the process where the host has a handler for them.
struct SignalsBlocked {
    before: libc::sigset_t,
}

impl SignalsBlocked {
    fn new() -> Self {
        let mut block = MaybeUninit::uninit();
        let mut before = MaybeUninit::uninit();
        // SAFETY: `sigfillset` initialises `block` before the other calls use it, and `pthread_sigmask` with valid
        // arguments cannot fail and initialises `before`.
        unsafe {
            libc::sigfillset(block.as_mut_ptr());
            for fault in [
                libc::SIGSEGV,
                libc::SIGBUS,
                libc::SIGFPE,
                libc::SIGILL,
                libc::SIGTRAP,
                libc::SIGSYS,
            ] {
                libc::sigdelset(block.as_mut_ptr(), fault);
            }
            libc::pthread_sigmask(libc::SIG_SETMASK, block.as_ptr(), before.as_mut_ptr());
            Self {
                before: before.assume_init(),
            }
        }
    }
}

impl Drop for SignalsBlocked {
    fn drop(&mut self) {
        // SAFETY: `before` is the mask that `new` was given for this thread; the guard never leaves the thread.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &self.before, std::ptr::null_mut()) };
    }
}
