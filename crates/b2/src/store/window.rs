//! A range of bytes of something larger, as a file that can only be read.

use oxiblosc::storage::Storage;
use oxiblosc_base::Error;
use oxiblosc_base::memory::{Shared, shared_dyn};
use std::ops::Range;
#[cfg(test)]
use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

/// Bytes that can be read at any position.
pub trait ByteSource: Send + Sync {
    /// Fills `into` with the bytes from `pos` on.
    fn read(&self, pos: u64, into: &mut [u8]) -> Result<(), Error>;
}

/// The file: `range` of `bytes`.
struct Window<B> {
    bytes: B,
    range: Range<u64>,
}

/// The bytes in `range` as a file.
pub fn window(
    bytes: impl ByteSource + 'static,
    range: Range<u64>,
) -> Result<Shared<dyn Storage>, Error> {
    shared_dyn!(Window { bytes, range } => dyn Storage)
}

impl<B: ByteSource> Storage for Window<B> {
    fn size(&self) -> Result<u64, Error> {
        Ok(self.range.end - self.range.start)
    }

    fn read_at(&self, pos: u64, into: &mut [u8]) -> Result<(), Error> {
        let end = pos.checked_add(into.len() as u64);
        if end.is_none_or(|end| end > self.range.end - self.range.start) {
            return Err(Error::FILE_READ);
        }
        self.bytes.read(self.range.start + pos, into)
    }

    fn write_at(&self, _: u64, _: &[u8]) -> Result<(), Error> {
        Err(Error::FILE_WRITE)
    }

    fn truncate(&self, _: u64) -> Result<(), Error> {
        Err(Error::FILE_TRUNCATE)
    }

    fn sync(&self) -> Result<(), Error> {
        Ok(())
    }
}

/// Bytes that count how many of them are read.
#[cfg(test)]
pub struct Counting(pub Vec<u8>, pub Arc<AtomicU64>);

#[cfg(test)]
impl ByteSource for Counting {
    fn read(&self, pos: u64, into: &mut [u8]) -> Result<(), Error> {
        let at = pos as usize;
        let bytes = self.0.get(at..at + into.len()).ok_or(Error::FILE_READ)?;
        into.copy_from_slice(bytes);
        self.1.fetch_add(into.len() as u64, Ordering::Relaxed);
        Ok(())
    }
}
