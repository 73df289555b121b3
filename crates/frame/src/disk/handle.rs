//! A handle of a frame on disk.

use super::image::Image;
use super::load;
use super::locks::ChangeLocks;
use super::new::{self, Creation, NewFrame};
use super::options::Options;
use super::paths::{ChunkPaths, frame_file};
use super::reader::KeptReader;
use super::space::SpaceInFile;
use super::view::FrameView;
use crate::binding::Binding;
use crate::fingerprint::ChecksumScope;
use crate::header::{FrameKind, Header};
use crate::loaded::Loaded;
use crate::offsets::{ChunkPosition, Offsets};
use crate::trailer;
use oxiblosc_base::memory::{CStrBuf, Shared, Sorted};
use oxiblosc_base::{Error, Result};
use oxiblosc_io::lock::SidecarLock;
use oxiblosc_io::{Mode, Storage, Written};
use std::ffi::CStr;

/// Where a frame is.
pub(super) struct Location {
    /// The path of the frame: a file or a directory.
    pub(super) path: CStrBuf,
    /// The file with header, index and trailer.
    pub(super) file: Shared<CStrBuf>,
    pub(super) kind: FrameKind,
    /// Where the frame begins in its file, in bytes.
    pub(super) base: u64,
}

/// What the handle's view was read from, and what tells that it is out of date.
pub(super) struct LastRead {
    /// Device and inode of the file.
    pub(super) identity: Option<(u64, u64)>,
    /// When that file was last written to, as of the moment before it was read. With a stamp in the
    /// view it tells nothing more, and is none.
    pub(super) written: Option<Written>,
    /// Whether the view has to be read again, even if nothing shows that the frame has changed.
    pub(super) stale: bool,
    /// The error of the last check whether the frame is there. With one, the frame cannot be
    /// changed.
    pub(super) missing: Option<Error>,
    /// What was read when the frame was last read again, until [`Disk::refresh`] returns it.
    pub(super) reloaded: Option<Loaded>,
}

/// An open frame: the view of it that this handle has, and what is needed to bring that up to date
/// and to change the frame.
pub struct Disk {
    pub(super) options: Options,
    pub(super) location: Location,
    pub(super) view: FrameView,
    pub(super) last_read: LastRead,
    /// A file that is kept open for reading.
    pub(super) reader: Option<KeptReader>,
    /// The space in the file, once a change needed it.
    pub(super) space: Option<SpaceInFile>,
    pub(super) locks: ChangeLocks,
    pub(super) creation: Creation,
    /// Whether a change of this handle failed and could not be undone, so that its record is in the
    /// file.
    pub(super) has_left_record: bool,
    /// What binds the chunks to their places, if the next change is to begin with another than the
    /// index has.
    pub(super) rebound: Option<Binding>,
}

impl Disk {
    /// Creates a frame without chunks and metalayers. If this fails, it leaves nothing behind.
    ///
    /// # Errors
    /// [`Error::FILE_OPEN`] if there is something at `path`, or it cannot be created; those of
    /// output; [`Error::MEMORY_ALLOC`].
    pub fn create(options: Options, path: &CStr, header: &Header) -> Result<(Self, Loaded)> {
        let kind = header.kind;
        let file = frame_file(path, kind)?;
        let trailer = trailer::encode(&[])?;
        let image = Image::new(header.encode(&[])?, &trailer, &Offsets::EMPTY, 0, 0)?;
        let (storage, new_files) = new::make(&options, path, kind, &file)?;
        let filled = new::fill(&options, path, kind, &*storage, &image);
        storage.unlock();
        drop(storage);
        let created = filled.and_then(|()| Self::open(options, path, 0, kind));
        match created {
            Ok((mut disk, loaded)) => {
                disk.creation.new_files = new_files;
                disk.creation.is_creator = true;
                disk.creation.is_name_durable = disk.options.durable;
                Ok((disk, loaded))
            }
            Err(error) => {
                if let Some(mut new_files) = new_files {
                    new_files.remove();
                }
                Err(error)
            }
        }
    }

    /// The files of this frame, if this handle created them. The next call returns none.
    pub fn take_new_files(&mut self) -> Option<NewFrame> {
        self.creation.new_files.take()
    }

