//! Closes the holes that replaced and deleted chunks have left, and makes a frame compact when it
//! is closed.
//!
//! In a small frame everything from the first hole on is rewritten in one change. In a large one
//! chunks are moved down step by step: each step copies as many as fit into the free bytes before
//! them, and then changes their offsets. Copies overwrite only free bytes, so the frame is valid
//! all the time.

use super::Disk;
use super::edit::ChunkChange;
use super::limits::{MAX_COMPACT_LEN, Share};
use super::positions::ChunkWrite;
use super::space::Survey;
use crate::binding::{Binding, sum_of};
use crate::change::Delta;
use crate::free_list::FreeList;
use crate::header::FrameKind;
use crate::offsets::Offsets;
use oxiblosc_base::memory::{Buffer, Collect, TryVec};
use oxiblosc_base::{Error, Result};
use oxiblosc_chunk::encoded::EncodedChunk;
use oxiblosc_chunk::header::ChunkHeader;
use oxiblosc_chunk::repack::repack;
use oxiblosc_io::Storage;

/// When a large frame is closed, its holes are closed only if they have more bytes than the chunks'
/// bytes divided by this.
const MIN_FREE: u64 = 256;
/// When a frame is closed, a chunk with free bytes between its blocks is packed if that saves at
/// least its length divided by this.
const MIN_SAVED: usize = 64;
/// About so many bytes of packed chunks are written in one change, since with `BLOSC_DURABLE` each
/// change waits for the disk.
const PACKED_AT_ONCE: usize = 8 << 20;
/// Before the chunks of a large frame move down, the first ones move behind all others, so that
/// each step has many free bytes: chunks of this part of the bytes of all.
const STEPS: Share = Share {
    divisor: 16,
    least: 1 << 20,
    most: u64::MAX,
};

/// A chunk that is moved: its place and its length.
type Moving = (u64, u64);

/// Where the chunk at `pos` is after the moves: pairs of old and new ones, in ascending order
/// of the old ones.
pub(super) fn follow(moved: &[(u64, u64)], pos: u64) -> u64 {
    let found = moved.binary_search_by_key(&pos, |(from, _)| *from);
    found.map_or(pos, |i| moved[i].1)
}

/// What [`Disk::tighten`] has moved.
#[derive(Default)]
pub(super) struct ClosedHoles {
    /// The place of the first byte that changes.
    pub(super) first: u64,
    /// All bytes of chunks from there on.
    pub(super) bytes: TryVec<u8>,
    /// The old and the new place of each chunk there.
    pub(super) moved: TryVec<(u64, u64)>,
}

impl ClosedHoles {
    /// What binds the chunks after the moves, if `binding` did before.
    pub(super) fn bind(&self, binding: Binding) -> Option<Binding> {
        self.moved.iter().try_fold(binding, |binding, (from, to)| {
            let chunk = &self.bytes[(to - self.first) as usize..];
            let prefix = sum_of(&EncodedChunk::parse(chunk).ok()?).ok()?;
            Some(binding.replace((*from, prefix), (*to, prefix)))
        })
    }
}

impl Disk {
    /// Whether closing the frame would make its file shorter.
    pub(super) fn is_loose(&self) -> bool {
        let Some(space) = &self.space else {
            return false;
        };
        let free = !space.free.is_fixed() && space.free.free_bytes() > 0;
        self.view.has_gap || free || !space.loose.is_empty()
    }

    /// Makes the frame as short as it can be, with a compressed index.
    pub(super) fn finalize(&mut self) -> Result<()> {
        let file = self.prepare()?;
        if !self.is_loose() {
            // Another handle has changed the frame, and makes it compact.
            return Ok(());
        }
        let mut holes = 0;
        if self.location.kind == FrameKind::Contiguous {
            self.pack_chunks(&*file)?;
            let (end, free) = (self.free_list().end(), self.free_list().free_bytes());
            if end > MAX_COMPACT_LEN && free > end / MIN_FREE && !self.free_list().is_fixed() {
                self.compact(&*file)?;
            }
            if end > MAX_COMPACT_LEN {
                holes = u64::MAX;
                if !self.view.has_gap {
                    return Ok(());
                }
            }
        }
        let next = self.unchanged()?;
        self.rewrite(&*file, ChunkChange::NOTHING, next, holes)
    }

