//! Where the workers of a job come from: the shared pool, or the program's own threads.

use crate::capi::prelude::*;
use oxiblosc_chunk::hooks::Executor;
use oxiblosc_core::exec::with_operations;
use oxiblosc_memory::Published;
use oxiblosc_memory::env::trace;
use oxiblosc_pool as pool;

/// A registered callback with its data.
struct Callback {
    run: blosc_threads_callback,
    data: *mut c_void,
}

// SAFETY: `blosc2_set_threads_callback` demands that it can be called, from any thread, until it is replaced.
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

/// The threads that the program chose.
pub struct Threads;

impl Executor for Threads {
    fn run(&self, nthreads: usize, nworkers: usize, job: &(dyn Fn(usize) + Sync)) -> Result<()> {
        with_operations(nworkers, job, |job| {
            let callback = CALLBACK.get();
            match callback.and_then(|callback| Some((callback.run?, callback.data))) {
                // SAFETY: the program gave this callback and its data.
                Some((run, data)) => unsafe { pool::callback::run(run, data, nthreads, job) },
                None => pool::run_tasks(nthreads, nworkers, job),
            }
        })
    }

    fn processors(&self) -> usize {
        match CALLBACK.get() {
            // What they do is up to the program.
            Some(_) => usize::MAX,
            None => pool::processors(),
        }
    }
}
