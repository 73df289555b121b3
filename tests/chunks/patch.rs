//! Chunks of which some blocks were changed: they hold what decompressing, changing and compressing
//! would give, whoever wrote them and whoever reads them, and are no larger than the data.

use oxiblosc::exec::Pool;
use oxiblosc_base::{Error, Result};
use oxiblosc_chunk::Chunk;
use oxiblosc_chunk::header::ChunkHeader;
use oxiblosc_chunk::hooks::NoHooks;
use oxiblosc_chunk::patch::{PatchMode, Patcher, Touched};
use oxiblosc_chunk::workers::Workers;
use oxiblosc_testing::abi::*;
use oxiblosc_testing::data::{Kind, Rng};
use oxiblosc_testing::library::{Lib, both, ours, reference};
use oxiblosc_testing::pipelines::{CODECS, PIPELINES};
use oxiblosc_testing::report::{Report, difference};
use proptest::prelude::*;

/// A codec, its level, and a number of threads.
type Recompress = (u8, u8, usize);

/// Does something with the chunk through a [`Patcher`].
fn patched<T>(
    bytes: &[u8],
    (compcode, clevel, nthreads): Recompress,
    run: impl FnOnce(Patcher) -> T,
) -> T {
    let header = ChunkHeader::parse(bytes).expect("a chunk");
    let chunk = Chunk::parse(&header, bytes).expect("a chunk");
    run(Patcher {
        chunk: &chunk,
        compcode,
        clevel,
        decoding: &NoHooks,
        encoding: &NoHooks,
        workers: Workers {
            nthreads,
            exec: &Pool,
        },
    })
}

fn range(bytes: &[u8], params: Recompress, start: usize, new: &[u8]) -> Result<Option<Vec<u8>>> {
    patched(bytes, params, |patcher| {
        let patched = patcher.range(start, new, PatchMode::Edits)?;
        let whole = patched.map(|patched| patched.whole(patcher.chunk));
        Ok(whole.transpose()?.map(|bytes| bytes.to_vec()))
    })
}

/// Why a library does not find the data in the chunk, if so.
fn wrong(lib: &'static Lib, chunk: &[u8], data: &[u8]) -> Option<String> {
    let (rc, out) = lib.decompress(chunk, data.len(), 1);
    let good = rc == data.len() as i32 && out == data;
    (!good).then(|| format!("{rc}, {}", difference(&out, data)))
}

#[test]
fn both_libraries_read_what_was_patched() {
    let Some((ours, reference)) = both() else {
        return;
    };
    let mut report = Report::default();
    let mut rng = Rng(3);
    let mut done = 0;
    for compcode in CODECS {
        for pipeline in PIPELINES {
            for kind in [Kind::WalkInt32, Kind::Random, Kind::Zeros, Kind::Runs] {
                for (writer, nthreads) in [(ours, 1), (reference, 1), (reference, 4)] {
                    report.case();
                    let len = rng.pick(&[100, 4096, 100_003, 300_000]);
                    let cparams = CParams {
                        compcode,
                        clevel: rng.pick(&[0, 1, 5, 9]),
                        typesize: rng.pick(&[1, 4, 8, 12]),
                        blocksize: rng.pick(&[0, 512, 8192, 65_536]),
                        splitmode: rng.pick(&[ALWAYS_SPLIT, NEVER_SPLIT, AUTO_SPLIT]),
                        nthreads,
                        filters: pipeline.filters,
                        filters_meta: pipeline.meta,
                        ..CParams::default()
                    };
                    let src = kind.bytes(len, 5);
                    let (rc, chunk) = writer.compress(&cparams, &src);
                    // If blocks do not divide into streams, the reference writes chunks that
                    // neither library can read.
                    let (readable, mut data) = ours.decompress(&chunk, len, 1);
                    if rc <= 0 || readable < 0 {
                        report.note("no chunk to begin with");
                        continue;
                    }
                    let most = rng.pick(&[10, 5000, len]).min(len);
                    let size = 1 + rng.below(most);
                    let start = rng.below(len - size + 1);
                    let new = rng.pick(&[kind, Kind::Text]).bytes(size, 6);
                    let which = || {
                        format!(
                            "{} {start}+{size} of {len} x {kind:?}, {pipeline:?} {cparams:?}",
                            writer.name
                        )
                    };
                    let clevel = cparams.clevel;
                    let [one, four] =
                        [1, 4].map(|n| range(&chunk, (compcode, clevel, n), start, &new));
                    report.check(one == four, "threads", which);
                    let bytes = match one {
                        Ok(Some(bytes)) => bytes,
                        Ok(None) => {
                            report.note("from all data");
                            continue;
                        }
                        Err(error) => {
                            report.fail("error", format!("{error}: {}", which()));
                            continue;
                        }
                    };
                    done += 1;
                    report.check(bytes.len() <= len + 32, "size", which);
                    // Values may be truncated.
                    data[start..start + size].copy_from_slice(&new);
                    if !pipeline.lossless() {
                        let (_, whole) = ours.compress(&cparams, &data);
                        data = ours.decompress(&whole, len, 1).1;
                    }
                    for reader in [ours, reference] {
                        if let Some(why) = wrong(reader, &bytes, &data) {
                            let what = format!("{} reads {why}: {}", reader.name, which());
                            report.fail("data", what);
                        }
                    }
                }
            }
        }
    }
    assert!(done > 100, "only {done} chunks were patched");
    report.finish("patched chunks");
}

