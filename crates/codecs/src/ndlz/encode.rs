//! The parts of the encoder that do not depend on the size of cells.

#[cfg(target_arch = "x86_64")]
use super::hash::Avx2Hashes;
use super::hash::{self, HashVector, LANES, Lanes};
use super::header::HEADER_LEN;

/// Distances are less than this.
pub const WINDOW: usize = 65535;
/// Slots of a hash table.
pub const SLOTS: usize = 1 << hash::BITS;

/// An encoder for cells of one size. `MAX_LEN` is the largest size of an encoded cell: that of a
/// literal cell with its token.
pub trait CellEncoder<const SIDE: usize, const MAX_LEN: usize> {
    /// Hashes a group of adjacent cells, given row by row. It must be called before the first of
    /// them is encoded.
    ///
    /// # Safety
    /// As for [`HashVector::new`].
    unsafe fn hash<V: HashVector>(&mut self, group: &[[[u8; SIDE]; LANES]; SIDE]);

    /// Encodes cell `n` of the last hashed group into `out`, which follows `written`, the stream so
    /// far. Returns the bytes written.
    fn put(
        &mut self,
        n: usize,
        group: &[[[u8; SIDE]; LANES]; SIDE],
        written: &[u8],
        out: &mut [u8; MAX_LEN],
    ) -> usize;
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn hash_avx2<E: CellEncoder<SIDE, MAX_LEN>, const SIDE: usize, const MAX_LEN: usize>(
    encoder: &mut E,
    group: &[[[u8; SIDE]; LANES]; SIDE],
) {
    // SAFETY: this function is compiled for AVX2, so it is called only where the CPU has it.
    unsafe { encoder.hash::<Avx2Hashes>(group) };
}

/// Compresses a block of `rows` times `columns` bytes. Returns the bytes written, or 0 if the
/// result is not smaller than `src` or might not fit into `dst`.
#[inline(always)]
pub fn compress<const SIDE: usize, const MAX_LEN: usize>(
    mut encoder: impl CellEncoder<SIDE, MAX_LEN>,
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
    dst[5..HEADER_LEN].copy_from_slice(&(columns as u32).to_le_bytes());
    let mut at = HEADER_LEN;
    let mut group = [[[0; SIDE]; LANES]; SIDE];
    #[cfg(target_arch = "x86_64")]
    let avx2 = oxiblosc_base::memory::cpu::has_avx2();
    for band in src.chunks(SIDE * columns) {
        let height = band.len() / columns;
        for left in (0..columns).step_by(SIDE * LANES) {
            let width = (SIDE * LANES).min(columns - left);
            for (to, from) in group.iter_mut().zip(band.chunks_exact(columns)) {
                to.as_flattened_mut()[..width].copy_from_slice(&from[left..][..width]);
            }
            #[cfg(target_arch = "x86_64")]
            if avx2 {
                // SAFETY: `avx2` says that the CPU has AVX2.
                unsafe { hash_avx2(&mut encoder, &group) };
            } else {
                // SAFETY: `Lanes` needs no CPU feature.
                unsafe { encoder.hash::<Lanes>(&group) };
            }
            #[cfg(not(target_arch = "x86_64"))]
            // SAFETY: `Lanes` needs no CPU feature.
            unsafe {
                encoder.hash::<Lanes>(&group)
            };
            for n in 0..width.div_ceil(SIDE) {
                let (written, rest) = dst.split_at_mut(at);
                let Some(out) = rest.first_chunk_mut() else {
                    return 0;
                };
                let width = SIDE.min(width - n * SIDE);
                at += if height == SIDE && width == SIDE {
                    encoder.put(n, &group, written, out)
                } else {
                    out[0] = 0;
                    for (to, from) in out[1..].chunks_exact_mut(width).zip(&group[..height]) {
                        to.copy_from_slice(&from[n][..width]);
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

/// Writes bytes to the front of `out`. Returns their number.
#[inline(always)]
pub fn put<const N: usize>(out: &mut [u8], bytes: [u8; N]) -> usize {
    out[..N].copy_from_slice(&bytes);
    N
}

/// The `N` bytes of the stream at `position`, converted by `read`. `None` if there are fewer.
#[inline(always)]
pub fn part_at<const N: usize, T>(
    written: &[u8],
    position: usize,
    read: impl Fn([u8; N]) -> T,
) -> Option<T> {
    let part = written.get(position..).and_then(<[u8]>::first_chunk);
    part.map(|part| read(*part))
}

/// A hash table of positions in the stream. 0 is an empty slot.
pub type HashTable = [u32; SLOTS];

/// Inserts the parts of a literal cell into a table, as the reference does. The first row of the
/// cell is at `start` in the stream, and part `i` begins at row `i`. If the slot of the first part
/// is not free, nothing happens. Otherwise the parts with a free slot are inserted, and the slots
/// of the others are emptied.
pub fn insert<const N: usize>(
    table: &mut HashTable,
    slots: &[u32; N],
    free: &[bool; N],
    start: usize,
    side: usize,
) {
    if !free[0] {
        return;
    }
    for (row, (slot, free)) in slots.iter().zip(free).enumerate() {
        let position = start + side * row;
        table[*slot as usize] = if *free { position as u32 } else { 0 };
    }
}
