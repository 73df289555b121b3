//! NDLZ: a Lempel-Ziv codec for two-dimensional blocks of bytes, in cells of 4 x 4 or 8 x 8.
//!
//! A stream is the number of dimensions (2), the two lengths of the block (32 bits, little endian), and a token with its
//! operands for each cell, row of cells by row. Cells at the lower and right edge are literal where they are cut. What a
//! cell has in common with an earlier literal one is written as a distance back from the token; which parts of a cell
//! (all, or some of its rows) are looked up by hash in tables is part of the encoder, and the same as in the reference:
//! so are the bytes.
//!
//! | token, 4 x 4 | token, 8 x 8 | operands | the cell is |
//! |---|---|---|---|
//! | `00` | `00` | the cell | literal |
//! | `40` | `40` | one byte | that byte everywhere |
//! | `c0` | `c0` | distance | an earlier cell |
//! | `e0`, `e8`, `f0`, `f8` | `a8 + i` | distance, other rows | three rows of an earlier cell (1 2 3, 0 1 2, 0 1 3, 0 2 3; `i` to `i` + 2) |
//! | `80`, `80 + 32 i + 8 j` | `88 + i` | distance, other rows | two rows of an earlier cell (2 3, `i` `j`; `i` and `i` + 1) |
//! | `20 + 8 j` | | two distances | two rows each of two earlier cells (0 and `j`; the others) |

mod decode;
mod encode4;
mod encode8;
mod hash;
mod kinds;
#[cfg(test)]
mod tests;

use crate::cells::BlockShape;
use crate::error::{Error, Result};
use hash::LANES;

/// Bytes in front of the cells.
const HEADER: usize = 9;
/// The first distance that is too large.
const MAX_DISTANCE: usize = 65535;
/// Slots of a hash table.
const SLOTS: usize = 1 << hash::BITS;

/// Compresses a block of the shape `block` whose items are bytes; `side`, the codec's meta byte, is that of a cell. Gives
/// the bytes written, or 0 where it did not become smaller or `dst` is too small.
///
/// # Errors
/// [`Error::Failure`] where there are no such cells, or `src` is no such block.
pub fn compress(side: u8, block: BlockShape, src: &[u8], dst: &mut [u8]) -> Result<usize> {
    let &[rows, columns] = block.dims() else {
        return Err(Error::Failure);
    };
    if block.nbytes(1) != src.len() as u64 || dst.len() < HEADER {
        return Err(Error::Failure);
    }
    match side {
        4 => Ok(compress_cells(
            encode4::Encoder::new(),
            rows,
            columns,
            src,
            dst,
        )),
        8 => Ok(compress_cells(
            encode8::Encoder::new(),
            rows,
            columns,
            src,
            dst,
        )),
        _ => Err(Error::Failure),
    }
}

/// Decompresses a block into the front of `dst`; gives its bytes. `side`, the codec's meta byte, is that of a cell.
///
/// # Errors
/// [`Error::Failure`] where there are no such cells, the stream is malformed, or the block is larger than `dst`.
pub fn decompress(side: u8, src: &[u8], dst: &mut [u8]) -> Result<usize> {
    match side {
        4 => decode::decompress::<4, 16>(&kinds::KINDS_4, src, dst),
        8 => decode::decompress::<8, 64>(&kinds::KINDS_8, src, dst),
        _ => Err(Error::Failure),
    }
}

/// Cells of one size to bytes; `ROOM` is what a literal one takes.
trait Encode<const SIDE: usize, const ROOM: usize> {
    /// Hashes a row of cells that lie side by side, row by row of them, before the first of them is put.
    fn hash(&mut self, group: &[[[u8; SIDE]; LANES]; SIDE]);

