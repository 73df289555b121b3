//! The uncompressed index of a large frame, with free space behind it, and where the trailers
//! behind it are written.

use super::Disk;
use super::commit::{Overwrite, Writes};
use super::limits::{Share, slack};
use crate::binding::Binding;
use crate::change::Delta;
use crate::fingerprint;
use crate::header::{Extent, FrameKind, set_extent};
use crate::offsets::WIDTH;
use oxiblosc_base::memory::{ToTryVec, TryVec};
use oxiblosc_base::{Error, Result};
use oxiblosc_chunk::checksum::{crc32c, extended};
use oxiblosc_chunk::header::{ChunkHeader, EXTENDED_HEADER_LENGTH};
use oxiblosc_io::Storage;

/// An index has free space for so many more offsets, of their number.
const SPARE_OFFSETS: Share = Share {
    divisor: 32,
    least: 64,
    most: u64::MAX,
};
/// Each new trailer is written behind the last one, until they occupy this part of the chunks'
/// bytes. Then the next one is written near the index again.
const TRAILERS: Share = Share {
    divisor: 256,
    least: 4 << 10,
    most: 1 << 20,
};

/// Offsets in the format of an index.
fn to_le_bytes(offsets: impl Iterator<Item = i64>) -> Result<TryVec<u8>> {
    let mut bytes = TryVec::with_capacity(offsets.size_hint().0.saturating_mul(WIDTH))?;
    for offset in offsets {
        bytes.extend_from_slice(&offset.to_le_bytes())?;
    }
    Ok(bytes)
}

/// The offsets that a change writes into an index of `count` offsets: the position of the first
/// one, and their bytes.
pub(super) fn new_offsets(delta: &Delta, count: usize) -> Result<(usize, TryVec<u8>)> {
    Ok(match delta {
        Delta::Same => (count, TryVec::new()),
        Delta::Push(offset) => (count, offset.to_le_bytes().to_try_vec()?),
        Delta::Set(nchunk, offset) => (*nchunk, offset.to_le_bytes().to_try_vec()?),
        Delta::From(from, list) => (*from, to_le_bytes(list.iter().copied())?),
        Delta::Runs(..) | Delta::Sets(_) | Delta::Splice(..) => return Err(Error::FAILURE),
    })
}

impl Disk {
    /// Where the index begins, in bytes from the start of the frame.
    pub(super) fn index_pos(&self) -> u64 {
        let extent = self.view.extent;
        u64::from(extent.header_len)
            + match self.location.kind {
                FrameKind::Contiguous => extent.cbytes,
                FrameKind::Sparse => 0,
            }
    }

    /// Makes sure that there is free space for chunks of `len` bytes, and for `count` offsets in
    /// all. Moves the index if necessary.
    pub(super) fn make_room(&mut self, file: &dyn Storage, count: usize, len: u64) -> Result<()> {
        let header_len = u64::from(self.view.extent.header_len);
        let room = self.index_pos() - header_len;
        let end = self.free_list().end();
        let fits = self.location.kind == FrameKind::Sparse || end.saturating_add(len) <= room;
        if fits && self.view.capacity.is_some_and(|capacity| capacity >= count) {
            return Ok(());
        }
        self.move_index(file, count, len)
    }

