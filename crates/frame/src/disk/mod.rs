//! A frame in a file or a directory.
//!
//! Header, trailer and offsets are kept in memory, and read again if the header on disk is another or the file was written to: another handle
//! or process may have changed the frame. To compare the header alone is not enough, since several changes may lead back to the same one.
//! `refresh` reads it again, [`Disk::commit`] changes it.
//!
//! A frame of less than [`SMALL`] bytes and at most [`FEW`] chunks lies as the format's documents show it: header, chunks,
//! compressed index, trailer, one behind the other. The first change of a larger one moves the index away and stores it
//! uncompressed, with room before it for chunks and behind it for offsets, so that an append writes a chunk, an offset and a new
//! trailer and no more; closing the handle puts it back in order. Both are frames that every reader of the format understands, and
//! between two changes the file ends where the frame does.

mod commit;
mod compact;
mod edit;
mod growing_index;
mod image;
mod load;
/// Finds out whether a frame is as it was last read.
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

use super::fingerprint::{ChecksumScope, Coverage};
use super::header::{Extent, FrameKind, Header};
use super::journal::{Overlay, Patch};
use super::meta::Metalayer;
use super::offsets::{ChunkPlace, Offsets};
use super::trailer;
pub use new::NewFrame;
use oxiblosc_error::{Error, Result};
use oxiblosc_io::lock::SidecarLock;
use oxiblosc_io::{Backend, Mode, Storage, Written};
use oxiblosc_memory::{CStrBuf, List, Shared};
use std::ffi::CStr;

/// How often a frame is read again while another process changes it, and the pause between in milliseconds.
const RETRIES: (usize, u64) = (50, 1);
/// A frame of fewer bytes and at most [`FEW`] chunks is always in the layout of the format's documents.
const SMALL: u64 = 1 << 20;
/// The most chunks of a frame whose index is written as a whole with each change.
pub(crate) const FEW: usize = 8 << 10;

/// How a frame on disk is to be treated.
#[derive(Clone)]
pub struct Options {
    /// Where the files are.
    pub backend: Shared<dyn Backend>,
    /// Whether to exclude other handles and processes with a lock file.
    pub locking: bool,
    /// Whether to wait, at every change, until it would survive a loss of power.
    pub durable: bool,
}

/// A frame as this handle knows it.
struct FrameView {
    /// The header's bytes on disk.
    header: List<u8>,
    extent: Extent,
    /// The last bytes of the frame: the trailer, and before it the index if this handle wrote both at once.
    tail: List<u8>,
    /// How many of them are the trailer.
    trailer_len: usize,
    offsets: Offsets,
    /// How many offsets fit where the index is, if it is not compressed.
    capacity: Option<usize>,
    /// Whether there is room between index and trailer, which closing the frame removes.
    has_gap: bool,
    /// The old bytes where a change has begun to overwrite the frame and was not committed.
    pending: Pending,
    /// Whether the frame has checksums; see [`fingerprint`](crate::fingerprint).
    checksums: ChecksumScope,
    /// The checksum of the offsets, if it is known and they are stored uncompressed.
    offsets_crc: Option<u32>,
    /// Whether all chunks have different places, if that was looked at. No change makes two share one.
    places_distinct: Option<bool>,
}

impl FrameView {
    /// The trailer's bytes.
    fn trailer(&self) -> &[u8] {
        &self.tail[self.tail.len() - self.trailer_len..]
    }

    /// Bytes of the frame that need not be read, since the header or the tail has them.
    fn known(&self, pos: u64, len: usize) -> Option<&[u8]> {
        let tail = self.extent.frame_len - self.tail.len() as u64;
        let (bytes, from) = match pos.checked_sub(tail) {
            Some(from) => (&self.tail, from),
            None => (&self.header, pos),
        };
        let from = usize::try_from(from).ok()?;
        bytes.get(from..from.checked_add(len)?)
    }

