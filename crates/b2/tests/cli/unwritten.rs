//! Standard output that cannot be written: a full disk, a reader that has closed its end, a
//! descriptor that is closed or only for reading. The work is done all the same, and the exit code
//! is not 0.

use crate::support::{Folder, b2, read, series};
use std::fs::File;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// Ways in which standard output cannot be written, and whether a message says so.
const WAYS: [(&str, bool); 4] = [
    ("full", true),
    ("gone", false),
    ("closed", true),
    ("read-only", true),
];

fn run(way: &str, args: &[&str]) -> Output {
    let mut command = match way {
        "closed" => {
            let mut shell = Command::new("sh");
            shell.args(["-c", "exec \"$0\" \"$@\" >&-"]);
            shell.arg(env!("CARGO_BIN_EXE_b2"));
            shell
        }
        _ => Command::new(env!("CARGO_BIN_EXE_b2")),
    };
    match way {
        "full" => {
            let full = File::options().write(true).open("/dev/full");
            command.stdout(full.expect("opens"));
        }
        "gone" => {
            let (reader, writer) = std::io::pipe().expect("a pipe");
            drop(reader);
            command.stdout(writer);
        }
        "read-only" => {
            command.stdout(File::open("/dev/null").expect("opens"));
        }
        _ => {}
    }
    let command = command.args(args).stdin(Stdio::null());
    command.stderr(Stdio::piped()).output().expect("runs")
}

/// The exit code. Checks that a message about standard output was printed if `reported`, and no
/// message otherwise.
#[track_caller]
fn code(way: &str, reported: bool, args: &[&str]) -> Option<i32> {
    let output = run(way, args);
    let err = String::from_utf8_lossy(&output.stderr);
    let known = err.contains("standard output: ") || err.contains("/dev/stdout: ");
    assert_eq!(known, reported, "{way}, {args:?}: {err}");
    assert!(reported || err.is_empty(), "{way}, {args:?}: {err}");
    output.status.code()
}

#[test]
fn what_cannot_be_said_is_no_success() {
    let folder = Folder::new("unsaid");
    let file = folder.write("data", &series(50_000));
    let [frame, to] = ["frame", "to"].map(|name| folder.path(name));
    b2(&["compress", &file, "-o", &frame]).ended(0);
    let store = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/fixtures/stores/tree.b2z"
    );
    let bench = ["bench", &file, "--seconds", "0", "--sample", "64K"];
    let commands: [&[&str]; 22] = [
        &["--help"],
        &["help"],
        &["--version"],
        &["compress", "--help"],
        &["completions", "bash"],
        &["completions", "zsh"],
        &["completions", "fish"],
        &["manual"],
        &["info", &frame],
        &["info", &frame, "--json"],
        &["info", store],
        &["info", store, "--json"],
        &["verify", &frame],
        &["verify", store],
        &bench,
        &["compress", &file, "-o", "-"],
        &["compress", &file, "-o", "/dev/stdout"],
        &["decompress", &frame, "-o", "-"],
        &["decompress", &frame, "-o", "/dev/stdout"],
        &["convert", &frame, "-"],
        &["repair", &frame, &to, "-f"],
        &["repair", &frame, &to, "-f", "--json"],
    ];
    for args in commands {
        for (way, reported) in WAYS {
            // Opening that name opens the file anew, for writing, so nothing is lost.
            let reopened = way == "read-only" && args.contains(&"/dev/stdout");
            let expected = if reopened { Some(0) } else { Some(2) };
            let reported = reported && !reopened;
            assert_eq!(code(way, reported, args), expected, "{way}, {args:?}");
        }
    }
}

#[test]
fn the_work_is_done_all_the_same() {
    let folder = Folder::new("unheard");
    let data = series(50_000);
    let file = folder.write("data", &data);
    let [frame, back, copy, new] = ["frame", "back", "copy", "new"].map(|name| folder.path(name));
    let compress = ["compress", &file, "-o", &frame, "--checksum", "-f"];
    b2(&compress).ended(0);
    let mut bytes = read(&frame);
    let middle = bytes.len() / 2;
    bytes[middle..middle + 40].fill(0xff);
    let broken = folder.write("broken", &bytes);
    let bench = ["bench", &file, "--seconds", "0", "--sample", "64K"];
    for (way, reported) in WAYS {
        for created in [&frame, &back, &copy, &new] {
            let _ = std::fs::remove_file(created);
        }
        let code = |args: &[&str]| code(way, reported, args);
        assert_eq!(code(&compress), Some(2));
        assert_eq!(code(&["decompress", &frame, "-o", &back]), Some(2));
        assert_eq!(code(&["convert", &frame, &copy]), Some(2));
        assert_eq!(code(&bench), Some(2));
        assert!(read(&back) == data);
        b2(&["verify", &copy]).ended(0);
        // Damaged data have their own exit code, which comes first.
        assert_eq!(code(&["verify", &broken, &frame]), Some(1));
        assert_eq!(code(&["repair", &broken, &new]), Some(1));
        b2(&["verify", &new]).ended(0);
    }
}

/// A closed standard input is an error, and not the same as an empty one.
#[test]
fn closed_input_is_not_empty() {
    let folder = Folder::new("closed-input");
    let to = folder.path("to");
    let frame = folder.path("frame");
    let ways = [("-", "<&-"), ("-", "0>/dev/null"), ("/dev/stdin", "<&-")];
    for (name, redirection) in ways {
        for args in [
            &["compress", name, "-o", &to][..],
            &["decompress", name, "-o", &to],
            &["verify", name],
            &["info", name],
            &["bench", name],
            &["convert", name, &to],
            &["repair", name, &to],
        ] {
            let script = format!("exec \"$0\" \"$@\" {redirection}");
            let mut shell = Command::new("sh");
            let shell = shell.args(["-c", &script]).arg(env!("CARGO_BIN_EXE_b2"));
            let output = shell.args(args).output().expect("runs");
            let err = String::from_utf8_lossy(&output.stderr);
            assert_eq!(
                output.status.code(),
                Some(2),
                "{args:?} {redirection}: {err}"
            );
            let named = err.contains("standard input: ") || err.contains("/dev/stdin: ");
            assert!(named, "{args:?} {redirection}: {err}");
            assert!(!Path::new(&to).exists() && !Path::new(&frame).exists());
        }
    }
}
