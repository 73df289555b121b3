//! Files through a memory map.
//!
//! A shared map is only used to return addresses to the program. The library itself reads and
//! writes through the file descriptor, whose view of the file is the same. So if another process
//! truncates the file, or the disk is full, the result is an error. Access to the map would end the
//! process (SIGBUS).
//!
//! A private map, whose changes stay in memory, must be accessed itself; the size of the file is
//! checked before each access. Two cases can still end the process: a file that is truncated
//! between the check and the access, and a program that reads addresses of a truncated file.
//!
//! A program may close descriptors that are not its own, and their numbers are given to other files
//! then. So before a map is read or changed, the file with the descriptor is checked to be the
//! mapped one. If it is another, the mapped file is opened again by its path.

use super::{Exclusion, Mode, Storage, Written};
use crate::file::{read_up_to, write_all};
use lock::MapLock;
use oxiblosc_base::memory::boxed;
use oxiblosc_base::system::files;
use oxiblosc_base::system::map::{MapMode, Region, whole_pages};
use oxiblosc_base::{Context, Doing, Error, OrError, Result};
use std::ffi::CStr;
use std::fs::File;
use std::mem::ManuallyDrop;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{OnceLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Duration;

mod lock;
pub mod stream;
#[cfg(test)]
mod tests;

/// What a map is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenMode {
    /// `r`: reading a file that exists.
    Read,
    /// `r+`: reading and writing a file that exists.
    ReadWrite,
    /// `w+`: reading and writing a new file; an existing one is truncated.
    Create,
    /// `c`: reading a file that exists; writes change only the memory.
    Copy,
}

impl OpenMode {
    /// The access of a mode string.
    pub fn from_mode(mode: &[u8]) -> Option<Self> {
        match mode {
            b"r" => Some(Self::Read),
            b"r+" => Some(Self::ReadWrite),
            b"w+" => Some(Self::Create),
            b"c" => Some(Self::Copy),
            _ => None,
        }
    }

    /// Whether what is written reaches the file.
    pub fn writes_file(self) -> bool {
        matches!(self, Self::ReadWrite | Self::Create)
    }

    /// The kind of map for this mode.
    pub fn kind(self) -> MapMode {
        match self {
            Self::Read => MapMode::Read,
            Self::ReadWrite | Self::Create => MapMode::Write,
            Self::Copy => MapMode::Copy,
        }
    }

    fn open(self, name: &CStr) -> std::io::Result<File> {
        let mode = match self {
            Self::Read | Self::Copy => Mode::Read,
            Self::ReadWrite => Mode::ReadWrite,
            Self::Create => Mode::Create,
        };
        mode.open(name)
    }
}

/// Where a map lies and how long it is at some moment. The next write may move it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MapExtent {
    /// Its address.
    pub address: *mut u8,
    /// Bytes of address space.
    pub mapped: usize,
    /// Bytes of the file; with [`OpenMode::Copy`], as this map shows it.
    pub size: usize,
}

/// A mapped file. Unmapped and closed when dropped.
pub struct Map {
    file: MappedFile,
    /// Whether the program has closed the descriptor of the file, which could not be opened again.
    is_closed: AtomicBool,
    access: OpenMode,
    region: RwLock<Region>,
    lock: MapLock,
}

/// An open file, and the one that was opened after the program has closed its descriptor.
struct MappedFile {
    file: ManuallyDrop<File>,
    /// Device and inode.
    identity: (u64, u64),
    next: OnceLock<Box<MappedFile>>,
}

impl MappedFile {
    fn new(file: File, identity: (u64, u64)) -> Self {
        Self {
            file: ManuallyDrop::new(file),
            identity,
            next: OnceLock::new(),
        }
    }

    /// Whether the descriptor is this file's still.
    fn is_open(&self) -> bool {
        files::is_open(&self.file, self.identity)
    }

    /// The file that was opened last.
    fn last(&self) -> &Self {
        let mut last = self;
        while let Some(next) = last.next.get() {
            last = next;
        }
        last
    }
}

impl Drop for MappedFile {
    fn drop(&mut self) {
        if self.is_open() {
            // SAFETY: the file is not used after this.
            unsafe { ManuallyDrop::drop(&mut self.file) };
        }
    }
}

impl Map {
    /// Opens and maps the file at `name`. If the map may grow, address space for `capacity` bytes
    /// is reserved.
    ///
    /// # Errors
    /// `Error::FILE_OPEN` if the file cannot be opened, `Error::MEMORY_ALLOC` if there is not
    /// enough address space.
    pub fn open(name: &CStr, access: OpenMode, capacity: usize) -> Result<Self> {
        let file = access
            .open(name)
            .or_error(Error::FILE_OPEN)
            .doing(Doing::OpenFile)?;
        let (identity, size) = files::version(&file).or_error(Error::FILE_READ)?;
        let size = usize::try_from(size.unwrap_or(0)).map_err(|_| Error::MEMORY_ALLOC)?;
        let capacity = if access == OpenMode::Read {
            0
        } else {
            capacity
        };
        let mapped = size.max(capacity).max(1);
        let region = if access == OpenMode::Copy {
            Region::copy(&file, mapped, size)?
        } else {
            Region::shared(&file, access.kind(), mapped, size)?
        };
        Ok(Self {
            file: MappedFile::new(file, identity),
            is_closed: AtomicBool::new(false),
            access,
            region: RwLock::new(region),
            lock: MapLock::new(name)?,
        })
    }

