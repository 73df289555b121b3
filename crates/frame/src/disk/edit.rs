//! What a change of chunks writes, and where.

use super::commit::{Next, Overwrite, Writes};
use super::load::Image;
use super::places::ChunkWrite;
use super::{Disk, SMALL};
use crate::change::{Change, Delta, Item};
use crate::fingerprint;
use crate::free_list::FreeList;
use crate::header::{Kind, set_extent};
use crate::offsets::{Offsets, WIDTH, stored_header};
use oxiblosc_chunk::checksum::{crc32c, extended};
use oxiblosc_chunk::header::{ChunkHeader, EXTENDED_HEADER_LENGTH, MIN_HEADER_LENGTH};
use oxiblosc_error::{Error, Result};
use oxiblosc_io::Storage;
use oxiblosc_memory::sort::sort_by_key;
use oxiblosc_memory::{Collect, List, ToList};

/// Before an index that can grow there is room for chunks: one byte in so many of theirs, and at least and at most these.
const SLACK: (u64, u64, u64) = (64, 16 << 10, 16 << 20);
/// In it there is room for one offset more in so many, and at least for these.
const CAPACITY: (usize, usize) = (32, 64);
/// Behind it, trailers follow one another over one byte in so many of the chunks', at least and at most these, before they
/// start again.
const TRAILERS: (u64, u64, u64) = (256, 4 << 10, 1 << 20);
/// A trailer of more than one byte in so many of the chunks' is kept where it belongs.
const LONG_TRAILER: u64 = 32;
/// In a larger frame one byte in so many, and at least these, may be free before holes are closed.
const HOLES: (u64, u64) = (16, 64 << 10);
/// The part of an index's header that depends on the number of offsets: its sizes, and what comes before them.
const INDEX_SIZES: std::ops::Range<usize> = 0..MIN_HEADER_LENGTH;

/// Chunks that became part of the frame: their index among the new ones, and their bytes.
pub type Specials = [(usize, List<u8>)];

/// The bytes of the chunks that come in, those of `specials` first.
fn new_chunks<'a>(
    change: &Change<'a>,
    specials: &'a Specials,
) -> impl Iterator<Item = &'a [u8]> + use<'a> {
    let stored = |item: Item<'a>| match item {
        Item::Stored(chunk) => Some(chunk),
        Item::Special(_) | Item::Edited(_) => None,
    };
    let parted = specials.iter().map(|(_, chunk)| &chunk[..]);
    parted.chain(change.items().filter_map(stored))
}

/// The offsets of the chunks that come in; `places` are those of the stored ones among them, and those that stay where they
/// are have one in `offsets`.
fn offsets_of(change: &Change, offsets: &Offsets, places: &[u64]) -> Result<List<i64>> {
    let mut places = places.iter();
    let offset = |(i, item): (usize, Item)| match (item, change) {
        (Item::Special(place), _) => Some(place.to_offset()),
        (Item::Stored(_), _) => places.next().map(|place| *place as i64),
        (Item::Edited(_), Change::Update(items)) => offsets.get(items[i].0),
        (Item::Edited(_), _) => None,
    };
    change.items().enumerate().filter_map(offset).list()
}

/// Offsets as an index has them.
fn to_le_bytes(offsets: impl Iterator<Item = i64>) -> Result<List<u8>> {
    let mut bytes = List::with_capacity(offsets.size_hint().0.saturating_mul(WIDTH))?;
    for offset in offsets {
        bytes.extend_from_slice(&offset.to_le_bytes())?;
    }
    Ok(bytes)
}

/// How much room for chunks there is before the index of a large frame, whose chunks end at `end`.
fn slack(end: u64) -> u64 {
    let (part, least, most) = SLACK;
    (end / part).clamp(least, most)
}

impl Disk {
    /// Applies a change, for good. If it fails, the frame is as it was. `specials` are chunks that had no place until now
    /// because their offsets told all, and that get one before the change: their numbers before it, and their bytes.
    pub fn commit(&mut self, change: &Change, specials: &Specials, next: Next) -> Result<()> {
        self.lock()?;
        let changed = self.change(change, specials, next);
        if changed.is_ok() {
            self.after_change(change);
        }
        // The change is made, or not, whatever becomes of the lock: it goes with the file at the latest.
        let _ = self.unlock();
        changed
    }

