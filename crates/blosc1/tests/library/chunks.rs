//! Chunks of both libraries, of all kinds: byte for byte the same where the codec is, never much
//! larger, and each library reads what the other wrote.

use super::common::{COMPRESSORS, Lib, OVERHEAD, Settings, both};
use oxiblosc_testing::data::Kind;
use oxiblosc_testing::random::Rng;
use std::collections::BTreeMap;
use std::ffi::c_int;

/// How many chunks the sweeps create; fifty times as many with `OXIBLOSC_SIZES=full`.
fn rounds(sample: usize) -> usize {
    match std::env::var("OXIBLOSC_SIZES").as_deref() {
        Ok("full") => 50 * sample,
        _ => sample,
    }
}

const ALWAYS_SPLIT: c_int = 1;

/// Whether c-blosc splits blocks that its own reader takes for one stream, so that it cannot read
/// the chunk.
fn is_lost(mode: c_int, chunk: &[u8]) -> bool {
    let size =
        |at: usize| i32::from_le_bytes([chunk[at], chunk[at + 1], chunk[at + 2], chunk[at + 3]]);
    let typesize = i32::from(chunk[3]);
    mode == ALWAYS_SPLIT && (typesize > 16 || size(8) / typesize < 128)
}

fn settings(rng: &mut Rng) -> Settings {
    let typesize = match rng.below(4) {
        0 => rng.below(255) + 1,
        1 => rng.pick(&[255, 256, 1000, 17, 16, 15]),
        _ => rng.pick(&[1, 2, 4, 8, 12]),
    };
    Settings {
        clevel: rng.below(10) as c_int,
        shuffle: rng.below(3) as c_int,
        typesize,
        compressor: rng.pick(&COMPRESSORS),
        blocksize: rng.pick(&[0, 0, 0, 1, 128, 1000, 4096, 65_536, 300_000, 1 << 30]),
        nthreads: 1,
    }
}

/// Sizes around all limits, and others.
fn size(rng: &mut Rng) -> usize {
    match rng.below(8) {
        0 => rng.below(300),
        1 => rng.pick(&[0, 1, 16, 127, 128, 129, 255, 256, 32_767, 32_768, 65_536]),
        2 => rng.below(400_000),
        3 => rng.below(3_000_000),
        _ => rng.below(40_000),
    }
}

/// Checks that both libraries read the chunk, as a whole and by items.
fn check_read(libs: [&Lib; 2], chunk: &[u8], data: &[u8], rng: &mut Rng, about: &str) {
    for lib in libs {
        let nthreads = rng.pick(&[1, 1, 2, 4]);
        let (code, back) = lib.decompress(chunk, data.len(), nthreads);
        assert_eq!(
            code,
            data.len() as c_int,
            "{} decompresses: {about}",
            lib.name
        );
        assert!(back == data, "{}: {about}", lib.name);
        if data.is_empty() {
            continue;
        }
        let typesize = usize::from(chunk[3]);
        let items = data.len() / typesize;
        let start = rng.below(items + 1);
        let nitems = rng.below(items - start + 1);
        let (code, back) = lib.getitem(chunk, start as c_int, nitems as c_int, nitems * typesize);
        // c-blosc wrongly refuses chunks with blocks of one byte, if there are fewer bytes behind
        // the block starts than blocks.
        let refused = code < 0 && lib.name != "ours" && chunk[2] & 2 == 0;
        if !refused {
            assert_eq!(
                code,
                (nitems * typesize) as c_int,
                "{} getitem: {about}",
                lib.name
            );
            assert!(
                back == data[start * typesize..][..nitems * typesize],
                "{}: {about}",
                lib.name
            );
        }
    }
}

