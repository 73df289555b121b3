//! Chunks whose blocks are fetched: they give what chunks in memory give, and fetch no more than
//! that takes.

use super::super::Chunk;
use super::super::checksum::MAGIC;
use super::super::decode::{decompress, decompress_block};
use super::super::encode::{ChunkInput, EncodeParams};
use super::super::getitem::{ItemRange, getitem};
use super::super::header::{ChunkHeader, Special, flags2, i32_at};
use super::super::hooks::{NoHooks, Serial};
use super::super::source::BlockSource;
use super::super::special::SpecialChunk;
use super::super::workers::Workers;
use super::{LZ4_SHUFFLED, compressed, data, threads, variants};
use oxiblosc_base::memory::lock;
use oxiblosc_base::{Error, Result};
use oxiblosc_pool as pool;
use std::sync::Mutex;

/// The bytes of a lazy chunk, and which of them were read: from where, and how many.
pub(super) struct Store<'a> {
    bytes: &'a [u8],
    reads: Mutex<Vec<(usize, usize)>>,
}

impl<'a> Store<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self {
            bytes,
            reads: Mutex::default(),
        }
    }

    /// What was read since this was asked last.
    fn reads(&self) -> Vec<(usize, usize)> {
        std::mem::take(&mut lock(&self.reads))
    }
}

impl BlockSource for Store<'_> {
    fn read_at(&self, pos: usize, buf: &mut [u8]) -> Result<()> {
        let bytes = self
            .bytes
            .get(pos..pos + buf.len())
            .ok_or(Error::FILE_READ)?;
        buf.copy_from_slice(bytes);
        lock(&self.reads).push((pos, buf.len()));
        Ok(())
    }
}

/// The same chunk with its blocks the other way round.
fn backwards(bytes: &[u8], header: &ChunkHeader) -> Vec<u8> {
    let table = header.overhead();
    let end = table + 4 * header.nblocks;
    let start = |nblock: usize| i32_at(bytes, table + 4 * nblock) as usize;
    let mut out = bytes[..start(0).max(end)].to_vec();
    for nblock in (0..header.nblocks).rev() {
        let at = table + 4 * nblock;
        let stop = if nblock + 1 < header.nblocks {
            start(nblock + 1)
        } else {
            header.cbytes
        };
        let moved = out.len() as i32;
        out[at..at + 4].copy_from_slice(&moved.to_le_bytes());
        out.extend(&bytes[start(nblock)..stop]);
    }
    out
}

fn lazy<'a>(header: &'a ChunkHeader, store: &'a Store) -> Chunk<'a> {
    let prefix = &store.bytes[..Chunk::prefix_len(header)];
    Chunk::lazy(header, prefix, store).unwrap()
}

#[test]
fn fetched_blocks_are_the_same_blocks() {
    let data = data(100_003);
    for params in variants() {
        let bytes = compressed(&params, ChunkInput::Buffer(&data), data.len() + 32, &Serial);
        let header = ChunkHeader::parse(&bytes).unwrap();
        let mut forms = vec![bytes.clone()];
        if !header.is_memcpyed() {
            forms.push(backwards(&bytes, &header));
        }
        for bytes in forms {
            let store = Store::new(&bytes);
            let chunk = lazy(&header, &store);
            let in_prefix = Chunk::prefix_len(&header);
            let dict: usize = store.reads().iter().map(|(_, len)| len).sum();
            for nthreads in [1, 4] {
                let mut out = vec![0xee; data.len()];
                decompress(&chunk, &mut out, None, &NoHooks, threads(nthreads)).unwrap();
                assert!(out == data, "{params:?}");
                // A chunk with a delta may have its first block decoded apart; otherwise every byte
                // is read once.
                let read: usize = store.reads().iter().map(|(_, len)| len).sum();
                let twice = if dict > 0 { MAGIC.len() } else { 0 };
                assert_eq!(in_prefix + dict + read, bytes.len() + twice, "{params:?}");
            }
            let mask: Vec<bool> = (0..header.nblocks).map(|i| i % 4 != 1).collect();
            let mut out = vec![0xee; data.len()];
            decompress(&chunk, &mut out, Some(&mask), &NoHooks, threads(3)).unwrap();
            let size = params.blocksize;
            for (nblock, (got, want)) in out.chunks(size).zip(data.chunks(size)).enumerate() {
                let left = got.iter().all(|byte| *byte == 0xee);
                assert!(if mask[nblock] { left } else { got == want }, "{params:?}");
            }
            for nblock in [0, 1, header.nblocks - 1] {
                let mut block = vec![0; chunk.block_nbytes(nblock).unwrap()];
                decompress_block(&chunk, nblock, &mut block, &NoHooks).unwrap();
                assert!(block == data[nblock * size..][..block.len()], "{params:?}");
            }
            let beyond = decompress_block(&chunk, header.nblocks, &mut [], &NoHooks);
            assert_eq!(beyond, Err(Error::INVALID_PARAM));
        }
    }
}