    /// What a change that is done leaves to be tidied up. Where this cannot be done now, nothing is lost by it.
    fn after_change(&mut self, change: &Change) {
        let comes_and_goes = !matches!(change, Change::Nothing | Change::Append(_));
        let _ = match self.kind {
            Kind::Sparse if change.leaves().next().is_some() => self.lower_numbers(),
            Kind::Contiguous if comes_and_goes && self.view.has_gap => self.limit_room(),
            _ => Ok(()),
        };
    }

    /// Closes the holes of a large frame if they are many, and moves its index down if there is much room before it.
    fn limit_room(&mut self) -> Result<()> {
        let (part, least) = HOLES;
        let list = self.free_list();
        if list.free_bytes() > least.max(list.end() / part) {
            let file = self.prepare()?;
            self.compact(&*file)?;
        }
        let end = self.free_list().end();
        let room = self.index_pos() - u64::from(self.view.extent.header_len) - end;
        if room > 2 * slack(end) {
            let file = self.prepare()?;
            self.move_index(&*file, self.view.offsets.len(), 0)?;
        }
        Ok(())
    }

    pub(super) fn change(
        &mut self,
        change: &Change,
        specials: &Specials,
        next: Next,
    ) -> Result<()> {
        let file = self.prepare()?;
        self.view.checksums = change.checksums(self.view.checksums);
        let count = self.view.offsets.len();
        change.check(&self.view.offsets)?;
        let longer = next.header.len() != self.view.header.len();
        if longer && change.keeps_stored(&self.view.offsets) {
            return Err(Error::InvalidParam);
        }
        let leaves = self.leaves(change)?;
        let new_count = change.count(count);
        if longer || count == 0 || new_count == 0 || self.stays_small(change, specials, &next) {
            return self.rewrite(&*file, change, specials, next, &leaves, 0);
        }
        self.edit(&*file, change, specials, next, &leaves)
    }

    /// What is free between header and index.
    pub(super) fn free_list(&self) -> &FreeList {
        const NOTHING: &FreeList = &FreeList::EMPTY;
        self.writer.as_ref().map_or(NOTHING, |writer| &writer.free)
    }

    /// Whether the frame has fewer than [`SMALL`] bytes after the change. Where a chunk grows into the room behind it, which only
    /// large frames have, it is large for once more, though others may have left it. Many chunks that take no bytes make it a large one, so
    /// that their index is not written as a whole with each of them.
    fn stays_small(&self, change: &Change, specials: &Specials, next: &Next) -> bool {
        let chunks = match self.kind {
            Kind::Contiguous => {
                let new = new_chunks(change, specials);
                let new: u64 = new.map(|chunk| chunk.len() as u64).sum();
                self.free_list().end() - self.free_list().free_bytes() + new
            }
            Kind::Sparse => next.cbytes,
        };
        if change.items().any(|item| item.grows()) {
            return false;
        }
        let count = change.count(self.view.offsets.len());
        let trailer = next.trailer.as_deref();
        let trailer = trailer.unwrap_or(self.view.trailer()).len() as u64;
        let len = chunks + next.header.len() as u64 + trailer;
        // A long trailer that moves with every change would take much room.
        let is_small = len <= SMALL || trailer > chunks / LONG_TRAILER;
        is_small && count.saturating_mul(WIDTH) as u64 <= SMALL
    }

