//! Decodes single blocks of a chunk, in any order.

use super::Chunk;
use super::decode_block::BlockDecoder;
use super::decode_part::Items;
use super::header::Special;
use super::hooks::{BlockPos, Hooks};
use super::pipeline::Pipeline;
use super::scratch::{Bufs, CodecState};
use super::special;
use oxiblosc_base::memory::TryVec;
use oxiblosc_base::{Error, Result};

/// Decodes blocks of one chunk; what they share is prepared once.
pub struct BlockReader<'a> {
    decoder: BlockDecoder<'a>,
    reference: Option<TryVec<u8>>,
}

impl Chunk<'_> {
    /// Runs `body` with a reader of this chunk's blocks.
    ///
    /// # Errors
    /// Those of a damaged chunk, and those of `body`.
    pub fn with_reader<T>(
        &self,
        hooks: &dyn Hooks,
        body: impl FnOnce(&BlockReader) -> Result<T>,
    ) -> Result<T> {
        let mut pipeline = Pipeline::EMPTY;
        let decoder = self.decoder(&mut pipeline, hooks)?;
        let reference = if decoder.needs_reference() && self.header().nblocks > 1 {
            Some(decoder.reference()?)
        } else {
            None
        };
        body(&BlockReader { decoder, reference })
    }

    /// Whether this is a chunk of special values, without blocks.
    pub fn is_special(&self) -> bool {
        self.header().special() != Special::None
    }

    /// Fills `dest` with the data of a chunk of special values, from byte `start` on; uninitialised
    /// data are zeros.
    ///
    /// # Errors
    /// Those of a damaged chunk, and of one that has blocks.
    pub fn fill_special(&self, start: usize, dest: &mut [u8]) -> Result<()> {
        match self.header().special() {
            Special::Uninit | Special::Zero => {
                dest.fill(0);
                Ok(())
            }
            _ => special::fill(self.header(), self.value(), start, dest),
        }
    }
}

impl BlockReader<'_> {
    /// Decodes block `nblock` into `dest`, which has the block's size. `tid` is the worker's index.
    ///
    /// # Errors
    /// Those of a damaged chunk.
    pub fn block(
        &self,
        nblock: usize,
        tid: usize,
        dest: &mut [u8],
        parts: (&mut Bufs, &mut CodecState),
    ) -> Result<()> {
        if self.decoder.chunk.block_nbytes(nblock)? != dest.len() {
            return Err(Error::INVALID_PARAM);
        }
        let pos = BlockPos {
            nblock,
            offset: self.decoder.offset(nblock),
            tid,
        };
        let reference = if nblock > 0 {
            self.reference.as_deref()
        } else {
            None
        };
        self.decoder.decode(pos, reference, dest, parts)
    }

    /// Runs `body` with items of block `nblock`, if single items can be read from it without
    /// undoing its filters; returns false otherwise. `span` is the byte range in the block (start,
    /// end) and the size of an item.
    ///
    /// # Errors
    /// Those of a damaged chunk, and those of `body`.
    pub fn items(
        &self,
        nblock: usize,
        span: (usize, usize, usize),
        parts: (&mut Bufs, &mut CodecState),
        body: impl FnOnce(&Items) -> Result<()>,
    ) -> Result<bool> {
        self.decoder.decode_items(nblock, span, parts, body)
    }

    /// Decodes the bytes of block `nblock` from `from` on into `part`, if that is possible without
    /// decoding the whole block; returns false otherwise.
    ///
    /// # Errors
    /// Those of a damaged chunk.
    pub fn part(
        &self,
        nblock: usize,
        from: usize,
        part: &mut [u8],
        parts: (&mut Bufs, &mut CodecState),
    ) -> Result<bool> {
        let end = from.checked_add(part.len()).ok_or(Error::INVALID_PARAM)?;
        if end > self.decoder.chunk.block_nbytes(nblock)? {
            return Err(Error::INVALID_PARAM);
        }
        self.decoder.decode_part(nblock, from, part, parts)
    }
}
