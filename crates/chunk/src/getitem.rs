//! Reads items of a chunk. Only the blocks that contain them are decoded.

use super::Chunk;
use super::header::{Blocks, ChunkHeader, Special};
use super::hooks::{BlockPos, Hooks};
use super::pipeline::Pipeline;
use super::scratch::{self, Scratch};
use super::special;
use oxiblosc_base::{Error, Result};
use oxiblosc_filters as filters;

/// A range of items in bytes, checked against the size of the chunk's data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ItemRange {
    /// First byte.
    pub start: usize,
    /// Number of bytes.
    pub len: usize,
}

impl ItemRange {
    /// Checks a range of `nitems` items from item `start` on, each of the typesize in the header,
    /// against the chunk and a destination of `destsize` bytes.
    ///
    /// # Errors
    /// [`Error::INVALID_PARAM`] for items that the chunk does not have, [`Error::WRITE_BUFFER`] if
    /// they do not fit into the destination.
    #[inline]
    pub fn new(header: &ChunkHeader, start: i32, nitems: i32, destsize: i32) -> Result<Self> {
        let typesize = i64::from(header.typesize);
        let (start, nitems) = (i64::from(start), i64::from(nitems));
        if nitems < 0 {
            return Err(Error::INVALID_PARAM);
        }
        let len = nitems * typesize;
        if nitems > 0 && (len > i64::from(i32::MAX) || len > i64::from(destsize)) {
            return Err(Error::WRITE_BUFFER);
        }
        let end = (start + nitems) * typesize;
        let inside =
            start >= 0 && end <= header.nbytes as i64 && start + nitems <= i64::from(i32::MAX);
        if nitems > 0 && !inside {
            return Err(Error::INVALID_PARAM);
        }
        Ok(Self {
            start: (start.max(0) * typesize) as usize,
            len: len as usize,
        })
    }

    /// As [`Self::new`], for `nbytes` bytes from byte `start` on, which are whole items.
    ///
    /// # Errors
    /// As for [`Self::new`]; [`Error::INVALID_PARAM`] if they are not whole items.
    pub fn of_bytes(header: &ChunkHeader, start: i32, nbytes: i32, destsize: i32) -> Result<Self> {
        let typesize = i32::from(header.typesize);
        if start < 0 || nbytes < 0 || start % typesize != 0 || nbytes % typesize != 0 {
            return Err(Error::INVALID_PARAM);
        }
        Self::new(header, start / typesize, nbytes / typesize, destsize)
    }
}

/// The bytes of `range` in the chunk at the front of `src`, if its data are stored; none for other
/// chunks.
///
/// # Errors
/// [`Error::DATA`] if the chunk does not have the size of its data, [`Error::READ_BUFFER`] if `src`
/// is cut short.
#[inline(always)]
pub fn stored<'a>(
    header: &ChunkHeader,
    src: &'a [u8],
    range: ItemRange,
) -> Result<Option<&'a [u8]>> {
    if !header.is_memcpyed() || header.special() != Special::None || header.is_lazy() {
        return Ok(None);
    }
    // A chunk with checksums has stored streams, never stored data without block starts.
    if header.cbytes != header.nbytes + header.overhead() || header.has_checksums() {
        return Err(Error::DATA);
    }
    let start = header.overhead() + range.start;
    let bytes = src.get(start..start + range.len);
    bytes.ok_or(Error::READ_BUFFER).map(Some)
}

/// Copies the items of `range` into `dest`, which is as long as the range. Of a repeated value only
/// whole items can be read.
///
/// # Errors
/// [`Error::DATA`] for a part of a repeated value; as for [`read`].
pub fn getitem(chunk: &Chunk, range: ItemRange, dest: &mut [u8], hooks: &dyn Hooks) -> Result<()> {
    let repeated = !chunk.has_streams() && !hooks.has_postfilter();
    if repeated
        && chunk.header().special() == Special::Value
        && !range.len.is_multiple_of(chunk.value().len())
    {
        return Err(Error::DATA);
    }
    read(chunk, range, dest, hooks)
}

/// Copies the bytes of `range` into `dest`, which is as long as the range.
///
/// # Errors
/// [`Error::INVALID_PARAM`] for a chunk of variable-length blocks; those of a damaged chunk, of its
/// source, and of `hooks`.
pub fn read(chunk: &Chunk, range: ItemRange, dest: &mut [u8], hooks: &dyn Hooks) -> Result<()> {
    let header = chunk.header();
    let Blocks::Regular { blocksize } = header.blocks else {
        return Err(Error::INVALID_PARAM);
    };
    let end = range.start + range.len;
    if range.len == 0 {
        return Ok(());
    }
    if !chunk.has_streams() && !hooks.has_postfilter() {
        return match header.special() {
            Special::None => chunk.stored(range.start, dest),
            _ => special::fill(header, chunk.value(), range.start, dest),
        };
    }
    if !hooks.has_postfilter() && chunk.copy_checked(range.start, dest) {
        return Ok(());
    }
    let mut pipeline = Pipeline::EMPTY;
    let decoder = chunk.decoder(&mut pipeline, hooks)?;
    let (first, last) = (range.start / blocksize, (end - 1) / blocksize);
    let reference = if decoder.needs_reference() && last > 0 {
        Some(decoder.reference()?)
    } else {
        None
    };
    let mut scratch = scratch::borrow()?;
    let mut dest = dest;
    for nblock in first..=last {
        let offset = nblock * blocksize;
        let bsize = chunk.block_nbytes(nblock)?;
        let from = range.start.saturating_sub(offset);
        let to = bsize.min(end - offset);
        let (part, rest) = dest.split_at_mut(to - from);
        dest = rest;
        let pos = BlockPos {
            nblock,
            offset,
            tid: 0,
        };
        if part.len() == bsize {
            decoder.decode(pos, reference.as_deref(), part, scratch.parts())?;
            continue;
        }
        if decoder.decode_part(pos.nblock, from, part, scratch.parts())? {
            continue;
        }
        let Scratch {
            bufs, out, codec, ..
        } = &mut *scratch;
        let whole = out.ensure(bsize)?;
        decoder.decode(pos, reference.as_deref(), whole, (bufs, codec))?;
        filters::copy(&whole[from..to], part);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_checked_without_overflow() {
        let mut raw = [0u8; 32];
        raw[..4].copy_from_slice(&[5, 1, 7, 8]);
        raw[4..8].copy_from_slice(&4000i32.to_le_bytes());
        raw[8..12].copy_from_slice(&4000i32.to_le_bytes());
        raw[12..16].copy_from_slice(&4032i32.to_le_bytes());
        let header = ChunkHeader::parse(&raw).unwrap();
        let range = |start, nitems, destsize| ItemRange::new(&header, start, nitems, destsize);
        assert_eq!(range(10, 5, 40), Ok(ItemRange { start: 80, len: 40 }));
        assert_eq!(
            range(0, 500, 4000),
            Ok(ItemRange {
                start: 0,
                len: 4000
            })
        );
        assert_eq!(range(0, 0, 0), Ok(ItemRange { start: 0, len: 0 }));
        assert_eq!(range(10, 5, 39), Err(Error::WRITE_BUFFER));
        assert_eq!(range(1, 500, i32::MAX), Err(Error::INVALID_PARAM));
        assert_eq!(range(-1, 5, i32::MAX), Err(Error::INVALID_PARAM));
        assert_eq!(range(0, -1, i32::MAX), Err(Error::INVALID_PARAM));
        assert_eq!(
            range(i32::MAX, i32::MAX, i32::MAX),
            Err(Error::WRITE_BUFFER)
        );
    }
}
