//! The state of a handle that changes its frame: the open and locked file, and the free space in it.

use super::{Disk, is_there};
use crate::free_list::FreeList;
use crate::header::FrameKind;
use crate::journal;
use crate::leftovers::has_frame;
use oxiblosc_base::memory::{Collect, Shared, Sorted};
use oxiblosc_base::{Doing, Error, Result};
use oxiblosc_io::lock::{self, Attempt, SidecarLock};
use oxiblosc_io::readers::{FileSlot, WRITERS};
use oxiblosc_io::{Exclusion, Mode, Storage, operation, paths};
use std::time::Duration;

/// How often the file is opened if it is removed or replaced each time before it is locked.
pub(crate) const TRIES: usize = 64;

/// What is known about the free bytes between chunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Survey {
    /// Nothing.
    None,
    /// What this handle has freed. There may be few others.
    Own,
    /// All of them; or there is a chunk that cannot be read, and freed bytes are not used again.
    Whole,
}

/// What a change needs to know about the space in the file.
pub(super) struct SpaceInFile {
    /// The free bytes between header and index; not used for a sparse frame.
    pub(super) free: FreeList,
    /// What `free` takes into account; see [`Disk::survey`].
    pub(super) survey: Survey,
    /// The places of the chunks that may have free bytes between their blocks. Some may have no chunk any more.
    pub(super) loose: Sorted<u64>,
    /// The places of all chunks with bytes, a shared one several times; see [`Disk::places`].
    pub(super) places: Option<Sorted<u64>>,
}

impl SpaceInFile {
    /// Notes the places of a committed change in `places` and `loose`: those that chunks left, those of chunks that came, and those for `loose`.
    /// What there is no memory for is not noted: then some chunks are not packed at closing, and the places are listed anew when they are needed.
    pub(super) fn note(&mut self, leaves: &[(u64, u64)], places: &[u64], loose: &[u64]) {
        for (place, _) in leaves {
            self.loose.remove(*place);
        }
        for place in loose {
            if !self.loose.contains(*place) {
                let _ = self.loose.insert(*place);
            }
        }
        if let Some(all) = &mut self.places {
            for (place, _) in leaves {
                all.remove(*place);
            }
            if places.iter().any(|place| all.insert(*place).is_err()) {
                self.places = None;
            }
        }
    }

    /// Notes that chunks were moved: `moved` gives the new place for an old one. As for [`Self::note`].
    pub(super) fn note_moves(&mut self, moved: impl Fn(u64) -> u64) {
        self.places = None;
        let loose = self.loose.iter().map(moved).collect_vec();
        if let Ok(loose) = loose.and_then(Sorted::of) {
            self.loose = loose;
        }
    }
}

/// The file as it is opened for changes.
pub(super) struct WriteHandle {
    pub(super) file: Shared<dyn Storage>,
    /// The process that opened it. Its children share the open file, so a lock does not exclude them.
    process: u32,
    /// How the file is locked against changes by others, if it is.
    pub(super) locked: Option<Exclusion>,
    /// The permission to keep it open between changes, if it has one.
    slot: Option<FileSlot<'static>>,
}

impl WriteHandle {
    fn new(file: Shared<dyn Storage>, process: u32, locked: Option<Exclusion>) -> Self {
        Self {
            file,
            process,
            locked,
            slot: None,
        }
    }

    /// Whether the file may stay open between changes. A slot is taken if one is free.
    fn has_slot(&mut self) -> bool {
        if self.slot.is_none() {
            self.slot = WRITERS.take().filter(|_| self.file.keep());
        }
        self.slot.is_some()
    }
}

/// Waits for a frame that others have locked. The handle is not locked meanwhile, as its other threads may be needed to unlock the frame.
pub enum FrameWaiter {
    /// Through the lock file.
    LockFile(lock::Waiter),
    /// Through the frame's own file.
    File(Shared<dyn Storage>),
}

