//! The calls that write a frame to a path.

use super::standing::All;
use blosc2::capi::types::blosc2_cparams;
use oxiblosc_testing::b2nd::{Array, Spec, c_path};
use oxiblosc_testing::schunk_calls::Schunk;
use std::path::Path;

/// What is written.
pub enum Source {
    Schunk(Schunk),
    Array(Array),
}

/// Where it is before.
#[derive(Clone, Copy)]
pub enum From {
    Chunks,
    Frame,
    File,
    Directory,
    Array,
}

pub struct Call {
    pub name: &'static str,
    from: From,
    /// Whether a file that is there is replaced.
    pub replaces: bool,
    /// Gives what is an error if it is negative.
    pub make: fn(&Source, &Path) -> i64,
}

pub const CALLS: [Call; 12] = [
    call("to_file of chunks", From::Chunks, to_file),
    Call {
        replaces: true,
        ..call("to_file of a frame in memory", From::Frame, to_file)
    },
    call("to_file of a file", From::File, to_file),
    call("to_file of a directory", From::Directory, to_file),
    call("copy to a file", From::Frame, |s, path| copy(s, true, path)),
    call("copy to a directory", From::File, |s, path| {
        copy(s, false, path)
    }),
    call("create a file", From::Frame, |s, path| {
        create(s, true, path)
    }),
    call("create a directory", From::Frame, |s, path| {
        create(s, false, path)
    }),
    call("create an array in a file", From::Array, |s, path| {
        array(s, true, path)
    }),
    call("create an array in a directory", From::Array, |s, path| {
        array(s, false, path)
    }),
    call("save", From::Array, |s, path| {
        let s = s.array();
        // SAFETY: an array and a C string.
        unsafe { (s.lib.f.b2nd_save)(s.raw(), c_path(path).as_ptr().cast_mut()) }.into()
    }),
    call("append_file", From::Frame, |s, path| {
        s.schunk().append_file(path)
    }),
];

const fn call(name: &'static str, from: From, make: fn(&Source, &Path) -> i64) -> Call {
    Call {
        name,
        from,
        replaces: false,
        make,
    }
}

fn to_file(s: &Source, path: &Path) -> i64 {
    s.schunk().to_file(path)
}

fn copy(s: &Source, contiguous: bool, path: &Path) -> i64 {
    s.schunk()
        .copy(contiguous, Some(path), None)
        .map_or(-1, |_| 0)
}

fn create(s: &Source, contiguous: bool, path: &Path) -> i64 {
    let cparams = blosc2_cparams::defaults();
    match s
        .schunk()
        .lib
        .create(contiguous, Some(path), &cparams, 1, None)
    {
        Some(s) => s.append_buffer(&[9; 400], 400),
        None => -1,
    }
}

fn array(s: &Source, contiguous: bool, path: &Path) -> i64 {
    let made = s
        .array()
        .lib
        .array_of(&spec(contiguous, Some(path)), &[9; 400]);
    made.map_or_else(i64::from, |_| 0)
}

fn spec(contiguous: bool, path: Option<&Path>) -> Spec {
    Spec {
        chunks: vec![50],
        blocks: vec![10],
        contiguous,
        path: path.map(c_path),
        ..Spec::of_int32(100)
    }
}

impl Source {
    fn schunk(&self) -> &Schunk {
        match self {
            Self::Schunk(s) => s,
            Self::Array(_) => unreachable!("a call for super-chunks"),
        }
    }

    fn array(&self) -> &Array {
        match self {
            Self::Array(array) => array,
            Self::Schunk(_) => unreachable!("a call for arrays"),
        }
    }
}

impl Call {
    /// What it writes.
    pub fn source(&self, all: &All) -> Source {
        let path = all.source();
        let _ = std::fs::remove_file(&path);
        let _ = std::fs::remove_dir_all(&path);
        let (contiguous, path) = match self.from {
            From::Array => {
                let items: Vec<u8> = (0..400).map(|at| (at * 7) as u8).collect();
                let made = all.arrays.array_of(&spec(true, None), &items);
                return Source::Array(made.expect("an array"));
            }
            From::Chunks => (false, None),
            From::Frame => (true, None),
            From::File => (true, Some(&*path)),
            From::Directory => (false, Some(&*path)),
        };
        let s = all
            .schunks
            .create(contiguous, path, &blosc2_cparams::defaults(), 1, None);
        let s = s.expect("a super-chunk");
        for fill in [1, 2] {
            assert!(s.append_buffer(&[fill; 4000], 4000) > 0);
        }
        assert!(s.vlmeta_add(c"which", b"the new one") >= 0);
        Source::Schunk(s)
    }
}
