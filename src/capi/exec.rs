//! Threads of the program.

use crate::capi::prelude::*;
use oxiblosc::exec::pool;
use oxiblosc_base::memory::env::trace;

/// Makes the program's own threads do the work: whenever several workers are wanted, `callback` is
/// called and calls the function it gets for each of the jobs, on any threads. NULL goes back to
/// the library's own threads. To be called before anything else, as in the reference; a callback
/// that was replaced stays in memory. Where memory is short, the threads stay those that they were.
///
/// # Safety
/// `callback` can be called with `callback_data` until it is replaced.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blosc2_set_threads_callback(
    callback: blosc_threads_callback,
    callback_data: *mut c_void,
) {
    if unsafe_granted!(pool::callback::set(callback, callback_data)).is_err() {
        trace("error", "blosc2_set_threads_callback: no memory");
    }
}