#[test]
fn only_the_blocks_of_a_range_are_read() {
    let data = data(100_000);
    for params in variants() {
        let bytes = compressed(&params, ChunkInput::Buffer(&data), data.len() + 32, &Serial);
        let header = ChunkHeader::parse(&bytes).unwrap();
        let store = Store::new(&bytes);
        let chunk = lazy(&header, &store);
        store.reads();
        for (start, nitems) in [(0, 1), (1023, 1), (1020, 10), (7000, 3000), (24_999, 1)] {
            let range = ItemRange::new(&header, start, nitems, i32::MAX).unwrap();
            let mut dest = vec![0; range.len];
            getitem(&chunk, range, &mut dest, &NoHooks).unwrap();
            assert!(dest == data[range.start..][..range.len], "{params:?}");
            let reads = store.reads();
            if header.is_memcpyed() {
                assert_eq!(reads, [(32 + range.start, range.len)]);
                continue;
            }
            let first = range.start / params.blocksize;
            let last = (range.start + range.len - 1) / params.blocksize;
            let delta = usize::from(params.filters.contains(&3) && last > 0);
            assert_eq!(reads.len(), last - first + 1 + delta, "{params:?}");
            for ((at, len), nblock) in reads[delta..].iter().zip(first..) {
                let start = |nblock: usize| i32_at(&bytes, 32 + 4 * nblock) as usize;
                assert_eq!(*at, start(nblock), "{params:?}");
                if nblock + 1 < header.nblocks {
                    assert_eq!(at + len, start(nblock + 1), "{params:?}");
                }
            }
        }
    }
}

#[test]
fn of_special_values_nothing_is_read() {
    for (kind, value) in [
        (Special::Zero, &[][..]),
        (Special::Nan, &[]),
        (Special::Value, &[1, 2, 3, 4]),
    ] {
        let mut bytes = [0; 36];
        let chunk = SpecialChunk {
            special: kind,
            nbytes: 4000,
            blocksize: 1000,
            typesize: 4,
            value,
        };
        let cbytes = chunk.write(&mut bytes);
        let header = ChunkHeader::parse(&bytes).unwrap();
        assert_eq!(Chunk::prefix_len(&header), cbytes);
        let store = Store::new(&bytes[..cbytes]);
        let chunk = lazy(&header, &store);
        let (mut out, mut items) = ([0xee; 4000], [0xee; 40]);
        decompress(&chunk, &mut out, None, &NoHooks, threads(2)).unwrap();
        let range = ItemRange::new(&header, 500, 10, 40).unwrap();
        getitem(&chunk, range, &mut items, &NoHooks).unwrap();
        assert!(out[2000..2040] == items && store.reads().is_empty());
    }
}

#[test]
fn variable_length_blocks_are_fetched_one_by_one_or_all_at_once() {
    let data = data(100_000);
    let (first, rest) = data.split_at(3);
    let (second, third) = rest.split_at(70_001);
    for params in variants() {
        let params = EncodeParams {
            blocksize: 70_001,
            ..params
        };
        let source = ChunkInput::Variable(&[first, second, third]);
        let bytes = compressed(&params, source, 200_000, &Serial);
        let header = ChunkHeader::parse(&bytes).unwrap();
        let store = Store::new(&bytes);
        let chunk = lazy(&header, &store);
        store.reads();
        for (nblock, want) in [(1, second), (0, first), (2, third)] {
            let mut block = vec![0; chunk.block_nbytes(nblock).unwrap()];
            decompress_block(&chunk, nblock, &mut block, &NoHooks).unwrap();
            assert!(block == want, "{params:?}");
            assert_eq!(store.reads().len(), 2, "its size, and its bytes");
        }
        let mut out = vec![0; data.len()];
        decompress(&chunk, &mut out, None, &NoHooks, threads(2)).unwrap();
        assert!(out == data && store.reads().len() == 1, "{params:?}");
    }
}

