//! One thread changes the shape of an array, or fills a super-chunk, while others read and copy it:
//! they see it before or after each change, and a copy is of one state.
//!
//! `OXIBLOSC_ROUNDS` says how many changes each test makes (200 by default).

use blosc2::capi::types::{blosc2_cparams, blosc2_storage};
use oxiblosc::{self as core, CParams, Layout, StorageParams, SuperChunk};
use oxiblosc_testing::b2nd::{Array, Spec, c_path, our_arrays};
use oxiblosc_testing::folder::Folder;
use oxiblosc_testing::schunk::our_schunks;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// Items along each dimension; the array becomes twice as long along the second.
const SIDE: i64 = 40;
/// Items of a chunk along each dimension.
const CHUNK: i64 = 10;

fn rounds() -> usize {
    let asked = std::env::var("OXIBLOSC_ROUNDS").ok();
    asked.map_or(200, |rounds| rounds.parse().expect("a number of rounds"))
}

/// What threads share.
struct AssertSync<T>(T);

// SAFETY: this is what is tested.
unsafe impl<T> Sync for AssertSync<T> {}

impl<T> AssertSync<T> {
    fn get(&self) -> &T {
        &self.0
    }
}

fn spec(contiguous: bool) -> Spec {
    Spec {
        shape: vec![SIDE, SIDE],
        chunks: vec![CHUNK as i32; 2],
        blocks: vec![5, 5],
        cparams: blosc2_cparams {
            typesize: 4,
            ..blosc2_cparams::defaults()
        },
        nthreads: 1,
        contiguous,
        path: None,
    }
}

fn items() -> Vec<u8> {
    (1..=(SIDE * SIDE) as u32)
        .flat_map(u32::to_le_bytes)
        .collect()
}

fn array(contiguous: bool) -> AssertSync<Array> {
    let created = our_arrays().array_of(&spec(contiguous), &items());
    AssertSync(created.expect("an array"))
}

/// Runs `reads` on several threads, each with its number and that of the turn, until `changes` has
/// come to its end.
fn beside<E: Send + std::fmt::Debug>(
    readers: usize,
    reads: impl Fn(usize) -> Result<(), E> + Sync,
    changes: impl FnOnce() -> Result<(), E>,
) {
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let (done, reads) = (&done, &reads);
        let read_on = move |reader: usize| -> Result<(), E> {
            let mut turn = reader;
            while !done.load(Ordering::Relaxed) {
                reads(turn)?;
                turn += 1;
            }
            Ok(())
        };
        let readers: Vec<_> = (0..readers)
            .map(|reader| scope.spawn(move || read_on(reader)))
            .collect();
        let changed = changes();
        done.store(true, Ordering::Relaxed);
        for reader in readers {
            assert!(matches!(reader.join().expect("no panic"), Ok(())));
        }
        assert!(matches!(changed, Ok(())));
    });
}

/// Reads items that the array has in both of its shapes.
fn look(array: &Array, turn: usize) -> Result<(), String> {
    let (data, expected) = (items(), |at: usize| (at as u32 + 1).to_le_bytes());
    let (rc, found, right) = match turn % 3 {
        0 => {
            let (start, stop) = ([0, 0], [SIDE, SIDE]);
            let mut buffer = vec![0xa5; data.len()];
            let rc = array.get(&start, &stop, &stop, &mut buffer);
            (rc, buffer, data)
        }
        1 => {
            let lists = [vec![0, 17, 39], vec![39, 2]];
            let mut buffer = vec![0xa5; 4 * 6];
            let rc = array.get_picked(&lists, &mut buffer);
            let at = |row: i64, column: i64| expected((row * SIDE + column) as usize);
            let rows = lists[0].iter();
            let right =
                rows.flat_map(|row| lists[1].iter().flat_map(move |column| at(*row, *column)));
            (rc, buffer, right.collect())
        }
        _ => {
            // The first row has the same numbers in both.
            let mut buffer = vec![0xa5; 8];
            let rc = array.get_sparse(&[38, 3], &mut buffer);
            (rc, buffer, [expected(38), expected(3)].concat())
        }
    };
    match (rc, found == right) {
        (0, true) => Ok(()),
        (0, false) => Err(format!("look {}: other items", turn % 3)),
        (rc, _) => Err(format!("look {}: {rc}", turn % 3)),
    }
}

