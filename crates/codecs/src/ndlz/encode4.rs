//! The encoder for cells of 4 x 4.
//!
//! It is unpredictable which part of a cell is found, so all parts are looked up before there is a branch on the results.

use super::encode::{CellEncoder, HashTable, WINDOW, insert, part_at, put};
use super::hash::{self, HashVector, LANES, Lanes};
use crate::table::zeros;

const SIDE: usize = 4;

/// The parts of two rows, in the order in which they are tried. Pair `i` and pair `5 - i` together are the cell.
const PAIRS: [[usize; 2]; 6] = [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]];
/// The parts of three rows, in the order in which they are tried, with their tokens.
const TRIPLES: [([usize; 3], u8); 4] = [
    ([0, 1, 2], 0xe8),
    ([0, 1, 3], 0xf0),
    ([0, 2, 3], 0xf8),
    ([1, 2, 3], 0xe0),
];
/// The pairs whose rows are adjacent. Only these are inserted into the tables.
const CONTIGUOUS_PAIRS: [usize; 3] = [0, 3, 5];
/// The triples whose rows are adjacent. Only these are inserted into the tables.
const CONTIGUOUS_TRIPLES: [usize; 2] = [0, 3];

/// The hash tables of the encoder, and the hashes of the current group of cells.
pub struct Encoder {
    slots: Slots,
    cells: Box<HashTable>,
    triples: Box<HashTable>,
    pairs: Box<HashTable>,
    /// For each contiguous part, the slot into which the next literal cell inserts it: the last one that was found empty for it, which may
    /// have been for an earlier cell (see [`insert`]).
    triple_slots: [u32; 2],
    pair_slots: [u32; 3],
}

/// The results of looking up the `N` parts of a cell. Bit `i` of a mask stands for part `i`.
struct PartLookup<const N: usize> {
    slots: [u32; N],
    positions: [u32; N],
    /// The parts that were found within the window.
    found: u32,
    /// The parts whose slots are empty.
    empty: u32,
}

impl<const N: usize> PartLookup<N> {
    const NONE: Self = Self {
        slots: [0; N],
        positions: [0; N],
        found: 0,
        empty: 0,
    };

    /// Looks up part `i`, whose first row is `row`. `is_at` tells whether the part is at a position in the stream.
    ///
    /// Decoders add 3 to the distance of a part, in 16 bits. If that overflows, the cell is decoded wrongly. The reference takes such matches
    /// all the same; we do not. It can only happen for parts that begin with the first row.
    #[inline(always)]
    fn look_up(
        &mut self,
        table: &HashTable,
        (i, row): (usize, usize),
        slot: u32,
        anchor: usize,
        is_at: impl Fn(usize) -> bool,
    ) {
        let position = table[slot as usize];
        let limit = if row == 0 {
            u16::MAX as usize - 2
        } else {
            WINDOW
        };
        let in_window = anchor + SIDE * row - (position as usize) < limit;
        // `&` has no branch, unlike `&&`.
        let found = (position != 0) & in_window & is_at(position as usize);
        self.found |= u32::from(found) << i;
        self.empty |= u32::from(position == 0) << i;
        (self.slots[i], self.positions[i]) = (slot, position);
    }

    /// The first part that was found, and a mask of those parts before it that have empty slots.
    #[inline(always)]
    fn first(&self) -> (Option<usize>, u32) {
        let lowest = self.found & self.found.wrapping_neg();
        let first = (self.found != 0).then(|| self.found.trailing_zeros() as usize);
        (first, self.empty & lowest.wrapping_sub(1))
    }

    /// Stores the slots of those of `parts` that are in the mask `free` in `kept`.
    #[inline(always)]
    fn keep_slots<const M: usize>(&self, free: u32, parts: [usize; M], kept: &mut [u32; M]) {
        for (kept, i) in kept.iter_mut().zip(parts) {
            if free >> i & 1 == 1 {
                *kept = self.slots[i];
            }
        }
    }

