//! The changes that are cut short, and the frames that they start from.

mod transactions;

use blosc2::capi::types::{blosc2_cparams, blosc2_io};
use oxiblosc_testing::b2nd::{Array, Spec, c_path, our_arrays};
use oxiblosc_testing::data::Kind;
use oxiblosc_testing::schunk::SchunkLib;
use oxiblosc_testing::schunk_calls::Schunk;
use std::path::Path;
use transactions::TRANSACTIONS;

/// Bytes of one item and of one chunk.
const TYPESIZE: i32 = 8;
const CHUNK: usize = 4000;
/// Items of one chunk.
const ITEMS: i64 = 500;
/// Bytes of a chunk of many blocks.
const WIDE: usize = 40_000;
/// Bytes of one of the three chunks that make a frame a large one.
const LARGE_CHUNK: usize = 360_000;

/// What a change starts from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// Full chunks of all kinds, with metadata.
    Full,
    /// Chunks without special values, the last one short.
    Short,
    /// No chunk, no metadata.
    Empty,
    /// More chunks than fit into a small index.
    Many,
    /// Chunks of many blocks; the second was changed by the same handle, which leaves room behind
    /// it in a file.
    Wide,
    /// Chunks of more than 1 MiB and metadata, so that the index can grow, and one more that the
    /// same handle appended.
    Large,
    /// The same, where the same handle has replaced the second chunk too, which leaves room behind
    /// it.
    Loose,
    /// Chunks that hold bytes of frames.
    Nested,
    /// An array of 50 x 60 items, whose chunks and blocks do not divide it.
    Array,
    /// An array of 400 x 400 items in 16 chunks of more than 1 MiB.
    LargeArray,
}

/// A change with its name; it returns what the library returned.
#[derive(Clone, Copy)]
pub struct Change {
    pub name: &'static str,
    pub start: Start,
    pub run: fn(&Schunk) -> i64,
}

const fn change(name: &'static str, start: Start, run: fn(&Schunk) -> i64) -> Change {
    Change { name, start, run }
}

fn data(seed: u64, nbytes: usize) -> Vec<u8> {
    match seed % 3 {
        0 => Kind::Random.bytes(nbytes, seed),
        _ => Kind::SmoothFloat64.bytes(nbytes, seed),
    }
}

fn parameters() -> blosc2_cparams {
    blosc2_cparams {
        typesize: TYPESIZE,
        blocksize: 1000,
        ..blosc2_cparams::defaults()
    }
}

/// A chunk as a program makes it.
fn chunk(s: &Schunk, seed: u64, nbytes: usize) -> Vec<u8> {
    let cparams = oxiblosc_testing::abi::CParams {
        typesize: TYPESIZE,
        blocksize: 1000,
        ..Default::default()
    };
    let bytes = match seed {
        0 => vec![0; nbytes],
        _ => data(seed, nbytes),
    };
    let (rc, chunk) = s.lib.lib.compress(&cparams, &bytes);
    assert!(rc > 0, "{rc}");
    chunk
}

/// A chunk that is stored as it is, of whole frames one behind the other, and of half a one.
fn nesting(s: &Schunk, nbytes: usize) -> Vec<u8> {
    let inner = s.lib.create(true, None, &parameters(), 1, None);
    let inner = inner.expect("a frame in memory");
    assert_eq!(append(&inner, 3, 100), 1);
    let bytes: Vec<u8> = inner
        .to_buffer()
        .1
        .into_iter()
        .cycle()
        .take(nbytes)
        .collect();
    let cparams = oxiblosc_testing::abi::CParams {
        typesize: TYPESIZE,
        clevel: 0,
        ..Default::default()
    };
    let (rc, chunk) = s.lib.lib.compress(&cparams, &bytes);
    assert!(rc > 0, "{rc}");
    chunk
}

fn append(s: &Schunk, seed: u64, nbytes: usize) -> i64 {
    s.append_buffer(&data(seed, nbytes), nbytes as i32)
}

