//! The decoder's table of tokens.

/// Where the decoder finds some rows of a cell in the stream.
#[derive(Clone, Copy)]
pub struct Source {
    /// All ones for rows of an earlier cell, and 0 for rows that follow the token, which have no distance.
    pub mask: u16,
    /// What is added to the distance.
    pub operands: u8,
    /// Where the distance counts back from, or where the rows begin: an offset from the token.
    pub base: u8,
    /// The size of the rows in bytes.
    pub len: u8,
}

impl Source {
    /// Rows of an earlier cell, at the token's distance before the token. `operands` is the size of the token and its distances for
    /// tokens where the reference's decoder counts from behind them (see `place_of` in the decoder), else 0.
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

/// What a token means: the cell's rows come from two sources.
#[derive(Clone, Copy)]
pub struct Kind<const SIDE: usize> {
    /// The size of the token and all that follows it. 0 if the token is invalid.
    pub size: u8,
    pub first: Source,
    pub second: Source,
    /// For each row of the cell, its number in the first source, or `SIDE` plus its number in the second.
    pub rows: [u8; SIDE],
}

impl<const SIDE: usize> Kind<SIDE> {
    /// All rows come from one source.
    const fn whole(size: u8, first: Source) -> Self {
        let mut rows = [0; SIDE];
        let mut row = 0;
        while row < SIDE {
            rows[row] = row as u8;
            row += 1;
        }
        Self {
            size,
            first,
            second: Source::literal(0, 0),
            rows,
        }
    }

    /// An invalid token.
    const INVALID: Self = Self::whole(0, Source::earlier(0, 0));

    /// The rows `known` are in an earlier cell, the others follow the token. If a row is listed twice, its second place counts.
    /// `operands` is as for [`Source::earlier`].
    const fn parts(operands: u8, known: &[u8]) -> Self {
        let mut kind = Self {
            size: 0,
            first: Source::earlier(operands, SIDE as u8 * known.len() as u8),
            second: Source::literal(3, 0),
            rows: [u8::MAX; SIDE],
        };
        let mut n = 0;
        while n < known.len() {
            kind.rows[known[n] as usize] = n as u8;
            n += 1;
        }
        let (mut row, mut others) = (0, 0);
        while row < SIDE {
            if kind.rows[row] == u8::MAX {
                kind.rows[row] = SIDE as u8 + others;
                others += 1;
            }
            row += 1;
        }
        kind.second.len = SIDE as u8 * others;
        kind.size = 3 + kind.second.len;
        kind
    }

    /// Like [`Kind::parts`], but the other rows are in another earlier cell.
    const fn two_parts(known: &[u8]) -> Self {
        let mut kind = Self::parts(5, known);
        kind.second = Source::earlier(5, kind.second.len);
        kind.size = 5;
        kind
    }
}

/// The kinds of cells of 4 x 4, by token.
pub static KINDS_4: [Kind<4>; 256] = {
    let mut kinds = [Kind::INVALID; 256];
    let mut token = 0;
    while token < 256 {
        // The lowest bits of most tokens have no meaning.
        let part = token as u8 >> 3 & 3;
        kinds[token] = match token {
            0x00 => Kind::whole(17, Source::literal(1, 16)),
            0x28..0x40 => Kind::two_parts(&[0, part]),
            0x80 => Kind::parts(3, &[2, 3]),
            0x81..0xc0 => Kind::parts(3, &[token as u8 >> 5 & 1, part]),
            0xc0 => Kind::whole(3, Source::earlier(0, 16)),
            0xe0..0xe8 => Kind::parts(3, &[1, 2, 3]),
            0xe8..0xf0 => Kind::parts(3, &[0, 1, 2]),
            0xf0..0xf8 => Kind::parts(3, &[0, 1, 3]),
            0xf8.. => Kind::parts(3, &[0, 2, 3]),
            _ => Kind::INVALID,
        };
        token += 1;
    }
    kinds
};

/// The kinds of cells of 8 x 8, by token.
pub static KINDS_8: [Kind<8>; 256] = {
    let mut kinds = [Kind::INVALID; 256];
    let mut token = 0;
    while token < 256 {
        let row = token as u8 & 7;
        kinds[token] = match token {
            0x00 => Kind::whole(65, Source::literal(1, 64)),
            0xc0 => Kind::whole(3, Source::earlier(0, 64)),
            0x88..0x8f => Kind::parts(0, &[row, row + 1]),
            0xa8..0xae => Kind::parts(0, &[row, row + 1, row + 2]),
            _ => Kind::INVALID,
        };
        token += 1;
    }
    kinds
};
