//! Chunks with checksums: they give what they gave without, and any bit that is another is found.

use super::super::Chunk;
use super::super::checked::CheckedChunks;
use super::super::decode::{decompress, decompress_block};
use super::super::encode::{ChunkInput, EncodeParams};
use super::super::fast_path;
use super::super::getitem::{ItemRange, getitem, stored};
use super::super::header::{ChunkHeader, Special, i32_at};
use super::super::hooks::{NoHooks, Serial};
use super::super::patch::{PatchMode, Patched, Patcher, Touched};
use super::super::repack::repack;
use super::super::special::SpecialChunk;
use super::super::workers::Workers;
use super::lazy::Store;
use super::{LZ4_SHUFFLED, compressed, data, decompressed, variants};
use crate::add_checksums::add;
use crate::checksum::{CHECKSUMS, TableLayout, extra_len};
use oxiblosc_base::{Error, Result};

fn noise(len: usize) -> Vec<u8> {
    let mut state = 1u64;
    let next = |_| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 56) as u8
    };
    (0..len).map(next).collect()
}

/// Chunks of every kind, with few blocks.
fn chunks() -> Vec<Vec<u8>> {
    let mut chunks = Vec::new();
    for len in [0, 1, 31, 4096, 20_003] {
        for params in variants() {
            for data in [data(len), noise(len), vec![0; len]] {
                chunks.push(compressed(
                    &params,
                    ChunkInput::Buffer(&data),
                    len + 32,
                    &Serial,
                ));
            }
        }
    }
    let data = data(9000);
    let blocks = [&data[..5], &data[5..6000], &data[6000..]];
    for use_dict in [false, true] {
        let params = EncodeParams {
            use_dict,
            compcode: 5,
            split: false,
            ..LZ4_SHUFFLED
        };
        chunks.push(compressed(
            &params,
            ChunkInput::Variable(&blocks),
            12_000,
            &Serial,
        ));
    }
    for (kind, value) in [
        (Special::Value, &b"abcd"[..]),
        (Special::Nan, b""),
        (Special::Zero, b""),
    ] {
        let mut chunk = vec![0; 32 + value.len()];
        let special = SpecialChunk {
            special: kind,
            nbytes: 4000,
            blocksize: 1000,
            typesize: 4,
            value,
        };
        special.write(&mut chunk);
        chunks.push(chunk);
    }
    chunks
}

fn with(chunk: &[u8]) -> Vec<u8> {
    add(chunk)
        .unwrap()
        .expect("any chunk can have checksums")
        .to_vec()
}

/// The data, by every way there is, which must agree.
fn read(bytes: &[u8]) -> Result<Vec<u8>> {
    let header = ChunkHeader::parse(bytes)?;
    let long = read_at_length(&header, bytes);
    // More than any of the chunks has is not made room for.
    if (1..100_000).contains(&header.nbytes) {
        let mut short = vec![0xee; header.nbytes];
        let is_plain = fast_path::decompress(&header, bytes, &mut short).is_some();
        assert!(!is_plain || long.as_ref() == Ok(&short), "{header:?}");
        let range = ItemRange {
            start: 0,
            len: header.nbytes,
        };
        let stored = stored(&header, bytes, range).ok().flatten();
        let agrees = stored.is_none_or(|data| long.as_deref() == Ok(data));
        assert!(agrees, "{header:?}");
    }
    long
}

/// The same, but for the short ways.
fn read_at_length(header: &ChunkHeader, bytes: &[u8]) -> Result<Vec<u8>> {
    let chunk = Chunk::parse(header, bytes)?;
    let mut whole = vec![0xee; header.nbytes];
    decompress(&chunk, &mut whole, None, &NoHooks, Workers::ALONE)?;
    if !header.has_vlblocks() {
        let mut items = vec![0xee; header.nbytes];
        let range = ItemRange {
            start: 0,
            len: header.nbytes,
        };
        getitem(&chunk, range, &mut items, &NoHooks)?;
        assert!(items == whole);
    }
    let mut by_blocks = Vec::new();
    for nblock in 0..if header.nbytes > 0 { header.nblocks } else { 0 } {
        let mut block = vec![0xee; chunk.block_nbytes(nblock)?];
        decompress_block(&chunk, nblock, &mut block, &NoHooks)?;
        by_blocks.extend(block);
    }
    assert!(by_blocks == whole);
    chunk.check_checksums()?;
    Ok(whole)
}

