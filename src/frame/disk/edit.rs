//! What a change of chunks writes, and where.

use super::Disk;
use super::commit::{Next, Writes};
use super::load::Image;
use super::places::{Piece, tail_of};
use crate::chunk::header::{EXTENDED_HEADER_LENGTH, MIN_HEADER_LENGTH};
use crate::error::{Error, Result};
use crate::frame::change::{Change, Delta, Item};
use crate::frame::header::{Kind, set_extent};
use crate::frame::journal::Patch;
use crate::frame::offsets::{Offsets, WIDTH, stored_header};
use crate::frame::space::Space;
use crate::io::Storage;

/// The least room before an index that can grow, and the most.
const SLACK: (u64, u64) = (64 << 10, 64 << 20);
/// The least room for offsets in it.
const MIN_CAPACITY: usize = 1024;
/// Behind an index, trailers follow one another over this many bytes, and that many of their own lengths, before they
/// start again.
const TRAILERS: (u64, u64) = (1 << 20, 8);
/// With fewer chunks than this a frame is kept in order at every append of no more bytes than that: it costs no more than to
/// make room, and who copies the file meanwhile gets what closing it would leave.
const IN_ORDER: (usize, usize) = (32, 128 << 10);
/// The part of an index's header that depends on the number of offsets: its sizes.
const INDEX_SIZES: std::ops::Range<usize> = 4..MIN_HEADER_LENGTH;

fn stored<'a>(item: &Item<'a>) -> Option<&'a [u8]> {
    match item {
        Item::Stored(chunk) => Some(chunk),
        Item::Special(_) | Item::Edited(_) => None,
    }
}

/// The offsets of the chunks that come in; `places` are those of the stored ones among them, and those that stay where they
/// are have one in `offsets`.
fn offsets_of(change: &Change, offsets: &Offsets, places: &[u64]) -> Vec<i64> {
    let mut places = places.iter();
    let offset = |(i, item): (usize, &Item)| match (item, change) {
        (Item::Special(place), _) => Some(place.to_offset()),
        (Item::Stored(_), _) => places.next().map(|place| *place as i64),
        (Item::Edited(_), Change::Update(items)) => offsets.get(items[i].0),
        (Item::Edited(_), _) => None,
    };
    change
        .items()
        .iter()
        .enumerate()
        .filter_map(offset)
        .collect()
}

/// Chunks that became part of the frame: their index among the new ones, and their bytes.
pub type Specials = [(usize, Vec<u8>)];

impl Disk {
    /// Applies a change, for good. If it fails, the frame is as it was. `specials` are chunks that had no place until now
    /// because their offsets told all, and that get one before the change: their numbers before it, and their bytes.
    pub fn commit(&mut self, change: &Change, specials: &Specials, next: Next) -> Result<()> {
        let result = self.change(change, specials, next);
        if result.is_ok() && self.kind == Kind::Sparse && !change.leaves().is_empty() {
            // The change is done; where this cannot be, only the reference minds.
            let _ = self.lower_numbers();
        }
        if self.is_lost() {
            self.writer = None;
            self.stale = true;
        }
        result
    }

    /// Whether nobody knows what is in the file.
    fn is_lost(&self) -> bool {
        self.writer
            .as_ref()
            .is_some_and(|writer| writer.size == u64::MAX)
    }

    pub(super) fn change(
        &mut self,
        change: &Change,
        specials: &Specials,
        next: Next,
    ) -> Result<()> {
        let file = self.prepare()?;
        let count = self.view.offsets.len();
        change.check(&self.view.offsets)?;
        let longer = next.header.len() != self.view.header.len();
        if longer && self.view.offsets.places().next().is_some() {
            return Err(Error::InvalidParam);
        }
        let emptied = count > 0 && change.count(count) == 0;
        if longer || emptied || count == 0 {
            return self.rewrite(&*file, change, next, 0);
        }
        if specials.is_empty() && self.keeps_order(change) {
            let end = self.writer.as_ref().map_or(0, |writer| writer.space.end());
            return self.rewrite(&*file, change, next, end);
        }
        self.edit(&*file, change, specials, next)
    }

