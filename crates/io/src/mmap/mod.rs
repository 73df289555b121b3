//! Files through a memory map.
//!
//! A shared map is only used to return addresses to the program. The library itself reads and writes through the file descriptor, whose view of the
//! file is the same. So if another process truncates the file, or the disk is full, the result is an error. Access to the map would end the
//! process (SIGBUS).
//!
//! A private map, whose changes stay in memory, must be accessed itself; the size of the file is checked before each access. Two cases can still
//! end the process: a file that is truncated between the check and the access, and a program that reads addresses of a truncated file.

use super::{Mode, Storage, Written};
use crate::file::{identity_once, read_up_to, write_up_to, written_after};
use lock::MapLock;
use oxiblosc_error::{Error, Result};
use oxiblosc_system::files;
use oxiblosc_system::map::{MapMode, Region, whole_pages};
use std::ffi::CStr;
use std::fs::File;
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
    file: File,
    access: OpenMode,
    region: RwLock<Region>,
    lock: MapLock,
    /// Device and inode, once they were read.
    identity: OnceLock<(u64, u64)>,
}

impl Map {
    /// Opens and maps the file at `name`. If the map may grow, address space for `room` bytes is reserved. `Error::FileOpen` if the file cannot be
    /// opened, `Error::MemoryAlloc` if there is not enough address space.
    pub fn open(name: &CStr, access: OpenMode, room: usize) -> Result<Self> {
        let file = access.open(name).map_err(|_| Error::FileOpen)?;
        let size = file.metadata().map_err(|_| Error::FileRead)?.len();
        let size = usize::try_from(size).map_err(|_| Error::MemoryAlloc)?;
        let room = if access == OpenMode::Read { 0 } else { room };
        let mapped = size.max(room).max(1);
        let region = if access == OpenMode::Copy {
            Region::copy(&file, mapped, size)?
        } else {
            Region::shared(&file, access.kind(), mapped, size)?
        };
        Ok(Self {
            file,
            access,
            region: RwLock::new(region),
            lock: MapLock::new(name)?,
            identity: OnceLock::new(),
        })
    }

    /// What the map is for.
    pub fn access(&self) -> OpenMode {
        self.access
    }

