//! Reading a selection. Only blocks with selected items are decompressed: each by a worker into its
//! own memory, from which it copies the items into the caller's buffer.

use super::access::StoredChunks;
use super::chunks::{PartSizes, with_chunk};
use super::select::{Selection, TouchedBlock, TouchedChunk};
use oxiblosc_base::memory::grid::{Grid, Tile};
use oxiblosc_base::{Error, Result};
use oxiblosc_chunk::Chunk;
use oxiblosc_chunk::block_reader::BlockReader;
use oxiblosc_chunk::getitem::{ItemRange, getitem};
use oxiblosc_chunk::hooks::Hooks;
use oxiblosc_chunk::scratch::{self, Scratch};
use oxiblosc_chunk::workers::Workers;
use std::ops::Range;

/// If no more than one in this many items of a block is selected, items are decompressed one by
/// one.
const SPARSE: usize = 16;

/// Reads a selection.
pub struct SelectionRead<'a> {
    /// The selected items.
    pub selection: &'a Selection<'a>,
    /// The chunks of the array.
    pub chunks: &'a StoredChunks<'a>,
    /// The sizes of an item, a block and a chunk.
    pub sizes: PartSizes,
}

impl SelectionRead<'_> {
    /// Reads the items into `buffer`.
    ///
    /// # Errors
    /// [`Error::INVALID_PARAM`] if the buffer is too small; [`Error::MEMORY_ALLOC`];
    /// [`Error::FAILURE`] if a chunk cannot be read.
    pub fn read(&self, buffer: &mut [u8], workers: Workers) -> Result<()> {
        let grid = self.selection.grid(buffer, self.sizes.item)?;
        let nchunks = self.selection.nchunks();
        let first = self.selection.chunk(0);
        let nbytes = first
            .nblocks
            .saturating_mul(self.sizes.block)
            .saturating_mul(nchunks);
        // Few chunks are divided into parts, so that all workers have something to do.
        let nthreads = if self.chunks.is_shared() {
            workers.nthreads
        } else {
            1
        };
        let workers = Workers {
            nthreads,
            ..workers
        };
        let at_once = workers.at_once();
        let parts = if at_once <= 1 || nchunks >= 4 * at_once {
            1
        } else {
            (4 * at_once).div_ceil(nchunks).min(first.nblocks.max(1))
        };
        workers
            .run(0..nchunks * parts, nbytes, &|task, tid| {
                let chunk = self.selection.chunk(task / parts);
                let (part, count) = (task % parts, chunk.nblocks);
                let blocks = count * part / parts..count * (part + 1) / parts;
                if blocks.is_empty() {
                    return Ok(());
                }
                self.read_blocks(&chunk, blocks, tid, &grid)
            })
            .map_err(Error::or_failure)
    }

    /// Reads some of the touched blocks of a chunk.
    fn read_blocks(
        &self,
        touched: &TouchedChunk,
        blocks: Range<usize>,
        tid: usize,
        grid: &Grid,
    ) -> Result<()> {
        let nchunk = touched.nchunk;
        let found = self.chunks.find(nchunk)?;
        let most = 2 * blocks.len() * self.sizes.block >= self.sizes.chunk;
        with_chunk(&found, self.sizes, most, |chunk, prefix| {
            let hooks = self.chunks.hooks(chunk.header(), prefix)?;
            if chunk.is_special() && !hooks.has_postfilter() {
                return self.fill(chunk, touched, blocks, grid);
            }
            if chunk.header().blocksize_field() != self.sizes.block {
                return self.read_ranges(chunk, touched, blocks, &*hooks, grid);
            }
            chunk.with_reader(&*hooks, |reader| {
                let mut scratch = scratch::borrow()?;
                for j in blocks {
                    let block = self.selection.block(touched, j);
                    self.read_block(reader, &block, tid, &mut scratch, grid)?;
                }
                Ok(())
            })
        })
    }

    fn read_block(
        &self,
        reader: &BlockReader,
        block: &TouchedBlock,
        tid: usize,
        scratch: &mut Scratch,
        grid: &Grid,
    ) -> Result<()> {
        let PartSizes {
            item, block: size, ..
        } = self.sizes;
        let Scratch {
            bufs, data, codec, ..
        } = scratch;
        let mut tile = self.selection.tile(grid, block)?;
        if let Some((_, dest)) = tile.single()
            && dest.len() == size
        {
            return reader.block(block.nblock, tid, dest, (bufs, codec));
        }
        let (count, first, len) = self.selection.extent(block);
        let (first, len) = (first * item, len * item);
        if count * item <= size / SPARSE {
            // For a few items it would be slower to undo the filters of the whole block.
            let parts = (&mut *bufs, &mut *codec);
            let span = (first, first + len, item);
            let done = reader.items(block.nblock, span, parts, |items| {
                tile.each(&mut |inside, dest| items.get(inside * item, dest))
            })?;
            if done {
                return Ok(());
            }
        }
        let data = data.ensure(size)?;
        let parts = (&mut *bufs, &mut *codec);
        let part = 2 * len <= size
            && reader.part(block.nblock, first, &mut data[first..first + len], parts)?;
        if !part {
            reader.block(block.nblock, tid, data, (bufs, codec))?;
        }
        copy(data, item, &mut tile)
    }

    /// Reads items of a special chunk. This is not inlined, like [`Self::read_ranges`], as its
    /// variables would take stack while a block is decompressed.
    #[inline(never)]
    fn fill(
        &self,
        chunk: &Chunk,
        touched: &TouchedChunk,
        blocks: Range<usize>,
        grid: &Grid,
    ) -> Result<()> {
        let item = self.sizes.item;
        for j in blocks {
            let block = self.selection.block(touched, j);
            let start = block.nblock * self.sizes.block;
            let mut tile = self.selection.tile(grid, &block)?;
            tile.each(&mut |inside, dest| chunk.fill_special(start + inside * item, dest))?;
        }
        Ok(())
    }

    /// Reads blocks of a chunk whose own blocks have another size.
    #[inline(never)]
    fn read_ranges(
        &self,
        chunk: &Chunk,
        touched: &TouchedChunk,
        blocks: Range<usize>,
        hooks: &dyn Hooks,
        grid: &Grid,
    ) -> Result<()> {
        let PartSizes {
            item, block: size, ..
        } = self.sizes;
        let mut scratch = scratch::borrow()?;
        let data = scratch.data.ensure(size)?;
        for j in blocks {
            let block = self.selection.block(touched, j);
            let range = ItemRange {
                start: block.nblock * size,
                len: size,
            };
            getitem(chunk, range, data, hooks)?;
            copy(data, item, &mut self.selection.tile(grid, &block)?)?;
        }
        Ok(())
    }
}

/// Copies the items of a tile, which have `item` bytes each, from the data of their block.
fn copy(data: &[u8], item: usize, tile: &mut Tile) -> Result<()> {
    tile.each(&mut |inside, dest| {
        dest.copy_from_slice(&data[inside * item..][..dest.len()]);
        Ok(())
    })
}
