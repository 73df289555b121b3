//! What is at a path. That the system cannot say is an error, and not the same as that nothing is there.

use crate::library::c_path;
use crate::system;
use oxiblosc_base::memory::CStrBuf;
use oxiblosc_base::system::files::Stat;
use oxiblosc_base::system::folder::Folder;
use std::ffi::CStr;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// The file with the header in the directory of a frame.
pub const HEADER: &CStr = c"chunks.b2frame";

/// A name in a directory that was looked up once: what becomes of the directory's path later does not matter.
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
    c_path(path).map_err(|_| ErrorKind::InvalidInput.into())
}

/// The directory that contains a path.
pub fn parent(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if parent != Path::new("") => parent.to_path_buf(),
        Some(_) => PathBuf::from("."),
        None => path.to_path_buf(),
    }
}

/// The paths that [`lasting`] gave, each with the one that people know.
static LASTING: Mutex<Vec<(PathBuf, PathBuf)>> = Mutex::new(Vec::new());

/// A path that leads to what is open whatever becomes of its name; `path`, by which it was opened, where the system has no such paths.
pub fn lasting(opened: &impl system::Open, path: &Path) -> PathBuf {
    let Some(lasting) = system::lasting_path(opened) else {
        return path.to_path_buf();
    };
    let mut known = LASTING.lock().unwrap_or_else(PoisonError::into_inner);
    // What was open by the same number before is closed.
    known.retain(|(other, _)| *other != lasting);
    known.push((lasting.clone(), path.to_path_buf()));
    lasting
}

/// A path as people know it, for messages.
pub fn shown(path: &Path) -> PathBuf {
    let known = LASTING.lock().unwrap_or_else(PoisonError::into_inner);
    let found = known.iter().find_map(|(lasting, shown)| {
        let rest = path.strip_prefix(lasting).ok()?;
        Some(match rest == Path::new("") {
            true => shown.clone(),
            false => shown.join(rest),
        })
    });
    found.unwrap_or_else(|| path.to_path_buf())
}

/// Whether a path leads to something for which `is` holds. False if there is nothing.
fn leads_to(path: &Path, is: impl Fn(std::fs::Metadata) -> bool) -> io::Result<bool> {
    match std::fs::metadata(path) {
        Ok(there) => Ok(is(there)),
        Err(error) => match error.kind() {
            ErrorKind::NotFound | ErrorKind::NotADirectory => Ok(false),
            _ => Err(error),
        },
    }
}

/// Whether a path leads to a directory.
pub fn is_dir(path: &Path) -> io::Result<bool> {
    leads_to(path, |there| there.is_dir())
}

/// Whether a path leads to a regular file.
pub fn is_file(path: &Path) -> io::Result<bool> {
    leads_to(path, |there| there.is_file())
}

/// The file with the header of the frame at `path`.
pub fn frame_file(path: &Path) -> io::Result<PathBuf> {
    Ok(match is_dir(path)? {
        true => path.join("chunks.b2frame"),
        false => path.to_path_buf(),
    })
}
