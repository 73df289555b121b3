//! In tests a panic of our library ends the process. It would become an error code, and there are tests that take any error for
//! an answer.

use core::ffi::{c_char, c_int};

type Initialiser = extern "C" fn(c_int, *const *const c_char, *const *const c_char);

const VARIABLE: &core::ffi::CStr = c"OXIBLOSC_ABORT_ON_PANIC";

/// Run before `main`, when no other thread could look at the environment. Children inherit it.
// SAFETY: this section is a list of functions of this type.
#[cfg(target_os = "linux")]
#[used]
#[unsafe(link_section = ".init_array")]
static ARE_FATAL: Initialiser = are_fatal;

extern "C" fn are_fatal(_: c_int, _: *const *const c_char, _: *const *const c_char) {
    // SAFETY: C strings, and the process has one thread yet.
    unsafe { libc::setenv(VARIABLE.as_ptr(), c"1".as_ptr(), 1) };
}

/// For tests that would be of no use otherwise.
pub fn assert_fatal() {
    let name = VARIABLE.to_str().expect("ASCII");
    assert!(std::env::var_os(name).is_some(), "{name} is not set");
}
