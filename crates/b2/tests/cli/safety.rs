//! Nothing that is there already is lost, and nothing half done is left.

use crate::support::{Folder, b2, npy, read, series};
use std::fs::{self, File, FileTimes, Permissions};
use std::io::Read;
use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};
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
    for made in [&frame, &back, &copy, &repaired] {
        assert_eq!(mode(made), 0o600, "{made}");
    }
    assert_eq!(mode(&sparse), 0o700);
    for made in fs::read_dir(&sparse).expect("a directory") {
        let made = made.expect("an entry").path();
        assert_eq!(mode(made.to_str().expect("plain")), 0o600);
    }
    for made in [&frame, &back] {
        let modified = fs::metadata(made).expect("there").modified();
        assert_eq!(modified.expect("known"), then, "{made}");
    }
}

#[test]
fn links_are_followed_and_devices_written_to() {
    let folder = Folder::new("links");
    let data = series(10_000);
    let file = folder.write("data", &data);
    let target = folder.write("target", b"old");
    let [link, dangling, chain] = ["link", "dangling", "chain"].map(|name| folder.path(name));
    symlink("target", &link).expect("linked");
    symlink("later", &dangling).expect("linked");
    symlink("chain", &chain).expect("linked");
    b2(&["compress", &file, "-o", &link]).failed();
    b2(&["compress", &file, "-o", &link, "-f"]).ended(0);
    b2(&["compress", &file, "-o", &dangling]).ended(0);
    b2(&["compress", &file, "-o", &chain]).failed();
    for (link, target) in [(&link, &target), (&dangling, &folder.path("later"))] {
        assert!(Path::new(link).is_symlink());
        b2(&["verify", target]).ended(0);
    }
    // Neither is there already, nor is it replaced.
    for force in [&["-f"][..], &[]] {
        let full = b2(&[&["compress", &file, "-o", "/dev/full"], force].concat()).failed();
        assert!(full.err.contains("space"), "{}", full.err);
        b2(&[&["decompress", &target, "-o", "/dev/null"], force].concat()).ended(0);
    }
    let null = fs::metadata("/dev/null").expect("there").file_type();
    assert!(null.is_char_device());
    let pipe = folder.path("pipe");
    let made = Command::new("mkfifo").arg(&pipe).status().expect("mkfifo");
    assert!(made.success());
    let reader = std::thread::spawn({
        let pipe = pipe.clone();
        move || read(&pipe)
    });
    b2(&["decompress", &target, "-o", &pipe, "-f"]).ended(0);
    assert!(reader.join().expect("read") == data);
}

#[test]
fn what_is_read_is_not_overwritten() {
    let folder = Folder::new("same");
    let file = folder.write("data", &series(10_000));
    let [frame, link, sparse, hard] =
        ["frame", "link", "sparse", "hard"].map(|name| folder.path(name));
    b2(&["compress", &file, "-o", &frame]).ended(0);
    b2(&["compress", &file, "-o", &sparse, "--sparse"]).ended(0);
    symlink(&frame, &link).expect("linked");
    fs::hard_link(&frame, &hard).expect("linked");
    let before = read(&frame);
    for to in [&frame, &link, &hard] {
        b2(&["repair", &frame, to, "-f"]).failed();
        b2(&["convert", &frame, to, "-f"]).failed();
        b2(&["decompress", &frame, "-o", to, "-f"]).failed();
        b2(&["compress", &frame, "-o", to, "-f"]).failed();
        b2(&["bench", &frame, "--svg", to, "-f"]).failed();
    }
    b2(&["bench", &file, "--svg", &frame]).failed();
    b2(&["repair", &sparse, &sparse, "-f"]).failed();
    b2(&[
        "convert",
        &sparse,
        &format!("{sparse}/chunks.b2frame"),
        "-f",
    ])
    .failed();
    // Nor does anything come into the directory that is read.
    for inside in ["new", "new/er", "00000000.chunk2"] {
        let to = format!("{sparse}/{inside}");
        let count = fs::read_dir(&sparse).expect("a directory").count();
        b2(&["convert", &sparse, &to]).failed();
        b2(&["convert", &sparse, &to, "--contiguous", "-f"]).failed();
        b2(&["decompress", &sparse, "-o", &to]).failed();
        b2(&["repair", &sparse, &to]).failed();
        let inside = fs::read_dir(&sparse).expect("a directory").count();
        assert_eq!(inside, count, "{to}");
    }
    let into = folder.path("into");
    symlink(format!("{sparse}/new"), &into).expect("linked");
    b2(&["convert", &sparse, &into]).failed();
    // A directory with other things is no frame to be replaced.
    let other = folder.path("other");
    fs::create_dir(&other).expect("made");
    let letter = folder.write("other/letter", b"kept");
    b2(&["convert", &frame, &other, "-f"]).failed();
    assert_eq!(read(&letter), b"kept");
    assert!(read(&frame) == before);
    b2(&["verify", &frame, &sparse]).ended(0);
    // A frame is: by a file, and by a directory.
    b2(&["convert", &frame, &sparse, "-f"]).ended(0);
    assert!(Path::new(&sparse).is_file());
    b2(&["convert", &frame, &sparse, "-f", "--sparse"]).ended(0);
    b2(&["convert", &frame, &sparse, "-f", "--sparse"]).ended(0);
    b2(&["verify", &sparse]).ended(0);
}

#[test]
fn names_may_be_as_long_as_the_system_allows() {
    let folder = Folder::new("long");
    let file = folder.write("data", &series(1_000));
    let frame = folder.path(&"n".repeat(255));
    b2(&["compress", &file, "-o", &frame]).ended(0);
    b2(&["compress", &file, "-o", &frame, "-f", "--sparse"]).ended(0);
    b2(&["verify", &frame]).ended(0);
}

