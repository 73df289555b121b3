//! Where the chunks of a super-chunk are kept.

mod separate;
mod shared_disk;
/// The chunks in a transaction.
pub mod staged;

use super::rules::StorageKind;
use oxiblosc_base::memory::{Buffer, Collect, Edit, TryVec};
use oxiblosc_base::{Error, Result};
use oxiblosc_chunk::checked::Checked;
use oxiblosc_chunk::decode::prefetch;
use oxiblosc_chunk::header::{ChunkHeader, Special};
use oxiblosc_frame::change::{Change, check_listable};
use oxiblosc_frame::disk::{Disk, EncodedMetadata, LockState, Stored};
use oxiblosc_frame::header::FrameKind;
use oxiblosc_frame::memory::Memory;
use oxiblosc_frame::offsets::{Found, Offsets};
use staged::Staged;

pub use separate::SeparateChunks;
pub use shared_disk::SharedDisk;

/// The chunks of a super-chunk, in one of four kinds of storage.
pub enum ChunkStore {
    /// Each on its own, in memory.
    Separate(SeparateChunks),
    /// In a buffer that is a frame.
    Memory(Memory),
    /// In a file or directory that is a frame.
    Disk(SharedDisk),
    /// In one of the others, with uncommitted changes of a transaction.
    Staged(Box<Staged>),
}

/// Where a chunk is.
pub enum Location<'a> {
    /// All of it in memory, and which of its checksums have been checked.
    Memory(&'a [u8], Checked<'a>),
    /// It has no bytes: all of its items are of this kind.
    Special(Special),
    /// In a file.
    File(Stored),
}

impl<'a> Location<'a> {
    /// Which of its checksums have been checked.
    pub fn checked(&self) -> Checked<'a> {
        match self {
            Self::Memory(_, checked) => *checked,
            Self::Special(_) | Self::File(_) => Checked::NEVER,
        }
    }

    /// Its header, or the kind of its values if it has no bytes.
    pub(super) fn header(&self) -> Result<std::result::Result<ChunkHeader, Special>> {
        Ok(match self {
            Self::Memory(bytes, _) => Ok(ChunkHeader::parse(bytes)?),
            Self::File(stored) => Ok(stored.header()?),
            Self::Special(kind) => Err(*kind),
        })
    }
}

/// How a chunk is changed.
pub enum ChunkUpdate {
    /// It is replaced by these bytes.
    Whole(Buffer),
    /// Edits in its bytes.
    Edits(TryVec<Edit>),
}

/// The index of a chunk, and how it is changed.
pub type Update = (usize, ChunkUpdate);

impl ChunkStore {
    /// No chunks.
    pub const EMPTY: Self = Self::Separate(SeparateChunks::EMPTY);

    /// The chunks without the changes of a transaction.
    fn base(&self) -> &Self {
        match self {
            Self::Staged(staged) => staged.base(),
            own => own,
        }
    }

    /// As [`Self::base`].
    pub(super) fn base_mut(&mut self) -> &mut Self {
        match self {
            Self::Staged(staged) => staged.base_mut(),
            own => own,
        }
    }

    /// As [`Self::base`].
    pub(super) fn into_base(self) -> Self {
        match self {
            Self::Staged(mut staged) => staged.take_base(),
            own => own,
        }
    }

    /// The frame on disk, if there is one.
    pub(super) fn disk(&self) -> Option<&SharedDisk> {
        match self.base() {
            Self::Disk(disk) => Some(disk),
            _ => None,
        }
    }

    /// Runs `body` with the frame on disk. Gives `without` if there is none.
    pub(super) fn with_disk<T>(&self, without: T, body: impl FnOnce(&mut Disk) -> T) -> T {
        self.disk().map_or(without, |disk| body(&mut disk.lock()))
    }

    /// Whether nobody else can see the chunks: they are in memory, or in a frame that has no name
    /// yet.
    pub(crate) fn is_private(&self) -> bool {
        self.with_disk(true, |disk| disk.is_hidden())
    }

