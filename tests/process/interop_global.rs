//! The calls that work on the library's own state (`blosc1_*`, `blosc2_compress` and the setters)
//! and the environment variables that override them, ours against the reference.
//!
//! One test: the environment and that state belong to the whole process.

use core::ffi::{CStr, c_int};
use oxiblosc_testing::abi::*;
use oxiblosc_testing::ctx::header_but_cbytes;
use oxiblosc_testing::data::Kind;
use oxiblosc_testing::library::{Lib, both};
use oxiblosc_testing::pipelines::CODECS;
use oxiblosc_testing::report::Report;
use std::ffi::CString;

/// What the library's state says of itself.
fn state(lib: &Lib) -> String {
    // SAFETY: the strings end and belong to the library.
    unsafe {
        let compressor = (lib.f.blosc1_get_compressor)();
        let compressor = (!compressor.is_null()).then(|| CStr::from_ptr(compressor));
        format!(
            "{compressor:?} threads {} blocksize {}",
            (lib.f.blosc2_get_nthreads)(),
            (lib.f.blosc1_get_blocksize)()
        )
    }
}

/// Compresses through `blosc1_compress` and `blosc2_compress`: the headers and codes of both, and
/// the state after each.
fn compress(
    lib: &'static Lib,
    clevel: c_int,
    shuffle: c_int,
    typesize: usize,
    src: &[u8],
) -> String {
    let mut reported = String::new();
    for one in [true, false] {
        let mut dest = vec![0u8; src.len() + MAX_OVERHEAD];
        let (from, to) = (src.as_ptr().cast(), dest.as_mut_ptr().cast());
        // SAFETY: both pointers are good for the lengths that go with them.
        let rc = unsafe {
            if one {
                (lib.f.blosc1_compress)(clevel, shuffle, typesize, src.len(), from, to, dest.len())
            } else {
                (lib.f.blosc2_compress)(
                    clevel,
                    shuffle,
                    typesize as i32,
                    from,
                    src.len() as i32,
                    to,
                    dest.len() as i32,
                )
            }
        };
        reported += &format!("{} ", rc.min(1));
        if rc > 0 {
            let chunk = &dest[..rc as usize];
            let mut header = vec![0u8; MAX_OVERHEAD];
            header[..chunk.len().min(MAX_OVERHEAD)]
                .copy_from_slice(&chunk[..chunk.len().min(MAX_OVERHEAD)]);
            // Headers of Blosc 1 are shorter: what follows there is data.
            let known = if header[2] & 0b101 == 0b101 {
                MAX_OVERHEAD
            } else {
                16
            };
            header[known..].fill(0);
            reported += &format!("{:02x?} ", header_but_cbytes(&header));
            let mut out = vec![0u8; src.len()];
            let (from, to) = (chunk.as_ptr().cast(), out.as_mut_ptr().cast());
            // SAFETY: the chunk is whole, `out` has room for it.
            let (a, b) = unsafe {
                let a = (lib.f.blosc1_decompress)(from, to, src.len());
                assert!(a < 0 || out == src, "{}: blosc1_decompress", lib.name);
                let item = (lib.f.blosc1_getitem)(from, 3, 2, to);
                (a, item)
            };
            // SAFETY: as above.
            let c = unsafe {
                (lib.f.blosc2_decompress)(from, chunk.len() as i32, to, src.len() as i32)
            };
            reported += &format!("{a} {b} {c} {} ", c < 0 || out == src);
        }
        reported += &state(lib);
        reported.push('\n');
    }
    reported
}

/// Puts the state back to where it begins.
fn reset(lib: &Lib) {
    // SAFETY: strings end; no other thread uses the library.
    unsafe {
        (lib.f.blosc1_set_compressor)(c"blosclz".as_ptr());
        (lib.f.blosc2_set_nthreads)(1);
        (lib.f.blosc1_set_blocksize)(0);
        (lib.f.blosc1_set_splitmode)(FORWARD_COMPAT_SPLIT);
        (lib.f.blosc2_set_delta)(0);
    }
}

