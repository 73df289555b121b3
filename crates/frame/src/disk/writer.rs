//! The locks of a handle that changes its frame, and its file, made ready for a change.

use super::Disk;
use super::locks::{FileLock, FrameLockGuard, FrameWaiter, LockState, TRIES, WriteHandle};
use super::space::{SpaceInFile, Survey};
use super::view::is_there;
use crate::free_list::FreeList;
use crate::header::FrameKind;
use crate::journal;
use crate::leftovers::has_frame;
use oxiblosc_base::memory::{Shared, Sorted};
use oxiblosc_base::{Doing, Error, Result};
use oxiblosc_io::lock::{Attempt, SidecarLock};
use oxiblosc_io::{Exclusion, Mode, Storage, operation, paths};

impl Disk {
    /// Whether handles of this frame exclude each other with a lock file.
    pub fn has_lock(&self) -> bool {
        self.locks.lock_file.is_some()
    }

    /// Whether overlapping readers have held the lock for so long that all of them should release
    /// it, so that a writer gets it.
    pub fn is_shared_for_long(&mut self) -> bool {
        self.locks.leave_to_parent();
        let lock = self.locks.lock_file.as_ref();
        self.locks.changing == 0 && lock.is_some_and(SidecarLock::is_held_for_long)
    }

    /// Locks the frame against changes by other handles until [`Self::unlock_shared`], unless
    /// another handle has it locked. Does not wait. Calls may nest. With `after_writers`, waiting
    /// writers come first.
    ///
    /// # Errors
    /// [`Error::LOCK`].
    pub fn lock_shared(&mut self, after_writers: bool) -> Result<LockState> {
        let Some(lock) = &mut self.locks.lock_file else {
            return Ok(LockState::NotNeeded);
        };
        let (kept, changed) = match lock.attempt(false, after_writers, None)? {
            Attempt::Acquired { changed } => (LockState::Locked, changed),
            Attempt::AlreadyHeld { changed } => (LockState::NotNeeded, changed),
            Attempt::Busy(waiter) => return Ok(LockState::Busy(FrameWaiter::LockFile(waiter))),
        };
        let was_closed = lock.take_was_closed();
        self.last_read.stale |= changed;
        if was_closed {
            self.forget_closed_reader();
        }
        Ok(kept)
    }

    /// Whether an operation of this thread has locked the frame through another handle, so that a
    /// change would wait for itself.
    pub fn is_locked_around(&self) -> bool {
        let lock = self.locks.lock_file.as_ref();
        lock.is_some_and(SidecarLock::is_held_around)
    }

    /// Device and inode of the lock file, if this handle has it locked.
    pub fn locked_file(&self) -> Option<(u64, u64)> {
        self.locks
            .lock_file
            .as_ref()
            .and_then(SidecarLock::locked_file)
    }

    /// Releases what [`Self::lock_shared`] has locked.
    pub fn unlock_shared(&mut self) {
        self.locks.unlock_shared();
    }

    /// Locks the frame exclusively for a change, until [`Self::unlock`]. Waits for others. Calls
    /// may nest; within [`Self::lock_shared`] the frame stays locked as it is.
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

