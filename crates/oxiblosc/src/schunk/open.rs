//! Creating, opening and copying super-chunks in Rust programs.

use super::Parameters;
use super::copy::VlmetalayerCoder;
use super::state::State;
use super::store::{ChunkStore, SharedDisk};
use super::superchunk::SuperChunk;
use crate::context::{Compressor, Decompressor};
use crate::encoding::special_chunk;
use crate::params::{CParams, DParams};
use crate::schunk::host::Contexts;
use crate::schunk::host::Host;
use oxiblosc_base::memory::{Buffer, CStrBuf, Shared, TryVec, boxed, boxed_uninit};
use oxiblosc_base::{Error, Result};
use oxiblosc_chunk::header::Special;
use oxiblosc_frame::disk::{Disk, Loaded, Options};
use oxiblosc_frame::header::{FrameKind, Header};
use oxiblosc_frame::memory::Memory;
use oxiblosc_io::file::Filesystem;
use oxiblosc_io::paths::path_bytes;
use oxiblosc_io::{Backend, paths, shared};
use std::ffi::CStr;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Where the chunks of a super-chunk or an array are stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Place<'a> {
    /// In memory, each chunk in a buffer of its own.
    #[default]
    Memory,
    /// In memory, as a contiguous frame.
    Frame,
    /// In a file, as a contiguous frame.
    File(&'a Path),
    /// In a directory, with a file for each chunk.
    Directory(&'a Path),
}

/// How frames on disk are protected from other processes and from power failures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Protection {
    /// Whether a lock file excludes other handles and processes while the frame is changed, and
    /// their changes while it is read.
    pub locking: bool,
    /// Whether each change is synced to the disk before the call returns, so that it survives a
    /// loss of power.
    pub durable: bool,
    /// Whether a new frame gets checksums, so that damage is detected; see
    /// [`SuperChunk::add_checksums`].
    pub checksums: bool,
}

/// Where a new super-chunk or array is stored, and how it is compressed and decompressed. By
/// default it is in memory, with default parameters.
///
/// ```
/// use oxiblosc::{CParams, Place, StorageParams, SuperChunk};
///
/// let cparams = CParams { typesize: 4, ..CParams::default() };
/// let schunk = SuperChunk::create(StorageParams { place: Place::Frame, cparams, ..StorageParams::default() })?;
/// assert_eq!(schunk.nchunks()?, 0);
/// # Ok::<(), oxiblosc::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StorageParams<'a> {
    /// Where the chunks are stored.
    pub place: Place<'a>,
    /// How data are compressed.
    pub cparams: CParams,
    /// How chunks are decompressed.
    pub dparams: DParams,
    /// How a frame on disk is protected, and whether a frame gets checksums.
    pub protection: Protection,
}

pub(super) fn c_path(path: &Path) -> Result<CStrBuf> {
    let bytes = path_bytes(path).ok_or(Error::FILE_OPEN)?;
    CStrBuf::new(bytes).map_err(|error| error.or(Error::FILE_OPEN))
}

impl Protection {
    /// Protection by checksums alone, or none at all.
    pub fn with_checksums(checksums: bool) -> Self {
        Self {
            checksums,
            ..Self::default()
        }
    }

    fn options(self) -> Result<Options> {
        Ok(self.options_by(shared(Filesystem)?))
    }

    fn options_by(self, backend: Shared<dyn Backend>) -> Options {
        Options {
            backend,
            locking: self.locking,
            durable: self.durable,
        }
    }
}

/// A directory's path, without the slash that it may end with.
fn without_slash(path: &CStr) -> Result<CStrBuf> {
    let bytes = path.to_bytes();
    let end = match bytes.last() {
        Some(b'/' | b'\\') => bytes.len() - 1,
        _ => bytes.len(),
    };
    CStrBuf::new(&bytes[..end])
}

