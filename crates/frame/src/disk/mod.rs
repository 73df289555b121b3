//! A frame in a file or a directory.
//!
//! A handle keeps header, trailer and offsets in memory. [`Disk::refresh`] reads them again if another handle or process has changed the
//! frame: if the header on disk, or the fingerprint at the end of the trailer, is a different one. The header alone is not enough, since after
//! several changes it may be the same as before. [`Disk::commit`] changes the frame.
//!
//! A frame of less than [`MAX_COMPACT_LEN`] bytes and at most [`MAX_COMPACT_CHUNKS`] chunks is always compact, as in the format's documents: header, chunks,
//! compressed index and trailer, one behind the other. The first change of a larger one moves the index and stores it uncompressed, with
//! free space before it for chunks and behind it for offsets. Then an append writes only a chunk, an offset and a new trailer. Closing the
//! handle makes the frame compact again. Every reader of the format understands both layouts, and between two changes the file ends
//! where the frame does.

mod bind;
mod commit;
mod compact;
mod edit;
mod growing_index;
mod hidden;
mod image;
mod load;
pub mod look;
mod new;
mod paths;
mod places;
mod refresh;
mod rewrite;
mod stored;
mod writer;

pub use commit::{EncodedMetadata, Metadata};
use image::Image;
use paths::ChunkPaths;
pub use paths::frame_file;
use refresh::KeptReader;
pub use stored::Stored;
pub(crate) use writer::TRIES;
pub use writer::{FrameLockGuard, FrameWaiter, LockState};
use writer::{SpaceInFile, WriteHandle};

use super::binding::Binding;
use super::fingerprint::{self, ChecksumScope, Coverage, Stamp};
use super::header::{Extent, FrameKind, Header};
use super::journal::{Overlay, Patch};
use super::meta::Metalayer;
use super::offsets::{ChunkPlace, Offsets};
use super::trailer;
pub use new::NewFrame;
use oxiblosc_base::memory::{CStrBuf, Shared, Sorted, TryVec};
use oxiblosc_base::{Error, Result};
use oxiblosc_io::lock::SidecarLock;
use oxiblosc_io::{Backend, Mode, Storage, Written};
use std::ffi::CStr;

/// How often a frame is read while another process changes it, and the pause between two attempts in milliseconds.
const RETRIES: (usize, u64) = (50, 1);
/// A part of a number of bytes or offsets.
struct Share {
    /// The number is divided by this.
    divisor: u64,
    /// It is at least so many,
    least: u64,
    /// and at most so many.
    most: u64,
}

impl Share {
    fn of(&self, whole: u64) -> u64 {
        (whole / self.divisor).clamp(self.least, self.most)
    }
}

/// A frame of fewer bytes and at most [`MAX_COMPACT_CHUNKS`] chunks is always compact.
const MAX_COMPACT_LEN: u64 = 1 << 20;
/// The most chunks of a frame whose index is compressed and written as a whole with each change.
pub(crate) const MAX_COMPACT_CHUNKS: usize = 8 << 10;

/// How a frame on disk is to be treated.
#[derive(Clone)]
pub struct Options {
    /// Where the files are.
    pub backend: Shared<dyn Backend>,
    /// Whether to exclude other handles and processes with a lock file.
    pub locking: bool,
    /// Whether a change returns only when it would survive a loss of power.
    pub durable: bool,
}

/// A frame as this handle knows it.
struct FrameView {
    /// The bytes of the header on disk.
    header: TryVec<u8>,
    extent: Extent,
    /// The last bytes of the frame: the trailer, and before it the index if this handle wrote both at once.
    tail: TryVec<u8>,
    /// The number of bytes of the trailer.
    trailer_len: usize,
    offsets: Offsets,
    /// The number of offsets for which there is room in the index; none if it is compressed.
    capacity: Option<usize>,
    /// Whether there is free space between index and trailer, which closing the frame removes.
    has_gap: bool,
    /// The bytes that an uncommitted change has overwritten, if the file has the record of one.
    pending: Pending,
    /// Which checksums the frame has; see [`fingerprint`](crate::fingerprint).
    checksums: ChecksumScope,
    /// The checksum of the offsets in an uncompressed index, if it is known.
    offsets_crc: Option<u32>,
    /// What binds the chunks to their places, as the index has it. None if it is unknown.
    binding: Option<Binding>,
    /// Whether all chunks have different places, if that was checked. It stays valid: no change gives two chunks the same place.
    places_distinct: Option<bool>,
}

