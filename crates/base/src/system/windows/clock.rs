//! The clock of the timestamps.

use windows_sys::Win32::System::Performance::{QueryPerformanceCounter, QueryPerformanceFrequency};

/// A moment on a clock that only goes forward, in ticks.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Timestamp {
    ticks: i64,
}

/// Now.
pub fn now(timestamp: &mut Timestamp) {
    // SAFETY: room for the number.
    unsafe { QueryPerformanceCounter(&mut timestamp.ticks) };
}

/// The nanoseconds from one moment to another.
pub fn nanoseconds(start: Timestamp, end: Timestamp) -> f64 {
    let mut per_second = 1;
    // SAFETY: room for the number.
    unsafe { QueryPerformanceFrequency(&mut per_second) };
    1e9 * (end.ticks - start.ticks) as f64 / per_second as f64
}
