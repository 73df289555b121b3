//! The body of an exported function: no panic leaves it, and errors become codes, which can be
//! traced.

use oxiblosc_base::memory::env::{on_caught_panic, trace};
use oxiblosc_base::system::thread::NotCancelled;
use oxiblosc_base::{Error, Result};
use std::any::Any;
use std::ffi::{CStr, c_char, c_int};
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::null_mut;

/// Runs the body of an exported function, in which the thread is not cancelled; a panic gives
/// `failed`.
pub fn guard<T>(failed: T, body: impl FnOnce() -> T) -> T {
    let _until_return = NotCancelled::new();
    catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|payload| {
        panicked(payload);
        failed
    })
}

/// Says that there was a panic. Not inlined, like [`trace_error`], as each exported function has
/// it.
#[cold]
#[inline(never)]
fn panicked(payload: Box<dyn Any + Send>) {
    drop(payload);
    let message = "internal error: a panic was stopped at the C border";
    trace("error", message);
    on_caught_panic();
}

/// The code of a panic: that of [`Error::FAILURE`], which need not be looked up for each call.
const PANICKED: c_int = -1;

/// An argument of an exported function, as a trace shows it.
pub struct Argument {
    name: &'static str,
    value: Value,
}

enum Value {
    Number(i64),
    Text(*const c_char),
}

impl Argument {
    /// A number.
    pub fn number(name: &'static str, number: i64) -> Self {
        let value = Value::Number(number);
        Self { name, value }
    }

    /// A text, or NULL.
    ///
    /// # Safety
    /// It is NULL or a C string, for as long as this is there.
    pub unsafe fn text(name: &'static str, text: *const c_char) -> Self {
        let value = Value::Text(text);
        Self { name, value }
    }
}

impl fmt::Display for Argument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.name;
        match self.value {
            Value::Number(number) => write!(f, "{name}: {number}"),
            Value::Text(text) if text.is_null() => write!(f, "{name}: NULL"),
            // SAFETY: a C string, by `Argument::text`.
            Value::Text(text) => write!(f, "{name}: {:?}", unsafe { CStr::from_ptr(text) }),
        }
    }
}

/// Arguments, with commas.
struct Arguments<'a>(&'a [Argument]);

impl fmt::Display for Arguments<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().enumerate().try_for_each(|(i, argument)| {
            let comma = if i > 0 { ", " } else { "" };
            write!(f, "{comma}{argument}")
        })
    }
}

/// Says what the function `name` was asked for and why it fails, and returns the code for it.
#[cold]
#[inline(never)]
fn trace_error(name: &str, arguments: &[Argument], error: Error) -> c_int {
    let (message, code) = (error.message().to_str().unwrap_or_default(), error.code());
    let call = format_args!("{name}({})", Arguments(arguments));
    let colon = if error.is_explained() { ": " } else { "" };
    let why = error.explanation();
    trace(
        "error",
        format_args!("{call}: {message} ({code}){colon}{why}"),
    );
    code
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

impl Returned for i16 {
    fn failed(code: c_int) -> Self {
        code as i16
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
    i16 => i16: Some;
    usize => c_int: |count| count.try_into().ok();
    usize => i64: |count| count.try_into().ok();
    u64 => i64: |count| count.try_into().ok();
}

impl<T> Done<Self> for *mut T {
    fn returned(self) -> Option<Self> {
        Some(self)
    }
}

/// Runs the body of the exported function `name`, which returns 0, a count or a pointer; where it
/// fails, an error code or null. The attribute [`export`](oxiblosc_export::export) calls it.
/// `arguments` are for the trace of an error.
pub fn returned<T: Done<R>, R: Returned, const N: usize>(
    name: &str,
    arguments: impl FnOnce() -> [Argument; N],
    body: impl FnOnce() -> Result<T>,
) -> R {
    guard(R::failed(PANICKED), || {
        match body().and_then(|done| done.returned().ok_or(Error::FAILURE)) {
            Ok(returned) => returned,
            Err(error) => R::failed(trace_error(name, &arguments(), error)),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panics_and_errors_become_codes() {
        let code = |result: Result<usize>| -> c_int { returned("f", || [], || result) };
        assert_eq!(code(Ok(5)), 5);
        assert_eq!(code(Ok(usize::MAX)), Error::FAILURE.code());
        assert_eq!(code(Err(Error::DATA)), -3);
        let count: i64 = returned("f", || [], || Ok(1u64 << 40));
        assert_eq!(count, 1 << 40);
        let pointer: *mut u8 = returned("f", || [], || Err::<*mut u8, _>(Error::DATA));
        assert!(pointer.is_null());
        assert_eq!(guard(9, || panic!("test")), 9);
        assert_eq!(PANICKED, Error::FAILURE.code());
    }

    #[cfg(all(debug_assertions, unix))]
    #[test]
    fn panics_end_the_process_where_tests_say_so() {
        use oxiblosc_base::memory::env::ABORT_ON_PANIC;
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
