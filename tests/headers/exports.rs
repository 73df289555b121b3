//! The shared library that was built beside this test: it exports the functions of the headers, and
//! nothing else.

use crate::generate;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Command;

/// The shared library of this build.
pub fn library() -> PathBuf {
    let test = std::env::current_exe().expect("this test has a path");
    let library = test.with_file_name("libblosc2.so");
    assert!(
        library.is_file(),
        "{}: cargo builds it before the tests",
        library.display()
    );
    library
}

/// What a tool of binutils prints about the library.
fn ask(tool: &str, arguments: &[&str]) -> String {
    let output = Command::new(tool).args(arguments).arg(library()).output();
    let output = output.unwrap_or_else(|error| panic!("{tool}: {error}; it comes with gcc"));
    assert!(
        output.status.success(),
        "{tool}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).expect("names of symbols are ASCII")
}

#[test]
fn the_functions_of_the_headers_are_exported_and_nothing_else() {
    let symbols = ask("nm", &["-D", "--defined-only", "--format=posix"]);
    let exported: BTreeSet<_> = symbols
        .lines()
        .map(|line| line.split(' ').next().expect("a name").to_owned())
        .collect();
    assert_eq!(exported, generate::exported_functions());
    let headers: String = generate::all().into_values().collect();
    for name in exported {
        let declared = [' ', '*']
            .iter()
            .any(|before| headers.contains(&format!("{before}{name}(")));
        assert!(declared, "{name} is in no header");
    }
}

#[test]
fn the_library_goes_by_the_name_of_the_reference() {
    let dynamic = ask("readelf", &["-d", "-W"]);
    assert!(dynamic.contains("soname: [libblosc2.so.9]"), "{dynamic}");
}
