//! Where calls fail, ours fails as the reference does: destinations that are too small, sizes that
//! make no sense, chunks cut short, headers that lie. Special-value chunks are the same bytes.

use oxiblosc_testing::abi::*;
use oxiblosc_testing::data::{Kind, Rng};
use oxiblosc_testing::library::{Lib, both, ours};
use oxiblosc_testing::report::{Report, difference, differing_results};

/// Chunks of many shapes with what they hold, written by the reference.
fn chunks(reference: &'static Lib) -> Vec<(String, CParams, Vec<u8>, Vec<u8>)> {
    let mut chunks = Vec::new();
    for compcode in [BLOSCLZ, LZ4, ZLIB, ZSTD] {
        for (name, kind, len) in [
            ("short", Kind::Text, 300),
            ("copied", Kind::Random, 3000),
            ("split", Kind::WalkInt32, 8000),
            ("zeros", Kind::Zeros, 5000),
            ("runs", Kind::Runs, 20_000),
            ("tiny", Kind::Text, 7),
        ] {
            for (filters, splitmode) in [
                ([0; 6], NEVER_SPLIT),
                ([0, 0, 0, 0, 0, SHUFFLE], ALWAYS_SPLIT),
                ([0, 0, 0, 0, DELTA, BITSHUFFLE], FORWARD_COMPAT_SPLIT),
            ] {
                let cparams = CParams {
                    compcode,
                    typesize: 4,
                    blocksize: 2048,
                    splitmode,
                    filters,
                    ..CParams::default()
                };
                let src = kind.bytes(len, 11);
                let (rc, chunk) = reference.compress(&cparams, &src);
                assert!(rc > 0, "the reference compresses {name}: {rc}");
                chunks.push((
                    format!("{name} codec {compcode} {filters:?}"),
                    cparams,
                    src,
                    chunk,
                ));
            }
        }
    }
    chunks
}

#[test]
fn every_destination_size_of_compress() {
    let Some((ours, reference)) = both() else {
        return;
    };
    let mut report = Report::default();
    for compcode in [BLOSCLZ, LZ4, LZ4HC, ZLIB, ZSTD] {
        for (kind, len) in [
            (Kind::Text, 400),
            (Kind::Random, 200),
            (Kind::Zeros, 300),
            (Kind::WalkInt32, 1000),
            (Kind::Text, 0),
        ] {
            for (filters, nthreads) in [
                ([0; 6], 1),
                ([0, 0, 0, 0, 0, SHUFFLE], 1),
                ([0, 0, 0, 0, 0, BITSHUFFLE], 2),
            ] {
                let cparams = CParams {
                    compcode,
                    typesize: 4,
                    nthreads,
                    blocksize: 256,
                    filters,
                    ..CParams::default()
                };
                let src = kind.bytes(len, 5);
                // These two have encoders of their own: where exactly it no longer fits may differ.
                let own_encoder = matches!(compcode, BLOSCLZ | ZLIB);
                for destsize in 0..=len + 64 {
                    report.case();
                    let (mine, chunk) = ours.compress_into(&cparams, &src, destsize);
                    let (theirs, _) = reference.compress_into(&cparams, &src, destsize);
                    let which = || {
                        format!(
                            "{mine} and {theirs}: codec {compcode} {filters:?} {len} x {kind:?} into {destsize}"
                        )
                    };
                    // Where there is room for it, the reference leaves blocks that are larger than
                    // what they hold; where room is short, it may give up on what would just fit.
                    let same = mine == theirs
                        || (mine > 0 && (mine < theirs || theirs == 0))
                        || (own_encoder && mine > 0 && theirs > 0)
                        || (own_encoder
                            && mine >= 0
                            && theirs >= 0
                            && destsize < len + MAX_OVERHEAD);
                    // With two threads the reference's blocks race for what is left.
                    report.check(
                        same || (nthreads > 1 && mine >= 0 && theirs >= 0),
                        "return code",
                        which,
                    );
                    if mine > 0 {
                        let (rc, bytes) = reference.decompress(&chunk, len, 1);
                        report.check((rc, &bytes) == (len as i32, &src), "round trip", which);
                    }
                }
            }
        }
    }
    report.finish("destination sizes of compress");
}

