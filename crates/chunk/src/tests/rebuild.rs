//! Chunks with a damaged front.

use super::super::checksum::{Layout, add};
use super::super::decode::Chunk;
use super::super::encode::{ChunkInput, EncodeParams};
use super::super::header::{ChunkHeader, i32_at};
use super::super::hooks::Serial;
use super::super::rebuild::{doubtful, rebuild};
use super::{LZ4_SHUFFLED, compressed, data};
use oxiblosc_memory::Buffer;
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
    rebuild(header, &bytes).expect("memory")
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
        let end = dict.end + Layout::of(&header).table_len();
        for damage in [
            0..header.overhead(),
            starts.clone(),
            starts.start..starts.start + 1,
            dict.end..end - 4,
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
    let (plain, wrong) = doubtful(&header, &bytes).expect("blocks");
    assert_eq!(wrong[..], [1]);
    let header = ChunkHeader::parse(&plain).expect("a header");
    assert!(!header.has_checksums() && Chunk::parse(&header, &plain).is_ok());
}
