//! Cells of 8 x 8.

use super::{Grid, MAX_DISTANCE, Output, SLOTS, hash};

const SIDE: usize = 8;
const CELL: usize = SIDE * SIDE;
/// Places in a cell where three, and two, rows can begin.
const TRIPLES: usize = SIDE - 2;
const PAIRS: usize = SIDE - 1;

/// Where parts of literal cells were written, by their hashes; 0 for nowhere.
struct Tables {
    cells: [u32; SLOTS],
    triples: [u32; SLOTS],
    pairs: [u32; SLOTS],
    /// Slots that the next literal cell fills: those of the last cells in which they were found empty. Where one is not
    /// found empty in that cell itself, what it held is forgotten.
    triple_slots: [u32; TRIPLES],
    pair_slots: [u32; PAIRS],
}

/// Words `from`, `from` + 2, ... of a cell: one for each row, 0 beyond the last.
#[inline(always)]
fn lane(words: &[u32; CELL / 4], from: usize) -> [u32; hash::LANES] {
    std::array::from_fn(|row| words.get(from + 2 * row).copied().unwrap_or(0))
}

/// Looks for `ROWS` rows, at each of `N` places, among those that `table` knows of. Writes the first found with what is
/// left of the cell, or enters into `slots` which slots are free, and says of which of these places.
#[inline(always)]
fn put_rows<const ROWS: usize, const N: usize>(
    token: u8,
    bytes: &[u8; CELL],
    hashes: &[u32; hash::LANES],
    (table, slots): (&[u32; SLOTS], &mut [u32; N]),
    out: &mut Output,
) -> Option<[bool; N]> {
    let anchor = out.at;
    let mut free = [false; N];
    for first in 0..N {
        let slot = hashes[first];
        let place = table[slot as usize];
        if place == 0 {
            (slots[first], free[first]) = (slot, true);
            continue;
        }
        let (start, end) = (SIDE * first, SIDE * (first + ROWS));
        let near = anchor + start - (place as usize) < MAX_DISTANCE;
        if near && out.holds(place, &bytes[start..end]) {
            out.put(&[token | first as u8]);
            out.put_distance(anchor - place as usize);
            out.put(&bytes[..start]);
            out.put(&bytes[end..]);
            return None;
        }
    }
    Some(free)
}

/// Enters the parts of a literal cell that begins at `start`.
fn remember<const N: usize>(
    table: &mut [u32; SLOTS],
    slots: &[u32; N],
    free: &[bool; N],
    start: usize,
) {
    if !free[0] {
        return;
    }
    for (row, (slot, free)) in slots.iter().zip(free).enumerate() {
        table[*slot as usize] = if *free {
            (start + SIDE * row) as u32
        } else {
            0
        };
    }
}

#[inline(always)]
fn put_cell(bytes: &[u8; CELL], tables: &mut Tables, out: &mut Output) {
    if bytes[1..] == bytes[..CELL - 1] {
        return out.put(&[0x40, bytes[0]]);
    }
    let mut words = [0; CELL / 4];
    for (word, bytes) in words.iter_mut().zip(bytes.as_chunks::<4>().0) {
        *word = u32::from_le_bytes(*bytes);
    }
    let slot = hash::of_cell(&words);
    let place = tables.cells[slot];
    let distance = out.at - place as usize;
    if distance < MAX_DISTANCE && out.holds(place, bytes) {
        out.put(&[0xc0]);
        return out.put_distance(distance);
    }
    let lanes: [_; 6] = std::array::from_fn(|n| lane(&words, n));
    let hashes = hash::of_long(&lanes);
    let known = (&tables.triples, &mut tables.triple_slots);
    let Some(triples) = put_rows::<3, TRIPLES>(0xa8, bytes, &hashes, known, out) else {
        return;
    };
    let [a, b, c, d, ..] = lanes;
    let hashes = hash::of_long(&[a, b, c, d]);
    let known = (&tables.pairs, &mut tables.pair_slots);
    let Some(pairs) = put_rows::<2, PAIRS>(0x88, bytes, &hashes, known, out) else {
        return;
    };
    let start = out.at + 1;
    tables.cells[slot] = start as u32;
    remember(&mut tables.triples, &tables.triple_slots, &triples, start);
    remember(&mut tables.pairs, &tables.pair_slots, &pairs, start);
    out.put(&[0]);
    out.put(bytes);
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
        triple_slots: [0; TRIPLES],
        pair_slots: [0; PAIRS],
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
                let mut cell = [0; CELL];
                for (n, row) in cell.as_chunks_mut::<SIDE>().0.iter_mut().enumerate() {
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
