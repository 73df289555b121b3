//! The bytes of an undo record.
//!
//! A record consists of: magic; length of the record (u32); device and inode of the file (2 u64, 0
//! if it has none); position of the frame in the file (u64); length of the frame before and after
//! the change (2 u64); length (u32) and hash (u64) of the header before the change; position (u32)
//! and length (u32) of the bytes that change in the header, and these bytes after the change;
//! number of patches (u32); for each patch: position in the frame (u64), length (u32), old bytes;
//! hash of all that (u64); length of the record (u32); end magic. Numbers are little-endian.
//!
//! The old bytes may contain something that looks like a frame or another record. Such a record is
//! masked: it has another magic, and a mask (u64) after the position of the bytes that change in
//! the header. Everything between mask and hash is combined with the mask by exclusive or.

use super::Patch;
use crate::leftovers::{FileWrite, has_magic_in};
use oxiblosc_base::memory::{Collect, ToTryVec, TryVec};
use oxiblosc_base::{Error, Result};

const FRONT_MAGIC: &[u8; 8] = b"oxb2jnl\x02";
/// The magic of a masked record.
const MASKED_MAGIC: &[u8; 8] = b"oxb2jnl\x03";
/// At the end of a record.
pub(super) const END_MAGIC: &[u8; 4] = b"\x02jnl";
/// Bytes before those that change in the header, without a mask.
pub(super) const FRONT: usize = 8 + 4 + 8 + 8 + 8 + 8 + 8 + 4 + 8 + 4 + 4;
/// Bytes at the end: hash, length, end magic.
pub(super) const END: usize = 8 + 4 + 4;
/// Bytes of the shortest record, which has no patches.
pub(super) const MIN_LEN: usize = FRONT + 4 + END;
/// Bytes of the position and the length of a patch.
const PATCH_FRONT: usize = 8 + 4;
/// Bytes of a mask.
const MASK: usize = 8;
/// How many masks are tried. A single one fails with a probability of less than 2^-15, unless the
/// part that is not masked looks like a frame or a record: the hash of a header that was made for
/// that.
const MASKS: usize = 8;
/// Old bytes of at least this length are written from where they are. Fewer are copied to the other
/// bytes of the record.
const MIN_SEPARATE: usize = 4 << 10;

/// What a change is about to overwrite.
#[cfg_attr(test, derive(Clone))]
#[derive(Debug, PartialEq, Eq)]
pub struct Record {
    /// Device and inode of the file, if it has them.
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
    /// Position of the bytes that change in the header, from the start of the frame.
    pub changed_pos: u32,
    /// These bytes after the change.
    pub changed: TryVec<u8>,
    /// The bytes that are overwritten: in ascending order, not overlapping, none empty.
    pub patches: TryVec<Patch>,
}

/// A hash that detects changed bytes. It does not resist deliberate collisions.
pub fn hash(bytes: &[u8]) -> u64 {
    let mut hasher = Hasher::new(bytes.len());
    hasher.add(bytes);
    hasher.finish()
}

/// Computes [`hash`] of bytes that come in parts.
struct Hasher {
    hash: u64,
    /// The last bytes, which are not a whole word yet; zeros behind them.
    word: [u8; 8],
    /// How many bytes of `word` there are.
    have: usize,
}

impl Hasher {
    const K: u64 = 0x9e37_79b9_7f4a_7c15;

    /// Starts the hash of `len` bytes.
    fn new(len: usize) -> Self {
        Self {
            hash: Self::step(Self::K, len as u64),
            word: [0; 8],
            have: 0,
        }
    }

    #[inline(always)]
    fn step(hash: u64, word: u64) -> u64 {
        (hash ^ word).wrapping_mul(Self::K).rotate_left(29)
    }

