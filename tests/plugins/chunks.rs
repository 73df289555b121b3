//! Filters that need no array, in chunks: the same bytes and codes as the reference's, whatever the
//! sizes are.

use blosc2::capi::constants::*;
use oxiblosc_testing::abi::*;
use oxiblosc_testing::data::Kind;
use oxiblosc_testing::library::both;
use oxiblosc_testing::report::{Report, difference};

/// Everything that a chunk alone can go through.
fn filters() -> Vec<[(u8, u8); 2]> {
    let mut all = Vec::new();
    for id in [BLOSC_FILTER_BYTEDELTA, BLOSC_FILTER_BYTEDELTA_BUGGY] {
        for meta in [0, 1, 2, 3, 4, 7, 8, 16, 255] {
            all.push([(NOFILTER, 0), (id as u8, meta)]);
            all.push([(SHUFFLE, 0), (id as u8, meta)]);
        }
    }
    for meta in [
        0u8, 1, 5, 8, 9, 13, 16, 20, 32, 33, 64, 65, 127, 128, 192, 224, 249, 255,
    ] {
        all.push([(NOFILTER, 0), (BLOSC_FILTER_INT_TRUNC as u8, meta)]);
        all.push([(BLOSC_FILTER_INT_TRUNC as u8, meta), (SHUFFLE, 0)]);
    }
    // Without an array these cannot be.
    all.push([(NOFILTER, 0), (SHUFFLE, 0)]);
    all
}

/// Bytes of a block that the reference's filter leaves as they were in its buffer.
fn leaves_rest(filters: &[(u8, u8); 2], typesize: i32, blocks: [i32; 2]) -> bool {
    filters.iter().any(|(id, meta)| {
        let unit = match i32::from(*id) {
            BLOSC_FILTER_BYTEDELTA_BUGGY if *meta == 0 => return false,
            BLOSC_FILTER_BYTEDELTA_BUGGY => i32::from(*meta),
            BLOSC_FILTER_INT_TRUNC => typesize,
            _ => return false,
        };
        blocks.iter().any(|block| block % unit != 0)
    })
}

#[test]
fn chunks_are_the_same_both_ways() {
    let Some((ours, reference)) = both() else {
        return;
    };
    let mut report = Report::default();
    for kind in [
        Kind::WalkInt32,
        Kind::SmoothFloat64,
        Kind::Text,
        Kind::Random,
        Kind::Zeros,
    ] {
        for nbytes in [100, 1003, 40_000, 100_001] {
            let src = kind.bytes(nbytes, 3);
            for typesize in [1, 2, 3, 4, 8, 16, 200] {
                for filters in filters() {
                    for blocksize in [0, 4096, 10_000] {
                        // A block of a size that is no multiple of the typesize is one that the
                        // reference loses bytes of.
                        let blocksize = blocksize / typesize * typesize;
                        if blocksize > nbytes as i32 {
                            continue;
                        }
                        let mut cparams = CParams {
                            compcode: LZ4,
                            typesize,
                            blocksize,
                            ..CParams::default()
                        };
                        for (slot, (id, meta)) in filters.iter().enumerate() {
                            (cparams.filters[4 + slot], cparams.filters_meta[4 + slot]) =
                                (*id, *meta);
                        }
                        let which = || {
                            format!("{kind:?} {nbytes} typesize {typesize} {filters:?} {blocksize}")
                        };
                        report.case();
                        let (mine, chunk) = ours.compress(&cparams, &src);
                        let (theirs, other) = reference.compress(&cparams, &src);
                        let size = match theirs {
                            1.. => ours.sizes(&other).1[2].max(1),
                            _ => 1,
                        };
                        let rest = leaves_rest(&filters, typesize, [size, nbytes as i32 % size]);
                        report.check(mine == theirs || rest, "code", || {
                            format!("{}: {mine} {theirs}", which())
                        });
                        if mine <= 0 || theirs <= 0 {
                            report.note("refused");
                            continue;
                        }
                        report.check(chunk == other || rest, "bytes", || {
                            format!("{}: {}", which(), difference(&chunk, &other))
                        });
                        let (rc, back) = ours.decompress(&other, nbytes, 1);
                        let (their_rc, their_back) = reference.decompress(&other, nbytes, 1);
                        report.check(rc == their_rc, "code of reading", || {
                            format!("{}: {rc} {their_rc}", which())
                        });
                        report.check(back == their_back || rest, "data", || {
                            format!("{}: {}", which(), difference(&back, &their_back))
                        });
                        let (rc, their_back) = reference.decompress(&chunk, nbytes, 1);
                        let (_, back) = ours.decompress(&chunk, nbytes, 2);
                        report.check(rc < 0 || back == their_back || rest, "ours read", || {
                            format!("{}: {}", which(), difference(&back, &their_back))
                        });
                    }
                }
            }
        }
    }
    report.finish("chunks");
}

#[test]
fn without_an_array_what_needs_one_is_refused() {
    let Some((ours, reference)) = both() else {
        return;
    };
    let src = Kind::NoisyFloat32.bytes(40_000, 3);
    let mut report = Report::default();
    // The reference's filters for arrays read a super-chunk that is not there; its codecs say that
    // they need one.
    for (codec, filter) in [(32, 0), (33, 0), (34, 0), (35, 0), (LZ4, 32), (LZ4, 33)] {
        let mut cparams = CParams {
            compcode: codec,
            compcode_meta: 4,
            typesize: 4,
            ..CParams::default()
        };
        cparams.filters[5] = filter;
        cparams.filters_meta[5] = 4;
        report.case();
        let (mine, chunk) = ours.compress(&cparams, &src);
        if filter != 0 {
            report.check(mine < 0, "a filter without an array", || {
                format!("{filter}: {mine}")
            });
            continue;
        }
        let (theirs, other) = reference.compress(&cparams, &src);
        report.check(
            mine == theirs && chunk == other,
            "a codec without an array",
            || format!("{codec}: {mine} {theirs}"),
        );
    }
    report.finish("without an array");
}
