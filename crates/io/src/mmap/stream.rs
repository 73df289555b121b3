//! Maps as the C functions of their back end use them: opened with a mode string, and read in
//! place.

use super::{Map, OpenMode};
use crate::Storage;
use oxiblosc_base::memory::env::info;
use oxiblosc_base::memory::{Lossy, Shared};
use oxiblosc_base::system::streams;
use oxiblosc_base::{Error, Result};
use std::ffi::{CStr, c_int};
use std::io::ErrorKind;

/// A map that was just opened, with a stream of the C library for its file.
pub struct Opened {
    /// The map.
    pub map: Shared<Map>,
    /// The open stream, which the caller has to close.
    pub file: *mut libc::FILE,
    /// The file descriptor of the stream.
    pub descriptor: c_int,
}

impl Opened {
    /// Maps the file at `path` in the mode `mode`. If it may grow, address space for `capacity`
    /// bytes is reserved.
    ///
    /// # Errors
    /// [`Error::FILE_OPEN`] for an unknown mode; those of [`Map::open`].
    pub fn new(path: &CStr, mode: &CStr, capacity: usize) -> Result<Self> {
        let access = OpenMode::from_mode(mode.to_bytes()).ok_or(Error::FILE_OPEN)?;
        let capacity = match access {
            OpenMode::Read => 0,
            _ => capacity,
        };
        let map = Shared::new(Map::open(path, access, capacity)?)?;
        let file = streams::of_file(map.file()?, access.writes_file());
        let file = file.map_err(|error| match error.kind() {
            ErrorKind::OutOfMemory => Error::MEMORY_ALLOC,
            _ => Error::FILE_OPEN,
        })?;
        // The text must stay as it is: python-blosc2's tests look for it.
        info(format_args!(
            "Opened memory-mapped file {} in mode {} with an mapping size of {} bytes.",
            Lossy(path),
            Lossy(mode),
            map.extent().size.max(capacity)
        ));
        let descriptor = streams::descriptor(map.file()?, file);
        Ok(Self {
            map,
            file,
            descriptor,
        })
    }
}

/// Bytes that are read and written in place.
pub struct MappedStream(StreamBytes);

enum StreamBytes {
    /// The bytes of a file.
    Map(Shared<Map>),
    /// Bytes at an address.
    Memory { address: *mut u8, size: usize },
}

impl MappedStream {
    /// A mapped file.
    pub fn of_map(map: Shared<Map>) -> Self {
        Self(StreamBytes::Map(map))
    }

    /// Memory without a file.
    ///
    /// # Safety
    /// `size` bytes are at `address` as long as this is used, and no other thread writes them
    /// meanwhile.
    pub unsafe fn of_memory(address: *mut u8, size: usize) -> Self {
        Self(StreamBytes::Memory { address, size })
    }

    /// The map, if there is one.
    pub fn map(&self) -> Option<&Map> {
        match &self.0 {
            StreamBytes::Map(map) => Some(map),
            StreamBytes::Memory { .. } => None,
        }
    }

    /// The number of bytes.
    pub fn size(&self) -> usize {
        match &self.0 {
            StreamBytes::Map(map) => map.extent().size,
            StreamBytes::Memory { size, .. } => *size,
        }
    }

    /// The address of the `len` bytes at `position`.
    ///
    /// # Errors
    /// [`Error::FILE_READ`] if not all of them are there.
    pub fn address(&self, position: u64, len: usize) -> Result<*mut u8> {
        match &self.0 {
            StreamBytes::Map(map) => map.address(position, len),
            StreamBytes::Memory { address, size } => {
                let position = usize::try_from(position).map_err(|_| Error::FILE_READ)?;
                match position.checked_add(len) {
                    Some(end) if end <= *size => Ok(address.wrapping_add(position)),
                    _ => Err(Error::FILE_READ),
                }
            }
        }
    }

    /// Writes bytes, which must not be bytes of the stream itself. A file grows if necessary.
    ///
    /// # Errors
    /// [`Error::FILE_WRITE`] for a file, [`Error::FILE_READ`] beyond the end of memory.
    pub fn write_at(&self, position: u64, bytes: &[u8]) -> Result<()> {
        if let StreamBytes::Map(map) = &self.0 {
            map.check_open().map_err(|_| Error::FILE_WRITE)?;
            return map.write_at(position, bytes);
        }
        let there = self.address(position, bytes.len())?;
        // SAFETY: `address` has checked that the range is within the `size` bytes that `of_memory`
        // requires to be valid.
        unsafe { there.copy_from(bytes.as_ptr(), bytes.len()) };
        Ok(())
    }

    /// Makes a file `size` bytes long. Memory must have that size already.
    ///
    /// # Errors
    /// [`Error::FILE_TRUNCATE`].
    pub fn truncate(&self, size: u64) -> Result<()> {
        match &self.0 {
            StreamBytes::Map(map) => {
                map.check_open().map_err(|_| Error::FILE_TRUNCATE)?;
                map.truncate(size)
            }
            StreamBytes::Memory { size: there, .. } if *there as u64 == size => Ok(()),
            StreamBytes::Memory { .. } => Err(Error::FILE_TRUNCATE),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_read_and_written_where_it_lies() {
        let mut memory = *b"0123456789";
        // SAFETY: all of it is there until the end, and this thread alone uses it.
        let stream = unsafe { MappedStream::of_memory(memory.as_mut_ptr(), memory.len()) };
        assert!(stream.map().is_none());
        assert_eq!(stream.size(), 10);
        assert_eq!(stream.write_at(8, b"ab"), Ok(()));
        assert_eq!(stream.write_at(9, b"ab"), Err(Error::FILE_READ));
        assert_eq!(stream.address(u64::MAX, 2), Err(Error::FILE_READ));
        assert_eq!(
            stream.address(10, 0).map(|end| end.addr()),
            Ok(memory.as_ptr().addr() + 10)
        );
        assert_eq!(stream.truncate(10), Ok(()));
        assert_eq!(stream.truncate(9), Err(Error::FILE_TRUNCATE));
        assert_eq!(&memory, b"01234567ab");
    }
}
