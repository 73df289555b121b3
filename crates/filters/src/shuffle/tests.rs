//! Compares every kernel with the definition and with the reference library.

use super::*;
use crate::reference::{self, lengths, typesizes};
use crate::simd::shuffle::generic;
use oxiblosc_testing::noise;

/// The definition, byte by byte.
fn expected(typesize: usize, src: &[u8]) -> Vec<u8> {
    let n = src.len() / typesize;
    let mut out = src.to_vec();
    for e in 0..n {
        for j in 0..typesize {
            out[j * n + e] = src[e * typesize + j];
        }
    }
    out
}

#[test]
fn every_kernel_does_as_defined() {
    let data = noise(1040 * 300 + 64);
    for typesize in typesizes() {
        // Long enough that streams are joined.
        let joined = (generic::MIN_JOINED_LEN + 5) * typesize;
        let joined = [joined, joined + 1]
            .into_iter()
            .filter(|len| *len < data.len() - 64);
        for (round, len) in lengths(typesize).chain(joined).enumerate() {
            // Sources and destinations at every alignment.
            let (from, to) = (round % 37, round % 41);
            let src = &data[from..from + len];
            let want = expected(typesize, src);
            for kernels in simd::supported() {
                let case = format!("{} typesize {typesize} len {len}", kernels.name());
                let mut out = vec![0xa5; to + len + 33];
                kernels.shuffle(typesize, src, &mut out[to..to + len]);
                assert!(out[to..to + len] == want, "shuffle {case}");
                assert!(
                    out[..to].iter().chain(&out[to + len..]).all(|&b| b == 0xa5),
                    "shuffle wrote outside {case}"
                );

                let n = len / typesize;
                if generic::can_join(typesize) && n >= 64 && n * typesize == len {
                    // Streams in separate buffers, at unrelated addresses.
                    let apart: Vec<_> = want
                        .chunks_exact(n)
                        .enumerate()
                        .map(|(j, stream)| [&data[..j * 5 % 64], stream].concat())
                        .collect();
                    let streams: Vec<_> = apart.iter().map(|s| &s[s.len() - n..]).collect();
                    let mut back = vec![0xa5; to + len + 33];
                    kernels.join(&streams, &mut back[to..to + len]);
                    assert!(back[to..to + len] == *src, "join {case}");
                    let mut around = back[..to].iter().chain(&back[to + len..]);
                    assert!(around.all(|&b| b == 0xa5), "join wrote outside {case}");
                }

                let mut back = vec![0xa5; to + len + 33];
                kernels.unshuffle(typesize, &out[to..to + len], &mut back[to..to + len]);
                assert!(back[to..to + len] == *src, "unshuffle {case}");
                assert!(
                    back[..to]
                        .iter()
                        .chain(&back[to + len..])
                        .all(|&b| b == 0xa5),
                    "unshuffle wrote outside {case}"
                );
            }
        }
    }
}

#[test]
fn gives_what_the_reference_gives() {
    let data = noise(1040 * 300);
    for typesize in typesizes().filter(|&t| t <= reference::MAX_TYPESIZE) {
        for len in lengths(typesize) {
            let src = &data[..len];
            let Some(want) = reference::filter("blosc2_shuffle", typesize, src) else {
                return;
            };
            let mut out = vec![0; len];
            shuffle(typesize, src, &mut out);
            assert!(out == want, "shuffle typesize {typesize} len {len}");
            let want = reference::filter("blosc2_unshuffle", typesize, src);
            unshuffle(typesize, src, &mut out);
            assert!(Some(out) == want, "unshuffle typesize {typesize} len {len}");
        }
    }
}

#[test]
fn odd_typesizes_are_copies() {
    for typesize in [0, 1, 9, usize::MAX] {
        let mut out = [0; 10];
        shuffle(typesize, b"12345678", &mut out);
        assert_eq!(&out, b"12345678\0\0");
        unshuffle(typesize, b"abcdefgh", &mut out);
        assert_eq!(&out, b"abcdefgh\0\0");
    }
}

#[test]
fn a_part_is_that_of_the_whole() {
    let data = noise(16 * 200);
    for typesize in 2..=17 {
        let src = &data[..data.len() / typesize * typesize];
        let mut shuffled = vec![0; src.len()];
        shuffle(typesize, src, &mut shuffled);
        for (first, n) in [(0, 1), (3, 8), (7, 9), (0, 64), (5, 64), (11, 99)] {
            let part = &src[first * typesize..(first + n) * typesize];
            let mut out = vec![0xa5; part.len()];
            match join_part(typesize, &shuffled, first, &mut out) {
                true => assert!(out == part, "typesize {typesize}, {n} from {first}"),
                false => assert!(out.iter().all(|byte| *byte == 0xa5) && n > MAX_BYTEWISE),
            }
        }
    }
}
