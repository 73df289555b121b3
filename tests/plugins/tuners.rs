//! The whole life of a tuner that was begun: both libraries call the same functions in the same
//! order, and do what these set.

use blosc2::capi::context::Context as Fields;
use core::ffi::{c_int, c_void};
use oxiblosc_testing::abi::*;
use oxiblosc_testing::ctx::header_but_cbytes;
use oxiblosc_testing::data::Kind;
use oxiblosc_testing::library::{Lib, both};
use std::sync::Mutex;

/// The id of the tuner.
const ID: c_int = 181;

/// What was called, and what the next calls answer.
struct State {
    calls: Vec<String>,
    answers: [c_int; 3],
}

static STATE: Mutex<State> = Mutex::new(State {
    calls: Vec::new(),
    answers: [0; 3],
});

fn called(what: String) -> [c_int; 3] {
    let mut state = STATE.lock().expect("no test panics while it holds this");
    state.calls.push(what);
    state.answers
}

/// A context as tuners see it.
fn fields<'a>(ctx: *mut Context) -> &'a Fields {
    // SAFETY: the fields lie where both libraries have them, and live across the call.
    unsafe { &*ctx.cast::<Fields>() }
}

/// Begins: from now on the context has parameters of the tuner's own.
extern "C" fn init(config: *mut c_void, cctx: *mut Context, dctx: *mut Context) -> c_int {
    called(format!("init {config:?} {}", dctx.is_null()));
    fields(cctx).tuner_params.set(config);
    0
}

extern "C" fn next_blocksize(_: *mut Context) -> c_int {
    called("next_blocksize".to_owned())[0]
}

/// Chooses another codec and level for each chunk. Not another block size: the reference would
/// write the one before into the header.
extern "C" fn next_cparams(ctx: *mut Context) -> c_int {
    let fields = fields(ctx);
    let turn = STATE.lock().map_or(0, |state| state.calls.len()) as c_int;
    fields.compcode.set([1, 5, 4][turn as usize % 3]);
    fields.clevel.set(1 + turn % 9);
    fields.blocksize.set(16384);
    fields.splitmode.set(NEVER_SPLIT);
    called(format!("next_cparams of {}", fields.sourcesize.get()))[0]
}

extern "C" fn update(ctx: *mut Context, seconds: f64) -> c_int {
    let size = fields(ctx).destsize.get();
    called(format!("update {size} {}", (0.0..60.0).contains(&seconds)))[1]
}

extern "C" fn free(ctx: *mut Context) -> c_int {
    fields(ctx).tuner_params.set(std::ptr::null_mut());
    called("free".to_owned())[2]
}

fn register(lib: &Lib) {
    let mut tuner = Tuner {
        init: Some(init),
        next_blocksize: Some(next_blocksize),
        next_cparams: Some(next_cparams),
        update: Some(update),
        free: Some(free),
        id: ID,
        name: c"life".as_ptr().cast_mut(),
    };
    // SAFETY: the struct lives across the call, the name for ever.
    assert_eq!(unsafe { (lib.f.blosc2_register_tuner)(&mut tuner) }, 0);
}

/// What became of a chunk: 1 or an error code, whether it can be read, and its header.
type Made = (c_int, bool, Vec<u8>);

/// Five chunks, and the calls.
fn life(lib: &'static Lib, answers: [c_int; 3]) -> (Vec<Made>, Vec<String>) {
    {
        let mut state = STATE.lock().expect("no test panics while it holds this");
        (state.calls, state.answers) = (Vec::new(), answers);
    }
    let cparams = CParams {
        compcode: LZ4,
        typesize: 4,
        tuner_id: ID,
        tuner_params: 0x99 as *mut c_void,
        ..CParams::default()
    };
    let ctx = lib.cctx(&cparams).expect("the tuner begins");
    let mut chunks = Vec::new();
    for n in 0..5 {
        let src = Kind::WalkInt32.bytes(60_000 + 4 * n, 5);
        let mut dest = vec![0u8; src.len() + MAX_OVERHEAD];
        let rc = ctx.compress(&src, &mut dest);
        dest.truncate(rc.max(0) as usize);
        let read = rc > 0 && lib.decompress(&dest, src.len(), 1).1 == src;
        // Codecs of the same name may compress to other sizes.
        let header = if rc > 0 {
            header_but_cbytes(&dest)
        } else {
            Vec::new()
        };
        chunks.push((rc.min(1), read, header));
    }
    drop(ctx);
    let calls = STATE
        .lock()
        .expect("no test panics while it holds this")
        .calls
        .clone();
    let sized = |call: &String| call.starts_with("update");
    let calls = calls.into_iter().map(|call| match sized(&call) {
        true => call.split(' ').next_back().unwrap_or_default().to_owned(),
        false => call,
    });
    (chunks, calls.collect())
}

#[test]
fn a_tuner_lives_the_same_life() {
    oxiblosc_testing::own_process!();
    let Some((ours, reference)) = both() else {
        return;
    };
    [ours, reference].into_iter().for_each(register);
    for answers in [[0; 3], [-1, 0, 0], [0, -1, 0], [0, 0, -1]] {
        let (mine, theirs) = (life(ours, answers), life(reference, answers));
        assert_eq!(mine, theirs, "{answers:?}");
        assert_eq!(mine.1.first().map(String::as_str), Some("init 0x99 true"));
        assert_eq!(mine.1.last().map(String::as_str), Some("free"));
        if answers == [0; 3] {
            // Begun, five times asked and told, ended.
            assert_eq!(mine.1.len(), 12);
            assert!(mine.0.iter().all(|(code, read, _)| *code == 1 && *read));
        }
    }
}

#[test]
fn registrations_from_many_threads_are_all_there() {
    oxiblosc_testing::own_process!();
    let Some((ours, _)) = both() else {
        return;
    };
    std::thread::scope(|scope| {
        for thread in 0..4 {
            scope.spawn(move || {
                for id in 200..240 {
                    let name = std::ffi::CString::new(format!("filter {id}")).expect("no 0");
                    let mut filter = Filter {
                        id,
                        name: name.as_ptr().cast_mut(),
                        version: 1,
                        forward: None,
                        backward: None,
                    };
                    // SAFETY: the struct and the name live across the call, which copies both.
                    let rc = unsafe { (ours.f.blosc2_register_filter)(&mut filter) };
                    assert_eq!(rc, 0, "{thread} {id}");
                }
            });
        }
    });
    let mut other = Filter {
        id: 200,
        name: c"another".as_ptr().cast_mut(),
        version: 1,
        forward: None,
        backward: None,
    };
    // SAFETY: as above.
    assert_eq!(unsafe { (ours.f.blosc2_register_filter)(&mut other) }, -1);
}
