//! Which file a path names or is open, and when that was last written to.

use std::fs::{File, FileTimes};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, UNIX_EPOCH};

pub use system::{identity, identity_of, version, version_of};

/// When a file was last written to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Written {
    pub(super) seconds: i64,
    pub(super) nanos: u32,
}

/// Device and inode of a file, when it was last written to, and how many bytes it has, as far as these are known.
pub type FileVersion = ((u64, u64), Option<Written>, Option<u64>);

/// Makes it look as if an open file was written to later than `before`, where it does not. A system whose clock for this goes in
/// steps would not show the last of two writes otherwise.
pub fn write_after(file: &File, before: Written) -> io::Result<()> {
    let at = UNIX_EPOCH + Duration::new(before.seconds.max(0) as u64, before.nanos);
    let times = FileTimes::new().set_modified(at + Duration::from_nanos(1));
    file.set_times(times)
}

/// Device and inode of an open file that has a name still: else it is gone once it is closed.
pub fn identity_if_named(file: &File) -> Option<(u64, u64)> {
    let there = file.metadata().ok()?;
    (there.nlink() > 0).then(|| (there.dev(), there.ino()))
}

/// Whether a descriptor still leads to the file with this device and inode, as far as that is known: the program may have closed it, and its
/// number may be another file's.
pub fn is_open(file: &File, known: (u64, u64)) -> bool {
    match identity(file) {
        Ok(identity) => identity == known,
        Err(error) => error.raw_os_error() != Some(libc::EBADF),
    }
}

/// When an open file was last written to, where the system knows.
pub fn written(file: &File) -> Option<Written> {
    version(file).ok()?.1
}

/// Device and inode of what a path of the standard library names.
pub fn identity_at(path: &std::path::Path) -> io::Result<(u64, u64)> {
    let there = path.metadata()?;
    Ok((there.dev(), there.ino()))
}

#[cfg(target_os = "linux")]
mod system {
    use super::{FileVersion, Written};
    use crate::unix::files::done;
    use std::ffi::{CStr, c_int};
    use std::fs::File;
    use std::io;
    use std::mem::MaybeUninit;
    use std::os::fd::AsRawFd;

    /// Device and inode that the path names. Nothing else is asked for: some systems note that a program saw the time of the
    /// last change, so that the next write has to set a new time, which takes longer than the write.
    pub fn identity_of(path: &CStr) -> Option<(u64, u64)> {
        let there = ask(libc::AT_FDCWD, path, 0, libc::STATX_INO).ok()?;
        Some(identity_in(&there))
    }

    const VERSION: u32 = libc::STATX_INO | libc::STATX_MTIME | libc::STATX_SIZE;

    /// The version of the file that the path names.
    pub fn version_of(path: &CStr) -> Option<FileVersion> {
        let there = ask(libc::AT_FDCWD, path, 0, VERSION).ok()?;
        Some(version_in(&there))
    }

    /// The version of an open file.
    pub fn version(file: &File) -> io::Result<FileVersion> {
        let there = ask(file.as_raw_fd(), c"", libc::AT_EMPTY_PATH, VERSION)?;
        Ok(version_in(&there))
    }

    fn version_in(there: &libc::statx) -> FileVersion {
        let size = (there.stx_mask & libc::STATX_SIZE != 0).then_some(there.stx_size);
        (identity_in(there), written_in(there), size)
    }

    fn identity_in(there: &libc::statx) -> (u64, u64) {
        let device = libc::makedev(there.stx_dev_major, there.stx_dev_minor);
        (device, there.stx_ino)
    }

    fn written_in(there: &libc::statx) -> Option<Written> {
        (there.stx_mask & libc::STATX_MTIME != 0).then_some(Written {
            seconds: there.stx_mtime.tv_sec,
            nanos: there.stx_mtime.tv_nsec,
        })
    }

    /// Device and inode of an open file, with as little asked for.
    pub fn identity(file: &File) -> io::Result<(u64, u64)> {
        let there = ask(file.as_raw_fd(), c"", libc::AT_EMPTY_PATH, libc::STATX_INO)?;
        Ok(identity_in(&there))
    }

    /// Asks for what `mask` says of the file that a path names.
    #[inline(always)]
    fn ask(from: c_int, path: &CStr, flags: c_int, mask: u32) -> io::Result<libc::statx> {
        let mut there = MaybeUninit::<libc::statx>::zeroed();
        let room = there.as_mut_ptr();
        // SAFETY: a C string, and room for what the call fills in.
        #[cfg(not(target_env = "musl"))]
        let rc = unsafe { libc::statx(from, path.as_ptr(), flags, mask, room) };
        // musl has that function only since version 1.2.5, and distributions have older ones.
        // SAFETY: a C string, and room for what the call fills in.
        #[cfg(target_env = "musl")]
        let rc = unsafe { libc::syscall(libc::SYS_statx, from, path.as_ptr(), flags, mask, room) }
            as c_int;
        done(rc)?;
        // SAFETY: numbers, zero where nothing was filled in.
        Ok(unsafe { there.assume_init() })
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    use super::{FileVersion, Written};
    use crate::unix::files::stat;
    use std::ffi::CStr;
    use std::fs::File;
    use std::io;
    use std::os::unix::fs::MetadataExt;

    /// The version of the file that the path names.
    pub fn version_of(path: &CStr) -> Option<FileVersion> {
        let there = stat(path, true).ok()?;
        Some((there.identity, Some(there.written), None))
    }

    /// The version of an open file.
    pub fn version(file: &File) -> io::Result<FileVersion> {
        let there = file.metadata()?;
        let written = Written {
            seconds: there.mtime(),
            nanos: there.mtime_nsec() as u32,
        };
        let identity = (there.dev(), there.ino());
        Ok((identity, Some(written), Some(there.len())))
    }

    /// Device and inode that the path names.
    pub fn identity_of(path: &CStr) -> Option<(u64, u64)> {
        stat(path, true).ok().map(|there| there.identity)
    }

    /// Device and inode of an open file.
    pub fn identity(file: &File) -> io::Result<(u64, u64)> {
        let file = file.metadata()?;
        Ok((file.dev(), file.ino()))
    }
}
