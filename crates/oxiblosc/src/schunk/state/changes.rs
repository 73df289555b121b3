//! Applies changes of chunks to the store, the counters and the program's window.

use super::State;
use crate::schunk::host::{Changed, Host, WindowCounts};
use crate::schunk::layers::{LayerEdit, MetalayerKind, PreparedEdit};
use crate::schunk::rules::{ChunkInfo, Counts};
use crate::schunk::store::{ChunkUpdate, Location, Update};
use oxiblosc_base::memory::sort::sort;
use oxiblosc_base::memory::{Buffer, Collect, Edit, ToTryVec, TryVec};
use oxiblosc_base::{Error, Result};
use oxiblosc_chunk::encoded::OwnedChunk;
use oxiblosc_chunk::header::ChunkHeader;
use oxiblosc_frame::change::{Change, ChangedChunk};
use oxiblosc_frame::disk::Metadata;
use oxiblosc_frame::meta;
use std::ops::Range;

/// The most special chunks, which were only offsets, that one change stores as bytes.
pub(super) const MAX_STORED_SPECIALS: usize = 1 << 20;

/// A change, and the counters after it.
pub(crate) struct PlannedChange<'a> {
    /// The counters after the change.
    pub counts: Counts,
    /// The change.
    pub change: Change<'a>,
    /// The new chunks, if they are to be moved into the store, which keeps each in its own buffer.
    /// If the change fails, they are still here.
    pub owned: Option<&'a mut TryVec<Buffer>>,
}

/// A chunk that replaces another.
struct NewChunk {
    nchunk: usize,
    chunk: OwnedChunk,
    info: ChunkInfo,
}

impl State {
    /// Applies a change. Gives the number of chunks after it.
    pub(crate) fn apply(&mut self, host: &dyn Host, plan: PlannedChange) -> Result<usize> {
        self.apply_with(host, plan, None)
    }

    /// Applies a change, and with `content` replaces the content of the metalayer with this index
    /// by other bytes of the same length.
    pub(crate) fn apply_with(
        &mut self,
        host: &dyn Host,
        plan: PlannedChange,
        content: Option<(usize, &[u8])>,
    ) -> Result<usize> {
        let specials = self.special_chunks_to_store(&plan)?;
        if content.is_some() {
            self.save_metalayers(host, self.window_counts())?;
        }
        if !self.store.is_frame() {
            let count = self.window_counts();
            let count = WindowCounts {
                separate: plan.change.count(count.separate),
                ..count
            };
            host.prepare(self, count)?;
        }
        let header = self.header(host, &plan.counts, self.store.kind());
        let edit = content.map(|(at, content)| LayerEdit::Set(at, content));
        let layers = &self.metalayers;
        let metadata = || {
            let layers = match edit {
                Some(edit) => layers.after(MetalayerKind::Fixed, edit)?,
                None => meta::borrow(layers.list(MetalayerKind::Fixed))?,
            };
            let metadata = Metadata {
                header: &header,
                metalayers: &layers,
                vlmetalayers: None,
                cbytes: plan.counts.compressed_bytes(),
            };
            metadata.encode()
        };
        let PlannedChange { change, owned, .. } = plan;
        self.store.commit(&change, &specials, owned, &metadata)?;
        if let Some((at, content)) = content {
            let edit = PreparedEdit::Overwrite(at, content);
            self.metalayers.apply(MetalayerKind::Fixed, edit);
            self.ticks.note_reshape();
        }
        self.size_cache.forget_sizes();
        self.counts = plan.counts;
        let changed = match change {
            Change::Append(_) => Changed::ChunksFrom(self.nchunks() - 1),
            Change::Insert(at, _) | Change::Delete(at) => Changed::ChunksFrom(at),
            Change::Update(items) => Changed::Updated(span(items.iter().map(|item| item.0))),
            Change::Arrange { kept, .. } => Changed::ChunksFrom(kept),
            _ => Changed::ChunksFrom(0),
        };
        host.show(self, changed);
        Ok(plan.counts.nchunks)
    }

    /// The special chunks that the change has to store as bytes, with their indices. Special chunks
    /// that are only an offset have the size in the header, so they have to be stored as soon as
    /// chunks differ in size.
    ///
    /// # Errors
    /// [`Error::MAX_BUFSIZE_EXCEEDED`] for more than [`MAX_STORED_SPECIALS`], as a small index may
    /// claim more of them than fit into memory; [`Error::DATA`] and those of its header for a
    /// damaged chunk. Sizes that differ are known from the headers of all chunks alone, so that no
    /// chunk could be read anymore.
    fn special_chunks_to_store(&self, plan: &PlannedChange) -> Result<TryVec<(usize, TryVec<u8>)>> {
        let mut specials = TryVec::new();
        if !self.store.is_frame() || self.counts.chunksize <= 0 || plan.counts.chunksize != 0 {
            return Ok(specials);
        }
        let mut gone = plan.change.leaves().collect_vec()?;
        sort(&mut gone);
        for nchunk in 0..self.store.nchunks() {
            if gone.binary_search(&nchunk).is_ok() {
                continue;
            }
            let nbytes = self.counts.nbytes_of(nchunk).ok_or(Error::DATA)?;
            let Location::Special(kind) = self.store.find(nchunk)? else {
                if self.chunk_info_in(nchunk, true)?.nbytes != nbytes {
                    return Err(Error::DATA);
                }
                continue;
            };
            if specials.len() == MAX_STORED_SPECIALS {
                return Err(Error::MAX_BUFSIZE_EXCEEDED);
            }
            let chunk = self.special_chunk(kind, nbytes)?;
            let chunk = match self.with_checksums(&chunk)? {
                Some(chunk) => chunk.bytes.to_try_vec()?,
                None => chunk,
            };
            specials.push((nchunk, chunk))?;
        }
        Ok(specials)
    }

