//! Decompressing a chunk, whole or block by block.

use super::decode_block::BlockDecoder;
use super::encode::{lock, workers};
use super::header::{Blocks, ChunkHeader, Special, flags2, i32_at};
use super::hooks::{BlockPos, Executor, Hooks};
use super::pipeline::Pipeline;
use super::scratch;
use super::special;
use super::store::copy;
use crate::codec::{Codec, Dict};
use crate::error::{Error, Result};
use std::sync::Mutex;

/// A chunk whose header, block starts and dictionary were checked: what is left to find wrong is in the streams.
pub struct Chunk<'a> {
    pub(super) header: &'a ChunkHeader,
    /// The whole chunk, `header.cbytes` long.
    pub(super) bytes: &'a [u8],
    pub(super) dict: Option<Box<Dict>>,
    /// For variable-length blocks: where the data of each block begin in the chunk's data, and the end.
    pub(super) offsets: Vec<usize>,
}

impl<'a> Chunk<'a> {
    /// Checks the chunk at the front of `src`, whose header has been read.
    #[inline(always)]
    pub fn parse(header: &'a ChunkHeader, src: &'a [u8]) -> Result<Self> {
        let lazy = header.is_lazy() && header.special() == Special::None;
        if header.cbytes > src.len() && !header.is_lazy() {
            return Err(Error::InvalidHeader);
        }
        if lazy {
            // The blocks of a lazy chunk are in a frame, which nobody has given.
            return Err(Error::InvalidParam);
        }
        let bytes = &src[..header.cbytes.min(src.len())];
        let mut chunk = Self {
            header,
            bytes,
            dict: None,
            offsets: Vec::new(),
        };
        if header.is_memcpyed() && header.cbytes != header.nbytes + header.overhead() {
            return Err(Error::Data);
        }
        let empty = header.nbytes == 0 && header.cbytes == header.overhead();
        if chunk.has_streams() && !empty {
            if chunk.starts_end() > bytes.len() {
                return Err(Error::ReadBuffer);
            }
            if header.blosc2_flags & flags2::USE_DICT != 0 {
                chunk.dict = chunk.read_dict()?;
            }
            if header.has_vlblocks() {
                chunk.offsets = chunk.read_offsets()?;
            }
        }
        Ok(chunk)
    }

    /// The header.
    pub fn header(&self) -> &'a ChunkHeader {
        self.header
    }

    /// Whether there are block starts and streams.
    pub(super) fn has_streams(&self) -> bool {
        self.header.special() == Special::None && !self.header.is_memcpyed()
    }

    fn starts_end(&self) -> usize {
        self.header.overhead() + 4 * self.header.nblocks
    }

    /// Where block `nblock` starts in the chunk, as its table says.
    pub(super) fn start(&self, nblock: usize) -> i32 {
        i32_at(self.bytes, self.header.overhead() + 4 * nblock)
    }

    fn read_dict(&self) -> Result<Option<Box<Dict>>> {
        let at = self.starts_end();
        let size = self.bytes.get(at..at + 4).ok_or(Error::ReadBuffer)?;
        let size = usize::try_from(i32_at(size, 0)).map_err(|_| Error::CodecDict)?;
        if size == 0 || size > crate::codec::MAX_DICT_SIZE {
            return Err(Error::CodecDict);
        }
        let raw = self
            .bytes
            .get(at + 4..at + 4 + size)
            .ok_or(Error::ReadBuffer)?;
        match Codec::from_format(self.header.flags >> 5) {
            Some(codec) if codec.supports_dict() => {
                Dict::for_decompression(codec, raw).map(Box::new).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// Sizes of variable-length blocks stand at the front of each; starts must rise, sizes must add up.
    fn read_offsets(&self) -> Result<Vec<usize>> {
        let nblocks = self.header.nblocks;
        let mut offsets = Vec::new();
        offsets
            .try_reserve_exact(nblocks + 1)
            .map_err(|_| Error::MemoryAlloc)?;
        offsets.push(0);
        let mut total = 0usize;
        for nblock in 0..nblocks {
            let (start, end) = self.vl_span(nblock).ok_or(Error::InvalidHeader)?;
            if start < self.starts_end() || end - start < 4 {
                return Err(Error::InvalidHeader);
            }
            let nbytes = i32_at(self.bytes, start);
            if nbytes <= 0 {
                return Err(Error::InvalidHeader);
            }
            total += nbytes as usize;
            if total > self.header.nbytes {
                return Err(Error::InvalidHeader);
            }
            offsets.push(total);
        }
        if total == self.header.nbytes {
            Ok(offsets)
        } else {
            Err(Error::InvalidHeader)
        }
    }

    /// From where to where the variable-length block `nblock` goes in the chunk.
    pub(super) fn vl_span(&self, nblock: usize) -> Option<(usize, usize)> {
        let start = usize::try_from(self.start(nblock)).ok()?;
        let end = if nblock + 1 < self.header.nblocks {
            usize::try_from(self.start(nblock + 1)).ok()?
        } else {
            self.header.cbytes
        };
        (start < end && end <= self.bytes.len()).then_some((start, end))
    }

    /// Size of the data of block `nblock`.
    pub fn block_nbytes(&self, nblock: usize) -> usize {
        match self.header.blocks {
            Blocks::Regular { blocksize } => blocksize.min(self.header.nbytes - nblock * blocksize),
            Blocks::Variable { .. } => self.offsets[nblock + 1] - self.offsets[nblock],
        }
    }

    /// The largest block.
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

    /// Refuses a kind of special values that this library does not know.
    fn known(&self) -> Result<()> {
        match self.header.special() {
            Special::Unknown(_) => Err(Error::Data),
            _ => Ok(()),
        }
    }

    /// Prepares the decoding of blocks; `pipeline` is where the filters are written down.
    pub(super) fn decoder<'b>(
        &'b self,
        pipeline: &'b mut Pipeline,
        hooks: &'b dyn Hooks,
    ) -> Result<BlockDecoder<'b>> {
        let header = self.header;
        self.known()?;
        pipeline.set_typesize(header.typesize, header.version);
        if self.has_streams() && header.blosc2_flags & flags2::INSTRUMENTED == 0 {
            pipeline.resolve(&header.filters, &header.filters_meta, true)?;
        }
        Ok(BlockDecoder {
            chunk: self,
            pipeline,
            hooks,
        })
    }
}

