//! The lock of a map's file, for changes. It is taken through a file of its own: the one that is mapped stays open as long as any child of a
//! `fork` has the map, and with it a lock that its process did not live to release.

use super::Map;
use crate::change_lock::ChangeLock;
use crate::operation;
use crate::{Mode, Storage};
use oxiblosc_error::{Error, Result};
use oxiblosc_memory::CStrBuf;
use oxiblosc_system::files;
use oxiblosc_system::locks::{self, OwnFile};
use oxiblosc_system::thread;
use std::ffi::CStr;
use std::fs::File;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long who waits sleeps before it looks whether it has waited for too long.
const A_WHILE: Duration = Duration::from_millis(100);

impl Held {
    fn by_nobody(is_first: bool) -> Self {
        Self {
            thread: 0,
            count: 0,
            lock: ChangeLock::new(),
            file: None,
            forks: locks::forks(),
            is_first,
        }
    }
}

/// The lock, which all users of the map have together.
pub(super) struct MapLock {
    path: CStrBuf,
    held: Mutex<Held>,
    /// Tells those that wait that it is not held any more.
    left: Condvar,
}

struct Held {
    /// Which thread has it, and how often it took it.
    thread: u64,
    count: usize,
    lock: ChangeLock,
    /// Where it is taken: none if the map's file has another name now.
    file: Option<OwnFile>,
    /// The process that opened that, or the map.
    forks: u32,
    /// Whether it is the one that opened the map.
    is_first: bool,
}

impl MapLock {
    /// That of the file at `path`.
    ///
    /// # Errors
    /// [`Error::MemoryAlloc`].
    pub(super) fn new(path: &CStr) -> Result<Self> {
        Ok(Self {
            path: CStrBuf::copy_of(path)?,
            held: Mutex::new(Held::by_nobody(true)),
            left: Condvar::new(),
        })
    }

    /// What is held, by this process.
    fn held(&self) -> MutexGuard<'_, Held> {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        if held.forks != locks::forks() {
            *held = Held::by_nobody(false);
        }
        held
    }

    /// Takes it by `how` unless this thread has it already, through another handle of the map, too. Other threads are waited for
    /// where it `waits`.
    fn take_by(
        &self,
        map: &Map,
        waits: bool,
        how: impl FnOnce(&ChangeLock, &File) -> Result<()>,
    ) -> Result<()> {
        let (mut held, thread) = (self.held(), thread::number());
        let end = operation::patience(1).map(|patience| Instant::now() + patience);
        while held.count > 0 && held.thread != thread {
            if !waits || end.is_some_and(|end| Instant::now() >= end) {
                return Err(Error::Lock);
            }
            let (again, _) = self
                .left
                .wait_timeout(held, A_WHILE)
                .unwrap_or_else(PoisonError::into_inner);
            held = again;
        }
        let held = &mut *held;
        if held.count == 0 {
            if held.file.is_none() {
                held.file = self.open(map);
            }
            let file = match &held.file {
                Some(file) => file,
                None if held.is_first => &map.file,
                // This process's parent has the file of the map, too, and the same locks.
                None => return Err(Error::Lock),
            };
            how(&held.lock, file)?;
        }
        held.thread = thread;
        held.count += 1;
        Ok(())
    }

    fn open(&self, map: &Map) -> Option<OwnFile> {
        let mode = match map.access.writes_file() {
            true => Mode::ReadWrite,
            false => Mode::Read,
        };
        let file = OwnFile::new(mode.open(&self.path).ok()?);
        let is_same = files::identity(&file).ok() == map.identity();
        is_same.then_some(file)
    }

    pub(super) fn take(&self, map: &Map) -> Result<()> {
        self.take_by(map, true, |lock, file| lock.take(file, map.identity()))
    }

    pub(super) fn try_take(&self, map: &Map) -> bool {
        let taken = |done| if done { Ok(()) } else { Err(Error::Lock) };
        let how = |lock: &ChangeLock, file: &File| taken(lock.try_take(file, map.identity()));
        self.take_by(map, false, how).is_ok()
    }

    pub(super) fn share(&self, map: &Map, patience: Duration) -> bool {
        let taken = |done| if done { Ok(()) } else { Err(Error::Lock) };
        let how = |lock: &ChangeLock, file: &File| taken(lock.share(file, patience));
        self.take_by(map, !patience.is_zero(), how).is_ok()
    }

    pub(super) fn leave(&self, map: &Map) {
        let held = &mut *self.held();
        if held.count == 1 {
            held.lock.leave(held.file.as_deref().unwrap_or(&map.file));
            self.left.notify_one();
        }
        held.count = held.count.saturating_sub(1);
    }
}