    /// Applies a change and leaves the frame in order, with at most `holes` free bytes between its chunks. The reference looks
    /// for the trailer of an empty frame right behind the header, so such a frame must be in order all the time.
    pub(super) fn rewrite(
        &mut self,
        file: &dyn Storage,
        change: &Change,
        specials: &Specials,
        next: Next,
        leaves: &[(u64, u64)],
        holes: u64,
    ) -> Result<()> {
        let chunks = new_chunks(change, specials).list()?;
        let mut free = FreeList::default();
        let places = match self.kind {
            Kind::Contiguous => {
                let stays = change.count(self.view.offsets.len()) > 0
                    && change.keeps_stored(&self.view.offsets);
                if stays {
                    free = self.free_list().try_clone()?;
                }
                free.reserve(leaves.len() + 2 * chunks.len() + 1)?;
                for (place, len) in leaves.iter().filter(|_| stays) {
                    free.free(*place, *len);
                }
                self.place_each(&mut free, &chunks, u64::MAX, |_| 0)?
            }
            Kind::Sparse => self.write_chunk_files(&chunks, next.cbytes)?,
        };
        let done = self.rewrite_around(
            file,
            change,
            specials,
            next,
            (&chunks, &places),
            free,
            holes,
        );
        match (done, self.kind) {
            (Ok(()), _) => self.drop_left(leaves),
            (Err(error), Kind::Sparse) if !self.stale => {
                self.remove_files(&places);
                return Err(error);
            }
            (Err(error), _) => return Err(error),
        }
        Ok(())
    }

    #[allow(clippy::too_many_arguments, reason = "the parts of one change")]
    fn rewrite_around(
        &mut self,
        file: &dyn Storage,
        change: &Change,
        specials: &Specials,
        next: Next,
        (chunks, places): (&[&[u8]], &[u64]),
        mut free: FreeList,
        holes: u64,
    ) -> Result<()> {
        let mut offsets = self.view.offsets.try_clone()?;
        self.delta(change, specials, places)?.apply(&mut offsets)?;
        let header_len = next.header.len() as u64;
        let mut parts: List<(u64, &[u8])> = List::new();
        let edits = self.edited(change, None)?;
        let mut loose = self.loose_after(change, &[])?;
        let tight;
        if self.kind == Kind::Contiguous {
            let added = chunks.iter().zip(places);
            parts.extend(added.map(|(chunk, place)| (*place, *chunk)))?;
            parts.extend(edits.iter().map(|(place, at, new)| (place + at, *new)))?;
            if free.free_bytes() > holes
                && let Some(closed) =
                    self.tighten(file, &mut free, &mut offsets, &mut loose, &parts)?
            {
                tight = closed;
                parts.retain(|(place, _)| *place < tight.0);
                parts.push((tight.0, &tight.1))?;
            }
        }
        let trailer = next.trailer.as_deref();
        let trailer = trailer.unwrap_or(self.view.trailer());
        let is_other = offsets != self.view.offsets
            || fingerprint::without(trailer) != fingerprint::without(self.view.trailer());
        let mut image = Image::from_parts(
            self.kind,
            next.header,
            trailer,
            &offsets,
            free.end(),
            next.cbytes,
        )?;
        image.stamp(self.view.checksums);
        if is_other && image.header == self.view.header && !offsets.is_empty() {
            // Handles without a lock look at the header, those of the reference at the frame's length alone.
            // The byte stays when the frame is closed: taken away, the length would be again what such a handle knows. The next
            // change takes it away.
            image.lengthen()?;
            image.stamp(self.view.checksums);
        }
        let mut writes = Writes {
            header: image.header,
            ..Writes::default()
        };
        parts.push((image.body_pos - header_len, &image.body))?;
        sort_by_key(&mut parts, |(place, _)| *place);
        for (place, new) in parts {
            let was_free = self.free_list().is_hole(place, new.len() as u64);
            let pos = header_len + place;
            match was_free && header_len == self.view.header.len() as u64 {
                true => writes.dead.push((pos, new))?,
                false => writes.over(pos, new)?,
            }
        }
        self.write(file, writes)?;
        self.view.trailer_len = image.trailer_len;
        self.view.tail = image.body;
        self.view.offsets = offsets;
        self.view.capacity = None;
        self.view.offsets_crc = None;
        self.view.has_gap = false;
        if let Some(writer) = &mut self.writer {
            writer.free = free;
            writer.loose = loose;
        }
        Ok(())
    }

