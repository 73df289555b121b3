//! Ndcell: reorders the items of an n-dimensional block cell by cell. Cells are (hyper)cubes.
//!
//! Neighbours along any dimension are then close to each other, which helps a codec.

use oxiblosc_base::cells::{BlockShape, Cells};
use oxiblosc_base::{Error, Result};

/// The cells of a block of `len` bytes, which must be at least as large as a whole cell.
fn cells(block: BlockShape, side: u8, typesize: usize, len: usize) -> Result<Cells> {
    let cells = Cells::new(block, |_| side.into(), typesize, len)?;
    let whole = block.dims().iter().fold(typesize as u64, |nbytes, _| {
        nbytes.saturating_mul(side.into())
    });
    if side == 0 || whole > len as u64 {
        return Err(Error::FAILURE);
    }
    Ok(cells)
}

/// Copies a row of a cell. The common lengths are special cases, which compile to one or two moves.
#[inline(always)]
fn copy_row(src: &[u8], dst: &mut [u8]) {
    fn whole<const N: usize>(src: &[u8], dst: &mut [u8]) {
        dst[..N].copy_from_slice(&src[..N]);
    }
    match src.len() {
        4 => whole::<4>(src, dst),
        8 => whole::<8>(src, dst),
        16 => whole::<16>(src, dst),
        32 => whole::<32>(src, dst),
        64 => whole::<64>(src, dst),
        _ => dst.copy_from_slice(src),
    }
}

/// Copies the items of `src`, of `typesize` bytes each, to `dst` cell by cell. A cell has `side`
/// items along each dimension.
///
/// # Errors
/// [`Error::FAILURE`] if `block` is not the shape of `src`, `side` is 0, or a whole cell is larger
/// than the block.
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
    let cells = cells(block, side, typesize, src.len())?;
    let mut to = 0;
    let mut walk = cells.walk();
    while let Some(cell) = walk.advance() {
        let width = cell.width() * typesize;
        cell.each_row(|at| {
            let at = at * typesize;
            copy_row(&src[at..at + width], &mut dst[to..to + width]);
            to += width;
        });
    }
    Ok(())
}

/// Undoes [`forward`].
///
/// # Errors
/// As for [`forward`].
///
/// # Panics
/// As for [`forward`].
pub fn backward(
    block: BlockShape,
    side: u8,
    typesize: usize,
    src: &[u8],
    dst: &mut [u8],
) -> Result<()> {
    put_back(
        &cells(block, side, typesize, src.len())?,
        typesize,
        src,
        dst,
    );
    Ok(())
}

/// Copies the items of `src`, which are ordered cell by cell, to their positions in `dst`.
///
/// # Panics
/// If `src` or `dst` is shorter than the cells.
pub fn put_back(cells: &Cells, typesize: usize, src: &[u8], dst: &mut [u8]) {
    let mut from = 0;
    let mut walk = cells.walk();
    while let Some(cell) = walk.advance() {
        let width = cell.width() * typesize;
        cell.each_row(|at| {
            let at = at * typesize;
            copy_row(&src[from..from + width], &mut dst[at..at + width]);
            from += width;
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use oxiblosc_testing::noise;

    #[test]
    fn cells_come_one_after_the_other() {
        let block = BlockShape::new(&[4, 4]).unwrap();
        let src: Vec<u8> = (0..16).collect();
        let mut out = [0; 16];
        forward(block, 2, 1, &src, &mut out).unwrap();
        assert_eq!(out, [0, 1, 4, 5, 2, 3, 6, 7, 8, 9, 12, 13, 10, 11, 14, 15]);
    }

    #[test]
    fn what_is_sorted_is_put_back() {
        for dims in [&[37][..], &[16, 9], &[5, 6, 7], &[4, 5, 3, 6]] {
            let block = BlockShape::new(dims).unwrap();
            for typesize in [1, 2, 3, 4, 8, 13, 16] {
                let src = noise(block.nbytes(typesize) as usize);
                for side in [1, 2, 3] {
                    let (mut sorted, mut back) = (vec![0; src.len()], vec![0; src.len()]);
                    forward(block, side, typesize, &src, &mut sorted).unwrap();
                    assert_eq!(sorted == src, side == 1 || dims.len() == 1);
                    backward(block, side, typesize, &sorted, &mut back).unwrap();
                    assert!(back == src, "{dims:?} {typesize} {side}");
                }
            }
        }
    }

    #[test]
    fn cells_that_cannot_be_are_refused() {
        let block = BlockShape::new(&[4, 4]).unwrap();
        let mut out = [0; 64];
        for (side, typesize, len) in [(0, 1, 16), (5, 1, 16), (255, 1, 16), (2, 1, 15), (2, 2, 16)]
        {
            let refused = forward(block, side, typesize, &[0; 64][..len], &mut out);
            assert_eq!(refused, Err(Error::FAILURE), "{side} {typesize} {len}");
            let refused = backward(block, side, typesize, &[0; 64][..len], &mut out);
            assert_eq!(refused, Err(Error::FAILURE), "{side} {typesize} {len}");
        }
    }
}
