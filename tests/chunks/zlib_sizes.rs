//! How large chunks are that Zlib compresses, beside the reference's: at most 1 % larger, at every
//! level and with every filter. The streams differ, since the compressor is our own. Short ones,
//! and those that repeat from far back, are at most half a percent larger, and four bytes.
//!
//! The data are made, but like what was larger once: photographs of smooth tones with noise in
//! their low bits, masks of long runs, records of coefficients with fields that are the same in
//! each, reports that say nearly the same again and again.
//!
//! `OXIBLOSC_REFERENCE` names the reference's library; without it the test is skipped, in CI it
//! fails. `OXIBLOSC_SIZES=full` tries every level with every filter, instead of a third of that.

use oxiblosc_testing::abi::*;
use oxiblosc_testing::data::{Kind, Rng};
use oxiblosc_testing::library::{Lib, both};
use oxiblosc_testing::report::Report;
use oxiblosc_testing::sample::takes;

const NBYTES: usize = 1 << 20;

/// Data, and the size of its items.
struct Sample {
    name: String,
    typesize: usize,
    bytes: Vec<u8>,
}

impl Sample {
    fn new(name: &str, typesize: usize, bytes: impl IntoIterator<Item = u8>) -> Sample {
        let bytes = bytes.into_iter().take(NBYTES).collect();
        Sample {
            name: format!("{name}, {typesize} bytes"),
            typesize,
            bytes,
        }
    }
}

/// A smooth field of `0..=1`, as of a lit object: a few waves over each other.
fn tone(x: usize, y: usize) -> f64 {
    let (x, y) = (x as f64 / 512.0, y as f64 / 512.0);
    let waves =
        (3.1 * x + 1.7 * y).sin() + (7.3 * y - 2.0 * x).cos() / 3.0 + (13.0 * x * y).sin() / 6.0;
    (waves / 3.0 + 0.5).clamp(0.0, 1.0)
}

/// Pixels of a photograph with `channels`: a dark border, smooth tones of `levels`, and noise in
/// `noisy` bits.
fn photograph(width: usize, channels: usize, levels: f64, noisy: u32) -> impl Iterator<Item = u8> {
    let mut rng = Rng(u64::from(noisy));
    (0..).map(move |i| {
        let (x, y, channel) = (i / channels % width, i / channels / width, i % channels);
        let off = (x as f64 / width as f64 - 0.5).abs();
        let light = tone(x, y) * [1.0, 0.6, 0.3, 1.0][channel];
        let noise = rng.next() & ((1 << noisy) - 1);
        match off > 0.45 {
            true => (noise / 2) as u8,
            false => (20.0 + levels * light) as u8 + noise as u8,
        }
    })
}

/// A mask of land and sea: rows of runs, whose borders move a little from row to row.
fn mask(width: usize, runs: usize) -> impl Iterator<Item = bool> {
    let mut rng = Rng(runs as u64);
    let mut borders: Vec<usize> = (0..runs).map(|_| rng.below(width)).collect();
    std::iter::repeat_with(move || {
        for border in &mut borders {
            let step = [0, 0, 1, 1, 2, 9][rng.below(6)];
            *border = match rng.below(2) {
                0 => border.saturating_sub(step),
                _ => (*border + step).min(width),
            };
        }
        let borders = borders.clone();
        (0..width).map(move |x| borders.iter().filter(|border| **border <= x).count() % 2 == 1)
    })
    .flatten()
}

/// Records of an ephemeris: the middle and the half length of an interval, and coefficients that
/// fall off.
fn ephemeris(coefficients: usize) -> impl Iterator<Item = u8> {
    let mut rng = Rng(coefficients as u64);
    (0..).flat_map(move |record: u32| {
        let half = 345_600.0;
        let middle = -3e9 + f64::from(record) * 2.0 * half;
        let mut values = vec![middle, half];
        for i in 0..coefficients {
            values.push((rng.unit() - 0.5) * 1e8 / 8f64.powi((i % 14) as i32));
        }
        values.into_iter().flat_map(f64::to_le_bytes)
    })
}

/// Lines of a report that differ in two numbers.
fn report() -> impl Iterator<Item = u8> {
    let mut rng = Rng(1);
    (0..).flat_map(move |i: usize| {
        let line = format!(
            "    {}           {}\n",
            1 + i / 2001 % 9,
            1_000_000_000_000.3 + rng.below(3) as f64 / 10.0
        );
        line.into_bytes()
    })
}