/// Filters of which every block is for itself.
fn filter() -> impl Strategy<Value = u8> {
    prop::sample::select(vec![NOFILTER, NOFILTER, SHUFFLE, BITSHUFFLE])
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_patch_is_a_change_of_the_data(
        (compcode, clevel) in (prop::sample::select(CODECS.to_vec()), 1u8..=6),
        (typesize, blocksize, splitmode) in (1i32..=20, 64i32..20_000, 1i32..=4),
        filters in prop::array::uniform6(filter()),
        (kind, len) in (prop::sample::select(Kind::ALL.to_vec()), 1usize..150_000),
        writes in prop::collection::vec(any::<(u32, u16, u64)>(), 1..5),
        nthreads in 1usize..=4,
    ) {
        let cparams = CParams { compcode, clevel, typesize, blocksize, splitmode, filters, ..CParams::default() };
        let mut data = kind.bytes(len, 1);
        let (rc, mut chunk) = ours().compress(&cparams, &data);
        prop_assert!(rc > 0);
        for (at, size, seed) in writes {
            let start = at as usize % len;
            let size = (size as usize).min(len - start);
            let new = Kind::ALL[seed as usize % Kind::ALL.len()].bytes(size, seed);
            data[start..start + size].copy_from_slice(&new);
            chunk = match range(&chunk, (compcode, clevel, nthreads), start, &new) {
                Ok(Some(bytes)) => bytes,
                Ok(None) => ours().compress(&cparams, &data).1,
                Err(error) => return Err(TestCaseError::fail(format!("{error}"))),
            };
            prop_assert!(chunk.len() <= len + MAX_OVERHEAD);
            for lib in [Some(ours()), reference()].into_iter().flatten() {
                prop_assert_eq!(wrong(lib, &chunk, &data), None, "{}", lib.name);
            }
        }
    }
}

/// A chunk of 20 blocks of 1000 bytes, and its data.
fn sample(cparams: CParams) -> (Vec<u8>, Vec<u8>) {
    let data = Kind::WalkInt32.bytes(20_000, 8);
    let cparams = CParams {
        blocksize: 1000,
        typesize: 4,
        compcode: LZ4,
        ..cparams
    };
    (ours().compress(&cparams, &data).1, data)
}

#[test]
fn many_runs_in_some_blocks() {
    let (chunk, mut data) = sample(CParams::default());
    let touched: Vec<Touched> = [0, 3, 4, 11, 19]
        .map(|nblock| Touched {
            nblock,
            whole: nblock == 4,
        })
        .to_vec();
    let change = |nblock: usize, block: &mut [u8]| {
        if nblock == 4 {
            block.fill(7);
        }
        for row in block.chunks_mut(100) {
            row[nblock..nblock + 8].copy_from_slice(b"new row!");
        }
    };
    let mut seen = None;
    for nthreads in [1, 3] {
        let recompress = (LZ4, 5, nthreads);
        let bytes = patched(&chunk, recompress, |patcher| {
            patcher.blocks(&touched, &change)
        });
        let bytes = bytes.expect("a good chunk").expect("that can be patched");
        let mut expected = data.clone();
        for t in &touched {
            change(t.nblock, &mut expected[t.nblock * 1000..][..1000]);
        }
        assert_eq!(wrong(ours(), &bytes, &expected), None);
        let edited = patched(&chunk, recompress, |patcher| {
            let edited = patcher.changed(&touched, &change, PatchMode::Edits);
            edited.map(|edited| edited.map(|edited| edited.whole(patcher.chunk)))
        });
        let Ok(Some(Ok(edited))) = edited else {
            panic!("a good chunk");
        };
        assert_eq!(wrong(ours(), &edited, &expected), None);
        let both = (bytes.to_vec(), edited.to_vec());
        let same = seen.get_or_insert(both.clone()) == &both;
        assert!(same, "the same bytes for any number of threads");
        if nthreads == 3 {
            data = expected;
        }
    }
    assert!(data[4000..4004] == [7; 4]);
}

