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
//!
//! A record: magic; bytes in all (u32); device and inode of the file (2 u64, 0 where there are none); where the frame begins
//! in the file (u64); length of the frame before and after (2 u64); length (u32) and hash (u64) of the header before;
//! position (u32) and length (u32) of what changes in it, and these bytes after the change; number of patches (u32); each
//! patch: position in the frame (u64), length (u32), old bytes; hash of all that (u64); bytes in all (u32); magic.
//! Little-endian.
//!
//! The old bytes in a record may contain something that looks like a frame or another record. Such a record is masked: it has another magic,
//! a mask (u64) after the position of what changes in the header, and everything from there to the hash is combined with the mask by
//! exclusive or.

use super::header::{Extent, Header};
use super::leftovers::has_magic;
use oxiblosc_error::{Error, Result};
use oxiblosc_io::Storage;
use oxiblosc_memory::{List, ToList};

const FRONT_MAGIC: &[u8; 8] = b"oxb2jnl\x02";
/// Of a record that is masked.
const MASKED_MAGIC: &[u8; 8] = b"oxb2jnl\x03";
const END_MAGIC: &[u8; 4] = b"\x02jnl";
/// Everything before the bytes of the header.
const FRONT: usize = 8 + 4 + 8 + 8 + 8 + 8 + 8 + 4 + 8 + 4 + 4;
/// Hash, size, magic.
const END: usize = 8 + 4 + 4;
/// Bytes of the shortest record, which has no patch.
const MIN_LEN: usize = FRONT + 4 + END;
/// Position and length of a patch.
const PATCH_FRONT: usize = 8 + 4;
/// Bytes of a mask.
const MASK: usize = 8;

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

/// What a change is about to overwrite.
#[cfg_attr(test, derive(Clone))]
#[derive(Debug, PartialEq, Eq)]
pub struct Record {
    /// Device and inode of the file, where there are such things.
    pub identity: Option<(u64, u64)>,
    /// Where the frame begins in its file.
    pub base: u64,
    /// Bytes of the frame before the change.
    pub old_len: u64,
    /// Bytes of the frame after the change.
    pub new_len: u64,
    /// Bytes of the header before the change.
    pub header_len: u32,
    /// [`hash`] of the header before the change.
    pub header_hash: u64,
    /// Where the header changes, from the start of the frame.
    pub changed_pos: u32,
    /// What is there after the change.
    pub changed: List<u8>,
    /// What is overwritten: in ascending order, not overlapping, none empty.
    pub patches: List<Patch>,
}

/// A hash by which changed bytes are noticed. It does not withstand deliberate collisions.
pub fn hash(bytes: &[u8]) -> u64 {
    const K: u64 = 0x9e37_79b9_7f4a_7c15;
    let step = |h: u64, word: u64| (h ^ word).wrapping_mul(K).rotate_left(29);
    let mut words = bytes.chunks_exact(8);
    let mut h = step(K, bytes.len() as u64);
    for word in &mut words {
        let mut le = [0; 8];
        le.copy_from_slice(word);
        h = step(h, u64::from_le_bytes(le));
    }
    let mut last = [0; 8];
    last[..words.remainder().len()].copy_from_slice(words.remainder());
    h = step(h, u64::from_le_bytes(last));
    step(h ^ (h >> 32), K)
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

/// Combines bytes with a mask; a second time undoes it.
fn put_mask(mask: u64, bytes: &mut [u8]) {
    if mask != 0 {
        let mask = mask.to_le_bytes();
        let masked = bytes.iter_mut().enumerate();
        masked.for_each(|(i, byte)| *byte ^= mask[i % MASK]);
    }
}

struct Parser<'a>(&'a [u8]);

