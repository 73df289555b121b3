//! Registered codecs and filters, ours against the reference in one process: the same data, the
//! same calls, taking turns.
//!
//! ```text
//! OXIBLOSC_REFERENCE=.../libblosc2.so.9 cargo bench --bench plugins -- [--csv FILE] [WORD...]
//! ```
//!
//! Prints the speed ratio of each row and the geometric mean of each group beside its goal. With
//! words, only rows whose description has all of them are measured. Filters run with a codec that
//! only copies, so that the filters are measured. Both libraries decompress the reference's chunk.

use blosc2::capi::constants::*;
use blosc2::capi::types::blosc2_cparams;
use core::ffi::{c_int, c_void};
use oxiblosc_testing::abi::{Codec, NEVER_SPLIT, SHUFFLE};
use oxiblosc_testing::b2nd::{Array, B2ndLib, Spec, our_arrays, reference_arrays};
use oxiblosc_testing::data::mix;
use std::hint::black_box;
use std::time::Duration;

/// The id of the codec that only copies.
const NOTHING: u8 = 200;
/// The size of a chunk.
const NBYTES: usize = 4 << 20;
/// The number of turns of each library. The fastest counts, since disturbances only make a turn
/// slower.
const TURNS: usize = 9;
/// The length of a turn.
const TURN: Duration = Duration::from_millis(25);

extern "C" fn encode_nothing(
    _: *const u8,
    _: i32,
    _: *mut u8,
    _: i32,
    _: u8,
    _: *mut oxiblosc_testing::abi::CParams,
    _: *const c_void,
) -> c_int {
    1
}

extern "C" fn decode_nothing(
    _: *const u8,
    _: i32,
    _: *mut u8,
    capacity: i32,
    _: u8,
    _: *mut oxiblosc_testing::abi::DParams,
    _: *const c_void,
) -> c_int {
    capacity
}

/// What is measured.
struct Case {
    /// The group whose goal it counts for.
    group: &'static str,
    name: String,
    codec: (u8, u8),
    filters: [(u8, u8); 2],
    typesize: i32,
    /// The shape of a block. Blocks lie side by side along the first dimension.
    block: Vec<i32>,
}

/// The groups, with the geometric mean that is their goal.
const GOALS: [(&str, f64); 6] = [
    ("bytedelta", 1.5),
    ("int_trunc", 1.2),
    ("ndcell", 1.2),
    ("ndmean", 1.0),
    ("ndlz", 1.2),
    ("zfp", 0.97),
];

const NO_FILTER: (u8, u8) = (0, 0);

fn cases() -> Vec<Case> {
    let mut all = item_filters();
    all.extend(cell_filters());
    all.extend(ndlz());
    all.extend(zfp());
    all
}

/// Filters of single items.
fn item_filters() -> Vec<Case> {
    let mut all = Vec::new();
    for typesize in [2, 4, 8] {
        for (with, first) in [("", NO_FILTER), ("shuffle and ", (SHUFFLE, 0))] {
            all.push(Case {
                group: "bytedelta",
                name: format!("{with}bytedelta, items of {typesize}"),
                codec: (NOTHING, 0),
                filters: [first, (BLOSC_FILTER_BYTEDELTA as u8, typesize as u8)],
                typesize,
                block: vec![(128 << 10) / typesize],
            });
        }
    }
    for typesize in [1, 2, 4, 8] {
        all.push(Case {
            group: "int_trunc",
            name: format!("int_trunc, items of {typesize}"),
            codec: (NOTHING, 0),
            filters: [NO_FILTER, (BLOSC_FILTER_INT_TRUNC as u8, 5)],
            typesize,
            block: vec![(128 << 10) / typesize],
        });
    }
    all
}

/// Filters of cells of arrays.
fn cell_filters() -> Vec<Case> {
    let mut all = Vec::new();
    for (side, typesize) in [(4, 1), (4, 4), (8, 4), (4, 8), (8, 8)] {
        for block in [vec![256, 128], vec![32, 32, 32]] {
            let means = typesize >= 4;
            for (group, id) in [
                ("ndcell", BLOSC_FILTER_NDCELL),
                ("ndmean", BLOSC_FILTER_NDMEAN),
            ] {
                if group == "ndcell" || means {
                    all.push(Case {
                        group,
                        name: format!("{group} {side}, items of {typesize}, {block:?}"),
                        codec: (NOTHING, 0),
                        filters: [NO_FILTER, (id as u8, side)],
                        typesize,
                        block: block.clone(),
                    });
                }
            }
        }
    }
    all
}

fn ndlz() -> Vec<Case> {
    let mut all = Vec::new();
    for side in [4, 8] {
        for block in [vec![128, 128], vec![512, 512]] {
            all.push(Case {
                group: "ndlz",
                name: format!("ndlz {side} x {side}, {block:?}"),
                codec: (BLOSC_CODEC_NDLZ as u8, side),
                filters: [NO_FILTER; 2],
                typesize: 1,
                block,
            });
        }
    }
    all
}