impl FrameView {
    /// The trailer's bytes.
    fn trailer(&self) -> &[u8] {
        &self.tail[self.tail.len() - self.trailer_len..]
    }

    /// The `len` bytes at `pos` of the frame, if the header or the tail has them in memory.
    fn known(&self, pos: u64, len: usize) -> Option<&[u8]> {
        let tail = self.extent.frame_len - self.tail.len() as u64;
        let (bytes, from) = match pos.checked_sub(tail) {
            Some(from) => (&self.tail, from),
            None => (&self.header, pos),
        };
        let from = usize::try_from(from).ok()?;
        bytes.get(from..from.checked_add(len)?)
    }

    /// The stamp of this state; none if another library has written it.
    fn stamp(&self) -> Option<Stamp> {
        Stamp::of(self.trailer())
    }

    /// The stamp of the next change.
    fn next_stamp(&self) -> Stamp {
        let is_new = || self.offsets.is_empty() && self.trailer_len == trailer::EMPTY_LEN;
        match self.stamp() {
            Some(stamp) => stamp.next(),
            None if is_new() => Stamp::default().next(),
            None => Stamp::random(),
        }
    }

    /// What tells this state of the frame from others, as it is on the disk: header and fingerprint, with their positions in the frame.
    fn state_marks(&self) -> [(u64, &[u8]); 2] {
        let at = self.tail.len().saturating_sub(fingerprint::LEN);
        let fingerprint = &self.tail[at..];
        let end = self.extent.frame_len;
        [
            (0, &self.header),
            (end.saturating_sub(fingerprint.len() as u64), fingerprint),
        ]
    }

    /// Drops the index from the tail, after a change that may have moved it.
    fn forget_index(&mut self) {
        let index = self.tail.len() - self.trailer_len;
        self.tail.drain(..index);
    }
}

/// See [`FrameView::pending`].
type Pending = Option<Shared<Overlay>>;

fn patches(pending: &Pending) -> &[Patch] {
    pending.as_ref().map_or(&[], |pending| &pending.patches[..])
}

/// Whether the record of the pending change, if there was one, is still there.
fn is_there(pending: &Pending, file: &dyn Storage) -> bool {
    pending.as_ref().is_none_or(|pending| pending.is_in(file))
}

/// The parts of a frame that its owner needs, as they were read.
#[derive(Debug)]
pub struct Loaded {
    /// The header.
    pub header: Header,
    /// The variable-length metalayers.
    pub vlmetalayers: TryVec<Metalayer>,
    /// The parts whose checksums were compared and are right.
    pub coverage: Coverage,
}

/// An open frame.
pub struct Disk {
    options: Options,
    /// The path of the frame: a file or a directory.
    path: CStrBuf,
    /// The file with header, index and trailer.
    file: Shared<CStrBuf>,
    kind: FrameKind,
    /// Where the frame begins in its file, in bytes.
    base: u64,
    view: FrameView,
    /// Device and inode of the file that `view` was read from.
    identity: Option<(u64, u64)>,
    /// When that file was last written to, as of the moment before `view` was read. With a stamp in the view it tells nothing more, and is none.
    written: Option<Written>,
    /// The size of the file, if it is known: it was read under the lock of the present change, and nothing was written since.
    size: Option<u64>,
    reader: Option<KeptReader>,
    space: Option<SpaceInFile>,
    /// The file that is open for changes. It stays open from one change to the next if it is a map, or a file and the number of open files
    /// allows it.
    write_handle: Option<WriteHandle>,
    lock: Option<SidecarLock>,
    /// How many calls of [`Disk::lock`] are waiting for their [`Disk::unlock`].
    changing: usize,
    /// How many of these calls are those of [`Disk::hold`].
    held: usize,
    /// The process in which they were made.
    process: u32,
    /// Whether the view has to be read again, even if nothing shows that the frame has changed.
    stale: bool,
    /// Whether a change of this handle failed and could not be undone, so that its record is in the file.
    has_left_record: bool,
    /// What binds the chunks to their places, if the next change is to begin with another than the index has.
    rebound: Option<Binding>,
    /// The error of the last check whether the frame is there. With one, the frame cannot be changed.
    missing: Option<Error>,
    /// What was read when the frame was last read again, until [`Self::refresh`] returns it.
    news: Option<Loaded>,
    /// The files of the frame, if this handle created them.
    made: Option<NewFrame>,
    /// Whether this handle created the frame. Where there are no locks, no other one changes it.
    is_creator: bool,
    /// What the frame becomes, if it is hidden.
    goal: Option<hidden::Goal>,
    /// Whether the name of the frame's file is known to be on the disk.
    is_name_durable: bool,
}

