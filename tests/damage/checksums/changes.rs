//! What is damaged stays damaged, whatever is changed beside it: no change gives new checksums to
//! bytes that were not checked.

use crate::checksums::{Files, read_files, write_files};
use oxiblosc::schunk::chunks::Position;
use oxiblosc::{CParams, Compressor, Error, Place, Protection, StorageParams, SuperChunk};
use oxiblosc_base::memory::Buffer;
use oxiblosc_chunk::encode::ChunkInput;
use oxiblosc_testing::data::Rng;
use oxiblosc_testing::folder::Folder;
use std::path::Path;

const BLOCK: usize = 8192;
const CHUNK: usize = 8 * BLOCK;
const CHUNKS: usize = 4;
/// Bytes that are read at once.
const PIECE: usize = 4096;
/// The block that is damaged, of the second chunk.
const DAMAGED: usize = 5;

type Chunks = Vec<Vec<u8>>;

fn data(rng: &mut Rng, noise: u32) -> Vec<u8> {
    let mask = ((1u64 << noise) - 1) as u32;
    let items = (0..CHUNK as u32 / 4).map(|i| (i * 7) ^ (rng.next() as u32 & mask));
    items.flat_map(u32::to_le_bytes).collect()
}

/// Codec, last filter, bits of noise in an item, and whether there is a dictionary.
const KINDS: [(u8, u8, u32, bool); 6] = [
    (1, 1, 3, false),
    (1, 1, 32, false),
    (5, 0, 5, true),
    (0, 2, 9, false),
    (4, 3, 12, false),
    (1, 0, 2, true),
];

fn cparams(kind: usize) -> CParams {
    let (codec, filter, _, use_dict) = KINDS[kind];
    let mut cparams = CParams {
        codec,
        use_dict,
        typesize: 4,
        blocksize: BLOCK as i32,
        ..CParams::default()
    };
    cparams.filters = [0; 6];
    cparams.filters[5] = filter;
    cparams
}

pub const CHECKED: Protection = Protection {
    checksums: true,
    durable: false,
    locking: false,
};

