//! Threads that use one handle: readers see the state before or after each change, never a mixture; functions of the program's
//! may use the super-chunk that they are called for; and the lock between processes counts threads rightly.
//!
//! `OXIBLOSC_ROUNDS` says how many changes each test makes (200 by default). Meant to be run under ThreadSanitizer too.

mod common;

use common::folder::Folder;
use common::schunk_calls::c_path;

use blosc2::capi::b2nd::{context::*, create::*, derive::*, slices::*};
use blosc2::capi::blosc2_compress_ctx;
use blosc2::capi::context::*;
use blosc2::capi::schunk::{chunks::*, convert::*, create::*, meta::*, misc::*, slices::*};
use blosc2::capi::types::*;
use std::cell::Cell;
use std::ffi::{CStr, c_char, c_int};
use std::path::Path;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicI64, AtomicPtr, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

const CHUNKS: usize = 6;
/// Items of a chunk, of four bytes; and of a block.
const ITEMS: usize = 4000;
const BLOCK: usize = 1000;
/// `BLOSC2_ERROR_INVALID_PARAM` and `BLOSC2_ERROR_LOCK`.
const INVALID_PARAM: c_int = -12;
const LOCK: c_int = -37;

/// The tests share functions that are called for super-chunks.
static ONE: Mutex<()> = Mutex::new(());

/// Takes its turn, and makes sure that a test that hangs ends.
fn alone() -> MutexGuard<'static, ()> {
    let guard = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    // SAFETY: an alarm ends this process.
    unsafe { libc::alarm(300) };
    guard
}

fn rounds() -> usize {
    let asked = std::env::var("OXIBLOSC_ROUNDS").ok();
    asked.map_or(200, |rounds| rounds.parse().expect("a number of rounds"))
}

#[derive(Clone, Copy, Debug)]
enum Kept {
    Apart,
    InMemory,
    InFile { locked: bool },
    InDirectory { locked: bool },
}

const STORAGES: [Kept; 6] = [
    Kept::Apart,
    Kept::InMemory,
    Kept::InFile { locked: false },
    Kept::InFile { locked: true },
    Kept::InDirectory { locked: false },
    Kept::InDirectory { locked: true },
];

fn io_of(params: &mut blosc2_stdio_params) -> blosc2_io {
    blosc2_io {
        params: (&raw mut *params).cast(),
        ..blosc2_io::defaults()
    }
}

/// A super-chunk that threads share.
#[derive(Clone, Copy)]
struct SharedSchunk(*mut blosc2_schunk);

// SAFETY: this is what is tested.
unsafe impl Send for SharedSchunk {}
// SAFETY: as above.
unsafe impl Sync for SharedSchunk {}

fn cparams(nthreads: i16) -> blosc2_cparams {
    blosc2_cparams {
        typesize: 4,
        blocksize: 4 * BLOCK as i32,
        nthreads,
        ..blosc2_cparams::defaults()
    }
}

impl SharedSchunk {
    fn new(
        kept: Kept,
        folder: &Path,
        mut cparams: blosc2_cparams,
        mut dparams: blosc2_dparams,
    ) -> Self {
        let path = c_path(&folder.join("frame.b2frame"));
        let on_disk = matches!(kept, Kept::InFile { .. } | Kept::InDirectory { .. });
        let locking = matches!(
            kept,
            Kept::InFile { locked: true } | Kept::InDirectory { locked: true }
        );
        // Outlives the super-chunk.
        let params = Box::leak(Box::new(blosc2_stdio_params { locking }));
        let mut io = io_of(params);
        let mut storage = blosc2_storage {
            contiguous: matches!(kept, Kept::InMemory | Kept::InFile { .. }),
            urlpath: if on_disk {
                path.as_ptr().cast_mut()
            } else {
                null_mut()
            },
            cparams: &mut cparams,
            dparams: &mut dparams,
            io: if on_disk { &mut io } else { null_mut() },
        };
        // SAFETY: what the storage points to is copied.
        let made = unsafe { blosc2_schunk_new(&mut storage) };
        assert!(!made.is_null(), "{kept:?}");
        Self(made)
    }

    fn append(self, value: u32) -> i64 {
        let data = [value; ITEMS];
        // SAFETY: the data are as long as it says.
        unsafe { blosc2_schunk_append_buffer(self.0, data.as_ptr().cast(), 4 * ITEMS as i32) }
    }

