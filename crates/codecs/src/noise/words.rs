//! A table of words, by which repeated ones are counted.

use crate::hash_table::KNUTH_MULTIPLIER;
use oxiblosc_base::Result;
use oxiblosc_base::memory::TryVec;

/// The factor of multiplicative hashes: 2^64 over the golden ratio.
const HASH_FACTOR: u64 = 0x9E37_79B9_7F4A_7C15;
/// The fewest and the most slots of a table.
const MIN_SLOTS: usize = 1 << 8;
const MAX_SLOTS: usize = 1 << 22;

/// A table that holds the last word for each hash: 15 other bits of its hash, and a bit that is
/// set. It is small, since most of the time is spent in waiting for it.
///
/// The counts are approximate: a word is forgotten when another one takes its slot, and one of
/// 32,768 is taken for another.
#[derive(Default)]
pub(super) struct WordTable(TryVec<u16>);

impl WordTable {
    /// Forgets all words. About as many as `len` can be remembered from now on.
    pub(super) fn clear(&mut self, len: usize) -> Result<()> {
        self.0.clear();
        let slots = len.clamp(MIN_SLOTS, MAX_SLOTS).next_power_of_two();
        self.0.resize(slots, 0)
    }

    /// Looks up the words of `bytes`, of 3, 4 or 8 bytes each, and remembers them. Returns how many
    /// were known.
    #[inline(never)]
    pub(super) fn look_up(&mut self, bytes: &[u8], word: usize) -> usize {
        if word == 8 {
            return self.count(bytes, |word| {
                u64::from_le_bytes(*word).wrapping_mul(HASH_FACTOR)
            });
        }
        let mask = u32::MAX >> (u32::BITS - 8 * word as u32);
        self.count(bytes, |word| {
            // Every word has another hash.
            let hash = (u32::from_le_bytes(*word) & mask).wrapping_mul(KNUTH_MULTIPLIER);
            u64::from(hash) << 32 | u64::from(hash) << 16
        })
    }

    #[inline(always)]
    fn count<const N: usize>(&mut self, bytes: &[u8], hash: impl Fn(&[u8; N]) -> u64) -> usize {
        let table = &mut self.0[..];
        let shift = u64::BITS - table.len().ilog2();
        let mut known = 0;
        for word in bytes.array_windows() {
            let hash = hash(word);
            let word = (hash >> 16) as u16 | 1;
            // The shift leaves fewer bits than the table has slots.
            let entry = &mut table[(hash >> shift) as usize];
            known += usize::from(*entry == word);
            *entry = word;
        }
        known
    }
}
