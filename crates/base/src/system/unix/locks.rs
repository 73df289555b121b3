//! Locks between processes: the system's advisory locks on whole files (`flock`), and on one byte.

/// The lock of those who change a file.
pub mod change;
mod own;
/// The lock of the writer that waits.
pub mod turn;

pub use own::{OwnFile, forks};

use std::fs::{File, TryLockError};
use std::io;

/// Has a lock file alone, unless another has it.
pub fn try_lock(file: &File) -> Result<(), TryLockError> {
    file.try_lock()
}

/// Shares a lock file, unless another has it alone.
pub fn try_lock_shared(file: &File) -> Result<(), TryLockError> {
    file.try_lock_shared()
}

/// Locks a lock file exclusively, and waits for it.
pub fn lock(file: &File) -> io::Result<()> {
    file.lock()
}

/// Locks a lock file shared, and waits while it is locked exclusively.
pub fn lock_shared(file: &File) -> io::Result<()> {
    file.lock_shared()
}

/// Releases a lock that any of these took.
pub fn unlock(file: &File) -> io::Result<()> {
    file.unlock()
}

/// Asks for a lock that belongs to the open file, on `len` bytes from `at` on (0: all that follow),
/// or for what stands in its way.
#[cfg(target_os = "linux")]
fn call(file: &File, command: i32, kind: i32, (at, len): (i64, i64)) -> io::Result<libc::flock> {
    use std::os::fd::AsRawFd;
    // SAFETY: every field of the struct is a number, for which zero is a value.
    let mut lock: libc::flock = unsafe { std::mem::zeroed() };
    lock.l_type = kind as libc::c_short;
    lock.l_whence = libc::SEEK_SET as libc::c_short;
    lock.l_start = at;
    lock.l_len = len;
    loop {
        // SAFETY: the descriptor is open, and the struct is the one that these commands take.
        if unsafe { libc::fcntl(file.as_raw_fd(), command, &raw mut lock) } == 0 {
            return Ok(lock);
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}