    fn set(self, from: usize, to: usize, value: u32) -> c_int {
        let mut data = vec![value; to - from];
        // SAFETY: the data are as long as it says.
        unsafe {
            let data = data.as_mut_ptr().cast();
            blosc2_schunk_set_slice_buffer(self.0, from as i64, to as i64, data)
        }
    }

    fn slice(self, from: usize, to: usize) -> Result<Vec<u32>, c_int> {
        let mut data = vec![u32::MAX; to - from];
        // SAFETY: there is this room.
        let rc = unsafe {
            let data = data.as_mut_ptr().cast();
            blosc2_schunk_get_slice_buffer(self.0, from as i64, to as i64, data)
        };
        if rc < 0 { Err(rc) } else { Ok(data) }
    }

    fn chunk(self, nchunk: usize) -> Result<Vec<u32>, c_int> {
        let mut data = vec![u32::MAX; ITEMS];
        // SAFETY: there is this room.
        let rc = unsafe {
            let data = data.as_mut_ptr().cast();
            blosc2_schunk_decompress_chunk(self.0, nchunk as i64, data, 4 * ITEMS as i32)
        };
        if rc < 0 { Err(rc) } else { Ok(data) }
    }

    fn vlmeta_set(self, name: &CStr, value: u32) -> c_int {
        let mut content: Vec<u8> = value.to_le_bytes().repeat(50 + value as usize % 50);
        let len = content.len() as i32;
        // SAFETY: the content is as long as it says.
        unsafe {
            let (name, content) = (name.as_ptr(), content.as_mut_ptr());
            if blosc2_vlmeta_exists(self.0, name) < 0 {
                blosc2_vlmeta_add(self.0, name, content, len, null_mut())
            } else {
                blosc2_vlmeta_update(self.0, name, content, len, null_mut())
            }
        }
    }

    fn vlmeta(self, name: &CStr) -> Result<u32, c_int> {
        let (mut content, mut len) = (null_mut(), 0);
        // SAFETY: the content is ours to free.
        let bytes = unsafe {
            let rc = blosc2_vlmeta_get(self.0, name.as_ptr(), &raw mut content, &raw mut len);
            if rc < 0 {
                return Err(rc);
            }
            let bytes = std::slice::from_raw_parts(content, len as usize).to_vec();
            libc::free(content.cast());
            bytes
        };
        let value = u32::from_le_bytes(bytes[..4].try_into().expect("four"));
        assert_eq!(
            bytes.len(),
            4 * (50 + value as usize % 50),
            "content of one state"
        );
        assert!(bytes.chunks(4).all(|item| item == value.to_le_bytes()));
        Ok(value)
    }

    fn free(self) {
        // SAFETY: it is no longer used.
        assert_eq!(unsafe { blosc2_schunk_free(self.0) }, 0);
    }
}

/// Parameters of a function that has none of its own.
fn zeroed<T>() -> T {
    // SAFETY: used for structs of numbers and pointers, for which zero is a value.
    unsafe { std::mem::zeroed() }
}

/// The value that all items have.
fn uniform(items: &[u32], what: &str) -> u32 {
    let first = items[0];
    assert!(items.iter().all(|item| *item == first), "{what}: a mixture");
    first
}

/// One look at the super-chunk: a state that was.
fn look(shared: SharedSchunk, turn: usize) -> u32 {
    match turn % 5 {
        0 => uniform(&shared.slice(0, CHUNKS * ITEMS).expect("a slice"), "slice"),
        1 => uniform(&shared.chunk(turn % CHUNKS).expect("a chunk"), "chunk"),
        2 => {
            let coords: Vec<i64> = (0..CHUNKS).map(|i| (i * ITEMS + i) as i64).collect();
            let mut items = [u32::MAX; CHUNKS];
            // SAFETY: there is this room.
            let rc = unsafe {
                let items = items.as_mut_ptr().cast();
                blosc2_schunk_get_sparse_buffer(shared.0, CHUNKS as i64, coords.as_ptr(), items)
            };
            assert_eq!(rc, 0);
            uniform(&items, "items")
        }
        3 => {
            let mut storage = blosc2_storage {
                contiguous: turn.is_multiple_of(2),
                ..blosc2_storage::defaults()
            };
            // SAFETY: the copy is ours.
            let copy = SharedSchunk(unsafe { blosc2_schunk_copy(shared.0, &mut storage) });
            assert!(!copy.0.is_null(), "a copy");
            let value = uniform(&copy.slice(0, CHUNKS * ITEMS).expect("a slice"), "copy");
            assert!(copy.vlmeta(c"value").is_ok());
            copy.free();
            value
        }
        _ => shared.vlmeta(c"value").expect("a metalayer"),
    }
}

