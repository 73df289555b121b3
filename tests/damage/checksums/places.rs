//! Chunks whose own checksums are right, but which are not where they belong, or older than the
//! rest of the frame.

use crate::checksums::changes::{CHECKED, noise};
use crate::checksums::{Files, read_files, write_files};
use oxiblosc::schunk::chunks::Position;
use oxiblosc::{CParams, Error, Place, Protection, StorageParams, SuperChunk};
use oxiblosc_base::memory::Buffer;
use oxiblosc_chunk::encode::ChunkInput;
use oxiblosc_testing::folder::Folder;
use oxiblosc_testing::schunk::{our_schunks, reference_schunks};
use std::path::Path;

/// Bytes of a chunk: of a frame that is rewritten with each change, and of one that is edited.
const SIZES: [usize; 2] = [400, 200_000];
const CHUNKS: usize = 6;

/// A frame after one of its changes.
struct State {
    what: &'static str,
    files: Files,
    data: Vec<Vec<u8>>,
    /// The chunks as they are stored, without those of special values.
    stored: Vec<Vec<u8>>,
}

fn open(path: &Path) -> Result<SuperChunk, Error> {
    SuperChunk::open(path, 0, 1, Protection::default())
}

fn all_data(frame: &SuperChunk, size: usize) -> Result<Vec<Vec<u8>>, Error> {
    let chunk = |nchunk| {
        let mut data = vec![0; size];
        frame.decompress_chunk(nchunk, &mut data).map(|_| data)
    };
    (0..frame.nchunks()?).map(chunk).collect()
}

type Change = fn(&SuperChunk, usize) -> Result<(), Error>;

/// Half of the data compress, so that chunks that are written again have other lengths.
fn half(size: usize, seed: u64) -> Vec<u8> {
    let mut data = noise(size, seed);
    data[size / 2..].fill(seed as u8);
    data
}

const CHANGES: [(&str, Change); 12] = [
    ("appends", |frame, size| {
        for seed in 0..CHUNKS as u64 {
            frame.append_data(&noise(size, seed))?;
        }
        Ok(())
    }),
    ("items of a chunk", |frame, size| {
        frame.write_bytes(2 * size as u64 + 8, &noise(40, 20))
    }),
    ("a chunk that becomes shorter", |frame, size| {
        frame.write_bytes(size as u64, &half(size, 21))
    }),
    ("items of a block of it", |frame, size| {
        frame.write_bytes(size as u64 + 80, &noise(100, 22))
    }),
    ("an insertion", |frame, size| {
        let chunk = frame.compress(ChunkInput::Buffer(&noise(size, 23)), true)?;
        frame.put_chunk(Position::Before(1), &chunk).map(drop)
    }),
    ("zeros", |frame, size| {
        frame.append_data(&vec![0; size]).map(drop)
    }),
    ("another order", |frame, _| {
        let order: Vec<usize> = (0..frame.nchunks()?).rev().collect();
        frame.reorder(&order)
    }),
    ("a deletion", |frame, _| frame.delete_chunk(2).map(drop)),
    ("another chunk in the hole", |frame, size| {
        frame.append_data(&noise(size, 24)).map(drop)
    }),
    ("a transaction", |frame, size| {
        let transaction = frame.transaction()?;
        frame.write_bytes(0, &noise(size, 25))?;
        frame.delete_chunk(3)?;
        frame.append_data(&half(size, 26))?;
        transaction.commit().map(drop)
    }),
    ("checksums once more", |frame, _| frame.add_checksums()),
    ("closing", |frame, _| frame.close_frame().map(drop)),
];

fn clear(path: &Path) {
    write_files(path, &vec![(String::new(), Vec::new())]);
    std::fs::remove_file(path).expect("a file");
}

/// The states of a frame, from one change to the next.
fn states(path: &Path, place: Place, size: usize) -> Vec<State> {
    let storage = StorageParams {
        place,
        cparams: CParams {
            typesize: 4,
            blocksize: size as i32 / 4,
            ..CParams::default()
        },
        protection: CHECKED,
        ..StorageParams::default()
    };
    let frame = SuperChunk::create(storage).expect("a frame");
    let state = |(what, change): (&'static str, Change)| {
        change(&frame, size).unwrap_or_else(|error| panic!("{what}: {error:?}"));
        let seen = open(path).expect("it opens");
        assert_eq!(seen.check_places(), Ok(true), "{what}");
        assert_eq!(frame.check_places(), Ok(true), "{what}");
        let read = seen.read().expect("a state");
        let stored = (0..seen.nchunks().expect("a number"))
            .map(|nchunk| read.chunk(nchunk).expect("a chunk").to_vec())
            .filter(|chunk| chunk.len() > 32);
        let stored = stored.collect();
        drop(read);
        let data = all_data(&seen, size).expect("all data");
        let files = read_files(path);
        State {
            what,
            files,
            data,
            stored,
        }
    };
    let states = CHANGES.into_iter().map(state).collect();
    drop(frame);
    states
}

