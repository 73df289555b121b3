//! Streams too short for samples to tell anything: every byte is counted, and every word looked for.

use super::{FEW, is_chance};
use crate::codec::table::SPREAD;

/// The bytes that tell most streams that are not noise.
const GLANCE: usize = 64;
/// The bytes of a word: no codec gains from shorter ones that are repeated.
const WORD: usize = 4;
/// Logarithm of the number of words that are remembered.
const SLOTS: u32 = 13;

/// Judges such streams; one per worker.
#[derive(Default)]
pub(super) struct Short {
    /// Half of the last word with these upper bits of its hash, the lower one, below the number of its stream.
    seen: Vec<u32>,
    stream: u16,
}

impl Short {
    /// Whether a stream is noise, which no codec shortens.
    pub(super) fn fills(&mut self, stream: &[u8]) -> bool {
        is_even(stream) && self.repeats_nothing(stream)
    }

    /// Whether hardly a word is there twice. Three bits of a word are not compared, and some words hide behind others.
    #[inline(never)]
    fn repeats_nothing(&mut self, stream: &[u8]) -> bool {
        if self.seen.is_empty() || self.stream == u16::MAX {
            self.seen.clear();
            self.seen.resize(1 << SLOTS, 0);
            self.stream = 0;
        }
        self.stream += 1;
        let number = u32::from(self.stream) << 16;
        let most = stream.len() / FEW;
        let mut twice = 0;
        stream.array_windows::<WORD>().all(|word| {
            let hash = u32::from_le_bytes(*word).wrapping_mul(SPREAD);
            let word = number | hash & 0xffff;
            let seen = &mut self.seen[(hash >> (32 - SLOTS)) as usize];
            twice += usize::from(*seen == word);
            *seen = word;
            twice <= most
        })
    }
}

/// Whether the bytes are as evenly spread as by chance.
#[inline(never)]
fn is_even(stream: &[u8]) -> bool {
    let mut counts = [0_u16; 256];
    let (mut n, mut squares) = (0, 0);
    let (glance, rest) = stream.split_at(stream.len().min(GLANCE));
    [glance, rest].into_iter().all(|part| {
        for &byte in part {
            let count = &mut counts[usize::from(byte)];
            squares += 2 * u64::from(*count) + 1;
            *count += 1;
        }
        n += part.len() as u64;
        is_chance(n, squares)
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::random;
    use super::*;

    #[test]
    fn random_bytes_are_noise() {
        let mut short = Short::default();
        for len in (32..300).chain([1000, 4095, 8191]) {
            assert!(short.fills(&random(len, len as u64)), "{len} bytes");
        }
        // More streams than there are numbers for.
        let one = random(32, 1);
        assert!((0..70_000).all(|_| short.fills(&one)));
    }

    #[test]
    fn what_is_repeated_or_uneven_is_not() {
        let mut short = Short::default();
        for len in [32, 64, 128, 500, 4000] {
            let bytes = random(len, 1);
            assert!(short.fills(&bytes), "{len} bytes");
            // One word more than is not worth it, and as many again that others may hide.
            let n = 2 * (len / FEW) + WORD;
            for (from, to) in [(0, len - n), (3, len / 2), (len / 4, len / 2 + 1)] {
                let mut twice = bytes.clone();
                twice.copy_within(from..from + n, to);
                assert!(!short.fills(&twice), "{len} bytes, {n} at {from} and {to}");
            }
            let few: Vec<u8> = bytes.iter().map(|byte| byte % 16).collect();
            assert!(!short.fills(&few), "{len} bytes, of sixteen values");
            let mut end = bytes.clone();
            end[len / 2..].fill(7);
            assert!(!short.fills(&end), "{len} bytes, half of them the same");
        }
    }
}
