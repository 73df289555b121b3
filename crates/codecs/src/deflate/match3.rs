//! Matches of three bytes. The hash chains link positions with the same four bytes; this table has
//! the last positions of each three bytes.

use core::hint::select_unpredictable;

use super::window::{MAX_DISTANCE, Match};
use crate::hash_table::zeros;
use oxiblosc_base::Result;

/// How many upper bits of the hash select a bucket, for the longest streams. The lowest 16 bits are
/// a tag, which tells the hashes of one bucket apart.
const MAX_HASH_BITS: u32 = 14;
/// How many bits select a bucket for the shortest streams.
const MIN_HASH_BITS: u32 = 8;
/// The factor of the hash (Chris Wellons's `lowbias32` has it, too). It spreads the three bytes of
/// random walks and of smooth numbers evenly: with Knuth's, too many of them share a bucket, and 2
/// to 8 % of the matches are lost rather than 1 %.
const MULTIPLIER: u32 = 0x846C_A68B;
/// The bits of an entry that hold the position; the tag is above them.
const POSITION_MASK: u32 = 0xFFFF;

/// The last four entries, the newest first. An entry is a position and above it a tag; 0 is no
/// entry.
type Bucket = [u32; 4];

/// The memory of the table, reused from stream to stream.
pub(super) struct Buckets {
    all: Box<[Bucket; 1 << MAX_HASH_BITS]>,
    /// How many bits of the hash select a bucket. `None` if the table is not used.
    bits: Option<u32>,
}

impl Buckets {
    /// # Errors
    /// [`Error::MEMORY_ALLOC`](oxiblosc_base::Error::MEMORY_ALLOC).
    pub(super) fn new() -> Result<Self> {
        Ok(Self {
            all: zeros()?,
            bits: None,
        })
    }

    /// Clears the table for a stream of `len` bytes, with one bucket for each `1 << shift`
    /// positions. Without a `shift` the table is not used. A short stream has fewer buckets, so
    /// that there is less to clear and more of them stay in the cache.
    pub(super) fn start(&mut self, len: usize, shift: Option<u32>) {
        self.bits = shift.map(|shift| {
            let bits = (usize::BITS - len.leading_zeros()).saturating_sub(shift);
            bits.clamp(MIN_HASH_BITS, MAX_HASH_BITS)
        });
        self.open().buckets.as_flattened_mut().fill(0);
    }

    #[inline(always)]
    pub(super) fn open(&mut self) -> Table3<'_> {
        Table3 {
            buckets: &mut self.all[..self.bits.map_or(0, |bits| 1 << bits)],
            shift: 24 - self.bits.unwrap_or(MIN_HASH_BITS),
        }
    }
}

/// The table of one stream.
pub(super) struct Table3<'a> {
    buckets: &'a mut [Bucket],
    shift: u32,
}

impl Table3<'_> {
    /// Lowers all positions by `less`. Those that leave the window become 0.
    pub(super) fn slide(&mut self, less: u16) {
        self.buckets
            .iter_mut()
            .for_each(|bucket| lower(bucket, less));
    }

    /// Inserts a position whose four bytes are `four`, in little-endian order. Returns the match
    /// with the last position that has the same three bytes.
    #[inline(always)]
    pub(super) fn insert(&mut self, pos: usize, four: u32) -> Match {
        // The multiplier is odd, so the hash is a permutation of the 24-bit numbers: bucket and tag
        // together identify the three bytes.
        let hash = four.wrapping_mul(MULTIPLIER) & 0xFF_FFFF;
        let pos = pos as u32;
        let candidate = push(
            &mut self.buckets[(hash >> self.shift) as usize],
            pos | hash << 16,
        );
        let distance = pos.wrapping_sub(candidate);
        let limit = pos.saturating_sub(1).min(MAX_DISTANCE as u32);
        // Whether the candidate is in the window is unpredictable, so there is no branch.
        let in_window = distance.wrapping_sub(1) < limit;
        Match {
            len: select_unpredictable(in_window, 3, 0),
            distance: select_unpredictable(in_window, distance as usize, 0),
        }
    }
}