/// Opens a frame and checks it. If that finds nothing, its data must be those of one of the states.
fn is_found(path: &Path, files: &Files, states: &[&State], what: &str) -> bool {
    write_files(path, files);
    let size = states[0].data[0].len();
    let check = |opened: Result<SuperChunk, Error>| {
        let found = opened.and_then(|frame| Ok((frame.check_places()?, all_data(&frame, size)?)));
        let Ok((known, data)) = found else {
            return true;
        };
        assert!(known, "{what}");
        assert!(states.iter().any(|state| state.data == data), "{what}");
        false
    };
    let found = check(open(path));
    if files.len() == 1 {
        let memory = Buffer::copy_of(&files[0].1);
        let memory = memory.and_then(|frame| SuperChunk::from_frame(frame, 1));
        assert_eq!(check(memory), found, "{what}");
    }
    found
}

/// Where the chunks of a file are.
fn ranges(state: &State) -> Vec<std::ops::Range<usize>> {
    let bytes = &state.files[0].1;
    let place = |chunk: &Vec<u8>| {
        let at = bytes.windows(chunk.len()).position(|part| part == chunk);
        let at = at.expect("the chunk is in the file");
        at..at + chunk.len()
    };
    state.stored.iter().map(place).collect()
}

/// The frame with two chunks, or two chunk files, exchanged: every pair.
fn swapped(state: &State, is_file: bool) -> Vec<Files> {
    let mut all = Vec::new();
    let mut add = |exchange: &dyn Fn(&mut Files)| {
        let mut files = state.files.clone();
        exchange(&mut files);
        all.push(files);
    };
    if is_file {
        let ranges = ranges(state);
        for (i, a) in ranges.iter().enumerate() {
            for b in ranges[..i].iter().filter(|b| b.len() == a.len()) {
                add(&|files| {
                    let (old, bytes) = (files[0].1.clone(), &mut files[0].1);
                    bytes[a.clone()].copy_from_slice(&old[b.clone()]);
                    bytes[b.clone()].copy_from_slice(&old[a.clone()]);
                });
            }
        }
        return all;
    }
    let chunks = (0..state.files.len()).filter(|i| state.files[*i].0.ends_with(".chunk"));
    let chunks: Vec<usize> = chunks.collect();
    for (i, a) in chunks.iter().enumerate() {
        for b in &chunks[..i] {
            add(&|files| {
                let old = std::mem::replace(&mut files[*a].1, state.files[*b].1.clone());
                files[*b].1 = old;
            });
        }
    }
    all
}

/// The frame with one file, or the bytes of one chunk, of an older state.
fn mixed(old: &State, new: &State, is_file: bool) -> Vec<Files> {
    let mut all = Vec::new();
    if is_file {
        let old = &old.files[0].1;
        for range in ranges(new)
            .into_iter()
            .filter(|range| range.end <= old.len())
        {
            let mut files = new.files.clone();
            files[0].1[range.clone()].copy_from_slice(&old[range]);
            all.push(files);
        }
        return all;
    }
    for (i, (name, _)) in new.files.iter().enumerate() {
        if let Some((_, bytes)) = old.files.iter().find(|(other, _)| other == name) {
            let mut files = new.files.clone();
            files[i].1.clone_from(bytes);
            all.push(files);
        }
    }
    all
}

#[test]
fn what_is_elsewhere_or_older_is_found() {
    let folder = Folder::new("checksums-places");
    let path = folder.join("frame");
    for (size, is_file) in [(0, true), (0, false), (1, true), (1, false)] {
        let size = SIZES[size];
        let place = match is_file {
            true => Place::File(&path),
            false => Place::Directory(&path),
        };
        let states = states(&path, place, size);
        let (mut pairs, mut mixtures) = (0, 0);
        for (i, state) in states.iter().enumerate() {
            for files in swapped(state, is_file) {
                let found = is_found(&path, &files, &[state], state.what);
                assert!(found, "{}: two swapped, file {is_file}", state.what);
                pairs += 1;
            }
            for old in &states[..i] {
                let what = format!("{}, then {}, file {is_file}", old.what, state.what);
                for files in mixed(old, state, is_file) {
                    mixtures += usize::from(is_found(&path, &files, &[state, old], &what));
                }
            }
        }
        assert!(pairs > 40 && mixtures > 40, "{pairs} {mixtures}");
        clear(&path);
    }
}

