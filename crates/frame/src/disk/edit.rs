//! What a change of chunks writes, and where.

use super::Disk;
use super::commit::{EncodedMetadata, Overwrite, Writes, changed_part};
use super::growing_index::new_offsets;
use super::limits::{MAX_COMPACT_CHUNKS, MAX_COMPACT_LEN, Share, slack};
use super::positions::{ChunkWrite, allocate_each};
use crate::binding::Binding;
use crate::change::{Change, ChangedChunk, Delta};
use crate::fingerprint;
use crate::free_list::FreeList;
use crate::header::{FrameKind, set_extent};
use crate::index::stored_header;
use crate::offsets::{Offsets, special_offset};
use oxiblosc_base::memory::{Collect, ToTryVec, TryVec};
use oxiblosc_base::{Error, Result};
use oxiblosc_chunk::encoded::EncodedChunk;
use oxiblosc_chunk::repack::has_gaps;
use oxiblosc_io::Storage;

/// A trailer longer than the chunks' bytes divided by this is not moved with every change.
const LONG_TRAILER: u64 = 32;
/// In a large frame, holes are closed when more bytes are free than this part of the chunks' bytes.
const HOLES: Share = Share {
    divisor: 16,
    least: 64 << 10,
    most: u64::MAX,
};
/// Special chunks, until now only offsets, that get bytes in the frame before a change: their
/// positions before the change, and the bytes.
pub type Specials = [(usize, TryVec<u8>)];

/// A change of chunks, and what it adds to the file and removes from it.
#[derive(Clone, Copy)]
pub(super) struct ChunkChange<'a> {
    pub(super) change: &'a Change<'a>,
    /// Special chunks that get bytes.
    pub(super) specials: &'a Specials,
    /// The places of the chunks that it removes or replaces, and their lengths.
    pub(super) leaves: &'a [(u64, u64)],
    /// What binds the chunks to their places afterwards, once that is known.
    pub(super) binding: Option<Binding>,
}

impl<'a> ChunkChange<'a> {
    pub(super) const NOTHING: ChunkChange<'static> = ChunkChange {
        change: &Change::Nothing,
        specials: &[],
        leaves: &[],
        binding: None,
    };

    /// The chunks that are added and stored.
    fn stored(&self) -> impl Iterator<Item = EncodedChunk<'a>> + use<'a> {
        self.change.items().filter_map(|item| match item {
            ChangedChunk::Stored(chunk) => Some(chunk),
            ChangedChunk::Special(_) | ChangedChunk::Edited(_) => None,
        })
    }

    /// The chunks that get bytes, those of `specials` first.
    pub(super) fn new_chunks(&self) -> Result<TryVec<EncodedChunk<'a>>> {
        let mut all = TryVec::new();
        for (_, chunk) in self.specials {
            all.push(EncodedChunk::parse(chunk)?)?;
        }
        all.extend(self.stored())?;
        Ok(all)
    }

    /// The bytes of these chunks.
    fn new_bytes(&self) -> u64 {
        let specials: usize = self.specials.iter().map(|(_, chunk)| chunk.len()).sum();
        let stored: usize = self.stored().map(|chunk| chunk.bytes.len()).sum();
        (specials + stored) as u64
    }
}

/// The new offsets of the chunks in [`Change::items`]. `positions` are the places of those that are
/// stored; edited ones keep their offsets.
fn offsets_of(change: &Change, offsets: &Offsets, positions: &[u64]) -> Result<TryVec<i64>> {
    let mut positions = positions.iter();
    let offset = |(i, item): (usize, ChangedChunk)| match (item, change) {
        (ChangedChunk::Special(kind), _) => Some(special_offset(kind)),
        (ChangedChunk::Stored(_), _) => positions.next().map(|pos| *pos as i64),
        (ChangedChunk::Edited(_), Change::Update(items)) => offsets.get(items[i].0),
        (ChangedChunk::Edited(_), _) => None,
    };
    change.items().enumerate().filter_map(offset).collect_vec()
}

