//! Compilers on the headers: each alone and all together, in every dialect, and a program that is
//! compiled against ours and against the reference's and must print the same.

use crate::generate;
use oxiblosc_testing::needs::{reference_path, skip};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The dialects, each with the compiler driver's name for its language.
const DIALECTS: [(&str, &str); 5] = [
    ("c", "c99"),
    ("c", "c11"),
    ("c", "c17"),
    ("c++", "c++11"),
    ("c++", "c++17"),
];

const WARNINGS: [&str; 4] = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"];

fn include() -> PathBuf {
    generate::root().join("include")
}

/// A folder for what a test compiles.
fn scratch(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::create_dir_all(&folder).expect("the target folder can be written");
    folder
}

/// Whether there is a program of this name that runs.
fn is_there(program: &str) -> bool {
    Command::new(program)
        .arg("--version")
        .output()
        .is_ok_and(|output| output.status.success())
}

/// Runs a command; its output, or a panic with what it said.
fn run(command: &mut Command) -> Output {
    let output = command
        .output()
        .unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(
        output.status.success(),
        "{command:?}\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
    output
}

fn each_dialect_takes_the_headers(compiler: &str) {
    if !is_there(compiler) {
        skip(&format!("no {compiler} here"));
        return;
    }
    let folder = scratch(&format!("dialects-{compiler}"));
    let mut sources: Vec<Vec<&str>> = generate::paths().map(|path| vec![path]).collect();
    sources.push(generate::paths().collect());
    sources.push(
        generate::paths()
            .collect::<Vec<_>>()
            .into_iter()
            .rev()
            .collect(),
    );
    for (number, headers) in sources.iter().enumerate() {
        let mut text: String = headers
            .iter()
            .map(|path| format!("#include \"{path}\"\n"))
            .collect();
        // A file without a declaration is not ISO C.
        text += "int main(void) { return 0; }\n";
        let source = folder.join(format!("{number}.c"));
        fs::write(&source, text).expect("the target folder can be written");
        for (language, standard) in DIALECTS {
            for compatible in [&[][..], &["-DBLOSC1_COMPAT"]] {
                run(Command::new(compiler)
                    .args(["-x", language, &format!("-std={standard}"), "-fsyntax-only"])
                    .args(WARNINGS)
                    .args(compatible)
                    .arg("-I")
                    .arg(include())
                    .arg(&source));
            }
        }
    }
}

#[test]
fn gcc_takes_the_headers_in_every_dialect() {
    assert!(
        is_there("gcc"),
        "gcc is needed to build the crate, so that it is here"
    );
    each_dialect_takes_the_headers("gcc");
}

#[test]
fn clang_takes_the_headers_in_every_dialect() {
    each_dialect_takes_the_headers("clang");
}

/// The old names of Blosc 1 mean the new functions; that all of them do is in `tests/headers/abi`.
#[test]
fn blosc1_names_are_mapped() {
    let source = scratch("blosc1").join("names.c");
    let text = "#define BLOSC1_COMPAT\n#include \"blosc2.h\"\n\
        overhead BLOSC_MAX_OVERHEAD function blosc_compress destroy blosc_destroy version BLOSC_VERSION_STRING\n";
    fs::write(&source, text).expect("the target folder can be written");
    let output = run(Command::new("gcc")
        .args(["-E", "-P", "-I"])
        .arg(include())
        .arg(&source));
    let expected = "overhead BLOSC2_MAX_OVERHEAD function blosc1_compress destroy blosc2_destroy version \"3.3.5\"";
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(text.trim_end().lines().last(), Some(expected));
}

/// After Blosc 1's own header, ours defines nothing of it again. Enumerators or macros of other
/// values would not pass.
#[test]
fn blosc1_header_may_come_first() {
    let source = scratch("blosc1").join("first.c");
    let text = generate::blosc1_header() + "#include \"b2nd.h\"\nint main(void) { return 0; }\n";
    assert!(text.lines().count() > 30, "too few constants of Blosc 1");
    fs::write(&source, text).expect("the target folder can be written");
    for (language, standard) in DIALECTS {
        run(Command::new("gcc")
            .args(["-x", language, &format!("-std={standard}"), "-fsyntax-only"])
            .args(WARNINGS)
            .arg("-I")
            .arg(include())
            .arg(&source));
    }
}

/// One program, with the reference's headers and library and with ours, prints the same: all
/// constants, the default structs, and what the macros, the inline functions and the texts of
/// errors are.
#[test]
fn macros_and_inline_functions_do_what_the_reference_says() {
    let Some(theirs) = reference_path() else {
        return;
    };
    let folder = scratch("behaviour");
    let list: String = generate::integer_constants()
        .iter()
        .map(|name| format!("CONSTANT({name})\n"))
        .collect();
    fs::write(folder.join("constants.inc"), list).expect("the target folder can be written");
    // The library of this build, under the name by which a program looks for it.
    let ours = folder.join("libblosc2.so.9");
    let _ = fs::remove_file(&ours);
    std::os::unix::fs::symlink(crate::exports::library(), &ours)
        .expect("the target folder can be written");
    let include_theirs = theirs
        .ancestors()
        .nth(2)
        .expect("the library lies in a folder")
        .join("include");
    for (language, standard) in DIALECTS {
        let outputs: Vec<_> = [
            ("theirs", &theirs, &include_theirs),
            ("ours", &ours, &include()),
        ]
        .into_iter()
        .map(|(name, library, include)| {
            let program = folder.join(name);
            run(Command::new("gcc")
                .args([
                    "-x",
                    language,
                    &format!("-std={standard}"),
                    "-Wno-cpp",
                    "-I",
                ])
                .arg(&folder)
                .arg("-isystem")
                .arg(include)
                .arg(generate::root().join("tests/headers/behaviour.c"))
                .args(["-x", "none"])
                .arg(library)
                .arg("-o")
                .arg(&program));
            let mut command = Command::new(&program);
            run(command
                .env(
                    "LD_LIBRARY_PATH",
                    library.parent().expect("it lies in a folder"),
                )
                .env("BLOSC_TRACE", "1")
                .env("BLOSC_INFO", "1"))
        })
        .collect();
        let [theirs, ours] =
            [0, 1].map(|i| String::from_utf8_lossy(&outputs[i].stdout).into_owned());
        assert!(
            theirs.lines().count() > 200,
            "the program printed too little:\n{theirs}"
        );
        for (line, (theirs, ours)) in theirs.lines().zip(ours.lines()).enumerate() {
            assert_eq!(theirs, ours, "line {line}, -std={standard}");
        }
        assert_eq!(theirs.lines().count(), ours.lines().count());
    }
}
