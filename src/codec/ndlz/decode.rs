//! Reading streams.
//!
//! What a cell is made of follows from its token by a table, and all cells but those of one byte are put together by the
//! same instructions: which kind of cell comes next is what processors cannot foresee.

use super::HEADER;
use crate::error::{Error, Result};

/// The token of a cell that is one byte everywhere.
const REPEATED: u8 = 0x40;

/// A stream, and where in it the token of the current cell is.
pub struct Input<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Input<'_> {
    /// Copies the `need` (at most `N`) bytes from `at` on to the first `N` of `to`; what follows them there is of no meaning.
    #[inline(always)]
    fn copy<const N: usize>(&self, at: usize, need: usize, to: &mut [u8]) -> Result<()> {
        let to = &mut to[..N];
        match self.bytes.get(at..).and_then(<[u8]>::first_chunk::<N>) {
            Some(bytes) => {
                to.copy_from_slice(bytes);
                Ok(())
            }
            None => self.copy_at_end(at, need, to),
        }
    }

    #[cold]
    fn copy_at_end(&self, at: usize, need: usize, to: &mut [u8]) -> Result<()> {
        let rest = self.bytes.get(at..).ok_or(Error::Failure)?;
        let len = rest.len().min(to.len());
        to[..len].copy_from_slice(&rest[..len]);
        if len < need {
            return Err(Error::Failure);
        }
        Ok(())
    }

    /// The token and the four bytes behind it, as far as there are any.
    #[inline(always)]
    fn front(&self) -> Result<(u8, u32)> {
        let mut front = [0; 8];
        self.copy::<8>(self.at, 1, &mut front)?;
        let front = u64::from_le_bytes(front);
        Ok((front as u8, (front >> 8) as u32))
    }

    /// Where a distance before the token leads. `operands` is how many bytes the token and its distances take: a distance
    /// that is so large that this makes it overflow counts, as the format's readers have it, from behind them.
    #[inline(always)]
    fn earlier(&self, distance: u32, operands: u8) -> usize {
        let from_end = (distance as u16).wrapping_add(operands.into());
        // In front of the stream is as far behind its end as can be.
        (self.at + usize::from(operands)).wrapping_sub(from_end.into())
    }

    /// Goes to the next token, which is `size` bytes further.
    #[inline(always)]
    fn advance(&mut self, size: usize) -> Result<()> {
        self.at += size;
        // Nothing is longer than a buffer and a cell.
        if self.at > self.bytes.len() {
            return Err(Error::Failure);
        }
        Ok(())
    }
}

/// What a cell of 4 x 4 is put together from: rows of an earlier cell, and others.
#[derive(Clone, Copy)]
struct Kind4 {
    /// Bytes of the token, its distances and the rows that follow; 0 where there is no such token, and literal cells are
    /// not counted in.
    size: u8,
    /// Bytes of the token and its distances.
    operands: u8,
    /// Bytes of the earlier cell, or the literal one, which are rows 0 to 3 of what there is.
    earlier: u8,
    /// Bytes of the others, which are rows 4 to 6.
    others: u8,
    /// Which of these rows make the cell.
    rows: [u8; 4],
}

impl Kind4 {
    /// A cell that is in one place.
    const fn whole(size: u8, operands: u8) -> Self {
        Self {
            size,
            operands,
            earlier: 16,
            others: 0,
            rows: [0, 1, 2, 3],
        }
    }

    /// The rows `known` are in an earlier cell; of a row that is named twice the second counts.
    const fn of(operands: u8, known: &[u8]) -> Self {
        let mut kind = Self {
            size: operands,
            operands,
            earlier: 4 * known.len() as u8,
            others: 0,
            rows: [u8::MAX; 4],
        };
        let mut n = 0;
        while n < known.len() {
            kind.rows[known[n] as usize] = n as u8;
            n += 1;
        }
        let mut row = 0;
        while row < 4 {
            if kind.rows[row] == u8::MAX {
                kind.rows[row] = 4 + kind.others / 4;
                kind.others += 4;
            }
            row += 1;
        }
        // With two distances the others are in an earlier cell as well.
        if operands == 3 {
            kind.size += kind.others;
        }
        kind
    }

    const fn of_token(token: u8) -> Self {
        let part = token >> 3 & 3;
        match token {
            0x00 => Self::whole(1, 1),
            0xc0 => Self::whole(3, 0),
            0xe0.. => match part {
                0 => Self::of(3, &[1, 2, 3]),
                1 => Self::of(3, &[0, 1, 2]),
                2 => Self::of(3, &[0, 1, 3]),
                _ => Self::of(3, &[0, 2, 3]),
            },
            0x80 => Self::of(3, &[2, 3]),
            0x81..0xc0 => Self::of(3, &[token >> 5 & 1, part]),
            0x28..0x40 => Self::of(5, &[0, part]),
            _ => Self::whole(0, 0),
        }
    }
}

