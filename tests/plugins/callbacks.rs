//! What users plug in: codecs, filters, prefilters, postfilters, tuners, threads. Both libraries
//! call them with the same arguments, and return what they make of their answers.
//!
//! Each call is recorded; the records of a run are compared as sets, since threads take blocks in
//! any order.

mod codecs;
mod functions;
mod identifiers;
mod prefilters;
mod threads;
mod tuners;

use core::ffi::{c_int, c_void};
use oxiblosc_testing::abi::*;
use oxiblosc_testing::data::Kind;
use oxiblosc_testing::library::{Lib, both};
use oxiblosc_testing::report::Report;
use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicI32, AtomicUsize, Ordering::SeqCst};

use functions::*;

/// Bytes in pairs, with some structure above.
fn pairs(len: usize) -> Vec<u8> {
    Kind::Text
        .bytes(len / 2 + 1, 3)
        .into_iter()
        .flat_map(|byte| [byte, byte])
        .take(len)
        .collect()
}

/// Runs a test of both libraries, alone, and ends with what it reports.
fn with_both(name: &str, test: impl FnOnce(&mut Report, [&'static Lib; 2])) {
    let Some((ours, reference)) = both() else {
        return;
    };
    let _turn = turn();
    let mut report = Report::default();
    test(&mut report, [ours, reference]);
    report.finish(name);
}

/// Runs `work` with each library, while the callbacks return `answer`, and compares what it returns
/// and what the callbacks saw.
fn compare(
    report: &mut Report,
    what: &str,
    libs: [&'static Lib; 2],
    answer: i32,
    mut work: impl FnMut(&'static Lib) -> Vec<i32>,
) {
    report.case();
    ANSWER.store(answer, SeqCst);
    let [mine, theirs] = libs.map(|lib| {
        take();
        let codes = work(lib);
        (codes, take())
    });
    ANSWER.store(0, SeqCst);
    report.check(mine.0 == theirs.0, "return codes", || {
        format!("{:?} and {:?}: {what}", mine.0, theirs.0)
    });
    let (calls, seen) = &mine.1;
    let (their_calls, their_seen) = &theirs.1;
    report.check(seen == their_seen, "arguments", || {
        let only_mine: Vec<_> = seen.difference(their_seen).take(2).collect();
        let only_theirs: Vec<_> = their_seen.difference(seen).take(2).collect();
        format!("{what}:\n  ours {only_mine:#?}\n  reference {only_theirs:#?}")
    });
    report.check(
        calls == their_calls && *calls > 0,
        "number of calls",
        || format!("{calls} and {their_calls}: {what}"),
    );
}

/// Compresses with ours and decompresses; also decompresses what the reference made.
fn round_trip(lib: &'static Lib, cparams: &CParams, src: &[u8], dparams: &DParams) -> Vec<i32> {
    // A copy: from the third filter of a pipeline on, the reference writes into its source.
    let source = src.to_vec();
    let (rc, chunk) = lib.compress(cparams, &source);
    let mut codes = vec![rc];
    if rc > 0 {
        let dctx = lib.dctx(dparams);
        let mut out = vec![0u8; src.len()];
        let rc = dctx.decompress(&chunk, &mut out);
        codes.push(rc);
        codes.push(i32::from(out == src));
        let mut items = vec![0u8; 64];
        codes.push(dctx.getitem(&chunk, 100, 64 / cparams.typesize, &mut items));
        codes.push(i32::from(
            items == src[100 * cparams.typesize as usize..][..64],
        ));
    }
    codes
}