impl ChunkStore {
    /// The store of a new super-chunk: in memory or, with a path, on disk. `header` makes the
    /// header of its frame; `options` gives back end, locking and durability of a frame on disk. A
    /// hidden one is at its path once it is published.
    ///
    /// # Errors
    /// [`Error::FILE_OPEN`] if something is already at the path of a contiguous frame; those of
    /// output.
    pub fn create(
        path: Option<&CStr>,
        contiguous: bool,
        header: impl Fn(FrameKind) -> Header,
        options: impl FnOnce() -> Result<Options>,
        hidden: bool,
    ) -> Result<Self> {
        let (kind, path) = match (path, contiguous) {
            (None, false) => return Ok(Self::EMPTY),
            (None, true) => {
                let memory = Memory::new(&header(FrameKind::Contiguous))?;
                return Ok(Self::Memory(memory));
            }
            (Some(path), true) if paths::kind(path)?.is_some() => return Err(Error::FILE_OPEN),
            (Some(path), true) => (FrameKind::Contiguous, CStrBuf::copy_of(path)?),
            (Some(path), false) => (FrameKind::Sparse, without_slash(path)?),
        };
        let options = options()?;
        // The memory is allocated first, because nothing may fail once the frame exists on disk.
        let memory = boxed_uninit()?;
        let create = if hidden {
            Disk::create_hidden
        } else {
            Disk::create
        };
        let (disk, _) = create(options, &path, &header(kind))?;
        Ok(Self::Disk(SharedDisk::new(Box::write(memory, disk))))
    }

    /// Opens the frame at a path: a directory, or a file in which the frame starts at byte
    /// `offset`.
    ///
    /// # Errors
    /// [`Error::FILE_OPEN`] if nothing is at the path; those of a damaged frame.
    pub fn open(
        path: &CStr,
        offset: u64,
        options: impl FnOnce() -> Result<Options>,
    ) -> Result<(Self, Loaded)> {
        let (path, kind) = match paths::kind(path)? {
            None => return Err(Error::FILE_OPEN),
            Some(paths::FileType::Directory) => (without_slash(path)?, FrameKind::Sparse),
            Some(paths::FileType::File) => (CStrBuf::copy_of(path)?, FrameKind::Contiguous),
        };
        let (disk, loaded) = Disk::open(options()?, &path, offset, kind)?;
        Ok((Self::Disk(SharedDisk::new(boxed(disk)?)), loaded))
    }
}

/// The id of the next super-chunk. Super-chunks of C programs have their addresses as ids, which
/// are even.
pub(super) fn next_id() -> usize {
    static LAST: AtomicUsize = AtomicUsize::new(1);
    LAST.fetch_add(2, Ordering::Relaxed)
}

/// What is needed to create a super-chunk.
pub struct NewSuperChunk<'a> {
    /// The file or directory; none for memory.
    pub path: Option<&'a CStr>,
    /// Whether the chunks are stored in a contiguous frame.
    pub contiguous: bool,
    /// Gives back end, locking and durability of a frame on disk.
    pub options: &'a dyn Fn() -> Result<Options>,
    /// Whether a frame on disk is at its path only once [`SuperChunk::publish`] is called.
    pub hidden: bool,
    /// Whether a frame gets checksums.
    pub checksums: bool,
    /// The parameters of its chunks.
    pub parameters: Parameters,
    /// The contexts, and the program's window.
    pub host: Box<dyn Host>,
    /// See [`SuperChunk::new`]. If it is none, the super-chunk gets an id that no other one has.
    pub id: Option<usize>,
}

impl NewSuperChunk<'_> {
    /// Creates the super-chunk, without chunks.
    ///
    /// # Errors
    /// Those of [`ChunkStore::create`].
    pub fn make(self) -> Result<SuperChunk> {
        let (host, parameters) = (self.host, self.parameters);
        let empty = State::new(ChunkStore::EMPTY, parameters);
        let header = |kind| empty.new_header(&*host, kind);
        let store = ChunkStore::create(
            self.path,
            self.contiguous,
            header,
            self.options,
            self.hidden,
        )?;
        let id = self.id.unwrap_or_else(next_id);
        let schunk = SuperChunk::new(store, parameters, host, id);
        match self.checksums {
            true => schunk.with_checksums(),
            false => Ok(schunk),
        }
    }
}

