//! The frames in a directory and its subdirectories.

use crate::failure::{Failure, Result};
use crate::source::frame_file;
use oxiblosc_frame::header::Header;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Extensions of the files that python-blosc2 puts there.
const ENDINGS: [&str; 4] = ["b2nd", "b2f", "b2b", "b2e"];

/// The frames below `root`: their paths relative to it, with slashes, and their full paths, sorted. Links to directories are not followed,
/// since they could form a cycle.
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
            if is_folder && !frame_file(&path).is_file() {
                folders.push((name + "/", path));
            } else if is_folder || is_frame(&path) {
                files.push((name, path));
            }
        }
    }
    files.sort();
    Ok(files)
}

/// Whether a file should be a frame, by its name or its magic. There may be others, such as lock files.
fn is_frame(path: &Path) -> bool {
    // Reading a pipe or a device may block, or never end.
    if !path.is_file() {
        return false;
    }
    let mut front = Vec::new();
    let mut has_magic = || {
        let read = File::open(path).and_then(|file| file.take(16).read_to_end(&mut front));
        read.is_ok() && Header::has_magic(&front)
    };
    has_ending(path) || has_magic()
}

/// Whether a file should be a frame by its name.
pub fn has_ending(path: &Path) -> bool {
    let ending = path.extension().and_then(|ending| ending.to_str());
    ending.is_some_and(|ending| ENDINGS.contains(&ending))
}
