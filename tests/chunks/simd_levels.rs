//! `BLOSC_SIMD`: with each level of vector instructions the library writes the same chunks, and
//! reads them.
//!
//! A level is read once, so each has a process of its own: this one, started again.

use oxiblosc_testing::abi::CParams;
use oxiblosc_testing::data::Kind;
use oxiblosc_testing::library::ours;
use oxiblosc_testing::own_process::again;
use oxiblosc_testing::pipelines::{CODECS, PIPELINES};
use oxiblosc_testing::report::Report;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Tells a process that it is a child.
const CHILD: &str = "OXIBLOSC_SIMD_CHILD";
/// What a child's answer begins with.
const SAID: &str = "these kernels made these chunks: ";
const TYPESIZES: [i32; 9] = [1, 2, 3, 4, 7, 8, 12, 16, 32];
/// Not whole blocks, and not whole vectors.
const NBYTES: usize = 50_016;

/// Levels, the highest last, the kernels that have to be used where the CPU has their instructions,
/// and whether it has.
#[cfg(target_arch = "x86_64")]
fn levels() -> Vec<(&'static str, &'static str, bool)> {
    use std::arch::is_x86_feature_detected;
    let avx512 = is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512bw");
    vec![
        ("none", "portable", true),
        ("sse2", "sse2", true),
        ("avx2", "avx2", is_x86_feature_detected!("avx2")),
        ("avx512", "avx512", avx512),
    ]
}

/// The same of other processors.
#[cfg(not(target_arch = "x86_64"))]
fn levels() -> Vec<(&'static str, &'static str, bool)> {
    let has_neon = cfg!(target_arch = "aarch64");
    vec![("none", "portable", true), ("neon", "neon", has_neon)]
}

/// Compresses and decompresses with all codecs and filters; gives a digest of all that came out.
fn round_trips() -> u64 {
    let mut hasher = DefaultHasher::new();
    let lib = ours();
    for (codec, pipeline) in CODECS
        .iter()
        .flat_map(|codec| PIPELINES.map(|p| (*codec, p)))
    {
        for typesize in TYPESIZES {
            let cparams = CParams {
                compcode: codec,
                clevel: 3,
                typesize,
                filters: pipeline.filters,
                filters_meta: pipeline.meta,
                ..CParams::default()
            };
            let data = Kind::WalkInt32.bytes(NBYTES, typesize as u64);
            let (rc, chunk) = lib.compress(&cparams, &data);
            (rc, &chunk).hash(&mut hasher);
            if rc > 0 {
                let (rc, back) = lib.decompress(&chunk, NBYTES, 1);
                assert_eq!(rc, NBYTES as i32, "{cparams:?}");
                let same = back == data || !pipeline.lossless();
                assert!(same, "{codec} {} {typesize}", pipeline.name);
                back.hash(&mut hasher);
            }
        }
    }
    hasher.finish()
}

/// What a child with this level says: its kernels, and its digest.
fn answer(level: &str) -> (String, String) {
    let output = again("simd_levels::every_level_makes_the_same_chunks")
        .env(CHILD, "1")
        .env("BLOSC_SIMD", level)
        .output()
        .expect("this program, started again");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{level}: {output:?}");
    let line = said.split(SAID).nth(1).expect("an answer");
    let mut words = line.split_whitespace().map(str::to_owned);
    let mut word = || words.next().expect("two words");
    (word(), word())
}

#[test]
fn every_level_makes_the_same_chunks() {
    if std::env::var_os(CHILD).is_some() {
        // The library that was opened reads the same variable.
        let kernels = oxiblosc_filters::kernels_in_use();
        println!("{SAID}{kernels} {:016x}", round_trips());
        return;
    }
    let mut report = Report::default();
    let mut expected = None;
    for (level, kernels, is_there) in levels() {
        if !is_there {
            println!(
                "this CPU has no {kernels}: BLOSC_SIMD={level} is tried, and its kernels are not"
            );
        }
        let (used, digest) = answer(level);
        report.case();
        // Some kernels have more instructions than the level is named by.
        report.check(!is_there || used.starts_with(kernels), "kernels", || {
            format!("{used} for {level}")
        });
        let first = expected.get_or_insert_with(|| digest.clone());
        report.check(*first == digest, "other chunks", || {
            format!("{level}, {used}")
        });
    }
    report.finish("levels of vector instructions");
}
