//! Counts the repeated words of a stream: every word is looked up among the words before it.

use crate::table::KNUTH_MULTIPLIER;
use oxiblosc_error::Result;
use oxiblosc_memory::List;

/// The size of a word in bytes. No codec gains from shorter matches.
const WORD: usize = 4;

/// A table that holds the last word for each hash of `LOG` bits.
#[derive(Default)]
pub(super) struct WordTable<const LOG: u32> {
    /// For each hash, the lower 16 bits of the word's full hash, and above them the number of its stream.
    table: List<u32>,
    /// The number of the current stream. It tells its words from those of earlier streams, so that the table need not be cleared.
    stream: u16,
}

impl<const LOG: u32> WordTable<LOG> {
    /// Whether at most `max_repeats` words of a stream occur a second time. It runs backward, since the high bytes of shuffled numbers, which
    /// repeat most often, come last. The result is approximate: `16 - LOG` bits of a word are not compared, and a word is forgotten when
    /// another one takes its slot.
    #[inline(never)]
    pub(super) fn rarely_repeat(&mut self, stream: &[u8], max_repeats: usize) -> Result<bool> {
        if self.table.is_empty() || self.stream == u16::MAX {
            self.table.clear();
            self.table.resize(1 << LOG, 0)?;
            self.stream = 0;
        }
        self.stream += 1;
        let number = u32::from(self.stream) << 16;
        let mut repeats = 0;
        let rare = stream.array_windows::<WORD>().rev().all(|word| {
            let hash = u32::from_le_bytes(*word).wrapping_mul(KNUTH_MULTIPLIER);
            let word = number | hash & 0xffff;
            let entry = &mut self.table[(hash >> (32 - LOG)) as usize];
            repeats += usize::from(*entry == word);
            *entry = word;
            repeats <= max_repeats
        });
        Ok(rare)
    }
}