fn zfp() -> Vec<Case> {
    let mut all = Vec::new();
    for typesize in [4, 8] {
        let blocks = [
            vec![16384],
            vec![128, 128],
            vec![32, 32, 32],
            vec![12, 12, 12, 12],
        ];
        for block in blocks {
            for (mode, id, meta) in [
                ("accuracy -3", BLOSC_CODEC_ZFP_FIXED_ACCURACY, 0xfdu8),
                ("precision 16", BLOSC_CODEC_ZFP_FIXED_PRECISION, 16),
                ("rate 25 %", BLOSC_CODEC_ZFP_FIXED_RATE, 25),
            ] {
                all.push(Case {
                    group: "zfp",
                    name: format!("zfp {mode}, items of {typesize}, {block:?}"),
                    codec: (id as u8, meta),
                    filters: [NO_FILTER; 2],
                    typesize,
                    block: block.clone(),
                });
            }
        }
    }
    all
}

/// Smooth floats with a little noise, or, for single bytes, a picture with repeated areas.
fn data(case: &Case, nbytes: usize) -> Vec<u8> {
    let width = *case.block.last().expect("a dimension") as usize;
    let nitems = nbytes / case.typesize as usize;
    let mut out = Vec::with_capacity(nbytes);
    for i in 0..nitems {
        let (row, column) = (i / width, i % width);
        let noise = mix(i as u64);
        let x = (row as f64 * 0.02).sin() * 50.0 + (column as f64 * 0.03).cos() * 30.0;
        let x = x + (noise % 1000) as f64 * 1e-4;
        match case.typesize {
            8 => out.extend(x.to_le_bytes()),
            4 => out.extend((x as f32).to_le_bytes()),
            2 => out.extend((x as i16).to_le_bytes()),
            _ => {
                let area = mix((row / 16 % 7 * 31 + column / 16 % 5) as u64) % 4;
                let texture = mix(area << 8 | (row % 4 * 8 + column % 8) as u64) as u8;
                let speck = noise.is_multiple_of(61);
                out.push(if speck { noise as u8 } else { texture & 0xfc });
            }
        }
    }
    out
}

fn register_nothing(lib: &B2ndLib) {
    let mut codec = Codec {
        compcode: NOTHING,
        compname: c"nothing".as_ptr().cast_mut(),
        complib: NOTHING,
        version: 1,
        encoder: Some(encode_nothing),
        decoder: Some(decode_nothing),
    };
    // SAFETY: the struct lives during the call, and the name is static.
    assert_eq!(unsafe { (lib.lib.f.blosc2_register_codec)(&mut codec) }, 0);
}

/// An array of one chunk, whose contexts are called.
fn array(lib: &'static B2ndLib, case: &Case, blocks: i32, data: &[u8]) -> Array {
    let mut cparams = blosc2_cparams {
        compcode: case.codec.0,
        compcode_meta: case.codec.1,
        typesize: case.typesize,
        splitmode: NEVER_SPLIT,
        nthreads: 1,
        ..blosc2_cparams::defaults()
    };
    for (slot, (id, meta)) in case.filters.iter().enumerate() {
        (cparams.filters[4 + slot], cparams.filters_meta[4 + slot]) = (*id, *meta);
    }
    let mut chunk = case.block.clone();
    chunk[0] *= blocks;
    let spec = Spec {
        shape: chunk.iter().map(|len| i64::from(*len)).collect(),
        chunks: chunk,
        blocks: case.block.clone(),
        cparams,
        nthreads: 1,
        contiguous: false,
        path: None,
    };
    lib.array_of(&spec, data).expect("an array")
}

/// The processor time of this thread in seconds.
fn now() -> Duration {
    let mut now = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `now` is writable.
    let rc = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut now) };
    assert_eq!(rc, 0, "the clock is there");
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}

/// The seconds of one `work(0)` and of one `work(1)`.
fn take_turns(mut work: impl FnMut(usize)) -> [f64; 2] {
    let mut time = |n: usize, calls: u32| {
        let start = now();
        (0..calls).for_each(|_| work(n));
        now() - start
    };
    let first = (0..4).map(|n| time(n % 2, 1)).min().expect("four");
    let calls = (TURN.as_nanos() / first.as_nanos().max(50)).clamp(1, 100_000) as u32;
    let mut best = [Duration::MAX; 2];
    for turn in 0..TURNS {
        for n in [turn % 2, 1 - turn % 2] {
            best[n] = best[n].min(time(n, calls));
        }
    }
    best.map(|best| best.as_secs_f64() / f64::from(calls))
}

