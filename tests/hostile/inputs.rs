//! The fuzz targets that read neither chunks nor arrays: damaged frames, data to compress with any
//! parameters, and streams.

use super::mutants::{RESIDENT, number};
use super::{memory, panics_are_fatal};
use oxiblosc::SuperChunk;
use oxiblosc_base::memory::Buffer;
use oxiblosc_testing::fuzz::numbers::Random;
use oxiblosc_testing::fuzz::seeds::data;
use oxiblosc_testing::fuzz::targets::{self, Target};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The inputs of a target so far, of which one is looked at.
static NUMBER: AtomicU64 = AtomicU64::new(0);

/// Runs a target on inputs with numbers.
fn run(name: &'static str, target: Target, input: impl Fn(u64) -> Vec<u8>) {
    panics_are_fatal(move || format!("{name} {}", NUMBER.load(Relaxed)));
    for i in 0..number("OXIBLOSC_HOSTILE_INPUTS", 1000) as u64 {
        NUMBER.store(i, Relaxed);
        target(&input(i));
    }
    let resident = memory::resident_peak();
    assert!(resident < RESIDENT, "{resident} bytes were resident");
}

#[test]
fn damaged_frames() {
    let _alone = memory::alone();
    let seeds = targets::frames::seeds();
    let mutant = |i| targets::frames::mutant(&seeds, i);
    run("frame", targets::frames::run, mutant);
    let opens = |frame: &[u8]| {
        let frame = Buffer::copy_of(frame).expect("memory for a frame");
        SuperChunk::from_frame(frame, 1).is_ok()
    };
    // Neither harmless nor turned away at the door.
    let opened = (0..200).filter(|i| opens(&mutant(*i)[2..])).count();
    assert!((20..180).contains(&opened), "{opened} of 200 open");
}

#[test]
fn damaged_files() {
    let _alone = memory::alone();
    let seeds = targets::files::seeds();
    run("file", targets::files::run, |i| {
        targets::files::mutant(&seeds, i)
    });
}

/// Random numbers, then data.
fn parameters_and_data(i: u64) -> Vec<u8> {
    let mut random = Random(i);
    let mut input: Vec<u8> = (0..30).map(|_| random.bits() as u8).collect();
    let len = random.one_of(&[0, 1, 100, 3000, 20_000]);
    input.extend(data(len, i));
    input
}

#[test]
fn data_to_compress() {
    let _alone = memory::alone();
    run("data", targets::compress::run, parameters_and_data);
}

#[test]
fn streams() {
    let _alone = memory::alone();
    run("stream", targets::streams::run, parameters_and_data);
}
