//! An array in a buffer that is cut into tiles, which workers fill at the same time.
//!
//! Along each [`Axis`] every place belongs to one part. A tile is a combination of parts, one of each axis, so no two tiles
//! have an item in common. Each can be claimed once, and the thread that claims it has its items alone, wherever in the buffer they
//! are.

mod axis;
mod runs;

use crate::{Collect, List};
pub use axis::Axis;
use oxiblosc_error::{Error, Result};
pub use runs::{Part, Run, StridedCopy, as_box, walk};
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU64, Ordering};

/// The most axes.
pub const MAX_AXES: usize = 16;

/// Which tiles were claimed: a bit for each.
struct Claims {
    /// Those of a grid of few tiles, which takes no memory.
    few: AtomicU64,
    many: List<AtomicU64>,
}

impl Claims {
    fn new(tiles: usize) -> Result<Self> {
        let words = if tiles <= 64 { 0 } else { tiles.div_ceil(64) };
        Ok(Self {
            few: AtomicU64::new(0),
            many: (0..words).map(|_| AtomicU64::new(0)).list()?,
        })
    }

    /// Says whether a tile was claimed just now, and never before. `tile` is less than the number of tiles.
    fn claim(&self, tile: usize) -> bool {
        let word = if self.many.is_empty() {
            &self.few
        } else {
            &self.many[tile / 64]
        };
        let bit = 1 << (tile % 64);
        // Relaxed: each tile is given out once, so there are no earlier writes to it that must be seen.
        word.fetch_or(bit, Ordering::Relaxed) & bit == 0
    }
}

/// See the module.
pub struct Grid<'a> {
    start: *mut u8,
    /// Bytes of an item.
    item: usize,
    axes: [Option<&'a Axis>; MAX_AXES],
    /// How far apart neighbours along each axis are, in items.
    strides: [usize; MAX_AXES],
    naxes: usize,
    claims: Claims,
    buffer: PhantomData<&'a mut [u8]>,
}

// SAFETY: the buffer is borrowed alone, and through the grid each of its bytes is given to one thread, once.
unsafe impl Send for Grid<'_> {}
// SAFETY: as above.
unsafe impl Sync for Grid<'_> {}

impl<'a> Grid<'a> {
    /// The array whose first item is at the front of `buffer`, with items of `item` bytes. Each axis comes with the distance of
    /// its neighbours, counted in items, the outermost first; neighbours along the innermost follow each other.
    ///
    /// # Errors
    /// [`Error::InvalidParam`] where items overlap, are not in that order or do not fit into the buffer, or there are too many axes;
    /// [`Error::MemoryAlloc`].
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
            let place = grid.axes.get_mut(grid.naxes).ok_or(Error::InvalidParam)?;
            *place = Some(axis);
            grid.strides[grid.naxes] = stride;
            grid.naxes += 1;
        }
        // From the innermost out: a step along an axis goes beyond all that lies within it. So no two items are at the same
        // place, and the last of all is that with the last place along every axis.
        let (mut last, mut tiles) = (0usize, 1usize);
        for d in (0..grid.naxes).rev() {
            let (axis, stride) = (grid.axes[d].ok_or(Error::Failure)?, grid.strides[d]);
            let innermost = d + 1 == grid.naxes;
            if stride <= last || (innermost && stride != 1) {
                return Err(Error::InvalidParam);
            }
            let along = (axis.len() - 1).checked_mul(stride);
            last = along
                .and_then(|along| last.checked_add(along))
                .ok_or(Error::InvalidParam)?;
            tiles = tiles.checked_mul(axis.count()).ok_or(Error::InvalidParam)?;
        }
        let end = last.checked_add(1).and_then(|end| end.checked_mul(item));
        if end.is_none_or(|end| end > buffer.len()) {
            return Err(Error::InvalidParam);
        }
        grid.claims = Claims::new(tiles)?;
        Ok(grid)
    }

    /// Claims a tile: the part of each axis. `inside` says how far apart neighbours along each axis are where the items come
    /// from; those along the innermost follow each other there, too.
    ///
    /// # Errors
    /// [`Error::Failure`] where it was claimed before.
    ///
    /// # Panics
    /// If there is no such tile, or `parts` and `inside` are not as many as the axes.
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
            return Err(Error::Failure);
        }
        tile.inside[..naxes].copy_from_slice(inside);
        tile.copy = as_box(&tile.parts[..naxes], inside, &self.strides[..naxes]);
        Ok(tile)
    }
}

/// The items of a tile that was claimed.
pub struct Tile<'g> {
    grid: &'g Grid<'g>,
    /// Those of the axes for this tile.
    parts: [Part<'g>; MAX_AXES],
    inside: [usize; MAX_AXES],
    /// The same as a box, if it is one.
    copy: Option<StridedCopy>,
}

impl Tile<'_> {
    /// The bytes of a run of its items.
    ///
    /// # Safety
    /// The run's places are among those of this tile's items, and the bytes of none of them are in use.
    #[inline(always)]
    #[expect(clippy::mut_from_ref, reason = "the tile has the items alone")]
    unsafe fn bytes(&self, run: Run) -> &mut [u8] {
        let Grid { start, item, .. } = *self.grid;
        // SAFETY: `Grid::new` saw that the last place of all lies in the buffer. Other tiles have other items, at other
        // places, and this is the only one with these: it was claimed.
        unsafe { std::slice::from_raw_parts_mut(start.add(run.at * item), run.len * item) }
    }

    /// Its bytes, if they are one run and the items are one behind the other where they come from too: with the first one's
    /// place there.
    #[inline]
    pub fn single(&mut self) -> Option<(usize, &mut [u8])> {
        let run = self.copy.as_ref()?.single()?;
        // SAFETY: it is all of the tile, which is borrowed with it.
        Some((run.inside, unsafe { self.bytes(run) }))
    }

    /// Calls `each` with the bytes of every run of its items, until it fails. The first number is the place of the run's first
    /// item where they come from.
    ///
    /// # Errors
    /// That of `each`.
    #[inline]
    pub fn each(&mut self, each: &mut impl FnMut(usize, &mut [u8]) -> Result<()>) -> Result<()> {
        let mut each = |run: Run| {
            // SAFETY: the places of a run are sums of a place from each part, times strides (`as_box`, `walk`), which are the
            // places of this tile's items; the bytes are given back before the next run comes.
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
