//! The functions of a program: codecs, filters, prefilters and postfilters that write down what
//! they are told.

use super::*;

/// What the callbacks saw since the last [`take`].
pub static SEEN: Mutex<Vec<String>> = Mutex::new(Vec::new());
/// One test at a time uses the callbacks.
pub static TURN: Mutex<()> = Mutex::new(());
/// The answer of the next callbacks, 0 for success.
pub static ANSWER: AtomicI32 = AtomicI32::new(0);

pub fn saw(what: String) {
    SEEN.lock()
        .expect("no test panics while it holds this")
        .push(what);
}

/// What was seen, each thing once, and how many calls there were.
pub fn take() -> (usize, BTreeSet<String>) {
    let seen = std::mem::take(&mut *SEEN.lock().expect("no test panics while it holds this"));
    (seen.len(), seen.into_iter().collect())
}

pub fn turn() -> std::sync::MutexGuard<'static, ()> {
    TURN.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// What can be asked of compression parameters; the reference leaves `filter_params` as it finds
/// them.
pub fn told_c(cparams: *const CParams) -> String {
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

pub fn told_d(dparams: *const DParams) -> String {
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
pub fn sum(pointer: *const u8, len: i32) -> u64 {
    // SAFETY: the library passes pointers that are good for the length that goes with them.
    let bytes = unsafe { core::slice::from_raw_parts(pointer, len as usize) };
    bytes.iter().fold(len as u64, |sum, byte| {
        oxiblosc_testing::data::mix(sum ^ u64::from(*byte))
    })
}

/// What a codec reads, and where it writes.
fn buffers<'a>(
    input: *const u8,
    len: i32,
    output: *mut u8,
    capacity: i32,
) -> (&'a [u8], &'a mut [u8]) {
    // SAFETY: the library passes pointers that are good for the length that goes with them.
    unsafe {
        (
            core::slice::from_raw_parts(input, len as usize),
            core::slice::from_raw_parts_mut(output, capacity.max(0) as usize),
        )
    }
}

/// Stores every other byte twice less: a codec that halves what consists of pairs.
pub extern "C" fn encode(
    input: *const u8,
    len: i32,
    output: *mut u8,
    capacity: i32,
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
    let (input, output) = buffers(input, len, output, capacity);
    if len % 2 == 1 || half + 1 > capacity || input.chunks(2).any(|pair| pair[0] != pair[1]) {
        return 0;
    }
    output[0] = meta;
    for (to, pair) in output[1..].iter_mut().zip(input.chunks(2)) {
        *to = pair[0];
    }
    half + 1
}

pub extern "C" fn decode(
    input: *const u8,
    len: i32,
    output: *mut u8,
    capacity: i32,
    meta: u8,
    dparams: *mut DParams,
    chunk: *const c_void,
) -> c_int {
    saw(format!(
        "decode {} {} into {capacity} meta {meta} chunk {} {}",
        sum(input, len),
        len,
        chunk.is_null(),
        told_d(dparams)
    ));
    let answer = ANSWER.load(SeqCst);
    if answer != 0 {
        return answer;
    }
    let (input, output) = buffers(input, len, output, capacity);
    for (pair, from) in output.chunks_mut(2).zip(&input[1..]) {
        pair.fill(*from);
    }
    capacity
}

pub extern "C" fn forward(
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

pub extern "C" fn backward(
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
pub fn flip(input: *const u8, output: *mut u8, len: i32, meta: u8) -> c_int {
    for i in 0..len as usize {
        // SAFETY: both pointers are good for `len`.
        unsafe { *output.add(i) = *input.add(i) ^ meta };
    }
    ANSWER.load(SeqCst)
}

pub extern "C" fn prefilter(params: *mut PrefilterParams) -> c_int {
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

pub extern "C" fn postfilter(params: *mut PostfilterParams) -> c_int {
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
pub fn register(lib: &'static Lib) {
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