    /// Locks a frame on disk against changes by other handles, unless one is being made or, with
    /// `after_writers`, a writer waits for the lock.
    pub(super) fn lock_shared(&self, after_writers: bool) -> Result<LockState> {
        let lock = |disk: &mut Disk| disk.lock_shared(after_writers);
        self.with_disk(Ok(LockState::NotNeeded), lock)
    }

    /// As [`Self::disk`], without locking the mutex.
    pub(super) fn disk_mut(&mut self) -> Option<&mut Disk> {
        match self.base_mut() {
            Self::Disk(disk) => Some(disk.get_mut()),
            _ => None,
        }
    }

    /// Calls `body` with the offsets of the chunks of a frame. None without a frame, and in a
    /// transaction, whose chunks have no offsets yet.
    fn with_offsets<T>(&self, body: impl FnOnce(&Offsets) -> T) -> Option<T> {
        match self {
            Self::Memory(memory) => Some(body(memory.offsets())),
            Self::Disk(disk) => Some(body(disk.lock().offsets())),
            Self::Separate(_) | Self::Staged(_) => None,
        }
    }

    /// Whether all chunks are in memory, and no transaction has been begun.
    #[inline(always)]
    pub(super) fn is_in_memory(&self) -> bool {
        matches!(self, Self::Separate(_) | Self::Memory(_))
    }

    /// Whether a transaction has been begun.
    pub fn is_staged(&self) -> bool {
        matches!(self, Self::Staged(_))
    }

    /// Whether there is a frame.
    pub fn is_frame(&self) -> bool {
        !matches!(self.base(), Self::Separate(_))
    }

    /// Makes the next change of a frame record where each chunk is, and, if `all`, that every chunk
    /// has checksums.
    ///
    /// # Errors
    /// [`Error::MEMORY_ALLOC`].
    pub fn note_checksums(&mut self, all: bool) -> Result<()> {
        match self {
            Self::Memory(memory) => memory.note_checksums(all)?,
            Self::Disk(disk) => disk.get_mut().note_checksums(all),
            Self::Separate(_) | Self::Staged(_) => {}
        }
        Ok(())
    }

    /// Whether each chunk of a frame is known to be where it belongs.
    ///
    /// # Errors
    /// [`Error::DATA`] if one is not; those of reading the chunks.
    pub fn check_places(&self) -> Result<bool> {
        match self {
            Self::Memory(memory) => memory.check_places(),
            Self::Disk(disk) => disk.lock().check_places(),
            Self::Separate(_) | Self::Staged(_) => Ok(false),
        }
    }

    /// Makes the next change of a frame write checksums of header, index and trailer, or remove
    /// them.
    ///
    /// # Errors
    /// [`Error::MEMORY_ALLOC`].
    pub fn set_checksums(&mut self, checksums: bool) -> Result<()> {
        match self {
            Self::Memory(memory) => memory.set_checksums(checksums)?,
            Self::Disk(disk) => disk.get_mut().set_checksums(checksums),
            // The commit of the transaction makes the change.
            Self::Separate(_) | Self::Staged(_) => {}
        }
        Ok(())
    }

    /// Bytes of the header of a frame.
    pub(super) fn header_len(&self) -> u64 {
        match self {
            Self::Memory(memory) => memory.header_len(),
            Self::Disk(disk) => disk.lock().header_len(),
            Self::Separate(_) | Self::Staged(_) => 0,
        }
    }

    /// Checks that the frame has no more chunks than a list in memory may have, which a few bytes
    /// of index may claim.
    ///
    /// # Errors
    /// [`Error::MAX_BUFSIZE_EXCEEDED`] if it has more.
    pub(crate) fn check_listable(&self) -> Result<()> {
        self.with_offsets(check_listable).unwrap_or(Ok(()))
    }

    /// A chunk with a buffer of its own.
    pub fn separate_chunk(&mut self, nchunk: usize) -> Option<&mut Buffer> {
        match self {
            Self::Separate(chunks) => chunks.get_mut(nchunk),
            Self::Staged(staged) => staged.separate_chunk(nchunk),
            Self::Memory(_) | Self::Disk(_) => None,
        }
    }

