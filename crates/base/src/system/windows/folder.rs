//! A directory, and what is done with names in it. This system has no calls for that by a handle:
//! each goes by the path, so that a user who may rename the directory can turn it elsewhere between
//! two calls.
#![expect(
    clippy::disallowed_types,
    reason = "these lists are never longer than what was reserved for them, which is an error where there is no memory"
)]

use super::files::{self, NewFileAccess, OpenFlags, Stat};
use crate::error::Result;
use std::ffi::CStr;
use std::fs::File;
use std::io::{self, ErrorKind};

/// A directory. Names in it are those of its entries, without a separator; links are not followed.
#[derive(Debug)]
pub struct Folder(Path);

/// A path that ends in 0.
#[derive(Debug)]
struct Path(Vec<u8>);

impl Path {
    fn concat(parts: &[&[u8]]) -> io::Result<Self> {
        let mut path = Vec::new();
        let len = parts.iter().map(|part| part.len()).sum();
        path.try_reserve_exact(len)
            .map_err(|_| ErrorKind::OutOfMemory)?;
        parts.iter().for_each(|part| path.extend_from_slice(part));
        Ok(Self(path))
    }

    fn as_c(&self) -> &CStr {
        CStr::from_bytes_until_nul(&self.0).unwrap_or_default()
    }
}

impl Folder {
    /// The directory at a path, whose links are followed.
    pub fn open(path: &CStr) -> io::Result<Self> {
        match files::stat(path, true)?.is_dir() {
            true => Path::concat(&[path.to_bytes_with_nul()]).map(Self),
            false => Err(ErrorKind::NotADirectory.into()),
        }
    }

    /// As [`Self::open`].
    pub fn open_to_search(path: &CStr) -> io::Result<Self> {
        Self::open(path)
    }

    fn path(&self, name: &CStr) -> io::Result<Path> {
        let folder = self.0.as_c().to_bytes();
        Path::concat(&[folder, b"/", name.to_bytes_with_nul()])
    }

    /// The directory with a name in this one.
    pub fn folder(&self, name: &CStr) -> io::Result<Self> {
        let path = self.path(name)?;
        match files::stat(path.as_c(), false)?.is_dir() {
            true => Ok(Self(path)),
            false => Err(ErrorKind::NotADirectory.into()),
        }
    }

    /// Opens a file.
    pub fn file(&self, name: &CStr, how: OpenFlags, access: NewFileAccess) -> io::Result<File> {
        files::open(self.path(name)?.as_c(), how.without_links(), access)
    }

    /// What has a name.
    pub fn stat(&self, name: &CStr) -> io::Result<Stat> {
        files::stat(self.path(name)?.as_c(), false)
    }

    /// Makes a directory, with the rights that this one passes on.
    pub fn make_private_folder(&self, name: &CStr) -> io::Result<()> {
        files::make_dir(self.path(name)?.as_c())
    }

    /// Removes a file or a link.
    pub fn unlink(&self, name: &CStr) -> io::Result<()> {
        files::unlink(self.path(name)?.as_c())
    }

    /// Removes an empty directory.
    pub fn remove_folder(&self, name: &CStr) -> io::Result<()> {
        files::remove_dir(self.path(name)?.as_c())
    }

    /// Gives what has a name here a new one in `to`, and replaces a file of that name.
    pub fn rename(&self, name: &CStr, to: &Self, new: &CStr) -> io::Result<()> {
        files::rename(self.path(name)?.as_c(), to.path(new)?.as_c())
    }

    /// Exchanges two names, which this system cannot.
    ///
    /// # Errors
    /// Always.
    pub fn exchange(&self, _name: &CStr, _with: &Self, _other: &CStr) -> io::Result<()> {
        Err(ErrorKind::Unsupported.into())
    }

    /// Gives a file here a second name in `to`, where nothing may have it.
    pub fn link(&self, name: &CStr, to: &Self, new: &CStr) -> io::Result<()> {
        files::link(self.path(name)?.as_c(), to.path(new)?.as_c())
    }

    /// Calls `each` with the name of each entry, as [`files::each_entry`] does.
    ///
    /// # Errors
    /// Those of `each_entry`.
    pub fn each_entry(&self, each: impl FnMut(&CStr) -> Result<()>) -> Result<()> {
        files::each_entry(self.0.as_c(), each)
    }

    /// Nothing: directories cannot be flushed, and need not be.
    pub fn sync(&self) -> io::Result<()> {
        files::sync_names(self.0.as_c())
    }

    /// The directory as an open file, of which its identity can be asked.
    pub fn opened(&self) -> io::Result<File> {
        files::open(self.0.as_c(), OpenFlags::READ, NewFileAccess::All)
    }
}
