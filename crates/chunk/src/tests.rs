//! The engine without the C border: what goes in comes out, whichever thread does the work.

mod checksums;
mod lazy;
mod rebuild;

use super::Chunk;
use super::decode::decompress;
use super::encode::{ChunkInput, EncodeParams, compress};
use super::fast_path;
use super::getitem::{ItemRange, getitem};
use super::header::{ChunkHeader, Special, filter_id};
use super::hooks::{Executor, NoHooks, Serial};
use super::rules::Rules;
use super::special::SpecialChunk;
use super::workers::Workers;
use oxiblosc_base::{Error, Result};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// As many threads as were asked for, started one by one.
struct Threads;

impl Executor for Threads {
    fn run(&self, _nthreads: usize, nworkers: usize, job: &(dyn Fn(usize) + Sync)) -> Result<()> {
        std::thread::scope(|scope| {
            for tid in 0..nworkers {
                scope.spawn(move || job(tid));
            }
        });
        Ok(())
    }
}

fn threads(nthreads: usize) -> Workers<'static> {
    Workers {
        nthreads,
        exec: &Threads,
    }
}

const LZ4_SHUFFLED: EncodeParams = EncodeParams {
    compcode: 1,
    compcode_meta: 0,
    versionlz: 1,
    clevel: 5,
    typesize: 4,
    blocksize: 4096,
    filters: [0, 0, 0, 0, 0, filter_id::SHUFFLE],
    filters_meta: [0; 6],
    split: true,
    use_dict: false,
    instrumented: false,
    extended: true,
    rules: Rules::Blosc2,
    checksums: false,
    nthreads: 1,
};

/// Integers that rise by a few each time, with some noise: `len` bytes.
fn data(len: usize) -> Vec<u8> {
    let mut noise = 1u32;
    let items = (0..len as u32).map(|i| {
        noise = noise.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        i * 3 + (noise >> 30)
    });
    items.flat_map(u32::to_le_bytes).take(len).collect()
}

fn compressed(
    params: &EncodeParams,
    source: ChunkInput,
    capacity: usize,
    exec: &dyn Executor,
) -> Vec<u8> {
    let mut dest = vec![0; capacity];
    let header = compress(params, source, &mut dest, &NoHooks, exec).unwrap();
    dest.truncate(header.map_or(0, |header| header.cbytes));
    if let Some(header) = header {
        assert_eq!(ChunkHeader::parse(&dest), Ok(header));
    }
    dest
}

fn decompressed(chunk: &[u8], maskout: Option<&[bool]>, nthreads: usize) -> Vec<u8> {
    let header = ChunkHeader::parse(chunk).unwrap();
    let chunk = Chunk::parse(&header, chunk).unwrap();
    let mut dest = vec![0xee; header.nbytes];
    decompress(&chunk, &mut dest, maskout, &NoHooks, threads(nthreads)).unwrap();
    dest
}

/// Parameters that take different ways through the engine.
fn variants() -> Vec<EncodeParams> {
    let delta = [0, 0, 0, 0, filter_id::DELTA, filter_id::SHUFFLE];
    let bits = [0, 0, 0, 0, 0, filter_id::BITSHUFFLE];
    let base = LZ4_SHUFFLED;
    vec![
        base.clone(),
        EncodeParams {
            split: false,
            ..base.clone()
        },
        EncodeParams {
            filters: delta,
            ..base.clone()
        },
        EncodeParams {
            filters: bits,
            compcode: 5,
            split: false,
            ..base.clone()
        },
        EncodeParams {
            compcode: 0,
            clevel: 9,
            ..base.clone()
        },
        EncodeParams {
            compcode: 4,
            filters: [0; 6],
            blocksize: 5000,
            ..base.clone()
        },
        EncodeParams {
            use_dict: true,
            compcode: 5,
            split: false,
            ..base.clone()
        },
        EncodeParams { clevel: 0, ..base },
    ]
}

#[test]
fn the_number_of_workers_does_not_show() {
    for len in [0, 31, 4096, 100_003, 300_000] {
        let data = data(len);
        for params in variants() {
            let alone = compressed(&params, ChunkInput::Buffer(&data), len + 32, &Serial);
            for nthreads in [2, 3, 8] {
                let params = EncodeParams {
                    nthreads,
                    ..params.clone()
                };
                let together = compressed(&params, ChunkInput::Buffer(&data), len + 32, &Threads);
                assert!(alone == together, "{len} bytes, {params:?}");
                assert!(
                    decompressed(&together, None, nthreads) == data,
                    "{len} bytes, {params:?}"
                );
            }
        }
    }
}