/// The result of [`Disk::lock_shared`]: whether this handle has locked the frame against changes by other handles.
pub enum LockState {
    /// No, and it need not: the frame has no lock file, or an operation of this thread holds the lock through another handle.
    NotNeeded,
    /// Yes, until [`Disk::unlock_shared`].
    Locked,
    /// No: another handle makes a change, or waits to make one and comes first.
    Busy(FrameWaiter),
}

/// The lock for which a [`FrameWaiter`] has waited. It is released when this is dropped.
pub enum FrameLockGuard {
    /// The lock file.
    LockFile(lock::LockGuard),
    /// The frame's own file.
    File(FileLock),
}

/// The file of a frame, locked for changes until this is dropped.
pub struct FileLock(WriteHandle);

impl FrameWaiter {
    /// Waits, at most for `timeout` if there is one, and takes the lock. The wait for the frame's own file has the limits of
    /// [`Storage::lock_exclusive`] instead.
    ///
    /// # Errors
    /// [`Error::LOCK`], also after `timeout`.
    pub fn wait(self, timeout: Option<Duration>) -> Result<FrameLockGuard> {
        match self {
            Self::LockFile(waiter) => waiter.wait(timeout).map(FrameLockGuard::LockFile),
            Self::File(file) => {
                let exclusion = file.lock_exclusive()?;
                let process = oxiblosc_pool::process();
                let handle = WriteHandle::new(file, process, Some(exclusion));
                Ok(FrameLockGuard::File(FileLock(handle)))
            }
        }
    }
}

impl Drop for WriteHandle {
    fn drop(&mut self) {
        // In a child process the lock belongs to the parent.
        if self.locked.is_some() && self.process == oxiblosc_pool::process() && self.file.is_open()
        {
            self.file.unlock();
        }
    }
}

impl Disk {
    /// Whether handles of this frame exclude each other with a lock file.
    pub fn has_lock(&self) -> bool {
        self.lock.is_some()
    }

    /// In a child process, forgets the locks and the open file of the parent.
    pub(super) fn leave_to_parent(&mut self) {
        let process = oxiblosc_pool::process();
        if self.process != process {
            self.process = process;
            (self.changing, self.held) = (0, 0);
            self.write_handle = None;
        }
    }

    /// Whether overlapping readers have held the lock for so long that all of them should release it, so that a writer gets it.
    pub fn is_shared_for_long(&mut self) -> bool {
        self.leave_to_parent();
        let lock = self.lock.as_ref();
        self.changing == 0 && lock.is_some_and(SidecarLock::is_held_for_long)
    }

    /// Locks the frame against changes by other handles until [`Self::unlock_shared`], unless another handle has it locked. Does not wait. Calls may
    /// nest. With `after_writers`, waiting writers come first.
    ///
    /// # Errors
    /// [`Error::LOCK`].
    pub fn lock_shared(&mut self, after_writers: bool) -> Result<LockState> {
        let Some(lock) = &mut self.lock else {
            return Ok(LockState::NotNeeded);
        };
        let (kept, changed) = match lock.attempt(false, after_writers, None)? {
            Attempt::Taken { changed } => (LockState::Locked, changed),
            Attempt::Held { changed } => (LockState::NotNeeded, changed),
            Attempt::Busy(waiter) => return Ok(LockState::Busy(FrameWaiter::LockFile(waiter))),
        };
        let was_closed = lock.take_was_closed();
        self.stale |= changed;
        if was_closed {
            self.forget_closed_reader();
        }
        Ok(kept)
    }

    /// Whether an operation of this thread has locked the frame through another handle, so that a change would wait for itself.
    pub fn is_locked_around(&self) -> bool {
        let lock = self.lock.as_ref();
        lock.is_some_and(SidecarLock::is_held_around)
    }

