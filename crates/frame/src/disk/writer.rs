//! What a handle has that changes its frame: the file, opened and locked, and what is known of the room in it.

use super::{Disk, is_there, is_written};
use crate::free_list::FreeList;
use crate::header::FrameKind;
use crate::journal;
use crate::leftovers::has_frame;
use oxiblosc_error::{Error, Result};
use oxiblosc_io::lock::{self, Attempt, SidecarLock};
use oxiblosc_io::{Mode, Storage, StorageLock, Written, operation, paths};
use oxiblosc_memory::{List, Shared};
use std::time::Duration;

/// How often the file is opened again where it was removed or replaced before it was locked.
pub(crate) const TRIES: usize = 64;

/// What a change needs to know of the room in the file.
pub(super) struct SpaceInFile {
    /// What is free between header and index; unused in a sparse frame.
    pub(super) free: FreeList,
    /// Whether `free` was made from all chunks.
    pub(super) surveyed: bool,
    /// Where chunks begin that may have free bytes between their blocks.
    pub(super) loose: List<u64>,
    /// In a sparse frame, behind the highest number of a chunk's file, where that is known.
    pub(super) next_number: Option<u64>,
}

/// The file as it is opened for changes.
pub(super) struct WriteHandle {
    pub(super) file: Shared<dyn Storage>,
    /// The process that opened it. Its children share the open file, so a lock does not exclude them.
    process: u32,
    /// Whether the file is locked against others that change it.
    pub(super) locked: bool,
}

/// When a file was last written to, now that it was. It must be later than `before`, so that other handles notice.
fn later(file: &dyn Storage, before: Option<Written>) -> Option<Written> {
    match before {
        Some(before) => file.written_after(before),
        None => file.written(),
    }
}

/// Waits for a frame that others have locked, with nothing locked that they may need.
pub enum FrameWaiter {
    /// Through the lock file.
    LockFile(lock::Waiter),
    /// Through the frame's own file.
    File(Shared<dyn Storage>),
}

/// Whether a handle has locked its frame against changes by other handles.
pub enum LockState {
    /// It has not, and need not: the frame has no lock file, or an operation of this thread has the lock.
    NotNeeded,
    /// It has, until [`Disk::unlock_shared`].
    Locked,
    /// It has not: a change is being made, or waits to be made and comes first.
    Busy(FrameWaiter),
}

/// A lock that a [`FrameWaiter`] got. It is released when this is dropped.
pub enum FrameLockGuard {
    /// The lock file.
    LockFile(lock::LockGuard),
    /// The frame's own file.
    File(FileLock),
}

/// The file of a frame, locked for changes until this is dropped.
pub struct FileLock(WriteHandle);

impl FrameWaiter {
    /// Waits, at most for `timeout`, if there is such a limit.
    ///
    /// # Errors
    /// [`Error::Lock`].
    pub fn wait(self, timeout: Option<Duration>) -> Result<FrameLockGuard> {
        match self {
            Self::LockFile(waiter) => waiter.wait(timeout).map(FrameLockGuard::LockFile),
            Self::File(file) => {
                file.lock_exclusive()?;
                Ok(FrameLockGuard::File(FileLock(WriteHandle {
                    file,
                    process: oxiblosc_pool::process(),
                    locked: true,
                })))
            }
        }
    }
}

impl Drop for WriteHandle {
    fn drop(&mut self) {
        // In a child the lock is the parent's.
        if self.locked && self.process == oxiblosc_pool::process() {
            self.file.unlock();
        }
    }
}

impl Disk {
    /// Whether handles of this frame exclude each other with a lock file.
    pub fn has_lock(&self) -> bool {
        self.lock.is_some()
    }

    /// In a child process, forgets what the parent holds.
    pub(super) fn leave_to_parent(&mut self) {
        let process = oxiblosc_pool::process();
        if self.process != process {
            self.process = process;
            self.changing = 0;
            self.write_handle = None;
        }
    }

    /// Whether readers that overlap have kept writers out for so long that they should leave, all of them.
    pub fn is_shared_for_long(&mut self) -> bool {
        self.leave_to_parent();
        let lock = self.lock.as_ref();
        self.changing == 0 && lock.is_some_and(SidecarLock::is_held_for_long)
    }

