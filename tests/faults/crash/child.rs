//! The process that makes a change or a copy and dies in it, or meets a failing write.

use crate::changes::{Change, prepare};
use oxiblosc_testing::folder::without_syncs;
use oxiblosc_testing::isolated::isolated;
use oxiblosc_testing::maps::Opened;
use oxiblosc_testing::own_process::again;
use oxiblosc_testing::panics::assert_fatal;
use oxiblosc_testing::schunk::{SchunkLib, our_schunks};
use oxiblosc_testing::schunk_state::read;
use oxiblosc_testing::shim;
use std::ffi::{CString, c_char, c_int};
use std::path::Path;

/// Tells a process that it has the shim, and which folder is its own.
const FOLDER: &str = "OXIBLOSC_CRASH_FOLDER";

/// What happens at the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    Count,
    Die,
    DieHalf,
    NoSpace,
    IoError,
}

/// Where a frame is that is changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Storage {
    File,
    Directory,
    /// In a file that is opened as a memory map.
    Map,
    /// In a file and in a directory, with a lock file and with checksums.
    CarefulFile,
    CarefulDirectory,
}

pub const STORAGES: [Storage; 5] = [
    Storage::File,
    Storage::Directory,
    Storage::Map,
    Storage::CarefulFile,
    Storage::CarefulDirectory,
];

impl Storage {
    pub fn is_contiguous(self) -> bool {
        !matches!(self, Self::Directory | Self::CarefulDirectory)
    }

    /// What the libraries look at in the environment.
    pub fn variables(self) -> [(&'static str, &'static str); 2] {
        let value = match self {
            Self::CarefulFile | Self::CarefulDirectory => "1",
            _ => "",
        };
        ["BLOSC_LOCKING", "BLOSC_CHECKSUMS"].map(|name| (name, value))
    }

    /// Opens a frame to change it.
    pub fn open(self, lib: &'static SchunkLib, path: &Path) -> Option<Opened> {
        match self {
            Self::Map => Opened::map(lib, path, c"r+"),
            _ => lib.open_path(path).map(Opened::from),
        }
    }
}

/// How a child ended.
#[derive(Debug, PartialEq, Eq)]
pub enum End {
    /// The change was made, with so many calls, and the frame closed, with so many in all.
    Made(usize, usize),
    /// It died at its call.
    Died,
    /// Something was wrong; it says what.
    Wrong(String),
}

/// Runs a test in a process that has the shim, whose children are cut short.
pub fn with_shim(test: &str, work: impl FnOnce(&Path)) {
    if let Some(folder) = std::env::var_os(FOLDER) {
        assert_fatal();
        return work(Path::new(&folder));
    }
    let name = format!("oxiblosc-{test}-{}", std::process::id());
    let folder = without_syncs().join(name.replace("::", "-"));
    let files = folder.join("files");
    std::fs::create_dir_all(&files).expect("a folder for the test");
    let shim = shim::compile(
        concat!(env!("CARGO_MANIFEST_DIR"), "/tests/faults/crash/shim.c"),
        &folder,
    );
    let status = again(test)
        .env(FOLDER, files)
        .env("LD_PRELOAD", shim)
        .status()
        .expect("this program, started again");
    std::fs::remove_dir_all(&folder).expect("the test's own folder");
    assert!(status.success(), "{status}");
}

/// Runs a task in a forked child. It gives how many calls it made, and how many with those of
/// closing.
pub fn start(task: impl FnOnce() -> Result<(c_int, c_int), String>) -> End {
    let says = || {
        Err(match task() {
            Ok((calls, all)) => format!("calls {calls} {all}"),
            Err(wrong) => wrong,
        })
    };
    let said = isolated(60, says).err().unwrap_or_default();
    let counts = said.strip_prefix("calls ").and_then(|n| n.split_once(' '));
    match counts.map(|(change, all)| (change.parse(), all.parse())) {
        Some((Ok(change), Ok(all))) => End::Made(change, all),
        // As `shim.c` has it.
        _ if said == "exit code 77" => End::Died,
        _ => End::Wrong(said),
    }
}

/// The functions of the shim.
struct Shim {
    arm: unsafe extern "C" fn(*const c_char, c_int, c_int),
    seen: unsafe extern "C" fn() -> c_int,
    disarm: unsafe extern "C" fn() -> c_int,
}

impl Shim {
    fn find() -> Shim {
        let this = libloading::os::unix::Library::this();
        // SAFETY: the shim is preloaded and declares the functions so.
        unsafe {
            Shim {
                arm: *this.get(b"shim_arm").expect("the shim is preloaded"),
                seen: *this.get(b"shim_seen").expect("the shim is preloaded"),
                disarm: *this.get(b"shim_disarm").expect("the shim is preloaded"),
            }
        }
    }
}

/// Runs something while calls on what lies in the folder of `path` are counted, and the one with
/// number `at` meets its act; gives how many there were. `work` gets a function that tells how many
/// there were so far.
pub fn counted(
    (at, act): (usize, Act),
    path: &Path,
    work: impl FnOnce(&dyn Fn() -> c_int) -> i64,
) -> Result<(i64, c_int), String> {
    let shim = Shim::find();
    // Only what belongs to the frame: the folder holds nothing else.
    let folder = path.parent().ok_or("a frame lies in a folder")?;
    let folder = CString::new(folder.to_str().ok_or("a plain path")?).map_err(|e| e.to_string())?;
    // SAFETY: a C string, that the shim copies.
    unsafe { (shim.arm)(folder.as_ptr(), at as c_int, act as c_int) };
    // SAFETY: no arguments.
    let rc = work(&|| unsafe { (shim.seen)() });
    // SAFETY: no arguments.
    Ok((rc, unsafe { (shim.disarm)() }))
}

/// Makes a change, and closes the frame.
pub fn make_change(
    change: &Change,
    storage: Storage,
    at: usize,
    act: Act,
    path: &Path,
) -> Result<(c_int, c_int), String> {
    let lib = our_schunks();
    let s = storage.open(lib, path).ok_or("the frame does not open")?;
    prepare(&s, change.start);
    if matches!(act, Act::Count | Act::Die | Act::DieHalf) {
        let mut calls = 0;
        let (rc, all) = counted((at, act), path, |so_far| {
            let rc = (change.run)(&s);
            calls = so_far();
            drop(s);
            rc
        })?;
        return if rc < 0 {
            Err(format!("returns {rc}"))
        } else {
            Ok((calls, all))
        };
    }
    let (before, fields) = (read(&s), s.fields());
    let (rc, calls) = counted((at, act), path, |_| (change.run)(&s))?;
    if rc >= 0 {
        // A call that need not succeed: what it was for is looked at by the parent.
        return Ok((calls, calls));
    }
    let mut after = s.fields();
    after.current_nchunk = fields.current_nchunk;
    if change.name.starts_with("transaction") {
        // To abandon it is told, too.
        after.change_tick = fields.change_tick;
    }
    if after != fields {
        return Err(format!(
            "fields after the error {rc}: {after:?}, before: {fields:?}"
        ));
    }
    if read(&s) != before {
        return Err(format!(
            "after the error {rc} the handle shows something else"
        ));
    }
    let rc = (change.run)(&s);
    if rc < 0 {
        return Err(format!(
            "the change made again on the same handle returns {rc}"
        ));
    }
    Ok((calls, calls))
}
