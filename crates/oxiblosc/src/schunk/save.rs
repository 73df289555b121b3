//! Converting super-chunks to contiguous frames, in files and as bytes.

use super::open::{Protection, c_path};
use super::superchunk::SuperChunk;
use oxiblosc_base::Result;
use oxiblosc_base::memory::{Buffer, Shared};
use oxiblosc_frame::container;
use oxiblosc_io::file::Filesystem;
use oxiblosc_io::{Backend, shared, whole};
use std::ffi::CStr;
use std::path::Path;

/// A file that a frame is written to.
pub struct SaveTarget<'a> {
    /// The path.
    pub path: &'a CStr,
    /// The back end through which a frame in memory is written. Other super-chunks are copied to
    /// the file system.
    pub backend: &'a dyn Fn() -> Result<Shared<dyn Backend>>,
    /// Whether the file is synced to the disk, so that it survives a loss of power.
    pub durable: bool,
}

/// A super-chunk, or a view of an array, which can be saved as a contiguous frame.
pub trait Savable {
    /// The super-chunk whose frame, if it is in memory, can be saved as it is. None for a view,
    /// which has other metalayers.
    fn framed(&self) -> Option<&SuperChunk>;

    /// A copy as a contiguous frame: in a new file at the path, or in memory.
    ///
    /// # Errors
    /// [`oxiblosc_base::Error::FILE_OPEN`] if something is already at the path; those of damaged
    /// chunks, and of output.
    fn copy_as_frame(&self, path: Option<&CStr>, durable: bool) -> Result<SuperChunk>;

    /// Runs `body` on the bytes of a frame in memory that can be saved as it is. None if there is
    /// no such frame.
    ///
    /// # Errors
    /// Those of `body`, and of writing the frame's index and trailer.
    fn with_own_frame<T>(&self, body: impl FnOnce(&[u8]) -> Result<T>) -> Result<Option<T>> {
        match self.framed() {
            Some(schunk) => schunk.with_frame(body),
            None => Ok(None),
        }
    }

    /// See [`SuperChunk::save`].
    ///
    /// # Errors
    /// As for [`SuperChunk::save`].
    fn save_to(&self, file: &SaveTarget) -> Result<u64> {
        let written = self.with_own_frame(|bytes| {
            let backend = (file.backend)()?;
            whole::write_through(&*backend, file.path, bytes, file.durable)?;
            Ok(bytes.len() as u64)
        })?;
        if let Some(len) = written {
            return Ok(len);
        }
        let copy = self.copy_as_frame(Some(file.path), file.durable)?;
        let len = copy.close_frame();
        copy.or_discard(len)?;
        len
    }

    /// See [`SuperChunk::append_to_file`].
    ///
    /// # Errors
    /// As for [`SuperChunk::append_to_file`].
    fn append_to(&self, file: &SaveTarget) -> Result<u64> {
        let append = |backend: &dyn Backend, bytes: &[u8]| {
            container::append(backend, file.path, bytes, file.durable)
        };
        if let Some(start) = self.with_own_frame(|bytes| append(&*(file.backend)()?, bytes))? {
            return Ok(start);
        }
        let copy = self.copy_as_frame(None, file.durable)?.into_frame()?;
        append(&Filesystem, &copy)
    }
}

impl Savable for SuperChunk {
    fn framed(&self) -> Option<&SuperChunk> {
        Some(self)
    }

    fn copy_as_frame(&self, path: Option<&CStr>, durable: bool) -> Result<SuperChunk> {
        let protection = Protection {
            durable,
            ..Protection::default()
        };
        self.copy_alike(path, protection)
    }
}

impl SuperChunk {
    /// Writes the super-chunk into a file as a contiguous frame. Gives the size of the frame in
    /// bytes.
    ///
    /// A frame in memory (`Place::Frame`) replaces an existing file atomically. For any other
    /// super-chunk, nothing may be at the path. If `durable`, the file is synced to the disk, so
    /// that it survives a loss of power.
    ///
    /// ```
    /// use oxiblosc::{Place, Protection, StorageParams, SuperChunk};
    ///
    /// let path = std::env::temp_dir().join(format!("saved-{}.b2frame", std::process::id()));
    /// let schunk = SuperChunk::create(StorageParams { place: Place::Frame, ..StorageParams::default() })?;
    /// schunk.append_data(&[7; 1000])?;
    /// assert_eq!(schunk.save(&path, false)?, path.metadata().unwrap().len());
    /// assert_eq!(SuperChunk::open(&path, 0, 1, Protection::default())?.nbytes()?, 1000);
    /// # std::fs::remove_file(path).unwrap();
    /// # Ok::<(), oxiblosc::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`oxiblosc_base::Error::FILE_OPEN`] if something is already at the path; those of damaged
    /// chunks, and of output. After an error the file is as it was.
    pub fn save(&self, path: &Path, durable: bool) -> Result<u64> {
        self.save_to(&SaveTarget {
            path: &c_path(path)?,
            backend: &|| shared(Filesystem),
            durable,
        })
    }

    /// Appends the super-chunk to a file as a contiguous frame, whatever else is in the file. Gives
    /// the offset of the frame in bytes, for [`SuperChunk::open`]. `durable` is as for
    /// [`Self::save`].
    ///
    /// # Errors
    /// Those of damaged chunks, and of output. After an error the file is as it was.
    pub fn append_to_file(&self, path: &Path, durable: bool) -> Result<u64> {
        self.append_to(&SaveTarget {
            path: &c_path(path)?,
            backend: &|| shared(Filesystem),
            durable,
        })
    }

    /// The bytes of the super-chunk as a contiguous frame, as they would be in a file.
    ///
    /// # Errors
    /// Those of [`Self::copy_to`].
    pub fn to_frame(&self) -> Result<Buffer> {
        match self.with_frame(Buffer::copy_of)? {
            Some(frame) => Ok(frame),
            None => self.copy_as_frame(None, false)?.into_frame(),
        }
    }
}
