//! A file system that makes changes of a frame before chosen calls of an opening.

use super::scenarios::FrameChange;
use crate::Result;
use oxiblosc_base::memory::{Shared, shared_dyn};
use oxiblosc_base::system::locks;
use oxiblosc_io::file::Filesystem;
use oxiblosc_io::{Backend, Mode, Storage, Version, Written};
use std::ffi::CStr;
use std::fs::{File, TryLockError};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A change that waits for nothing and takes longer than this hangs.
const TIMEOUT: Duration = Duration::from_secs(60);

/// The state that the opening shares with the test.
pub(super) struct Interleaving {
    pub(super) lock_file: Option<PathBuf>,
    /// Whether the opening has the file itself locked.
    pub(super) is_locked: AtomicBool,
    pub(super) schedule: Mutex<Schedule>,
}

pub(super) struct Schedule {
    /// Before which call of the opening each change is made.
    pub(super) at: Vec<usize>,
    pub(super) calls: usize,
    pub(super) asked: usize,
    pub(super) done: usize,
    pub(super) ask: Sender<FrameChange>,
    pub(super) answers: Receiver<Result<()>>,
    pub(super) changes: [FrameChange; 2],
}

impl Interleaving {
    /// Called before each call of the opening to its back end: makes the changes that are due.
    fn call(&self) {
        let mut schedule = self.schedule.lock().unwrap();
        let now = schedule.calls;
        schedule.calls += 1;
        if schedule.at.get(schedule.asked) == Some(&now) {
            schedule
                .ask
                .send(schedule.changes[schedule.asked % 2])
                .unwrap();
            schedule.asked += 1;
        }
        if !self.blocks_changes() {
            schedule.wait();
        }
    }

    /// Whether the opening has a lock that a change would wait for.
    fn blocks_changes(&self) -> bool {
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

impl Schedule {
    /// Makes the first change now, and counts calls from here on. The second change is made before
    /// call `at`.
    pub(super) fn begin_with_a_change(&mut self, at: &[usize]) {
        self.ask.send(self.changes[0]).unwrap();
        self.asked = 1;
        self.wait();
        self.calls = 0;
        // The first change has been made, so its call never comes.
        self.at = [&[usize::MAX], at].concat();
    }

    pub(super) fn wait(&mut self) {
        while self.done < self.asked {
            let answer = self.answers.recv_timeout(TIMEOUT);
            answer.expect("a change in time").expect("a change");
            self.done += 1;
        }
    }
}

/// The file system, with changes before chosen calls.
#[derive(Clone)]
pub(super) struct InterleavedFiles {
    pub(super) interleaving: Arc<Interleaving>,
    pub(super) is_filesystem: bool,
}

struct InterleavedFile(InterleavedFiles, Shared<dyn Storage>);

impl InterleavedFile {
    fn file(&self) -> &dyn Storage {
        self.0.interleaving.call();
        &*self.1
    }
}

impl Backend for InterleavedFiles {
    fn open(&self, path: &CStr, mode: Mode) -> Result<Shared<dyn Storage>> {
        self.interleaving.call();
        let file = InterleavedFile(self.clone(), Filesystem.open(path, mode)?);
        shared_dyn!(file => dyn Storage)
    }

    fn identity(&self, path: &CStr) -> Option<(u64, u64)> {
        self.interleaving.call();
        self.is_filesystem.then(|| Filesystem.identity(path))?
    }

    fn version(&self, path: &CStr) -> Option<Version> {
        self.interleaving.call();
        self.is_filesystem.then(|| Filesystem.version(path))?
    }

    fn is_filesystem(&self) -> bool {
        self.is_filesystem
    }
}

impl Storage for InterleavedFile {
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
        self.0
            .interleaving
            .is_locked
            .store(locked, Ordering::Relaxed);
        locked || !self.0.is_filesystem
    }

    fn unlock(&self) {
        self.1.unlock();
        self.0
            .interleaving
            .is_locked
            .store(false, Ordering::Relaxed);
    }

    fn identity(&self) -> Option<(u64, u64)> {
        self.0.is_filesystem.then(|| self.file().identity())?
    }

    fn written(&self) -> Option<Written> {
        self.0.is_filesystem.then(|| self.file().written())?
    }
}