    /// The distance of part `i`.
    #[inline(always)]
    fn distance(&self, i: usize, anchor: usize) -> [u8; 2] {
        ((anchor - self.positions[i] as usize) as u16).to_le_bytes()
    }
}

impl PartLookup<6> {
    /// If two pairs of rows were found that together are the cell, writes it as their match, and returns the number of bytes written.
    #[inline(always)]
    fn put_two(&self, anchor: usize, out: &mut [u8; 17]) -> Option<usize> {
        // Pairs `i` and `5 - i` are complementary. `i` is the one that has row 0.
        let complementary = self.found & self.found.reverse_bits() >> 26 & 7;
        let i = complementary.trailing_zeros() as usize;
        // Decoders add 5 to this distance in 16 bits, which must not overflow.
        if complementary == 0 || anchor + 5 - self.positions[i] as usize > u16::MAX.into() {
            return None;
        }
        let [low, high] = self.distance(i, anchor);
        let [other_low, other_high] = self.distance(5 - i, anchor);
        let token = 0x20 | (i as u8 + 1) << 3;
        Some(put(out, [token, low, high, other_low, other_high]))
    }
}

/// Two rows as an integer, with the bytes in the order of a stream.
#[inline(always)]
fn two(rows: [u32; SIDE], [a, b]: [usize; 2]) -> u64 {
    u64::from(rows[a]) | u64::from(rows[b]) << 32
}

/// The slots (hashes) of a group of cells and their parts.
struct Slots {
    cells: Lanes,
    pairs: [Lanes; 6],
    triples: [Lanes; 4],
}

impl Encoder {
    /// An encoder with empty tables. They are on the heap because they are too large for small stacks.
    ///
    /// # Errors
    /// [`Error::MemoryAlloc`](oxiblosc_error::Error::MemoryAlloc).
    pub fn new() -> oxiblosc_error::Result<Self> {
        Ok(Self {
            slots: Slots {
                cells: [0; LANES],
                pairs: [[0; LANES]; 6],
                triples: [[0; LANES]; 4],
            },
            cells: zeros()?,
            triples: zeros()?,
            pairs: zeros()?,
            triple_slots: [0; 2],
            pair_slots: [0; 3],
        })
    }

    /// Inserts the parts of a literal cell that is written at `start`: those whose slots are free, by their bits.
    #[inline(always)]
    fn insert_parts(&mut self, free_pairs: u32, free_triples: u32, start: usize) {
        let is_free = |mask: u32, i: usize| mask >> i & 1 == 1;
        let triples = CONTIGUOUS_TRIPLES.map(|i| is_free(free_triples, i));
        let pairs = CONTIGUOUS_PAIRS.map(|i| is_free(free_pairs, i));
        insert(&mut self.triples, &self.triple_slots, &triples, start, SIDE);
        insert(&mut self.pairs, &self.pair_slots, &pairs, start, SIDE);
    }

