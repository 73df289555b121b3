//! Which file a path names or is open, and when that was last written to.

use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;

pub use system::{identity, identity_of, version, version_of, written};

/// When a file was last written to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Written {
    pub(super) seconds: i64,
    pub(super) nanos: u32,
}

/// Device and inode of a file, and how many bytes it has, if that is known.
pub type FileVersion = ((u64, u64), Option<u64>);

/// Device and inode of an open file that has a name still: else it is gone once it is closed.
pub fn identity_if_named(file: &File) -> Option<(u64, u64)> {
    let info = file.metadata().ok()?;
    (info.nlink() > 0).then(|| (info.dev(), info.ino()))
}

/// Whether a descriptor still leads to the file with this device and inode, as far as that is
/// known: the program may have closed it, and its number may be another file's.
pub fn is_open(file: &File, known: (u64, u64)) -> bool {
    match identity(file) {
        Ok(identity) => identity == known,
        Err(error) => error.raw_os_error() != Some(libc::EBADF),
    }
}

/// Device and inode of what a path of the standard library names.
pub fn identity_at(path: &std::path::Path) -> io::Result<(u64, u64)> {
    let info = path.metadata()?;
    Ok((info.dev(), info.ino()))
}

#[cfg(target_os = "linux")]
mod system {
    use super::{FileVersion, Written};
    use crate::system::unix::files::done;
    use std::ffi::{CStr, c_int};
    use std::fs::File;
    use std::io;
    use std::mem::MaybeUninit;
    use std::os::fd::AsRawFd;

    /// Device and inode that the path names.
    pub fn identity_of(path: &CStr) -> Option<(u64, u64)> {
        let info = ask(libc::AT_FDCWD, path, 0, libc::STATX_INO).ok()?;
        Some(identity_in(&info))
    }

    /// No times: some systems note that a program saw the time of the last change, so that the next
    /// write has to set a new time, which takes longer than the write.
    const VERSION: u32 = libc::STATX_INO | libc::STATX_SIZE;

    /// The version of the file that the path names.
    pub fn version_of(path: &CStr) -> Option<FileVersion> {
        let info = ask(libc::AT_FDCWD, path, 0, VERSION).ok()?;
        Some(version_in(&info))
    }

    /// The version of an open file.
    pub fn version(file: &File) -> io::Result<FileVersion> {
        let info = ask(file.as_raw_fd(), c"", libc::AT_EMPTY_PATH, VERSION)?;
        Ok(version_in(&info))
    }

    fn version_in(info: &libc::statx) -> FileVersion {
        let size = (info.stx_mask & libc::STATX_SIZE != 0).then_some(info.stx_size);
        (identity_in(info), size)
    }

    fn identity_in(info: &libc::statx) -> (u64, u64) {
        let device = libc::makedev(info.stx_dev_major, info.stx_dev_minor);
        (device, info.stx_ino)
    }

    /// When an open file was last written to, where the system knows.
    pub fn written(file: &File) -> Option<Written> {
        let asked = libc::STATX_MTIME;
        let info = ask(file.as_raw_fd(), c"", libc::AT_EMPTY_PATH, asked).ok()?;
        (info.stx_mask & libc::STATX_MTIME != 0).then_some(Written {
            seconds: info.stx_mtime.tv_sec,
            nanos: info.stx_mtime.tv_nsec,
        })
    }

    /// Device and inode of an open file, with as little asked for.
    pub fn identity(file: &File) -> io::Result<(u64, u64)> {
        let info = ask(file.as_raw_fd(), c"", libc::AT_EMPTY_PATH, libc::STATX_INO)?;
        Ok(identity_in(&info))
    }

    /// Asks for what `mask` says of the file that a path names.
    #[inline(always)]
    fn ask(from: c_int, path: &CStr, flags: c_int, mask: u32) -> io::Result<libc::statx> {
        let mut info = MaybeUninit::<libc::statx>::zeroed();
        let out = info.as_mut_ptr();
        // SAFETY: a C string, and room for what the call fills in.
        #[cfg(not(target_env = "musl"))]
        let rc = unsafe { libc::statx(from, path.as_ptr(), flags, mask, out) };
        // musl has that function only since version 1.2.5, and distributions have older ones.
        // SAFETY: a C string, and room for what the call fills in.
        #[cfg(target_env = "musl")]
        let rc = unsafe { libc::syscall(libc::SYS_statx, from, path.as_ptr(), flags, mask, out) }
            as c_int;
        done(rc)?;
        // SAFETY: numbers, zero where nothing was filled in.
        Ok(unsafe { info.assume_init() })
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    use super::{FileVersion, Written};
    use crate::system::unix::files::stat;
    use std::ffi::CStr;
    use std::fs::File;
    use std::io;
    use std::os::unix::fs::MetadataExt;

    /// The version of the file that the path names.
    pub fn version_of(path: &CStr) -> Option<FileVersion> {
        let info = stat(path, true).ok()?;
        Some((info.identity, None))
    }

    /// The version of an open file.
    pub fn version(file: &File) -> io::Result<FileVersion> {
        let info = file.metadata()?;
        Ok(((info.dev(), info.ino()), Some(info.len())))
    }

    /// When an open file was last written to.
    pub fn written(file: &File) -> Option<Written> {
        let info = file.metadata().ok()?;
        Some(Written {
            seconds: info.mtime(),
            nanos: info.mtime_nsec() as u32,
        })
    }

    /// Device and inode that the path names.
    pub fn identity_of(path: &CStr) -> Option<(u64, u64)> {
        stat(path, true).ok().map(|info| info.identity)
    }

    /// Device and inode of an open file.
    pub fn identity(file: &File) -> io::Result<(u64, u64)> {
        let file = file.metadata()?;
        Ok((file.dev(), file.ino()))
    }
}