impl Disk {
    /// Creates a frame without chunks and metalayers. If this fails, it leaves nothing behind.
    ///
    /// # Errors
    /// [`Error::FILE_OPEN`] if there is something at `path`, or it cannot be created; those of output; [`Error::MEMORY_ALLOC`].
    pub fn create(options: Options, path: &CStr, header: &Header) -> Result<(Self, Loaded)> {
        let kind = header.kind;
        let file = frame_file(path, kind)?;
        let trailer = trailer::encode(&[])?;
        let image = Image::new(header.encode(&[])?, &trailer, &Offsets::EMPTY, 0, 0)?;
        let (storage, made) = new::make(&options, path, kind, &file)?;
        let filled = new::fill(&options, path, kind, &*storage, &image);
        storage.unlock();
        drop(storage);
        let created = filled.and_then(|()| Self::open(options, path, 0, kind));
        match created {
            Ok((mut disk, loaded)) => {
                disk.made = made;
                disk.is_creator = true;
                disk.is_name_durable = disk.options.durable;
                Ok((disk, loaded))
            }
            Err(error) => {
                if let Some(mut made) = made {
                    made.remove();
                }
                Err(error)
            }
        }
    }

    /// The files of this frame, if this handle created them. The next call returns none.
    pub fn take_made(&mut self) -> Option<NewFrame> {
        self.made.take()
    }

    /// Opens the frame that begins `base` bytes from the start of the file at `path`, or the one in the directory at `path`.
    ///
    /// # Errors
    /// [`Error::FILE_OPEN`]; [`Error::LOCK`]; those of reading and of a damaged frame; [`Error::MEMORY_ALLOC`].
    pub fn open(
        options: Options,
        path: &CStr,
        base: u64,
        kind: FrameKind,
    ) -> Result<(Self, Loaded)> {
        let file = frame_file(path, kind)?;
        let mut lock = options
            .locking
            .then(|| SidecarLock::of_frame(path, kind == FrameKind::Sparse))
            .transpose()?;
        let load = || {
            let storage = options.backend.open(&file, Mode::Read)?;
            let written = storage.written();
            let loading = load::load_patiently(&*storage, base, kind, false, false);
            let loading = loading.map_err(|not_loaded| not_loaded.error)?;
            Ok((storage, written, loading))
        };
        let (storage, written, (view, loaded)) = match &mut lock {
            Some(lock) => lock.while_shared(load)?,
            None => load()?,
        };
        let mut disk = Self {
            written: written.filter(|_| view.stamp().is_none()),
            options,
            path: CStrBuf::copy_of(path)?,
            file: Shared::new(file)?,
            kind,
            base,
            view,
            identity: storage.identity(),
            size: None,
            reader: None,
            space: None,
            write_handle: None,
            lock,
            changing: 0,
            held: 0,
            process: oxiblosc_pool::process(),
            stale: false,
            has_left_record: false,
            rebound: None,
            missing: None,
            news: None,
            made: None,
            is_creator: false,
            goal: None,
            is_name_durable: false,
        };
        // So the frame can be read even after its path was removed.
        disk.keep_reader(&storage);
        Ok((disk, loaded))
    }

    /// Where the chunks are.
    pub fn kind(&self) -> FrameKind {
        self.kind
    }

