//! Stores of python-blosc2: those in `tests/fixtures/stores`, which were made by 4.14.1 and the
//! script beside them, intact and damaged.

use crate::support::{Folder, b2, is_full, npy, piped, read, symlink};
use oxiblosc_base::system::files::write_all_at;
use rawzip::{RECOMMENDED_BUFFER_SIZE, ZipArchive};
use std::fs::{self, File};
use std::ops::Range;
use std::path::Path;

const STORES: [&str; 4] = ["tree.b2z", "dict.b2z", "table.b2z", "embed.b2e"];

fn fixture(name: &str) -> String {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/stores/");
    format!("{folder}{name}")
}

/// The files in an archive: their names, and the ranges of their contents.
fn members(path: &str) -> Vec<(String, Range<usize>)> {
    let mut buffer = vec![0; RECOMMENDED_BUFFER_SIZE];
    let file = File::open(path).expect("opens");
    let archive = ZipArchive::from_file(file, &mut buffer).expect("an archive");
    let mut entries = archive.entries(&mut buffer);
    let mut members = Vec::new();
    while let Some(entry) = entries.next_entry().expect("an entry") {
        let name = String::from_utf8(entry.file_path().as_bytes().to_vec());
        let place = archive.get_entry(entry.wayfinder()).expect("a member");
        let (start, end) = place.compressed_data_range();
        members.push((name.expect("text"), start as usize..end as usize));
    }
    members
}

/// Unpacks an archive into a folder, as `DictStore.to_b2d` does. Returns the path of the new store.
fn unpacked(folder: &Folder, name: &str) -> String {
    let (archive, to) = (fixture(name), folder.path(&name.replace("b2z", "b2d")));
    let bytes = read(&archive);
    for (name, range) in members(&archive) {
        let path = Path::new(&to).join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        fs::write(path, &bytes[range]).expect("written");
    }
    to
}

fn matrix() -> Vec<u8> {
    let items: Vec<u8> = (0..600).flat_map(|n| f64::from(n).to_le_bytes()).collect();
    npy("<f8", false, "(20, 30)", &items)
}

fn small() -> Vec<u8> {
    let items: Vec<u8> = (0..5i32).flat_map(i32::to_le_bytes).collect();
    npy("<i4", false, "(5,)", &items)
}

/// Stores in each of the forms.
fn stores(folder: &Folder) -> Vec<String> {
    let mut stores: Vec<String> = STORES.iter().map(|name| fixture(name)).collect();
    stores.extend(["tree.b2z", "dict.b2z", "table.b2z"].map(|name| unpacked(folder, name)));
    stores
}

#[test]
fn what_is_inside_is_listed_and_verified() {
    let folder = Folder::new("stores");
    for store in stores(&folder) {
        let text = b2(&["info", &store]).ended(0).text();
        let json = b2(&["info", "--json", &store]).ended(0).text();
        let keys: &[&str] = match store.contains("table.") {
            true => &["/_cols/x", "/_cols/name", "/_indexes/id/summary.block"],
            false => &["/small", "/group/matrix", "/group/series"],
        };
        for key in keys {
            assert!(text.contains(key), "{store}: {text}");
            assert!(json.contains(&format!("\"key\": \"{key}\"")), "{json}");
        }
        if !store.contains("table.") {
            assert!(text.contains("(20, 30) <f8"), "{text}");
            assert!(json.contains("\"shape\": [20, 30]"), "{json}");
        }
        let kind = match &store {
            store if store.contains("tree.") => "TreeStore",
            store if store.contains("dict.") => "DictStore",
            store if store.contains("table.") => "CTable",
            _ => "EmbedStore",
        };
        assert!(text.contains(kind), "{text}");
        let fine = b2(&["verify", &store]).ended(0).text();
        assert!(fine.contains("fine") && fine.contains("frames"), "{fine}");
    }
    let text = b2(&["info", &fixture("tree.b2z")]).ended(0).text();
    assert!(text.contains("/table: id, name, x"), "{text}");
    let text = b2(&["info", &fixture("table.b2z")]).ended(0).text();
    assert!(text.contains("/: id, name, x"), "{text}");
    let bytes = read(&fixture("dict.b2z"));
    piped(&["verify", "-"], Some(&bytes)).ended(0);
}

#[test]
fn a_frame_is_taken_out_by_its_key() {
    let folder = Folder::new("keys");
    for store in stores(&folder) {
        if store.contains("table.") {
            continue;
        }
        for (key, expected) in [("/group/matrix", matrix()), ("/small", small())] {
            let taken = b2(&["decompress", &store, "--key", key, "-o", "-"]).ended(0);
            assert!(taken.out == expected, "{store}: {key}");
        }
        let new = folder.path("new.b2nd");
        let convert = ["convert", &store, &new, "--key", "/group/matrix", "-f"];
        b2(&[&convert[..], &["-c", "lz4", "--chunks", "7,8"]].concat()).ended(0);
        let back = b2(&["decompress", &new, "-o", "-"]).ended(0).out;
        assert!(back == matrix());
        let repair = ["repair", &store, &new, "--key", "/group/series", "-f"];
        b2(&repair).ended(0);
        let info = b2(&["info", &store, "--key", "/group/series"]).ended(0);
        assert!(info.text().contains("3 chunks"));
        // A key must be given, it must exist, and the output must have a name.
        b2(&["decompress", &store, "-o", "-"]).failed();
        b2(&["decompress", &store, "--key", "/group/matrix"]).failed();
        let none = b2(&["decompress", &store, "--key", "/none", "-o", "-"]).failed();
        assert!(none.err.contains("no such key"), "{}", none.err);
        if !store.ends_with("b2e") {
            b2(&["repair", &store, &folder.path("whole")]).failed();
            b2(&["convert", &store, &folder.path("whole")]).failed();
        }
    }
    // An EmbedStore is a frame, and a copy of it is an EmbedStore, too.
    let copy = folder.path("copy.b2e");
    b2(&["convert", &fixture("embed.b2e"), &copy, "-c", "lz4"]).ended(0);
    let taken = b2(&["decompress", &copy, "--key", "/small", "-o", "-"]).ended(0);
    assert!(taken.out == small());
}

