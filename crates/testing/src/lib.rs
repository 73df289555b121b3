//! What the tests of several crates need; no part of the library.
#![forbid(unsafe_code)]

#[path = "../../../tests/common/needs.rs"]
pub mod needs;
#[path = "../../../tests/common/random.rs"]
pub mod random;

/// `len` bytes that look random, the same in every run.
pub fn noise(len: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    std::iter::repeat_with(|| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u8
    })
    .take(len)
    .collect()
}

/// The processor time of this thread, in which the time of others on the same processor does not count.
#[cfg(target_os = "linux")]
pub fn processor_time() -> std::time::Duration {
    // The system counts when a thread yields. Otherwise it does so every few milliseconds only.
    std::thread::yield_now();
    let told =
        std::fs::read_to_string("/proc/thread-self/schedstat").expect("a file of the system");
    let nanoseconds = told.split(' ').next().expect("three numbers");
    std::time::Duration::from_nanos(nanoseconds.parse().expect("a number"))
}
