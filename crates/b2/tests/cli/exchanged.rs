//! Another user owns the folder in which the tool works, and puts a link in the place of a file or
//! directory there, between any two calls of the tool. Each path is looked up once: the whole of a
//! command is done at the one place or at the other. A link that is there when it is looked up is
//! followed, as ever; after that, what it leads to stays as it was. And what only the tool's user
//! may read does not get into a file that others may read.

use crate::support::{Folder, b2, compress, is_full, read, series};
use oxiblosc_testing::shim;
use std::collections::BTreeMap;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Everything below a folder, with what can be changed of it; but what `is_left_out`.
fn state(
    folder: &Path,
    is_left_out: impl Fn(&Path) -> bool,
) -> BTreeMap<PathBuf, (u32, u64, i64, Vec<u8>)> {
    let mut all = BTreeMap::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("a directory") {
            let path = entry.expect("an entry").path();
            if is_left_out(&path) {
                continue;
            }
            let there = path.symlink_metadata().expect("there");
            let bytes = match there.is_dir() {
                true => Vec::new(),
                false => std::fs::read(&path).expect("a file"),
            };
            // A folder is another one by what is in it, which is compared by itself.
            let time = if there.is_dir() {
                0
            } else {
                there.ctime_nsec()
            };
            let changed = (there.mode(), there.ino(), time, bytes);
            all.insert(path.clone(), changed);
            if there.is_dir() {
                folders.push(path);
            }
        }
    }
    all
}

fn copied(from: &Path, to: &Path) {
    if from.is_dir() {
        std::fs::create_dir(to).expect("made");
        for entry in std::fs::read_dir(from).expect("a directory") {
            let entry = entry.expect("an entry");
            copied(&entry.path(), &to.join(entry.file_name()));
        }
    } else {
        std::fs::copy(from, to).expect("copied");
    }
}

fn set_mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).expect("given");
}

/// What a command reads or makes, as raw bytes: of a frame those that it decompresses to.
fn data_of(path: &Path) -> Option<Vec<u8>> {
    let bytes = match path.is_dir() {
        false => std::fs::read(path).ok()?,
        true => Vec::new(),
    };
    let is_frame = path.is_dir() || bytes.get(2..9) == Some(b"b2frame");
    if !is_frame {
        return Some(bytes);
    }
    let run = b2(&["decompress", path.to_str().expect("plain"), "-o", "-"]);
    (run.code == Some(0)).then_some(run.out)
}

