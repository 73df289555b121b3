//! Chunks of variable-length blocks, ours against the reference where the reference can do it.

use core::ffi::c_int;
use oxiblosc_testing::abi::*;
use oxiblosc_testing::ctx::header_but_cbytes;
use oxiblosc_testing::data::{Kind, Rng};
use oxiblosc_testing::library::{Lib, both, ours};
use oxiblosc_testing::pipelines::{CODECS, FILTERS};
use oxiblosc_testing::report::Report;

/// Blocks of random lengths, some alike, one long enough to make the whole compressible: where it
/// is not, the reference copies from a source that is not there.
fn random_blocks(rng: &mut Rng, kind: Kind) -> Vec<Vec<u8>> {
    let most = rng.pick(&[1, 3, 20, 200]);
    let mut blocks: Vec<Vec<u8>> = (0..1 + rng.below(most))
        .map(|_| {
            let longest = rng.pick(&[3, 40, 500, 20_000]);
            kind.bytes(1 + rng.below(longest), rng.below(5) as u64)
        })
        .collect();
    blocks.push(Kind::Zeros.bytes(100_000, 0));
    blocks
}

/// Reads a chunk of these blocks in every way: the return codes of impossible calls, and the data.
fn read(
    report: &mut Report,
    (lib, nthreads): (&'static Lib, i16),
    chunk: &[u8],
    blocks: &[Vec<u8>],
    which: &dyn Fn() -> String,
) -> (Vec<i32>, Vec<u8>) {
    let dctx = lib.dctx_threads(nthreads);
    let nbytes: usize = blocks.iter().map(Vec::len).sum();
    let mut nblocks = 0;
    // SAFETY: the pointer is good for the length that goes with it.
    let rc = unsafe {
        (lib.f.blosc2_vlchunk_get_nblocks)(chunk.as_ptr().cast(), chunk.len() as i32, &mut nblocks)
    };
    report.check(
        (rc, nblocks as usize) == (0, blocks.len()),
        "nblocks",
        || format!("{} {rc} {nblocks}: {}", lib.name, which()),
    );
    let (rc, got) = dctx.vldecompress(chunk, blocks.len());
    report.check(got == blocks, "vldecompress", || {
        format!("{} {rc}: {}", lib.name, which())
    });
    let (short, _) = dctx.vldecompress(chunk, blocks.len() - 1);
    let mut codes = vec![short];
    for n in [0, blocks.len() / 2, blocks.len() - 1] {
        let (rc, got) = dctx.vldecompress_block(chunk, n as i32);
        report.check(got == blocks[n], "vldecompress_block", || {
            format!("{} {rc} block {n}: {}", lib.name, which())
        });
    }
    for n in [-1, blocks.len() as i32, i32::MAX] {
        codes.push(dctx.vldecompress_block(chunk, n).0);
    }
    let mut out = vec![0xA5u8; nbytes];
    codes.push(dctx.decompress(chunk, &mut out));
    let mut item = [0u8; 8];
    codes.push(dctx.getitem(chunk, 0, 1, &mut item));
    codes.push(lib.sizes(chunk).0);
    (codes, out)
}

#[test]
fn variable_length_blocks() {
    let Some((ours, reference)) = both() else {
        return;
    };
    let mut report = Report::default();
    let mut rng = Rng(4);
    for compcode in CODECS {
        // A delta between blocks of different lengths is more than the reference can undo.
        for filters in &FILTERS[..3] {
            for round in 0..24 {
                report.case();
                let kind = rng.pick(&Kind::ALL);
                let nthreads = [1, 2, 4][round % 3];
                let cparams = CParams {
                    compcode,
                    clevel: rng.pick(&[1, 5, 9]),
                    typesize: rng.pick(&[1, 2, 4, 8]),
                    // Asked for a dictionary of another codec, the reference makes one and does
                    // without it.
                    use_dict: c_int::from(round % 4 == 3 && matches!(compcode, LZ4 | LZ4HC | ZSTD)),
                    nthreads,
                    filters: *filters,
                    ..CParams::default()
                };
                let blocks = random_blocks(&mut rng, kind);
                let nbytes: usize = blocks.iter().map(Vec::len).sum();
                let capacity = nbytes + 64 + 40 * blocks.len();
                let which = || {
                    let sizes: Vec<usize> = blocks.iter().map(Vec::len).take(8).collect();
                    format!("{} blocks {sizes:?} of {kind:?} {cparams:?}", blocks.len())
                };
                let created = [ours, reference].map(|lib| {
                    let mut dest = vec![0u8; capacity];
                    let rc = lib
                        .cctx(&cparams)
                        .map_or(i32::MIN, |ctx| ctx.vlcompress(&blocks, &mut dest));
                    dest.truncate(rc.max(0) as usize);
                    (rc, dest)
                });
                let [mine, theirs] = created;
                if mine.0 <= 0 || theirs.0 <= 0 {
                    report.check(mine.0 == theirs.0, "return code", || {
                        format!("{} and {}: {}", mine.0, theirs.0, which())
                    });
                    continue;
                }
                report.check(
                    header_but_cbytes(&mine.1) == header_but_cbytes(&theirs.1),
                    "header",
                    || {
                        format!(
                            "\n  {:02x?}\n  {:02x?}\n  {}",
                            &mine.1[..32],
                            &theirs.1[..32],
                            which()
                        )
                    },
                );
                for chunk in [&mine.1, &theirs.1] {
                    let whole_by = [ours, reference]
                        .map(|lib| read(&mut report, (lib, nthreads), chunk, &blocks, &which));
                    let [a, b] = &whole_by;
                    report.check(a == b, "return codes", || {
                        format!("{:?} and {:?}: {}", a.0, b.0, which())
                    });
                }
            }
        }
    }
    report.finish("variable-length blocks");
}

#[test]
fn variable_length_blocks_that_cannot_be() {
    let Some((ours, reference)) = both() else {
        return;
    };
    let mut report = Report::default();
    let plain = reference
        .compress(&CParams::default(), &Kind::WalkInt32.bytes(5000, 1))
        .1;
    let cases: [(&str, Vec<Vec<u8>>); 3] = [
        ("no block", vec![]),
        ("an empty block", vec![vec![]]),
        (
            "an empty block between others",
            vec![vec![1; 10], vec![], vec![2; 10]],
        ),
    ];
    for (name, blocks) in &cases {
        report.case();
        let [mine, theirs] = [ours, reference].map(|lib| {
            lib.cctx(&CParams::default())
                .expect("valid")
                .vlcompress(blocks, &mut [0u8; 1000])
        });
        report.check(mine == theirs, "return code", || {
            format!("{mine} and {theirs}: {name}")
        });
    }
    report.case();
    let [mine, theirs] = [ours, reference].map(|lib| {
        let dctx = lib.dctx_threads(1);
        let mut nblocks = 0;
        // SAFETY: the pointer is good for the length that goes with it.
        let rc = unsafe {
            (lib.f.blosc2_vlchunk_get_nblocks)(
                plain.as_ptr().cast(),
                plain.len() as i32,
                &mut nblocks,
            )
        };
        (
            rc,
            dctx.vldecompress(&plain, 10).0,
            dctx.vldecompress_block(&plain, 0).0,
        )
    });
    report.check(mine == theirs, "a plain chunk", || {
        format!("{mine:?} and {theirs:?}")
    });
    report.finish("variable-length blocks that cannot be");
}

/// With a delta filter ours gives back what it was given; the reference reads past a shorter first
/// block.
#[test]
fn variable_length_blocks_with_a_delta() {
    let mut rng = Rng(41);
    for round in 0..40 {
        let kind = rng.pick(&Kind::ALL);
        let nthreads = rng.pick(&[1, 2, 4]);
        let cparams = CParams {
            compcode: rng.pick(&CODECS),
            typesize: rng.pick(&[1, 2, 4, 8, 7]),
            nthreads,
            filters: FILTERS[3],
            ..CParams::default()
        };
        let blocks = random_blocks(&mut rng, kind);
        let capacity = blocks.iter().map(|block| block.len() + 40).sum::<usize>() + 64;
        let mut dest = vec![0u8; capacity];
        let rc = ours()
            .cctx(&cparams)
            .expect("valid parameters")
            .vlcompress(&blocks, &mut dest);
        assert!(rc > 0, "{rc}: round {round} {cparams:?}");
        dest.truncate(rc as usize);
        let dctx = ours().dctx_threads(nthreads);
        let (rc, got) = dctx.vldecompress(&dest, blocks.len());
        assert!(got == blocks, "{rc}: round {round} {cparams:?}");
        let nblock = rng.below(blocks.len());
        let (rc, got) = dctx.vldecompress_block(&dest, nblock as i32);
        assert!(
            got == blocks[nblock],
            "{rc}: block {nblock} round {round} {cparams:?}"
        );
    }
}

/// The reference dies where blocks do not fit; ours says that they do not, and writes nothing out
/// of bounds.
#[test]
fn variable_length_blocks_without_room() {
    let mut report = Report::default();
    let random: Vec<Vec<u8>> = (0..5)
        .map(|n| Kind::Random.bytes(100 * n + 50, n as u64))
        .collect();
    let text: Vec<Vec<u8>> = (0..30)
        .map(|n| Kind::Text.bytes(40 * n + 10, n as u64))
        .collect();
    for blocks in [&random, &text] {
        let nbytes: usize = blocks.iter().map(Vec::len).sum();
        for nthreads in [1, 2] {
            for clevel in [0, 1, 9] {
                for capacity in (0..nbytes + 300).step_by(7) {
                    report.case();
                    let ctx = ours().cctx(&CParams {
                        compcode: LZ4,
                        clevel,
                        nthreads,
                        ..CParams::default()
                    });
                    let ctx = ctx.expect("valid parameters");
                    let mut dest = vec![0xA5u8; capacity + 16];
                    let rc = ctx.vlcompress(blocks, &mut dest[..capacity]);
                    let which = || {
                        format!(
                            "{rc} into {capacity} of {nbytes} level {clevel} threads {nthreads}"
                        )
                    };
                    report.check(dest[capacity..] == [0xA5; 16], "write out of bounds", which);
                    report.check(rc <= capacity as i32, "return code", which);
                    report.check(
                        rc > 0 || capacity < nbytes + 4 * blocks.len() * 2 + MAX_OVERHEAD,
                        "refused",
                        which,
                    );
                    if rc > 0 {
                        let chunk = &dest[..rc as usize];
                        let (rc, got) = ours()
                            .dctx_threads(nthreads)
                            .vldecompress(chunk, blocks.len());
                        report.check(&got == blocks, "round trip", || {
                            format!("{rc}: {}", which())
                        });
                    }
                }
            }
        }
    }
    report.finish("variable-length blocks without room");
}

/// Flips all bits of a block.
extern "C" fn flip(params: *mut PrefilterParams) -> c_int {
    // SAFETY: the library passes parameters that live across the call, and buffers of this size; it
    // would be a null pointer otherwise.
    unsafe {
        let params = &*params;
        if params.input.is_null() {
            return 1;
        }
        for i in 0..params.output_size as usize {
            *params.output.add(i) = !*params.input.add(i);
        }
    }
    0
}

#[test]
fn a_prefilter_gets_each_block() {
    let Some((ours, reference)) = both() else {
        return;
    };
    let mut rng = Rng(9);
    for nthreads in [1, 3] {
        let mut preparams = PrefilterParams::ZERO;
        let cparams = CParams {
            typesize: 1,
            nthreads,
            prefilter: Some(flip),
            preparams: &raw mut preparams,
            ..CParams::default()
        };
        let blocks = random_blocks(&mut rng, Kind::WalkInt32);
        let flipped = blocks.iter().map(|block| block.iter().map(|byte| !byte));
        let flipped: Vec<Vec<u8>> = flipped.map(Iterator::collect).collect();
        for lib in [ours, reference] {
            let mut chunk = vec![0; blocks.concat().len() + 64 + 40 * blocks.len()];
            let ctx = lib.cctx(&cparams).expect("a context");
            let rc = ctx.vlcompress(&blocks, &mut chunk);
            assert!(rc > 0, "{}: {rc}", lib.name);
            let read = ours.dctx_threads(1);
            let (_, got) = read.vldecompress(&chunk[..rc as usize], blocks.len());
            assert!(got == flipped, "{}, {nthreads} threads", lib.name);
        }
    }
}
