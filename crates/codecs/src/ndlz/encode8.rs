//! The encoder for cells of 8 x 8.

use super::encode::{CellEncoder, HashTable, WINDOW, insert, put};
use super::hash::{self, HashVector, LANES, Lanes};
use crate::hash_table::zeros;
use core::ops::ControlFlow::{self, Break, Continue};

const SIDE: usize = 8;
/// The number of parts of three adjacent rows in a cell.
const TRIPLES: usize = SIDE - 2;
/// The number of parts of two adjacent rows in a cell.
const PAIRS: usize = SIDE - 1;

/// The hash tables of the encoder, and the hashes of the current group of cells.
pub struct Encoder {
    slots: Slots,
    cells: Box<HashTable>,
    triples: Box<HashTable>,
    pairs: Box<HashTable>,
    /// For each part, the slot into which the next literal cell inserts it: the last one that was
    /// found empty for it, which may have been for an earlier cell (see [`insert`]).
    triple_slots: [u32; TRIPLES],
    pair_slots: [u32; PAIRS],
}

/// The slots (hashes) of a group of cells and their parts.
struct Slots {
    cells: Lanes,
    triples: [Lanes; TRIPLES],
    pairs: [Lanes; PAIRS],
}

/// Whether the stream has `rows` at `position`.
#[inline(always)]
fn are_at(rows: &[u64], written: &[u8], position: usize) -> bool {
    let part = written
        .get(position..)
        .and_then(|part| part.get(..SIDE * rows.len()));
    part.is_some_and(|part| {
        let part = part.as_chunks().0.iter();
        let xor = part
            .zip(rows)
            .fold(0, |xor, (part, row)| xor | u64::from_le_bytes(*part) ^ row);
        xor == 0
    })
}

/// Looks up the `N` parts of `ROWS` rows in a table. Writes the first that is found, with the other
/// rows as literals, and breaks with the number of bytes written. If none is found, returns which
/// parts have free slots, and stores those slots in `slots`.
#[inline(always)]
fn put_rows<const ROWS: usize, const N: usize>(
    token: u8,
    rows: &[u64; SIDE],
    (n, hashes): (usize, &[Lanes; N]),
    (table, slots): (&HashTable, &mut [u32; N]),
    written: &[u8],
    out: &mut [u8; 65],
) -> ControlFlow<usize, [bool; N]> {
    let anchor = written.len();
    let mut free = [false; N];
    for first in 0..N {
        let slot = hashes[first][n];
        let position = table[slot as usize] as usize;
        if position == 0 {
            (slots[first], free[first]) = (slot, true);
            continue;
        }
        let in_window = anchor + SIDE * first - position < WINDOW;
        if in_window && are_at(&rows[first..first + ROWS], written, position) {
            let [low, high] = ((anchor - position) as u16).to_le_bytes();
            put(out, [token | first as u8, low, high]);
            for (n, to) in out[3..].as_chunks_mut::<SIDE>().0[..SIDE - ROWS]
                .iter_mut()
                .enumerate()
            {
                let row = if n < first { n } else { n + ROWS };
                *to = rows[row].to_le_bytes();
            }
            return Break(3 + SIDE * (SIDE - ROWS));
        }
    }
    Continue(free)
}

impl Encoder {
    /// An encoder with empty tables. They are on the heap because they are too large for small
    /// stacks.
    ///
    /// # Errors
    /// [`Error::MEMORY_ALLOC`](oxiblosc_base::Error::MEMORY_ALLOC).
    pub fn new() -> oxiblosc_base::Result<Self> {
        Ok(Self {
            slots: Slots {
                cells: [0; LANES],
                triples: [[0; LANES]; TRIPLES],
                pairs: [[0; LANES]; PAIRS],
            },
            cells: zeros()?,
            triples: zeros()?,
            pairs: zeros()?,
            triple_slots: [0; TRIPLES],
            pair_slots: [0; PAIRS],
        })
    }

    /// Writes a cell as a match of some of its rows, and breaks with the number of bytes written.
    /// If there is no match, inserts the parts of the cell into the tables, as it will be literal.
    #[inline(always)]
    fn put_parts(
        &mut self,
        n: usize,
        rows: &[u64; SIDE],
        written: &[u8],
        out: &mut [u8; 65],
    ) -> ControlFlow<usize> {
        let table = (&*self.triples, &mut self.triple_slots);
        let hashes = (n, &self.slots.triples);
        let triples = put_rows::<3, TRIPLES>(0xa8, rows, hashes, table, written, out)?;
        let table = (&*self.pairs, &mut self.pair_slots);
        let hashes = (n, &self.slots.pairs);
        let pairs = put_rows::<2, PAIRS>(0x88, rows, hashes, table, written, out)?;
        let start = written.len() + 1;
        insert(&mut self.triples, &self.triple_slots, &triples, start, SIDE);
        insert(&mut self.pairs, &self.pair_slots, &pairs, start, SIDE);
        Continue(())
    }
}

impl CellEncoder<SIDE, 65> for Encoder {
    #[inline(always)]
    unsafe fn hash<V: HashVector>(&mut self, group: &[[[u8; SIDE]; LANES]; SIDE]) {
        // Two words per row.
        let mut words = [[0; LANES]; 2 * SIDE];
        for (to, from) in words.as_chunks_mut::<2>().0.iter_mut().zip(group) {
            for (i, from) in from.iter().enumerate() {
                let row = u64::from_le_bytes(*from);
                (to[0][i], to[1][i]) = (row as u32, (row >> 32) as u32);
            }
        }
        // SAFETY: the CPU has the features of `V` (# Safety), here and below.
        self.slots.cells =
            unsafe { hash::hash_rest(hash::hash_stripes::<V>(words.as_chunks().0), &[], 16) };
        for (row, slots) in self.slots.pairs.iter_mut().enumerate() {
            let (pair, rest) = words[2 * row..].split_first_chunk().expect("two rows");
            // SAFETY: as above.
            unsafe {
                // A triple begins with the pair of its first rows.
                let begin = hash::hash_stripes::<V>(&[*pair]);
                *slots = hash::hash_rest(begin, &[], 4);
                if let (Some(slots), [a, b, ..]) = (self.slots.triples.get_mut(row), rest) {
                    *slots = hash::hash_rest(begin, &[*a, *b], 6);
                }
            }
        }
    }

    #[inline(always)]
    fn put(
        &mut self,
        n: usize,
        group: &[[[u8; SIDE]; LANES]; SIDE],
        written: &[u8],
        out: &mut [u8; 65],
    ) -> usize {
        let mut rows = [0; SIDE];
        for (to, from) in rows.iter_mut().zip(group) {
            *to = u64::from_le_bytes(from[n]);
        }
        let turned = rows[0].rotate_left(8);
        if rows.iter().fold(0, |xor, row| xor | row ^ turned) == 0 {
            return put(out, [0x40, rows[0] as u8]);
        }
        let slot = self.slots.cells[n] as usize;
        let position = self.cells[slot] as usize;
        let anchor = written.len();
        if position != 0 && anchor - position < WINDOW && are_at(&rows, written, position) {
            let [low, high] = ((anchor - position) as u16).to_le_bytes();
            return put(out, [0xc0, low, high]);
        }
        if let Break(len) = self.put_parts(n, &rows, written, out) {
            return len;
        }
        self.cells[slot] = (anchor + 1) as u32;
        out[0] = 0;
        for (to, row) in out[1..].as_chunks_mut().0.iter_mut().zip(rows) {
            *to = row.to_le_bytes();
        }
        out.len()
    }
}
