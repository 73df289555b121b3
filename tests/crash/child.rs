//! The process that makes a change or a copy and dies in it, or meets a failing write.

use super::changes::{CHANGES, prepare};
use crate::common::panics::assert_fatal;
use crate::common::schunk::our_schunks;
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

/// What a child is to do.
#[derive(Clone, Debug)]
pub struct Job<'a> {
    /// The test that the child runs, which obeys.
    pub test: &'static str,
    /// The number of the change, or of the copy.
    pub number: usize,
    pub path: &'a Path,
    pub at: usize,
    pub act: Act,
}

/// How a child ended.
#[derive(Debug, PartialEq, Eq)]
pub enum End {
    /// The change was made, with so many calls.
    Made(usize),
    /// It died at its call.
    Died,
    /// Something was wrong; it says what.
    Wrong(String),
}

/// Runs a job in a process of its own.
pub fn start(job: &Job<'_>, shim: &Path) -> End {
    let order = format!(
        "{} {} {} {}",
        job.number,
        job.at,
        job.act as usize,
        job.path.display()
    );
    let output = Command::new(std::env::current_exe().expect("a test knows its own path"))
        .args(["--exact", job.test, "--nocapture"])
        .env(JOB, order)
        .env("LD_PRELOAD", shim)
        .output()
        .expect("this program, started again");
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    end(output.status, said)
}

fn end(status: ExitStatus, said: String) -> End {
    match status.code() {
        Some(77) => End::Died,
        Some(0) => match said.rsplit("calls ").next().and_then(|n| n.parse().ok()) {
            Some(calls) => End::Made(calls),
            None => End::Wrong(said),
        },
        _ => End::Wrong(format!("{status}: {said}")),
    }
}

/// The two functions of the shim.
struct Shim {
    arm: unsafe extern "C" fn(*const c_char, c_int, c_int),
    disarm: unsafe extern "C" fn() -> c_int,
}

impl Shim {
    fn find() -> Shim {
        let this = libloading::os::unix::Library::this();
        // SAFETY: the shim is preloaded and declares the functions so.
        unsafe {
            Shim {
                arm: *this.get(b"shim_arm").expect("the shim is preloaded"),
                disarm: *this.get(b"shim_disarm").expect("the shim is preloaded"),
            }
        }
    }
}

/// What a child does: number, call and act, in the order of [`Job`], and the path; gives how many calls it made.
pub type Task = fn(usize, c_int, c_int, &Path) -> Result<c_int, String>;

/// Does the job if this process has one, and does not return then.
pub fn obey(task: Task) {
    let Ok(order) = std::env::var(JOB) else {
        return;
    };
    assert_fatal();
    let mut words = order.splitn(4, ' ');
    let mut number = || words.next().and_then(|word| word.parse().ok()).expect(JOB);
    let (which, at, act): (usize, c_int, c_int) = (number() as usize, number(), number());
    let path = PathBuf::from(words.next().expect(JOB));
    match task(which, at, act, &path) {
        Ok(calls) => eprintln!("calls {calls}"),
        Err(wrong) => {
            eprintln!("{wrong}");
            std::process::exit(1);
        }
    }
    std::process::exit(0);
}

/// Runs something while calls on what lies in the folder of `path` are counted, and the one with number `at` meets its act; gives how
/// many there were.
pub fn counted(
    (at, act): (c_int, c_int),
    path: &Path,
    work: impl FnOnce() -> i64,
) -> Result<(i64, c_int), String> {
    let shim = Shim::find();
    // Only what belongs to the frame: the folder holds nothing else.
    let folder = path.parent().ok_or("a frame lies in a folder")?;
    let folder = CString::new(folder.to_str().ok_or("a plain path")?).map_err(|e| e.to_string())?;
    // SAFETY: a C string, that the shim copies.
    unsafe { (shim.arm)(folder.as_ptr(), at, act) };
    let rc = work();
    // SAFETY: no arguments.
    Ok((rc, unsafe { (shim.disarm)() }))
}

/// Makes a change.
pub fn make_change(change: usize, at: c_int, act: c_int, path: &Path) -> Result<c_int, String> {
    let lib = our_schunks();
    let change = &CHANGES[change];
    let s = lib.open_path(path).ok_or("the frame does not open")?;
    prepare(&s, change.start);
    let (before, fields) = (read(&s), s.fields());
    let (rc, calls) = counted((at, act), path, || (change.run)(&s))?;
    if act <= Act::DieHalf as c_int {
        return if rc < 0 {
            Err(format!("returns {rc}"))
        } else {
            Ok(calls)
        };
    }
    if rc >= 0 {
        // A call that need not succeed: what it was for is looked at by the parent.
        return Ok(calls);
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
    Ok(calls)
}