    /// What the map is for.
    pub fn access(&self) -> OpenMode {
        self.access
    }

    /// The mapped file, unless the last check of its descriptor has failed.
    ///
    /// # Errors
    /// [`Error::FILE_READ`].
    pub fn file(&self) -> Result<&File> {
        match self.is_closed.load(Ordering::Relaxed) {
            true => Err(Error::FILE_READ),
            false => Ok(&self.file.last().file),
        }
    }

    /// Queries the mapped file. `query` returns device and inode of the file it was given, and its
    /// result. If the program has closed the descriptor, the file is opened again.
    ///
    /// # Errors
    /// [`Error::FILE_READ`] if the path leads to another file, or `query` fails.
    fn checked<T>(&self, query: impl Fn(&File) -> Option<((u64, u64), T)>) -> Result<T> {
        let run = |file: &MappedFile| {
            let (identity, result) = query(&file.file)?;
            (identity == file.identity).then_some(result)
        };
        let last = self.file.last();
        let result = run(last);
        if result.is_some() || last.is_open() {
            return result.ok_or(Error::FILE_READ);
        }
        if let Some(file) = self.lock.open_again(self)
            && let Ok(next) = boxed(MappedFile::new(file, last.identity))
        {
            // Another thread may have been faster.
            let _ = last.next.set(next);
        }
        let last = self.file.last();
        self.is_closed.store(!last.is_open(), Ordering::Relaxed);
        run(last).ok_or(Error::FILE_READ)
    }

    /// The size of the file in bytes.
    fn file_size(&self) -> Result<u64> {
        let size = self.checked(|file| files::version(file).ok())?;
        size.ok_or(Error::FILE_READ)
    }

    /// Checks the descriptor of the file before it is used, and opens it again if the program has
    /// closed it.
    ///
    /// # Errors
    /// [`Error::FILE_READ`] if that is impossible.
    pub fn check_open(&self) -> Result<()> {
        self.file_size().map(drop)
    }

    /// Where the map lies now.
    pub fn extent(&self) -> MapExtent {
        let region = self.look();
        MapExtent {
            address: region.at(0),
            mapped: region.mapped,
            size: region.size,
        }
    }

    /// The address of the `len` bytes at `pos`. It is valid until the next write, and as long as
    /// the map exists.
    ///
    /// # Errors
    /// `Error::FILE_READ` if not all of them are there.
    pub fn address(&self, pos: u64, len: usize) -> Result<*mut u8> {
        let region = self.look();
        let pos = region.find(pos, len)?;
        let needed = match self.access {
            OpenMode::Copy => region.needed(pos, pos + len),
            _ if len == 0 => 0,
            _ => pos + len,
        };
        self.check_file(needed, Error::FILE_READ)?;
        Ok(region.at(pos))
    }

    fn look(&self) -> RwLockReadGuard<'_, Region> {
        self.region.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self) -> RwLockWriteGuard<'_, Region> {
        self.region.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Checks that the file still has its first `needed` bytes.
    fn check_file(&self, needed: usize, error: Error) -> Result<()> {
        if needed == 0 {
            return Ok(());
        }
        if self.file_size().map_err(|_| error)? < needed as u64 {
            Err(error)
        } else {
            Ok(())
        }
    }

    /// Writes to the memory of a map with [`OpenMode::Copy`].
    fn write_copy(&self, pos: usize, end: usize, bytes: &[u8]) -> Result<()> {
        let mut region = self.change();
        self.check_file(region.needed(pos, end), Error::FILE_WRITE)?;
        if end > region.mapped {
            region.grow_copy(whole_pages(end.saturating_mul(2))?)?;
        }
        region.put(pos, bytes);
        region.size = region.size.max(end);
        Ok(())
    }
}

impl Storage for Map {
    /// For a shared map, the size that the file has now: another handle may have changed it.
    fn size(&self) -> Result<u64> {
        if self.access == OpenMode::Copy {
            return Ok(self.look().size as u64);
        }
        self.file_size()
    }

    fn read_at(&self, pos: u64, buf: &mut [u8]) -> Result<()> {
        if self.access != OpenMode::Copy {
            let whole = read_up_to(self.file()?, pos, buf) == buf.len();
            return if whole { Ok(()) } else { Err(Error::FILE_READ) };
        }
        let region = self.look();
        let from = region.find(pos, buf.len())?;
        self.check_file(region.needed(from, from + buf.len()), Error::FILE_READ)?;
        region.get(from, buf);
        Ok(())
    }