    fn add(&mut self, mut bytes: &[u8]) {
        if self.have > 0 {
            let missing = self.word.len() - self.have;
            let (first, rest) = bytes.split_at(missing.min(bytes.len()));
            self.word[self.have..][..first.len()].copy_from_slice(first);
            self.have += first.len();
            if first.len() < missing {
                return;
            }
            self.hash = Self::step(self.hash, u64::from_le_bytes(self.word));
            bytes = rest;
        }
        let (words, rest) = bytes.as_chunks();
        self.hash = words.iter().fold(self.hash, |hash, word| {
            Self::step(hash, u64::from_le_bytes(*word))
        });
        self.word = [0; 8];
        self.word[..rest.len()].copy_from_slice(rest);
        self.have = rest.len();
    }

    fn finish(self) -> u64 {
        let hash = Self::step(self.hash, u64::from_le_bytes(self.word));
        Self::step(hash ^ (hash >> 32), Self::K)
    }
}

/// Combines bytes with a mask by exclusive or. To do it again restores them.
fn put_mask(mask: u64, bytes: &mut [u8]) {
    if mask != 0 {
        let mask = mask.to_le_bytes();
        let masked = bytes.iter_mut().enumerate();
        masked.for_each(|(i, byte)| *byte ^= mask[i % MASK]);
    }
}

/// The part of a record that is not parsed yet.
pub(super) struct Parser<'a>(pub(super) &'a [u8]);

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

/// A record as bytes. Long old bytes are not copied.
pub struct EncodedRecord<'a> {
    /// The other bytes.
    own: TryVec<u8>,
    /// The long old bytes, and before which of `own` each comes.
    old_bytes: TryVec<(usize, &'a [u8])>,
}

impl EncodedRecord<'_> {
    /// The bytes in order, in parts.
    fn parts(&self) -> impl Iterator<Item = &[u8]> {
        let mut at = 0;
        let before_old = self.old_bytes.iter().flat_map(move |(end, old)| {
            let own = &self.own[std::mem::replace(&mut at, *end)..*end];
            [own, *old]
        });
        let last = self.old_bytes.last().map_or(0, |(end, _)| *end);
        before_old.chain([&self.own[last..]])
    }

    fn len(&self) -> usize {
        self.parts().map(<[u8]>::len).sum()
    }

    fn hash(&self) -> u64 {
        let mut hasher = Hasher::new(self.len());
        self.parts().for_each(|part| hasher.add(part));
        hasher.finish()
    }

    /// The writes that put the record at `pos`. They adjoin.
    ///
    /// # Errors
    /// [`Error::MEMORY_ALLOC`].
    pub fn writes_at(&self, pos: u64) -> Result<TryVec<FileWrite<'_>>> {
        let positions = self.parts().scan(pos, |end, part| {
            let at = *end;
            *end += part.len() as u64;
            Some((at, part))
        });
        positions.collect_vec()
    }
}

impl Record {
    /// Where the record begins, in bytes from the start of the frame: behind it, before and after
    /// the change.
    pub fn pos_in_frame(&self) -> u64 {
        self.old_len.max(self.new_len)
    }

    /// Where the record begins in its file.
    pub fn pos(&self) -> Option<u64> {
        self.base.checked_add(self.pos_in_frame())
    }

