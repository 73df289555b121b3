//! Handles see what others have changed, and lose no change, whatever the file system's clock does:
//! it may stand still, as where times have seconds, go back, or refuse to be set. The reference
//! changes the frame in between.

use blosc2::capi::types::blosc2_cparams;
use oxiblosc_testing::folder::Folder;
use oxiblosc_testing::needs::skip;
use oxiblosc_testing::random::Rng;
use oxiblosc_testing::schunk::{our_schunks, reference_schunks};
use oxiblosc_testing::schunk_calls::Schunk;
use std::fs::File;
use std::path::Path;
use std::time::{Duration, SystemTime};

/// Bytes of a chunk's data, which do not compress: each chunk that replaces another has its length.
const CHUNK: usize = 4000;

/// What the file system's clock does.
#[derive(Clone, Copy, Debug)]
enum Clock {
    Right,
    StandsStill,
    /// It advances with each fiftieth change.
    Seconds,
    GoesBack,
}

impl Clock {
    /// Makes it look as if the file was last written to when this clock says.
    fn stamp(self, file: &Path, change: u32) {
        let then = SystemTime::UNIX_EPOCH + Duration::from_secs(1 << 30);
        let time = match self {
            Self::Right => return,
            Self::StandsStill => then,
            Self::Seconds => then + Duration::from_secs(u64::from(change / 50)),
            Self::GoesBack => then - Duration::from_secs(u64::from(change)),
        };
        let file = File::options().write(true).open(file).expect("opens");
        file.set_modified(time).expect("sets it");
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
struct Content {
    chunks: Vec<Vec<u8>>,
    vlmeta: Vec<u8>,
    meta: Vec<u8>,
}

impl Content {
    fn of(s: &Schunk) -> Result<Self, String> {
        let count = match s.refresh() {
            rc if rc < 0 => return Err(format!("refresh: {rc}")),
            _ => s.get().nchunks,
        };
        let chunk = |n| {
            let mut data = vec![0; CHUNK];
            match s.decompress_chunk(n, &mut data) {
                rc if rc == CHUNK as i64 => Ok(data),
                rc => Err(format!("chunk {n} of {count}: {rc}")),
            }
        };
        let meta = s.metalayers().into_iter().next();
        Ok(Self {
            chunks: (0..count).map(chunk).collect::<Result<_, _>>()?,
            vlmeta: s.vlmeta_get(c"vl").1,
            meta: meta.ok_or("no metalayer")?.1,
        })
    }
}

fn noise(random: &mut Rng, len: usize) -> Vec<u8> {
    (0..len).map(|_| random.next() as u8).collect()
}

fn chunk_of(data: &[u8]) -> Vec<u8> {
    let memory = our_schunks().create(true, None, &blosc2_cparams::defaults(), 1, None);
    let memory = memory.expect("memory");
    assert_eq!(memory.append_buffer(data, CHUNK as i32), 1);
    memory.get_chunk(0).bytes
}

/// Makes a random change through a handle, and the same of `content`. Only a few change the length
/// of the frame.
fn change(s: &Schunk, content: &mut Content, random: &mut Rng) -> Result<(), String> {
    let count = content.chunks.len();
    let at = random.below(count);
    let data = noise(random, CHUNK);
    let rc = match random.below(8) {
        0 => {
            content.chunks.push(data.clone());
            s.append_buffer(&data, CHUNK as i32)
        }
        1 if count > 2 => {
            content.chunks.remove(at);
            s.delete_chunk(at as i64)
        }
        2 => {
            content.vlmeta = noise(random, 20);
            s.vlmeta_update(c"vl", &content.vlmeta)
        }
        3 => {
            content.meta = noise(random, 20);
            s.meta_update(c"meta", &content.meta)
        }
        4 => {
            content.chunks[at][100..200].copy_from_slice(&data[..100]);
            let start = (at * CHUNK + 100) as i64;
            s.set_slice(start, start + 100, &data[..100])
        }
        5 => {
            content.chunks.reverse();
            let order: Vec<i64> = (0..count as i64).rev().collect();
            s.reorder(&order)
        }
        _ => {
            let rc = s.update_chunk(at as i64, &chunk_of(&data), true);
            content.chunks[at] = data;
            rc
        }
    };
    match rc {
        rc if rc < 0 => Err(format!("a change: {rc}")),
        _ => Ok(()),
    }
}

/// Two handles change a frame in turns, a third and the other one look at it after each change.
fn follow_each_other(contiguous: bool, chunks: usize, clock: Clock, by_reference: bool) {
    let context = format!("{contiguous} {chunks} {clock:?} {by_reference}");
    let folder = Folder::new("clocks");
    let path = folder.join("frame");
    let file = match contiguous {
        true => path.clone(),
        false => path.join("chunks.b2frame"),
    };
    let mut random = Rng(chunks as u64 + clock as u64);
    let lib = our_schunks();
    let mut content = Content {
        vlmeta: vec![1; 20],
        meta: vec![2; 20],
        ..Content::default()
    };
    let cparams = blosc2_cparams {
        typesize: 1,
        ..blosc2_cparams::defaults()
    };
    let created = lib.create(contiguous, Some(&path), &cparams, 1, None);
    let created = created.expect("a frame");
    assert_eq!(created.meta_add(c"meta", &content.meta), 0, "{context}");
    for n in 0..chunks {
        content.chunks.push(noise(&mut random, CHUNK));
        let rc = created.append_buffer(&content.chunks[n], CHUNK as i32);
        assert_eq!(rc, n as i64 + 1, "{context}");
    }
    assert!(created.vlmeta_add(c"vl", &content.vlmeta) >= 0, "{context}");
    drop(created);
    clock.stamp(&file, 0);
    let open = || lib.open_path(&path).expect(&context);
    let handles = [open(), open(), open()];
    let rounds = if chunks > 100 { 20 } else { 100 };
    for round in 1..=rounds {
        let writer = random.below(2);
        let by_reference = by_reference && round % 2 == 0;
        let reference = reference_schunks().filter(|_| by_reference);
        let other = reference.map(|lib| lib.open_path(&path).expect(&context));
        let s = other.as_ref().unwrap_or(&handles[writer]);
        let before = content.clone();
        change(s, &mut content, &mut random).expect(&context);
        drop(other);
        clock.stamp(&file, round);
        for (n, handle) in handles.iter().enumerate() {
            let seen = Content::of(handle).expect(&context);
            assert!(
                seen == content,
                "{context}: round {round}, by {writer}: handle {n} is stale: {}",
                seen == before
            );
        }
    }
}

#[test]
fn changes_are_seen_whatever_the_clock_says() {
    let by_reference = match reference_schunks() {
        Some(_) => &[false, true][..],
        None => {
            skip("no reference");
            &[false]
        }
    };
    for (contiguous, chunks) in [(true, 5), (true, 400), (false, 5)] {
        for clock in [
            Clock::Right,
            Clock::StandsStill,
            Clock::Seconds,
            Clock::GoesBack,
        ] {
            for by_reference in by_reference {
                follow_each_other(contiguous, chunks, clock, *by_reference);
            }
        }
    }
}