#[test]
fn readers_see_the_states_before_and_after_changes_and_no_mixture() {
    let _alone = alone();
    let folder = Folder::new("shared-states");
    for kept in STORAGES {
        let _ = std::fs::remove_dir_all(folder.0.join("frame.b2frame"));
        let _ = std::fs::remove_file(folder.0.join("frame.b2frame"));
        let mut dparams = blosc2_dparams::defaults();
        dparams.nthreads = 2;
        let shared = SharedSchunk::new(kept, &folder.0, cparams(2), dparams);
        for _ in 0..CHUNKS {
            assert!(shared.append(0) > 0);
        }
        assert!(shared.vlmeta_set(c"value", 0) >= 0);
        let (done, looks) = (AtomicBool::new(false), AtomicUsize::new(0));
        thread::scope(|scope| {
            let readers: Vec<_> = (0..4)
                .map(|reader| {
                    let (done, looks) = (&done, &looks);
                    scope.spawn(move || {
                        let shared = shared;
                        let mut last = [0; 2];
                        for turn in reader.. {
                            if done.load(Ordering::Relaxed) {
                                break;
                            }
                            let value = look(shared, turn);
                            let last = &mut last[usize::from(turn % 5 == 4)];
                            assert!(value >= *last, "{kept:?}: {value} after {last}");
                            *last = value;
                            looks.fetch_add(1, Ordering::Relaxed);
                        }
                    })
                })
                .collect();
            for round in 1..=rounds() as u32 {
                assert_eq!(shared.set(0, CHUNKS * ITEMS, round), 0, "{kept:?}");
                assert!(shared.vlmeta_set(c"value", round) >= 0);
                assert_eq!(shared.append(round), CHUNKS as i64 + 1);
                if round % 3 == 0 {
                    let mut order: Vec<i64> = (0..=CHUNKS as i64).rev().collect();
                    // SAFETY: as many as there are chunks.
                    let rc = unsafe { blosc2_schunk_reorder_offsets(shared.0, order.as_mut_ptr()) };
                    assert_eq!(rc, 0);
                }
                // SAFETY: the chunk is there.
                let left = unsafe { blosc2_schunk_delete_chunk(shared.0, CHUNKS as i64) };
                assert_eq!(left, CHUNKS as i64, "{kept:?}");
            }
            done.store(true, Ordering::Relaxed);
            for reader in readers {
                reader.join().expect("a reader that found nothing wrong");
            }
        });
        assert!(looks.into_inner() > 0);
        shared.free();
    }
}

/// What the functions below are called for.
static OWN: AtomicPtr<blosc2_schunk> = AtomicPtr::new(null_mut());
/// What was wrong in them, and how often they were called.
static WRONG: AtomicI32 = AtomicI32::new(0);
static CALLS: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static DEPTH: Cell<u32> = const { Cell::new(0) };
}

/// Asks the super-chunk for which this is called all kinds of things.
fn ask() {
    if DEPTH.get() > 0 {
        return;
    }
    DEPTH.set(DEPTH.get() + 1);
    CALLS.fetch_add(1, Ordering::Relaxed);
    let own = SharedSchunk(OWN.load(Ordering::Relaxed));
    if !own.0.is_null() {
        let expect = |right: bool, what| {
            if !right {
                WRONG.store(what, Ordering::Relaxed);
            }
        };
        expect(own.vlmeta(c"value").is_ok(), 1);
        // SAFETY: a name.
        expect(
            unsafe { blosc2_vlmeta_exists(own.0, c"value".as_ptr()) } >= 0,
            2,
        );
        expect(own.chunk(1).is_ok(), 3);
        expect(own.slice(10, 5000).is_ok(), 4);
        // What would change it is refused.
        expect(own.vlmeta_set(c"value", 7) == LOCK, 5);
        expect(own.set(0, 10, 7) == LOCK, 6);
        expect(own.append(7) == i64::from(LOCK), 7);
        // SAFETY: as above.
        expect(unsafe { blosc2_schunk_lock(own.0) } == LOCK, 8);
    }
    DEPTH.set(DEPTH.get() - 1);
}

