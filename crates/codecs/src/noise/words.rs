//! Counts the repeated words of a stream: every word is looked up among those that were seen.

use super::pieces::PIECE;
use crate::hash_table::KNUTH_MULTIPLIER;
use oxiblosc_base::Result;
use oxiblosc_base::memory::TryVec;

/// The factor of multiplicative hashes: 2^64 over the golden ratio.
pub(super) const HASH_FACTOR: u64 = 0x9E37_79B9_7F4A_7C15;
/// The longest word in bytes.
const MAX_WORD: u32 = 8;
/// The binary logarithms of the fewest and the most slots that are used for a stream.
const MIN_LOG: u32 = 8;
const MAX_LOG: u32 = 22;

/// A table that holds the last word for each hash: 15 other bits of its hash, and a bit that is
/// set. It is small, since most of the time is spent in waiting for it.
#[derive(Default)]
pub(super) struct WordTable(TryVec<u16>);

impl WordTable {
    /// How many words of `word_len` bytes (4 to 8) of a stream occur a second time, at most about
    /// `window` bytes from each other. It stops when it has found more than `enough`. It runs
    /// backward, since the high bytes of shuffled numbers, which repeat most often, come last. The
    /// result is approximate: a word is forgotten when another one takes its slot, and one of
    /// 32,768 is taken for another.
    #[inline(never)]
    pub(super) fn repeats(
        &mut self,
        stream: &[u8],
        word_len: u32,
        window: usize,
        enough: usize,
    ) -> Result<usize> {
        let slots = stream.len().min(window).next_power_of_two();
        let log = slots.ilog2().clamp(MIN_LOG, MAX_LOG);
        self.0.clear();
        self.0.resize(1 << log, 0)?;
        let mut look = Lookup {
            table: &mut self.0,
            shift: u64::BITS - log,
            enough,
        };
        Ok(match word_len {
            ..=4 => look.repeats(stream, |word| {
                // Every word has another hash.
                let hash = u32::from_le_bytes(*word).wrapping_mul(KNUTH_MULTIPLIER);
                u64::from(hash) << 32 | u64::from(hash) << 16
            }),
            _ => {
                let mask = u64::MAX >> (u64::BITS - 8 * word_len.min(MAX_WORD));
                look.repeats(stream, |word| {
                    (u64::from_le_bytes(*word) & mask).wrapping_mul(HASH_FACTOR)
                })
            }
        })
    }
}

/// A table during one search.
struct Lookup<'a> {
    table: &'a mut [u16],
    shift: u32,
    enough: usize,
}

impl Lookup<'_> {
    #[inline(always)]
    fn repeats<const N: usize>(&mut self, stream: &[u8], hash: impl Fn(&[u8; N]) -> u64) -> usize {
        let mut repeats = 0;
        for start in (0..stream.len()).step_by(PIECE).rev() {
            let end = stream.len().min(start + PIECE + N - 1);
            for word in stream[start..end].array_windows::<N>().rev() {
                let hash = hash(word);
                let word = (hash >> 16) as u16 | 1;
                // The shift leaves fewer bits than the table has slots.
                let entry = &mut self.table[(hash >> self.shift) as usize];
                repeats += usize::from(*entry == word);
                *entry = word;
            }
            if repeats > self.enough {
                break;
            }
        }
        repeats
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::random;
    use super::*;

    fn repeats(stream: &[u8], word_len: u32) -> usize {
        let mut words = WordTable::default();
        words
            .repeats(stream, word_len, usize::MAX, usize::MAX)
            .unwrap()
    }

    #[test]
    fn each_word_that_occurs_twice_is_counted() {
        for len in [100, 5000, 70_000] {
            let stream = random(len, 3);
            for word_len in [4, 5, 8] {
                assert!(
                    repeats(&stream, word_len) <= 1 + len / 10_000,
                    "{len} {word_len}"
                );
                let mut twice = stream.clone();
                let copied = len / 4;
                twice.copy_within(..copied, len / 2);
                // As many as there are in what was copied, but for those whose slots others took.
                let most = copied - word_len as usize + 1;
                let found = repeats(&twice, word_len);
                assert!(
                    found <= most + 1 + len / 10_000 && 3 * found > most,
                    "{found} of {most}"
                );
            }
        }
        assert_eq!(repeats(&[7; 1000], 4), 1000 - 4);
        assert_eq!(repeats(&[], 4) + repeats(&[1, 2, 3], 4), 0);
    }

    #[test]
    fn streams_are_judged_by_themselves() {
        let (stream, mut words) = (random(1000, 1), WordTable::default());
        for _ in 0..3 {
            assert_eq!(words.repeats(&stream, 4, usize::MAX, 0), Ok(0));
        }
    }
}