#[test]
fn every_destination_size_of_decompress() {
    let Some((ours, reference)) = both() else {
        return;
    };
    let mut report = Report::default();
    for (name, _, src, chunk) in chunks(reference) {
        let sizes = (0..=64).chain(src.len().saturating_sub(40)..src.len() + 40);
        for destsize in sizes {
            report.case();
            let mine = ours.decompress(&chunk, destsize, 1);
            let theirs = reference.decompress(&chunk, destsize, 1);
            report.check(mine == theirs, "decompress", || {
                format!(
                    "{} and {}, {}: {name} into {destsize}",
                    mine.0,
                    theirs.0,
                    difference(&mine.1, &theirs.1)
                )
            });
        }
    }
    report.finish("destination sizes of decompress");
}

#[test]
fn chunks_cut_short() {
    let Some((ours, reference)) = both() else {
        return;
    };
    let mut report = Report::default();
    for (name, _, src, chunk) in chunks(reference) {
        for len in
            (0..chunk.len()).filter(|len| *len < 200 || len % 37 == 0 || chunk.len() - len < 20)
        {
            report.case();
            // Exactly as long as it says, so that a sanitizer sees a read behind the end.
            let cut = chunk[..len].to_vec();
            let mine = ours.decompress(&cut, src.len(), 1).0;
            let theirs = reference.decompress(&cut, src.len(), 1).0;
            report.check(mine == theirs, "decompress", || {
                format!("{mine} and {theirs}: {name} cut to {len}")
            });
            let item = |lib: &'static Lib| {
                let mut dest = [0u8; 4];
                lib.dctx_threads(1)
                    .getitem(&cut, (src.len() / 8) as i32, 1, &mut dest)
            };
            let (mine, theirs) = (item(ours), item(reference));
            // Ours may have to look further than the reference does to be sure.
            report.check(mine == theirs || mine < 0, "getitem", || {
                format!("{mine} and {theirs}: {name} cut to {len}")
            });
        }
    }
    report.finish("chunks cut short");
}

#[test]
fn sizes_and_ranges_that_make_no_sense() {
    let Some((ours, reference)) = both() else {
        return;
    };
    let mut report = Report::default();
    for (name, cparams, src, chunk) in chunks(reference) {
        report.case();
        let [mine, theirs] =
            [ours, reference].map(|lib| answers_to_odd_sizes(lib, &cparams, &src, &chunk));
        assert_eq!(mine.len(), theirs.len());
        for ((what, a), (_, b)) in mine.iter().zip(&theirs) {
            report.check(a == b, "return code", || {
                format!("{a} and {b}: {what} on {name}")
            });
        }
    }
    report.finish("sizes that make no sense");
}

/// What the library answers to sizes and ranges at and beyond every limit, with a name for each
/// call.
fn answers_to_odd_sizes(
    lib: &'static Lib,
    cparams: &CParams,
    src: &[u8],
    chunk: &[u8],
) -> Vec<(String, i32)> {
    let odd = [i32::MIN, -1, 0, 1, 15, 16, 31, 32, 33, i32::MAX];
    let cctx = lib.cctx(cparams).expect("valid parameters");
    let dctx = lib.dctx_threads(1);
    let mut dest = vec![0u8; src.len() + 64];
    let mut out = vec![0u8; src.len() + 64];
    let mut answers = Vec::new();
    let s = src.as_ptr().cast();
    let c = chunk.as_ptr().cast();
    let d = dest.as_mut_ptr().cast();
    let o = out.as_mut_ptr().cast();
    let (src_len, chunk_len, capacity) = (src.len() as i32, chunk.len() as i32, dest.len() as i32);
    let (f, cc, dc) = (&lib.f, cctx.raw(), dctx.raw());
    // SAFETY: no size is larger than what its pointer is good for, but where the library must see
    // that from the others.
    unsafe {
        for size in odd {
            // A negative source is refused by ours and taken for an empty one by the reference.
            if (0..=src_len).contains(&size) {
                answers.push((
                    format!("compress_ctx of {size}"),
                    (f.blosc2_compress_ctx)(cc, s, size, d, capacity).min(1),
                ));
                answers.push((
                    format!("compress of {size}"),
                    (f.blosc2_compress)(5, 1, 4, s, size, d, capacity).min(1),
                ));
            }
            if size <= capacity {
                let short = src_len.min(100);
                answers.push((
                    format!("compress_ctx into {size}"),
                    (f.blosc2_compress_ctx)(cc, s, short, d, size).min(1),
                ));
                answers.push((
                    format!("decompress_ctx into {size}"),
                    (f.blosc2_decompress_ctx)(dc, c, chunk_len, o, size),
                ));
                answers.push((
                    format!("decompress into {size}"),
                    (f.blosc2_decompress)(c, chunk_len, o, size),
                ));
            }
            if size <= chunk_len {
                answers.push((
                    format!("decompress_ctx of {size}"),
                    (f.blosc2_decompress_ctx)(dc, c, size, o, src_len),
                ));
                answers.push((
                    format!("getitem_ctx of {size}"),
                    (f.blosc2_getitem_ctx)(dc, c, size, 0, 1, o, 4),
                ));
            }
            for other in odd {
                let range = format!("{size}+{other}");
                answers.push((
                    format!("getitem_ctx {range}"),
                    (f.blosc2_getitem_ctx)(dc, c, chunk_len, size, other, o, capacity),
                ));
                answers.push((
                    format!("getitem {range}"),
                    (f.blosc2_getitem)(c, chunk_len, size, other, o, capacity),
                ));
                answers.push((
                    format!("getitem_bytes_ctx {range}"),
                    (f.blosc2_getitem_bytes_ctx)(dc, c, chunk_len, size, other, o, capacity),
                ));
                answers.push((
                    format!("getitem_ctx of {other} into {size}"),
                    (f.blosc2_getitem_ctx)(dc, c, chunk_len, 0, other, o, size.min(capacity)),
                ));
            }
        }
    }
    for len in [0usize, 1, 2, 3, 1000] {
        dctx.maskout(&mut vec![true; len]);
        answers.push((
            format!("decompress_ctx with a mask of {len}"),
            dctx.decompress(chunk, &mut out),
        ));
    }
    answers.push((
        "decompress_ctx with a compression context".into(),
        cctx.decompress(chunk, &mut out),
    ));
    answers.push((
        "compress_ctx with a decompression context".into(),
        dctx.compress(src, &mut dest).min(1),
    ));
    answers
}

