//! Where the blocks of a chunk are, and their bytes, checked against the checksums.

use super::Chunk;
use crate::checksum::{Checksums, PAGE};
use crate::header::{Blocks, i32_at};
use crate::streams::streams_len;
use oxiblosc_base::memory::AlignedBuffer;
use oxiblosc_base::{Error, Result};
use oxiblosc_filters as filters;

impl<'a> Chunk<'a> {
    /// Start of the compressed bytes of block `nblock`, and an upper limit of their end, which only
    /// the streams tell exactly. With `all` the limit is the end of the chunk, since a block may
    /// share bytes with others.
    #[inline(always)]
    fn span(&self, nblock: usize, all: bool) -> Result<(usize, usize)> {
        if self.header.has_vlblocks() {
            return self.vl_span(nblock).ok_or(Error::DATA);
        }
        let start = usize::try_from(self.start(nblock)).map_err(|_| Error::DATA)?;
        if start == 0 || start >= self.header.cbytes {
            return Err(Error::DATA);
        }
        let end = match &self.lazy {
            Some(lazy) if !all => {
                // Many blocks may have the same start, so the next start alone would not limit how
                // much is read for them together.
                let longest = start.saturating_add(self.longest_block());
                lazy.end(self.starts(), nblock).min(longest)
            }
            _ => self.header.cbytes,
        };
        Ok((start, end))
    }

    /// The most bytes that the streams of a block can have: each has its size in front and is no
    /// longer than its data.
    fn longest_block(&self) -> usize {
        self.header.blocksize_field() + 5 * usize::from(self.header.typesize)
    }

