//! Writing a selection. Only blocks with selected items are compressed again, and those that are
//! selected whole are not decompressed before. The results are updates of chunks, which the caller
//! makes as one change.

use super::access::{ChunkData, ChunkMaker, StoredChunks};
use super::chunks::{PartSizes, whole, with_chunk};
use super::runs::Run;
use super::select::{Selection, TouchedChunk};
use crate::fill::Fill;
use crate::schunk::parsed::patch_stored;
use crate::schunk::{ChunkUpdate, Location, Update, WholeChunk};
use oxiblosc_base::memory::sort::sort_by_key;
use oxiblosc_base::memory::{Collect, ToTryVec, TryVec, lock};
use oxiblosc_base::{Error, Result};
use oxiblosc_chunk::Chunk;
use oxiblosc_chunk::checked::Checked;
use oxiblosc_chunk::decode::decompress;
use oxiblosc_chunk::header::{ChunkHeader, Special};
use oxiblosc_chunk::hooks::Hooks;
use oxiblosc_chunk::patch::{PatchMode, Patched, Patcher, Touched};
use oxiblosc_chunk::workers::Workers;
use std::ops::Range;
use std::sync::Mutex;

/// What is needed to rewrite chunks.
#[derive(Clone, Copy)]
pub struct Rewriter<'a> {
    /// The present chunks.
    pub chunks: &'a StoredChunks<'a>,
    /// Compresses the new ones.
    pub maker: &'a ChunkMaker<'a>,
    /// The sizes of an item, a block and a chunk.
    pub sizes: PartSizes,
    /// Whether a changed chunk may be returned as edits of the old one.
    pub in_place: bool,
}

/// A change of the data of some blocks of a chunk.
#[derive(Clone, Copy)]
pub struct BlockChange<'a> {
    /// The blocks, in ascending order.
    pub touched: &'a [Touched],
    /// Changes the data of a block.
    pub change: &'a Fill<'a>,
}

impl BlockChange<'_> {
    /// Changes the data of a block if it is one of the touched ones.
    fn apply(&self, nblock: usize, block: &mut [u8]) -> Result<()> {
        match self.touched.binary_search_by_key(&nblock, |t| t.nblock) {
            Ok(_) => (self.change)(nblock, block),
            Err(_) => Ok(()),
        }
    }
}