fn contexts(cparams: CParams, dparams: DParams) -> Result<Box<dyn Host>> {
    Ok(boxed(Contexts {
        compressor: Compressor::new(cparams),
        decompressor: Decompressor::new(dparams),
    })?)
}

impl SuperChunk {
    /// Creates a super-chunk without chunks.
    ///
    /// ```
    /// use oxiblosc::{CParams, StorageParams, SuperChunk};
    ///
    /// # fn main() -> Result<(), oxiblosc::Error> {
    /// let cparams = CParams { typesize: 4, ..CParams::default() };
    /// let schunk = SuperChunk::create(StorageParams { cparams, ..StorageParams::default() })?;
    /// for n in 0..10u8 {
    ///     schunk.append_data(&[n; 4000])?;
    /// }
    /// let mut items = [0; 8];
    /// schunk.read_bytes(3996..4004, &mut items)?;
    /// assert_eq!(items, [0, 0, 0, 0, 1, 1, 1, 1]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::FILE_OPEN`] if something is already at the path; those of output.
    pub fn create(storage: StorageParams) -> Result<Self> {
        Self::create_as(storage, false)
    }

    /// As [`Self::create`]; but nothing is at the path before [`Self::publish`].
    pub(crate) fn create_hidden(storage: StorageParams) -> Result<Self> {
        Self::create_as(storage, true)
    }

    fn create_as(storage: StorageParams, hidden: bool) -> Result<Self> {
        let path = match storage.place {
            Place::Memory | Place::Frame => None,
            Place::File(path) | Place::Directory(path) => Some(c_path(path)?),
        };
        if let (Place::Directory(_), Some(path)) = (storage.place, &path)
            && paths::kind(path)?.is_some()
        {
            return Err(Error::FILE_OPEN);
        }
        let new = NewSuperChunk {
            path: path.as_deref(),
            contiguous: matches!(storage.place, Place::Frame | Place::File(_)),
            options: &|| storage.protection.options(),
            hidden,
            checksums: storage.protection.checksums,
            parameters: storage.cparams.recorded(),
            host: contexts(storage.cparams, storage.dparams)?,
            id: None,
        };
        new.make()
    }

    /// Opens the super-chunk in a directory, or in a file in which its frame starts at byte
    /// `offset`. Only header, index, metalayers and a few headers of chunks are read. New chunks
    /// are compressed with the parameters in the frame. `nthreads` threads work on a chunk.
    ///
    /// # Errors
    /// [`Error::FILE_OPEN`] if nothing is at the path; those of a damaged frame.
    pub fn open(path: &Path, offset: u64, nthreads: i16, protection: Protection) -> Result<Self> {
        let path = c_path(path)?;
        let (store, loaded) = ChunkStore::open(&path, offset, || protection.options())?;
        Self::of_loaded(store, loaded, nthreads)
    }

    /// As [`Self::open`], at the start of a file, by a back end for files of the file system.
    ///
    /// # Errors
    /// As for that.
    pub fn open_by(
        backend: Shared<dyn Backend>,
        path: &CStr,
        nthreads: i16,
        protection: Protection,
    ) -> Result<Self> {
        let options = || Ok(protection.options_by(backend));
        let (store, loaded) = ChunkStore::open(path, 0, options)?;
        Self::of_loaded(store, loaded, nthreads)
    }

    /// Opens a contiguous frame in memory, which may be from [`Self::to_frame`] or read from a
    /// file. The chunks stay in the buffer. New chunks are compressed with the parameters in the
    /// frame. `nthreads` threads work on a chunk.
    ///
    /// ```
    /// use oxiblosc::{StorageParams, SuperChunk};
    ///
    /// let schunk = SuperChunk::create(StorageParams::default())?;
    /// schunk.append_data(&[7; 1000])?;
    /// let again = SuperChunk::from_frame(schunk.to_frame()?, 1)?;
    /// assert_eq!(again.nbytes()?, 1000);
    /// # Ok::<(), oxiblosc::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of a damaged frame.
    pub fn from_frame(frame: Buffer, nthreads: i16) -> Result<Self> {
        let (memory, loaded) = Memory::over(frame.into())?;
        Self::of_loaded(ChunkStore::Memory(memory), loaded, nthreads)
    }

