//! Where the chunks of a super-chunk are kept.

use super::staged::Staged;
use oxiblosc_base::memory::{Buffer, Collect, Edit, TryVec};
use oxiblosc_base::{Error, Result};
use oxiblosc_chunk::checked::Checked;
use oxiblosc_chunk::decode::prefetch;
use oxiblosc_chunk::header::{ChunkHeader, Special};
use oxiblosc_frame::change::{ArrangedChunk, Change, ChangedChunk, check_listable};
use oxiblosc_frame::disk::{Disk, Metadata, Stored};
use oxiblosc_frame::header::FrameKind;
use oxiblosc_frame::memory::Memory;
use oxiblosc_frame::offsets::Found;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The chunks of a super-chunk, in one of four kinds of storage.
pub enum ChunkStore {
    /// Each on its own, in memory.
    Separate(TryVec<Buffer>),
    /// In a buffer that is a frame.
    Memory(Memory),
    /// In a file or directory that is a frame. Readers share it, and lock the mutex only for short
    /// times.
    Disk(Mutex<Box<Disk>>),
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
    pub const EMPTY: Self = Self::Separate(TryVec::new());

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
    pub(super) fn disk(&self) -> Option<&Mutex<Box<Disk>>> {
        match self.base() {
            Self::Disk(disk) => Some(disk),
            _ => None,
        }
    }

    /// As [`Self::disk`], without locking the mutex.
    pub(super) fn disk_mut(&mut self) -> Option<&mut Box<Disk>> {
        match self.base_mut() {
            Self::Disk(disk) => Some(unlocked(disk)),
            _ => None,
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
            Self::Disk(disk) => unlocked(disk).note_checksums(all),
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
            Self::Disk(disk) => lock(disk).check_places(),
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
            Self::Disk(disk) => unlocked(disk).set_checksums(checksums),
            // The commit of the transaction makes the change.
            Self::Separate(_) | Self::Staged(_) => {}
        }
        Ok(())
    }

    /// Bytes of the header of a frame.
    pub(super) fn header_len(&self) -> u64 {
        match self {
            Self::Memory(memory) => memory.header_len(),
            Self::Disk(disk) => lock(disk).header_len(),
            Self::Separate(_) | Self::Staged(_) => 0,
        }
    }