/// The same from a chunk that is elsewhere.
fn fetched(bytes: &[u8]) -> Result<Vec<u8>> {
    let header = ChunkHeader::parse(bytes)?;
    let store = Store::new(bytes);
    let prefix = bytes
        .get(..Chunk::prefix_wanted(&header))
        .ok_or(Error::READ_BUFFER)?;
    let chunk = Chunk::lazy(&header, prefix, &store)?;
    let mut whole = vec![0xee; header.nbytes];
    decompress(&chunk, &mut whole, None, &NoHooks, Workers::ALONE)?;
    if !header.has_vlblocks() {
        let mut items = vec![0xee; header.nbytes / 12 * 4];
        let range = ItemRange {
            start: header.nbytes / 8 * 4,
            len: items.len(),
        };
        getitem(&chunk, range, &mut items, &NoHooks)?;
        assert!(items == whole[range.start..][..range.len]);
    }
    Ok(whole)
}

#[test]
fn the_data_are_the_same() {
    for chunk in chunks() {
        let header = ChunkHeader::parse(&chunk).unwrap();
        let checked = with(&chunk);
        let more = ChunkHeader::parse(&checked).unwrap();
        let data = decompressed(&chunk, None, 1);
        assert!(more.has_checksums() && more.cbytes == checked.len());
        assert!(read(&checked).as_ref() == Ok(&data));
        let there = fetched(&checked);
        assert!(
            there.as_ref() == Ok(&data),
            "{:?} {header:?}",
            there.map(|data| data.len())
        );
        for nthreads in [2, 8] {
            assert!(decompressed(&checked, None, nthreads) == data);
        }
        assert!(add(&checked).unwrap().is_none() && repack(&checked).unwrap().is_none());
        let stored = header.is_memcpyed() && header.nbytes > 0;
        let plus = if stored { 8 * header.nblocks } else { 0 };
        let table = match more.special() {
            Special::None if header.nbytes > 0 => TableLayout::of(&more).table_len(),
            _ => 0,
        };
        assert_eq!(TableLayout::of(&more).has_pages(), stored);
        assert_eq!(checked.len(), chunk.len() + table + plus);
    }
}

#[test]
fn every_flipped_bit_is_found() {
    for chunk in chunks() {
        let mut checked = with(&chunk);
        let step = 1 + checked.len() / 1500;
        for at in (0..checked.len()).filter(|at| *at < 300 || at % step == 0) {
            for bit in 0..8 {
                checked[at] ^= 1 << bit;
                let header = ChunkHeader::parse(&checked);
                // Some of the header says how much is to be read, and there is not as much.
                let (here, there) = (read(&checked), fetched(&checked));
                assert!(here.is_err(), "bit {bit} of byte {at}: {header:?}");
                assert!(there.is_err(), "bit {bit} of byte {at}: {header:?}");
                checked[at] ^= 1 << bit;
            }
        }
    }
}

#[test]
fn a_chunk_that_only_claims_to_have_them_is_refused() {
    for mut chunk in chunks() {
        chunk[30] |= CHECKSUMS;
        assert!(read(&chunk).is_err() && fetched(&chunk).is_err());
    }
}

#[test]
fn a_patched_chunk_keeps_them() {
    for base in [data(40_000), noise(40_000)] {
        let mut data = base.clone();
        let mut bytes = with(&compressed(
            &LZ4_SHUFFLED,
            ChunkInput::Buffer(&data),
            data.len() + 32,
            &Serial,
        ));
        for (start, new) in [
            (5, &[7u8; 3000][..]),
            (12_000, b"abc"),
            (30_000, &base[..9000]),
        ] {
            data[start..start + new.len()].copy_from_slice(new);
            let header = ChunkHeader::parse(&bytes).unwrap();
            let chunk = Chunk::parse(&header, &bytes).unwrap();
            let patcher = Patcher {
                chunk: &chunk,
                compcode: 1,
                clevel: 5,
                decoding: &NoHooks,
                encoding: &NoHooks,
                workers: Workers::ALONE,
            };
            let patched = patcher.range(start, new, PatchMode::Edits).unwrap();
            let Some(patched) = patched else {
                // Blocks that are stored do not become smaller than the whole chunk may be.
                continue;
            };
            let patched = patched.whole(&chunk).unwrap().to_vec();
            let header = ChunkHeader::parse(&patched).unwrap();
            bytes = match header.has_checksums() {
                true => patched,
                false => with(&patched),
            };
            assert!(read(&bytes).as_ref() == Ok(&data), "{start}");
            if let Some(packed) = repack(&bytes).unwrap() {
                assert!(read(&packed).as_ref() == Ok(&data), "{start}");
            }
        }
    }
}

