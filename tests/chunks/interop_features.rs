//! What lies beside the plain chunk, ours against the reference: dictionaries, instrumented codecs,
//! large typesizes, what contexts and the library say about themselves; and that the number of
//! threads does not show in the bytes.

use core::ffi::{CStr, c_char, c_int};
use oxiblosc_testing::abi::*;
use oxiblosc_testing::ctx::header_but_cbytes;
use oxiblosc_testing::data::{Kind, Rng};
use oxiblosc_testing::library::{Lib, both, ours};
use oxiblosc_testing::pipelines::{CODECS, FILTERS};
use oxiblosc_testing::report::{Report, difference, differing_results};
use std::ffi::CString;

/// Bit of the flags: the chunk is a plain copy.
const MEMCPYED: u8 = 0x02;
/// Bit of the last byte of a header: the chunk has a dictionary.
const USE_DICT: u8 = 0x01;

/// Compresses `src` with a dictionary by both libraries, and lets both read both chunks.
fn compare_dictionaries(
    report: &mut Report,
    [ours, reference]: [&'static Lib; 2],
    cparams: &CParams,
    src: &[u8],
    which: &dyn Fn() -> String,
) {
    let len = src.len();
    let (mine, theirs) = (
        ours.compress(cparams, src),
        reference.compress(cparams, src),
    );
    if mine.0 <= 0 || theirs.0 <= 0 {
        report.check(mine.0 == theirs.0, "return code", || {
            format!("{} and {}: {}", mine.0, theirs.0, which())
        });
        return;
    }
    // Where it copies the chunk after all, the reference leaves the flag of a dictionary in the
    // header, and then misses the dictionary.
    let misled = theirs.1[2] & MEMCPYED != 0 && theirs.1[31] & USE_DICT != 0;
    let mut as_told = header_but_cbytes(&theirs.1);
    as_told[27] &= if misled { !USE_DICT } else { 0xFF };
    report.check(header_but_cbytes(&mine.1) == as_told, "header", || {
        format!(
            "\n  {:02x?}\n  {:02x?}\n  {}",
            &mine.1[..32],
            &theirs.1[..32],
            which()
        )
    });
    // With more threads the reference samples the blocks in the order in which they happen to end.
    let close = cparams.nthreads > 1 || mine.1.len() <= theirs.1.len() + theirs.1.len() / 100 + 64;
    report.check(close, "size", || {
        format!("{} and {}: {}", mine.1.len(), theirs.1.len(), which())
    });
    for (writer, chunk) in [(ours, &mine.1), (reference, &theirs.1)] {
        for lib in [ours, reference] {
            let (rc, bytes) = lib.decompress(chunk, len, cparams.nthreads);
            let right = rc == len as i32 && bytes == *src;
            let known = misled && (writer.name, lib.name) == ("reference", "reference");
            report.check(right || known, "round trip", || {
                let difference = difference(&bytes, src);
                format!("{} {rc} {difference}: {}", lib.name, which())
            });
        }
        // A context that has not seen the chunk before: the reference's then has no dictionary.
        let size = chunk[3] as usize;
        let start = len / size / 2;
        let mut items = vec![0u8; 10 * size];
        let rc = ours
            .dctx_threads(1)
            .getitem(chunk, start as i32, 10, &mut items);
        let right = rc == items.len() as i32 && items == src[start * size..][..items.len()];
        report.check(right, "getitem", || {
            format!("{} {rc}: {}", writer.name, which())
        });
    }
}

#[test]
fn dictionaries() {
    let Some((ours, reference)) = both() else {
        return;
    };
    let mut report = Report::default();
    for compcode in CODECS {
        for (n, filters) in FILTERS.into_iter().enumerate() {
            for (kind, len) in [
                (Kind::Text, 300_000),
                (Kind::WalkInt32, 200_000),
                (Kind::Timestamps, 1000),
                (Kind::Random, 50_000),
                (Kind::Zeros, 50_000),
            ] {
                for (blocksize, nthreads, splitmode) in [
                    (0, 1, FORWARD_COMPAT_SPLIT),
                    (4096, 2, NEVER_SPLIT),
                    (4096, 1, ALWAYS_SPLIT),
                    (16_384, 4, AUTO_SPLIT),
                ] {
                    report.case();
                    let cparams = CParams {
                        compcode,
                        clevel: [1, 5, 9][(n + len) % 3],
                        use_dict: 1,
                        typesize: kind.typesize(),
                        blocksize,
                        nthreads,
                        splitmode,
                        filters,
                        ..CParams::default()
                    };
                    let src = kind.bytes(len, 9);
                    let which = || {
                        format!(
                            "codec {compcode} {filters:?} {len} x {kind:?} blocksize {blocksize} threads {nthreads}"
                        )
                    };
                    compare_dictionaries(&mut report, [ours, reference], &cparams, &src, &which);
                }
            }
        }
    }
    report.finish("dictionaries");
}

#[test]
fn instrumented_codecs() {
    let Some((ours, reference)) = both() else {
        return;
    };
    let mut report = Report::default();
    for compcode in CODECS {
        for filters in FILTERS {
            for (kind, splitmode) in [
                (Kind::WalkInt32, NEVER_SPLIT),
                (Kind::Runs, ALWAYS_SPLIT),
                (Kind::Zeros, FORWARD_COMPAT_SPLIT),
            ] {
                for len in [1000, 100_000, 100_003] {
                    report.case();
                    let cparams = CParams {
                        compcode,
                        filters,
                        splitmode,
                        instr_codec: true,
                        typesize: 4,
                        blocksize: 8192,
                        ..CParams::default()
                    };
                    let src = kind.bytes(len, 2);
                    let which = || {
                        format!("codec {compcode} {filters:?} {len} x {kind:?} split {splitmode}")
                    };
                    let (mine, theirs) = (
                        ours.compress(&cparams, &src),
                        reference.compress(&cparams, &src),
                    );
                    report.check(mine.0 == theirs.0, "return code", || {
                        format!("{} and {}: {}", mine.0, theirs.0, which())
                    });
                    if mine.0 <= 0 || theirs.0 <= 0 {
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
                        let nbytes = reference.sizes(chunk).1[0] as usize;
                        let [a, b] = [ours, reference].map(|lib| lib.decompress(chunk, nbytes, 1));
                        report.check(a == b, "decompress", || {
                            format!("{}: {}", differing_results(&a, &b), which())
                        });
                    }
                }
            }
        }
    }
    report.finish("instrumented codecs");
}

#[test]
fn typesizes_above_255() {
    let Some((ours, reference)) = both() else {
        return;
    };
    let mut report = Report::default();
    let src = Kind::SmoothFloat64.bytes(3_000_000, 8);
    for typesize in [256, 1000, 65_536, 1 << 20, 1_000_000, 1 << 29] {
        for filters in FILTERS {
            // A multiple of the typesize, or less: the reference records others wrongly.
            for blocksize in [0, typesize.min(1000) * 10] {
                report.case();
                let cparams = CParams {
                    compcode: LZ4,
                    typesize,
                    blocksize,
                    filters,
                    nthreads: 2,
                    ..CParams::default()
                };
                let (mine, theirs) = (
                    ours.compress(&cparams, &src),
                    reference.compress(&cparams, &src),
                );
                let which = || format!("typesize {typesize} {filters:?} blocksize {blocksize}");
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
                    for lib in [ours, reference] {
                        let (rc, bytes) = lib.decompress(chunk, src.len(), 2);
                        report.check(rc == src.len() as i32 && bytes == src, "round trip", || {
                            format!("{} {rc}: {}", lib.name, which())
                        });
                    }
                }
            }
        }
    }
    report.finish("typesizes above 255");
}