    /// Checks that the frame has no more chunks than a list in memory may have, which a few bytes
    /// of index may claim.
    ///
    /// # Errors
    /// [`Error::MAX_BUFSIZE_EXCEEDED`] if it has more.
    pub(crate) fn check_listable(&self) -> Result<()> {
        match self {
            Self::Memory(memory) => check_listable(memory.offsets()),
            Self::Disk(disk) => check_listable(lock(disk).offsets()),
            Self::Separate(_) | Self::Staged(_) => Ok(()),
        }
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
        self.disk()
            .map_or(FrameKind::Contiguous, |disk| lock(disk).kind())
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
            Self::Disk(disk) => unlocked(disk).is_alone(nchunk),
            Self::Staged(_) => false,
        })
    }

    /// Whether chunks of this storage can be edited in place at all.
    pub fn edits_in_place(&self) -> bool {
        match self {
            Self::Separate(_) | Self::Memory(_) => true,
            Self::Disk(disk) => lock(disk).kind() == FrameKind::Contiguous,
            Self::Staged(_) => false,
        }
    }

    /// Whether edits are part of a [`Change::Update`], and so succeed or fail together with other
    /// changes. Chunks in memory are edited by [`Self::edit`], which does not fail.
    pub fn commits_edits(&self) -> bool {
        matches!(self, Self::Disk(_) | Self::Staged(_))
    }

    /// Does all of [`Self::edit`] that can fail.
    ///
    /// # Errors
    /// [`Error::INVALID_PARAM`] for chunks that do not exist or cannot be edited in place,
    /// [`Error::MEMORY_ALLOC`].
    pub fn prepare_edits(&mut self, edits: &[(usize, TryVec<Edit>)]) -> Result<()> {
        for (nchunk, list) in edits {
            if !self.can_edit(*nchunk, list)? {
                return Err(Error::INVALID_PARAM);
            }
            match self {
                Self::Separate(chunks) => {
                    let more: usize = list.iter().map(|edit| edit.new.len()).sum();
                    let less: usize = list.iter().map(|edit| edit.len).sum();
                    let chunk = chunks.get_mut(*nchunk).ok_or(Error::INVALID_PARAM)?;
                    chunk.reserve(more.saturating_sub(less))?;
                }
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
                Self::Separate(chunks) => {
                    let chunk = chunks.get_mut(*nchunk).ok_or(Error::INVALID_PARAM)?;
                    chunk.edit(list)?;
                }
                Self::Memory(memory) => {
                    let chunk = memory.chunk_mut(*nchunk)?;
                    for edit in list {
                        let place = chunk.get_mut(edit.at..edit.at + edit.len);
                        place
                            .ok_or(Error::INVALID_PARAM)?
                            .copy_from_slice(&edit.new);
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
            Self::Separate(chunks) => chunks.len(),
            Self::Memory(memory) => memory.offsets().len(),
            Self::Disk(disk) => lock(disk).offsets().len(),
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
        match self {
            Self::Separate(_) | Self::Staged(_) => Err(Error::FRAME_TYPE),
            Self::Memory(memory) => memory.offsets().iter().collect_vec(),
            Self::Disk(disk) => lock(disk).offsets().iter().collect_vec(),
        }
    }

    /// How many chunks of a frame are special ones that are only offsets.
    pub(super) fn specials(&self) -> usize {
        match self {
            Self::Memory(memory) => memory.offsets().specials(),
            Self::Disk(disk) => lock(disk).offsets().specials(),
            Self::Separate(_) | Self::Staged(_) => 0,
        }
    }

    /// The size of the frame on disk in bytes, if there is one.
    pub fn disk_len(&self) -> Option<u64> {
        self.disk().map(|disk| lock(disk).frame_len())
    }

    /// Whether these bytes are in the buffer of a frame.
    pub fn holds(&self, bytes: &[u8]) -> bool {
        match self {
            Self::Memory(memory) => memory.holds(bytes),
            _ => false,
        }
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
                let disk = &mut *lock(disk);
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

    /// Applies a change; see [`Disk::commit`].
    ///
    /// # Errors
    /// As for [`Disk::commit`] and [`apply_separate`].
    pub fn commit(
        &mut self,
        change: &Change,
        specials: &[(usize, TryVec<u8>)],
        metadata: &Metadata,
    ) -> Result<()> {
        match self {
            Self::Separate(chunks) => commit_separate(chunks, change),
            Self::Memory(memory) => {
                let next = metadata.encode()?;
                memory.commit(change, specials, next.header, next.trailer)
            }
            Self::Disk(disk) => {
                let next = metadata.encode()?;
                unlocked(disk).commit(change, specials, next)
            }
            Self::Staged(staged) if staged.base().is_frame() => {
                // If this header or trailer cannot be written, it fails now and not at the commit.
                let next = metadata.encode()?;
                let has_trailer = next.trailer.is_some();
                staged.stage_frame(change, specials, next.header.len(), has_trailer)
            }
            Self::Staged(staged) => staged.stage(change, specials, None),
        }
    }
}

/// Locks the mutex of a frame on disk, which may be held only for a short time.
#[inline(never)]
pub(super) fn lock(disk: &Mutex<Box<Disk>>) -> MutexGuard<'_, Box<Disk>> {
    // A panic leaves no frame half changed, as changes are atomic.
    disk.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The frame on disk, without locking the mutex.
pub(super) fn unlocked(disk: &mut Mutex<Box<Disk>>) -> &mut Box<Disk> {
    disk.get_mut().unwrap_or_else(PoisonError::into_inner)
}

fn commit_separate(chunks: &mut TryVec<Buffer>, change: &Change) -> Result<()> {
    let mut new = TryVec::new();
    for item in change.items() {
        match item {
            ChangedChunk::Stored(chunk) => new.push(Buffer::copy_of(chunk.bytes)?)?,
            ChangedChunk::Special(_) | ChangedChunk::Edited(_) => return Err(Error::FAILURE),
        }
    }
    apply_separate(chunks, change, &mut new)
}

/// Applies a change to chunks that each have their own buffer. `new` has the new chunks. If this
/// fails, nothing has changed, and `new` still has them.
///
/// # Errors
/// [`Error::INVALID_PARAM`] for a change that does not fit the chunks, [`Error::FAILURE`] if it has
/// more chunks than `new`, [`Error::MEMORY_ALLOC`].
pub fn apply_separate(
    chunks: &mut TryVec<Buffer>,
    change: &Change,
    new: &mut TryVec<Buffer>,
) -> Result<()> {
    // Only frames have chunks without bytes.
    let is_special = |slot: &ArrangedChunk| matches!(slot, ArrangedChunk::Specials(..));
    let specials = matches!(change, Change::Arrange { slots, .. } if slots.iter().any(is_special));
    if specials || !change.fits(chunks.len()) {
        return Err(Error::INVALID_PARAM);
    }
    chunks.reserve(new.len())?;
    match change {
        Change::Nothing => {}
        Change::Append(_) => new
            .drain(..)
            .for_each(|chunk| chunks.push_within_capacity(chunk)),
        Change::Insert(nchunk, _) => {
            for chunk in new.drain(..) {
                chunks.insert(*nchunk, chunk)?;
            }
        }
        Change::Update(items) => {
            if items.len() > new.len() {
                return Err(Error::FAILURE);
            }
            for ((nchunk, _), chunk) in items.iter().zip(new.drain(..)) {
                chunks[*nchunk] = chunk;
            }
        }
        Change::Delete(nchunk) => drop(chunks.remove(*nchunk)),
        Change::Arrange { kept, slots, .. } => {
            let mut old = take_behind(chunks, *kept, slots.len())?;
            let mut new = new.drain(..);
            let chunk = |slot: &ArrangedChunk| match slot {
                ArrangedChunk::Old(from) => old[*from - kept].take(),
                ArrangedChunk::New(_) => new.next(),
                ArrangedChunk::Specials(..) => None,
            };
            let there = slots.iter().filter_map(chunk);
            there.for_each(|chunk| chunks.push_within_capacity(chunk));
        }
        Change::Reorder(order) => {
            let mut old = take_behind(chunks, 0, order.len())?;
            // `Change::fits` made sure that there is an index for every chunk, and the caller that
            // no index is there twice.
            let there = order.iter().filter_map(|from| old[*from].take());
            there.for_each(|chunk| chunks.push_within_capacity(chunk));
        }
    }
    Ok(())
}

/// Takes all chunks behind the first `kept` out of the list, and makes room for `count` behind
/// those, so that putting them back cannot fail.
fn take_behind(
    chunks: &mut TryVec<Buffer>,
    kept: usize,
    count: usize,
) -> Result<TryVec<Option<Buffer>>> {
    let behind = chunks.len() - kept;
    let mut old = TryVec::with_capacity(behind)?;
    chunks.reserve(count.saturating_sub(behind))?;
    for chunk in chunks.drain(kept..) {
        old.push_within_capacity(Some(chunk));
    }
    Ok(old)
}
