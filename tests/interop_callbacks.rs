//! What users plug in: codecs, filters, prefilters, postfilters, tuners, threads. Both libraries call them with the same
//! arguments, and return what they make of their answers.
//!
//! Each call is recorded; the records of a run are compared as sets, since threads take blocks in any order.

mod common;

use common::abi::*;
use common::data::Kind;
use common::library::{Lib, both};
use common::report::Report;
use core::ffi::{c_int, c_void};
use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicI32, AtomicUsize, Ordering::SeqCst};

/// What the callbacks saw since the last [`take`].
static SEEN: Mutex<Vec<String>> = Mutex::new(Vec::new());
/// One test at a time uses the callbacks.
static TURN: Mutex<()> = Mutex::new(());
/// The answer of the next callbacks, 0 for success.
static ANSWER: AtomicI32 = AtomicI32::new(0);

fn saw(what: String) {
    SEEN.lock()
        .expect("no test panics while it holds this")
        .push(what);
}

/// What was seen, each thing once, and how many calls there were.
fn take() -> (usize, BTreeSet<String>) {
    let seen = std::mem::take(&mut *SEEN.lock().expect("no test panics while it holds this"));
    (seen.len(), seen.into_iter().collect())
}

fn turn() -> std::sync::MutexGuard<'static, ()> {
    TURN.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// What can be asked of compression parameters; the reference leaves `filter_params` as it finds them.
fn told_c(cparams: *const CParams) -> String {
    // SAFETY: the library passes parameters that live across the call.
    let c = unsafe { &*cparams };
    format!(
        "compcode {} meta {} clevel {} dict {} typesize {} threads {} blocksize {} split {} filters {:?} {:?} schunk {} \
         prefilter {} codec_params {:?}",
        c.compcode,
        c.compcode_meta,
        c.clevel,
        c.use_dict,
        c.typesize,
        c.nthreads,
        c.blocksize,
        c.splitmode,
        c.filters,
        c.filters_meta,
        c.schunk.is_null(),
        c.prefilter.is_some(),
        c.codec_params,
    )
}

fn told_d(dparams: *const DParams) -> String {
    // SAFETY: the library passes parameters that live across the call.
    let d = unsafe { &*dparams };
    format!(
        "threads {} typesize {} schunk {} postfilter {}",
        d.nthreads,
        d.typesize,
        d.schunk.is_null(),
        d.postfilter.is_some()
    )
}

/// A sum that tells two buffers apart.
fn sum(pointer: *const u8, len: i32) -> u64 {
    // SAFETY: the library passes pointers that are good for the length that goes with them.
    let bytes = unsafe { core::slice::from_raw_parts(pointer, len as usize) };
    bytes.iter().fold(len as u64, |sum, byte| {
        common::data::mix(sum ^ u64::from(*byte))
    })
}

/// Stores every other byte twice less: a codec that halves what consists of pairs.
extern "C" fn encode(
    input: *const u8,
    len: i32,
    output: *mut u8,
    room: i32,
    meta: u8,
    cparams: *mut CParams,
    chunk: *const c_void,
) -> c_int {
    saw(format!(
        "encode {} {} meta {meta} chunk {} {}",
        sum(input, len),
        len,
        chunk.is_null(),
        told_c(cparams)
    ));
    let answer = ANSWER.load(SeqCst);
    if answer != 0 {
        return answer;
    }
    let half = len / 2;
    // SAFETY: the library passes pointers that are good for the length that goes with them.
    let (input, output) = unsafe {
        (
            core::slice::from_raw_parts(input, len as usize),
            core::slice::from_raw_parts_mut(output, room.max(0) as usize),
        )
    };
    if len % 2 == 1 || half + 1 > room || input.chunks(2).any(|pair| pair[0] != pair[1]) {
        return 0;
    }
    output[0] = meta;
    for (to, pair) in output[1..].iter_mut().zip(input.chunks(2)) {
        *to = pair[0];
    }
    half + 1
}

