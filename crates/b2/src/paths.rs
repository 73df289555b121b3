//! What is at a path. That the system cannot say is an error, and not the same as that nothing is there.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

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
