//! Finds places for new chunks of a frame, and reuses the space of removed ones.

use super::Disk;
use super::limits::MAX_COMPACT_LEN;
use super::paths::ChunkPaths;
use super::space::Survey;
use crate::change::{Change, ChangedChunk};
use crate::free_list::FreeList;
use crate::header::FrameKind;
use crate::offsets::{ChunkPosition, Found, Offsets};
use oxiblosc_base::memory::{Collect, Shared, Sorted, TryVec};
use oxiblosc_base::{Context, Doing, Error, Result};
use oxiblosc_chunk::encoded::EncodedChunk;
use oxiblosc_chunk::header::EXTENDED_HEADER_LENGTH;
use oxiblosc_io::{Mode, Storage, paths};
use std::ffi::CStr;

/// In frames with more chunks than this, free space that others have left between chunks is not
/// searched for.
const MAX_SURVEYED: usize = 1 << 16;
/// In a large frame of more chunks than this, free space that others have left is searched for if
/// more than [`FREE_SAMPLES`] of [`SAMPLES`] bytes are free. That is twice the part at which
/// closing a frame closes its holes: it would be a waste to search, and not to close them.
const MANY: usize = 2 << 10;
const SAMPLES: u64 = 512;
const FREE_SAMPLES: u64 = 4;
/// Behind a chunk of at least [`MIN_TAILED`] bytes that replaces another one in a large frame, its
/// length divided by this is left free, as long as the frame has at most the bytes of all chunks
/// divided by [`MAX_TAILS`] free.
const TAIL: u64 = 16;
const MIN_TAILED: u64 = 4 << 10;
const MAX_TAILS: u64 = 32;

/// A write of bytes of a chunk.
#[derive(Clone, Copy)]
pub(super) struct ChunkWrite<'a> {
    /// The position of the chunk, in bytes from the end of the header.
    pub(super) chunk: u64,
    /// That of the bytes in it.
    pub(super) at: u64,
    pub(super) bytes: &'a [u8],
}

impl<'a> ChunkWrite<'a> {
    /// A write of a whole chunk at this position.
    pub(super) fn whole(chunk: u64, bytes: &'a [u8]) -> Self {
        let at = 0;
        Self { chunk, at, bytes }
    }

    /// The position of the bytes, from the end of the header.
    pub(super) fn pos(&self) -> u64 {
        self.chunk + self.at
    }
}

/// Removes the files of chunks. Those that cannot be removed stay.
fn remove_files<'a>(paths: &mut ChunkPaths, numbers: impl IntoIterator<Item = &'a u64>) {
    for number in numbers {
        let _ = paths.of(*number).and_then(paths::remove_file);
    }
}

/// Finds and takes places before `limit` for chunks, with `tails[i]` free bytes behind chunk `i`,
/// if it has so many items.
pub(super) fn allocate_each(
    free: &mut FreeList,
    chunks: &[EncodedChunk],
    limit: u64,
    tails: &[u64],
) -> Result<TryVec<u64>> {
    let mut positions = TryVec::with_capacity(chunks.len())?;
    for (i, chunk) in chunks.iter().enumerate() {
        let (len, tail) = (chunk.bytes.len() as u64, tails.get(i).copied().unwrap_or(0));
        let pos = free.find(len + tail, limit).ok_or(Error::FAILURE)?;
        free.alloc_with_tail(pos, len, tail)?;
        positions.push(pos)?;
    }
    Ok(positions)
}

