//! Cells of 4 x 4.
//!
//! All parts of a cell are looked up before anything is decided by what was found: which of them that is, no processor
//! foresees.

use super::encode::{Encode, MAX_DISTANCE, Table, enter, part_at, put};
use super::hash::{self, LANES, Lane, Words};
use crate::table::zeros;

const SIDE: usize = 4;

/// Two rows each, the first three with row 0, in the order in which they are tried.
const PAIRS: [[usize; 2]; 6] = [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]];
/// Three rows each, in the order in which they are tried, with their tokens.
const TRIPLES: [([usize; 3], u8); 4] = [
    ([0, 1, 2], 0xe8),
    ([0, 1, 3], 0xf0),
    ([0, 2, 3], 0xf8),
    ([1, 2, 3], 0xe0),
];
/// Those that are contiguous.
const CONTIGUOUS_PAIRS: [usize; 3] = [0, 3, 5];
const CONTIGUOUS_TRIPLES: [usize; 2] = [0, 3];

/// Where parts of literal cells were written, by their hashes; 0 for nowhere.
pub struct Encoder {
    slots: Slots,
    cells: Box<Table>,
    triples: Box<Table>,
    pairs: Box<Table>,
    /// Slots that the next literal cell fills, for the parts that are contiguous: those of the last cells in which they
    /// were found empty. Where one is not found empty in that cell itself, what it held is forgotten.
    triple_slots: [u32; 2],
    pair_slots: [u32; 3],
}

/// What tables say of the `N` parts of a cell; bits stand for the parts, from the lowest on in their order.
struct Known<const N: usize> {
    slots: [u32; N],
    places: [u32; N],
    /// Parts that are where the table says, and not too far.
    found: u32,
    /// Parts whose slots are empty.
    empty: u32,
}

impl<const N: usize> Known<N> {
    const NOTHING: Self = Self {
        slots: [0; N],
        places: [0; N],
        found: 0,
        empty: 0,
    };

    /// Looks up part `i`, with `row` in front; `is_at` says whether it is what was written at a place.
    ///
    /// Readers add 3 to the distance of a part, in 16 bits. The reference takes parts for which that overflows, and such
    /// cells do not come back; they can only be ones with the first row.
    #[inline(always)]
    fn look_up(
        &mut self,
        table: &Table,
        (i, row): (usize, usize),
        slot: u32,
        anchor: usize,
        is_at: impl Fn(usize) -> bool,
    ) {
        let place = table[slot as usize];
        let limit = if row == 0 {
            u16::MAX as usize - 2
        } else {
            MAX_DISTANCE
        };
        let near = anchor + SIDE * row - (place as usize) < limit;
        // `&&` would be branches.
        let found = (place != 0) & near & is_at(place as usize);
        self.found |= u32::from(found) << i;
        self.empty |= u32::from(place == 0) << i;
        (self.slots[i], self.places[i]) = (slot, place);
    }

    /// The first part that was found, and of the ones before it those with empty slots.
    #[inline(always)]
    fn first(&self) -> (Option<usize>, u32) {
        let lowest = self.found & self.found.wrapping_neg();
        let first = (self.found != 0).then(|| self.found.trailing_zeros() as usize);
        (first, self.empty & lowest.wrapping_sub(1))
    }

    /// The distance to a part.
    #[inline(always)]
    fn distance(&self, i: usize, anchor: usize) -> [u8; 2] {
        ((anchor - self.places[i] as usize) as u16).to_le_bytes()
    }
}

/// Two rows as they lie in a stream.
#[inline(always)]
fn two(rows: [u32; SIDE], [a, b]: [usize; 2]) -> u64 {
    u64::from(rows[a]) | u64::from(rows[b]) << 32
}

/// The slots in the tables of some cells and their parts.
struct Slots {
    cells: Lane,
    pairs: [Lane; 6],
    triples: [Lane; 4],
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

