//! Environment variables, read without allocating. They are read by the C library's function, since
//! C programs change them through the C library. In a program that has more rights than its user
//! none is set.

use super::text::Stderr;
pub use crate::system::process::environment;
use std::ffi::CStr;
use std::fmt::{Arguments, Display};

/// Stands for a value that is not UTF-8. It differs from every value that the library looks for.
pub const INVALID_UTF8: &str = "\u{FFFD}";

/// The result of `read` for the value of a variable; none if it is not set.
pub fn get<T>(name: &CStr, read: impl FnOnce(&str) -> T) -> Option<T> {
    environment(name, |value| read(value.to_str().unwrap_or(INVALID_UTF8)))
}

/// Whether a variable is set, to whatever value.
pub fn is_set(name: &CStr) -> bool {
    get(name, |_| ()).is_some()
}

/// Whether a variable is set to something other than `0`.
pub fn is_on(name: &CStr) -> bool {
    get(name, |value| !value.is_empty() && value != "0") == Some(true)
}

/// The number at the front of a value, 0 if there is none, as C's `strtol` reads it.
pub fn number(name: &CStr) -> Option<i64> {
    get(name, leading_number)
}

fn leading_number(text: &str) -> i64 {
    let text = text.trim_start();
    let (sign, digits) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    let value = digits
        .bytes()
        .take_while(u8::is_ascii_digit)
        .fold(0i64, |value, digit| {
            value
                .saturating_mul(10)
                .saturating_add(i64::from(digit - b'0'))
        });
    sign * value
}

/// Writes a line to stderr where `BLOSC_TRACE` is set.
pub fn trace(category: &str, message: impl Display) {
    write_if(c"BLOSC_TRACE", format_args!("[{category}] - {message}"));
}

/// Writes a line to stderr where `BLOSC_INFO` is set.
pub fn info(message: impl Display) {
    write_if(c"BLOSC_INFO", format_args!("[INFO] - {message}"));
}

/// The variable by which tests end the process where a panic is caught, in builds with debug
/// assertions.
#[cfg(debug_assertions)]
pub const ABORT_ON_PANIC: &CStr = c"OXIBLOSC_ABORT_ON_PANIC";

/// Called wherever a panic is caught and becomes an error. Tests make it end the process, since a
/// panic must not pass for an expected error.
pub fn on_caught_panic() {
    #[cfg(debug_assertions)]
    if is_set(ABORT_ON_PANIC) {
        std::process::abort();
    }
}

/// Writes a line to stderr where a variable is set. Not inlined, as it is called from many places.
#[cold]
#[inline(never)]
fn write_if(variable: &CStr, line: Arguments) {
    if is_set(variable) {
        Stderr::line(line);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_strtol_does() {
        for (text, value) in [
            ("5", 5),
            (" -7x", -7),
            ("+3 4", 3),
            ("", 0),
            ("abc", 0),
            ("99999999999999999999", i64::MAX),
        ] {
            assert_eq!(leading_number(text), value, "{text:?}");
        }
    }
}