#[test]
fn compression_parameters_out_of_range() {
    let Some((ours, reference)) = both() else {
        return;
    };
    let mut report = Report::default();
    let src = Kind::WalkInt32.bytes(5000, 3);
    let d = CParams::default();
    let mut all = vec![d];
    all.extend([0u8, 3, 6, 7, 8, 31, 99, 159, 160, 255].map(|compcode| CParams { compcode, ..d }));
    all.extend([9u8, 10, 11, 128, 255].map(|clevel| CParams { clevel, ..d }));
    all.extend(
        [255, 256, 257, 4096, 1 << 29, (1 << 29) + 1, i32::MAX]
            .map(|typesize| CParams { typesize, ..d }),
    );
    all.extend([i16::MIN, -1, 0, 3].map(|nthreads| CParams { nthreads, ..d }));
    all.extend(
        [
            1,
            7,
            31,
            32,
            33,
            100,
            4999,
            5000,
            5001,
            1 << 29,
            536_866_816,
            536_866_817,
            i32::MAX,
        ]
        .map(|blocksize| CParams { blocksize, ..d }),
    );
    all.extend([-1, 0, 5, 99].map(|splitmode| CParams { splitmode, ..d }));
    all.extend([-1].map(|tuner_id| CParams { tuner_id, ..d }));
    all.extend([BLOSCLZ, LZ4, ZLIB, ZSTD].map(|compcode| CParams {
        compcode,
        use_dict: 1,
        ..d
    }));
    for typesize in [1, 2, 3, 4, 8, 16] {
        for meta in [0u8, 1, 10, 23, 24, 52, 53, 127, 128, 200, 255] {
            all.push(CParams {
                typesize,
                filters: [0, 0, 0, 0, 0, TRUNC_PREC],
                filters_meta: [0, 0, 0, 0, 0, meta],
                ..d
            });
        }
    }
    for cparams in all {
        report.case();
        let mine = ours.compress(&cparams, &src);
        let theirs = reference.compress(&cparams, &src);
        let own_encoder = matches!(cparams.compcode, BLOSCLZ | ZLIB);
        let same = mine.0 == theirs.0 || (own_encoder && mine.0 > 0 && theirs.0 > 0);
        report.check(same, "return code", || {
            format!("{} and {}: {cparams:?}", mine.0, theirs.0)
        });
        if same && mine.0 > 0 {
            // Ours takes a block size that is no multiple of the typesize for the next smaller one
            // that is: the reference loses the last bytes of such blocks where it splits them.
            let uneven = cparams.blocksize % cparams.typesize != 0;
            let upto = if uneven { 8 } else { 12 };
            let header = |chunk: &[u8]| [&chunk[..upto], &chunk[16..32]].concat();
            report.check(header(&mine.1) == header(&theirs.1), "header", || {
                format!(
                    "\n  {:02x?}\n  {:02x?}\n  {cparams:?}",
                    &mine.1[..32],
                    &theirs.1[..32]
                )
            });
            let decoded = [ours, reference].map(|lib| lib.decompress(&mine.1, src.len(), 1));
            report.check(decoded[0] == decoded[1], "decompress", || {
                format!("{cparams:?}")
            });
        }
    }
    report.finish("compression parameters");
}

