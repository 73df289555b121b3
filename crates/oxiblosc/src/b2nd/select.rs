//! Selections of items of an array, which are slices, or lists of indices along each dimension.
//! They know the chunks and blocks that they touch, and the selected items of each block.

use super::axes::{AxisSelection, IndexList, Range};
use super::geometry::Geometry;
use super::runs::{Run, StridedCopy, strides};
use super::{Dims, MAX_DIM};
use oxiblosc_base::memory::grid::{Grid, Part, Tile, as_box, walk};
use oxiblosc_base::memory::{Collect, TryVec};
use oxiblosc_base::{Error, Result};

/// Items of an array, and the position of each in a buffer. No two have the same position there.
pub struct Selection<'a> {
    geometry: &'a Geometry,
    axes: TryVec<AxisSelection>,
    /// The number of touched chunks.
    nchunks: usize,
    /// Strides in a block, in items.
    inside: [usize; MAX_DIM],
    /// Strides in the buffer, in items.
    at: [usize; MAX_DIM],
}

/// A chunk with selected items.
pub struct TouchedChunk {
    /// Its index in the super-chunk.
    pub nchunk: usize,
    /// Its number among the touched chunks along each dimension.
    which: [usize; MAX_DIM],
    /// How many of its blocks are touched.
    pub nblocks: usize,
    /// Whether all items that the array has in it are selected.
    pub whole: bool,
}

/// A block with selected items.
pub struct TouchedBlock<'s> {
    /// Its index in the chunk.
    pub nblock: usize,
    /// Its number among the touched blocks along each dimension.
    numbers: [usize; MAX_DIM],
    parts: [Part<'s>; MAX_DIM],
    /// Whether all items that the array has in it are selected.
    pub whole: bool,
}

fn as_sizes(dims: &Dims) -> [usize; MAX_DIM] {
    dims.map(|dim| usize::try_from(dim).unwrap_or(0))
}

impl<'a> Selection<'a> {
    /// The items from `start` up to but not including `stop` along each dimension, at the front of
    /// a buffer of shape `buffershape`. Items in the padding of the array are left out. None if
    /// there are no items.
    ///
    /// # Errors
    /// [`Error::INVALID_PARAM`] if the shape of the buffer is smaller than the slice,
    /// [`Error::FAILURE`] if the slice is not within the padded array.
    pub fn slice(
        geometry: &'a Geometry,
        start: &[i64],
        stop: &[i64],
        buffershape: &[i64],
    ) -> Result<Option<Self>> {
        let ndim = geometry.ndim;
        if geometry.nitems == 0 {
            return Ok(None);
        }
        for d in 0..ndim {
            let len = stop[d].checked_sub(start[d]).ok_or(Error::INVALID_PARAM)?;
            if len > buffershape[d] {
                return Err(Error::INVALID_PARAM);
            }
        }
        if (0..ndim).any(|d| stop[d] <= start[d]) {
            return Ok(None);
        }
        if (0..ndim).any(|d| start[d] < 0 || stop[d] > geometry.extshape[d]) {
            return Err(Error::FAILURE);
        }
        if (0..ndim).any(|d| start[d] >= geometry.shape[d]) {
            return Ok(None);
        }
        let axes = (0..ndim).map(|d| {
            let (start, stop) = (start[d], stop[d].min(geometry.shape[d]));
            let (chunk, block) = (geometry.chunkshape[d], geometry.blockshape[d]);
            Range::new(start, stop, geometry.shape[d], (chunk.into(), block.into()))
                .map(AxisSelection::Range)
        });
        Self::new(geometry, axes.try_collect_vec()?, &buffershape[..ndim]).map(Some)
    }

    /// The indices of the chunks that have items from `start` up to but not including `stop`, which
    /// may be outside of the array.
    ///
    /// # Errors
    /// [`Error::INVALID_PARAM`] for a negative start.
    pub fn chunks_of_box(
        geometry: &'a Geometry,
        start: &[i64],
        stop: &[i64],
    ) -> Result<TryVec<usize>> {
        let (mut to, mut lens) = (Dims::default(), Dims::default());
        for (d, (start, stop)) in start.iter().zip(stop).enumerate() {
            if *start < 0 {
                return Err(Error::INVALID_PARAM);
            }
            to[d] = (*stop).min(geometry.shape[d]);
            if to[d] <= *start {
                return Ok(TryVec::new());
            }
            lens[d] = to[d] - start;
        }
        match Self::slice(geometry, start, &to, &lens)? {
            Some(slice) => {
                let nchunk = |i| slice.chunk(i).nchunk;
                (0..slice.nchunks()).map(nchunk).collect_vec()
            }
            None => Ok(TryVec::new()),
        }
    }