    /// Opens the frame that begins `base` bytes from the start of the file at `path`, or the one in
    /// the directory at `path`.
    ///
    /// # Errors
    /// [`Error::FILE_OPEN`]; [`Error::LOCK`]; those of reading and of a damaged frame;
    /// [`Error::MEMORY_ALLOC`].
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
            last_read: LastRead {
                identity: storage.identity(),
                written: written.filter(|_| view.stamp().is_none()),
                stale: false,
                missing: None,
                reloaded: None,
            },
            options,
            location: Location {
                path: CStrBuf::copy_of(path)?,
                file: Shared::new(file)?,
                kind,
                base,
            },
            view,
            reader: None,
            space: None,
            locks: ChangeLocks::none(lock),
            creation: Creation::default(),
            has_left_record: false,
            rebound: None,
        };
        // So the frame can be read even after its path was removed.
        disk.keep_reader(&storage);
        Ok((disk, loaded))
    }

    /// Where the chunks are.
    pub fn kind(&self) -> FrameKind {
        self.location.kind
    }

    /// Sets whether the next change writes checksums of header, index and trailer. If the frame is
    /// read again because another handle has changed it, this setting is replaced by what the frame
    /// has.
    pub fn set_checksums(&mut self, checksums: bool) {
        self.view.checksums = self.view.checksums.wanted(checksums);
        self.rebound = None;
    }

    /// Makes the next change record where each chunk is, unless one is damaged, and, if `all`, that
    /// every chunk has checksums.
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

    /// Bytes of all chunks, as in the header, but without the free space before the index of a
    /// large frame.
    pub fn cbytes(&mut self) -> u64 {
        let cbytes = self.view.extent.cbytes;
        if self.location.kind == FrameKind::Sparse || self.view.capacity.is_none() {
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

    /// Whether chunk `nchunk` can be changed in place: it has bytes in the frame's file, and no
    /// other chunk has the same place.
    pub fn is_alone(&mut self, nchunk: usize) -> bool {
        let Ok(ChunkPosition::At(position)) = self.view.offsets.position(nchunk) else {
            return false;
        };
        if self.location.kind != FrameKind::Contiguous || self.has_distinct_positions() {
            return self.location.kind == FrameKind::Contiguous;
        }
        let mut here = self.view.offsets.iter();
        here.by_ref().find(|other| *other == position as i64);
        here.all(|other| other != position as i64)
    }

    /// Whether all chunks are known to have different places.
    pub(super) fn has_distinct_positions(&mut self) -> bool {
        if self.view.positions_distinct.is_none() {
            let different = match &self.space {
                Some(_) => self.positions().map(Sorted::are_different),
                None => self.view.offsets.are_different(),
            };
            // Without memory it is not known.
            self.view.positions_distinct = different.ok();
        }
        self.view.positions_distinct == Some(true)
    }

    /// Bytes of the header.
    pub fn header_len(&self) -> u64 {
        u64::from(self.view.extent.header_len)
    }

    /// The file to read chunks from. During a change it is the one that is open for that, whose
    /// descriptor was checked; otherwise the one that is kept open, through which the header was
    /// read. If none is open, the file is opened.
    pub(super) fn current_reader(&mut self) -> Result<Shared<dyn Storage>> {
        if let Some(own) = self.checked_writer() {
            return Ok(own);
        }
        if let Some(reader) = &self.reader {
            return Ok(reader.file.clone());
        }
        if let Some(own) = self.locks.locked_writer() {
            return Ok(own.clone());
        }
        self.check_reachable()?;
        self.reader().map(|source| source.file)
    }

    /// Checks that the frame could be opened when it was last looked for, if no file of it is kept
    /// open. Otherwise it may have been changed since it was read, and its chunks may be elsewhere.
    ///
    /// # Errors
    /// [`Error::FILE_OPEN`].
    pub(super) fn check_reachable(&self) -> Result<()> {
        match self.last_read.missing {
            Some(error) if error == Error::FILE_OPEN && self.reader.is_none() => {
                Err(Error::FILE_OPEN)
            }
            _ => Ok(()),
        }
    }

    pub(super) fn chunk_paths(&self) -> Result<ChunkPaths> {
        ChunkPaths::in_directory(&self.location.path)
    }

    /// Makes the frame compact after changes, and closes its files. The handle can be used again,
    /// and opens them again.
    ///
    /// # Errors
    /// Those of a change. The frame is valid then, but longer than necessary.
    pub fn close(&mut self) -> Result<()> {
        self.undo_left();
        let mut closed = Ok(());
        if self.space.is_some() && self.is_loose() {
            closed = self.while_locked(|disk| {
                // The owner gets with its next refresh what is read here.
                disk.last_read.reloaded = disk.refresh()?;
                disk.finalize()
            });
        }
        self.space = None;
        self.locks.write_handle = None;
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
