//! The lock of writers of a file. On Linux it is on one byte far behind the contents, and belongs to the open file: a holder that locks
//! just that byte is this library, and one that locks more is a stranger. Locks of whole files by `flock` are another kind there,
//! and do not count. On other systems the lock is `flock`, which does not tell who has it.

use std::fs::{File, TryLockError};
#[cfg(target_os = "linux")]
use std::os::fd::AsRawFd;

/// The holder of a lock that was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blocked {
    /// It has just this lock, or had it a moment ago.
    Holder,
    /// It locks more of the file, or nothing is known of it.
    Stranger,
}

/// The byte.
#[cfg(target_os = "linux")]
const BYTE: (i64, i64) = (1 << 62, 1);

/// Takes the lock if no conflicting lock is held, exclusively (`alone`) or shared. A file system without such locks counts as free of conflicts. To take
/// it exclusively, the file must be open for writing.
///
/// # Errors
/// The kind of conflicting lock.
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
        _ => Ok(()),
    }
}

#[cfg(target_os = "linux")]
fn who(file: &File, kind: i32) -> Blocked {
    match super::call(file, libc::F_OFD_GETLK, kind, BYTE) {
        Ok(lock) if i32::from(lock.l_type) == libc::F_UNLCK => Blocked::Holder,
        Ok(lock) if (lock.l_start, lock.l_len) == BYTE => Blocked::Holder,
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

/// Takes the lock if no conflicting lock is held, exclusively (`alone`) or shared. A file system without such locks counts as free of conflicts.
///
/// # Errors
/// The kind of conflicting lock.
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
    match locked {
        Err(TryLockError::WouldBlock) => Err(Blocked::Stranger),
        Ok(()) | Err(TryLockError::Error(_)) => Ok(()),
    }
}

/// Locks the whole file by a lock that does not conflict with those of `fcntl`, if it is free. Only Linux has such a lock.
pub fn try_take_whole(file: &File) -> bool {
    cfg!(target_os = "linux") && file.try_lock().is_ok()
}

/// Gives it back.
pub fn leave_whole(file: &File) {
    // It goes with the file at the latest.
    let _ = file.unlock();
}