#[test]
fn blocks_that_were_not_touched_are_the_same_bytes() {
    let (chunk, data) = sample(CParams::default());
    let start = |bytes: &[u8], nblock: usize| {
        let at = 32 + 4 * nblock;
        i32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]) as usize
    };
    // Nothing is changed, though block 5 is compressed anew, at another level.
    let new = &data[5000..5100];
    let bytes = range(&chunk, (LZ4, 1, 1), 5000, new)
        .expect("a good chunk")
        .expect("that can be patched");
    for nblock in (0..19).filter(|nblock| *nblock != 5) {
        let (a, b) = (
            start(&chunk, nblock)..start(&chunk, nblock + 1),
            start(&bytes, nblock)..start(&bytes, nblock + 1),
        );
        assert!(chunk[a] == bytes[b], "block {nblock}");
    }
    assert!(range(&chunk, (LZ4, 5, 1), 5000, new) == Ok(Some(chunk)));
}

#[test]
fn zeros_in_the_end_are_a_chunk_of_zeros() {
    let mut data = vec![0u8; 20_000];
    data[7777] = 1;
    let cparams = CParams {
        blocksize: 1000,
        ..CParams::default()
    };
    let chunk = ours().compress(&cparams, &data).1;
    let bytes = range(&chunk, (BLOSCLZ, 5, 1), 7777, &[0]);
    let bytes = bytes.expect("a good chunk").expect("that can be patched");
    assert_eq!(bytes.len(), 32);
    assert_eq!(wrong(ours(), &bytes, &[0; 20_000]), None);
}

#[test]
fn what_cannot_be_patched_is_left_to_the_caller() {
    let with = |change: fn(&mut CParams)| {
        let mut cparams = CParams::default();
        change(&mut cparams);
        sample(cparams).0
    };
    let fails = |chunk: &[u8], start: usize, new: &[u8]| {
        assert_eq!(range(chunk, (LZ4, 5, 1), start, new), Ok(None));
    };
    fails(&with(|p| p.filters[4] = DELTA), 0, &[1]);
    fails(&with(|p| p.use_dict = 1), 0, &[1]);
    let (chunk, data) = sample(CParams::default());
    fails(&chunk, 0, &data);
    // Data that do not compress, so that too little is won from the others.
    let noise = Kind::Random.bytes(19_999, 1);
    fails(&chunk, 0, &noise);
    for (start, len) in [(20_000, 1), (19_999, 2), (usize::MAX, 2)] {
        let result = range(&chunk, (LZ4, 5, 1), start, &noise[..len]);
        assert_eq!(result, Err(Error::INVALID_PARAM));
    }
    for wrong in [vec![3, 3], vec![4, 3], vec![20]] {
        let touched: Vec<Touched> = wrong
            .iter()
            .map(|&nblock| Touched {
                nblock,
                whole: false,
            })
            .collect();
        let result = patched(&chunk, (LZ4, 5, 1), |patcher| {
            patcher.blocks(&touched, &|_, _| {})
        });
        assert_eq!(result.err(), Some(Error::INVALID_PARAM));
    }
    // A damaged block that is touched. Untouched blocks are not read.
    let mut damaged = chunk.clone();
    let at = i32::from_le_bytes([chunk[52], chunk[53], chunk[54], chunk[55]]) as usize;
    damaged[at..at + 4].copy_from_slice(&i32::MAX.to_le_bytes());
    let result = range(&damaged, (LZ4, 5, 1), 5000, &[1]);
    assert_eq!(result, Err(Error::DATA));
    let result = range(&damaged, (LZ4, 5, 1), 0, &[1]);
    assert!(matches!(result, Ok(Some(_))));
}