    /// As [`Self::lock`], without waiting: if others have the lock, returns what waits for it.
    /// `guard` is the result of the waiter of the last attempt.
    ///
    /// # Errors
    /// As for that.
    pub fn try_lock(&mut self, guard: Option<FrameLockGuard>) -> Result<Option<FrameWaiter>> {
        self.locks.leave_to_parent();
        let (mut lock_file, mut file) = (None, None);
        match guard {
            Some(FrameLockGuard::LockFile(guard)) => lock_file = Some(guard),
            Some(FrameLockGuard::File(guard)) => file = Some(guard),
            None => {}
        }
        if let Some(lock) = &mut self.locks.lock_file {
            match lock.attempt(true, false, lock_file)? {
                Attempt::Acquired { changed } | Attempt::AlreadyHeld { changed } => {
                    self.last_read.stale |= changed
                }
                Attempt::Busy(waiter) => return Ok(Some(FrameWaiter::LockFile(waiter))),
            }
        }
        if self.locks.changing == self.locks.held {
            self.forget_closed_writer();
        }
        self.locks.changing += 1;
        if let Some(FileLock(handle)) = file {
            let free = self
                .locks
                .write_handle
                .as_ref()
                .is_none_or(|known| known.locked.is_none());
            if free {
                self.locks.write_handle = Some(handle);
            }
        }
        match self.lock_file(false) {
            Ok(Some(_)) => Ok(None),
            Ok(None) => {
                self.unlock();
                let handle = self.locks.write_handle.as_ref().ok_or(Error::LOCK)?;
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

    /// Notes that the lock which [`Self::lock`] has taken stays until [`Self::release`], after the
    /// call of the program that has taken it.
    pub fn hold(&mut self) {
        self.locks.held += 1;
    }

    /// Releases what [`Self::hold`] keeps.
    pub fn release(&mut self) {
        self.locks.held = self.locks.held.saturating_sub(1);
        // The lock may be of a descriptor that the program has closed since.
        self.forget_closed_writer();
        if let Some(lock) = &mut self.locks.lock_file {
            lock.forget_closed();
        }
        self.unlock();
    }

    /// Forgets the file that is kept open for changes, if the program has closed its descriptor.
    /// Without this, a change might be written into another file. If none is left, the same is done
    /// for that for reading.
    pub(super) fn forget_closed_writer(&mut self) {
        let known = self.locks.write_handle.as_ref();
        if known.is_none_or(|handle| !handle.file.is_open()) {
            self.locks.write_handle = None;
            self.forget_closed_reader();
        }
    }

    /// Releases what [`Self::lock`] has locked.
    pub fn unlock(&mut self) {
        self.locks.leave_to_parent();
        self.locks.changing = self.locks.changing.saturating_sub(1);
        if let Some(handle) = self
            .locks
            .write_handle
            .as_mut()
            .filter(|handle| handle.locked.is_some() && self.locks.changing == 0)
        {
            handle.file.unlock();
            handle.locked = None;
            self.locks.size = None;
            // A map cannot be opened again.
            if self.options.backend.is_filesystem() && !handle.has_slot() {
                self.locks.write_handle = None;
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

    /// Opens the file for a change and locks it against changes by others. Without `waits`, none if
    /// others have it locked.
    pub(super) fn lock_file(&mut self, waits: bool) -> Result<Option<Shared<dyn Storage>>> {
        self.locks.leave_to_parent();
        let backend = &self.options.backend;
        let mut is_new = self.locks.write_handle.is_none();
        for _ in 0..TRIES {
            if self.locks.write_handle.is_none() {
                is_new = true;
                let file = backend.open(&self.location.file, Mode::ReadWrite)?;
                if !backend.is_filesystem() && !backend.is_mmap() {
                    return Ok(Some(file));
                }
                self.locks.write_handle = Some(WriteHandle::new(file, self.locks.process, None));
            }
            let handle = self.locks.write_handle.as_mut().ok_or(Error::FILE_OPEN)?;
            if handle.locked.is_none() {
                handle.locked = match waits {
                    true => Some(handle.file.lock_exclusive()?),
                    false => handle.file.try_lock_exclusive(),
                };
            }
            match handle.locked {
                Some(Exclusion::Granted) => {}
                // Where there are no locks, nothing tells whether another handle makes a change.
                Some(Exclusion::Unavailable)
                    if self.creation.is_creator || self.locks.lock_file.is_some() => {}
                Some(Exclusion::Unavailable) => {
                    return Err(Error::LOCK.at(Doing::ChangeWithoutLocks));
                }
                None => return Ok(None),
            }
            let file = handle.file.clone();
            // What is written to a file without a name is lost. A map cannot be opened again. Other
            // files are opened again if the path leads to another one; for a file that was open
            // before, refreshing the frame has checked that.
            if backend.is_mmap() && !file.has_name() {
                return Err(Error::FILE_OPEN);
            }
            let names_it = || backend.identity(&self.location.file) == file.identity();
            if !is_new || !backend.is_filesystem() || names_it() {
                return Ok(Some(file));
            }
            self.locks.write_handle = None;
        }
        Err(Error::FILE_OPEN)
    }

    /// As [`Self::lock_file`], after the file was replaced.
    pub(super) fn lock_anew(&mut self) -> Result<()> {
        self.locks.write_handle = None;
        match self.lock_file(true) {
            Err(error) if error == Error::LOCK => Err(error),
            // If the file cannot be opened, the change returns that error.
            _ => Ok(()),
        }
    }

    /// Whether the file that is open for changes has this identity; true if none is open.
    pub(super) fn writes_to(&self, identity: Option<(u64, u64)>) -> bool {
        let handle = self.locks.write_handle.as_ref();
        let handle = handle.filter(|_| self.options.backend.is_filesystem());
        handle.is_none_or(|handle| handle.file.identity() == identity)
    }

    /// The file that is open for a change, if it is the frame's: when the change began, its
    /// descriptor was checked.
    pub(super) fn checked_writer(&self) -> Option<Shared<dyn Storage>> {
        let is_checked =
            self.locks.changing > self.locks.held && self.writes_to(self.last_read.identity);
        self.locks.locked_writer().filter(|_| is_checked).cloned()
    }

    /// Whether this handle has locked `file` against changes by others, if its back end has such
    /// locks.
    pub(super) fn has_change_lock(&self, file: &dyn Storage) -> bool {
        self.locks.is_granted() && self.writes_to(file.identity())
    }

    /// Opens and locks the file for a change, removes what is behind the frame, and makes sure that
    /// the view is up to date. Callers have called [`Disk::refresh`] under the lock under which
    /// they make their change.
    pub(super) fn prepare(&mut self) -> Result<Shared<dyn Storage>> {
        if let Some(error) = self.last_read.missing {
            return Err(error);
        }
        if self.last_read.stale {
            return Err(Error::FILE_READ);
        }
        let is_new = self.locks.write_handle.is_none();
        let file = self.lock_file(true)?.ok_or(Error::LOCK)?;
        if self.options.durable && self.space.is_none() {
            self.sync_what_is_there(&*file)?;
        }
        let size = match self.locks.size.take() {
            Some(size) => size,
            None => file.size()?,
        };
        let size = size
            .checked_sub(self.location.base)
            .ok_or(Error::FILE_READ)?;
        let behind = size.checked_sub(self.view.extent.frame_len);
        let behind = behind.ok_or(Error::FILE_READ)?;
        if behind > 0 {
            self.clear_behind(&*file, behind)?;
        }
        self.view.pending = None;
        if (is_new || behind > 0) && !self.has_state_of(&*file) {
            self.last_read.stale = true;
            return Err(Error::FILE_READ);
        }
        if self.space.is_none() {
            let end = match self.location.kind {
                // The index is where the chunks end. The last one, which may be damaged, or another
                // may say otherwise.
                FrameKind::Contiguous if self.view.capacity.is_none() => self.view.extent.cbytes,
                FrameKind::Contiguous => self.data_end()?,
                FrameKind::Sparse => 0,
            };
            self.space = Some(SpaceInFile {
                free: FreeList::opaque(end),
                survey: Survey::None,
                loose: Sorted::new(),
                positions: None,
            });
        }
        Ok(file)
    }

    /// Rolls back an uncommitted change, if the file had the record of one when the frame was read,
    /// so that the file holds the frame as this handle knows it. If the change was committed or
    /// rolled back since, nothing is done.
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

    /// Syncs what another process may have written and not synced. This change relies on chunks and
    /// names that the other process has written. Also, it reuses space which the other process has
    /// freed: if a loss of power undid the other's commit, the old frame would be restored with
    /// overwritten chunks.
    fn sync_what_is_there(&mut self, file: &dyn Storage) -> Result<()> {
        let backend = &self.options.backend;
        if self.location.kind == FrameKind::Sparse && backend.is_filesystem() {
            return paths::sync_dir_with_files(&self.location.path);
        }
        file.sync()?;
        if !self.creation.is_name_durable && (backend.is_filesystem() || backend.is_mmap()) {
            paths::sync_parent(&paths::followed(&self.location.path)?)?;
            self.creation.is_name_durable = true;
        }
        Ok(())
    }

    /// Rolls back an uncommitted change, or truncates the `len` bytes behind the frame.
    fn clear_behind(&self, file: &dyn Storage, len: u64) -> Result<()> {
        if journal::roll_back(file, Some(self.location.base), self.options.durable)? {
            return Ok(());
        }
        // If the frame was changed since it was read, the bytes may belong to it.
        if !is_there(&self.view.pending, file) || !self.has_state_of(file) {
            return Err(Error::FILE_READ);
        }
        // There may be another frame among the bytes, which must not be destroyed.
        let end = self.location.base + self.view.extent.frame_len;
        match has_frame(file, end, end + len)? {
            true => Err(Error::FILE_WRITE),
            false => file.truncate(end),
        }
    }
}
