//! Making frames: new ones, copies, files of buffers.

use super::place::clear;
use super::sweep::Sweep;
use blosc2::capi::types::blosc2_cparams;
use oxiblosc_testing::b2nd::{Array, Spec, c_path, our_arrays};
use oxiblosc_testing::data::Kind;
use oxiblosc_testing::maps::Opened;
use oxiblosc_testing::schunk_calls::Schunk;
use std::path::{Path, PathBuf};

/// Bytes of a chunk.
const CHUNK: usize = 4000;

/// What is copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum From {
    /// Chunks each on its own, in memory.
    Separate,
    /// A frame in memory.
    Memory,
    File,
    Directory,
}

/// What lies where something is to be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum There {
    Nothing,
    /// A frame in a file that only its owner may read.
    File,
    /// A link to such a file.
    Link,
}

/// What a creation has to work with.
pub struct Source {
    pub schunk: Schunk,
    pub array: Array,
}

/// Makes something at a path; gives an error code, or where in the file it begins.
pub type Make = fn(&Source, &Path) -> i64;

pub struct Creation {
    pub operation: String,
    pub from: From,
    pub there: There,
    /// Whether what is there stays, before what is made.
    pub appends: bool,
    pub make: Make,
}

pub fn parameters() -> blosc2_cparams {
    blosc2_cparams {
        typesize: 8,
        blocksize: 1000,
        ..blosc2_cparams::defaults()
    }
}

fn spec(contiguous: bool, path: Option<&Path>) -> Spec {
    Spec {
        shape: vec![30, 40],
        chunks: vec![20, 25],
        blocks: vec![5, 25],
        cparams: parameters(),
        nthreads: 1,
        contiguous,
        path: path.map(c_path),
    }
}

fn created<T, E>(created: Result<T, E>) -> i64 {
    if created.is_ok() { 0 } else { -1 }
}

fn new(source: &Source, contiguous: bool, path: &Path) -> i64 {
    let lib = source.schunk.lib;
    created(
        lib.create(contiguous, Some(path), &parameters(), 1, None)
            .ok_or(()),
    )
}

fn new_map(source: &Source, path: &Path) -> i64 {
    created(Opened::new_map(source.schunk.lib, path, &parameters()).ok_or(()))
}

fn copied(source: &Source, contiguous: bool, path: &Path, cparams: Option<&blosc2_cparams>) -> i64 {
    created(
        source
            .schunk
            .copy(contiguous, Some(path), cparams)
            .ok_or(()),
    )
}

fn array(source: &Source) -> &Array {
    &source.array
}

fn special(contiguous: bool, path: &Path, full: bool) -> i64 {
    let arrays = our_arrays();
    let value = 5.5f64;
    created(arrays.make(&spec(contiguous, Some(path)), |ctx, array| {
        // SAFETY: parameters, a place and an item.
        unsafe {
            match full {
                true => (arrays.f.b2nd_full)(ctx, array, (&raw const value).cast()),
                false => (arrays.f.b2nd_zeros)(ctx, array),
            }
        }
    }))
}

fn other_chunks(contiguous: bool, path: &Path) -> Spec {
    Spec {
        chunks: vec![10, 20],
        blocks: vec![5, 10],
        ..spec(contiguous, Some(path))
    }
}

fn save(source: &Source, path: &Path) -> i64 {
    let source = array(source);
    // SAFETY: an array and a string that lives across the call.
    unsafe { (source.lib.f.b2nd_save)(source.raw(), c_path(path).as_ptr().cast_mut()) }.into()
}

fn save_append(source: &Source, path: &Path) -> i64 {
    let source = array(source);
    // SAFETY: an array and a string that lives across the call.
    unsafe { (source.lib.f.b2nd_save_append)(source.raw(), c_path(path).as_ptr()) }
}

