//! What a handle has locked: the lock file, and the frame's own file, which is open for changes.

use oxiblosc_base::Result;
use oxiblosc_base::memory::Shared;
use oxiblosc_io::lock::{self, SidecarLock};
use oxiblosc_io::readers::{FileSlot, WRITERS};
use oxiblosc_io::{Exclusion, Storage};
use std::time::Duration;

/// How often the file is opened if it is removed or replaced each time before it is locked.
pub(crate) const TRIES: usize = 64;

/// The locks of a handle.
pub(super) struct ChangeLocks {
    /// The lock file, if the frame was opened with locking.
    pub(super) lock_file: Option<SidecarLock>,
    /// The file that is open for changes. It stays open from one change to the next if it is a map,
    /// or a file and the number of open files allows it.
    pub(super) write_handle: Option<WriteHandle>,
    /// How many calls of [`Disk::lock`](super::Disk::lock) are waiting for their unlock.
    pub(super) changing: usize,
    /// How many of these calls are those of [`Disk::hold`](super::Disk::hold).
    pub(super) held: usize,
    /// The process in which they were made.
    pub(super) process: u32,
    /// The size of the file, if it is known: it was read under the lock of the present change, and
    /// nothing was written since.
    pub(super) size: Option<u64>,
}

impl ChangeLocks {
    /// Nothing is locked.
    pub(super) fn none(lock_file: Option<SidecarLock>) -> Self {
        Self {
            lock_file,
            write_handle: None,
            changing: 0,
            held: 0,
            process: oxiblosc_pool::process(),
            size: None,
        }
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

    /// Releases a shared lock of the lock file.
    pub(super) fn unlock_shared(&mut self) {
        if let Some(lock) = &mut self.lock_file {
            lock.unlock();
        }
    }

    /// The file that is open and locked for changes.
    pub(super) fn locked_writer(&self) -> Option<&Shared<dyn Storage>> {
        let own = self.write_handle.as_ref();
        own.filter(|own| own.locked.is_some()).map(|own| &own.file)
    }

    /// Whether others are kept from changing the file that is open for changes, if its back end has
    /// such locks.
    pub(super) fn is_granted(&self) -> bool {
        let own = self.write_handle.as_ref();
        own.is_some_and(|own| own.locked == Some(Exclusion::Granted))
    }
}

/// The file as it is opened for changes.
pub(super) struct WriteHandle {
    pub(super) file: Shared<dyn Storage>,
    /// The process that opened it. Its children share the open file, so a lock does not exclude
    /// them.
    pub(super) process: u32,
    /// How the file is locked against changes by others, if it is.
    pub(super) locked: Option<Exclusion>,
    /// The permission to keep it open between changes, if it has one.
    slot: Option<FileSlot<'static>>,
}

impl WriteHandle {
    pub(super) fn new(file: Shared<dyn Storage>, process: u32, locked: Option<Exclusion>) -> Self {
        Self {
            file,
            process,
            locked,
            slot: None,
        }
    }

    /// Whether the file may stay open between changes. A slot is taken if one is free.
    pub(super) fn has_slot(&mut self) -> bool {
        if self.slot.is_none() {
            self.slot = WRITERS.take().filter(|_| self.file.keep());
        }
        self.slot.is_some()
    }
}

/// Waits for a frame that others have locked. The handle is not locked meanwhile, as its other
/// threads may be needed to unlock the frame.
pub enum FrameWaiter {
    /// Through the lock file.
    LockFile(lock::Waiter),
    /// Through the frame's own file.
    File(Shared<dyn Storage>),
}

/// The result of [`Disk::lock_shared`](super::Disk::lock_shared): whether this handle has locked
/// the frame against changes by other handles.
pub enum LockState {
    /// No, and it need not: the frame has no lock file, or an operation of this thread holds the
    /// lock through another handle.
    NotNeeded,
    /// Yes, until [`Disk::unlock_shared`](super::Disk::unlock_shared).
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
pub struct FileLock(pub(super) WriteHandle);

impl FrameWaiter {
    /// Waits, at most for `timeout` if there is one, and takes the lock. The wait for the frame's
    /// own file has the limits of [`Storage::lock_exclusive`] instead.
    ///
    /// # Errors
    /// `Error::LOCK`, also after `timeout`.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::bare_file::BareFile;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    fn opened(process: u32, locked: Option<Exclusion>) -> (WriteHandle, Arc<AtomicUsize>) {
        let file = BareFile::default();
        let unlocked = Arc::clone(&file.unlocked);
        (WriteHandle::new(file.shared(), process, locked), unlocked)
    }

    #[test]
    fn a_file_is_unlocked_by_the_process_that_locked_it() {
        let own = oxiblosc_pool::process();
        for (process, locked, expected) in [
            (own, Some(Exclusion::Granted), 1),
            (own, None, 0),
            (own + 1, Some(Exclusion::Granted), 0),
        ] {
            let (handle, unlocked) = opened(process, locked);
            drop(handle);
            assert_eq!(unlocked.load(Ordering::Relaxed), expected);
        }
    }

    #[test]
    fn a_child_has_none_of_the_locks_of_its_parent() {
        let parent = oxiblosc_pool::process() + 1;
        let (handle, unlocked) = opened(parent, Some(Exclusion::Granted));
        let mut locks = ChangeLocks {
            write_handle: Some(handle),
            changing: 2,
            held: 1,
            process: parent,
            ..ChangeLocks::none(None)
        };
        assert!(locks.is_granted() && locks.locked_writer().is_some());
        locks.leave_to_parent();
        assert_eq!((locks.changing, locks.held), (0, 0));
        assert!(!locks.is_granted() && locks.write_handle.is_none());
        assert_eq!(unlocked.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn a_lock_that_the_system_lacks_is_not_granted() {
        let (handle, _) = opened(oxiblosc_pool::process(), Some(Exclusion::Unavailable));
        let mut locks = ChangeLocks::none(None);
        locks.write_handle = Some(handle);
        assert!(locks.locked_writer().is_some() && !locks.is_granted());
    }
}