    /// The mapped file.
    pub fn file(&self) -> &File {
        &self.file
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

    /// The address of the `len` bytes at `pos`. It is valid until the next write, and as long as the map exists. `Error::FileRead` if not all of
    /// them are there.
    pub fn address(&self, pos: u64, len: usize) -> Result<*mut u8> {
        let region = self.look();
        let pos = region.find(pos, len)?;
        let needed = match self.access {
            OpenMode::Copy => region.needed(pos, pos + len),
            _ if len == 0 => 0,
            _ => pos + len,
        };
        self.check_file(needed, Error::FileRead)?;
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
        let there = self.file.metadata().map_err(|_| error)?.len();
        if there < needed as u64 {
            Err(error)
        } else {
            Ok(())
        }
    }

    /// Writes to the memory of a map with [`OpenMode::Copy`].
    fn write_copy(&self, pos: usize, end: usize, bytes: &[u8]) -> Result<()> {
        let mut region = self.change();
        self.check_file(region.needed(pos, end), Error::FileWrite)?;
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
        let there = self.file.metadata().map_err(|_| Error::FileRead)?;
        Ok(there.len())
    }

    fn read_at(&self, pos: u64, buf: &mut [u8]) -> Result<()> {
        if self.access != OpenMode::Copy {
            let whole = read_up_to(&self.file, pos, buf) == buf.len();
            return if whole { Ok(()) } else { Err(Error::FileRead) };
        }
        let region = self.look();
        let from = region.find(pos, buf.len())?;
        self.check_file(region.needed(from, from + buf.len()), Error::FileRead)?;
        region.get(from, buf);
        Ok(())
    }

    fn write_at(&self, pos: u64, buf: &[u8]) -> Result<()> {
        if buf.is_empty() {
            return Ok(());
        }
        if self.access == OpenMode::Read {
            return Err(Error::FileWrite);
        }
        let from = usize::try_from(pos).map_err(|_| Error::FileWrite)?;
        let end = from
            .checked_add(buf.len())
            .filter(|end| isize::try_from(*end).is_ok())
            .ok_or(Error::FileWrite)?;
        if self.access == OpenMode::Copy {
            return self
                .write_copy(from, end, buf)
                .map_err(|_| Error::FileWrite);
        }
        if end <= self.look().size {
            let whole = write_up_to(&self.file, pos, buf) == buf.len();
            return if whole { Ok(()) } else { Err(Error::FileWrite) };
        }
        let mut region = self.change();
        if end > region.mapped {
            region
                .grow_shared(end.saturating_mul(2), self.access.kind(), &self.file)
                .map_err(|_| Error::FileWrite)?;
        }
        // Another handle may have made the file longer or shorter since this one did.
        let before = self.file.metadata().map_err(|_| Error::FileWrite)?.len();
        if write_up_to(&self.file, pos, buf) < buf.len() {
            // Removes what a partial write has added to the file. If this fails, nothing more can be done.
            let _ = self.file.set_len(before);
            return Err(Error::FileWrite);
        }
        region.size = usize::try_from(before).map_or(end, |size| size.max(end));
        if region.size > region.mapped {
            // Another handle has made the file longer. If that part cannot be mapped, no addresses in it are returned.
            let (size, kind) = (region.size, self.access.kind());
            let _ = region.grow_shared(size, kind, &self.file);
        }
        region.follow(self.access.kind(), &self.file);
        Ok(())
    }

    fn truncate(&self, size: u64) -> Result<()> {
        let mut region = self.change();
        let size = usize::try_from(size)
            .ok()
            .filter(|size| isize::try_from(*size).is_ok())
            .ok_or(Error::FileTruncate)?;
        // Even if the map's size is right, another handle may have changed the file's.
        if size == region.size && (self.access == OpenMode::Copy || self.size()? == size as u64) {
            return Ok(());
        }
        let grown = match self.access {
            OpenMode::Read => Err(Error::FileTruncate),
            OpenMode::Copy if size < region.size => self
                .check_file(region.needed(size, whole_pages(size)?), Error::FileTruncate)
                .and_then(|()| region.cut_copy(size)),
            OpenMode::Copy if size > region.mapped => {
                whole_pages(size).and_then(|mapped| region.grow_copy(mapped))
            }
            OpenMode::ReadWrite | OpenMode::Create if size > region.mapped => {
                region.grow_shared(size, self.access.kind(), &self.file)
            }
            _ => Ok(()),
        };
        grown.map_err(|_| Error::FileTruncate)?;
        if self.access != OpenMode::Copy {
            region.release();
            let cut = self.file.set_len(size as u64);
            if cut.is_ok() {
                region.size = size;
            }
            region.follow(self.access.kind(), &self.file);
            return cut.map_err(|_| Error::FileTruncate);
        }
        region.size = size;
        Ok(())
    }

    fn sync(&self) -> Result<()> {
        if self.access.writes_file() {
            self.file.sync_data().map_err(|_| Error::FileWrite)
        } else {
            Ok(())
        }
    }

    fn lock_exclusive(&self) -> Result<()> {
        // Other processes do not see writes that change only the memory.
        match self.access {
            OpenMode::Copy => Ok(()),
            _ => self.lock.take(self),
        }
    }

    fn try_lock_exclusive(&self) -> bool {
        self.access == OpenMode::Copy || self.lock.try_take(self)
    }

    fn lock_shared(&self, timeout: Duration) -> bool {
        self.access == OpenMode::Copy || self.lock.share(self, timeout)
    }

    fn unlock(&self) {
        self.lock.release(self);
    }

    fn has_name(&self) -> bool {
        self.access == OpenMode::Copy || files::has_name(&self.file)
    }

    fn is_private(&self) -> bool {
        self.access == OpenMode::Copy
    }

    fn identity(&self) -> Option<(u64, u64)> {
        identity_once(&self.file, &self.identity)
    }

    fn written(&self) -> Option<Written> {
        match self.access {
            // The map also shows its own changes, of which the file's time tells nothing.
            OpenMode::Copy => None,
            _ => files::written(&self.file),
        }
    }

    fn written_after(&self, before: Written) -> Option<Written> {
        match self.access.writes_file() {
            true => written_after(&self.file, before),
            false => self.written(),
        }
    }
}
