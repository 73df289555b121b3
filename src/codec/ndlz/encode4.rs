//! Cells of 4 x 4.

use super::hash::{self, Partial};
use super::{Grid, MAX_DISTANCE, Output, SLOTS};

const SIDE: usize = 4;
const CELL: usize = SIDE * SIDE;

/// Two rows each, the first three with row 0, in the order in which they are tried.
const PAIRS: [[usize; 2]; 6] = [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]];
/// Three rows each, in the order in which they are tried, with their tokens.
const TRIPLES: [([usize; 3], u8); 4] = [
    ([0, 1, 2], 0xe8),
    ([0, 1, 3], 0xf0),
    ([0, 2, 3], 0xf8),
    ([1, 2, 3], 0xe0),
];

/// The hashes of two and of three rows before the first of them.
const PAIR: Partial = Partial::new(2);
const TRIPLE: Partial = Partial::new(3);

/// Where parts of literal cells were written, by their hashes; 0 for nowhere.
struct Tables {
    cells: [u32; SLOTS],
    triples: [u32; SLOTS],
    pairs: [u32; SLOTS],
    /// Slots that the next literal cell fills, for the parts that are contiguous: those of the last cells in which they
    /// were found empty. Where one is not found empty in that cell itself, what it held is forgotten.
    triple_slots: [u32; 2],
    pair_slots: [u32; 3],
}

type Row = [u8; SIDE];

fn words_of(rows: &[Row; SIDE]) -> [u32; SIDE] {
    rows.map(u32::from_le_bytes)
}

/// A cell that is none of the simple ones; what of it is found, and where, goes to `out`. Gives whether anything was.
#[inline(always)]
fn put_match(rows: &[Row; SIDE], tables: &mut Tables, out: &mut Output) -> Option<Found> {
    let words = words_of(rows);
    let weighed = words.map(Partial::weigh);
    let begun: [Partial; 3] = std::array::from_fn(|row| PAIR.with(weighed[row]));
    let pair_hashes = PAIRS.map(|[a, b]| begun[a].with(weighed[b]).slot());
    let pairs: [u64; 6] = PAIRS.map(|[a, b]| u64::from(words[a]) | u64::from(words[b]) << 32);
    // Where each pair was written before, if it was.
    let mut pair_places = [0; 6];
    for i in 0..6 {
        let place = tables.pairs[pair_hashes[i] as usize];
        if out.holds(place, &pairs[i].to_le_bytes()) {
            pair_places[i] = place as usize;
        }
    }
    let anchor = out.at;
    let near = |place: usize, row: usize| place != 0 && anchor + SIDE * row - place < MAX_DISTANCE;

    // Row 0 with another one, and the two others: pairs that stand opposite each other in the list.
    for i in 0..3 {
        let (place, other) = (pair_places[i], pair_places[5 - i]);
        if near(place, 0) && near(other, PAIRS[5 - i][0]) {
            out.put(&[0x20 | (PAIRS[i][1] as u8) << 3]);
            out.put_distance(anchor - place);
            out.put_distance(anchor - other);
            return None;
        }
    }

    let triple_hashes = TRIPLES.map(|([a, b, c], _)| {
        let begun = TRIPLE.with(weighed[a]).with(weighed[b]);
        begun.with(weighed[c]).slot()
    });
    let mut found = Found::default();
    for (i, (triple, token)) in TRIPLES.iter().enumerate() {
        let slot = triple_hashes[i];
        let place = tables.triples[slot as usize];
        if place == 0 {
            // Contiguous are the first and the last one.
            if i == 0 || i == 3 {
                tables.triple_slots[i / 3] = slot;
                found.triples[i / 3] = true;
            }
            continue;
        }
        let mut part = [0; 3 * SIDE];
        for (to, row) in part.as_chunks_mut::<SIDE>().0.iter_mut().zip(triple) {
            *to = rows[*row];
        }
        if out.holds(place, &part) && near(place as usize, triple[0]) {
            out.put(&[*token]);
            out.put_distance(anchor - place as usize);
            out.put(&rows[6 - triple.iter().sum::<usize>()]);
            return None;
        }
    }

    for (i, [a, b]) in PAIRS.iter().enumerate() {
        let slot = pair_hashes[i];
        if tables.pairs[slot as usize] == 0 {
            if b - a == 1 {
                tables.pair_slots[*a] = slot;
                found.pairs[*a] = true;
            }
        } else if near(pair_places[i], *a) {
            let token = if *a == 2 { 0 } else { a << 5 | b << 3 };
            out.put(&[0x80 | token as u8]);
            out.put_distance(anchor - pair_places[i]);
            for row in (0..SIDE).filter(|row| row != a && row != b) {
                out.put(&rows[row]);
            }
            return None;
        }
    }
    Some(found)
}

