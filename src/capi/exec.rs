//! Where the workers of a job come from: the shared pool, or the program's own threads.

use super::border::{guard, retire};
use super::types::blosc_threads_callback;
use crate::chunk::hooks::Executor;
use crate::error::{Error, Result};
use crate::pool;
use std::ffi::{c_int, c_void};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};

/// A registered callback with its data.
struct Callback {
    run: unsafe extern "C" fn(
        *mut c_void,
        Option<unsafe extern "C" fn(*mut c_void)>,
        c_int,
        usize,
        *mut c_void,
    ),
    data: *mut c_void,
}

static CALLBACK: AtomicPtr<Callback> = AtomicPtr::new(null_mut());

/// Makes the program's own threads do the work: whenever several workers are wanted, `callback` is called and calls
/// the function it gets for each of the jobs, on any threads. NULL goes back to the library's own threads. To be
/// called before anything else, as in the reference; a callback that was replaced stays in memory.
///
/// # Safety
/// `callback` can be called with `callback_data` until it is replaced.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blosc2_set_threads_callback(
    callback: blosc_threads_callback,
    callback_data: *mut c_void,
) {
    let entry = callback.map_or(null_mut(), |run| {
        Box::into_raw(Box::new(Callback {
            run,
            data: callback_data,
        }))
    });
    retire(CALLBACK.swap(entry, Ordering::AcqRel));
}

/// One worker's share of a job.
struct Share<'a> {
    job: &'a (dyn Fn(usize) + Sync),
    tid: usize,
}

unsafe extern "C" fn run_share(share: *mut c_void) {
    guard((), || {
        // SAFETY: the program calls this with the elements of the array made in `run`, which outlives the call.
        let share = unsafe { &*share.cast::<Share>() };
        (share.job)(share.tid);
    });
}

/// The threads that the program chose.
pub struct Threads;

impl Executor for Threads {
    fn run(&self, nworkers: usize, job: &(dyn Fn(usize) + Sync)) -> Result<()> {
        if nworkers <= 1 {
            job(0);
            return Ok(());
        }
        // SAFETY: an entry is never freed once it was published.
        let Some(callback) = (unsafe { CALLBACK.load(Ordering::Acquire).as_ref() }) else {
            return pool::run(nworkers, job);
        };
        let numjobs = c_int::try_from(nworkers).map_err(|_| Error::InvalidParam)?;
        let mut shares: Vec<Share> = (0..nworkers).map(|tid| Share { job, tid }).collect();
        // SAFETY: the program gave this callback; it returns when all shares were run.
        unsafe {
            (callback.run)(
                callback.data,
                Some(run_share),
                numjobs,
                size_of::<Share>(),
                shares.as_mut_ptr().cast(),
            )
        };
        Ok(())
    }
}