static KINDS_4: [Kind4; 256] = {
    let mut kinds = [Kind4::whole(0, 0); 256];
    let mut token = 0;
    while token < 256 {
        kinds[token] = Kind4::of_token(token as u8);
        token += 1;
    }
    kinds
};

/// Reads a cell of 4 x 4; of one that is cut at an edge of the block, the `len` bytes that there are, in front.
#[inline(always)]
pub fn cell4(input: &mut Input, len: usize, cell: &mut [[u8; 4]; 4]) -> Result<()> {
    let (token, operands) = input.front()?;
    if token == REPEATED {
        *cell = [[operands as u8; 4]; 4];
        return input.advance(2);
    }
    let kind = &KINDS_4[usize::from(token)];
    if kind.size == 0 {
        return Err(Error::Failure);
    }
    let behind = input.at + usize::from(kind.operands);
    let literal = token == 0;
    let whole = kind.others == 0;
    let first = input.earlier(operands, kind.operands);
    let first = if literal { behind } else { first };
    let second = input.earlier(operands >> 16, kind.operands);
    let second = if kind.operands == 5 { second } else { behind };
    let second = if whole { first } else { second };
    let need = if whole { len } else { kind.earlier.into() };
    let mut parts = [[0; 16]; 2];
    input.copy::<16>(first, need, &mut parts[0])?;
    input.copy::<16>(second, kind.others.into(), &mut parts[1])?;
    input.advance(usize::from(kind.size) + if literal { len } else { 0 })?;
    let rows = parts.as_flattened().as_chunks::<4>().0;
    for (to, row) in cell.iter_mut().zip(kind.rows) {
        *to = rows[usize::from(row & 7)];
    }
    Ok(())
}

/// Which rows of a cell of 8 x 8 with a certain token are in an earlier cell: the first one, and from bit 4 on how many;
/// [`u8::MAX`] where there is no such token.
static KINDS_8: [u8; 256] = {
    let mut kinds = [u8::MAX; 256];
    (kinds[0x00], kinds[0xc0]) = (0x08, 0x80);
    let mut first = 0;
    while first < 7 {
        kinds[0x88 + first] = 0x20 | first as u8;
        if first < 6 {
            kinds[0xa8 + first] = 0x30 | first as u8;
        }
        first += 1;
    }
    kinds
};

/// As [`cell4`], for cells of 8 x 8.
#[inline(always)]
pub fn cell8(input: &mut Input, len: usize, cell: &mut [[u8; 8]; 8]) -> Result<()> {
    let (token, distance) = input.front()?;
    if token == REPEATED {
        *cell = [[distance as u8; 8]; 8];
        return input.advance(2);
    }
    let kind = KINDS_8[usize::from(token)];
    if kind == u8::MAX {
        return Err(Error::Failure);
    }
    let (first, count) = (usize::from(kind & 15), usize::from(kind >> 4));
    let operands = if count == 0 { 1 } else { 3 };
    let others_at = input.at + operands;
    let (known, others) = match count {
        0 => (0, len),
        8 => (len, 0),
        _ => (8 * count, 64 - 8 * count),
    };
    let known_at = input.earlier(distance, 0);
    let known_at = if count == 0 { others_at } else { known_at };
    // What comes after the rows of an earlier cell, if anything does.
    let (last_at, last) = match count {
        0 | 8 => (others_at, 0),
        _ => (others_at + 8 * first, others - 8 * first),
    };
    // Eight rows each time, each part over what the ones before it have too much.
    let mut rows = [0; 128];
    input.copy::<64>(others_at, others, &mut rows)?;
    input.copy::<64>(known_at, known, &mut rows[8 * first..])?;
    input.copy::<64>(last_at, last, &mut rows[8 * (first + count)..])?;
    input.advance(operands + others)?;
    for (to, row) in cell.iter_mut().zip(rows.as_chunks().0) {
        *to = *row;
    }
    Ok(())
}

/// Decompresses a block of cells of `SIDE` x `SIDE` into the front of `dst`; gives its bytes.
#[inline(always)]
pub fn decompress<const SIDE: usize>(
    src: &[u8],
    dst: &mut [u8],
    read_cell: impl Fn(&mut Input, usize, &mut [[u8; SIDE]; SIDE]) -> Result<()>,
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
    let mut input = Input {
        bytes: src,
        at: HEADER,
    };
    for band in dst[..nbytes].chunks_mut(SIDE * columns) {
        let height = band.len() / columns;
        for left in (0..columns).step_by(SIDE) {
            let width = SIDE.min(columns - left);
            let mut cell = [[0; SIDE]; SIDE];
            read_cell(&mut input, height * width, &mut cell)?;
            if height * width == SIDE * SIDE {
                for (n, row) in cell.iter().enumerate() {
                    band[n * columns + left..][..SIDE].copy_from_slice(row);
                }
            } else {
                let there = cell.as_flattened()[..height * width].chunks_exact(width);
                for (n, row) in there.enumerate() {
                    band[n * columns + left..][..width].copy_from_slice(row);
                }
            }
        }
    }
    Ok(nbytes)
}