#[test]
fn a_chunk_is_never_larger_than_the_stored_data() {
    let items = (0..50_000u32).map(|i| i.wrapping_mul(0x9e37_79b9).rotate_left(i % 32) ^ (i * i));
    let noise: Vec<u8> = items.flat_map(u32::to_le_bytes).collect();
    for params in variants() {
        for capacity in [noise.len() + 32, noise.len() * 2] {
            let chunk = compressed(&params, ChunkInput::Buffer(&noise), capacity, &Serial);
            assert!(
                !chunk.is_empty() && chunk.len() <= noise.len() + 32,
                "{params:?}"
            );
            assert!(decompressed(&chunk, None, 1) == noise, "{params:?}");
        }
        let stored = EncodeParams {
            clevel: 0,
            ..params
        };
        assert!(
            compressed(
                &stored,
                ChunkInput::Buffer(&noise),
                noise.len() + 31,
                &Serial
            )
            .is_empty()
        );
    }
}

#[test]
fn blocks_that_do_not_compress_are_written_once_another_does() {
    let mut state = 1u64;
    let mut noise = |len: usize| -> Vec<u8> {
        let next = || {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
            (state >> 56) as u8
        };
        std::iter::repeat_with(next).take(len).collect()
    };
    // In whole blocks and not; the streams of a block that is split differ, too.
    let half_noise = data(8192).chunks(4).zip(noise(8192).chunks(4)).fold(
        Vec::new(),
        |mut all, (item, noise)| {
            all.extend([noise[0], noise[1], item[2], item[3]]);
            all
        },
    );
    for (before, behind) in [(4096, 0), (16_384, 4096), (70_000, 9000), (300_000, 1)] {
        let data = [noise(before), half_noise.clone(), noise(behind)].concat();
        for params in variants() {
            let alone = compressed(&params, ChunkInput::Buffer(&data), data.len() + 32, &Serial);
            assert!(
                params.clevel == 0 || alone.len() < data.len() || alone[2] & 2 != 0,
                "{before} {params:?}"
            );
            for nthreads in [1, 2, 8] {
                let params = EncodeParams {
                    nthreads,
                    ..params.clone()
                };
                let together = compressed(
                    &params,
                    ChunkInput::Buffer(&data),
                    data.len() + 32,
                    &Threads,
                );
                assert!(alone == together, "{before} {params:?}");
            }
            assert!(decompressed(&alone, None, 2) == data, "{before} {params:?}");
        }
    }
}

#[test]
fn masked_blocks_are_left_alone() {
    let data = data(50_000);
    for params in variants() {
        let chunk = compressed(&params, ChunkInput::Buffer(&data), data.len() + 32, &Serial);
        let nblocks = ChunkHeader::parse(&chunk).unwrap().nblocks;
        let mask: Vec<bool> = (0..nblocks).map(|i| i % 3 == 0).collect();
        for nthreads in [1, 4] {
            let out = decompressed(&chunk, Some(&mask), nthreads);
            let blocks = out
                .chunks(params.blocksize)
                .zip(data.chunks(params.blocksize));
            for ((got, expected), masked) in blocks.zip(&mask) {
                let right = if *masked {
                    got.iter().all(|b| *b == 0xee)
                } else {
                    got == expected
                };
                assert!(right, "{params:?}");
            }
        }
    }
}

#[test]
fn items_come_out_of_any_place() {
    let data = data(60_000);
    let ranges = [
        (0, 1),
        (7, 3),
        (1020, 10),
        (1023, 1),
        (5000, 4000),
        (14_999, 1),
        (0, 15_000),
    ];
    for params in variants() {
        let bytes = compressed(&params, ChunkInput::Buffer(&data), data.len() + 32, &Serial);
        let header = ChunkHeader::parse(&bytes).unwrap();
        let chunk = Chunk::parse(&header, &bytes).unwrap();
        for (start, nitems) in ranges {
            let range = ItemRange::new(&header, start, nitems, i32::MAX).unwrap();
            let mut dest = vec![0; range.len];
            getitem(&chunk, range, &mut dest, &NoHooks).unwrap();
            assert!(
                dest == data[range.start..][..range.len],
                "{start} {nitems} {params:?}"
            );
        }
    }
}

