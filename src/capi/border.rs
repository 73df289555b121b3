//! What every exported function goes through: no panic leaves, errors become codes, which can be traced.

use oxiblosc_error::{Error, Result};
use oxiblosc_memory::Buffer;
use oxiblosc_memory::env::{INVALID_UTF8, on_caught_panic, trace};
use std::any::Any;
use std::ffi::{CStr, c_char, c_int};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::null_mut;

/// Copies the fields of these names from one structure to another: from a context with `get`, to one with `set`.
macro_rules! assign {
    ($to:expr, $from:expr; $($field:ident),+) => { $( $to.$field = $from.$field; )+ };
    ($to:expr, set $from:expr; $($field:ident),+) => { $( $to.$field.set($from.$field); )+ };
    ($to:expr, get $from:expr; $($field:ident),+) => { $( $to.$field = $from.$field.get(); )+ };
}
pub(crate) use assign;

/// An unsafe expression that is sound because the caller keeps to the `# Safety` section of the function in which it stands. For
/// an export that is what the headers require of the program. What relies on anything else is a plain `unsafe` block.
macro_rules! unsafe_granted {
    ($body:expr) => {
        // SAFETY: what this requires is what the `# Safety` section of the function around it requires.
        unsafe { $body }
    };
}
pub(crate) use unsafe_granted;

/// `not_null!(a, b)?` refuses pointers that are null; `not_null!(a, b; Data)?` with that error.
macro_rules! not_null {
    ($($pointer:expr),+) => { not_null!($($pointer),+; NullPointer) };
    ($($pointer:expr),+; $error:ident) => {
        match $($pointer.is_null())||+ {
            true => Err(Error::$error),
            false => Ok(()),
        }
    };
}
pub(crate) use not_null;

/// A C string.
///
/// # Safety
/// `string` is null or a C string that stays as long as what is returned is used.
pub unsafe fn c_str<'a>(string: *const c_char) -> Option<&'a CStr> {
    // SAFETY: it is not null, so `# Safety` says that it is a C string.
    (!string.is_null()).then(|| unsafe { CStr::from_ptr(string) })
}

/// The text of a C string.
///
/// # Safety
/// As for [`c_str`].
pub unsafe fn text<'a>(string: *const c_char) -> Option<&'a str> {
    let string = unsafe_granted!(c_str(string)?);
    Some(string.to_str().unwrap_or(INVALID_UTF8))
}

/// Runs the body of an exported function; a panic gives `failed`.
pub fn guard<T>(failed: T, body: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|payload| {
        panicked(payload);
        failed
    })
}

/// Says that there was a panic. Not inlined, like [`trace_error`], as each exported function has it.
#[cold]
#[inline(never)]
fn panicked(payload: Box<dyn Any + Send>) {
    drop(payload);
    let message = "internal error: a panic was stopped at the C border";
    trace("error", message);
    on_caught_panic();
}

/// The code of a panic: that of [`Error::Failure`], which need not be looked up for each call.
const PANICKED: c_int = -1;

/// Says why the function `name` fails, and returns the code for it.
#[cold]
#[inline(never)]
fn trace_error(name: &str, error: Error) -> c_int {
    trace("error", format_args!("{name}: {error} ({})", error.code()));
    error.code()
}

/// What a function returns that has done its work: 0, or a count.
pub trait Code {
    /// The code; none for a count that is too large.
    fn code(self) -> Option<c_int>;
}

macro_rules! codes {
    ($($type:ty: $code:expr;)+) => { $( impl Code for $type {
        fn code(self) -> Option<c_int> {
            let code: fn(Self) -> Option<c_int> = $code;
            code(self)
        }
    } )+ };
}
codes! {
    (): |()| Some(0);
    bool: |yes| Some(yes.into());
    c_int: Some;
    usize: |count| count.try_into().ok();
}

/// Runs the body of the exported function `name` that returns 0, a count, or an error code.
pub fn code<T: Code>(name: &str, body: impl FnOnce() -> Result<T>) -> c_int {
    guard(PANICKED, || {
        match body().and_then(|done| done.code().ok_or(Error::Failure)) {
            Ok(code) => code,
            Err(error) => trace_error(name, error),
        }
    })
}

/// As [`code`], for functions that return 64 bits.
pub fn code64<T: TryInto<i64>>(name: &str, body: impl FnOnce() -> Result<T>) -> i64 {
    guard(i64::from(PANICKED), || {
        match body().and_then(|done| done.try_into().map_err(|_| Error::Failure)) {
            Ok(count) => count,
            Err(error) => i64::from(trace_error(name, error)),
        }
    })
}

