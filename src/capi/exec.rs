//! Where the workers of a job come from: the shared pool, or the program's own threads.

use crate::capi::prelude::*;
use oxiblosc_chunk::hooks::Executor;
use oxiblosc_core::exec::with_operations;
use oxiblosc_memory::env::trace;
use oxiblosc_memory::{Collect, List, Published};
use oxiblosc_pool as pool;
use std::sync::atomic::{AtomicBool, Ordering};

/// A registered callback with its data.
struct Callback {
    run: blosc_threads_callback,
    data: *mut c_void,
}

// SAFETY: by the word of who sets it, it may be called from any thread.
unsafe impl Sync for Callback {}

static CALLBACK: Published<Callback> = Published::empty();

/// Makes the program's own threads do the work: whenever several workers are wanted, `callback` is called and calls
/// the function it gets for each of the jobs, on any threads. NULL goes back to the library's own threads. To be
/// called before anything else, as in the reference; a callback that was replaced stays in memory. Where memory is short,
/// the threads stay those that they were.
///
/// # Safety
/// `callback` can be called with `callback_data` until it is replaced.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blosc2_set_threads_callback(
    callback: blosc_threads_callback,
    callback_data: *mut c_void,
) {
    let (run, data) = (callback, callback_data);
    let entry = run.is_some().then_some(Callback { run, data });
    if CALLBACK.replace(entry).is_err() {
        trace("error", "blosc2_set_threads_callback: no memory");
    }
}

/// One worker's share of a job.
struct Share<'a> {
    job: &'a (dyn Fn(usize) + Sync),
    tid: usize,
    /// Whether the share was done, by whichever thread.
    done: AtomicBool,
}

unsafe extern "C" fn run_share(share: *mut c_void) {
    // SAFETY: the program calls this with the elements of the array made in `run`, which outlives the call.
    let share = unsafe { &*share.cast::<Share>() };
    let done = guard(false, || {
        (share.job)(share.tid);
        true
    });
    share.done.store(done, Ordering::Release);
}

/// The threads that the program chose.
pub struct Threads;

impl Executor for Threads {
    fn run(&self, nthreads: usize, nworkers: usize, job: &(dyn Fn(usize) + Sync)) -> Result<()> {
        with_operations(nworkers, job, |job| distribute(nthreads, nworkers, job))
    }
}

/// Runs a job by several threads.
fn distribute(nthreads: usize, nworkers: usize, job: &(dyn Fn(usize) + Sync)) -> Result<()> {
    let callback = CALLBACK
        .get()
        .and_then(|callback| Some((callback.run?, callback.data)));
    let Some((run, data)) = callback else {
        return pool::run_tasks(nthreads, nworkers, job);
    };
    // As in the reference, one job for each thread that was asked for.
    let numjobs = c_int::try_from(nthreads).map_err(|_| Error::InvalidParam)?;
    let mut shares: List<Share> = (0..nthreads)
        .map(|tid| Share {
            job,
            tid,
            done: AtomicBool::new(false),
        })
        .list()?;
    let (first, size) = (shares.as_mut_ptr().cast(), size_of::<Share>());
    // SAFETY: the program gave this callback; it returns when all shares were run.
    unsafe { run(data, Some(run_share), numjobs, size, first) };
    // A share that was not run, or panicked, may have left blocks undone.
    let done = shares
        .iter()
        .all(|share| share.done.load(Ordering::Acquire));
    if done {
        Ok(())
    } else {
        Err(Error::ThreadCreate)
    }
}