/// Checks that commands end with an exit code on a damaged store. `expected` are those that
/// `verify` may have.
fn survives(folder: &Folder, store: &str, expected: &[i32], what: &str) {
    let run = b2(&["verify", store]);
    let code = run.code.unwrap_or(-1);
    assert!(
        expected.contains(&code),
        "{what}: {code} {}{}",
        run.text(),
        run.err
    );
    let info = b2(&["info", store]);
    assert!(matches!(info.code, Some(0..=2)), "{what}: {}", info.err);
    let to = folder.path("taken");
    let taken = b2(&["decompress", store, "--key", "/small", "-o", &to, "-f"]);
    assert!(matches!(taken.code, Some(0..=2)), "{what}: {}", taken.err);
}

/// Flips single bits: a sample of them, or with `OXIBLOSC_DAMAGE=full` all.
#[test]
fn damage_is_an_error_and_nothing_worse() {
    let full = is_full("OXIBLOSC_DAMAGE");
    let folder = Folder::new("store-flips");
    for name in ["dict.b2z", "tree.b2z", "embed.b2e"] {
        let bytes = read(&fixture(name));
        let members = match name.ends_with("z") {
            true => members(&fixture(name)),
            false => Vec::new(),
        };
        let store = folder.write(name, &bytes);
        let file = File::options().write(true).open(&store).expect("opens");
        // An odd step, so that the sample contains each bit of a byte.
        let step = if full { 1 } else { 633 };
        for position in (0..bytes.len() * 8).step_by(step) {
            let (at, bit) = (position / 8, position % 8);
            write_all_at(&file, &[bytes[at] ^ 1 << bit], at as u64).expect("written");
            let in_member = members.iter().any(|(_, range)| range.contains(&at));
            let expected: &[i32] = if in_member { &[1] } else { &[0, 1, 2] };
            survives(
                &folder,
                &store,
                expected,
                &format!("{name}: bit {position}"),
            );
            write_all_at(&file, &bytes[at..=at], at as u64).expect("written");
        }
        for len in (0..bytes.len()).step_by(if full { 1 } else { 447 }) {
            let short = folder.write(name, &bytes[..len]);
            survives(&folder, &short, &[1, 2], &format!("{name}: {len} bytes"));
        }
    }
}

#[test]
fn names_and_links_that_lead_elsewhere_do_no_harm() {
    let folder = Folder::new("elsewhere");
    let bytes = read(&fixture("tree.b2z"));
    let replaced = |from: &[u8], to: &[u8]| {
        assert_eq!(from.len(), to.len());
        let mut bytes = bytes.clone();
        let at: Vec<usize> = (0..bytes.len() - from.len())
            .filter(|at| bytes[*at..].starts_with(from))
            .collect();
        assert!(at.len() >= 2, "in the archive's list, too");
        at.iter()
            .for_each(|at| bytes[*at..*at + to.len()].copy_from_slice(to));
        bytes
    };
    let before = folder.count();
    for name in [
        &b"../../matrix.b2nd"[..],
        b"/etc/matrix1.b2nd",
        b"\x1b[2J\0/matrix1.b2\xff",
    ] {
        let store = folder.write("tree.b2z", &replaced(b"group/matrix.b2nd", name));
        b2(&["verify", &store]).ended(0);
        let text = b2(&["info", &store]).ended(0).text();
        assert!(!text.contains('\x1b') && !text.contains('\0'));
    }
    let store = folder.write(
        "tree.b2z",
        &replaced(b"group/matrix.b2nd", b"../../matrix.b2nd"),
    );
    let taken = b2(&["decompress", &store, "--key", "/../../matrix", "-o", "-"]).ended(0);
    assert!(taken.out == matrix());
    assert_eq!(folder.count(), before + 1);

    // A directory that contains a link to itself, a pipe without a writer, and files that are no
    // frames.
    let store = unpacked(&folder, "tree.b2z");
    if symlink(&store, Path::new(&store).join("loop")) {
        symlink("/dev/zero", Path::new(&store).join("zeros.b2nd"));
        let pipe = Path::new(&store).join("pipe.b2nd");
        let created = std::process::Command::new("mkfifo").arg(pipe).status();
        assert!(created.expect("mkfifo").success());
    }
    fs::write(Path::new(&store).join("letter"), b"no frame").expect("written");
    let fine = b2(&["verify", &store]).ended(0).text();
    assert!(fine.contains("10 frames"), "{fine}");
    fs::write(Path::new(&store).join("letter.b2nd"), b"no frame").expect("written");
    let run = b2(&["verify", &store]).ended(1).text();
    assert!(run.contains("/letter: "), "{run}");
    fs::remove_file(Path::new(&store).join("embed.b2e")).expect("removed");
    let run = b2(&["verify", &store]).ended(1).text();
    assert!(run.contains("embed.b2e is missing"), "{run}");
}
