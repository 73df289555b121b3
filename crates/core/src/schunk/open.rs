//! Super-chunks for Rust programs: create, open, copy, convert to a frame.

use super::Parameters;
use super::copy::VlmetalayerCoder;
use super::state::State;
use super::store::ChunkStore;
use super::superchunk::SuperChunk;
use crate::coder::Host;
use crate::context::{Compressor, Contexts, Decompressor};
use crate::encoding::{check_special, make_special};
use crate::params::{CParams, DParams};
use oxiblosc_chunk::header::{EXTENDED_HEADER_LENGTH, Special};
use oxiblosc_error::{Error, Result};
use oxiblosc_frame::disk::{Disk, Loaded, Options};
use oxiblosc_frame::header::{FrameKind, Header};
use oxiblosc_frame::memory::Memory;
use oxiblosc_io::file::Filesystem;
use oxiblosc_io::paths::path_bytes;
use oxiblosc_io::{paths, shared};
use oxiblosc_memory::{Buffer, CStrBuf, List, boxed, boxed_uninit};
use std::ffi::CStr;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Where a super-chunk or an array keeps its chunks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Place<'a> {
    /// In memory, each chunk on its own.
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
    /// Whether a lock file keeps other processes out while the frame is changed, and changes out while it is read.
    pub locking: bool,
    /// Whether each change waits until it would survive a loss of power.
    pub durable: bool,
    /// Whether a new frame gets checksums, so that damage of it is found; see [`SuperChunk::add_checksums`].
    pub checksums: bool,
}

/// Where a new super-chunk or array is, and how it is compressed and decompressed. By default in memory, with the default parameters.
///
/// ```
/// use oxiblosc_core::{CParams, Place, StorageParams, SuperChunk};
///
/// let cparams = CParams { typesize: 4, ..CParams::default() };
/// let schunk = SuperChunk::create(StorageParams { place: Place::Frame, cparams, ..StorageParams::default() })?;
/// assert_eq!(schunk.nchunks()?, 0);
/// # Ok::<(), oxiblosc_core::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StorageParams<'a> {
    /// Where the chunks are.
    pub place: Place<'a>,
    /// How data are compressed.
    pub cparams: CParams,
    /// How chunks are decompressed.
    pub dparams: DParams,
    /// How a frame on disk is protected, and whether a frame gets checksums.
    pub protection: Protection,
}

pub(super) fn c_path(path: &Path) -> Result<CStrBuf> {
    let bytes = path_bytes(path).ok_or(Error::FileOpen)?;
    CStrBuf::new(bytes).map_err(|error| match error {
        Error::MemoryAlloc => error,
        _ => Error::FileOpen,
    })
}

impl Protection {
    /// Neither a lock file nor waits for the disk; `checksums` says whether a new frame gets them.
    pub fn with_checksums(checksums: bool) -> Self {
        Self {
            checksums,
            ..Self::default()
        }
    }

