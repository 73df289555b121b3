//! Frames that get their name when they are complete, so that a copy is at its path as a whole or
//! not at all.
//!
//! Until then a frame lies under a temporary name in the same directory, where nobody looks for it.
//! So its changes need neither a lock file nor syncs.

use super::Disk;
use super::new::{Goal, NewFrame};
use super::options::Options;
use super::paths::frame_file;
use crate::header::{FrameKind, Header};
use crate::loaded::Loaded;
use oxiblosc_base::memory::{CStrBuf, Shared};
use oxiblosc_base::{Error, Result};
use oxiblosc_io::lock::SidecarLock;
use oxiblosc_io::{Mode, paths, whole};
use std::ffi::CStr;

impl Disk {
    /// As [`Disk::create`]; but nothing is at `path` before [`Disk::publish`]. Frames of a back end
    /// without files that can be renamed are there at once.
    ///
    /// # Errors
    /// As for that.
    pub fn create_hidden(options: Options, path: &CStr, header: &Header) -> Result<(Self, Loaded)> {
        if !options.backend.is_filesystem() {
            return Self::create(options, path, header);
        }
        let path = match header.kind {
            FrameKind::Contiguous => paths::followed(path)?,
            FrameKind::Sparse => CStrBuf::copy_of(path)?,
        };
        let names_directory =
            header.kind == FrameKind::Contiguous && whole::ends_in_separator(&path);
        if names_directory || paths::is_taken(&path) {
            return Err(Error::FILE_OPEN);
        }
        let hidden = whole::temporary_name(&path)?;
        let meanwhile = Options {
            locking: false,
            durable: false,
            ..options.clone()
        };
        let (mut disk, loaded) = Self::create(meanwhile, &hidden, header)?;
        disk.creation.goal = Some(Goal { path, options });
        Ok((disk, loaded))
    }

    /// Whether the frame is hidden.
    pub fn is_hidden(&self) -> bool {
        self.creation.goal.is_some()
    }

    /// Makes a hidden frame compact, and gives it its name. With `BLOSC_DURABLE` that would survive
    /// a loss of power, with all that was written. Does nothing to other frames.
    ///
    /// # Errors
    /// [`Error::FILE_OPEN`] if something is at the path by now; those of output;
    /// [`Error::MEMORY_ALLOC`].
    pub fn publish(&mut self) -> Result<()> {
        let Some(Goal { path, options }) = &self.creation.goal else {
            return Ok(());
        };
        let (path, options) = (CStrBuf::copy_of(path)?, options.clone());
        self.close()?;
        let is_sparse = self.location.kind == FrameKind::Sparse;
        let file = Shared::new(frame_file(&path, self.location.kind)?)?;
        let lock = match options.locking {
            true => Some(SidecarLock::of_frame(&path, is_sparse)?),
            false => None,
        };
        let new_files = NewFrame::planned(&path, self.location.kind, options.locking)?;
        match (options.durable, is_sparse) {
            (false, _) => {}
            (true, true) => paths::sync_dir_with_files(&self.location.path)?,
            (true, false) => options
                .backend
                .open(&self.location.file, Mode::ReadWrite)?
                .sync()?,
        }
        paths::rename_new(&self.location.path, &path)?;
        (self.location.path, self.location.file, self.locks.lock_file) = (path, file, lock);
        self.creation.new_files = Some(new_files.created());
        self.options = options;
        self.creation.goal = None;
        if self.options.durable {
            paths::sync_parent(&self.location.path)?;
            self.creation.is_name_durable = true;
        }
        Ok(())
    }
}
