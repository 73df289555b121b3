//! Functions of the program's that use the frame of the operation which calls them, through another
//! handle, beside threads and a process that change it: no thread waits for ever, and where handles
//! keep each other out by a lock file, what such a function reads is there.
//!
//! Each case runs in a process of its own, which ends after a time. It stands for one way in which
//! threads could wait for each other in a circle: what the operation is, what the function does
//! within it, and through which handle the frame is changed meanwhile. One case in seven is run,
//! and those that are the most likely to end in a circle; `OXIBLOSC_CIRCLES=full` runs all, in
//! three minutes.

use blosc2::capi::context::{blosc2_create_cctx, blosc2_create_dctx, blosc2_free_ctx};
use blosc2::capi::registry::blosc2_register_filter;
use blosc2::capi::schunk::{chunks::*, create::*, meta::*, slices::*};
use blosc2::capi::types::*;
use oxiblosc_testing::folder::Folder;
use oxiblosc_testing::isolated::{isolated, start};
use oxiblosc_testing::report::Report;
use oxiblosc_testing::schunk_calls::c_path;
use oxiblosc_testing::workers::divided;
use std::cell::Cell;
use std::ffi::{CStr, CString, c_int};
use std::path::Path;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicPtr, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Seconds after which something hangs. A wait that is given up takes five.
const PATIENCE: u32 = 60;
/// As much of the time of a case as no wait takes that is given up.
const PROMPT: Duration = Duration::from_secs(4);
const ROUNDS: usize = 4;
/// Items of a chunk, of four bytes: as many as are shared out among threads.
const ITEMS: usize = 20_000;
const BLOCK: usize = 5_000;
const FILTER: u8 = 200;
const LOCK: c_int = -37;
const NAME: &CStr = c"name";

/// What calls the function.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Outer {
    /// Reading: a postfilter.
    Read,
    /// A change that has the frame locked already: a prefilter, which is told the number of its
    /// chunk.
    Change,
    /// A change that locks it later: a filter.
    Prepare,
}

/// What the function does with the other handle.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Inner {
    Chunk,
    Metalayer,
    Open,
    Change,
}

/// Who changes the frame meanwhile.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Beside {
    Outer,
    Inner,
    Third,
    Process,
    /// A thread that does the same with the two handles the other way round, and one that changes
    /// the frame through a third.
    Crosswise,
}

/// The handles, and what is done within an operation on one of them.
static HANDLES: [AtomicPtr<blosc2_schunk>; 3] = [const { AtomicPtr::new(null_mut()) }; 3];
static INNER: AtomicUsize = AtomicUsize::new(0);
const INNERS: [Inner; 4] = [Inner::Chunk, Inner::Metalayer, Inner::Open, Inner::Change];
/// How often it was done, and what it said last that is an error.
static CALLS: AtomicUsize = AtomicUsize::new(0);
static WORST: AtomicI32 = AtomicI32::new(0);
static PATH: AtomicPtr<std::ffi::c_char> = AtomicPtr::new(null_mut());
static LOCKING: AtomicBool = AtomicBool::new(false);

fn handle(nth: usize) -> *mut blosc2_schunk {
    HANDLES[nth].load(Ordering::SeqCst)
}

fn open() -> *mut blosc2_schunk {
    let locking = LOCKING.load(Ordering::SeqCst);
    let params = Box::leak(Box::new(blosc2_stdio_params { locking }));
    let io = blosc2_io {
        params: std::ptr::from_mut(params).cast(),
        ..blosc2_io::defaults()
    };
    // SAFETY: a path, and parameters that stay.
    unsafe { blosc2_schunk_open_udio(PATH.load(Ordering::SeqCst), &io) }
}

fn chunk_of(schunk: *mut blosc2_schunk) -> c_int {
    let mut items = vec![0u32; ITEMS];
    // SAFETY: there is this room.
    unsafe {
        blosc2_schunk_decompress_chunk(schunk, 0, items.as_mut_ptr().cast(), 4 * ITEMS as i32)
    }
}

