//! Locks between processes, on single bytes: others can neither read nor write a byte that is
//! locked, so the one that is locked is never read.

use std::fs::{File, TryLockError};
use std::io;
use std::os::windows::io::AsRawHandle;
use windows_sys::Win32::Foundation::{ERROR_IO_PENDING, ERROR_LOCK_VIOLATION};
use windows_sys::Win32::Storage::FileSystem::{
    LOCKFILE_EXCLUSIVE_LOCK, LOCKFILE_FAIL_IMMEDIATELY, LockFileEx, UnlockFile,
};
use windows_sys::Win32::System::IO::OVERLAPPED;

/// The first byte, as the reference locks its lock files.
const LOCK_FILE: u64 = 0;

fn call(file: &File, at: u64, flags: u32) -> io::Result<()> {
    let mut overlapped = OVERLAPPED::default();
    overlapped.Anonymous.Anonymous.Offset = at as u32;
    overlapped.Anonymous.Anonymous.OffsetHigh = (at >> 32) as u32;
    // SAFETY: an open handle, which waits in its calls, so that the structure is not used after
    // this one.
    match unsafe { LockFileEx(file.as_raw_handle(), flags, 0, 1, 0, &mut overlapped) } {
        0 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

fn end(file: &File, at: u64) -> io::Result<()> {
    // SAFETY: an open handle.
    match unsafe { UnlockFile(file.as_raw_handle(), at as u32, (at >> 32) as u32, 1, 0) } {
        0 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

fn is_locked(error: &io::Error) -> bool {
    let code = error.raw_os_error().map(|code| code as u32);
    matches!(code, Some(ERROR_LOCK_VIOLATION | ERROR_IO_PENDING))
}

/// Has a lock file alone, unless another has it.
pub fn try_lock(file: &File) -> Result<(), TryLockError> {
    try_call(file, LOCKFILE_EXCLUSIVE_LOCK)
}

/// Shares a lock file, unless another has it alone.
pub fn try_lock_shared(file: &File) -> Result<(), TryLockError> {
    try_call(file, 0)
}

fn try_call(file: &File, flags: u32) -> Result<(), TryLockError> {
    let flags = flags | LOCKFILE_FAIL_IMMEDIATELY;
    call(file, LOCK_FILE, flags).map_err(|error| match is_locked(&error) {
        true => TryLockError::WouldBlock,
        false => TryLockError::Error(error),
    })
}

/// Waits until it has a lock file alone.
pub fn lock(file: &File) -> io::Result<()> {
    call(file, LOCK_FILE, LOCKFILE_EXCLUSIVE_LOCK)
}

/// Waits until no process has the lock file exclusively, and shares it.
pub fn lock_shared(file: &File) -> io::Result<()> {
    call(file, LOCK_FILE, 0)
}

/// Ends what any of these began.
pub fn unlock(file: &File) -> io::Result<()> {
    end(file, LOCK_FILE)
}

/// The lock of the writer that waits: on one byte far behind the contents of the file.
pub mod turn {
    use super::*;

    /// The position of the byte.
    const AT: u64 = 1 << 40;

    /// Waits until no other writer has the turn, and takes it.
    pub fn take(file: &File) {
        // Where there are no such locks, writers wait as long as it takes.
        let _ = call(file, AT, LOCKFILE_EXCLUSIVE_LOCK);
    }

    /// Gives it back.
    pub fn leave(file: &File) {
        let _ = end(file, AT);
    }

    /// Whether a writer has it.
    pub fn is_taken(file: &File) -> bool {
        match call(file, AT, LOCKFILE_FAIL_IMMEDIATELY) {
            Ok(()) => {
                leave(file);
                false
            }
            Err(_) => true,
        }
    }

    /// Waits while a writer has it.
    pub fn pass(file: &File) {
        if call(file, AT, 0).is_ok() {
            leave(file);
        }
    }
}

/// The lock of writers of a file: on one byte far behind the contents. A holder that locks just
/// that byte is this library; one that also locks the byte behind it is a stranger.
pub mod change {
    use super::*;

    /// Why a lock was not granted.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Blocked {
        /// Another has just this lock exclusively, or had it a moment ago.
        Writer,
        /// Others share it, as readers of this library do for a moment, and anybody who may read
        /// the file can.
        Sharers,
        /// This process itself has locked the whole file: not known here.
        OwnProcess,
        /// Another has locked more of the file exclusively, or nothing is known of it.
        Stranger,
        /// There are no such locks: the file system refuses them.
        Unsupported,
    }

    /// The position of the byte.
    const AT: u64 = 1 << 62;

    /// Takes the lock, `alone` or with others who share it, if no other holder prevents it.
    ///
    /// # Errors
    /// Why it was not granted.
    pub fn try_take(file: &File, alone: bool) -> Result<(), Blocked> {
        const ALONE: u32 = LOCKFILE_EXCLUSIVE_LOCK | LOCKFILE_FAIL_IMMEDIATELY;
        let flags = if alone {
            ALONE
        } else {
            LOCKFILE_FAIL_IMMEDIATELY
        };
        match call(file, AT, flags) {
            Err(error) if is_locked(&error) => {}
            Err(_) => return Err(Blocked::Unsupported),
            Ok(()) => return Ok(()),
        }
        let is_shared = alone && call(file, AT, LOCKFILE_FAIL_IMMEDIATELY).is_ok();
        if is_shared {
            leave(file);
            return Err(Blocked::Sharers);
        }
        // Two that look at the same time take each other for strangers, for a moment.
        match call(file, AT + 1, ALONE) {
            Ok(()) => {
                let _ = end(file, AT + 1);
                Err(Blocked::Writer)
            }
            Err(_) => Err(Blocked::Stranger),
        }
    }

    /// Gives the lock back.
    pub fn leave(file: &File) {
        // The lock goes with the file at the latest.
        let _ = end(file, AT);
    }

    /// The position of the second byte, which stands for the lock of the whole file that other
    /// systems have.
    const WHOLE: u64 = AT - 1;

    /// Takes the second lock exclusively.
    ///
    /// # Errors
    /// Why it was not granted.
    pub fn try_take_whole(file: &File) -> Result<(), Blocked> {
        let flags = LOCKFILE_EXCLUSIVE_LOCK | LOCKFILE_FAIL_IMMEDIATELY;
        call(file, WHOLE, flags).map_err(|error| match is_locked(&error) {
            true => Blocked::Writer,
            false => Blocked::Unsupported,
        })
    }

    /// Gives it back.
    pub fn leave_whole(file: &File) {
        let _ = end(file, WHOLE);
    }
}

/// An open file that may be locked. Processes are not forked here, so that its locks are this
/// process's alone.
#[derive(Debug)]
pub struct OwnFile(File);

impl OwnFile {
    /// Takes an open file, of which the caller has no other handle.
    pub fn new(file: File) -> Self {
        Self(file)
    }

    /// Prepares the file to be kept open. Handles are not closed by others than their owner here,
    /// so there is nothing to do.
    pub fn keep(&self) -> bool {
        true
    }

    /// Whether its position must not be changed.
    pub fn is_kept(&self) -> bool {
        false
    }

    /// Whether the handle is this file's still.
    pub fn has_number(&self) -> bool {
        true
    }

    /// As [`Self::has_number`].
    pub fn is_open(&self) -> bool {
        true
    }
}

impl std::ops::Deref for OwnFile {
    type Target = File;
    fn deref(&self) -> &File {
        &self.0
    }
}

/// The number of forks between the first process and this one.
pub fn forks() -> u32 {
    0
}
