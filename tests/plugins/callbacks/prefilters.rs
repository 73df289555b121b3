//! Prefilters and postfilters.

use super::*;

#[test]
fn prefilters() {
    with_both("prefilters", |report, [ours, reference]| {
        let src = pairs(50_000);
        let mut preparams = PrefilterParams {
            user_data: 0xABC as *mut c_void,
            ..PrefilterParams::ZERO
        };
        for nthreads in [1, 2, 4] {
            for (clevel, filter) in [(0, NOFILTER), (5, NOFILTER), (5, SHUFFLE), (9, BITSHUFFLE)] {
                for (disposable, answer) in
                    [(false, 0), (true, 0), (true, -1), (false, -1), (false, 3)]
                {
                    if answer != 0 && nthreads > 1 {
                        continue;
                    }
                    preparams.output_is_disposable = disposable;
                    let cparams = CParams {
                        compcode: LZ4,
                        clevel,
                        typesize: 4,
                        nthreads,
                        blocksize: 8192,
                        filters: [0, 0, 0, 0, 0, filter],
                        prefilter: Some(prefilter),
                        preparams: &raw mut preparams,
                        ..CParams::default()
                    };
                    let what = format!(
                        "prefilter level {clevel} filter {filter} threads {nthreads} disposable {disposable} answer {answer}"
                    );
                    compare(report, &what, [ours, reference], answer, |lib| {
                        round_trip(
                            lib,
                            &cparams,
                            &src,
                            &DParams {
                                nthreads,
                                ..DParams::default()
                            },
                        )
                    });
                }
            }
        }
    });
}

#[test]
fn postfilters() {
    with_both("postfilters", |report, [ours, reference]| {
        let mut postparams = PostfilterParams {
            user_data: 0xDEF as *mut c_void,
            input: core::ptr::null(),
            output: core::ptr::null_mut(),
            size: 0,
            typesize: 0,
            offset: 0,
            nchunk: 0,
            nblock: 0,
            tid: 0,
            ttmp: core::ptr::null_mut(),
            ttmp_nbytes: 0,
            ctx: core::ptr::null_mut(),
        };
        for nthreads in [1, 2, 4] {
            for (kind, clevel) in [
                (Kind::Text, 5),
                (Kind::Random, 5),
                (Kind::Text, 0),
                (Kind::Zeros, 5),
            ] {
                for answer in [0, -1, 2] {
                    if answer != 0 && nthreads > 1 {
                        continue;
                    }
                    let cparams = CParams {
                        compcode: LZ4,
                        clevel,
                        typesize: 4,
                        blocksize: 8192,
                        ..CParams::default()
                    };
                    let src = kind.bytes(50_000, 1);
                    let (rc, chunk) = reference.compress(&cparams, &src);
                    assert!(rc > 0);
                    compare(
                        report,
                        &format!(
                            "postfilter on {kind:?} level {clevel} threads {nthreads} answer {answer}"
                        ),
                        [ours, reference],
                        answer,
                        |lib| {
                            let dparams = DParams {
                                nthreads,
                                postfilter: Some(postfilter),
                                postparams: &raw mut postparams,
                                ..DParams::default()
                            };
                            let mut out = vec![0u8; src.len()];
                            let rc = lib.dctx(&dparams).decompress(&chunk, &mut out);
                            let right = out.iter().zip(&src).all(|(a, b)| *a == b.wrapping_add(1));
                            vec![rc, i32::from(rc < 0 || right)]
                        },
                    );
                }
            }
        }
    });
}