    /// Sets whether the next change writes checksums of header, index and trailer. If the frame is read again because another handle has
    /// changed it, this setting is replaced by what the frame has.
    pub fn set_checksums(&mut self, checksums: bool) {
        self.view.checksums = self.view.checksums.wanted(checksums);
        self.rebound = None;
    }

    /// Makes the next change record where each chunk is, unless one is damaged, and, if `all`, that every chunk has checksums.
    pub fn note_checksums(&mut self, all: bool) {
        if all {
            self.view.checksums = ChecksumScope::All;
        }
        if self.view.binding.is_none() {
            self.rebound = self.bound().ok();
        }
    }

    /// The offsets.
    pub fn offsets(&self) -> &Offsets {
        &self.view.offsets
    }

    /// Bytes of all chunks, as in the header, but without the free space before the index of a large frame.
    pub fn cbytes(&mut self) -> u64 {
        let cbytes = self.view.extent.cbytes;
        if self.kind == FrameKind::Sparse || self.view.capacity.is_none() {
            return cbytes;
        }
        match &self.space {
            Some(space) => space.free.end(),
            None => self.data_end().unwrap_or(cbytes),
        }
    }

    /// Bytes of the frame.
    pub fn frame_len(&self) -> u64 {
        self.view.extent.frame_len
    }

    /// Whether chunk `nchunk` can be changed in place: it has bytes in the frame's file, and no other chunk has the same place.
    pub fn is_alone(&mut self, nchunk: usize) -> bool {
        let Ok(ChunkPlace::At(place)) = self.view.offsets.place(nchunk) else {
            return false;
        };
        if self.kind != FrameKind::Contiguous || self.has_distinct_places() {
            return self.kind == FrameKind::Contiguous;
        }
        let mut here = self.view.offsets.iter();
        here.by_ref().find(|other| *other == place as i64);
        here.all(|other| other != place as i64)
    }

    /// Whether all chunks are known to have different places.
    fn has_distinct_places(&mut self) -> bool {
        if self.view.places_distinct.is_none() {
            let different = match &self.space {
                Some(_) => self.places().map(Sorted::are_different),
                None => self.view.offsets.are_different(),
            };
            // Without memory it is not known.
            self.view.places_distinct = different.ok();
        }
        self.view.places_distinct == Some(true)
    }

    /// Bytes of the header.
    pub fn header_len(&self) -> u64 {
        u64::from(self.view.extent.header_len)
    }

    /// The file to read chunks from. During a change it is the one that is open for that, whose descriptor was checked; otherwise the one that is
    /// kept open, through which the header was read. If none is open, the file is opened.
    fn current_reader(&mut self) -> Result<Shared<dyn Storage>> {
        if let Some(own) = self.checked_writer() {
            return Ok(own);
        }
        if let Some(reader) = &self.reader {
            return Ok(reader.file.clone());
        }
        if let Some(own) = self.locked_writer() {
            return Ok(own.clone());
        }
        self.check_known()?;
        self.reader().map(|source| source.file)
    }

    /// Checks that the frame could be opened when it was last looked for, if no file of it is kept open. Otherwise it may have been changed since it
    /// was read, and its chunks may be elsewhere.
    ///
    /// # Errors
    /// [`Error::FILE_OPEN`].
    fn check_known(&self) -> Result<()> {
        match self.missing {
            Some(error) if error == Error::FILE_OPEN && self.reader.is_none() => {
                Err(Error::FILE_OPEN)
            }
            _ => Ok(()),
        }
    }

    fn chunk_paths(&self) -> Result<ChunkPaths> {
        ChunkPaths::in_directory(&self.path)
    }

    /// Makes the frame compact after changes, and closes its files. The handle can be used again, and opens them again.
    ///
    /// # Errors
    /// Those of a change. The frame is valid then, but longer than necessary.
    pub fn close(&mut self) -> Result<()> {
        self.undo_left();
        let mut closed = Ok(());
        if self.space.is_some() && self.is_loose() {
            closed = self.while_locked(|disk| {
                // The owner gets with its next refresh what is read here.
                disk.news = disk.refresh()?;
                disk.finalize()
            });
        }
        self.space = None;
        self.write_handle = None;
        self.reader = None;
        closed
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        // All changes are committed. If this fails, the frame is only longer than necessary.
        let _ = self.close();
    }
}
