//! One call of the tool to the system fails, or one of its allocations, or there is little memory.
//! Then a command is done as ever, or it says what failed: the source is as it was, the output is
//! whole or not there, and nothing is left behind.

use crate::support::{Folder, b2, compress, is_full, npy, read, series};
use oxiblosc_testing::shim;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// All files and directories below one, and what is in them.
fn tree(folder: &Path) -> BTreeMap<PathBuf, Option<Vec<u8>>> {
    let mut all = BTreeMap::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("a directory") {
            let path = entry.expect("an entry").path();
            let content = match path.is_dir() {
                true => {
                    folders.push(path.clone());
                    None
                }
                false => Some(std::fs::read(&path).expect("a file")),
            };
            all.insert(path, content);
        }
    }
    all
}

/// Frames, whole and damaged, and commands on them.
struct Scene {
    folder: Folder,
    /// The directory with what is read, and that of what is made.
    work: PathBuf,
    commands: Vec<Vec<String>>,
}

/// The result of a command.
#[derive(PartialEq, Eq)]
struct Ended {
    code: Option<i32>,
    out: Vec<u8>,
    err: String,
    created: BTreeMap<PathBuf, Option<Vec<u8>>>,
}

impl Scene {
    fn new(test: &str) -> Self {
        let folder = Folder::new(test);
        std::fs::create_dir(folder.path("work")).expect("made");
        let work = Path::new(&folder.path("work"))
            .canonicalize()
            .expect("there");
        for name in ["in", "out", "tmp"] {
            std::fs::create_dir(work.join(name)).expect("made");
        }
        let path = |name: &str| {
            work.join("in")
                .join(name)
                .to_str()
                .expect("plain")
                .to_string()
        };
        let write = |name: &str, bytes: &[u8]| {
            std::fs::write(path(name), bytes).expect("written");
            path(name)
        };
        let data = write("data", &series(15_000));
        let items = npy("<i4", false, "(100, 150)", &series(15_000));
        let array = write("array.npy", &items);
        let options = "--codec zlib --typesize 4 --chunks 16K --blocks 4K";
        for (name, more) in [
            ("plain", ""),
            ("checked", "--checksum"),
            ("sparse", "--sparse"),
        ] {
            compress(&data, &path(name), &format!("{options} {more}")).ended(0);
        }
        b2(&["compress", &array, "-o", &path("nd"), "--chunks", "50,50"]).ended(0);
        // In a block, in the trailer, and in the header of a chunk.
        for (name, at) in [("plain", 6), ("checked", 6)] {
            let mut bytes = read(&path(name));
            let middle = bytes.len() / at;
            bytes[middle] ^= 0xff;
            let end = bytes.len() - 30;
            bytes[end..].fill(0xaa);
            write(&format!("{name}-broken"), &bytes);
        }
        let store = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/tests/fixtures/stores/tree.b2z"
        );
        write("store.b2z", &read(store));
        let commands = [
            "info {in}/checked",
            "info {in}/store.b2z",
            "verify {in}/checked -t 1",
            "verify {in}/sparse {in}/plain -t 1",
            "verify {in}/checked-broken -t 1",
            "verify {in}/store.b2z -t 1",
            "repair {in}/checked {out} -t 1",
            "repair {in}/checked-broken {out} -t 1",
            "repair {in}/plain-broken {out} -t 1",
            "repair {in}/sparse {out} -t 1",
            "compress {in}/data -o {out} -t 1",
            "compress {in}/data -o {out} --sparse --chunks 16K -t 2",
            "compress {in}/array.npy -o {out} -t 1",
            "decompress {in}/checked -o {out} -t 2",
            "decompress {in}/nd -o {out} -t 1",
            "decompress {in}/nd -o - -t 1",
            "decompress {in}/store.b2z --key /small -o {out} -t 1",
            "repair {in}/store.b2z --key /group/series {out} -t 1",
            "convert {in}/plain {out} -t 1",
            "convert {in}/checked {out} --sparse -t 1",
            "convert {in}/sparse {out} -l 1 -t 1",
            "convert {in}/nd {out} --chunks 20,30 -t 1",
        ];
        let place = |name: &str| work.join(name).to_str().expect("plain").to_string();
        let (from, to) = (place("in"), place("out/to"));
        let commands = commands.iter().map(|line| {
            let line = line.replace("{in}", &from).replace("{out}", &to);
            line.split(' ').map(str::to_string).collect()
        });
        let commands = commands.collect();
        Self {
            folder,
            work,
            commands,
        }
    }

    /// Runs a command; its output is removed afterwards.
    fn run(&self, command: &mut Command) -> Ended {
        let command = command.env("TMPDIR", self.work.join("tmp"));
        let done = command.stdin(Stdio::null()).output().expect("runs");
        let created = tree(&self.work.join("out"));
        let to = self.work.join("out/to");
        let _ = std::fs::remove_file(&to);
        let _ = std::fs::remove_dir_all(&to);
        Ended {
            code: done.status.code(),
            out: done.stdout,
            err: String::from_utf8_lossy(&done.stderr).into_owned(),
            created,
        }
    }

    /// Checks what a command did that may have failed. Returns whether it has.
    #[track_caller]
    fn check(
        &self,
        about: &str,
        whole: &Ended,
        ended: &Ended,
        before: &BTreeMap<PathBuf, Option<Vec<u8>>>,
    ) -> bool {
        let about = format!("{about}: {:?} {}", ended.code, ended.err);
        let failed = ended.code == Some(2);
        if failed {
            // What comes after the output has its name, such as its report, may fail, too.
            let is_whole = ended.created == whole.created && ended.created != BTreeMap::new();
            let all = ended.created.keys();
            assert!(ended.created.is_empty() || is_whole, "{about}\n{all:?}");
            assert!(!ended.err.is_empty(), "{about}");
        } else {
            assert_eq!(ended.code, whole.code, "{about}");
            assert!(
                ended.out == whole.out,
                "{about}\n{}",
                String::from_utf8_lossy(&ended.out)
            );
            assert!(ended.created == whole.created, "{about}");
        }
        // Neither is anything left in other places.
        assert!(tree(&self.work) == *before, "{about}");
        failed
    }

    /// Lets each call of a kind fail in turn, or every `step`th one.
    fn sweep(&self, kind: &str, most: usize) {
        let library = shim::compile(
            concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cli/faults.c"),
            Path::new(&self.folder.path("")),
        );
        let before = tree(&self.work);
        for (nth, args) in self.commands.iter().enumerate() {
            let count = self.folder.path("count");
            let run = |at: usize| {
                let mut command = Command::new(env!("CARGO_BIN_EXE_b2"));
                command.args(args).env("LD_PRELOAD", &library);
                command
                    .env("FAULTS_KIND", kind)
                    .env("FAULTS_AT", at.to_string());
                command
                    .env("FAULTS_FOLDER", &self.work)
                    .env("FAULTS_COUNT", &count);
                self.run(&mut command)
            };
            let whole = run(0);
            assert!(matches!(whole.code, Some(0 | 1)), "{args:?}: {}", whole.err);
            let calls = String::from_utf8(read(&count)).expect("text");
            let calls: usize = calls.trim().parse().expect("a number");
            let step = calls.div_ceil(most).max(1);
            let (mut failed, mut is_known) = (0, kind != "memory");
            for at in (1 + nth % step..=calls).step_by(step) {
                let about = format!("{kind} {at} of {calls}, {args:?}");
                let ended = run(at);
                failed += usize::from(self.check(&about, &whole, &ended, &before));
                if ended.code == Some(2) {
                    let names = [self.work.to_str().expect("plain"), "standard output"];
                    let named = names.iter().any(|name| ended.err.contains(name));
                    // Before the arguments are read, no file is known.
                    assert!(named || !is_known, "{about}: {}", ended.err);
                    is_known |= named;
                    // The cause, in the words of the system where they are known.
                    let causes = [
                        "No space left",
                        "Input/output error",
                        "cannot be written (is there",
                    ];
                    let has_cause = causes.iter().any(|cause| ended.err.contains(cause));
                    assert!(has_cause || kind != "write", "{about}: {}", ended.err);
                }
            }
            assert!(failed > 0 || calls == 0, "{kind}, {args:?}: {calls} calls");
        }
    }
}

