//! Chunks of every kind, damaged in every way, through every function that reads chunks.

use super::{memory, panics_are_fatal};
use oxiblosc_chunk::header::{ChunkHeader, MAX_BLOCKSIZE, MAX_BUFFERSIZE, flags2, offset};
use oxiblosc_testing::fuzz::arrays;
use oxiblosc_testing::fuzz::calls::{Decompression, Getitem, c_len, decompress, getitem};
use oxiblosc_testing::fuzz::calls::{vlchunk_get_nblocks, vldecompress, vldecompress_block};
use oxiblosc_testing::fuzz::numbers::Random;
use oxiblosc_testing::fuzz::seeds::{self, Seed};
use oxiblosc_testing::fuzz::targets::{self, MASK, OPTIONS, POSTFILTER, REPAIR};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// The most memory that the process may hold at any time, with the 256 MiB of freed memory that
/// AddressSanitizer keeps.
pub const RESIDENT: usize = 768 << 20;
/// Longer than any chunk may take, even on a busy machine under a sanitizer.
const PATIENCE: Duration = Duration::from_secs(60);

pub fn number(name: &str, default: usize) -> usize {
    match std::env::var(name) {
        Ok(value) => value.replace('_', "").parse().expect(name),
        Err(_) => default,
    }
}

/// Numbers that sizes and offsets are set to.
fn awkward(random: &mut Random, len: usize) -> i32 {
    let len = c_len(len);
    let around = random.one_of(&[
        0,
        len,
        32,
        16,
        1024,
        4000,
        65_536,
        i32::MAX,
        i32::MIN,
        536_866_816,
    ]);
    match random.below(4) {
        0 => random.bits() as i32,
        1 => random.below(len as usize + 64) as i32,
        _ => around.wrapping_add(random.below(9) as i32 - 4),
    }
}

fn put(chunk: &mut [u8], at: usize, value: i32) {
    if let Some(place) = chunk.get_mut(at..at + 4) {
        place.copy_from_slice(&value.to_le_bytes());
    }
}

/// One way to damage a chunk.
fn damage(chunk: &mut Vec<u8>, other: &[u8], random: &mut Random) {
    let len = chunk.len();
    if len == 0 {
        return;
    }
    let overhead = if chunk.get(2).is_some_and(|flags| flags & 5 == 5) {
        32
    } else {
        16
    };
    let body = |random: &mut Random| {
        overhead.min(len - 1) + random.below(len.saturating_sub(overhead).max(1))
    };
    match random.below(12) {
        // Bits, bytes.
        0 => chunk[random.below(len)] ^= 1 << random.below(8),
        1 => {
            let at = body(random);
            chunk[at] = random.one_of(&[0, 1, 0x7f, 0x80, 0xff, random.0 as u8]);
        }
        // Cut short, or with something behind it.
        2 => chunk.truncate(random.below(len + 1)),
        3 => chunk.extend(&other[..random.below(other.len().min(64) + 1)]),
        // Sizes in the header.
        4 => {
            let at = random.one_of(&[offset::NBYTES, offset::BLOCKSIZE, offset::CBYTES]);
            let value = awkward(random, len);
            put(chunk, at, value);
        }
        // Everything else in the header.
        5 => {
            let at = random.below(overhead.min(len));
            chunk[at] = match at {
                2 => random.bits() as u8,
                3 => random.one_of(&[0, 1, 2, 3, 4, 8, 16, 255]),
                16..=21 => random.one_of(&[0, 1, 2, 3, 4, 5, 31, 32, 160, 200, 201, 255]),
                30 => random.one_of(&[0, flags2::VL_BLOCKS, 2, 255]),
                31 => random.one_of(&[0, 0x10, 0x20, 0x30, 0x40, 0x50, 0x70, 0x80, 1, 8, 0x11, 9]),
                _ => random.bits() as u8,
            };
        }
        // Block starts.
        6 | 7 => {
            let at = overhead + 4 * random.below(8);
            let value = awkward(random, len);
            put(chunk, at, value);
        }
        // The size of a stream: where a block starts, or anywhere.
        8 => {
            let start = overhead + 4 * random.below(8);
            let at = match chunk.get(start..start + 4) {
                Some(raw) => i32::from_le_bytes([raw[0], raw[1], raw[2], raw[3]]) as usize,
                None => body(random),
            };
            let value = match random.below(3) {
                0 => -(random.below(300) as i32),
                _ => awkward(random, len),
            };
            if at < len {
                put(chunk, at, value);
            }
        }
        // Pieces of another chunk: in place of ours, or in between.
        9 => {
            let (from, at) = (random.below(other.len()), random.below(len));
            let n = random.below((other.len() - from).min(len - at) + 1);
            chunk[at..at + n].copy_from_slice(&other[from..from + n]);
        }
        10 => {
            let (from, at) = (random.below(other.len()), body(random));
            let n = random.below((other.len() - from).min(200) + 1);
            chunk.splice(at..at, other[from..from + n].iter().copied());
        }
        // Pieces of its own that are missing.
        _ => {
            let at = body(random);
            let n = random.below((len - at).min(200) + 1);
            chunk.drain(at..at + n);
        }
    }
}

