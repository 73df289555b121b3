//! An array in a buffer that is divided into tiles, which workers fill at the same time.
//!
//! Along each `Axis` every position belongs to one part. A tile is a combination of parts, one of
//! each axis, so no two tiles have an item in common. Each tile can be claimed once, and only the
//! thread that claims it can write its items, although these need not be adjacent in the buffer.

mod axis;
mod runs;

use crate::error::{Error, Result};
use crate::memory::{Collect, TryVec};
pub use axis::Axis;
pub use runs::{MAX_AXES, Part, Run, StridedCopy, as_box, walk};
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU64, Ordering};

/// Which tiles were claimed: a bit for each tile.
struct Claims {
    /// The bits of a grid of few tiles, which needs no allocation.
    few: AtomicU64,
    many: TryVec<AtomicU64>,
}

impl Claims {
    fn new(tiles: usize) -> Result<Self> {
        let words = if tiles <= 64 { 0 } else { tiles.div_ceil(64) };
        Ok(Self {
            few: AtomicU64::new(0),
            many: (0..words).map(|_| AtomicU64::new(0)).collect_vec()?,
        })
    }

    /// Claims a tile. Returns false if it was claimed before. `tile` must be less than the number
    /// of tiles.
    fn claim(&self, tile: usize) -> bool {
        let word = if self.many.is_empty() {
            &self.few
        } else {
            &self.many[tile / 64]
        };
        let bit = 1 << (tile % 64);
        // Relaxed: a tile is claimed once, so there are no writes by an earlier owner that its
        // owner must see.
        word.fetch_or(bit, Ordering::Relaxed) & bit == 0
    }
}

/// See the module.
pub struct Grid<'a> {
    start: *mut u8,
    /// Size of an item in bytes.
    item: usize,
    axes: [Option<&'a Axis>; MAX_AXES],
    /// The stride of each axis, in items.
    strides: [usize; MAX_AXES],
    naxes: usize,
    claims: Claims,
    buffer: PhantomData<&'a mut [u8]>,
}

// SAFETY: the grid borrows the buffer mutably, and gives each of its bytes to one thread only, by a
// tile that was claimed once.
unsafe impl Send for Grid<'_> {}
// SAFETY: as above.
unsafe impl Sync for Grid<'_> {}

impl<'a> Grid<'a> {
    /// The array whose first item is at the front of `buffer`, with items of `item` bytes. `dims`
    /// has the axes with their strides in items, the outermost first; the stride of the innermost
    /// is 1.
    ///
    /// # Errors
    /// [`Error::INVALID_PARAM`] if items would overlap or lie in another order, if they do not fit
    /// into the buffer, and for too many axes; [`Error::MEMORY_ALLOC`].
    pub fn new(
        buffer: &'a mut [u8],
        item: usize,
        dims: impl Iterator<Item = (&'a Axis, usize)>,
    ) -> Result<Self> {
        let mut grid = Self {
            start: buffer.as_mut_ptr(),
            item,
            axes: [None; MAX_AXES],
            strides: [0; MAX_AXES],
            naxes: 0,
            claims: Claims::new(0)?,
            buffer: PhantomData,
        };
        for (axis, stride) in dims {
            let slot = grid.axes.get_mut(grid.naxes).ok_or(Error::INVALID_PARAM)?;
            *slot = Some(axis);
            grid.strides[grid.naxes] = stride;
            grid.naxes += 1;
        }
        // From the innermost axis out: each stride is larger than the offset of the last item of
        // the axes within it (`last`). So no two items have the same offset, and the largest offset
        // is that of the item at the last position of every axis.
        let (mut last, mut tiles) = (0usize, 1usize);
        for d in (0..grid.naxes).rev() {
            let (axis, stride) = (grid.axes[d].ok_or(Error::FAILURE)?, grid.strides[d]);
            let innermost = d + 1 == grid.naxes;
            if stride <= last || (innermost && stride != 1) {
                return Err(Error::INVALID_PARAM);
            }
            let along = (axis.len() - 1).checked_mul(stride);
            last = along
                .and_then(|along| last.checked_add(along))
                .ok_or(Error::INVALID_PARAM)?;
            tiles = tiles
                .checked_mul(axis.count())
                .ok_or(Error::INVALID_PARAM)?;
        }
        let end = last.checked_add(1).and_then(|end| end.checked_mul(item));
        if end.is_none_or(|end| end > buffer.len()) {
            return Err(Error::INVALID_PARAM);
        }
        grid.claims = Claims::new(tiles)?;
        Ok(grid)
    }

    /// Claims the tile of these parts, one of each axis. `inside` has the strides of the array from
    /// which the tile will be filled; the innermost is 1.
    ///
    /// # Errors
    /// [`Error::FAILURE`] if it was claimed before.
    ///
    /// # Panics
    /// If there is no such tile, or the lengths of `parts` and `inside` are not the number of axes.
    pub fn claim(&self, parts: &[usize], inside: &[usize]) -> Result<Tile<'_>> {
        let naxes = self.naxes;
        assert!(parts.len() == naxes && inside.len() == naxes);
        let mut tile = Tile {
            grid: self,
            parts: [Part::EMPTY; MAX_AXES],
            inside: [0; MAX_AXES],
            copy: None,
        };
        let mut number = 0;
        for (d, axis) in self.axes[..naxes].iter().flatten().enumerate() {
            tile.parts[d] = axis.part(parts[d]);
            number = number * axis.count() + parts[d];
        }
        if !self.claims.claim(number) {
            return Err(Error::FAILURE);
        }
        tile.inside[..naxes].copy_from_slice(inside);
        tile.copy = as_box(&tile.parts[..naxes], inside, &self.strides[..naxes]);
        Ok(tile)
    }
}

