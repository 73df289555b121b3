//! In tests a panic of our library ends the process. It would become an error code, and there are
//! tests that take any error for an answer.

use core::ffi::CStr;

const VARIABLE: &CStr = c"OXIBLOSC_ABORT_ON_PANIC";

/// Stands in the root of a program: panics are fatal in it and in its children. The variable is set
/// before `main`, when no other thread could look at the environment.
#[macro_export]
macro_rules! panics_are_fatal {
    () => {
        // SAFETY: this section is a list of functions without arguments that matter.
        #[cfg(target_os = "linux")]
        #[used]
        #[unsafe(link_section = ".init_array")]
        static PANICS_ARE_FATAL: extern "C" fn() = $crate::panics::are_fatal;
    };
}

/// See [`panics_are_fatal`].
#[cfg(target_os = "linux")]
pub extern "C" fn are_fatal() {
    // SAFETY: C strings, and the process has one thread yet.
    unsafe { libc::setenv(VARIABLE.as_ptr(), c"1".as_ptr(), 1) };
}

/// For tests that would be of no use otherwise.
pub fn assert_fatal() {
    let name = VARIABLE.to_str().expect("ASCII");
    assert!(std::env::var_os(name).is_some(), "{name} is not set");
}