/// The seconds of ours and of the reference for compression and for decompression, and the sizes of
/// the chunks.
fn measure(case: &Case, libs: [&'static B2ndLib; 2]) -> ([[f64; 2]; 2], [i32; 2]) {
    let block = case.block.iter().product::<i32>() * case.typesize;
    let blocks = (NBYTES as i32 / block).max(1);
    let nbytes = (blocks * block) as usize;
    let src = data(case, nbytes);
    let arrays = libs.map(|lib| array(lib, case, blocks, &src));
    // SAFETY: the super-chunks live as long as the arrays.
    let contexts = [0, 1].map(|n| unsafe {
        let schunk = &*arrays[n].fields().sc;
        (schunk.cctx.cast::<c_void>(), schunk.dctx.cast::<c_void>())
    });
    let mut dest = [(); 2].map(|()| vec![1u8; nbytes + 32]);
    let compress = |n: usize, dest: &mut Vec<u8>| {
        // SAFETY: a context of this library, and buffers of the sizes given.
        unsafe {
            (libs[n].lib.f.blosc2_compress_ctx)(
                contexts[n].0,
                src.as_ptr().cast(),
                nbytes as i32,
                dest.as_mut_ptr().cast(),
                dest.len() as i32,
            )
        }
    };
    let cbytes = [0, 1].map(|n| compress(n, &mut dest[n]));
    assert!(
        cbytes.iter().all(|size| *size > 0),
        "{}: {cbytes:?}",
        case.name
    );
    let chunk = dest[1][..cbytes[1] as usize].to_vec();
    let compression = take_turns(|n| {
        assert!(black_box(compress(n, &mut dest[n])) > 0);
    });
    let mut out = vec![1u8; nbytes];
    let decompression = take_turns(|n| {
        // SAFETY: as above.
        let rc = unsafe {
            (libs[n].lib.f.blosc2_decompress_ctx)(
                contexts[n].1,
                chunk.as_ptr().cast(),
                chunk.len() as i32,
                out.as_mut_ptr().cast(),
                out.len() as i32,
            )
        };
        assert_eq!(black_box(rc), nbytes as i32, "{}", case.name);
    });
    ([compression, decompression], cbytes)
}

/// Prints the geometric mean of each group that was measured.
fn print_means(ratios: &[(&str, f64)]) {
    for (group, goal) in GOALS {
        let logs: Vec<f64> = ratios
            .iter()
            .filter(|(of, _)| *of == group)
            .map(|(_, ratio)| ratio.ln())
            .collect();
        if !logs.is_empty() {
            let mean = (logs.iter().sum::<f64>() / logs.len() as f64).exp();
            println!("{group}: {mean:.2} (goal {goal}), {} rows", logs.len());
        }
    }
}

fn main() {
    let Some(reference) = reference_arrays() else {
        return;
    };
    let libs = [our_arrays(), reference];
    libs.iter().for_each(|lib| register_nothing(lib));
    let arguments: Vec<String> = std::env::args()
        .skip(1)
        .filter(|a| a != "--bench")
        .collect();
    let csv_at = arguments.iter().position(|argument| argument == "--csv");
    let words: Vec<&String> = arguments
        .iter()
        .enumerate()
        .filter(|(n, _)| csv_at.is_none_or(|at| *n != at && *n != at + 1))
        .map(|(_, word)| word)
        .collect();
    let mut csv =
        "group,case,operation,ours_mb_s,reference_mb_s,ratio,ours_bytes,reference_bytes\n"
            .to_owned();
    let mut ratios: Vec<(&str, f64)> = Vec::new();
    for case in cases() {
        if !words.iter().all(|word| case.name.contains(word.as_str())) {
            continue;
        }
        let (seconds, cbytes) = measure(&case, libs);
        for (operation, [ours, theirs]) in ["compress", "decompress"].iter().zip(seconds) {
            // Decompressing truncated integers undoes nothing, which our library skips, so there is
            // nothing to compare.
            if case.group == "int_trunc" && *operation == "decompress" {
                continue;
            }
            let ratio = theirs / ours;
            let speed = |seconds: f64| NBYTES as f64 / seconds / 1e6;
            println!(
                "{ratio:5.2}  {}: {operation}, {:.0} and {:.0} MB/s",
                case.name,
                speed(ours),
                speed(theirs)
            );
            csv += &format!(
                "{},\"{}\",{operation},{:.1},{:.1},{ratio:.3},{},{}\n",
                case.group,
                case.name,
                speed(ours),
                speed(theirs),
                cbytes[0],
                cbytes[1]
            );
            ratios.push((case.group, ratio));
        }
    }
    print_means(&ratios);
    if let Some(path) = csv_at.and_then(|at| arguments.get(at + 1)) {
        std::fs::write(path, csv).unwrap_or_else(|error| panic!("{path}: {error}"));
    }
}
