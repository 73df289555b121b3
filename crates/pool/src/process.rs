//! Tells a process from its children.

use super::{fork, registry};
use std::sync::atomic::{AtomicU32, Ordering};

/// A number that tells this process from its parent and its children, without a call to the system
/// each time. It stays the same as long as the process lives.
pub fn process() -> u32 {
    /// Whether forks are counted: not known yet, yes, or no, because the C library once refused.
    static COUNTED: AtomicU32 = AtomicU32::new(0);
    const YES: u32 = 1;
    const NO: u32 = 2;
    /// The process number of the system does not have this bit.
    const GENERATIONS: u32 = 1 << 31;
    let mut counted = COUNTED.load(Ordering::Relaxed);
    if counted == 0 {
        let new = if registry::register() { YES } else { NO };
        let (order, failed) = (Ordering::Relaxed, Ordering::Relaxed);
        counted = match COUNTED.compare_exchange(0, new, order, failed) {
            Ok(_) => new,
            Err(other) => other,
        };
    }
    match counted {
        YES => fork::generation() | GENERATIONS,
        _ => std::process::id(),
    }
}
