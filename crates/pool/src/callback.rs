//! Jobs that run on the program's own threads, by a C callback that the program has registered.

use super::job_slots::{self, Job};
use oxiblosc_base::memory::{Collect, Published, TryVec};
use oxiblosc_base::system::float::FloatState;
use oxiblosc_base::{Error, Result};
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicBool, Ordering};

/// A callback that calls a function with each element of an array, on any threads, and returns when
/// all calls have returned. Its parameters are its data, the function, the number of elements,
/// their size, and the address of the first.
pub type Callback = unsafe extern "C" fn(
    *mut c_void,
    Option<unsafe extern "C" fn(*mut c_void)>,
    c_int,
    usize,
    *mut c_void,
);

/// A callback with its data.
struct ThreadCallback(Callback, *mut c_void);

// SAFETY: `set` requires that the callback can be called with these data from any thread.
unsafe impl Sync for ThreadCallback {}

static REGISTERED: Published<ThreadCallback> = Published::empty();

/// Sets the callback by which [`run_tasks`] uses the program's threads; with `None` it uses the
/// library's again. The memory of a replaced callback is not freed, since another thread may be
/// using it.
///
/// # Errors
/// [`Error::MEMORY_ALLOC`]; nothing has changed then.
///
/// # Safety
/// The callback does what [`Callback`] says, with these data, on any thread, until it is replaced.
pub unsafe fn set(callback: Option<Callback>, data: *mut c_void) -> Result<()> {
    REGISTERED.replace(callback.map(|callback| ThreadCallback(callback, data)))
}

/// The thread count whose pool runs a job. Jobs of no more tasks than there are processors share
/// one pool, however many threads beyond that were asked for: those of several pools would take the
/// processors from each other while they spin for the next job.
fn pool_for(nthreads: usize, tasks: usize) -> usize {
    if nthreads <= 2 {
        return nthreads;
    }
    match super::processors() {
        processors if tasks <= processors => nthreads.min(processors),
        _ => nthreads,
    }
}

/// As [`super::run_tasks`], on the program's threads if it has set a callback.
///
/// # Errors
/// Those of [`super::run_tasks`] and [`run`].
pub fn run_tasks(nthreads: usize, tasks: usize, job: &Job<'_>) -> Result<()> {
    match REGISTERED.get() {
        // SAFETY: `set` requires what `run` does.
        Some(ThreadCallback(callback, data)) => unsafe { run(*callback, *data, nthreads, job) },
        None => super::run_tasks(pool_for(nthreads, tasks), tasks, job),
    }
}

/// How many threads can run at the same time. For the program's threads it is unknown, and taken as
/// unlimited.
pub fn processors() -> usize {
    match REGISTERED.get() {
        Some(_) => usize::MAX,
        None => super::processors(),
    }
}

/// The part of a job that one worker does.
struct Share<'a> {
    job: &'a Job<'a>,
    tid: usize,
    /// Whether it was done, by any thread.
    done: AtomicBool,
}

unsafe extern "C" fn run_share(share: *mut c_void) {
    // SAFETY: the callback calls this with the elements of the array made in `run`, which outlives
    // the call.
    let share = unsafe { &*share.cast::<Share>() };
    let done = job_slots::call(&|_| (share.job)(share.tid), 0);
    share.done.store(done, Ordering::Release);
}

/// Runs a job by `nthreads` workers that a callback calls.
///
/// # Errors
/// [`Error::THREAD_CREATE`] if a call of the job was not made or panicked, since work may be left
/// undone then; [`Error::INVALID_PARAM`] if `nthreads` is too large; [`Error::MEMORY_ALLOC`].
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
    let numjobs = c_int::try_from(nthreads).map_err(|_| Error::INVALID_PARAM)?;
    let floats = FloatState::of_this_thread();
    let job: &Job<'_> = &|worker| floats.during(|| job(worker));
    let share = |tid| Share {
        job,
        tid,
        done: AtomicBool::new(false),
    };
    let mut shares: TryVec<Share> = (0..nthreads).map(share).collect_vec()?;
    let (first, size) = (shares.as_mut_ptr().cast(), size_of::<Share>());
    // SAFETY: by `# Safety` the callback does what `Callback` says: it uses `numjobs` elements of
    // this size, and only until it returns.
    unsafe { callback(data, Some(run_share), numjobs, size, first) };
    let mut done = shares.iter().map(|share| &share.done);
    match done.all(|done| done.load(Ordering::Acquire)) {
        true => Ok(()),
        false => Err(Error::THREAD_CREATE),
    }
}
