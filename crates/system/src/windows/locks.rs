//! Locks between processes, on single bytes: what is locked here, others can neither read nor write, so that a byte is locked that
//! nobody reads.

use std::fs::{File, TryLockError};
use std::io;
use std::os::windows::io::AsRawHandle;
use windows_sys::Win32::Foundation::{ERROR_IO_PENDING, ERROR_LOCK_VIOLATION};
use windows_sys::Win32::Storage::FileSystem::{
    LOCKFILE_EXCLUSIVE_LOCK, LOCKFILE_FAIL_IMMEDIATELY, LockFileEx, UnlockFile,
};
use windows_sys::Win32::System::IO::OVERLAPPED;

/// What is locked of a file.
#[derive(Clone, Copy)]
pub enum Part {
    /// The first byte, as the reference locks its lock files.
    LockFile,
    /// A byte that no file has, for what is read and written.
    Contents,
}

impl Part {
    fn at(self) -> u64 {
        match self {
            Self::LockFile => 0,
            Self::Contents => 1 << 62,
        }
    }
}

fn call(file: &File, at: u64, flags: u32) -> io::Result<()> {
    let mut place = OVERLAPPED::default();
    place.Anonymous.Anonymous.Offset = at as u32;
    place.Anonymous.Anonymous.OffsetHigh = (at >> 32) as u32;
    // SAFETY: an open handle, which waits in its calls, so that the structure is not used after this one.
    match unsafe { LockFileEx(file.as_raw_handle(), flags, 0, 1, 0, &mut place) } {
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

/// Has a file alone, unless another has it.
pub fn try_lock(file: &File, part: Part) -> Result<(), TryLockError> {
    let flags = LOCKFILE_EXCLUSIVE_LOCK | LOCKFILE_FAIL_IMMEDIATELY;
    call(file, part.at(), flags).map_err(|error| {
        match error.raw_os_error().map(|code| code as u32) {
            Some(ERROR_LOCK_VIOLATION | ERROR_IO_PENDING) => TryLockError::WouldBlock,
            _ => TryLockError::Error(error),
        }
    })
}

/// Waits until it has a file alone.
pub fn lock(file: &File, part: Part) -> io::Result<()> {
    call(file, part.at(), LOCKFILE_EXCLUSIVE_LOCK)
}

/// Waits until nobody has a file alone, and shares it.
pub fn lock_shared(file: &File, part: Part) -> io::Result<()> {
    call(file, part.at(), 0)
}

/// Ends what any of these began.
pub fn unlock(file: &File, part: Part) -> io::Result<()> {
    end(file, part.at())
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