/// Puts an entry in front of a bucket, whose last entry drops out. Returns the position of the
/// newest earlier entry with the same tag, or 0.
#[inline(always)]
fn push(bucket: &mut Bucket, this: u32) -> u32 {
    #[cfg(target_arch = "x86_64")]
    {
        use core::arch::x86_64::*;
        let place: *mut __m128i = bucket.as_mut_ptr().cast();
        // SAFETY: every x86-64 has SSE2. The load takes the 16 bytes of the bucket, and needs no
        // alignment.
        let (earlier, hits) = unsafe {
            let earlier = _mm_loadu_si128(place);
            let other = _mm_srli_epi32::<16>(_mm_xor_si128(earlier, _mm_set1_epi32(this as i32)));
            let same = _mm_cmpeq_epi32(other, _mm_setzero_si128());
            (earlier, _mm_movemask_ps(_mm_castsi128_ps(same)) as u32)
        };
        let first = bucket[(hits | 8).trailing_zeros() as usize % 4] & POSITION_MASK;
        // SAFETY: as for the load; `bucket` is borrowed mutably.
        unsafe {
            let behind = _mm_slli_si128::<4>(earlier);
            _mm_storeu_si128(place, _mm_or_si128(behind, _mm_cvtsi32_si128(this as i32)));
        }
        select_unpredictable(hits == 0, 0, first)
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        let earlier = *bucket;
        *bucket = [this, earlier[0], earlier[1], earlier[2]];
        earlier.into_iter().rev().fold(0, |found, entry| {
            let same = (entry ^ this) & !POSITION_MASK == 0;
            select_unpredictable(same, entry & POSITION_MASK, found)
        })
    }
}

/// Lowers the positions of a bucket by `less`. Those that are lower become 0.
#[inline(always)]
fn lower(bucket: &mut Bucket, less: u16) {
    #[cfg(target_arch = "x86_64")]
    {
        use core::arch::x86_64::*;
        let place: *mut __m128i = bucket.as_mut_ptr().cast();
        // SAFETY: every x86-64 has SSE2. Load and store take the 16 bytes of the bucket, which is
        // borrowed mutably, and need no alignment.
        unsafe {
            // In each entry `less` is subtracted from the lower half, which is the position, and 0
            // from the tag.
            let less = _mm_set1_epi32(less.into());
            _mm_storeu_si128(place, _mm_subs_epu16(_mm_loadu_si128(place), less));
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    for entry in bucket {
        *entry -= (*entry & POSITION_MASK).min(less.into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::Numbers;

    #[test]
    fn positions_become_lower_and_tags_stay() {
        for less in [0, 1, 999, 1000, 1001, u16::MAX] {
            let all = [0, 1000, 0xFF00_03E8, 0xABCD_FFFF];
            let mut bucket = all;
            lower(&mut bucket, less);
            for (before, after) in all.into_iter().zip(bucket) {
                assert_eq!(after >> 16, before >> 16);
                assert_eq!(after as u16, (before as u16).saturating_sub(less));
            }
        }
    }

    #[test]
    fn the_last_of_four_positions_is_found() {
        let mut numbers = Numbers(31);
        for tags in [2, 3, 10] {
            let (mut bucket, mut model) = ([0; 4], [0; 4]);
            for pos in 1..2000 {
                let tag = 1 + numbers.below(tags) as u32;
                let this = pos | tag << 16;
                let found = model.iter().find(|entry| *entry >> 16 == tag);
                let expected = found.map_or(0, |entry| entry & POSITION_MASK);
                assert_eq!(push(&mut bucket, this), expected);
                model.rotate_right(1);
                model[0] = this;
                assert_eq!(bucket, model);
            }
        }
    }
}
