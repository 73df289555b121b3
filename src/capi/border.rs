//! What every exported function goes through: no panic leaves, errors become codes, codes can be traced.

use oxiblosc_error::{Error, Result};
use oxiblosc_memory::{Stderr, boxed};
use std::ffi::{CStr, c_char, c_int, c_void};
use std::fmt::Display;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};

/// What a text that is no UTF-8 is read as: it is equal to nothing that is looked for.
const NO_TEXT: &str = "\u{FFFD}";

/// What `read` makes of the value of an environment variable; none if it is not set.
///
/// Read through the C library, as C programs change it through the C library.
pub fn env<T>(name: &CStr, read: impl FnOnce(&str) -> T) -> Option<T> {
    // SAFETY: the name ends in 0; the value, if any, is a C string, read at once.
    unsafe { text(libc::getenv(name.as_ptr())) }.map(read)
}

/// The text of a C string.
///
/// # Safety
/// `string` is null or a C string that stays as long as the text is used.
pub unsafe fn text<'a>(string: *const c_char) -> Option<&'a str> {
    if string.is_null() {
        return None;
    }
    // SAFETY: by the contract.
    let string = unsafe { CStr::from_ptr(string) };
    Some(string.to_str().unwrap_or(NO_TEXT))
}

/// Whether an environment variable is set, whatever to.
pub fn env_is_set(name: &CStr) -> bool {
    // SAFETY: the name ends in 0.
    !unsafe { libc::getenv(name.as_ptr()) }.is_null()
}

/// The number at the front of an environment variable's value, 0 if there is none, as C's `strtol` reads it.
pub fn env_number(name: &CStr) -> Option<i64> {
    env(name, leading_number)
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
    if env_is_set(c"BLOSC_TRACE") {
        Stderr::line(format_args!("[{category}] - {message}"));
    }
}

/// Writes a line to stderr where `BLOSC_INFO` is set.
pub fn info(message: impl Display) {
    if env_is_set(c"BLOSC_INFO") {
        Stderr::line(format_args!("[INFO] - {message}"));
    }
}

/// One entry that was replaced, and those that were before it.
struct Retired {
    _entry: *mut c_void,
    _earlier: *mut Retired,
}

static RETIRED: AtomicPtr<Retired> = AtomicPtr::new(null_mut());

/// Keeps an entry that was published through an atomic pointer and is replaced now. Readers take no lock, so whether
/// one still uses it is unknown: it is never freed. It stays reachable, so that a leak checker does not report it.
pub fn retire<T>(entry: *mut T) {
    if entry.is_null() {
        return;
    }
    let node = boxed(Retired {
        _entry: entry.cast(),
        _earlier: null_mut(),
    });
    let Ok(node) = node.map(Box::into_raw) else {
        // Only the leak checker misses it.
        return;
    };
    let mut head = RETIRED.load(Ordering::Relaxed);
    loop {
        // SAFETY: the node is this function's alone until it is published.
        unsafe { (*node)._earlier = head };
        match RETIRED.compare_exchange_weak(head, node, Ordering::Release, Ordering::Relaxed) {
            Ok(_) => return,
            Err(now) => head = now,
        }
    }
}

/// Runs the body of an exported function; a panic gives `failed`.
pub fn guard<T>(failed: T, body: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|_| {
        trace(
            "error",
            "internal error: a panic was stopped at the C border",
        );
        failed
    })
}

/// Runs the body of the exported function `name` that returns a count or an error code.
pub fn code<T: TryInto<c_int>>(name: &str, body: impl FnOnce() -> Result<T>) -> c_int {
    guard(Error::Failure.code(), || {
        match body().and_then(|count| count.try_into().map_err(|_| Error::Failure)) {
            Ok(count) => count,
            Err(error) => {
                trace("error", format_args!("{name}: {error} ({})", error.code()));
                error.code()
            }
        }
    })
}

/// As [`code`], for functions that return 64 bits.
pub fn code64(name: &str, body: impl FnOnce() -> Result<i64>) -> i64 {
    guard(i64::from(Error::Failure.code()), || match body() {
        Ok(count) => count,
        Err(error) => {
            trace("error", format_args!("{name}: {error} ({})", error.code()));
            i64::from(error.code())
        }
    })
}

/// As [`code`], for functions that return a pointer: null when they fail.
pub fn pointer<T>(name: &str, body: impl FnOnce() -> Result<*mut T>) -> *mut T {
    guard(null_mut(), || {
        body().unwrap_or_else(|error| {
            trace("error", format_args!("{name}: {error} ({})", error.code()));
            null_mut()
        })
    })
}

/// The bytes at `src`, as many as `len`; none for a null pointer, unless nothing is wanted.
///
/// # Safety
/// A pointer that is not null points to `len` readable bytes that no other thread writes meanwhile.
pub unsafe fn bytes<'a>(src: *const u8, len: usize) -> Result<&'a [u8]> {
    if len == 0 {
        return Ok(&[]);
    }
    if src.is_null() {
        return Err(Error::NullPointer);
    }
    // SAFETY: by the caller's word.
    Ok(unsafe { std::slice::from_raw_parts(src, len) })
}

/// The buffer at `dest`; as [`bytes`].
///
/// # Safety
/// A pointer that is not null points to `len` writable bytes that no other thread uses meanwhile.
pub unsafe fn bytes_mut<'a>(dest: *mut u8, len: usize) -> Result<&'a mut [u8]> {
    if len == 0 {
        return Ok(&mut []);
    }
    if dest.is_null() {
        return Err(Error::NullPointer);
    }
    // SAFETY: by the caller's word.
    Ok(unsafe { std::slice::from_raw_parts_mut(dest, len) })
}

/// Refuses buffers that share bytes: neither library can work in place.
pub fn apart(src: *const u8, srclen: usize, dest: *const u8, destlen: usize) -> Result<()> {
    let (src, dest) = (src as usize, dest as usize);
    let overlap = srclen > 0
        && destlen > 0
        && src < dest.saturating_add(destlen)
        && dest < src.saturating_add(srclen);
    if overlap {
        Err(Error::InvalidParam)
    } else {
        Ok(())
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

    #[test]
    fn panics_and_errors_become_codes() {
        assert_eq!(code("f", || Ok(5usize)), 5);
        assert_eq!(code("f", || Ok(usize::MAX)), Error::Failure.code());
        assert_eq!(code("f", || Err::<usize, _>(Error::Data)), -3);
        assert_eq!(guard(9, || panic!("test")), 9);
    }

    #[test]
    fn overlaps_are_seen() {
        let buffer = [0u8; 10];
        let at = |i: usize| buffer[i..].as_ptr();
        assert!(apart(at(0), 5, at(5), 5).is_ok());
        assert!(apart(at(0), 6, at(5), 5).is_err());
        assert!(apart(at(5), 5, at(0), 6).is_err());
        assert!(apart(at(2), 0, at(0), 10).is_ok());
    }
}
