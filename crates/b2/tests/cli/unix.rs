//! What only POSIX systems have: modes, links, devices, named pipes, signals.

use crate::support::{Folder, b2, npy, piped, read, series, symlink};
#[cfg(target_os = "linux")]
use oxiblosc::storage::attributes::acl;
#[cfg(target_os = "linux")]
use oxiblosc_base::system::attributes;
use std::fs::{self, File, FileTimes, Permissions};
use std::io::{Read, Write};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};

fn mode(path: &str) -> u32 {
    fs::metadata(path).expect("there").permissions().mode() & 0o777
}

#[test]
fn what_is_made_has_the_mode_and_times_of_what_it_is_made_of() {
    let folder = Folder::new("mode");
    let file = folder.write("data", &series(10_000));
    let then = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    let opened = File::options().write(true).open(&file).expect("opens");
    opened
        .set_times(FileTimes::new().set_modified(then))
        .expect("times");
    fs::set_permissions(&file, Permissions::from_mode(0o600)).expect("mode");
    let [frame, back, copy, repaired, sparse] =
        ["frame", "back", "copy", "repaired", "sparse"].map(|name| folder.path(name));
    b2(&["compress", &file, "-o", &frame]).ended(0);
    b2(&["decompress", &frame, "-o", &back]).ended(0);
    b2(&["convert", &frame, &copy]).ended(0);
    b2(&["repair", &frame, &repaired]).ended(0);
    b2(&["convert", &frame, &sparse, "--sparse"]).ended(0);
    for created in [&frame, &back, &copy, &repaired] {
        assert_eq!(mode(created), 0o600, "{created}");
    }
    assert_eq!(mode(&sparse), 0o700);
    for created in fs::read_dir(&sparse).expect("a directory") {
        let created = created.expect("an entry").path();
        assert_eq!(mode(created.to_str().expect("plain")), 0o600);
    }
    for created in [&frame, &back] {
        let modified = fs::metadata(created).expect("there").modified();
        assert_eq!(modified.expect("known"), then, "{created}");
    }
}

/// A pipe has no mode, so the output keeps the mode of what it replaces. A frame in a store has the
/// mode of the file that contains it.
#[test]
fn what_is_private_stays_so() {
    let folder = Folder::new("private");
    let data = series(10_000);
    let [file, dir] = ["file", "dir"].map(|name| folder.path(name));
    let private = |path: &str| {
        fs::set_permissions(path, Permissions::from_mode(0o600)).expect("mode");
    };
    let compress = |to: &str, more: &[&str]| {
        let args = ["compress", "-", "-f", "-o", to];
        piped(&[&args[..], more].concat(), Some(&data)).ended(0);
    };
    compress(&file, &[]);
    private(&file);
    compress(&file, &[]);
    assert_eq!(mode(&file), 0o600);
    // The mode of a directory is that of the file with its header, or its own if it is empty.
    let modes = |dir: &str| -> Vec<u32> {
        let files = fs::read_dir(dir).expect("a directory");
        let files = files.map(|file| file.expect("an entry").path());
        files
            .map(|file| mode(file.to_str().expect("plain")))
            .collect()
    };
    compress(&dir, &["--sparse"]);
    private(&format!("{dir}/chunks.b2frame"));
    compress(&dir, &["--sparse"]);
    assert_eq!((mode(&dir), modes(&dir)), (0o700, vec![0o600; 2]));
    let empty = folder.path("empty");
    fs::create_dir(&empty).expect("made");
    fs::set_permissions(&empty, Permissions::from_mode(0o700)).expect("mode");
    compress(&empty, &["--sparse"]);
    assert_eq!((mode(&empty), modes(&empty)), (0o700, vec![0o600; 2]));

    let store = folder.path("store.b2d");
    fs::create_dir(&store).expect("made");
    let fixture = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/fixtures/stores/embed.b2e"
    );
    let embedded = format!("{store}/embed.b2e");
    fs::write(&embedded, read(fixture)).expect("written");
    private(&embedded);
    let taken = folder.path("taken");
    b2(&["decompress", &store, "--key", "/small", "-o", &taken]).ended(0);
    assert_eq!(mode(&taken), 0o600);
}