impl Disk {
    /// Applies and commits a change, and sets header and trailer. If it fails, the frame is as it
    /// was.
    ///
    /// # Errors
    /// [`Error::INVALID_PARAM`] if the header changes its length, though chunks with bytes stay;
    /// those of [`Change::check`] and [`Change::delta`]; [`Error::FILE_WRITE`] if another frame
    /// lies behind this one; those of locking and output; [`Error::MEMORY_ALLOC`].
    pub fn commit(
        &mut self,
        change: &Change,
        specials: &Specials,
        next: EncodedMetadata,
    ) -> Result<()> {
        self.while_locked(|disk| {
            disk.change(change, specials, next)?;
            disk.after_change(change);
            Ok(())
        })
    }

    /// Reduces free space after a change. If that fails, the frame is only longer than necessary.
    fn after_change(&mut self, change: &Change) {
        let comes_and_goes = !matches!(change, Change::Nothing | Change::Append(_));
        let _ = match self.location.kind {
            FrameKind::Sparse if change.leaves().next().is_some() => self.lower_numbers(),
            FrameKind::Contiguous if comes_and_goes => self.limit_room(),
            _ => Ok(()),
        };
    }

    /// Closes the holes of a large frame if they have many bytes, and moves its index down if there
    /// is much free space before it.
    fn limit_room(&mut self) -> Result<()> {
        let list = self.free_list();
        let in_order = !self.view.has_gap;
        if list.free_bytes() > HOLES.of(list.end()) {
            let file = self.prepare()?;
            self.compact(&*file)?;
            // The moves may have left free space before the index. If there was none before, it is
            // removed.
            if in_order && self.view.has_gap {
                let next = self.unchanged()?;
                self.rewrite(&*file, ChunkChange::NOTHING, next, u64::MAX)?;
            }
        }
        if !self.view.has_gap {
            return Ok(());
        }
        let end = self.free_list().end();
        let free = self.index_pos() - u64::from(self.view.extent.header_len) - end;
        if free > 2 * slack(end) {
            let file = self.prepare()?;
            self.move_index(&*file, self.view.offsets.len(), 0)?;
        }
        Ok(())
    }

    /// Applies and commits a change of a locked frame.
    pub(super) fn change(
        &mut self,
        change: &Change,
        specials: &Specials,
        next: EncodedMetadata,
    ) -> Result<()> {
        let file = self.prepare()?;
        let before = self.view.checksums;
        self.view.checksums = change.checksums(before);
        let changed = self.change_in(&*file, change, specials, next);
        changed.inspect_err(|_| self.view.checksums = before)
    }

    fn change_in(
        &mut self,
        file: &dyn Storage,
        change: &Change,
        specials: &Specials,
        next: EncodedMetadata,
    ) -> Result<()> {
        let count = self.view.offsets.len();
        change.check(&self.view.offsets)?;
        let longer = next.header.len() != self.view.header.len();
        if longer && change.keeps_stored(&self.view.offsets) {
            return Err(Error::INVALID_PARAM);
        }
        let new_count = change.count(count);
        let leaves = self.leaves(change)?;
        let change = ChunkChange {
            change,
            specials,
            leaves: &leaves,
            binding: None,
        };
        if longer || count == 0 || new_count == 0 || self.stays_small(change, &next) {
            let holes = self.max_free_bytes(change);
            return self.rewrite(file, change, next, holes);
        }
        self.edit(file, change, next)
    }

    /// The free bytes between header and index.
    pub(super) fn free_list(&self) -> &FreeList {
        const NOTHING: &FreeList = &FreeList::EMPTY;
        self.space.as_ref().map_or(NOTHING, |space| &space.free)
    }

    /// The number of bytes that may stay free between the chunks of a frame without free space
    /// before its index. If its chunks have more than [`MAX_COMPACT_LEN`] bytes, any: holes are
    /// closed as in a large frame, since to close one now could move all chunks behind it.
    /// Otherwise none.
    fn max_free_bytes(&self, change: ChunkChange) -> u64 {
        let chunks = self.free_list().end() + change.new_bytes();
        let free =
            self.free_list().free_bytes() + change.leaves.iter().map(|(_, len)| len).sum::<u64>();
        match chunks.saturating_sub(free) > MAX_COMPACT_LEN {
            true => u64::MAX,
            false => 0,
        }
    }