    /// The kind of the frame, or of the frame that the chunks would be converted to.
    pub fn kind(&self) -> FrameKind {
        self.with_disk(FrameKind::Contiguous, |disk| disk.kind())
    }

    /// The kind of storage, by which the bytes of chunks are counted.
    pub(crate) fn storage_kind(&self) -> StorageKind {
        match self.kind() {
            _ if !self.is_frame() => StorageKind::Separate,
            FrameKind::Contiguous => StorageKind::Contiguous,
            FrameKind::Sparse => StorageKind::Sparse,
        }
    }

    /// Whether these edits can be made in place.
    ///
    /// # Errors
    /// [`Error::MEMORY_ALLOC`].
    pub fn can_edit(&mut self, nchunk: usize, edits: &[Edit]) -> Result<bool> {
        Ok(match self {
            Self::Separate(_) => true,
            Self::Memory(memory) => {
                edits.iter().all(|edit| edit.len == edit.new.len()) && memory.is_alone(nchunk)?
            }
            Self::Disk(disk) => disk.get_mut().is_alone(nchunk),
            Self::Staged(_) => false,
        })
    }

    /// Whether chunks of this storage can be edited in place at all.
    pub fn edits_in_place(&self) -> bool {
        match self {
            Self::Separate(_) | Self::Memory(_) => true,
            Self::Disk(disk) => disk.lock().kind() == FrameKind::Contiguous,
            Self::Staged(_) => false,
        }
    }

    /// Whether edits are part of a [`Change::Update`], and so succeed or fail together with other
    /// changes. Chunks in memory are edited by [`Self::edit`], which does not fail.
    pub fn commits_edits(&self) -> bool {
        matches!(self, Self::Disk(_) | Self::Staged(_))
    }

    /// Does all of [`Self::edit`] that can fail, for chunks of which [`Self::can_edit`] said that
    /// they can be edited.
    ///
    /// # Errors
    /// [`Error::INVALID_PARAM`] for chunks that do not exist; [`Error::MEMORY_ALLOC`].
    pub fn prepare_edits(&mut self, edits: &[(usize, TryVec<Edit>)]) -> Result<()> {
        for (nchunk, list) in edits {
            match self {
                Self::Separate(chunks) => chunks.prepare_edit(*nchunk, list)?,
                Self::Memory(memory) => drop(memory.chunk_mut(*nchunk)?),
                Self::Disk(_) | Self::Staged(_) => {}
            }
        }
        Ok(())
    }

    /// Edits chunks in place.
    ///
    /// # Errors
    /// As for [`Self::prepare_edits`]; none after that has succeeded.
    pub fn edit(&mut self, edits: &[(usize, TryVec<Edit>)]) -> Result<()> {
        for (nchunk, list) in edits {
            match self {
                Self::Separate(chunks) => chunks.edit(*nchunk, list)?,
                Self::Memory(memory) => {
                    let chunk = memory.chunk_mut(*nchunk)?;
                    for edit in list {
                        let old = chunk.get_mut(edit.at..edit.at + edit.len);
                        old.ok_or(Error::INVALID_PARAM)?.copy_from_slice(&edit.new);
                    }
                }
                Self::Disk(_) | Self::Staged(_) => return Err(Error::INVALID_PARAM),
            }
        }
        Ok(())
    }

    /// How many chunks there are.
    pub fn nchunks(&self) -> usize {
        match self {
            Self::Separate(chunks) => chunks.nchunks(),
            Self::Memory(memory) => memory.offsets().len(),
            Self::Disk(disk) => disk.lock().offsets().len(),
            Self::Staged(staged) => staged.nchunks(),
        }
    }

    /// The offsets of the chunks of a frame, in bytes from the end of its header. Negative ones are
    /// those of special chunks.
    ///
    /// # Errors
    /// [`Error::FRAME_TYPE`] without a frame, and in a transaction, whose chunks have no offsets
    /// yet.
    pub fn offsets(&self) -> Result<TryVec<i64>> {
        self.with_offsets(|offsets| offsets.iter().collect_vec())
            .ok_or(Error::FRAME_TYPE)?
    }

