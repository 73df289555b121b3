//! Worker threads, shared by every context that asks for the same number of them.
//!
//! [`run`] calls a job on the calling thread, and lets worker threads join it. The job itself hands
//! out the work (blocks, claimed from an atomic counter), so nothing here depends on how many
//! workers join, or when. The caller alone can always complete the job, and workers only make it
//! faster. That keeps the special cases simple: no thread could be started, all of them are busy
//! with other jobs, a job starts a job of its own, or [`shutdown`] stops the threads in between.
//!
//! From the bottom up:
//! - `sync`: atomics and a futex, in their real form and in the one that the model checker explores
//! - `spin_policy`: whether a worker without work spins before it sleeps
//! - `job_slots`: the protocol by which callers post jobs and workers join and leave them;
//!   model-checked
//! - `thread`, `cores`: threads and the number of processors, by system calls, without allocations
//!   that must not fail
//! - `thread_pool`: job slots and the threads that work on them
//! - `registry`: one thread pool per thread count
//! - `process`: a number that tells a process from its children
//! - [`callback`]: threads of the program instead
//! - `fork`: how a child process notices that it has none of the threads
//!
//! The threads are called `blosc2-1`, `blosc2-2`, ... They block signals, so that the host handles
//! these on its own threads.
#![deny(unsafe_op_in_unsafe_fn)]
#![warn(missing_docs, clippy::missing_errors_doc)]
#![warn(clippy::undocumented_unsafe_blocks)]
// These abort the process when an allocation fails. clippy.toml lists them and what to use instead.
#![cfg_attr(
    not(test),
    deny(
        clippy::disallowed_types,
        clippy::disallowed_methods,
        clippy::disallowed_macros
    )
)]

/// Threads of the program.
pub mod callback;
mod cores;
mod fork;
mod job_slots;
mod process;
mod registry;
mod spin_policy;
mod sync;
mod thread;
mod thread_pool;

#[cfg(all(test, loom))]
mod model;
#[cfg(all(test, not(loom)))]
mod simulation;
#[cfg(all(test, not(loom)))]
mod tests;

pub use cores::recent_count as processors;
pub use job_slots::Job;
use oxiblosc_base::system::float::FloatState;
use oxiblosc_base::{Error, Result};
pub use process::process;
use thread_pool::ThreadPool;

/// Runs `job` with at most `nthreads` workers: the calling thread and up to `nthreads - 1` worker
/// threads. Returns when the calling thread's `job(0)` and the calls of all workers that joined
/// have returned.
///
/// With `nthreads` of 0 or 1 this is a plain call of `job(0)`. It may be called from inside a job:
/// the calling thread then works on the inner job, with the worker threads that are free.
///
/// # Errors
/// [`Error::FAILURE`] if a call of the job panicked on any thread (the panic is not propagated), or
/// if the process forked inside the job and this is the child: the work that worker threads had
/// claimed was done in the parent only.
pub fn run(nthreads: usize, job: &Job<'_>) -> Result<()> {
    run_tasks(nthreads, usize::MAX, job)
}

/// Like [`run`], for a job that consists of `tasks` tasks: it wakes no more threads than there are
/// tasks for. With one task the caller works alone.
///
/// # Errors
/// As [`run`].
pub fn run_tasks(nthreads: usize, tasks: usize, job: &Job<'_>) -> Result<()> {
    let done = if nthreads <= 1 || tasks <= 1 {
        job_slots::call(job, 0)
    } else {
        let floats = FloatState::of_this_thread();
        let job: &Job<'_> = &|worker| floats.during(|| job(worker));
        match registry::pool(nthreads) {
            Some(pool) => pool.run(tasks - 1, job),
            None => job_slots::call(job, 0),
        }
    };
    if done { Ok(()) } else { Err(Error::FAILURE) }
}

/// How many workers a [`run`] with `nthreads` can have: `nthreads`, or fewer after the system
/// refused to start a thread for that count (until the next [`shutdown`]).
pub fn available(nthreads: usize) -> usize {
    if nthreads <= 1 {
        return 1;
    }
    registry::pool(nthreads).map_or(1, |pool| pool.available())
}

/// Stops and joins every worker thread, after the job it is in. Running jobs are completed by their
/// callers; a later run starts new threads. Calling it twice, or with no thread started, does
/// nothing.
///
/// If it is called from inside a job on a worker thread, the threads are stopped but not joined,
/// since that thread would wait for itself.
pub fn shutdown() {
    let on_worker = registry::pools().any(ThreadPool::has_this_thread);
    for pool in registry::pools() {
        for thread in pool.stop() {
            if !on_worker {
                thread.join();
            }
        }
    }
}
