//! Registered codecs and filters: ours beside the reference, both ways, and damaged input.
//!
//! `OXIBLOSC_HOSTILE_PLUGINS` is the number of damaged frames (2,000 by default), of damaged
//! streams there are ten times as many, `OXIBLOSC_HOSTILE_PLUGINS_FIRST` that of the first: the
//! same number always gives the same bytes. With `OXIBLOSC_MATRIX=full` arrays are made in all
//! ways, instead of in a fourth of them.

oxiblosc_testing::panics_are_fatal!();

mod arrays;
mod callbacks;
mod chunks;
mod hostile;
mod names;
mod packages;
mod python;
mod registry;
mod tuners;

/// One test of this program in a process of its own, with the same library. It knows by the
/// variable that it is the child.
fn again(test: &str, variable: &str, value: &str) -> std::process::Command {
    let mut child = oxiblosc_testing::own_process::again(test);
    child
        .env(variable, value)
        .env("OXIBLOSC_LIBRARY", oxiblosc_testing::library::ours_path());
    child
}

/// Runs a child that may print, but not fail; gives what it printed to the standard error.
fn succeeds(mut child: std::process::Command) -> String {
    let output = child.output().expect("the child starts");
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{errors}");
    errors
}
