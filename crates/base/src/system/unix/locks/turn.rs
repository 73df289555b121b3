//! The lock of the writer that waits: on one byte far behind the contents of the lock file. Only
//! Linux has one that belongs to an open file.

use std::fs::File;

/// The byte.
#[cfg(target_os = "linux")]
const BYTE: (i64, i64) = (1 << 40, 1);

/// Waits until no other writer has the turn, and takes it.
#[cfg(target_os = "linux")]
pub fn take(file: &File) {
    // Where there are no such locks, writers wait as long as it takes.
    let _ = super::call(file, libc::F_OFD_SETLKW, libc::F_WRLCK, BYTE);
}

/// Gives it back.
#[cfg(target_os = "linux")]
pub fn leave(file: &File) {
    let _ = super::call(file, libc::F_OFD_SETLK, libc::F_UNLCK, BYTE);
}

/// Whether a writer has it.
#[cfg(target_os = "linux")]
pub fn is_taken(file: &File) -> bool {
    let found = super::call(file, libc::F_OFD_GETLK, libc::F_RDLCK, BYTE);
    found.is_ok_and(|lock| i32::from(lock.l_type) != libc::F_UNLCK)
}

/// Waits while a writer has it.
#[cfg(target_os = "linux")]
pub fn pass(file: &File) {
    let _ = super::call(file, libc::F_OFD_SETLKW, libc::F_RDLCK, BYTE);
    leave(file);
}

/// Does nothing.
#[cfg(not(target_os = "linux"))]
pub fn take(_file: &File) {}
/// Does nothing.
#[cfg(not(target_os = "linux"))]
pub fn leave(_file: &File) {}
/// Does nothing.
#[cfg(not(target_os = "linux"))]
pub fn pass(_file: &File) {}
/// No writer has it.
#[cfg(not(target_os = "linux"))]
pub fn is_taken(_file: &File) -> bool {
    false
}