/// How many calls of a command fail in turn, unless the environment asks for all of them.
fn most(variable: &str, few: usize) -> usize {
    if is_full(variable) { usize::MAX } else { few }
}

#[test]
fn an_allocation_fails() {
    Scene::new("no-memory").sweep("memory", most("OXIBLOSC_OOM", 10));
}

#[test]
fn a_file_cannot_be_opened() {
    Scene::new("no-file").sweep("open", most("OXIBLOSC_FAULTS", 10));
}

#[test]
fn a_file_cannot_be_read() {
    Scene::new("no-read").sweep("read", most("OXIBLOSC_FAULTS", 10));
}

#[test]
fn a_file_cannot_be_written() {
    Scene::new("no-write").sweep("write", most("OXIBLOSC_FAULTS", 10));
}

#[test]
fn a_name_cannot_be_made() {
    Scene::new("no-name").sweep("name", most("OXIBLOSC_FAULTS", 10));
}

/// The address space is limited in steps, from too little for the loader to enough.
#[test]
fn little_memory() {
    let scene = Scene::new("little-memory");
    let before = tree(&scene.work);
    for args in &scene.commands {
        let limited = |kilobytes: u64| {
            let mut shell = Command::new("sh");
            let limit = format!("ulimit -v {kilobytes}; exec \"$0\" \"$@\"");
            shell.args(["-c", &limit]).arg(env!("CARGO_BIN_EXE_b2"));
            shell.args(args);
            scene.run(&mut shell)
        };
        let whole = limited(4 << 20);
        assert!(matches!(whole.code, Some(0 | 1)), "{args:?}: {}", whole.err);
        let mut failed = 0;
        // Returns whether it was done. The loader and the shell end with other codes, before
        // anything is done.
        let mut done_with = |kilobytes: u64| {
            let about = format!("{kilobytes} KB, {args:?}");
            let ended = limited(kilobytes);
            if !matches!(ended.code, Some(0..=2)) {
                assert!(
                    ended.created.is_empty(),
                    "{about}: {:?}",
                    ended.created.keys()
                );
                return false;
            }
            let has_failed = scene.check(&about, &whole, &ended, &before);
            failed += usize::from(has_failed);
            !has_failed
        };
        let (mut few, mut many) = (1 << 10, 4 << 20);
        while many - few > 16 {
            let middle = u64::midpoint(few, many);
            match done_with(middle) {
                true => many = middle,
                false => few = middle,
            }
        }
        // Just below what it needs, and a little above: more is asked for where there is more.
        let step = match most("OXIBLOSC_OOM", 0) {
            0 => 480,
            _ => 8,
        };
        for kilobytes in (many.saturating_sub(4 << 10)..many + 512).step_by(step) {
            done_with(kilobytes);
        }
        assert!(failed > 0, "{args:?}");
    }
}
