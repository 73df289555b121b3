//! A directory that is looked up once. What is done in it goes by its descriptor, so that it is
//! done there even if another user renames the directory, or puts a link in its place, between any
//! two calls.

use super::entries::each_entry_of;
use super::files::{NewFileAccess, OpenFlags, Stat, done, open, open_in, stat_in};
use crate::error::Result;
use std::ffi::{CStr, c_int};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

/// An open directory. Names in it are those of its entries, without a separator; links are not
/// followed.
#[derive(Debug)]
pub struct Folder(File);

impl Folder {
    /// The directory at a path, whose links are followed.
    pub fn open(path: &CStr) -> io::Result<Self> {
        open(path, OpenFlags::DIRECTORY, NewFileAccess::All).map(Self)
    }

    /// As [`Self::open`], also one in which this user may make files, but not list them.
    #[cfg(target_os = "linux")]
    pub fn open_to_search(path: &CStr) -> io::Result<Self> {
        match Self::open(path) {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                open(path, OpenFlags::SEARCH_DIRECTORY, NewFileAccess::All).map(Self)
            }
            opened => opened,
        }
    }

    /// As [`Self::open`]: this system opens only what can be listed.
    #[cfg(not(target_os = "linux"))]
    pub fn open_to_search(path: &CStr) -> io::Result<Self> {
        Self::open(path)
    }

    /// The directory with a name in this one.
    pub fn folder(&self, name: &CStr) -> io::Result<Self> {
        self.file(name, OpenFlags::DIRECTORY, NewFileAccess::All)
            .map(Self)
    }

    /// Opens a file.
    pub fn file(&self, name: &CStr, how: OpenFlags, access: NewFileAccess) -> io::Result<File> {
        open_in(&self.0, name, how.without_links(), access)
    }

    /// What has a name.
    pub fn stat(&self, name: &CStr) -> io::Result<Stat> {
        stat_in(&self.0, name)
    }

    /// Makes a directory that only this user can look into.
    pub fn make_private_folder(&self, name: &CStr) -> io::Result<()> {
        // SAFETY: an open descriptor and a C string.
        done(unsafe { libc::mkdirat(self.fd(), name.as_ptr(), 0o700) })
    }

    /// Removes a file or a link.
    pub fn unlink(&self, name: &CStr) -> io::Result<()> {
        // SAFETY: as above.
        done(unsafe { libc::unlinkat(self.fd(), name.as_ptr(), 0) })
    }

    /// Removes an empty directory.
    pub fn remove_folder(&self, name: &CStr) -> io::Result<()> {
        // SAFETY: as above.
        done(unsafe { libc::unlinkat(self.fd(), name.as_ptr(), libc::AT_REMOVEDIR) })
    }

    /// Gives what has a name here a new one in `to`, and replaces a file of that name.
    pub fn rename(&self, name: &CStr, to: &Self, new: &CStr) -> io::Result<()> {
        let (from, to) = (self.fd(), to.fd());
        // SAFETY: open descriptors and C strings.
        done(unsafe { libc::renameat(from, name.as_ptr(), to, new.as_ptr()) })
    }

    /// Exchanges what has a name here and what has another in `with`, in one step.
    ///
    /// # Errors
    /// Also where the system or the file system cannot do that.
    #[cfg(target_os = "linux")]
    pub fn exchange(&self, name: &CStr, with: &Self, other: &CStr) -> io::Result<()> {
        let (from, to, flags) = (self.fd(), with.fd(), libc::RENAME_EXCHANGE);
        // By its number, for libraries of C have had the function for a few years only.
        // SAFETY: open descriptors, C strings, and numbers as wide as the call takes them.
        let rc = unsafe {
            libc::syscall(
                libc::SYS_renameat2,
                from,
                name.as_ptr(),
                to,
                other.as_ptr(),
                flags,
            )
        };
        done(rc as c_int)
    }

    /// Exchanges two names, which this system is not asked for.
    ///
    /// # Errors
    /// Always.
    #[cfg(not(target_os = "linux"))]
    pub fn exchange(&self, _name: &CStr, _with: &Self, _other: &CStr) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Gives a file here a second name in `to`, where nothing may have it.
    pub fn link(&self, name: &CStr, to: &Self, new: &CStr) -> io::Result<()> {
        let (from, to) = (self.fd(), to.fd());
        // SAFETY: open descriptors and C strings.
        done(unsafe { libc::linkat(from, name.as_ptr(), to, new.as_ptr(), 0) })
    }

    /// Calls `each` with the name of each entry, as [`each_entry`](super::files::each_entry) does.
    ///
    /// # Errors
    /// Those of `each_entry`, but that the directory is open.
    pub fn each_entry(&self, each: impl FnMut(&CStr) -> Result<()>) -> Result<()> {
        each_entry_of(&self.0, each)
    }

    /// Returns once the names in it would survive a loss of power.
    pub fn sync(&self) -> io::Result<()> {
        self.0.sync_all()
    }

    /// The directory as an open file, of which locks, rights and identity can be asked. Its lock is
    /// that of this value.
    pub fn opened(&self) -> io::Result<File> {
        self.0.try_clone()
    }

    fn fd(&self) -> c_int {
        self.0.as_raw_fd()
    }
}

impl AsFd for Folder {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
