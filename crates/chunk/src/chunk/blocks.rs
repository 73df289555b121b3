//! Where the blocks of a chunk are, and their bytes, which have to be what the checksums say.

use super::Chunk;
use crate::checksum::{Checksums, PAGE};
use crate::decode_block::streams_len;
use crate::header::{Blocks, i32_at};
use oxiblosc_error::{Error, Result};
use oxiblosc_filters as filters;
use oxiblosc_memory::AlignedBuffer;

impl<'a> Chunk<'a> {
    /// From where to where the compressed bytes of block `nblock` go, at most: streams say themselves where they end.
    /// With `all`, to the end of the chunk, as a block may share bytes with others.
    #[inline(always)]
    fn span(&self, nblock: usize, all: bool) -> Result<(usize, usize)> {
        if self.header.has_vlblocks() {
            return self.vl_span(nblock).ok_or(Error::Data);
        }
        let start = usize::try_from(self.start(nblock)).map_err(|_| Error::Data)?;
        if start == 0 || start >= self.header.cbytes {
            return Err(Error::Data);
        }
        let end = match &self.lazy {
            Some(lazy) if !all => {
                // Many blocks may start where one does, and none is longer than this.
                let longest = start.saturating_add(self.longest_block());
                lazy.end(self.starts(), nblock).min(longest)
            }
            _ => self.header.cbytes,
        };
        Ok((start, end))
    }

    /// The most bytes that the streams of a block have: no stream is longer than its data, and each has its size in front.
    fn longest_block(&self) -> usize {
        self.header.blocksize_field() + 5 * usize::from(self.header.typesize)
    }

