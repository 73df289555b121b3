//! What all functions of the library return for an error that has no code of its own, and how they
//! report it.

use oxiblosc_base::Error;
use oxiblosc_base::memory::Stderr;
use std::ffi::c_int;

/// What functions return for an error that has no code of its own.
pub const FAILED: c_int = -1;

/// The code of an error.
pub fn failed(_error: Error) -> c_int {
    FAILED
}

/// The value of a result whose error is a code of the same type.
pub fn ok_or_code<T>(result: Result<T, T>) -> T {
    result.unwrap_or_else(|code| code)
}

/// Writes to stderr what a program did wrong.
pub fn print_warning(message: std::fmt::Arguments) {
    Stderr::line(message);
}
