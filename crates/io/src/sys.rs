//! The system's calls on paths.
//!
//! Paths are C strings here, as the system takes them: the standard library makes copies of its paths, and ends the process
//! where there is no memory for one.

use oxiblosc_error::{Error, Result};
use oxiblosc_memory::CStrBuf;
use std::ffi::{CStr, c_int};
use std::fs::File;
use std::io::{self, ErrorKind};
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, FromRawFd};

// The names that the standard library uses, too; elsewhere files are always as large as these allow.
#[cfg(not(target_os = "linux"))]
use libc::{
    lstat as lstat64, open as open64, readdir as readdir64, stat as stat64, stat as stat64_t,
};
#[cfg(target_os = "linux")]
use libc::{lstat64, open64, readdir64, stat64, stat64 as stat64_t};

/// What the system knows of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stat {
    mode: libc::mode_t,
    /// Device and inode.
    pub identity: (u64, u64),
}

impl Stat {
    fn is(self, kind: libc::mode_t) -> bool {
        self.mode & libc::S_IFMT == kind
    }

    /// Whether it is a directory.
    pub fn is_dir(self) -> bool {
        self.is(libc::S_IFDIR)
    }

    /// Whether it is a regular file.
    pub fn is_file(self) -> bool {
        self.is(libc::S_IFREG)
    }
}

fn done(rc: c_int) -> io::Result<()> {
    match rc {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Opens a file, which child processes that run another program do not inherit; one that is made gets this mode. A pipe to which
/// nobody writes is not waited for.
pub fn open(path: &CStr, mut flags: c_int, mode: libc::mode_t) -> io::Result<File> {
    if flags & libc::O_ACCMODE == libc::O_RDONLY {
        flags |= libc::O_NONBLOCK;
    }
    loop {
        // SAFETY: a C string.
        let fd = unsafe {
            open64(
                path.as_ptr(),
                flags | libc::O_CLOEXEC,
                c_int::from(mode as i32),
            )
        };
        if fd >= 0 {
            // SAFETY: just opened, and owned by nothing else.
            return Ok(unsafe { File::from_raw_fd(fd) });
        }
        let error = io::Error::last_os_error();
        match error.kind() {
            ErrorKind::Interrupted => {}
            // Another process is asked to give the file up, which is waited for.
            ErrorKind::WouldBlock if flags & libc::O_NONBLOCK != 0 => flags &= !libc::O_NONBLOCK,
            _ => return Err(error),
        }
    }
}

/// What lies at a path: at its end if it is a link and `follow`.
pub fn stat(path: &CStr, follow: bool) -> io::Result<Stat> {
    let mut there = MaybeUninit::<stat64_t>::zeroed();
    // SAFETY: a C string, and room for what the call fills in.
    done(unsafe {
        match follow {
            true => stat64(path.as_ptr(), there.as_mut_ptr()),
            false => lstat64(path.as_ptr(), there.as_mut_ptr()),
        }
    })?;
    // SAFETY: numbers, filled in.
    let there = unsafe { there.assume_init() };
    Ok(Stat {
        mode: there.st_mode,
        identity: (device(there.st_dev), there.st_ino),
    })
}

#[cfg(target_os = "linux")]
fn device(device: libc::dev_t) -> u64 {
    device
}

#[cfg(not(target_os = "linux"))]
fn device(device: libc::dev_t) -> u64 {
    device as u64
}

/// Removes a file or a link.
pub fn unlink(path: &CStr) -> io::Result<()> {
    // SAFETY: a C string.
    done(unsafe { libc::unlink(path.as_ptr()) })
}

/// Removes an empty directory.
pub fn remove_dir(path: &CStr) -> io::Result<()> {
    // SAFETY: a C string.
    done(unsafe { libc::rmdir(path.as_ptr()) })
}

/// Returns once all that was written to the file system of an open file would survive a loss of power.
#[cfg(target_os = "linux")]
pub fn sync_file_system(of: &File) -> io::Result<()> {
    loop {
        // SAFETY: an open descriptor.
        let synced = done(unsafe { libc::syncfs(of.as_raw_fd()) });
        match synced {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            synced => return synced,
        }
    }
}

/// Makes a directory.
pub fn make_dir(path: &CStr) -> io::Result<()> {
    // SAFETY: a C string.
    done(unsafe { libc::mkdir(path.as_ptr(), 0o777) })
}

/// Renames a file or a directory.
pub fn rename(from: &CStr, to: &CStr) -> io::Result<()> {
    // SAFETY: two C strings.
    done(unsafe { libc::rename(from.as_ptr(), to.as_ptr()) })
}

/// Gives a file a second name. Links are not followed.
pub fn link(from: &CStr, to: &CStr) -> io::Result<()> {
    // SAFETY: two C strings.
    done(unsafe { libc::link(from.as_ptr(), to.as_ptr()) })
}

/// What a link says, as much as there is room for; how many bytes that is.
pub fn read_link(path: &CStr, room: &mut [u8]) -> io::Result<usize> {
    // SAFETY: a C string, and as much room as is said.
    let len = unsafe { libc::readlink(path.as_ptr(), room.as_mut_ptr().cast(), room.len()) };
    usize::try_from(len).map_err(|_| io::Error::last_os_error())
}

/// Calls `each` with the path of each entry of a directory.
///
/// # Errors
/// [`Error::NotFound`] if it cannot be opened, [`Error::Failure`] if it cannot be read, [`Error::MemoryAlloc`], and those of
/// `each`, which end it.
pub fn each_entry(path: &CStr, mut each: impl FnMut(CStrBuf) -> Result<()>) -> Result<()> {
    struct Open(*mut libc::DIR);
    impl Drop for Open {
        fn drop(&mut self) {
            // SAFETY: opened below, and closed once.
            unsafe { libc::closedir(self.0) };
        }
    }
    // SAFETY: a C string.
    let directory = Open(unsafe { libc::opendir(path.as_ptr()) });
    if directory.0.is_null() {
        let error = io::Error::last_os_error();
        return Err(match error.kind() {
            ErrorKind::OutOfMemory => Error::MemoryAlloc,
            _ => Error::NotFound,
        });
    }
    loop {
        clear_errno();
        // SAFETY: it is open.
        let entry = unsafe { readdir64(directory.0) };
        if entry.is_null() {
            return match io::Error::last_os_error().raw_os_error() {
                Some(0) => Ok(()),
                _ => Err(Error::Failure),
            };
        }
        // SAFETY: an entry, whose name is a C string, until the next call.
        let name = unsafe { CStr::from_ptr((*entry).d_name.as_ptr()) };
        if name != c"." && name != c".." {
            each(CStrBuf::concat(&[path.to_bytes(), b"/", name.to_bytes()])?)?;
        }
    }
}

/// Only this distinguishes the end of a directory from an error.
fn clear_errno() {
    #[cfg(any(target_os = "macos", target_os = "ios"))]
    // SAFETY: the address of this thread's number.
    unsafe {
        *libc::__error() = 0;
    }
    #[cfg(not(any(target_os = "macos", target_os = "ios")))]
    // SAFETY: as above.
    unsafe {
        *libc::__errno_location() = 0;
    }
}