unsafe extern "C-unwind" fn asking_prefilter(params: *mut blosc2_prefilter_params) -> c_int {
    ask();
    // SAFETY: the buffers are as long as the block.
    unsafe {
        let params = &*params;
        let from = params.input;
        std::ptr::copy_nonoverlapping(from, params.output, params.output_size as usize);
    }
    0
}

unsafe extern "C-unwind" fn asking_postfilter(params: *mut blosc2_postfilter_params) -> c_int {
    ask();
    // SAFETY: as above.
    unsafe {
        let params = &*params;
        std::ptr::copy_nonoverlapping(params.input, params.output, params.size as usize);
    }
    0
}

/// Parameters with a postfilter.
fn with_postfilter(
    function: unsafe extern "C-unwind" fn(*mut blosc2_postfilter_params) -> c_int,
    nthreads: i16,
) -> blosc2_dparams {
    let mut dparams = blosc2_dparams::defaults();
    dparams.nthreads = nthreads;
    dparams.postfilter = Some(function);
    dparams.postparams = Box::leak(Box::new(zeroed()));
    dparams
}

/// Parameters with the functions that ask.
fn asking(nthreads: i16) -> (blosc2_cparams, blosc2_dparams) {
    let mut cparams = cparams(nthreads);
    cparams.prefilter = Some(asking_prefilter);
    cparams.preparams = Box::leak(Box::new(zeroed()));
    (cparams, with_postfilter(asking_postfilter, nthreads))
}

#[test]
fn functions_may_use_the_super_chunk_they_are_called_for() {
    let _alone = alone();
    let folder = Folder::new("shared-callbacks");
    for (nth, kept) in STORAGES.into_iter().enumerate() {
        for nthreads in [1, 3] {
            let path = folder.0.join(format!("{nth}-{nthreads}"));
            std::fs::create_dir(&path).expect("a folder");
            let (cparams, dparams) = asking(nthreads);
            let shared = SharedSchunk::new(kept, &path, cparams, dparams);
            assert!(shared.vlmeta_set(c"value", 0) >= 0);
            for _ in 0..CHUNKS {
                assert!(shared.append(3) > 0);
            }
            OWN.store(shared.0, Ordering::Relaxed);
            let before = CALLS.load(Ordering::Relaxed);
            let done = AtomicBool::new(false);
            thread::scope(|scope| {
                // Somebody always waits to change it.
                let writer = scope.spawn(|| {
                    let mut value = 0;
                    while !done.load(Ordering::Relaxed) {
                        value += 1;
                        assert!(shared.vlmeta_set(c"value", value) >= 0);
                    }
                });
                for round in 0..rounds().div_ceil(20) as u32 {
                    assert!(shared.set(100, 9000, round) >= 0, "{kept:?}");
                    assert!(shared.set(0, 2 * ITEMS, round) >= 0, "{kept:?}");
                    assert!(shared.append(round) > 0);
                    assert!(shared.chunk(2).is_ok());
                    assert!(shared.slice(50, 3 * ITEMS).is_ok());
                    assert!(shared.vlmeta(c"value").is_ok());
                }
                done.store(true, Ordering::Relaxed);
                writer.join().expect("a writer that found nothing wrong");
            });
            OWN.store(null_mut(), Ordering::Relaxed);
            assert_eq!(
                WRONG.load(Ordering::Relaxed),
                0,
                "{kept:?}, {nthreads} threads"
            );
            assert!(CALLS.load(Ordering::Relaxed) > before);
            shared.free();
        }
    }
}

