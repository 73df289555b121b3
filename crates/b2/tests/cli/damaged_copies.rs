//! `b2 convert` and `b2 decompress` on damaged frames with checksums return the original data or an
//! error.
//!
//! `OXIBLOSC_DAMAGE=full` flips 100 bits of each frame, instead of some.

use crate::damage_files::{Files, KINDS, Original, content, write_files};
use crate::support::{Folder, b2, is_full};
use oxiblosc_testing::random::Rng;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Ways to convert a frame.
const WAYS: [&[&str]; 3] = [&["--contiguous"], &["--sparse"], &["--level", "1"]];

/// Data and metalayers.
#[derive(PartialEq)]
struct Seen {
    data: Vec<u8>,
    layers: [Vec<(Vec<u8>, Vec<u8>)>; 2],
}

/// What a frame contains after each way to copy it; none if the tool fails.
fn seen(folder: &Folder, name: &str, files: &Files) -> Vec<Option<Seen>> {
    let (path, new) = (folder.path(name), folder.path(&format!("{name}-new")));
    let (path_at, new_at) = (Path::new(&path), Path::new(&new));
    write_files(path_at, files);
    let ran = |args: &[&str]| {
        let run = b2(args);
        assert!(matches!(run.code, Some(0..=2)), "{args:?}: {run:?}");
        (run.code == Some(0)).then_some(run.out)
    };
    let data = |path: &str| ran(&["decompress", path, "-o", "-", "-t", "1"]);
    let converted = |way: &&[&str]| {
        write_files(new_at, &Vec::new());
        ran(&[&["convert", &path, &new, "-t", "1"], *way].concat())?;
        let (data, content) = (data(&new)?, content(new_at)?);
        let layers = [content.metalayers, content.vlmetalayers];
        Some(Seen { data, layers })
    };
    let alone = data(&path).map(|data| Seen {
        data,
        layers: Default::default(),
    });
    let all = WAYS.iter().map(converted).chain([alone]).collect();
    write_files(new_at, &Vec::new());
    write_files(path_at, &Vec::new());
    all
}

#[test]
fn copies_of_damaged_frames_are_right_or_errors() {
    let full = is_full("OXIBLOSC_DAMAGE");
    let flips = if full { 100 } else { 3 };
    let folder = Folder::new("damaged-copies");
    let frames: Vec<Original> = (0..2 * KINDS)
        .map(|n| Original::new(&folder, n / 2, n % 2 == 1, true))
        .collect();
    let next = AtomicUsize::new(0);
    let failures = Mutex::new(Vec::new());
    let try_frame = |which: usize, frame: &Original| {
        let whole = seen(&folder, &format!("{which}"), &frame.files);
        let failing: Vec<usize> = (0..whole.len()).filter(|n| whole[*n].is_none()).collect();
        // Blocks of different sizes cannot be compressed again.
        let expected: &[usize] = if frame.name.starts_with('9') {
            &[2]
        } else {
            &[]
        };
        assert_eq!(failing, expected, "{}", frame.name);
        let mut rng = Rng(which as u64 + 1);
        for _ in 0..flips {
            let mut files = frame.files.clone();
            let file = rng.below(files.len());
            let bytes = &mut files[file].1;
            let (at, bit) = (rng.below(bytes.len()), rng.below(8));
            bytes[at] ^= 1 << bit;
            let now = seen(&folder, &format!("{which}"), &files);
            let wrong = now.iter().zip(&whole).position(|pair| match pair {
                (Some(now), whole) => whole.as_ref() != Some(now),
                _ => false,
            });
            let place = format!("{}, file {file}, byte {at}, bit {bit}", frame.name);
            let mut failures = failures.lock().expect("no panic");
            failures.extend(wrong.map(|way| format!("{place}: way {way}")));
            // Each way reads all chunks, so each must find the damage.
            let met = now.iter().all(Option::is_none);
            failures.extend((!met).then(|| format!("{place}: not met")));
        }
    };
    // More threads than processors: most of the time is spent waiting, since a frame that does not
    // open might be under change.
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                while let which = next.fetch_add(1, Ordering::Relaxed)
                    && let Some(frame) = frames.get(which)
                {
                    try_frame(which, frame);
                }
            });
        }
    });
    let failures = failures.into_inner().expect("no panic");
    assert!(failures.is_empty(), "{failures:#?}");
}
