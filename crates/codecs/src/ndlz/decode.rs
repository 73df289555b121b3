//! The decoder.
//!
//! Which token comes next is unpredictable. So a table maps each token to the sources of the cell's
//! rows, and all cells, except those of one repeated byte, are decoded by the same instructions
//! without a branch.

use super::header::HEADER_LEN;
use super::tokens::{RowSource, TokenInfo};
use oxiblosc_base::{Error, Result};

/// The token of a cell of one repeated byte.
const REPEATED: u8 = 0x40;

/// The position of a source's rows. It may lie outside the stream. `at` is the position of the
/// token, and `distance` its operand.
#[inline(always)]
fn rows_position(source: RowSource, at: usize, distance: u16) -> usize {
    // The sum may overflow 16 bits, as in the reference's decoder.
    let from_end = (distance & source.mask).wrapping_add(source.operands.into());
    (at + usize::from(source.base)).wrapping_sub(from_end.into())
}

#[inline(always)]
fn rows_at<const SIDE: usize, const CELL: usize>(
    bytes: &[u8],
    position: usize,
) -> Option<&[[u8; SIDE]; SIDE]> {
    let cell = bytes.get(position..)?.first_chunk::<CELL>()?;
    cell.as_chunks().0.first_chunk()
}

/// Decodes a whole cell, whose token is at `at`. Returns it and the position of the next token.
/// `None` if the cell is invalid, and near the end of the stream, since it reads past the end of
/// short cells; then [`read`] must be called.
#[inline(always)]
fn read_whole<const SIDE: usize, const CELL: usize>(
    tokens: &[TokenInfo<SIDE>; 256],
    bytes: &[u8],
    at: usize,
) -> Option<([[u8; SIDE]; SIDE], usize)> {
    let [token, a, b, c, d] = *bytes.get(at..)?.first_chunk()?;
    if token == REPEATED {
        return Some(([[a; SIDE]; SIDE], at + 2));
    }
    let info = &tokens[usize::from(token)];
    let first = rows_position(info.first, at, u16::from_le_bytes([a, b]));
    let second = rows_position(info.second, at, u16::from_le_bytes([c, d]));
    let sources = [
        *rows_at::<SIDE, CELL>(bytes, first)?,
        *rows_at::<SIDE, CELL>(bytes, second)?,
    ];
    let rows = sources.as_flattened();
    let cell = info.rows.map(|row| rows[usize::from(row) % (2 * SIDE)]);
    (info.size > 0).then_some((cell, at + usize::from(info.size)))
}

/// Decodes a cell of `len` bytes into the front of `cell`, with every check. Returns the position
/// of the next token. A cell that an edge of the block cuts has fewer than `SIDE * SIDE` bytes.
#[cold]
fn read<const SIDE: usize>(
    tokens: &[TokenInfo<SIDE>; 256],
    bytes: &[u8],
    at: usize,
    len: usize,
    cell: &mut [[u8; SIDE]; SIDE],
) -> Result<usize> {
    let part = |at: usize, len: usize| {
        let part = bytes.get(at..).and_then(|rest| rest.get(..len));
        part.ok_or(Error::FAILURE)
    };
    let token = part(at, 1)?[0];
    if token == REPEATED {
        *cell = [[part(at + 1, 1)?[0]; SIDE]; SIDE];
        return Ok(at + 2);
    }
    let info = &tokens[usize::from(token)];
    if info.size == 0 {
        return Err(Error::FAILURE);
    }
    // A cut literal cell is shorter.
    let whole = SIDE * SIDE;
    let literal = info.first.mask == 0;
    let size = usize::from(info.size) - if literal { whole - len } else { 0 };
    let operands = part(at, size)?;
    let distance = |n: usize| match operands.get(n..n + 2) {
        Some(distance) => u16::from_le_bytes([distance[0], distance[1]]),
        None => 0,
    };
    let mut rows = [[[0; SIDE]; SIDE]; 2];
    for (n, source) in [info.first, info.second].into_iter().enumerate() {
        let source_len = usize::from(source.len);
        let source_len = if source_len == whole { len } else { source_len };
        let position = rows_position(source, at, distance(1 + 2 * n));
        rows[n].as_flattened_mut()[..source_len].copy_from_slice(part(position, source_len)?);
    }
    for (to, row) in cell.iter_mut().zip(info.rows) {
        *to = rows.as_flattened()[usize::from(row)];
    }
    Ok(at + size)
}

/// Decompresses a block of cells of `SIDE` x `SIDE` bytes, which is `CELL`, into the front of
/// `dst`. Returns the size of the block.
#[inline(always)]
pub fn decompress<const SIDE: usize, const CELL: usize>(
    tokens: &[TokenInfo<SIDE>; 256],
    src: &[u8],
    dst: &mut [u8],
) -> Result<usize> {
    let Some(([2, lengths @ ..], _)) = src.split_first_chunk::<HEADER_LEN>() else {
        return Err(Error::FAILURE);
    };
    let length = |n: usize| {
        let length = i32::from_le_bytes(std::array::from_fn(|i| lengths[4 * n + i]));
        usize::try_from(length).map_err(|_| Error::FAILURE)
    };
    let (rows, columns) = (length(0)?, length(1)?);
    // Both are less than 2^31, so this does not overflow.
    let nbytes = rows as u64 * columns as u64;
    if nbytes > dst.len() as u64 || nbytes == 0 {
        return Err(Error::FAILURE);
    }
    let nbytes = nbytes as usize;
    let mut at = HEADER_LEN;
    for band in dst[..nbytes].chunks_mut(SIDE * columns) {
        let height = band.len() / columns;
        let mut lines = band.chunks_exact_mut(columns);
        let mut lines: [&mut [u8]; SIDE] =
            std::array::from_fn(|_| lines.next().unwrap_or_default());
        let mut left = 0;
        loop {
            if height == SIDE {
                // Whole cells, up to one that must be decoded by `read`.
                let cells = (columns - left) / SIDE;
                let mut rows = lines
                    .each_mut()
                    .map(|line| &mut line[left..].as_chunks_mut::<SIDE>().0[..cells]);
                let mut decoded = 0;
                while decoded < cells
                    && let Some((cell, next)) = read_whole::<SIDE, CELL>(tokens, src, at)
                {
                    for (to, from) in rows.iter_mut().zip(cell) {
                        to[decoded] = from;
                    }
                    decoded += 1;
                    at = next;
                }
                left += decoded * SIDE;
            }
            if left == columns {
                break;
            }
            let width = SIDE.min(columns - left);
            let mut cell = [[0; SIDE]; SIDE];
            at = read(tokens, src, at, height * width, &mut cell)?;
            let cell_rows = cell.as_flattened().chunks_exact(width);
            for (line, row) in lines.iter_mut().zip(cell_rows).take(height) {
                line[left..left + width].copy_from_slice(row);
            }
            left += width;
        }
    }
    Ok(nbytes)
}
