//! The clock of the timestamps.

/// A moment on a clock that only goes forward.
pub type Timestamp = libc::timespec;

/// Now; what is there stays where the system has no such clock.
pub fn now(timestamp: &mut Timestamp) {
    // SAFETY: room for what the call fills in.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, timestamp) };
}

/// The nanoseconds from one moment to another.
pub fn nanoseconds(start: Timestamp, end: Timestamp) -> f64 {
    1e9 * (end.tv_sec - start.tv_sec) as f64 + (end.tv_nsec - start.tv_nsec) as f64
}
