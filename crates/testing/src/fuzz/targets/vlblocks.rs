//! Chunks of variable-length blocks: hostile ones, and our own.

use super::super::calls::{
    Decompression, decompress, vlchunk_get_nblocks, vlcompress, vldecompress, vldecompress_block,
};
use super::super::numbers::Input;
use super::compress::parameters;
use super::{COMPRESS, Case, LARGEST, LARGEST_CLAIM, MANY_BLOCKS};

/// Options, then a chunk; or parameters, sizes and data.
pub fn run(data: &[u8]) {
    match data.split_first() {
        Some((bits, rest)) if bits & COMPRESS != 0 => round_trip(rest),
        _ => hostile(&Case::read(data)),
    }
}

fn hostile(case: &Case) {
    let chunk = &*case.chunk;
    let claimed = vlchunk_get_nblocks(chunk).unwrap_or(0);
    if case.nbytes() > LARGEST_CLAIM {
        return;
    }
    let most = match case.numbers[6] % 8 {
        0 => usize::from(case.numbers[5]),
        _ => claimed,
    };
    let most = most.clamp(1, MANY_BLOCKS);
    let one = vldecompress(Decompression::on(1), None, chunk, most);
    let how = Decompression {
        nthreads: 2,
        postfilter: case.postfilter(),
    };
    let two = vldecompress(how, None, chunk, most);
    match (&one, &two) {
        (Ok(one), Ok(two)) => assert!(one == two, "one thread, two threads"),
        _ => assert_eq!(one.is_err(), two.is_err()),
    }
    if let Some(mask) = case.mask(claimed) {
        let masked = vldecompress(how, Some(&mask), chunk, most);
        if let (Ok(one), Ok(masked)) = (&one, &masked) {
            let unmasked = one.iter().zip(masked).zip(&mask).filter(|(_, out)| !**out);
            assert!(unmasked.into_iter().all(|((one, masked), _)| one == masked));
        }
        assert!(one.is_err() || masked.is_ok());
    }
    if let Ok(blocks) = &one {
        let whole = blocks.concat();
        assert_eq!(whole.len(), case.nbytes());
        let mut dest = vec![0xff; whole.len()].into_boxed_slice();
        let code = decompress(Decompression::on(2), None, chunk, &mut dest);
        assert_eq!(usize::try_from(code), Ok(whole.len()));
        assert!(*dest == *whole, "all blocks in one buffer");
    }
    let [a, b, c, d, ..] = case.numbers;
    let any = i32::from_le_bytes([a, b, c, d]);
    for nblock in [
        0,
        1,
        claimed as i32 / 2,
        claimed as i32 - 1,
        claimed as i32,
        any,
    ] {
        let block = vldecompress_block(how, chunk, nblock);
        if let (Ok(blocks), Ok(nblock)) = (&one, usize::try_from(nblock)) {
            assert_eq!(block.ok().as_ref(), blocks.get(nblock), "block {nblock}");
        }
    }
}

fn round_trip(data: &[u8]) {
    let mut input = Input(data);
    let parameters = parameters(&mut input);
    let nblocks = usize::from(input.byte()) % 40;
    let tight = input.byte();
    let sizes: Vec<usize> = (0..nblocks).map(|_| input.short() % 3000).collect();
    let blocks: Vec<Box<[u8]>> = sizes.iter().map(|size| input.take(*size)).collect();
    let total: usize = blocks.iter().map(|block| block.len()).sum();
    let bound = total + 32 + 32 * 1024 + 28 * nblocks;
    let capacity = match tight % 4 {
        0 => bound * usize::from(tight) / 256,
        _ => bound,
    };
    let created: Vec<_> = [1, 2]
        .into_iter()
        .map(|nthreads| {
            let mut cparams = parameters.cparams;
            cparams.nthreads = nthreads;
            let mut dest = vec![0; capacity.min(LARGEST)].into_boxed_slice();
            let code = vlcompress(cparams, &blocks, &mut dest).unwrap_or(-1);
            let cbytes = usize::try_from(code).unwrap_or(0);
            (code, dest[..cbytes].to_vec().into_boxed_slice())
        })
        .collect();
    assert_eq!(created[0].0, created[1].0);
    assert!(created[0].1 == created[1].1 || parameters.cparams.instr_codec);
    let (code, chunk) = &created[0];
    if *code <= 0 || !parameters.lossless {
        return;
    }
    let got = vldecompress(Decompression::on(2), None, chunk, nblocks).expect("our own chunk");
    assert!(
        got.iter().eq(blocks
            .iter()
            .map(|block| block.to_vec())
            .collect::<Vec<_>>()
            .iter())
    );
    for (nblock, want) in blocks.iter().enumerate().take(5) {
        let block = vldecompress_block(Decompression::on(1), chunk, nblock as i32);
        assert!(block.as_deref() == Ok(want), "block {nblock}");
    }
}