#[test]
fn contexts_tell_their_parameters() {
    let Some((ours, reference)) = both() else {
        return;
    };
    let reported = [ours, reference].map(|lib| {
        let mut all = String::new();
        for cparams in [
            CParams::default(),
            CParams {
                compcode: ZSTD,
                clevel: 9,
                use_dict: 1,
                typesize: 3,
                nthreads: 4,
                blocksize: 1 << 16,
                splitmode: NEVER_SPLIT,
                filters: [3, 0, 0, 4, 1, 2],
                filters_meta: [1, 2, 3, 4, 5, 6],
                ..CParams::default()
            },
            CParams {
                compcode: LZ4,
                compcode_meta: 7,
                typesize: 300,
                instr_codec: true,
                ..CParams::default()
            },
        ] {
            let cctx = lib.cctx(&cparams).expect("valid parameters");
            let mut src = Kind::WalkInt32.bytes(100_000, 1);
            for _ in 0..2 {
                let mut reported = CParams::default();
                // SAFETY: the context is a compression context, `reported` lives across the call.
                let rc = unsafe { (lib.f.blosc2_ctx_get_cparams)(cctx.raw(), &mut reported) };
                all += &format!("{rc} {reported:?}\n");
                let rc = cctx.compress(&src.clone(), &mut src);
                all += &format!("{}\n", rc.min(1));
            }
        }
        for nthreads in [1, 3] {
            let dctx = lib.dctx(&DParams {
                nthreads,
                typesize: 5,
                ..DParams::default()
            });
            let mut reported = DParams::default();
            // SAFETY: the context is a decompression context, `reported` lives across the call.
            let rc = unsafe { (lib.f.blosc2_ctx_get_dparams)(dctx.raw(), &mut reported) };
            all += &format!("{rc} {reported:?}\n");
        }
        // SAFETY: no arguments.
        let (c, d) = unsafe {
            (
                (lib.f.blosc2_get_blosc2_cparams_defaults)(),
                (lib.f.blosc2_get_blosc2_dparams_defaults)(),
            )
        };
        all + &format!("{c:?}\n{d:?}\n")
    });
    let [mine, theirs] = reported;
    assert_eq!(mine, theirs);
}

