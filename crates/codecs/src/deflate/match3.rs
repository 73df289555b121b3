//! Matches of three bytes: a table of the last positions of each three bytes, which the hash chains of four bytes do not have.

use core::hint::select_unpredictable;

use super::finder::{MAX_DISTANCE, Match};
use crate::table::{KNUTH_MULTIPLIER, zeros};
use oxiblosc_error::Result;

/// Bits of the hash that select a bucket, for the longest streams and for the shortest. The lowest 16 bits are a tag, which tells apart
/// the hashes of one bucket.
const MAX_HASH_BITS: u32 = 14;
const MIN_HASH_BITS: u32 = 8;
/// The bits of a position in a bucket; the tag is above.
const POSITION_MASK: u32 = 0xFFFF;

/// The last four positions of a hash's upper part, the last one first, each with its tag above. 0 is none.
type Bucket = [u32; 4];

/// The memory of the table, kept from stream to stream.
pub(super) struct Buckets {
    all: Box<[Bucket; 1 << MAX_HASH_BITS]>,
    /// How many bits of the hash select a bucket. `None` if the table is not used.
    bits: Option<u32>,
}

impl Buckets {
    /// # Errors
    /// [`Error::MemoryAlloc`](oxiblosc_error::Error::MemoryAlloc).
    pub(super) fn new() -> Result<Self> {
        Ok(Self {
            all: zeros()?,
            bits: None,
        })
    }

    /// Clears the table for a stream of `len` bytes, or is not used without a `shift`: there is one bucket for `1 << shift` positions. A short
    /// stream has fewer buckets, so that there is less to clear, and more of them are in the cache.
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

/// The table at work.
pub(super) struct Table3<'a> {
    buckets: &'a mut [Bucket],
    shift: u32,
}

impl Table3<'_> {
    /// All positions become less by `less`, those that leave the window 0.
    pub(super) fn slide(&mut self, less: u16) {
        for pos in self.buckets.as_flattened_mut() {
            *pos -= (*pos & POSITION_MASK).min(less.into());
        }
    }

    /// Inserts a position, with the four bytes there (as an integer, the first byte lowest). Returns the match of three bytes with the last
    /// position that has them.
    #[inline(always)]
    pub(super) fn insert(&mut self, pos: usize, four: u32) -> Match {
        // An odd factor makes this a permutation of the 24-bit numbers: bucket and tag together identify the three bytes.
        let hash = four.wrapping_mul(KNUTH_MULTIPLIER) & 0xFF_FFFF;
        let pos = pos as u32;
        let candidate = push(
            &mut self.buckets[(hash >> self.shift) as usize],
            pos | hash << 16,
        );
        let distance = pos.wrapping_sub(candidate);
        let limit = pos.saturating_sub(1).min(MAX_DISTANCE as u32);
        // No branch, since this is unpredictable.
        let in_window = distance.wrapping_sub(1) < limit;
        Match {
            len: select_unpredictable(in_window, 3, 0),
            distance: select_unpredictable(in_window, distance as usize, 0),
        }
    }
}

/// Puts an entry in front of a bucket. Returns the position of the first one before with the same tag, or 0.
#[inline(always)]
fn push(bucket: &mut Bucket, this: u32) -> u32 {
    #[cfg(target_arch = "x86_64")]
    {
        use core::arch::x86_64::*;
        let place: *mut __m128i = bucket.as_mut_ptr().cast();
        // SAFETY: every x86-64 has SSE2; a bucket has the 16 bytes of the load, which needs no alignment.
        let (earlier, hits) = unsafe {
            let earlier = _mm_loadu_si128(place);
            let other = _mm_srli_epi32::<16>(_mm_xor_si128(earlier, _mm_set1_epi32(this as i32)));
            let same = _mm_cmpeq_epi32(other, _mm_setzero_si128());
            (earlier, _mm_movemask_ps(_mm_castsi128_ps(same)) as u32)
        };
        let first = bucket[(hits | 8).trailing_zeros() as usize % 4] & POSITION_MASK;
        // SAFETY: the same for the store.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::Numbers;

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