/// Which contiguous parts of a cell have slots of their own, if it becomes a literal one.
#[derive(Default)]
struct Found {
    triples: [bool; 2],
    pairs: [bool; 3],
}

/// Enters the parts of a literal cell that begins at `start`.
fn remember(tables: &mut Tables, found: &Found, start: usize) {
    let place = |own: bool, row: usize| {
        if own { (start + SIDE * row) as u32 } else { 0 }
    };
    if found.triples[0] {
        for row in 0..2 {
            let slot = tables.triple_slots[row] as usize;
            tables.triples[slot] = place(found.triples[row], row);
        }
    }
    if found.pairs[0] {
        for row in 0..3 {
            let slot = tables.pair_slots[row] as usize;
            tables.pairs[slot] = place(found.pairs[row], row);
        }
    }
}

#[inline(always)]
fn compress_with(grid: Grid, src: &[u8], dst: &mut [u8]) -> usize {
    let Some(mut out) = Output::begin(dst, grid, CELL) else {
        return 0;
    };
    let mut tables = Tables {
        cells: [0; SLOTS],
        triples: [0; SLOTS],
        pairs: [0; SLOTS],
        triple_slots: [0; 2],
        pair_slots: [0; 3],
    };
    let Grid { rows, columns } = grid;
    for top in (0..rows).step_by(SIDE) {
        let height = SIDE.min(rows - top);
        for left in (0..columns).step_by(SIDE) {
            if !out.has_room(CELL) {
                return 0;
            }
            let width = SIDE.min(columns - left);
            let origin = top * columns + left;
            if height < SIDE || width < SIDE {
                out.put(&[0]);
                for row in 0..height {
                    out.put(&src[origin + row * columns..][..width]);
                }
            } else {
                let mut cell = [[0; SIDE]; SIDE];
                for (n, row) in cell.iter_mut().enumerate() {
                    row.copy_from_slice(&src[origin + n * columns..][..SIDE]);
                }
                put_cell(&cell, &mut tables, &mut out);
            }
            if out.at > src.len() {
                return 0;
            }
        }
    }
    out.at
}

#[inline(always)]
fn put_cell(cell: &[Row; SIDE], tables: &mut Tables, out: &mut Output) {
    let bytes = cell.as_flattened();
    let words = words_of(cell);
    if words == [words[0].rotate_left(8); SIDE] {
        return out.put(&[0x40, bytes[0]]);
    }
    let slot = hash::of_cell(&words);
    let place = tables.cells[slot];
    let distance = out.at - place as usize;
    if out.holds(place, bytes) && distance < MAX_DISTANCE {
        out.put(&[0xc0]);
        return out.put_distance(distance);
    }
    if let Some(found) = put_match(cell, tables, out) {
        let start = out.at + 1;
        tables.cells[slot] = start as u32;
        remember(tables, &found, start);
        out.put(&[0]);
        out.put(bytes);
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn compress_avx2(grid: Grid, src: &[u8], dst: &mut [u8]) -> usize {
    compress_with(grid, src, dst)
}

/// Compresses a block; 0 where that does not pay.
pub fn compress(grid: Grid, src: &[u8], dst: &mut [u8]) -> usize {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the feature was just detected.
        return unsafe { compress_avx2(grid, src, dst) };
    }
    compress_with(grid, src, dst)
}