/// Decompresses a chunk into `dest`. Blocks that `maskout` marks are left as they are in `dest`.
/// Gives the size of the data.
pub fn decompress(
    chunk: &Chunk,
    dest: &mut [u8],
    maskout: Option<&[bool]>,
    nthreads: usize,
    hooks: &dyn Hooks,
    exec: &dyn Executor,
) -> Result<usize> {
    let header = chunk.header();
    let nbytes = header.nbytes;
    let nblocks = header.nblocks;
    chunk.known()?;
    let dest = dest.get_mut(..nbytes).ok_or(Error::WriteBuffer)?;
    if maskout.is_some_and(|mask| mask.len() != nblocks) {
        return Err(Error::Data);
    }
    if nbytes == 0 {
        return Ok(0);
    }
    if !chunk.has_streams() && maskout.is_none() && !hooks.has_postfilter() {
        let stored = &chunk.bytes[header.overhead()..];
        if header.special() == Special::None {
            copy(stored, dest, nthreads, exec)?;
        } else {
            special::fill(header, stored, 0, dest)?;
        }
        return Ok(nbytes);
    }
    match header.blocks {
        Blocks::Regular { blocksize } => {
            let blocks = dest.chunks_mut(blocksize);
            decompress_blocks(chunk, blocks, maskout, nthreads, hooks, exec)?;
        }
        Blocks::Variable { .. } => {
            let blocks = split_at_offsets(dest, &chunk.offsets);
            decompress_blocks(chunk, blocks.into_iter(), maskout, nthreads, hooks, exec)?;
        }
    }
    Ok(nbytes)
}

fn split_at_offsets<'d>(mut dest: &'d mut [u8], offsets: &[usize]) -> Vec<&'d mut [u8]> {
    let mut blocks = Vec::with_capacity(offsets.len());
    for pair in offsets.windows(2) {
        let (block, rest) = dest.split_at_mut(pair[1] - pair[0]);
        blocks.push(block);
        dest = rest;
    }
    blocks
}

/// Decompresses every block into its own slice, which has the block's size.
pub fn decompress_blocks<'d>(
    chunk: &Chunk,
    mut blocks: impl Iterator<Item = &'d mut [u8]> + Send,
    maskout: Option<&[bool]>,
    nthreads: usize,
    hooks: &dyn Hooks,
    exec: &dyn Executor,
) -> Result<()> {
    let mut pipeline = Pipeline::EMPTY;
    let decoder = chunk.decoder(&mut pipeline, hooks)?;
    let nblocks = chunk.header.nblocks;
    let masked = |nblock: usize| maskout.is_some_and(|mask| mask[nblock]);
    let position = |nblock: usize, tid: usize| BlockPos {
        nblock,
        offset: decoder.offset(nblock),
        tid,
    };
    // The others are compared with the first block, so it is decoded before them, and apart from `dest` where the
    // caller changes it or does not want it.
    let first_apart;
    let mut reference: Option<&[u8]> = None;
    let mut from = 0;
    if decoder.needs_reference() && nblocks > 1 {
        if hooks.has_postfilter() || masked(0) {
            first_apart = decoder.reference()?;
            reference = Some(&first_apart);
        } else if let Some(first) = blocks.next() {
            decoder.decode(position(0, 0), None, first, scratch::borrow().parts())?;
            reference = Some(first);
            from = 1;
        }
    }
    let blocks = (from..).zip(blocks);
    let nworkers = workers(nthreads, nblocks - from, chunk.header.nbytes);
    if nworkers <= 1 {
        let mut scratch = scratch::borrow();
        for (nblock, dst) in blocks {
            if !masked(nblock) {
                decoder.decode(position(nblock, 0), reference, dst, scratch.parts())?;
            }
        }
        return Ok(());
    }
    let queue = Mutex::new(blocks);
    let failed: Mutex<Option<Error>> = Mutex::new(None);
    exec.run(nthreads, nworkers, &|tid| {
        let mut scratch = scratch::borrow();
        loop {
            let Some((nblock, dst)) = lock(&queue).next() else {
                return;
            };
            if masked(nblock) {
                continue;
            }
            let result = decoder.decode(position(nblock, tid), reference, dst, scratch.parts());
            if let Err(error) = result {
                lock(&failed).get_or_insert(error);
                while lock(&queue).next().is_some() {}
                return;
            }
        }
    })?;
    lock(&failed).take().map_or(Ok(()), Err)
}

/// Decompresses block `nblock` into `dst`, which has the block's size. For chunks of variable-length blocks.
pub fn decompress_block(
    chunk: &Chunk,
    nblock: usize,
    dst: &mut [u8],
    hooks: &dyn Hooks,
) -> Result<()> {
    let mut pipeline = Pipeline::EMPTY;
    let decoder = chunk.decoder(&mut pipeline, hooks)?;
    let pos = BlockPos {
        nblock,
        offset: decoder.offset(nblock),
        tid: 0,
    };
    decoder.decode(pos, None, dst, scratch::borrow().parts())
}
