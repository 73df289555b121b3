//! The decoder's table of tokens.

/// Where the decoder finds some rows of a cell in the stream.
#[derive(Clone, Copy)]
pub struct RowSource {
    /// The mask of the distance: all ones for rows of an earlier cell, 0 for rows that follow the
    /// token, which have no distance.
    pub mask: u16,
    /// This is added to the distance.
    pub operands: u8,
    /// An offset from the token. The distance counts back from there; rows without a distance begin
    /// there.
    pub base: u8,
    /// The size of the rows in bytes.
    pub len: u8,
}

impl RowSource {
    /// Rows of an earlier cell, at the token's distance before the token. `operands` is 0, or the
    /// size of the token and its distances if the reference's decoder counts from behind them (see
    /// `rows_position` in the decoder).
    const fn earlier(operands: u8, len: u8) -> Self {
        Self {
            mask: u16::MAX,
            operands,
            base: operands,
            len,
        }
    }

    /// Rows that follow the token, at the offset `base` from it.
    const fn literal(base: u8, len: u8) -> Self {
        Self {
            mask: 0,
            operands: 0,
            base,
            len,
        }
    }
}

/// The meaning of a token: from which two sources the rows of the cell come.
#[derive(Clone, Copy)]
pub struct TokenInfo<const SIDE: usize> {
    /// The size of the token and its operands. 0 if the token is invalid.
    pub size: u8,
    pub first: RowSource,
    pub second: RowSource,
    /// For each row of the cell, its index in the first source, or `SIDE` plus its index in the
    /// second.
    pub rows: [u8; SIDE],
}

impl<const SIDE: usize> TokenInfo<SIDE> {
    /// All rows come from one source.
    const fn whole(size: u8, first: RowSource) -> Self {
        let mut rows = [0; SIDE];
        let mut row = 0;
        while row < SIDE {
            rows[row] = row as u8;
            row += 1;
        }
        Self {
            size,
            first,
            second: RowSource::literal(0, 0),
            rows,
        }
    }

    /// An invalid token.
    const INVALID: Self = Self::whole(0, RowSource::earlier(0, 0));

    /// The rows `known` are in an earlier cell, the others follow the token. If a row is listed
    /// twice, its second index counts. `operands` is as for [`RowSource::earlier`].
    const fn parts(operands: u8, known: &[u8]) -> Self {
        let mut info = Self {
            size: 0,
            first: RowSource::earlier(operands, SIDE as u8 * known.len() as u8),
            second: RowSource::literal(3, 0),
            rows: [u8::MAX; SIDE],
        };
        let mut n = 0;
        while n < known.len() {
            info.rows[known[n] as usize] = n as u8;
            n += 1;
        }
        let (mut row, mut others) = (0, 0);
        while row < SIDE {
            if info.rows[row] == u8::MAX {
                info.rows[row] = SIDE as u8 + others;
                others += 1;
            }
            row += 1;
        }
        info.second.len = SIDE as u8 * others;
        info.size = 3 + info.second.len;
        info
    }

    /// Like [`TokenInfo::parts`], but the other rows are in a second earlier cell.
    const fn two_parts(known: &[u8]) -> Self {
        let mut info = Self::parts(5, known);
        info.second = RowSource::earlier(5, info.second.len);
        info.size = 5;
        info
    }
}

/// The tokens of cells of 4 x 4, by token.
pub static TOKENS_4: [TokenInfo<4>; 256] = {
    let mut tokens = [TokenInfo::INVALID; 256];
    let mut token = 0;
    while token < 256 {
        // The lowest bits of most tokens have no meaning.
        let part = token as u8 >> 3 & 3;
        tokens[token] = match token {
            0x00 => TokenInfo::whole(17, RowSource::literal(1, 16)),
            0x28..0x40 => TokenInfo::two_parts(&[0, part]),
            0x80 => TokenInfo::parts(3, &[2, 3]),
            0x81..0xc0 => TokenInfo::parts(3, &[token as u8 >> 5 & 1, part]),
            0xc0 => TokenInfo::whole(3, RowSource::earlier(0, 16)),
            0xe0..0xe8 => TokenInfo::parts(3, &[1, 2, 3]),
            0xe8..0xf0 => TokenInfo::parts(3, &[0, 1, 2]),
            0xf0..0xf8 => TokenInfo::parts(3, &[0, 1, 3]),
            0xf8.. => TokenInfo::parts(3, &[0, 2, 3]),
            _ => TokenInfo::INVALID,
        };
        token += 1;
    }
    tokens
};

/// The tokens of cells of 8 x 8, by token.
pub static TOKENS_8: [TokenInfo<8>; 256] = {
    let mut tokens = [TokenInfo::INVALID; 256];
    let mut token = 0;
    while token < 256 {
        let row = token as u8 & 7;
        tokens[token] = match token {
            0x00 => TokenInfo::whole(65, RowSource::literal(1, 64)),
            0xc0 => TokenInfo::whole(3, RowSource::earlier(0, 64)),
            0x88..0x8f => TokenInfo::parts(0, &[row, row + 1]),
            0xa8..0xae => TokenInfo::parts(0, &[row, row + 1, row + 2]),
            _ => TokenInfo::INVALID,
        };
        token += 1;
    }
    tokens
};
