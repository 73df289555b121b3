//! A directory in which something else lies where a file of the frame is looked for: a pipe, a
//! link, a device, a folder. Nothing waits for what does not come, and nothing outside the
//! directory is made or changed.

use blosc2::capi::types::blosc2_cparams;
use oxiblosc_testing::folder::Folder;
use oxiblosc_testing::isolated::isolated;
use oxiblosc_testing::schunk::our_schunks;
use oxiblosc_testing::schunk_calls::{Schunk, c_path};
use oxiblosc_testing::schunk_state::read;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

const CHUNK: usize = 800;
const STRANGER: &[u8] = b"a stranger's file";
/// The frame's file, those of chunks, and those that the next chunks will have.
const NAMES: [&str; 6] = [
    "chunks.b2frame",
    "00000000.chunk",
    "00000002.chunk",
    "00000003.chunk",
    "00000004.chunk",
    "00000005.chunk",
];

/// What lies there; the paths are its own and those of a file outside that is there, and of one
/// that is not.
type Plant = (&'static str, fn(&Path, &Path, &Path));

const PLANTS: [Plant; 7] = [
    ("a pipe", |at, _, _| {
        // SAFETY: a C string.
        let rc = unsafe { libc::mkfifo(c_path(at).as_ptr(), 0o600) };
        assert_eq!(rc, 0, "a pipe");
    }),
    ("a link", |at, there, _| {
        symlink(there, at).expect("a link");
    }),
    ("a link to nothing", |at, _, nothing| {
        symlink(nothing, at).expect("a link");
    }),
    ("a second name", |at, there, _| {
        fs::hard_link(there, at).expect("a link");
    }),
    ("a device", |at, _, _| {
        symlink("/dev/zero", at).expect("a link");
    }),
    ("a folder", |at, _, _| fs::create_dir(at).expect("a folder")),
    ("a file that was left", |at, _, _| {
        fs::write(at, [7; 3000]).expect("a file");
    }),
];

fn chunk(seed: u8) -> [u8; CHUNK] {
    std::array::from_fn(|i| (i as u8).wrapping_mul(seed) ^ seed)
}

/// Everything that reads or changes the frame; errors are right where something is missing.
fn use_all(s: &Schunk) {
    let _ = read(s);
    let _ = s.get_slice(0, 3 * CHUNK as i64, &mut [0; 3 * CHUNK]);
    let _ = s.to_buffer();
    let _ = s.append_buffer(&chunk(9), CHUNK as i32);
    let _ = s.set_slice(0, 10, &[1; 10]);
    let _ = s.vlmeta_add(c"name", b"content");
    let _ = s.delete_chunk(0);
    let _ = read(s);
}

#[test]
fn what_lies_in_a_directory_leads_nowhere_else() {
    oxiblosc_testing::own_process!();
    let folder = Folder::new("planted");
    let [frame, there, nothing] = ["frame", "there", "nothing"].map(|name| folder.join(name));
    let lib = our_schunks();
    let mut wrong = Vec::new();
    for name in NAMES {
        for (what, plant) in PLANTS {
            let _ = fs::remove_dir_all(&frame);
            let s = lib.create(false, Some(&frame), &blosc2_cparams::defaults(), 1, None);
            let s = s.expect("a new frame");
            for seed in 1..4 {
                assert_eq!(s.append_buffer(&chunk(seed), CHUNK as i32), i64::from(seed));
            }
            drop(s);
            fs::write(&there, STRANGER).expect("a file");
            let _ = fs::remove_file(&nothing);
            let at = frame.join(name);
            let _ = fs::remove_file(&at);
            plant(&at, &there, &nothing);
            let done = isolated(20, || {
                // A frame whose file is something else does not open.
                if let Some(s) = lib.open_path(&frame) {
                    use_all(&s);
                }
                Ok(())
            });
            let is_kept = fs::read(&there).is_ok_and(|bytes| bytes == STRANGER);
            if done.is_err() || !is_kept || nothing.exists() {
                wrong.push(format!("{what} at {name}: {done:?}, kept {is_kept}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn what_a_killed_process_left_is_replaced() {
    oxiblosc_testing::own_process!();
    let folder = Folder::new("left");
    let [frame, there, nothing] = ["frame", "there", "nothing"].map(|name| folder.join(name));
    let lib = our_schunks();
    for (what, plant) in PLANTS.iter().filter(|(what, _)| *what != "a folder") {
        let _ = fs::remove_dir_all(&frame);
        fs::write(&there, STRANGER).expect("a file");
        let s = lib.create(false, Some(&frame), &blosc2_cparams::defaults(), 1, None);
        let s = s.expect("a new frame");
        plant(&frame.join("00000000.chunk"), &there, &nothing);
        assert_eq!(s.append_buffer(&chunk(5), CHUNK as i32), 1, "{what}");
        let mut back = [0; CHUNK];
        assert_eq!(s.decompress_chunk(0, &mut back), CHUNK as i64, "{what}");
        assert_eq!(back, chunk(5), "{what}");
    }
}
