//! The classification of streams and of their stretches.

use super::*;

const SEARCH: SearchParams = SearchParams {
    window: 1 << 15,
    min_match: 4,
    max_repeats: 32,
    huffman_only: true,
};

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
    let of = |values: u32| -> Vec<u8> {
        bytes
            .iter()
            .map(|byte| (u32::from(*byte) * values / 256) as u8)
            .collect()
    };
    for values in [181, 239] {
        assert!(!noise.is_incompressible(&of(values)).unwrap());
        assert_eq!(stretches(&of(values)), [(100_000, Method::HuffmanOnly)]);
    }
    assert_eq!(stretches(&of(16)), [(100_000, Method::Search)]);
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

/// The stretches of a stream, without `repeats_from`.
fn stretches(stream: &[u8]) -> Vec<(usize, Method)> {
    let mut noise = NoiseDetector::default();
    let stretches = noise.stretches(stream, SEARCH).unwrap();
    stretches
        .iter()
        .map(|stretch| (stretch.len, stretch.method))
        .collect()
}

#[test]
fn parts_make_up_the_stream() {
    use Method::{HuffmanOnly, Search, Store};
    assert_eq!(stretches(&[]), [(0, Search)]);
    assert_eq!(stretches(&random(100, 3)), [(100, Search)]);
    assert_eq!(
        stretches(&random(5 * PIECE + 7, 3)),
        [(5 * PIECE + 7, Store)]
    );
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
}

#[test]
fn no_short_part_is_left_of_two_that_adapt() {
    use Method::{HuffmanOnly, Search};
    let stretch = |pieces: usize, method| Stretch {
        len: pieces * PIECE,
        method,
        repeats_from: 0,
    };
    // The stored one becomes like the next, and that like the last.
    let mut stretches = [
        stretch(1, Method::Store),
        stretch(3, HuffmanOnly),
        stretch(9, Search),
    ];
    for _ in 0..2 {
        adapt_short(&mut stretches);
    }
    assert!(stretches.iter().all(|stretch| stretch.method == Search));
}

#[test]
fn repetitive_streams_are_not_searched_for_noise() {
    let mut noise = NoiseDetector::default();
    // A text of random words.
    let words: Vec<_> = random(600, 7).chunks(6).map(<[u8]>::to_vec).collect();
    let order = random(20_000, 8);
    let text: Vec<u8> = order
        .iter()
        .flat_map(|i| words[usize::from(*i) % words.len()].clone())
        .collect();
    assert!(noise.is_repetitive(&text, SEARCH).unwrap());
    assert!(
        !noise.is_repetitive(&text[..10 * PIECE], SEARCH).unwrap(),
        "short"
    );
    assert!(!noise.is_repetitive(&random(text.len(), 9), SEARCH).unwrap());
    let pieces = text.len() / PIECE;
    for noisy in [0, pieces / 2, pieces - 3] {
        let mut mixed = text.clone();
        mixed[noisy * PIECE..][..3 * PIECE].copy_from_slice(&random(3 * PIECE, 10));
        assert!(!noise.is_repetitive(&mixed, SEARCH).unwrap(), "{noisy}");
    }
}