#[test]
fn nothing_is_done_where_a_link_leads() {
    let folder = Folder::new("exchanged");
    let root = PathBuf::from(folder.path(""))
        .canonicalize()
        .expect("there");
    let shim = shim::compile(shim::EXCHANGE, &root);
    let (theirs, secret, count) = (root.join("theirs"), root.join("secret"), root.join("count"));
    let text = |path: &Path| path.to_str().expect("plain").to_string();
    // The same names in both; what is secret has other data.
    let (open_data, secret_data) = (series(20_000), series(20_001)[4..].to_vec());
    for (home, data, mode) in [(&theirs, &open_data, 0o644), (&secret, &secret_data, 0o600)] {
        for inner in ["", "in", "out"] {
            std::fs::create_dir(home.join(inner)).expect("made");
        }
        let place = home.join("in");
        std::fs::write(place.join("data"), data).expect("written");
        for (name, more) in [("frame", ""), ("sparse", "--sparse")] {
            let options = format!("--codec lz4 --typesize 4 --chunks 20K {more}");
            compress(
                &text(&place.join("data")),
                &text(&place.join(name)),
                &options,
            )
            .ended(0);
        }
        for name in ["data", "frame", "sparse/chunks.b2frame"] {
            set_mode(&place.join(name), mode);
        }
        copied(&place.join("sparse"), &home.join("out/to"));
    }
    // In the place of a temporary folder, too, there are the names that the tool uses.
    copied(&secret.join("in/data"), &secret.join("new"));
    copied(&secret.join("in/data"), &secret.join("copy"));
    copied(&secret.join("in/sparse"), &secret.join("old"));
    let at_secret = ["out/made", "out/to"].map(|name| secret.join(name));
    let kept = secret.join("kept");
    copied(&at_secret[1], &kept);
    let commands = [
        "compress {}/in/data -o {}/out/made -t 1",
        "compress {}/in/data -o {}/out/made --sparse --chunks 20K -t 1",
        "compress {}/in/data -o {}/out/to -f -t 1",
        "decompress {}/in/frame -o {}/out/made -t 1",
        "decompress {}/in/frame -o {}/out/to -f -t 1",
        "convert {}/in/frame {}/out/to --sparse -f -t 1",
        "convert {}/in/sparse {}/out/made -t 1",
        "repair {}/in/sparse {}/out/to -f -t 1",
        "decompress {}/in/sparse -o {}/out/to -f -t 1",
        "repair {}/in/frame {}/out/to -f -t 1",
    ];
    // Each with what the link leads to.
    let components = [
        ("in", "in"),
        ("in/data", "in/data"),
        ("in/frame", "in/frame"),
        ("in/sparse", "in/sparse"),
        ("in/sparse/chunks.b2frame", "in/sparse/chunks.b2frame"),
        ("in/sparse/00000000.chunk", "in/sparse/00000000.chunk"),
        ("in/sparse/00000002.chunk", "in/sparse/00000002.chunk"),
        ("out", "out"),
        ("out/to", "out/to"),
        ("out/.b2-*", ""),
        ("out/.b2-*", "out"),
        ("", ""),
    ];
    let most = if is_full("OXIBLOSC_FAULTS") {
        usize::MAX
    } else {
        2
    };
    let scene = root.join("scene");
    let mut secrets_read = 0;
    for (nth, command) in commands.iter().enumerate() {
        for (place, (old, decoy)) in components.into_iter().enumerate() {
            // In the sample, each command meets every second place.
            if most != usize::MAX && !(nth + place).is_multiple_of(2) {
                continue;
            }
            // The place to write to may be what a link leads to, if it was there in time.
            let is_target = |path: &Path| {
                ["out", "out/to", ""].contains(&old) && at_secret.iter().any(|at| at == path)
            };
            let run = |at: usize| {
                let _ = std::fs::remove_dir_all(&scene);
                std::fs::create_dir(&scene).expect("made");
                copied(&theirs, &scene.join("theirs"));
                let home = scene.join("theirs");
                let line = command.replace("{}", &text(&home));
                let mut b2 = Command::new(env!("CARGO_BIN_EXE_b2"));
                b2.args(line.split(' ')).env("LD_PRELOAD", &shim);
                b2.env("EXCHANGE_FOLDER", &scene)
                    .env("EXCHANGE_AT", at.to_string());
                b2.env("EXCHANGE_OLD", text(&home.join(old)).trim_end_matches('/'));
                b2.env("EXCHANGE_DECOY", secret.join(decoy));
                b2.env("EXCHANGE_COUNT", &count).env("TMPDIR", &scene);
                b2.stdin(Stdio::null()).output().expect("runs")
            };
            let whole = run(0);
            assert_eq!(whole.status.code(), Some(0), "{command}: {whole:?}");
            let calls = String::from_utf8(read(&text(&count))).expect("text");
            let calls: usize = calls.trim().parse().expect("a number");
            assert!(calls > 20, "{command}: {calls} calls");
            let step = calls.div_ceil(most).max(1);
            for at in (1 + nth % step..=calls).step_by(step) {
                for path in &at_secret {
                    let _ = std::fs::remove_file(path);
                    let _ = std::fs::remove_dir_all(path);
                }
                copied(&kept, &at_secret[1]);
                let before = state(&secret, is_target);
                let about = format!("{command}, {old} before call {at} of {calls}");
                let ended = run(at);
                let said = String::from_utf8_lossy(&ended.stderr);
                assert!(
                    matches!(ended.status.code(), Some(0..=2)),
                    "{about}: {ended:?}"
                );
                assert!(!said.contains("panicked"), "{about}: {said}");
                assert!(state(&secret, is_target) == before, "{about}: {said}");
                // What was made is of one of both, and has the rights of that.
                let created = |home: &str| {
                    ["out/made", "out~/made", "out/to", "out~/to"]
                        .map(|name| scene.join(home).join(name))
                };
                let all = [&created("theirs")[..], &created("theirs~"), &at_secret].concat();
                for path in all {
                    let is_link = path.ancestors().any(Path::is_symlink);
                    if is_link || !path.exists() {
                        continue;
                    }
                    let mode = path.metadata().expect("there").mode();
                    match data_of(&path) {
                        Some(data) if data == open_data => {}
                        Some(data) if data == secret_data => {
                            let is_private = path.starts_with(&secret) || mode & 0o077 == 0;
                            assert!(is_private, "{about}: {}", path.display());
                            secrets_read += usize::from(!path.starts_with(&secret));
                        }
                        _ => panic!("{about}: {} is something else", path.display()),
                    }
                }
            }
        }
    }
    assert!(
        secrets_read > 0,
        "no link was ever followed: nothing was tried"
    );
}
