//! Jobs that are done by threads of the program, which a C function of its own calls.

use super::{Job, job_slots};
use oxiblosc_error::{Error, Result};
use oxiblosc_memory::{Collect, List, Published};
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicBool, Ordering};

/// Calls a function with each element of an array, on any threads, and returns when all calls have: data of its own, the function,
/// how many elements there are, their size, the first of them.
pub type Callback = unsafe extern "C" fn(
    *mut c_void,
    Option<unsafe extern "C" fn(*mut c_void)>,
    c_int,
    usize,
    *mut c_void,
);

/// A callback with its data.
struct Registered(Callback, *mut c_void);

// SAFETY: `set` demands that it can be called, from any thread, until it is replaced.
unsafe impl Sync for Registered {}

static REGISTERED: Published<Registered> = Published::empty();

/// Makes the program's threads do the work that [`run_tasks`] distributes, or the library's own again. A callback that was replaced stays
/// in memory.
///
/// # Errors
/// [`Error::MemoryAlloc`]; the threads stay those that they were.
///
/// # Safety
/// The callback does what [`Callback`] says, with these data, on any thread, until it is replaced.
pub unsafe fn set(callback: Option<Callback>, data: *mut c_void) -> Result<()> {
    REGISTERED.replace(callback.map(|callback| Registered(callback, data)))
}

/// As [`super::run_tasks`], with the program's own threads if it has set a callback.
///
/// # Errors
/// As for that, and for [`run`].
pub fn run_tasks(nthreads: usize, tasks: usize, job: &Job<'_>) -> Result<()> {
    match REGISTERED.get() {
        // SAFETY: as `set` was promised.
        Some(Registered(callback, data)) => unsafe { run(*callback, *data, nthreads, job) },
        None => super::run_tasks(nthreads, tasks, job),
    }
}

/// How many threads can run at the same time; what the program's own do is up to it.
pub fn processors() -> usize {
    match REGISTERED.get() {
        Some(_) => usize::MAX,
        None => super::processors(),
    }
}

/// One worker's share of a job.
struct Share<'a> {
    job: &'a Job<'a>,
    tid: usize,
    /// Whether the share was done, by whichever thread.
    done: AtomicBool,
}

unsafe extern "C" fn run_share(share: *mut c_void) {
    // SAFETY: the callback calls this with the elements of the array made in `run`, which outlives the call.
    let share = unsafe { &*share.cast::<Share>() };
    let done = job_slots::call(&|_| (share.job)(share.tid), 0);
    share.done.store(done, Ordering::Release);
}

/// Runs a job by `nthreads` workers that a callback calls.
///
/// # Errors
/// [`Error::ThreadCreate`] if a call of the job was not made, or panicked: it may have left work undone; [`Error::InvalidParam`],
/// [`Error::MemoryAlloc`].
///
/// # Safety
/// The callback does what [`Callback`] says, with these data.
pub unsafe fn run(
    callback: Callback,
    data: *mut c_void,
    nthreads: usize,
    job: &Job<'_>,
) -> Result<()> {
    // As in the reference, one job for each thread that was asked for.
    let numjobs = c_int::try_from(nthreads).map_err(|_| Error::InvalidParam)?;
    let share = |tid| Share {
        job,
        tid,
        done: AtomicBool::new(false),
    };
    let mut shares: List<Share> = (0..nthreads).map(share).list()?;
    let (first, size) = (shares.as_mut_ptr().cast(), size_of::<Share>());
    // SAFETY: `# Safety` makes it what `Callback` says: it uses the shares, as many of this size, only until it returns.
    unsafe { callback(data, Some(run_share), numjobs, size, first) };
    let mut done = shares.iter().map(|share| &share.done);
    match done.all(|done| done.load(Ordering::Acquire)) {
        true => Ok(()),
        false => Err(Error::ThreadCreate),
    }
}