/// Those that are made at all.
pub fn creations() -> Vec<Creation> {
    let mut all = Vec::new();
    let mut add = |name: &str, from: From, there: There, appends: bool, make: Make| {
        all.push(Creation {
            operation: format!("{name} over {there:?}"),
            from,
            there,
            appends,
            make,
        });
    };
    let nothing = There::Nothing;
    add("new file", From::Memory, nothing, false, |s, to| {
        new(s, true, to)
    });
    add("new directory", From::Memory, nothing, false, |s, to| {
        new(s, false, to)
    });
    add("new map", From::Memory, nothing, false, new_map);
    for from in [From::Separate, From::Memory, From::File, From::Directory] {
        add("copy to a file", from, nothing, false, |s, to| {
            copied(s, true, to, None)
        });
        add("copy to a directory", from, nothing, false, |s, to| {
            copied(s, false, to, None)
        });
        add("to_file", from, nothing, false, |s, to| {
            s.schunk.to_file(to)
        });
        add("append_file", from, nothing, true, |s, to| {
            s.schunk.append_file(to)
        });
        for there in [There::File, There::Link] {
            add("append_file", from, there, true, |s, to| {
                s.schunk.append_file(to)
            });
        }
        add("array saved", from, nothing, false, save);
        add("array appended", from, There::File, true, save_append);
        add("array copied to a file", from, nothing, false, |s, to| {
            created(array(s).copy(&spec(true, Some(to))))
        });
        add(
            "array copied to other chunks in a file",
            from,
            nothing,
            false,
            |s, to| created(array(s).copy(&other_chunks(true, to))),
        );
        add(
            "array copied to other chunks in a directory",
            from,
            nothing,
            false,
            |s, to| created(array(s).copy(&other_chunks(false, to))),
        );
        add(
            "slice of an array in a file",
            from,
            nothing,
            false,
            |s, to| created(array(s).slice(&spec(true, Some(to)), &[3, 4], &[25, 33])),
        );
        add(
            "slice of an array in a directory",
            from,
            nothing,
            false,
            |s, to| created(array(s).slice(&spec(false, Some(to)), &[3, 4], &[25, 33])),
        );
        add("arrays joined in a file", from, nothing, false, |s, to| {
            created(array(s).joined(&spec(true, Some(to)), array(s), 0))
        });
    }
    add(
        "copy with other parameters",
        From::File,
        nothing,
        false,
        |s, to| {
            let cparams = blosc2_cparams {
                clevel: 1,
                compcode: 1,
                ..parameters()
            };
            copied(s, true, to, Some(&cparams))
        },
    );
    for there in [There::File, There::Link] {
        add("to_file", From::Memory, there, false, |s, to| {
            s.schunk.to_file(to)
        });
    }
    add(
        "array of a buffer in a file",
        From::Memory,
        nothing,
        false,
        |_, to| of_buffer(true, to),
    );
    add(
        "array of a buffer in a directory",
        From::Memory,
        nothing,
        false,
        |_, to| of_buffer(false, to),
    );
    add("zeros in a file", From::Memory, nothing, false, |_, to| {
        special(true, to, false)
    });
    add(
        "zeros in a directory",
        From::Memory,
        nothing,
        false,
        |_, to| special(false, to, false),
    );
    add(
        "one value in a file",
        From::Memory,
        nothing,
        false,
        |_, to| special(true, to, true),
    );
    add(
        "one value in a directory",
        From::Memory,
        nothing,
        false,
        |_, to| special(false, to, true),
    );
    all
}

fn of_buffer(contiguous: bool, path: &Path) -> i64 {
    let items = Kind::SmoothFloat64.bytes(30 * 40 * 8, 3);
    created(our_arrays().array_of(&spec(contiguous, Some(path)), &items))
}

/// Something to copy, in a folder of its own.
pub fn source(sweep: &Sweep, from: From) -> Source {
    let folder = sweep.root.join("source");
    clear(&folder);
    let on_disk = matches!(from, From::File | From::Directory);
    let path = |name: &str| on_disk.then(|| folder.join(name));
    let contiguous = matches!(from, From::Memory | From::File);
    let place = path("schunk");
    let s = sweep
        .lib
        .create(contiguous, place.as_deref(), &parameters(), 1, None)
        .expect("a super-chunk");
    let fine = |rc: i64| assert!(rc >= 0, "the source: {rc}");
    fine(s.meta_add(c"fixed", b"twenty bytes content"));
    for (seed, kind) in [
        (1, Kind::SmoothFloat64),
        (2, Kind::Random),
        (3, Kind::SmoothFloat64),
    ] {
        fine(s.append_buffer(&kind.bytes(CHUNK, seed), CHUNK as i32));
    }
    fine(s.vlmeta_add(c"first", &[7; 300]));
    let items = Kind::SmoothFloat64.bytes(30 * 40 * 8, 4);
    let array = our_arrays()
        .array_of(&spec(contiguous, path("array").as_deref()), &items)
        .expect("an array");
    let opened = |path: PathBuf| sweep.lib.open_path(&path).expect("what was just made");
    let (s, array) = match on_disk {
        false => (s, array),
        true => {
            drop((s, array));
            let array = our_arrays().open_path(&folder.join("array"));
            (opened(folder.join("schunk")), array.expect("an array"))
        }
    };
    Source { schunk: s, array }
}
