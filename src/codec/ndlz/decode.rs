//! Reading streams.

use super::HEADER;
use crate::error::{Error, Result};

/// The most bytes of a cell.
const MAX_CELL: usize = 64;

/// A stream, and how far it was read.
pub struct Input<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Where the token of the current cell is.
    token_at: usize,
}

impl<'a> Input<'a> {
    #[inline(always)]
    fn take(&mut self, len: usize) -> Result<&'a [u8]> {
        let end = self.at.checked_add(len).ok_or(Error::Failure)?;
        let part = self.bytes.get(self.at..end).ok_or(Error::Failure)?;
        self.at = end;
        Ok(part)
    }

    #[inline(always)]
    fn byte(&mut self) -> Result<u8> {
        Ok(self.take(1)?[0])
    }

    #[inline(always)]
    fn distance(&mut self) -> Result<u16> {
        let distance = self.take(2)?;
        Ok(u16::from_le_bytes([distance[0], distance[1]]))
    }

    /// `len` bytes a distance before the token. `operands` is how many bytes the token and its distances take: a distance
    /// that is so large that this makes it overflow counts, as the format's readers have it, from behind them.
    #[inline(always)]
    fn earlier(&self, distance: u16, operands: u16, len: usize) -> Result<&'a [u8]> {
        let from_end = usize::from(distance.wrapping_add(operands));
        let start = (self.token_at + usize::from(operands)).checked_sub(from_end);
        let start = start.ok_or(Error::Failure)?;
        self.bytes.get(start..start + len).ok_or(Error::Failure)
    }
}

/// The rows of a cell with `SIDE` columns.
fn rows<const SIDE: usize>(cell: &mut [u8; MAX_CELL]) -> &mut [[u8; SIDE]] {
    cell.as_chunks_mut::<SIDE>().0
}

/// Copies rows that lie one after the other to the places `to`, which count from 0.
#[inline(always)]
fn put_rows<const SIDE: usize>(cell: &mut [u8; MAX_CELL], to: &[usize], from: &[u8]) {
    for (row, from) in to.iter().zip(from.as_chunks::<SIDE>().0) {
        rows::<SIDE>(cell)[*row] = *from;
    }
}

/// Reads the rows of a cell that were not among `known`.
#[inline(always)]
fn other_rows<const SIDE: usize>(
    cell: &mut [u8; MAX_CELL],
    known: impl Fn(usize) -> bool,
    input: &mut Input,
) -> Result<()> {
    for row in (0..SIDE).filter(|row| !known(*row)) {
        put_rows::<SIDE>(cell, &[row], input.take(SIDE)?);
    }
    Ok(())
}

/// Reads what follows a token of cells of 4 x 4 that cells of 8 x 8 do not have: rows of earlier cells, and the other rows.
#[inline(always)]
pub fn cell4(token: u8, input: &mut Input, cell: &mut [u8; MAX_CELL]) -> Result<()> {
    match token {
        0xe0.. => {
            let triple =
                [[1, 2, 3], [0, 1, 2], [0, 1, 3], [0, 2, 3]][usize::from((token - 0xe0) >> 3)];
            let distance = input.distance()?;
            put_rows::<4>(cell, &triple, input.earlier(distance, 3, 12)?);
            other_rows::<4>(cell, |row| triple.contains(&row), input)
        }
        0x80..0xc0 => {
            let pair = match token - 0x80 {
                0 => [2, 3],
                pair => [usize::from(pair >> 5), usize::from(pair >> 3 & 3)],
            };
            let distance = input.distance()?;
            put_rows::<4>(cell, &pair, input.earlier(distance, 3, 8)?);
            other_rows::<4>(cell, |row| pair.contains(&row), input)
        }
        0x28..0x40 => {
            let second = usize::from((token - 0x20) >> 3);
            let others = [[2, 3], [1, 3], [1, 2]][second - 1];
            let distances = [input.distance()?, input.distance()?];
            for (distance, pair) in distances.into_iter().zip([[0, second], others]) {
                put_rows::<4>(cell, &pair, input.earlier(distance, 5, 8)?);
            }
            Ok(())
        }
        _ => Err(Error::Failure),
    }
}

/// As [`cell4`], for cells of 8 x 8.
#[inline(always)]
pub fn cell8(token: u8, input: &mut Input, cell: &mut [u8; MAX_CELL]) -> Result<()> {
    let first = usize::from(token & 7);
    let count = match token >> 3 {
        21 => 3,
        17 => 2,
        _ => return Err(Error::Failure),
    };
    let part = first..first + count;
    if part.end > 8 {
        return Err(Error::Failure);
    }
    let distance = input.distance()?;
    let earlier = input.earlier(distance, 0, 8 * count)?;
    let others = input.take(8 * (8 - count))?;
    let (before, after) = others.as_chunks::<8>().0.split_at(first);
    let parts = [before, earlier.as_chunks::<8>().0, after];
    for (to, from) in rows::<8>(cell).iter_mut().zip(parts.into_iter().flatten()) {
        *to = *from;
    }
    Ok(())
}

/// Decompresses a block of cells of `SIDE` x `SIDE` into the front of `dst`; gives its bytes.
#[inline(always)]
pub fn decompress<const SIDE: usize>(
    src: &[u8],
    dst: &mut [u8],
    read_cell: impl Fn(u8, &mut Input, &mut [u8; MAX_CELL]) -> Result<()>,
) -> Result<usize> {
    let Some(([2, lengths @ ..], _)) = src.split_first_chunk::<HEADER>() else {
        return Err(Error::Failure);
    };
    let length = |n: usize| {
        let length = i32::from_le_bytes(std::array::from_fn(|i| lengths[4 * n + i]));
        usize::try_from(length).map_err(|_| Error::Failure)
    };
    let (rows, columns) = (length(0)?, length(1)?);
    // No more than 2^62.
    let nbytes = rows as u64 * columns as u64;
    if nbytes > dst.len() as u64 || nbytes == 0 {
        return Err(Error::Failure);
    }
    let nbytes = nbytes as usize;
    let dst = &mut dst[..nbytes];
    let mut input = Input {
        bytes: src,
        at: HEADER,
        token_at: HEADER,
    };
    let mut buffer = [0; MAX_CELL];
    for top in (0..rows).step_by(SIDE) {
        let height = SIDE.min(rows - top);
        for left in (0..columns).step_by(SIDE) {
            let width = SIDE.min(columns - left);
            let len = height * width;
            input.token_at = input.at;
            let token = input.byte()?;
            let cell = match token {
                0x00 => input.take(len)?,
                0xc0 => {
                    let distance = input.distance()?;
                    input.earlier(distance, 0, len)?
                }
                0x40 => {
                    buffer[..len].fill(input.byte()?);
                    &buffer[..len]
                }
                _ => {
                    read_cell(token, &mut input, &mut buffer)?;
                    &buffer[..len]
                }
            };
            let origin = top * columns + left;
            if len == SIDE * SIDE {
                let area = &mut dst[origin..];
                for (n, row) in cell.as_chunks::<SIDE>().0.iter().enumerate().take(SIDE) {
                    area[n * columns..][..SIDE].copy_from_slice(row);
                }
            } else {
                for (n, row) in cell.chunks_exact(width).enumerate() {
                    dst[origin + n * columns..][..width].copy_from_slice(row);
                }
            }
        }
    }
    Ok(nbytes)
}