impl Rewriter<'_> {
    /// Whether several chunks may be rewritten at the same time.
    fn is_shared(&self) -> bool {
        self.chunks.is_shared() && self.maker.plan().is_some()
    }

    /// Runs `one` with the numbers below `count`. Gives the updates that it makes, in the order of
    /// their chunks.
    ///
    /// # Errors
    /// [`Error::MEMORY_ALLOC`]; [`Error::FAILURE`] for all other errors.
    pub fn each(
        &self,
        count: usize,
        workers: Workers,
        one: &(dyn Fn(usize, Workers) -> Result<Option<Update>> + Sync),
    ) -> Result<TryVec<Update>> {
        let new: Mutex<TryVec<Update>> = Mutex::new(TryVec::new());
        let keep = |created: Option<Update>| lock(&new).extend(created);
        let done = if self.is_shared() && workers.nthreads > 1 && count >= workers.at_once() {
            let nbytes = count.saturating_mul(self.sizes.chunk);
            workers.run(0..count, nbytes, &|i, _| {
                one(i, Workers::ALONE).and_then(keep)
            })
        } else {
            (0..count).try_for_each(|i| one(i, workers).and_then(keep))
        };
        done.map_err(Error::or_failure)?;
        let mut new = std::mem::take(&mut *lock(&new));
        sort_by_key(&mut new, |(nchunk, _)| *nchunk);
        Ok(new)
    }

    /// Changes the data of some blocks of chunk `old`. The result becomes chunk `nchunk`.
    ///
    /// # Errors
    /// Those of a damaged chunk, and as for [`ChunkMaker::make`].
    pub fn rewrite(
        &self,
        (old, nchunk): (usize, usize),
        change: BlockChange,
        workers: Workers,
    ) -> Result<ChunkUpdate> {
        let touched = change.touched;
        let found = self.chunks.find(old)?;
        if let Location::File(stored) = &found
            && self.in_place
            && old == nchunk
        {
            let patched = patch_stored(
                stored,
                |header| self.fits(header).then(|| touched.to_try_vec()).transpose(),
                |chunk, prefix, mode| {
                    let decoding = self.chunks.hooks(chunk.header(), prefix)?;
                    self.patched((chunk, &*decoding), mode, change, workers)
                },
            )?;
            if let Some(patched) = patched {
                return Ok(patched.into());
            }
        }
        let Some(bytes) = whole(&found)? else {
            return self.with_special(&found, nchunk, change, workers);
        };
        let header = ChunkHeader::parse(&bytes)?;
        if header.special() != Special::None {
            let found = Location::Memory(&bytes, Checked::NEVER);
            return self.with_special(&found, nchunk, change, workers);
        }
        if !self.fits(&header) {
            return Err(Error::DATA);
        }
        let chunk = Chunk::parse_checked(&header, &bytes, found.checked())?;
        let decoding = self.chunks.hooks(&header, &bytes)?;
        // A chunk that was read whole from a file is written whole.
        let mode = match bytes {
            WholeChunk::Borrowed(_) if self.in_place && old == nchunk => PatchMode::Edits,
            _ => PatchMode::Whole,
        };
        let source = (&chunk, &*decoding);
        match self.patched(source, mode, change, workers)? {
            Some(patched) => Ok(patched.into()),
            None => self.remade(source, nchunk, change, workers),
        }
    }

    /// Changes the data of some blocks, but decompresses and compresses all blocks.
    fn remade(
        &self,
        (chunk, decoding): (&Chunk, &dyn Hooks),
        nchunk: usize,
        change: BlockChange,
        workers: Workers,
    ) -> Result<ChunkUpdate> {
        let mut data = TryVec::new();
        data.reserve_exact(self.sizes.chunk)?;
        data.resize(self.sizes.chunk, 0)?;
        decompress(chunk, &mut data, None, decoding, workers)?;
        let fill = |nblock: usize, block: &mut [u8]| {
            block.copy_from_slice(&data[nblock * self.sizes.block..][..block.len()]);
            change.apply(nblock, block)
        };
        self.maker
            .make(nchunk, ChunkData::Filled(&fill), workers)
            .map(ChunkUpdate::Whole)
    }

    /// Whether a chunk has the size of the array's chunks.
    fn fits(&self, header: &ChunkHeader) -> bool {
        header.nbytes == self.sizes.chunk && !header.has_vlblocks()
    }

    /// Changes the data of some blocks, and compresses only these. None if that is not possible.
    fn patched(
        &self,
        (chunk, decoding): (&Chunk, &dyn Hooks),
        mode: PatchMode,
        change: BlockChange,
        workers: Workers,
    ) -> Result<Option<Patched>> {
        let Some(plan) = self.maker.plan() else {
            return Ok(None);
        };
        if chunk.header().blocksize_field() != self.sizes.block {
            return Ok(None);
        }
        let encoding = self.maker.hooks(chunk)?;
        let patcher = Patcher {
            chunk,
            compcode: plan.params.compcode,
            clevel: plan.params.clevel,
            decoding,
            encoding: &*encoding,
            workers,
        };
        let failed = Mutex::new(None);
        let noted = |nblock: usize, data: &mut [u8]| {
            if let Err(error) = (change.change)(nblock, data) {
                lock(&failed).get_or_insert(error);
            }
        };
        let patched = patcher.changed(change.touched, &noted, mode)?;
        match lock(&failed).take() {
            Some(error) => Err(error),
            None => Ok(patched),
        }
    }

    fn with_special(
        &self,
        found: &Location,
        nchunk: usize,
        change: BlockChange,
        workers: Workers,
    ) -> Result<ChunkUpdate> {
        with_chunk(found, self.sizes, false, |chunk, _| {
            let fill = |nblock: usize, block: &mut [u8]| {
                chunk.fill_special(nblock * self.sizes.block, block)?;
                change.apply(nblock, block)
            };
            self.maker
                .make(nchunk, ChunkData::Filled(&fill), workers)
                .map(ChunkUpdate::Whole)
        })
    }
}

/// Writes a selection.
pub struct SelectionWrite<'a> {
    /// The selected items.
    pub selection: &'a Selection<'a>,
    /// Rewrites the chunks.
    pub rewriter: Rewriter<'a>,
    /// Gives the present index of a chunk, whose index changes if the array gets another shape.
    /// None for a new chunk.
    pub origin: &'a (dyn Fn(usize) -> Option<usize> + Sync),
    /// The new values of the items.
    pub buffer: &'a [u8],
}