/// The input of the fuzz targets that is number `index`.
fn mutant(seeds: &[Seed], index: usize) -> (Vec<u8>, &str) {
    let mut random = Random(index as u64);
    let seed = &seeds[random.below(seeds.len())];
    let other = &seeds[random.below(seeds.len())].chunk;
    let mut chunk = seed.chunk.clone();
    for _ in 0..random.one_of(&[1, 1, 1, 2, 3, 8]) {
        damage(&mut chunk, other, &mut random);
    }
    let mut input = vec![random.bits() as u8 & (REPAIR | POSTFILTER | MASK)];
    input.extend((1..OPTIONS).map(|_| random.bits() as u8));
    input.extend(chunk);
    (input, &seed.name)
}

/// The most bytes that an input may make the library, and the fuzz targets around it, allocate:
/// buffers for the data that the header claims (as far as the targets follow it), for the blocks on
/// their way through the filters of two workers, and for a postfilter's four blocks each.
fn justified(input: &[u8]) -> usize {
    const CLAIM: usize = 8 << 20;
    let nbytes = match ChunkHeader::parse(&input[OPTIONS..]) {
        Ok(header) => header.nbytes.min(CLAIM),
        Err(_) => 0,
    };
    // A header that is repaired may then claim this much.
    let nbytes = if input[0] & REPAIR != 0 {
        nbytes.max(1 << 20)
    } else {
        nbytes
    };
    (256 << 10) + 24 * nbytes + 4 * input.len()
}

/// Whether a damaged chunk still decompresses.
fn decodes(chunk: &[u8]) -> bool {
    let header = ChunkHeader::parse(chunk).ok();
    let Some(header) = header.filter(|header| header.nbytes <= 1 << 20) else {
        return false;
    };
    decompress(
        Decompression::on(1),
        None,
        chunk,
        &mut vec![0; header.nbytes],
    ) >= 0
}

/// Ends the process when one chunk takes too long; a test that hangs would not say on which.
fn watch(current: &'static AtomicUsize) {
    std::thread::spawn(move || {
        let mut seen = (usize::MAX, Instant::now());
        loop {
            std::thread::sleep(Duration::from_secs(1));
            let index = current.load(Relaxed);
            if index != seen.0 {
                seen = (index, Instant::now());
            } else if seen.1.elapsed() > PATIENCE {
                eprintln!("mutated chunk {index} takes more than {PATIENCE:?}");
                std::process::abort();
            }
        }
    });
}