    /// Changes chunks, all of them or none. No chunk may be named twice.
    pub(crate) fn update(&mut self, host: &dyn Host, updates: TryVec<Update>) -> Result<()> {
        let storage = self.storage_kind();
        let mut after = self.counts;
        let (mut wholes, mut edits) = (TryVec::new(), TryVec::new());
        for (nchunk, update) in updates {
            let old = self.chunk_info(nchunk)?;
            let info = match update {
                ChunkUpdate::Edits(list) if list.is_empty() => continue,
                ChunkUpdate::Edits(list) if self.store.can_edit(nchunk, &list)? => {
                    let info = info_after(&old, &list)?;
                    edits.push((nchunk, list))?;
                    info
                }
                update => {
                    let chunk = self.updated(nchunk, update)?;
                    let info = ChunkInfo::of(&chunk.encoded());
                    wholes.push(NewChunk {
                        nchunk,
                        chunk,
                        info,
                    })?;
                    info
                }
            };
            after = after.updated(nchunk, &old, &info, storage)?;
        }
        let in_memory = if self.store.commits_edits() {
            TryVec::new()
        } else {
            std::mem::take(&mut edits)
        };
        self.store.prepare_edits(&in_memory)?;
        if !wholes.is_empty() || !edits.is_empty() {
            self.replace(host, wholes, &edits, after)?;
        }
        if !in_memory.is_empty() {
            self.store.edit(&in_memory)?;
            self.counts = after;
            let edited = span(in_memory.iter().map(|edited| edited.0));
            host.show(self, Changed::Updated(edited));
        }
        Ok(())
    }

    /// A chunk after an update.
    fn updated(&self, nchunk: usize, update: ChunkUpdate) -> Result<OwnedChunk> {
        let chunk = match update {
            ChunkUpdate::Whole(chunk) => chunk,
            ChunkUpdate::Edits(edits) => {
                let mut chunk = match self.store.find(nchunk)? {
                    Location::Memory(bytes, _) => Buffer::copy_of(bytes)?,
                    Location::File(stored) => stored.whole()?,
                    Location::Special(_) => return Err(Error::FAILURE),
                };
                chunk.edit(&edits)?;
                chunk
            }
        };
        self.owned_chunk(chunk)
    }

    /// Replaces chunks by others, and edits some, as one change.
    fn replace(
        &mut self,
        host: &dyn Host,
        mut wholes: TryVec<NewChunk>,
        edits: &[(usize, TryVec<Edit>)],
        counts: Counts,
    ) -> Result<()> {
        let take = |whole: &mut NewChunk| std::mem::take(&mut whole.chunk.bytes);
        let mut owned = None;
        if !self.store.is_frame() {
            owned = Some(wholes.iter_mut().map(take).collect_vec()?);
        }
        let mut items: TryVec<(usize, ChangedChunk)> = wholes
            .iter()
            .map(|new| {
                let chunk = new.chunk.encoded();
                let item = self.changed_chunk(counts.chunksize, &new.info, chunk);
                (new.nchunk, item)
            })
            .collect_vec()?;
        let edited = edits
            .iter()
            .map(|(nchunk, edits)| (*nchunk, ChangedChunk::Edited(edits)));
        items.extend(edited)?;
        let plan = PlannedChange {
            counts,
            change: Change::Update(&items),
            owned: owned.as_mut(),
        };
        self.apply(host, plan).map(drop)
    }
}

/// The properties of a chunk after edits. If its header is edited, that is the first edit.
fn info_after(old: &ChunkInfo, edits: &[Edit]) -> Result<ChunkInfo> {
    match edits.first() {
        Some(first) if first.at == 0 => Ok(ChunkInfo::new(&ChunkHeader::parse(&first.new)?)),
        _ => Ok(*old),
    }
}

/// The smallest range that contains all of these numbers.
fn span(numbers: impl Iterator<Item = usize>) -> Range<usize> {
    numbers.fold(0..0, |span, n| match span.is_empty() {
        true => n..n + 1,
        false => span.start.min(n)..span.end.max(n + 1),
    })
}
