//! C++ exceptions that leave a function of the program.
//!
//! `catch_unwind` of the standard library ends the process when it meets one. So on Linux the call
//! is made by a function whose unwind table names a personality routine of ours, as the Itanium C++
//! ABI describes them ("Exception Handling", level I).

// `exceptions/catch.rs` is for all other systems.
#[cfg_attr(
    all(
        target_os = "linux",
        any(target_arch = "x86_64", target_arch = "aarch64")
    ),
    path = "exceptions/itanium.rs"
)]
mod catch;

pub use catch::caught;
