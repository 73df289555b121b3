//! The files within a directory that was looked up once.

use super::file::{Filesystem, PlainFile};

use super::{Backend, Mode, Storage, Version};
use oxiblosc_base::memory::{CStrBuf, Shared, shared_dyn};
use oxiblosc_base::system::files::{NewFileAccess, OpenFlags, is_separator};
use oxiblosc_base::system::folder::Folder;
use oxiblosc_base::{Context, Doing, Error, OrError, Result};
use std::ffi::CStr;
use std::fs::File;
use std::io::{self, ErrorKind};

/// A back end that reads the files in a directory and below it. Neither another directory that gets
/// its path later nor links are followed: what they lead to, the owner of the directory may have
/// no right to read.
#[derive(Debug)]
pub struct FilesWithin {
    folder: Folder,
    /// What the paths of its files begin with.
    path: CStrBuf,
}

impl FilesWithin {
    /// The files in the directory at a path, whose own links are followed.
    ///
    /// # Errors
    /// If it cannot be opened; for lack of memory.
    pub fn open(path: &CStr) -> io::Result<Self> {
        let folder = Folder::open_to_search(path)?;
        let path = CStrBuf::copy_of(path).map_err(|_| ErrorKind::OutOfMemory)?;
        Ok(Self { folder, path })
    }

    /// Opens what is at a path that begins with that of the directory, to be read.
    ///
    /// # Errors
    /// If it cannot be opened, or there are links on the way; for other paths.
    pub fn file(&self, path: &CStr, how: OpenFlags) -> io::Result<File> {
        let names = path.to_bytes().strip_prefix(self.path.to_bytes());
        let names = names.ok_or(ErrorKind::NotFound)?;
        let mut names = names.split(|byte| is_separator(*byte));
        let mut names = names.by_ref().filter(|name| !name.is_empty()).peekable();
        let mut inner = None;
        while let Some(name) = names.next() {
            let name = CStrBuf::new(name).map_err(|_| ErrorKind::OutOfMemory)?;
            let folder = inner.as_ref().unwrap_or(&self.folder);
            if names.peek().is_none() {
                return folder.file(&name, how, NewFileAccess::All);
            }
            inner = Some(folder.folder(&name)?);
        }
        Err(ErrorKind::NotFound.into())
    }
}

impl Backend for FilesWithin {
    fn open(&self, path: &CStr, mode: Mode) -> Result<Shared<dyn Storage>> {
        let file = match mode {
            Mode::Read => self
                .file(path, OpenFlags::READ)
                .or_error(Error::FILE_OPEN)
                .doing(Doing::OpenFile)?,
            Mode::ReadWrite | Mode::Create | Mode::New => return Err(Error::FILE_OPEN),
        };
        let file = PlainFile::of(file);
        shared_dyn!(file => dyn Storage)
    }

    fn identity(&self, path: &CStr) -> Option<(u64, u64)> {
        Filesystem.identity(path)
    }

    fn version(&self, path: &CStr) -> Option<Version> {
        Filesystem.version(path)
    }

    fn is_filesystem(&self) -> bool {
        true
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::super::tests::Folder as Place;
    use super::*;
    use crate::file::path;
    use std::os::unix::fs::symlink;

    #[test]
    fn no_links_are_followed_behind_the_directory() {
        let place = Place::new("within");
        let root = place.path("root");
        std::fs::create_dir_all(path(&place.path("root/inner"))).expect("made");
        for (name, bytes) in [("root/a", b"a"), ("root/inner/b", b"b"), ("secret", b"s")] {
            std::fs::write(path(&place.path(name)), bytes).expect("written");
        }
        symlink("../secret", path(&place.path("root/link"))).expect("made");
        symlink("inner", path(&place.path("root/way"))).expect("made");
        symlink("root", path(&place.path("other"))).expect("made");
        for by in [root, place.path("other")] {
            let files = FilesWithin::open(&by).expect("opened");
            let read = |name: &str| {
                let name = [by.to_bytes(), name.as_bytes()].concat();
                let name = CStrBuf::new(&name).expect("memory");
                let file = files.open(&name, Mode::Read)?;
                let mut byte = [0];
                file.read_at(0, &mut byte).map(|()| byte[0])
            };
            assert_eq!((read("/a"), read("//inner/b")), (Ok(b'a'), Ok(b'b')));
            for name in ["", "/", "/link", "/way/b", "/none", "/a/b", "b"] {
                assert_eq!(read(name), Err(Error::FILE_OPEN), "{name}");
            }
            assert!(files.open(&place.path("secret"), Mode::Read).is_err());
            assert!(files.open(&place.path("root/a"), Mode::ReadWrite).is_err());
        }
    }
}
