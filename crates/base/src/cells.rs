//! Blocks of arrays, and the cells that some filters and codecs cut them into.
//!
//! The shape of a block comes from the metalayer of the array, which may be damaged. It is checked
//! here once, and against the length of the block ([`Cells::new`]), before it is used for a size or
//! an index.
#![forbid(unsafe_code)]

use crate::error::{Error, Result};

/// The most dimensions that the filters and codecs for arrays support.
pub const MAX_BLOCK_DIM: usize = 8;

/// The lengths of a block of an array along its 1 to [`MAX_BLOCK_DIM`] dimensions, each at least 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockShape {
    dims: [usize; MAX_BLOCK_DIM],
    ndim: usize,
}

impl BlockShape {
    /// Checks the lengths from a metalayer.
    ///
    /// # Errors
    /// [`Error::FAILURE`] for no or too many dimensions, and for lengths below 1.
    pub fn new(dims: &[i32]) -> Result<Self> {
        if dims.is_empty() || dims.len() > MAX_BLOCK_DIM {
            return Err(Error::FAILURE);
        }
        let mut shape = Self {
            dims: [1; MAX_BLOCK_DIM],
            ndim: dims.len(),
        };
        for (to, from) in shape.dims.iter_mut().zip(dims) {
            *to = usize::try_from(*from).map_err(|_| Error::FAILURE)?;
            if *to == 0 {
                return Err(Error::FAILURE);
            }
        }
        Ok(shape)
    }

    /// The lengths along the dimensions, in items.
    pub fn dims(&self) -> &[usize] {
        &self.dims[..self.ndim]
    }

    /// Bytes of a block with items of `typesize` bytes; at most `u64::MAX`, however large the
    /// lengths are.
    pub fn nbytes(&self, typesize: usize) -> u64 {
        let lengths = self.dims().iter();
        lengths.fold(typesize as u64, |nbytes, len| {
            nbytes.saturating_mul(*len as u64)
        })
    }
}

/// A block cut into cells. The cells are in C order, and so are the items of each.
#[derive(Clone, Copy, Debug)]
pub struct Cells {
    shape: BlockShape,
    /// The distance of neighbours along each dimension, in items.
    strides: [usize; MAX_BLOCK_DIM],
    /// Items of a cell along each dimension; the last cell may have fewer.
    sides: [usize; MAX_BLOCK_DIM],
    /// Items from the first one of a cell to that of the next cell along each dimension. This is
    /// the side of a cell, unless [`Cells::with_steps_of_first_side`] changed it.
    steps: [usize; MAX_BLOCK_DIM],
}

/// One cell.
#[derive(Debug)]
pub struct Cell<'a> {
    cells: &'a Cells,
    /// The index of its first item in the block.
    origin: usize,
    /// Items along each dimension.
    extent: [usize; MAX_BLOCK_DIM],
}

impl Cells {
    /// Cuts a block of `len` bytes into cells. `sides` returns the side of a cell, in items, for
    /// the length of the block along a dimension.
    ///
    /// # Errors
    /// [`Error::FAILURE`] if a block of this shape does not have `len` bytes.
    pub fn new(
        shape: BlockShape,
        sides: impl Fn(usize) -> usize,
        typesize: usize,
        len: usize,
    ) -> Result<Self> {
        if typesize == 0 || shape.nbytes(typesize) != len as u64 {
            return Err(Error::FAILURE);
        }
        let mut cells = Self {
            shape,
            strides: [1; MAX_BLOCK_DIM],
            sides: [1; MAX_BLOCK_DIM],
            steps: [1; MAX_BLOCK_DIM],
        };
        // No product overflows, since none is larger than the number of bytes, which was checked.
        for d in (0..shape.ndim).rev() {
            if d + 1 < shape.ndim {
                cells.strides[d] = cells.strides[d + 1] * shape.dims[d + 1];
            }
            cells.sides[d] = sides(shape.dims[d]).max(1);
            cells.steps[d] = cells.sides[d];
        }
        Ok(cells)
    }

    /// Moves the cells, so that along every dimension they begin at multiples of the first
    /// dimension's side.
    pub fn with_steps_of_first_side(mut self) -> Self {
        for (step, side) in self.steps.iter_mut().zip(&self.sides) {
            *step = (*side).min(self.sides[0]);
        }
        self
    }

    /// Whether every item of the block is in a cell, and in one only.
    pub fn are_disjoint(&self) -> bool {
        (0..self.shape.ndim)
            .all(|d| self.steps[d] == self.sides[d] || self.sides[d] >= self.shape.dims[d])
    }

    /// A walk over all cells in their order.
    #[inline(always)]
    pub fn walk(&self) -> Walk<'_> {
        let mut cell = Cell {
            cells: self,
            origin: 0,
            extent: [1; MAX_BLOCK_DIM],
        };
        for d in 0..self.shape.ndim {
            cell.extent[d] = self.sides[d].min(self.shape.dims[d]);
        }
        Walk {
            index: [0; MAX_BLOCK_DIM],
            cell,
            begun: false,
        }
    }
}