    /// The record as bytes. No part of them looks like a frame or another record.
    ///
    /// # Errors
    /// [`Error::DATA`] for a malicious frame with which that is impossible; [`Error::TWO_GB_LIMIT`]
    /// for 4 GiB; [`Error::MEMORY_ALLOC`].
    pub fn encode(&self) -> Result<EncodedRecord<'_>> {
        let mut mask = None;
        for _ in 0..=MASKS {
            let encoded = self.encode_with(mask)?;
            let mut writes = encoded.writes_at(0)?;
            let (pos, first) = writes[0];
            writes[0] = (pos + FRONT_MAGIC.len() as u64, &first[FRONT_MAGIC.len()..]);
            if !has_magic_in(&writes) {
                return Ok(encoded);
            }
            // The hash depends on more than the old bytes, so they seldom look like a frame with
            // this mask, too.
            mask = Some(encoded.hash());
        }
        Err(Error::DATA)
    }

    fn encode_with(&self, mask: Option<u64>) -> Result<EncodedRecord<'_>> {
        let is_separate = |patch: &Patch| mask.is_none() && patch.bytes.len() >= MIN_SEPARATE;
        let patches = self.patches.iter();
        let patches: usize = patches.map(|p| PATCH_FRONT + p.bytes.len()).sum();
        let separate = self.patches.iter().filter(|patch| is_separate(patch));
        let separate: usize = separate.map(|patch| patch.bytes.len()).sum();
        let size = MIN_LEN + mask.map_or(0, |_| MASK) + self.changed.len() + patches;
        let size32 = u32::try_from(size).map_err(|_| Error::TWO_GB_LIMIT)?;
        let mut old_bytes = TryVec::new();
        let mut out = TryVec::with_capacity(size - separate)?;
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
            match is_separate(patch) {
                true => old_bytes.push((out.len(), &*patch.bytes))?,
                false => out.extend_from_slice(&patch.bytes)?,
            }
        }
        put_mask(mask.unwrap_or(0), &mut out[masked..]);
        let mut encoded = EncodedRecord {
            own: out,
            old_bytes,
        };
        let hash = encoded.hash();
        encoded.own.extend_from_slice(&hash.to_le_bytes())?;
        encoded.own.extend_from_slice(&size32.to_le_bytes())?;
        encoded.own.extend_from_slice(END_MAGIC)?;
        Ok(encoded)
    }

    /// Parses a record; `None` if the bytes are not a valid one.
    pub(super) fn decode(bytes: &[u8]) -> Result<Option<Self>> {
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
        let Some(mut record) = Self::decode_prefix(&mut body, bytes.len()) else {
            return Ok(None);
        };
        let mut unmasked = TryVec::new();
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
        record.changed = changed_len.to_try_vec()?;
        // Every patch has some bytes, so memory for `count` of them is in proportion to the record.
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
            let bytes = bytes.to_try_vec()?;
            record.patches.push(Patch { pos, bytes })?;
        }
        Ok(body.0.is_empty().then_some(record))
    }

    /// Parses everything before the bytes that change in the header. None if this is not the front
    /// of a record of `size` bytes.
    pub(super) fn decode_prefix(body: &mut Parser, size: usize) -> Option<Self> {
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
            changed: TryVec::new(),
            patches: TryVec::new(),
        })
    }

    /// Parses the bytes that change in the header, and the number of patches.
    fn counts<'a>(body: &mut Parser<'a>) -> Option<(&'a [u8], u32)> {
        let len = body.u32()?;
        Some((body.take(len as usize)?, body.u32()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::leftovers::has_magic;

    /// The record as bytes in one piece.
    fn encode(record: &Record) -> Result<Vec<u8>> {
        let encoded = record.encode()?;
        let mut bytes = vec![];
        for (pos, part) in encoded.writes_at(5)?.iter() {
            assert_eq!(*pos, 5 + bytes.len() as u64);
            bytes.extend_from_slice(part);
        }
        Ok(bytes)
    }

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
        let bytes = encode(&record).unwrap();
        assert_eq!(Record::decode(&bytes), Ok(Some(record)));
        for cut in 0..bytes.len() {
            assert_eq!(Record::decode(&bytes[..cut]), Ok(None));
            let mut torn = bytes.clone();
            torn[cut] ^= 1;
            assert_eq!(Record::decode(&torn), Ok(None));
        }
        assert_eq!(example().pos(), Some(1007));
    }

    /// Old bytes of any length, long ones of which are parts by themselves.
    #[test]
    fn long_old_bytes_are_not_copied() {
        for first in [MIN_SEPARATE - 1, MIN_SEPARATE] {
            let patch = |(pos, len): (u64, usize)| Patch {
                pos,
                bytes: (0..len).map(|i| (i * 7) as u8).collect::<Vec<_>>().into(),
            };
            let lens = [first, MIN_SEPARATE + 3, 1, MIN_SEPARATE];
            let patches: Vec<_> = (0..).step_by(10_000).zip(lens).map(patch).collect();
            let record = Record {
                patches: patches.into(),
                ..example()
            };
            let encoded = record.encode().unwrap();
            let long = lens.iter().filter(|len| **len >= MIN_SEPARATE).count();
            assert_eq!(encoded.old_bytes.len(), long);
            let bytes = encode(&record).unwrap();
            assert_eq!(Record::decode(&bytes), Ok(Some(record)));
        }
    }

    /// Also if it begins in long old bytes, and ends behind them in the position of the next patch.
    #[test]
    fn what_looks_like_a_frame_is_masked_in_parts() {
        let stem = b"b2fram";
        for cut in 1..=stem.len() {
            let (within, behind) = stem.split_at(cut);
            let mut record = example();
            record.patches[0].bytes = [&[1; MIN_SEPARATE], within].concat().into();
            assert_eq!(
                record.encode().unwrap().old_bytes.len(),
                usize::from(!behind.is_empty())
            );
            let mut pos = [0; 8];
            pos[..behind.len()].copy_from_slice(behind);
            record.patches[1].pos = u64::from_le_bytes(pos);
            assert!(record.encode().unwrap().old_bytes.is_empty(), "{cut}");
            let bytes = encode(&record).unwrap();
            assert!(!has_magic(&bytes[8..]));
            assert_eq!(Record::decode(&bytes), Ok(Some(record)));
        }
    }

    #[test]
    fn a_hash_does_not_depend_on_the_parts() {
        let bytes: Vec<u8> = (0..30).collect();
        for (first, second) in (0..30).flat_map(|i| (i..=30).map(move |j| (i, j))) {
            let mut hasher = Hasher::new(bytes.len());
            for part in [&bytes[..first], &bytes[first..second], &bytes[second..]] {
                hasher.add(part);
            }
            assert_eq!(hasher.finish(), hash(&bytes), "{first} {second}");
        }
    }

    #[test]
    fn a_record_looks_like_no_frame() {
        let mut record = example();
        record.changed = b"b2frame\0".to_vec().into();
        record.patches[1].bytes = b"some b2frame\0, oxb2jnl\x02".repeat(9).into();
        let bytes = encode(&record).unwrap();
        assert!(!has_magic(&bytes[8..]));
        for cut in 0..bytes.len() {
            assert_eq!(Record::decode(&bytes[..cut]), Ok(None));
        }
        assert_eq!(Record::decode(&bytes), Ok(Some(record)));
    }

    /// Only the bytes behind the mask can be masked.
    #[test]
    fn a_front_that_looks_like_a_frame_is_refused() {
        for magic in [*b"b2frame\0", *b"\0b2framE", *b"oxb2jnl\x02"] {
            let number = u64::from_le_bytes(magic);
            let example = example();
            for record in [
                Record {
                    header_hash: number,
                    ..example.clone()
                },
                Record {
                    base: number,
                    ..example.clone()
                },
                Record {
                    identity: Some((3, number)),
                    ..example.clone()
                },
            ] {
                assert_eq!(encode(&record), Err(Error::DATA));
            }
        }
    }

    #[test]
    fn bytes_behind_the_patches_are_refused() {
        let mut bytes = encode(&example()).unwrap();
        bytes.truncate(bytes.len() - END);
        bytes.extend([0; 8]);
        let size = (bytes.len() + END) as u32;
        bytes[8..12].copy_from_slice(&size.to_le_bytes());
        bytes.extend(hash(&bytes).to_le_bytes());
        bytes.extend(size.to_le_bytes());
        bytes.extend(END_MAGIC);
        assert_eq!(Record::decode(&bytes), Ok(None));
    }
}
