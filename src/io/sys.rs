//! The system's calls on paths.
//!
//! Paths are C strings here, as the system takes them: the standard library makes copies of its paths, and ends the process
//! where there is no memory for one.

use crate::error::{Error, Result};
use std::ffi::{CStr, c_int};
use std::fs::File;
use std::io::{self, ErrorKind};
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, FromRawFd, RawFd};

// The names that the standard library uses, too; elsewhere files are always as large as these allow.
#[cfg(not(target_os = "linux"))]
use libc::{
    fstatat as fstatat64, lstat as lstat64, open as open64, stat as stat64, stat as stat64_t,
};
#[cfg(target_os = "linux")]
use libc::{fstatat64, lstat64, open64, stat64, stat64 as stat64_t};

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

/// Opens a file, which child processes that run another program do not inherit; one that is made gets this mode.
pub fn open(path: &CStr, flags: c_int, mode: libc::mode_t) -> io::Result<File> {
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
            // SAFETY: just opened, and nobody else's.
            return Ok(unsafe { File::from_raw_fd(fd) });
        }
        let error = io::Error::last_os_error();
        if error.kind() != ErrorKind::Interrupted {
            return Err(error);
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

/// An entry of a directory that is open.
pub struct Entry<'a> {
    directory: RawFd,
    name: &'a CStr,
}

impl Entry<'_> {
    /// Whether it is a directory, and no link to one.
    pub fn is_dir(&self) -> bool {
        let mut stat = MaybeUninit::<stat64_t>::uninit();
        let flags = libc::AT_SYMLINK_NOFOLLOW;
        // SAFETY: a C string, and room for the answer.
        let rc = unsafe { fstatat64(self.directory, self.name.as_ptr(), stat.as_mut_ptr(), flags) };
        // SAFETY: initialised where there is an answer.
        rc == 0 && unsafe { stat.assume_init() }.st_mode & libc::S_IFMT == libc::S_IFDIR
    }

    /// Removes it, if it is no directory.
    pub fn unlink(&self) -> io::Result<()> {
        // SAFETY: a C string.
        done(unsafe { libc::unlinkat(self.directory, self.name.as_ptr(), 0) })
    }
}

/// Calls `each` for every entry of a directory but itself and its parent. On Linux that takes no memory, so that what was made
/// when memory ended can be removed again.
///
/// # Errors
/// [`Error::NotFound`] if it cannot be opened, [`Error::Failure`] if it cannot be read, [`Error::MemoryAlloc`], and those of
/// `each`, which end it.
#[cfg(target_os = "linux")]
pub fn each_entry(path: &CStr, mut each: impl FnMut(Entry) -> Result<()>) -> Result<()> {
    /// Where in an entry its length and its name are.
    const LEN: usize = 16;
    const NAME: usize = 19;
    #[repr(align(8))]
    struct Room([u8; 4096]);
    let directory = open(path, libc::O_RDONLY | libc::O_DIRECTORY, 0).map_err(not_opened)?;
    let fd = directory.as_raw_fd();
    let mut room = Room([0; 4096]);
    loop {
        // SAFETY: the room has this size.
        let len =
            unsafe { libc::syscall(libc::SYS_getdents64, fd, room.0.as_mut_ptr(), room.0.len()) };
        let len = usize::try_from(len).map_err(|_| Error::Failure)?;
        let mut entries = room.0.get(..len).ok_or(Error::Failure)?;
        if entries.is_empty() {
            return Ok(());
        }
        while let Some([low, high]) = entries.get(LEN..LEN + 2) {
            let len = usize::from(u16::from_ne_bytes([*low, *high])).max(NAME);
            let (entry, rest) = entries.split_at_checked(len).ok_or(Error::Failure)?;
            let name = CStr::from_bytes_until_nul(&entry[NAME..]).map_err(|_| Error::Failure)?;
            if name != c"." && name != c".." {
                each(Entry {
                    directory: fd,
                    name,
                })?;
            }
            entries = rest;
        }
    }
}

fn not_opened(error: io::Error) -> Error {
    match error.kind() {
        ErrorKind::OutOfMemory => Error::MemoryAlloc,
        _ => Error::NotFound,
    }
}

/// As above.
#[cfg(not(target_os = "linux"))]
pub fn each_entry(path: &CStr, mut each: impl FnMut(Entry) -> Result<()>) -> Result<()> {
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
        return Err(not_opened(io::Error::last_os_error()));
    }
    loop {
        clear_errno();
        // SAFETY: it is open.
        let entry = unsafe { libc::readdir(directory.0) };
        if entry.is_null() {
            return match io::Error::last_os_error().raw_os_error() {
                Some(0) => Ok(()),
                _ => Err(Error::Failure),
            };
        }
        // SAFETY: an entry, whose name is a C string, until the next call.
        let name = unsafe { CStr::from_ptr((*entry).d_name.as_ptr()) };
        if name != c"." && name != c".." {
            each(Entry {
                // SAFETY: it is open.
                directory: unsafe { libc::dirfd(directory.0) },
                name,
            })?;
        }
    }
}

/// The end of a directory is told from an error by this alone.
#[cfg(not(target_os = "linux"))]
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
