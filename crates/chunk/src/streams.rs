//! The streams of a block, as they lie in the chunk one behind the other: each has its size in
//! front.

use super::header::rules::Rules;
use super::header::{Blocks, ChunkHeader, flags, i32_at};
use oxiblosc_base::{Error, Result};
use oxiblosc_codecs::{PaddedDst, PaddedSrc};
use oxiblosc_filters::shuffle;
use std::ops::Range;

/// A stream as it lies in the chunk.
pub enum Stream<'a> {
    /// One byte, repeated.
    Run(u8),
    /// The bytes as they are.
    Stored(&'a [u8]),
    /// Compressed by the codec.
    Compressed(PaddedSrc<'a>),
}

/// The streams of a block, one after the other.
pub struct Streams<'a> {
    /// From the next stream to the end of the chunk (or of the variable-length block).
    rest: &'a [u8],
    variable: bool,
    rules: Rules,
    /// How many streams the block has.
    pub count: usize,
    /// Bytes of data in each stream.
    pub neblock: usize,
}

impl<'a> Streams<'a> {
    /// The streams of a block of `bsize` bytes of data, which begin at the front of `bytes`.
    pub fn new(header: &ChunkHeader, bytes: &'a [u8], bsize: usize) -> Result<Self> {
        let (count, variable) = match header.blocks {
            Blocks::Variable { .. } => (1, true),
            Blocks::Regular { blocksize } => {
                let split = header.flags & flags::DONT_SPLIT == 0 && bsize == blocksize;
                let count = if split {
                    usize::from(header.typesize)
                } else {
                    1
                };
                (count, false)
            }
        };
        if bsize < count {
            return Err(Error::WRITE_BUFFER);
        }
        let neblock = if count == 1 { bsize } else { bsize / count };
        if neblock * count != bsize {
            return Err(Error::DATA);
        }
        Ok(Self {
            rest: bytes,
            variable,
            rules: header.rules,
            count,
            neblock,
        })
    }

    /// Whether there are `nstreams` streams, and [`Self::join`] can put them together.
    pub fn can_join(&self, nstreams: usize, bsize: usize) -> bool {
        self.neblock * nstreams == bsize && shuffle::joins(nstreams, self.neblock)
    }

    /// Unshuffles the streams, byte streams of the items, into `dst`, which has the size of the
    /// block. Stored streams are read where they lie in the chunk; others are decoded by `decode`
    /// into `dst_part`, which has at least the same size. [`Self::can_join`] must be true.
    #[inline(always)]
    pub fn join<'r>(
        &mut self,
        mut dst_part: &'r mut [u8],
        dst: &mut [u8],
        mut decode: impl FnMut(Stream, PaddedDst) -> Result<()>,
    ) -> Result<()>
    where
        'a: 'r,
    {
        let mut sources: [&'r [u8]; shuffle::MAX_JOINED] = [&[]; shuffle::MAX_JOINED];
        let nstreams = dst.len() / self.neblock;
        for source in &mut sources[..nstreams] {
            let stored = match self.next()? {
                Stream::Stored(data) => {
                    shuffle::prefetch(data);
                    Some(data)
                }
                stream => {
                    decode(
                        stream,
                        PaddedDst::new(&mut *dst_part, self.neblock).ok_or(Error::FAILURE)?,
                    )?;
                    None
                }
            };
            let (out, rest) = dst_part.split_at_mut(self.neblock);
            dst_part = rest;
            *source = stored.unwrap_or(out);
        }
        shuffle::join(&sources[..nstreams], dst);
        Ok(())
    }

    /// Decodes the streams, one behind the other, into the front of `out`, which is at least as
    /// long as their data.
    #[inline(always)]
    pub fn decode_all(
        &mut self,
        mut out: &mut [u8],
        mut decode: impl FnMut(Stream, PaddedDst) -> Result<()>,
    ) -> Result<()> {
        for _ in 0..self.count {
            let dst_part = PaddedDst::new(&mut *out, self.neblock).ok_or(Error::FAILURE)?;
            decode(self.next()?, dst_part)?;
            out = &mut out[self.neblock..];
        }
        Ok(())
    }

    /// How many bytes are behind the streams that were read.
    pub fn left(&self) -> usize {
        self.rest.len()
    }

    /// Reads the stream at the front.
    #[inline(always)]
    pub fn next(&mut self) -> Result<Stream<'a>> {
        let Some((size, rest)) = self.rest.split_at_checked(4) else {
            return Err(Error::READ_BUFFER);
        };
        let size = i32_at(size, 0);
        if self.variable {
            self.rest = &[];
            let same = usize::try_from(size) == Ok(self.neblock);
            return match (same, rest.len() == self.neblock) {
                (false, _) => Err(Error::DATA),
                (_, true) => Ok(Stream::Stored(rest)),
                (_, false) => Ok(Stream::Compressed(rest.into())),
            };
        }
        if size <= 0 && self.rules.is_blosc1() {
            // Blosc 1 has no runs.
            return Err(Error::DATA);
        }
        if size == 0 {
            self.rest = rest;
            return Ok(Stream::Run(0));
        }
        if size < 0 {
            let Some((token, rest)) = rest.split_first() else {
                return Err(Error::READ_BUFFER);
            };
            self.rest = rest;
            return match u8::try_from(-i64::from(size)) {
                Ok(value) if token & 1 != 0 => Ok(Stream::Run(value)),
                _ => Err(Error::RUN_LENGTH),
            };
        }
        if size as usize > self.neblock && !self.rules.is_blosc1() {
            // No encoder writes a stream longer than its data, except Snappy's in Blosc 1. A file
            // might let many blocks share a very long one, which would take long to decode.
            return Err(Error::DATA);
        }
        let Some(data) = PaddedSrc::new(rest, size as usize) else {
            return Err(Error::READ_BUFFER);
        };
        self.rest = &rest[size as usize..];
        Ok(if size as usize == self.neblock {
            Stream::Stored(data.exact())
        } else {
            Stream::Compressed(data)
        })
    }
}