    /// These bytes; in a lazy chunk they are read into `buf`.
    #[inline(always)]
    pub(crate) fn block_bytes<'s>(
        &'s self,
        nblock: usize,
        all: bool,
        buf: &'s mut AlignedBuffer,
    ) -> Result<&'s [u8]> {
        let (start, end) = self.span(nblock, all)?;
        let bytes = match &self.lazy {
            Some(lazy) if all => {
                let bytes = lazy.whole()?.get(start..end);
                bytes.ok_or(Error::ReadBuffer)
            }
            _ => self.fetch(start, end, buf),
        };
        match &self.checksums {
            None => bytes,
            Some(_) if self.was_checked(nblock) => bytes,
            Some(checksums) => self.checked(nblock, bytes?, checksums),
        }
    }

    /// The streams of block `nblock`, which begin with `bytes`, if they are as the checksums say.
    fn checked<'s>(
        &self,
        nblock: usize,
        bytes: &'s [u8],
        checksums: &Checksums,
    ) -> Result<&'s [u8]> {
        let streams = if self.header.has_vlblocks() {
            bytes
        } else {
            let size = self.block_nbytes(nblock)?;
            let len = streams_len(self.header, bytes, size, |_| ());
            &bytes[..len.map_err(|_| Error::Data)?]
        };
        checksums.check_block(nblock, streams)?;
        self.checked.add_block(nblock);
        Ok(streams)
    }

    /// The checksums of block `nblock`, of `bsize` bytes, if it is a stored stream whose pages can be checked; and where its data begin.
    fn stored_block(&self, nblock: usize, bsize: usize) -> Option<(&Checksums<'a>, usize)> {
        let sums = self.checksums.as_ref();
        let sums = sums.filter(|sums| sums.is_stored(nblock, bsize))?;
        Some((sums, usize::try_from(self.start(nblock)).ok()? + 4))
    }

    /// Whether block `nblock`, of `bsize` bytes, is such a block.
    pub(crate) fn is_stored_block(&self, nblock: usize, bsize: usize) -> bool {
        self.stored_block(nblock, bsize).is_some()
    }

    /// Copies all of such a block into `out`. False for others.
    pub(crate) fn copy_stored(
        &self,
        nblock: usize,
        out: &mut [u8],
        buf: &mut AlignedBuffer,
    ) -> Result<bool> {
        let Some((sums, start)) = self.stored_block(nblock, out.len()) else {
            return Ok(false);
        };
        let stream = self.fetch(start - 4, start + out.len(), buf)?;
        if self.was_checked(nblock) {
            filters::copy(&stream[4..], out);
        } else {
            sums.copy_pages(nblock, stream, out)?;
            self.checked.add_block(nblock);
        }
        Ok(true)
    }

    /// Copies the data from byte `start` on where they lie in such blocks that were checked. False where they do not; then `out` may be
    /// overwritten.
    pub(crate) fn copy_checked(&self, start: usize, mut out: &mut [u8]) -> bool {
        let blocksize = self.header.blocksize_field();
        let mut at = start;
        while !out.is_empty() {
            let (nblock, from) = (at / blocksize, at % blocksize);
            let Some(bytes) = self.checked_part(nblock, from, out.len()) else {
                return false;
            };
            let len = bytes.len();
            let (part, rest) = out.split_at_mut(len);
            filters::copy(bytes, part);
            (at, out) = (at + len, rest);
        }
        true
    }

    /// The bytes from `from` on of such a block that was checked, at most `len`.
    fn checked_part(&self, nblock: usize, from: usize, len: usize) -> Option<&'a [u8]> {
        if !self.was_checked(nblock) {
            return None;
        }
        let bsize = self.block_nbytes(nblock).ok()?;
        let (_, data) = self.stored_block(nblock, bsize)?;
        let len = len.min(bsize.checked_sub(from)?);
        self.bytes
            .get(data + from..data + from + len)
            .filter(|bytes| !bytes.is_empty())
    }

    /// Where in a chunk of such blocks the data of the first begin, and how far apart those of all are, if each has room of its own.
    pub(crate) fn stored_places(&self) -> Option<(usize, usize)> {
        let header = self.header;
        self.checksums.as_ref().filter(|sums| sums.has_pages())?;
        let size = 4 + header.blocksize_field();
        let first = header.cbytes - header.nbytes - 4 * header.nblocks;
        let is_apart = |nblock| self.start(nblock) as usize == first + nblock * size;
        let all = (0..header.nblocks).all(is_apart);
        all.then_some((first + 4, size))
    }

    /// The bytes from `from` to before `to`, or more, of such a block, and where in the block they begin.
    pub(crate) fn stored_part<'s>(
        &'s self,
        (nblock, bsize): (usize, usize),
        (from, to): (usize, usize),
        buf: &'s mut AlignedBuffer,
    ) -> Result<(usize, &'s [u8])> {
        let (sums, start) = self.stored_block(nblock, bsize).ok_or(Error::Data)?;
        let (first, to) = (from / PAGE, to.next_multiple_of(PAGE).min(bsize));
        self.check_stored(nblock, bsize);
        let bytes = self.fetch(start + first * PAGE, start + to, buf)?;
        if !self.was_checked(nblock) {
            sums.check_part(nblock, first, bytes)?;
        }
        Ok((first * PAGE, bytes))
    }

    /// Checks all of such a block where that is remembered, since more reads and writes of it will come. Where other pages are damaged than
    /// those that are wanted, these are checked alone.
    pub(crate) fn check_stored(&self, nblock: usize, bsize: usize) {
        if !self.checked.is_kept() || self.was_checked(nblock) {
            return;
        }
        if let Some((sums, start)) = self.stored_block(nblock, bsize)
            && let Some(stream) = self.bytes.get(start - 4..start + bsize)
            && sums.check_block(nblock, stream).is_ok()
        {
            self.checked.add_block(nblock);
        }
    }

    /// The streams of block `nblock`, in memory; a variable-length block is one.
    pub(crate) fn block_streams(&self, nblock: usize) -> Result<&'a [u8]> {
        if !self.header.has_vlblocks() {
            return self.compressed(nblock, |_| ());
        }
        let (start, end) = self.vl_span(nblock).ok_or(Error::Data)?;
        self.bytes.get(start..end).ok_or(Error::ReadBuffer)
    }

    /// The streams of block `nblock`, in memory, if they are as the checksums say: they may get new checksums then.
    pub(crate) fn checked_streams(&self, nblock: usize) -> Result<&'a [u8]> {
        let streams = self.compressed(nblock, |_| ())?;
        match &self.checksums {
            Some(sums) if !self.was_checked(nblock) => sums.check_block(nblock, streams)?,
            _ => {}
        }
        Ok(streams)
    }

    /// The compressed bytes of block `nblock`, all its streams and no more; `each` gets every stream with its size in
    /// front. Only of blocks in memory.
    pub(crate) fn compressed(&self, nblock: usize, each: impl FnMut(&'a [u8])) -> Result<&'a [u8]> {
        let (start, end) = self.span(nblock, true)?;
        let bytes = self.bytes.get(start..end).ok_or(Error::ReadBuffer)?;
        let len = streams_len(self.header, bytes, self.block_nbytes(nblock)?, each)?;
        Ok(&bytes[..len])
    }

    /// From where to where the variable-length block `nblock` goes in the chunk.
    pub(crate) fn vl_span(&self, nblock: usize) -> Option<(usize, usize)> {
        let start = usize::try_from(self.start(nblock)).ok()?;
        let end = if nblock + 1 < self.header.nblocks {
            usize::try_from(self.start(nblock + 1)).ok()?
        } else {
            self.header.cbytes
        };
        (start < end && end <= self.header.cbytes).then_some((start, end))
    }

    /// Whether there is a block `nblock`. Whatever the header of a chunk without data says, it has none.
    pub(crate) fn has_block(&self, nblock: usize) -> bool {
        nblock < self.header.nblocks && self.header.nbytes > 0
    }

    /// Size of the data of block `nblock`. In a lazy chunk the size of a variable-length block is read, and no more than the header
    /// allows.
    pub fn block_nbytes(&self, nblock: usize) -> Result<usize> {
        if !self.has_block(nblock) {
            return Err(Error::InvalidParam);
        }
        match self.header.blocks {
            Blocks::Regular { blocksize } => {
                Ok(blocksize.min(self.header.nbytes - nblock * blocksize))
            }
            Blocks::Variable { .. } if self.lazy.is_some() => {
                let (start, end) = self.vl_span(nblock).ok_or(Error::InvalidHeader)?;
                if start < self.starts_end() || end - start < 4 {
                    return Err(Error::InvalidHeader);
                }
                let nbytes = i32_at(
                    self.fetch(start, start + 4, &mut AlignedBuffer::default())?,
                    0,
                );
                let nbytes = usize::try_from(nbytes).unwrap_or(0);
                if nbytes == 0 || nbytes > self.header.nbytes {
                    return Err(Error::InvalidHeader);
                }
                Ok(nbytes)
            }
            Blocks::Variable { .. } => Ok(self.offsets[nblock + 1] - self.offsets[nblock]),
        }
    }

    /// The largest block, as far as its size is known.
    pub fn max_block_nbytes(&self) -> usize {
        match self.header.blocks {
            Blocks::Regular { blocksize } => blocksize,
            Blocks::Variable { .. } => self
                .offsets
                .windows(2)
                .map(|w| w[1] - w[0])
                .max()
                .unwrap_or(0),
        }
    }
}