    /// Header and trailer as they are.
    pub(super) fn unchanged(&self) -> Result<Next> {
        Ok(Next {
            header: self.view.header.try_clone()?,
            trailer: None,
            cbytes: self.view.extent.cbytes,
        })
    }

    /// Where the index begins, from the start of the frame.
    pub(super) fn index_pos(&self) -> u64 {
        let extent = self.view.extent;
        u64::from(extent.header_len)
            + match self.kind {
                Kind::Contiguous => extent.cbytes,
                Kind::Sparse => 0,
            }
    }

    /// Finds room for chunks of `len` bytes and `count` offsets, moving the index if it must.
    pub(super) fn make_room(&mut self, file: &dyn Storage, count: usize, len: u64) -> Result<()> {
        let header_len = u64::from(self.view.extent.header_len);
        let room = self.index_pos() - header_len;
        let end = self.free_list().end();
        let fits = self.kind == Kind::Sparse || end.saturating_add(len) <= room;
        if fits && self.view.capacity.is_some_and(|capacity| capacity >= count) {
            return Ok(());
        }
        self.move_index(file, count, len)
    }

    /// Puts the index of a large frame where there is room before it for chunks of `len` bytes, and in it for `count` offsets and
    /// some more.
    fn move_index(&mut self, file: &dyn Storage, count: usize, len: u64) -> Result<()> {
        let header_len = u64::from(self.view.extent.header_len);
        let end = self.free_list().end();
        let index = self.view.offsets.encode_stored()?;
        let (part, least) = CAPACITY;
        let capacity = count + (count / part).max(least);
        let index_len = (EXTENDED_HEADER_LENGTH + capacity * WIDTH) as u64;
        let frame_len = self.view.extent.frame_len;
        let mut writes = Writes {
            header: self.view.header.try_clone()?,
            ..Writes::default()
        };
        let index_pos = match self.kind {
            Kind::Contiguous => header_len + end + len + slack(end),
            Kind::Sparse => header_len,
        };
        let mut trailer = self.view.trailer().to_list()?;
        let trailer_len = trailer.len() as u64;
        // The old index and trailer stay as they are until the new ones are in place, and where those do not fit in front of them
        // they come behind.
        let fits = index_pos + index_len + trailer_len <= self.index_pos();
        let (index_pos, trailer_pos) = match self.kind {
            Kind::Contiguous if fits => (index_pos, index_pos + index_len),
            Kind::Contiguous => {
                let pos = index_pos.max(frame_len);
                (pos, pos + index_len)
            }
            Kind::Sparse => (index_pos, (index_pos + index_len).max(frame_len)),
        };
        let (pos, new) = (index_pos, &index[..]);
        let cbytes = match self.kind {
            Kind::Contiguous => {
                writes.dead.push((pos, new))?;
                pos - header_len
            }
            Kind::Sparse => {
                writes.over(pos, new)?;
                self.view.extent.cbytes
            }
        };
        set_extent(&mut writes.header, trailer_pos + trailer_len, cbytes);
        let offsets_crc = self
            .view
            .checksums
            .is_any()
            .then(|| crc32c(&index[EXTENDED_HEADER_LENGTH..]));
        let front = &index[..EXTENDED_HEADER_LENGTH];
        let index_crc = offsets_crc.map(|crc| fingerprint::of_index_parts(front, crc));
        fingerprint::stamp(
            self.view.checksums,
            index_crc,
            &mut writes.header,
            &mut trailer,
        );
        writes.dead.push((trailer_pos, &trailer))?;
        self.write(file, writes)?;
        self.view.tail = trailer;
        self.view.offsets_crc = offsets_crc;
        self.view.capacity = Some(capacity);
        self.view.has_gap = true;
        Ok(())
    }

    /// The checksum of the index that is in the file.
    fn index_crc_in(&self, file: &dyn Storage) -> Result<u32> {
        let pos = self.base + self.index_pos();
        let mut front = [0; EXTENDED_HEADER_LENGTH];
        file.read_at(pos, &mut front)?;
        let mut index = List::filled(0, ChunkHeader::parse(&front)?.cbytes)?;
        file.read_at(pos, &mut index)?;
        Ok(fingerprint::of_index(&index))
    }

