//! The registered codecs and filters by themselves: streams that cannot be trusted, and data there
//! and back.

use super::super::numbers::Input;
use oxiblosc_base::cells::BlockShape;
use oxiblosc_codecs::{ndlz, zfp};
use oxiblosc_filters::{FILTERS, FilterKind, filter_id};

/// The most items of a block; more would make runs slow.
const MAX_DATA: usize = 20_000;

/// What the first byte of an input says, modulo [`KINDS`].
const KINDS: u8 = 6;

/// A byte that says what to do, a meta byte, the size of an item, the shape of a block, then a
/// stream or data.
pub fn run(data: &[u8]) {
    let mut input = Input(data);
    let what = input.byte();
    let meta = input.byte();
    let typesize = 1 + usize::from(input.byte() % 17);
    let block = shape(&mut input);
    let (kind, variant) = (what % KINDS, what / KINDS);
    let side = [4, 8][usize::from(variant % 2)];
    let number = [4, 8][typesize % 2];
    let mode = [
        zfp::CompressionMode::Accuracy,
        zfp::CompressionMode::Precision,
        zfp::CompressionMode::Rate,
    ];
    let mode = (mode[usize::from(variant % 3)], meta);
    match kind {
        0 => decode_twice(input, |stream, out| {
            ndlz::decompress(side, stream, out).map(|len| assert!(len <= out.len()))
        }),
        1 => decode_twice(input, |stream, out| {
            zfp::decompress(mode, block, number, stream, out)
        }),
        2 => items(meta, block, number, input),
        3 => ndlz_there_and_back(side, block, &input.rest()),
        4 => zfp_there_and_back(mode, block, number, &input.rest()),
        _ => filters(meta, block, typesize, &input.rest()),
    }
}

/// One to five lengths, most of them small.
fn shape(input: &mut Input) -> BlockShape {
    let ndim = 1 + usize::from(input.byte() % 5);
    let mut dims = [0; 5];
    let mut nitems = 1;
    for dim in &mut dims[..ndim] {
        let len = 1 + usize::from(input.byte());
        let len = len
            .min(MAX_DATA / nitems)
            .min(if ndim > 2 { 20 } else { 255 });
        nitems *= len;
        *dim = len as i32;
    }
    BlockShape::new(&dims[..ndim]).expect("lengths of at least 1")
}

/// The bytes of data for a block, repeated where there are too few.
fn fill(block: BlockShape, typesize: usize, data: &[u8]) -> Vec<u8> {
    let len = block.nbytes(typesize) as usize;
    let data = if data.is_empty() { &[0] } else { data };
    data.iter().copied().cycle().take(len).collect()
}

/// What is decoded must not depend on what was in the buffer before.
fn decode_twice<T: PartialEq + std::fmt::Debug>(
    mut input: Input,
    decode: impl Fn(&[u8], &mut [u8]) -> oxiblosc_base::Result<T>,
) {
    let capacity = input.short();
    let stream = input.rest();
    let mut first = vec![0x00; capacity].into_boxed_slice();
    let mut second = vec![0xff; capacity].into_boxed_slice();
    let results = [decode(&stream, &mut first), decode(&stream, &mut second)];
    assert_eq!(results[0], results[1]);
    let _ = results[0].as_ref().map(|_| first.len());
}

/// Single items are those of the whole block.
fn items(meta: u8, block: BlockShape, typesize: usize, mut input: Input) {
    let (first, count) = (input.short(), 1 + usize::from(input.byte() % 6));
    let stream = input.rest();
    let len = block.nbytes(typesize) as usize;
    let mut whole = vec![0xff; len].into_boxed_slice();
    let mode = (zfp::CompressionMode::Rate, meta);
    // A stream that is cut is no block, but has the items before.
    let _ = zfp::decompress(mode, block, typesize, &stream, &mut whole);
    let mut part = vec![0x55; count * typesize].into_boxed_slice();
    let got = zfp::decompress_items(meta, block, typesize, &stream, first, &mut part);
    if got == Ok(true) {
        let at = first * typesize;
        assert!(
            part[..] == whole[at..at + count * typesize],
            "items of the block"
        );
    }
}

fn ndlz_there_and_back(side: u8, block: BlockShape, data: &[u8]) {
    let data = fill(block, 1, data);
    let mut packed = vec![0; data.len()].into_boxed_slice();
    let Ok(len) = ndlz::compress(side, block, &data, &mut packed) else {
        assert!(block.dims().len() != 2 || data.len() < 9);
        return;
    };
    if len > 0 {
        let stream: Box<[u8]> = packed[..len].into();
        let mut back = vec![0x55; data.len()].into_boxed_slice();
        assert_eq!(ndlz::decompress(side, &stream, &mut back), Ok(data.len()));
        assert!(back[..] == data[..]);
    }
}

fn zfp_there_and_back(
    mode: (zfp::CompressionMode, u8),
    block: BlockShape,
    typesize: usize,
    data: &[u8],
) {
    let data = fill(block, typesize, data);
    let mut packed = vec![0; data.len()].into_boxed_slice();
    match zfp::compress(mode, block, typesize, &data, &mut packed) {
        Err(_) => assert!(block.dims().len() > 4 || block.dims().iter().any(|len| *len < 4)),
        Ok(len) if len > 0 => {
            assert!(len < data.len());
            let stream: Box<[u8]> = packed[..len].into();
            let mut back = vec![0x55; data.len()].into_boxed_slice();
            let result = zfp::decompress(mode, block, typesize, &stream, &mut back);
            assert_eq!(result, Ok(()));
        }
        Ok(_) => {}
    }
}