    pub(super) fn of_loaded(store: ChunkStore, loaded: Loaded, nthreads: i16) -> Result<Self> {
        let cparams = CParams::from_recorded(&loaded.header.parameters, nthreads);
        let host = contexts(cparams, DParams { nthreads })?;
        Self::of_frame(store, loaded, host, next_id())
    }

    /// Compresses data into a chunk and appends it. Gives the number of chunks.
    ///
    /// # Errors
    /// Those of [`Self::append`].
    pub fn append_data(&self, data: &[u8]) -> Result<usize> {
        self.append(oxiblosc_chunk::encode::ChunkInput::Buffer(data))
    }

    /// Fills a super-chunk without chunks with `nitems` items that are zero, NaN or uninitialized,
    /// in chunks of `chunksize` bytes. In a frame the chunks take no bytes, however many they are.
    /// Gives the number of chunks.
    ///
    /// # Errors
    /// As for [`Self::fill_special`].
    pub fn fill(&self, kind: Special, nitems: u64, chunksize: usize) -> Result<usize> {
        let sample = |kind, nbytes| self.special_sample(kind, nbytes);
        let kind = matches!(kind, Special::Zero | Special::Nan | Special::Uninit).then_some(kind);
        self.fill_special(nitems, kind, chunksize, &sample)
    }

    /// A copy of a chunk, which is compressed.
    ///
    /// # Errors
    /// [`Error::INVALID_PARAM`] if there is no such chunk; those of a damaged frame, and of input.
    pub fn chunk(&self, nchunk: usize) -> Result<Buffer> {
        let state = self.read()?;
        state.check_index(nchunk)?;
        state.chunk(nchunk)?.into_owned()
    }

    /// How many chunks there are.
    ///
    /// # Errors
    /// Those of [`Self::read`].
    pub fn nchunks(&self) -> Result<usize> {
        Ok(self.read()?.nchunks())
    }

    /// Bytes of all data.
    ///
    /// # Errors
    /// Those of [`Self::read`].
    pub fn nbytes(&self) -> Result<u64> {
        Ok(self.read()?.counts().nbytes.max(0) as u64)
    }

    /// Copies the super-chunk with its metalayers. Its chunks are compressed again only if the
    /// parameters of compression differ.
    ///
    /// # Errors
    /// Those of [`Self::create`], of damaged chunks, and of output.
    pub fn copy_to(&self, storage: StorageParams) -> Result<Self> {
        let _unchanged = self.read()?;
        self.fill_copy(Self::create_hidden(storage)?)
    }

    /// Copies the super-chunk into one that was just created.
    fn fill_copy(&self, copy: Self) -> Result<Self> {
        let same = copy.peek()?.parameters() == self.peek()?.parameters();
        let coder = VlmetalayerCoder::defaults()?;
        let copied = copy.copy_from(self, None, same, Some(&coder));
        copy.publish_if(copied)
    }

    /// A copy as a contiguous frame, in a new file at the path or in memory, with the same
    /// parameters of compression. It uses one thread.
    pub(super) fn copy_alike(&self, path: Option<&CStr>, protection: Protection) -> Result<Self> {
        let state = self.read()?;
        let new = NewSuperChunk {
            path,
            contiguous: true,
            options: &|| protection.options(),
            hidden: true,
            checksums: protection.checksums,
            parameters: *state.parameters(),
            host: contexts(
                CParams::from_recorded(state.parameters(), 1),
                DParams::default(),
            )?,
            id: None,
        };
        self.fill_copy(new.make()?)
    }

    /// A chunk of special values, with `nbytes` bytes of data.
    pub(crate) fn special_sample(&self, kind: Special, nbytes: i32) -> Result<TryVec<u8>> {
        let state = self.peek()?;
        let params = CParams::from_recorded(state.parameters(), 1);
        let typesize = params.typesize;
        special_chunk(&Compressor::new(params), typesize, (kind, &[]), nbytes)
    }
}
