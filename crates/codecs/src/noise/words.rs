//! Every word of a stream, looked for among those before it.

use crate::table::KNUTH_MULTIPLIER;
use oxiblosc_error::Result;
use oxiblosc_memory::List;

/// The bytes of a word: no codec gains from shorter ones that are repeated.
const WORD: usize = 4;

/// The last word for each of `1 << SLOTS` values that the upper bits of its hash have.
#[derive(Default)]
pub(super) struct Words<const SLOTS: u32> {
    /// The lower half of its hash, below the number of its stream.
    seen: List<u32>,
    stream: u16,
}

impl<const SLOTS: u32> Words<SLOTS> {
    /// Whether at most so many words of a stream are there twice. It is looked at from its end: the high bytes of numbers,
    /// which most often are repeated, come last. Of a word `16 - SLOTS` bits are not compared, and some hide behind others.
    #[inline(never)]
    pub(super) fn hardly_repeat(&mut self, stream: &[u8], most: usize) -> Result<bool> {
        if self.seen.is_empty() || self.stream == u16::MAX {
            self.seen.clear();
            self.seen.resize(1 << SLOTS, 0)?;
            self.stream = 0;
        }
        self.stream += 1;
        let number = u32::from(self.stream) << 16;
        let mut twice = 0;
        let few = stream.array_windows::<WORD>().rev().all(|word| {
            let hash = u32::from_le_bytes(*word).wrapping_mul(KNUTH_MULTIPLIER);
            let word = number | hash & 0xffff;
            let seen = &mut self.seen[(hash >> (32 - SLOTS)) as usize];
            twice += usize::from(*seen == word);
            *seen = word;
            twice <= most
        });
        Ok(few)
    }
}
