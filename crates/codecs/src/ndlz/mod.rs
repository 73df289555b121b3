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
mod encode;
mod encode4;
mod encode8;
mod hash;
mod kinds;
#[cfg(test)]
mod tests;

use oxiblosc_cells::BlockShape;
use oxiblosc_error::{Error, Result};

/// Bytes in front of the cells.
const HEADER: usize = 9;
/// Compresses a block of the shape `block` whose items are bytes; `side`, the codec's meta byte, is that of a cell. Gives
/// the bytes written, or 0 where it did not become smaller or `dst` is too small.
///
/// # Errors
/// [`Error::Failure`] where there are no such cells, or `src` is no such block; [`Error::MemoryAlloc`].
pub fn compress(side: u8, block: BlockShape, src: &[u8], dst: &mut [u8]) -> Result<usize> {
    let &[rows, columns] = block.dims() else {
        return Err(Error::Failure);
    };
    if block.nbytes(1) != src.len() as u64 || dst.len() < HEADER {
        return Err(Error::Failure);
    }
    match side {
        4 => Ok(encode::compress(
            encode4::Encoder::new()?,
            [rows, columns],
            src,
            dst,
        )),
        8 => Ok(encode::compress(
            encode8::Encoder::new()?,
            [rows, columns],
            src,
            dst,
        )),
        _ => Err(Error::Failure),
    }
}

/// Decompresses a block into the front of `dst`; gives its bytes. `side`, the codec's meta byte, is that of a cell.
///
/// # Errors
/// [`Error::Failure`] where there are no such cells, the stream is malformed, or the block is larger than `dst`.
pub fn decompress(side: u8, src: &[u8], dst: &mut [u8]) -> Result<usize> {
    match side {
        4 => decode::decompress::<4, 16>(&kinds::KINDS_4, src, dst),
        8 => decode::decompress::<8, 64>(&kinds::KINDS_8, src, dst),
        _ => Err(Error::Failure),
    }
}
