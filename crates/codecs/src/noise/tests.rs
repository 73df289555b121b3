//! The classification of streams and of their stretches.

use super::Method::{HuffmanOnly, Search, Store};
use super::*;

/// Pseudorandom bytes (splitmix).
pub(super) fn random(len: usize, mut seed: u64) -> Vec<u8> {
    let next = || {
        seed = seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (seed ^ (seed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ (z >> 31)) as u8
    };
    std::iter::repeat_with(next).take(len).collect()
}

#[test]
fn random_bytes_are_incompressible() {
    let mut noise = NoiseDetector::default();
    for len in [PIECE, PIECE + 1, 2 * PIECE - 1, 100_000, 1 << 21] {
        assert!(
            noise.is_incompressible(&random(len, len as u64)).unwrap(),
            "{len} bytes"
        );
    }
}

#[test]
fn compressible_bytes_are_recognised() {
    let mut noise = NoiseDetector::default();
    let bytes = random(100_000, 1);
    // Huffman codes could save half a bit per byte, and a tenth of one.
    for (values, method) in [(16, Search), (181, HuffmanOnly), (239, HuffmanOnly)] {
        let uneven = bytes.iter();
        let uneven: Vec<u8> = uneven
            .map(|byte| (u32::from(*byte) * values / 256) as u8)
            .collect();
        assert!(!noise.is_incompressible(&uneven).unwrap());
        assert_eq!(stretches(&uneven), [(100_000, method)]);
    }
    // Repeats: near, far, and not aligned to pieces.
    for (period, len) in [
        (1000, 8192),
        (5000, 20_000),
        (30_011, 100_000),
        (500_000, 1 << 20),
    ] {
        let twice: Vec<u8> = random(period, 2).into_iter().cycle().take(len).collect();
        assert!(!noise.is_incompressible(&twice).unwrap(), "every {period}");
    }
    let mut once = bytes.clone();
    once.copy_within(100..1100, 90_000);
    assert!(!noise.is_incompressible(&once).unwrap());
    assert!(
        noise.is_incompressible(&bytes).unwrap(),
        "words of one stream do not count in the next"
    );
}

/// The lengths of the stretches of a stream, and their methods.
fn stretches(stream: &[u8]) -> Vec<(usize, Method)> {
    let mut noise = NoiseDetector::default();
    let stretches = noise.stretches(stream, 4, HuffmanOnly).unwrap();
    stretches
        .iter()
        .map(|stretch| (stretch.len, stretch.method))
        .collect()
}

#[test]
fn parts_make_up_the_stream() {
    assert_eq!(stretches(&[]), [(0, Search)]);
    assert_eq!(stretches(&random(100, 3)), [(100, Search)]);
    for len in [PIECE, 5 * PIECE + 7] {
        assert_eq!(stretches(&random(len, 3)), [(len, Store)]);
    }
    let mut planes = vec![7; 3 * PIECE];
    planes.extend(random(4 * PIECE, 4));
    planes.extend(random(4 * PIECE, 6).iter().map(|byte| byte % 192));
    planes.extend(vec![8; PIECE]);
    // A single piece does not become a stretch of its own.
    planes.extend(random(PIECE, 5));
    planes.extend(vec![8; 99]);
    assert_eq!(
        stretches(&planes),
        [
            (3 * PIECE, Search),
            (4 * PIECE, Store),
            (4 * PIECE, HuffmanOnly),
            (2 * PIECE + 99, Search)
        ]
    );
    // Noise that is repeated is none, wherever it stands.
    let noise = random(2 * PIECE, 6);
    let twice = [&noise[..], &random(4 * PIECE, 7), &noise].concat();
    assert_eq!(stretches(&twice), [(6 * PIECE, Store), (2 * PIECE, Search)]);
}

fn repeats(stream: &[u8], word: usize) -> usize {
    let mut noise = NoiseDetector::default();
    noise
        .count_repeats(stream, word, usize::MAX, usize::MAX)
        .unwrap()
}

#[test]
fn each_word_that_occurs_twice_is_counted() {
    for len in [100, 5000, 70_000] {
        let stream = random(len, 3);
        for word in [4, 8] {
            assert!(repeats(&stream, word) <= 1 + len / 10_000, "{len} {word}");
            let mut twice = stream.clone();
            let copied = len / 4;
            twice.copy_within(..copied, len / 2);
            // As many as there are in what was copied, but for those whose slots others took.
            let most = copied - word + 1;
            let found = repeats(&twice, word);
            assert!(
                found <= most + 1 + len / 10_000 && 3 * found > most,
                "{found} of {most}"
            );
        }
    }
    assert_eq!(repeats(&[7; 1000], 4), 1000 - 4);
    assert_eq!(repeats(&[], 4) + repeats(&[1, 2, 3], 4), 0);
}

#[test]
fn streams_are_judged_by_themselves() {
    let (stream, mut noise) = (random(1000, 1), NoiseDetector::default());
    for _ in 0..3 {
        assert_eq!(noise.count_repeats(&stream, 4, usize::MAX, 0), Ok(0));
    }
}