#[test]
fn a_signal_leaves_nothing_behind() {
    let folder = Folder::new("signals");
    let file = folder.path("data");
    // Zeros without end take a while.
    File::create(&file)
        .and_then(|file| file.set_len(1 << 40))
        .expect("a sparse file");
    for (signal, sparse) in [
        ("INT", false),
        ("TERM", false),
        ("HUP", false),
        ("TERM", true),
    ] {
        let to = folder.path("frame");
        let mut args = vec!["compress", &file, "-o", &to, "--chunks", "1M", "-c", "lz4"];
        args.extend(sparse.then_some("--sparse"));
        // A test that runs in the background of a shell ignores some of them, and what it starts would, too.
        let mut child = Command::new("env")
            .args(["--default-signal=INT,TERM,HUP", env!("CARGO_BIN_EXE_b2")])
            .args(&args)
            .stderr(Stdio::null())
            .spawn()
            .expect("the tool starts");
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
        assert_eq!(folder.count(), 1, "SIG{signal}, sparse {sparse}");
    }
    // A program that was started to go on does.
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

#[test]
fn arrays_that_would_lose_something_are_refused() {
    let folder = Folder::new("refused");
    let one = npy("<i4", false, "(5,)", &series(5));
    let two = folder.write("two.npy", &[&one[..], &one].concat());
    let run = b2(&["compress", &two]).failed();
    assert!(run.err.contains("--raw"), "{}", run.err);
    b2(&["compress", &two, "--raw"]).ended(0);
    let back = b2(&["decompress", &folder.path("two.npy.b2frame"), "-o", "-"]);
    assert!(back.ended(0).out == read(&two));
    let objects = folder.write("objects.npy", &npy("|O", false, "(2,)", &[0; 40]));
    let run = b2(&["compress", &objects]).failed();
    assert!(run.err.contains("--raw"), "{}", run.err);
    // Records have a size of their own, which the length of the file does not make up.
    let record = "[('a', '<i4'), ('b', '<f8', (2,))]";
    let records = folder.write("records.npy", &npy(record, false, "(3,)", &series(15)));
    b2(&["compress", &records]).ended(0);
    let back = b2(&["decompress", &folder.path("records.b2nd"), "-o", "-"]).ended(0);
    assert!(back.out.ends_with(&series(15)));
    let longer = folder.write("longer.npy", &npy(record, false, "(3,)", &series(18)));
    b2(&["compress", &longer]).failed();

    // Codecs for numbers say what they take.
    let plain = folder.write("plain", &series(1000));
    let floats = folder.write("floats.npy", &npy("<f4", false, "(20, 30)", &series(600)));
    let to = folder.path("to");
    for (file, codec, reason) in [
        (&plain, "zfp-acc:-3", "arrays"),
        (&plain, "ndlz:4", "arrays"),
        (&floats, "zfp-acc", "parameter"),
        (&floats, "zfp-prec", "parameter"),
        (&floats, "ndlz", "parameter"),
        (&floats, "ndlz:4", "1 byte"),
        (&records, "zfp-rate:50", "4 or 8"),
    ] {
        let run = b2(&["compress", file, "-o", &to, "-c", codec]).failed();
        assert!(run.err.contains(reason), "{codec}: {}", run.err);
    }
    let bytes = folder.write("bytes.npy", &npy("|u1", false, "(60, 40)", &series(600)));
    for (file, codec) in [(&floats, "zfp-prec:30"), (&bytes, "ndlz:8")] {
        b2(&["compress", file, "-o", &to, "-f", "-c", codec]).ended(0);
        b2(&["verify", &to]).ended(0);
    }
}

#[test]
fn verify_takes_several_files() {
    let folder = Folder::new("several");
    let file = folder.write("data", &series(10_000));
    let frame = folder.path("frame");
    b2(&["compress", &file, "-o", &frame, "--checksum"]).ended(0);
    let mut bytes = read(&frame);
    let middle = bytes.len() / 2;
    bytes[middle..middle + 400].fill(0xff);
    let broken = folder.write("broken", &bytes);
    let missing = folder.path("missing");
    let both = b2(&["verify", &broken, &frame]).ended(1).text();
    assert!(
        both.contains("frame: fine") && both.contains("broken: "),
        "{both}"
    );
    let all = b2(&["verify", &missing, &broken, &frame]).ended(2);
    assert!(all.err.contains("missing") && all.text().contains("frame: fine"));
    b2(&["verify"]).ended(2);
}

#[test]
fn what_stands_for_other_data_is_not_taken_for_zeros() {
    use oxiblosc_core::{Array, CParams, DParams, Layout, Place, Protection};
    let folder = Folder::new("lazy");
    // As python-blosc2 writes a lazy expression: an array of nothing, and metalayers.
    for name in [&b"LazyArray"[..], b"b2o", b"proxy-source"] {
        let path = folder.path(std::str::from_utf8(name).expect("plain"));
        let layout = Layout {
            shape: &[100],
            chunks: &[50],
            blocks: &[10],
            dtype: Some(b"<f8"),
            metalayers: &[(name, b"\x01")],
        };
        let cparams = CParams {
            typesize: 8,
            ..CParams::default()
        };
        let place = Place::File(Path::new(&path));
        let (dparams, protection) = (DParams::default(), Protection::default());
        let array = Array::zeros(place, &layout, cparams, dparams, protection).expect("made");
        drop(array);
        let run = b2(&["decompress", &path, "-o", "-"]).failed();
        assert!(run.err.contains("python-blosc2"), "{}", run.err);
        let raw = b2(&["decompress", &path, "-o", "-", "--raw"]).ended(0);
        assert_eq!(raw.out.len(), 800);
    }
}