extern "C" fn decode(
    input: *const u8,
    len: i32,
    output: *mut u8,
    room: i32,
    meta: u8,
    dparams: *mut DParams,
    chunk: *const c_void,
) -> c_int {
    saw(format!(
        "decode {} {} into {room} meta {meta} chunk {} {}",
        sum(input, len),
        len,
        chunk.is_null(),
        told_d(dparams)
    ));
    let answer = ANSWER.load(SeqCst);
    if answer != 0 {
        return answer;
    }
    // SAFETY: the library passes pointers that are good for the length that goes with them.
    let (input, output) = unsafe {
        (
            core::slice::from_raw_parts(input, len as usize),
            core::slice::from_raw_parts_mut(output, room as usize),
        )
    };
    for (pair, from) in output.chunks_mut(2).zip(&input[1..]) {
        pair.fill(*from);
    }
    room
}

extern "C" fn forward(
    input: *const u8,
    output: *mut u8,
    len: i32,
    meta: u8,
    cparams: *mut CParams,
    id: u8,
) -> c_int {
    saw(format!(
        "forward {} {len} meta {meta} id {id} {}",
        sum(input, len),
        told_c(cparams)
    ));
    flip(input, output, len, meta)
}

extern "C" fn backward(
    input: *const u8,
    output: *mut u8,
    len: i32,
    meta: u8,
    dparams: *mut DParams,
    id: u8,
) -> c_int {
    saw(format!(
        "backward {} {len} meta {meta} id {id} {}",
        sum(input, len),
        told_d(dparams)
    ));
    flip(input, output, len, meta)
}

/// Flips the bits of the meta in every byte.
fn flip(input: *const u8, output: *mut u8, len: i32, meta: u8) -> c_int {
    for i in 0..len as usize {
        // SAFETY: both pointers are good for `len`.
        unsafe { *output.add(i) = *input.add(i) ^ meta };
    }
    ANSWER.load(SeqCst)
}

extern "C" fn prefilter(params: *mut PrefilterParams) -> c_int {
    // SAFETY: the library passes parameters that live across the call.
    let p = unsafe { &*params };
    saw(format!(
        "prefilter user {:?} input {} size {} typesize {} offset {} nchunk {} nblock {} tid ok {} ttmp {} disposable {} ctx {}",
        p.user_data,
        p.input.is_null(),
        p.output_size,
        p.output_typesize,
        p.output_offset,
        p.nchunk,
        p.nblock,
        (0..8).contains(&p.tid),
        p.ttmp.is_null() || p.ttmp_nbytes < p.output_size as usize,
        p.output_is_disposable,
        p.ctx.is_null(),
    ));
    for i in 0..p.output_size as usize {
        // SAFETY: the output is good for its size.
        unsafe { *p.output.add(i) = ((p.output_offset as usize + i) / 64) as u8 };
    }
    ANSWER.load(SeqCst)
}

extern "C" fn postfilter(params: *mut PostfilterParams) -> c_int {
    // SAFETY: the library passes parameters that live across the call.
    let p = unsafe { &*params };
    saw(format!(
        "postfilter user {:?} input {} size {} typesize {} offset {} nchunk {} nblock {} tid ok {} ttmp {} ctx {}",
        p.user_data,
        sum(p.input, p.size),
        p.size,
        p.typesize,
        p.offset,
        p.nchunk,
        p.nblock,
        (0..8).contains(&p.tid),
        p.ttmp.is_null() || p.ttmp_nbytes < p.size as usize,
        p.ctx.is_null(),
    ));
    for i in 0..p.size as usize {
        // SAFETY: both pointers are good for the size.
        unsafe { *p.output.add(i) = (*p.input.add(i)).wrapping_add(1) };
    }
    ANSWER.load(SeqCst)
}