/// Without the access control list, the mode would give the group rights that only one user has.
#[cfg(target_os = "linux")]
#[test]
fn what_is_made_has_the_list_of_what_it_is_made_of() {
    let entries = [
        [1, 6, !0, !0],
        [2, 6, 1000, 0],
        [4, 0, !0, !0],
        [16, 6, !0, !0],
        [32, 0, !0, !0],
    ];
    let words = [2, 0].into_iter().chain(entries.into_iter().flatten());
    let list: Vec<u8> = words.flat_map(u16::to_le_bytes).collect();
    let folder = Folder::new("list");
    let file = folder.write("data", &series(10_000));
    let give = |path: &str| {
        let file = File::open(path).expect("opens");
        attributes::set(&file, attributes::ACL, &list).expect("a list");
    };
    let has = |path: &str| {
        let found = acl(&File::open(path).expect("opens")).expect("memory");
        assert_eq!(found.as_deref(), Some(&list[..]), "{path}");
        assert_eq!(mode(path), 0o660, "{path}");
    };
    give(&file);
    let [frame, back, copy, repaired, sparse, piped_to] =
        ["frame", "back", "copy", "repaired", "sparse", "piped"].map(|name| folder.path(name));
    b2(&["compress", &file, "-o", &frame]).ended(0);
    b2(&["decompress", &frame, "-o", &back]).ended(0);
    b2(&["convert", &frame, &copy]).ended(0);
    b2(&["repair", &frame, &repaired]).ended(0);
    b2(&["convert", &frame, &sparse, "--sparse"]).ended(0);
    let compress = || {
        let args = ["compress", "-", "-f", "-o", &piped_to];
        piped(&args, Some(&series(10_000))).ended(0);
    };
    compress();
    give(&piped_to);
    compress();
    for created in [&frame, &back, &copy, &repaired, &piped_to] {
        has(created);
    }
    assert_eq!(mode(&sparse), 0o700);
    for created in fs::read_dir(&sparse).expect("a directory") {
        let created = created.expect("an entry").path();
        has(created.to_str().expect("plain"));
    }
}

/// A limit on file sizes is an error, and a limit on time ends the tool. Neither leaves anything
/// behind.
#[test]
fn limits_leave_nothing_behind() {
    let folder = Folder::new("limits");
    let file = folder.path("data");
    File::create(&file)
        .and_then(|file| file.set_len(1 << 40))
        .expect("a sparse file");
    let to = folder.path("frame");
    let stored = folder.write("stored", &series(100_000));
    for (limit, args, code) in [
        (
            "ulimit -f 20",
            vec!["compress", &stored, "-l", "0"],
            Some(2),
        ),
        (
            "ulimit -S -t 1",
            vec!["compress", &file, "--chunks", "1M"],
            None,
        ),
    ] {
        for sparse in [None, Some("--sparse")] {
            let run = Command::new("env")
                .args(["--default-signal=XFSZ,XCPU", "sh", "-c"])
                .arg(format!("{limit}; exec \"$0\" \"$@\""))
                .arg(env!("CARGO_BIN_EXE_b2"))
                .args(&args)
                .args(["-o", &to])
                .args(sparse)
                .stderr(Stdio::null())
                .status();
            assert_eq!(run.expect("runs").code(), code, "{limit}");
            assert_eq!(folder.count(), 2, "{limit}");
        }
    }
}

/// With one bit flipped, the size of the index asks for a gigabyte of offsets.
#[test]
fn repair_needs_no_more_memory_than_there_is_to_bring_back() {
    let folder = Folder::new("memory");
    let file = folder.write("data", &series(10_000));
    let [frame, new] = ["frame", "new"].map(|name| folder.path(name));
    b2(&["compress", &file, "-o", &frame, "--chunks", "8K"]).ended(0);
    let mut bytes = read(&frame);
    let header = u32::from_be_bytes(bytes[11..15].try_into().expect("four"));
    let chunks = u64::from_be_bytes(bytes[39..47].try_into().expect("eight"));
    let index = header as usize + chunks as usize;
    bytes[index + 7] ^= 0x40;
    let broken = folder.write("broken", &bytes);
    let run = Command::new("sh")
        .args(["-c", "ulimit -v 1500000; exec \"$0\" \"$@\""])
        .arg(env!("CARGO_BIN_EXE_b2"))
        .args(["repair", &broken, &new, "--threads", "2"])
        .stdout(Stdio::null())
        .status();
    assert_eq!(run.expect("runs").code(), Some(1));
    let back = b2(&["decompress", &new, "-o", "-"]).ended(0).out;
    assert!(back == series(10_000));
}

