//! Tests that have a process to themselves: this program, started again for one of them. For what
//! belongs to a whole process, such as the environment, settings of the library and page faults;
//! and for tests that fork, since a lock that another test's thread holds at that moment, in the
//! reference for one, is held for ever in the child.

use std::process::Command;

/// Tells a process which test it was started for.
const VARIABLE: &str = "OXIBLOSC_OWN_PROCESS";

/// The name by which the program knows the test that this stands in.
#[macro_export]
macro_rules! test_name {
    () => {{
        fn here() {}
        $crate::own_process::name_of(std::any::type_name_of_val(&here))
    }};
}

/// What follows in a test is done in a process of its own.
#[macro_export]
macro_rules! own_process {
    () => {
        if !$crate::own_process::is_own($crate::test_name!()) {
            return;
        }
    };
}

/// The name of a test, given that of a function in it.
pub fn name_of(inner: &'static str) -> &'static str {
    let (_, path) = inner.split_once("::").expect("a crate");
    path.strip_suffix("::here").expect("as the macro says")
}

/// This program, which will run one test alone.
pub fn again(test: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("a test knows its own path"));
    command.args(["--exact", test, "--nocapture"]);
    command
}

/// Whether this process was started for that test. Otherwise the test is run in such a one, and
/// passes there.
///
/// # Panics
/// If it fails there.
#[track_caller]
pub fn is_own(test: &str) -> bool {
    if std::env::var_os(VARIABLE).is_some_and(|own| own == test) {
        return true;
    }
    let output = again(test)
        .env(VARIABLE, test)
        .output()
        .expect("this program, started again");
    let said = String::from_utf8_lossy(&output.stdout);
    print!("{said}");
    eprint!("{}", String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{test}: {}", output.status);
    assert!(said.contains("1 passed"), "no test {test}");
    false
}
