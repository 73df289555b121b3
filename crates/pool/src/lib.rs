//! Worker threads, shared by every context that asks for the same number of them.
//!
//! [`run`] is the whole interface of the engine: it calls a job on the calling thread, and lets helper threads join
//! in. The job itself hands out the work (blocks, claimed from an atomic counter), so nothing here depends on how many
//! helpers come, or when: the caller alone always gets the job done, and helpers only make it sooner. That is what keeps
//! every awkward case simple: no helper could be started, all of them serve other callers, a job starts a job of its
//! own, [`shutdown`] takes the helpers away half-way.
//!
//! From the bottom up:
//! - `sync`: the primitives, in their real form and in the one that the model checker explores
//! - `board`: the protocol by which callers post jobs and helpers join and leave them; model-checked
//! - `team`: a board and the threads that serve it
//! - `thread`, `cores`: what the system gives, without memory that must be there
//! - `registry`: one team per thread count
//! - `fork`: how a child process notices that none of the threads came along
//!
//! Helpers are called `blosc2-1`, `blosc2-2`, ... and leave the host's signals to the host's own threads.
#![deny(unsafe_op_in_unsafe_fn)]
#![warn(clippy::undocumented_unsafe_blocks)]
// What ends the process where there is no memory: clippy.toml names it, and what to use instead.
#![cfg_attr(
    not(test),
    deny(
        clippy::disallowed_types,
        clippy::disallowed_methods,
        clippy::disallowed_macros
    )
)]

mod board;
mod cores;
mod fork;
mod registry;
mod sync;
mod team;
mod thread;

#[cfg(all(test, loom))]
mod model;
#[cfg(all(test, not(loom)))]
mod tests;

use oxiblosc_error::{Error, Result};
use team::Team;

/// The work of one parallel run, called with a worker index.
///
/// - The caller of [`run`] is worker 0. Each helper that joins gets the next index, and no index is given twice in one
///   run: it can stand for the worker's own scratch.
/// - A call may return only when there is no work left to claim: the first return shuts the door for helpers.
pub type Job<'a> = dyn Fn(usize) + Sync + 'a;

/// Does `job` with at most `nthreads` workers: the calling thread and up to `nthreads - 1` helpers. Returns when
/// the calling thread's `job(0)` and the call of every helper that joined have returned.
///
/// With `nthreads` of 0 or 1 this is a plain call of `job(0)`. May be called from inside a job: the calling thread then
/// works on the inner job, with the helpers that are free.
///
/// # Errors
/// [`Error::Failure`] when a call of the job panicked, on whichever thread (the panic goes no further), or when the
/// process forked inside the job and this is the child: what the helpers had claimed stayed in the parent.
pub fn run(nthreads: usize, job: &Job<'_>) -> Result<()> {
    run_tasks(nthreads, usize::MAX, job)
}

/// As [`run`], for a job that consists of `tasks` pieces: never wakes more helpers than have a piece to do. With one
/// piece the caller does it alone.
///
/// # Errors
/// As [`run`].
pub fn run_tasks(nthreads: usize, tasks: usize, job: &Job<'_>) -> Result<()> {
    let done = if nthreads <= 1 || tasks <= 1 {
        board::call(job, 0)
    } else {
        match registry::team(nthreads) {
            Some(team) => team.run(tasks - 1, job),
            None => board::call(job, 0),
        }
    };
    if done { Ok(()) } else { Err(Error::Failure) }
}

/// How many workers a [`run`] with `nthreads` can have: as many as asked for, or fewer once the system refused to
/// start a thread for that count (until the next [`shutdown`]).
pub fn available(nthreads: usize) -> usize {
    if nthreads <= 1 {
        return 1;
    }
    registry::team(nthreads).map_or(1, |team| team.available())
}

/// Ends and joins every helper thread, after the job it is in. Runs that are under way end well, on their callers
/// alone; a later run starts new threads. Calling it twice, or with no thread started, does nothing.
///
/// From inside a job on a helper thread the helpers are told to end but not waited for: one of them would be
/// waiting for itself.
pub fn shutdown() {
    let helps = registry::teams().any(Team::has_this_thread);
    for team in registry::teams() {
        for thread in team.dismiss() {
            if !helps {
                thread.join();
            }
        }
    }
}
