//! A selection along one dimension, which is a range or a list of indices, and the chunks and
//! blocks that it touches.

use super::runs::Run;
use oxiblosc_base::memory::TryVec;
use oxiblosc_base::memory::grid::{self, Part};
use oxiblosc_base::{Error, Result};

/// The items that are selected along one dimension.
pub(super) enum AxisSelection {
    Range(Range),
    IndexList(IndexList),
}

/// A range of items.
pub(super) struct Range {
    /// Their positions in the buffer, by block.
    grid_axis: grid::Axis,
    start: i64,
    stop: i64,
    /// The length of the array.
    shape: i64,
    /// The length of a chunk.
    chunk: i64,
    /// The length of a block.
    block: i64,
    /// The number of blocks of a chunk.
    blocks: i64,
}

/// Items in any order, given by their indices.
pub(super) struct IndexList {
    /// Their positions in the buffer, by block.
    grid_axis: grid::Axis,
    /// For each touched block, its number in its chunk.
    blocks: TryVec<i64>,
    /// For each touched chunk, its number and the index of its first block in `blocks`. The last
    /// entry marks the end of `blocks`.
    chunks: TryVec<(i64, usize)>,
}

/// The items of a block that are selected, along one dimension.
pub(super) struct BlockExtent<'a> {
    /// The number of the block in its chunk.
    pub(super) block: i64,
    /// The number of the block among those that are touched.
    pub(super) number: usize,
    pub(super) part: Part<'a>,
    /// Whether all items that the array has in the block are selected.
    pub(super) whole: bool,
}

impl Range {
    pub(super) fn new(
        start: i64,
        stop: i64,
        shape: i64,
        (chunk, block): (i64, i64),
    ) -> Result<Self> {
        let size = |len: i64| usize::try_from(len).map_err(|_| Error::INVALID_PARAM);
        Ok(Self {
            grid_axis: grid::Axis::even(size(start)?..size(stop)?, size(chunk)?, size(block)?)?,
            start,
            stop,
            shape,
            chunk,
            block,
            blocks: (chunk + block - 1) / block,
        })
    }

    /// The first item of the `i`th touched chunk, and start and end of the range in that chunk.
    pub(super) fn range_in_chunk(&self, i: usize) -> (i64, i64, i64) {
        let first = (self.start / self.chunk + i as i64) * self.chunk;
        let (from, to) = (self.start.max(first), self.stop.min(first + self.chunk));
        (first, from - first, to - first)
    }

    pub(super) fn block_extent(&self, i: usize, j: usize) -> BlockExtent<'_> {
        let (first, from, _) = self.range_in_chunk(i);
        let block = from / self.block + j as i64;
        // Blocks are numbered from the first touched one; every chunk has the same number of
        // blocks.
        let before = self.start / self.chunk * self.blocks + self.start % self.chunk / self.block;
        let number = (first / self.chunk * self.blocks + block - before) as usize;
        let lo = block * self.block;
        let available = (lo + self.block).min(self.chunk).min(self.shape - first) - lo;
        let part = self.grid_axis.part(number);
        let items: usize = part.runs().iter().map(|run| run.len).sum();
        BlockExtent {
            block,
            number,
            part,
            whole: items as i64 == available,
        }
    }
}

impl IndexList {
    pub(super) fn new(indices: &[i64], chunk: i64, block: i64) -> Result<Self> {
        let mut order: TryVec<(i64, usize)> = TryVec::new();
        order.reserve_exact(indices.len())?;
        order.extend(indices.iter().copied().zip(0..))?;
        order.sort_unstable();
        let (mut runs, mut firsts) = (TryVec::<Run>::new(), TryVec::new());
        let mut blocks = TryVec::new();
        let mut chunks: TryVec<(i64, usize)> = TryVec::new();
        for (index, at) in order {
            let (nchunk, item) = (index / chunk, index % chunk);
            let (nblock, inside) = (item / block, (item % block) as usize);
            let new_chunk = chunks.last().is_none_or(|last| last.0 != nchunk);
            if new_chunk {
                chunks.push((nchunk, blocks.len()))?;
            }
            let new_block = new_chunk || blocks.last() != Some(&nblock);
            if new_block {
                blocks.push(nblock)?;
                firsts.push(runs.len())?;
            }
            match runs.last_mut() {
                Some(run)
                    if !new_block && (run.inside + run.len, run.at + run.len) == (inside, at) =>
                {
                    run.len += 1;
                }
                _ => runs.push(Run { inside, at, len: 1 })?,
            }
        }
        chunks.push((0, blocks.len()))?;
        firsts.push(runs.len())?;
        Ok(Self {
            grid_axis: grid::Axis::listed(runs, firsts)?,
            blocks,
            chunks,
        })
    }

    pub(super) fn block_extent(&self, i: usize, j: usize) -> BlockExtent<'_> {
        let number = self.chunks[i].1 + j;
        BlockExtent {
            block: self.blocks[number],
            number,
            part: self.grid_axis.part(number),
            whole: false,
        }
    }
}

impl AxisSelection {
    pub(super) fn grid_axis(&self) -> &grid::Axis {
        match self {
            Self::Range(range) => &range.grid_axis,
            Self::IndexList(list) => &list.grid_axis,
        }
    }

    pub(super) fn nchunks(&self) -> usize {
        match self {
            Self::Range(range) => {
                ((range.stop - 1) / range.chunk - range.start / range.chunk + 1) as usize
            }
            Self::IndexList(list) => list.chunks.len() - 1,
        }
    }

    /// The number of the `i`th touched chunk along the dimension, how many of its blocks are
    /// touched, and whether all items that the array has in it are selected.
    pub(super) fn chunk(&self, i: usize) -> (i64, usize, bool) {
        match self {
            Self::Range(range) => {
                let (first, from, to) = range.range_in_chunk(i);
                let blocks = (to - 1) / range.block - from / range.block + 1;
                let whole = from == 0 && to == range.chunk.min(range.shape - first);
                (first / range.chunk, blocks as usize, whole)
            }
            Self::IndexList(list) => {
                let blocks = list.chunks[i + 1].1 - list.chunks[i].1;
                (list.chunks[i].0, blocks, false)
            }
        }
    }

    pub(super) fn block_extent(&self, i: usize, j: usize) -> BlockExtent<'_> {
        match self {
            Self::Range(range) => range.block_extent(i, j),
            Self::IndexList(list) => list.block_extent(i, j),
        }
    }
}