impl<'a> Parser<'a> {
    fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let (part, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(part)
    }
    fn u32(&mut self) -> Option<u32> {
        self.take(4)
            .and_then(|b| b.try_into().ok())
            .map(u32::from_le_bytes)
    }
    fn u64(&mut self) -> Option<u64> {
        self.take(8)
            .and_then(|b| b.try_into().ok())
            .map(u64::from_le_bytes)
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
/// [`Error::MemoryAlloc`], and those of reading.
fn read(file: &dyn Storage, pos: u64, len: usize) -> Result<List<u8>> {
    let mut bytes = List::filled(0, len)?;
    file.read_at(pos, &mut bytes)?;
    Ok(bytes)
}

impl Record {
    /// Where the record begins in its file.
    pub fn pos(&self) -> Option<u64> {
        self.base.checked_add(self.old_len.max(self.new_len))
    }

    /// The record as bytes. No part of them looks like a frame or another record.
    pub fn encode(&self) -> Result<List<u8>> {
        let mut bytes = self.encode_with(None)?;
        while has_magic(&bytes[FRONT_MAGIC.len()..]) {
            // The hash is a mask that no one could foresee when the old bytes were written.
            bytes = self.encode_with(Some(hash(&bytes)))?;
        }
        Ok(bytes)
    }

    fn encode_with(&self, mask: Option<u64>) -> Result<List<u8>> {
        let patches = self.patches.iter();
        let patches: usize = patches.map(|p| PATCH_FRONT + p.bytes.len()).sum();
        let size = MIN_LEN + mask.map_or(0, |_| MASK) + self.changed.len() + patches;
        let size32 = u32::try_from(size).map_err(|_| Error::TwoGbLimit)?;
        let mut out = List::with_capacity(size)?;
        out.extend_from_slice(mask.map_or(FRONT_MAGIC, |_| MASKED_MAGIC))?;
        out.extend_from_slice(&size32.to_le_bytes())?;
        let (device, inode) = self.identity.unwrap_or((0, 0));
        for number in [device, inode, self.base, self.old_len, self.new_len] {
            out.extend_from_slice(&number.to_le_bytes())?;
        }
        out.extend_from_slice(&self.header_len.to_le_bytes())?;
        out.extend_from_slice(&self.header_hash.to_le_bytes())?;
        out.extend_from_slice(&self.changed_pos.to_le_bytes())?;
        if let Some(mask) = mask {
            out.extend_from_slice(&mask.to_le_bytes())?;
        }
        let masked = out.len();
        out.extend_from_slice(&(self.changed.len() as u32).to_le_bytes())?;
        out.extend_from_slice(&self.changed)?;
        out.extend_from_slice(&(self.patches.len() as u32).to_le_bytes())?;
        for patch in &self.patches {
            out.extend_from_slice(&patch.pos.to_le_bytes())?;
            out.extend_from_slice(&(patch.bytes.len() as u32).to_le_bytes())?;
            out.extend_from_slice(&patch.bytes)?;
        }
        put_mask(mask.unwrap_or(0), &mut out[masked..]);
        let hash = hash(&out);
        out.extend_from_slice(&hash.to_le_bytes())?;
        out.extend_from_slice(&size32.to_le_bytes())?;
        out.extend_from_slice(END_MAGIC)?;
        Ok(out)
    }

    /// Parses a record; `None` if the bytes are not a valid one.
    fn decode(bytes: &[u8]) -> Result<Option<Self>> {
        let body = bytes.len().checked_sub(END).map(|at| bytes.split_at(at));
        let Some((body, end)) = body else {
            return Ok(None);
        };
        let mut end = Parser(end);
        let whole = end.u64() == Some(hash(body))
            && end.u32().is_some_and(|size| size as usize == bytes.len())
            && end.0 == END_MAGIC;
        if !whole {
            return Ok(None);
        }
        let mut body = Parser(body);
        let Some(mut record) = Self::decode_front(&mut body, bytes.len()) else {
            return Ok(None);
        };
        let mut unmasked = List::new();
        if bytes.starts_with(MASKED_MAGIC) {
            let Some(mask) = body.u64() else {
                return Ok(None);
            };
            unmasked.extend_from_slice(body.0)?;
            put_mask(mask, &mut unmasked);
            body = Parser(&unmasked);
        }
        let (Some((changed_len, count)), size) = (Self::counts(&mut body), body.0.len()) else {
            return Ok(None);
        };
        record.changed = changed_len.to_list()?;
        // Every patch takes some bytes, which bounds their number.
        if count as usize > size / PATCH_FRONT {
            return Ok(None);
        }
        record.patches.reserve_exact(count as usize)?;
        for _ in 0..count {
            let (Some(pos), Some(len)) = (body.u64(), body.u32()) else {
                return Ok(None);
            };
            let Some(bytes) = body.take(len as usize) else {
                return Ok(None);
            };
            let bytes = bytes.to_list()?;
            record.patches.push(Patch { pos, bytes })?;
        }
        Ok(body.0.is_empty().then_some(record))
    }

    fn decode_front(body: &mut Parser, size: usize) -> Option<Self> {
        let magic = body.take(8)?;
        if (magic != FRONT_MAGIC && magic != MASKED_MAGIC) || body.u32()? as usize != size {
            return None;
        }
        let identity = (body.u64()?, body.u64()?);
        Some(Self {
            identity: (identity != (0, 0)).then_some(identity),
            base: body.u64()?,
            old_len: body.u64()?,
            new_len: body.u64()?,
            header_len: body.u32()?,
            header_hash: body.u64()?,
            changed_pos: body.u32()?,
            changed: List::new(),
            patches: List::new(),
        })
    }

    /// What changes in the header, and the number of patches.
    fn counts<'a>(body: &mut Parser<'a>) -> Option<(&'a [u8], u32)> {
        let len = body.u32()?;
        Some((body.take(len as usize)?, body.u32()?))
    }

    /// The record at the end of a file of `size` bytes that belongs to the frame at `base`, or to any, if there is one and it
    /// counts.
    ///
    /// # Errors
    /// [`Error::MemoryAlloc`], and those of reading.
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

    fn example() -> Record {
        Record {
            identity: Some((3, 4)),
            base: 7,
            old_len: 1000,
            new_len: 900,
            header_len: 300,
            header_hash: 5,
            changed_pos: 11,
            changed: b"after".to_vec().into(),
            patches: vec![
                Patch {
                    pos: 11,
                    bytes: b"befor".to_vec().into(),
                },
                Patch {
                    pos: 400,
                    bytes: vec![1; 300].into(),
                },
            ]
            .into(),
        }
    }

    #[test]
    fn what_is_written_is_read_back() {
        let record = example();
        let bytes = record.encode().unwrap();
        assert_eq!(Record::decode(&bytes), Ok(Some(record)));
        for cut in 0..bytes.len() {
            assert_eq!(Record::decode(&bytes[..cut]), Ok(None));
            let mut torn = bytes.clone();
            torn[cut] ^= 1;
            assert_eq!(Record::decode(&torn), Ok(None));
        }
        assert_eq!(example().pos(), Some(1007));
    }

    #[test]
    fn a_record_looks_like_no_frame() {
        let mut record = example();
        record.changed = b"b2frame\0".to_vec().into();
        record.patches[1].bytes = b"some b2frame\0, oxb2jnl\x02".repeat(9).into();
        let bytes = record.encode().unwrap();
        assert!(!has_magic(&bytes[8..]));
        for cut in 0..bytes.len() {
            assert_eq!(Record::decode(&bytes[..cut]), Ok(None));
        }
        assert_eq!(Record::decode(&bytes), Ok(Some(record)));
    }

    #[test]
    fn bytes_behind_the_patches_are_refused() {
        let mut bytes = Vec::from(example().encode().unwrap());
        bytes.truncate(bytes.len() - END);
        bytes.extend([0; 8]);
        let size = (bytes.len() + END) as u32;
        bytes[8..12].copy_from_slice(&size.to_le_bytes());
        bytes.extend(hash(&bytes).to_le_bytes());
        bytes.extend(size.to_le_bytes());
        bytes.extend(END_MAGIC);
        assert_eq!(Record::decode(&bytes), Ok(None));
    }

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
