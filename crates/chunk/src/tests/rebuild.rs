//! Chunks with a damaged front.

use super::super::Chunk;
use super::super::decode::decompress;
use super::super::encode::{ChunkInput, EncodeParams};
use super::super::header::{ChunkHeader, i32_at};
use super::super::hooks::{NoHooks, Serial};
use super::super::rebuild::{
    correct_blocks, damaged_blocks, prefix_matches, rebuild, single_block, without_checksums,
};
use super::super::workers::Workers;
use super::{LZ4_SHUFFLED, compressed, data};
use crate::add_checksums::add;
use crate::checksum::TableLayout;
use oxiblosc_base::memory::Buffer;
use std::ops::Range;

fn chunk(use_dict: bool) -> Buffer {
    let params = EncodeParams {
        use_dict,
        ..LZ4_SHUFFLED
    };
    let data = data(40_003);
    let chunk = compressed(&params, ChunkInput::Buffer(&data), 41_000, &Serial);
    add(&chunk).expect("memory").expect("checksums")
}

/// What becomes of the chunk when a part of it is damaged, with other bytes behind it.
fn rebuilt(chunk: &[u8], header: &ChunkHeader, damage: &Range<usize>) -> Option<Buffer> {
    let mut bytes = chunk.to_vec();
    bytes[damage.clone()]
        .iter_mut()
        .for_each(|byte| *byte ^= 0xa5);
    bytes.extend([7; 100]);
    let back = rebuild(header, &bytes).expect("memory");
    back.filter(|back| back.proven).map(|back| back.chunk)
}

#[test]
fn a_front_is_made_anew_where_its_checksum_is_left() {
    for use_dict in [false, true] {
        let chunk = chunk(use_dict);
        let header = ChunkHeader::parse(&chunk).expect("a header");
        assert!(header.nblocks > 3);
        let starts = header.overhead()..header.overhead() + 4 * header.nblocks;
        let dict = match use_dict {
            true => starts.end..starts.end + 4 + i32_at(&chunk, starts.end) as usize,
            false => starts.end..starts.end,
        };
        let end = dict.end + TableLayout::of(&header).table_len();
        for damage in [
            0..header.overhead(),
            starts.clone(),
            starts.start..starts.start + 1,
            dict.end..end - 4,
            // How long the dictionary is.
            dict.start..dict.end.min(dict.start + 4),
        ] {
            let back = rebuilt(&chunk, &header, &damage);
            assert!(back.is_some_and(|back| back[..] == chunk[..]), "{damage:?}");
        }
        // Of the checksum itself, and of a dictionary, nothing else tells.
        assert!(rebuilt(&chunk, &header, &(end - 4..end)).is_none());
        assert!(dict.is_empty() || rebuilt(&chunk, &header, &dict).is_none());
        let other = ChunkHeader {
            typesize: header.typesize + 1,
            ..header
        };
        assert!(rebuilt(&chunk, &other, &(0..1)).is_none());
    }
}

#[test]
fn blocks_that_do_not_fit_are_named() {
    let chunk = chunk(false);
    let header = ChunkHeader::parse(&chunk).expect("a header");
    let mut bytes = chunk.to_vec();
    let start = i32_at(&bytes, header.overhead() + 4) as usize;
    // Within a stream, so that its size is what it was.
    bytes[start + 8] ^= 1;
    let (plain, wrong) = without_checksums(&header, &bytes).expect("blocks");
    assert_eq!(wrong[..], [1]);
    let header = ChunkHeader::parse(&plain).expect("a header");
    assert!(!header.has_checksums() && Chunk::parse(&header, &plain).is_ok());
}

#[test]
fn one_bit_is_put_right_wherever_it_is() {
    for use_dict in [false, true] {
        let chunk = chunk(use_dict);
        let header = ChunkHeader::parse(&chunk).expect("a header");
        let first = i32_at(&chunk, header.overhead()) as usize;
        for at in (header.overhead()..chunk.len()).step_by(if use_dict { 7 } else { 3 }) {
            let mut bytes = chunk.to_vec();
            bytes[at] ^= 1 << (at % 8);
            let back = match at < first {
                true => {
                    rebuild(&header, &bytes)
                        .expect("memory")
                        .expect("it is found")
                        .chunk
                }
                false => {
                    let (back, right) = correct_blocks(&header, &bytes).expect("blocks");
                    assert_eq!(right.len(), 1, "{at}");
                    back
                }
            };
            assert!(back[..] == chunk[..], "{at}");
        }
    }
}

/// A chunk whose blocks are of variable length, with checksums, and its data.
fn variable() -> (Buffer, Vec<Vec<u8>>) {
    let blocks: Vec<Vec<u8>> = [700, 1, 3000, 90].map(data).into();
    let slices: Vec<&[u8]> = blocks.iter().map(Vec::as_slice).collect();
    let chunk = compressed(&LZ4_SHUFFLED, ChunkInput::Variable(&slices), 9000, &Serial);
    (add(&chunk).expect("memory").expect("checksums"), blocks)
}

#[test]
fn blocks_of_variable_length_are_found_and_read_one_by_one() {
    let (chunk, blocks) = variable();
    let header = ChunkHeader::parse(&chunk).expect("a header");
    let starts = header.overhead()..header.overhead() + 4 * header.nblocks;
    let back = rebuilt(&chunk, &header, &starts);
    // What lies behind the chunk belongs to its last block as far as can be told.
    assert!(back.is_some_and(|back| back[..] == chunk[..]));
    // The size of a block, without which the chunk as a whole says nothing.
    let mut bytes = chunk.to_vec();
    let third = i32_at(&bytes, header.overhead() + 8) as usize;
    bytes[third..third + 4].fill(0xee);
    assert!(Chunk::parse(&header, &bytes).is_err() && prefix_matches(&header, &bytes));
    assert_eq!(damaged_blocks(&header, &bytes).expect("blocks")[..], [2]);
    for (nblock, block) in blocks.iter().enumerate().filter(|(nblock, _)| *nblock != 2) {
        let (single, nbytes) = single_block(&header, &bytes, nblock).expect("a block");
        let header = ChunkHeader::parse(&single).expect("a header");
        let mut data = vec![0; nbytes];
        let parsed = Chunk::parse(&header, &single).expect("a chunk");
        decompress(&parsed, &mut data, None, &NoHooks, Workers::ALONE).expect("data");
        assert!(data == *block, "{nblock}");
    }
    assert!(single_block(&header, &bytes, 2).is_err());
}
