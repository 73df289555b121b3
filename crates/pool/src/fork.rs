//! Counts forks. In the child only the forking thread exists, and any lock or counter of a pool may
//! be in the middle of a change that another thread was making. So the child touches nothing of the
//! parent's pools. It forgets them (their memory stays) and makes its own when it needs them.

use std::sync::atomic::{AtomicU32, Ordering};

/// The number of forks between the process that loaded the library and this one.
static GENERATION: AtomicU32 = AtomicU32::new(0);

/// A number that differs in a child process from what it was before the fork.
pub fn generation() -> u32 {
    GENERATION.load(Ordering::Relaxed)
}

/// Counts a fork, in the child.
pub fn count() {
    GENERATION.fetch_add(1, Ordering::Relaxed);
}
