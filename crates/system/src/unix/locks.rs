//! Locks between processes: the system's advisory locks on whole files (`flock`), and on one byte.

use std::fs::{File, TryLockError};
use std::io;

/// What is locked of a file. Here it is always all of it.
#[derive(Clone, Copy)]
pub enum Part {
    /// What the lock file of a frame is for.
    LockFile,
    /// What is read and written.
    Contents,
}

/// Has a file alone, unless another has it.
pub fn try_lock(file: &File, _part: Part) -> Result<(), TryLockError> {
    file.try_lock()
}

/// Waits until it has a file alone.
pub fn lock(file: &File, _part: Part) -> io::Result<()> {
    file.lock()
}

/// Waits until nobody has a file alone, and shares it.
pub fn lock_shared(file: &File, _part: Part) -> io::Result<()> {
    file.lock_shared()
}

/// Ends what any of these began.
pub fn unlock(file: &File, _part: Part) -> io::Result<()> {
    file.unlock()
}

/// The lock of the writer that waits: on one byte far behind the contents of the file.
#[cfg(target_os = "linux")]
pub mod turn {
    use std::fs::File;
    use std::os::fd::AsRawFd;

    /// The position of the byte.
    const AT: i64 = 1 << 40;

    fn call(file: &File, command: i32, kind: i32) -> std::io::Result<i32> {
        // SAFETY: every field of the struct is a number, for which zero is a value.
        let mut lock: libc::flock = unsafe { std::mem::zeroed() };
        lock.l_type = kind as libc::c_short;
        lock.l_whence = libc::SEEK_SET as libc::c_short;
        lock.l_start = AT;
        lock.l_len = 1;
        loop {
            // SAFETY: the descriptor is open, and the struct is the one that these commands take.
            if unsafe { libc::fcntl(file.as_raw_fd(), command, &raw mut lock) } == 0 {
                return Ok(i32::from(lock.l_type));
            }
            let error = std::io::Error::last_os_error();
            if error.kind() != std::io::ErrorKind::Interrupted {
                return Err(error);
            }
        }
    }

    /// Waits until no other writer has the turn, and takes it.
    pub fn take(file: &File) {
        // Where there are no such locks, writers wait as long as it takes.
        let _ = call(file, libc::F_OFD_SETLKW, libc::F_WRLCK);
    }

    /// Gives it back.
    pub fn leave(file: &File) {
        let _ = call(file, libc::F_OFD_SETLK, libc::F_UNLCK);
    }

    /// Whether a writer has it.
    pub fn is_taken(file: &File) -> bool {
        let found = call(file, libc::F_OFD_GETLK, libc::F_RDLCK);
        found.is_ok_and(|kind| kind != libc::F_UNLCK)
    }

    /// Waits while a writer has it.
    pub fn pass(file: &File) {
        let _ = call(file, libc::F_OFD_SETLKW, libc::F_RDLCK);
        leave(file);
    }
}

/// The lock of the writer that waits. This system has none that belongs to an open file.
#[cfg(not(target_os = "linux"))]
pub mod turn {
    use std::fs::File;

    /// Does nothing.
    pub fn take(_file: &File) {}
    /// Does nothing.
    pub fn leave(_file: &File) {}
    /// No writer has it.
    pub fn is_taken(_file: &File) -> bool {
        false
    }
    /// Does nothing.
    pub fn pass(_file: &File) {}
}
