//! Commands that would overwrite or lose data are refused.

use crate::support::{Folder, b2, npy, piped, read, series, symlink};
use std::fs;
use std::path::Path;

#[test]
fn what_is_read_is_not_overwritten() {
    let folder = Folder::new("same");
    let file = folder.write("data", &series(10_000));
    let [frame, link, sparse, hard] =
        ["frame", "link", "sparse", "hard"].map(|name| folder.path(name));
    b2(&["compress", &file, "-o", &frame]).ended(0);
    b2(&["compress", &file, "-o", &sparse, "--sparse"]).ended(0);
    let links = symlink(&frame, &link).then_some(&link);
    fs::hard_link(&frame, &hard).expect("linked");
    let before = read(&frame);
    for to in [&frame, &hard].into_iter().chain(links) {
        b2(&["repair", &frame, to, "-f"]).failed();
        b2(&["convert", &frame, to, "-f"]).failed();
        b2(&["decompress", &frame, "-o", to, "-f"]).failed();
        b2(&["compress", &frame, "-o", to, "-f"]).failed();
    }
    b2(&["repair", &sparse, &sparse, "-f"]).failed();
    b2(&[
        "convert",
        &sparse,
        &format!("{sparse}/chunks.b2frame"),
        "-f",
    ])
    .failed();
    // Nor is anything created in the directory that is read.
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
    if symlink(format!("{sparse}/new"), &into) {
        b2(&["convert", &sparse, &into]).failed();
    }
    // A directory with other files is not replaced.
    let other = folder.path("other");
    fs::create_dir(&other).expect("made");
    let letter = folder.write("other/letter", b"kept");
    b2(&["convert", &frame, &other, "-f"]).failed();
    assert_eq!(read(&letter), b"kept");
    assert!(read(&frame) == before);
    b2(&["verify", &frame, &sparse]).ended(0);
    // A frame is replaced: by a file, and by a directory.
    b2(&["convert", &frame, &sparse, "-f"]).ended(0);
    assert!(Path::new(&sparse).is_file());
    b2(&["convert", &frame, &sparse, "-f", "--sparse"]).ended(0);
    b2(&["convert", &frame, &sparse, "-f", "--sparse"]).ended(0);
    b2(&["verify", &sparse]).ended(0);
}

#[test]
fn what_lies_beside_the_files_of_a_frame_is_kept() {
    let folder = Folder::new("beside");
    let file = folder.write("data", &series(10_000));
    let [frame, sparse] = ["frame", "sparse"].map(|name| folder.path(name));
    b2(&["compress", &file, "-o", &frame]).ended(0);
    b2(&["compress", &file, "-o", &sparse, "--sparse"]).ended(0);
    let notes = folder.write("sparse/notes.txt", b"kept");
    let created = [
        b2(&["convert", &frame, &sparse, "-f"]),
        b2(&["convert", &frame, &sparse, "-f", "--sparse"]),
        b2(&["repair", &frame, &sparse, "-f"]),
        b2(&["compress", &file, "-o", &sparse, "-f"]),
        b2(&["decompress", &frame, "-o", &sparse, "-f"]),
    ];
    for run in created {
        let run = run.failed();
        assert!(run.err.contains("other things"), "{}", run.err);
    }
    assert_eq!(read(&notes), b"kept");
    fs::remove_file(&notes).expect("removed");
    b2(&["convert", &frame, &sparse, "-f", "--sparse"]).ended(0);
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
fn arrays_that_would_lose_something_are_refused() {
    let folder = Folder::new("refused");
    let one = npy("<i4", false, "(5,)", &series(5));
    let two = folder.write("two.npy", &[&one[..], &one].concat());
    let run = b2(&["compress", &two]).failed();
    assert!(run.err.contains("--raw"), "{}", run.err);
    let run = piped(&["compress", "-", "-o", "-"], Some(&read(&two))).failed();
    assert!(run.err.contains("--raw"), "{}", run.err);
    b2(&["compress", &two, "--raw"]).ended(0);
    let back = b2(&["decompress", &folder.path("two.npy.b2frame"), "-o", "-"]);
    assert!(back.ended(0).out == read(&two));
    let objects = folder.write("objects.npy", &npy("|O", false, "(2,)", &[0; 40]));
    let run = b2(&["compress", &objects]).failed();
    assert!(run.err.contains("--raw"), "{}", run.err);
    // The size of a record follows from its fields, and a file of another length is refused.
    let record = "[('a', '<i4'), ('b', '<f8', (2,))]";
    let records = folder.write("records.npy", &npy(record, false, "(3,)", &series(15)));
    b2(&["compress", &records]).ended(0);
    let back = b2(&["decompress", &folder.path("records.b2nd"), "-o", "-"]).ended(0);
    assert!(back.out.ends_with(&series(15)));
    // A letter in the name of a field is not taken for its type.
    let named = "[('Offset', '<i4'), ('O', '<f8', (2,))]";
    let named = folder.write("named.npy", &npy(named, false, "(3,)", &series(15)));
    b2(&["compress", &named]).ended(0);
    let longer = folder.write("longer.npy", &npy(record, false, "(3,)", &series(18)));
    b2(&["compress", &longer]).failed();

    // Codecs for arrays of numbers say why they refuse data.
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
    for (filter, reason) in [
        ("truncprec", "parameter"),
        ("shuffle,inttrunc", "parameter"),
        ("ndmean:0", "parameter"),
        ("ndcell:4", "arrays"),
    ] {
        let run = b2(&["compress", &plain, "-o", &to, "--filters", filter]).failed();
        assert!(run.err.contains(reason), "{filter}: {}", run.err);
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
    use oxiblosc::{Array, CParams, Layout, Place, StorageParams};
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
        let storage = StorageParams {
            place: Place::File(Path::new(&path)),
            cparams,
            ..StorageParams::default()
        };
        drop(Array::zeros(&layout, storage).expect("made"));
        let run = b2(&["decompress", &path, "-o", "-"]).failed();
        assert!(run.err.contains("python-blosc2"), "{}", run.err);
        let run = b2(&["bench", &path, "--seconds", "0"]).failed();
        assert!(run.err.contains("python-blosc2"), "{}", run.err);
        let raw = b2(&["decompress", &path, "-o", "-", "--raw"]).ended(0);
        assert_eq!(raw.out.len(), 800);
    }
}