fn filters(meta: u8, block: BlockShape, typesize: usize, data: &[u8]) {
    let exact = fill(block, typesize, data);
    // Data of any length go through most filters; for those of arrays they are no block.
    let any = data;
    for filter in &FILTERS {
        let (name, buffers) = (filter.id, |data: &[u8]| {
            let there = vec![0x00; data.len()].into_boxed_slice();
            (there, vec![0xff; data.len()].into_boxed_slice())
        });
        match filter.kind {
            FilterKind::OfFormat => {}
            FilterKind::Cells { forward, backward } => {
                let (mut there, mut back) = buffers(&exact);
                if forward(block, meta, typesize, &exact, &mut there).is_ok() {
                    // Cells that overlap cannot be undone, and that is said.
                    let undone = backward(block, meta, typesize, &there, &mut back).is_ok();
                    if filter.id == filter_id::NDCELL {
                        assert!(undone && back[..] == exact[..], "filter {name}");
                    }
                }
                if any.len() != exact.len() {
                    let (_, mut back) = buffers(any);
                    assert!(backward(block, meta, typesize, any, &mut back).is_err());
                }
            }
            FilterKind::Streams { forward, backward } => {
                let (mut there, mut back) = buffers(any);
                forward(meta.into(), any, &mut there);
                backward(meta.into(), &there, &mut back);
                assert!(back[..] == any[..], "filter {name}");
            }
            FilterKind::Items(truncate) => {
                let (mut there, mut back) = buffers(any);
                if truncate(meta as i8, typesize, any, &mut there).is_ok() {
                    truncate(meta as i8, typesize, &there, &mut back).expect("the same bits");
                    assert!(back == there, "filter {name}");
                }
            }
        }
    }
}

/// Inputs to begin with: streams of every kind, and data.
pub fn seeds() -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    for (n, dims) in [
        &[100][..],
        &[64, 64],
        &[37, 51],
        &[9, 10, 11],
        &[5, 6, 7, 4],
    ]
    .iter()
    .enumerate()
    {
        let lens: Vec<i32> = dims.to_vec();
        let block = BlockShape::new(&lens).expect("a shape");
        let mut prefix = vec![dims.len() as u8 - 1];
        prefix.extend(dims.iter().map(|len| *len as u8 - 1));
        for typesize in [4, 8] {
            let nitems = block.nbytes(1) as usize;
            let data: Vec<u8> = (0..nitems)
                .flat_map(|i| {
                    let x = (i as f64 * 0.03).sin() * 40.0 + (i / 100) as f64;
                    match typesize {
                        4 => (x as f32).to_le_bytes().to_vec(),
                        _ => x.to_le_bytes().to_vec(),
                    }
                })
                .collect();
            // An odd size says 8 bytes, an even one 4: see `run`.
            let size = if typesize == 4 { 1 } else { 0 };
            for (variant, mode, meta) in [
                (0, zfp::CompressionMode::Accuracy, 0xff),
                (1, zfp::CompressionMode::Precision, 12),
                (2, zfp::CompressionMode::Rate, 30),
            ] {
                let mut packed = vec![0; data.len()];
                let len = zfp::compress((mode, meta), block, typesize, &data, &mut packed);
                packed.truncate(len.expect("numbers"));
                let capacity = (data.len() as u16).to_le_bytes();
                let whole = [
                    &[1 + KINDS * variant, meta, size],
                    &prefix[..],
                    &capacity,
                    &packed,
                ];
                all.push(whole.concat());
                all.push([&[4 + KINDS * variant, meta, size], &prefix[..], &data].concat());
                if variant == 2 {
                    let at = (n as u16 * 20).to_le_bytes();
                    let some = [&[2, meta, size], &prefix[..], &at, &[1], &packed];
                    all.push(some.concat());
                }
            }
            all.push([&[5, 3, typesize as u8 - 1], &prefix[..], &data].concat());
        }
        if let &[rows, columns] = *dims {
            let picture: Vec<u8> = (0..(rows * columns) as usize)
                .map(|i| {
                    let (row, column) = (i / columns as usize, i % columns as usize);
                    let speck = if i % 71 == 0 { i as u8 } else { 0 };
                    (row / 8 % 3 * 50 + column % 8 * (row % 4) + usize::from(speck)) as u8
                })
                .collect();
            for (variant, side) in [(0, 4), (1, 8)] {
                let mut packed = vec![0; picture.len()];
                let len = ndlz::compress(side, block, &picture, &mut packed).expect("a picture");
                packed.truncate(len);
                let capacity = (picture.len() as u16).to_le_bytes();
                let what = KINDS * variant;
                all.push([&[what, 0, 0], &prefix[..], &capacity, &packed].concat());
                all.push([&[what + 3, 0, 0], &prefix[..], &picture].concat());
            }
        }
    }
    all
}
