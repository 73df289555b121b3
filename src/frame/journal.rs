//! The record of a change under way, behind the end of a frame's file.
//!
//! A change first writes where nothing is that counts; then it writes a record of what it is about to overwrite; then it
//! overwrites, the header last. Whoever finds the record at the end of the file can tell from the header whether the
//! change was done, and finish it if not: a frame is as before the change until the record is whole, and as after it
//! from then on. Other readers of the format do not look behind the end of a frame.
//!
//! A record: magic; bytes in all (u32); where the frame begins in the file (u64); length (u32) and hash (u64) of the
//! header after the change; number of patches (u32); each patch: position in the frame (u64), length (u32), bytes;
//! zeros; hash of all that (u64); bytes in all (u32); magic. Little-endian.

use crate::error::{Error, Result};
use crate::io::Storage;

const FRONT_MAGIC: &[u8; 8] = b"oxb2jnl\x01";
const END_MAGIC: &[u8; 4] = b"\x01jnl";
/// Magic, size, base, length and hash of the header, number of patches.
const FRONT: usize = 8 + 4 + 8 + 4 + 8 + 4;
/// Hash, size, magic.
const END: usize = 8 + 4 + 4;
/// The least bytes of a record: most records fit, and a short one need not be padded to cover a long one.
const USUAL: usize = 256;

/// Bytes to be written over others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Patch {
    /// Where, from the start of the frame.
    pub pos: u64,
    /// What.
    pub bytes: Vec<u8>,
}

/// What is about to be overwritten.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Where the frame begins in its file.
    pub base: u64,
    /// Bytes of the header after the change.
    pub header_len: u32,
    /// [`hash`] of the header after the change.
    pub header_hash: u64,
    /// In the order in which they are applied; the header's comes last.
    pub patches: Vec<Patch>,
}

/// What a record means for a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// The change was done.
    Done,
    /// The change is to be finished.
    Pending,
    /// The frame was changed by somebody else since.
    Stale,
}

/// Tells whether bytes are what they were. Not meant to withstand somebody who wants two to be alike.
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

