//! A frame in memory remembers which blocks it has checked. What comes in later is checked all the
//! same.

use oxiblosc::schunk::chunks::Position;
use oxiblosc::{CParams, Place, Protection, StorageParams, SuperChunk, codec};

const CHUNK: usize = 300_000;

/// Data that LZ4 makes smaller, or none that it does.
fn data(seed: u32, noise: bool) -> Vec<u8> {
    let mut state = u64::from(seed);
    let items = (0..CHUNK as u32 / 4).map(|i| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let random = (state >> 32) as u32;
        i.wrapping_add(seed) ^ if noise { random } else { random >> 28 }
    });
    items.flat_map(u32::to_le_bytes).collect()
}

/// A frame of four chunks, all of which were read and so are known to be right.
fn read_frame(noise: bool) -> (SuperChunk, Vec<Vec<u8>>) {
    let cparams = CParams {
        typesize: 4,
        codec: codec::LZ4,
        ..CParams::default()
    };
    let frame = SuperChunk::create(StorageParams {
        place: Place::Frame,
        cparams,
        protection: Protection::with_checksums(true),
        ..StorageParams::default()
    });
    let frame = frame.expect("a frame");
    let all: Vec<Vec<u8>> = (1..=4).map(|seed| data(seed, noise)).collect();
    for chunk in &all {
        frame.append_data(chunk).expect("an append");
    }
    for (nchunk, chunk) in all.iter().enumerate() {
        assert_eq!(read(&frame, nchunk).as_ref(), Some(chunk));
    }
    (frame, all)
}

fn read(frame: &SuperChunk, nchunk: usize) -> Option<Vec<u8>> {
    let mut dest = vec![0; CHUNK];
    let read = frame.decompress_chunk(nchunk, &mut dest);
    read.is_ok().then_some(dest)
}

/// A chunk that is damaged in its last block.
fn damaged(frame: &SuperChunk) -> Vec<u8> {
    let mut chunk = frame.read().unwrap().chunk(0).unwrap().to_vec();
    let at = chunk.len() - 1000;
    chunk[at] ^= 1;
    chunk
}

#[test]
fn chunks_that_come_later_are_checked() {
    for noise in [false, true] {
        for place in 0..3 {
            let (frame, mut all) = read_frame(noise);
            let bad = damaged(&frame);
            let wrong = match place {
                0 => {
                    frame.put_chunk(Position::End, &bad).unwrap();
                    all.push(Vec::new());
                    4
                }
                1 => {
                    frame.put_chunk(Position::Before(2), &bad).unwrap();
                    all.insert(2, Vec::new());
                    2
                }
                _ => {
                    frame.put_chunk(Position::Over(1), &bad).unwrap();
                    1
                }
            };
            // Twice: a check that fails is not remembered as one that was made.
            for _ in 0..2 {
                for (nchunk, chunk) in all.iter().enumerate() {
                    let expected = (nchunk != wrong).then_some(chunk);
                    assert_eq!(read(&frame, nchunk).as_ref(), expected, "{place} {nchunk}");
                }
            }
            let order: Vec<usize> = (0..all.len()).rev().collect();
            frame.reorder(&order).unwrap();
            assert!(read(&frame, all.len() - 1 - wrong).is_none());
            frame.delete_chunk(0).unwrap();
            let moved = (all.len() - 1 - wrong).checked_sub(1);
            assert!(moved.is_none_or(|nchunk| read(&frame, nchunk).is_none()));
        }
    }
}

/// Whose header says by damage that its data are all zeros, or of another kind that needs no bytes:
/// the index would tell of those alone.
#[test]
fn a_damaged_chunk_does_not_become_one_of_special_values() {
    for noise in [false, true] {
        for kind in [0x10, 0x20, 0x40] {
            let (frame, all) = read_frame(noise);
            let mut bad = frame.read().unwrap().chunk(0).unwrap().to_vec();
            bad[31] ^= kind;
            frame.put_chunk(Position::End, &bad).unwrap();
            frame.put_chunk(Position::Over(1), &bad).unwrap();
            let again = SuperChunk::from_frame(frame.to_frame().unwrap(), 1).unwrap();
            for frame in [&frame, &again] {
                for (nchunk, wanted) in [(0, Some(&all[0])), (1, None), (4, None)] {
                    assert_eq!(read(frame, nchunk).as_ref(), wanted, "{kind} {nchunk}");
                }
            }
        }
    }
}

#[test]
fn parts_of_a_damaged_block_are_right_or_errors() {
    for noise in [false, true] {
        let (frame, all) = read_frame(noise);
        frame
            .put_chunk(Position::Over(1), &damaged(&frame))
            .unwrap();
        let wanted = &all[0];
        let mut errors = 0;
        for round in 0..2 {
            for from in (0..CHUNK - 4000).step_by(4000) {
                let mut part = vec![0; 4000];
                let at = (CHUNK + from) as u64;
                match frame.read_bytes(at..at + 4000, &mut part) {
                    Ok(()) => assert_eq!(part, wanted[from..from + 4000], "{round} {from}"),
                    Err(_) => errors += 1,
                }
            }
        }
        assert!(errors >= 2 && (!noise || errors <= 4), "{errors}");
    }
}

#[test]
fn slices_are_written_into_what_was_checked() {
    for noise in [false, true] {
        let (frame, all) = read_frame(noise);
        let mut all = all.concat();
        for n in 0..200usize {
            let at = n * 7919 * 4 % (all.len() - 4000) / 4 * 4;
            let from = (at + 123_456) % (all.len() - 4000);
            let new = all[from..from + 4000].to_vec();
            all[at..at + 4000].copy_from_slice(&new);
            frame.write_bytes(at as u64, &new).unwrap();
        }
        for frame in [frame.to_frame().unwrap(), frame.to_frame().unwrap()] {
            // A new handle checks all.
            let again = SuperChunk::from_frame(frame, 1).unwrap();
            for _ in 0..2 {
                let mut dest = vec![0; all.len()];
                again.read_bytes(0..all.len() as u64, &mut dest).unwrap();
                assert_eq!(dest, all);
            }
        }
        let mut dest = vec![0; all.len()];
        frame.read_bytes(0..all.len() as u64, &mut dest).unwrap();
        assert_eq!(dest, all);
    }
}
