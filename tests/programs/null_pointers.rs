//! A null pointer kills no program: every public function is called with each of its pointers null
//! in turn, in a process of its own each. Where the reference survives, the return code is the
//! reference's.
//!
//! The same calls, with no pointer null, are made on a thread that is to be cancelled, and in a
//! process that has closed its standard streams: neither changes what they return, and no file is
//! opened as one of those streams (`standard_streams.c`). Scenes take turns in that; with
//! `OXIBLOSC_FAULTS=full` each meets both.
//!
//! The calls are in C (`calls.c`), compiled here against our headers; the reference is put in front
//! of our library.

use oxiblosc_testing::c_driver;
use oxiblosc_testing::library::program_with;
use oxiblosc_testing::needs::reference_path;
use oxiblosc_testing::sample::is_whole;
use oxiblosc_testing::shim;
use std::collections::BTreeMap;
use std::path::Path;

/// What came of each call, by the function and the number of the pointer that was null (-1: none).
type Results = BTreeMap<(String, i32), String>;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Where the super-chunk and the array of the calls are, and how their contexts are set up: as
/// numbered in `calls.c`.
const SCENES: [&str; 7] = [
    "in memory",
    "in a frame",
    "in a file",
    "in a directory",
    "in a map",
    "with a dictionary",
    "with prefilter and postfilter",
];

/// Makes all calls of a scene, or those without a null pointer in the way that is named, with
/// another library in front of ours if there is one.
fn results(
    driver: &Path,
    folder: &Path,
    scene: usize,
    how: Option<&str>,
    preload: Option<&Path>,
) -> Results {
    std::fs::create_dir_all(folder).expect("a folder");
    let output = program_with(driver, preload)
        .arg(folder)
        .arg(scene.to_string())
        .args(how)
        .output()
        .expect("the driver runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let lines = String::from_utf8(output.stdout).expect("text");
    let results = lines.lines().map(|line| {
        let mut words = line.splitn(3, ' ');
        let mut next = || words.next().expect("three words").to_owned();
        let (function, pointer) = (next(), next());
        ((function, pointer.parse().expect("a number")), next())
    });
    results.collect()
}

fn died(result: &str) -> bool {
    result.starts_with("signal") || result.starts_with("exit")
}

/// The functions of a header that take pointers, with how many they take.
fn declared(header: &str) -> Vec<(String, usize)> {
    let declarations = header.split("\nBLOSC_EXPORT").skip(1);
    let mut declared = Vec::new();
    for declaration in declarations {
        let declaration = declaration.split(';').next().expect("a declaration");
        // A parameter list is the last thing in parentheses: an attribute may come before.
        let (prefix, parameters) = declaration.rsplit_once('(').expect("a function");
        let name = prefix.rsplit([' ', '*', '\n']).next().expect("a name");
        let pointers = parameters
            .split(',')
            .filter(|parameter| parameter.contains('*') || parameter.contains("_callback "))
            .count();
        if pointers > 0 {
            declared.push((name.to_owned(), pointers));
        }
    }
    declared
}

#[test]
fn null_pointers_are_answered() {
    let folder = oxiblosc_testing::folder::without_syncs()
        .join(format!("oxiblosc-null-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let driver = c_driver::compile(
        &folder,
        (&oxiblosc_testing::library::ours_path(), "libblosc2.so.9"),
        &root().join("include"),
        [root().join("tests/programs/null_pointers/calls.c")],
    );
    let standard_streams = shim::compile(
        root().join("tests/programs/null_pointers/standard_streams.c"),
        &folder,
    );
    let mut wrong = Vec::new();
    for (scene, place) in SCENES.iter().enumerate() {
        let ours = results(&driver, &folder.join("ours"), scene, None, None);
        let reference = reference_path()
            .map(|path| results(&driver, &folder.join("reference"), scene, None, Some(&path)));
        // By turns in one of these ways.
        let ways = [("cancelled", None), ("closed", Some(&*standard_streams))];
        let chosen = |way: &usize| is_whole("OXIBLOSC_FAULTS") || *way == scene % 2;
        for (how, preload) in (0..2).filter(chosen).map(|way| ways[way]) {
            for (call, result) in results(&driver, &folder.join(how), scene, Some(how), preload) {
                if ours[&call] != result {
                    let function = &call.0;
                    wrong.push(format!("{function} {place}, {how}: {result}"));
                }
            }
        }
        if scene == 0 {
            wrong.extend(missing(&ours));
        }
        wrong.extend(differences(scene, &ours, reference.as_ref()));
    }
    let _ = std::fs::remove_dir_all(&folder);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The functions of the headers that are not called with each of their pointers null.
fn missing(ours: &Results) -> Vec<String> {
    let mut missing = Vec::new();
    for header in ["blosc2.h", "b2nd.h", "blosc2/blosc2-stdio.h", "oxiblosc.h"] {
        let text = std::fs::read_to_string(root().join("include").join(header)).expect("a header");
        for (function, pointers) in declared(&text) {
            let called = ours.keys().filter(|(name, _)| *name == function).count();
            if called != pointers + 1 {
                missing.push(format!("{function}: {called} calls, {pointers} pointers"));
            }
        }
    }
    missing
}

/// Where a call ends the process, or returns something else than in the reference.
fn differences(scene: usize, ours: &Results, reference: Option<&Results>) -> Vec<String> {
    let mut wrong = Vec::new();
    for ((function, pointer), result) in ours {
        let call = format!("{function} {}, pointer {pointer}: {result}", SCENES[scene]);
        // Without a null pointer the calls do what they are for.
        if died(result) || (scene == 0 && *pointer == -1 && result.starts_with('-')) {
            wrong.push(call);
            continue;
        }
        let Some(reference) = reference else {
            continue;
        };
        if function.starts_with("oxiblosc_") {
            continue;
        }
        let theirs = &reference[&(function.clone(), *pointer)];
        // The reference cannot read items where the block size was left to it.
        let documented = function == "blosc2_schunk_get_sparse_buffer" && *pointer == -1;
        if !died(theirs) && theirs != result && !documented {
            wrong.push(format!("{call}, the reference {theirs}"));
        }
    }
    wrong
}