    /// Moves the index of a large frame so that there is free space before it for chunks of `len`
    /// bytes, and in it for `count` offsets in all and some more.
    pub(super) fn move_index(&mut self, file: &dyn Storage, count: usize, len: u64) -> Result<()> {
        let header_len = u64::from(self.view.extent.header_len);
        let mut index = self.view.offsets.encode_stored()?;
        Binding::write(self.view.binding, &mut index);
        let capacity = count + SPARE_OFFSETS.of(count as u64) as usize;
        let mut writes = Writes {
            header: self.view.header.try_clone()?,
            ..Writes::default()
        };
        let mut trailer = self.view.trailer().to_try_vec()?;
        let trailer_len = trailer.len() as u64;
        let (pos, trailer_pos) = self.positions_of_index(capacity, trailer_len, len);
        let new = &index[..];
        let cbytes = match self.location.kind {
            FrameKind::Contiguous => {
                writes.dead.push((pos, new))?;
                pos - header_len
            }
            FrameKind::Sparse => {
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
        let index_crc = offsets_crc.map(|_| fingerprint::of_index(&index));
        fingerprint::write(
            self.view.checksums,
            index_crc,
            Some(self.view.next_stamp()),
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

    /// Where an index with space for `capacity` offsets is to begin, so that chunks of `len` bytes
    /// fit before it, and where the trailer behind it begins.
    fn positions_of_index(&self, capacity: usize, trailer_len: u64, len: u64) -> (u64, u64) {
        let Extent {
            header_len,
            frame_len,
            ..
        } = self.view.extent;
        let index_len = (EXTENDED_HEADER_LENGTH + capacity * WIDTH) as u64;
        let (header_len, end) = (u64::from(header_len), self.free_list().end());
        if self.location.kind == FrameKind::Sparse {
            return (header_len, (header_len + index_len).max(frame_len));
        }
        // The old index and trailer must not be overwritten before the new ones are complete. So
        // the new ones are written before them or, if they do not fit there, behind them.
        let pos = header_len + end + len + slack(end);
        let fits = pos + index_len + trailer_len <= self.index_pos();
        let pos = if fits { pos } else { pos.max(frame_len) };
        (pos, pos + index_len)
    }

    /// The checksum of an index that a change leaves as it is.
    pub(super) fn index_crc(&self, file: &dyn Storage) -> Result<u32> {
        if let Some(sums) = fingerprint::sums(self.view.trailer()) {
            // If the index was damaged since it was read, its next reader has to notice that.
            return Ok(sums.index);
        }
        let pos = self.index_pos();
        let mut prefix = [0; EXTENDED_HEADER_LENGTH];
        file.read_at(self.location.base + pos, &mut prefix)?;
        let len = ChunkHeader::parse(&prefix)?.cbytes;
        if pos.saturating_add(len as u64) > self.view.extent.frame_len {
            return Err(Error::INVALID_HEADER);
        }
        let mut index = TryVec::filled(0, len)?;
        file.read_at(self.location.base + pos, &mut index)?;
        Ok(fingerprint::of_index(&index))
    }

    /// The checksum of the offsets after a change, if the frame has checksums and its index is
    /// uncompressed.
    pub(super) fn offsets_crc_after(&self, delta: &Delta) -> Result<Option<u32>> {
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
                let old = offsets.get(*nchunk).ok_or(Error::FAILURE)?.to_le_bytes();
                let behind = (offsets.len() - nchunk - 1) * WIDTH;
                fingerprint::replace_eight(before, old, offset.to_le_bytes(), behind)
            }
            Delta::From(from, list) => {
                let kept = offsets.iter().take(*from);
                crc32c(&to_le_bytes(kept.chain(list.iter().copied()))?)
            }
            Delta::Runs(..) | Delta::Sets(_) | Delta::Splice(..) => return Err(Error::FAILURE),
        }))
    }

    /// Adds writes of offsets, from position `from` on: over those that are there, and behind the
    /// last one.
    pub(super) fn write_offsets<'w>(
        &self,
        writes: &mut Writes<'w>,
        from: usize,
        new: &'w [u8],
    ) -> Result<()> {
        let count = self.view.offsets.len();
        let both = ((count - from) * WIDTH).min(new.len());
        let (over_live, behind) = new.split_at(both);
        let pos = self.index_pos() + (EXTENDED_HEADER_LENGTH + from * WIDTH) as u64;
        if !behind.is_empty() {
            writes.dead.push((pos + both as u64, behind))?;
        }
        if !over_live.is_empty() {
            let before = from..from + both / WIDTH;
            let before = before.filter_map(|nchunk| self.view.offsets.get(nchunk));
            let (new, old) = (over_live, Some(to_le_bytes(before)?));
            writes.live.push(Overwrite { pos, new, old })?;
        }
        Ok(())
    }

    /// Where the next trailer, of `len` bytes, is written: never where the last one was. So the
    /// length of the frame changes, by which readers without a lock, also those of the reference,
    /// notice the change. The frame has `count` chunks.
    pub(super) fn next_trailer_pos(&self, count: usize, len: u64) -> u64 {
        let extent = self.view.extent;
        let Some(capacity) = self.view.capacity else {
            return extent.frame_len;
        };
        let first = self.index_pos() + (EXTENDED_HEADER_LENGTH + capacity * WIDTH) as u64;
        let last = extent.frame_len - self.view.trailer_len as u64;
        let bytes = TRAILERS.of(extent.cbytes);
        let restart = first + (count as u64 * 13 + extent.frame_len) % (bytes / 2);
        if last > first + bytes + len && restart + len <= last {
            // This depends on the state, so that the frame seldom has a length that a reader
            // remembers from an earlier state.
            restart
        } else {
            extent.frame_len
        }
    }
}