impl Stream<'_> {
    /// Writes the data of the stream into `dst_part`, which has their size. `decompress` does so
    /// for a compressed one, and gives the number of bytes.
    #[inline(always)]
    pub fn decode(
        self,
        dst_part: PaddedDst,
        decompress: impl FnOnce(PaddedSrc, PaddedDst) -> Result<usize>,
    ) -> Result<()> {
        let expected = dst_part.size();
        match self {
            Self::Run(value) => dst_part.exact().fill(value),
            Self::Stored(data) => oxiblosc_filters::copy(data, dst_part.exact()),
            Self::Compressed(data) if decompress(data, dst_part)? == expected => {}
            Self::Compressed(_) => return Err(Error::DATA),
        }
        Ok(())
    }
}

/// The length of the streams at the front of `bytes`, those of a block of `bsize` bytes of data.
/// `each` gets every stream with its size in front.
pub fn streams_len<'a>(
    header: &ChunkHeader,
    bytes: &'a [u8],
    bsize: usize,
    mut each: impl FnMut(&'a [u8]),
) -> Result<usize> {
    let mut streams = Streams::new(header, bytes, bsize)?;
    let mut at = 0;
    for _ in 0..streams.count {
        streams.next()?;
        let next = bytes.len() - streams.left();
        each(&bytes[at..next]);
        at = next;
    }
    Ok(at)
}

/// Writes a stored stream with its size in front, and returns the number of bytes written.
pub fn write_raw(stream: &[u8], out: &mut [u8]) -> usize {
    let (size, body) = out.split_at_mut(4);
    size.copy_from_slice(&(stream.len() as i32).to_le_bytes());
    oxiblosc_filters::copy(stream, &mut body[..stream.len()]);
    4 + stream.len()
}

/// Streams are compared in pieces of this size.
pub const PIECE: usize = 512;

/// The range in which two streams of the same length differ, rounded to whole pieces.
pub fn difference(new: &[u8], old: &[u8]) -> Range<usize> {
    let differs = |(new, old): (&[u8], &[u8])| new != old;
    let mut pieces = new.chunks(PIECE).zip(old.chunks(PIECE));
    let Some(first) = pieces.position(differs) else {
        return 0..0;
    };
    let end = first + pieces.rposition(differs).map_or(1, |last| last + 2);
    first * PIECE..new.len().min(end * PIECE)
}
