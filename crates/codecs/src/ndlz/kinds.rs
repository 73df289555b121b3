//! What the tokens of cells mean for who reads them.

/// Where some rows of a cell are in a stream.
#[derive(Clone, Copy)]
pub struct Source {
    /// Which bits of the distance count: all, or none where there is no distance.
    pub mask: u16,
    /// What is added to a distance.
    pub operands: u8,
    /// Where distances count from, in bytes from the token on.
    pub base: u8,
    /// Bytes of the rows.
    pub need: u8,
}

impl Source {
    /// Rows that are as far before the token as its distance says. `operands` is how many bytes the token and its distances
    /// take, if the format's readers count from behind them.
    const fn earlier(operands: u8, need: u8) -> Self {
        Self {
            mask: u16::MAX,
            operands,
            base: operands,
            need,
        }
    }

    /// Rows that follow, `base` bytes from the token on.
    const fn here(base: u8, need: u8) -> Self {
        Self {
            mask: 0,
            operands: 0,
            base,
            need,
        }
    }
}

/// A token: two sources, the rows of the first and then, from number `SIDE` on, of the second one, and which make the cell.
#[derive(Clone, Copy)]
pub struct Kind<const SIDE: usize> {
    /// Bytes of the token and all that follows it; of no token 0.
    pub size: u8,
    pub first: Source,
    pub second: Source,
    pub rows: [u8; SIDE],
}

impl<const SIDE: usize> Kind<SIDE> {
    /// All rows are in one place.
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
            second: Source::here(0, 0),
            rows,
        }
    }

    /// There is no such token.
    const NONE: Self = Self::whole(0, Source::earlier(0, 0));

    /// The rows `known` are in an earlier cell; of a row that is named twice the second counts. `operands` as for
    /// [`Source::earlier`]; the others follow.
    const fn parts(operands: u8, known: &[u8]) -> Self {
        let mut kind = Self {
            size: 0,
            first: Source::earlier(operands, SIDE as u8 * known.len() as u8),
            second: Source::here(3, 0),
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
        kind.second.need = SIDE as u8 * others;
        kind.size = 3 + kind.second.need;
        kind
    }

    /// As [`Kind::parts`], but the others are in an earlier cell as well.
    const fn two_parts(known: &[u8]) -> Self {
        let mut kind = Self::parts(5, known);
        kind.second = Source::earlier(5, kind.second.need);
        kind.size = 5;
        kind
    }
}

/// The kinds of cells of 4 x 4, by token.
pub static KINDS_4: [Kind<4>; 256] = {
    let mut kinds = [Kind::NONE; 256];
    let mut token = 0;
    while token < 256 {
        // The lowest bits of most tokens are of no meaning.
        let part = token as u8 >> 3 & 3;
        kinds[token] = match token {
            0x00 => Kind::whole(17, Source::here(1, 16)),
            0x28..0x40 => Kind::two_parts(&[0, part]),
            0x80 => Kind::parts(3, &[2, 3]),
            0x81..0xc0 => Kind::parts(3, &[token as u8 >> 5 & 1, part]),
            0xc0 => Kind::whole(3, Source::earlier(0, 16)),
            0xe0..0xe8 => Kind::parts(3, &[1, 2, 3]),
            0xe8..0xf0 => Kind::parts(3, &[0, 1, 2]),
            0xf0..0xf8 => Kind::parts(3, &[0, 1, 3]),
            0xf8.. => Kind::parts(3, &[0, 2, 3]),
            _ => Kind::NONE,
        };
        token += 1;
    }
    kinds
};

/// The kinds of cells of 8 x 8, by token.
pub static KINDS_8: [Kind<8>; 256] = {
    let mut kinds = [Kind::NONE; 256];
    let mut token = 0;
    while token < 256 {
        let row = token as u8 & 7;
        kinds[token] = match token {
            0x00 => Kind::whole(65, Source::here(1, 64)),
            0xc0 => Kind::whole(3, Source::earlier(0, 64)),
            0x88..0x8f => Kind::parts(0, &[row, row + 1]),
            0xa8..0xae => Kind::parts(0, &[row, row + 1, row + 2]),
            _ => Kind::NONE,
        };
        token += 1;
    }
    kinds
};