    /// Whether the frame is compact after the change: it has less than [`MAX_COMPACT_LEN`] bytes or
    /// a long trailer, and at most [`MAX_COMPACT_CHUNKS`] chunks. If a chunk grows into its tail,
    /// which only chunks of large frames have, the frame stays large for this change even if it
    /// became shorter.
    fn stays_small(&self, change: ChunkChange, next: &EncodedMetadata) -> bool {
        if !change.change.stays_listable(&self.view.offsets) {
            // An index that is not compressed would be out of proportion.
            return true;
        }
        let chunks = match self.location.kind {
            FrameKind::Contiguous => {
                let list = self.free_list();
                list.end() - list.free_bytes() + change.new_bytes()
            }
            FrameKind::Sparse => next.cbytes,
        };
        if change.change.items().any(|item| item.grows()) {
            return false;
        }
        let count = change.change.count(self.view.offsets.len());
        let trailer = next.trailer.as_deref();
        let trailer = trailer.unwrap_or(self.view.trailer()).len() as u64;
        let len = chunks + next.header.len() as u64 + trailer;
        // A large frame writes a new trailer behind the last one with every change, which would
        // take much space if it is long.
        let is_small = len <= MAX_COMPACT_LEN || trailer > chunks / LONG_TRAILER;
        is_small && count <= MAX_COMPACT_CHUNKS
    }

    /// Header and trailer, unchanged.
    pub(super) fn unchanged(&self) -> Result<EncodedMetadata> {
        Ok(EncodedMetadata {
            header: self.view.header.try_clone()?,
            trailer: None,
            cbytes: self.view.extent.cbytes,
        })
    }

    /// Applies a change to a large frame, whose index is uncompressed and has free space.
    fn edit(
        &mut self,
        file: &dyn Storage,
        chunk_change: ChunkChange,
        next: EncodedMetadata,
    ) -> Result<()> {
        let (change, leaves) = (chunk_change.change, chunk_change.leaves);
        let chunks = chunk_change.new_chunks()?;
        let tails = self.tails(change, &chunks)?;
        let bytes = chunk_change.new_bytes() + tails.iter().sum::<u64>();
        let count = self.view.offsets.len();
        if !matches!(change, Change::Nothing) || !chunk_change.specials.is_empty() {
            let most = change.count(count).max(count);
            self.make_room(file, most + 1, bytes)?;
        }
        let limit = self.index_pos() - u64::from(self.view.extent.header_len);
        let placed = match (self.location.kind, &mut self.space) {
            (FrameKind::Sparse, _) => self.write_chunk_files(&chunks, next.cbytes),
            (_, Some(space)) => allocate_each(&mut space.free, &chunks, limit, &tails),
            (_, None) => Err(Error::FAILURE),
        };
        let written = placed.and_then(|positions| {
            let chunk_change = ChunkChange {
                binding: self.binding_after(chunk_change, (&chunks, &positions)),
                ..chunk_change
            };
            let loose = self
                .edit_placed(file, chunk_change, (&chunks, &positions), next)
                .inspect_err(|_| self.discard_files(&positions))?;
            Ok((positions, loose))
        });
        if let Some(space) = &mut self.space {
            match &written {
                Ok((positions, loose)) => {
                    space.free.commit();
                    for (pos, len) in leaves {
                        space.free.free(*pos, *len);
                    }
                    space.note(leaves, positions, loose);
                }
                Err(_) => space.free.roll_back(),
            }
        }
        written?;
        self.drop_left(leaves);
        Ok(())
    }

    /// As [`Self::edit`], with places for the new chunks. Returns the places, after the change, of
    /// the chunks that may have free bytes between their blocks: edited ones, and those that
    /// replace others and have some.
    fn edit_placed(
        &mut self,
        file: &dyn Storage,
        ChunkChange {
            change,
            specials,
            binding,
            ..
        }: ChunkChange,
        (chunks, positions): (&[EncodedChunk], &[u64]),
        next: EncodedMetadata,
    ) -> Result<TryVec<u64>> {
        let delta = self.delta(change, specials, positions)?;
        let mut added: TryVec<ChunkWrite> = TryVec::new();
        if self.location.kind == FrameKind::Contiguous {
            let placed = positions.iter().zip(chunks);
            added.extend(placed.map(|(pos, chunk)| ChunkWrite::whole(*pos, chunk.bytes)))?;
        }
        let new = added.len();
        let over = self.edited(change, Some(&mut added))?;
        let edited = over.iter().chain(&added[new..]).map(|write| write.chunk);
        let mut loose = edited.collect_vec()?;
        if matches!(change, Change::Update(_)) {
            let new = chunks.iter().zip(positions).skip(specials.len());
            let new = new.filter(|(chunk, _)| has_gaps(chunk));
            loose.extend(new.map(|(_, pos)| *pos))?;
        }
        self.write_edit(file, delta, (&added, &over), next, binding)?;
        Ok(loose)
    }

