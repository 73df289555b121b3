//! Compares every kernel with the definition and with the reference library.

use super::*;
use crate::reference::{self, lengths, typesizes};
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
use crate::simd::bitshuffle::matrices;
use crate::simd::vector::Vector;
use oxiblosc_testing::noise;

/// The definition, bit by bit, for a multiple of eight elements.
fn expected(typesize: usize, src: &[u8]) -> Vec<u8> {
    let row = src.len() / typesize / 8;
    let mut out = vec![0; src.len()];
    for (at, byte) in src.iter().enumerate() {
        let (element, b) = (at / typesize, at % typesize);
        for k in 0..8 {
            out[(8 * b + k) * row + element / 8] |= (byte >> k & 1) << (element % 8);
        }
    }
    out
}

#[test]
fn every_kernel_does_as_defined() {
    let data = noise(1040 * 300 + 64);
    for typesize in typesizes() {
        // With 4096 groups, rows are a multiple of the page size apart.
        let many = [63, 64, 65, 96, 100, 128, 129, 255, 257, 600, 4096];
        for (round, groups) in (1..=40).chain(many).enumerate() {
            let (from, to) = (round % 37, round % 41);
            let len = 8 * typesize * groups;
            if from + len > data.len() {
                break;
            }
            let src = &data[from..from + len];
            let want = expected(typesize, src);
            for kernels in simd::supported() {
                let case = format!("{} typesize {typesize} groups {groups}", kernels.name());
                let mut out = vec![0xa5; to + len + 33];
                kernels.bitshuffle(typesize, src, &mut out[to..to + len]);
                assert!(out[to..to + len] == want, "bitshuffle {case}");
                assert!(
                    out[..to].iter().chain(&out[to + len..]).all(|&b| b == 0xa5),
                    "bitshuffle wrote outside {case}"
                );

                let mut back = vec![0xa5; to + len + 33];
                kernels.bitunshuffle(typesize, &out[to..to + len], &mut back[to..to + len]);
                assert!(back[to..to + len] == *src, "bitunshuffle {case}");
                assert!(
                    back[..to]
                        .iter()
                        .chain(&back[to + len..])
                        .all(|&b| b == 0xa5),
                    "bitunshuffle wrote outside {case}"
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
            let Some(want) = reference::filter("blosc2_bitshuffle", typesize, src) else {
                return;
            };
            let mut out = vec![0; len];
            bitshuffle(typesize, src, &mut out);
            assert!(out == want, "bitshuffle typesize {typesize} len {len}");
            let want = reference::filter("blosc2_bitunshuffle", typesize, src);
            bitunshuffle(typesize, src, &mut out, 5);
            assert!(
                Some(out) == want,
                "bitunshuffle typesize {typesize} len {len}"
            );
        }
    }
}

#[test]
fn elements_past_a_multiple_of_eight_are_copied() {
    let data = noise(400);
    for typesize in [1, 2, 3, 8, 9] {
        for len in 0..data.len() {
            let src = &data[..len];
            let whole = len / typesize / 8 * 8 * typesize;
            let mut out = vec![0; len];
            bitshuffle(typesize, src, &mut out);
            assert_eq!(out[..whole], expected(typesize, &src[..whole]));
            assert_eq!(out[whole..], src[whole..]);
            let mut back = vec![0; len];
            bitunshuffle(typesize, &out, &mut back, 3);
            assert_eq!(back, src);
        }
    }
}

#[test]
fn version_2_leaves_blocks_with_odd_elements_alone() {
    let data = noise(4 * 20);
    let mut out = [0; 4 * 20];
    bitunshuffle(4, &data, &mut out, 2);
    assert_eq!(out[..], data);

    // Sixteen elements, and three bytes left over, which version 2 did not store.
    let block = &data[..4 * 16 + 3];
    let (mut old, mut new) = ([0; 4 * 16 + 3], [0; 4 * 16 + 3]);
    bitunshuffle(4, block, &mut old, 2);
    bitunshuffle(4, block, &mut new, 3);
    assert_eq!(old[..64], new[..64]);
    assert_ne!(old[..64], block[..64]);
    assert_eq!((&old[64..], &new[64..]), (&[0; 3][..], &block[64..]));
}

#[test]
fn odd_typesizes_are_copies() {
    for typesize in [0, 2, usize::MAX] {
        let mut out = [0; 10];
        bitshuffle(typesize, b"12345678", &mut out);
        assert_eq!(&out, b"12345678\0\0");
        bitunshuffle(typesize, b"abcdefgh", &mut out, 2);
        assert_eq!(&out, b"abcdefgh\0\0");
    }
}

/// The kernels for CPUs with an instruction for bit matrices, run with a vector that emulates it.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
#[test]
fn kernels_of_bit_matrices_do_as_defined() {
    let data = noise(16 * 16);
    let (mut out, mut back) = ([0; 16 * 16], [0; 16 * 16]);
    // SAFETY: every CPU of the architecture has the vector, and the buffers have the size of its
    // tile of 16 groups of two-byte elements.
    unsafe {
        let rows: [simd::AnyCpu; 8] = matrices::matrices_forward(data.as_ptr());
        out.chunks_exact_mut(16)
            .zip(rows)
            .for_each(|(to, row)| row.store(to.as_mut_ptr()));
        assert_eq!(out[..128], expected(1, &data[..128]));
        matrices::matrices_backward(rows, back.as_mut_ptr());
        assert_eq!(back[..128], data[..128]);

        let rows: [simd::AnyCpu; 16] = matrices::matrices_forward(data.as_ptr());
        out.chunks_exact_mut(16)
            .zip(rows)
            .for_each(|(to, row)| row.store(to.as_mut_ptr()));
        assert_eq!(out[..], expected(2, &data));
        matrices::matrices_backward(rows, back.as_mut_ptr());
        assert_eq!(back[..], data);
    }
}
