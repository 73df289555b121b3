//! Files with several frames: appends a frame to a file.

use super::disk::TRIES;
use super::header::{MIN_LEN, UNCOMMITTED};
use super::{journal, leftovers};
use oxiblosc_error::{Error, Result};
use oxiblosc_io::paths::{self, NewPath};
use oxiblosc_io::{Backend, Mode, Storage, StorageLock};
use oxiblosc_memory::{Shared, ToList};
use std::ffi::CStr;

/// The file that a frame is appended to, locked against others that change it.
struct Container<'a> {
    file: &'a dyn Storage,
    /// The file, if it was made for this.
    made: Option<&'a NewPath>,
}

/// Appends a frame, given as bytes, to the file at `path`, which is made if it is not there. Gives where the frame begins.
///
/// This is a change of the file like any other: changes of a file wait for each other.
///
/// # Errors
/// Those of locking and output; then the file is as it was.
pub fn append(backend: &dyn Backend, path: &CStr, frame: &[u8], durable: bool) -> Result<u64> {
    if !backend.is_filesystem() {
        let there = backend.open(path, Mode::ReadWrite);
        let file = there.or_else(|_| backend.open(path, Mode::New))?;
        let _lock = StorageLock::exclusive(&*file)?;
        let (file, made) = (&*file, None);
        return Container { file, made }.append(None, frame, durable);
    }
    for _ in 0..TRIES {
        let (file, made) = open_or_make(backend, path)?;
        let (file, made) = (&*file, made.as_ref());
        let container = Container { file, made };
        let lock = StorageLock::exclusive(file);
        if lock.is_ok() && file.identity() == backend.identity(path) {
            return container.append(Some(path), frame, durable);
        }
        // What is appended to a file without a name is lost.
        if file.size() == Ok(0) {
            container.remove();
        }
        drop(lock?);
    }
    Err(Error::FileOpen)
}

/// Opens the file, or makes it; then gives also what was made.
fn open_or_make(
    backend: &dyn Backend,
    path: &CStr,
) -> Result<(Shared<dyn Storage>, Option<NewPath>)> {
    let there = paths::kind(path).map_err(|_| Error::FileOpen)?;
    if there.is_none() {
        let path = paths::followed(path)?;
        let new = NewPath::planned(&path, false, None)?;
        if let Ok(file) = backend.open(&path, Mode::New) {
            return Ok((file, Some(new.created())));
        }
        // Another process may have made it just now.
    }
    Ok((backend.open(path, Mode::ReadWrite)?, None))
}

impl Container<'_> {
    /// Removes the file if it was made for this. No other process has appended to it.
    fn remove(&self) {
        if let Some(made) = &self.made {
            made.remove();
        }
    }

    /// Writes a frame. If it comes behind others, neither the frame nor anything in its chunks counts before the last byte is written.
    fn write(&self, pos: u64, frame: &[u8], durable: bool) -> Result<()> {
        let file = self.file;
        let sync = || if durable { file.sync() } else { Ok(()) };
        if pos == 0 {
            // There is no frame before it that could take it for leftovers.
            file.write_at(pos, frame)?;
            return sync();
        }
        let (at, byte) = UNCOMMITTED;
        let (front, rest) = frame
            .split_at_checked(MIN_LEN)
            .ok_or(Error::InvalidHeader)?;
        let mut front = front.to_list()?;
        let magic = std::mem::replace(&mut front[at], byte);
        file.write_at(pos, &front)?;
        if leftovers::has_magic(rest) {
            // The front says how long the uncommitted frame is, so the file gets that length first.
            file.truncate(pos + frame.len() as u64)?;
            sync()?;
        }
        file.write_at(pos + front.len() as u64, rest)?;
        sync()?;
        file.write_at(pos + at as u64, &[magic])?;
        sync()
    }

    /// Appends a frame; `named` is the path of a file whose name can be made durable.
    fn append(&self, named: Option<&CStr>, frame: &[u8], durable: bool) -> Result<u64> {
        let file = self.file;
        let mut end = None;
        let appended = (|| {
            // A record of a change that was not committed is at the end of the file; behind the new frame it would not be found.
            journal::roll_back(file, None, durable, None)?;
            let pos = *end.insert(file.size()?);
            self.write(pos, frame, durable)?;
            // Another process may have made the file, and not have synced its directory.
            if let Some(path) = named.filter(|_| durable) {
                paths::sync_parent(&paths::followed(path)?)?;
            }
            Ok(pos)
        })();
        if appended.is_err() {
            match end {
                Some(0) if self.made.is_some() => self.remove(),
                // A part of a frame behind the others does not count.
                Some(end) => drop(file.truncate(end)),
                None => {}
            }
        }
        appended
    }
}
