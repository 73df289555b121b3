//! A part of a chunk's data is overwritten: the rest is as before, if it could be read at all and
//! no blocks overlap.

use super::{Case, LARGEST, MANY_BLOCKS};
use oxiblosc_chunk::Chunk;
use oxiblosc_chunk::decode::decompress;
use oxiblosc_chunk::header::{ChunkHeader, filter_id};
use oxiblosc_chunk::hooks::NoHooks;
use oxiblosc_chunk::patch::{PatchMode, Patcher};
use oxiblosc_chunk::workers::Workers;

/// Options, of which some numbers are a codec, a range and what goes there, then a chunk.
pub fn run(data: &[u8]) {
    let case = Case::read(data);
    let small = |header: &ChunkHeader| {
        header.cbytes <= case.chunk.len()
            && header.nbytes <= LARGEST
            && header.nblocks <= MANY_BLOCKS
    };
    let Some(header) = case.header.filter(small) else {
        return;
    };
    let Ok(chunk) = Chunk::loaded(&header, &case.chunk[..header.cbytes]) else {
        return;
    };
    let [codec, a, b, c, d, e, _] = case.numbers;
    let patcher = Patcher {
        chunk: &chunk,
        compcode: codec % 6,
        clevel: 1 + codec % 3,
        decoding: &NoHooks,
        encoding: &NoHooks,
        workers: Workers::ALONE,
    };
    let start = usize::from(u16::from_le_bytes([a, b])) % (header.nbytes + 1);
    let len = usize::from(u16::from_le_bytes([c, d])).min(header.nbytes - start);
    let new: Vec<u8> = (0..len).map(|i| (i as u8).wrapping_mul(e)).collect();
    let Ok(Some(patched)) = patcher.range(start, &new, PatchMode::Edits) else {
        return;
    };
    let patched = patched.whole(&chunk).expect("edits of this chunk");
    assert!(patched.len() <= header.cbytes.max(header.nbytes + header.overhead()));
    let after = ChunkHeader::parse(&patched).expect("our own header");
    let changed = Chunk::parse(&after, &patched).expect("our own chunk");
    let mut expected = vec![0x33; header.nbytes];
    let mut dest = vec![0x33; header.nbytes];
    let result = decompress(&changed, &mut dest, None, &NoHooks, Workers::ALONE);
    // Where blocks share bytes, a change of one may be a change of another.
    let copy = patcher.blocks(&[], &|_, _| {});
    let apart = matches!(copy, Ok(Some(copy)) if copy[..] == case.chunk[..header.cbytes]);
    if apart && decompress(&chunk, &mut expected, None, &NoHooks, Workers::ALONE).is_ok() {
        assert!(result.is_ok(), "a patched chunk: {result:?}");
        expected[start..start + len].copy_from_slice(&new);
        let lossy = header.filters.contains(&filter_id::TRUNC_PREC);
        assert!(lossy || dest == expected, "a patched chunk");
    }
}
