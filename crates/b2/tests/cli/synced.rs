//! With `BLOSC_DURABLE` the output of a command is synced when it ends: the files before they get
//! their names, and then the names.

use crate::support::{Folder, b2, npy, read, series};
use oxiblosc_testing::shim;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Checks the log of a run whose output is in `folder`. Returns what was not synced, or not in
/// time.
fn wrong(log: &str, folder: &Path) -> Option<String> {
    let mut unsynced = BTreeSet::new();
    let (mut names, mut names_unsynced) = (0, false);
    for line in log.lines() {
        let [what, path, to] = line.split('\t').collect::<Vec<_>>()[..] else {
            panic!("not three columns: {line}");
        };
        let path = Path::new(path);
        match what {
            "change" => drop(unsynced.insert(path.to_path_buf())),
            "syncall" => unsynced.clear(),
            "sync" if path == folder => names_unsynced = false,
            "sync" => drop(unsynced.remove(path)),
            _ if Path::new(to).parent() == Some(folder) => {
                (names, names_unsynced) = (names + 1, true);
                if let Some(file) = unsynced.iter().find(|file| file.starts_with(path)) {
                    return Some(format!("{} is not on the disk: {line}", file.display()));
                }
            }
            _ => {}
        }
    }
    match (names, names_unsynced) {
        (0, _) => Some("there is no new name".into()),
        (_, true) => Some("the new name is not on the disk".into()),
        _ => None,
    }
}

#[test]
fn what_is_made_is_on_the_disk() {
    let folder = Folder::new("synced");
    let shim = shim::compile(
        concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cli/synced.c"),
        Path::new(&folder.path("")),
    );
    let data = series(50_000);
    let file = folder.write("data", &data);
    let array = folder.write("array.npy", &npy("<i4", false, "(100, 500)", &data));
    let [frame, nd, sparse] = ["frame", "nd", "sparse"].map(|name| folder.path(name));
    b2(&["compress", &file, "-o", &frame, "--chunks", "30K"]).ended(0);
    b2(&["compress", &array, "-o", &nd]).ended(0);
    b2(&["convert", &frame, &sparse, "--sparse"]).ended(0);
    std::fs::create_dir(folder.path("out")).expect("made");
    let out = Path::new(&folder.path("out"))
        .canonicalize()
        .expect("there");
    let [to, log] = [out.join("to"), PathBuf::from(folder.path("log"))];
    let to = to.to_str().expect("plain");
    let commands: [&[&str]; 10] = [
        &["compress", &file, "-o", to],
        &["compress", &file, "-o", to, "--sparse", "--chunks", "30K"],
        &["compress", &array, "-o", to],
        &["decompress", &frame, "-o", to],
        &["decompress", &nd, "-o", to],
        &["convert", &frame, to],
        &["convert", &frame, to, "--sparse"],
        &["convert", &nd, to, "-l", "1"],
        &["repair", &frame, to],
        &["repair", &sparse, to],
    ];
    // What the output replaces: nothing, a file, a frame in a directory.
    let olds: [&dyn Fn(); 3] = [
        &|| {},
        &|| std::fs::write(to, b"old").expect("written"),
        &|| drop(b2(&["convert", &frame, to, "--sparse"]).ended(0)),
    ];
    for args in commands {
        for (nth, old) in olds.iter().enumerate() {
            let _ = std::fs::remove_file(to);
            let _ = std::fs::remove_dir_all(to);
            let _ = std::fs::remove_file(&log);
            old();
            let run = |fail: &Path| {
                let mut command = Command::new(env!("CARGO_BIN_EXE_b2"));
                let command = command.args(args).arg("-f").env("LD_PRELOAD", &shim);
                let command = command.env("SYNCED_LOG", &log).env("SYNCED_FAIL", fail);
                command.env("BLOSC_DURABLE", "1").output().expect("runs")
            };
            let done = run(Path::new("/none"));
            assert_eq!(done.status.code(), Some(0), "{args:?}: {done:?}");
            let log = String::from_utf8(read(log.to_str().expect("plain"))).expect("text");
            assert_eq!(wrong(&log, &out), None, "{args:?} over {nth}:\n{log}");
            // If the name cannot be synced, a message says so.
            let done = run(&out);
            let err = String::from_utf8_lossy(&done.stderr);
            assert_eq!(done.status.code(), Some(2), "{args:?}: {err}");
            assert!(err.starts_with(&format!("b2: {to}: ")), "{args:?}: {err}");
        }
    }
}
