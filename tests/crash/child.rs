//! The process that makes a change or a copy and dies in it, or meets a failing write.

use super::changes::{CHANGES, prepare};
use crate::common::maps::Opened;
use crate::common::panics::assert_fatal;
use crate::common::schunk::{SchunkLib, our_schunks};
use crate::common::schunk_state::read;
use std::ffi::{CString, c_char, c_int};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

/// Tells a process that it is a child, and what to do.
const JOB: &str = "OXIBLOSC_CRASH_JOB";

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

/// What a child is to do.
#[derive(Clone, Debug)]
pub struct Job<'a> {
    /// The test that the child runs, which obeys.
    pub test: &'static str,
    /// The number of the change, or of the copy.
    pub number: usize,
    /// Where the frame is; copies are told by their number alone.
    pub storage: Storage,
    pub path: &'a Path,
    pub at: usize,
    pub act: Act,
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

/// Runs a job in a process of its own.
pub fn start(job: &Job<'_>, shim: &Path) -> End {
    let order = format!(
        "{} {} {} {} {}",
        job.number,
        job.storage as usize,
        job.at,
        job.act as usize,
        job.path.display()
    );
    let output = Command::new(std::env::current_exe().expect("a test knows its own path"))
        .args(["--exact", job.test, "--nocapture"])
        .env(JOB, order)
        .env("LD_PRELOAD", shim)
        .envs(job.storage.variables())
        .output()
        .expect("this program, started again");
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    end(output.status, said)
}

fn end(status: ExitStatus, said: String) -> End {
    match status.code() {
        Some(77) => End::Died,
        Some(0) => {
            let counts = said.rsplit("calls ").next().and_then(|n| n.split_once(' '));
            match counts.map(|(change, all)| (change.parse(), all.parse())) {
                Some((Ok(change), Ok(all))) => End::Made(change, all),
                _ => End::Wrong(said),
            }
        }
        _ => End::Wrong(format!("{status}: {said}")),
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

/// What a child does: number, storage, call and act, in the order of [`Job`], and the path; gives how many calls it made, and how many with those
/// of closing.
pub type Task = fn(usize, Storage, c_int, c_int, &Path) -> Result<(c_int, c_int), String>;

/// Does the job if this process has one, and does not return then.
pub fn obey(task: Task) {
    let Ok(order) = std::env::var(JOB) else {
        return;
    };
    assert_fatal();
    let mut words = order.splitn(5, ' ');
    let mut number = || -> c_int { words.next().and_then(|word| word.parse().ok()).expect(JOB) };
    let (which, storage) = (number() as usize, STORAGES[number() as usize]);
    let (at, act) = (number(), number());
    let path = PathBuf::from(words.next().expect(JOB));
    match task(which, storage, at, act, &path) {
        Ok((calls, all)) => eprintln!("calls {calls} {all}"),
        Err(wrong) => {
            eprintln!("{wrong}");
            std::process::exit(1);
        }
    }
    std::process::exit(0);
}

/// Runs something while calls on what lies in the folder of `path` are counted, and the one with number `at` meets its act; gives how
/// many there were. `work` gets a function that tells how many there were so far.
pub fn counted(
    (at, act): (c_int, c_int),
    path: &Path,
    work: impl FnOnce(&dyn Fn() -> c_int) -> i64,
) -> Result<(i64, c_int), String> {
    let shim = Shim::find();
    // Only what belongs to the frame: the folder holds nothing else.
    let folder = path.parent().ok_or("a frame lies in a folder")?;
    let folder = CString::new(folder.to_str().ok_or("a plain path")?).map_err(|e| e.to_string())?;
    // SAFETY: a C string, that the shim copies.
    unsafe { (shim.arm)(folder.as_ptr(), at, act) };
    // SAFETY: no arguments.
    let rc = work(&|| unsafe { (shim.seen)() });
    // SAFETY: no arguments.
    Ok((rc, unsafe { (shim.disarm)() }))
}

/// Makes a change, and closes the frame.
pub fn make_change(
    change: usize,
    storage: Storage,
    at: c_int,
    act: c_int,
    path: &Path,
) -> Result<(c_int, c_int), String> {
    let lib = our_schunks();
    let change = &CHANGES[change];
    let s = storage.open(lib, path).ok_or("the frame does not open")?;
    prepare(&s, change.start);
    if act <= Act::DieHalf as c_int {
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
