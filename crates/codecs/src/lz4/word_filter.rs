//! Which words of four bytes a stream had lately: a Bloom filter with one hash function. Most words
//! of noise are new, and a new word has no match. One bit tells that sooner than a walk along a
//! chain of words that only share their hash.

use super::format::MIN_MATCH;
use crate::hash_table::hash;

/// Binary logarithm of the largest number of bits. That many fit into the second-level cache.
const MAX_LOG: u32 = 20;
/// The number of 64-bit groups of bits.
const GROUPS: usize = 1 << (MAX_LOG - u64::BITS.ilog2());
/// The filter holds at most this many words, which set one bit in eight. Then it is cleared and
/// filled anew.
pub(super) const MAX_WORDS: usize = 1 << 17;
/// After this many positions the filter is checked: it is dropped unless it let the search skip at
/// least `MIN_SKIPPED` of them.
const CHECK_INTERVAL: usize = 2048;
const MIN_SKIPPED: usize = CHECK_INTERVAL / 4 * 3;

/// A bit for each hash.
pub(super) type Bits = [u64; GROUPS];

/// What a search knows about the words before a position.
pub(super) trait WordFilter {
    /// Whether words are recorded at all.
    const RECORDS: bool;

    /// Records a word.
    fn add(&mut self, word: u32);

    /// Whether a word is new. A new word may be taken for a known one, since words share bits, but
    /// never the reverse. With `skips`, the caller skips the position if the word is new, which is
    /// counted.
    fn is_new(&mut self, word: u32, skips: bool) -> bool;

    /// Whether the search should go on without this filter.
    fn is_over(&mut self, at: usize) -> bool;
}

/// A filter that records nothing.
pub(super) struct NoFilter;

impl WordFilter for NoFilter {
    const RECORDS: bool = false;

    #[inline(always)]
    fn add(&mut self, _: u32) {}

    #[inline(always)]
    fn is_new(&mut self, _: u32, _: bool) -> bool {
        false
    }

    #[inline(always)]
    fn is_over(&mut self, _: usize) -> bool {
        false
    }
}

/// The set of words that were seen.
pub(super) struct SeenWords<'a> {
    bits: &'a mut Bits,
    /// Selects a group: the number of groups in use, less one.
    mask: usize,
    /// How many positions were skipped since the last check.
    skipped: usize,
    /// The position of the next check.
    next_check: usize,
    /// The position at which the filter is full.
    full_at: usize,
}

impl<'a> SeenWords<'a> {
    /// A filter that holds `words`, for a stream of `len` bytes that is searched from position `at`
    /// on.
    pub(super) fn new<'w>(
        bits: &'a mut Bits,
        words: impl Iterator<Item = &'w [u8; MIN_MATCH]>,
        at: usize,
        len: usize,
    ) -> Self {
        // A short stream uses fewer groups, so that there is less to clear: at least 16 bits for
        // each byte.
        let used = (len / 4).next_power_of_two().min(GROUPS);
        bits[..used].fill(0);
        let mut seen = SeenWords {
            bits,
            mask: used - 1,
            skipped: 0,
            next_check: at + CHECK_INTERVAL,
            full_at: at + MAX_WORDS / 2,
        };
        for word in words {
            seen.add(u32::from_le_bytes(*word));
        }
        seen
    }

    /// The group of a word's bit, and the bit.
    #[inline(always)]
    fn bit(&self, word: u32) -> (usize, u64) {
        let hash = hash::<MAX_LOG>(word);
        let group = (hash / u64::BITS as usize) & self.mask;
        (group % GROUPS, 1 << (hash % u64::BITS as usize))
    }

    #[cold]
    fn check(&mut self, at: usize) -> bool {
        let pays = self.skipped >= MIN_SKIPPED;
        self.skipped = 0;
        self.next_check = at + CHECK_INTERVAL;
        !pays || at >= self.full_at
    }
}

impl WordFilter for SeenWords<'_> {
    const RECORDS: bool = true;

    #[inline(always)]
    fn add(&mut self, word: u32) {
        let (group, bit) = self.bit(word);
        self.bits[group] |= bit;
    }

    #[inline(always)]
    fn is_new(&mut self, word: u32, skips: bool) -> bool {
        let (group, bit) = self.bit(word);
        let new = self.bits[group] & bit == 0;
        self.skipped += usize::from(new && skips);
        new
    }

    #[inline(always)]
    fn is_over(&mut self, at: usize) -> bool {
        at >= self.next_check && self.check(at)
    }
}