/// As [`code`], for functions that return a pointer: null when they fail.
pub fn pointer<T>(name: &str, body: impl FnOnce() -> Result<*mut T>) -> *mut T {
    guard(null_mut(), || {
        body().unwrap_or_else(|error| {
            trace_error(name, error);
            null_mut()
        })
    })
}

/// A size or a number of the program's.
///
/// # Errors
/// [`Error::InvalidParam`] for negative ones.
pub fn size(number: impl TryInto<usize>) -> Result<usize> {
    number.try_into().map_err(|_| Error::InvalidParam)
}

/// The index of a chunk or block. A negative one is as invalid as one behind the last.
pub fn index(number: impl TryInto<usize>) -> usize {
    number.try_into().unwrap_or(usize::MAX)
}

/// The bytes that C says a place has; none for a negative number.
pub fn room(size: impl TryInto<usize>) -> usize {
    size.try_into().unwrap_or(0)
}

/// A size as C takes it; chunks are smaller than 2 GiB.
pub fn c_size(len: usize) -> i32 {
    i32::try_from(len).unwrap_or(i32::MAX)
}

/// The bytes at `src`, as many as `len`; none for a null pointer, unless nothing is wanted.
///
/// # Safety
/// A pointer that is not null points to `len` readable bytes that no other thread writes meanwhile.
pub unsafe fn bytes<'a>(src: *const u8, len: usize) -> Result<&'a [u8]> {
    if len == 0 {
        return Ok(&[]);
    }
    not_null!(src)?;
    // SAFETY: it is not null, as was just checked, so `# Safety` says that the bytes are there.
    Ok(unsafe { std::slice::from_raw_parts(src, len) })
}

/// A list of the program, such as a shape: `len` items at an address that must not be null, even if `len` is 0.
///
/// # Safety
/// As for [`bytes`].
pub unsafe fn items<'a, T>(list: *const T, len: usize) -> Result<&'a [T]> {
    not_null!(list)?;
    // SAFETY: as in `bytes`.
    Ok(unsafe { std::slice::from_raw_parts(list, len) })
}

/// The buffer at `dest`; as [`bytes`].
///
/// # Safety
/// A pointer that is not null points to `len` writable bytes that no other thread uses meanwhile.
pub unsafe fn bytes_mut<'a>(dest: *mut u8, len: usize) -> Result<&'a mut [u8]> {
    if len == 0 {
        return Ok(&mut []);
    }
    not_null!(dest)?;
    // SAFETY: as in `bytes`.
    Ok(unsafe { std::slice::from_raw_parts_mut(dest, len) })
}

/// Writes `value` where the pointer is not null.
///
/// # Safety
/// The pointer is null or can be written.
pub unsafe fn give<T>(place: *mut T, value: T) {
    if !place.is_null() {
        unsafe_granted!(*place = value);
    }
}

/// Gives the program a buffer, which it frees with `free`, and says how many bytes it has; gives that, too.
///
/// # Safety
/// Both places can be written.
pub unsafe fn hand_over(buffer: Buffer, place: *mut *mut u8, size: *mut i32) -> usize {
    let len = buffer.len();
    unsafe_granted!((*place, *size) = (buffer.into_raw(), len as i32));
    len
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
    fn panics_and_errors_become_codes() {
        assert_eq!(code("f", || Ok(5usize)), 5);
        assert_eq!(code("f", || Ok(usize::MAX)), Error::Failure.code());
        assert_eq!(code("f", || Err::<usize, _>(Error::Data)), -3);
        assert_eq!(guard(9, || panic!("test")), 9);
        assert_eq!(PANICKED, Error::Failure.code());
    }

    #[cfg(all(debug_assertions, unix))]
    #[test]
    fn panics_end_the_process_where_tests_say_so() {
        use oxiblosc_memory::env::ABORT_ON_PANIC;
        use std::os::unix::process::ExitStatusExt;
        let this = std::env::current_exe().expect("a test knows its own path");
        let output = std::process::Command::new(this)
            .args([
                "--exact",
                "capi::border::tests::panics_and_errors_become_codes",
            ])
            .env(ABORT_ON_PANIC.to_str().expect("ASCII"), "1")
            .output()
            .expect("this program, started again");
        assert_eq!(output.status.signal(), Some(libc::SIGABRT), "{output:?}");
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
