//! Names in directories that were looked up once.

use oxiblosc::storage::paths::path_bytes;
use oxiblosc_base::memory::CStrBuf;
use oxiblosc_base::system::files::Stat;
use oxiblosc_base::system::folder::Folder;
use std::ffi::CStr;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A name in a directory that was looked up once: what becomes of the directory's path later does
/// not matter.
#[derive(Clone)]
pub struct Place {
    /// The directory.
    pub folder: Arc<Folder>,
    /// The name in it.
    pub name: Arc<CStr>,
}

impl Place {
    /// The last name of a path, in the directory before it. Fails if the path has no last name.
    pub fn at(path: &Path) -> io::Result<Self> {
        let name = path.file_name().ok_or(ErrorKind::IsADirectory)?;
        Ok(Self {
            folder: Arc::new(Folder::open_to_search(&as_c(&parent(path))?)?),
            name: Arc::from(&*as_c(Path::new(name))?),
        })
    }

    /// What is there; a link itself.
    pub fn stat(&self) -> io::Result<Stat> {
        self.folder.stat(&self.name)
    }

    /// Opens the directory that is there.
    pub fn open_folder(&self) -> io::Result<Folder> {
        self.folder.folder(&self.name)
    }
}

/// A path as the library takes it.
pub fn as_c(path: &Path) -> io::Result<CStrBuf> {
    path_bytes(path)
        .and_then(|bytes| CStrBuf::new(bytes).ok())
        .ok_or_else(|| ErrorKind::InvalidInput.into())
}

/// The directory that contains a path.
pub fn parent(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if parent != Path::new("") => parent.to_path_buf(),
        Some(_) => PathBuf::from("."),
        None => path.to_path_buf(),
    }
}
