//! The undo record of a change under way, behind the end of a frame's file.
//!
//! A change first writes new bytes into free room, and behind all that a record of the bytes that it is about to overwrite. Then it
//! overwrites them. Then it cuts the file to the new length of the frame, which cuts off the record. That cut is the commit: as long as the
//! record is complete, the frame counts as it was before the change, and a handle that finds the record reads the old bytes ([`overlay`]) or
//! puts them back ([`roll_back`]). Between two changes a file ends where its frame ends. Other readers of the format do not look behind the
//! end of a frame.
//!
//! A record belongs to one frame. It begins where that frame ends before or after the change, whichever is further. It has the position of
//! the frame, its lengths before and after, and a hash of its header before; and its patches lie within the old frame.

mod record;

use super::header::{Extent, Header};
use oxiblosc_error::Result;
use oxiblosc_io::Storage;
use oxiblosc_memory::{List, ToList};
use record::{END, END_MAGIC, FRONT, MIN_LEN, Parser};
pub use record::{Record, hash};

/// Bytes of a frame as they are before a change.
#[cfg_attr(test, derive(Clone))]
#[derive(Debug, PartialEq, Eq)]
pub struct Patch {
    /// Where, from the start of the frame.
    pub pos: u64,
    /// What.
    pub bytes: List<u8>,
}

impl Patch {
    /// Behind its last byte.
    fn end(&self) -> u64 {
        self.pos + self.bytes.len() as u64
    }
}

/// Writes what `patches` have over `bytes`, which were read at `pos`.
pub fn overlay(patches: &[Patch], pos: u64, bytes: &mut [u8]) {
    let end = pos + bytes.len() as u64;
    let first = patches.partition_point(|patch| patch.end() <= pos);
    for patch in patches[first..].iter().take_while(|patch| patch.pos < end) {
        let (from, to) = (patch.pos.max(pos), patch.end().min(end));
        bytes[(from - pos) as usize..(to - pos) as usize]
            .copy_from_slice(&patch.bytes[(from - patch.pos) as usize..(to - patch.pos) as usize]);
    }
}

/// The patches of a record in a file that is only read. They count as long as the record is there.
pub struct Overlay {
    /// What was overwritten, as in a record.
    pub patches: List<Patch>,
    size: u64,
    end: [u8; END],
}

impl Overlay {
    /// As [`Record::find`].
    ///
    /// # Errors
    /// Those of that.
    pub fn find(file: &dyn Storage, size: u64, base: u64) -> Result<Option<Self>> {
        if size < MIN_LEN as u64 {
            return Ok(None);
        }
        let end = read_end(file, size)?;
        let found = Record::find_by(end, file, size, Some(base))?;
        Ok(found.map(|record| Self {
            patches: record.patches,
            size,
            end,
        }))
    }

    /// Whether the record is still there.
    pub fn is_in(&self, file: &dyn Storage) -> bool {
        file.size() == Ok(self.size) && read_end(file, self.size) == Ok(self.end)
    }
}

/// The last bytes of a file that is long enough for a record.
fn read_end(file: &dyn Storage, size: u64) -> Result<[u8; END]> {
    let mut end = [0; END];
    file.read_at(size - END as u64, &mut end)?;
    Ok(end)
}

/// So many bytes of a file, which has them.
///
/// # Errors
/// [`oxiblosc_error::Error::MemoryAlloc`], and those of reading.
fn read(file: &dyn Storage, pos: u64, len: usize) -> Result<List<u8>> {
    let mut bytes = List::filled(0, len)?;
    file.read_at(pos, &mut bytes)?;
    Ok(bytes)
}

impl Record {
    /// The record at the end of a file of `size` bytes that belongs to the frame at `base`, or to any, if there is one and it
    /// counts.
    ///
    /// # Errors
    /// [`oxiblosc_error::Error::MemoryAlloc`], and those of reading.
    pub fn find(file: &dyn Storage, size: u64, base: Option<u64>) -> Result<Option<Self>> {
        match size >= MIN_LEN as u64 {
            true => Self::find_by(read_end(file, size)?, file, size, base),
            false => Ok(None),
        }
    }