/// Parameters that the reference dies of; ours says no.
#[test]
fn parameters_that_are_refused() {
    let src = Kind::WalkInt32.bytes(5000, 3);
    let d = CParams::default();
    let mut all = Vec::new();
    all.extend([i32::MIN, -1].map(|typesize| CParams { typesize, ..d }));
    all.extend([5u8, 31, 40, 159, 160, 255].map(|filter| CParams {
        filters: [0, 0, 0, 0, 0, filter],
        ..d
    }));
    for cparams in all {
        let (rc, _) = ours().compress(&cparams, &src);
        assert!(rc < 0, "{rc}: {cparams:?}");
    }
}

/// What the four functions for special values return, and their chunks.
fn special_chunks(
    lib: &'static Lib,
    cparams: CParams,
    nbytes: i32,
    destsize: i32,
    value: &[u8],
) -> Vec<(i32, Vec<u8>)> {
    let mut all = Vec::new();
    for which in 0..4 {
        let mut dest = vec![0u8; 70_000];
        let out = dest.as_mut_ptr().cast();
        // SAFETY: `dest` is larger than every `destsize`, `value` than every typesize.
        let rc = unsafe {
            match which {
                0 => (lib.f.blosc2_chunk_zeros)(cparams, nbytes, out, destsize),
                1 => (lib.f.blosc2_chunk_nans)(cparams, nbytes, out, destsize),
                2 => (lib.f.blosc2_chunk_uninit)(cparams, nbytes, out, destsize),
                _ => (lib.f.blosc2_chunk_repeatval)(
                    cparams,
                    nbytes,
                    out,
                    destsize,
                    value.as_ptr().cast(),
                ),
            }
        };
        dest.truncate(rc.max(0) as usize);
        all.push((rc, dest));
    }
    all
}

