//! The system's calls on paths and open files.

pub use super::entries::each_entry;
use super::thread::without_signals;
pub use super::versions::{
    FileVersion, Written, identity, identity_at, identity_if_named, identity_of, is_open, version,
    version_of, written,
};
use crate::system::attributes;
use std::ffi::{CStr, c_int};
use std::fs::{File, Metadata, Permissions};
use std::io::{self, ErrorKind, IoSlice, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, FromRawFd, IntoRawFd, OwnedFd, RawFd};
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt, fchown};
use std::sync::atomic::{AtomicU64, Ordering};

// The names that the standard library uses, too; elsewhere files are always as large as these
// allow.
#[cfg(not(target_os = "linux"))]
use libc::{
    fstatat as fstatat64, lstat as lstat64, open as open64, openat as openat64, stat as stat64,
    stat as stat64_t,
};
#[cfg(target_os = "linux")]
use libc::{fstatat64, lstat64, open64, openat64, stat64, stat64 as stat64_t};

/// The most bytes of a path.
pub const MAX_PATH: usize = libc::PATH_MAX as usize;

/// How many parts one system call takes; the least that any system allows is far lower, that of
/// Linux is this.
const MAX_PARTS: usize = 1024;

/// What a file is opened for.
#[derive(Clone, Copy)]
pub struct OpenFlags(c_int);

impl OpenFlags {
    /// Reading what is there, also a directory.
    pub const READ: Self = Self(libc::O_RDONLY);
    /// Reading a directory, and nothing else.
    pub(super) const DIRECTORY: Self = Self(libc::O_RDONLY | libc::O_DIRECTORY);
    /// Looking up names in a directory, without reading it.
    #[cfg(target_os = "linux")]
    pub(super) const SEARCH_DIRECTORY: Self = Self(libc::O_PATH | libc::O_DIRECTORY);
    /// Asking what a file is, without reading it.
    #[cfg(target_os = "linux")]
    pub const STAT: Self = Self(libc::O_PATH);
    /// Asking what a file is.
    #[cfg(not(target_os = "linux"))]
    pub const STAT: Self = Self::READ;
    /// Reading and writing a file that is there.
    pub const READ_WRITE: Self = Self(libc::O_RDWR);
    /// Changing a file that is there. Reading it does not set the time of the last access, where
    /// the system allows that: it would set a new one after each change, which takes longer than
    /// reading.
    #[cfg(target_os = "linux")]
    pub const CHANGE: Self = Self(libc::O_RDWR | libc::O_NOATIME);
    /// Changing a file that is there.
    #[cfg(not(target_os = "linux"))]
    pub const CHANGE: Self = Self::READ_WRITE;
    /// Reading and writing a new file; one that is there is emptied.
    pub const CREATE_EMPTY: Self = Self(libc::O_RDWR | libc::O_CREAT | libc::O_TRUNC);
    /// Reading and writing a file that is not there yet.
    pub const NEW: Self = Self(libc::O_RDWR | libc::O_CREAT | libc::O_EXCL);
    /// Reading and writing a file, which is made where there is none; links are refused.
    pub const OPEN_OR_CREATE: Self = Self(libc::O_RDWR | libc::O_CREAT | libc::O_NOFOLLOW);
    /// Reading a file that is there; links are refused.
    pub const EXISTING: Self = Self(libc::O_RDONLY | libc::O_NOFOLLOW);
    /// Writing what is there, whatever it is.
    pub const WRITE: Self = Self(libc::O_WRONLY);
    /// Writing a file that is there; links are refused, and nothing is waited for.
    pub const WRITE_FILE: Self = Self(libc::O_WRONLY | libc::O_NOFOLLOW | libc::O_NONBLOCK);
    /// Writing a file; neither a file nor a link may be there yet.
    pub const TEMPORARY: Self =
        Self(libc::O_WRONLY | libc::O_CREAT | libc::O_EXCL | libc::O_NOFOLLOW);
    /// Having what was written to it brought to the disk.
    pub const SYNC: Self = Self::READ;

