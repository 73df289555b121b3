//! The C border: stops panics, and turns C strings and buffers into Rust's.

use oxiblosc_memory::Stderr;
use oxiblosc_memory::env::on_caught_panic;
use std::ffi::{CStr, c_char, c_int};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What functions return for an error that has no code of its own.
pub const FAILED: c_int = -1;

/// Runs the body of an exported function. If it panics, returns `failed`.
pub fn guard<T>(failed: T, body: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|_| {
        on_caught_panic();
        failed
    })
}

/// The value of a result whose error is a code of the same type.
pub fn ok_or_code<T>(result: Result<T, T>) -> T {
    result.unwrap_or_else(|code| code)
}

/// Writes to stderr what a program did wrong.
pub fn print_warning(message: std::fmt::Arguments) {
    Stderr::line(message);
}

/// The text of a C string. Empty for null and for text that is not UTF-8, neither of which is a name.
///
/// # Safety
/// `string` is null or a C string that neither changes nor is freed while the result is used.
pub unsafe fn text<'a>(string: *const c_char) -> &'a str {
    if string.is_null() {
        return "";
    }
    // SAFETY: the check above says that it is not null, so it is a C string (# Safety).
    unsafe { CStr::from_ptr(string) }.to_str().unwrap_or("")
}

/// The `len` bytes at `src`.
///
/// # Errors
/// [`FAILED`] for a null pointer, unless `len` is 0.
///
/// # Safety
/// A pointer that is not null points to `len` readable bytes that no thread writes meanwhile.
pub unsafe fn bytes<'a>(src: *const u8, len: usize) -> Result<&'a [u8], c_int> {
    match len {
        0 => Ok(&[]),
        _ if src.is_null() => Err(FAILED),
        // SAFETY: the pointer is not null, so `len` bytes are readable there and do not change (# Safety).
        _ => Ok(unsafe { std::slice::from_raw_parts(src, len) }),
    }
}

/// The `len` bytes at `dest`, to be written.
///
/// # Errors
/// As for [`bytes`].
///
/// # Safety
/// A pointer that is not null points to `len` writable bytes that nothing else uses meanwhile.
pub unsafe fn bytes_mut<'a>(dest: *mut u8, len: usize) -> Result<&'a mut [u8], c_int> {
    match len {
        0 => Ok(&mut []),
        _ if dest.is_null() => Err(FAILED),
        // SAFETY: the pointer is not null, so `len` bytes are writable there and nothing else uses them (# Safety).
        _ => Ok(unsafe { std::slice::from_raw_parts_mut(dest, len) }),
    }
}

/// Checks that two buffers share no bytes.
///
/// # Errors
/// [`FAILED`] if they do.
pub fn check_disjoint(src: (*const u8, usize), dest: (*const u8, usize)) -> Result<(), c_int> {
    let [(a, a_len), (b, b_len)] = [src, dest].map(|(pointer, len)| (pointer as usize, len));
    let overlap =
        a_len > 0 && b_len > 0 && a < b.saturating_add(b_len) && b < a.saturating_add(a_len);
    if overlap { Err(FAILED) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panics_become_codes_and_overlaps_are_detected() {
        assert_eq!(guard(9, || panic!("test")), 9);
        let buffer = [0u8; 10];
        let at = |i: usize| buffer[i..].as_ptr();
        assert!(check_disjoint((at(0), 5), (at(5), 5)).is_ok());
        assert!(check_disjoint((at(0), 6), (at(5), 5)).is_err());
        assert!(check_disjoint((at(2), 0), (at(0), 10)).is_ok());
    }
}
