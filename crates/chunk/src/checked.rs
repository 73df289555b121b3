//! Remembers which blocks were found to match their checksums, so that each is checked once instead
//! of by every read. This is only valid for memory that nothing but the library changes, not for
//! files.

use oxiblosc_base::memory::{Collect, TryVec};
use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// Which parts of a chunk were checked: a bit for its front, then one for each block.
#[derive(Clone, Copy)]
pub struct Checked<'a>(&'a [AtomicU64]);

impl Checked<'_> {
    /// Remembers nothing: every part is checked whenever it is read.
    pub const NEVER: Self = Self(&[]);

    fn word(&self, part: usize) -> Option<(&AtomicU64, u64)> {
        Some((self.0.get(part / 64)?, 1 << (part % 64)))
    }

    fn has(&self, part: usize) -> bool {
        // Relaxed: the bytes that were checked do not change while others read them, so the bit
        // alone says everything.
        self.word(part)
            .is_some_and(|(word, bit)| word.load(Ordering::Relaxed) & bit != 0)
    }

    fn add(&self, part: usize) {
        if let Some((word, bit)) = self.word(part) {
            word.fetch_or(bit, Ordering::Relaxed);
        }
    }

    /// Whether anything is remembered.
    pub fn is_kept(&self) -> bool {
        !self.0.is_empty()
    }

    /// Whether header, block starts and checksums were checked.
    pub(super) fn has_prefix(&self) -> bool {
        self.has(0)
    }

    /// Remembers that header, block starts and checksums were checked.
    pub(super) fn add_prefix(&self) {
        self.add(0);
    }

    /// Whether all of block `nblock` was checked.
    pub(super) fn has_block(&self, nblock: usize) -> bool {
        self.has(1 + nblock)
    }

    /// Remembers that all of block `nblock` was checked.
    pub(super) fn add_block(&self, nblock: usize) {
        self.add(1 + nblock);
    }
}

/// Which parts of the chunks of a frame were checked. The words are allocated when the first chunk
/// is read; without memory for them, chunks are checked by every read.
#[derive(Default)]
pub struct CheckedChunks(OnceLock<TryVec<AtomicU64>>);

/// Words for each chunk. Blocks whose number is beyond their bits are checked by every read.
const WORDS: usize = 4;

impl CheckedChunks {
    /// Which parts of chunk `nchunk` were checked, in a frame of `nchunks` chunks.
    pub fn chunk(&self, nchunk: usize, nchunks: usize) -> Checked<'_> {
        if self.0.get().is_none() {
            let fresh = (0..nchunks * WORDS)
                .map(|_| AtomicU64::new(0))
                .collect_vec();
            // Another thread may have set it first.
            let _ = fresh.map(|fresh| self.0.set(fresh));
        }
        let words = self.0.get().and_then(|words| words.get(range(nchunk)));
        words.map_or(Checked::NEVER, Checked)
    }

    /// Forgets what was checked of chunk `nchunk`, which was replaced.
    pub fn forget(&mut self, nchunk: usize) {
        let words = self.0.get_mut();
        for word in words
            .and_then(|words| words.get_mut(range(nchunk)))
            .into_iter()
            .flatten()
        {
            *word.get_mut() = 0;
        }
    }

    /// Adds a chunk at the end, of which nothing was checked.
    pub fn append(&mut self) {
        if let Some(words) = self.0.get_mut()
            && (0..WORDS)
                .try_for_each(|_| words.push(AtomicU64::new(0)))
                .is_err()
        {
            *self = Self::default();
        }
    }

    /// Forgets what was checked of the chunks from `first` on. There are `nchunks` now.
    pub fn forget_from(&mut self, first: usize, nchunks: usize) {
        if let Some(words) = self.0.get_mut() {
            words.truncate(first * WORDS);
            for _ in words.len() / WORDS..nchunks {
                self.append();
            }
        }
    }
}

fn range(nchunk: usize) -> Range<usize> {
    nchunk * WORDS..(nchunk + 1) * WORDS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_checked_is_remembered_until_it_is_replaced() {
        let mut chunks = CheckedChunks::default();
        let blocks = |chunks: &CheckedChunks, nchunk| {
            let checked = chunks.chunk(nchunk, 3);
            (0..1000)
                .filter(|n| checked.has_block(*n))
                .collect::<Vec<_>>()
        };
        for nblock in [0, 62, 63, 99, 254, 255] {
            chunks.chunk(1, 3).add_block(nblock);
        }
        chunks.chunk(2, 3).add_prefix();
        assert_eq!(blocks(&chunks, 1), [0, 62, 63, 99, 254]);
        assert!(!chunks.chunk(1, 3).has_prefix() && chunks.chunk(2, 3).has_prefix());
        assert!(!chunks.chunk(3, 3).is_kept());
        chunks.append();
        assert!(chunks.chunk(3, 4).is_kept());
        chunks.forget(1);
        assert!(blocks(&chunks, 1).is_empty() && chunks.chunk(2, 4).has_prefix());
        chunks.chunk(1, 4).add_prefix();
        chunks.forget_from(2, 6);
        assert!(chunks.chunk(1, 6).has_prefix() && !chunks.chunk(2, 6).has_prefix());
        assert!(chunks.chunk(5, 6).is_kept() && !chunks.chunk(6, 6).is_kept());
        chunks.forget_from(0, 1);
        assert!(!chunks.chunk(0, 1).has_prefix() && !chunks.chunk(1, 1).is_kept());
        Checked::NEVER.add_block(0);
        assert!(!Checked::NEVER.has_block(0));
    }
}
