//! Damage is found.

use crate::checksums::{Files, check_places, frames, read_files, write_files};
use blosc2::capi::types::blosc2_cparams;
use oxiblosc_chunk::checksum::{CHECKSUMS, MAGIC};
use oxiblosc_chunk::header::EXTENDED_HEADER_LENGTH;
use oxiblosc_testing::data::Rng;
use oxiblosc_testing::folder::Folder;
use oxiblosc_testing::schunk::{SchunkLib, our_schunks};
use oxiblosc_testing::schunk_calls::Schunk;
use oxiblosc_testing::schunk_state::{State, read};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

fn is_full() -> bool {
    std::env::var("OXIBLOSC_DAMAGE").is_ok_and(|value| value == "full")
}

/// What is read of the frame at a path: nothing if it does not open, and errors where damage was
/// met.
fn look(lib: &'static SchunkLib, path: &Path) -> Option<State> {
    lib.open_path(path).map(|s: Schunk| read(&s))
}

fn is_found(state: Option<&State>) -> bool {
    state.is_none_or(|state| {
        state.chunks.iter().any(Result::is_err) || state.vlmeta.iter().any(|(_, l)| l.is_err())
    })
}

/// Whether something that was read is not as it was, and no error.
fn is_wrong(state: Option<&State>, whole: &State) -> bool {
    let Some(state) = state else { return false };
    let differs = |(now, then): (&Result<Vec<u8>, i64>, _)| now.is_ok() && now != then;
    state.chunks.iter().zip(&whole.chunks).any(differs)
        || state.chunks.len() != whole.chunks.len()
        || state.meta != whole.meta
}

/// Flips bits of a frame, one after the other; gives how many, and those that were not found.
fn flip_bits(lib: &'static SchunkLib, path: &Path, files: &Files) -> (u64, Vec<String>) {
    write_files(path, files);
    let whole = look(lib, path).expect("a whole frame");
    assert!(!is_found(Some(&whole)), "{whole:?}");
    let len: usize = files.iter().map(|(_, bytes)| bytes.len()).sum();
    let step = if is_full() {
        1 + len / 4000
    } else {
        1 + len / 60
    };
    let (mut flips, mut missed) = (0, Vec::new());
    for (name, bytes) in files {
        let target = match name.as_str() {
            "" => path.to_path_buf(),
            name => path.join(name),
        };
        for at in (0..bytes.len()).step_by(step) {
            for bit in 0..8 {
                let mut damaged = bytes.clone();
                damaged[at] ^= 1 << bit;
                std::fs::write(&target, &damaged).expect("a file");
                let state = look(lib, path);
                flips += 1;
                // What binds the chunks to their places is no part of what is read.
                let found = is_found(state.as_ref())
                    || lib.open_path(path).is_some_and(|s| check_places(&s) < 0);
                if !found || is_wrong(state.as_ref(), &whole) {
                    missed.push(format!("bit {bit} of byte {at} of {name:?} of {len} bytes"));
                }
            }
        }
        std::fs::write(&target, bytes).expect("a file");
    }
    (flips, missed)
}

#[test]
fn every_flipped_bit_of_every_kind_of_frame_is_found() {
    let lib = our_schunks();
    let folder = Folder::new("checksums-flips");
    let frames = frames(lib, &folder.0);
    assert!(frames.len() >= 18, "{} frames", frames.len());
    let next = AtomicUsize::new(0);
    let total = Mutex::new((0, Vec::new()));
    // A file that does not open is looked at again for a while, as another process may be changing
    // it: most of the time is spent waiting.
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                while let which = next.fetch_add(1, Ordering::Relaxed)
                    && let Some(frame) = frames.get(which)
                {
                    let path = folder.join(&format!("damaged{which}"));
                    let (flips, missed) = flip_bits(lib, &path, &frame.checked);
                    let mut total = total.lock().expect("no panic");
                    total.0 += flips;
                    total.1.extend(missed);
                }
            });
        }
    });
    let (flips, missed) = total.into_inner().expect("no panic");
    println!("{flips} flipped bits, {} missed", missed.len());
    assert!(missed.is_empty(), "{} of {flips}: {missed:?}", missed.len());
}

