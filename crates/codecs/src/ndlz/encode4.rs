//! The encoder for cells of 4 x 4.
//!
//! Most cells are found whole, so parts are only hashed when they are looked up, and the first that
//! is found ends the search. A branch that is mispredicted takes less time than looking up all ten.

use super::encode::{CellEncoder, HashTable, WINDOW, insert, part_at, put};
use super::hash::{self, HashVector, LANES, Lanes};
use crate::hash_table::zeros;
use core::ops::ControlFlow::{self, Break, Continue};

const SIDE: usize = 4;

/// The parts of two rows, in the order in which they are tried. Pair `i` and pair `5 - i` together
/// are the cell.
const PAIRS: [[usize; 2]; 6] = [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]];
/// The parts of three rows, in the order in which they are tried, with their tokens.
const TRIPLES: [([usize; 3], u8); 4] = [
    ([0, 1, 2], 0xe8),
    ([0, 1, 3], 0xf0),
    ([0, 2, 3], 0xf8),
    ([1, 2, 3], 0xe0),
];

/// The hash tables of the encoder.
pub struct Encoder {
    /// The slots (hashes) of the current group of cells.
    cell_slots: Lanes,
    cells: Box<HashTable>,
    triples: Box<HashTable>,
    pairs: Box<HashTable>,
    /// For each part of adjacent rows, by its first row, the slot into which the next literal cell
    /// inserts it: the last one that was found empty for it, which may have been for an earlier
    /// cell (see [`insert`]).
    triple_slots: [u32; 2],
    pair_slots: [u32; 3],
}

/// A part of a cell that was looked up.
#[derive(Clone, Copy)]
struct Part {
    slot: u32,
    /// What the slot has.
    position: u32,
    /// Whether the part is at the position, within the window.
    is_found: bool,
}

impl Part {
    /// A part whose first row is `row`, and whose slot has a position. `is_same` says whether the
    /// stream has the part there.
    ///
    /// Decoders add 3 to the distance of a part, in 16 bits. If that overflows, the cell is decoded
    /// wrongly. The reference takes such matches all the same; we do not. It can only happen for
    /// parts that begin with the first row.
    #[inline(always)]
    fn new(slot: u32, position: u32, is_same: bool, row: usize, cell: &Cell) -> Self {
        let limit = if row == 0 {
            u16::MAX as usize - 2
        } else {
            WINDOW
        };
        let is_found =
            position != 0 && is_same && cell.anchor() + SIDE * row - (position as usize) < limit;
        Self {
            slot,
            position,
            is_found,
        }
    }

    /// The distance of the part from where the cell is written.
    #[inline(always)]
    fn distance(&self, cell: &Cell) -> [u8; 2] {
        ((cell.anchor() - self.position as usize) as u16).to_le_bytes()
    }

    /// Writes the part, pair `I`, if it was found, and breaks with the number of bytes written.
    #[inline(always)]
    fn put_pair<const I: usize>(&self, cell: &Cell, out: &mut [u8; 17]) -> ControlFlow<usize> {
        if !self.is_found {
            return Continue(());
        }
        let [a, b] = PAIRS[I];
        let token = if a == 2 { 0 } else { a << 5 | b << 3 };
        let [low, high] = self.distance(cell);
        put(out, [0x80 | token as u8, low, high]);
        let [a, b] = cell.two_rows(PAIRS[5 - I]);
        out[3..11].copy_from_slice(&two(a, b).to_le_bytes());
        Break(11)
    }

    /// Notes that the slot of a part of adjacent rows is free, if it is.
    #[inline(always)]
    fn note_free(&self, kept: &mut u32, is_free: &mut bool) {
        if self.position == 0 {
            (*kept, *is_free) = (self.slot, true);
        }
    }
}

/// A cell that is encoded.
struct Cell<'a> {
    rows: [u32; SIDE],
    /// The stream so far.
    written: &'a [u8],
}

impl Cell<'_> {
    #[inline(always)]
    fn two_rows(&self, [a, b]: [usize; 2]) -> [u32; 2] {
        [self.rows[a], self.rows[b]]
    }

    /// The position in the stream at which the cell is written.
    #[inline(always)]
    fn anchor(&self) -> usize {
        self.written.len()
    }
}

/// Two rows as an integer, with the bytes in the order of a stream.
#[inline(always)]
fn two(first: u32, second: u32) -> u64 {
    u64::from(first) | u64::from(second) << 32
}

impl Encoder {
    /// An encoder with empty tables. They are on the heap because they are too large for small
    /// stacks.
    ///
    /// # Errors
    /// [`Error::MEMORY_ALLOC`](oxiblosc_base::Error::MEMORY_ALLOC).
    pub fn new() -> oxiblosc_base::Result<Self> {
        Ok(Self {
            cell_slots: [0; LANES],
            cells: zeros()?,
            triples: zeros()?,
            pairs: zeros()?,
            triple_slots: [0; 2],
            pair_slots: [0; 3],
        })
    }

    /// Looks up pair `I`.
    #[inline(always)]
    fn pair<const I: usize>(&self, cell: &Cell) -> Part {
        let (rows, [a, b]) = (PAIRS[I], cell.two_rows(PAIRS[I]));
        let slot = hash::hash_few([a, b]);
        let position = self.pairs[slot as usize];
        let same = part_at(cell.written, position as usize, u64::from_le_bytes) == Some(two(a, b));
        Part::new(slot, position, same, rows[0], cell)
    }