#[test]
fn links_are_followed_and_devices_written_to() {
    let folder = Folder::new("links");
    let data = series(10_000);
    let file = folder.write("data", &data);
    let target = folder.write("target", b"old");
    let [link, dangling, chain] = ["link", "dangling", "chain"].map(|name| folder.path(name));
    assert!(symlink("target", &link));
    assert!(symlink("later", &dangling));
    assert!(symlink("chain", &chain));
    b2(&["compress", &file, "-o", &link]).failed();
    b2(&["compress", &file, "-o", &link, "-f"]).ended(0);
    b2(&["compress", &file, "-o", &dangling]).ended(0);
    b2(&["compress", &file, "-o", &chain]).failed();
    for (link, target) in [(&link, &target), (&dangling, &folder.path("later"))] {
        assert!(Path::new(link).is_symlink());
        b2(&["verify", target]).ended(0);
    }
    // Devices are written to, with and without `-f`.
    for force in [&["-f"][..], &[]] {
        let full = b2(&[&["compress", &file, "-o", "/dev/full"], force].concat()).failed();
        assert!(full.err.contains("space"), "{}", full.err);
        b2(&[&["decompress", &target, "-o", "/dev/null"], force].concat()).ended(0);
    }
    let null = fs::metadata("/dev/null").expect("there").file_type();
    assert!(null.is_char_device());
    let pipe = folder.path("pipe");
    let created = Command::new("mkfifo").arg(&pipe).status().expect("mkfifo");
    assert!(created.success());
    for force in [&["-f"][..], &[]] {
        let reader = std::thread::spawn({
            let pipe = pipe.clone();
            move || read(&pipe)
        });
        b2(&[&["decompress", &target, "-o", &pipe], force].concat()).ended(0);
        assert!(reader.join().expect("read") == data);
        let kept = fs::symlink_metadata(&pipe).expect("there").file_type();
        assert!(kept.is_fifo());
    }
}

/// Links on the way to a frame are followed, those within its directory are not: another user may
/// have put them there.
#[test]
fn links_within_a_directory_are_not_followed() {
    let folder = Folder::new("inner-links");
    let items: Vec<u8> = (0..9000i32).flat_map(i32::to_le_bytes).collect();
    let file = folder.write("data.npy", &npy("<i4", false, "(9000,)", &items));
    let [frame, way, to, store] = ["frame", "way", "to", "store.b2d"].map(|name| folder.path(name));
    let options = ["-o", &frame, "--sparse", "--chunks", "1000"];
    b2(&[&["compress", &file], &options[..]].concat()).ended(0);
    fs::create_dir_all(format!("{store}/inner")).expect("made");
    b2(&["compress", &file, "-o", &format!("{store}/inner/a.b2nd")]).ended(0);
    assert!(symlink("frame", &way));
    let of_frame: [&[&str]; 6] = [
        &["verify", &way],
        &["decompress", &way, "-o", &to, "-f"],
        &["convert", &way, &to, "-f"],
        &["convert", &way, &to, "-f", "--chunks", "700"],
        &["repair", &way, &to, "-f"],
        &["bench", &way, "--seconds", "0"],
    ];
    let of_store: [&[&str]; 2] = [
        &["decompress", &store, "--key", "/inner/a", "-o", &to, "-f"],
        &["convert", &store, "--key", "/inner/a", &to, "-f"],
    ];
    for (commands, name) in [
        (&of_frame[..], "frame/chunks.b2frame"),
        (&of_frame, "frame/00000004.chunk"),
        (&of_store, "store.b2d/inner/a.b2nd"),
    ] {
        let ended = |code| {
            let run = |args: &&[&str]| b2(args).ended(code).err;
            commands.iter().map(run).collect::<Vec<_>>()
        };
        ended(0);
        let _ = fs::remove_file(&to).or_else(|_| fs::remove_dir_all(&to));
        let (name, apart) = (folder.path(name), folder.path("apart"));
        fs::rename(&name, &apart).expect("renamed");
        assert!(symlink(&apart, &name));
        for said in ended(2) {
            assert!(said.contains("is a symbolic link"), "{name}: {said}");
        }
        assert!(!Path::new(&to).exists());
        fs::remove_file(&name).expect("removed");
        fs::rename(&apart, &name).expect("renamed");
    }
}