#[test]
fn blocks_that_stay_the_same_are_left_alone() {
    let old = data(40_000);
    let plain = compressed(
        &LZ4_SHUFFLED,
        ChunkInput::Buffer(&old),
        old.len() + 32,
        &Serial,
    );
    for bytes in [with(&plain), plain] {
        let header = ChunkHeader::parse(&bytes).unwrap();
        let chunk = Chunk::parse(&header, &bytes).unwrap();
        let patcher = Patcher {
            chunk: &chunk,
            compcode: LZ4_SHUFFLED.compcode,
            clevel: LZ4_SHUFFLED.clevel,
            decoding: &NoHooks,
            encoding: &NoHooks,
            workers: Workers::ALONE,
        };
        let edits = |patched: Result<Option<Patched>>| match patched {
            Ok(Some(Patched::Edits(edits))) => edits,
            _ => panic!("neither an error nor the whole chunk"),
        };
        let range = |start, new: &[u8]| edits(patcher.range(start, new, PatchMode::Edits));
        assert!(range(100, &old[100..30_000]).is_empty());
        let touched = [1, 2, 5].map(|nblock| Touched {
            nblock,
            whole: false,
        });
        let change = |byte: u8| {
            let invert = move |nblock: usize, data: &mut [u8]| {
                if nblock == 2 {
                    data[5] ^= byte;
                }
            };
            edits(patcher.changed(&touched, &invert, PatchMode::Edits))
        };
        assert!(change(0).is_empty());
        let edits = change(0x80);
        assert!(!edits.is_empty());
        let untouched = |nblock: usize| {
            let start = i32_at(&bytes, 32 + 4 * nblock) as usize;
            let outside = |at: usize, len: usize| at + len <= start || start < at;
            edits.iter().all(|edit| outside(edit.at, edit.len))
        };
        assert!(untouched(1) && untouched(5));
        let patched = Patched::Edits(edits).whole(&chunk).unwrap().to_vec();
        let mut new = old.clone();
        new[2 * 4096 + 5] ^= 0x80;
        assert!(read(&patched).as_ref() == Ok(&new));
    }
}

#[test]
fn of_stored_data_the_pages_that_are_read_or_changed_are_checked() {
    let params = EncodeParams {
        blocksize: 30_000,
        ..LZ4_SHUFFLED
    };
    let data = noise(70_000);
    let chunk = compressed(&params, ChunkInput::Buffer(&data), 80_000, &Serial);
    let checked = with(&chunk);
    let header = ChunkHeader::parse(&checked).unwrap();
    let prefix = Chunk::prefix_len(&header);
    let place = |at: usize| prefix + 4 * (at / 30_000 + 1) + at;
    for at in [0, 4095, 4096, 29_999, 30_000, 45_000, 69_999] {
        let mut damaged = checked.clone();
        damaged[place(at)] ^= 4;
        let chunk = Chunk::parse(&header, &damaged).unwrap();
        let store = Store::new(&damaged);
        let lazy = Chunk::lazy(&header, &damaged[..prefix], &store).unwrap();
        let patcher = Patcher {
            chunk: &chunk,
            compcode: params.compcode,
            clevel: params.clevel,
            decoding: &NoHooks,
            encoding: &NoHooks,
            workers: Workers::ALONE,
        };
        for start in (0..69_900).step_by(100) {
            let mut part = [0; 100];
            let (len, range) = (part.len(), start..start + 100);
            for chunk in [&chunk, &lazy] {
                let got = getitem(chunk, ItemRange { start, len }, &mut part, &NoHooks);
                // Pages begin with a block, and a block is not read in part to its end.
                let (block, first) = (at / 30_000 * 30_000, at % 30_000 / 4096 * 4096);
                let page = block + first..block + (first + 4096).min(30_000);
                let met = page.start < range.end && range.start < page.end;
                assert_eq!(got.is_err(), met, "{at} {range:?}");
                assert!(met || part == data[range.clone()]);
            }
            let read = getitem(&chunk, ItemRange { start, len }, &mut part, &NoHooks);
            let patched = patcher.range(start, &[1; 100], PatchMode::Edits);
            assert_eq!(patched.is_err(), read.is_err(), "{at} {range:?}");
        }
    } // Where a block ends the codec tries again, and needs all of it.
}