/// Makes the frame that a change starts from.
pub fn make(
    lib: &'static SchunkLib,
    contiguous: bool,
    path: &Path,
    start: Start,
    io: Option<&mut blosc2_io>,
) {
    if matches!(start, Start::Array | Start::LargeArray) {
        assert!(io.is_none(), "arrays start on the file system");
        return make_array(start, contiguous, path);
    }
    let s = lib
        .create(contiguous, Some(path), &parameters(), 1, io)
        .expect("a new frame");
    let fine = |rc: i64| assert!(rc >= 0, "making the frame: {rc}");
    match start {
        Start::Empty => {}
        Start::Full => {
            fine(s.meta_add(c"fixed", b"twenty bytes content"));
            for seed in 1..4 {
                fine(append(&s, seed, CHUNK));
            }
            fine(s.append_chunk(&chunk(&s, 0, CHUNK), true));
            fine(append(&s, 4, CHUNK));
            fine(append(&s, 5, CHUNK));
            fine(s.vlmeta_add(c"first", &data(7, 300)));
            fine(s.vlmeta_add(c"second", b"short"));
        }
        Start::Short => {
            for (seed, nbytes) in [(1, CHUNK), (3, CHUNK), (4, CHUNK / 2)] {
                fine(append(&s, seed, nbytes));
            }
            fine(s.vlmeta_add(c"first", &data(7, 300)));
        }
        Start::Many => {
            for seed in 1..300 {
                fine(append(&s, seed, 64));
            }
            fine(s.vlmeta_add(c"only", &data(7, 100)));
        }
        Start::Wide => {
            for seed in [1, 2, 4] {
                let data = Kind::Timestamps.bytes(WIDE, seed);
                fine(s.append_buffer(&data, WIDE as i32));
            }
        }
        Start::Large | Start::Loose => {
            fine(s.meta_add(c"fixed", b"twenty bytes content"));
            for seed in [3, 6, 9] {
                fine(append(&s, seed, LARGE_CHUNK));
            }
            fine(s.vlmeta_add(c"first", &data(7, 300)));
            fine(s.vlmeta_add(c"second", b"short"));
        }
        Start::Nested => {
            for _ in 0..3 {
                fine(s.append_chunk(&nesting(&s, CHUNK), true));
            }
        }
        // Made above.
        Start::Array | Start::LargeArray => {}
    }
}

/// What a handle does with the frame before the change.
pub fn prepare(s: &Schunk, start: Start) {
    let done = match start {
        Start::Wide => widen(s, 300) == 0,
        Start::Large => append(s, 1, LARGE_CHUNK) == 4,
        Start::Loose => {
            append(s, 1, LARGE_CHUNK) == 4
                && s.update_chunk(1, &chunk(s, 4, LARGE_CHUNK), true) == 4
        }
        _ => true,
    };
    assert!(done, "before the change");
}

/// Writes what does not compress into a block of the second chunk of many blocks, so that the block
/// grows.
fn widen(s: &Schunk, at: i64) -> i64 {
    let start = (WIDE as i64) / i64::from(TYPESIZE) + at;
    s.set_slice(start, start + 60, &data(21, 60 * TYPESIZE as usize))
}

/// Runs something on the array that the super-chunk is; this stays the caller's.
fn on_array(s: &Schunk, run: impl FnOnce(&Array) -> i32) -> i64 {
    // SAFETY: a super-chunk of our library.
    match unsafe { our_arrays().adopt(s.raw) } {
        Ok(array) => {
            let rc = run(&array);
            // To free the array would free the super-chunk.
            std::mem::forget(array);
            rc.into()
        }
        Err(rc) => rc.into(),
    }
}

/// Makes the array that changes of arrays start from.
fn make_array(start: Start, contiguous: bool, path: &Path) {
    let (shape, chunks, blocks) = match start {
        Start::LargeArray => ([400, 400], [100, 100], [50, 50]),
        _ => ([50, 60], [20, 25], [5, 25]),
    };
    let items = data(3, (shape[0] * shape[1]) as usize * TYPESIZE as usize);
    let spec = Spec {
        shape: shape.to_vec(),
        chunks: chunks.to_vec(),
        blocks: blocks.to_vec(),
        cparams: parameters(),
        nthreads: 1,
        contiguous,
        path: Some(c_path(path)),
    };
    drop(our_arrays().array_of(&spec, &items).expect("an array"));
}