    /// Whether the frame is in order, and to be so after the change.
    fn keeps_order(&self, change: &Change) -> bool {
        let (count, bytes) = IN_ORDER;
        let small = match change {
            Change::Append(Item::Stored(chunk)) => chunk.len() <= bytes,
            Change::Append(Item::Special(_)) => true,
            _ => false,
        };
        small && !self.view.untidy && self.view.offsets.len() < count
    }

    /// Applies a change and leaves the frame in order, with the chunks that come in `base` bytes behind the header: an
    /// append behind all other chunks, or one to a frame that had no stored chunks or will have none. The reference looks
    /// for the trailer of an empty frame right behind the header, so such a frame must be in order all the time.
    fn rewrite(
        &mut self,
        file: &dyn Storage,
        change: &Change,
        next: Next,
        base: u64,
    ) -> Result<()> {
        let leaves = self.leaves(change)?;
        let chunks: Vec<&[u8]> = change.items().iter().filter_map(stored).collect();
        let places = match self.kind {
            Kind::Contiguous => {
                let lens = chunks.iter().map(|chunk| chunk.len() as u64);
                let ends = lens.scan(base, |end, len| {
                    *end += len;
                    Some(*end - len)
                });
                ends.collect()
            }
            Kind::Sparse => self.place(change, &chunks, next.cbytes)?,
        };
        let mut offsets = self.view.offsets.clone();
        let new = offsets_of(change, &offsets, &places);
        change.delta(&offsets, &new)?.apply(&mut offsets)?;
        let data = match self.kind {
            Kind::Contiguous => chunks.concat(),
            Kind::Sparse => Vec::new(),
        };
        let end = base + data.len() as u64;
        if let Err(error) = self.replace(file, next, offsets, end, &data) {
            if !self.is_lost() {
                self.unplace(&chunks, &places);
            }
            return Err(error);
        }
        if let Some(writer) = &mut self.writer {
            if base == 0 {
                writer.space = Space::new(end);
                writer.surveyed = false;
            } else {
                writer.space.take(base, end - base);
            }
        }
        if self.kind == Kind::Sparse {
            self.drop_left(&leaves);
        }
        Ok(())
    }

    /// Writes header, index and trailer as the format's documents show them, with the index `data_end` bytes behind the
    /// header of a contiguous frame. The last of those bytes may be `data`, which are written as well.
    fn replace(
        &mut self,
        file: &dyn Storage,
        next: Next,
        offsets: Offsets,
        data_end: u64,
        data: &[u8],
    ) -> Result<()> {
        let trailer = next.trailer.as_ref().unwrap_or(&self.view.trailer);
        let image = Image::from_parts(
            self.kind,
            next.header,
            trailer,
            &offsets,
            data_end,
            next.cbytes,
        )?;
        let frame_len = image.frame_len();
        let pos = image.body_pos - data.len() as u64;
        let bytes = [data, &image.body].concat();
        let end = self.writer.as_ref().map_or(0, |writer| writer.space.end());
        let chunks_end = u64::from(self.view.extent.header_len) + end;
        let index_pos = self.index_pos().min(self.trailer_pos());
        let over_index = pos < self.view.extent.frame_len && frame_len > index_pos;
        let mut writes = Writes {
            header: image.header,
            ..Writes::default()
        };
        if pos < chunks_end || over_index {
            writes.live.push((Patch { pos, bytes }, None));
        } else {
            writes.dead.push((pos, &bytes));
        }
        self.write(file, writes)?;
        self.view.trailer = image.body[image.body.len() - image.trailer_len..].to_vec();
        self.view.offsets = offsets;
        self.view.capacity = None;
        self.view.untidy = false;
        // A long record is cut off already, and to do it again takes longer than a write.
        if self
            .writer
            .as_ref()
            .is_none_or(|writer| writer.size != frame_len)
        {
            self.forget_record(file, frame_len);
        }
        Ok(())
    }

    /// Where the trailer begins.
    fn trailer_pos(&self) -> u64 {
        self.view.extent.frame_len - self.view.trailer.len() as u64
    }

    /// Puts the frame in order.
    pub(super) fn tidy(&mut self) -> Result<()> {
        let file = self.prepare()?;
        if !self.view.untidy {
            // Another handle has been here.
            return Ok(());
        }
        self.compact(&*file)?;
        let Some(writer) = &self.writer else {
            return Ok(());
        };
        let end = writer.space.end();
        self.replace(
            &*file,
            self.unchanged(),
            self.view.offsets.clone(),
            end,
            &[],
        )
    }

