//! Threads that help with an operation.

use oxiblosc_base::{Error, Result};
use oxiblosc_chunk::hooks::Executor;
use oxiblosc_io::operation;
/// The worker threads.
pub use oxiblosc_pool as pool;
use oxiblosc_pool::callback;
use std::sync::atomic::{AtomicBool, Ordering};

/// The worker threads of the library, or those of the callback that the program has set instead.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pool;

impl Executor for Pool {
    fn run(&self, nthreads: usize, nworkers: usize, job: &(dyn Fn(usize) + Sync)) -> Result<()> {
        with_operations(nworkers, job, |job| {
            callback::run_tasks(nthreads, nworkers, job)
        })
    }

    fn processors(&self) -> usize {
        callback::processors()
    }
}

/// Runs a job on this thread if `nworkers` is 1, else on several threads with `distribute`.
/// Callbacks on these threads may use the super-chunks that this thread has locked.
///
/// # Errors
/// Those of `distribute`, and [`Error::MEMORY_ALLOC`].
pub fn with_operations(
    nworkers: usize,
    job: &(dyn Fn(usize) + Sync),
    distribute: impl FnOnce(&(dyn Fn(usize) + Sync)) -> Result<()>,
) -> Result<()> {
    if nworkers <= 1 {
        return oxiblosc_pool::run(1, job);
    }
    let Some(operations) = operation::shared() else {
        return distribute(job);
    };
    let no_memory = AtomicBool::new(false);
    distribute(&|tid| match operation::help(&operations) {
        Ok(_helping) => job(tid),
        Err(_) => no_memory.store(true, Ordering::Relaxed),
    })?;
    if no_memory.into_inner() {
        return Err(Error::MEMORY_ALLOC);
    }
    Ok(())
}
