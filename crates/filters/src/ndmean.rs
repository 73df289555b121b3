//! Ndmean: replaces every item of a cell of an n-dimensional block by the cell's mean, and reorders
//! the items cell by cell like [`ndcell`](super::ndcell). Lossy: the inverse puts the means where
//! the items were.
//!
//! Along a dimension in which the block is shorter than a cell, cells are as short as the block.
//! Along every dimension, the format lets cells begin at multiples of their length along
//! the *first* dimension. So cells overlap if they are shorter along the first dimension than along
//! another. Such blocks are encoded as the format prescribes, but cannot be decoded.

use super::ndcell::put_back;
use oxiblosc_base::cells::{BlockShape, Cells};
use oxiblosc_base::{Error, Result};

/// The cells of a block of `len` bytes. `side` is the filter's meta byte, a signed number.
fn cells(block: BlockShape, side: u8, typesize: usize, len: usize) -> Result<Cells> {
    let side = usize::try_from(side as i8).map_err(|_| Error::FAILURE)?;
    if side == 0 {
        return Err(Error::FAILURE);
    }
    let cells = Cells::new(block, |dim| side.min(dim), typesize, len)?;
    Ok(cells.with_steps_of_first_side())
}

/// A floating-point type of `N` bytes.
trait Float<const N: usize>: Copy + Default {
    /// The number with these bytes.
    fn read(bytes: [u8; N]) -> Self;
    /// `self + other`.
    fn plus(self, other: Self) -> Self;
    /// The bytes of the mean of `nitems` items with this sum.
    fn mean(self, nitems: usize) -> [u8; N];
}

impl Float<4> for f32 {
    fn read(bytes: [u8; 4]) -> Self {
        Self::from_le_bytes(bytes)
    }

    fn plus(self, other: Self) -> Self {
        self + other
    }

    fn mean(self, nitems: usize) -> [u8; 4] {
        (self / nitems as Self).to_le_bytes()
    }
}

impl Float<8> for f64 {
    fn read(bytes: [u8; 8]) -> Self {
        Self::from_le_bytes(bytes)
    }

    fn plus(self, other: Self) -> Self {
        self + other
    }

    fn mean(self, nitems: usize) -> [u8; 8] {
        (self / nitems as Self).to_le_bytes()
    }
}

/// Writes the means of all cells. Items are added in the order of the format, since the order
/// determines the rounding.
fn write_means<F: Float<N>, const N: usize>(cells: &Cells, src: &[u8], dst: &mut [u8]) {
    let (src, dst) = (src.as_chunks::<N>().0, dst.as_chunks_mut::<N>().0);
    let mut to = 0;
    let mut walk = cells.walk();
    while let Some(cell) = walk.advance() {
        let (mut sum, width) = (F::default(), cell.width());
        cell.each_row(|at| {
            let row = src[at..at + width].iter();
            sum = row.fold(sum, |sum, item| sum.plus(F::read(*item)));
        });
        let nitems = cell.nitems();
        dst[to..to + nitems].fill(sum.mean(nitems));
        to += nitems;
    }
}

/// Writes the mean of each cell of `src` to `dst`, as often as the cell has items. Items are floats
/// of `typesize` 4 or 8.
///
/// # Errors
/// [`Error::FAILURE`] if `block` is not the shape of `src`, `side` is not positive as a signed
/// number, or `typesize` is not 4 or 8.
///
/// # Panics
/// If `dst` is shorter than `src`.
pub fn forward(
    block: BlockShape,
    side: u8,
    typesize: usize,
    src: &[u8],
    dst: &mut [u8],
) -> Result<()> {
    if !matches!(typesize, 4 | 8) {
        return Err(Error::FAILURE);
    }
    let cells = cells(block, side, typesize, src.len())?;
    match typesize {
        4 => write_means::<f32, 4>(&cells, src, dst),
        _ => write_means::<f64, 8>(&cells, src, dst),
    }
    Ok(())
}

/// Copies the items of `src`, which are ordered cell by cell, to their positions in `dst`.
///
/// # Errors
/// [`Error::FAILURE`] if `block` is not the shape of `src`, `side` or `typesize` are not positive
/// as signed bytes, or the cells overlap.
///
/// # Panics
/// If `dst` is shorter than `src`.
pub fn backward(
    block: BlockShape,
    side: u8,
    typesize: usize,
    src: &[u8],
    dst: &mut [u8],
) -> Result<()> {
    if typesize > i8::MAX as usize {
        return Err(Error::FAILURE);
    }
    let cells = cells(block, side, typesize, src.len())?;
    if !cells.are_disjoint() {
        return Err(Error::FAILURE);
    }
    put_back(&cells, typesize, src, dst);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(items: &[f32]) -> Vec<u8> {
        items.iter().flat_map(|item| item.to_le_bytes()).collect()
    }

    #[test]
    fn every_cell_becomes_its_mean() {
        let block = BlockShape::new(&[2, 3]).unwrap();
        let src = bytes(&[1.0, 2.0, 10.0, 3.0, 4.0, 20.0]);
        let (mut means, mut back) = (vec![0; src.len()], vec![0; src.len()]);
        forward(block, 2, 4, &src, &mut means).unwrap();
        assert_eq!(means, bytes(&[2.5, 2.5, 2.5, 2.5, 15.0, 15.0]));
        backward(block, 2, 4, &means, &mut back).unwrap();
        assert_eq!(back, bytes(&[2.5, 2.5, 15.0, 2.5, 2.5, 15.0]));
        let doubles: Vec<u8> = [1f64, 4.0].iter().flat_map(|x| x.to_le_bytes()).collect();
        let mut out = [0; 16];
        forward(BlockShape::new(&[2]).unwrap(), 5, 8, &doubles, &mut out).unwrap();
        assert_eq!(out, [2.5f64.to_le_bytes(); 2].concat()[..]);
    }

    #[test]
    fn cells_that_overlap_are_written_and_not_undone() {
        // Sides 1 and 2: cells begin at every column of three, and reach over the next.
        let block = BlockShape::new(&[1, 4]).unwrap();
        let src = bytes(&[1.0, 2.0, 10.0, 3.0]);
        let mut means = vec![0; src.len()];
        forward(block, 2, 4, &src, &mut means).unwrap();
        assert_eq!(means, bytes(&[1.5, 1.5, 6.0, 6.0]));
        let mut back = vec![0; src.len()];
        assert_eq!(
            backward(block, 2, 4, &means, &mut back),
            Err(Error::FAILURE)
        );
    }

    #[test]
    fn what_has_no_mean_is_refused() {
        let block = BlockShape::new(&[4]).unwrap();
        let mut out = [0; 64];
        for (side, typesize, len) in [(0, 4, 16), (128, 4, 16), (2, 2, 8), (2, 4, 12), (2, 16, 64)]
        {
            let refused = forward(block, side, typesize, &[0; 64][..len], &mut out);
            assert_eq!(refused, Err(Error::FAILURE), "{side} {typesize} {len}");
        }
        // Decoding also accepts other type sizes.
        assert_eq!(backward(block, 2, 2, &[0; 8], &mut out), Ok(()));
        assert_eq!(
            backward(block, 200, 2, &[0; 8], &mut out),
            Err(Error::FAILURE)
        );
        let wide = BlockShape::new(&[1]).unwrap();
        assert_eq!(
            backward(wide, 1, 128, &[0; 128], &mut [0; 128]),
            Err(Error::FAILURE)
        );
    }
}