/// A C string of the library, `None` where it is null.
fn text(pointer: *const c_char) -> Option<String> {
    // SAFETY: the library gives null or a string that ends.
    (!pointer.is_null()).then(|| {
        unsafe { CStr::from_ptr(pointer) }
            .to_string_lossy()
            .into_owned()
    })
}

#[test]
fn names_and_messages() {
    let Some((ours, reference)) = both() else {
        return;
    };
    let reported = [ours, reference].map(|lib: &'static Lib| {
        let f = &lib.f;
        let mut all = Vec::new();
        // SAFETY: strings end, out parameters live across the calls, what the caller owns is freed.
        unsafe {
            for code in -40..=5 {
                all.push(format!(
                    "error {code}: {:?}",
                    text((f.blosc2_error_string)(code))
                ));
            }
            all.push(format!(
                "{:?} {:?}",
                text((f.blosc2_get_version_string)()),
                text((f.blosc2_list_compressors)())
            ));
            for code in -1..=31 {
                let mut name = core::ptr::null();
                let rc = (f.blosc2_compcode_to_compname)(code, &mut name);
                all.push(format!("code {code}: {rc} {:?}", text(name)));
            }
            for name in ["blosclz", "lz4", "lz4hc", "zlib", "zstd"] {
                let c = CString::new(name).expect("no zero inside");
                let (mut complib, mut version) = (core::ptr::null_mut(), core::ptr::null_mut());
                let rc = (f.blosc2_get_complib_info)(c.as_ptr(), &mut complib, &mut version);
                let (library, number) = (text(complib), text(version));
                libc::free(complib.cast());
                libc::free(version.cast());
                // Our zlib is another library: that it has a version is all that can be asked.
                let number = if name == "zlib" {
                    number.map(|_| "some".to_owned())
                } else {
                    number
                };
                all.push(format!(
                    "name {name}: {} info {rc} {library:?} {number:?}",
                    (f.blosc2_compname_to_compcode)(c.as_ptr())
                ));
            }
            for name in ["snappy", "", "LZ4", "lz4 "] {
                let c = CString::new(name).expect("no zero inside");
                // The reference dies when asked for the library of a codec that is not there.
                all.push(format!(
                    "name {name}: {}",
                    (f.blosc2_compname_to_compcode)(c.as_ptr())
                ));
            }
            let (start, end) = (
                Timestamp {
                    tv_sec: 10,
                    tv_nsec: 999_999_000,
                },
                Timestamp {
                    tv_sec: 12,
                    tv_nsec: 1000,
                },
            );
            all.push(format!(
                "{} {}",
                (f.blosc_elapsed_nsecs)(start, end),
                (f.blosc_elapsed_secs)(start, end)
            ));
            let mut now = Timestamp::default();
            (f.blosc_set_timestamp)(&mut now);
            all.push(format!("{}", (now.tv_sec, now.tv_nsec) != (0, 0)));
        }
        all
    });
    let [mine, theirs] = reported;
    for (a, b) in mine.iter().zip(&theirs) {
        assert_eq!(a, b);
    }
    assert_eq!(mine.len(), theirs.len());
}

