//! What tests, benches and fuzz targets share; no part of the library. Features say what is in it
//! besides the helpers that need none of our crates.

pub mod data;
pub mod fixtures;
pub mod folder;
pub mod needs;
pub mod panics;
pub mod random;
pub mod report;
pub mod sample;

#[cfg(unix)]
pub mod c_driver;
#[cfg(unix)]
pub mod isolated;
#[cfg(target_os = "linux")]
pub mod memory_use;
pub mod own_process;
pub mod shim;
#[cfg(unix)]
pub mod workers;

#[cfg(feature = "headers")]
pub mod headers;

#[cfg(feature = "blosc2")]
#[macro_use]
mod table;
#[cfg(feature = "blosc2")]
pub mod abi;
#[cfg(feature = "blosc2")]
pub mod b2nd;
#[cfg(feature = "blosc2")]
pub mod ctx;
#[cfg(feature = "blosc2")]
pub mod fuzz;
#[cfg(feature = "blosc2")]
pub mod library;
#[cfg(feature = "blosc2")]
pub mod maps;
#[cfg(feature = "blosc2")]
pub mod pipelines;
#[cfg(feature = "blosc2")]
pub mod rust_arrays;
#[cfg(feature = "blosc2")]
pub mod schunk;
#[cfg(feature = "blosc2")]
pub mod schunk_calls;
#[cfg(feature = "blosc2")]
pub mod schunk_state;
#[cfg(feature = "blosc2")]
pub mod transactions;

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

/// The processor time of this thread, in which the time of others on the same processor does not
/// count.
#[cfg(target_os = "linux")]
pub fn processor_time() -> std::time::Duration {
    // The system counts when a thread yields. Otherwise it does so every few milliseconds only.
    std::thread::yield_now();
    let times =
        std::fs::read_to_string("/proc/thread-self/schedstat").expect("a file of the system");
    let nanoseconds = times.split(' ').next().expect("three numbers");
    std::time::Duration::from_nanos(nanoseconds.parse().expect("a number"))
}
