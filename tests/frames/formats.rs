//! Frames as the documents on their formats say: files written by released versions, the examples
//! of the sparse format, frames of special values without a size, and what another process sees
//! after each append.

use blosc2::capi::types::blosc2_cparams;
use oxiblosc_chunk::header::EXTENDED_HEADER_LENGTH;
use oxiblosc_frame::header::Extent;
use oxiblosc_frame::offsets::Offsets;
use oxiblosc_testing::data::Kind;
use oxiblosc_testing::fixtures::fixtures;
use oxiblosc_testing::folder::Folder;
use oxiblosc_testing::memory_use::status;
use oxiblosc_testing::schunk::{SchunkLib, our_schunks, reference_schunks};
use oxiblosc_testing::schunk_calls::Schunk;
use oxiblosc_testing::schunk_state::read;
use sha2::{Digest, Sha256};
use std::path::Path;
use std::time::{Duration, Instant};

/// Both libraries, or ours alone.
fn libraries() -> Vec<&'static SchunkLib> {
    [our_schunks()]
        .into_iter()
        .chain(reference_schunks())
        .collect()
}

fn create(lib: &'static SchunkLib, contiguous: bool, path: Option<&Path>, typesize: i32) -> Schunk {
    let cparams = blosc2_cparams {
        typesize,
        ..blosc2_cparams::defaults()
    };
    lib.create(contiguous, path, &cparams, 1, None)
        .expect("a new super-chunk")
}

#[test]
fn every_frame_of_the_fixtures_decodes_to_its_digest() {
    let lib = our_schunks();
    let Some(folder) = fixtures() else { return };
    let expected =
        std::fs::read_to_string(folder.join("EXPECTED.tsv")).expect("the table of digests");
    let frames = |line: &&str| line.starts_with("frames/") || line.starts_with("b2nd/");
    let mut seen = 0;
    for line in expected.lines().filter(frames) {
        let columns: Vec<&str> = line.split('\t').collect();
        let (name, nbytes, digest) = (columns[0], columns[2], columns[3]);
        let path = folder.join(name);
        let file = std::fs::read(&path).unwrap_or_else(|e| panic!("{name}: {e}"));
        let opened = [
            ("from the file", lib.open_path(&path)),
            ("from a buffer", lib.open_buffer(&file, false)),
            ("from a copied buffer", lib.open_buffer(&file, true)),
        ];
        for (how, s) in opened {
            let s = s.unwrap_or_else(|| panic!("{name} {how} does not open"));
            let chunks = read(&s).chunks.into_iter();
            let data: Vec<Vec<u8>> = chunks
                .map(|chunk| chunk.unwrap_or_else(|code| panic!("{name} {how}: {code}")))
                .collect();
            let data = data.concat();
            assert_eq!(data.len().to_string(), nbytes, "{name} {how}");
            assert_eq!(s.get().nbytes, data.len() as i64, "{name} {how}");
            let found: String = Sha256::digest(&data)
                .iter()
                .map(|byte| format!("{byte:02x}"))
                .collect();
            assert_eq!(found, digest, "{name} {how}");
        }
        seen += 1;
    }
    assert_eq!(seen, 10, "frames in the table");
}