    fn find_by(
        end: [u8; END],
        file: &dyn Storage,
        size: u64,
        base: Option<u64>,
    ) -> Result<Option<Self>> {
        let [.., a, b, c, d, _, _, _, _] = end;
        let len = u64::from(u32::from_le_bytes([a, b, c, d]));
        if end[12..] != *END_MAGIC || len < MIN_LEN as u64 || len > size {
            return Ok(None);
        }
        // The front is checked before memory is allocated for the whole record.
        let pos = size - len;
        let front = read(file, pos, FRONT)?;
        let Some(front) = Self::decode_front(&mut Parser(&front), len as usize) else {
            return Ok(None);
        };
        if base.is_some_and(|base| front.base != base) || front.pos() != Some(pos) {
            return Ok(None);
        }
        let Some(record) = Self::decode(&read(file, pos, len as usize)?)? else {
            return Ok(None);
        };
        Ok(record.counts_in(file)?.then_some(record))
    }

    /// Whether the record was written for the frame that is in the file: its header is the one before the change, or the
    /// one after it as far as it was written, and no patch reaches out of the frame.
    fn counts_in(&self, file: &dyn Storage) -> Result<bool> {
        let mut end = 0;
        for patch in &self.patches {
            let patch_end = patch.pos.checked_add(patch.bytes.len() as u64);
            match patch_end {
                Some(patch_end)
                    if patch.pos >= end && patch_end > patch.pos && patch_end <= self.old_len =>
                {
                    end = patch_end;
                }
                _ => return Ok(false),
            }
        }
        if u64::from(self.header_len) > self.old_len {
            return Ok(false);
        }
        let now = read(file, self.base, self.header_len as usize)?;
        let mut header = now.to_list()?;
        overlay(&self.patches, 0, &mut header);
        if hash(&header) != self.header_hash || !Header::has_magic(&header) {
            return Ok(false);
        }
        let known = Extent::parse(&header).is_ok_and(|extent| {
            extent.frame_len == self.old_len && extent.header_len == self.header_len
        });
        let at = self.changed_pos as usize;
        let written = |i: usize| {
            let new = i.checked_sub(at).and_then(|i| self.changed.get(i));
            now[i] == header[i] || new == Some(&now[i])
        };
        Ok(known && (0..now.len()).all(written) && !self.hides_a_frame(file)?)
    }

    /// Whether another frame, or a part of it, begins where this one ends. Then what looks like a record is part of that frame: this library
    /// does not change a frame that has another one behind it.
    fn hides_a_frame(&self, file: &dyn Storage) -> Result<bool> {
        let mut front = [0; super::header::MIN_LEN];
        let pos = self.base + self.old_len;
        if self.new_len < self.old_len + front.len() as u64 {
            return Ok(false);
        }
        file.read_at(pos, &mut front)?;
        let fits = |extent: Extent| extent.frame_len <= file.size().unwrap_or(0) - pos;
        let begins = Header::has_magic(&front) || Header::is_uncommitted(&front);
        Ok(begins && Extent::parse(&front).is_ok_and(fits))
    }
}

/// If the file has the record of a change that was not committed, restores the frame at `base`, or the one that ends where the file does, as
/// it was before the change. Gives whether it did. No other process may change the file meanwhile. With `only`, a record of another file than this (device and inode) does not count:
/// such a file is a copy, which its reader leaves as it is.
///
/// # Errors
/// Those of reading and writing; then the record stays.
pub fn roll_back(
    file: &dyn Storage,
    base: Option<u64>,
    durable: bool,
    only: Option<(u64, u64)>,
) -> Result<bool> {
    let Some(record) = Record::find(file, file.size()?, base)? else {
        return Ok(false);
    };
    if only.is_some() && record.identity != only {
        return Ok(false);
    }
    put_back(file, record.base, durable, &record.patches)?;
    file.truncate(record.base + record.old_len)?;
    if durable {
        file.sync()?;
    }
    Ok(true)
}

/// Writes the old bytes back.
///
/// # Errors
/// Those of writing.
pub fn put_back(file: &dyn Storage, base: u64, durable: bool, patches: &[Patch]) -> Result<()> {
    for patch in patches {
        file.write_at(base + patch.pos, &patch.bytes)?;
    }
    if durable {
        file.sync()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patches_lie_over_what_is_read() {
        let patches = [Patch {
            pos: 10,
            bytes: vec![1, 2, 3, 4].into(),
        }];
        for (pos, expected) in [
            (0, [0; 6]),
            (6, [0, 0, 0, 0, 1, 2]),
            (9, [0, 1, 2, 3, 4, 0]),
            (12, [3, 4, 0, 0, 0, 0]),
            (14, [0; 6]),
        ] {
            let mut bytes = [0; 6];
            overlay(&patches, pos, &mut bytes);
            assert_eq!(bytes, expected, "{pos}");
        }
    }
}
