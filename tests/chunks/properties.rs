//! Properties of our library alone, over random parameters and data: what goes in comes out, whole
//! or in parts, and what the library says of a chunk is so.
//!
//! `PROPTEST_CASES` is the number of cases of each property (256 by default). The library is opened
//! at run time, which a sanitizer's runtime does not survive; `tests/hostile` links it and is what
//! runs under sanitizers.

use core::ffi::c_int;
use oxiblosc_testing::abi::*;
use oxiblosc_testing::data::Kind;
use oxiblosc_testing::library::ours;
use oxiblosc_testing::pipelines::CODECS;
use proptest::prelude::*;

/// A filter that can be undone, with a meta that it takes.
fn filter() -> impl Strategy<Value = (u8, u8)> {
    prop_oneof![
        4 => Just((NOFILTER, 0)),
        2 => prop_oneof![Just(0u8), any::<u8>()].prop_map(|meta| (SHUFFLE, meta)),
        1 => Just((BITSHUFFLE, 0)),
        1 => Just((DELTA, 0)),
    ]
}

/// Parameters that are valid together.
fn parameters() -> impl Strategy<Value = CParams> {
    let typesize = prop_oneof![4 => prop::sample::select(vec![1, 2, 4, 8]), 2 => 1..=64, 1 => 1..=300, 1 => 1..=100_000];
    let blocksize = prop_oneof![3 => Just(0), 1 => 1..=100, 2 => 1..=100_000];
    (
        (
            prop::sample::select(CODECS.to_vec()),
            0u8..=9,
            any::<bool>(),
        ),
        (typesize, blocksize, 1i32..=4, 1i16..=4),
        prop::array::uniform6(filter()),
    )
        .prop_map(
            |(
                (compcode, clevel, use_dict),
                (typesize, blocksize, splitmode, nthreads),
                filters,
            )| {
                // The slowest levels of the slow codecs add time and no paths.
                let clevel = if compcode > LZ4 {
                    clevel.min(6)
                } else {
                    clevel
                };
                CParams {
                    compcode,
                    clevel,
                    use_dict: c_int::from(
                        use_dict && clevel > 0 && matches!(compcode, LZ4 | LZ4HC | ZSTD),
                    ),
                    typesize,
                    blocksize,
                    splitmode,
                    nthreads,
                    filters: filters.map(|(filter, _)| filter),
                    filters_meta: filters.map(|(_, meta)| meta),
                    ..CParams::default()
                }
            },
        )
}

/// Bytes with structure, or any bytes at all.
fn data() -> impl Strategy<Value = Vec<u8>> {
    let long = (
        prop::sample::select(Kind::ALL.to_vec()),
        0usize..200_000,
        any::<u64>(),
    );
    prop_oneof![
        3 => long.prop_map(|(kind, len, seed)| kind.bytes(len, seed)),
        1 => prop::collection::vec(any::<u8>(), 0..300),
        1 => prop::collection::vec(0u8..3, 0..5000),
    ]
}

