//! Decompressing a chunk, whole or block by block.

use super::Chunk;
use super::decode_block::BlockDecoder;
use super::header::{Blocks, Special, flags2};
use super::hooks::{BlockPos, Hooks};
use super::pipeline::Pipeline;
use super::scratch::{self, BorrowedScratch};
use super::special;
use super::uncompressed::{copy, in_pieces};
use super::work_stealing::StealingQueue;
use super::workers::Workers;
use oxiblosc_base::memory::TryVec;
use oxiblosc_base::{Error, Result};
use oxiblosc_codecs::Codec;
use oxiblosc_filters as filters;

impl Chunk<'_> {
    /// Refuses a kind of special values that this library does not know.
    fn check_special(&self) -> Result<()> {
        match self.header.special() {
            Special::Unknown(_) => Err(Error::DATA),
            _ => Ok(()),
        }
    }

    /// Prepares the decoding of blocks. `pipeline` is the caller's variable, which gets the filters
    /// of the chunk.
    #[inline(always)]
    pub(super) fn decoder<'b>(
        &'b self,
        pipeline: &'b mut Pipeline,
        hooks: &'b dyn Hooks,
    ) -> Result<BlockDecoder<'b>> {
        let header = self.header;
        self.check_special()?;
        pipeline.set_typesize(header.typesize, header.version, header.rules);
        if self.has_streams() && header.blosc2_flags & flags2::INSTRUMENTED == 0 {
            pipeline.resolve(&header.filters, &header.filters_meta, true)?;
        }
        Ok(BlockDecoder {
            chunk: self,
            codec: Codec::from_format(header.flags >> 5),
            pipeline,
            hooks,
        })
    }
}

/// How many bytes of a chunk are prefetched. From there on the processor's own prefetcher does
/// better than software.
const PREFETCHED: usize = 1024;

/// Prefetches the front of a chunk that is about to be read: each of its streams tells where the
/// next one is, so without this each step would wait for memory.
#[inline]
pub fn prefetch(chunk: &[u8]) {
    filters::shuffle::prefetch(&chunk[..chunk.len().min(PREFETCHED)]);
}

/// Decompresses a chunk into `dest`, and returns the size of its data. Blocks that are true in
/// `maskout` are left as they are in `dest`.
///
/// # Errors
/// [`Error::WRITE_BUFFER`] if the data do not fit into `dest`, [`Error::DATA`] for a mask of
/// another length; those of a damaged chunk, of its source, and of `hooks`.
pub fn decompress(
    chunk: &Chunk,
    dest: &mut [u8],
    maskout: Option<&[bool]>,
    hooks: &dyn Hooks,
    workers: Workers,
) -> Result<usize> {
    let header = chunk.header();
    let nbytes = header.nbytes;
    let nblocks = header.nblocks;
    chunk.check_special()?;
    let dest = dest.get_mut(..nbytes).ok_or(Error::WRITE_BUFFER)?;
    if maskout.is_some_and(|mask| mask.len() != nblocks) {
        return Err(Error::DATA);
    }
    if nbytes == 0 {
        return Ok(0);
    }
    if !chunk.has_streams() && maskout.is_none() && !hooks.has_postfilter() {
        match header.special() {
            Special::None if chunk.is_lazy() => chunk.stored(0, dest)?,
            Special::None => copy(&chunk.bytes()[header.overhead()..], dest, workers)?,
            Special::Uninit => {}
            _ => in_pieces(dest, workers, |at, piece| {
                special::fill(header, chunk.value(), at, piece)
            })?,
        }
        return Ok(nbytes);
    }
    if chunk.is_lazy() && header.has_vlblocks() {
        // Where the data of a block begin depends on the sizes of all blocks before it, which are
        // in the blocks.
        let bytes = chunk.load()?;
        let loaded = Chunk::loaded(header, &bytes)?;
        return decompress(&loaded, dest, maskout, hooks, workers);
    }
    let copies = workers.nthreads <= 1 && maskout.is_none() && !hooks.has_postfilter();
    if copies && chunk.copy_checked(0, dest) {
        return Ok(nbytes);
    }
    match header.blocks {
        Blocks::Regular { blocksize } => {
            let blocks = dest.chunks_mut(blocksize);
            decompress_blocks(chunk, blocks, maskout, hooks, workers)?;
        }
        Blocks::Variable { .. } => {
            let blocks = split_at_offsets(dest, &chunk.offsets)?;
            decompress_blocks(chunk, blocks.into_iter(), maskout, hooks, workers)?;
        }
    }
    Ok(nbytes)
}

