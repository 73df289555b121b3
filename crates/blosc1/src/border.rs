//! What every function goes through that can fail: no panic leaves it.

use oxiblosc_memory::Stderr;
use oxiblosc_memory::env::on_caught_panic;
use std::ffi::{CStr, c_char, c_int};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What functions return where nothing else is agreed upon.
pub const FAILED: c_int = -1;

/// Runs the body of an exported function; a panic gives `failed`.
pub fn guard<T>(failed: T, body: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|_| {
        on_caught_panic();
        failed
    })
}

/// What a function returns, said on either way.
pub fn either<T>(result: Result<T, T>) -> T {
    result.unwrap_or_else(|code| code)
}

/// Says on stderr what a program did wrong.
pub fn complain(message: std::fmt::Arguments) {
    Stderr::line(message);
}

/// The text of a C string; what is no UTF-8, or null, is no name of anything.
///
/// # Safety
/// `string` is null or a C string that stays as long as what is returned is used.
pub unsafe fn text<'a>(string: *const c_char) -> &'a str {
    if string.is_null() {
        return "";
    }
    // SAFETY: by the contract.
    unsafe { CStr::from_ptr(string) }.to_str().unwrap_or("")
}

/// The `len` bytes at `src`.
///
/// # Errors
/// [`FAILED`] for a null pointer, unless nothing is wanted.
///
/// # Safety
/// A pointer that is not null points to `len` readable bytes that no thread writes meanwhile.
pub unsafe fn bytes<'a>(src: *const u8, len: usize) -> Result<&'a [u8], c_int> {
    match len {
        0 => Ok(&[]),
        _ if src.is_null() => Err(FAILED),
        // SAFETY: by the contract.
        _ => Ok(unsafe { std::slice::from_raw_parts(src, len) }),
    }
}

/// The buffer at `dest`; as [`bytes`].
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
        // SAFETY: by the contract.
        _ => Ok(unsafe { std::slice::from_raw_parts_mut(dest, len) }),
    }
}

/// Refuses buffers that share bytes.
///
/// # Errors
/// [`FAILED`] if they do.
pub fn apart(src: (*const u8, usize), dest: (*const u8, usize)) -> Result<(), c_int> {
    let [(a, a_len), (b, b_len)] = [src, dest].map(|(pointer, len)| (pointer as usize, len));
    let overlap =
        a_len > 0 && b_len > 0 && a < b.saturating_add(b_len) && b < a.saturating_add(a_len);
    if overlap { Err(FAILED) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panics_become_codes_and_overlaps_are_seen() {
        assert_eq!(guard(9, || panic!("test")), 9);
        let buffer = [0u8; 10];
        let at = |i: usize| buffer[i..].as_ptr();
        assert!(apart((at(0), 5), (at(5), 5)).is_ok());
        assert!(apart((at(0), 6), (at(5), 5)).is_err());
        assert!(apart((at(2), 0), (at(0), 10)).is_ok());
    }
}