    /// The compressed bytes of block `nblock`, checked; in a lazy chunk they are read into `buf`.
    /// For `all` see [`Self::span`].
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
                bytes.ok_or(Error::READ_BUFFER)
            }
            _ => self.fetch(start, end, buf),
        };
        match &self.checksums {
            None => bytes,
            Some(_) if self.was_checked(nblock) => bytes,
            Some(checksums) => self.checked(nblock, bytes?, checksums),
        }
    }

    /// The streams of block `nblock`, at the front of `bytes`, if they match their checksums.
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
            &bytes[..len.map_err(|_| Error::DATA)?]
        };
        checksums.check_block(nblock, streams)?;
        self.checked.add_block(nblock);
        Ok(streams)
    }

    /// If block `nblock`, of `bsize` bytes, is a *paged* block (a stored stream with a checksum for
    /// each page): the checksums, and where in the chunk its data begin.
    fn stored_block(&self, nblock: usize, bsize: usize) -> Option<(&Checksums<'a>, usize)> {
        let sums = self.checksums.as_ref();
        let sums = sums.filter(|sums| sums.is_stored(nblock, bsize))?;
        Some((sums, usize::try_from(self.start(nblock)).ok()? + 4))
    }

    /// Whether block `nblock`, of `bsize` bytes, is a paged block.
    pub(crate) fn is_stored_block(&self, nblock: usize, bsize: usize) -> bool {
        self.stored_block(nblock, bsize).is_some()
    }

    /// Copies the data of a paged block into `out`. Returns false for other blocks.
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

    /// Copies the chunk's data from byte `start` on into `out`, if they lie in paged blocks that
    /// were checked before. Otherwise returns false, and may have overwritten a part of `out`.
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

    /// The bytes of a paged block from `from` on, at most `len`, if the block was checked before.
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

    /// In a chunk of paged blocks that follow each other: where the data of the first block begin,
    /// and the distance from block to block.
    pub(crate) fn stored_places(&self) -> Option<(usize, usize)> {
        let header = self.header;
        self.checksums.as_ref().filter(|sums| sums.has_pages())?;
        let size = 4 + header.blocksize_field();
        let first = header.cbytes - header.nbytes - 4 * header.nblocks;
        let is_apart = |nblock| self.start(nblock) as usize == first + nblock * size;
        let all = (0..header.nblocks).all(is_apart);
        all.then_some((first + 4, size))
    }

    /// The pages of a paged block that contain its bytes `from..to`, checked, and where in the
    /// block the first page begins.
    pub(crate) fn stored_part<'s>(
        &'s self,
        (nblock, bsize): (usize, usize),
        (from, to): (usize, usize),
        buf: &'s mut AlignedBuffer,
    ) -> Result<(usize, &'s [u8])> {
        let (sums, start) = self.stored_block(nblock, bsize).ok_or(Error::DATA)?;
        let (first, to) = (from / PAGE, to.next_multiple_of(PAGE).min(bsize));
        self.check_stored(nblock, bsize);
        let bytes = self.fetch(start + first * PAGE, start + to, buf)?;
        if !self.was_checked(nblock) {
            sums.check_part(nblock, first, bytes)?;
        }
        Ok((first * PAGE, bytes))
    }

    /// Checks all pages of a paged block at once if the result can be remembered, since more reads
    /// of the block are likely. If a page is damaged, nothing is remembered, and each read checks
    /// the pages that it needs.
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
        let (start, end) = self.vl_span(nblock).ok_or(Error::DATA)?;
        self.bytes.get(start..end).ok_or(Error::READ_BUFFER)
    }

    /// The streams of block `nblock`, in memory, if they match their checksums. Only then may new
    /// checksums be computed from them, as those of damaged streams would hide the damage.
    ///
    /// # Errors
    /// [`Error::DATA`] if the checksum is wrong; those of a damaged chunk.
    pub fn checked_streams(&self, nblock: usize) -> Result<&'a [u8]> {
        let streams = self.compressed(nblock, |_| ())?;
        match &self.checksums {
            Some(sums) if !self.was_checked(nblock) => sums.check_block(nblock, streams)?,
            _ => {}
        }
        Ok(streams)
    }

    /// The compressed bytes of block `nblock`, exactly its streams; `each` gets every stream with
    /// its size in front. The block must be in memory.
    pub(crate) fn compressed(&self, nblock: usize, each: impl FnMut(&'a [u8])) -> Result<&'a [u8]> {
        let (start, end) = self.span(nblock, true)?;
        let bytes = self.bytes.get(start..end).ok_or(Error::READ_BUFFER)?;
        let len = streams_len(self.header, bytes, self.block_nbytes(nblock)?, each)?;
        Ok(&bytes[..len])
    }

    /// Start and end of the variable-length block `nblock` in the chunk.
    pub(crate) fn vl_span(&self, nblock: usize) -> Option<(usize, usize)> {
        let start = usize::try_from(self.start(nblock)).ok()?;
        let end = if nblock + 1 < self.header.nblocks {
            usize::try_from(self.start(nblock + 1)).ok()?
        } else {
            self.header.cbytes
        };
        (start < end && end <= self.header.cbytes).then_some((start, end))
    }

    /// Whether there is a block `nblock`. A chunk without data has no block, whatever its header
    /// says.
    pub(crate) fn has_block(&self, nblock: usize) -> bool {
        nblock < self.header.nblocks && self.header.nbytes > 0
    }

    /// Size of the data of block `nblock`. In a lazy chunk the size of a variable-length block is
    /// read; one larger than the header allows is an error.
    ///
    /// # Errors
    /// [`Error::INVALID_PARAM`] if there is no such block, [`Error::INVALID_HEADER`] if its size is
    /// not possible; those of reading a lazy chunk.
    pub fn block_nbytes(&self, nblock: usize) -> Result<usize> {
        if !self.has_block(nblock) {
            return Err(Error::INVALID_PARAM);
        }
        match self.header.blocks {
            Blocks::Regular { blocksize } => {
                Ok(blocksize.min(self.header.nbytes - nblock * blocksize))
            }
            Blocks::Variable { .. } if self.lazy.is_some() => {
                let (start, end) = self.vl_span(nblock).ok_or(Error::INVALID_HEADER)?;
                if start < self.starts_end() || end - start < 4 {
                    return Err(Error::INVALID_HEADER);
                }
                let nbytes = i32_at(
                    self.fetch(start, start + 4, &mut AlignedBuffer::default())?,
                    0,
                );
                let nbytes = usize::try_from(nbytes).unwrap_or(0);
                if nbytes == 0 || nbytes > self.header.nbytes {
                    return Err(Error::INVALID_HEADER);
                }
                Ok(nbytes)
            }
            Blocks::Variable { .. } => Ok(self.offsets[nblock + 1] - self.offsets[nblock]),
        }
    }

    /// The size of the largest block, as far as it is known.
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

    /// Checks all checksums of a chunk in memory, without decompressing it. Returns false if it has
    /// none.
    ///
    /// # Errors
    /// [`Error::DATA`] where one is wrong, and those of a damaged chunk.
    pub fn check_checksums(&self) -> Result<bool> {
        let Some(sums) = self.checksums() else {
            return Ok(self.header().has_checksums());
        };
        for nblock in 0..self.header().nblocks {
            sums.check_block(nblock, self.block_streams(nblock)?)?;
        }
        Ok(true)
    }
}
