//! Cells of 8 x 8.

use super::encode::{Encode, MAX_DISTANCE, Table, enter, put};
use super::hash::{self, LANES, Lane, Words};
use crate::table::zeros;

const SIDE: usize = 8;
/// Places in a cell where three, and two, rows can begin.
const TRIPLES: usize = SIDE - 2;
const PAIRS: usize = SIDE - 1;

/// Where parts of literal cells were written, by their hashes; 0 for nowhere.
pub struct Encoder {
    slots: Slots,
    cells: Box<Table>,
    triples: Box<Table>,
    pairs: Box<Table>,
    /// Slots that the next literal cell fills: those of the last cells in which they were found empty. Where one is not
    /// found empty in that cell itself, what it held is forgotten.
    triple_slots: [u32; TRIPLES],
    pair_slots: [u32; PAIRS],
}

/// The slots in the tables of some cells and their parts.
struct Slots {
    cells: Lane,
    triples: [Lane; TRIPLES],
    pairs: [Lane; PAIRS],
}

/// Whether `rows` are what was written at a place.
#[inline(always)]
fn are_at(rows: &[u64], written: &[u8], place: usize) -> bool {
    let part = written
        .get(place..)
        .and_then(|part| part.get(..SIDE * rows.len()));
    part.is_some_and(|part| {
        let part = part.as_chunks().0.iter();
        let other = part.zip(rows).fold(0, |other, (part, row)| {
            other | u64::from_le_bytes(*part) ^ row
        });
        other == 0
    })
}

/// Looks for `ROWS` rows, at each of `N` places, among those that `table` knows of. Writes the first found with what is
/// left of the cell, and gives the bytes written; or enters into `slots` which slots are free, and says of which of these
/// places.
#[inline(always)]
fn put_rows<const ROWS: usize, const N: usize>(
    token: u8,
    rows: &[u64; SIDE],
    (n, hashes): (usize, &[Lane; N]),
    (table, slots): (&Table, &mut [u32; N]),
    written: &[u8],
    room: &mut [u8; 65],
) -> Result<[bool; N], usize> {
    let anchor = written.len();
    let mut free = [false; N];
    for first in 0..N {
        let slot = hashes[first][n];
        let place = table[slot as usize] as usize;
        if place == 0 {
            (slots[first], free[first]) = (slot, true);
            continue;
        }
        let near = anchor + SIDE * first - place < MAX_DISTANCE;
        if near && are_at(&rows[first..first + ROWS], written, place) {
            let [low, high] = ((anchor - place) as u16).to_le_bytes();
            put(room, [token | first as u8, low, high]);
            for (n, to) in room[3..].as_chunks_mut::<SIDE>().0[..SIDE - ROWS]
                .iter_mut()
                .enumerate()
            {
                let row = if n < first { n } else { n + ROWS };
                *to = rows[row].to_le_bytes();
            }
            return Err(3 + SIDE * (SIDE - ROWS));
        }
    }
    Ok(free)
}

impl Encoder {
    /// Nothing is known yet. The tables are on the heap: small stacks have no room for them.
    ///
    /// # Errors
    /// [`Error::MemoryAlloc`](oxiblosc_error::Error::MemoryAlloc).
    pub fn new() -> oxiblosc_error::Result<Self> {
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

    /// Writes a cell of which parts are known, and gives its bytes as an error; of others it keeps in mind that they are to
    /// be literal.
    #[inline(always)]
    fn put_parts(
        &mut self,
        n: usize,
        rows: &[u64; SIDE],
        written: &[u8],
        room: &mut [u8; 65],
    ) -> Result<(), usize> {
        let known = (&*self.triples, &mut self.triple_slots);
        let hashes = (n, &self.slots.triples);
        let triples = put_rows::<3, TRIPLES>(0xa8, rows, hashes, known, written, room)?;
        let known = (&*self.pairs, &mut self.pair_slots);
        let hashes = (n, &self.slots.pairs);
        let pairs = put_rows::<2, PAIRS>(0x88, rows, hashes, known, written, room)?;
        let start = written.len() + 1;
        enter(&mut self.triples, &self.triple_slots, &triples, start, SIDE);
        enter(&mut self.pairs, &self.pair_slots, &pairs, start, SIDE);
        Ok(())
    }
}

impl Encode<SIDE, 65> for Encoder {
    #[inline(always)]
    fn hash<V: Words>(&mut self, group: &[[[u8; SIDE]; LANES]; SIDE]) {
        // Two words of each row.
        let mut words = [[0; LANES]; 2 * SIDE];
        for (to, from) in words.as_chunks_mut::<2>().0.iter_mut().zip(group) {
            for (i, from) in from.iter().enumerate() {
                let row = u64::from_le_bytes(*from);
                (to[0][i], to[1][i]) = (row as u32, (row >> 32) as u32);
            }
        }
        self.slots.cells = hash::of::<V, _>(words.each_ref());
        for (row, slots) in self.slots.triples.iter_mut().enumerate() {
            let part: &[Lane; 6] = words[2 * row..].first_chunk().expect("six");
            *slots = hash::of::<V, _>(part.each_ref());
        }
        for (row, slots) in self.slots.pairs.iter_mut().enumerate() {
            let part: &[Lane; 4] = words[2 * row..].first_chunk().expect("four");
            *slots = hash::of::<V, _>(part.each_ref());
        }
    }

    #[inline(always)]
    fn put(
        &mut self,
        n: usize,
        cell: [[u8; SIDE]; SIDE],
        written: &[u8],
        room: &mut [u8; 65],
    ) -> usize {
        let rows = cell.map(u64::from_le_bytes);
        if rows == [rows[0].rotate_left(8); SIDE] {
            return put(room, [0x40, rows[0] as u8]);
        }
        let slot = self.slots.cells[n] as usize;
        let place = self.cells[slot] as usize;
        let anchor = written.len();
        if place != 0 && anchor - place < MAX_DISTANCE && are_at(&rows, written, place) {
            let [low, high] = ((anchor - place) as u16).to_le_bytes();
            return put(room, [0xc0, low, high]);
        }
        if let Err(len) = self.put_parts(n, &rows, written, room) {
            return len;
        }
        self.cells[slot] = (anchor + 1) as u32;
        room[0] = 0;
        for (to, row) in room[1..].as_chunks_mut().0.iter_mut().zip(rows) {
            *to = row.to_le_bytes();
        }
        room.len()
    }
}
