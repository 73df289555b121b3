//! The frames in a directory and its subdirectories.

use crate::failure::{Failure, Result};
use crate::paths::{frame_file, is_file};
use oxiblosc::format::frame::header::Header;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Extensions of the files that python-blosc2 puts there.
const ENDINGS: [&str; 4] = ["b2nd", "b2f", "b2b", "b2e"];

/// The frames below `root`: their paths relative to it, with slashes, and their full paths, sorted.
/// Links to directories are not followed, since they could form a cycle.
pub fn files(root: &Path) -> Result<Vec<(String, PathBuf)>> {
    let mut files = Vec::new();
    let mut folders = vec![(String::new(), root.to_path_buf())];
    while let Some((prefix, folder)) = folders.pop() {
        let failed = |error| Failure::at(&folder, &error);
        for entry in std::fs::read_dir(&folder).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let path = entry.path();
            let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
            let is_folder = entry.file_type().map_err(failed)?.is_dir();
            let failed = |error| Failure::at(&path, &error);
            let is_sparse = || frame_file(&path).and_then(|file| is_file(&file));
            if is_folder && !is_sparse().map_err(failed)? {
                folders.push((name + "/", path));
            } else if is_folder || is_frame(&path).map_err(failed)? {
                files.push((name, path));
            }
        }
    }
    files.sort();
    Ok(files)
}

/// Whether a file should be a frame, by its name or its magic. There may be others, such as lock
/// files.
fn is_frame(path: &Path) -> io::Result<bool> {
    // Reading a pipe or a device may block, or never end.
    if !is_file(path)? {
        return Ok(false);
    }
    if has_ending(path) {
        return Ok(true);
    }
    let mut front = Vec::new();
    match File::open(path) {
        Ok(file) => file.take(16).read_to_end(&mut front)?,
        // It need not be a frame.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Ok(false),
        Err(error) => return Err(error),
    };
    Ok(Header::has_magic(&front))
}

/// Whether a file should be a frame by its name.
pub fn has_ending(path: &Path) -> bool {
    let ending = path.extension().and_then(|ending| ending.to_str());
    ending.is_some_and(|ending| ENDINGS.contains(&ending))
}