/// Writes `patches` over `bytes`, which begin at `pos`.
pub fn overlay(patches: &[Patch], pos: u64, bytes: &mut [u8]) {
    let end = pos + bytes.len() as u64;
    for patch in patches {
        let patch_end = patch.pos + patch.bytes.len() as u64;
        let (from, to) = (patch.pos.max(pos), patch_end.min(end));
        if from < to {
            bytes[(from - pos) as usize..(to - pos) as usize].copy_from_slice(
                &patch.bytes[(from - patch.pos) as usize..(to - patch.pos) as usize],
            );
        }
    }
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
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

impl Record {
    /// The record as bytes, at least `least` of them.
    pub fn encode(&self, least: usize) -> Result<Vec<u8>> {
        let patches: usize = self.patches.iter().map(|p| 12 + p.bytes.len()).sum();
        let size = (FRONT + patches + END).max(least).max(USUAL);
        let size32 = u32::try_from(size).map_err(|_| Error::TwoGbLimit)?;
        let mut out = Vec::new();
        out.try_reserve_exact(size)
            .map_err(|_| Error::MemoryAlloc)?;
        out.extend(FRONT_MAGIC);
        out.extend(size32.to_le_bytes());
        out.extend(self.base.to_le_bytes());
        out.extend(self.header_len.to_le_bytes());
        out.extend(self.header_hash.to_le_bytes());
        out.extend((self.patches.len() as u32).to_le_bytes());
        for patch in &self.patches {
            out.extend(patch.pos.to_le_bytes());
            out.extend((patch.bytes.len() as u32).to_le_bytes());
            out.extend(&patch.bytes);
        }
        out.resize(size - END, 0);
        let hash = hash(&out);
        out.extend(hash.to_le_bytes());
        out.extend(size32.to_le_bytes());
        out.extend(END_MAGIC);
        Ok(out)
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let (body, end) = bytes.split_at_checked(bytes.len().checked_sub(END)?)?;
        let mut end = Reader(end);
        if end.u64()? != hash(body) || end.u32()? as usize != bytes.len() || end.0 != END_MAGIC {
            return None;
        }
        let mut body = Reader(body);
        if body.take(8)? != FRONT_MAGIC || body.u32()? as usize != bytes.len() {
            return None;
        }
        let mut record = Self {
            base: body.u64()?,
            header_len: body.u32()?,
            header_hash: body.u64()?,
            patches: Vec::new(),
        };
        for _ in 0..body.u32()? {
            let pos = body.u64()?;
            let len = body.u32()?;
            record.patches.push(Patch {
                pos,
                bytes: body.take(len as usize)?.to_vec(),
            });
        }
        Some(record)
    }

    /// The record at the end of a file of `size` bytes, if there is one that is whole. Gives where it begins, too.
    pub fn find(file: &dyn Storage, size: u64) -> Result<Option<(u64, Self)>> {
        if size < (FRONT + END) as u64 {
            return Ok(None);
        }
        let mut end = [0; END];
        file.read_at(size - END as u64, &mut end)?;
        if end[12..] != *END_MAGIC {
            return Ok(None);
        }
        let len = u64::from(u32::from_le_bytes([end[8], end[9], end[10], end[11]]));
        if len < (FRONT + END) as u64 || len > size {
            return Ok(None);
        }
        let mut bytes = Vec::new();
        bytes
            .try_reserve_exact(len as usize)
            .map_err(|_| Error::MemoryAlloc)?;
        bytes.resize(len as usize, 0);
        file.read_at(size - len, &mut bytes)?;
        let record = Self::decode(&bytes);
        // A patch reaches no further than the file does, so that a forged one cannot make it grow without bound.
        Ok(record.filter(|record| {
            let header_end = record.base.checked_add(u64::from(record.header_len));
            header_end.is_some_and(|end| end <= size)
                && record.patches.iter().all(|patch| {
                    let end = patch.pos.checked_add(patch.bytes.len() as u64);
                    end.and_then(|end| end.checked_add(record.base))
                        .is_some_and(|end| end <= size)
                })
        }))
        .map(|record| record.map(|record| (size - len, record)))
    }

    /// What the record means for a frame whose first [`Record::header_len`] bytes are `header`.
    pub fn state(&self, header: &[u8]) -> State {
        if hash(header) == self.header_hash {
            return State::Done;
        }
        let mut header = header.to_vec();
        overlay(&self.patches, 0, &mut header);
        if hash(&header) == self.header_hash {
            State::Pending
        } else {
            State::Stale
        }
    }
}

/// Finishes the change whose record is at the end of a file, if it was not finished.
pub fn settle(file: &dyn Storage) -> Result<()> {
    let Some((_, record)) = Record::find(file, file.size()?)? else {
        return Ok(());
    };
    let mut header = vec![0; record.header_len as usize];
    let readable = file.read_at(record.base, &mut header).is_ok();
    if readable && record.state(&header) == State::Pending {
        for patch in &record.patches {
            file.write_at(record.base + patch.pos, &patch.bytes)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> Record {
        let after = b"the header after it".to_vec();
        Record {
            base: 7,
            header_len: after.len() as u32,
            header_hash: hash(&after),
            patches: vec![
                Patch {
                    pos: 100,
                    bytes: vec![1; 300],
                },
                Patch {
                    pos: 11,
                    bytes: b"after".to_vec(),
                },
            ],
        }
    }

    #[test]
    fn what_is_written_is_read_back() {
        for least in [0, 1000] {
            let record = example();
            let bytes = record.encode(least).unwrap();
            assert!(bytes.len() >= least);
            assert_eq!(Record::decode(&bytes), Some(record));
            for cut in 0..bytes.len() {
                assert_eq!(Record::decode(&bytes[..cut]), None);
                let mut torn = bytes.clone();
                torn[cut] ^= 1;
                assert_eq!(Record::decode(&torn), None);
            }
        }
    }

    #[test]
    fn the_header_tells_how_far_a_change_came() {
        let record = example();
        assert_eq!(record.state(b"the header after it"), State::Done);
        assert_eq!(record.state(b"the header befor it"), State::Pending);
        assert_eq!(record.state(b"the header aftor it"), State::Pending);
        assert_eq!(record.state(b"a header by others!"), State::Stale);
    }

    #[test]
    fn patches_lie_over_what_is_read() {
        let patches = [Patch {
            pos: 10,
            bytes: vec![1, 2, 3, 4],
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
