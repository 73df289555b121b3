//! Appends a frame to a file, which may have others.

use super::disk::TRIES;
use super::header::{MIN_LEN, UNCOMMITTED};
use super::{journal, leftovers};
use oxiblosc_base::memory::{Shared, ToTryVec};
use oxiblosc_base::{Error, Result};
use oxiblosc_io::paths::{self, NewPath};
use oxiblosc_io::{Backend, Mode, Storage, StorageLock};
use std::ffi::CStr;

/// The file that a frame is appended to, locked against others that change it.
struct Container<'a> {
    file: &'a dyn Storage,
    /// The path of the file, if it was created for this.
    made: Option<&'a NewPath>,
}

/// Appends a frame, given as bytes, to the file at `path`, which is created if it does not exist.
/// Returns where the frame begins in the file, in bytes. It waits for other changes of the file, as
/// every change does.
///
/// # Errors
/// [`Error::LOCK`], [`Error::FILE_OPEN`], those of output; then the file is as it was.
pub fn append(backend: &dyn Backend, path: &CStr, frame: &[u8], durable: bool) -> Result<u64> {
    if !backend.is_filesystem() {
        let opened = backend.open(path, Mode::ReadWrite);
        let file = opened.or_else(|_| backend.open(path, Mode::New))?;
        let _lock = StorageLock::exclusive(&*file, false)?;
        let (file, made) = (&*file, None);
        return Container { file, made }.append(None, frame, durable);
    }
    for _ in 0..TRIES {
        let (file, made) = open_or_make(backend, path)?;
        let (file, made) = (&*file, made.as_ref());
        let container = Container { file, made };
        let lock = StorageLock::exclusive(file, made.is_some());
        if lock.is_ok() && file.identity() == backend.identity(path) {
            return container.append(Some(path), frame, durable);
        }
        // The path leads to another file by now. What is appended to a file without a name is lost.
        if file.size() == Ok(0) {
            container.remove();
        }
        drop(lock?);
    }
    Err(Error::FILE_OPEN)
}

/// Opens the file, or creates it. Returns also what was created.
fn open_or_make(
    backend: &dyn Backend,
    path: &CStr,
) -> Result<(Shared<dyn Storage>, Option<NewPath>)> {
    let kind = paths::kind(path).map_err(|_| Error::FILE_OPEN)?;
    if kind.is_none() {
        let path = paths::followed(path)?;
        let new = NewPath::planned(&path, false, None)?;
        if let Ok(file) = backend.open(&path, Mode::New) {
            return Ok((file, Some(new.created())));
        }
        // Another process may have created it just now.
    }
    Ok((backend.open(path, Mode::ReadWrite)?, None))
}

impl Container<'_> {
    /// Removes the file if it was created for this. Callers make sure that no other process has
    /// appended to it.
    fn remove(&self) {
        if let Some(made) = &self.made {
            made.remove();
        }
    }

    /// Writes a frame. If there are others before it, it is not a frame before the last byte is
    /// written, nor is anything in its chunks.
    fn write(&self, pos: u64, frame: &[u8], durable: bool) -> Result<()> {
        let file = self.file;
        let sync = || if durable { file.sync() } else { Ok(()) };
        if pos == 0 {
            // There is no frame before it whose changes could remove it as leftovers.
            file.write_at(pos, frame)?;
            return sync();
        }
        let (at, byte) = UNCOMMITTED;
        let (prefix, rest) = frame
            .split_at_checked(MIN_LEN)
            .ok_or(Error::INVALID_HEADER)?;
        let mut prefix = prefix.to_try_vec()?;
        let magic = std::mem::replace(&mut prefix[at], byte);
        file.write_at(pos, &prefix)?;
        if leftovers::has_magic(rest) {
            // Otherwise the magics in it could be taken for frames. A search skips an uncommitted
            // frame, by the length in its front, if the file has this length.
            file.truncate(pos + frame.len() as u64)?;
            sync()?;
        }
        file.write_at(pos + prefix.len() as u64, rest)?;
        sync()?;
        file.write_at(pos + at as u64, &[magic])?;
        sync()
    }

    /// Appends a frame. Returns where it begins. `named` is the path of the file, if its name can
    /// be made durable.
    fn append(&self, named: Option<&CStr>, frame: &[u8], durable: bool) -> Result<u64> {
        let file = self.file;
        let mut end = None;
        let appended = (|| {
            // The undo record of a change that was not committed is at the end of the file. Before
            // the new frame it would not be found.
            journal::roll_back(file, None, durable)?;
            let pos = *end.insert(file.size()?);
            self.write(pos, frame, durable)?;
            // Another process may have created the file and not synced its directory.
            if let Some(path) = named.filter(|_| durable) {
                paths::sync_parent(&paths::followed(path)?)?;
            }
            Ok(pos)
        })();
        if appended.is_err() {
            match end {
                Some(0) if self.made.is_some() => self.remove(),
                // If this fails, the part of the frame that was written has no magic, so it is no
                // frame.
                Some(end) => drop(file.truncate(end)),
                None => {}
            }
        }
        appended
    }
}
