//! The attribute `#[export]`: functions of this program that C would call.

use oxiblosc_border::{Error, export, not_null};
use std::ffi::c_int;
use std::process::Command;
use std::ptr::null;

/// # Safety
/// `value` is null or can be read.
#[export]
unsafe extern "C" fn oxiblosc_test_half(value: *const c_int) -> c_int {
    not_null!(value)?;
    if *value % 2 != 0 {
        return Err(Error::DATA);
    }
    Ok(*value / 2)
}

#[export]
extern "C" fn oxiblosc_test_panic(panics: bool) -> *mut c_int {
    assert!(!panics, "a test");
    Ok(std::ptr::dangling_mut::<c_int>())
}

mod by_name {
    use std::ffi::c_int;

    unsafe extern "C" {
        pub fn oxiblosc_test_half(value: *const c_int) -> c_int;
    }
}

#[test]
fn results_become_codes() {
    // SAFETY: the pointer is null or points to a number, and the function of this name is the one
    // above.
    let half = |value: Option<&c_int>| unsafe {
        by_name::oxiblosc_test_half(value.map_or(null(), std::ptr::from_ref))
    };
    assert_eq!(half(Some(&14)), 7);
    assert_eq!(half(Some(&13)), Error::DATA.code());
    assert_eq!(half(None), Error::NULL_POINTER.code());
}

#[test]
fn panics_stay_within() {
    assert!(oxiblosc_test_panic(true).is_null());
    assert!(!oxiblosc_test_panic(false).is_null());
}

#[test]
fn errors_are_traced_under_the_name_of_the_function() {
    let this = std::env::current_exe().expect("a test knows its own path");
    let output = Command::new(this)
        .args(["--exact", "results_become_codes", "--nocapture"])
        .env("BLOSC_TRACE", "1")
        .output()
        .expect("this program, started again");
    let traced = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{traced}");
    let line = "oxiblosc_test_half(): Invalid data (-3)";
    assert!(traced.contains(line), "{traced}");
}
