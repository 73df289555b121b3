//! What is at a path. That the system cannot say is an error, and not the same as that nothing is
//! there.

use crate::system;
use oxiblosc_base::memory::lock;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// The paths that [`lasting`] gave, each with the one that people know.
static LASTING: Mutex<Vec<(PathBuf, PathBuf)>> = Mutex::new(Vec::new());

/// A path that leads to what is open whatever becomes of its name; `path`, by which it was opened,
/// where the system has no such paths.
pub fn lasting(opened: &impl system::Open, path: &Path) -> PathBuf {
    let Some(lasting) = system::lasting_path(opened) else {
        return path.to_path_buf();
    };
    let mut known = lock(&LASTING);
    // What was open by the same number before is closed.
    known.retain(|(other, _)| *other != lasting);
    known.push((lasting.clone(), path.to_path_buf()));
    lasting
}

/// A path as people know it, for messages.
pub fn shown(path: &Path) -> PathBuf {
    let known = lock(&LASTING);
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

/// The size of a file, or of all files in a directory, in bytes.
pub fn size_of(path: &Path) -> io::Result<u64> {
    let there = std::fs::metadata(path)?;
    if !there.is_dir() {
        return Ok(there.len());
    }
    let mut size = 0;
    for file in std::fs::read_dir(path)? {
        size += file?.metadata()?.len();
    }
    Ok(size)
}
