//! Archives of python-blosc2: their checksums of single frames, and files in them that are no
//! frames.

use crate::support::{Folder, b2, read};
use rawzip::crc32;
use std::fs;
use std::path::Path;

fn fixture(name: &str) -> Vec<u8> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/stores/");
    read(&format!("{folder}{name}"))
}

/// The part of a zip archive's records about a file that local header and central directory share.
fn record(name: &str, bytes: &[u8]) -> Vec<u8> {
    let len = (bytes.len() as u32).to_le_bytes();
    let mut record = vec![20, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    record.extend(crc32(bytes).to_le_bytes());
    record.extend([len, len].concat());
    record.extend((name.len() as u16).to_le_bytes());
    record.extend([0, 0]);
    record
}

/// A zip archive of stored files, one behind the other.
pub fn archive(files: &[(&str, &[u8])]) -> Vec<u8> {
    let (mut zip, mut list) = (Vec::new(), Vec::new());
    for (name, bytes) in files {
        let (start, record) = ((zip.len() as u32).to_le_bytes(), record(name, bytes));
        zip.extend([b"PK\x03\x04", &record[..], name.as_bytes(), bytes].concat());
        list.extend(
            [
                b"PK\x01\x02\x14\0",
                &record[..],
                &[0; 10],
                &start,
                name.as_bytes(),
            ]
            .concat(),
        );
    }
    let (count, start) = (files.len() as u16, zip.len() as u32);
    let len = list.len() as u32;
    zip.extend(list);
    zip.extend([b"PK\x05\x06", &[0; 4][..]].concat());
    zip.extend([count.to_le_bytes(), count.to_le_bytes()].concat());
    zip.extend([len.to_le_bytes(), start.to_le_bytes()].concat());
    zip.extend([0, 0]);
    zip
}

/// The frame of an array of five numbers, from `first` on.
fn array(folder: &Folder, first: i32) -> Vec<u8> {
    let items: Vec<u8> = (first..first + 5).flat_map(i32::to_le_bytes).collect();
    let file = folder.write(
        "made.npy",
        &crate::support::npy("<i4", false, "(5,)", &items),
    );
    let to = folder.path("made.b2nd");
    b2(&["compress", &file, "-o", &to, "-f"]).ended(0);
    read(&to)
}

/// Whichever byte of a frame is changed, it is not taken out as if it were intact.
#[test]
fn a_frame_is_not_taken_out_against_the_checksum_of_the_archive() {
    let folder = Folder::new("altered");
    let (own, embedded) = (array(&folder, 1), fixture("embed.b2e"));
    let files = [("own.b2nd", &own[..]), ("embed.b2e", &embedded)];
    let zip = archive(&files);
    let [to, new] = ["to", "new"].map(|name| folder.path(name));
    let whole = folder.write("whole.b2z", &zip);
    let flips = [("/own", &own), ("/small", &embedded)];
    for (key, bytes) in flips {
        b2(&["decompress", &whole, "--key", key, "-o", &to, "-f"]).ended(0);
        let start = zip
            .windows(bytes.len())
            .position(|found| found == *bytes)
            .expect("there");
        for at in (0..bytes.len()).step_by(bytes.len() / 40) {
            let mut zip = zip.clone();
            zip[start + at] ^= 4;
            let store = folder.write("altered.b2z", &zip);
            b2(&["verify", "-q", &store]).ended(1);
            // In an embedded frame, the list of keys may be what is gone.
            b2(&["decompress", &store, "--key", key, "-o", &to, "-f"]).reported();
            b2(&["convert", &store, "--key", key, &to, "-f"]).reported();
        }
        // The same for its last byte.
        let mut zip = zip.clone();
        zip[start + bytes.len() - 1] ^= 4;
        let store = folder.write("altered.b2z", &zip);
        let run = b2(&["info", &store, "--key", key]).ended(0);
        assert!(run.err.contains("checksum"), "{}", run.err);
        let run = b2(&["decompress", &store, "--key", key, "-o", &to, "-f"]).damaged();
        assert!(
            run.err.contains("checksum") && run.err.contains("repair"),
            "{}",
            run.err
        );
        let run = b2(&["repair", &store, "--key", key, &new, "-f"]).ended(1);
        assert!(run.text().contains("checksum"), "{}", run.text());
        let json = b2(&["repair", &store, "--key", key, &new, "-f", "--json"]).ended(1);
        assert!(json.text().contains("\"complete\": false"));
    }
}

/// A small archive could have any number of files that each are all of it.
#[test]
fn files_that_share_their_bytes_are_refused() {
    let folder = Folder::new("shared");
    let (own, embedded) = (array(&folder, 1), fixture("embed.b2e"));
    let files = [
        ("a.b2nd", &own[..]),
        ("b.b2nd", &own),
        ("embed.b2e", &embedded),
    ];
    let mut zip = archive(&files);
    let whole = folder.write("whole.b2z", &zip);
    b2(&["verify", &whole]).ended(0);
    // The position of the second file, before its name in the central directory, becomes that of
    // the first.
    let mut names = zip
        .windows(6)
        .enumerate()
        .filter(|(_, name)| *name == b"b.b2nd");
    let (name, _) = names.next_back().expect("in the directory");
    zip[name - 4..name].fill(0);
    let store = folder.write("shared.b2z", &zip);
    let run = b2(&["verify", &store]).ended(1).text();
    assert!(run.contains("/b: overlaps"), "{run}");
    b2(&["info", &store]).ended(0);
    b2(&["decompress", &store, "--key", "/a", "-o", "-"]).ended(0);
    b2(&["decompress", &store, "--key", "/b", "-o", "-"]).failed();
}

/// As in python-blosc2, which reads the last of several files with the same name, and ignores files
/// that are no frames.
#[test]
fn older_files_and_other_files_are_left_out() {
    let folder = Folder::new("others");
    let (old, new, embedded) = (array(&folder, 1), array(&folder, 100), fixture("embed.b2e"));
    let files = [
        ("a.b2nd", &old[..]),
        ("embed.b2e", &embedded),
        ("README.md", b"a letter"),
        ("b", &old),
        ("a.b2nd", &new),
    ];
    let zip = archive(&files);
    let store = folder.write("store.b2z", &zip);
    let taken = b2(&["decompress", &store, "--key", "/a", "-o", "-"])
        .ended(0)
        .out;
    assert!(taken.ends_with(&104i32.to_le_bytes()));
    let note = "a.b2nd: is in the archive 2 times, of which the last counts";
    let run = b2(&["verify", &store]).ended(0).text();
    assert!(run.contains(note) && run.contains("fine"), "{run}");
    assert!(b2(&["verify", "-q", &store]).ended(0).out.is_empty());
    let info = b2(&["info", &store]).ended(0).text();
    assert!(info.contains(note) && !info.contains("README"), "{info}");
    assert_eq!(
        info.lines().filter(|line| line.starts_with("/a ")).count(),
        1
    );
    let json = b2(&["info", "--json", &store]).ended(0).text();
    assert!(
        json.contains(note) && json.contains("\"key\": \"/b\""),
        "{json}"
    );
    b2(&["decompress", &store, "--key", "README.md", "-o", "-"]).failed();
    // The archive has checksums of the other files, too.
    let mut altered = zip.clone();
    let at = altered
        .windows(8)
        .position(|bytes| bytes == b"a letter")
        .expect("there");
    altered[at] ^= 4;
    let altered = folder.write("altered.b2z", &altered);
    let run = b2(&["verify", &altered]).ended(1).text();
    assert!(
        run.contains("README.md: is not what the archive's checksum says"),
        "{run}"
    );
    // Other files in a directory are ignored.
    let unpacked = folder.path("store.b2d");
    fs::create_dir(&unpacked).expect("made");
    fs::write(Path::new(&unpacked).join("embed.b2e"), &embedded).expect("written");
    fs::write(Path::new(&unpacked).join("README.md"), b"a letter").expect("written");
    b2(&["verify", &unpacked]).ended(0);
}