    /// Locks the frame against changes by other handles until [`Self::unlock_shared`], unless one is being made. Calls may nest. With
    /// `after_writers`, writers that wait come first.
    ///
    /// # Errors
    /// [`Error::Lock`].
    pub fn lock_shared(&mut self, after_writers: bool) -> Result<LockState> {
        let Some(lock) = &mut self.lock else {
            return Ok(LockState::NotNeeded);
        };
        let (kept, changed) = match lock.attempt(false, after_writers, None)? {
            Attempt::Taken(changed) => (LockState::Locked, changed),
            Attempt::Held(changed) => (LockState::NotNeeded, changed),
            Attempt::Busy(waiter) => return Ok(LockState::Busy(FrameWaiter::LockFile(waiter))),
        };
        self.stale |= changed;
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

    /// Ends what [`Self::lock_shared`] began.
    pub fn unlock_shared(&mut self) {
        if let Some(lock) = &mut self.lock {
            lock.unlock();
        }
    }

    /// Locks the frame exclusively until [`Self::unlock`], for a change. Calls may nest; if the frame is locked already, it stays locked in the
    /// same way.
    ///
    /// # Errors
    /// [`Error::Lock`]; then nothing is locked by it.
    pub fn lock(&mut self) -> Result<()> {
        let mut guard = None;
        while let Some(waiter) = self.try_lock(guard)? {
            guard = Some(waiter.wait(operation::timeout(0))?);
        }
        Ok(())
    }

    /// As [`Self::lock`], without waiting: where others have the lock, gives what waits for it. `guard` is what the waiter of the last
    /// attempt got.
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
                Attempt::Taken(changed) | Attempt::Held(changed) => self.stale |= changed,
                Attempt::Busy(waiter) => return Ok(Some(FrameWaiter::LockFile(waiter))),
            }
        }
        self.changing += 1;
        if let Some(FileLock(handle)) = file {
            let free = self.write_handle.as_ref().is_none_or(|known| !known.locked);
            if free {
                self.write_handle = Some(handle);
            }
        }
        match self.lock_file(false) {
            Ok(Some(_)) => Ok(None),
            Ok(None) => {
                self.unlock();
                let handle = self.write_handle.as_ref().ok_or(Error::Lock)?;
                Ok(Some(FrameWaiter::File(handle.file.clone())))
            }
            Err(Error::Lock) => {
                self.unlock();
                Err(Error::Lock)
            }
            // Where the file cannot be opened, the change will say so.
            Err(_) => Ok(None),
        }
    }

    /// Ends what [`Self::lock`] began.
    pub fn unlock(&mut self) {
        self.leave_to_parent();
        self.changing = self.changing.saturating_sub(1);
        if let Some(handle) = self
            .write_handle
            .as_mut()
            .filter(|handle| handle.locked && self.changing == 0)
        {
            if std::mem::take(&mut self.wrote) {
                // No one else has written to it as long as the lock was held.
                self.written = later(&*handle.file, self.written);
            }
            handle.file.unlock();
            handle.locked = false;
            self.size = None;
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

    /// Opens the file for a change and locks it against others that change it. None if another change is being made and this does not wait
    /// (`waits`).
    fn lock_file(&mut self, waits: bool) -> Result<Option<Shared<dyn Storage>>> {
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
                self.write_handle = Some(WriteHandle {
                    file,
                    process: self.process,
                    locked: false,
                });
            }
            let handle = self.write_handle.as_mut().ok_or(Error::FileOpen)?;
            if !handle.locked {
                if waits {
                    handle.file.lock_exclusive()?;
                } else if !handle.file.try_lock_exclusive() {
                    return Ok(None);
                }
                handle.locked = true;
            }
            let file = handle.file.clone();
            // What is written to a file without a name is lost. A map stays one of its file; another file that was open before is compared
            // when the frame is refreshed.
            if backend.is_mmap() && !file.has_name() {
                return Err(Error::FileOpen);
            }
            let names_it = || backend.identity(&self.file) == file.identity();
            if !is_new || !backend.is_filesystem() || names_it() {
                return Ok(Some(file));
            }
            self.write_handle = None;
        }
        Err(Error::FileOpen)
    }

    /// As [`Self::lock_file`], after the file was replaced.
    pub(super) fn lock_anew(&mut self) -> Result<()> {
        self.write_handle = None;
        match self.lock_file(true) {
            Err(Error::Lock) => Err(Error::Lock),
            // Where the file cannot be opened, the change will say so.
            _ => Ok(()),
        }
    }

    /// Whether the file that is open for changes, if one is, is this one.
    pub(super) fn writes_to(&self, identity: Option<(u64, u64)>) -> bool {
        let handle = self.write_handle.as_ref();
        let handle = handle.filter(|_| self.options.backend.is_filesystem());
        handle.is_none_or(|handle| handle.file.identity() == identity)
    }

    /// Whether this handle has locked this file against changes by others, as far as its back end has such locks.
    pub(super) fn has_change_lock(&self, file: &dyn Storage) -> bool {
        let is_locked = self.write_handle.as_ref().is_some_and(|own| own.locked);
        is_locked && self.writes_to(file.identity())
    }

    /// Rolls back a change whose process died before the commit. A file that is a copy of another one, and so has that one's record, is
    /// left as it is until it is changed.
    pub(super) fn recover(&mut self) -> Result<()> {
        if !self.options.backend.is_filesystem() {
            return Ok(());
        }
        let file = self.options.backend.open(&self.file, Mode::ReadWrite)?;
        let Some(identity) = file.identity() else {
            return Ok(());
        };
        let Some(_lock) = StorageLock::try_exclusive(&*file) else {
            return Ok(());
        };
        let is_known = !is_written(self.written, file.written());
        let (base, durable) = (Some(self.base), self.options.durable);
        if journal::roll_back(&*file, base, durable, Some(identity))? {
            if is_known {
                self.written = later(&*file, self.written);
            }
            self.view.pending = None;
        }
        Ok(())
    }

    /// Makes sure that the frame can be written, and that its content is known. Callers have called [`Disk::refresh`] under the lock
    /// under which they make their change.
    pub(super) fn prepare(&mut self) -> Result<Shared<dyn Storage>> {
        if let Some(error) = self.missing {
            return Err(error);
        }
        if self.stale {
            return Err(Error::FileRead);
        }
        let is_new = self.write_handle.is_none();
        let file = self.lock_file(true)?.ok_or(Error::Lock)?;
        if self.options.durable && self.space.is_none() {
            self.sync_what_is_there(&*file)?;
        }
        let size = match self.size.take() {
            Some(size) => size,
            None => file.size()?,
        };
        let size = size.checked_sub(self.base).ok_or(Error::FileRead)?;
        let behind = size.checked_sub(self.view.extent.frame_len);
        let behind = behind.ok_or(Error::FileRead)?;
        if behind > 0 {
            self.clear_behind(&*file, behind)?;
            self.wrote = true;
        }
        self.view.pending = None;
        if (is_new || behind > 0) && !self.header_is_current(&*file) {
            self.stale = true;
            return Err(Error::FileRead);
        }
        if self.space.is_none() {
            let end = match self.kind {
                FrameKind::Contiguous => self.data_end()?,
                FrameKind::Sparse => 0,
            };
            self.space = Some(SpaceInFile {
                free: FreeList::opaque(end),
                surveyed: false,
                loose: List::new(),
                next_number: None,
            });
        }
        Ok(file)
    }

    /// Rolls back a change that was begun and not committed, if there is one, so that the file holds the frame as this handle knows it. If
    /// the writer is alive and has committed the change meanwhile, that counts as a later change of another handle.
    ///
    /// # Errors
    /// Those of output.
    pub fn roll_back_pending(&mut self) -> Result<()> {
        if self.view.pending.is_none() {
            return Ok(());
        }
        self.while_locked(|disk| match disk.is_current() {
            true => disk.prepare().map(drop),
            false => Ok(()),
        })
    }

    /// Makes durable what another process may have written and not synced. Otherwise a loss of power could bring back a record that it
    /// has cut off, and with it old bytes that this change is about to overwrite; and this change builds upon chunks and names that the
    /// other process has made.
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

    /// Rolls back a change that was begun and not committed, and cuts off the `len` bytes that lie behind the frame.
    fn clear_behind(&self, file: &dyn Storage, len: u64) -> Result<()> {
        if journal::roll_back(file, Some(self.base), self.options.durable, None)? {
            return Ok(());
        }
        // A frame that was changed since it was read may be longer.
        if !is_there(&self.view.pending, file) || !self.header_is_current(file) {
            return Err(Error::FileRead);
        }
        // What is behind the frame may be another frame, which a change would destroy.
        let end = self.base + self.view.extent.frame_len;
        match has_frame(file, end, end + len)? {
            true => Err(Error::FileWrite),
            false => file.truncate(end),
        }
    }
}
