//! A file in memory, for the tests of the parts of a handle.

use oxiblosc_base::Result;
use oxiblosc_base::memory::{Shared, shared_dyn};
use oxiblosc_io::Storage;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// It counts how often it was unlocked.
#[derive(Default)]
pub struct BareFile {
    pub bytes: Mutex<Vec<u8>>,
    pub is_kept: bool,
    pub unlocked: std::sync::Arc<AtomicUsize>,
}

impl BareFile {
    pub fn shared(self) -> Shared<dyn Storage> {
        shared_dyn!(self => dyn Storage).expect("memory")
    }
}

impl Storage for BareFile {
    fn size(&self) -> Result<u64> {
        Ok(self.bytes.lock().expect("not poisoned").len() as u64)
    }
    fn read_at(&self, pos: u64, buf: &mut [u8]) -> Result<()> {
        let bytes = self.bytes.lock().expect("not poisoned");
        let read = bytes.get(pos as usize..pos as usize + buf.len());
        buf.copy_from_slice(read.ok_or(oxiblosc_base::Error::FILE_READ)?);
        Ok(())
    }
    fn write_at(&self, pos: u64, buf: &[u8]) -> Result<()> {
        let end = pos as usize + buf.len();
        let mut bytes = self.bytes.lock().expect("not poisoned");
        let len = bytes.len().max(end);
        bytes.resize(len, 0);
        bytes[pos as usize..end].copy_from_slice(buf);
        Ok(())
    }
    fn truncate(&self, size: u64) -> Result<()> {
        let mut bytes = self.bytes.lock().expect("not poisoned");
        bytes.resize(size as usize, 0);
        Ok(())
    }
    fn sync(&self) -> Result<()> {
        Ok(())
    }
    fn unlock(&self) {
        self.unlocked.fetch_add(1, Ordering::Relaxed);
    }
    fn keep(&self) -> bool {
        self.is_kept
    }
}
