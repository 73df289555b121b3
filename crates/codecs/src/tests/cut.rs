//! Streams that end early: none decompresses to a whole block, wherever it was cut.

use super::*;
use crate::ndlz;
use crate::zfp::{self, CompressionMode};
use oxiblosc_base::cells::BlockShape;

/// Fails if `read` makes a whole block, of `nbytes`, of a part of the stream.
fn check(name: &str, stream: &[u8], nbytes: usize, read: impl FnMut(&[u8]) -> Option<usize>) {
    let mut read = read;
    assert_eq!(read(stream), Some(nbytes), "{name}: the whole stream");
    // All lengths of short streams; of long ones those at the ends, and some between.
    let is_tried = |len: &usize| *len < 600 || stream.len() - len < 100 || len.is_multiple_of(97);
    for len in (0..stream.len()).filter(is_tried) {
        let got = read(&stream[..len]);
        assert_ne!(got, Some(nbytes), "{name}: {len} of {}", stream.len());
    }
}

#[test]
fn a_cut_stream_is_no_whole_block() {
    let mut numbers = Numbers(11);
    let few = numbers.bytes(3000, 7);
    let mut mixed = numbers.bytes(1500, 256);
    mixed.extend_from_within(200..1100);
    mixed.extend([5; 700]);
    let (mut encoder, mut decoder) = (Encoder::new(), Decoder::new());
    for (kind, data) in [
        ("few values", few),
        ("repeats", mixed.clone()),
        ("long", mixed.repeat(20)),
        ("zeros", vec![0; 4000]),
    ] {
        for codec in Codec::ALL {
            for clevel in [1, 5, 9] {
                let mut packed = vec![0; roomy(data.len())];
                let len = encoder
                    .compress(codec, clevel, None, &data, &mut packed)
                    .unwrap();
                let mut back = vec![0; data.len()];
                let name = format!("{codec:?} {clevel} {kind}");
                if len == 0 {
                    assert!(codec == Codec::BloscLz, "{name}");
                    continue;
                }
                check(&name, &packed[..len], data.len(), |part| {
                    decoder.decompress(codec, None, part, &mut back).ok()
                });
            }
        }
    }
}

#[test]
fn a_cut_stream_of_cells_is_no_whole_block() {
    let mut tried = 0;
    for dims in [
        &[64][..],
        &[131],
        &[16, 24],
        &[33, 18],
        &[9, 5, 21],
        &[4, 7, 6, 5],
    ] {
        let block = BlockShape::new(dims).unwrap();
        let items = block.nbytes(1) as usize;
        for typesize in [4, 8] {
            let item = |i: usize| (i as f64 * 0.01).sin() * 100.0 + (i % 7) as f64;
            let data: Vec<u8> = match typesize {
                4 => (0..items)
                    .flat_map(|i| (item(i) as f32).to_le_bytes())
                    .collect(),
                _ => (0..items).flat_map(|i| item(i).to_le_bytes()).collect(),
            };
            for (mode, meta) in [
                (CompressionMode::Accuracy, 0),
                (CompressionMode::Accuracy, 2),
                (CompressionMode::Precision, 3),
                (CompressionMode::Precision, 12),
                (CompressionMode::Rate, 5),
                (CompressionMode::Rate, 50),
            ] {
                let (mut packed, mut back) = (vec![0; data.len()], vec![0; data.len()]);
                let made = zfp::compress((mode, meta), block, typesize, &data, &mut packed);
                let name = format!("ZFP {mode:?} {meta}, {dims:?} of {typesize}");
                match made.unwrap() {
                    0 => {}
                    len => {
                        tried += 1;
                        check(&name, &packed[..len], data.len(), |part| {
                            let read =
                                zfp::decompress((mode, meta), block, typesize, part, &mut back);
                            read.ok().map(|()| back.len())
                        });
                    }
                }
            }
        }
    }
    assert!(tried > 50, "{tried}");
    for dims in [[16, 24], [33, 18], [64, 40]] {
        let block = BlockShape::new(&dims).unwrap();
        let len = block.nbytes(1) as usize;
        let mut numbers = Numbers(5);
        let repeated = numbers.bytes(64, 9).into_iter().cycle().take(len).collect();
        for (kind, data) in [("zeros", vec![0; len]), ("repeats", repeated)] {
            for side in [4, 8] {
                let (mut packed, mut back) = (vec![0; len + len / 4 + 64], vec![0; len]);
                let made = ndlz::compress(side, block, &data, &mut packed).unwrap();
                let name = format!("NDLZ {side}, {dims:?}, {kind}");
                assert!(made > 0, "{name}");
                check(&name, &packed[..made], len, |part| {
                    ndlz::decompress(side, part, &mut back).ok()
                });
            }
        }
    }
}
