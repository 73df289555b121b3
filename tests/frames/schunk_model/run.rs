//! Runs sequences, each in a process of its own: one that dies takes no other with it.

use super::sequence::{self, Libraries, Listener};
use oxiblosc_testing::report::Report;
use oxiblosc_testing::schunk::{our_schunks, reference_schunks};
use std::fs::File;
use std::io::Write;
use std::path::Path;

fn number(name: &str, default: u64) -> u64 {
    match std::env::var(name) {
        Ok(value) => value.replace('_', "").parse().expect(name),
        Err(_) => default,
    }
}

/// Writes what a sequence says to a file that outlives its process.
struct Log {
    file: File,
    steps: bool,
}

impl Log {
    fn line(&mut self, kind: &str, what: &str) {
        let line = format!("{kind}\t{}\n", what.replace('\n', " "));
        self.file
            .write_all(line.as_bytes())
            .expect("a log that can be written");
    }
}

impl Listener for Log {
    fn step(&mut self, what: String) {
        if self.steps {
            println!("{what}");
        }
        self.line("step", &what);
    }

    fn fail(&mut self, what: &str, which: String) {
        self.line("fail", &format!("{what}\t{which}"));
    }

    fn note(&mut self, what: &str) {
        self.line("note", what);
    }

    fn lost(&mut self, why: &str) {
        self.line("lost", why);
    }
}

/// Runs one sequence in a child; gives how it ended.
fn in_child(number: u64, libraries: Libraries, folder: &Path, log: &Path) -> i32 {
    let _ = std::fs::remove_dir_all(folder);
    let file = File::create(log).expect("a log");
    // SAFETY: the child runs on its one thread, and leaves without unwinding into the parent's
    // frames.
    unsafe {
        match libc::fork() {
            -1 => panic!("no process: {}", std::io::Error::last_os_error()),
            0 => {
                libc::alarm(60);
                let steps = std::env::var_os("OXIBLOSC_MODEL_STEPS").is_some();
                let mut log = Log { file, steps };
                let run = std::panic::AssertUnwindSafe(|| {
                    sequence::run(number, libraries, folder, &mut log)
                });
                let code = i32::from(std::panic::catch_unwind(run).is_err());
                libc::_exit(code);
            }
            child => {
                let mut status = 0;
                assert_eq!(libc::waitpid(child, &mut status, 0), child);
                status
            }
        }
    }
}

fn collect(number: u64, status: i32, log: &Path, report: &mut Report) {
    report.case();
    let text = std::fs::read_to_string(log).expect("the log");
    let (mut last, mut lost) = ("", String::new());
    for line in text.lines() {
        let (kind, rest) = line.split_once('\t').unwrap_or((line, ""));
        match kind {
            "step" => last = rest,
            "lost" => {
                report.note(rest);
                lost = format!(" [no reference: {rest}]");
            }
            "note" => report.note(rest),
            _ => {
                let (what, which) = rest.split_once('\t').unwrap_or((rest, ""));
                report.fail(what, format!("sequence {number}: {which}{lost}"));
            }
        }
    }
    if status != 0 {
        let signal = status & 0x7f;
        let what = match signal {
            0 => "a panic".to_owned(),
            _ => format!("killed by signal {signal}"),
        };
        let who = if last.ends_with("(the reference)") {
            "the reference"
        } else {
            "ours"
        };
        report.fail(
            &format!("{what} in {who}"),
            format!("sequence {number}: {last}"),
        );
    }
}

#[test]
fn sequences() {
    oxiblosc_testing::own_process!();
    let alone = std::env::var_os("OXIBLOSC_MODEL_REFERENCE").is_some();
    let libraries = Libraries {
        ours: (!alone).then(our_schunks),
        reference: reference_schunks(),
    };
    let folder = std::env::temp_dir().join(format!("oxiblosc-model-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder for the test");
    let log = folder.join("log");
    let mut report = Report::default();
    let first = number("OXIBLOSC_MODEL_FIRST", 0);
    for number in first..first + number("OXIBLOSC_MODEL", 600) {
        let status = in_child(number, libraries, &folder.join("sequence"), &log);
        collect(number, status, &log, &mut report);
    }
    std::fs::remove_dir_all(&folder).expect("the test's own folder");
    report.finish("sequences on super-chunks");
}