/// Every change.
pub const CHANGES: &[Change] = &[
    change("append a buffer", Start::Full, |s| append(s, 10, CHUNK)),
    change("append the first chunk", Start::Empty, |s| {
        append(s, 10, CHUNK)
    }),
    change("append a chunk", Start::Many, |s| append(s, 10, 64)),
    change("append to a large frame", Start::Large, |s| {
        append(s, 2, LARGE_CHUNK)
    }),
    change("update in a large frame", Start::Large, |s| {
        s.update_chunk(1, &chunk(s, 4, LARGE_CHUNK), true)
    }),
    change("delete from a large frame", Start::Large, |s| {
        s.delete_chunk(1)
    }),
    change("add a metalayer to a large frame", Start::Large, |s| {
        s.vlmeta_add(c"large", &data(6, 200))
    }),
    change("insert into a large frame", Start::Large, |s| {
        s.insert_chunk(1, &chunk(s, 12, LARGE_CHUNK), true)
    }),
    change("reorder a large frame", Start::Large, |s| {
        s.reorder(&[3, 1, 0, 2])
    }),
    change("special chunk into a large frame", Start::Large, |s| {
        s.update_chunk(1, &chunk(s, 0, LARGE_CHUNK), true)
    }),
    change("slice of a large frame", Start::Large, |s| {
        s.set_slice(44_990, 45_020, &data(21, 240))
    }),
    change("variable metalayer of a large frame", Start::Large, |s| {
        s.vlmeta_update(c"first", &data(6, 900))
    }),
    change("delete it from a large frame", Start::Large, |s| {
        s.vlmeta_delete(c"first")
    }),
    change("metalayer of a large frame", Start::Large, |s| {
        s.meta_update(c"fixed", b"TWENTY BYTES CONTENT")
    }),
    change("a block grows in a large frame", Start::Loose, |s| {
        s.set_slice(45_100, 45_160, &data(21, 60 * 8))
    }),
    change("append to a loose frame", Start::Loose, |s| {
        append(s, 2, LARGE_CHUNK)
    }),
    change("update a loose frame", Start::Loose, |s| {
        s.update_chunk(0, &chunk(s, 4, LARGE_CHUNK), true)
    }),
    change("delete from a loose frame", Start::Loose, |s| {
        s.delete_chunk(1)
    }),
    change("append a special chunk", Start::Full, |s| {
        s.append_chunk(&chunk(s, 0, CHUNK), true)
    }),
    change("append a chunk that holds frames", Start::Full, |s| {
        s.append_chunk(&nesting(s, CHUNK), true)
    }),
    change("update chunks that hold frames", Start::Nested, |s| {
        s.update_chunk(0, &nesting(s, CHUNK / 2), true)
    }),
    change("append a longer chunk", Start::Short, |s| {
        s.append_chunk(&chunk(s, 11, 2 * CHUNK), false)
    }),
    change("insert at the front", Start::Full, |s| {
        s.insert_chunk(0, &chunk(s, 12, CHUNK), true)
    }),
    change("insert in the middle", Start::Many, |s| {
        s.insert_chunk(77, &chunk(s, 12, 64), true)
    }),
    change("insert before a short chunk", Start::Short, |s| {
        s.insert_chunk(1, &chunk(s, 12, CHUNK), true)
    }),
    change("append to a short chunk", Start::Short, |s| {
        append(s, 10, CHUNK)
    }),
    change("write a slice of a short chunk", Start::Short, |s| {
        s.set_slice(2 * ITEMS + 3, 2 * ITEMS + 200, &data(9, 197 * 8))
    }),
    change("insert a special chunk", Start::Full, |s| {
        s.insert_chunk(2, &chunk(s, 0, CHUNK), true)
    }),
    change("update with a larger chunk", Start::Full, |s| {
        s.update_chunk(1, &chunk(s, 9, CHUNK), true)
    }),
    change("update with a smaller chunk", Start::Full, |s| {
        s.update_chunk(2, &chunk(s, 13, CHUNK), true)
    }),
    change("update the last chunk", Start::Short, |s| {
        s.update_chunk(2, &chunk(s, 14, CHUNK / 4), true)
    }),
    change("update with a special chunk", Start::Full, |s| {
        s.update_chunk(0, &chunk(s, 0, CHUNK), true)
    }),
    change("update a special chunk", Start::Full, |s| {
        s.update_chunk(3, &chunk(s, 15, CHUNK), true)
    }),
    change("update one of many", Start::Many, |s| {
        s.update_chunk(100, &chunk(s, 15, 64), true)
    }),
    change("delete the first chunk", Start::Full, |s| s.delete_chunk(0)),
    change("delete in the middle", Start::Many, |s| s.delete_chunk(150)),
    change("delete the last chunk", Start::Full, |s| s.delete_chunk(5)),
    change("delete a special chunk", Start::Full, |s| s.delete_chunk(3)),
    change("reorder", Start::Full, |s| s.reorder(&[4, 2, 0, 3, 1, 5])),
    change("reorder many", Start::Many, |s| {
        s.reorder(&(0..299).map(|i| (i * 100) % 299).collect::<Vec<i64>>())
    }),
    change("add a metalayer", Start::Empty, |s| {
        s.meta_add(c"new", b"some content")
    }),
    change("update a metalayer", Start::Full, |s| {
        s.meta_update(c"fixed", b"TWENTY BYTES CONTENT")
    }),
    change("add a variable metalayer", Start::Full, |s| {
        s.vlmeta_add(c"third", &data(3, 500))
    }),
    change("add the first variable metalayer", Start::Empty, |s| {
        s.vlmeta_add(c"first", b"content")
    }),
    change("update a variable metalayer", Start::Full, |s| {
        s.vlmeta_update(c"second", &data(6, 900))
    }),
    change("shorten a variable metalayer", Start::Full, |s| {
        s.vlmeta_update(c"first", b"")
    }),
    change("delete a variable metalayer", Start::Full, |s| {
        s.vlmeta_delete(c"first")
    }),
    change("write a slice of one block", Start::Full, |s| {
        s.set_slice(10, 20, &data(20, 80))
    }),
    change("write a slice over chunks", Start::Full, |s| {
        let items = 2 * ITEMS + 100;
        s.set_slice(
            300,
            300 + items,
            &data(21, items as usize * TYPESIZE as usize),
        )
    }),
    change("write a slice of whole chunks", Start::Full, |s| {
        s.set_slice(0, 2 * ITEMS, &data(22, 2 * CHUNK))
    }),
    change("write a slice into a special chunk", Start::Full, |s| {
        s.set_slice(3 * ITEMS + 5, 3 * ITEMS + 10, &data(20, 40))
    }),
    change("write a block of the same size", Start::Wide, |s| {
        s.set_slice(10, 11, &data(21, 8))
    }),
    change("write a block that grows", Start::Wide, |s| widen(s, 2000)),
    change("fill with zeros", Start::Empty, |s| {
        s.fill_special(10 * ITEMS, 1, CHUNK as i32)
    }),
    change("fill with NaNs", Start::Empty, |s| {
        s.fill_special(ITEMS, 2, CHUNK as i32)
    }),
    change("array: write an item", Start::Array, |s| {
        on_array(s, |a| a.set(&[21, 26], &[22, 27], &[1, 1], &data(2, 8)))
    }),
    change("array: write a slice over chunks", Start::Array, |s| {
        let (start, stop) = ([3, 10], [45, 55]);
        on_array(s, |a| {
            a.set(&start, &stop, &[42, 45], &data(3, 42 * 45 * 8))
        })
    }),
    change("array: write picked items", Start::Array, |s| {
        let lists = [vec![1, 20, 49], vec![59, 3, 26, 27]];
        on_array(s, |a| a.set_picked(&lists, &data(4, 12 * 8)))
    }),
    change("array: grow", Start::Array, |s| {
        on_array(s, |a| a.resize(&[70, 90], None))
    }),
    change("array: shrink", Start::Array, |s| {
        on_array(s, |a| a.resize(&[15, 60], None))
    }),
    change("array: grow and shrink", Start::Array, |s| {
        on_array(s, |a| a.resize(&[55, 10], None))
    }),
    change("array: grow in the middle", Start::Array, |s| {
        on_array(s, |a| a.resize(&[90, 60], Some(&[20, 0])))
    }),
    change("array: append", Start::Array, |s| {
        on_array(s, |a| a.append(0, &data(6, 13 * 60 * 8)))
    }),
    change("array: insert", Start::Array, |s| {
        on_array(s, |a| a.insert(1, 25, &data(6, 50 * 25 * 8)))
    }),
    change("large array: append", Start::LargeArray, |s| {
        on_array(s, |a| a.append(0, &data(6, 30 * 400 * 8)))
    }),
    change("large array: grow", Start::LargeArray, |s| {
        on_array(s, |a| a.resize(&[410, 520], None))
    }),
    change("large array: shrink", Start::LargeArray, |s| {
        on_array(s, |a| a.resize(&[250, 400], None))
    }),
    change("large array: write a slice", Start::LargeArray, |s| {
        let (start, stop) = ([90, 90], [120, 120]);
        on_array(s, |a| a.set(&start, &stop, &[30, 30], &data(2, 900 * 8)))
    }),
    change("array: delete at the end", Start::Array, |s| {
        on_array(s, |a| a.delete(0, 33, 17))
    }),
    change("array: delete chunks", Start::Array, |s| {
        on_array(s, |a| a.delete(1, 25, 25))
    }),
    TRANSACTIONS[0],
    TRANSACTIONS[1],
    TRANSACTIONS[2],
    TRANSACTIONS[3],
    TRANSACTIONS[4],
    TRANSACTIONS[5],
    TRANSACTIONS[6],
    TRANSACTIONS[7],
    TRANSACTIONS[8],
    TRANSACTIONS[9],
];