    /// Device and inode of the lock file, if this handle has it locked.
    pub fn locked_file(&self) -> Option<(u64, u64)> {
        self.lock.as_ref().and_then(SidecarLock::locked_file)
    }

    /// Releases what [`Self::lock_shared`] has locked.
    pub fn unlock_shared(&mut self) {
        if let Some(lock) = &mut self.lock {
            lock.unlock();
        }
    }

    /// Locks the frame exclusively for a change, until [`Self::unlock`]. Waits for others. Calls may nest; within [`Self::lock_shared`] the frame
    /// stays locked as it is.
    ///
    /// # Errors
    /// [`Error::LOCK`]; then this call has locked nothing.
    pub fn lock(&mut self) -> Result<()> {
        let mut guard = None;
        while let Some(waiter) = self.try_lock(guard)? {
            guard = Some(waiter.wait(operation::timeout(0))?);
        }
        Ok(())
    }

    /// As [`Self::lock`], without waiting: if others have the lock, returns what waits for it. `guard` is the result of the waiter of the last
    /// attempt.
    ///
    /// # Errors
    /// As for that.
    pub fn try_lock(&mut self, guard: Option<FrameLockGuard>) -> Result<Option<FrameWaiter>> {
        self.leave_to_parent();
        let (mut lock_file, mut file) = (None, None);
        match guard {
            Some(FrameLockGuard::LockFile(guard)) => lock_file = Some(guard),
            Some(FrameLockGuard::File(guard)) => file = Some(guard),
            None => {}
        }
        if let Some(lock) = &mut self.lock {
            match lock.attempt(true, false, lock_file)? {
                Attempt::Taken { changed } | Attempt::Held { changed } => self.stale |= changed,
                Attempt::Busy(waiter) => return Ok(Some(FrameWaiter::LockFile(waiter))),
            }
        }
        if self.changing == self.held {
            self.forget_closed_writer();
        }
        self.changing += 1;
        if let Some(FileLock(handle)) = file {
            let free = self
                .write_handle
                .as_ref()
                .is_none_or(|known| known.locked.is_none());
            if free {
                self.write_handle = Some(handle);
            }
        }
        match self.lock_file(false) {
            Ok(Some(_)) => Ok(None),
            Ok(None) => {
                self.unlock();
                let handle = self.write_handle.as_ref().ok_or(Error::LOCK)?;
                Ok(Some(FrameWaiter::File(handle.file.clone())))
            }
            Err(error) if error == Error::LOCK => {
                self.unlock();
                Err(error)
            }
            // If the file cannot be opened, the change returns that error.
            Err(_) => Ok(None),
        }
    }

    /// Notes that the lock which [`Self::lock`] has taken stays until [`Self::release`], after the call of the program that has taken it.
    pub fn hold(&mut self) {
        self.held += 1;
    }

    /// Releases what [`Self::hold`] keeps.
    pub fn release(&mut self) {
        self.held = self.held.saturating_sub(1);
        // The lock may be of a descriptor that the program has closed since.
        self.forget_closed_writer();
        if let Some(lock) = &mut self.lock {
            lock.forget_closed();
        }
        self.unlock();
    }

    /// Forgets the file that is kept open for changes, if the program has closed its descriptor. Without this, a change might be written into
    /// another file. If none is left, the same is done for that for reading.
    pub(super) fn forget_closed_writer(&mut self) {
        let known = self.write_handle.as_ref();
        if known.is_none_or(|handle| !handle.file.is_open()) {
            self.write_handle = None;
            self.forget_closed_reader();
        }
    }

    /// Releases what [`Self::lock`] has locked.
    pub fn unlock(&mut self) {
        self.leave_to_parent();
        self.changing = self.changing.saturating_sub(1);
        if let Some(handle) = self
            .write_handle
            .as_mut()
            .filter(|handle| handle.locked.is_some() && self.changing == 0)
        {
            handle.file.unlock();
            handle.locked = None;
            self.size = None;
            // A map cannot be opened again.
            if self.options.backend.is_filesystem() && !handle.has_slot() {
                self.write_handle = None;
            }
        }
        self.unlock_shared();
    }