    /// The checksum of the offsets after a change of them, if the frame has checksums and the offsets are stored as they are.
    fn offsets_crc_after(&self, delta: &Delta) -> Result<Option<u32>> {
        if !self.view.checksums.is_any() || self.view.capacity.is_none() {
            return Ok(None);
        }
        let offsets = &self.view.offsets;
        let before = match self.view.offsets_crc {
            Some(crc) => crc,
            None => crc32c(&to_le_bytes(offsets.iter())?),
        };
        Ok(Some(match delta {
            Delta::Same => before,
            Delta::Push(offset) => extended(before, &offset.to_le_bytes()),
            Delta::Set(nchunk, offset) => {
                let old = offsets.get(*nchunk).ok_or(Error::Failure)?.to_le_bytes();
                let behind = (offsets.len() - nchunk - 1) * WIDTH;
                fingerprint::replace_eight(before, old, offset.to_le_bytes(), behind)
            }
            Delta::From(from, list) => {
                let kept = offsets.iter().take(*from);
                crc32c(&to_le_bytes(kept.chain(list.iter().copied()))?)
            }
            Delta::All(..) => return Err(Error::Failure),
        }))
    }

    /// Applies a change to a large frame, whose index can grow.
    fn edit(
        &mut self,
        file: &dyn Storage,
        change: &Change,
        specials: &Specials,
        next: Next,
        leaves: &[(u64, u64)],
    ) -> Result<()> {
        let chunks = new_chunks(change, specials).list()?;
        let mut free = self.free_list().try_clone()?;
        free.reserve(leaves.len() + 2 * chunks.len() + 1)?;
        let tails = self.tails(change, &chunks)?;
        let bytes: u64 = chunks
            .iter()
            .zip(&tails)
            .map(|(c, t)| c.len() as u64 + t)
            .sum();
        let count = self.view.offsets.len();
        if !matches!(change, Change::Nothing) || !specials.is_empty() {
            let most = change.count(count).max(count);
            self.make_room(file, most + 1, bytes)?;
        }
        let places = match self.kind {
            Kind::Contiguous => {
                let limit = self.index_pos() - u64::from(self.view.extent.header_len);
                self.place_each(&mut free, &chunks, limit, |i| tails[i])?
            }
            Kind::Sparse => self.write_chunk_files(&chunks, next.cbytes)?,
        };
        let mut added: List<ChunkWrite> = match self.kind {
            Kind::Contiguous => {
                let added = chunks.iter().zip(&places);
                added.map(|(chunk, place)| (*place, 0, *chunk)).list()?
            }
            Kind::Sparse => List::new(),
        };
        let written = self.delta(change, specials, &places).and_then(|delta| {
            let over = self.edited(change, Some((&mut free, &mut added)))?;
            let loose = self.loose_after(change, &places[specials.len()..])?;
            self.write_edit(file, delta, &added, &over, next)?;
            Ok(loose)
        });
        match written {
            Ok(loose) => {
                if self.kind == Kind::Contiguous {
                    for (place, len) in leaves {
                        free.free(*place, *len);
                    }
                }
                if let Some(writer) = &mut self.writer {
                    writer.free = free;
                    writer.loose = loose;
                }
                self.drop_left(leaves);
                Ok(())
            }
            Err(error) => {
                // Where the change could not be undone, it is not known which chunks count.
                if self.kind == Kind::Sparse && !self.stale {
                    self.remove_files(&places);
                }
                Err(error)
            }
        }
    }

    fn delta(&self, change: &Change, specials: &Specials, places: &[u64]) -> Result<Delta> {
        let new = offsets_of(change, &self.view.offsets, &places[specials.len()..])?;
        let added = specials.iter().zip(places);
        let added = added.map(|((nchunk, _), place)| (*nchunk, *place as i64));
        change.delta_with(&self.view.offsets, added, &new)
    }