/// Compares the chunks of special values that both libraries wrote, and what they read from the
/// reference's.
fn compare_special(
    report: &mut Report,
    libs: [&'static Lib; 2],
    nbytes: i32,
    [mine, theirs]: [&[u8]; 2],
    what: &dyn Fn() -> String,
) {
    report.check(mine == theirs, "chunk", || {
        format!("{}: {}", difference(mine, theirs), what())
    });
    let [a, b] = libs.map(|lib| lib.decompress(theirs, nbytes as usize, 1));
    // The reference cannot read values that are larger than a block.
    let better = b.0 < 0 && a.0 == nbytes;
    report.check(a == b || better, "decompress", || {
        format!("{}: {}", differing_results(&a, &b), what())
    });
    let size = i32::from(theirs[3].max(1));
    let last = (nbytes / size - 3).max(0);
    let [a, b] = libs.map(|lib| {
        let mut dest = vec![0xA5u8; 3 * size as usize];
        (
            lib.dctx_threads(1).getitem(theirs, last, 3, &mut dest),
            dest,
        )
    });
    report.check(a == b, "getitem", || {
        format!("{}: {}", differing_results(&a, &b), what())
    });
}

#[test]
fn special_value_chunks() {
    let Some((ours, reference)) = both() else {
        return;
    };
    let mut report = Report::default();
    let value: Vec<u8> = (1..=255).cycle().take(70_000).collect();
    for typesize in [1, 2, 3, 4, 7, 8, 16, 255, 256, 300, 65_000] {
        for nbytes in [-1, 0, 1, 4, 7, 8, 32, 100, 1000, 65_000, 130_000, 1 << 20] {
            for destsize in [-1, 0, 16, 31, 32, 33, 40, 65_032, 70_000] {
                for blocksize in [0, 512] {
                    let cparams = CParams {
                        typesize,
                        blocksize,
                        ..CParams::default()
                    };
                    let [mine, theirs] = [ours, reference]
                        .map(|lib| special_chunks(lib, cparams, nbytes, destsize, &value));
                    for (which, (mine, theirs)) in mine.iter().zip(&theirs).enumerate() {
                        report.case();
                        let what = || {
                            format!(
                                "function {which} typesize {typesize} nbytes {nbytes} destsize {destsize} blocksize {blocksize}"
                            )
                        };
                        // A negative length is refused by ours and written by the reference.
                        let refused = nbytes < 0 && mine.0 < 0;
                        report.check(refused || mine.0 == theirs.0, "return code", || {
                            format!("{} and {}: {}", mine.0, theirs.0, what())
                        });
                        if mine.0 == theirs.0 && mine.0 > 0 {
                            compare_special(
                                &mut report,
                                [ours, reference],
                                nbytes,
                                [&mine.1, &theirs.1],
                                &what,
                            );
                        }
                    }
                }
            }
        }
    }
    report.finish("special values");
}

#[test]
fn special_values_of_unknown_kinds() {
    let Some((ours, reference)) = both() else {
        return;
    };
    let mut report = Report::default();
    for kind in 5..8u8 {
        for nitems in [0, 1, 8] {
            report.case();
            let mut chunk = [0u8; 32];
            chunk[..4].copy_from_slice(&[5, 1, 5, 4]);
            for (at, size) in [(4, 4 * nitems), (8, 32), (12, 32)] {
                chunk[at..at + 4].copy_from_slice(&i32::to_le_bytes(size));
            }
            chunk[31] = kind << 4;
            let [mine, theirs] = [ours, reference].map(|lib| {
                let mut dest = [0u8; 32];
                let ctx = lib.dctx_threads(1);
                [
                    ctx.getitem(&chunk, 0, nitems, &mut dest),
                    ctx.getitem_bytes(&chunk, 0, 4 * nitems, &mut dest),
                    lib.decompress(&chunk, 32, 1).0,
                ]
            });
            report.check(mine == theirs, "return codes", || {
                format!("{mine:?} and {theirs:?}: kind {kind}, {nitems} items")
            });
        }
    }
    report.finish("unknown special values");
}

#[test]
fn header_queries_on_headers_that_lie() {
    let Some((ours, reference)) = both() else {
        return;
    };
    let mut report = Report::default();
    let mut rng = Rng(77);
    for (name, _, src, chunk) in chunks(reference) {
        for round in 0..400 {
            report.case();
            let mut header = chunk[..chunk.len().min(64)].to_vec();
            for _ in 0..round % 4 {
                let at = rng.below(32.min(header.len()));
                header[at] = match rng.below(4) {
                    0 => 0,
                    1 => 255,
                    2 => header[at] ^ (1 << rng.below(8)),
                    _ => rng.next() as u8,
                };
            }
            let answers = [ours, reference].map(|lib| {
                let p = header.as_ptr().cast();
                let (mut version, mut versionlz, mut flags) = (0, 0, 0);
                let (mut nbytes, mut cbytes, mut blocksize, mut typesize, mut validated) = (1usize, 1, 1, 1, 1);
                // SAFETY: the header is whole.
                unsafe {
                    (lib.f.blosc2_cbuffer_versions)(p, &mut version, &mut versionlz);
                    (lib.f.blosc1_cbuffer_sizes)(p, &mut nbytes, &mut cbytes, &mut blocksize);
                    (lib.f.blosc1_cbuffer_metainfo)(p, &mut typesize, &mut flags);
                    let valid = (lib.f.blosc1_cbuffer_validate)(p, header.len(), &mut validated);
                    let complib = (lib.f.blosc2_cbuffer_complib)(p);
                    let complib = (!complib.is_null()).then(|| std::ffi::CStr::from_ptr(complib));
                    let mut nblocks = 0;
                    let vl = (lib.f.blosc2_vlchunk_get_nblocks)(p, header.len() as i32, &mut nblocks);
                    format!(
                        "versions {version} {versionlz} sizes {:?} and {nbytes} {cbytes} {blocksize} meta {typesize} {flags:x} \
                         valid {valid} {validated} complib {complib:?} vl {vl} {nblocks}",
                        lib.sizes(&header)
                    )
                }
            });
            let [mine, theirs] = &answers;
            // A negative length is refused by ours and reported by the reference.
            let negative = i32::from_le_bytes([header[4], header[5], header[6], header[7]]) < 0;
            let refused = negative && ours.sizes(&header).0 < 0;
            report.check(mine == theirs || refused, "header query", || {
                format!("\n  {mine}\n  {theirs}\n  {name} {header:02x?}")
            });
            // A header that lies about a chunk of this length is refused by both or read alike.
            let mut whole = chunk.clone();
            whole[..header.len().min(32)].copy_from_slice(&header[..header.len().min(32)]);
            let (mine, theirs) = (
                ours.decompress(&whole, src.len(), 1).0,
                reference.decompress(&whole, src.len(), 1).0,
            );
            if mine != theirs {
                report.note(if (mine < 0) == (theirs < 0) {
                    "other error code"
                } else if mine < 0 {
                    "refused by ours only"
                } else {
                    "refused by the reference only"
                });
            }
        }
    }
    report.finish("header queries");
}
