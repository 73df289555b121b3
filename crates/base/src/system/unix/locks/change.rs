//! The lock of writers of a file. On Linux it is on one byte far behind the contents, and belongs
//! to the open file. Locks of whole files by `flock` are another kind there, and do not conflict
//! with it. On other systems the lock is `flock`, which does not tell who has it.

use std::fs::{File, TryLockError};
#[cfg(target_os = "linux")]
use std::os::fd::AsRawFd;

/// Why a lock was not granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blocked {
    /// Another has just this lock exclusively, or had it a moment ago.
    Writer,
    /// Others share it, as readers of this library do for a moment, and anybody who may read the
    /// file can.
    Sharers,
    /// This process itself has locked the whole file exclusively, by a lock that belongs to it.
    OwnProcess,
    /// Another has locked more of the file exclusively, or nothing is known of it.
    Stranger,
    /// There are no such locks: the file system refuses them.
    Unsupported,
}

/// The byte.
#[cfg(target_os = "linux")]
const BYTE: (i64, i64) = (1 << 62, 1);

/// Takes the lock if no conflicting lock is held, exclusively (`alone`) or shared. Exclusively it
/// keeps others out only if the file is open for writing.
///
/// # Errors
/// Why it was not granted.
#[cfg(target_os = "linux")]
pub fn try_take(file: &File, alone: bool) -> Result<(), Blocked> {
    let kind = if alone { libc::F_WRLCK } else { libc::F_RDLCK };
    let Err(error) = super::call(file, libc::F_OFD_SETLK, kind, BYTE) else {
        return Ok(());
    };
    match error.raw_os_error() {
        Some(libc::EAGAIN | libc::EACCES) => Err(who(file, kind)),
        // The system does not know these commands.
        Some(libc::EINVAL) => try_whole(file, alone),
        // The file is open for reading only, so nothing can be changed through it: that is the
        // error of whoever tries.
        Some(libc::EBADF) => Ok(()),
        _ => Err(Blocked::Unsupported),
    }
}

#[cfg(target_os = "linux")]
fn who(file: &File, kind: i32) -> Blocked {
    let Ok(lock) = super::call(file, libc::F_OFD_GETLK, kind, BYTE) else {
        return Blocked::Stranger;
    };
    match i32::from(lock.l_type) {
        libc::F_UNLCK => Blocked::Writer,
        libc::F_RDLCK => Blocked::Sharers,
        _ if (lock.l_start, lock.l_len) == BYTE => Blocked::Writer,
        _ if lock.l_pid == std::process::id() as libc::pid_t => Blocked::OwnProcess,
        _ => Blocked::Stranger,
    }
}

/// Gives the lock back.
#[cfg(target_os = "linux")]
pub fn leave(file: &File) {
    // To unlock all takes less than to unlock a part, which may leave two.
    let Err(error) = super::call(file, libc::F_OFD_SETLK, libc::F_UNLCK, (0, 0)) else {
        return;
    };
    match error.raw_os_error() {
        // The lock goes with the file at the latest.
        Some(libc::EINVAL) => drop(file.unlock()),
        _ => super::own::open_anew(file.as_raw_fd()),
    }
}

/// Takes the lock if no conflicting lock is held, exclusively (`alone`) or shared.
///
/// # Errors
/// Why it was not granted.
#[cfg(not(target_os = "linux"))]
pub fn try_take(file: &File, alone: bool) -> Result<(), Blocked> {
    try_whole(file, alone)
}

/// Gives the lock back.
#[cfg(not(target_os = "linux"))]
pub fn leave(file: &File) {
    // The lock goes with the file at the latest.
    let _ = file.unlock();
}

fn try_whole(file: &File, alone: bool) -> Result<(), Blocked> {
    let locked = match alone {
        true => file.try_lock(),
        false => file.try_lock_shared(),
    };
    locked.map_err(|error| match error {
        TryLockError::WouldBlock => Blocked::Writer,
        TryLockError::Error(_) => Blocked::Unsupported,
    })
}

/// Locks the whole file by `flock`, which on Linux does not conflict with the lock of the byte. On
/// other systems they are the same.
///
/// # Errors
/// Why it was not granted.
pub fn try_take_whole(file: &File) -> Result<(), Blocked> {
    try_whole(file, true)
}

/// Gives it back.
pub fn leave_whole(file: &File) {
    // It goes with the file at the latest.
    let _ = file.unlock();
}
