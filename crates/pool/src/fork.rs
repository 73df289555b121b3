//! Detects `fork`. In the child only the forking thread exists, and any lock or counter of a pool may be in the middle of a change that
//! another thread was making. So the child touches nothing of the parent's pools. It forgets them (their memory stays) and makes its
//! own when it needs them.

use oxiblosc_base::system::process::on_fork;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// The number of forks between the process that loaded the library and this one.
static GENERATION: AtomicU32 = AtomicU32::new(0);

/// Whether `in_child` is registered with the C library. A child inherits the registration.
static REGISTERED: AtomicBool = AtomicBool::new(false);

/// A number that differs in a child process from what it was before the fork.
pub fn generation() -> u32 {
    GENERATION.load(Ordering::Relaxed)
}

/// A number that tells this process from its parent and its children, without a call to the system each time. It stays the same as long
/// as the process lives.
pub fn process() -> u32 {
    /// Whether forks are counted: not known yet, yes, or no, because the C library once refused.
    static COUNTED: AtomicU32 = AtomicU32::new(0);
    const YES: u32 = 1;
    const NO: u32 = 2;
    /// The process number of the system does not have this bit.
    const GENERATIONS: u32 = 1 << 31;
    let mut counted = COUNTED.load(Ordering::Relaxed);
    if counted == 0 {
        let new = if register() { YES } else { NO };
        let (order, failed) = (Ordering::Relaxed, Ordering::Relaxed);
        counted = match COUNTED.compare_exchange(0, new, order, failed) {
            Ok(_) => new,
            Err(other) => other,
        };
    }
    match counted {
        YES => generation() | GENERATIONS,
        _ => std::process::id(),
    }
}

/// Registers the handler that makes a child forget the pools. Returns false if the C library refuses (no memory); no thread may be
/// started then. If two threads do this at once, both may register, which does no harm.
pub fn register() -> bool {
    if REGISTERED.load(Ordering::Acquire) {
        return true;
    }
    let done = on_fork(in_child);
    if done {
        REGISTERED.store(true, Ordering::Release);
    }
    done
}

/// Runs in the child before `fork` returns there. It may only use atomics: nothing else is safe at this point.
extern "C" fn in_child() {
    GENERATION.fetch_add(1, Ordering::Relaxed);
    super::registry::forget();
}
