//! The change lock of a mapped file. It is taken through a second open file: the mapped one stays
//! open in children of a `fork`, so after their parent died with a lock, they would keep it.

use super::Map;
use crate::change_lock::{ChangeLock, Exclusion, Pauses, Waiting};
use crate::operation;
use crate::{Mode, Storage};
use oxiblosc_base::memory::CStrBuf;
use oxiblosc_base::system::files;
use oxiblosc_base::system::locks::{self, OwnFile};
use oxiblosc_base::system::thread;
use oxiblosc_base::{Error, Result};
use std::ffi::CStr;
use std::fs::File;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long a waiting thread sleeps before it checks whether its time is up.
const CHECK_INTERVAL: Duration = Duration::from_millis(100);

impl LockOwner {
    /// The file through which the lock is taken.
    ///
    /// # Errors
    /// [`Error::LOCK`] in a child of the process that opened the map, which shares the mapped file,
    /// and so its locks, with the parent; those of [`Map::file`].
    fn locked_file<'a>(&'a self, map: &'a Map) -> Result<&'a File> {
        match &self.file {
            Some(file) => Ok(file),
            None if self.is_first => map.file(),
            None => Err(Error::LOCK),
        }
    }

    fn unlocked(is_first: bool) -> Self {
        Self {
            thread: 0,
            count: 0,
            exclusion: Exclusion::Granted,
            lock: ChangeLock::new(),
            file: None,
            forks: locks::forks(),
            is_first,
        }
    }
}

/// The lock, shared by all users of the map.
pub(super) struct MapLock {
    path: CStrBuf,
    owner: Mutex<LockOwner>,
    /// Wakes waiting threads when the lock is released.
    released: Condvar,
}

struct LockOwner {
    /// Which thread holds the lock, and how often it took it.
    thread: u64,
    count: usize,
    exclusion: Exclusion,
    lock: ChangeLock,
    /// The file through which it is taken; none if it is not open yet, or the map's path leads to
    /// another file.
    file: Option<OwnFile>,
    /// The process that opened `file` or the map: the number of forks that led to it.
    forks: u32,
    /// Whether that process opened the map.
    is_first: bool,
}

impl MapLock {
    /// The lock of the file at `path`.
    ///
    /// # Errors
    /// [`Error::MEMORY_ALLOC`].
    pub(super) fn new(path: &CStr) -> Result<Self> {
        Ok(Self {
            path: CStrBuf::copy_of(path)?,
            owner: Mutex::new(LockOwner::unlocked(true)),
            released: Condvar::new(),
        })
    }

    /// The state of the lock in this process.
    fn owner(&self) -> MutexGuard<'_, LockOwner> {
        let mut owner = self.owner.lock().unwrap_or_else(PoisonError::into_inner);
        if owner.forks != locks::forks() {
            *owner = LockOwner::unlocked(false);
        }
        owner
    }

    /// Takes the lock with `how`, unless this thread holds it already, perhaps through another
    /// handle of the map. `how` returns none if it was not taken, and does not wait, as the state
    /// is locked meanwhile. Waits for other threads of this process, until `end` if that is given.
    /// None if the lock was not taken.
    ///
    /// # Errors
    /// [`Error::LOCK`] if other threads hold it until `end`; those of `how`.
    fn take_by(
        &self,
        map: &Map,
        end: Option<Instant>,
        how: impl FnOnce(&ChangeLock, &File) -> Result<Option<Exclusion>>,
    ) -> Result<Option<Exclusion>> {
        let (mut owner, thread) = (self.owner(), thread::number());
        while owner.count > 0 && owner.thread != thread {
            let left = end.map(|end| end.saturating_duration_since(Instant::now()));
            if left.is_some_and(|left| left.is_zero()) {
                return Err(Error::LOCK);
            }
            let (again, _) = self
                .released
                .wait_timeout(
                    owner,
                    left.map_or(CHECK_INTERVAL, |left| left.min(CHECK_INTERVAL)),
                )
                .unwrap_or_else(PoisonError::into_inner);
            owner = again;
        }
        let owner = &mut *owner;
        if owner.count == 0 {
            owner.file = owner.file.take().filter(OwnFile::is_open);
            if owner.file.is_none() {
                owner.file = self.open_again(map).map(OwnFile::new);
                owner.file.as_ref().map(OwnFile::keep);
            }
            match how(&owner.lock, owner.locked_file(map)?)? {
                Some(exclusion) => owner.exclusion = exclusion,
                None => return Ok(None),
            }
        }
        owner.thread = thread;
        owner.count += 1;
        Ok(Some(owner.exclusion))
    }

    /// Opens the file of the map again. None if the path leads to another file by now.
    pub(super) fn open_again(&self, map: &Map) -> Option<File> {
        let mode = match map.access.writes_file() {
            true => Mode::ReadWrite,
            false => Mode::Read,
        };
        let file = mode.open(&self.path).ok()?;
        let is_same = files::identity(&file).ok() == map.identity();
        is_same.then_some(file)
    }

    pub(super) fn take(&self, map: &Map) -> Result<Exclusion> {
        let timeout = operation::timeout(1);
        let end = timeout.map(|timeout| Instant::now() + timeout);
        let mut waiting = Waiting::new(timeout);
        loop {
            let taken = self.take_by(map, end, |lock, file| {
                lock.attempt(file, map.identity(), &mut waiting)
            })?;
            if let Some(exclusion) = taken {
                return Ok(exclusion);
            }
            waiting.pause();
        }
    }

    pub(super) fn try_take(&self, map: &Map) -> Option<Exclusion> {
        let how = |lock: &ChangeLock, file: &File| Ok(lock.try_take(file, map.identity()));
        self.take_by(map, Some(Instant::now()), how).ok().flatten()
    }

    /// See [`Storage::complete_lock`].
    pub(super) fn complete(&self, map: &Map) -> bool {
        let owner = self.owner();
        owner
            .locked_file(map)
            .is_ok_and(|file| owner.lock.complete(file))
    }

    pub(super) fn share(&self, map: &Map, timeout: Duration) -> bool {
        let (end, mut pauses) = (Instant::now() + timeout, Pauses::new());
        let how = |lock: &ChangeLock, file: &File| {
            Ok(lock
                .share(file, Duration::ZERO)
                .then_some(Exclusion::Granted))
        };
        loop {
            match self.take_by(map, Some(end), how) {
                Ok(None) if Instant::now() < end => drop(pauses.wait()),
                taken => return matches!(taken, Ok(Some(_))),
            }
        }
    }

    pub(super) fn release(&self, map: &Map) {
        let owner = &mut *self.owner();
        if owner.count == 1 {
            owner.file = owner.file.take().filter(OwnFile::is_open);
            if let Some(file) = owner.file.as_deref().or(map.file().ok()) {
                owner.lock.release(file);
            }
            self.released.notify_one();
        }
        owner.count = owner.count.saturating_sub(1);
    }
}