    /// Runs `work` with the frame locked as by [`Self::lock`].
    pub(super) fn while_locked(
        &mut self,
        work: impl FnOnce(&mut Self) -> Result<()>,
    ) -> Result<()> {
        self.lock()?;
        let done = work(self);
        self.unlock();
        done
    }

    /// Opens the file for a change and locks it against changes by others. Without `waits`, none if others have it locked.
    pub(super) fn lock_file(&mut self, waits: bool) -> Result<Option<Shared<dyn Storage>>> {
        self.leave_to_parent();
        let backend = &self.options.backend;
        let mut is_new = self.write_handle.is_none();
        for _ in 0..TRIES {
            if self.write_handle.is_none() {
                is_new = true;
                let file = backend.open(&self.file, Mode::ReadWrite)?;
                if !backend.is_filesystem() && !backend.is_mmap() {
                    return Ok(Some(file));
                }
                self.write_handle = Some(WriteHandle::new(file, self.process, None));
            }
            let handle = self.write_handle.as_mut().ok_or(Error::FILE_OPEN)?;
            if handle.locked.is_none() {
                handle.locked = match waits {
                    true => Some(handle.file.lock_exclusive()?),
                    false => handle.file.try_lock_exclusive(),
                };
            }
            match handle.locked {
                Some(Exclusion::Granted) => {}
                // Where there are no locks, nothing tells whether another handle makes a change.
                Some(Exclusion::Unavailable) if self.is_creator || self.lock.is_some() => {}
                Some(Exclusion::Unavailable) => {
                    return Err(Error::LOCK.at(Doing::ChangeWithoutLocks));
                }
                None => return Ok(None),
            }
            let file = handle.file.clone();
            // What is written to a file without a name is lost. A map cannot be opened again. Other files are opened again if the path leads to
            // another one; for a file that was open before, refreshing the frame has checked that.
            if backend.is_mmap() && !file.has_name() {
                return Err(Error::FILE_OPEN);
            }
            let names_it = || backend.identity(&self.file) == file.identity();
            if !is_new || !backend.is_filesystem() || names_it() {
                return Ok(Some(file));
            }
            self.write_handle = None;
        }
        Err(Error::FILE_OPEN)
    }

    /// As [`Self::lock_file`], after the file was replaced.
    pub(super) fn lock_anew(&mut self) -> Result<()> {
        self.write_handle = None;
        match self.lock_file(true) {
            Err(error) if error == Error::LOCK => Err(error),
            // If the file cannot be opened, the change returns that error.
            _ => Ok(()),
        }
    }

    /// Whether the file that is open for changes has this identity; true if none is open.
    pub(super) fn writes_to(&self, identity: Option<(u64, u64)>) -> bool {
        let handle = self.write_handle.as_ref();
        let handle = handle.filter(|_| self.options.backend.is_filesystem());
        handle.is_none_or(|handle| handle.file.identity() == identity)
    }

    /// The file that is open and locked for changes.
    pub(super) fn locked_writer(&self) -> Option<&Shared<dyn Storage>> {
        let own = self.write_handle.as_ref();
        own.filter(|own| own.locked.is_some()).map(|own| &own.file)
    }

    /// The same during a change, if it is the frame's: when that began, its descriptor was checked.
    pub(super) fn checked_writer(&self) -> Option<Shared<dyn Storage>> {
        let is_checked = self.changing > self.held && self.writes_to(self.identity);
        self.locked_writer().filter(|_| is_checked).cloned()
    }

    /// Whether this handle has locked `file` against changes by others, if its back end has such locks.
    pub(super) fn has_change_lock(&self, file: &dyn Storage) -> bool {
        let own = self.write_handle.as_ref();
        let is_locked = own.is_some_and(|own| own.locked == Some(Exclusion::Granted));
        is_locked && self.writes_to(file.identity())
    }