#[test]
fn blocks_may_have_any_size() {
    let data = data(100_000);
    let (first, rest) = data.split_at(3);
    let (second, third) = rest.split_at(70_001);
    for params in variants() {
        let params = EncodeParams {
            blocksize: 70_001,
            ..params
        };
        let source = ChunkInput::Variable(&[first, second, third]);
        let chunk = compressed(&params, source, 200_000, &Serial);
        let threads = EncodeParams {
            nthreads: 3,
            ..params.clone()
        };
        assert!(
            chunk == compressed(&threads, source, 200_000, &Threads),
            "{params:?}"
        );
        assert!(decompressed(&chunk, None, 3) == data, "{params:?}");
    }
}

#[test]
fn the_short_way_gives_the_same_bytes() {
    let data = data(10_000);
    let mut taken = 0;
    for params in variants() {
        for blocksize in [512, 4096, 5000, 12_000] {
            let params = EncodeParams {
                blocksize,
                ..params.clone()
            };
            let source = ChunkInput::Buffer(&data);
            let chunk = compressed(&params, source, data.len() + 20_000, &Serial);
            let header = ChunkHeader::parse(&chunk).unwrap();
            for (start, end) in [
                (0, 10_000),
                (0, 4096),
                (1, 10_000),
                (4095, 4097),
                (512, 1024),
                (9999, 10_000),
                (3000, 9000),
            ] {
                let mut part = vec![0xee; end - start];
                if fast_path::read(&header, &chunk, start, &mut part).is_some() {
                    assert!(part == data[start..end], "{params:?} {start} {end}");
                    taken += 1;
                }
                // What is stored can be read as far as it is there.
                let cuts = [chunk.len() - 1, chunk.len() / 2, 33];
                for cut in cuts.iter().filter(|_| !header.is_memcpyed()) {
                    assert!(fast_path::read(&header, &chunk[..*cut], start, &mut part).is_none());
                }
            }
        }
    }
    assert!(taken > 60, "{taken} of the reads are short");
}

#[test]
fn there_are_no_empty_blocks_of_variable_length() {
    let inputs: [&[&[u8]]; 4] = [&[], &[b""], &[b"a", b""], &[b"", b"a"]];
    for base in variants() {
        for (use_dict, checksums, instrumented) in [
            (false, false, false),
            (true, false, false),
            (false, true, false),
            (false, false, true),
        ] {
            let params = EncodeParams {
                use_dict,
                checksums,
                instrumented,
                ..base.clone()
            };
            for blocks in inputs {
                let source = ChunkInput::Variable(blocks);
                let created = compress(&params, source, &mut [0; 500], &NoHooks, &Serial);
                assert_eq!(created, Err(Error::INVALID_PARAM), "{params:?} {blocks:?}");
            }
        }
    }
}

/// Counts the jobs that it is given, and does them alone.
#[derive(Default)]
struct JobCounter(AtomicUsize);

impl Executor for JobCounter {
    fn run(&self, _: usize, _: usize, job: &(dyn Fn(usize) + Sync)) -> Result<()> {
        self.0.fetch_add(1, Relaxed);
        job(0);
        Ok(())
    }
}

#[test]
fn blocks_shorter_than_their_place_in_a_queue_are_not_queued() {
    const NBYTES: usize = 100_000;
    for (blocksize, jobs) in [(1, 0), (31, 0), (32, 1), (4096, 1)] {
        let mut bytes = [0; 32];
        let chunk = SpecialChunk {
            special: Special::Zero,
            nbytes: NBYTES,
            blocksize,
            typesize: 1,
            value: &[],
        };
        chunk.write(&mut bytes);
        let header = ChunkHeader::parse(&bytes).unwrap();
        let chunk = Chunk::parse(&header, &bytes).unwrap();
        let (mask, exec) = (vec![false; header.nblocks], JobCounter::default());
        let mut dest = vec![0xee; NBYTES];
        let workers = Workers {
            nthreads: 8,
            exec: &exec,
        };
        decompress(&chunk, &mut dest, Some(&mask), &NoHooks, workers).unwrap();
        assert_eq!((dest, exec.0.into_inner()), (vec![0; NBYTES], jobs));
    }
}