    /// Writes cell `n` of the last group behind what was written; gives the bytes of it.
    fn put(
        &mut self,
        n: usize,
        cell: [[u8; SIDE]; SIDE],
        written: &[u8],
        room: &mut [u8; ROOM],
    ) -> usize;
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn hash_avx2<E: Encode<SIDE, ROOM>, const SIDE: usize, const ROOM: usize>(
    encoder: &mut E,
    group: &[[[u8; SIDE]; LANES]; SIDE],
) {
    encoder.hash(group);
}

/// Writes a block of `rows` times `columns` bytes; gives the bytes written, or 0 where it did not become smaller or may turn
/// out not to fit.
#[inline(always)]
fn compress_cells<const SIDE: usize, const ROOM: usize>(
    mut encoder: impl Encode<SIDE, ROOM>,
    rows: usize,
    columns: usize,
    src: &[u8],
    dst: &mut [u8],
) -> usize {
    let cells = src.len() / (SIDE * SIDE);
    if cells == 0 || dst.len() + 2 < 17 + 2 * cells {
        return 0;
    }
    dst[0] = 2;
    dst[1..5].copy_from_slice(&(rows as u32).to_le_bytes());
    dst[5..HEADER].copy_from_slice(&(columns as u32).to_le_bytes());
    let mut at = HEADER;
    let mut group = [[[0; SIDE]; LANES]; SIDE];
    #[cfg(target_arch = "x86_64")]
    let avx2 = std::arch::is_x86_feature_detected!("avx2");
    for band in src.chunks(SIDE * columns) {
        let height = band.len() / columns;
        for left in (0..columns).step_by(SIDE * LANES) {
            let width = (SIDE * LANES).min(columns - left);
            for (to, from) in group.iter_mut().zip(band.chunks_exact(columns)) {
                to.as_flattened_mut()[..width].copy_from_slice(&from[left..][..width]);
            }
            #[cfg(target_arch = "x86_64")]
            if avx2 {
                // SAFETY: the feature was detected.
                unsafe { hash_avx2(&mut encoder, &group) };
            } else {
                encoder.hash(&group);
            }
            #[cfg(not(target_arch = "x86_64"))]
            encoder.hash(&group);
            for n in 0..width.div_ceil(SIDE) {
                let (written, rest) = dst.split_at_mut(at);
                let Some(room) = rest.first_chunk_mut() else {
                    return 0;
                };
                let cell = group.each_ref().map(|row| row[n]);
                let width = SIDE.min(width - n * SIDE);
                at += if height == SIDE && width == SIDE {
                    encoder.put(n, cell, written, room)
                } else {
                    room[0] = 0;
                    let rows = cell.iter().take(height);
                    for (to, from) in room[1..].chunks_exact_mut(width).zip(rows) {
                        to.copy_from_slice(&from[..width]);
                    }
                    1 + height * width
                };
                if at > src.len() {
                    return 0;
                }
            }
        }
    }
    at
}

/// Puts bytes into the front of `room`; gives their number.
#[inline(always)]
fn put<const N: usize>(room: &mut [u8], bytes: [u8; N]) -> usize {
    room[..N].copy_from_slice(&bytes);
    N
}

/// The bytes at a place, if there are so many, as `read` takes them.
#[inline(always)]
fn part_at<const N: usize, T>(
    written: &[u8],
    place: usize,
    read: impl Fn([u8; N]) -> T,
) -> Option<T> {
    let part = written.get(place..).and_then(<[u8]>::first_chunk);
    part.map(|part| read(*part))
}

/// Places in a stream of the parts with a hash; 0 for none.
type Table = [u32; SLOTS];

/// Enters parts of a literal cell, the first row of which is at `start`, into the `slots` of a table. Those that have slots
/// of their own, if the first one has; what the others hold is forgotten then.
fn enter<const N: usize>(
    table: &mut Table,
    slots: &[u32; N],
    own: &[bool; N],
    start: usize,
    side: usize,
) {
    if !own[0] {
        return;
    }
    for (row, (slot, own)) in slots.iter().zip(own).enumerate() {
        let place = start + side * row;
        table[*slot as usize] = if *own { place as u32 } else { 0 };
    }
}