fn split_at_offsets<'d>(mut dest: &'d mut [u8], offsets: &[usize]) -> Result<TryVec<&'d mut [u8]>> {
    let mut blocks = TryVec::with_capacity(offsets.len())?;
    for pair in offsets.windows(2) {
        let (block, rest) = dest.split_at_mut(pair[1] - pair[0]);
        blocks.push(block)?;
        dest = rest;
    }
    Ok(blocks)
}

/// Chunks of shorter blocks are decoded by one thread: a queue of them would take many times the
/// memory of their data, and a header of 32 bytes can claim very many.
const MIN_QUEUED: usize = 32;

/// Decompresses every block into its own slice, which has the block's size.
///
/// # Errors
/// Those of a damaged chunk, of its source, and of `hooks`.
pub fn decompress_blocks<'d>(
    chunk: &Chunk,
    mut blocks: impl Iterator<Item = &'d mut [u8]>,
    maskout: Option<&[bool]>,
    hooks: &dyn Hooks,
    workers: Workers,
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
    // With delta all blocks need the first one, so it is decoded before them; into memory of its
    // own if the caller changes it in `dest` or does not want it there.
    let first_apart;
    let mut reference: Option<&[u8]> = None;
    let mut from = 0;
    if decoder.needs_reference() && nblocks > 1 {
        if hooks.has_postfilter() || masked(0) {
            first_apart = decoder.reference()?;
            reference = Some(&first_apart);
        } else if let Some(first) = blocks.next() {
            decoder.decode(position(0, 0), None, first, scratch::borrow()?.parts())?;
            reference = Some(first);
            from = 1;
        }
    }
    let mut blocks = (from..).zip(blocks);
    let nworkers = match chunk.header.blocks {
        Blocks::Regular { blocksize } if blocksize < MIN_QUEUED => 1,
        _ => workers.for_job(nblocks - from, chunk.header.nbytes, hooks.has_postfilter()),
    };
    let decode = |(nblock, dst): (usize, &mut [u8]), tid, scratch: &mut BorrowedScratch| {
        if masked(nblock) {
            return Ok(());
        }
        decoder.decode(position(nblock, tid), reference, dst, scratch.parts())
    };
    if nworkers <= 1 {
        let mut scratch = scratch::borrow()?;
        return blocks.try_for_each(|block| decode(block, 0, &mut scratch));
    }
    let queue = StealingQueue::new(blocks, nblocks - from, nworkers)?;
    queue.work(workers, |tid| {
        let mut scratch = scratch::borrow()?;
        while let Some(block) = queue.next(tid) {
            decode(block, tid, &mut scratch)?;
        }
        Ok(())
    })
}

/// Decompresses block `nblock` into `dst`, which has the block's size ([`Chunk::block_nbytes`]).
///
/// # Errors
/// [`Error::INVALID_PARAM`] if there is no such block; as for [`decompress_blocks`].
pub fn decompress_block(
    chunk: &Chunk,
    nblock: usize,
    dst: &mut [u8],
    hooks: &dyn Hooks,
) -> Result<()> {
    if !chunk.has_block(nblock) {
        return Err(Error::INVALID_PARAM);
    }
    let mut pipeline = Pipeline::EMPTY;
    let decoder = chunk.decoder(&mut pipeline, hooks)?;
    let pos = BlockPos {
        nblock,
        offset: decoder.offset(nblock),
        tid: 0,
    };
    let reference = if decoder.needs_reference() && nblock > 0 {
        Some(decoder.reference()?)
    } else {
        None
    };
    decoder.decode(pos, reference.as_deref(), dst, scratch::borrow()?.parts())
}