    /// How many chunks of a frame are special ones that are only offsets.
    pub(super) fn specials(&self) -> usize {
        self.with_offsets(Offsets::specials).unwrap_or(0)
    }

    /// Finds a chunk.
    ///
    /// # Errors
    /// [`Error::INVALID_PARAM`] if there is no such chunk; those of input.
    pub fn find(&self, nchunk: usize) -> Result<Location<'_>> {
        self.find_in(nchunk, true)
    }

    /// Finds a chunk in memory and reads its header into `header`, faster than [`Self::find`]. None
    /// for chunks that are not in memory, and if that fails.
    #[inline(always)]
    pub(super) fn in_memory(
        &self,
        nchunk: usize,
        header: &mut ChunkHeader,
    ) -> Option<(&[u8], Checked<'_>)> {
        match self {
            Self::Separate(chunks) => {
                let chunk = chunks.get(nchunk)?;
                prefetch(chunk);
                header.read(chunk, true).ok()?;
                Some((chunk, Checked::NEVER))
            }
            Self::Memory(memory) => {
                let Ok(Found::Stored(found)) = memory.find_and_read(nchunk, header) else {
                    return None;
                };
                prefetch(found.0);
                Some(found)
            }
            Self::Disk(_) | Self::Staged(_) => None,
        }
    }

    /// Prefetches a chunk with a buffer of its own.
    #[inline(always)]
    pub(super) fn prefetch(&self, nchunk: usize) {
        if let Self::Separate(chunks) = self
            && let Some(chunk) = chunks.get(nchunk)
        {
            prefetch(chunk);
        }
    }

    /// As [`Self::find`]. With `rereads`, a frame is read again if the chunk is not where the index
    /// says.
    pub(super) fn find_in(&self, nchunk: usize, rereads: bool) -> Result<Location<'_>> {
        match self {
            Self::Separate(chunks) => chunks
                .get(nchunk)
                .map(|chunk| Location::Memory(chunk, Checked::NEVER))
                .ok_or(Error::INVALID_PARAM),
            Self::Memory(memory) => Ok(match memory.find(nchunk)? {
                Found::Special(kind) => Location::Special(kind),
                Found::Stored((bytes, checked)) => Location::Memory(bytes, checked),
            }),
            Self::Disk(disk) => {
                let disk = &mut *disk.lock();
                let found = match disk.find(nchunk) {
                    Err(error) if error == Error::FILE_OPEN && rereads => {
                        // The chunk's file may have been replaced since the index was read.
                        disk.reread()?;
                        disk.find(nchunk)
                    }
                    found => found,
                };
                Ok(match found? {
                    Found::Special(kind) => Location::Special(kind),
                    Found::Stored(stored) => Location::File(stored),
                })
            }
            Self::Staged(staged) => staged.find(nchunk),
        }
    }

    /// Applies a change; see [`Disk::commit`]. If `owned` is given, it has the new chunks, which
    /// are moved into a store without a frame, unless the change fails. `metadata` gives header
    /// and trailer of a frame after the change.
    ///
    /// # Errors
    /// As for [`Disk::commit`], [`SeparateChunks::commit`] and [`Staged::stage`]; those of
    /// `metadata`.
    pub fn commit(
        &mut self,
        change: &Change,
        specials: &[(usize, TryVec<u8>)],
        owned: Option<&mut TryVec<Buffer>>,
        metadata: &dyn Fn() -> Result<EncodedMetadata>,
    ) -> Result<()> {
        match self {
            Self::Separate(chunks) => chunks.commit(change, owned),
            Self::Memory(memory) => {
                let next = metadata()?;
                memory.commit(change, specials, next.header, next.trailer)
            }
            Self::Disk(disk) => disk.get_mut().commit(change, specials, metadata()?),
            Self::Staged(staged) => staged.stage(change, specials, owned, metadata),
        }
    }
}
