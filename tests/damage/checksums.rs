//! Frames with checksums: the reference reads and changes them as if they had none, and whatever
//! byte of one is damaged is found by whoever reads it.
//!
//! `OXIBLOSC_DAMAGE=full` damages larger frames 10,000 times instead of some hundred, and flips
//! every bit of frames of up to 4,000 bytes instead of a sample.

mod backend;
mod changes;
mod damage;
mod interop;
mod places;
mod remembered;
mod ways;

use crate::hostile_frames::seeds;
use blosc2::capi::types::blosc2_schunk;
use oxiblosc_testing::library::own;
use oxiblosc_testing::schunk::SchunkLib;
use oxiblosc_testing::schunk_calls::Schunk;
use std::ffi::c_int;
use std::fs;
use std::path::Path;

fn add_checksums(s: &Schunk) -> c_int {
    let add: unsafe extern "C" fn(*mut blosc2_schunk) -> c_int =
        own("oxiblosc_schunk_add_checksums");
    // SAFETY: a super-chunk of ours.
    unsafe { add(s.raw) }
}

fn has_checksums(s: &Schunk) -> c_int {
    let has: unsafe extern "C" fn(*mut blosc2_schunk) -> c_int =
        own("oxiblosc_schunk_has_checksums");
    // SAFETY: a super-chunk of ours.
    unsafe { has(s.raw) }
}

fn check_chunk(s: &Schunk, nchunk: i64) -> c_int {
    let check: unsafe extern "C" fn(*mut blosc2_schunk, i64) -> c_int =
        own("oxiblosc_schunk_check_chunk");
    // SAFETY: a super-chunk of ours.
    unsafe { check(s.raw, nchunk) }
}

fn check_places(s: &Schunk) -> c_int {
    let check: unsafe extern "C" fn(*mut blosc2_schunk) -> c_int =
        own("oxiblosc_schunk_check_places");
    // SAFETY: a super-chunk of ours.
    unsafe { check(s.raw) }
}

/// The files of a frame: one without a name, or those of a directory.
type Files = Vec<(String, Vec<u8>)>;

fn read_files(path: &Path) -> Files {
    if path.is_file() {
        return vec![(String::new(), fs::read(path).expect("a file"))];
    }
    let entries = path.read_dir().expect("a directory").flatten();
    let file = |entry: fs::DirEntry| {
        let name = entry.file_name().into_string().expect("an ASCII name");
        (name, fs::read(entry.path()).expect("a file"))
    };
    let mut files: Files = entries.map(file).collect();
    files.sort();
    files
}

fn write_files(path: &Path, files: &Files) {
    let _ = fs::remove_file(path);
    let _ = fs::remove_dir_all(path);
    if files[0].0.is_empty() {
        return fs::write(path, &files[0].1).expect("a file");
    }
    fs::create_dir(path).expect("a directory");
    for (name, bytes) in files {
        fs::write(path.join(name), bytes).expect("a file");
    }
}

/// A frame as it was, and with checksums.
struct Frame {
    plain: Files,
    checked: Files,
}

/// Frames of every kind; those with chunks of older versions of the format are left out, since
/// these cannot have checksums.
fn frames(lib: &'static SchunkLib, folder: &Path) -> Vec<Frame> {
    let path = folder.join("frame");
    let all = seeds::all(lib, folder, false)
        .into_iter()
        .map(|seed| match seed {
            seeds::Seed::Contiguous(bytes) => vec![(String::new(), bytes)],
            seeds::Seed::Directory(files) => files,
        });
    let frame = |plain: Files| {
        write_files(&path, &plain);
        let s = lib.open_path(&path)?;
        assert_eq!((add_checksums(&s), has_checksums(&s)), (0, 1));
        let all = (0..s.get().nchunks).all(|nchunk| check_chunk(&s, nchunk) == 1);
        drop(s);
        let checked = read_files(&path);
        all.then_some(Frame { plain, checked })
    };
    all.filter_map(frame).collect()
}