#[test]
fn raw_shuffles() {
    let Some((ours, reference)) = both() else {
        return;
    };
    let mut report = Report::default();
    // Out of these ranges the reference reads and writes out of bounds.
    for typesize in [1, 2, 3, 4, 7, 8, 12, 16, 17, 31, 32, 64, 255, 256] {
        for len in [0, 1, 15, 16, 31, 100, 255, 256, 1024, 4096, 4099, 100_001] {
            report.case();
            let src = Kind::Random.bytes(len.max(0) as usize, 1);
            let done = [ours, reference].map(|lib| {
                let f = &lib.f;
                [
                    f.blosc2_shuffle,
                    f.blosc2_unshuffle,
                    f.blosc2_bitshuffle,
                    f.blosc2_bitunshuffle,
                ]
                .map(|function| {
                    let mut dest = vec![0u8; src.len()];
                    // SAFETY: both buffers have `len` bytes.
                    (
                        unsafe {
                            function(typesize, len, src.as_ptr().cast(), dest.as_mut_ptr().cast())
                        },
                        dest,
                    )
                })
            });
            let [mine, theirs] = &done;
            for (n, (a, b)) in mine.iter().zip(theirs).enumerate() {
                report.check(a.0 == b.0 && (a.0 < 0 || a.1 == b.1), "shuffle", || {
                    format!(
                        "function {n} typesize {typesize} of {len}: {} and {}, {}",
                        a.0,
                        b.0,
                        difference(&a.1, &b.1)
                    )
                });
            }
        }
    }
    report.finish("raw shuffles");
}

/// Promise of every layer: the same input and parameters give the same bytes whatever the number of
/// threads.
#[test]
fn threads_do_not_show_in_the_bytes() {
    let mut report = Report::default();
    let mut rng = Rng(12);
    for round in 0..160 {
        let kind = Kind::ALL[round % Kind::ALL.len()];
        let mut cparams = CParams {
            compcode: rng.pick(&CODECS),
            clevel: 1 + rng.below(7) as u8,
            typesize: rng.pick(&[1, 2, 4, 8, 7]),
            blocksize: rng.pick(&[0, 4096, 20_000]),
            splitmode: 1 + rng.below(4) as i32,
            filters: rng.pick(&FILTERS),
            ..CParams::default()
        };
        cparams.use_dict =
            c_int::from(round % 5 == 0 && matches!(cparams.compcode, LZ4 | LZ4HC | ZSTD));
        let src = kind.bytes(200_000 + rng.below(400_000), round as u64);
        // Also where there is not room for all of it, and every block has to be left out at the
        // same place.
        let capacity = [src.len() + MAX_OVERHEAD, src.len() / 2][round % 2];
        let one = ours().compress_into(&cparams, &src, capacity);
        for nthreads in [1, 2, 4, 8] {
            report.case();
            let many = ours().compress_into(
                &CParams {
                    nthreads,
                    ..cparams
                },
                &src,
                capacity,
            );
            report.check(many == one, "bytes", || {
                format!(
                    "{} and {}, {}: {nthreads} threads {kind:?} {cparams:?}",
                    many.0,
                    one.0,
                    difference(&many.1, &one.1)
                )
            });
            if many.0 > 0 {
                let (rc, bytes) = ours().decompress(&many.1, src.len(), nthreads);
                report.check(rc == src.len() as i32 && bytes == src, "round trip", || {
                    format!("{rc}: {nthreads} threads {kind:?} {cparams:?}")
                });
            }
        }
    }
    report.finish("threads");
}