    /// Writes what becomes of the offsets, with `added` where nothing is that counts, and bytes `over` others.
    pub(super) fn write_edit<'a>(
        &mut self,
        file: &dyn Storage,
        delta: Delta,
        added: &[ChunkWrite<'a>],
        over: &[ChunkWrite],
        next: Next,
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
        let dead = |(place, at, new): &ChunkWrite<'a>| (header_len + place + at, *new);
        writes.dead.extend(added.iter().map(dead))?;
        for (place, at, new) in over {
            writes.over(header_len + place + at, new)?;
        }
        let first_offset = self.index_pos() + EXTENDED_HEADER_LENGTH as u64;
        // Offsets that others replace, and those behind the last one, as bytes.
        let (from, new): (usize, List<u8>) = match &delta {
            Delta::Same => (count, List::new()),
            Delta::Push(offset) => (count, offset.to_le_bytes().to_list()?),
            Delta::Set(nchunk, offset) => (*nchunk, offset.to_le_bytes().to_list()?),
            Delta::From(from, list) => (*from, to_le_bytes(list.iter().copied())?),
            Delta::All(..) => return Err(Error::Failure),
        };
        let both = ((count - from) * WIDTH).min(new.len());
        let (over_live, behind) = new.split_at(both);
        let pos = first_offset + (from * WIDTH) as u64;
        if !behind.is_empty() {
            writes.dead.push((pos + both as u64, behind))?;
        }
        if !over_live.is_empty() {
            let before = from..from + both / WIDTH;
            let before = before.filter_map(|nchunk| self.view.offsets.get(nchunk));
            let (new, old) = (over_live, Some(to_le_bytes(before)?));
            writes.live.push(Overwrite { pos, new, old })?;
        }
        let sizes = stored_header(new_count)?;
        if new_count != count {
            writes.live.push(Overwrite {
                pos: self.index_pos() + INDEX_SIZES.start as u64,
                new: &sizes[INDEX_SIZES],
                old: Some(stored_header(count)?[INDEX_SIZES].to_list()?),
            })?;
        }
        let mut trailer = match next.trailer {
            Some(trailer) => trailer,
            None => self.view.trailer().to_list()?,
        };
        let trailer_pos = self.next_trailer_pos(new_count, trailer.len() as u64);
        let cbytes = match self.kind {
            Kind::Contiguous => extent.cbytes,
            Kind::Sparse => next.cbytes,
        };
        let frame_len = trailer_pos + trailer.len() as u64;
        set_extent(&mut writes.header, frame_len, cbytes);
        let offsets_crc = self.offsets_crc_after(&delta)?;
        let index_crc = match (self.view.checksums.is_any(), offsets_crc) {
            (true, None) => Some(self.index_crc_in(file)?),
            _ => offsets_crc.map(|crc| fingerprint::of_index_parts(&sizes, crc)),
        };
        fingerprint::stamp(
            self.view.checksums,
            index_crc,
            &mut writes.header,
            &mut trailer,
        );
        writes.dead.push((trailer_pos, &trailer))?;
        delta.reserve(&mut self.view.offsets)?;
        self.write(file, writes)?;
        self.view.trailer_len = trailer.len();
        self.view.tail = trailer;
        self.view.offsets_crc = offsets_crc;
        self.view.has_gap = true;
        delta.apply(&mut self.view.offsets)
    }

    /// Where the next trailer goes. It is never where the last one was: that the length of the frame changes tells
    /// readers without a lock, the reference's too, that there is something new.
    fn next_trailer_pos(&self, count: usize, len: u64) -> u64 {
        let extent = self.view.extent;
        let Some(capacity) = self.view.capacity else {
            return extent.frame_len;
        };
        let first = self.index_pos() + (EXTENDED_HEADER_LENGTH + capacity * WIDTH) as u64;
        let last = extent.frame_len - self.view.trailer_len as u64;
        let (part, least, most) = TRAILERS;
        let bytes = (extent.cbytes / part).clamp(least, most);
        let restart = first + (count as u64 * 13 + extent.frame_len) % (bytes / 2);
        if last > first + bytes + len && restart + len <= last {
            // Seldom the length that a reader remembers.
            restart
        } else {
            extent.frame_len
        }
    }
}