    /// Writes a cell as a match of some of its rows, and returns the number of bytes written. If there is no match, returns `None`, and inserts
    /// the parts of the cell into the tables, as it will be literal.
    #[inline(always)]
    fn put_parts(
        &mut self,
        n: usize,
        rows: [u32; SIDE],
        written: &[u8],
        out: &mut [u8; 17],
    ) -> Option<usize> {
        let anchor = written.len();
        let mut pairs = PartLookup::<6>::NONE;
        for (i, pair) in PAIRS.into_iter().enumerate() {
            pairs.look_up(
                &self.pairs,
                (i, pair[0]),
                self.slots.pairs[i][n],
                anchor,
                |position| part_at(written, position, u64::from_le_bytes) == Some(two(rows, pair)),
            );
        }
        if let Some(len) = pairs.put_two(anchor, out) {
            return Some(len);
        }

        let mut triples = PartLookup::<4>::NONE;
        for (i, ([a, b, c], _)) in TRIPLES.into_iter().enumerate() {
            triples.look_up(
                &self.triples,
                (i, a),
                self.slots.triples[i][n],
                anchor,
                |position| {
                    let pair = part_at(written, position, u64::from_le_bytes);
                    let last = part_at(written, position + 2 * SIDE, u32::from_le_bytes);
                    (pair == Some(two(rows, [a, b]))) & (last == Some(rows[c]))
                },
            );
        }
        let (found, free_triples) = triples.first();
        triples.keep_slots(free_triples, CONTIGUOUS_TRIPLES, &mut self.triple_slots);
        if let Some(i) = found {
            let (triple, token) = TRIPLES[i];
            let [low, high] = triples.distance(i, anchor);
            // The row that is not in the triple. The indices of all four rows add up to 6.
            let [a, b, c, d] = rows[6 - triple.iter().sum::<usize>()].to_le_bytes();
            return Some(put(out, [token, low, high, a, b, c, d]));
        }

        let (found, free_pairs) = pairs.first();
        pairs.keep_slots(free_pairs, CONTIGUOUS_PAIRS, &mut self.pair_slots);
        if let Some(i) = found {
            let [a, b] = PAIRS[i];
            let token = if a == 2 { 0 } else { a << 5 | b << 3 };
            let [low, high] = pairs.distance(i, anchor);
            put(out, [0x80 | token as u8, low, high]);
            out[3..11].copy_from_slice(&two(rows, PAIRS[5 - i]).to_le_bytes());
            return Some(11);
        }

        self.insert_parts(free_pairs, free_triples, anchor + 1);
        None
    }
}

impl CellEncoder<SIDE, 17> for Encoder {
    #[inline(always)]
    unsafe fn hash<V: HashVector>(&mut self, group: &[[[u8; SIDE]; LANES]; SIDE]) {
        let mut rows = [[0; LANES]; SIDE];
        for (to, from) in rows.as_flattened_mut().iter_mut().zip(group.as_flattened()) {
            *to = u32::from_le_bytes(*from);
        }
        let [a, b, c, d] = &rows;
        // SAFETY: the CPU has the features of `V` (# Safety), here and below.
        self.slots.cells = unsafe { hash::hash_words::<V, _>([a, b, c, d]) };
        for (slots, [a, b]) in self.slots.pairs.iter_mut().zip(PAIRS) {
            // SAFETY: as above.
            *slots = unsafe { hash::hash_words::<V, _>([&rows[a], &rows[b]]) };
        }
        for (slots, ([a, b, c], _)) in self.slots.triples.iter_mut().zip(TRIPLES) {
            // SAFETY: as above.
            *slots = unsafe { hash::hash_words::<V, _>([&rows[a], &rows[b], &rows[c]]) };
        }
    }

    #[inline(always)]
    fn put(
        &mut self,
        n: usize,
        cell: [[u8; SIDE]; SIDE],
        written: &[u8],
        out: &mut [u8; 17],
    ) -> usize {
        let rows = cell.map(u32::from_le_bytes);
        if rows == [rows[0].rotate_left(8); SIDE] {
            return put(out, [0x40, rows[0] as u8]);
        }
        let slot = self.slots.cells[n] as usize;
        let position = self.cells[slot] as usize;
        let anchor = written.len();
        let bytes = u128::from(two(rows, [0, 1])) | u128::from(two(rows, [2, 3])) << 64;
        let same = part_at(written, position, u128::from_le_bytes) == Some(bytes);
        if (position != 0) & (anchor - position < WINDOW) & same {
            let [low, high] = ((anchor - position) as u16).to_le_bytes();
            return put(out, [0xc0, low, high]);
        }
        if let Some(len) = self.put_parts(n, rows, written, out) {
            return len;
        }
        self.cells[slot] = (anchor + 1) as u32;
        out[0] = 0;
        out[1..].copy_from_slice(&bytes.to_le_bytes());
        out.len()
    }
}