    fn options(self) -> Result<Options> {
        Ok(Options {
            backend: shared(Filesystem)?,
            locking: self.locking,
            durable: self.durable,
        })
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
    /// Where a new super-chunk keeps its chunks: in memory or, with a path, on disk. `header` makes the header of its frame, `options`
    /// say how one on disk is treated.
    ///
    /// # Errors
    /// [`Error::FileOpen`] if something is at the path already; those of output.
    pub fn create(
        path: Option<&CStr>,
        contiguous: bool,
        header: impl Fn(FrameKind) -> Header,
        options: impl FnOnce() -> Result<Options>,
    ) -> Result<Self> {
        let (kind, path) = match (path, contiguous) {
            (None, false) => return Ok(Self::Separate(List::new())),
            (None, true) => {
                let memory = Memory::new(&header(FrameKind::Contiguous))?;
                return Ok(Self::Memory(memory));
            }
            (Some(path), true) if paths::kind(path)?.is_some() => return Err(Error::FileOpen),
            (Some(path), true) => (FrameKind::Contiguous, CStrBuf::copy_of(path)?),
            (Some(path), false) => (FrameKind::Sparse, without_slash(path)?),
        };
        let options = options()?;
        // Its place comes first: once the frame is there, nothing may fail.
        let place = boxed_uninit()?;
        let (disk, _) = Disk::create(options, &path, &header(kind))?;
        Ok(Self::Disk(Mutex::new(Box::write(place, disk))))
    }

    /// Opens the frame at a path: a directory, or `offset` bytes behind the begin of a file.
    ///
    /// # Errors
    /// [`Error::FileOpen`] if there is nothing; those of a damaged frame.
    pub fn open(
        path: &CStr,
        offset: u64,
        options: impl FnOnce() -> Result<Options>,
    ) -> Result<(Self, Loaded)> {
        let (path, kind) = match paths::kind(path)? {
            None => return Err(Error::FileOpen),
            Some(paths::FileType::Directory) => (without_slash(path)?, FrameKind::Sparse),
            Some(paths::FileType::File) => (CStrBuf::copy_of(path)?, FrameKind::Contiguous),
        };
        let (disk, loaded) = Disk::open(options()?, &path, offset, kind)?;
        Ok((Self::Disk(Mutex::new(boxed(disk)?)), loaded))
    }
}

/// The id of the next super-chunk. Super-chunks of C programs have their addresses as ids, which are even.
fn next_id() -> usize {
    static LAST: AtomicUsize = AtomicUsize::new(1);
    LAST.fetch_add(2, Ordering::Relaxed)
}

/// A super-chunk to be made, and the program's side of it.
pub struct NewSuperChunk<'a> {
    /// The file or directory; none for memory.
    pub path: Option<&'a CStr>,
    /// Whether its chunks are one behind the other in a frame.
    pub contiguous: bool,
    /// How a frame on disk is treated.
    pub options: &'a dyn Fn() -> Result<Options>,
    /// Whether a frame gets checksums.
    pub checksums: bool,
    /// The parameters of its chunks.
    pub parameters: Parameters,
    /// The program's side.
    pub host: Box<dyn Host>,
    /// See [`SuperChunk::new`]; none for one that only Rust knows.
    pub id: Option<usize>,
}