    /// Opens and locks the file for a change, removes what is behind the frame, and makes sure that the view is up to date. Callers have called
    /// [`Disk::refresh`] under the lock under which they make their change.
    pub(super) fn prepare(&mut self) -> Result<Shared<dyn Storage>> {
        if let Some(error) = self.missing {
            return Err(error);
        }
        if self.stale {
            return Err(Error::FILE_READ);
        }
        let is_new = self.write_handle.is_none();
        let file = self.lock_file(true)?.ok_or(Error::LOCK)?;
        if self.options.durable && self.space.is_none() {
            self.sync_what_is_there(&*file)?;
        }
        let size = match self.size.take() {
            Some(size) => size,
            None => file.size()?,
        };
        let size = size.checked_sub(self.base).ok_or(Error::FILE_READ)?;
        let behind = size.checked_sub(self.view.extent.frame_len);
        let behind = behind.ok_or(Error::FILE_READ)?;
        if behind > 0 {
            self.clear_behind(&*file, behind)?;
        }
        self.view.pending = None;
        if (is_new || behind > 0) && !self.has_state_of(&*file) {
            self.stale = true;
            return Err(Error::FILE_READ);
        }
        if self.space.is_none() {
            let end = match self.kind {
                // The index is where the chunks end. The last one, which may be damaged, or another may say otherwise.
                FrameKind::Contiguous if self.view.capacity.is_none() => self.view.extent.cbytes,
                FrameKind::Contiguous => self.data_end()?,
                FrameKind::Sparse => 0,
            };
            self.space = Some(SpaceInFile {
                free: FreeList::opaque(end),
                survey: Survey::None,
                loose: Sorted::new(),
                places: None,
            });
        }
        Ok(file)
    }

    /// Rolls back an uncommitted change, if the file had the record of one when the frame was read, so that the file holds the frame as this
    /// handle knows it. If the change was committed or rolled back since, nothing is done.
    ///
    /// # Errors
    /// [`Error::LOCK`]; those of output.
    pub fn roll_back_pending(&mut self) -> Result<()> {
        if self.view.pending.is_none() {
            return Ok(());
        }
        self.while_locked(|disk| match disk.is_current() {
            true => disk.prepare().map(drop),
            false => Ok(()),
        })
    }

    /// Syncs what another process may have written and not synced. This change relies on chunks and names that the other process has written.
    /// Also, it reuses space which the other process has freed: if a loss of power undid the other's commit, the old frame would be restored
    /// with overwritten chunks.
    fn sync_what_is_there(&mut self, file: &dyn Storage) -> Result<()> {
        let backend = &self.options.backend;
        if self.kind == FrameKind::Sparse && backend.is_filesystem() {
            return paths::sync_dir_with_files(&self.path);
        }
        file.sync()?;
        if !self.is_name_durable && (backend.is_filesystem() || backend.is_mmap()) {
            paths::sync_parent(&paths::followed(&self.path)?)?;
            self.is_name_durable = true;
        }
        Ok(())
    }

    /// Rolls back an uncommitted change, or truncates the `len` bytes behind the frame.
    fn clear_behind(&self, file: &dyn Storage, len: u64) -> Result<()> {
        if journal::roll_back(file, Some(self.base), self.options.durable)? {
            return Ok(());
        }
        // If the frame was changed since it was read, the bytes may belong to it.
        if !is_there(&self.view.pending, file) || !self.has_state_of(file) {
            return Err(Error::FILE_READ);
        }
        // There may be another frame among the bytes, which must not be destroyed.
        let end = self.base + self.view.extent.frame_len;
        match has_frame(file, end, end + len)? {
            true => Err(Error::FILE_WRITE),
            false => file.truncate(end),
        }
    }
}
