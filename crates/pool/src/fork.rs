//! What a child process needs to know: after `fork` only the forking thread exists, and any lock or counter of the pool
//! may be frozen in the middle of a change that another thread was making. The child therefore touches nothing of the
//! parent's pool; it forgets it (the memory stays) and builds its own when it first needs one.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// How many forks lie between the process that loaded the library and this one.
static GENERATION: AtomicU32 = AtomicU32::new(0);

/// Whether `in_child` is registered with the C library. A child inherits the registration.
static WATCHED: AtomicBool = AtomicBool::new(false);

/// Changes in a child process: a value that was read before the fork differs from what is read after it.
pub fn generation() -> u32 {
    GENERATION.load(Ordering::Relaxed)
}

/// Makes sure that a child will forget the pool. False when the C library refuses (no memory): then no thread may be
/// started. Two threads that come here at once may both register, which does no harm.
pub fn watch() -> bool {
    if WATCHED.load(Ordering::Acquire) {
        return true;
    }
    // SAFETY: `in_child` is a function of this library for as long as the library is loaded: the C library drops the
    // handlers of a library that it unloads.
    let refused = unsafe { libc::pthread_atfork(None, None, Some(in_child)) } != 0;
    if !refused {
        WATCHED.store(true, Ordering::Release);
    }
    !refused
}

/// Runs in the child, before `fork` returns there. Atomic stores only: nothing else is safe at this point.
extern "C" fn in_child() {
    GENERATION.fetch_add(1, Ordering::Relaxed);
    super::registry::forget();
}
