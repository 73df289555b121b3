//! Which words of four bytes a stream had lately. Most words of noise are new, and a new one has no match: one bit tells that sooner than
//! a chain of words that only share their hash.

use super::decompress::MIN_MATCH;
use crate::table::hash;

/// Binary logarithm of the number of bits at most, a table that fits into the second-level cache.
const MAX_LOG: u32 = 20;
/// How many words of bits there are.
const LEN: usize = 1 << (MAX_LOG - u64::BITS.ilog2());
/// So many words are noted at most, which set one of eight bits: then it begins anew.
pub(super) const MOST: usize = 1 << 17;
/// Whether it pays is looked at after so many positions, of which so many must have been passed over since their words were new.
const STRETCH: usize = 2048;
const LEAST_NEW: usize = STRETCH / 4 * 3;

/// A bit for each hash.
pub(super) type Bits = [u64; LEN];

/// What a search knows of the words before a position.
pub(super) trait Words {
    /// Whether they are noted at all.
    const NOTED: bool;

    /// Notes a word.
    fn add(&mut self, word: u32);

    /// Whether a word is new. If it is not, it may have been noted. A new one counts with `skips`: a position is passed over by that.
    fn is_new(&mut self, word: u32, skips: bool) -> bool;

    /// Whether words should be noted no longer.
    fn is_over(&mut self, at: usize) -> bool;
}

/// Nothing is noted.
pub(super) struct NotNoted;

impl Words for NotNoted {
    const NOTED: bool = false;

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

/// The set of noted words.
pub(super) struct Seen<'a> {
    bits: &'a mut Bits,
    /// Which bits of a place count.
    mask: usize,
    /// How many positions were passed over since the last look at that.
    new: usize,
    /// Where to look again, and where the set is full.
    next_look: usize,
    full: usize,
}

impl<'a> Seen<'a> {
    /// Notes these words of a stream of `len` bytes, before position `at`.
    pub(super) fn new<'w>(
        bits: &'a mut Bits,
        words: impl Iterator<Item = &'w [u8; MIN_MATCH]>,
        at: usize,
        len: usize,
    ) -> Self {
        // A short stream uses less of it, 16 bits for each byte or more, so that there is less to clear.
        let used = (len / 4).next_power_of_two().min(LEN);
        bits[..used].fill(0);
        let mut seen = Seen {
            bits,
            mask: used - 1,
            new: 0,
            next_look: at + STRETCH,
            full: at + MOST / 2,
        };
        for word in words {
            seen.add(u32::from_le_bytes(*word));
        }
        seen
    }

    /// The place of a word's bit.
    #[inline(always)]
    fn place(&self, word: u32) -> (usize, u64) {
        let hash = hash::<MAX_LOG>(word);
        let place = (hash / u64::BITS as usize) & self.mask;
        (place % LEN, 1 << (hash % u64::BITS as usize))
    }

    #[cold]
    fn look(&mut self, at: usize) -> bool {
        let pays = self.new >= LEAST_NEW;
        self.new = 0;
        self.next_look = at + STRETCH;
        !pays || at >= self.full
    }
}

impl Words for Seen<'_> {
    const NOTED: bool = true;

    #[inline(always)]
    fn add(&mut self, word: u32) {
        let (place, bit) = self.place(word);
        self.bits[place] |= bit;
    }

    #[inline(always)]
    fn is_new(&mut self, word: u32, skips: bool) -> bool {
        let (place, bit) = self.place(word);
        let new = self.bits[place] & bit == 0;
        self.new += usize::from(new && skips);
        new
    }

    #[inline(always)]
    fn is_over(&mut self, at: usize) -> bool {
        at >= self.next_look && self.look(at)
    }
}