/// Frames of some hundred KB: a file, a directory, and one with room that a writer left behind when
/// it was killed.
fn larger(lib: &'static SchunkLib, folder: &Path) -> Vec<Files> {
    let mut all = Vec::new();
    let mut rng = Rng(7);
    for (contiguous, compcode) in [(true, 1), (false, 5), (true, 0), (false, 4)] {
        let path = folder.join("larger");
        let cparams = blosc2_cparams {
            typesize: 4,
            compcode,
            blocksize: 4096,
            ..blosc2_cparams::defaults()
        };
        let s = lib
            .create(contiguous, Some(&path), &cparams, 1, None)
            .expect("a frame");
        assert_eq!(crate::checksums::add_checksums(&s), 0);
        for nchunk in 0..12u32 {
            let noise = nchunk % 3;
            let items =
                (0..8000u32).map(|i| (i * 5) ^ (rng.next() as u32 & ((1 << (12 * noise)) - 1)));
            let data: Vec<u8> = items.flat_map(u32::to_le_bytes).collect();
            assert!(s.append_buffer(&data, data.len() as i32) > 0);
        }
        assert!(s.vlmeta_add(c"name", &[9; 3000]) >= 0);
        drop(s);
        all.push(read_files(&path));
        write_files(&path, &vec![(String::new(), Vec::new())]);
        std::fs::remove_file(&path).expect("a file");
    }
    all
}

/// Damages some bytes of one file, in one of the ways that disks and copies do.
fn damage(files: &mut Files, rng: &mut Rng) -> String {
    let file = rng.below(files.len());
    let (name, bytes) = &mut files[file];
    let len = bytes.len();
    let at = rng.below(len);
    let how = rng.below(7);
    match how {
        0 => bytes[at] ^= 1 << rng.below(8),
        1 => (0..20).for_each(|_| bytes[rng.below(len)] ^= 1 << rng.below(8)),
        2 => bytes[at] = rng.next() as u8,
        3 => {
            let from = at & !511;
            bytes[from..len.min(from + 512)].fill(0);
        }
        4 => {
            let from = at & !4095;
            (bytes[from..len.min(from + 4096)].iter_mut())
                .for_each(|byte| *byte = rng.next() as u8);
        }
        5 => bytes.truncate(at),
        _ => {
            // Some bytes from elsewhere in the file.
            let (from, len) = (rng.below(len), rng.below(len.min(600)));
            let part = bytes[from..bytes.len().min(from + len)].to_vec();
            let end = bytes.len().min(at + part.len());
            bytes[at..end].copy_from_slice(&part[..end - at]);
        }
    }
    format!("{how} at {at} of {name:?} with {len} bytes")
}

#[test]
fn damage_never_gives_wrong_data() {
    let lib = our_schunks();
    let folder = Folder::new("checksums-damage");
    let path = folder.join("damaged");
    let frames = larger(lib, &folder.0);
    let rounds = if is_full() { 10_000 } else { 400 };
    let (mut found, mut same, mut missed) = (0, 0, Vec::new());
    let mut rng = Rng(11);
    for round in 0..rounds {
        let files = &frames[round % frames.len()];
        write_files(&path, files);
        let whole = look(lib, &path).expect("a whole frame");
        let mut damaged = files.clone();
        let how = damage(&mut damaged, &mut rng);
        if damaged == *files {
            same += 1;
            continue;
        }
        write_files(&path, &damaged);
        let state = look(lib, &path);
        match is_found(state.as_ref()) && !is_wrong(state.as_ref(), &whole) {
            true => found += 1,
            false => missed.push((round, how)),
        }
    }
    println!("{found} of {rounds} found, {same} changed nothing");
    assert!(missed.is_empty(), "{missed:?}");
}

/// Damage may make a chunk one that says it has no checksums, which another writer could have put
/// there; but not in a frame that says that all have some.
#[test]
fn a_chunk_without_checksums_among_others_is_found() {
    let lib = our_schunks();
    let folder = Folder::new("checksums-lost");
    let path = folder.join("damaged");
    for files in larger(lib, &folder.0) {
        let mut tried = 0;
        for (file, (_, bytes)) in files.iter().enumerate() {
            let mut headers: Vec<usize> = Vec::new();
            // A chunk of 32,000 bytes has 8 blocks of 4,096.
            let prefix = EXTENDED_HEADER_LENGTH + 4 * 8;
            for at in prefix..bytes.len() {
                if bytes[at..].starts_with(&MAGIC) && bytes[at - prefix + 30] & CHECKSUMS != 0 {
                    headers.push(at - prefix);
                }
            }
            for at in headers {
                let mut damaged = files.clone();
                let chunk = &mut damaged[file].1[at..];
                chunk[30] &= !CHECKSUMS;
                chunk[prefix..prefix + MAGIC.len()].fill(0);
                write_files(&path, &damaged);
                assert!(is_found(look(lib, &path).as_ref()), "{file} {at}");
                tried += 1;
            }
        }
        assert!(tried >= 8, "{tried}");
    }
}