impl Disk {
    /// The number of bytes to leave free behind each new chunk of a large frame, as a chunk that
    /// was changed once is often changed again. One that replaces a special chunk is written for
    /// the first time, and gets none. The list is empty if no chunk gets any.
    pub(super) fn tails(&self, change: &Change, chunks: &[EncodedChunk]) -> Result<TryVec<u64>> {
        let (FrameKind::Contiguous, Change::Update(items)) = (self.location.kind, change) else {
            return Ok(TryVec::new());
        };
        let mut tails = TryVec::filled(0, chunks.len())?;
        let list = self.free_list();
        let mut left = (list.end() / MAX_TAILS).saturating_sub(list.free_bytes());
        let stored = items
            .iter()
            .filter(|(_, item)| matches!(item, ChangedChunk::Stored(_)));
        let first = chunks.len() - stored.clone().count();
        for ((nchunk, _), at) in stored.zip(first..) {
            let len = chunks[at].bytes.len() as u64;
            let tail = len / TAIL;
            let found = self.view.offsets.position(*nchunk);
            let is_rewritten = matches!(found, Ok(ChunkPosition::At(_)));
            if is_rewritten && len >= MIN_TAILED && tail <= left {
                left -= tail;
                tails[at] = tail;
            }
        }
        Ok(tails)
    }

    /// The places of all chunks with bytes. They are listed when they are first needed, and kept up
    /// to date by [`SpaceInFile::note`].
    ///
    /// # Errors
    /// [`Error::MEMORY_ALLOC`].
    pub(super) fn positions(&mut self) -> Result<&Sorted<u64>> {
        let space = self.space.as_mut().ok_or(Error::FAILURE)?;
        let positions = match space.positions.take() {
            Some(positions) => positions,
            None => self.view.offsets.sorted_positions()?,
        };
        Ok(space.positions.insert(positions))
    }