    /// The items at these indices along each dimension, in a buffer of shape `buffershape`. None if
    /// there are no items.
    ///
    /// # Errors
    /// [`Error::INVALID_INDEX`] for an index out of range, [`Error::INVALID_PARAM`] if the shape of
    /// the buffer is smaller than the selection, [`Error::MEMORY_ALLOC`].
    pub fn of_indices(
        geometry: &'a Geometry,
        indices: &[&[i64]],
        buffershape: &[i64],
    ) -> Result<Option<Self>> {
        for (indices, len) in indices.iter().zip(geometry.shape) {
            if indices.iter().any(|index| !(0..len).contains(index)) {
                return Err(Error::INVALID_INDEX);
            }
        }
        // Along the first dimension only the size of the buffer matters, which is checked
        // elsewhere.
        for (d, indices) in indices.iter().enumerate().skip(1) {
            if indices.len() as i64 > buffershape[d] {
                return Err(Error::INVALID_PARAM);
            }
        }
        if indices.iter().any(|indices| indices.is_empty()) {
            return Ok(None);
        }
        let mut axes = TryVec::new();
        for (d, indices) in indices.iter().enumerate() {
            let (chunk, block) = (geometry.chunkshape[d], geometry.blockshape[d]);
            axes.push(AxisSelection::IndexList(IndexList::new(
                indices,
                chunk.into(),
                block.into(),
            )?))?;
        }
        Self::new(geometry, axes, buffershape).map(Some)
    }

    fn new(
        geometry: &'a Geometry,
        axes: TryVec<AxisSelection>,
        buffershape: &[i64],
    ) -> Result<Self> {
        let nchunks = axes
            .iter()
            .try_fold(1usize, |product, axis| product.checked_mul(axis.nchunks()));
        Ok(Self {
            geometry,
            nchunks: nchunks.ok_or(Error::INVALID_PARAM)?,
            inside: as_sizes(&geometry.strides.item_block),
            at: strides(buffershape)?,
            axes,
        })
    }

    /// How many chunks are touched.
    pub fn nchunks(&self) -> usize {
        self.nchunks
    }

    /// The minimum number of items of the buffer: up to the last selected one.
    ///
    /// # Errors
    /// [`Error::INVALID_PARAM`] if it does not fit into a `usize`.
    pub fn buffer_items(&self) -> Result<usize> {
        let mut last = 0usize;
        for (d, axis) in self.axes.iter().enumerate() {
            let most = axis.grid_axis().len() - 1;
            let offset = most.checked_mul(self.at[d]);
            last = offset
                .and_then(|offset| last.checked_add(offset))
                .ok_or(Error::INVALID_PARAM)?;
        }
        last.checked_add(1).ok_or(Error::INVALID_PARAM)
    }

    /// The `i`th touched chunk.
    pub fn chunk(&self, mut i: usize) -> TouchedChunk {
        let mut coords = [0; MAX_DIM];
        let mut touched = TouchedChunk {
            nchunk: 0,
            which: [0; MAX_DIM],
            nblocks: 1,
            whole: true,
        };
        for (d, axis) in self.axes.iter().enumerate().rev() {
            let count = axis.nchunks();
            touched.which[d] = i % count;
            i /= count;
            let (at, nblocks, whole) = axis.chunk(touched.which[d]);
            coords[d] = at;
            touched.nblocks *= nblocks;
            touched.whole &= whole;
        }
        touched.nchunk = self.geometry.nchunk(&coords);
        touched
    }

