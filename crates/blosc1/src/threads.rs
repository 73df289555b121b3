//! The threads of the library.

use super::border::{FAILED, print_warning};
use oxiblosc_base::Result;
use oxiblosc_chunk::hooks::Executor;
use std::ffi::c_int;

/// The largest number of threads that a program may ask for.
const MAX_THREADS: c_int = 256;

/// The shared worker threads.
pub struct WorkerThreads;

impl Executor for WorkerThreads {
    fn run(&self, nthreads: usize, nworkers: usize, job: &(dyn Fn(usize) + Sync)) -> Result<()> {
        oxiblosc_pool::run_tasks(nthreads, nworkers, job)
    }
}

/// How many threads work on a chunk if a program asks for `nthreads`. As in c-blosc, the number is
/// checked only if there is more than one whole block.
///
/// # Errors
/// [`FAILED`].
pub fn count(
    nthreads: c_int,
    nbytes: usize,
    blocksize: usize,
) -> std::result::Result<usize, c_int> {
    if nbytes / blocksize <= 1 {
        return Ok(1);
    }
    if !(1..=MAX_THREADS).contains(&nthreads) {
        print_warning(format_args!(
            "the number of threads has to be 1 to {MAX_THREADS}, not {nthreads}"
        ));
        return Err(FAILED);
    }
    Ok(nthreads as usize)
}