    /// The same, but no link.
    pub(super) fn without_links(self) -> Self {
        Self(self.0 | libc::O_NOFOLLOW)
    }
}

/// Who may do what with a file that is made, as far as the process allows it.
#[derive(Clone, Copy)]
pub enum NewFileAccess {
    /// Its owner alone.
    Owner,
    /// Everyone.
    All,
}

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

    /// Whether its mode lets anybody write to it. An access control list that does shows in the
    /// mode, too.
    pub fn is_writable(self) -> bool {
        self.mode & (libc::S_IWUSR | libc::S_IWGRP | libc::S_IWOTH) != 0
    }
}

pub(super) fn done(rc: c_int) -> io::Result<()> {
    match rc {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// The lowest descriptor that is no standard stream's.
pub(super) const FIRST: RawFd = 3;

/// The same open file, not as one of the standard streams: where the program has closed these, it
/// would read and write the file as one.
pub(super) fn not_standard(file: OwnedFd) -> io::Result<OwnedFd> {
    if file.as_raw_fd() >= FIRST {
        return Ok(file);
    }
    // SAFETY: an open descriptor; the new one is owned by nothing else.
    unsafe {
        match libc::fcntl(file.as_raw_fd(), libc::F_DUPFD_CLOEXEC, FIRST) {
            ..0 => Err(io::Error::last_os_error()),
            new => Ok(OwnedFd::from_raw_fd(new)),
        }
    }
}

/// Opens a file, which child processes that run another program do not inherit. Opening a pipe does
/// not wait for a writer.
pub fn open(path: &CStr, how: OpenFlags, access: NewFileAccess) -> io::Result<File> {
    // SAFETY: a C string.
    open_by(how, access, |flags, mode| unsafe {
        open64(path.as_ptr(), flags, mode)
    })
}

/// Whether a file was not opened since it is a link.
pub fn is_link(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::ELOOP)
}

/// As [`open`], what has a name in an open directory.
pub(super) fn open_in(
    folder: &File,
    name: &CStr,
    how: OpenFlags,
    access: NewFileAccess,
) -> io::Result<File> {
    // SAFETY: an open descriptor and a C string.
    open_by(how, access, |flags, mode| unsafe {
        openat64(folder.as_raw_fd(), name.as_ptr(), flags, mode)
    })
}

fn open_by(
    how: OpenFlags,
    access: NewFileAccess,
    call: impl Fn(c_int, c_int) -> c_int,
) -> io::Result<File> {
    let mut flags = how.0 | libc::O_CLOEXEC;
    if flags & libc::O_ACCMODE == libc::O_RDONLY {
        flags |= libc::O_NONBLOCK;
    }
    let mode: c_int = match access {
        NewFileAccess::Owner => 0o600,
        NewFileAccess::All => 0o666,
    };
    loop {
        let fd = call(flags, mode);
        if fd >= 0 {
            // SAFETY: just opened, and owned by nothing else.
            return not_standard(unsafe { OwnedFd::from_raw_fd(fd) }).map(File::from);
        }
        let error = io::Error::last_os_error();
        match error.kind() {
            ErrorKind::Interrupted => {}
            // Another process is asked to give the file up, which is waited for.
            ErrorKind::WouldBlock if flags & libc::O_NONBLOCK != 0 => flags &= !libc::O_NONBLOCK,
            // This flag is for the owner of a file.
            #[cfg(target_os = "linux")]
            ErrorKind::PermissionDenied if flags & libc::O_NOATIME != 0 => {
                flags &= !libc::O_NOATIME;
            }
            _ => return Err(error),
        }
    }
}

/// What lies at a path: at its end if it is a link and `follow`.
pub fn stat(path: &CStr, follow: bool) -> io::Result<Stat> {
    // SAFETY: a C string, and room for what the call fills in.
    stat_by(|info| unsafe {
        match follow {
            true => stat64(path.as_ptr(), info),
            false => lstat64(path.as_ptr(), info),
        }
    })
}

/// What has a name in an open directory: a link itself.
pub(super) fn stat_in(folder: &File, name: &CStr) -> io::Result<Stat> {
    let (folder, flags) = (folder.as_raw_fd(), libc::AT_SYMLINK_NOFOLLOW);
    // SAFETY: an open descriptor, a C string, and room for what the call fills in.
    stat_by(|info| unsafe { fstatat64(folder, name.as_ptr(), info, flags) })
}

fn stat_by(call: impl FnOnce(*mut stat64_t) -> c_int) -> io::Result<Stat> {
    let mut info = MaybeUninit::<stat64_t>::zeroed();
    done(call(info.as_mut_ptr()))?;
    // SAFETY: numbers, filled in.
    let info = unsafe { info.assume_init() };
    Ok(Stat {
        mode: info.st_mode,
        identity: (device(info.st_dev), info.st_ino),
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

/// Returns once all that was written to the file system of an open file would survive a loss of
/// power.
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

/// Exchanges what lies at two paths, in one step.
///
/// # Errors
/// Also where the system or the file system cannot do that.
#[cfg(target_os = "linux")]
pub fn exchange(a: &CStr, b: &CStr) -> io::Result<()> {
    rename_by(a, b, libc::RENAME_EXCHANGE)
}

/// Renames a file or directory to a name that nothing has.
///
/// # Errors
/// Also if something has it.
pub fn rename_new(from: &CStr, to: &CStr) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    match rename_by(from, to, libc::RENAME_NOREPLACE) {
        Err(error) if matches!(error.raw_os_error(), Some(libc::EINVAL | libc::ENOSYS)) => {}
        done => return done,
    }
    // The file system cannot do that in one step. A second name is refused where there is one; a
    // directory, which can have no second name, is renamed over an empty one at the most.
    match stat(from, false)?.is_dir() {
        true if stat(to, false).is_ok() => Err(ErrorKind::AlreadyExists.into()),
        true => rename(from, to),
        false => link(from, to).and_then(|()| unlink(from)),
    }
}

#[cfg(target_os = "linux")]
fn rename_by(a: &CStr, b: &CStr, flags: libc::c_uint) -> io::Result<()> {
    let here = libc::AT_FDCWD;
    // By its number, for libraries of C have had the function for a few years only.
    // SAFETY: two C strings, and numbers as wide as the call takes them.
    let rc = unsafe {
        libc::syscall(
            libc::SYS_renameat2,
            here,
            a.as_ptr(),
            here,
            b.as_ptr(),
            flags,
        )
    };
    done(rc as c_int)
}

/// Exchanges what lies at two paths, which this system is not asked for.
///
/// # Errors
/// Always.
#[cfg(not(target_os = "linux"))]
pub fn exchange(_a: &CStr, _b: &CStr) -> io::Result<()> {
    Err(ErrorKind::Unsupported.into())
}

/// Gives a file a second name. Links are not followed.
pub fn link(from: &CStr, to: &CStr) -> io::Result<()> {
    // SAFETY: two C strings.
    done(unsafe { libc::link(from.as_ptr(), to.as_ptr()) })
}

/// What a link says, as much as there is room for; how many bytes that is.
pub fn read_link(path: &CStr, buffer: &mut [u8]) -> io::Result<usize> {
    // SAFETY: a C string, and as much room as is said.
    let len = unsafe { libc::readlink(path.as_ptr(), buffer.as_mut_ptr().cast(), buffer.len()) };
    usize::try_from(len).map_err(|_| io::Error::last_os_error())
}

/// Reads from `pos` on, once; how many bytes that were, none at the end of the file.
pub fn read_at(file: &File, buf: &mut [u8], pos: u64) -> io::Result<usize> {
    file.read_at(buf, pos)
}

/// As [`read_at`], into memory that nothing was written to.
pub fn read_new_at(file: &File, buffer: &mut [MaybeUninit<u8>], pos: u64) -> io::Result<usize> {
    let at = libc::off_t::try_from(pos).map_err(|_| ErrorKind::InvalidInput)?;
    // SAFETY: `buffer` is memory that may be written, as long as it says; the descriptor is open.
    let read = unsafe {
        libc::pread(
            file.as_raw_fd(),
            buffer.as_mut_ptr().cast(),
            buffer.len(),
            at,
        )
    };
    usize::try_from(read).map_err(|_| io::Error::last_os_error())
}

/// Writes from `pos` on, once; how many bytes that were.
pub fn write_at(file: &File, buf: &[u8], pos: u64, limit: &FileSizeLimit) -> io::Result<usize> {
    limit.quietly(pos, buf.len(), || file.write_at(buf, pos))
}

/// Makes a file `len` bytes long.
pub fn set_len(file: &File, len: u64, limit: &FileSizeLimit) -> io::Result<()> {
    limit.quietly(len, 0, || file.set_len(len))
}

/// Writes all of `buf` to what has no positions, such as a pipe.
pub fn write_all(mut file: &File, buf: &[u8]) -> io::Result<()> {
    without_signals(|| file.write_all(buf))
}

/// How long a file the process may write, as far as that was asked since the last
/// [`Self::forget`]: the writes of one change ask once.
#[derive(Debug, Default)]
pub struct FileSizeLimit(AtomicU64);

impl FileSizeLimit {
    /// The program may have set another limit: the next write asks for it.
    pub fn forget(&self) {
        self.0.store(0, Ordering::Relaxed);
    }

    /// Makes a call that lets a file reach `len` bytes behind `pos`. Where the process may write no
    /// files of that length, the system would send it a signal for the call, and end it.
    fn quietly<T>(&self, pos: u64, len: usize, call: impl FnOnce() -> T) -> T {
        let end = pos.saturating_add(len as u64);
        if end <= self.0.load(Ordering::Relaxed) {
            return call();
        }
        let mut limit = libc::rlimit {
            rlim_cur: libc::RLIM_INFINITY,
            rlim_max: libc::RLIM_INFINITY,
        };
        // SAFETY: `limit` is a struct for the call to fill. Where that fails, there is no limit.
        unsafe { libc::getrlimit(libc::RLIMIT_FSIZE, &mut limit) };
        self.0.store(limit.rlim_cur, Ordering::Relaxed);
        match end > limit.rlim_cur {
            true => without_signals(call),
            false => call(),
        }
    }
}

/// As [`write_at`], parts one after another.
pub fn write_parts_at(
    file: &File,
    parts: &[IoSlice<'_>],
    pos: u64,
    limit: &FileSizeLimit,
) -> io::Result<usize> {
    let at = libc::off_t::try_from(pos).map_err(|_| ErrorKind::InvalidInput)?;
    let parts = &parts[..parts.len().min(MAX_PARTS)];
    let len = parts.iter().map(|part| part.len()).sum();
    // SAFETY: an `IoSlice` has the layout of an `iovec`, as its documentation promises, and each of
    // these borrows bytes that outlive the call; the descriptor is open.
    let written = limit.quietly(pos, len, || unsafe {
        let count = parts.len() as c_int;
        libc::pwritev(file.as_raw_fd(), parts.as_ptr().cast(), count, at)
    });
    usize::try_from(written).map_err(|_| io::Error::last_os_error())
}

/// Fills `buf` with the bytes from `pos` on.
///
/// # Errors
/// Also where the file ends before.
pub fn read_exact_at(file: &File, buf: &mut [u8], pos: u64) -> io::Result<()> {
    file.read_exact_at(buf, pos)
}

/// Writes all of `buf` from `pos` on.
pub fn write_all_at(file: &File, buf: &[u8], pos: u64) -> io::Result<()> {
    FileSizeLimit::default().quietly(pos, buf.len(), || file.write_all_at(buf, pos))
}

/// Closes a file. Some file systems write only now, and report only here that they could not.
pub fn close(file: File) -> io::Result<()> {
    // SAFETY: the descriptor was the file's alone, and is used no more.
    match done(unsafe { libc::close(file.into_raw_fd()) }) {
        // It is closed, nonetheless.
        Err(error) if error.kind() == ErrorKind::Interrupted => Ok(()),
        closed => closed,
    }
}

/// Owner, group and mode of a file.
pub struct Rights(Metadata);

/// Those of an open file.
pub fn rights(file: &File) -> io::Result<Rights> {
    file.metadata().map(Rights)
}

/// Gives a new file owner, group, mode and access control list (`acl`) of an old one. Where
/// something cannot be given, no other user gets more rights than before: not those of another
/// owner's program, nor of another group, nor where the list took them away.
pub fn give_rights(file: &File, Rights(old): &Rights, acl: Option<&mut [u8]>) -> io::Result<()> {
    let new = file.metadata()?;
    let group = new.gid() == old.gid() || fchown(file, None, Some(old.gid())).is_ok();
    let owner = new.uid() == old.uid() || fchown(file, Some(old.uid()), None).is_ok();
    let mut mode = old.mode() & 0o7777;
    if !owner || !group {
        mode &= 0o777;
    }
    if !group {
        let others = mode & 0o007;
        mode &= !0o070 | (others << 3);
    }
    file.set_permissions(Permissions::from_mode(give_acl(file, acl, mode)))
}

/// Gives a file an access control list that goes with `mode`, or without one takes away that which
/// its directory gave it. Gives the mode that the file may have: where this fails, the owner's
/// rights alone. For the group's bits in the mode of a file with a list are the list's mask, and no
/// right of the group.
pub fn give_acl(file: &File, acl: Option<&mut [u8]>, mode: u32) -> u32 {
    let given = match acl {
        None => remove_acl(file),
        Some(acl) => {
            attributes::limit(acl, (mode >> 3 & 0o7) as u8);
            // To set one without any bytes is to remove it.
            let given = !acl.is_empty() && attributes::set(file, attributes::ACL, acl).is_ok();
            if !given {
                remove_acl(file);
            }
            given
        }
    };
    if given { mode } else { mode & !0o077 }
}

/// Removes the access control list, if there is one. Returns whether the file has none now.
fn remove_acl(file: &File) -> bool {
    let has_attributes = matches!(attributes::names(file, &mut []), Ok(Some(1..)));
    !has_attributes || attributes::remove(file, attributes::ACL).is_ok()
}

/// Returns once the names in a directory would survive a loss of power.
pub fn sync_names(directory: &CStr) -> io::Result<()> {
    open(directory, OpenFlags::READ, NewFileAccess::All).and_then(|directory| directory.sync_all())
}

/// How many files the process may have open; none if it has no limit.
pub fn most_open() -> Option<u64> {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: `limit` is a struct for the call to fill.
    let refused = unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) } != 0;
    (!refused && limit.rlim_cur != libc::RLIM_INFINITY).then_some(limit.rlim_cur)
}

/// Whether this stands between the names of a path.
pub fn is_separator(byte: u8) -> bool {
    byte == b'/'
}

/// How many bytes at the front of a path name a drive.
pub fn drive(_path: &[u8]) -> usize {
    0
}

/// The bytes of a path of the standard library, as this crate takes them; none where it cannot be
/// told so.
pub fn path_bytes(path: &std::path::Path) -> Option<&[u8]> {
    use std::os::unix::ffi::OsStrExt;
    Some(path.as_os_str().as_bytes())
}
