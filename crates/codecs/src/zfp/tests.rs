//! Tests that each mode keeps its promise, and that damaged streams do no harm. `tests/plugins`
//! compares the streams with the reference's.

use super::*;
use oxiblosc_testing::noise;

const SHAPES: [&[i32]; 6] = [
    &[4],
    &[131],
    &[33, 18],
    &[9, 5, 21],
    &[4, 7, 6, 10],
    &[64, 64],
];

fn smooth(nitems: usize, typesize: usize) -> Vec<u8> {
    let items = (0..nitems).map(|i| (i as f64 * 0.01).sin() * 100.0 + (i % 7) as f64);
    match typesize {
        4 => items.flat_map(|item| (item as f32).to_le_bytes()).collect(),
        _ => items.flat_map(f64::to_le_bytes).collect(),
    }
}

fn numbers(data: &[u8], typesize: usize) -> Vec<f64> {
    let items = data.chunks_exact(typesize);
    match typesize {
        4 => items.map(|item| f32::read(item).into()).collect(),
        _ => items.map(f64::read).collect(),
    }
}

fn worst(a: &[u8], b: &[u8], typesize: usize) -> f64 {
    let pairs = numbers(a, typesize).into_iter().zip(numbers(b, typesize));
    pairs.fold(0.0, |worst, (a, b)| f64::max(worst, (a - b).abs()))
}

#[test]
fn tolerances_are_kept() {
    for shape in SHAPES {
        let block = BlockShape::new(shape).expect("a shape");
        for typesize in [4, 8] {
            let data = smooth(block.nbytes(1) as usize, typesize);
            for exponent in [-3i8, -1, 0, 1, 3] {
                let mode = (CompressionMode::Accuracy, exponent as u8);
                let (mut packed, mut back) = (vec![0; data.len()], vec![0xee; data.len()]);
                let len = compress(mode, block, typesize, &data, &mut packed).expect("floats");
                if len == 0 {
                    assert!(exponent < 0 || data.len() < 100);
                    continue;
                }
                decompress(mode, block, typesize, &packed[..len], &mut back).expect("a stream");
                let worst = worst(&data, &back, typesize);
                assert!(
                    worst <= 10f64.powi(exponent.into()),
                    "{shape:?} {exponent} {worst}"
                );
            }
        }
    }
}

#[test]
fn a_rate_is_a_size_and_allows_access() {
    for shape in SHAPES {
        let block = BlockShape::new(shape).expect("a shape");
        for typesize in [4, 8] {
            let nitems = block.nbytes(1) as usize;
            let data = smooth(nitems, typesize);
            for meta in [1, 10, 37, 50] {
                let (mut packed, mut back) = (vec![0; data.len()], vec![0xee; data.len()]);
                let mode = (CompressionMode::Rate, meta);
                let len = compress(mode, block, typesize, &data, &mut packed).expect("floats");
                if len == 0 {
                    continue;
                }
                let cells: usize = shape
                    .iter()
                    .map(|len| (*len as usize).div_ceil(4))
                    .product();
                let bits = CompressionMode::Rate
                    .params(meta, shape.len(), typesize)
                    .max_bits;
                assert_eq!(len, (cells * bits).div_ceil(64) * 8);
                let packed = &packed[..len];
                decompress(mode, block, typesize, packed, &mut back).expect("a stream");
                for first in (0..nitems).step_by(1 + nitems / 97) {
                    for count in 1..=(nitems - first).min(6) {
                        let mut part = vec![0; count * typesize];
                        let got = decompress_items(meta, block, typesize, packed, first, &mut part);
                        let whole = &back[first * typesize..(first + count) * typesize];
                        assert!(!got.expect("in the block") || part == whole);
                        assert!(count > 1 || got == Ok(true));
                    }
                }
            }
        }
    }
}

#[test]
fn what_it_cannot_do_is_refused() {
    let block = |shape: &[i32]| BlockShape::new(shape).expect("a shape");
    let (data, mut out) = (smooth(64, 8), vec![0; 512]);
    let mode = (CompressionMode::Precision, 20);
    assert_eq!(
        compress(mode, block(&[3, 5]), 8, &data[..120], &mut out),
        Err(Error::FAILURE)
    );
    assert_eq!(
        compress(mode, block(&[4; 5]), 8, &data, &mut out),
        Err(Error::FAILURE)
    );
    assert_eq!(
        compress(mode, block(&[32, 8]), 2, &data, &mut out),
        Err(Error::FAILURE)
    );
    // Not a whole block, which is to be stored instead.
    assert_eq!(
        compress(mode, block(&[8, 8]), 8, &data[..504], &mut out),
        Ok(0)
    );
    assert_eq!(
        decompress(mode, block(&[4; 5]), 8, &data, &mut out),
        Err(Error::FAILURE)
    );
    assert_eq!(
        decompress(mode, block(&[8, 9]), 8, &data, &mut out),
        Err(Error::FAILURE)
    );
    assert_eq!(
        decompress(mode, block(&[8, 8]), 2, &data, &mut out),
        Err(Error::FAILURE)
    );
    let wraps = block(&[1 << 16, 1 << 16, 1 << 16, 1 << 16]);
    assert_eq!(
        decompress(mode, wraps, 8, &data, &mut out),
        Err(Error::FAILURE)
    );
    assert_eq!(
        decompress_items(50, block(&[8, 8]), 8, &[], 0, &mut out[..8]),
        Err(Error::DATA)
    );
    assert_eq!(
        decompress_items(50, block(&[8, 8]), 8, &data, 64, &mut out[..8]),
        Err(Error::DATA)
    );
}

#[test]
fn any_bytes_are_a_block_unless_they_end_early() {
    let random = noise(20_000);
    let mut whole = 0;
    for shape in SHAPES {
        let block = BlockShape::new(shape).expect("a shape");
        for typesize in [4, 8] {
            let mut out = vec![0; block.nbytes(typesize) as usize];
            for (n, stream) in random.chunks(331).enumerate() {
                for mode in [
                    CompressionMode::Accuracy,
                    CompressionMode::Precision,
                    CompressionMode::Rate,
                ] {
                    let mode = (mode, (n * 37) as u8);
                    let stream = &stream[..n * 5 % stream.len()];
                    match decompress(mode, block, typesize, stream, &mut out) {
                        Ok(()) => whole += 1,
                        other => assert_eq!(other, Err(Error::FAILURE)),
                    }
                }
            }
        }
    }
    assert!(whole > 100, "{whole}");
}

#[test]
fn numbers_that_are_none_do_no_harm() {
    let block = BlockShape::new(&[8, 8]).expect("a shape");
    let odd = [
        f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
        5e-324,
        1e308,
        -0.0,
        1e-310,
    ];
    let data: Vec<u8> = (0..64)
        .flat_map(|i| odd[i % odd.len()].to_le_bytes())
        .collect();
    for mode in [
        (CompressionMode::Accuracy, 3),
        (CompressionMode::Precision, 9),
        (CompressionMode::Rate, 30),
    ] {
        let (mut packed, mut back) = (vec![0; data.len()], vec![0; data.len()]);
        let len = compress(mode, block, 8, &data, &mut packed).expect("doubles");
        assert_eq!(
            decompress(mode, block, 8, &packed[..len], &mut back),
            Ok(())
        );
    }
}