fn samples() -> Vec<Sample> {
    let pixels = |channels, levels, noisy| photograph(700, channels, levels, noisy);
    let mut samples = vec![
        Sample::new("photograph", 3, pixels(3, 200.0, 2)),
        Sample::new("photograph, grey", 1, pixels(1, 90.0, 3)),
        Sample::new("photograph, few tones", 1, pixels(1, 40.0, 1)),
        Sample::new(
            "photograph",
            2,
            pixels(1, 60.0, 2).flat_map(|pixel| u16::from(pixel).to_le_bytes()),
        ),
        Sample::new(
            "photograph",
            4,
            pixels(1, 60.0, 1).flat_map(|pixel| i32::from(pixel).to_le_bytes()),
        ),
        Sample::new(
            "photograph, float",
            4,
            pixels(1, 60.0, 1).flat_map(|pixel| f32::from(pixel).to_le_bytes()),
        ),
        Sample::new(
            "photograph, float",
            8,
            pixels(1, 60.0, 1).flat_map(|pixel| (f64::from(pixel) / 255.0).to_le_bytes()),
        ),
        Sample::new("ephemeris, short records", 8, ephemeris(39)),
        Sample::new("ephemeris, long records", 8, ephemeris(42)),
        Sample::new("report", 1, report()),
    ];
    for (width, runs) in [(2000, 9), (1440, 30), (500, 12)] {
        let name = format!("mask of {runs} runs in {width}");
        let bits = || mask(width, runs);
        samples.push(Sample::new(&name, 1, bits().map(u8::from)));
        samples.push(Sample::new(
            &name,
            4,
            bits().flat_map(|bit| i32::from(bit).to_le_bytes()),
        ));
        samples.push(Sample::new(
            &format!("{name}, float"),
            4,
            bits().flat_map(|bit| f32::from(u8::from(bit)).to_le_bytes()),
        ));
        samples.push(Sample::new(
            &format!("{name}, float"),
            8,
            bits().flat_map(|bit| f64::from(u8::from(bit)).to_le_bytes()),
        ));
    }
    samples
}

fn size(lib: &'static Lib, sample: &Sample, clevel: u8, filter: u8) -> usize {
    let cparams = CParams {
        compcode: ZLIB,
        clevel,
        typesize: sample.typesize as i32,
        filters: [0, 0, 0, 0, 0, filter],
        ..CParams::default()
    };
    let context = lib.cctx(&cparams).expect("valid parameters");
    let mut chunk = vec![0; sample.bytes.len() + MAX_OVERHEAD];
    let size = context.compress(&sample.bytes, &mut chunk);
    usize::try_from(size).expect("a chunk")
}

#[test]
fn chunks_are_no_larger_than_the_reference_s() {
    let Some((ours, reference)) = both() else {
        return;
    };
    let mut report = Report::default();
    let mut number = 0;
    for sample in samples() {
        for filter in [NOFILTER, SHUFFLE, BITSHUFFLE] {
            for clevel in 1..=9 {
                number += 1;
                if !takes("OXIBLOSC_SIZES", number, 3) {
                    continue;
                }
                report.case();
                let [ours, theirs] =
                    [ours, reference].map(|lib| size(lib, &sample, clevel, filter));
                report.check(ours * 100 <= theirs * 101, "more than 1 % larger", || {
                    let ratio = ours as f64 / theirs as f64;
                    format!(
                        "{}, filter {filter}, level {clevel}: {ours} for {theirs}, {ratio:.4}",
                        sample.name
                    )
                });
            }
        }
    }
    report.finish("zlib sizes");
}

/// Words, few values, noise that is repeated from nearly as far back as a match may reach, a random
/// walk of bytes as items of four, and records of a time, a count and a fraction.
fn bytes_of_any_length() -> Vec<Sample> {
    let mut samples = Vec::new();
    let short = (100..1700).step_by(100);
    for len in short.chain([3000, 10_000, 30_000, 60_000, 300_000]) {
        let mut rng = Rng(len as u64);
        let few: Vec<u8> = (0..len).map(|_| rng.below(4) as u8).collect();
        samples.push(Sample::new(&format!("few values, {len}"), 1, few));
        samples.push(Sample::new(
            &format!("text, {len}"),
            1,
            Kind::Text.bytes(len, 7),
        ));
        let mut at = 128_u8;
        let walk = std::iter::repeat_with(|| {
            at = at.wrapping_add(rng.below(5) as u8).wrapping_sub(2);
            at
        });
        let walk: Vec<u8> = walk.take(len / 4 * 4).collect();
        samples.push(Sample::new(&format!("walk, {len}"), 4, walk));
        let mut time = 1_700_000_000_u32;
        let records = std::iter::repeat_with(|| {
            time += rng.below(4) as u32;
            let (count, fraction) = (rng.below(100) as u32, rng.unit() as f32);
            [time, count, fraction.to_bits()].map(u32::to_le_bytes)
        });
        let records = records.flatten().flatten().take(len / 4 * 4);
        samples.push(Sample::new(&format!("records, {len}"), 4, records));
        for distance in [5000, 20_000, 31_000] {
            let noise = Kind::Random.bytes(distance.min(len), 3);
            let repeated = noise.into_iter().cycle().take(len);
            let name = format!("noise again after {distance}, {len}");
            samples.push(Sample::new(&name, 1, repeated));
        }
    }
    samples
}

#[test]
fn streams_of_any_length_are_as_short() {
    let Some((ours, reference)) = both() else {
        return;
    };
    let mut report = Report::default();
    let mut number = 0;
    for sample in bytes_of_any_length() {
        for filter in [NOFILTER, SHUFFLE, BITSHUFFLE] {
            for clevel in 1..=9 {
                number += 1;
                if !takes("OXIBLOSC_SIZES", number, 3) {
                    continue;
                }
                report.case();
                let [ours, theirs] =
                    [ours, reference].map(|lib| size(lib, &sample, clevel, filter));
                report.check(ours <= theirs + theirs / 200 + 4, "larger", || {
                    format!(
                        "{}, filter {filter}, level {clevel}: {ours} for {theirs}",
                        sample.name
                    )
                });
            }
        }
    }
    report.finish("zlib sizes of any length");
}
