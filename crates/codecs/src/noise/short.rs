//! Streams that are too short for sampling. Every byte is counted, and every word looked up.

use super::word_table::WordTable;
use super::{WORDS_PER_REPEAT, is_uniform};
use oxiblosc_error::Result;

/// The number of bytes that are tested first. They are enough to recognise most compressible streams.
const PREFIX: usize = 64;

/// Classifies short streams. One per worker.
#[derive(Default)]
pub(super) struct ShortDetector(WordTable<13>);

impl ShortDetector {
    /// Whether a stream is incompressible for every codec.
    pub(super) fn is_incompressible(&mut self, stream: &[u8]) -> Result<bool> {
        Ok(has_uniform_bytes(stream)
            && self
                .0
                .rarely_repeat(stream, stream.len() / WORDS_PER_REPEAT)?)
    }
}

/// Whether the bytes are uniformly distributed.
#[inline(never)]
fn has_uniform_bytes(stream: &[u8]) -> bool {
    let mut counts = [0_u16; 256];
    let (mut n, mut squares) = (0, 0);
    let (prefix, rest) = stream.split_at(stream.len().min(PREFIX));
    [prefix, rest].into_iter().all(|part| {
        for &byte in part {
            let count = &mut counts[usize::from(byte)];
            squares += 2 * u64::from(*count) + 1;
            *count += 1;
        }
        n += part.len() as u64;
        is_uniform(n, squares)
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::random;
    use super::*;

    #[test]
    fn random_bytes_are_incompressible() {
        let mut short = ShortDetector::default();
        for len in (32..300).chain([1000, 4095, 8191]) {
            assert!(
                short.is_incompressible(&random(len, len as u64)).unwrap(),
                "{len} bytes"
            );
        }
        // More streams than there are stream numbers.
        let one = random(32, 1);
        assert!((0..70_000).all(|_| short.is_incompressible(&one).unwrap()));
    }

    #[test]
    fn repetitive_and_uneven_bytes_are_recognised() {
        let mut short = ShortDetector::default();
        for len in [32, 64, 128, 500, 4000] {
            let bytes = random(len, 1);
            assert!(short.is_incompressible(&bytes).unwrap(), "{len} bytes");
            // Twice as many repeated words as are tolerated, since half of them may be missed.
            let n = 2 * (len / WORDS_PER_REPEAT) + 4;
            for (from, to) in [(0, len - n), (3, len / 2), (len / 4, len / 2 + 1)] {
                let mut twice = bytes.clone();
                twice.copy_within(from..from + n, to);
                assert!(
                    !short.is_incompressible(&twice).unwrap(),
                    "{len} bytes, {n} at {from} and {to}"
                );
            }
            let few: Vec<u8> = bytes.iter().map(|byte| byte % 16).collect();
            assert!(
                !short.is_incompressible(&few).unwrap(),
                "{len} bytes, of sixteen values"
            );
            let mut end = bytes.clone();
            end[len / 2..].fill(7);
            assert!(
                !short.is_incompressible(&end).unwrap(),
                "{len} bytes, half of them the same"
            );
        }
    }
}