#[test]
fn chunks_are_those_of_c_blosc() {
    let Some((ours, reference, _alone)) = both() else {
        return;
    };
    let mut rng = Rng(31);
    let mut totals: BTreeMap<_, [usize; 3]> = BTreeMap::new();
    for round in 0..rounds(600) {
        let settings = settings(&mut rng);
        let mode = rng.pick(&[4, 4, 4, 1, 2, 3]);
        for lib in [ours, reference] {
            // SAFETY: a plain setting.
            unsafe { (lib.f.blosc_set_splitmode)(mode) };
        }
        let kind = rng.pick(&Kind::ALL);
        let data = kind.bytes(size(&mut rng), round as u64);
        // With less room c-blosc gives its codecs smaller buffers, and the result depends on their
        // margins.
        let capacity = 2 * data.len() + 100_000;
        let about = format!(
            "{kind:?} {} bytes, split mode {mode}, {settings:?}",
            data.len()
        );
        let [(code, chunk), (expected_code, expected)] =
            [ours, reference].map(|lib| lib.compress(&settings, &data, capacity));
        assert_eq!(code.signum(), expected_code.signum(), "{about}");
        check_read([ours, reference], &chunk, &data, &mut rng, &about);
        if is_lost(mode, &expected) {
            continue;
        }
        check_read([ours, reference], &expected, &data, &mut rng, &about);
        let name = settings.compressor.to_str().unwrap();
        assert_eq!(chunk[..12], expected[..12], "{about}");
        let same = chunk == expected;
        if ["lz4", "lz4hc", "blosclz"].contains(&name) {
            assert!(
                same,
                "{} bytes, not {}: {about}",
                chunk.len(),
                expected.len()
            );
        }
        let total = totals.entry(name).or_default();
        total[0] += chunk.len();
        total[1] += expected.len();
        total[2] += usize::from(same);
        if chunk.len() as f64 > expected.len() as f64 * 1.005 + 16.0 {
            println!("larger: {} for {}: {about}", chunk.len(), expected.len());
        }
    }
    println!("{totals:?}");
    for (name, [ours, theirs, _]) in totals {
        assert!(
            ours as f64 <= theirs as f64 * 1.005,
            "{name}: {ours} bytes for {theirs}"
        );
    }
}

#[test]
fn what_fits_for_c_blosc_fits_here() {
    let Some((ours, reference, _alone)) = both() else {
        return;
    };
    let mut rng = Rng(32);
    let (mut same, mut gained) = (0, 0);
    for round in 0..rounds(240) {
        let settings = Settings {
            compressor: rng.pick(&[c"blosclz", c"lz4", c"lz4hc"]),
            ..settings(&mut rng)
        };
        let data = rng.pick(&Kind::ALL).bytes(size(&mut rng), round as u64);
        let (_, roomy) = ours.compress(&settings, &data, 2 * data.len() + 100_000);
        // The room that programs give, and sizes around the one that is needed.
        let any = rng.below(data.len() + OVERHEAD + 1);
        let short = roomy.len().saturating_sub(1 + rng.below(100));
        let capacity = rng.pick(&[data.len() + OVERHEAD, data.len(), roomy.len(), short, any]);
        let about = format!("{} bytes into {capacity}, {settings:?}", data.len());
        let [(code, chunk), (expected, theirs)] =
            [ours, reference].map(|lib| lib.compress(&settings, &data, capacity));
        assert!(
            code >= 0 && code >= expected.min(1),
            "{code} for {expected}: {about}"
        );
        assert!(capacity < roomy.len() || chunk == roomy, "{about}");
        if chunk == theirs {
            same += 1;
            continue;
        }
        // c-blosc's codec had less room than its block, and gave up: nothing came out, or a stored
        // chunk.
        assert!(
            theirs.is_empty() || (theirs[2] & 2 != 0 && chunk.len() <= theirs.len()),
            "{about}"
        );
        gained += 1;
        check_read([ours, reference], &chunk, &data, &mut rng, &about);
    }
    println!("{same} the same, {gained} fit here alone");
    assert!(same > 20 * gained, "{same} {gained}");
}