    /// Removes the free bytes between the blocks of chunks.
    fn pack_chunks(&mut self, file: &dyn Storage) -> Result<()> {
        let loose = match &mut self.space {
            Some(space) => std::mem::take(&mut space.loose),
            None => return Ok(()),
        };
        let (mut packed, mut bytes) = (TryVec::new(), 0);
        let positions = self.positions()?;
        let used = loose.iter().filter(|pos| positions.contains(*pos));
        for pos in used.collect_vec()? {
            let chunk = self.stored_at(pos)?.whole()?;
            if self.is_other_between(pos, pos + chunk.len() as u64)? {
                continue;
            }
            let Some(shorter) = repack(&chunk)? else {
                continue;
            };
            if chunk.len() - shorter.len() < chunk.len() / MIN_SAVED {
                continue;
            }
            bytes += shorter.len();
            packed.push((pos, chunk.len() as u64, shorter))?;
            if bytes >= PACKED_AT_ONCE {
                self.write_packed(file, &packed)?;
                packed.clear();
                bytes = 0;
            }
        }
        self.write_packed(file, &packed)
    }

    /// Writes chunks that have become shorter over their old bytes, in one change. `packed` has
    /// their places, old lengths and new bytes.
    fn write_packed(&mut self, file: &dyn Storage, packed: &[(u64, u64, Buffer)]) -> Result<()> {
        if packed.is_empty() {
            return Ok(());
        }
        self.survey()?;
        let over = packed
            .iter()
            .map(|(pos, _, new)| ChunkWrite::whole(*pos, new));
        let over = over.collect_vec()?;
        let mut binding = self.view.binding;
        for (pos, _, new) in packed {
            if let Some(known) = binding {
                let new = EncodedChunk::parse(new).and_then(|new| sum_of(&new));
                let sums = self.sum_at(*pos).ok().zip(new.ok());
                binding = sums.map(|(old, new)| known.replace((*pos, old), (*pos, new)));
            }
        }
        let unchanged = self.unchanged()?;
        self.write_edit(file, Delta::Same, (&[], &over), unchanged, binding)?;
        if let Some(space) = &mut self.space {
            for (pos, len, shorter) in packed {
                space.free.cut(*pos, *len, shorter.len() as u64);
            }
        }
        Ok(())
    }

    /// Closes the holes of a frame that is being rewritten, and adjusts `free` and `offsets`.
    /// `parts` are the writes of the change into chunks, at their places before this. None if the
    /// chunks cannot be moved, as some are damaged or share bytes.
    pub(super) fn tighten(
        &mut self,
        file: &dyn Storage,
        free: &mut FreeList,
        offsets: &mut Offsets,
        parts: &[(u64, &[u8])],
    ) -> Result<Option<ClosedHoles>> {
        let (Some(first), end) = (free.first(), free.end()) else {
            return Ok(None);
        };
        if free.is_fixed() {
            return Ok(None);
        }
        let len = usize::try_from(end - first).map_err(|_| Error::MEMORY_ALLOC)?;
        let mut bytes = TryVec::filled(0, len)?;
        let available = self.free_list().end().clamp(first, end) - first;
        let data = self.location.base + u64::from(self.view.extent.header_len);
        file.read_at(data + first, &mut bytes[..available as usize])?;
        for (pos, new) in parts {
            if let Some(at) = pos.checked_sub(first) {
                bytes[at as usize..at as usize + new.len()].copy_from_slice(new);
            }
        }
        let mut positions = offsets
            .positions()
            .filter(|pos| *pos >= first)
            .collect_vec()?;
        positions.sort_unstable();
        positions.dedup();
        let mut moved = TryVec::with_capacity(positions.len())?;
        let mut to = 0;
        let ends = positions.iter().skip(1).map(|next| (next - first) as usize);
        for (pos, end) in positions.iter().zip(ends.chain([len])) {
            let at = (pos - first) as usize;
            let Ok(header) = ChunkHeader::parse(&bytes[at..]) else {
                return Ok(None);
            };
            if header.cbytes > end - at {
                return Ok(None);
            }
            bytes.copy_within(at..at + header.cbytes, to);
            moved.push((*pos, first + to as u64))?;
            to += header.cbytes;
        }
        bytes.truncate(to);
        offsets.map_positions(|pos| follow(&moved, pos))?;
        *free = FreeList::packed(first + to as u64);
        Ok(Some(ClosedHoles {
            first,
            bytes,
            moved,
        }))
    }

