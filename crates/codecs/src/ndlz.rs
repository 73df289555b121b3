//! NDLZ: a Lempel-Ziv codec for two-dimensional blocks of bytes, which works on cells of 4 x 4 or 8
//! x 8 bytes.
//!
//! A stream is the number of dimensions (2), the two lengths of the block (32 bits, little-endian),
//! and a token with its operands for each cell, in row-major order of the cells. Cells that the
//! lower or right edge cuts are literal. A match refers to rows of an earlier literal cell by the
//! distance back from the token. The format leaves it to the encoder which rows of a cell are
//! looked up. Ours looks up the same rows as the reference's, so the streams are the same bytes.
//!
//! | token, 4 x 4 | token, 8 x 8 | operands | cell |
//! |---|---|---|---|
//! | `00` | `00` | the cell | literal |
//! | `40` | `40` | one byte | all bytes are that byte |
//! | `c0` | `c0` | distance | an earlier cell |
//! | `e0`, `e8`, `f0`, `f8` | `a8 + i` | distance, other rows | three rows of an earlier cell (1 2 3, 0 1 2, 0 1 3, 0 2 3; `i` to `i` + 2) |
//! | `80`, `80 + 32 i + 8 j` | `88 + i` | distance, other rows | two rows of an earlier cell (2 3, `i` `j`; `i` and `i` + 1) |
//! | `20 + 8 j` | | two distances | two rows each of two earlier cells (0 and `j`; the others) |

mod decode;
mod encode;
mod encode4;
mod encode8;
mod hash;
mod header;
#[cfg(test)]
mod tests;
mod tokens;

use header::HEADER_LEN;
use oxiblosc_base::cells::BlockShape;
use oxiblosc_base::{Error, Result};

/// Compresses a block of bytes. `side`, the codec's meta byte, is the side length of a cell.
/// Returns the bytes written, or 0 if the result is not smaller than `src` or `dst` is too small.
///
/// # Errors
/// [`Error::FAILURE`] if `side` is not 4 or 8, the block does not have two dimensions, or `src`
/// does not have its size; [`Error::MEMORY_ALLOC`].
pub fn compress(side: u8, block: BlockShape, src: &[u8], dst: &mut [u8]) -> Result<usize> {
    let &[rows, columns] = block.dims() else {
        return Err(Error::FAILURE);
    };
    if block.nbytes(1) != src.len() as u64 || dst.len() < HEADER_LEN {
        return Err(Error::FAILURE);
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
        _ => Err(Error::FAILURE),
    }
}

/// Decompresses a block into the front of `dst`. `side`, the codec's meta byte, is the side length
/// of a cell. Returns the size of the block.
///
/// # Errors
/// [`Error::FAILURE`] if `side` is not 4 or 8, the stream is malformed, or the block is larger than
/// `dst`.
pub fn decompress(side: u8, src: &[u8], dst: &mut [u8]) -> Result<usize> {
    match side {
        4 => decode::decompress::<4, 16>(&tokens::TOKENS_4, src, dst),
        8 => decode::decompress::<8, 64>(&tokens::TOKENS_8, src, dst),
        _ => Err(Error::FAILURE),
    }
}
