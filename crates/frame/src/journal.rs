//! The undo record of a change under way, behind the end of a frame's file.
//!
//! A change first writes new bytes into free space, and behind all that a record of the bytes that
//! it is about to overwrite. Then it overwrites them. Finally it truncates the file to the new
//! length of the frame, which removes the record: this is the commit. As long as the file has a
//! complete record, the frame is still as before the change, and a handle that finds the record
//! reads the old bytes ([`overlay`]) or restores them ([`roll_back`]). Between two changes a file
//! ends where its frame ends. Other readers of the format ignore what is behind a frame.
//!
//! A record belongs to one frame. It begins where that frame ends before or after the change,
//! whichever is further. It has the position of the frame, its lengths before and after, and a hash
//! of its header before; and its patches lie within the old frame.

mod record;

use super::header::{Extent, Header};
use oxiblosc_base::memory::{ToTryVec, TryVec};
use oxiblosc_base::{Error, Result};
use oxiblosc_io::Storage;
use record::{END, END_MAGIC, FRONT, MIN_LEN, Parser};
pub use record::{Record, hash};

/// Bytes of a frame as they were before a change.
#[cfg_attr(test, derive(Clone))]
#[derive(Debug, PartialEq, Eq)]
pub struct Patch {
    /// Their position, in bytes from the start of the frame.
    pub pos: u64,
    /// The old bytes.
    pub bytes: TryVec<u8>,
}

impl Patch {
    /// The position behind its last byte.
    pub fn end(&self) -> u64 {
        self.pos + self.bytes.len() as u64
    }
}

/// Restores the old bytes in `bytes`, which were read at `pos` of the frame.
pub fn overlay(patches: &[Patch], pos: u64, bytes: &mut [u8]) {
    let end = pos + bytes.len() as u64;
    let first = patches.partition_point(|patch| patch.end() <= pos);
    for patch in patches[first..].iter().take_while(|patch| patch.pos < end) {
        let (from, to) = (patch.pos.max(pos), patch.end().min(end));
        bytes[(from - pos) as usize..(to - pos) as usize]
            .copy_from_slice(&patch.bytes[(from - patch.pos) as usize..(to - patch.pos) as usize]);
    }
}

/// The patches of a record in a file that is only read. They are valid as long as the record is
/// there.
pub struct Overlay {
    /// The old bytes, as in [`Record::patches`].
    pub patches: TryVec<Patch>,
    size: u64,
    end: [u8; END],
}

impl Overlay {
    /// As [`Record::find`].
    ///
    /// # Errors
    /// As for that.
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

/// The last bytes of a file of `size` bytes, which is long enough for a record.
fn read_end(file: &dyn Storage, size: u64) -> Result<[u8; END]> {
    let mut end = [0; END];
    file.read_at(size - END as u64, &mut end)?;
    Ok(end)
}

/// Reads `len` bytes of a file. Callers have checked that it is so long, as memory is allocated for
/// them.
///
/// # Errors
/// [`Error::MEMORY_ALLOC`], and those of reading.
fn read(file: &dyn Storage, pos: u64, len: usize) -> Result<TryVec<u8>> {
    let mut bytes = TryVec::filled(0, len)?;
    file.read_at(pos, &mut bytes)?;
    Ok(bytes)
}

impl Record {
    /// The record at the end of a file of `size` bytes, if there is one that is valid and belongs
    /// to the frame at `base`. Without `base` it may belong to any frame.
    ///
    /// # Errors
    /// [`oxiblosc_base::Error::MEMORY_ALLOC`], and those of reading.
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
        let prefix = read(file, pos, FRONT)?;
        let Some(prefix) = Self::decode_prefix(&mut Parser(&prefix), len as usize) else {
            return Ok(None);
        };
        if base.is_some_and(|base| prefix.base != base) || prefix.pos() != Some(pos) {
            return Ok(None);
        }
        let Some(record) = Self::decode(&read(file, pos, len as usize)?)? else {
            return Ok(None);
        };
        Ok(record.is_valid_in(file, size)?.then_some(record))
    }

    /// Whether the record was written for the frame in the file of `size` bytes: each byte of the
    /// frame's header is as it was before the change or as it is after it, and all patches lie in
    /// the frame.
    fn is_valid_in(&self, file: &dyn Storage, size: u64) -> Result<bool> {
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
        let mut header = now.to_try_vec()?;
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
        Ok(known && (0..now.len()).all(written) && !self.is_in_a_frame(file, size)?)
    }

    /// Whether another frame, perhaps an uncommitted one, begins where this one ends. Then what
    /// looks like a record is a part of that frame, as this library does not change a frame that
    /// has another one behind it.
    fn is_in_a_frame(&self, file: &dyn Storage, size: u64) -> Result<bool> {
        let mut prefix = [0; super::header::MIN_LEN];
        let pos = self.base + self.old_len;
        if self.new_len < self.old_len + prefix.len() as u64 {
            return Ok(false);
        }
        file.read_at(pos, &mut prefix)?;
        let fits = |extent: Extent| extent.frame_len <= size - pos;
        let begins = Header::has_magic(&prefix) || Header::is_uncommitted(&prefix);
        Ok(begins && Extent::parse(&prefix).is_ok_and(fits))
    }
}

/// Rolls back a change that was not committed, if the file has its record: restores the frame at
/// `base`, or any if that is none, as it was before the change. Returns whether it did. The caller
/// has locked the file against changes. The record may be that of a change which goes on, by a
/// process that has got another kind of lock; so every kind is taken here.
///
/// # Errors
/// [`Error::LOCK`] if not all kinds of locks can be had; those of reading and writing. Then the
/// record stays.
pub fn roll_back(file: &dyn Storage, base: Option<u64>, durable: bool) -> Result<bool> {
    let find = || Record::find(file, file.size()?, base);
    if find()?.is_none() {
        return Ok(false);
    }
    if !file.complete_lock() {
        return Err(Error::LOCK);
    }
    // That change may have come to its end before all locks were there.
    let Some(record) = find()? else {
        return Ok(false);
    };
    put_back(file, record.base, durable, &record.patches)?;
    file.truncate(record.base + record.old_len)?;
    if durable {
        file.sync()?;
    }
    Ok(true)
}

/// Writes the old bytes over the new ones.
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