#[test]
fn a_signal_leaves_nothing_behind() {
    let folder = Folder::new("signals");
    let file = folder.path("data");
    // Zeros without end take a while.
    File::create(&file)
        .and_then(|file| file.set_len(1 << 40))
        .expect("a sparse file");
    let to = folder.path("frame");
    let compress = ["compress", &file, "-o", &to, "--chunks", "1M", "-c", "lz4"];
    let sparse = [&compress[..], &["--sparse"]].concat();
    for (signal, args) in [
        ("INT", &compress[..]),
        ("TERM", &compress),
        ("HUP", &compress),
        ("QUIT", &compress),
        ("TERM", &sparse),
        // As the C library and Rust's runtime raise it where they cannot go on.
        ("ABRT", &compress),
        // The input of a pipe is being copied to a temporary file, or compressed.
        ("INT", &["compress", "-", "-o", &to]),
        ("INT", &["decompress", "-", "-o", &to]),
        ("TERM", &["verify", "-"]),
    ] {
        // A test that runs in the background of a shell ignores some signals, and so would its
        // children.
        let mut child = Command::new("env")
            .args([
                "--default-signal=INT,TERM,HUP,QUIT",
                env!("CARGO_BIN_EXE_b2"),
            ])
            .args(args)
            .env("TMPDIR", folder.path("."))
            .stdin(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the tool starts");
        let mut input = child.stdin.take().expect("a pipe");
        input.write_all(&[1; 100]).expect("written");
        let began = std::time::Instant::now();
        while folder.count() < 2 {
            assert!(began.elapsed() < Duration::from_secs(60), "nothing is made");
            std::thread::sleep(Duration::from_millis(5));
        }
        std::thread::sleep(Duration::from_millis(100));
        let id = child.id().to_string();
        let sent = Command::new("kill")
            .args([&format!("-{signal}"), &id])
            .status();
        assert!(sent.expect("kill").success());
        let status = child.wait().expect("it ends");
        assert!(!status.success(), "SIG{signal}");
        assert_eq!(folder.count(), 1, "SIG{signal}, {args:?}");
    }
    // A program that was started by `nohup` goes on.
    let mut child = Command::new("nohup")
        .args([env!("CARGO_BIN_EXE_b2"), "compress", "-", "-o", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the tool starts");
    std::thread::sleep(Duration::from_millis(300));
    let id = child.id().to_string();
    let sent = Command::new("kill").args(["-HUP", &id]).status();
    assert!(sent.expect("kill").success());
    drop(child.stdin.take());
    let mut frame = Vec::new();
    let mut out = child.stdout.take().expect("a pipe");
    out.read_to_end(&mut frame).expect("a frame");
    assert!(child.wait().expect("it ends").success());
    assert_eq!(&frame[2..9], b"b2frame");
}

/// A process that may open few files, or write few bytes, leaves nothing behind, says what it could
/// not write, and keeps what it would have replaced.
#[test]
fn few_files_and_no_room_leave_nothing_behind() {
    let folder = Folder::new("few-files");
    let file = folder.write("data", &series(300_000));
    let [frame, sparse, to] = ["frame", "sparse", "to"].map(|name| folder.path(name));
    b2(&["compress", &file, "-o", &frame, "--chunks", "100K"]).ended(0);
    b2(&["convert", &frame, &sparse, "--sparse"]).ended(0);
    let array = folder.write("a.npy", &npy("<i4", false, "(300000,)", &series(300_000)));
    let nd = folder.path("a.b2nd");
    b2(&["compress", &array, "-o", &nd]).ended(0);
    let commands = [
        vec!["compress", &file, "-o", &to],
        vec!["compress", &file, "-o", &to, "--sparse"],
        vec!["compress", &array, "-o", &to],
        vec!["decompress", &frame, "-o", &to],
        vec!["decompress", &nd, "-o", &to],
        vec!["decompress", &sparse, "-o", &to],
        vec!["convert", &frame, &to],
        vec!["convert", &frame, &to, "--sparse"],
        vec!["convert", &frame, &to, "-l", "1"],
        vec!["convert", &nd, &to, "--chunks", "1000"],
        vec!["repair", &sparse, &to],
    ];
    let count = folder.count();
    for args in &commands {
        let limited = |limit: &str, more: &[&str]| {
            Command::new("sh")
                .args(["-c", &format!("{limit}; exec \"$0\" \"$@\"")])
                .arg(env!("CARGO_BIN_EXE_b2"))
                .args(args)
                .args(more)
                .output()
                .expect("runs")
        };
        let mut failed = 0;
        for files in 3..24 {
            let run = limited(&format!("ulimit -n {files}"), &[]);
            let err = String::from_utf8_lossy(&run.stderr).into_owned();
            let done = run.status.success();
            assert_eq!(
                folder.count(),
                count + usize::from(done),
                "{files} files, {args:?}: {err}"
            );
            if done {
                let _ = fs::remove_file(&to);
                let _ = fs::remove_dir_all(&to);
            }
            failed += usize::from(!done);
        }
        assert!(0 < failed && failed < 21, "{args:?}: {failed}");
        // Blocks of 512 bytes: less than any of the commands writes.
        fs::write(&to, b"kept").expect("written");
        let run = limited("ulimit -f 8", &["-f"]);
        let err = String::from_utf8_lossy(&run.stderr).into_owned();
        assert_eq!(run.status.code(), Some(2), "{args:?}: {err}");
        assert!(err.starts_with(&format!("b2: {to}: ")), "{args:?}: {err}");
        // As the system says it.
        assert!(err.to_lowercase().contains("too large"), "{args:?}: {err}");
        assert_eq!(fs::read(&to).expect("there"), b"kept");
        assert_eq!(folder.count(), count + 1, "{args:?}: {err}");
        fs::remove_file(&to).expect("removed");
    }
}

/// Nothing can be done when a process is killed, so the next one does it.
#[test]
fn what_a_killed_process_left_is_removed_by_the_next() {
    let folder = Folder::new("killed");
    let [endless, to] = ["endless", "to"].map(|name| folder.path(name));
    File::create(&endless)
        .and_then(|file| file.set_len(1 << 40))
        .expect("a sparse file");
    let file = folder.write("data", &series(10_000));
    let unfinished = || -> Vec<std::ffi::OsString> {
        let names = fs::read_dir(folder.path(".")).expect("a folder");
        let names = names.map(|entry| entry.expect("an entry").file_name());
        names
            .filter(|name| name.as_encoded_bytes().starts_with(b".b2-"))
            .collect()
    };
    let start = |more: &[&str]| {
        let args = [
            "compress", &endless, "-o", &to, "--chunks", "1M", "-c", "lz4",
        ];
        let before = unfinished();
        let mut command = Command::new(env!("CARGO_BIN_EXE_b2"));
        let child = command.args(args).args(more).stderr(Stdio::null()).spawn();
        let began = std::time::Instant::now();
        while unfinished().iter().all(|name| before.contains(name)) {
            assert!(began.elapsed() < Duration::from_secs(60), "nothing is made");
            std::thread::sleep(Duration::from_millis(5));
        }
        std::thread::sleep(Duration::from_millis(50));
        child.expect("the tool starts")
    };
    for more in [&[][..], &["--sparse"]] {
        let mut killed = start(more);
        killed.kill().expect("killed");
        killed.wait().expect("it ends");
        assert_eq!(unfinished().len(), 1);
        // That of a process that still runs stays.
        let mut running = start(more);
        b2(&["compress", &file, "-f"]).ended(0);
        assert_eq!(unfinished().len(), 1);
        running.kill().expect("killed");
        running.wait().expect("it ends");
        b2(&["compress", &file, "-f"]).ended(0);
        assert_eq!(unfinished().len(), 0);
    }
}

/// How many bytes a process has read, of all its files.
fn bytes_read(process: u32) -> u64 {
    let io = fs::read_to_string(format!("/proc/{process}/io")).unwrap_or_default();
    let read = io.lines().find_map(|line| line.strip_prefix("rchar: "));
    read.and_then(|read| read.parse().ok()).unwrap_or(0)
}

#[test]
fn a_file_that_becomes_shorter_is_not_taken_for_whole() {
    let folder = Folder::new("shorter");
    let file = folder.path("data");
    let to = folder.path("frame");
    for args in [
        &["--chunks", "1M", "-c", "lz4"][..],
        &["--chunks", "1M", "--sparse"],
    ] {
        let data = File::create(&file).expect("made");
        data.set_len(1 << 40).expect("a sparse file");
        let child = Command::new(env!("CARGO_BIN_EXE_b2"))
            .args(["compress", &file, "-o", &to])
            .args(args)
            .stderr(Stdio::piped())
            .spawn()
            .expect("the tool starts");
        let began = std::time::Instant::now();
        // The tool asks for the length of the file before it reads it. Its output may exist
        // earlier.
        while bytes_read(child.id()) < 8 << 20 {
            assert!(began.elapsed() < Duration::from_secs(60), "nothing is read");
            std::thread::sleep(Duration::from_millis(5));
        }
        data.set_len(1 << 20).expect("shorter");
        let run = child.wait_with_output().expect("it ends");
        let err = String::from_utf8_lossy(&run.stderr).into_owned();
        assert!(
            run.status.code() == Some(2) && err.contains("shorter"),
            "{err}"
        );
        assert_eq!(folder.count(), 1);
    }
}