#[test]
fn mutated_chunks() {
    let _alone = memory::alone();
    static CURRENT: AtomicUsize = AtomicUsize::new(0);
    panics_are_fatal(|| format!("mutated chunk {}", CURRENT.load(Relaxed)));
    let count = number("OXIBLOSC_HOSTILE", 20_000);
    let first = number("OXIBLOSC_HOSTILE_FIRST", 0);
    let seeds = seeds::all();
    watch(&CURRENT);
    let mut decoded = 0;
    let (started, mut slowest, mut largest) = (Instant::now(), Duration::ZERO, 0);
    for index in first..first + count {
        CURRENT.store(index, Relaxed);
        let (input, name) = mutant(&seeds, index);
        let begun = Instant::now();
        let peak = memory::peak_of(|| {
            targets::decompress::run(&input);
            targets::getitem::run(&input);
            targets::vlblocks::run(&input);
        });
        targets::header::run(&input[OPTIONS..]);
        targets::patch::run(&input);
        decoded += usize::from(decodes(&input[OPTIONS..]));
        slowest = slowest.max(begun.elapsed());
        largest = largest.max(peak);
        let bound = justified(&input);
        assert!(
            peak <= bound,
            "chunk {index} ({name}): {peak} bytes allocated, {bound} justified"
        );
        if (index + 1) % 100_000 == 0 {
            println!("{} chunks, {:.0?}", index + 1, started.elapsed());
        }
    }
    let resident = memory::resident_peak();
    println!(
        "{count} mutated chunks of {} kinds in {:.1?}; the slowest took {slowest:.1?}; {decoded} still decode; at most \
         {largest} bytes allocated for one; {} MiB resident at most",
        seeds.len(),
        started.elapsed(),
        resident >> 20
    );
    // Neither harmless nor turned away at the door.
    assert!(
        (count / 10..=count - count / 4).contains(&decoded),
        "{decoded} decode"
    );
    assert!(resident < RESIDENT, "{resident} bytes were resident");
}

/// Chunks of a few bytes that claim two gigabytes: no function takes that memory before it sees
/// that the data are not there.
#[test]
fn claims_that_nothing_stands_behind() {
    let _alone = memory::alone();
    let mut seeds = seeds::all();
    // A few bytes do stand for a block of any size where they are a run, or where a program's own
    // codec says so.
    seeds.retain(|seed| !seed.name.ends_with("runs") && !seed.name.starts_with("200"));
    let before = memory::resident_peak();
    let mut refused = 0;
    for seed in &seeds {
        for blocksize in [MAX_BLOCKSIZE, 1 << 24, 4096] {
            let mut chunk = seed.chunk.clone();
            put(&mut chunk, offset::NBYTES, MAX_BUFFERSIZE);
            put(&mut chunk, offset::BLOCKSIZE, blocksize);
            let mut dest = [0; 64];
            let code = decompress(Decompression::on(2), None, &chunk, &mut dest);
            assert!(code < 0, "{}: {code}", seed.name);
            let middle = MAX_BUFFERSIZE / 512;
            let code = getitem(Getitem::Plain, &chunk, middle, 1, &mut dest[..8]);
            refused += usize::from(code < 0);
            if vlchunk_get_nblocks(&chunk).is_ok() {
                assert!(vldecompress(Decompression::on(2), None, &chunk, 1000).is_err());
                assert!(vldecompress_block(Decompression::on(1), &chunk, 0).is_err());
            }
        }
    }
    assert!(refused > seeds.len(), "only {refused} refused");
    let grown = memory::resident_peak().saturating_sub(before);
    assert!(grown < 64 << 20, "{grown} bytes more are resident");
}

#[test]
fn damaged_frames_of_arrays() {
    let _alone = memory::alone();
    static NUMBER: AtomicUsize = AtomicUsize::new(0);
    panics_are_fatal(|| format!("frame of an array {}", NUMBER.load(Relaxed)));
    let seeds = arrays::seeds();
    let first = number("OXIBLOSC_HOSTILE_ARRAYS_FIRST", 0);
    let count = number("OXIBLOSC_HOSTILE_ARRAYS", 2000);
    for i in first..first + count {
        NUMBER.store(i, Relaxed);
        let start = Instant::now();
        targets::b2nd::run(&arrays::mutant(&seeds, i as u64));
        assert!(start.elapsed() < PATIENCE, "frame {i} took too long");
    }
    // Sequences of operations, from numbers as good as any.
    for i in 0..count / 4 {
        let mut random = Random(i as u64);
        let numbers: Vec<u8> = (0..150).map(|_| random.bits() as u8).collect();
        NUMBER.store(first + count + i, Relaxed);
        targets::b2nd::run(&[&[1][..], &numbers].concat());
    }
}
