//! Super-chunks of Rust programs as files.

use super::open::{Place, Protection, c_path};
use super::superchunk::SuperChunk;
use oxiblosc_error::Result;
use oxiblosc_frame::container;
use oxiblosc_io::file::Filesystem;
use oxiblosc_io::whole;
use std::path::Path;

impl SuperChunk {
    /// Writes the super-chunk into a file as a contiguous frame. Gives the size of the frame.
    ///
    /// A frame in memory ([`Place::Frame`]) replaces a file that is there, in one step. Any other super-chunk is written only where there
    /// is nothing yet. If `durable`, the file would survive a loss of power when this returns.
    ///
    /// ```
    /// use oxiblosc_core::{Place, Protection, StorageParams, SuperChunk};
    ///
    /// let path = std::env::temp_dir().join(format!("saved-{}.b2frame", std::process::id()));
    /// let schunk = SuperChunk::create(StorageParams { place: Place::Frame, ..StorageParams::default() })?;
    /// schunk.append_data(&[7; 1000])?;
    /// assert_eq!(schunk.save(&path, false)?, path.metadata().unwrap().len());
    /// assert_eq!(SuperChunk::open(&path, 0, 1, Protection::default())?.nbytes()?, 1000);
    /// # std::fs::remove_file(path).unwrap();
    /// # Ok::<(), oxiblosc_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`oxiblosc_error::Error::FileOpen`] where something is already; those of damaged chunks, and of output. Then the file is as it was.
    pub fn save(&self, path: &Path, durable: bool) -> Result<u64> {
        let c_path = c_path(path)?;
        let written = self.with_frame(|bytes| {
            whole::write(&c_path, bytes, durable)?;
            Ok(bytes.len() as u64)
        })?;
        if let Some(len) = written {
            return Ok(len);
        }
        let protection = Protection {
            durable,
            ..Protection::default()
        };
        let copy = self.copy_alike(Place::File(path), protection)?;
        let len = copy.close_frame();
        copy.or_discard(len)?;
        len
    }

    /// Appends the super-chunk to a file as a contiguous frame, behind whatever is there. Gives where the frame begins, which is what
    /// [`SuperChunk::open`] takes. `durable` is as for [`Self::save`].
    ///
    /// # Errors
    /// Those of damaged chunks, and of output. Then the file is as it was.
    pub fn append_to_file(&self, path: &Path, durable: bool) -> Result<u64> {
        let path = c_path(path)?;
        let append = |bytes: &[u8]| container::append(&Filesystem, &path, bytes, durable);
        match self.with_frame(append)? {
            Some(start) => Ok(start),
            None => append(&self.to_frame()?),
        }
    }
}