#[test]
fn functions_may_use_the_array_they_are_called_for() {
    let _alone = alone();
    for nthreads in [1, 3] {
        let (shape, chunkshape, blockshape) = ([40, 600], [20, 200], [10, 100]);
        let (mut cparams, mut dparams) = asking(nthreads);
        let storage = blosc2_storage {
            contiguous: true,
            cparams: &mut cparams,
            dparams: &mut dparams,
            ..blosc2_storage::defaults()
        };
        let mut data = vec![5u32; 40 * 600];
        // SAFETY: the arrays and buffers have the lengths that are told.
        unsafe {
            let ctx = b2nd_create_ctx(
                &storage,
                2,
                shape.as_ptr(),
                chunkshape.as_ptr(),
                blockshape.as_ptr(),
                null_mut(),
                0,
                null_mut(),
                0,
            );
            assert!(!ctx.is_null());
            let mut array = null_mut();
            assert_eq!(b2nd_zeros(ctx, &raw mut array), 0);
            let own = SharedSchunk((*array).sc);
            assert!(own.vlmeta_set(c"value", 0) >= 0);
            let len = 4 * data.len() as i64;
            let (start, stop) = ([0i64, 0], [40i64, 600]);
            let set = |data: &[u32]| {
                let (data, shape) = (data.as_ptr().cast(), shape.as_ptr());
                b2nd_set_slice_cbuffer(data, shape, len, start.as_ptr(), stop.as_ptr(), array)
            };
            assert_eq!(set(&data), 0);
            OWN.store(own.0, Ordering::Relaxed);
            let before = CALLS.load(Ordering::Relaxed);
            assert_eq!(set(&data), 0);
            let rc = b2nd_get_slice_cbuffer(
                array,
                start.as_ptr(),
                stop.as_ptr(),
                data.as_mut_ptr().cast(),
                shape.as_ptr(),
                len,
            );
            assert_eq!(rc, 0);
            OWN.store(null_mut(), Ordering::Relaxed);
            assert!(CALLS.load(Ordering::Relaxed) > before);
            assert_eq!(WRONG.load(Ordering::Relaxed), 0, "{nthreads} threads");
            assert!(data.iter().all(|item| *item == 5));
            // An array cannot grow by itself; the reference says so too.
            let mut joined = null_mut();
            let rc = b2nd_concatenate(ctx, array, array, 0, false, &raw mut joined);
            assert_eq!(rc, INVALID_PARAM);
            assert_eq!(b2nd_free(array), 0);
            assert_eq!(b2nd_free_ctx(ctx), 0);
        }
    }
}

/// How many blocks said that they are of another chunk.
static OTHERS: AtomicI64 = AtomicI64::new(0);

unsafe extern "C-unwind" fn checking_postfilter(params: *mut blosc2_postfilter_params) -> c_int {
    // SAFETY: the buffers are as long as the block, which has items of four bytes.
    unsafe {
        let params = &*params;
        let item = params.input.cast::<u32>().read_unaligned();
        OTHERS.fetch_add((i64::from(item) != params.nchunk).into(), Ordering::Relaxed);
        std::ptr::copy_nonoverlapping(params.input, params.output, params.size as usize);
    }
    0
}

#[test]
fn a_postfilter_is_told_its_own_chunk() {
    let _alone = alone();
    let folder = Folder::new("shared-nchunk");
    for (nth, kept) in STORAGES.into_iter().enumerate() {
        let path = folder.0.join(nth.to_string());
        std::fs::create_dir(&path).expect("a folder");
        let dparams = with_postfilter(checking_postfilter, 2);
        let shared = SharedSchunk::new(kept, &path, cparams(1), dparams);
        for nchunk in 0..CHUNKS {
            assert!(shared.append(nchunk as u32) > 0);
        }
        thread::scope(|scope| {
            for reader in 0..8 {
                scope.spawn(move || {
                    let shared = shared;
                    for round in 0..rounds() {
                        let nchunk = (round * 5 + reader) % CHUNKS;
                        assert!(shared.chunk(nchunk).is_ok());
                        let from = nchunk * ITEMS + reader;
                        let to = (from + ITEMS).min(CHUNKS * ITEMS);
                        assert!(shared.slice(from, to).is_ok());
                    }
                });
            }
        });
        assert_eq!(OTHERS.swap(0, Ordering::Relaxed), 0, "{kept:?}");
        shared.free();
    }
}

#[test]
fn parameters_outlive_their_super_chunk() {
    let _alone = alone();
    let shared = SharedSchunk::new(
        Kept::Apart,
        Path::new("."),
        cparams(1),
        blosc2_dparams::defaults(),
    );
    let mut params = null_mut();
    // SAFETY: the parameters are ours to free; the buffers are as long as it says.
    unsafe {
        assert_eq!(blosc2_schunk_get_cparams(shared.0, &raw mut params), 0);
        shared.free();
        let ctx = blosc2_create_cctx(*params);
        libc::free(params.cast());
        let (data, mut chunk) = ([1u32; ITEMS], vec![0u8; 4 * ITEMS + 32]);
        let (src, to) = (data.as_ptr().cast(), chunk.as_mut_ptr().cast());
        assert!(blosc2_compress_ctx(ctx, src, 4 * ITEMS as i32, to, chunk.len() as i32) > 0);
        blosc2_free_ctx(ctx);
    }
}