fn same(
    report: &mut Report,
    what: &str,
    libs: [&'static Lib; 2],
    work: impl Fn(&'static Lib) -> String,
) {
    report.case();
    let [mine, theirs] = libs.map(|lib| {
        let reported = work(lib);
        reset(lib);
        reported
    });
    report.check(mine == theirs, "answers", || {
        let differ = mine.lines().zip(theirs.lines()).find(|(a, b)| a != b);
        let (a, b) = differ.unwrap_or((&mine, &theirs));
        format!("{what}\n  {a}\n  {b}")
    });
}

/// All levels, shuffles and sizes of items, and those that there are not.
fn arguments(report: &mut Report, libs: [&'static Lib; 2], src: &[u8]) {
    for clevel in [-1, 0, 1, 5, 9, 10] {
        for shuffle in -1..=4 {
            for typesize in [1, 4, 8, 255, 256, 1000] {
                same(
                    report,
                    &format!("level {clevel} shuffle {shuffle} typesize {typesize}"),
                    libs,
                    |lib| compress(lib, clevel, shuffle, typesize, src),
                );
            }
        }
    }
}

/// Settings of the process, for every codec.
fn settings(report: &mut Report, libs: [&'static Lib; 2], src: &[u8]) {
    for code in CODECS {
        for (splitmode, blocksize, delta, nthreads) in [
            (1, 0, 0, 1),
            (2, 8192, 1, 2),
            (3, 100, 0, 4),
            (4, 1 << 20, 1, 1),
        ] {
            same(
                report,
                &format!("codec {code} {splitmode} {blocksize} {delta} {nthreads}"),
                libs,
                |lib| {
                    let mut name = core::ptr::null();
                    // SAFETY: the name belongs to the library; no other thread uses it.
                    let codes = unsafe {
                        (lib.f.blosc2_compcode_to_compname)(c_int::from(code), &mut name);
                        let set = (lib.f.blosc1_set_compressor)(name);
                        (lib.f.blosc1_set_splitmode)(splitmode);
                        (lib.f.blosc1_set_blocksize)(blocksize);
                        (lib.f.blosc2_set_delta)(delta);
                        (
                            set,
                            (lib.f.blosc2_set_nthreads)(nthreads),
                            (lib.f.blosc2_set_nthreads)(nthreads),
                        )
                    };
                    format!("{codes:?} {}", compress(lib, 5, 1, 4, src))
                },
            );
        }
    }
}

fn settings_out_of_range(report: &mut Report, libs: [&'static Lib; 2]) {
    same(report, "setters out of range", libs, |lib| {
        // SAFETY: strings end; no other thread uses the library.
        let codes = unsafe {
            [
                (lib.f.blosc1_set_compressor)(c"nothing".as_ptr()),
                (lib.f.blosc1_set_compressor)(c"LZ4".as_ptr()),
                c_int::from((lib.f.blosc2_set_nthreads)(0)),
                c_int::from((lib.f.blosc2_set_nthreads)(-3)),
                c_int::from((lib.f.blosc2_get_nthreads)()),
            ]
        };
        format!("{codes:?}")
    });
}

const VARIABLES: [(&str, &[&str]); 11] = [
    ("BLOSC_CLEVEL", &["0", "1", "9", "10", "-1", "x", ""]),
    (
        "BLOSC_SHUFFLE",
        &["NOSHUFFLE", "SHUFFLE", "BITSHUFFLE", "shuffle", "x"],
    ),
    ("BLOSC_DELTA", &["1", "0", "2", "x"]),
    ("BLOSC_TYPESIZE", &["1", "2", "8", "300", "x"]),
    (
        "BLOSC_COMPRESSOR",
        &["blosclz", "lz4", "lz4hc", "zlib", "zstd", "LZ4", "x"],
    ),
    ("BLOSC_NTHREADS", &["1", "2", "3", "x"]),
    (
        "BLOSC_SPLITMODE",
        &["ALWAYS", "NEVER", "AUTO", "FORWARD_COMPAT", "x"],
    ),
    ("BLOSC_BLOCKSIZE", &["0", "1024", "4096", "1000", "x"]),
    ("BLOSC_NOLOCK", &["1", ""]),
    ("BLOSC_BLOSC1_COMPAT", &["1"]),
    ("BLOSC_INFO", &["1"]),
];

/// What contexts make of the environment.
fn contexts(lib: &'static Lib, src: &[u8]) -> String {
    let mut reported = String::new();
    for cparams in [
        CParams {
            compcode: LZ4,
            typesize: 4,
            ..CParams::default()
        },
        CParams {
            clevel: 0,
            nthreads: 2,
            ..CParams::default()
        },
    ] {
        let Some(ctx) = lib.cctx(&cparams) else {
            reported += "no context\n";
            continue;
        };
        let mut set = CParams::default();
        // SAFETY: the context is a compression context, `set` lives across the call.
        let rc = unsafe { (lib.f.blosc2_ctx_get_cparams)(ctx.raw(), &mut set) };
        let mut dest = vec![0u8; src.len() + MAX_OVERHEAD];
        let written = ctx.compress(src, &mut dest);
        if written <= 0 {
            dest.fill(0);
        }
        reported += &format!(
            "{rc} {} {} {} {} {} {:?} {} {:02x?}\n",
            set.compcode,
            set.clevel,
            set.typesize,
            set.nthreads,
            set.blocksize,
            set.filters,
            set.splitmode,
            header_but_cbytes(&dest)
        );
        let (rc, out) = lib.decompress(&dest[..written.max(0) as usize], src.len(), 1);
        reported += &format!("{} {rc} {}\n", written.min(1), out == src);
    }
    reported
}

fn environment(report: &mut Report, libs: [&'static Lib; 2], src: &[u8]) {
    for nolock in [false, true] {
        for (variable, values) in VARIABLES {
            for value in values {
                // SAFETY: this is the only test of its process, and the libraries' threads read no
                // environment.
                unsafe {
                    if nolock {
                        std::env::set_var("BLOSC_NOLOCK", "1");
                    }
                    std::env::set_var(variable, value);
                }
                same(
                    report,
                    &format!("{variable}={value} nolock {nolock}"),
                    libs,
                    |lib| {
                        let mut reported = compress(lib, 5, 1, 4, src);
                        reported += &contexts(lib, src);
                        reported
                    },
                );
                // SAFETY: as above.
                unsafe {
                    std::env::remove_var(variable);
                    std::env::remove_var("BLOSC_NOLOCK");
                }
            }
        }
    }
}

/// The state is there again after the library was taken down, and two buffers of a global call may
/// not share one.
fn destroyed(report: &mut Report, libs: [&'static Lib; 2], src: &[u8]) {
    same(report, "destroy and init", libs, |lib| {
        let mut reported = String::new();
        for _ in 0..3 {
            // SAFETY: no context is at work.
            unsafe {
                (lib.f.blosc2_set_nthreads)(2);
                reported += &compress(lib, 5, 1, 4, src);
                reported += &format!("{} ", (lib.f.blosc2_free_resources)());
                reported += &compress(lib, 5, 1, 4, src);
                (lib.f.blosc2_destroy)();
                (lib.f.blosc2_init)();
            }
        }
        reported
    });
}

#[test]
fn global_state_and_environment() {
    oxiblosc_testing::own_process!();
    let Some((ours, reference)) = both() else {
        return;
    };
    let libs = [ours, reference];
    let mut report = Report::default();
    let src = Kind::WalkInt32.bytes(60_000, 3);
    arguments(&mut report, libs, &src);
    settings(&mut report, libs, &src);
    settings_out_of_range(&mut report, libs);
    environment(&mut report, libs, &src);
    destroyed(&mut report, libs, &src);
    let unknown = CString::new("nothing").expect("no zero inside");
    // SAFETY: the string ends.
    assert_eq!(
        unsafe { (ours.f.blosc2_compname_to_compcode)(unknown.as_ptr()) },
        -1
    );
    report.finish("global state and environment");
}
