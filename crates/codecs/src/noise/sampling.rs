//! Which words of a piece are looked up: the sampled ones, and all words near its start.

use super::{HASH_FACTOR, PIECE};
use oxiblosc_error::Result;
use oxiblosc_memory::List;

/// A word is sampled if its first byte has these low bits. Since words are chosen by content and not by position, a repeat is found whatever
/// its distance.
pub(super) const SAMPLE_PATTERN: u8 = 0b1_0110;
/// How many positions are tested for the pattern in one step. A step ends with a branch on the number of hits, which is unpredictable, so
/// steps are large.
pub(super) const GROUP: usize = 64;
/// The size of a step at the end of a piece.
pub(super) const SMALL_GROUP: usize = 16;

/// Finds repeats at short distances in data of few values, such as fields of records that are the same in each record. Sampling rarely hits
/// such words, since it takes only words that begin with certain values.
#[derive(Default)]
pub(super) struct NearRepeats {
    /// The tag of the last word of each hash.
    table: List<u32>,
}

impl NearRepeats {
    /// How many bytes of a piece are tested.
    const TESTED: usize = 2048;
    const TABLE_BITS: u32 = 11;
    /// Words are the low six bytes. Random words of that length are rarely repeated by chance, even if bytes are somewhat unevenly distributed.
    const WORD_MASK: u64 = (1 << 48) - 1;

    /// Whether more than one in 256 words occurred before.
    #[inline(never)]
    pub(super) fn repeats(&mut self, piece: &[u8]) -> Result<bool> {
        self.table.clear();
        self.table.resize(1 << Self::TABLE_BITS, u32::MAX)?;
        let (table, _) = self.table.split_at_mut(1 << Self::TABLE_BITS);
        let tested = &piece[..Self::TESTED.min(piece.len())];
        let mut count = 0;
        for bytes in tested.array_windows() {
            let word = u64::from_le_bytes(*bytes) & Self::WORD_MASK;
            // The highest bits of the product are the place in the table, and the 32 below them tell words with the same place apart.
            let hash = word.wrapping_mul(HASH_FACTOR);
            let place = hash >> (u64::BITS - Self::TABLE_BITS);
            let tag = (hash >> (u32::BITS - Self::TABLE_BITS)) as u32;
            let earlier = core::mem::replace(&mut table[place as usize], tag);
            count += usize::from(earlier == tag);
        }
        Ok(256 * count > tested.len())
    }
}

/// The positions of the sampled words of a piece.
#[derive(Default)]
pub(super) struct SampledPositions(List<u16>);

impl SampledPositions {
    /// Finds the positions in a piece whose byte matches [`SAMPLE_PATTERN`] in the bits of `pattern_mask`, in order. At least seven
    /// bytes of the piece follow each.
    ///
    /// The number of hits in a group is unpredictable. So `BATCH` positions are always written, which is rarely too few. Those beyond the
    /// actual number are overwritten by the positions of the next group.
    #[inline(always)]
    pub(super) fn find<const BATCH: usize>(
        &mut self,
        piece: &[u8],
        pattern_mask: u8,
    ) -> Result<&[u16]> {
        self.0.resize(2 * PIECE + BATCH, 0)?;
        let mut found = 0;
        let mut push_all = |at: usize, mut hits: u64| {
            if BATCH > 2 && hits == 0 {
                return;
            }
            loop {
                let (positions, _) = self.0[found..].split_at_mut(BATCH);
                for position in positions {
                    *position = (at + (hits | 1 << 63).trailing_zeros() as usize) as u16;
                    found += usize::from(hits != 0);
                    hits &= hits.wrapping_sub(1);
                }
                if hits == 0 {
                    break;
                }
            }
        };
        // Words at the end of a group need the seven bytes behind it.
        let mut at = 0;
        while let Some(group) = piece.get(at..at + GROUP + 7) {
            let (sixteens, _) = group.as_chunks::<SMALL_GROUP>();
            let hits = sixteens[..GROUP / SMALL_GROUP]
                .iter()
                .rev()
                .fold(0, |hits, sixteen| {
                    hits << SMALL_GROUP | u64::from(pattern_hits(sixteen, pattern_mask))
                });
            push_all(at, hits);
            at += GROUP;
        }
        while let Some(group) = piece.get(at..at + SMALL_GROUP + 7) {
            let first = group
                .first_chunk()
                .expect("a group has `SMALL_GROUP` bytes");
            push_all(at, pattern_hits(first, pattern_mask).into());
            at += SMALL_GROUP;
        }
        Ok(&self.0[..found])
    }
}

/// Which bytes of a group match [`SAMPLE_PATTERN`] in the bits of `mask`: one bit for each, the lowest for the first.
pub(super) fn pattern_hits(group: &[u8; SMALL_GROUP], mask: u8) -> u16 {
    let pattern = SAMPLE_PATTERN & mask;
    #[cfg(target_arch = "x86_64")]
    {
        use core::arch::x86_64::*;
        // SAFETY: every x86-64 has SSE2; the unaligned load takes exactly the 16 bytes of `group`.
        unsafe {
            let bytes = _mm_loadu_si128(group.as_ptr().cast());
            let low = _mm_and_si128(bytes, _mm_set1_epi8(mask as i8));
            _mm_movemask_epi8(_mm_cmpeq_epi8(low, _mm_set1_epi8(pattern as i8))) as u16
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    group.iter().enumerate().fold(0, |hits, (i, byte)| {
        hits | u16::from(byte & mask == pattern) << i
    })
}