/// Opens a locked frame.
fn open_locked(path: *const c_char) -> Result<SharedSchunk, String> {
    let io = io_of(Box::leak(Box::new(blosc2_stdio_params { locking: true })));
    // SAFETY: a path; the parameters stay.
    let opened = unsafe { blosc2_schunk_open_udio(path, &io) };
    if opened.is_null() {
        Err("does not open".into())
    } else {
        Ok(SharedSchunk(opened))
    }
}

/// Reads a chunk until `done`.
fn read_on(shared: SharedSchunk, done: &AtomicBool) -> Result<(), String> {
    while !done.load(Ordering::Relaxed) {
        let items = shared.chunk(0).map_err(|rc| format!("reading: {rc}"))?;
        if items.iter().any(|item| *item != items[0]) {
            return Err("a mixture".into());
        }
    }
    Ok(())
}

/// Runs `work` beside threads that read.
fn beside_readers(
    shared: SharedSchunk,
    readers: usize,
    work: impl FnOnce() -> Result<(), String>,
) -> Result<(), String> {
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let done = &done;
        let readers: Vec<_> = (0..readers)
            .map(|_| scope.spawn(move || read_on(shared, done)))
            .collect();
        let worked = work();
        done.store(true, Ordering::Relaxed);
        let read: Result<Vec<()>, String> = readers
            .into_iter()
            .map(|reader| reader.join().map_err(|_| "a panic".to_owned())?)
            .collect();
        worked.and(read.map(drop))
    })
}

#[test]
fn processes_with_readers_of_their_own_lose_no_append() {
    let _alone = alone();
    let folder = Folder::new("shared-processes");
    for (name, kept) in [
        ("file", Kept::InFile { locked: true }),
        ("directory", Kept::InDirectory { locked: true }),
    ] {
        let folder = folder.0.join(name);
        std::fs::create_dir(&folder).expect("a folder");
        let shared = SharedSchunk::new(kept, &folder, cparams(1), blosc2_dparams::defaults());
        assert!(shared.append(0) > 0);
        shared.free();
        let path = c_path(&folder.join("frame.b2frame"));
        let appends = rounds() as u32;
        let child = || {
            common::isolated::start(280, || {
                let shared = open_locked(path.as_ptr())?;
                beside_readers(shared, 3, || {
                    for count in 0..appends {
                        let rc = shared.append(count);
                        if rc < 0 {
                            return Err(format!("append {count}: {rc}"));
                        }
                    }
                    Ok(())
                })?;
                shared.free();
                Ok(())
            })
        };
        let children = [child(), child()];
        for child in children {
            assert_eq!(child.join(), Ok(()), "{name}");
        }
        let shared = open_locked(path.as_ptr()).expect("opens");
        // SAFETY: one field.
        let count = unsafe { (*shared.0).nchunks };
        assert_eq!(count, 2 * i64::from(appends) + 1, "{name}");
        let mut seen = vec![0; appends as usize];
        for nchunk in 1..count {
            let value = uniform(&shared.chunk(nchunk as usize).expect("reads"), "chunk");
            seen[value as usize] += 1;
        }
        assert!(seen.iter().all(|count| *count == 2), "{name}");
        shared.free();
    }
}

#[test]
fn readers_that_overlap_for_ever_starve_no_writer() {
    let _alone = alone();
    let folder = Folder::new("shared-starving");
    let kept = Kept::InFile { locked: true };
    let shared = SharedSchunk::new(kept, &folder.0, cparams(1), blosc2_dparams::defaults());
    assert!(shared.append(0) > 0);
    shared.free();
    let path = c_path(&folder.0.join("frame.b2frame"));
    let stop = folder.0.join("stop");
    // Two processes, each with four threads that read until the writer has done its work.
    let child = || {
        common::isolated::start(280, || {
            let shared = open_locked(path.as_ptr())?;
            beside_readers(shared, 4, || {
                while !stop.exists() {
                    thread::sleep(std::time::Duration::from_millis(5));
                }
                Ok(())
            })?;
            shared.free();
            Ok(())
        })
    };
    let children = [child(), child()];
    let shared = open_locked(path.as_ptr()).expect("opens");
    for round in 1..=rounds() as u32 {
        assert_eq!(shared.set(0, ITEMS, round), 0);
    }
    std::fs::write(&stop, "").expect("writes");
    for child in children {
        assert_eq!(child.join(), Ok(()));
    }
    shared.free();
}