/// A walk over the cells of a block. It lends each cell instead of returning it as an iterator
/// does: a cell that was just changed takes long to copy, as the loads are wider than the stores
/// before them (an eighth of the time of ZFP with one dimension).
pub struct Walk<'a> {
    /// The index of the cell along each dimension.
    index: [usize; MAX_BLOCK_DIM],
    cell: Cell<'a>,
    begun: bool,
}

impl<'a> Walk<'a> {
    /// The next cell; `None` after the last.
    #[inline(always)]
    pub fn advance(&mut self) -> Option<&Cell<'a>> {
        let cell = &mut self.cell;
        if !self.begun {
            self.begun = true;
            return Some(cell);
        }
        let Cells {
            shape,
            strides,
            sides,
            steps,
        } = cell.cells;
        for d in (0..shape.ndim).rev() {
            self.index[d] += 1;
            let begin = self.index[d] * sides[d];
            if begin < shape.dims[d] {
                cell.origin += steps[d] * strides[d];
                cell.extent[d] = sides[d].min(shape.dims[d] - begin);
                return Some(cell);
            }
            cell.origin -= (self.index[d] - 1) * steps[d] * strides[d];
            (self.index[d], cell.extent[d]) = (0, sides[d].min(shape.dims[d]));
        }
        None
    }
}

impl Cell<'_> {
    /// Items in the cell.
    pub fn nitems(&self) -> usize {
        self.extent().iter().product()
    }

    /// Items along each dimension.
    pub fn extent(&self) -> &[usize] {
        &self.extent[..self.cells.shape.ndim]
    }

    /// The length of a row: items that are contiguous in the block.
    pub fn width(&self) -> usize {
        self.extent[self.cells.shape.ndim - 1]
    }

    /// Calls `visit` with the index in the block of the first item of each row of [`Cell::width`]
    /// items, in order.
    #[inline(always)]
    pub fn each_row(&self, mut visit: impl FnMut(usize)) {
        let strides = &self.cells.strides;
        let Some(fastest) = self.cells.shape.ndim.checked_sub(2) else {
            return visit(self.origin);
        };
        let mut index = [0; MAX_BLOCK_DIM];
        let mut at = self.origin;
        loop {
            for row in 0..self.extent[fastest] {
                visit(at + row * strides[fastest]);
            }
            let mut d = fastest;
            loop {
                if d == 0 {
                    return;
                }
                d -= 1;
                index[d] += 1;
                at += strides[d];
                if index[d] < self.extent[d] {
                    break;
                }
                at -= index[d] * strides[d];
                index[d] = 0;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn indices(dims: &[i32], side: usize) -> Vec<Vec<usize>> {
        let shape = BlockShape::new(dims).unwrap();
        let nitems = shape.nbytes(1) as usize;
        let cells = Cells::new(shape, |_| side, 1, nitems).unwrap();
        let mut all = Vec::new();
        let mut walk = cells.walk();
        while let Some(cell) = walk.advance() {
            let mut items = Vec::new();
            cell.each_row(|at| items.extend(at..at + cell.width()));
            assert_eq!(items.len(), cell.nitems());
            all.push(items);
        }
        all
    }

    #[test]
    fn shapes_that_lie_are_refused() {
        for dims in [&[][..], &[0], &[4, -1], &[1; MAX_BLOCK_DIM + 1]] {
            assert_eq!(BlockShape::new(dims), Err(Error::FAILURE), "{dims:?}");
        }
        let huge = BlockShape::new(&[i32::MAX; MAX_BLOCK_DIM]).unwrap();
        assert_eq!(huge.nbytes(8), u64::MAX);
        // Products that come out right in 32 bits only.
        let wraps = BlockShape::new(&[1 << 16, (1 << 16) + 1]).unwrap();
        for (shape, len) in [(huge, 8), (wraps, 1 << 16)] {
            assert!(Cells::new(shape, |_| 4, 1, len).is_err());
        }
        assert!(Cells::new(BlockShape::new(&[4]).unwrap(), |_| 4, 0, 0).is_err());
    }

    #[test]
    fn cells_are_cut_at_the_edges() {
        assert_eq!(indices(&[5], 2), [vec![0, 1], vec![2, 3], vec![4]]);
        assert_eq!(
            indices(&[3, 3], 2),
            [vec![0, 1, 3, 4], vec![2, 5], vec![6, 7], vec![8]]
        );
        assert_eq!(indices(&[2, 2], 9), [vec![0, 1, 2, 3]]);
        for dims in [&[2, 3, 5][..], &[3, 1, 4, 2], &[1, 2, 1, 3, 2, 2]] {
            let nitems = dims.iter().product::<i32>() as usize;
            let mut all = indices(dims, 2).concat();
            all.sort_unstable();
            assert!(all.into_iter().eq(0..nitems), "{dims:?}");
        }
    }
}