    /// Closes the holes of a large frame.
    pub(super) fn compact(&mut self, file: &dyn Storage) -> Result<()> {
        self.survey_all()?;
        let Some(first) = self.free_list().first() else {
            return Ok(());
        };
        if self.free_list().is_fixed() {
            return Ok(());
        }
        let moving = self.chunks_from(first)?;
        let end = self.free_list().end();
        let longest = moving.iter().map(|(_, len)| *len).max().unwrap_or(0);
        let most = STEPS.of(end).max(longest);
        // The first chunks move behind all others, and from there to their places last.
        let mut step = 0;
        let away = moving.iter().take_while(|(_, len)| {
            let more = step < most;
            step += len;
            more
        });
        let away = away.count();
        let (leading, kept) = moving.split_at(away);
        let bytes: u64 = leading.iter().map(|(_, len)| len).sum();
        self.make_room(file, self.view.offsets.len(), bytes)?;
        let moved = self.shift(file, leading, end)?;
        let returning = leading
            .iter()
            .map(|(pos, len)| (follow(&moved, *pos), *len));
        let moving = kept.iter().copied().chain(returning).collect_vec()?;
        let mut to = first;
        let mut rest = &moving[..];
        while let Some((pos, _)) = rest.first() {
            // Everything from `to` to the next chunk is free, and that is at least as long as the
            // longest chunk.
            let capacity = pos - to;
            let mut sum = 0;
            let fits = rest.iter().take_while(|(_, len)| {
                sum += len;
                sum <= capacity
            });
            let count = fits.count();
            if count == 0 {
                return Err(Error::FAILURE);
            }
            let (now, later) = rest.split_at(count);
            self.shift(file, now, to)?;
            to += now.iter().map(|(_, len)| len).sum::<u64>();
            rest = later;
        }
        if let Some(space) = &mut self.space {
            space.free = FreeList::packed(to);
            space.survey = Survey::Whole;
        }
        Ok(())
    }

    /// The chunks at `first` or behind it, in the order of their places.
    fn chunks_from(&mut self, first: u64) -> Result<TryVec<Moving>> {
        let positions = self.view.offsets.positions();
        let mut positions = positions.filter(|pos| *pos >= first).collect_vec()?;
        positions.sort_unstable();
        positions.dedup();
        let chunk = |pos: u64| Ok((pos, self.stored_at(pos)?.header()?.cbytes as u64));
        positions.into_iter().map(chunk).try_collect_vec()
    }

    /// Copies chunks to free space, one behind the other from `to` on, and changes their offsets.
    /// Returns the old and the new place of each.
    fn shift(
        &mut self,
        file: &dyn Storage,
        moving: &[Moving],
        to: u64,
    ) -> Result<TryVec<(u64, u64)>> {
        const PIECE: usize = 1 << 20;
        let data = self.location.base + u64::from(self.view.extent.header_len);
        let mut piece = TryVec::filled(0, PIECE)?;
        let mut moved = TryVec::with_capacity(moving.len())?;
        let mut end = to;
        let mut binding = self.view.binding;
        for (pos, len) in moving {
            if let Some(known) = binding {
                let prefix = self.sum_at(*pos).ok();
                binding = prefix.map(|prefix| known.replace((*pos, prefix), (end, prefix)));
            }
            let mut done = 0;
            while done < *len {
                let part = &mut piece[..(len - done).min(PIECE as u64) as usize];
                file.read_at(data + pos + done, part)?;
                file.write_at(data + end + done, part)?;
                done += part.len() as u64;
            }
            moved.push((*pos, end))?;
            end += len;
        }
        let offset = |offset: i64| match u64::try_from(offset) {
            Ok(pos) => follow(&moved, pos) as i64,
            Err(_) => offset,
        };
        let delta = Delta::From(0, self.view.offsets.iter().map(offset).collect_vec()?);
        let unchanged = self.unchanged()?;
        self.write_edit(file, delta, (&[], &[]), unchanged, binding)?;
        if let Some(space) = &mut self.space {
            // The places that became free are not given away before all chunks have moved.
            let end = space.free.end().max(end);
            space.free = FreeList::opaque(end);
            space.survey = Survey::None;
            space.note_moves(|pos| follow(&moved, pos));
        }
        Ok(moved)
    }
}