#[test]
fn blocks_that_share_bytes_are_found() {
    let data = data(12_288);
    let mut bytes = compressed(&LZ4_SHUFFLED, ChunkInput::Buffer(&data), 20_000, &Serial);
    let header = ChunkHeader::parse(&bytes).unwrap();
    // The third block becomes the last two streams of the first one and the first two of the
    // second.
    let first = i32_at(&bytes, 32) as usize;
    let skip = |at: usize| match i32_at(&bytes, at) {
        size @ 0.. => at + 4 + size as usize,
        _ => at + 5,
    };
    let inside = skip(skip(first)) as i32;
    bytes[40..44].copy_from_slice(&inside.to_le_bytes());
    let mut expected = vec![0; data.len()];
    let chunk = Chunk::parse(&header, &bytes).unwrap();
    decompress(&chunk, &mut expected, None, &NoHooks, Workers::ALONE).unwrap();
    let store = Store::new(&bytes);
    let chunk = lazy(&header, &store);
    let mut out = vec![0; data.len()];
    decompress(&chunk, &mut out, None, &NoHooks, Workers::ALONE).unwrap();
    assert!(out == expected && out != data);
    let range = ItemRange::new(&header, 0, 10, 40).unwrap();
    getitem(&chunk, range, &mut out[..40], &NoHooks).unwrap();
    assert!(out[..40] == data[..40]);
}

#[test]
fn a_chunk_that_breaks_off_is_an_error() {
    let data = data(50_000);
    for params in variants() {
        let bytes = compressed(&params, ChunkInput::Buffer(&data), data.len() + 32, &Serial);
        let header = ChunkHeader::parse(&bytes).unwrap();
        let store = Store::new(&bytes[..bytes.len() - 1]);
        let chunk = lazy(&header, &store);
        let mut out = vec![0; data.len()];
        let result = decompress(&chunk, &mut out, None, &NoHooks, Workers::ALONE);
        assert_eq!(result, Err(Error::FILE_READ), "{params:?}");
        let prefix = &bytes[..Chunk::prefix_len(&header) - 1];
        let short = Chunk::lazy(&header, prefix, &store).map(|_| ());
        assert_eq!(short, Err(Error::READ_BUFFER), "{params:?}");
        // What makes a chunk lazy for others makes no difference here.
        let mut marked = bytes.clone();
        marked[31] |= flags2::LAZY;
        let header = ChunkHeader::parse(&marked).unwrap();
        let store = Store::new(&bytes);
        let chunk = lazy(&header, &store);
        decompress(&chunk, &mut out, None, &NoHooks, Workers::ALONE).unwrap();
        assert!(out == data, "{params:?}");
    }
}

#[test]
fn many_chunks_at_once_each_on_one_worker() {
    let data = data(100_000);
    let chunks: Vec<Vec<u8>> = variants()
        .iter()
        .map(|params| compressed(params, ChunkInput::Buffer(&data), data.len() + 32, &Serial))
        .collect();
    let queue = Mutex::new((0..64).map(|i| &chunks[i % chunks.len()]));
    let done = Mutex::new(0);
    pool::run(4, &|_| {
        while let Some(bytes) = { lock(&queue).next() } {
            let header = ChunkHeader::parse(bytes).unwrap();
            let store = Store::new(bytes);
            for chunk in [Chunk::parse(&header, bytes).unwrap(), lazy(&header, &store)] {
                let mut out = vec![0; data.len()];
                decompress(&chunk, &mut out, None, &NoHooks, Workers::ALONE).unwrap();
                let range = ItemRange::new(&header, 9000, 100, 400).unwrap();
                let mut items = [0; 400];
                getitem(&chunk, range, &mut items, &NoHooks).unwrap();
                assert!(out == data && items == data[36_000..36_400]);
            }
            *lock(&done) += 1;
        }
    })
    .unwrap();
    assert_eq!(*lock(&done), 64);
}