fn append(schunk: *mut blosc2_schunk) -> c_int {
    let items: Vec<u32> = (0..ITEMS as u32).collect();
    // SAFETY: the items are as many as it says.
    let nchunks =
        unsafe { blosc2_schunk_append_buffer(schunk, items.as_ptr().cast(), 4 * ITEMS as i32) };
    nchunks as c_int
}

fn update(schunk: *mut blosc2_schunk, value: usize) -> c_int {
    let mut content = vec![value as u8; 50 + value % 50];
    let len = content.len() as i32;
    // SAFETY: the content is as long as it says.
    unsafe { blosc2_vlmeta_update(schunk, NAME.as_ptr(), content.as_mut_ptr(), len, null_mut()) }
}

thread_local! {
    /// Whether the function is called by what it does itself.
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// What is done within the operation, with a handle other than that of the operation.
fn inner(own: *mut blosc2_schunk) {
    if !INSIDE.replace(true) {
        use_other(own);
        INSIDE.set(false);
    }
}

fn use_other(own: *mut blosc2_schunk) {
    let other = [handle(0), handle(1)]
        .into_iter()
        .find(|other| *other != own);
    let Some(other) = other.filter(|other| !other.is_null() && !own.is_null()) else {
        return;
    };
    let rc = match INNERS[INNER.load(Ordering::SeqCst)] {
        Inner::Chunk => {
            let mut item = [0u32; 1];
            // SAFETY: there is room for the item.
            unsafe { blosc2_schunk_get_slice_buffer(other, 7, 8, item.as_mut_ptr().cast()) }
        }
        Inner::Metalayer => {
            let (mut content, mut len) = (null_mut(), 0);
            // SAFETY: the content is ours to free.
            unsafe {
                let rc = blosc2_vlmeta_get(other, NAME.as_ptr(), &raw mut content, &raw mut len);
                libc::free(content.cast());
                rc
            }
        }
        Inner::Open => match open() {
            opened if opened.is_null() => -1,
            // SAFETY: no other thread has it.
            opened => unsafe { blosc2_schunk_free(opened) },
        },
        Inner::Change => update(other, 3),
    };
    CALLS.fetch_add(1, Ordering::SeqCst);
    WORST.fetch_min(rc, Ordering::SeqCst);
}

unsafe extern "C-unwind" fn postfilter(params: *mut blosc2_postfilter_params) -> c_int {
    // SAFETY: the buffers are as long as it says.
    unsafe {
        let params = &*params;
        inner(params.user_data.cast());
        std::ptr::copy_nonoverlapping(params.input, params.output, params.size as usize);
    }
    0
}

unsafe extern "C-unwind" fn prefilter(params: *mut blosc2_prefilter_params) -> c_int {
    // SAFETY: the buffers are as long as it says.
    unsafe {
        let params = &*params;
        inner(params.user_data.cast());
        std::ptr::copy_nonoverlapping(params.input, params.output, params.output_size as usize);
    }
    0
}

unsafe extern "C-unwind" fn forward(
    input: *const u8,
    output: *mut u8,
    size: i32,
    _meta: u8,
    cparams: *mut blosc2_cparams,
    _id: u8,
) -> c_int {
    // SAFETY: the buffers are as long as it says.
    unsafe {
        inner((*cparams).schunk.cast());
        std::ptr::copy_nonoverlapping(input, output, size as usize);
    }
    0
}

unsafe extern "C-unwind" fn backward(
    input: *const u8,
    output: *mut u8,
    size: i32,
    _meta: u8,
    _dparams: *mut blosc2_dparams,
    _id: u8,
) -> c_int {
    // SAFETY: the buffers are as long as it says.
    unsafe { std::ptr::copy_nonoverlapping(input, output, size as usize) };
    0
}

#[derive(Clone, Copy, Debug)]
struct Case {
    outer: Outer,
    inner: usize,
    beside: Beside,
    locking: bool,
    nthreads: i16,
}

impl Case {
    fn all() -> Vec<Self> {
        let mut all = Vec::new();
        for outer in [Outer::Read, Outer::Change, Outer::Prepare] {
            for (inner, does) in INNERS.into_iter().enumerate() {
                for beside in [
                    Beside::Outer,
                    Beside::Inner,
                    Beside::Third,
                    Beside::Process,
                    Beside::Crosswise,
                ] {
                    for (locking, nthreads) in [(true, 1), (true, 3), (false, 1), (false, 3)] {
                        // Such waits may be given up, which takes its time.
                        if does == Inner::Change && !locking && nthreads > 1 {
                            continue;
                        }
                        all.push(Self {
                            outer,
                            inner,
                            beside,
                            locking,
                            nthreads,
                        });
                    }
                }
            }
        }
        all
    }

    /// Whether two threads each read one handle and need the other's: these find locks that are
    /// kept during a wait, and are always run.
    fn is_tight(self) -> bool {
        let reads = self.outer == Outer::Read && self.beside == Beside::Crosswise;
        reads && self.locking && self.nthreads == 1
    }

    /// A handle whose operations call the function.
    fn calling(self) -> *mut blosc2_schunk {
        let schunk = open();
        // SAFETY: the contexts are the handle's, and are replaced as programs do it; what their
        // parameters point to stays.
        unsafe {
            let mut preparams: blosc2_prefilter_params = std::mem::zeroed();
            preparams.user_data = schunk.cast();
            let mut postparams: blosc2_postfilter_params = std::mem::zeroed();
            postparams.user_data = schunk.cast();
            let mut cparams = self.cparams();
            cparams.schunk = schunk.cast();
            if self.outer == Outer::Change {
                cparams.prefilter = Some(prefilter);
                cparams.preparams = Box::leak(Box::new(preparams));
            }
            let mut dparams = blosc2_dparams::defaults();
            dparams.nthreads = self.nthreads;
            dparams.schunk = schunk.cast();
            if self.outer == Outer::Read {
                dparams.postfilter = Some(postfilter);
                dparams.postparams = Box::leak(Box::new(postparams));
            }
            blosc2_free_ctx((*schunk).cctx.cast());
            blosc2_free_ctx((*schunk).dctx);
            (*schunk).cctx = blosc2_create_cctx(cparams);
            (*schunk).dctx = blosc2_create_dctx(dparams);
        }
        schunk
    }

    fn cparams(self) -> blosc2_cparams {
        let mut cparams = blosc2_cparams {
            typesize: 4,
            blocksize: 4 * BLOCK as i32,
            nthreads: self.nthreads,
            ..blosc2_cparams::defaults()
        };
        if self.outer == Outer::Prepare {
            cparams.filters[0] = FILTER;
        }
        cparams
    }

    /// What functions of the program's find.
    fn set_up(self, path: &Path) {
        let name = CString::into_raw(c_path(path));
        PATH.store(name, Ordering::SeqCst);
        LOCKING.store(self.locking, Ordering::SeqCst);
        INNER.store(self.inner, Ordering::SeqCst);
        let mut filter = blosc2_filter {
            id: FILTER,
            name: c"inner".as_ptr().cast_mut(),
            version: 1,
            forward: Some(forward),
            backward: Some(backward),
        };
        // SAFETY: what the structure points to is copied.
        assert_eq!(unsafe { blosc2_register_filter(&mut filter) }, 0);
    }

    fn make(self) {
        let mut cparams = self.cparams();
        let mut dparams = blosc2_dparams::defaults();
        let mut storage = blosc2_storage {
            contiguous: true,
            urlpath: PATH.load(Ordering::SeqCst),
            cparams: &mut cparams,
            dparams: &mut dparams,
            io: null_mut(),
        };
        // SAFETY: what the structures point to is copied.
        unsafe {
            let created = blosc2_schunk_new(&mut storage);
            assert!(!created.is_null());
            let mut content = [1u8; 9];
            assert!(
                blosc2_vlmeta_add(created, NAME.as_ptr(), content.as_mut_ptr(), 9, null_mut()) >= 0
            );
            assert_eq!(append(created), 1);
            assert_eq!(blosc2_schunk_free(created), 0);
        }
    }

    /// Does on a handle what calls the function.
    fn operate(self, nth: usize) -> Result<(), String> {
        for _ in 0..ROUNDS {
            if WORST.load(Ordering::SeqCst) < 0 {
                break;
            }
            let rc = match self.outer {
                Outer::Read => chunk_of(handle(nth)),
                Outer::Change | Outer::Prepare => append(handle(nth)),
            };
            // A change within which another one was refused may have been made.
            if rc < 0 && self.locking {
                return Err(format!("the operation: {rc}"));
            }
        }
        Ok(())
    }

    fn run(self) -> Result<(), String> {
        let two = [self.calling(), self.calling()];
        HANDLES[2].store(open(), Ordering::SeqCst);
        for (place, handle) in HANDLES.iter().zip(two) {
            place.store(handle, Ordering::SeqCst);
        }
        let done = AtomicBool::new(false);
        let writes_through = match self.beside {
            Beside::Outer => Some(0),
            Beside::Inner => Some(1),
            Beside::Third | Beside::Crosswise => Some(2),
            Beside::Process => None,
        };
        let since = Instant::now();
        thread::scope(|scope| {
            let writer = writes_through.map(|nth| {
                let done = &done;
                scope.spawn(move || {
                    let mut value = 0;
                    while !done.load(Ordering::SeqCst) {
                        value += 1;
                        update(handle(nth), value);
                    }
                })
            });
            let other = (self.beside == Beside::Crosswise).then(|| scope.spawn(|| self.operate(1)));
            let mine = self.operate(0);
            let others = other.map_or(Ok(()), |other| other.join().expect("no panic"));
            done.store(true, Ordering::SeqCst);
            if let Some(writer) = writer {
                writer.join().expect("no panic");
            }
            mine.and(others)
        })?;
        if CALLS.load(Ordering::SeqCst) == 0 {
            return Err("the function was not called".into());
        }
        if !self.locking {
            return Ok(());
        }
        let (worst, took) = (WORST.load(Ordering::SeqCst), since.elapsed());
        // Two changes in preparation, each of which wants the other's handle to read what a third
        // changed: one has to give up.
        if self.outer == Outer::Prepare && self.beside == Beside::Crosswise && worst == LOCK {
            return Ok(());
        }
        match INNERS[self.inner] {
            // The frame is locked by the operation around it, or by one that waits for this thread.
            Inner::Change if (worst == LOCK || worst >= 0) && took < PROMPT => Ok(()),
            Inner::Chunk | Inner::Metalayer | Inner::Open if worst >= 0 && took < PROMPT => Ok(()),
            _ => Err(format!("{worst} after {took:?}")),
        }
    }
}

fn look_at(case: Case, path: &Path) -> Result<(), String> {
    isolated(PATIENCE, || {
        case.set_up(path);
        case.make();
        Ok(())
    })?;
    let writer = (case.beside == Beside::Process).then(|| {
        start(PATIENCE, || {
            case.set_up(path);
            let schunk = open();
            (0..).try_for_each(|value| match update(schunk, value) {
                rc if rc >= 0 || !case.locking => Ok(()),
                rc => Err(format!("the other process: {rc}")),
            })
        })
    });
    let ran = isolated(PATIENCE, || {
        case.set_up(path);
        case.run()
    });
    if let Some(writer) = writer {
        writer.kill();
        match writer.join() {
            Err(died) if died == "killed by signal 9" => {}
            other => return Err(format!("the other process ended: {other:?}")),
        }
    }
    ran
}

#[test]
fn nobody_waits_in_a_circle() {
    oxiblosc_testing::own_process!();
    let folder = Folder::new("circles");
    // Seven has no factor in common with the numbers of ways that a case is made of.
    let step = match std::env::var("OXIBLOSC_CIRCLES").as_deref() {
        Ok("full") => 1,
        _ => 7,
    };
    let report = divided(600, &folder.0, |part, own| {
        let mut report = Report::default();
        let all = Case::all().into_iter().enumerate();
        let chosen = all.filter(|(nth, case)| nth % step == 0 || case.is_tight());
        for (nth, (_, case)) in chosen.enumerate() {
            if part.has(nth) {
                report.case();
                let ran = look_at(case, &own.join(nth.to_string()));
                report.check(ran == Ok(()), "a circle", || format!("{case:?}: {ran:?}"));
            }
        }
        report
    });
    assert!(report.cases as usize > 200 / step, "{} cases", report.cases);
    report.finish("circles of locks");
}