/// A change beside it does not make right what was wrong, in a file, a directory and memory.
#[test]
fn no_change_makes_it_right() {
    let folder = Folder::new("checksums-places-changes");
    let path = folder.join("frame");
    for (size, place) in SIZES
        .into_iter()
        .flat_map(|size| (0..3).map(move |place| (size, place)))
    {
        let is_file = place != 1;
        clear(&path);
        let first = states(
            &path,
            if is_file {
                Place::File(&path)
            } else {
                Place::Directory(&path)
            },
            size,
        );
        let files = swapped(&first[0], is_file).remove(0);
        // A frame in memory has no file to close.
        let last = CHANGES.len() - usize::from(place == 2);
        for (what, change) in &CHANGES[1..last] {
            write_files(&path, &files);
            let frame = match place {
                2 => {
                    Buffer::copy_of(&files[0].1).and_then(|bytes| SuperChunk::from_frame(bytes, 1))
                }
                _ => open(&path),
            };
            let frame = frame.expect("it opens");
            // Chunks 0 and 1 are swapped. The change may well replace or move them.
            change(&frame, size).unwrap_or_else(|error| panic!("{what}: {error:?}"));
            let what = format!("{what}, size {size}, place {place}");
            assert_eq!(frame.check_places(), Err(Error::DATA), "{what}");
            let copy = frame
                .to_frame()
                .and_then(|bytes| SuperChunk::from_frame(bytes, 1));
            let copy = copy.and_then(|copy| copy.check_places());
            assert_eq!(copy, Err(Error::DATA), "{what}, copied");
        }
        clear(&path);
    }
}

/// A chunk whose front is damaged, and that is replaced: where chunks are is unknown then, and not
/// wrong for ever.
#[test]
fn a_damaged_chunk_that_goes_leaves_no_alarm() {
    let folder = Folder::new("checksums-places-replaced");
    let path = folder.join("frame");
    for size in SIZES {
        let first = states(&path, Place::File(&path), size).remove(0);
        let mut files = first.files.clone();
        // In the checksum of a block, which is in the front.
        files[0].1[ranges(&first)[3].start + 32 + 4 * 4 + 5] ^= 1;
        for in_memory in [false, true] {
            write_files(&path, &files);
            let frame = match in_memory {
                true => {
                    Buffer::copy_of(&files[0].1).and_then(|bytes| SuperChunk::from_frame(bytes, 1))
                }
                false => open(&path),
            };
            let frame = frame.expect("it opens");
            assert_eq!(frame.check_places(), Err(Error::INVALID_HEADER));
            let chunk = frame.compress(ChunkInput::Buffer(&noise(size, 30)), true);
            frame
                .put_chunk(Position::Over(3), &chunk.expect("a chunk"))
                .expect("an update");
            assert_eq!(frame.check_places(), Ok(false), "{size} {in_memory}");
            frame.add_checksums().expect("checksums");
            assert_eq!(frame.check_places(), Ok(true), "{size} {in_memory}");
        }
        clear(&path);
    }
}

/// What the reference changed is known to be unknown, and can be noted anew.
#[test]
fn after_the_reference_it_is_unknown() {
    let Some(reference) = reference_schunks() else {
        return;
    };
    let folder = Folder::new("checksums-places-reference");
    let path = folder.join("frame");
    for (size, is_file) in SIZES
        .into_iter()
        .flat_map(|size| [(size, true), (size, false)])
    {
        let place = match is_file {
            true => Place::File(&path),
            false => Place::Directory(&path),
        };
        let states = states(&path, place, size);
        // As it was when it was closed, and before that, with an index that has room for more.
        for (state, appends) in states[states.len() - 2..]
            .iter()
            .flat_map(|state| [(state, true), (state, false)])
        {
            let what = format!("size {size}, file {is_file}, {}, {appends}", state.what);
            write_files(&path, &state.files);
            let theirs = reference.open_path(&path).expect("it opens");
            let mut data = vec![0; size];
            for (nchunk, known) in state.data.iter().enumerate() {
                let read = theirs.decompress_chunk(nchunk as i64, &mut data);
                assert_eq!(read, size as i64, "{what}");
                assert!(data == *known, "{what}: {nchunk}");
            }
            match appends {
                true => assert!(theirs.append_buffer(&data, size as i32) > 0),
                false => assert!(theirs.vlmeta_add(c"theirs", &[7; 90]) >= 0),
            }
            drop(theirs);
            let frame = open(&path).expect("it opens");
            assert_eq!(frame.check_places(), Ok(false), "{what}");
            frame.append_data(&data).expect("an append");
            assert_eq!(frame.check_places(), Ok(false), "{what}");
            assert_eq!(
                open(&path).and_then(|seen| seen.check_places()),
                Ok(false),
                "{what}"
            );
            frame.add_checksums().expect("checksums");
            assert_eq!(frame.check_places(), Ok(true), "{what}");
            drop(frame);
            let theirs = reference.open_path(&path).expect("it opens");
            let count = state.data.len() + 1 + usize::from(appends);
            assert_eq!(theirs.get().nchunks as usize, count, "{what}");
            drop(theirs);
            let ours = our_schunks().open_path(&path).expect("it opens");
            assert_eq!(crate::checksums::check_places(&ours), 1, "{what}");
        }
        clear(&path);
    }
}