    /// The writes of a change's edits over bytes of chunks. Edits behind the end of a chunk take
    /// space from the free list, and their writes are added to `added`. Without it, the change must
    /// have no such edits.
    ///
    /// # Errors
    /// [`Error::DATA`] if an edit reaches into another chunk, as one that is damaged may say that
    /// it is longer than it is; [`Error::INVALID_PARAM`] for edits that are not possible.
    pub(super) fn edited<'a>(
        &mut self,
        change: &Change<'a>,
        mut added: Option<&mut TryVec<ChunkWrite<'a>>>,
    ) -> Result<TryVec<ChunkWrite<'a>>> {
        let mut over = TryVec::new();
        let Change::Update(items) = *change else {
            return Ok(over);
        };
        for (nchunk, item) in items {
            let ChangedChunk::Edited(edits) = *item else {
                continue;
            };
            let ChunkPosition::At(chunk) = self.view.offsets.position(*nchunk)? else {
                return Err(Error::INVALID_PARAM);
            };
            for edit in edits {
                let (at, bytes) = (edit.at as u64, &edit.new[..]);
                if edit.len == bytes.len() {
                    over.push(ChunkWrite { chunk, at, bytes })?;
                    continue;
                }
                let (Some(added), Some(space)) = (&mut added, &mut self.space) else {
                    return Err(Error::INVALID_PARAM);
                };
                if edit.len != 0 || !space.free.grow(chunk, at, bytes.len() as u64)? {
                    return Err(Error::INVALID_PARAM);
                }
                added.push(ChunkWrite { chunk, at, bytes })?;
            }
        }
        for write in &over {
            // Another chunk may begin between the start of this one and the end of the write.
            if self.is_other_between(write.chunk, write.pos() + write.bytes.len() as u64)? {
                return Err(Error::DATA);
            }
        }
        Ok(over)
    }

    /// Whether another chunk than the one at `pos` begins before `end` and behind `pos`.
    pub(super) fn is_other_between(&mut self, pos: u64, end: u64) -> Result<bool> {
        let next = self.positions()?.first_from(pos + 1);
        Ok(next.is_some_and(|next| next < end))
    }

    /// Writes chunks into new files of a directory. Returns the numbers of the files. After the
    /// change, all chunks together have `cbytes` bytes.
    pub(super) fn write_chunk_files(
        &mut self,
        chunks: &[EncodedChunk],
        cbytes: u64,
    ) -> Result<TryVec<u64>> {
        let numbers = self.numbers(chunks.len(), cbytes)?;
        let mut paths = self.chunk_paths()?;
        let mut created = 0;
        let written = chunks.iter().zip(&numbers).try_for_each(|(chunk, number)| {
            let path = paths.of(*number)?;
            created += 1;
            let storage = self.new_chunk_file(path)?;
            storage.write_at(0, chunk.bytes).doing(Doing::WriteChunk)?;
            if self.options.durable {
                storage.sync()?;
            }
            Ok(())
        });
        let synced = match written {
            Ok(()) if self.options.durable && !numbers.is_empty() => {
                paths::sync_dir(&self.location.path)
            }
            other => other,
        };
        if let Err(error) = synced {
            remove_files(&mut paths, &numbers[..created]);
            return Err(error);
        }
        Ok(numbers)
    }

    /// Creates the file of a chunk. If something has its name already, that is no chunk of the
    /// frame: a killed process has left it, or it is a link to another file. It is removed, and not
    /// written to.
    fn new_chunk_file(&self, path: &CStr) -> Result<Shared<dyn Storage>> {
        let backend = &self.options.backend;
        if !backend.is_filesystem() {
            return backend.open(path, Mode::Create);
        }
        backend.open(path, Mode::New).or_else(|_| {
            let _ = paths::remove_file(path);
            backend.open(path, Mode::New)
        })
    }

    /// Numbers for `count` new files: those behind all others, or the lowest free ones if the
    /// reference would refuse those. It checks numbers as if they were offsets within the bytes of
    /// all chunks, `cbytes`.
    fn numbers(&mut self, count: usize, cbytes: u64) -> Result<TryVec<u64>> {
        let used = self.positions()?;
        let first = used.last().map_or(0, |number| number.saturating_add(1));
        let most = cbytes.saturating_sub(EXTENDED_HEADER_LENGTH as u64);
        if first.saturating_add(count as u64) <= most {
            return (first..).take(count).collect_vec();
        }
        let free = (0..).filter(|number| !used.contains(*number));
        free.take(count).collect_vec()
    }

    /// Writes chunks to files with lower numbers, if the reference would refuse their numbers after
    /// other chunks were removed: see [`Self::numbers`].
    pub(super) fn lower_numbers(&mut self) -> Result<()> {
        let most = (self.view.extent.cbytes).saturating_sub(EXTENDED_HEADER_LENGTH as u64);
        if self.positions()?.last().is_none_or(|last| last <= most) {
            return Ok(());
        }
        let is_high = |offset: i64| u64::try_from(offset).is_ok_and(|number| number > most);
        let offsets = self.view.offsets.iter().enumerate();
        let high = offsets.filter(|(_, offset)| is_high(*offset));
        let mut chunks = TryVec::new();
        for nchunk in high.map(|(nchunk, _)| nchunk).collect_vec()? {
            if let Found::Stored(stored) = self.find(nchunk)? {
                chunks.push((nchunk, stored.whole()?))?;
            }
        }
        if chunks.is_empty() {
            return Ok(());
        }
        let items = chunks
            .iter()
            .map(|(nchunk, chunk)| {
                let chunk = EncodedChunk::parse(chunk)?;
                Ok((*nchunk, ChangedChunk::Stored(chunk)))
            })
            .try_collect_vec()?;
        let next = self.unchanged()?;
        self.change(&Change::Update(&items), &[], next)
    }

    /// Removes the files of chunks that no index refers to.
    pub(super) fn remove_files(&self, numbers: &[u64]) {
        // A file that cannot be removed does no harm.
        if let Ok(mut paths) = self.chunk_paths() {
            remove_files(&mut paths, numbers);
        }
    }

    /// The places of the chunks that the change removes or replaces, and their lengths; 0 for
    /// files, and for chunks that cannot be read, whose space is not reused.
    pub(super) fn leaves(&mut self, change: &Change) -> Result<TryVec<(u64, u64)>> {
        let mut left = TryVec::new();
        for nchunk in change.leaves() {
            let ChunkPosition::At(pos) = self.view.offsets.position(nchunk)? else {
                continue;
            };
            if self.location.kind == FrameKind::Sparse {
                left.push((pos, 0))?;
                continue;
            }
            self.survey()?;
            left.push((pos, self.freed_at(pos)?))?;
        }
        Ok(left)
    }

    /// The length of the chunk at `pos`, which a change removes; 0 if its space is not to be
    /// reused.
    fn freed_at(&mut self, pos: u64) -> Result<u64> {
        let Ok(header) = self.stored_at(pos)?.header() else {
            return Ok(0);
        };
        let len = header.cbytes as u64;
        if self.space.as_ref().map(|space| space.survey) == Some(Survey::Own) {
            // That no chunks share bytes was not checked.
            if self.is_other_between(pos, pos + len)? {
                return Ok(0);
            }
            if let Some(before) = self.positions()?.last_before(pos) {
                let header = self.stored_at(before)?.header();
                if !header.is_ok_and(|header| before + header.cbytes as u64 <= pos) {
                    return Ok(0);
                }
            }
        }
        Ok(len)
    }

    /// Prepares the free list for a change that removes or replaces chunks, so that their space can
    /// be reused, and free space that others have left between chunks: it is found by reading the
    /// headers of all chunks. In a large frame with little free space, or very many chunks, that
    /// would take much longer than the change, and is not done.
    pub(super) fn survey(&mut self) -> Result<()> {
        let known = self.space.as_ref().map(|space| space.survey);
        let Offsets::List(list) = &self.view.offsets else {
            return Ok(());
        };
        if known != Some(Survey::None) {
            return Ok(());
        }
        let count = list.len();
        let is_large = self.view.extent.frame_len > MAX_COMPACT_LEN && count > MANY;
        if is_large
            && self.has_distinct_positions()
            && (count > MAX_SURVEYED || self.seems_packed()?)
        {
            if let Some(space) = &mut self.space {
                space.free = FreeList::packed(space.free.end());
                space.survey = Survey::Own;
            }
            return Ok(());
        }
        match count > MAX_SURVEYED {
            true => Ok(()),
            false => self.survey_all(),
        }
    }

    /// Whether little space is free between the chunks, judging by some evenly distributed bytes.
    /// They are others after each change.
    fn seems_packed(&mut self) -> Result<bool> {
        let step = (self.free_list().end() / SAMPLES).max(1);
        let first = self.view.extent.frame_len % step;
        let mut free = 0;
        for i in 0..SAMPLES {
            let pos = first + step * i;
            let Some(position) = self.positions()?.last_before(pos + 1) else {
                return Ok(false);
            };
            let header = self.stored_at(position)?.header();
            let is_used = header.is_ok_and(|header| pos < position + header.cbytes as u64);
            free += u64::from(!is_used);
            if free > FREE_SAMPLES {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Reads the headers of all chunks to find all free space between them.
    pub(super) fn survey_all(&mut self) -> Result<()> {
        if self.space.as_ref().map(|space| space.survey) == Some(Survey::Whole) {
            return Ok(());
        }
        let positions = self.positions()?.iter().collect_vec()?;
        let mut chunks = TryVec::with_capacity(positions.len())?;
        let mut readable = true;
        for pos in positions {
            let Ok(header) = self.stored_at(pos)?.header() else {
                readable = false;
                break;
            };
            chunks.push((pos, header.cbytes as u64))?;
        }
        let end = self.free_list().end();
        let free = match readable {
            true => FreeList::around(chunks)?,
            false => FreeList::opaque(end),
        };
        if let Some(space) = &mut self.space {
            space.free = free;
            space.survey = Survey::Whole;
        }
        Ok(())
    }

    /// Removes the files of chunks that a change has removed from a directory.
    pub(super) fn drop_left(&self, left: &[(u64, u64)]) {
        if self.location.kind == FrameKind::Contiguous || left.is_empty() {
            return;
        }
        // No other chunk has one of these files: such a directory is refused when it is read.
        let numbers = left.iter().map(|(number, _)| number);
        if let Ok(mut paths) = self.chunk_paths() {
            remove_files(&mut paths, numbers);
        }
    }
}