/// A claimed tile.
pub struct Tile<'g> {
    grid: &'g Grid<'g>,
    /// The parts of the axes that it consists of.
    parts: [Part<'g>; MAX_AXES],
    inside: [usize; MAX_AXES],
    /// The tile as a box, if it is one.
    copy: Option<StridedCopy>,
}

impl Tile<'_> {
    /// The bytes of a run of items of the tile.
    ///
    /// # Safety
    /// All items of the run are items of this tile, and there is no other reference to their bytes.
    #[inline(always)]
    #[expect(clippy::mut_from_ref, reason = "only this tile can write these items")]
    unsafe fn bytes(&self, run: Run) -> &mut [u8] {
        let Grid { start, item, .. } = *self.grid;
        // SAFETY: `Grid::new` checked that the item with the largest offset lies in the buffer.
        // Other tiles have other items, at other offsets (see there), and there is no second `Tile`
        // with these, as it was claimed once. `# Safety` excludes references from this one.
        unsafe { std::slice::from_raw_parts_mut(start.add(run.at * item), run.len * item) }
    }

    /// The tile's bytes, with the offset of the first item in the source array, if the tile is one
    /// run both in the buffer and in the source.
    #[inline]
    pub fn single(&mut self) -> Option<(usize, &mut [u8])> {
        let run = self.copy.as_ref()?.single()?;
        // SAFETY: the run is the whole tile, which stays mutably borrowed as long as the slice is
        // used.
        Some((run.inside, unsafe { self.bytes(run) }))
    }

    /// Calls `each` for every run of items of the tile, until it fails, with the offset of the
    /// first item in the source array, and the bytes of the run.
    ///
    /// # Errors
    /// That of `each`.
    #[inline]
    pub fn each(&mut self, each: &mut impl FnMut(usize, &mut [u8]) -> Result<()>) -> Result<()> {
        let mut each = |run: Run| {
            // SAFETY: the offsets in a run are sums of a position from each part times its stride
            // (see `StridedCopy::new` and `walk`), which are the offsets of this tile's items. The
            // slice ends before the next run is made.
            each(run.inside, unsafe { self.bytes(run) })
        };
        if let Some(copy) = &self.copy {
            return copy.each(&mut each);
        }
        let naxes = self.grid.naxes;
        let strides = (&self.inside[..naxes], &self.grid.strides[..naxes]);
        walk(&self.parts[..naxes], strides, Run::default(), &mut each)
    }
}

#[cfg(test)]
mod tests;