/// The names of the files of a sparse frame.
fn names(path: &Path) -> Vec<String> {
    let entries = path
        .read_dir()
        .expect("a folder that can be listed")
        .flatten();
    let mut names: Vec<String> = entries
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

/// The four chunks of the format's examples.
fn four_chunks(lib: &'static SchunkLib, path: &Path) -> (Schunk, Vec<Vec<u8>>) {
    let s = create(lib, false, Some(path), 1);
    let chunks: Vec<Vec<u8>> = (0..4).map(|seed| Kind::Text.bytes(500, seed)).collect();
    for (n, chunk) in chunks.iter().enumerate() {
        assert_eq!(s.append_buffer(chunk, 500), n as i64 + 1);
    }
    assert_eq!(
        names(path),
        [
            "00000000.chunk",
            "00000001.chunk",
            "00000002.chunk",
            "00000003.chunk",
            "chunks.b2frame"
        ]
    );
    assert_eq!(s.offsets(), Some(vec![0, 1, 2, 3]));
    (s, chunks)
}

fn contents(path: &Path) -> Vec<Vec<u8>> {
    let names = names(path);
    let chunks = names.iter().filter(|name| name.ends_with(".chunk"));
    chunks
        .map(|name| std::fs::read(path.join(name)).expect("a chunk's file"))
        .collect()
}

#[test]
fn an_insertion_takes_the_next_number() {
    let folder = Folder::new("insertion");
    for lib in libraries() {
        let path = folder.join(lib.lib.name);
        let (s, mut chunks) = four_chunks(lib, &path);
        let before = contents(&path);
        let new = Kind::Text.bytes(500, 9);
        let (_, chunk) = lib.lib.compress(
            &oxiblosc_testing::abi::CParams {
                typesize: 1,
                ..Default::default()
            },
            &new,
        );
        assert_eq!(s.insert_chunk(2, &chunk, true), 5);
        assert_eq!(
            names(&path),
            [
                "00000000.chunk",
                "00000001.chunk",
                "00000002.chunk",
                "00000003.chunk",
                "00000004.chunk",
                "chunks.b2frame"
            ]
        );
        assert_eq!(s.offsets(), Some(vec![0, 1, 4, 2, 3]));
        let after = contents(&path);
        assert_eq!(after[..4], before[..], "the other files stay as they are");
        assert_eq!(after[4], chunk);
        chunks.insert(2, new);
        drop(s);
        for lib in libraries() {
            let s = lib.open_path(&path).expect("the frame");
            let read: Vec<_> = read(&s).chunks.into_iter().flatten().collect();
            assert_eq!(read, chunks);
        }
    }
}

#[test]
fn a_reorder_changes_the_index_alone() {
    let folder = Folder::new("reorder");
    for lib in libraries() {
        let path = folder.join(lib.lib.name);
        let (s, chunks) = four_chunks(lib, &path);
        let before = contents(&path);
        assert_eq!(s.reorder(&[3, 1, 0, 2]), 0);
        assert_eq!(s.offsets(), Some(vec![3, 1, 0, 2]));
        assert_eq!(
            contents(&path),
            before,
            "the chunks' files stay as they are"
        );
        assert_eq!(names(&path).len(), 5);
        drop(s);
        for lib in libraries() {
            let s = lib.open_path(&path).expect("the frame");
            let read: Vec<_> = read(&s).chunks.into_iter().flatten().collect();
            assert_eq!(read, [3, 1, 0, 2].map(|n: usize| chunks[n].clone()));
        }
    }
}

/// 10^12 bytes of zeros take a few hundred bytes and no time.
#[test]
fn special_values_take_no_room() {
    let lib = our_schunks();
    let folder = Folder::new("special");
    let begun = Instant::now();
    for (contiguous, on_disk) in [(true, false), (true, true), (false, true)] {
        let path = folder.join(&format!("{contiguous}"));
        let s = create(lib, contiguous, on_disk.then_some(path.as_path()), 8);
        let nitems = 1_000_000_000_000 / 8;
        let nchunks = s.fill_special(nitems, 1, 500 << 20);
        assert_eq!(nchunks, (nitems * 8 + (500 << 20) - 1) / (500 << 20));
        assert_eq!(s.get().nbytes, 1_000_000_000_000);
        assert!(s.frame_len() < 1000, "{} bytes", s.frame_len());
        let mut items = [1; 80];
        assert_eq!(s.get_slice(nitems - 10, nitems, &mut items), 0);
        assert_eq!(items, [0; 80]);
        drop(s);
        if on_disk {
            for lib in libraries() {
                let s = lib.open_path(&path).expect("the frame");
                assert_eq!(
                    (s.get().nchunks, s.get().nbytes),
                    (nchunks, 1_000_000_000_000)
                );
                items = [1; 80];
                assert_eq!(s.get_slice(nitems / 2, nitems / 2 + 10, &mut items), 0);
                assert_eq!(items, [0; 80]);
            }
            // Whichever it is.
            let _ = std::fs::remove_file(&path);
        }
    }
    assert!(
        begun.elapsed() < Duration::from_secs(10),
        "{:?}",
        begun.elapsed()
    );
}

#[test]
fn a_little_in_a_large_chunk_of_zeros_takes_little_memory() {
    oxiblosc_testing::own_process!();
    let lib = our_schunks();
    let s = create(lib, true, None, 8);
    let nitems = (1 << 30) / 8;
    assert_eq!(s.fill_special(nitems, 1, 1 << 30), 1);
    let before = status("VmHWM");
    let at = nitems / 2 + 3;
    assert_eq!(s.set_slice(at, at + 2, &[7; 16]), 0);
    let grown = status("VmHWM").saturating_sub(before);
    assert!(grown < 512 << 20, "{grown} bytes");
    let mut items = [1; 48];
    assert_eq!(s.get_slice(at - 2, at + 4, &mut items), 0);
    assert_eq!(items[..16], [0; 16]);
    assert_eq!(items[16..32], [7; 16]);
    assert_eq!(items[32..], [0; 16]);
    let (rc, frame) = s.to_buffer();
    assert_eq!(rc as usize, frame.len());
    for lib in libraries() {
        let s = lib.open_buffer(&frame, true).expect("the frame");
        items = [1; 48];
        assert_eq!(s.get_slice(at - 2, at + 4, &mut items), 0);
        assert_eq!(items[16..32], [7; 16], "{}", lib.lib.name);
    }
}

#[test]
fn files_of_high_numbers_get_low_ones_when_little_is_left() {
    let ours = our_schunks();
    let folder = Folder::new("numbers");
    let path = folder.join("directory");
    let s = create(ours, false, Some(&path), 1);
    for i in 0..40 {
        assert_eq!(s.append_buffer(&[i], 1), i64::from(i) + 1);
    }
    for left in (1..40).rev() {
        assert_eq!(s.delete_chunk(0), left);
        for lib in libraries() {
            let other = lib.open_path(&path).expect("the frame");
            let read: Vec<_> = read(&other).chunks.into_iter().flatten().collect();
            let expected: Vec<Vec<u8>> = (40 - left as u8..40).map(|i| vec![i]).collect();
            assert_eq!(read, expected, "{}", lib.lib.name);
        }
        assert_eq!(names(&path).len() as i64, left + 1);
    }
    let new = Kind::Text.bytes(1, 3);
    assert_eq!(s.append_buffer(&new, 1), 2);
    assert_eq!(s.offsets().map(|offsets| offsets.len()), Some(2));
}

/// After each append the frame on disk is whole: who opens it sees the chunk.
#[test]
fn every_append_is_seen_by_others() {
    let folder = Folder::new("appends");
    let libs = libraries();
    for &lib in &libs {
        for contiguous in [true, false] {
            let path = folder.join(&format!("{}-{contiguous}", lib.lib.name));
            let s = create(lib, contiguous, Some(&path), 4);
            let mut chunks = Vec::new();
            for n in 0..70 {
                let chunk = match n % 5 {
                    4 => vec![0; 400],
                    _ => Kind::WalkInt32.bytes(400, n),
                };
                assert_eq!(s.append_buffer(&chunk, 400), n as i64 + 1);
                chunks.push(Ok(chunk));
                for other in &libs {
                    let seen = other.open_path(&path).expect("the frame after an append");
                    let state = read(&seen);
                    assert!(
                        state.chunks == chunks,
                        "{} sees {} chunks of {}",
                        other.lib.name,
                        state.chunks.len(),
                        n + 1
                    );
                }
            }
        }
    }
}

/// Readers that have a frame open follow the appends of another handle.
#[test]
fn an_open_handle_follows_another() {
    let folder = Folder::new("follow");
    let libs = libraries();
    for &writer in &libs {
        for &reader in &libs {
            for contiguous in [true, false] {
                let path = folder.join(&format!(
                    "{}-{}-{contiguous}",
                    writer.lib.name, reader.lib.name
                ));
                let s = create(writer, contiguous, Some(&path), 4);
                assert_eq!(s.append_buffer(&Kind::WalkInt32.bytes(400, 0), 400), 1);
                let other = reader.open_path(&path).expect("the frame");
                for n in 1..20 {
                    let chunk = Kind::WalkInt32.bytes(400, n);
                    assert_eq!(s.append_buffer(&chunk, 400), n as i64 + 1);
                    assert!(other.refresh() >= 0);
                    assert_eq!(
                        other.get().nchunks,
                        n as i64 + 1,
                        "{} follows {}",
                        reader.lib.name,
                        writer.lib.name
                    );
                    let mut seen = vec![0; 400];
                    assert_eq!(other.decompress_chunk(n as i64, &mut seen), 400);
                    assert_eq!(seen, chunk);
                }
            }
        }
    }
}

#[test]
fn a_copy_with_other_parameters_is_the_same_for_any_number_of_threads() {
    let lib = our_schunks();
    let from = create(lib, false, None, 8);
    let data = Kind::SmoothFloat64.bytes(400_000, 3);
    let mut chunks: Vec<&[u8]> = data.chunks(24_000).collect();
    // One that is shorter inside, and one without data.
    chunks.insert(5, &data[..8]);
    chunks.insert(7, &[]);
    for (n, chunk) in chunks.iter().enumerate() {
        let rc = from.append_buffer(chunk, chunk.len() as i32);
        assert_eq!(rc, n as i64 + 1);
    }
    let copies = [1, 2, 5].map(|nthreads| {
        let other = blosc2_cparams {
            compcode: oxiblosc_testing::abi::ZSTD,
            typesize: 8,
            nthreads,
            ..blosc2_cparams::defaults()
        };
        let copy = from.copy(false, None, Some(&other)).expect("a copy");
        let stored = |n| copy.get_chunk(n as i64).bytes;
        (0..chunks.len()).map(stored).collect::<Vec<_>>()
    });
    for (chunk, plain) in copies[0].iter().zip(&chunks) {
        let mut back = vec![0; plain.len()];
        let rc = from.decompress_given(chunk, &mut back);
        assert_eq!(rc, plain.len() as i64);
        assert!(back == *plain);
    }
    assert!(copies.iter().all(|copy| *copy == copies[0]));
}

#[test]
fn a_lazy_chunk_is_not_larger_than_what_is_behind_it() {
    let lib = our_schunks();
    let folder = Folder::new("lazy");
    let path = folder.join("frame");
    let cparams = blosc2_cparams {
        typesize: 1,
        clevel: 0,
        ..blosc2_cparams::defaults()
    };
    let created = lib.create(true, Some(&path), &cparams, 1, None);
    let created = created.expect("a new super-chunk");
    assert_eq!(created.append_buffer(&[7; 5000], 5000), 1);
    drop(created);
    let mut frame = std::fs::read(&path).expect("the file");
    // The chunk, which holds its data as they are, claims to have a billion blocks of a byte.
    let chunk = u32::from_be_bytes([frame[11], frame[12], frame[13], frame[14]]) as usize;
    assert_eq!(frame[chunk + 2] & 2, 2, "the data are stored");
    frame[chunk + 4..][..4].copy_from_slice(&(1i32 << 30).to_le_bytes());
    frame[chunk + 8..][..4].copy_from_slice(&1i32.to_le_bytes());
    std::fs::write(&path, &frame).expect("the file");
    let damaged = lib.open_path(&path).expect("its header says otherwise");
    assert_eq!(damaged.get_lazychunk(0).rc, -3);
    drop(damaged);
    frame[30..38].copy_from_slice(&(1i64 << 30).to_be_bytes());
    frame[58..62].copy_from_slice(&(1i32 << 30).to_be_bytes());
    std::fs::write(&path, frame).expect("the file");
    let opened = lib.open_path(&path).expect("its header is right");
    assert_eq!(opened.get_lazychunk(0).rc, -3);
}

#[test]
fn slices_of_a_file_are_written_where_they_are() {
    let ours = our_schunks();
    let folder = Folder::new("in-place");
    let path = folder.join("frame.b2frame");
    let cparams = blosc2_cparams {
        typesize: 8,
        blocksize: 4000,
        ..blosc2_cparams::defaults()
    };
    let s = ours
        .create(true, Some(&path), &cparams, 1, None)
        .expect("a new super-chunk");
    let items = 50_000i64;
    let mut data = Kind::Timestamps.bytes(3 * items as usize * 8, 8);
    // Only a large frame has room for what changes in it.
    data.extend(Kind::Random.bytes(12 * items as usize * 8, 8));
    for chunk in data.chunks(items as usize * 8) {
        assert!(s.append_buffer(chunk, chunk.len() as i32) > 0);
    }
    let mut low = data[480_000..480_008].to_vec();
    low[0] ^= 1;
    let mut write = |at: i64, new: &[u8], who: &[&'static SchunkLib]| {
        let from = at as usize * 8;
        data[from..from + new.len()].copy_from_slice(new);
        assert_eq!(s.set_slice(at, at + new.len() as i64 / 8, new), 0);
        let state = (s.offsets(), std::fs::metadata(&path).expect("a file").len());
        for lib in who {
            let mut buffer = vec![0; data.len()];
            let other = lib.open_path(&path).expect("a frame that opens");
            let rc = other.get_slice(0, 15 * items, &mut buffer);
            assert_eq!(rc, 0, "{} at {at}", lib.lib.name);
            assert!(buffer == data, "{}", lib.lib.name);
        }
        state
    };
    let before = s.offsets();
    let others = libraries();
    // Another low byte, which does not compress: nothing moves.
    let (offsets, size) = write(60_000, &low, &others);
    assert_eq!(offsets, before);
    // A block that grows has its chunk written elsewhere the first time, with room behind it ...
    let (moved, _) = write(60_000, &Kind::Random.bytes(2000, 1), &others);
    let (before, now) = (before.expect("offsets"), moved.clone().expect("offsets"));
    assert!(before[0] == now[0] && before[1] < now[1] && before[2] == now[2]);
    // ... into which other blocks go.
    for (turn, at) in [70_000, 80_000, 90_000].into_iter().enumerate() {
        let (offsets, _) = write(at, &Kind::Random.bytes(2000, turn as u64), &others);
        assert_eq!(offsets, moved, "{at}");
    }
    // Many such writes do not make the file grow without end.
    let mut last = size;
    for turn in 0..2000 {
        let at = 50_000 + turn * 21 % 49_000;
        let new = match turn % 2 {
            0 => Kind::Random.bytes(800, turn as u64),
            _ => Kind::Timestamps.bytes(800, turn as u64),
        };
        (_, last) = write(at, &new, if turn % 500 == 0 { &others } else { &[] });
    }
    let chunk = 8 * items as u64;
    assert!(last < size + (4 << 20) + 4 * chunk, "{size}, then {last}");
    let expected = data;
    drop(s);
    for lib in others {
        let mut buffer = vec![0; expected.len()];
        let again = lib.open_path(&path).expect("a frame that opens");
        assert_eq!(again.get_slice(0, 15 * items, &mut buffer), 0);
        assert!(buffer == expected, "{} after closing", lib.lib.name);
    }
}

/// Bytes of all chunks that are stored.
fn stored(s: &Schunk) -> i64 {
    let sizes = (0..s.get().nchunks).map(|at| s.lib.lib.sizes(&s.get_lazychunk(at).bytes).1[1]);
    // What is a header alone is told by its offset.
    sizes.filter(|cbytes| *cbytes > 32).map(i64::from).sum()
}

/// Chunks of a large frame have room behind them to grow; those of a small one have none.
#[test]
fn a_chunk_grows_in_a_file_that_became_small() {
    let ours = our_schunks();
    let folder = Folder::new("smaller");
    let path = folder.join("frame.b2frame");
    let cparams = blosc2_cparams {
        typesize: 8,
        blocksize: 1000,
        ..blosc2_cparams::defaults()
    };
    let s = ours.create(true, Some(&path), &cparams, 1, None);
    let s = s.expect("a new super-chunk");
    let chunk = 40_000;
    let mut data = Kind::Timestamps.bytes(2 * chunk, 8);
    data.extend(Kind::Random.bytes(26 * chunk, 8));
    for chunk in data.chunks(chunk) {
        assert!(s.append_buffer(chunk, chunk.len() as i32) > 0);
    }
    let mut write = |at: usize, nbytes: usize, seed| {
        let new = Kind::Random.bytes(nbytes, seed);
        data[8 * at..][..nbytes].copy_from_slice(&new);
        let stop = (at + nbytes / 8) as i64;
        assert_eq!(s.set_slice(at as i64, stop, &new), 0, "{at}");
    };
    // The chunk moves, and has room behind it.
    write(5100, 2000, 1);
    assert!(stored(&s) > 1 << 20);
    assert_eq!(s.delete_chunk(27), 27);
    assert!(stored(&s) < 1 << 20);
    for turn in 0..8 {
        write(6100 + 500 * turn, 160, turn as u64);
    }
    drop(s);
    data.truncate(27 * chunk);
    for lib in libraries() {
        let mut buffer = vec![0; data.len()];
        let other = lib.open_path(&path).expect("a frame that opens");
        assert_eq!(other.get_slice(0, data.len() as i64 / 8, &mut buffer), 0);
        assert!(buffer == data, "{}", lib.lib.name);
    }
}

#[test]
fn special_values_without_end_are_not_stored_one_by_one() {
    let ours = our_schunks();
    let s = create(ours, true, None, 8);
    let (chunks, chunk) = (3 << 20, vec![1; 80]);
    assert_eq!(s.fill_special(10 * chunks, 1, 80), chunks);
    assert_eq!(s.append_buffer(&chunk[..40], 40), chunks + 1);
    // From here on sizes would differ, and every chunk would need room.
    let rc = s.append_buffer(&chunk, 80);
    assert_eq!(
        rc,
        blosc2::capi::constants::BLOSC2_ERROR_MAX_BUFSIZE_EXCEEDED.into()
    );
    assert_eq!(s.fields().nchunks, chunks + 1);
    let mut buffer = vec![2; 120];
    assert_eq!(
        s.get_slice(10 * chunks - 10, 10 * chunks + 5, &mut buffer),
        0
    );
    assert!(buffer[..80] == [0; 80] && buffer[80..] == chunk[..40]);
}

/// Which chunk's bytes each of four chunks has, and how the index says so.
const SHARED: [(&str, [usize; 4]); 6] = [
    ("listed", [0, 1, 1, 3]),
    ("listed", [0, 0, 2, 2]),
    ("listed", [3, 2, 1, 3]),
    ("listed", [1, 1, 1, 3]),
    ("listed", [1, 1, 1, 1]),
    ("repeated", [1, 1, 1, 1]),
];

#[test]
fn chunks_that_share_bytes_are_not_changed_where_they_are() {
    // Random numbers are stored as they are, so that any byte of them could be changed in place.
    for kind in [Kind::Timestamps, Kind::Random] {
        change_chunks_that_share_bytes(kind);
    }
}

fn change_chunks_that_share_bytes(kind: Kind) {
    let ours = our_schunks();
    let folder = Folder::new("shared");
    let (path, copy) = (folder.join("frame.b2frame"), folder.join("copy.b2frame"));
    let s = create(ours, true, Some(&path), 8);
    let items = 1000;
    for seed in 1..5 {
        let data = kind.bytes(8 * items, seed);
        assert!(s.append_buffer(&data, data.len() as i32) > 0);
    }
    // A write has the index stored as it is, so that its offsets can be changed.
    assert_eq!(s.set_slice(0, 1, &[7; 8]), 0);
    let offsets = s.offsets().expect("a frame");
    let file = std::fs::read(&path).expect("a file");
    let list =
        |offsets: &[i64]| -> Vec<u8> { offsets.iter().flat_map(|at| at.to_le_bytes()).collect() };
    let stored = list(&offsets);
    let mut places = file.windows(stored.len());
    let at = places.rposition(|window| window == stored);
    let at = at.expect("the index");
    let data = |s: &Schunk| {
        [0, 1, 2, 3].map(|nchunk| {
            let mut data = vec![0; 8 * items];
            assert_eq!(s.decompress_chunk(nchunk, &mut data), 8 * items as i64);
            data
        })
    };
    for (form, chunks) in SHARED {
        let shared = chunks.map(|chunk| offsets[chunk]);
        for nchunk in 0..4 {
            let mut file = file.clone();
            let (from, index) = match form {
                "listed" => (at, list(&shared)),
                _ => {
                    let (offset, count) = (shared[0], 4);
                    let index = Offsets::Repeated { offset, count }.encode();
                    (at - EXTENDED_HEADER_LENGTH, index.expect("memory").to_vec())
                }
            };
            file[from..from + index.len()].copy_from_slice(&index);
            std::fs::write(&copy, file).expect("a file");
            let what = format!("{kind:?}, {form} {chunks:?}, change of {nchunk}");
            let s = ours.open_path(&copy).expect("a frame that opens");
            assert_eq!(s.offsets().as_deref(), Some(&shared[..]), "{what}");
            let mut expected = data(&s);
            let start = (nchunk * items) as i64 + 10;
            assert_eq!(s.set_slice(start, start + 1, &[9; 8]), 0, "{what}");
            expected[nchunk][80..88].fill(9);
            assert!(data(&s) == expected, "{what}");
        }
    }
}

/// A damaged chunk may say that it has more bytes than it has, so that all chunks together say more
/// than the frame has.
#[test]
fn a_buffer_with_a_chunk_that_says_it_is_longer_is_opened_and_copied() {
    let size = 8000;
    for lib in libraries() {
        let s = create(lib, true, None, 8);
        for seed in 0..4 {
            let data = Kind::Timestamps.bytes(size, seed);
            assert!(s.append_buffer(&data, size as i32) > 0);
        }
        let (len, mut frame) = s.to_buffer();
        assert!(len > 0);
        let header_len = Extent::parse(&frame).expect("sizes").header_len as usize;
        let offsets = s.offsets().expect("a frame");
        let field = header_len + offsets[1] as usize + 12..header_len + offsets[1] as usize + 16;
        let longer = (offsets[3] - offsets[1] - 1) as u32;
        frame[field].copy_from_slice(&longer.to_le_bytes());
        for copy in [false, true] {
            let s = lib.open_buffer(&frame, copy);
            let s = s.unwrap_or_else(|| panic!("{}, {copy}: it does not open", lib.lib.name));
            for seed in 0..4 {
                let mut data = vec![0; size];
                let read = s.decompress_chunk(seed as i64, &mut data);
                assert_eq!(read, size as i64, "{}, {copy}", lib.lib.name);
                assert!(
                    data == Kind::Timestamps.bytes(size, seed),
                    "{}",
                    lib.lib.name
                );
            }
        }
    }
}

/// Chunks of NaNs whose items have another size than NaNs cannot be decompressed, but can be copied
/// and taken away.
#[test]
fn nans_of_another_size_are_chunks_all_the_same() {
    const NANS: i32 = 2;
    let folder = Folder::new("nans");
    let results = libraries().into_iter().map(|lib| {
        let mut results = Vec::new();
        for (number, typesize) in [1, 3, 16].into_iter().enumerate() {
            for place in ["memory", "frame", "file", "directory"] {
                let path = folder.join(&format!("{}-{place}-{number}", lib.lib.name));
                let path = ["file", "directory"].contains(&place).then_some(&*path);
                let contiguous = ["frame", "file"].contains(&place);
                let s = create(lib, contiguous, path, typesize);
                assert_eq!(s.fill_special(250, NANS, 100 * typesize), 3, "{place}");
                let mut data = vec![0; 300 * typesize as usize];
                let set = s.set_slice(20, 50, &vec![1; 30 * typesize as usize]);
                let read = s.decompress_chunk(1, &mut data);
                let copied = lib.open_buffer(&s.to_buffer().1, true);
                let copied = copied.map(|copy| (copy.get_chunk(2).rc, copy.get().nchunks));
                let chunks = [s.get_chunk(1).rc, s.get_lazychunk(2).rc];
                results.push((
                    place,
                    typesize,
                    set,
                    read,
                    chunks,
                    copied,
                    s.delete_chunk(1),
                ));
            }
        }
        results
    });
    let results: Vec<_> = results.collect();
    for result in &results[0] {
        assert!(result.5.is_some(), "a copy: {result:?}");
    }
    assert!(
        results.iter().all(|other| *other == results[0]),
        "{results:#?}"
    );
}
