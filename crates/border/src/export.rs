//! The body of an exported function: no panic leaves it, and errors become codes, which can be traced.

use oxiblosc_error::{Error, Result};
use oxiblosc_memory::env::{on_caught_panic, trace};
use oxiblosc_system::thread::NotCancelled;
use std::any::Any;
use std::ffi::c_int;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::null_mut;

/// Runs the body of an exported function, in which the thread is not cancelled; a panic gives `failed`.
pub fn guard<T>(failed: T, body: impl FnOnce() -> T) -> T {
    let _until_return = NotCancelled::new();
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

/// A type that exported functions return: a code or a count, or a pointer.
pub trait Returned: Copy {
    /// What a function returns that failed with this code.
    fn failed(code: c_int) -> Self;
}

impl Returned for c_int {
    fn failed(code: c_int) -> Self {
        code
    }
}

impl Returned for i64 {
    fn failed(code: c_int) -> Self {
        code.into()
    }
}

impl<T> Returned for *mut T {
    fn failed(_code: c_int) -> Self {
        null_mut()
    }
}

/// What the body of an exported function gives when it has done its work.
pub trait Done<R> {
    /// What the function returns; none for a count that is too large.
    fn returned(self) -> Option<R>;
}

macro_rules! returned {
    ($($done:ty => $returned:ty: $convert:expr;)+) => { $( impl Done<$returned> for $done {
        fn returned(self) -> Option<$returned> {
            let convert: fn(Self) -> Option<$returned> = $convert;
            convert(self)
        }
    } )+ };
}
returned! {
    () => c_int: |()| Some(0);
    bool => c_int: |yes| Some(yes.into());
    c_int => c_int: Some;
    usize => c_int: |count| count.try_into().ok();
    usize => i64: |count| count.try_into().ok();
    u64 => i64: |count| count.try_into().ok();
}

impl<T> Done<Self> for *mut T {
    fn returned(self) -> Option<Self> {
        Some(self)
    }
}

/// Runs the body of the exported function `name`, which returns 0, a count or a pointer; where it fails, an error code or null. The attribute
/// [`export`](oxiblosc_export::export) calls it.
pub fn returned<T: Done<R>, R: Returned>(name: &str, body: impl FnOnce() -> Result<T>) -> R {
    guard(R::failed(PANICKED), || {
        match body().and_then(|done| done.returned().ok_or(Error::Failure)) {
            Ok(returned) => returned,
            Err(error) => R::failed(trace_error(name, error)),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panics_and_errors_become_codes() {
        let code = |result: Result<usize>| -> c_int { returned("f", || result) };
        assert_eq!(code(Ok(5)), 5);
        assert_eq!(code(Ok(usize::MAX)), Error::Failure.code());
        assert_eq!(code(Err(Error::Data)), -3);
        let count: i64 = returned("f", || Ok(1u64 << 40));
        assert_eq!(count, 1 << 40);
        let pointer: *mut u8 = returned("f", || Err::<*mut u8, _>(Error::Data));
        assert!(pointer.is_null());
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
            .args(["--exact", "export::tests::panics_and_errors_become_codes"])
            .env(ABORT_ON_PANIC.to_str().expect("ASCII"), "1")
            .output()
            .expect("this program, started again");
        assert_eq!(output.status.signal(), Some(libc::SIGABRT), "{output:?}");
    }
}