impl NewSuperChunk<'_> {
    /// Makes it, without chunks.
    ///
    /// # Errors
    /// Those of [`ChunkStore::create`].
    pub fn make(self) -> Result<SuperChunk> {
        let (host, parameters) = (self.host, self.parameters);
        let empty = State::new(ChunkStore::Separate(List::new()), parameters);
        let header = |kind| empty.new_header(&*host, kind);
        let store = ChunkStore::create(self.path, self.contiguous, header, self.options)?;
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
    /// use oxiblosc_core::{CParams, StorageParams, SuperChunk};
    ///
    /// # fn main() -> Result<(), oxiblosc_core::Error> {
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
    /// [`Error::FileOpen`] if something is at the place already; those of impossible parameters, and of output.
    pub fn create(storage: StorageParams) -> Result<Self> {
        let StorageParams {
            place,
            cparams,
            dparams,
            protection,
        } = storage;
        let path = match place {
            Place::Memory | Place::Frame => None,
            Place::File(path) | Place::Directory(path) => Some(c_path(path)?),
        };
        if let (Place::Directory(_), Some(path)) = (place, &path)
            && paths::kind(path)?.is_some()
        {
            return Err(Error::FileOpen);
        }
        let new = NewSuperChunk {
            path: path.as_deref(),
            contiguous: matches!(place, Place::Frame | Place::File(_)),
            options: &|| protection.options(),
            checksums: protection.checksums,
            parameters: cparams.recorded(),
            host: contexts(cparams, dparams)?,
            id: None,
        };
        new.make()
    }

    /// Opens the super-chunk in a file, `offset` bytes behind its begin, or in a directory. Only the index and the metalayers
    /// are read. New chunks are compressed with the parameters in the frame.
    ///
    /// # Errors
    /// [`Error::FileOpen`] if there is nothing; those of a damaged frame.
    pub fn open(path: &Path, offset: u64, nthreads: i16, protection: Protection) -> Result<Self> {
        let path = c_path(path)?;
        let (store, loaded) = ChunkStore::open(&path, offset, || protection.options())?;
        Self::of_loaded(store, loaded, nthreads)
    }

    /// Opens a contiguous frame in memory, as [`Self::to_frame`] gives it, or as it is read of a file. The super-chunk keeps its
    /// chunks there. New chunks are compressed with the parameters in the frame.
    ///
    /// ```
    /// use oxiblosc_core::{StorageParams, SuperChunk};
    ///
    /// let schunk = SuperChunk::create(StorageParams::default())?;
    /// schunk.append_data(&[7; 1000])?;
    /// let again = SuperChunk::from_frame(schunk.to_frame()?, 1)?;
    /// assert_eq!(again.nbytes()?, 1000);
    /// # Ok::<(), oxiblosc_core::Error>(())
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

    /// Compresses data and puts them behind the last chunk. Gives the number of chunks.
    ///
    /// # Errors
    /// Those of [`Self::append`].
    pub fn append_data(&self, data: &[u8]) -> Result<usize> {
        self.append(oxiblosc_chunk::encode::ChunkInput::Buffer(data))
    }

    /// Fills a super-chunk without chunks with `nitems` items of a special value (zeros, NaNs, or not written yet) in chunks of
    /// `chunksize` bytes. In a frame they take no room, however many they are. Gives the number of chunks.
    ///
    /// # Errors
    /// As for [`Self::fill_special`].
    pub fn fill(&self, kind: Special, nitems: u64, chunksize: usize) -> Result<usize> {
        let sample = |kind, nbytes| self.special_sample(kind, nbytes);
        let kind = matches!(kind, Special::Zero | Special::Nan | Special::Uninit).then_some(kind);
        self.fill_special(nitems, kind, chunksize, &sample)
    }

    /// The compressed bytes of a chunk.
    ///
    /// # Errors
    /// [`Error::InvalidParam`] if there is none; those of a damaged frame, and of input.
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

    /// Copies the super-chunk, with its metalayers, to another place. Its chunks are copied as they are where the parameters of
    /// compression are the same as its own.
    ///
    /// # Errors
    /// Those of [`Self::create`], of damaged chunks, and of output.
    pub fn copy_to(&self, storage: StorageParams) -> Result<Self> {
        let _unchanged = self.read()?;
        self.fill_copy(Self::create(storage)?)
    }

    /// Copies the super-chunk into one that was just made.
    fn fill_copy(&self, copy: Self) -> Result<Self> {
        let same = copy.peek()?.parameters() == self.peek()?.parameters();
        let coder = VlmetalayerCoder::defaults()?;
        let copied = copy.copy_from(self, None, same, Some(&coder));
        copy.or_discard(copied)
    }

    /// A copy as a contiguous frame, in a new file at the path or in memory, with the same parameters of compression, made and used by one
    /// thread.
    pub(super) fn copy_alike(&self, path: Option<&CStr>, protection: Protection) -> Result<Self> {
        let state = self.read()?;
        let new = NewSuperChunk {
            path,
            contiguous: true,
            options: &|| protection.options(),
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

    /// The chunk that stands for so many bytes of a special value.
    pub(crate) fn special_sample(&self, kind: Special, nbytes: i32) -> Result<List<u8>> {
        let state = self.peek()?;
        let params = CParams::from_recorded(state.parameters(), 1);
        let room = EXTENDED_HEADER_LENGTH;
        check_special(params.typesize, nbytes, 0, room)?;
        let mut chunk = List::filled(0, EXTENDED_HEADER_LENGTH)?;
        let (ctx, nbytes) = (Compressor::new(params), nbytes as usize);
        make_special(&ctx, (kind, &[]), nbytes, Ok(&mut chunk), room)?;
        Ok(chunk)
    }
}
