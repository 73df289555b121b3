//! Codecs and filters of the program.

use super::*;

#[test]
fn user_codecs_and_filters() {
    with_both("user codecs and filters", |report, [ours, reference]| {
        for lib in [ours, reference] {
            register(lib);
        }
        let src = pairs(40_000);
        for nthreads in [1, 2, 4] {
            for (filters, filters_meta) in [
                ([0; 6], [0; 6]),
                ([0, 0, 0, 0, 0, 201], [0, 0, 0, 0, 0, 0x55]),
                ([201, 0, 0, 0, 0, 202], [7, 0, 0, 0, 0, 9]),
                ([201, 0, 0, 0, 0, SHUFFLE], [7, 0, 0, 0, 0, 0]),
            ] {
                for compcode in [200, LZ4] {
                    if compcode == LZ4 && filters == [0; 6] {
                        continue;
                    }
                    for (splitmode, answer) in [
                        (NEVER_SPLIT, 0),
                        (ALWAYS_SPLIT, 0),
                        (NEVER_SPLIT, -1),
                        (NEVER_SPLIT, -50),
                    ] {
                        if answer != 0 && nthreads > 1 {
                            // How many blocks were begun when the first one failed is a matter of
                            // chance.
                            continue;
                        }
                        let cparams = CParams {
                            compcode,
                            compcode_meta: 42,
                            typesize: 2,
                            nthreads,
                            blocksize: 4096,
                            splitmode,
                            filters,
                            filters_meta,
                            codec_params: 0x1234 as *mut c_void,
                            ..CParams::default()
                        };
                        let what = format!(
                            "codec {compcode} filters {filters:?} threads {nthreads} split {splitmode} answer {answer}"
                        );
                        compare(report, &what, [ours, reference], answer, |lib| {
                            round_trip(
                                lib,
                                &cparams,
                                &src,
                                &DParams {
                                    nthreads,
                                    typesize: 2,
                                    ..DParams::default()
                                },
                            )
                        });
                    }
                }
            }
        }
    });
}

#[test]
fn errors_of_user_decoders() {
    with_both("errors of user decoders", |report, [ours, reference]| {
        for lib in [ours, reference] {
            register(lib);
        }
        let src = pairs(20_000);
        for (compcode, filter) in [(200, NOFILTER), (LZ4, 201)] {
            let cparams = CParams {
                compcode,
                typesize: 2,
                blocksize: 4096,
                splitmode: NEVER_SPLIT,
                filters: [0, 0, 0, 0, 0, filter],
                ..CParams::default()
            };
            let (rc, chunk) = reference.compress(&cparams, &src);
            assert!(rc > 0);
            for answer in [-1, -2, -18, -50] {
                compare(
                    report,
                    &format!("codec {compcode} filter {filter} answers {answer}"),
                    [ours, reference],
                    answer,
                    |lib| {
                        let mut items = [0u8; 20];
                        vec![
                            lib.decompress(&chunk, src.len(), 1).0,
                            lib.dctx_threads(1).getitem(&chunk, 10, 10, &mut items),
                        ]
                    },
                );
            }
        }
    });
}