    /// Looks up pair `I`, and the pair of the other rows if it is found. If both are, writes them,
    /// and breaks with the number of bytes written.
    #[inline(always)]
    fn put_two<const I: usize>(&self, cell: &Cell, out: &mut [u8; 17]) -> ControlFlow<usize, Part> {
        let part = self.pair::<I>(cell);
        if part.is_found {
            let other = match I {
                0 => self.pair::<5>(cell),
                1 => self.pair::<4>(cell),
                _ => self.pair::<3>(cell),
            };
            // Decoders add 5 to the first distance in 16 bits, which must not overflow.
            if other.is_found && cell.anchor() + 5 - part.position as usize <= u16::MAX.into() {
                let [low, high] = part.distance(cell);
                let [other_low, other_high] = other.distance(cell);
                let token = 0x20 | (I as u8 + 1) << 3;
                return Break(put(out, [token, low, high, other_low, other_high]));
            }
        }
        Continue(part)
    }

    /// Looks up triple `I`. If it is found, writes it, and breaks with the number of bytes written.
    #[inline(always)]
    fn put_triple<const I: usize>(
        &self,
        cell: &Cell,
        out: &mut [u8; 17],
    ) -> ControlFlow<usize, Part> {
        let (rows, token) = TRIPLES[I];
        let ([a, b], c) = (cell.two_rows([rows[0], rows[1]]), cell.rows[rows[2]]);
        let slot = hash::hash_few([a, b, c]);
        let position = self.triples[slot as usize];
        let at = position as usize;
        let same = part_at(cell.written, at, u64::from_le_bytes) == Some(two(a, b))
            && part_at(cell.written, at + 2 * SIDE, u32::from_le_bytes) == Some(c);
        let part = Part::new(slot, position, same, rows[0], cell);
        if part.is_found {
            let [low, high] = part.distance(cell);
            // The row that is not in the triple. The indices of all four rows add up to 6.
            let [a, b, c, d] = cell.rows[6 - rows[0] - rows[1] - rows[2]].to_le_bytes();
            return Break(put(out, [token, low, high, a, b, c, d]));
        }
        Continue(part)
    }

    /// Writes a cell as a match of some of its rows, and breaks with the number of bytes written.
    /// If there is no match, inserts the parts of the cell into the tables, as it will be literal.
    #[inline(always)]
    fn put_parts(&mut self, cell: &Cell, out: &mut [u8; 17]) -> ControlFlow<usize> {
        let (mut free_triples, mut free_pairs) = ([false; 2], [false; 3]);
        let pairs = [
            self.put_two::<0>(cell, out)?,
            self.put_two::<1>(cell, out)?,
            self.put_two::<2>(cell, out)?,
        ];
        let part = self.put_triple::<0>(cell, out)?;
        part.note_free(&mut self.triple_slots[0], &mut free_triples[0]);
        self.put_triple::<1>(cell, out)?;
        self.put_triple::<2>(cell, out)?;
        let part = self.put_triple::<3>(cell, out)?;
        part.note_free(&mut self.triple_slots[1], &mut free_triples[1]);

        pairs[0].put_pair::<0>(cell, out)?;
        pairs[0].note_free(&mut self.pair_slots[0], &mut free_pairs[0]);
        pairs[1].put_pair::<1>(cell, out)?;
        pairs[2].put_pair::<2>(cell, out)?;
        let part = self.pair::<3>(cell);
        part.put_pair::<3>(cell, out)?;
        part.note_free(&mut self.pair_slots[1], &mut free_pairs[1]);
        self.pair::<4>(cell).put_pair::<4>(cell, out)?;
        let part = self.pair::<5>(cell);
        part.put_pair::<5>(cell, out)?;
        part.note_free(&mut self.pair_slots[2], &mut free_pairs[2]);

        let start = cell.anchor() + 1;
        insert(
            &mut self.triples,
            &self.triple_slots,
            &free_triples,
            start,
            SIDE,
        );
        insert(&mut self.pairs, &self.pair_slots, &free_pairs, start, SIDE);
        Continue(())
    }
}

impl CellEncoder<SIDE, 17> for Encoder {
    #[inline(always)]
    unsafe fn hash<V: HashVector>(&mut self, group: &[[[u8; SIDE]; LANES]; SIDE]) {
        let mut rows = [[0; LANES]; SIDE];
        for (to, from) in rows.as_flattened_mut().iter_mut().zip(group.as_flattened()) {
            *to = u32::from_le_bytes(*from);
        }
        // SAFETY: the CPU has the features of `V` (# Safety).
        self.cell_slots = unsafe { hash::hash_rest(hash::hash_stripes::<V>(&[rows]), &[], 4) };
    }

    #[inline(always)]
    fn put(
        &mut self,
        n: usize,
        group: &[[[u8; SIDE]; LANES]; SIDE],
        written: &[u8],
        out: &mut [u8; 17],
    ) -> usize {
        let mut rows = [0; SIDE];
        for (to, from) in rows.iter_mut().zip(group) {
            *to = u32::from_le_bytes(from[n]);
        }
        let turned = rows[0].rotate_left(8);
        if rows.iter().fold(0, |xor, row| xor | row ^ turned) == 0 {
            return put(out, [0x40, rows[0] as u8]);
        }
        let slot = self.cell_slots[n] as usize;
        let position = self.cells[slot] as usize;
        let anchor = written.len();
        let [a, b, c, d] = rows;
        let bytes = u128::from(two(a, b)) | u128::from(two(c, d)) << 64;
        let same = part_at(written, position, u128::from_le_bytes) == Some(bytes);
        if (position != 0) & (anchor - position < WINDOW) & same {
            let [low, high] = ((anchor - position) as u16).to_le_bytes();
            return put(out, [0xc0, low, high]);
        }
        if let Break(len) = self.put_parts(&Cell { rows, written }, out) {
            return len;
        }
        self.cells[slot] = (anchor + 1) as u32;
        out[0] = 0;
        out[1..].copy_from_slice(&bytes.to_le_bytes());
        out.len()
    }
}