    /// The `j`th touched block of a chunk. Blocks are in ascending order.
    pub fn block(&self, chunk: &TouchedChunk, mut j: usize) -> TouchedBlock<'_> {
        let mut touched = TouchedBlock {
            nblock: 0,
            numbers: [0; MAX_DIM],
            parts: [Part::EMPTY; MAX_DIM],
            whole: true,
        };
        let mut nblock = 0;
        for (d, axis) in self.axes.iter().enumerate().rev() {
            let which = chunk.which[d];
            let (_, count, _) = axis.chunk(which);
            let extent = axis.block_extent(which, j % count);
            j /= count;
            nblock += extent.block * self.geometry.strides.block_chunk[d];
            touched.whole &= extent.whole;
            touched.numbers[d] = extent.number;
            touched.parts[d] = extent.part;
        }
        touched.nblock = nblock as usize;
        touched
    }

    /// The number of selected items of a block, the position of the first in the block, and the
    /// number of items from there to the last.
    pub fn extent(&self, block: &TouchedBlock) -> (usize, usize, usize) {
        let (mut count, mut first, mut last) = (1, 0, 0);
        for (part, stride) in block.parts[..self.axes.len()].iter().zip(&self.inside) {
            let runs = part.runs();
            count *= runs.iter().map(|run| run.len).sum::<usize>();
            // Runs are in ascending order, but items may be repeated.
            if let (Some(from), Some(to)) = (runs.first(), runs.last()) {
                first += from.inside * stride;
                last += (to.inside + to.len - 1) * stride;
            }
        }
        (count, first, last + 1 - first)
    }

    /// The selected items of a block as a box, if they are one.
    pub fn as_box(&self, block: &TouchedBlock) -> Option<StridedCopy> {
        let ndim = self.axes.len();
        as_box(&block.parts[..ndim], &self.inside[..ndim], &self.at[..ndim])
    }

    /// The buffer, divided by blocks, so that workers can fill it. `item` is the size of an item in
    /// bytes.
    ///
    /// # Errors
    /// [`Error::INVALID_PARAM`] if the buffer is too small, [`Error::MEMORY_ALLOC`].
    pub fn grid<'b>(&'b self, buffer: &'b mut [u8], item: usize) -> Result<Grid<'b>> {
        let axes = self.axes.iter().map(AxisSelection::grid_axis);
        Grid::new(
            buffer,
            item,
            axes.zip(self.at[..self.axes.len()].iter().copied()),
        )
    }

    /// The part of the buffer with the items of a block. Each can be had only once, so that no two
    /// workers write the same bytes.
    ///
    /// # Errors
    /// [`Error::FAILURE`] for a block that was asked for before.
    pub fn tile<'g>(&self, grid: &'g Grid, block: &TouchedBlock) -> Result<Tile<'g>> {
        let ndim = self.axes.len();
        grid.claim(&block.numbers[..ndim], &self.inside[..ndim])
    }

    /// Calls `each` with every run of selected items of a block, until it fails.
    ///
    /// # Errors
    /// Those of `each`.
    pub fn each(
        &self,
        block: &TouchedBlock,
        each: &mut impl FnMut(Run) -> Result<()>,
    ) -> Result<()> {
        match self.as_box(block) {
            Some(both) => both.each(each),
            None => {
                let ndim = self.axes.len();
                let strides = (&self.inside[..ndim], &self.at[..ndim]);
                walk(&block.parts[..ndim], strides, Run::default(), each)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The items of a selection, found block by block: the position of each in the buffer, and its
    /// indices.
    fn found(selection: &Selection, g: &Geometry) -> Vec<(usize, Vec<i64>)> {
        let mut items = Vec::new();
        let mut last = None;
        for i in 0..selection.nchunks() {
            let chunk = selection.chunk(i);
            let coords = g.coords_of(chunk.nchunk);
            let mut before = None;
            for j in 0..chunk.nblocks {
                let block = selection.block(&chunk, j);
                assert!(before < Some(block.nblock), "blocks ascend");
                before = Some(block.nblock);
                let mut count = 0;
                let mut collect = |run: Run| {
                    count += run.len;
                    for i in 0..run.len {
                        let indices = indices(g, &coords, block.nblock, run.inside + i);
                        items.push((run.at + i, indices));
                    }
                    Ok(())
                };
                selection.each(&block, &mut collect).unwrap();
                let there = (0..g.blocknitems as usize).filter(|item| {
                    let indices = indices(g, &coords, block.nblock, *item);
                    (0..g.ndim).all(|d| {
                        let in_chunk = indices[d] - coords[d] * i64::from(g.chunkshape[d]);
                        indices[d] < g.shape[d] && in_chunk < g.chunkshape[d].into()
                    })
                });
                if block.whole {
                    assert_eq!(count, there.count());
                }
            }
            last = last.max(Some(chunk.nchunk));
        }
        assert!(last.is_none_or(|last| last < g.nchunks().unwrap()));
        items.sort();
        items
    }

    fn indices(g: &Geometry, coords: &Dims, nblock: usize, item: usize) -> Vec<i64> {
        let (mut nblock, mut item) = (nblock as i64, item as i64);
        let mut indices = vec![0; g.ndim];
        for d in (0..g.ndim).rev() {
            let block = i64::from(g.blockshape[d]);
            indices[d] = coords[d] * i64::from(g.chunkshape[d])
                + nblock % g.blocks(d) * block
                + item % block;
            nblock /= g.blocks(d);
            item /= block;
        }
        indices
    }

    /// The same as [`found`], computed item by item.
    fn naive(lists: &[Vec<i64>], buffershape: &[i64]) -> Vec<(usize, Vec<i64>)> {
        let strides = strides(buffershape).unwrap();
        let mut items = vec![(0, vec![])];
        for (d, list) in lists.iter().enumerate() {
            items = items
                .iter()
                .flat_map(|(at, indices): &(usize, Vec<i64>)| {
                    list.iter().enumerate().map(move |(i, index)| {
                        let mut indices = indices.clone();
                        indices.push(*index);
                        (at + i * strides[d], indices)
                    })
                })
                .collect();
        }
        items.sort();
        items
    }

    type Dim = (i64, i32, i32, i64, i64, i64);

    fn dims() -> impl Strategy<Value = Vec<Dim>> {
        proptest::collection::vec(
            (1..8i64, 1..6i32, 1..5i32, 0..8i64, 0..8i64, 0..3i64),
            0..=4,
        )
    }

    fn geometry(dims: &[Dim]) -> Geometry {
        let shape: Vec<i64> = dims.iter().map(|dim| dim.0).collect();
        let chunks: Vec<i32> = dims.iter().map(|dim| dim.1).collect();
        let blocks: Vec<i32> = dims.iter().map(|dim| dim.2).collect();
        Geometry::new(&shape, &chunks, &blocks).unwrap()
    }

    proptest! {
        #[test]
        fn slices_are_their_items(dims in dims()) {
            let g = geometry(&dims);
            let start: Vec<i64> = dims.iter().map(|d| d.3.min(d.0)).collect();
            let stop: Vec<i64> = dims.iter().map(|d| (d.3 + d.4).min(d.0)).collect();
            let shape: Vec<i64> =
                dims.iter().zip(start.iter().zip(&stop)).map(|(d, (a, b))| b - a + d.5).collect();
            let lists: Vec<Vec<i64>> = start.iter().zip(&stop).map(|(a, b)| (*a..*b).collect()).collect();
            let expected = naive(&lists, &shape);
            match Selection::slice(&g, &start, &stop, &shape).unwrap() {
                None => prop_assert!(expected.is_empty()),
                Some(selection) => {
                    let items = found(&selection, &g);
                    prop_assert_eq!(selection.buffer_items().unwrap(), items[items.len() - 1].0 + 1);
                    prop_assert_eq!(items, expected);
                }
            }
        }

        #[test]
        fn lists_of_indices_are_their_items(dims in dims(), seed in any::<u64>()) {
            let g = geometry(&dims);
            let mut state = seed | 1;
            let mut next = |below: i64| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (state >> 33) as i64 % below
            };
            let lists: Vec<Vec<i64>> = dims
                .iter()
                .map(|d| (0..d.3).map(|_| next(d.0)).collect())
                .collect();
            let shape: Vec<i64> = dims.iter().map(|d| d.3 + d.5).collect();
            let borrowed: Vec<&[i64]> = lists.iter().map(Vec::as_slice).collect();
            let expected = naive(&lists, &shape);
            match Selection::of_indices(&g, &borrowed, &shape).unwrap() {
                None => prop_assert!(expected.is_empty()),
                Some(selection) => prop_assert_eq!(found(&selection, &g), expected),
            }
        }
    }

    #[test]
    fn what_is_not_there_is_refused() {
        let g = geometry(&[(5, 3, 2, 0, 0, 0)]);
        let slice = |start: i64, stop: i64, len: i64| {
            Selection::slice(&g, &[start], &[stop], &[len]).map(|s| s.map(|s| s.nchunks()))
        };
        assert_eq!(slice(0, 5, 5), Ok(Some(2)));
        // A slice may end in the padding of the last chunk.
        assert_eq!(slice(4, 6, 2), Ok(Some(1)));
        assert_eq!(slice(5, 6, 2), Ok(None));
        assert_eq!(slice(0, 7, 7), Err(Error::FAILURE));
        assert_eq!(slice(-1, 2, 7), Err(Error::FAILURE));
        assert_eq!(slice(0, 5, 4), Err(Error::INVALID_PARAM));
        assert_eq!(slice(4, 2, 4), Ok(None));
        assert_eq!(slice(i64::MIN, i64::MAX, 4), Err(Error::INVALID_PARAM));
        let pick = |list: &[i64]| Selection::of_indices(&g, &[list], &[5]).map(|s| s.is_some());
        assert_eq!(pick(&[4, 0]), Ok(true));
        assert_eq!(pick(&[]), Ok(false));
        assert_eq!(pick(&[5]), Err(Error::INVALID_INDEX));
        assert_eq!(pick(&[-1]), Err(Error::INVALID_INDEX));
    }
}
