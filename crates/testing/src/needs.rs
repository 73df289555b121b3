//! What tests need that is no part of this repository. A test that lacks it says so on a line of
//! its output and does nothing; in CI (where the environment variable `CI` is set and not empty) it
//! fails.

use std::path::PathBuf;

/// Names the reference's `libblosc2.so.9`.
pub const REFERENCE_VARIABLE: &str = "OXIBLOSC_REFERENCE";

/// Says that a test is skipped, and why.
///
/// # Panics
/// In CI.
#[track_caller]
pub fn skip(why: &str) {
    if std::env::var_os("CI").is_some_and(|value| !value.is_empty()) {
        panic!("{why}; in CI no test may be skipped");
    }
    println!("skipped: {why}");
}

/// Where the reference is; `None`, and the test is skipped, if the environment does not say so.
///
/// # Panics
/// In CI, instead of `None`.
#[track_caller]
pub fn reference_path() -> Option<PathBuf> {
    let path = std::env::var_os(REFERENCE_VARIABLE).map(PathBuf::from);
    if path.is_none() {
        skip(&format!(
            "{REFERENCE_VARIABLE} does not name the reference's libblosc2.so.9"
        ));
    }
    path
}