    fn write_at(&self, pos: u64, buf: &[u8]) -> Result<()> {
        if buf.is_empty() {
            return Ok(());
        }
        if self.access == OpenMode::Read {
            return Err(Error::FILE_WRITE.at(Doing::WriteReadOnly));
        }
        let from = usize::try_from(pos).map_err(|_| Error::FILE_WRITE)?;
        let end = from
            .checked_add(buf.len())
            .filter(|end| isize::try_from(*end).is_ok())
            .ok_or(Error::FILE_WRITE)?;
        if self.access == OpenMode::Copy {
            return self
                .write_copy(from, end, buf)
                .map_err(|_| Error::FILE_WRITE);
        }
        if end <= self.look().size {
            let file = self.file().map_err(|_| Error::FILE_WRITE)?;
            return write_all(file, pos, buf, &Default::default());
        }
        let mut region = self.change();
        // Another handle may have made the file longer or shorter since this one did.
        let before = self.file_size().map_err(|_| Error::FILE_WRITE)?;
        let file = self.file().map_err(|_| Error::FILE_WRITE)?;
        if end > region.mapped {
            region
                .grow_shared(end.saturating_mul(2), self.access.kind(), file)
                .map_err(|_| Error::FILE_WRITE)?;
        }
        write_all(file, pos, buf, &Default::default()).inspect_err(|_| {
            // Removes what a partial write has added to the file. If this fails, nothing more can
            // be done.
            let _ = files::set_len(file, before, &Default::default());
        })?;
        region.size = usize::try_from(before).map_or(end, |size| size.max(end));
        if region.size > region.mapped {
            // Another handle has made the file longer. If that part cannot be mapped, no addresses
            // in it are returned.
            let (size, kind) = (region.size, self.access.kind());
            let _ = region.grow_shared(size, kind, file);
        }
        region.follow(self.access.kind(), file);
        Ok(())
    }

    fn truncate(&self, size: u64) -> Result<()> {
        let mut region = self.change();
        let size = usize::try_from(size)
            .ok()
            .filter(|size| isize::try_from(*size).is_ok())
            .ok_or(Error::FILE_TRUNCATE)?;
        // Even if the map's size is right, another handle may have changed the file's.
        if size == region.size && (self.access == OpenMode::Copy || self.size()? == size as u64) {
            return Ok(());
        }
        let grown = match self.access {
            OpenMode::Read => Err(Error::FILE_TRUNCATE.at(Doing::WriteReadOnly)),
            OpenMode::Copy if size < region.size => self
                .check_file(
                    region.needed(size, whole_pages(size)?),
                    Error::FILE_TRUNCATE,
                )
                .and_then(|()| region.cut_copy(size)),
            OpenMode::Copy if size > region.mapped => {
                whole_pages(size).and_then(|mapped| region.grow_copy(mapped))
            }
            OpenMode::ReadWrite | OpenMode::Create if size > region.mapped => {
                let file = self.file();
                file.and_then(|file| region.grow_shared(size, self.access.kind(), file))
            }
            _ => Ok(()),
        };
        grown.map_err(|_| Error::FILE_TRUNCATE)?;
        if self.access != OpenMode::Copy {
            let file = self.file().map_err(|_| Error::FILE_TRUNCATE)?;
            region.release();
            let cut = files::set_len(file, size as u64, &Default::default());
            if cut.is_ok() {
                region.size = size;
            }
            region.follow(self.access.kind(), file);
            return cut.or_error(Error::FILE_TRUNCATE);
        }
        region.size = size;
        Ok(())
    }

    fn sync(&self) -> Result<()> {
        if self.access.writes_file() {
            let file = self.file().map_err(|error| error.or(Error::FILE_WRITE))?;
            let synced = file.sync_data().or_error(Error::FILE_WRITE);
            synced.doing(Doing::SyncFile)
        } else {
            Ok(())
        }
    }

    fn lock_exclusive(&self) -> Result<Exclusion> {
        // Other processes do not see writes that change only the memory.
        match self.access {
            OpenMode::Copy => Ok(Exclusion::Granted),
            _ => self.lock.take(self),
        }
    }

    fn try_lock_exclusive(&self) -> Option<Exclusion> {
        match self.access {
            OpenMode::Copy => Some(Exclusion::Granted),
            _ => self.lock.try_take(self),
        }
    }

    fn complete_lock(&self) -> bool {
        self.access == OpenMode::Copy || self.lock.complete(self)
    }

    fn lock_shared(&self, timeout: Duration) -> bool {
        self.access == OpenMode::Copy || self.lock.share(self, timeout)
    }

    fn unlock(&self) {
        self.lock.release(self);
    }

    fn has_name(&self) -> bool {
        let named = |file: &File| files::identity_if_named(file).map(|identity| (identity, ()));
        self.access == OpenMode::Copy || self.checked(named).is_ok()
    }

    fn is_private(&self) -> bool {
        self.access == OpenMode::Copy
    }

    fn identity(&self) -> Option<(u64, u64)> {
        Some(self.file.identity)
    }

    fn written(&self) -> Option<Written> {
        match self.access {
            // The map also shows its own changes, of which the file's time tells nothing.
            OpenMode::Copy => None,
            _ => {
                let written =
                    |file: &File| Some((files::identity(file).ok()?, files::written(file)));
                self.checked(written).ok()?
            }
        }
    }
}