/// Compresses where it always fits.
fn compress(cparams: &CParams, src: &[u8]) -> Result<Vec<u8>, TestCaseError> {
    let (rc, chunk) = ours().compress(cparams, src);
    prop_assert!(rc > 0, "compress: {rc}");
    Ok(chunk)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_goes_in_comes_out(cparams in parameters(), src in data(), nthreads in 1i16..=4) {
        let chunk = compress(&cparams, &src)?;
        let (rc, out) = ours().decompress(&chunk, src.len(), nthreads);
        prop_assert_eq!(rc, src.len() as i32);
        prop_assert!(out == src, "other bytes");
        let (rc, _) = ours().decompress(&chunk, src.len().saturating_sub(1), nthreads);
        prop_assert!(rc < 0 || src.is_empty(), "{} into one byte less", rc);
    }

    #[test]
    fn parts_are_parts_of_the_whole(cparams in parameters(), src in data(), at in any::<(u32, u32)>()) {
        let chunk = compress(&cparams, &src)?;
        let size = chunk[3] as usize;
        prop_assume!(src.len() >= size);
        let items = src.len() / size;
        let start = at.0 as usize % items;
        let count = at.1 as usize % (items - start) + 1;
        let wanted = &src[start * size..][..count * size];
        let dctx = ours().dctx_threads(1);
        let mut got = vec![0u8; wanted.len()];
        prop_assert_eq!(dctx.getitem(&chunk, start as i32, count as i32, &mut got), wanted.len() as i32);
        prop_assert!(got == wanted, "getitem_ctx: other bytes");
        got.fill(0);
        let rc = dctx.getitem_bytes(&chunk, (start * size) as i32, wanted.len() as i32, &mut got);
        prop_assert_eq!(rc, wanted.len() as i32);
        prop_assert!(got == wanted, "getitem_bytes_ctx: other bytes");
        let rc = dctx.getitem(&chunk, start as i32, (items - start) as i32 + 1, &mut vec![0u8; src.len() + size]);
        prop_assert!(rc < 0, "an item behind the end: {}", rc);
    }

    #[test]
    fn masked_blocks_are_left_alone(cparams in parameters(), src in data(), bits in any::<u64>(), nthreads in 1i16..=4) {
        // Every block of a delta needs the first one.
        let filters = cparams.filters.map(|filter| if filter == DELTA { NOFILTER } else { filter });
        let chunk = compress(&CParams { filters, ..cparams }, &src)?;
        prop_assume!(!src.is_empty());
        let blocksize = ours().sizes(&chunk).1[2] as usize;
        let nblocks = src.len().div_ceil(blocksize);
        let mut mask: Vec<bool> = (0..nblocks).map(|n| bits >> (n % 64) & 1 == 1).collect();
        let dctx = ours().dctx_threads(nthreads);
        prop_assert_eq!(dctx.maskout(&mut mask), 0);
        let mut out = vec![0xA5u8; src.len()];
        let rc = dctx.decompress(&chunk, &mut out);
        let mut expected = src.clone();
        for (block, masked) in expected.chunks_mut(blocksize).zip(&mask) {
            if *masked {
                block.fill(0xA5);
            }
        }
        // As in the reference, and unlike what its header says, masked blocks count.
        prop_assert_eq!(rc, src.len() as i32);
        prop_assert!(out == expected, "other bytes");
        // The mask is for one call.
        prop_assert_eq!(dctx.decompress(&chunk, &mut out), src.len() as i32);
        prop_assert!(out == src, "other bytes without the mask");
    }

    #[test]
    fn headers_say_what_is_there(cparams in parameters(), src in data()) {
        let chunk = compress(&cparams, &src)?;
        let (rc, [nbytes, cbytes, blocksize]) = ours().sizes(&chunk);
        prop_assert_eq!((rc, nbytes as usize, cbytes as usize), (0, src.len(), chunk.len()));
        prop_assert!(blocksize >= 0 && (blocksize > 0 || src.is_empty()));
        prop_assert!(chunk.len() <= src.len() + MAX_OVERHEAD);
        let mut validated = usize::MAX;
        // SAFETY: the pointer is good for the length that goes with it.
        let rc = unsafe { (ours().f.blosc1_cbuffer_validate)(chunk.as_ptr().cast(), chunk.len(), &mut validated) };
        prop_assert_eq!((rc, validated), (0, src.len()));
        let stored = if cparams.typesize > 255 { 1 } else { cparams.typesize };
        prop_assert_eq!(i32::from(chunk[3]), stored);
    }

    #[test]
    fn what_does_not_fit_is_not_written(cparams in parameters(), src in data(), capacity in any::<u32>()) {
        let capacity = capacity as usize % (src.len() + 64);
        let ctx = ours().cctx(&cparams).expect("valid parameters");
        let mut dest = vec![0xA5u8; capacity + 64];
        let rc = ctx.compress(&src, &mut dest[..capacity]);
        prop_assert!(rc <= capacity as i32, "{} into {}", rc, capacity);
        prop_assert!(dest[capacity..] == [0xA5; 64], "written out of bounds");
        if rc > 0 {
            let (rc, out) = ours().decompress(&dest[..rc as usize], src.len(), 1);
            prop_assert_eq!(rc, src.len() as i32);
            prop_assert!(out == src, "other bytes");
        }
    }

    #[test]
    fn threads_do_not_show(cparams in parameters(), src in data()) {
        let chunks = [1, 2, 4, 8].map(|nthreads| ours().compress(&CParams { nthreads, ..cparams }, &src));
        for chunk in &chunks {
            prop_assert!(*chunk == chunks[0], "other bytes");
        }
    }
}