/// Registers the codec 200 and the filters 201 and 202 in a library, once.
fn register(lib: &'static Lib) {
    static DONE: Mutex<Vec<&'static str>> = Mutex::new(Vec::new());
    let mut done = DONE.lock().expect("registering does not panic");
    if done.contains(&lib.name) {
        return;
    }
    done.push(lib.name);
    // The library keeps the names, so they are never freed.
    let mut codec = Codec {
        compcode: 200,
        compname: c"halve".as_ptr().cast_mut(),
        complib: 200,
        version: 1,
        encoder: Some(encode),
        decoder: Some(decode),
    };
    // SAFETY: the structs live across the calls, what they point to for ever.
    unsafe {
        assert_eq!((lib.f.blosc2_register_codec)(&mut codec), 0);
        for id in [201, 202] {
            let mut filter = Filter {
                id,
                name: c"flip".as_ptr().cast_mut(),
                version: 1,
                forward: Some(forward),
                backward: Some(backward),
            };
            assert_eq!((lib.f.blosc2_register_filter)(&mut filter), 0);
        }
    }
}

/// Bytes in pairs, with some structure above.
fn pairs(len: usize) -> Vec<u8> {
    Kind::Text
        .bytes(len / 2 + 1, 3)
        .into_iter()
        .flat_map(|byte| [byte, byte])
        .take(len)
        .collect()
}

/// Runs `work` with each library and compares what it returns and what the callbacks saw.
fn compare(
    report: &mut Report,
    what: &str,
    libs: [&'static Lib; 2],
    mut work: impl FnMut(&'static Lib) -> Vec<i32>,
) {
    report.case();
    let [mine, theirs] = libs.map(|lib| {
        take();
        let codes = work(lib);
        (codes, take())
    });
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

#[test]
fn user_codecs_and_filters() {
    let Some((ours, reference)) = both() else {
        return;
    };
    let _turn = turn();
    let mut report = Report::default();
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
                        // How many blocks were begun when the first one failed is a matter of chance.
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
                    ANSWER.store(answer, SeqCst);
                    let what = format!(
                        "codec {compcode} filters {filters:?} threads {nthreads} split {splitmode} answer {answer}"
                    );
                    compare(&mut report, &what, [ours, reference], |lib| {
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
                    ANSWER.store(0, SeqCst);
                }
            }
        }
    }
    report.finish("user codecs and filters");
}

#[test]
fn errors_of_user_decoders() {
    let Some((ours, reference)) = both() else {
        return;
    };
    let _turn = turn();
    let mut report = Report::default();
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
            ANSWER.store(answer, SeqCst);
            compare(
                &mut report,
                &format!("codec {compcode} filter {filter} answers {answer}"),
                [ours, reference],
                |lib| {
                    let mut items = [0u8; 20];
                    vec![
                        lib.decompress(&chunk, src.len(), 1).0,
                        lib.dctx_threads(1).getitem(&chunk, 10, 10, &mut items),
                    ]
                },
            );
            ANSWER.store(0, SeqCst);
        }
    }
    report.finish("errors of user decoders");
}

#[test]
fn prefilters_and_postfilters() {
    let Some((ours, reference)) = both() else {
        return;
    };
    let _turn = turn();
    let mut report = Report::default();
    let src = pairs(50_000);
    let mut preparams = PrefilterParams {
        user_data: 0xABC as *mut c_void,
        input: core::ptr::null(),
        output: core::ptr::null_mut(),
        output_size: 0,
        output_typesize: 0,
        output_offset: 0,
        nchunk: 0,
        nblock: 0,
        tid: 0,
        ttmp: core::ptr::null_mut(),
        ttmp_nbytes: 0,
        ctx: core::ptr::null_mut(),
        output_is_disposable: false,
    };
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
        for (clevel, filter) in [(0, NOFILTER), (5, NOFILTER), (5, SHUFFLE), (9, BITSHUFFLE)] {
            for (disposable, answer) in [(false, 0), (true, 0), (true, -1), (false, -1), (false, 3)]
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
                ANSWER.store(answer, SeqCst);
                let what = format!(
                    "prefilter level {clevel} filter {filter} threads {nthreads} disposable {disposable} answer {answer}"
                );
                compare(&mut report, &what, [ours, reference], |lib| {
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
                ANSWER.store(0, SeqCst);
            }
        }
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
                ANSWER.store(answer, SeqCst);
                compare(
                    &mut report,
                    &format!(
                        "postfilter on {kind:?} level {clevel} threads {nthreads} answer {answer}"
                    ),
                    [ours, reference],
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
                ANSWER.store(0, SeqCst);
            }
        }
    }
    report.finish("prefilters and postfilters");
}

