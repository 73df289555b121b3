//! The streams of the C library, which programs see.

use super::wide::WideString;
use libc::FILE;
use std::ffi::{CStr, c_char, c_int};
use std::fs::File;
use std::io::{self, ErrorKind};
use std::mem::ManuallyDrop;
use std::os::windows::io::{FromRawHandle, IntoRawHandle, RawHandle};
use windows_sys::Win32::Foundation::{CloseHandle, INVALID_HANDLE_VALUE};

/// The C library's flag for a descriptor that can only be read.
const READ_ONLY: c_int = 0;

unsafe extern "C" {
    fn _wfopen(path: *const u16, mode: *const u16) -> *mut FILE;
    fn _fdopen(fd: c_int, mode: *const c_char) -> *mut FILE;
    fn _fileno(stream: *mut FILE) -> c_int;
    fn _get_osfhandle(fd: c_int) -> isize;
    fn _open_osfhandle(handle: isize, flags: c_int) -> c_int;
    fn _close(fd: c_int) -> c_int;
    fn _ftelli64(stream: *mut FILE) -> i64;
    fn _fseeki64(stream: *mut FILE, offset: i64, origin: c_int) -> c_int;
}

/// Opens a file in a mode of `fopen`, null where that fails. A child that runs another program does
/// not inherit it.
///
/// # Safety
/// `path` is a C string.
pub unsafe fn open(path: *const c_char, mode: &CStr) -> *mut FILE {
    let mut buffer = [0u16; 32];
    let mode = mode.to_bytes();
    if mode.len() + 2 > buffer.len() {
        return std::ptr::null_mut();
    }
    // `N` has to come before what a comma begins.
    let end = mode
        .iter()
        .position(|byte| *byte == b',')
        .unwrap_or(mode.len());
    let (prefix, back) = mode.split_at(end);
    let whole = prefix.iter().chain(b"N").chain(back);
    for (unit, byte) in buffer.iter_mut().zip(whole) {
        *unit = u16::from(*byte);
    }
    // SAFETY: a C string, by `# Safety`.
    let Ok(path) = WideString::path(unsafe { CStr::from_ptr(path) }) else {
        return std::ptr::null_mut();
    };
    // SAFETY: two texts that end.
    unsafe { _wfopen(path.as_ptr(), buffer.as_ptr()) }
}

/// A stream of its own for an open file.
pub fn of_file(file: &File, writes: bool) -> io::Result<*mut FILE> {
    let mode = if writes { c"rb+" } else { c"rb" };
    let own = file.try_clone()?.into_raw_handle();
    // SAFETY: an open handle of its own, which becomes the descriptor's, which becomes the
    // stream's; or each is closed.
    unsafe {
        let fd = _open_osfhandle(own as isize, READ_ONLY);
        if fd < 0 {
            CloseHandle(own);
            return Err(ErrorKind::OutOfMemory.into());
        }
        let stream = _fdopen(fd, mode.as_ptr());
        if stream.is_null() {
            _close(fd);
            return Err(ErrorKind::OutOfMemory.into());
        }
        Ok(stream)
    }
}

/// The number by which the C library knows an open file that `stream` was made for.
pub fn descriptor(_file: &File, stream: *mut FILE) -> c_int {
    // SAFETY: an open stream, or null, of which the call says -1.
    unsafe { _fileno(stream) }
}

/// Closes a stream. Its handle need not be checked: handles are not closed by others than their
/// owner. False if closing fails.
///
/// # Safety
/// The stream is open, and is not used after this.
pub unsafe fn close(stream: *mut FILE, _identity: Option<(u64, u64)>) -> bool {
    // SAFETY: the stream is open, by `# Safety`.
    unsafe { libc::fclose(stream) == 0 }
}

/// The file of a stream, borrowed.
///
/// # Safety
/// The stream is open, as long as what is returned is used.
pub unsafe fn file(stream: *mut FILE) -> Option<ManuallyDrop<File>> {
    // SAFETY: the stream is open, by `# Safety`; its file is not closed here and stays its own.
    unsafe {
        let handle = _get_osfhandle(_fileno(stream)) as RawHandle;
        // The C library has -2 for a stream without a file.
        let is_there = handle != INVALID_HANDLE_VALUE && handle as isize != -2;
        is_there.then(|| ManuallyDrop::new(File::from_raw_handle(handle)))
    }
}

/// The bytes of a stream's file, or -1. The position of the stream stays where it is.
///
/// # Safety
/// The stream is open.
pub unsafe fn size(stream: *mut FILE) -> i64 {
    // SAFETY: the stream is open, by `# Safety`.
    unsafe {
        let before = _ftelli64(stream);
        if before < 0 {
            return -1;
        }
        let size = match _fseeki64(stream, 0, libc::SEEK_END) {
            0 => _ftelli64(stream),
            _ => -1,
        };
        let back = _fseeki64(stream, before, libc::SEEK_SET);
        if back == 0 { size } else { -1 }
    }
}