fn resize_on(array: &Array, rounds: usize) -> Result<(), String> {
    for round in 0..rounds {
        for columns in [2 * SIDE, SIDE] {
            match array.resize(&[SIDE, columns], None) {
                0 => {}
                rc => return Err(format!("resize {round}: {rc}")),
            }
        }
    }
    Ok(())
}

#[test]
fn readers_see_one_shape_while_another_thread_changes_it() {
    for contiguous in [false, true] {
        let array = array(contiguous);
        beside(
            3,
            |turn| look(array.get(), turn),
            || {
                resize_on(array.get(), 10 * rounds())?;
                let more = vec![7; items().len()];
                for _ in 0..rounds() {
                    let added = array.get().append(1, &more);
                    let taken = array.get().delete(1, SIDE, SIDE);
                    if (added, taken) != (0, 0) {
                        return Err(format!("append and delete: {added}, {taken}"));
                    }
                }
                Ok(())
            },
        );
    }
}

/// Whether an array has as many chunks as its shape says, and the items that it always has.
fn check(copy: &Array) -> Result<(), String> {
    let chunks: i64 = copy.shape().iter().map(|len| len / CHUNK).product();
    // SAFETY: one field.
    let nchunks = unsafe { (*copy.fields().sc).nchunks };
    if chunks != nchunks {
        return Err(format!("a shape of {chunks} chunks, and {nchunks}"));
    }
    look(copy, 0)
}

/// Large metalayers, which take long to copy, so that a change comes in where a copy is not of one
/// state.
const LARGE: usize = 1 << 20;
const NAMES: [&[u8]; 3] = [b"one", b"two", b"three"];

#[test]
fn copies_are_of_one_state() {
    let folder = Folder::new("shared-copies");
    let path = folder.join("copy");
    let (source, schunks) = (array(false), our_schunks());
    let sc = source.get().fields().sc;
    let mut content = vec![3; LARGE];
    for name in NAMES {
        let name = std::ffi::CString::new(name).expect("a name");
        // SAFETY: the content is as long as it says.
        let rc = unsafe {
            let content = content.as_mut_ptr();
            (schunks.s.blosc2_meta_add)(sc, name.as_ptr(), content, LARGE as i32)
        };
        assert!(rc >= 0, "{rc}");
    }
    let c_path = c_path(&path);
    let reported = |what: &str, rc| format!("{what}: {rc}");
    let copy = |way: usize| -> Result<(), String> {
        let arrays = our_arrays();
        let mut storage = blosc2_storage {
            urlpath: null_mut(),
            ..blosc2_storage::defaults()
        };
        // SAFETY: an array of the library's, and a path.
        let (what, copy) = unsafe {
            match way {
                0 => {
                    let copy = (schunks.s.blosc2_schunk_copy)(sc, &mut storage);
                    assert!(!copy.is_null(), "a copy");
                    ("copy", arrays.adopt(copy))
                }
                1 => {
                    let frame = source
                        .get()
                        .to_frame()
                        .map_err(|rc| reported("frame", rc))?;
                    ("frame", arrays.open_frame(frame, true))
                }
                2 => {
                    let rc = (arrays.f.b2nd_save_append)(source.get().raw(), c_path.as_ptr());
                    assert_eq!(rc, 0);
                    ("appended", arrays.open_path(&path))
                }
                _ => {
                    let rc = (schunks.s.blosc2_schunk_to_file)(sc, c_path.as_ptr());
                    assert!(rc > 0, "{rc}");
                    ("file", arrays.open_path(&path))
                }
            }
        };
        let checked = copy
            .map_err(|rc| reported(what, rc))
            .and_then(|copy| check(&copy));
        let _ = std::fs::remove_file(&path);
        checked.map_err(|wrong| format!("{what}: {wrong}"))
    };
    // The changes go on as long as there are copies to be made.
    beside(
        1,
        |_| resize_on(source.get(), 1),
        || (0..rounds().div_ceil(5)).try_for_each(|turn| copy(turn % 4)),
    );
}

