//! Where an opening and the changes meet: before each call that the opening makes to its files.

use super::scenes::SceneChange;
use crate::Result;
use oxiblosc_io::file::Filesystem;
use oxiblosc_io::{Backend, Mode, Storage, Version, Written};
use oxiblosc_memory::{Shared, shared_dyn};
use oxiblosc_system::locks;
use std::ffi::CStr;
use std::fs::{File, TryLockError};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Seconds after which a change hangs that nothing keeps waiting.
const PATIENCE: Duration = Duration::from_secs(60);

/// The thread that makes the changes, and where the opening is.
pub(super) struct Meeting {
    pub(super) lock_file: Option<PathBuf>,
    /// Whether the opening has the file itself locked.
    pub(super) is_locked: AtomicBool,
    pub(super) line: Mutex<Line>,
}

pub(super) struct Line {
    /// Before which call of the opening each change is made.
    pub(super) at: Vec<usize>,
    pub(super) calls: usize,
    pub(super) asked: usize,
    pub(super) made: usize,
    pub(super) ask: Sender<SceneChange>,
    pub(super) answers: Receiver<Result<()>>,
    pub(super) changes: [SceneChange; 2],
}

impl Meeting {
    /// The opening is about to call its back end.
    fn call(&self) {
        let mut line = self.line.lock().unwrap();
        let now = line.calls;
        line.calls += 1;
        if line.at.get(line.asked) == Some(&now) {
            line.ask.send(line.changes[line.asked % 2]).unwrap();
            line.asked += 1;
        }
        if !self.keeps_out() {
            line.wait();
        }
    }

    /// Whether the opening has a lock that a change would wait for.
    fn keeps_out(&self) -> bool {
        let shared = |path: &PathBuf| {
            let Ok(file) = File::open(path) else {
                return false;
            };
            let alone = locks::try_lock(&file);
            matches!(alone, Err(TryLockError::WouldBlock)) && locks::try_lock_shared(&file).is_ok()
        };
        self.is_locked.load(Ordering::Relaxed) || self.lock_file.as_ref().is_some_and(shared)
    }
}

impl Line {
    /// Makes the first change now, and counts calls from here on. The second one comes before this call.
    pub(super) fn begin_with_a_change(&mut self, at: &[usize]) {
        self.ask.send(self.changes[0]).unwrap();
        self.asked = 1;
        self.wait();
        self.calls = 0;
        // The place of the first one.
        self.at = [&[usize::MAX], at].concat();
    }

    pub(super) fn wait(&mut self) {
        while self.made < self.asked {
            let answer = self.answers.recv_timeout(PATIENCE);
            answer.expect("a change in time").expect("a change");
            self.made += 1;
        }
    }
}

/// The file system, with a meeting before each call.
#[derive(Clone)]
pub(super) struct Watched {
    pub(super) meeting: Arc<Meeting>,
    pub(super) is_filesystem: bool,
}

struct WatchedFile(Watched, Shared<dyn Storage>);

impl WatchedFile {
    fn file(&self) -> &dyn Storage {
        self.0.meeting.call();
        &*self.1
    }
}

impl Backend for Watched {
    fn open(&self, path: &CStr, mode: Mode) -> Result<Shared<dyn Storage>> {
        self.meeting.call();
        let file = WatchedFile(self.clone(), Filesystem.open(path, mode)?);
        shared_dyn!(file => dyn Storage)
    }

    fn identity(&self, path: &CStr) -> Option<(u64, u64)> {
        self.meeting.call();
        self.is_filesystem.then(|| Filesystem.identity(path))?
    }

    fn version(&self, path: &CStr) -> Option<Version> {
        self.meeting.call();
        self.is_filesystem.then(|| Filesystem.version(path))?
    }

    fn is_filesystem(&self) -> bool {
        self.is_filesystem
    }
}

impl Storage for WatchedFile {
    fn size(&self) -> Result<u64> {
        self.file().size()
    }

    fn read_at(&self, pos: u64, buf: &mut [u8]) -> Result<()> {
        self.file().read_at(pos, buf)
    }

    fn write_at(&self, pos: u64, buf: &[u8]) -> Result<()> {
        self.file().write_at(pos, buf)
    }

    fn truncate(&self, size: u64) -> Result<()> {
        self.file().truncate(size)
    }

    fn sync(&self) -> Result<()> {
        self.file().sync()
    }

    fn lock_shared(&self, patience: Duration) -> bool {
        let locked = self.0.is_filesystem && self.file().lock_shared(patience);
        self.0.meeting.is_locked.store(locked, Ordering::Relaxed);
        locked || !self.0.is_filesystem
    }

    fn unlock(&self) {
        self.1.unlock();
        self.0.meeting.is_locked.store(false, Ordering::Relaxed);
    }

    fn identity(&self) -> Option<(u64, u64)> {
        self.0.is_filesystem.then(|| self.file().identity())?
    }

    fn written(&self) -> Option<Written> {
        self.0.is_filesystem.then(|| self.file().written())?
    }
}