    /// Header and trailer as they are.
    pub(super) fn unchanged(&self) -> Next {
        Next {
            header: self.view.header.clone(),
            trailer: None,
            cbytes: self.view.extent.cbytes,
        }
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

    /// Finds room for a chunk of `len` bytes and `count` offsets, moving the index if it must.
    pub(super) fn make_room(&mut self, file: &dyn Storage, count: usize, len: u64) -> Result<()> {
        let room = self.index_pos() - u64::from(self.view.extent.header_len);
        let Some(writer) = &self.writer else {
            return Err(Error::Failure);
        };
        let fits = self.kind == Kind::Sparse || writer.space.find(len, room).is_some();
        if fits && self.view.capacity.is_some_and(|capacity| capacity >= count) {
            return Ok(());
        }
        let header_len = u64::from(self.view.extent.header_len);
        let index = self.view.offsets.encode_stored()?;
        let capacity = (count + count / 2).max(MIN_CAPACITY);
        let index_len = (EXTENDED_HEADER_LENGTH + capacity * WIDTH) as u64;
        let frame_len = self.view.extent.frame_len;
        let mut writes = Writes {
            header: self.view.header.clone(),
            ..Writes::default()
        };
        let (index_pos, cbytes) = match self.kind {
            Kind::Contiguous => {
                let end = writer.space.end();
                let slack = (end / 8).clamp(SLACK.0, SLACK.1).max(2 * len);
                let pos = frame_len.max(header_len + end) + slack;
                writes.dead.push((pos, &index));
                (pos, pos - header_len)
            }
            Kind::Sparse => {
                let patch = Patch {
                    pos: header_len,
                    bytes: index.clone(),
                };
                writes.live.push((patch, None));
                (header_len, self.view.extent.cbytes)
            }
        };
        let trailer = self.view.trailer.clone();
        let trailer_pos = (index_pos + index_len).max(frame_len);
        set_extent(
            &mut writes.header,
            trailer_pos + trailer.len() as u64,
            cbytes,
        );
        writes.trailer = Some((trailer_pos, &trailer));
        self.write(file, writes)?;
        self.view.capacity = Some(capacity);
        self.view.untidy = true;
        Ok(())
    }

    fn edit(
        &mut self,
        file: &dyn Storage,
        change: &Change,
        specials: &Specials,
        next: Next,
    ) -> Result<()> {
        let leaves = self.leaves(change)?;
        let mut chunks: Vec<&[u8]> = specials.iter().map(|(_, chunk)| &chunk[..]).collect();
        chunks.extend(change.items().iter().filter_map(stored));
        let lens = chunks.iter().map(|chunk| chunk.len() as u64);
        let bytes: u64 = lens.map(|len| len + tail_of(change, len)).sum();
        let count = self.view.offsets.len();
        if !matches!(change, Change::Nothing) || !specials.is_empty() {
            let most = change.count(count).max(count);
            self.make_room(file, most + 1, bytes)?;
        }
        let places = self.place(change, &chunks, next.cbytes)?;
        let written = self.delta(change, specials, &places).and_then(|delta| {
            let pieces = chunks.iter().zip(&places);
            let mut pieces = match self.kind {
                Kind::Contiguous => pieces.map(|(chunk, place)| (*place, 0, *chunk)).collect(),
                Kind::Sparse => Vec::new(),
            };
            let new = pieces.len();
            let done = self
                .grow(change, &mut pieces)
                .and_then(|over| self.write_edit(file, delta, &pieces, over, next));
            if let (Err(_), Some(writer)) = (&done, &mut self.writer) {
                for (place, _, grown) in &pieces[new..] {
                    writer.space.shrink(*place, grown.len() as u64);
                }
            }
            done
        });
        if let Err(error) = written {
            // Where the change could not be undone, its record still speaks of the chunks.
            if !self.is_lost() {
                self.unplace(&chunks, &places);
            }
            return Err(error);
        }
        self.drop_left(&leaves);
        Ok(())
    }

    fn delta(&self, change: &Change, specials: &Specials, places: &[u64]) -> Result<Delta> {
        let new = offsets_of(change, &self.view.offsets, &places[specials.len()..]);
        if specials.is_empty() {
            return change.delta(&self.view.offsets, &new);
        }
        let mut offsets = self.view.offsets.clone();
        let list = offsets.list_mut()?;
        for ((nchunk, _), place) in specials.iter().zip(places) {
            *list.get_mut(*nchunk).ok_or(Error::InvalidParam)? = *place as i64;
        }
        change.delta(&offsets, &new)?.apply(&mut offsets)?;
        Ok(Delta::From(0, offsets.iter().collect()))
    }

    /// Writes what becomes of the offsets, with `pieces` where nothing is that counts, and bytes `over` others.
    pub(super) fn write_edit(
        &mut self,
        file: &dyn Storage,
        delta: Delta,
        pieces: &[Piece],
        over: Vec<Patch>,
        next: Next,
    ) -> Result<()> {
        let extent = self.view.extent;
        let count = self.view.offsets.len();
        let new_count = delta.count(count);
        let mut writes = Writes {
            header: next.header,
            ..Writes::default()
        };
        let header_len = u64::from(extent.header_len);
        for (place, at, bytes) in pieces {
            writes.dead.push((header_len + place + at, bytes));
        }
        for patch in over {
            writes.live.push((patch, None));
        }
        let first_offset = self.index_pos() + EXTENDED_HEADER_LENGTH as u64;
        // Offsets that others replace, and those behind the last one, as bytes.
        let (from, new): (usize, Vec<u8>) = match &delta {
            Delta::Same => (count, Vec::new()),
            Delta::Push(offset) => (count, offset.to_le_bytes().to_vec()),
            Delta::Set(nchunk, offset) => (*nchunk, offset.to_le_bytes().to_vec()),
            Delta::From(from, list) => (
                *from,
                list.iter()
                    .flat_map(|offset| offset.to_le_bytes())
                    .collect(),
            ),
            Delta::All(..) => return Err(Error::Failure),
        };
        let over = ((count - from) * WIDTH).min(new.len());
        let (over_live, behind) = new.split_at(over);
        let pos = first_offset + (from * WIDTH) as u64;
        if !behind.is_empty() {
            writes.dead.push((pos + over as u64, behind));
        }
        if !over_live.is_empty() {
            let before = (from..from + over / WIDTH)
                .filter_map(|nchunk| self.view.offsets.get(nchunk))
                .flat_map(i64::to_le_bytes)
                .collect();
            let patch = Patch {
                pos,
                bytes: over_live.to_vec(),
            };
            writes.live.push((patch, Some(before)));
        }
        if new_count != count {
            let patch = Patch {
                pos: self.index_pos() + INDEX_SIZES.start as u64,
                bytes: stored_header(new_count)?[INDEX_SIZES].to_vec(),
            };
            let before = stored_header(count)?[INDEX_SIZES].to_vec();
            writes.live.push((patch, Some(before)));
        }
        let trailer = next.trailer.unwrap_or_else(|| self.view.trailer.clone());
        let trailer_pos = self.next_trailer_pos(new_count, trailer.len() as u64);
        let frame_len = trailer_pos + trailer.len() as u64;
        writes.trailer = Some((trailer_pos, &trailer));
        let cbytes = match self.kind {
            Kind::Contiguous => extent.cbytes,
            Kind::Sparse => next.cbytes,
        };
        set_extent(&mut writes.header, frame_len, cbytes);
        self.write(file, writes)?;
        self.view.trailer = trailer;
        self.view.untidy = true;
        if trailer_pos < extent.frame_len {
            // Records are written up to the end of the file, which is now far behind the frame.
            self.forget_record(file, frame_len);
        }
        delta.apply(&mut self.view.offsets)
    }

    /// Where the next trailer goes. It is never where the last one was: that the length of the frame changes tells
    /// readers without a lock that there is something new.
    fn next_trailer_pos(&self, count: usize, len: u64) -> u64 {
        let extent = self.view.extent;
        let Some(capacity) = self.view.capacity else {
            return extent.frame_len;
        };
        let first = self.index_pos() + (EXTENDED_HEADER_LENGTH + capacity * WIDTH) as u64;
        let last = extent.frame_len - self.view.trailer.len() as u64;
        let (bytes, lengths) = TRAILERS;
        if last > first + bytes + lengths * len {
            // Seldom the length that a reader remembers.
            first + (count as u64 * 13 + extent.frame_len) % (bytes / 2)
        } else {
            extent.frame_len
        }
    }
}
