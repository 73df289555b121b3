//! Detects `fork`. In the child only the forking thread exists, and any lock or counter of a pool may be in the middle of a change that
//! another thread was making. So the child touches nothing of the parent's pools. It forgets them (their memory stays) and makes its
//! own when it needs them.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// The number of forks between the process that loaded the library and this one.
static GENERATION: AtomicU32 = AtomicU32::new(0);

/// Whether `in_child` is registered with the C library. A child inherits the registration.
static REGISTERED: AtomicBool = AtomicBool::new(false);

/// A number that differs in a child process from what it was before the fork.
pub fn generation() -> u32 {
    GENERATION.load(Ordering::Relaxed)
}

/// Registers the handler that makes a child forget the pools. Returns false if the C library refuses (no memory); no thread may be
/// started then. If two threads do this at once, both may register, which does no harm.
pub fn register() -> bool {
    if REGISTERED.load(Ordering::Acquire) {
        return true;
    }
    // SAFETY: the pointer to `in_child` is valid as long as the library is loaded, and the C library drops the handlers of a library
    // that it unloads.
    let refused = unsafe { libc::pthread_atfork(None, None, Some(in_child)) } != 0;
    if !refused {
        REGISTERED.store(true, Ordering::Release);
    }
    !refused
}

/// Runs in the child before `fork` returns there. It may only use atomics: nothing else is safe at this point.
extern "C" fn in_child() {
    GENERATION.fetch_add(1, Ordering::Relaxed);
    super::registry::forget();
}