impl SelectionWrite<'_> {
    /// The updates that write the touched chunks with these numbers, in their order.
    ///
    /// # Errors
    /// [`Error::INVALID_PARAM`] if the buffer is too small; [`Error::MEMORY_ALLOC`];
    /// [`Error::FAILURE`] if a chunk cannot be read or compressed.
    pub fn chunks(&self, numbers: Range<usize>, workers: Workers) -> Result<TryVec<Update>> {
        let items = self.selection.buffer_items()?;
        let needed = items.checked_mul(self.rewriter.sizes.item);
        if needed.is_none_or(|needed| needed > self.buffer.len()) {
            return Err(Error::INVALID_PARAM);
        }
        self.rewriter.each(numbers.len(), workers, &|i, workers| {
            self.one(numbers.start + i, workers).map(Some)
        })
    }

    /// The data of a whole chunk, if they have the same order in the buffer as in the chunk.
    fn contiguous(&self, chunk: &TouchedChunk) -> Option<&[u8]> {
        let PartSizes {
            item,
            block,
            chunk: nbytes,
        } = self.rewriter.sizes;
        if !chunk.whole || chunk.nblocks.checked_mul(block) != Some(nbytes) {
            return None;
        }
        let mut first = None;
        for j in 0..chunk.nblocks {
            let touched = self.selection.block(chunk, j);
            let run = self.selection.as_box(&touched)?.single()?;
            let begin = *first.get_or_insert(run.at * item);
            let in_place = touched.nblock == j && run.at * item == begin + j * block;
            if !in_place || run.len * item != block {
                return None;
            }
        }
        self.buffer.get(first?..)?.get(..nbytes)
    }

    /// Copies the selected items of the `j`th touched block of a chunk into the data of the block.
    /// If `is_new`, `data` is undefined before that, and becomes zero where no item is selected.
    fn fill_block(
        &self,
        chunk: &TouchedChunk,
        j: usize,
        is_new: bool,
        data: &mut [u8],
    ) -> Result<()> {
        let item = self.rewriter.sizes.item;
        let block = self.selection.block(chunk, j);
        let both = self.selection.as_box(&block);
        let covered = both.as_ref().map(|both| both.items() * item);
        if is_new && covered != Some(data.len()) {
            data.fill(0);
        }
        let mut copy = |run: Run| {
            let (inside, at, len) = (run.inside * item, run.at * item, run.len * item);
            data[inside..inside + len].copy_from_slice(&self.buffer[at..at + len]);
            Ok(())
        };
        match both {
            Some(both) => both.each(&mut copy),
            None => self.selection.each(&block, &mut copy),
        }
    }

    /// The update of the `i`th touched chunk.
    fn one(&self, i: usize, workers: Workers) -> Result<Update> {
        let chunk = self.selection.chunk(i);
        let nchunk = chunk.nchunk;
        let maker = self.rewriter.maker;
        if let Some(data) = self.contiguous(&chunk) {
            let created = maker.make(nchunk, ChunkData::Contiguous(data), workers)?;
            return Ok((nchunk, ChunkUpdate::Whole(created)));
        }
        let touched: TryVec<Touched> = (0..chunk.nblocks)
            .map(|j| {
                let block = self.selection.block(&chunk, j);
                Touched {
                    nblock: block.nblock,
                    whole: block.whole,
                }
            })
            .collect_vec()?;
        let old = match chunk.whole {
            true => None,
            false => (self.origin)(nchunk),
        };
        let change = |nblock: usize, data: &mut [u8]| {
            let Ok(j) = touched.binary_search_by_key(&nblock, |t| t.nblock) else {
                data.fill(0);
                return Ok(());
            };
            self.fill_block(&chunk, j, old.is_none() || touched[j].whole, data)
        };
        let created = match old {
            None => {
                let bytes = maker.make(nchunk, ChunkData::Filled(&change), workers)?;
                ChunkUpdate::Whole(bytes)
            }
            Some(old) => {
                let change = BlockChange {
                    touched: &touched,
                    change: &change,
                };
                self.rewriter.rewrite((old, nchunk), change, workers)?
            }
        };
        Ok((nchunk, created))
    }
}