#[test]
fn copies_of_rust_programs_are_of_one_state() {
    let (content, cparams) = (
        vec![3; LARGE],
        CParams {
            typesize: 4,
            ..CParams::default()
        },
    );
    let others = NAMES.map(|name| (name, &content[..]));
    let layout = Layout {
        shape: &[SIDE, SIDE],
        chunks: &[CHUNK as i32; 2],
        blocks: &[5, 5],
        dtype: None,
        metalayers: &others,
    };
    let storage = StorageParams {
        cparams,
        ..StorageParams::default()
    };
    let array = core::Array::zeros(&layout, storage.clone());
    let array = array.expect("an array");
    let check = |copy: SuperChunk| -> Result<(), String> {
        let nchunks = copy.nchunks().map_err(|error| format!("{error:?}"))? as i64;
        let copy = core::Array::of(copy).map_err(|error| format!("no array: {error:?}"))?;
        let shape = copy.shape().map_err(|error| format!("{error:?}"))?;
        let chunks: i64 = shape.iter().map(|len| len / CHUNK).product();
        match chunks == nchunks {
            true => Ok(()),
            false => Err(format!("a shape of {chunks} chunks, and {nchunks}")),
        }
    };
    let copy = |turn: usize| {
        let schunk = array.schunk();
        let copy = match turn % 2 {
            0 => schunk.copy_to(storage.clone()),
            _ => schunk
                .to_frame()
                .and_then(|frame| SuperChunk::from_frame(frame, 1)),
        };
        check(copy.expect("a copy"))
    };
    beside(
        1,
        |turn| {
            let columns = [SIDE, 2 * SIDE][turn % 2];
            array
                .resize(&[SIDE, columns])
                .map_err(|error| format!("{error:?}"))
        },
        || (0..rounds().div_ceil(5)).try_for_each(copy),
    );
}

#[test]
fn a_super_chunk_is_filled_at_once() {
    const ZEROS: i32 = 1;
    const NCHUNKS: i64 = 20_000;
    for contiguous in [false, true] {
        for _ in 0..rounds().div_ceil(20) {
            let mut storage = blosc2_storage {
                contiguous,
                ..blosc2_storage::defaults()
            };
            let f = &our_schunks().s;
            // SAFETY: what the storage points to is copied.
            let schunk = AssertSync(unsafe { (f.blosc2_schunk_new)(&mut storage) });
            let has = |nchunk| {
                let mut data = [0xa5u8; 80];
                // SAFETY: there is this room.
                unsafe {
                    let (schunk, data) = (*schunk.get(), data.as_mut_ptr().cast());
                    (f.blosc2_schunk_decompress_chunk)(schunk, nchunk, data, 80) >= 0
                }
            };
            thread::scope(|scope| {
                let reader = scope.spawn(|| {
                    while !has(0) {
                        std::hint::spin_loop();
                    }
                    has(NCHUNKS - 1)
                });
                // SAFETY: numbers.
                let rc = unsafe {
                    (f.blosc2_schunk_fill_special)(*schunk.get(), 10 * NCHUNKS, ZEROS, 80)
                };
                assert_eq!(rc, NCHUNKS);
                assert!(reader.join().expect("no panic"), "seen half done");
            });
            // SAFETY: it is no longer used.
            unsafe { (f.blosc2_schunk_free)(*schunk.get()) };
        }
    }
}

#[test]
fn refresh_tells_of_what_other_handles_did_alone() {
    let cparams = spec(true).cparams;
    let created = our_schunks().create(true, None, &cparams, 1, None);
    let schunk = AssertSync(created.expect("a super-chunk"));
    assert!(schunk.get().vlmeta_add(c"name", b"content") >= 0);
    beside(
        2,
        |_| match schunk.get().refresh() {
            0 => Ok(()),
            rc => Err(format!("refresh: {rc}")),
        },
        || {
            for _ in 0..50 * rounds() {
                match schunk.get().vlmeta_update(c"name", b"other") {
                    0 => {}
                    rc => return Err(format!("update: {rc}")),
                }
            }
            Ok(())
        },
    );
}