    /// Removes the chunk files that a failed change has created. If the frame is stale, the change
    /// could not be undone, so the index may refer to them, and they stay.
    pub(super) fn discard_files(&self, positions: &[u64]) {
        if self.location.kind == FrameKind::Sparse && !self.last_read.stale {
            self.remove_files(positions);
        }
    }

    /// How the offsets change; `positions` are those of all stored chunks that are added, first of
    /// `specials`.
    pub(super) fn delta(
        &self,
        change: &Change,
        specials: &Specials,
        positions: &[u64],
    ) -> Result<Delta> {
        let new = offsets_of(change, &self.view.offsets, &positions[specials.len()..])?;
        let added = specials.iter().zip(positions);
        let added = added.map(|((nchunk, _), pos)| (*nchunk, *pos as i64));
        change.delta_with(&self.view.offsets, added, &new)
    }

    /// Writes the new offsets, the bytes `added` into free space, and the bytes `over` old ones.
    /// `binding` binds the chunks to their places afterwards.
    pub(super) fn write_edit<'a>(
        &mut self,
        file: &dyn Storage,
        delta: Delta,
        (added, over): (&[ChunkWrite<'a>], &[ChunkWrite]),
        next: EncodedMetadata,
        binding: Option<Binding>,
    ) -> Result<()> {
        let extent = self.view.extent;
        let count = self.view.offsets.len();
        let new_count = delta.count(count);
        let mut writes = Writes {
            header: next.header,
            is_append: over.is_empty() && matches!(delta, Delta::Same | Delta::Push(_)),
            ..Writes::default()
        };
        let header_len = u64::from(extent.header_len);
        let dead = |write: &ChunkWrite<'a>| (header_len + write.pos(), write.bytes);
        writes.dead.extend(added.iter().map(dead))?;
        for write in over {
            writes.over(header_len + write.pos(), write.bytes)?;
        }
        let (from, new) = new_offsets(&delta, count)?;
        self.write_offsets(&mut writes, from, &new)?;
        let (mut old, mut new_header) = (stored_header(count)?, stored_header(new_count)?);
        Binding::write(self.view.binding, &mut old);
        Binding::write(binding, &mut new_header);
        let mut changed = changed_part(&old, &new_header);
        if new_count != count {
            // In a directory this is one write with the frame's header.
            changed.start = 0;
        }
        if !changed.is_empty() {
            writes.live.push(Overwrite {
                pos: self.index_pos() + changed.start as u64,
                new: &new_header[changed.clone()],
                old: Some(old[changed].to_try_vec()?),
            })?;
        }
        let mut trailer = match next.trailer {
            Some(trailer) => trailer,
            None => self.view.trailer().to_try_vec()?,
        };
        let trailer_pos = self.next_trailer_pos(new_count, trailer.len() as u64);
        let cbytes = match self.location.kind {
            FrameKind::Contiguous => extent.cbytes,
            FrameKind::Sparse => next.cbytes,
        };
        let frame_len = trailer_pos + trailer.len() as u64;
        set_extent(&mut writes.header, frame_len, cbytes);
        let offsets_crc = self.offsets_crc_after(&delta)?;
        let index_crc = match (self.view.checksums.is_any(), offsets_crc) {
            (true, None) => Some(self.index_crc(file)?),
            _ => offsets_crc.map(|crc| fingerprint::of_index_parts(&new_header, crc)),
        };
        let (checksums, header) = (self.view.checksums, &mut writes.header);
        let stamp = Some(self.view.next_stamp());
        fingerprint::write(checksums, index_crc, stamp, header, &mut trailer);
        writes.dead.push((trailer_pos, &trailer))?;
        delta.reserve(&mut self.view.offsets)?;
        self.write(file, writes)?;
        self.view.trailer_len = trailer.len();
        self.view.tail = trailer;
        self.view.offsets_crc = offsets_crc;
        self.view.binding = binding;
        self.view.has_gap = true;
        delta.apply(&mut self.view.offsets)
    }
}