#[test]
fn ranges_of_identifiers() {
    let Some((ours, reference)) = both() else {
        return;
    };
    let _turn = turn();
    let codes = [ours, reference].map(|lib| {
        let mut codes = Vec::new();
        for id in [0u8, 31, 159, 160, 161, 161, 255] {
            let name = if id == 161 { c"one" } else { c"other" };
            let mut codec = Codec {
                compcode: id,
                compname: name.as_ptr().cast_mut(),
                complib: id,
                version: 1,
                encoder: Some(encode),
                decoder: Some(decode),
            };
            let mut filter = Filter {
                id,
                name: name.as_ptr().cast_mut(),
                version: 1,
                forward: Some(forward),
                backward: Some(backward),
            };
            let mut tuner = Tuner {
                init: None,
                next_blocksize: None,
                next_cparams: None,
                update: None,
                free: None,
                id: c_int::from(id),
                name: name.as_ptr().cast_mut(),
            };
            // SAFETY: the structs live across the calls, the names for ever.
            unsafe {
                codes.push((lib.f.blosc2_register_codec)(&mut codec));
                codes.push((lib.f.blosc2_register_filter)(&mut filter));
                codes.push((lib.f.blosc2_register_tuner)(&mut tuner));
                let mut name = core::ptr::null();
                codes.push((lib.f.blosc2_compcode_to_compname)(c_int::from(id), &mut name).max(-1));
            }
        }
        // The same id again under another name.
        let mut codec = Codec {
            compcode: 160,
            compname: c"third".as_ptr().cast_mut(),
            complib: 160,
            version: 1,
            encoder: None,
            decoder: None,
        };
        let mut filter = Filter {
            id: 160,
            name: c"third".as_ptr().cast_mut(),
            version: 1,
            forward: None,
            backward: None,
        };
        // SAFETY: the structs live across the calls, the names for ever.
        unsafe {
            codes.push((lib.f.blosc2_register_codec)(&mut codec));
            codes.push((lib.f.blosc2_register_filter)(&mut filter));
        }
        codes
    });
    let [mine, theirs] = codes;
    assert_eq!(mine, theirs);
}

/// Calls of the threads callback, and the jobs they had.
static PARALLEL: [AtomicUsize; 2] = [AtomicUsize::new(0), AtomicUsize::new(0)];

extern "C" fn in_parallel(
    data: *mut c_void,
    job: DoJob,
    jobs: c_int,
    size: usize,
    jobdata: *mut c_void,
) {
    assert_eq!(data as usize, 0x77);
    PARALLEL[0].fetch_add(1, SeqCst);
    PARALLEL[1].fetch_add(jobs as usize, SeqCst);
    let base = jobdata as usize;
    std::thread::scope(|scope| {
        for n in 0..jobs as usize {
            scope.spawn(move || job((base + n * size) as *mut c_void));
        }
    });
}

