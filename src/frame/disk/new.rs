//! Files and directories of new frames.

use super::Options;
use super::load::Image;
use super::with_suffix;
use crate::error::{Error, Result};
use crate::frame::header::Kind;
use crate::io::paths::{self, Made};
use crate::io::{Mode, Storage};
use std::ffi::CStr;
use std::sync::Arc;

/// Makes the empty file of a new frame, in a new directory if the frame is one. Beside it what is to be removed if the
/// frame does not come to be; back ends of programs have no files that could be removed.
pub fn make(
    options: &Options,
    path: &CStr,
    kind: Kind,
    file: &CStr,
) -> Result<(Arc<dyn Storage>, Option<Made>)> {
    let backend = &options.backend;
    if kind == Kind::Sparse {
        paths::create_dir(path)?;
        let made = Made::at(path, true, None);
        let opened = backend
            .open(file, Mode::Create)
            .inspect_err(|_| made.remove());
        return Ok((opened?, Some(made)));
    }
    if !backend.is_filesystem() && !backend.is_mmap() {
        return Ok((backend.open(file, Mode::Create)?, None));
    }
    let lock = with_suffix(path, ".b2lock")?;
    let lock = options.locking.then_some(&*lock);
    let target = paths::followed(file)?;
    if backend.is_filesystem() {
        let storage = backend.open(&target, Mode::New)?;
        return Ok((storage, Some(Made::at(&target, false, lock))));
    }
    if paths::kind(&target)?.is_some() {
        return Err(Error::FileOpen);
    }
    // The file of a map that cannot be made may be there nevertheless.
    let opened = backend.open(file, Mode::Create);
    let made = Made::at(&target, false, lock);
    let opened = opened.inspect_err(|_| made.remove());
    Ok((opened?, Some(made)))
}

/// Writes a new frame.
pub fn fill(
    options: &Options,
    path: &CStr,
    kind: Kind,
    storage: &dyn Storage,
    image: &Image,
) -> Result<()> {
    let backend = &options.backend;
    storage.write_all_at(0, &[&image.header, &image.body])?;
    if !backend.is_filesystem() {
        // Back ends of programs learn how long the file is to be.
        storage.truncate(image.frame_len())?;
    }
    if !options.durable {
        return Ok(());
    }
    storage.sync()?;
    if kind == Kind::Sparse {
        paths::sync_dir(path)?;
    }
    if backend.is_filesystem() || backend.is_mmap() {
        paths::sync_parent(path)?;
    }
    Ok(())
}
