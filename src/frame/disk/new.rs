//! Files and directories of new frames.

use super::Options;
use super::load::Image;
use super::with_suffix;
use crate::error::{Error, Result};
use crate::frame::header::Kind;
use crate::io::paths::{self, Made};
use crate::io::{Mode, Storage};
use crate::memory::Shared;
use std::ffi::CStr;

/// Makes the empty file of a new frame, in a new directory if the frame is one. Beside it what is to be removed if the
/// frame does not come to be; back ends of programs have no files that could be removed.
pub fn make(
    options: &Options,
    path: &CStr,
    kind: Kind,
    file: &CStr,
) -> Result<(Shared<dyn Storage>, Option<Made>)> {
    let backend = &options.backend;
    if kind == Kind::Sparse {
        let made = Made::soon(path, true, None)?;
        paths::create_dir(path)?;
        let made = made.now();
        let opened = backend.open(file, Mode::Create);
        let storage = opened.inspect_err(|_| made.remove())?;
        return Ok((storage, Some(made)));
    }
    if !backend.is_filesystem() && !backend.is_mmap() {
        return Ok((backend.open(file, Mode::Create)?, None));
    }
    let lock = with_suffix(path, b".b2lock")?;
    let lock = options.locking.then_some(&*lock);
    let target = paths::followed(file)?;
    let made = Made::soon(&target, false, lock)?;
    if backend.is_filesystem() {
        let storage = backend.open(&target, Mode::New)?;
        return Ok((storage, Some(made.now())));
    }
    if paths::kind(&target)?.is_some() {
        return Err(Error::FileOpen);
    }
    // The file of a map that cannot be made may be there nevertheless.
    let opened = backend.open(file, Mode::Create);
    let made = made.now();
    let storage = opened.inspect_err(|_| made.remove())?;
    Ok((storage, Some(made)))
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
