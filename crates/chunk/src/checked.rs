//! Which blocks of chunks in memory were found to be as their [checksums](super::checksum) say, so that they are checked once, and not
//! by each read. It holds as long as nothing but the library changes them: for its own memory, and not for a file.

use oxiblosc_memory::{Collect, List};
use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// What of a chunk was checked, a bit for each part: its front, and then its blocks.
#[derive(Clone, Copy)]
pub struct Checked<'a>(&'a [AtomicU64]);

impl Checked<'_> {
    /// Where it is not remembered: every part is checked whenever it is read.
    pub const NEVER: Self = Self(&[]);

    fn word(&self, part: usize) -> Option<(&AtomicU64, u64)> {
        Some((self.0.get(part / 64)?, 1 << (part % 64)))
    }

    fn has(&self, part: usize) -> bool {
        // What was checked does not change while it is read, so there is nothing to wait for.
        self.word(part)
            .is_some_and(|(word, bit)| word.load(Ordering::Relaxed) & bit != 0)
    }

    fn add(&self, part: usize) {
        if let Some((word, bit)) = self.word(part) {
            word.fetch_or(bit, Ordering::Relaxed);
        }
    }

    /// Whether it is remembered.
    pub(super) fn is_kept(&self) -> bool {
        !self.0.is_empty()
    }

    /// Whether header, block starts and sums were checked.
    pub(super) fn has_front(&self) -> bool {
        self.has(0)
    }

    /// Remembers that header, block starts and sums were checked.
    pub(super) fn add_front(&self) {
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

/// What was checked of the chunks of a frame, each by some words. Memory is taken when the first is; where there is none, they are
/// checked again.
#[derive(Default)]
pub struct CheckedChunks(OnceLock<List<AtomicU64>>);

/// The words of a chunk. Blocks that have no bit in them are checked by each read.
const WORDS: usize = 4;

impl CheckedChunks {
    /// What was checked of chunk `nchunk`, if there are `nchunks` of them.
    pub fn chunk(&self, nchunk: usize, nchunks: usize) -> Checked<'_> {
        if self.0.get().is_none() {
            let fresh = (0..nchunks * WORDS).map(|_| AtomicU64::new(0)).list();
            // Another thread may be faster.
            let _ = fresh.map(|fresh| self.0.set(fresh));
        }
        let words = self.0.get().and_then(|words| words.get(range(nchunk)));
        words.map_or(Checked::NEVER, Checked)
    }

    /// Chunk `nchunk` was replaced.
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

    /// A chunk comes behind the others.
    pub fn append(&mut self) {
        if let Some(words) = self.0.get_mut()
            && (0..WORDS)
                .try_for_each(|_| words.push(AtomicU64::new(0)))
                .is_err()
        {
            *self = Self::default();
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
        chunks.chunk(2, 3).add_front();
        assert_eq!(blocks(&chunks, 1), [0, 62, 63, 99, 254]);
        assert!(!chunks.chunk(1, 3).has_front() && chunks.chunk(2, 3).has_front());
        assert!(!chunks.chunk(3, 3).is_kept());
        chunks.append();
        assert!(chunks.chunk(3, 4).is_kept());
        chunks.forget(1);
        assert!(blocks(&chunks, 1).is_empty() && chunks.chunk(2, 4).has_front());
        Checked::NEVER.add_block(0);
        assert!(!Checked::NEVER.has_block(0));
    }
}
