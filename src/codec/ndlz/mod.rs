//! NDLZ: a Lempel-Ziv codec for two-dimensional blocks of bytes, in cells of 4 x 4 or 8 x 8.
//!
//! A stream is the number of dimensions (2), the two lengths of the block (32 bits, little endian), and a token with its
//! operands for each cell, row of cells by row. Cells at the lower and right edge are literal where they are cut. What a
//! cell has in common with an earlier literal one is written as a distance back from the token; which parts of a cell
//! (all, or some of its rows) are looked up by hash in tables is part of the encoder, and the same as in the reference:
//! so are the bytes.
//!
//! | token, 4 x 4 | token, 8 x 8 | operands | the cell is |
//! |---|---|---|---|
//! | `00` | `00` | the cell | literal |
//! | `40` | `40` | one byte | that byte everywhere |
//! | `c0` | `c0` | distance | an earlier cell |
//! | `e0`, `e8`, `f0`, `f8` | `a8 + i` | distance, other rows | three rows of an earlier cell (1 2 3, 0 1 2, 0 1 3, 0 2 3; `i` to `i` + 2) |
//! | `80`, `80 + 32 i + 8 j` | `88 + i` | distance, other rows | two rows of an earlier cell (2 3, `i` `j`; `i` and `i` + 1) |
//! | `20 + 8 j` | | two distances | two rows each of two earlier cells (0 and `j`; the others) |

mod decode;
mod encode4;
mod encode8;
mod hash;
#[cfg(test)]
mod tests;

use crate::cells::BlockShape;
use crate::error::{Error, Result};

/// Bytes in front of the cells.
const HEADER: usize = 9;
/// The first distance that is too large.
const MAX_DISTANCE: usize = 65535;
/// Slots of a hash table.
const SLOTS: usize = 1 << hash::BITS;

/// Compresses a block of the shape `block` whose items are bytes; `side`, the codec's meta byte, is that of a cell. Gives
/// the bytes written, or 0 where it did not become smaller or `dst` is too small.
///
/// # Errors
/// [`Error::Failure`] where there are no such cells, or `src` is no such block.
pub fn compress(side: u8, block: BlockShape, src: &[u8], dst: &mut [u8]) -> Result<usize> {
    let &[rows, columns] = block.dims() else {
        return Err(Error::Failure);
    };
    if block.nbytes(1) != src.len() as u64 || dst.len() < HEADER {
        return Err(Error::Failure);
    }
    let grid = Grid { rows, columns };
    match side {
        4 => Ok(encode4::compress(grid, src, dst)),
        8 => Ok(encode8::compress(grid, src, dst)),
        _ => Err(Error::Failure),
    }
}

/// Decompresses a block into the front of `dst`; gives its bytes. `side`, the codec's meta byte, is that of a cell.
///
/// # Errors
/// [`Error::Failure`] where there are no such cells, the stream is malformed, or the block is larger than `dst`.
pub fn decompress(side: u8, src: &[u8], dst: &mut [u8]) -> Result<usize> {
    match side {
        4 => decode::decompress::<4>(src, dst, decode::cell4),
        8 => decode::decompress::<8>(src, dst, decode::cell8),
        _ => Err(Error::Failure),
    }
}

/// The lengths of a block, of which the product is known to be the bytes of a buffer.
#[derive(Clone, Copy)]
struct Grid {
    rows: usize,
    columns: usize,
}

/// Where a stream goes.
struct Output<'a> {
    bytes: &'a mut [u8],
    /// Bytes written.
    at: usize,
}

impl<'a> Output<'a> {
    /// A stream with its header; `None` where `bytes` may turn out too few, by the encoder's rule.
    fn begin(bytes: &'a mut [u8], grid: Grid, cell: usize) -> Option<Self> {
        let len = grid.rows * grid.columns;
        if len < cell || bytes.len() + 2 < 17 + len / cell * 2 {
            return None;
        }
        let mut out = Self { bytes, at: 0 };
        out.put(&[2]);
        out.put(&(grid.rows as u32).to_le_bytes());
        out.put(&(grid.columns as u32).to_le_bytes());
        Some(out)
    }

    /// Whether a literal cell of `cell` bytes fits.
    fn has_room(&self, cell: usize) -> bool {
        self.at + cell < self.bytes.len()
    }

    #[inline(always)]
    fn put(&mut self, bytes: &[u8]) {
        self.bytes[self.at..self.at + bytes.len()].copy_from_slice(bytes);
        self.at += bytes.len();
    }

    /// A distance; known to fit.
    #[inline(always)]
    fn put_distance(&mut self, distance: usize) {
        self.put(&(distance as u16).to_le_bytes());
    }

    /// Whether `part` is what was written at `place`; places are those of tables, 0 for none.
    #[inline(always)]
    fn holds(&self, place: u32, part: &[u8]) -> bool {
        let place = place as usize;
        place != 0 && self.bytes[place..place + part.len()] == *part
    }
}
