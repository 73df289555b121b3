//! The C functions for files, memory maps, paths and back ends, ours against the reference.

mod maps;
mod registry;
mod stdio;

use blosc2::capi::types::{blosc2_cparams, blosc2_schunk, blosc2_storage};
use core::ffi::{c_char, c_int, c_void};
use oxiblosc_testing::functions;
use oxiblosc_testing::library::{Lib, both};
use oxiblosc_testing::report::Report;
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

functions! { Io {
    fn blosc2_stdio_open(*const c_char, *const c_char, *mut c_void) -> *mut c_void;
    fn blosc2_stdio_close(*mut c_void) -> c_int;
    fn blosc2_stdio_size(*mut c_void) -> i64;
    fn blosc2_stdio_write(*const c_void, i64, i64, i64, *mut c_void) -> i64;
    fn blosc2_stdio_read(*mut *mut c_void, i64, i64, i64, *mut c_void) -> i64;
    fn blosc2_stdio_truncate(*mut c_void, i64) -> c_int;
    fn blosc2_stdio_destroy(*mut c_void) -> c_int;
    fn blosc2_stdio_mmap_open(*const c_char, *const c_char, *mut c_void) -> *mut c_void;
    fn blosc2_stdio_mmap_close(*mut c_void) -> c_int;
    fn blosc2_stdio_mmap_size(*mut c_void) -> i64;
    fn blosc2_stdio_mmap_write(*const c_void, i64, i64, i64, *mut c_void) -> i64;
    fn blosc2_stdio_mmap_read(*mut *mut c_void, i64, i64, i64, *mut c_void) -> i64;
    fn blosc2_stdio_mmap_truncate(*mut c_void, i64) -> c_int;
    fn blosc2_stdio_mmap_destroy(*mut c_void) -> c_int;
    fn blosc2_schunk_new(*mut blosc2_storage) -> *mut blosc2_schunk;
    fn blosc2_schunk_append_buffer(*mut blosc2_schunk, *const c_void, i32) -> i64;
    fn blosc2_schunk_delete_chunk(*mut blosc2_schunk, i64) -> i64;
    fn blosc2_schunk_free(*mut blosc2_schunk) -> c_int;
    fn blosc2_vlmeta_add(*mut blosc2_schunk, *const c_char, *const u8, i32, *mut blosc2_cparams) -> c_int;
    fn blosc2_register_io_cb(*const Callbacks) -> c_int;
    fn blosc2_get_io_cb(u8) -> *mut Callbacks;
    fn blosc2_remove_dir(*const c_char) -> c_int;
    fn blosc2_remove_urlpath(*const c_char) -> c_int;
    fn blosc2_rename_urlpath(*mut c_char, *mut c_char) -> c_int;
    fn blosc2_unidim_to_multidim(u8, *mut i64, i64, *mut i64);
    fn blosc2_multidim_to_unidim(*const i64, i8, *const i64, *mut i64);
}}

/// `blosc2_io_cb`; the functions are only compared.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Callbacks {
    pub id: u8,
    pub name: *const c_char,
    pub is_allocation_necessary: bool,
    pub functions: [*const c_void; 7],
}

/// One library at work in a folder of its own.
pub struct At {
    pub io: Io,
    pub lib: &'static Lib,
    folder: PathBuf,
}

impl At {
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// A path as C wants it.
    pub fn c(&self, name: &str) -> CString {
        c_path(&self.path(name))
    }

    /// All that lies in the folder, with contents.
    pub fn all(&self) -> String {
        fn walk(folder: &Path, root: &Path, reported: &mut Vec<String>) {
            for entry in std::fs::read_dir(folder).expect("is there") {
                let path = entry.expect("is there").path();
                let name = path.strip_prefix(root).expect("inside").to_owned();
                let kind = path.symlink_metadata().expect("is there").file_type();
                if kind.is_dir() {
                    reported.push(format!("{name:?}/"));
                    walk(&path, root, reported);
                } else if kind.is_symlink() {
                    reported.push(format!("{name:?} ->"));
                } else {
                    let bytes = std::fs::read(&path).expect("can be read");
                    reported.push(format!("{name:?} {} {:x}", bytes.len(), digest(&bytes)));
                }
            }
        }
        let mut reported = Vec::new();
        walk(&self.folder, &self.folder, &mut reported);
        reported.sort();
        reported.join("\n")
    }
}

pub fn c_path(path: &Path) -> CString {
    CString::new(path.as_os_str().as_bytes()).expect("no zero inside")
}

/// A number that tells byte strings apart.
pub fn digest(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf29ce484222325, |sum, byte| {
        (sum ^ u64::from(*byte)).wrapping_mul(0x100000001b3)
    })
}

/// Numbers that look random.
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (self.0 >> 33) % limit
    }

    pub fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len() as u64) as usize]
    }
}

/// Runs `work` with each library in an empty folder, and compares what it tells and what it leaves
/// there. Does nothing where there is no reference.
pub fn compare(title: &str, cases: u64, work: impl Fn(&At, u64) -> String) {
    let Some((ours, reference)) = both() else {
        return;
    };
    let mut report = Report::default();
    let root = std::env::temp_dir().join(format!("oxiblosc-{title}-{}", std::process::id()));
    for case in 0..cases {
        report.case();
        let [mine, theirs] = [ours, reference].map(|lib| {
            let folder = root.join(lib.name);
            let _ = std::fs::remove_dir_all(&folder);
            std::fs::create_dir_all(&folder).expect("a folder can be made");
            // SAFETY: `Io` is declared after the reference's headers.
            let io = unsafe { Io::load(lib.library) }.expect("all are exported");
            let at = At { io, lib, folder };
            let reported = work(&at, case);
            format!("{reported}\n{}", at.all())
        });
        report.check(mine == theirs, "answers", || {
            let differ = mine.lines().zip(theirs.lines()).find(|(a, b)| a != b);
            let (a, b) = differ.unwrap_or((&mine, &theirs));
            format!("case {case}\n  ours      {a}\n  reference {b}")
        });
    }
    let _ = std::fs::remove_dir_all(root);
    report.finish(title);
}