    /// Writes a cell of which parts are known; of others it keeps in mind that they are to be literal.
    #[inline(always)]
    fn put_parts(
        &mut self,
        n: usize,
        rows: [u32; SIDE],
        written: &[u8],
        room: &mut [u8; 17],
    ) -> Option<usize> {
        let anchor = written.len();
        let mut pairs = Known::<6>::NOTHING;
        for (i, pair) in PAIRS.into_iter().enumerate() {
            pairs.look_up(
                &self.pairs,
                (i, pair[0]),
                self.slots.pairs[i][n],
                anchor,
                |place| part_at(written, place, u64::from_le_bytes) == Some(two(rows, pair)),
            );
        }
        // Row 0 with another one, and the two others: pairs that stand opposite each other in the list.
        let opposite = pairs.found & pairs.found.reverse_bits() >> 26 & 7;
        let i = opposite.trailing_zeros() as usize;
        // Readers add 5 here; see above.
        if opposite != 0 && anchor + 5 - pairs.places[i] as usize <= u16::MAX.into() {
            let [low, high] = pairs.distance(i, anchor);
            let [other_low, other_high] = pairs.distance(5 - i, anchor);
            let token = 0x20 | (i as u8 + 1) << 3;
            return Some(put(room, [token, low, high, other_low, other_high]));
        }

        let mut triples = Known::<4>::NOTHING;
        for (i, ([a, b, c], _)) in TRIPLES.into_iter().enumerate() {
            triples.look_up(
                &self.triples,
                (i, a),
                self.slots.triples[i][n],
                anchor,
                |place| {
                    let pair = part_at(written, place, u64::from_le_bytes);
                    let last = part_at(written, place + 2 * SIDE, u32::from_le_bytes);
                    (pair == Some(two(rows, [a, b]))) & (last == Some(rows[c]))
                },
            );
        }
        let (found, own_triples) = triples.first();
        for (row, i) in CONTIGUOUS_TRIPLES.into_iter().enumerate() {
            if own_triples >> i & 1 == 1 {
                self.triple_slots[row] = triples.slots[i];
            }
        }
        if let Some(i) = found {
            let (named, token) = TRIPLES[i];
            let [low, high] = triples.distance(i, anchor);
            let [a, b, c, d] = rows[6 - named.iter().sum::<usize>()].to_le_bytes();
            return Some(put(room, [token, low, high, a, b, c, d]));
        }

        let (found, own_pairs) = pairs.first();
        for (row, i) in CONTIGUOUS_PAIRS.into_iter().enumerate() {
            if own_pairs >> i & 1 == 1 {
                self.pair_slots[row] = pairs.slots[i];
            }
        }
        if let Some(i) = found {
            let [a, b] = PAIRS[i];
            let token = if a == 2 { 0 } else { a << 5 | b << 3 };
            let [low, high] = pairs.distance(i, anchor);
            put(room, [0x80 | token as u8, low, high]);
            room[3..11].copy_from_slice(&two(rows, PAIRS[5 - i]).to_le_bytes());
            return Some(11);
        }

        let own = |parts: u32, i: usize| parts >> i & 1 == 1;
        let triples = CONTIGUOUS_TRIPLES.map(|i| own(own_triples, i));
        let pairs = CONTIGUOUS_PAIRS.map(|i| own(own_pairs, i));
        let start = anchor + 1;
        enter(&mut self.triples, &self.triple_slots, &triples, start, SIDE);
        enter(&mut self.pairs, &self.pair_slots, &pairs, start, SIDE);
        None
    }
}

impl Encode<SIDE, 17> for Encoder {
    #[inline(always)]
    fn hash<V: Words>(&mut self, group: &[[[u8; SIDE]; LANES]; SIDE]) {
        let mut rows = [[0; LANES]; SIDE];
        for (to, from) in rows.as_flattened_mut().iter_mut().zip(group.as_flattened()) {
            *to = u32::from_le_bytes(*from);
        }
        let [a, b, c, d] = &rows;
        self.slots.cells = hash::of::<V, _>([a, b, c, d]);
        for (slots, [a, b]) in self.slots.pairs.iter_mut().zip(PAIRS) {
            *slots = hash::of::<V, _>([&rows[a], &rows[b]]);
        }
        for (slots, ([a, b, c], _)) in self.slots.triples.iter_mut().zip(TRIPLES) {
            *slots = hash::of::<V, _>([&rows[a], &rows[b], &rows[c]]);
        }
    }

    #[inline(always)]
    fn put(
        &mut self,
        n: usize,
        cell: [[u8; SIDE]; SIDE],
        written: &[u8],
        room: &mut [u8; 17],
    ) -> usize {
        let rows = cell.map(u32::from_le_bytes);
        if rows == [rows[0].rotate_left(8); SIDE] {
            return put(room, [0x40, rows[0] as u8]);
        }
        let slot = self.slots.cells[n] as usize;
        let place = self.cells[slot] as usize;
        let anchor = written.len();
        let bytes = u128::from(two(rows, [0, 1])) | u128::from(two(rows, [2, 3])) << 64;
        let same = part_at(written, place, u128::from_le_bytes) == Some(bytes);
        if (place != 0) & (anchor - place < MAX_DISTANCE) & same {
            let [low, high] = ((anchor - place) as u16).to_le_bytes();
            return put(room, [0xc0, low, high]);
        }
        if let Some(len) = self.put_parts(n, rows, written, room) {
            return len;
        }
        self.cells[slot] = (anchor + 1) as u32;
        room[0] = 0;
        room[1..].copy_from_slice(&bytes.to_le_bytes());
        room.len()
    }
}