/// Sums of pages that change in part are made from those that they had, without reading the rest of
/// the page.
#[test]
fn what_is_damaged_after_its_check_gets_no_sum_that_fits() {
    let params = EncodeParams {
        blocksize: 30_000,
        ..LZ4_SHUFFLED
    };
    let data = noise(70_000);
    let whole = with(&compressed(
        &params,
        ChunkInput::Buffer(&data),
        80_000,
        &Serial,
    ));
    let header = ChunkHeader::parse(&whole).unwrap();
    let known = CheckedChunks::default();
    let checked = known.chunk(0, 1);
    let chunk = Chunk::parse_checked(&header, &whole, checked).unwrap();
    let mut out = vec![0; data.len()];
    decompress(&chunk, &mut out, None, &NoHooks, Workers::ALONE).unwrap();
    assert!(out == data);
    let patched = |bytes: &[u8], start, new: &[u8]| {
        let chunk = Chunk::parse_checked(&header, bytes, checked).unwrap();
        let patcher = Patcher {
            chunk: &chunk,
            compcode: params.compcode,
            clevel: params.clevel,
            decoding: &NoHooks,
            encoding: &NoHooks,
            workers: Workers::ALONE,
        };
        let patched = patcher.range(start, new, PatchMode::Edits).unwrap();
        patched.unwrap().whole(&chunk).unwrap().to_vec()
    };
    let prefix = Chunk::prefix_len(&header);
    let place = |at: usize| prefix + 4 * (at / 30_000 + 1) + at;
    for (start, len) in [(100, 3000), (5000, 9000), (28_000, 6000), (4096, 8192)] {
        let new = vec![9; len];
        let mut wanted = data.clone();
        wanted[start..start + len].copy_from_slice(&new);
        assert!(read(&patched(&whole, start, &new)).as_ref() == Ok(&wanted));
        // In the front: the sum of the last page.
        let mut places = vec![(prefix - 8, false)];
        for at in (0..70_000).step_by(501) {
            // Of a page that is overwritten as a whole nothing is left.
            let block = at / 30_000 * 30_000;
            let page = block + (at - block) / 4096 * 4096;
            let end = (page + 4096).min(block + 30_000).min(70_000);
            places.push((place(at), start <= page && end <= start + len));
        }
        for (at, is_over) in places {
            let mut damaged = whole.clone();
            damaged[at] ^= 0x10;
            let got = read(&patched(&damaged, start, &new));
            assert_eq!(got.is_ok(), is_over, "{start} {at}");
            assert!(!is_over || got.as_ref() == Ok(&wanted), "{start} {at}");
        }
    }
}

#[test]
fn chunks_that_are_made_with_them_are_those_that_get_them_later() {
    for len in [0, 1, 31, 4096, 20_003, 200_000] {
        for params in variants() {
            for data in [data(len), noise(len), vec![0; len]] {
                let source = ChunkInput::Buffer(&data);
                let chunk = compressed(&params, source, len + 32, &Serial);
                let params = EncodeParams {
                    checksums: true,
                    ..params
                };
                let created = compressed(&params, source, len + 32 + extra_len(len), &Serial);
                match add(&chunk).unwrap() {
                    Some(added) => assert!(created == *added, "{params:?}"),
                    None => assert!(created == chunk && !params.extended),
                }
                // Where there is no room for them the chunk is the same without.
                let none = compressed(&params, source, len + 32, &Serial);
                let header = ChunkHeader::parse(&none).unwrap();
                assert!(none == chunk || none == created, "{header:?}");
            }
        }
    }
}