fn storage(place: Place<'_>, kind: usize) -> StorageParams<'_> {
    StorageParams {
        place,
        cparams: cparams(kind),
        protection: CHECKED,
        ..StorageParams::default()
    }
}

/// The files of a frame that is damaged, and its data before that.
fn damaged(kind: usize, path: &Path, sparse: bool) -> (Files, Chunks) {
    let place = match sparse {
        true => Place::Directory(path),
        false => Place::File(path),
    };
    let frame = SuperChunk::create(storage(place, kind)).expect("a frame");
    let mut rng = Rng(kind as u64 + 1);
    let chunks: Chunks = (0..CHUNKS).map(|_| data(&mut rng, KINDS[kind].2)).collect();
    for chunk in &chunks {
        frame.append_data(chunk).expect("an append");
    }
    let chunk = frame
        .read()
        .expect("a state")
        .chunk(1)
        .expect("a chunk")
        .to_vec();
    let at = 32 + 4 * DAMAGED;
    let start = i32::from_le_bytes(chunk[at..at + 4].try_into().expect("four")) as usize;
    drop(frame);
    let mut files = read_files(path);
    for (_, bytes) in &mut files {
        if let Some(at) = bytes.windows(chunk.len()).position(|part| part == chunk) {
            bytes[at + start + 20] ^= 0x10;
        }
    }
    (files, chunks)
}

/// How many pieces of the data give an error; all others must be right.
fn errors(frame: &SuperChunk, chunks: &Chunks, what: &str) -> usize {
    assert_eq!(frame.nchunks(), Ok(chunks.len()), "{what}");
    let all = chunks.concat();
    let mut dest = vec![0; CHUNK];
    let mut errors = 0;
    for at in (0..all.len()).step_by(PIECE) {
        let range = at as u64..(at + PIECE) as u64;
        match frame.read_bytes(range, &mut dest[..PIECE]) {
            Ok(()) => assert!(dest[..PIECE] == all[at..at + PIECE], "{what}: at {at}"),
            Err(_) => errors += 1,
        }
    }
    for (nchunk, chunk) in chunks.iter().enumerate() {
        let read = frame.decompress_chunk(nchunk, &mut dest);
        assert!(read.is_err() || dest == *chunk, "{what}: chunk {nchunk}");
        let whole = (nchunk * CHUNK) as u64..((nchunk + 1) * CHUNK) as u64;
        let read = frame.read_bytes(whole, &mut dest);
        assert!(read.is_err() || dest == *chunk, "{what}: all of {nchunk}");
    }
    errors
}

/// Writes bytes to a place of the data.
fn write(frame: &SuperChunk, chunks: &mut Chunks, at: usize, new: &[u8]) -> Result<(), Error> {
    frame.write_bytes(at as u64, new)?;
    for (i, byte) in new.iter().enumerate() {
        chunks[(at + i) / CHUNK][(at + i) % CHUNK] = *byte;
    }
    Ok(())
}

pub fn noise(len: usize, seed: u64) -> Vec<u8> {
    let mut rng = Rng(seed);
    (0..len).map(|_| rng.next() as u8).collect()
}

type Change = fn(&SuperChunk, &mut Chunks) -> Result<(), Error>;

/// What is done to a frame: each leaves the block that is damaged as it is.
const CHANGES: [(&str, Change); 14] = [
    ("another block, a little", |frame, chunks| {
        let new: Vec<u8> = chunks[1][100..148].iter().map(|byte| byte ^ 1).collect();
        write(frame, chunks, CHUNK + 100, &new)
    }),
    ("another block, noise", |frame, chunks| {
        write(frame, chunks, CHUNK + 5000, &noise(2500, 1))
    }),
    ("other blocks, zeros", |frame, chunks| {
        write(frame, chunks, CHUNK, &vec![0; 3 * BLOCK + 77])
    }),
    ("all other blocks, one after the other", |frame, chunks| {
        for nblock in (0..8).filter(|nblock| *nblock != DAMAGED) {
            for part in 0..3 {
                let at = CHUNK + nblock * BLOCK + part * 2500;
                write(frame, chunks, at, &noise(2400, at as u64))?;
            }
        }
        Ok(())
    }),
    ("another page of the block", |frame, chunks| {
        write(
            frame,
            chunks,
            CHUNK + DAMAGED * BLOCK + 6000,
            &noise(300, 2),
        )
    }),
    ("another chunk", |frame, chunks| {
        write(frame, chunks, 0, &noise(CHUNK, 3))
    }),
    ("an append", |frame, chunks| {
        let new = noise(CHUNK, 4);
        frame.append_data(&new)?;
        chunks.push(new);
        Ok(())
    }),
    ("an insertion", |frame, chunks| {
        let new = noise(CHUNK, 5);
        let chunk = frame.compress(ChunkInput::Buffer(&new), true)?;
        frame.put_chunk(Position::Before(1), &chunk)?;
        chunks.insert(1, new);
        Ok(())
    }),
    ("a deletion", |frame, chunks| {
        frame.delete_chunk(0)?;
        chunks.remove(0);
        Ok(())
    }),
    ("another order", |frame, chunks| {
        frame.reorder(&[3, 2, 1, 0])?;
        chunks.reverse();
        Ok(())
    }),
    ("a metalayer", |frame, _| {
        let encoder = Compressor::new(CParams::default());
        frame
            .add_vlmetalayer(b"name", &noise(900, 6), &encoder)
            .map(drop)
    }),
    ("checksums once more", |frame, _| frame.add_checksums()),
    ("a transaction", |frame, chunks| {
        let transaction = frame.transaction()?;
        let mut changed = chunks.clone();
        write(frame, &mut changed, CHUNK + 10, &noise(700, 7))?;
        write(frame, &mut changed, 3 * CHUNK - 500, &noise(1000, 8))?;
        frame.delete_chunk(0)?;
        transaction.commit()?;
        changed.remove(0);
        *chunks = changed;
        Ok(())
    }),
    ("nothing", |_, _| Ok(())),
];

#[test]
fn no_change_makes_damaged_bytes_right() {
    let folder = Folder::new("checksums-changes");
    let path = folder.join("frame");
    for (kind, place) in (0..KINDS.len()).flat_map(|kind| (0..3).map(move |place| (kind, place))) {
        let (files, before) = damaged(kind, &path, place == 1);
        let open = || match place {
            2 => SuperChunk::from_frame(Buffer::copy_of(&files[0].1)?, 1),
            _ => SuperChunk::open(&path, 0, 1, Protection::default()),
        };
        let mut created = 0;
        for (name, change) in CHANGES {
            let what = format!("kind {kind}, place {place}, {name}");
            // Once with a handle that has read what it could, and once with one that has not.
            for reads in [true, false] {
                write_files(&path, &files);
                let frame = open().expect("it opens");
                if reads {
                    assert!(errors(&frame, &before, &what) > 0, "{what}");
                }
                let mut chunks = before.clone();
                // What fails half way has told how far it came.
                created += usize::from(change(&frame, &mut chunks).is_ok());
                assert!(errors(&frame, &chunks, &what) > 0, "{what}");
                copies(&frame, &chunks, kind, &folder.join("copy"), &what);
                // Without what changes have left free.
                let _ = frame.close_frame();
                if place != 2 {
                    let again = open().expect("it opens");
                    assert!(errors(&again, &chunks, &what) > 0, "{what}, again");
                }
            }
        }
        assert!(created > CHANGES.len(), "{created}");
        write_files(&path, &vec![(String::new(), Vec::new())]);
        std::fs::remove_file(&path).expect("a file");
    }
}

/// Copies have the same damage. Those with other parameters need the data, and may fail.
fn copies(frame: &SuperChunk, chunks: &Chunks, kind: usize, path: &Path, what: &str) {
    let copy = frame
        .to_frame()
        .unwrap_or_else(|error| panic!("{what}: {error:?}"));
    let copy = SuperChunk::from_frame(copy, 1).expect("a frame");
    assert!(errors(&copy, chunks, what) > 0, "{what}, to a buffer");
    for other in [kind, (kind + 1) % KINDS.len()] {
        let copy = frame.copy_to(storage(Place::Directory(path), other));
        if let Ok(copy) = copy {
            assert!(errors(&copy, chunks, what) > 0, "{what}, copied");
            drop(copy);
            std::fs::remove_dir_all(path).expect("a directory");
        }
    }
}
