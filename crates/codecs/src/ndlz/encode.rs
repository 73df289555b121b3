//! What cells of both sizes have in common where streams are written.

use super::HEADER;
#[cfg(target_arch = "x86_64")]
use super::hash::Avx2;
use super::hash::{self, LANES, Lane, Words};

/// The first distance that is too large.
pub const MAX_DISTANCE: usize = 65535;
/// Slots of a hash table.
pub const SLOTS: usize = 1 << hash::BITS;

/// Cells of one size to bytes; `ROOM` is what a literal one takes.
pub trait Encode<const SIDE: usize, const ROOM: usize> {
    /// Hashes a row of cells that lie side by side, row by row of them, before the first of them is put.
    fn hash<V: Words>(&mut self, group: &[[[u8; SIDE]; LANES]; SIDE]);

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
    encoder.hash::<Avx2>(group);
}

/// Writes a block of `rows` times `columns` bytes; gives the bytes written, or 0 where it did not become smaller or may turn
/// out not to fit.
#[inline(always)]
pub fn compress<const SIDE: usize, const ROOM: usize>(
    mut encoder: impl Encode<SIDE, ROOM>,
    [rows, columns]: [usize; 2],
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
                encoder.hash::<Lane>(&group);
            }
            #[cfg(not(target_arch = "x86_64"))]
            encoder.hash::<Lane>(&group);
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
pub fn put<const N: usize>(room: &mut [u8], bytes: [u8; N]) -> usize {
    room[..N].copy_from_slice(&bytes);
    N
}

/// The bytes at a place, if there are so many, as `read` takes them.
#[inline(always)]
pub fn part_at<const N: usize, T>(
    written: &[u8],
    place: usize,
    read: impl Fn([u8; N]) -> T,
) -> Option<T> {
    let part = written.get(place..).and_then(<[u8]>::first_chunk);
    part.map(|part| read(*part))
}

/// Places in a stream of the parts with a hash; 0 for none.
pub type Table = [u32; SLOTS];

/// Enters parts of a literal cell, the first row of which is at `start`, into the `slots` of a table. Those that have slots
/// of their own, if the first one has; what the others hold is forgotten then.
pub fn enter<const N: usize>(
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
