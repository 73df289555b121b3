//! Named pipes, and outputs that are named by their device.

use crate::support::{Folder, Run, b2, npy, piped, read, series};
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::Duration;

/// Runs the tool with a named pipe as its last argument. First three bytes come through it, and
/// later the others.
fn through(folder: &Folder, bytes: &[u8], args: &[&str]) -> Run {
    let pipe = folder.path("pipe");
    if !Path::new(&pipe).exists() {
        let created = Command::new("mkfifo").arg(&pipe).status().expect("mkfifo");
        assert!(created.success());
    }
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut into = File::options().write(true).open(&pipe).expect("opens");
            let (prefix, rest) = bytes.split_at(3);
            into.write_all(prefix).expect("written");
            thread::sleep(Duration::from_millis(50));
            // This fails if the tool stops reading early. Its exit code says whether that is right.
            drop(into.write_all(rest));
        });
        b2(&[args, &[&pipe]].concat())
    })
}

#[test]
fn a_pipe_with_a_name_is_read_once_and_whole() {
    let folder = Folder::new("pipes");
    let data = series(50_000);
    let array = npy("<i4", false, "(100, 500)", &data);
    let frame = folder.path("frame");
    for bytes in [&data, &array] {
        let compress = ["compress", "-f", "-o", &frame];
        through(&folder, bytes, &compress).ended(0);
        assert!(b2(&["decompress", &frame, "-o", "-"]).ended(0).out == *bytes);
        piped(&["compress", "/dev/stdin", "-f", "-o", &frame], Some(bytes)).ended(0);
        assert!(b2(&["decompress", &frame, "-o", "-"]).ended(0).out == *bytes);
        // As with standard input, the output has no default name, and goes to standard output.
        let created = through(&folder, bytes, &["compress"]).ended(0).out;
        assert!(piped(&["decompress", "-"], Some(&created)).ended(0).out == *bytes);
    }
    let bytes = read(&frame);
    let fine = through(&folder, &bytes, &["verify"]).ended(0).text();
    assert!(fine.contains("pipe: fine"), "{fine}");
    let info = through(&folder, &bytes, &["info"]).ended(0).text();
    assert!(info.contains("shape (100, 500)"), "{info}");
    assert!(through(&folder, &bytes, &["decompress"]).ended(0).out == array);
    let bench = ["bench", "--seconds", "0", "--sample", "64K"];
    through(&folder, &bytes, &bench).ended(0);
    for command in ["convert", "repair"] {
        let copy = folder.path(command);
        let pipe = folder.path("pipe");
        thread::scope(|scope| {
            scope.spawn(|| std::fs::write(&pipe, &bytes).expect("written"));
            b2(&[command, &pipe, &copy]).ended(0);
        });
        assert!(b2(&["decompress", &copy, "-o", "-"]).ended(0).out == array);
    }
    for command in ["verify", "info", "decompress", "bench"] {
        let run = b2(&[command, "/dev/zero"]).failed();
        assert!(run.err.contains("is a device"), "{}", run.err);
    }
}

#[test]
fn standard_output_can_be_named() {
    let folder = Folder::new("named-output");
    let data = series(50_000);
    let file = folder.write("data", &data);
    let frame = b2(&["compress", &file, "-o", "/dev/stdout"]).ended(0).out;
    let frame = folder.write("frame", &frame);
    let back = b2(&["decompress", &frame, "-o", "/dev/stdout"])
        .ended(0)
        .out;
    assert!(back == data);
    let copy = b2(&["convert", &frame, "/dev/stdout"]).ended(0).out;
    assert!(piped(&["decompress", "-"], Some(&copy)).ended(0).out == data);
}
