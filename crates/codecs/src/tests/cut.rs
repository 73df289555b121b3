//! Streams that end early: none decompresses to a whole block, wherever it was cut.

use super::*;
use crate::{CodecFunctions, OwnCodec, REGISTERED_CODECS, RegisteredCodec};
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
    let own = |codec: &'static RegisteredCodec| Some((codec.name, codec.own.as_ref()?));
    for (name, codec) in REGISTERED_CODECS.iter().filter_map(own) {
        let mut metas: Vec<u8> = codec.parameter.examples.iter().map(|n| *n as u8).collect();
        if !codec.parameter.is_closed {
            metas.extend([0, 2, 3, 12, 50]);
        }
        for dims in [
            &[64][..],
            &[131],
            &[16, 24],
            &[33, 18],
            &[64, 40],
            &[9, 5, 21],
            &[4, 7, 6, 5],
        ] {
            if !codec.dims.contains(&dims.len()) {
                continue;
            }
            for (&typesize, &meta) in codec
                .typesizes
                .iter()
                .flat_map(|typesize| metas.iter().map(move |meta| (typesize, meta)))
            {
                let name = format!("{name:?} {meta}, {dims:?} of {typesize}");
                tried += cut_block(&name, codec, meta, BlockShape::new(dims).unwrap(), typesize);
            }
        }
    }
    assert!(tried > 50, "{tried}");
}

/// Compresses blocks, and cuts their streams. Returns how many were compressed.
fn cut_block(name: &str, codec: &OwnCodec, meta: u8, block: BlockShape, typesize: usize) -> usize {
    let items = block.nbytes(1) as usize;
    let item = |i: usize| (i as f64 * 0.01).sin() * 100.0 + (i % 7) as f64;
    let smooth: Vec<u8> = match typesize {
        1 => (0..items).map(|i| (item(i) / 50.0) as i8 as u8).collect(),
        4 => (0..items)
            .flat_map(|i| (item(i) as f32).to_le_bytes())
            .collect(),
        _ => (0..items).flat_map(|i| item(i).to_le_bytes()).collect(),
    };
    let mut tried = 0;
    for data in [vec![0; smooth.len()], smooth] {
        let (mut packed, mut back) = (vec![0; data.len() * 5 / 4 + 64], vec![0; data.len()]);
        let created = match &codec.functions {
            CodecFunctions::Numbers { compress, .. } => {
                compress(meta, block, typesize, &data, &mut packed)
            }
            CodecFunctions::Bytes { compress, .. } => compress(meta, block, &data, &mut packed),
        };
        let created = created.unwrap();
        if created == 0 {
            continue;
        }
        tried += 1;
        check(name, &packed[..created], data.len(), |part| {
            match &codec.functions {
                CodecFunctions::Numbers { decompress, .. } => {
                    let read = decompress(meta, block, typesize, part, &mut back);
                    read.ok().map(|()| back.len())
                }
                CodecFunctions::Bytes { decompress, .. } => decompress(meta, part, &mut back).ok(),
            }
        });
    }
    tried
}
