//! The streams of the C library, which programs see.

use super::files;
use super::thread::without_signals;
use libc::FILE;
use std::ffi::{CStr, c_char, c_int};
use std::fs::File;
use std::io;
use std::mem::ManuallyDrop;
use std::os::fd::{AsRawFd, FromRawFd};

/// Opens a file in a mode of `fopen`, null where that fails. A child that runs another program does
/// not inherit it.
///
/// # Safety
/// `path` is a C string.
pub unsafe fn open(path: *const c_char, mode: &CStr) -> *mut FILE {
    let mode = mode.to_bytes();
    let mut buffer = [0u8; 32];
    let closed: &[u8] = if mode.contains(&b',') { b"" } else { b"e" };
    if mode.len() + closed.len() >= buffer.len() {
        return std::ptr::null_mut();
    }
    buffer[..mode.len()].copy_from_slice(mode);
    buffer[mode.len()..][..closed.len()].copy_from_slice(closed);
    // SAFETY: two C strings: `path` by `# Safety`, and the mode, behind which all is 0. A stream is
    // open; of one that would be a standard stream, the file goes on as another.
    unsafe {
        let stream = libc::fopen(path, buffer.as_ptr().cast());
        if stream.is_null() || libc::fileno(stream) >= files::FIRST {
            return stream;
        }
        let fd = libc::fcntl(libc::fileno(stream), libc::F_DUPFD_CLOEXEC, files::FIRST);
        libc::fclose(stream);
        of_descriptor(fd, buffer.as_ptr().cast())
    }
}

/// A stream for a descriptor, which becomes its own, or is closed. Null for an invalid one, and
/// where there is no memory.
///
/// # Safety
/// The descriptor is invalid, or open and no other's. `mode` is a C string.
unsafe fn of_descriptor(fd: c_int, mode: *const c_char) -> *mut FILE {
    // SAFETY: by `# Safety`.
    unsafe {
        let stream = libc::fdopen(fd, mode);
        if stream.is_null() && fd >= 0 {
            libc::close(fd);
        }
        stream
    }
}

/// A stream of its own for an open file.
pub fn of_file(file: &File, writes: bool) -> io::Result<*mut FILE> {
    let mode = if writes { c"rb+" } else { c"rb" };
    // SAFETY: an open descriptor, of which the new one is a copy.
    let stream = unsafe {
        let fd = libc::fcntl(file.as_raw_fd(), libc::F_DUPFD_CLOEXEC, files::FIRST);
        of_descriptor(fd, mode.as_ptr())
    };
    match stream.is_null() {
        true => Err(io::Error::last_os_error()),
        false => Ok(stream),
    }
}

/// The number by which the C library knows an open file that `stream` was made for.
pub fn descriptor(file: &File, _stream: *mut FILE) -> c_int {
    file.as_raw_fd()
}

/// Closes a stream whose file has this device and inode. If it has others, the program has closed
/// the descriptor, whose number is another file's: then the stream is left as it is, and its memory
/// with it. False if closing fails.
///
/// # Safety
/// The stream is open, and is not used after this.
pub unsafe fn close(stream: *mut FILE, identity: Option<(u64, u64)>) -> bool {
    // SAFETY: the stream is open, by `# Safety`.
    unsafe {
        let is_open = match (file(stream), identity) {
            (Some(file), Some(identity)) => files::is_open(&file, identity),
            _ => true,
        };
        !is_open || without_signals(|| libc::fclose(stream)) == 0
    }
}

/// The file of a stream, borrowed.
///
/// # Safety
/// The stream is open, as long as what is returned is used.
pub unsafe fn file(stream: *mut FILE) -> Option<ManuallyDrop<File>> {
    // SAFETY: the stream is open, by `# Safety`; its file is not closed here and stays its own.
    unsafe {
        let fd = libc::fileno(stream);
        (fd >= 0).then(|| ManuallyDrop::new(File::from_raw_fd(fd)))
    }
}

/// The bytes of a stream's file, or -1. The position of the stream stays where it is.
///
/// # Safety
/// The stream is open.
pub unsafe fn size(stream: *mut FILE) -> i64 {
    // SAFETY: the stream is open, by `# Safety`.
    unsafe {
        let before = libc::ftello(stream);
        if before < 0 {
            return -1;
        }
        let size = match libc::fseeko(stream, 0, libc::SEEK_END) {
            0 => libc::ftello(stream),
            _ => -1,
        };
        let back = libc::fseeko(stream, before, libc::SEEK_SET);
        if back == 0 { size } else { -1 }
    }
}
