//! C++ exceptions that leave a function of the program.
//!
//! `catch_unwind` of the standard library ends the process when it meets one. So on Linux the call is made by a function whose unwind
//! table names a personality routine of ours, as the Itanium C++ ABI describes them ("Exception Handling", level I).

#[cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
mod itanium;
#[cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
pub use itanium::caught;

/// Calls a function. An exception that leaves it ends the process here, and not further on, where values would be dropped that wait
/// for a lock of this call.
#[cfg(not(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
)))]
pub fn caught<T>(call: impl FnOnce() -> T) -> Option<T> {
    struct Stop;
    impl Drop for Stop {
        fn drop(&mut self) {
            std::process::abort();
        }
    }
    let stop = Stop;
    let result = call();
    std::mem::forget(stop);
    Some(result)
}