#[test]
fn threads_callback() {
    let Some((ours, reference)) = both() else {
        return;
    };
    let _turn = turn();
    let src = Kind::WalkInt32.bytes(1 << 20, 5);
    for lib in [ours, reference] {
        // SAFETY: no context of this library is at work in this test binary while the turn is held.
        unsafe { (lib.f.blosc2_set_threads_callback)(Some(in_parallel), 0x77 as *mut c_void) };
    }
    let results = [ours, reference].map(|lib| {
        for counter in &PARALLEL {
            counter.store(0, SeqCst);
        }
        let cparams = CParams {
            compcode: LZ4,
            typesize: 4,
            nthreads: 3,
            blocksize: 1 << 16,
            ..CParams::default()
        };
        let (rc, chunk) = lib.compress(&cparams, &src);
        let (decompressed, out) = lib.decompress(&chunk, src.len(), 3);
        assert_eq!(out, src, "{}", lib.name);
        (
            rc,
            decompressed,
            PARALLEL[0].load(SeqCst),
            PARALLEL[1].load(SeqCst),
        )
    });
    for lib in [ours, reference] {
        // SAFETY: as above.
        unsafe { (lib.f.blosc2_set_threads_callback)(None, core::ptr::null_mut()) };
    }
    let [mine, theirs] = results;
    assert_eq!(mine, theirs, "return codes, calls and jobs");
    assert_eq!(mine.2, 2, "one call for each of the two operations");
}

extern "C" fn tuner_init(config: *mut c_void, cctx: *mut Context, dctx: *mut Context) -> c_int {
    saw(format!(
        "init {config:?} {} {}",
        cctx.is_null(),
        dctx.is_null()
    ));
    0
}

extern "C" fn tuner_blocksize(ctx: *mut Context) -> c_int {
    saw(format!("next_blocksize {}", ctx.is_null()));
    0
}

extern "C" fn tuner_cparams(ctx: *mut Context) -> c_int {
    saw(format!("next_cparams {}", ctx.is_null()));
    0
}

extern "C" fn tuner_update(ctx: *mut Context, time: f64) -> c_int {
    saw(format!("update {} {}", ctx.is_null(), time >= 0.0));
    0
}

extern "C" fn tuner_free(ctx: *mut Context) -> c_int {
    saw(format!("free {}", ctx.is_null()));
    0
}

#[test]
fn tuners() {
    let Some((ours, reference)) = both() else {
        return;
    };
    let _turn = turn();
    for lib in [ours, reference] {
        let mut tuner = Tuner {
            init: Some(tuner_init),
            next_blocksize: Some(tuner_blocksize),
            next_cparams: Some(tuner_cparams),
            update: Some(tuner_update),
            free: Some(tuner_free),
            id: 180,
            name: c"recorder".as_ptr().cast_mut(),
        };
        // SAFETY: the struct lives across the call, the name for ever.
        assert_eq!(unsafe { (lib.f.blosc2_register_tuner)(&mut tuner) }, 0);
    }
    let src = Kind::WalkInt32.bytes(100_000, 5);
    // Without a block size the tuner must choose one; only the reference's private headers say how.
    for blocksize in [8192, 50_000] {
        let cparams = CParams {
            compcode: LZ4,
            typesize: 4,
            blocksize,
            tuner_id: 180,
            tuner_params: 0x99 as *mut c_void,
            ..CParams::default()
        };
        let sequences = [ours, reference].map(|lib| {
            take();
            let ctx = lib.cctx(&cparams).expect("valid parameters");
            let mut dest = vec![0u8; src.len() + MAX_OVERHEAD];
            let mut codes: Vec<i32> = (0..3).map(|_| ctx.compress(&src, &mut dest)).collect();
            codes.push(lib.decompress(&dest, src.len(), 1).0);
            drop(ctx);
            (
                codes,
                std::mem::take(&mut *SEEN.lock().expect("not poisoned")),
            )
        });
        let [mine, theirs] = sequences;
        assert_eq!(mine, theirs, "blocksize {blocksize}");
        assert!(!mine.1.is_empty(), "no tuner function was called");
    }
}