    /// Drops the index from the tail, since it may be elsewhere now.
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

/// What was found in a frame when it was read.
#[derive(Debug)]
pub struct Loaded {
    /// What the header says.
    pub header: Header,
    /// The variable-length metalayers.
    pub vlmetalayers: List<Metalayer>,
    /// Which checksums there are, and are right.
    pub coverage: Coverage,
}

/// Whether a file was written to between two looks, as far as that is known.
fn is_written(before: Option<Written>, now: Option<Written>) -> bool {
    before.is_some() && now.is_some() && before != now
}

/// An open frame.
pub struct Disk {
    options: Options,
    /// The path of the frame: a file or a directory.
    path: CStrBuf,
    /// The file with header, index and trailer.
    file: Shared<CStrBuf>,
    kind: FrameKind,
    /// Where the frame begins in its file.
    base: u64,
    view: FrameView,
    /// Device and inode of the file that `view` was read from.
    identity: Option<(u64, u64)>,
    /// When that file was last written to: before `view` was read, or by this handle.
    written: Option<Written>,
    /// Whether this handle has written to the file since it has the lock of a change.
    wrote: bool,
    /// The size that the file had when it was last found to hold `view`, while this handle has the lock of a change and has not written since.
    size: Option<u64>,
    reader: Option<KeptReader>,
    space: Option<SpaceInFile>,
    /// Kept from one change to the next, where the back end is one for files.
    write_handle: Option<WriteHandle>,
    lock: Option<SidecarLock>,
    /// How many calls of [`Disk::lock`] are waiting for their [`Disk::unlock`].
    changing: usize,
    /// The process that counted them.
    process: u32,
    /// Whether the view has to be read again, whatever the header says.
    stale: bool,
    /// The error of the last look for the frame, which then cannot be changed.
    missing: Option<Error>,
    /// What was found when the frame was last read, until [`Self::refresh`] gives it.
    news: Option<Loaded>,
    /// What was made for the frame, if this handle made it.
    made: Option<NewFrame>,
    /// Whether the name of the frame's file is known to be on the disk.
    is_name_durable: bool,
}

impl Disk {
    /// Makes a new frame without chunks and metalayers, where nothing may be yet. If that fails, it leaves nothing there.
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

    /// What was made for this frame, if this handle made it.
    pub fn take_made(&mut self) -> Option<NewFrame> {
        self.made.take()
    }

    /// Opens the frame that begins at `base` in the file at `path`, or in a directory.
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
            let loading = load::load_patiently(&*storage, base, kind, false, false)?;
            Ok((storage, written, loading))
        };
        let (storage, written, (view, loaded)) = match &mut lock {
            Some(lock) => lock.while_shared(load)?,
            None => load()?,
        };
        let mut disk = Self {
            options,
            path: CStrBuf::copy_of(path)?,
            file: Shared::new(file)?,
            kind,
            base,
            view,
            identity: storage.identity(),
            written,
            wrote: false,
            size: None,
            reader: None,
            space: None,
            write_handle: None,
            lock,
            changing: 0,
            process: oxiblosc_pool::process(),
            stale: false,
            missing: None,
            news: None,
            made: None,
            is_name_durable: false,
        };
        // An open file can be read even when its path is gone.
        disk.keep_reader(&storage);
        if disk.view.pending.is_some() {
            // Readers that do not know of records need this. If it fails, this handle still reads the frame as it was before the change.
            let _ = disk.recover();
        }
        Ok((disk, loaded))
    }

    /// Where the chunks are.
    pub fn kind(&self) -> FrameKind {
        self.kind
    }

    /// Sets whether the next change writes checksums of header, index and trailer. If the frame is read again because another handle changed
    /// it, what is found there counts.
    pub fn set_checksums(&mut self, checksums: bool) {
        self.view.checksums = self.view.checksums.wanted(checksums);
    }

    /// Makes the next change record that every chunk has checksums.
    pub fn set_all_checksums(&mut self) {
        self.view.checksums = ChecksumScope::All;
    }

    /// The offsets.
    pub fn offsets(&self) -> &Offsets {
        &self.view.offsets
    }

    /// Bytes of all chunks, as in the header, but without the room before the index of a large frame.
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

    /// Whether chunk `nchunk` can be changed in place: it lies in this file, and no other chunk has the same place.
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
            // Without memory it is not known.
            self.view.places_distinct = self.view.offsets.are_different().ok();
        }
        self.view.places_distinct == Some(true)
    }

    /// Bytes of the header.
    pub fn header_len(&self) -> u64 {
        u64::from(self.view.extent.header_len)
    }

    /// The file that was last read from, if it is kept open. Within a change that is the file that is changed.
    fn current_reader(&mut self) -> Result<Shared<dyn Storage>> {
        let changed = self.write_handle.as_ref().filter(|handle| handle.locked);
        match (&self.reader, changed) {
            (Some(reader), _) => Ok(reader.file.clone()),
            (None, Some(changed)) => Ok(changed.file.clone()),
            (None, None) => self.reader().map(|source| source.file),
        }
    }

    fn chunk_paths(&self) -> Result<ChunkPaths> {
        ChunkPaths::in_directory(&self.path)
    }

    /// Writes the frame in the layout of the format's documents after changes, and closes its files.
    pub fn close(&mut self) -> Result<()> {
        let mut closed = Ok(());
        if self.space.is_some() && self.is_loose() {
            closed = self.while_locked(|disk| {
                disk.refresh()?;
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
        // What was committed is on disk; the frame is only larger than it need be.
        let _ = self.close();
    }
}
