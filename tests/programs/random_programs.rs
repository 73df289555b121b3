//! Random programs of calls on chunks, super-chunks and arrays give the same results and return
//! codes in both libraries, and each library reads what the other left on disk.
//!
//! The programs are in C, compiled here against our headers; the reference is put in front of our
//! library. Each runs in a process of its own. What a program says is compared line by line up to
//! the first line that differs. There the reference may have died, or read bytes that the program
//! knows to be wrong, or failed where it must not (`WRONG`). Programs avoid what
//! `docs/compatibility.md` says of the reference.
//!
//! `OXIBLOSC_PROGRAMS` is the number of programs (400 by default), `OXIBLOSC_PROGRAMS_FIRST` the
//! number of the first: the same number always gives the same program. `OXIBLOSC_PROGRAMS_KIND` is
//! the kind of all of them, by its name in `programs.c`.

use oxiblosc_testing::c_driver;
use oxiblosc_testing::folder::{Folder, without_syncs};
use oxiblosc_testing::library::program_with;
use oxiblosc_testing::needs::reference_path;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// What the driver is compiled from.
const SOURCES: [&str; 12] = [
    "programs.c",
    "chunks.c",
    "schunks.c",
    "arrays.c",
    "plugins.c",
    "invalid_chunks.c",
    "invalid_schunks.c",
    "invalid_arrays.c",
    "uneven.c",
    "handles.c",
    "layers.c",
    "orders.c",
];

/// What each program said.
type Logs = BTreeMap<u64, Vec<String>>;

/// What a program says when a library gave other bytes than were written.
const WRONG: &str = "WRONG";
/// How many programs of a kind of failure are shown.
const SHOWN: usize = 20;

fn number(variable: &str, otherwise: u64) -> u64 {
    match std::env::var(variable) {
        Ok(value) => value.replace('_', "").parse().expect("a number"),
        Err(_) => otherwise,
    }
}

/// The programs that are run.
struct Programs {
    driver: PathBuf,
    first: u64,
    count: u64,
}

impl Programs {
    /// Lets one library run the programs, or read what they left, in this folder.
    fn logs(&self, mode: &str, folder: &Path, preload: Option<&Path>) -> Logs {
        std::fs::create_dir_all(folder).expect("a folder");
        let output = program_with(&self.driver, preload)
            .arg(mode)
            .arg(folder)
            .args([self.first.to_string(), self.count.to_string()])
            .output()
            .expect("the driver runs");
        assert!(output.status.success(), "the driver: {}", output.status);
        let mut logs = Logs::new();
        for line in String::from_utf8_lossy(&output.stdout).lines() {
            match line.strip_prefix("program ") {
                Some(number) => drop(logs.insert(number.parse().expect("a number"), Vec::new())),
                None => {
                    let (_, log) = logs.iter_mut().next_back().expect("a program");
                    log.push(line.to_owned());
                }
            }
        }
        logs
    }
}

/// Whether a program ended as it should.
fn ended(log: &[String]) -> bool {
    log.last().is_some_and(|line| line == "end: 0")
}

/// What is wrong with the library's log; none if it is like the reference's as far as that one
/// goes.
fn difference(ours: &[String], theirs: &[String]) -> Option<String> {
    if !ended(ours) {
        let last = &ours[ours.len().saturating_sub(3)..];
        return Some(format!("does not end: {}", last.join(" / ")));
    }
    if let Some(wrong) = ours.iter().find(|line| line.contains(WRONG)) {
        return Some(format!("reads other bytes: {wrong}"));
    }
    let at = (0..ours.len()).find(|at| theirs.get(*at) != Some(&ours[*at]))?;
    let other = theirs.get(at).map_or("", String::as_str);
    let lost = other.contains(WRONG) || other.is_empty() || other.starts_with("end: signal");
    let from = at.saturating_sub(4);
    let before = ours[..3.min(from)].iter().chain(&ours[from..at]);
    let before: Vec<&str> = before.map(|line| line.trim()).collect();
    (!lost).then(|| {
        format!(
            "{}\n    ours:      {}\n    reference: {other}",
            before.join(" / "),
            ours[at]
        )
    })
}

#[test]
fn programs_do_the_same_with_both_libraries() {
    let Some(reference) = reference_path() else {
        return;
    };
    let folder = Folder(without_syncs().join(format!("oxiblosc-programs-{}", std::process::id())));
    std::fs::create_dir_all(&folder.0).expect("a folder");
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/random_programs");
    let driver = c_driver::compile(
        &folder.0,
        (&oxiblosc_testing::library::ours_path(), "libblosc2.so.9"),
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("include"),
        SOURCES.map(|name| sources.join(name)),
    );
    let programs = Programs {
        driver,
        first: number("OXIBLOSC_PROGRAMS_FIRST", 1),
        count: number("OXIBLOSC_PROGRAMS", 400),
    };
    let libraries = [None, Some(&*reference)];
    let folders = ["ours", "theirs"].map(|name| folder.join(name));
    let run = [0, 1].map(|i| programs.logs("run", &folders[i], libraries[i]));
    let mut failed = Vec::new();
    let mut compare = |what: &str, ours: &Logs, theirs: &Logs, left_out: &dyn Fn(u64) -> bool| {
        for (number, ours) in ours {
            if left_out(*number) {
                continue;
            }
            if let Some(why) = difference(ours, &theirs[number]) {
                failed.push(format!("program {number}, {what}: {why}"));
            }
        }
    };
    compare("runs", &run[0], &run[1], &|_| false);
    let alike = run[0]
        .keys()
        .filter(|number| run[0][number] == run[1][number]);
    let alike: Vec<u64> = alike.copied().collect();
    for (folder, whose) in folders.iter().zip(["our frames", "the reference's frames"]) {
        let read = libraries.map(|library| programs.logs("read", folder, library));
        // Where the reference did something else, its frames may be damaged, and ours are such as
        // it never makes.
        compare(whose, &read[0], &read[1], &|number| {
            !alike.contains(&number)
        });
    }
    println!("{} of {} programs alike", alike.len(), run[0].len());
    failed.truncate(SHOWN);
    assert!(failed.is_empty(), "{}", failed.join("\n"));
    assert!(alike.len() * 10 > run[0].len() * 8, "too few are alike");
}
