//! Creates the files and directories of new frames.

use super::image::Image;
use super::options::Options;
use super::paths::{ChunkPaths, frame_file, with_suffix};
use crate::header::FrameKind;
use oxiblosc_base::memory::{CStrBuf, Shared};
use oxiblosc_base::{Context, Doing, Error, Result};
use oxiblosc_io::paths::{self, NewPath};
use oxiblosc_io::{Mode, Storage};
use std::ffi::CStr;

/// The files of a frame that was just created, so that they can be removed if a later step fails.
pub struct NewFrame {
    path: NewPath,
    /// For a directory: the paths of the file with the index, of the lock file, and of the chunk
    /// files.
    files: Option<(CStrBuf, CStrBuf, ChunkPaths)>,
}

/// What is known of the creation of a frame, and of its name.
#[derive(Default)]
pub(super) struct Creation {
    /// The files of the frame, if this handle created them.
    pub(super) new_files: Option<NewFrame>,
    /// Whether this handle created the frame. Where there are no locks, no other one changes it.
    pub(super) is_creator: bool,
    /// What the frame becomes, if it is hidden.
    pub(super) goal: Option<Goal>,
    /// Whether the name of the frame's file is known to be on the disk.
    pub(super) is_name_durable: bool,
}

/// What a hidden frame becomes.
pub(super) struct Goal {
    pub(super) path: CStrBuf,
    pub(super) options: Options,
}

impl NewFrame {
    /// For the frame that is about to get this path.
    ///
    /// # Errors
    /// [`Error::MEMORY_ALLOC`].
    pub(super) fn planned(path: &CStr, kind: FrameKind, locking: bool) -> Result<Self> {
        let is_sparse = kind == FrameKind::Sparse;
        let lock = with_suffix(path, if is_sparse { b"/.b2lock" } else { b".b2lock" })?;
        let beside = (locking && !is_sparse).then_some(&*lock);
        let made = NewPath::planned(path, is_sparse, beside)?;
        let files = match is_sparse {
            true => Some((
                frame_file(path, kind)?,
                lock,
                ChunkPaths::in_directory(path)?,
            )),
            false => None,
        };
        Ok(Self { path: made, files })
    }

    /// Records what was created.
    pub(super) fn created(self) -> Self {
        let path = self.path.created();
        Self { path, ..self }
    }

    /// Removes the files, as far as possible. Files that were there before stay.
    pub fn remove(&mut self) {
        if let Some((index, lock, chunks)) = &mut self.files
            && self.path.is_there()
        {
            // First by name, as there may be no memory or no file descriptor to read the directory.
            // Chunk files are numbered from 0; any others are removed below, where the directory is
            // read.
            let _ = paths::remove_file(index);
            let _ = paths::remove_file(lock);
            let mut number = 0;
            while chunks.of(number).and_then(paths::remove_file).is_ok() {
                number += 1;
            }
        }
        self.path.remove();
    }
}

/// Creates the empty file of a new frame, in a new directory for a sparse one, and locks it against
/// processes that append to a file. Returns also what has to be removed if a later step fails; none
/// for back ends of programs, whose files are not known.
///
/// # Errors
/// [`Error::FILE_OPEN`], also if there is something at `path`; [`Error::LOCK`];
/// [`Error::MEMORY_ALLOC`]. Then nothing is left behind.
pub fn make(
    options: &Options,
    path: &CStr,
    kind: FrameKind,
    file: &CStr,
) -> Result<(Shared<dyn Storage>, Option<NewFrame>)> {
    let backend = &options.backend;
    if kind == FrameKind::Sparse {
        let new_files = NewFrame::planned(path, kind, options.locking)?;
        paths::create_dir(path)?;
        let mut new_files = new_files.created();
        // Another user may have put something into the directory, such as a link.
        let mode = match backend.is_filesystem() {
            true => Mode::New,
            false => Mode::Create,
        };
        let opened = backend.open(file, mode);
        let storage = opened.inspect_err(|_| new_files.remove())?;
        return Ok((storage, Some(new_files)));
    }
    if !backend.is_filesystem() && !backend.is_mmap() {
        return Ok((backend.open(file, Mode::Create)?, None));
    }
    let target = paths::followed(file)?;
    let new_files = NewFrame::planned(&target, kind, options.locking)?;
    if backend.is_filesystem() {
        let storage = backend.open(&target, Mode::New)?;
        let mut new_files = new_files.created();
        let locked = storage.lock_exclusive().and_then(|_| storage.size());
        return match locked {
            Ok(0) => Ok((storage, Some(new_files))),
            // Another process has appended to the file since.
            Ok(_) => Err(Error::FILE_OPEN),
            Err(error) => {
                new_files.remove();
                Err(error)
            }
        };
    }
    if paths::kind(&target)?.is_some() {
        return Err(Error::FILE_OPEN);
    }
    // Even if the file cannot be mapped, it may have been created.
    let opened = backend.open(file, Mode::Create);
    let mut new_files = new_files.created();
    let opened = opened.and_then(|storage| storage.lock_exclusive().map(|_| storage));
    let storage = opened.inspect_err(|_| new_files.remove())?;
    Ok((storage, Some(new_files)))
}

/// Writes a new frame, and syncs it if it is to be durable.
///
/// # Errors
/// Those of output.
pub fn fill(
    options: &Options,
    path: &CStr,
    kind: FrameKind,
    storage: &dyn Storage,
    image: &Image,
) -> Result<()> {
    let backend = &options.backend;
    storage
        .write_all_at(0, &[&image.header, &image.body])
        .doing(Doing::WriteFrame)?;
    if !backend.is_filesystem() {
        // This tells back ends of programs how long the file will be.
        storage.truncate(image.frame_len())?;
    }
    if !options.durable {
        return Ok(());
    }
    storage.sync()?;
    if kind == FrameKind::Sparse {
        paths::sync_dir(path)?;
    }
    if backend.is_filesystem() || backend.is_mmap() {
        paths::sync_parent(&paths::followed(path)?)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{Folder, c_path};

    #[test]
    fn only_what_was_created_is_removed() {
        let folder = Folder::new("new-frame");
        let (directory, moved) = (folder.0.join("frame"), folder.0.join("moved"));
        let path = c_path(&directory);
        let planned = NewFrame::planned(&path, FrameKind::Sparse, true).expect("memory");
        std::fs::create_dir(&directory).expect("a directory");
        let mut created = planned.created();
        for name in [
            "chunks.b2frame",
            ".b2lock",
            "00000000.chunk",
            "0000000A.chunk",
        ] {
            std::fs::write(directory.join(name), name).expect("writes");
        }
        std::fs::rename(&directory, &moved).expect("renames");
        std::fs::create_dir(&directory).expect("another directory");
        created.remove();
        assert!(directory.exists(), "it is another one");
        std::fs::remove_dir(&directory).expect("removes");
        std::fs::rename(&moved, &directory).expect("renames");
        created.remove();
        assert!(!directory.exists());
    }
}
