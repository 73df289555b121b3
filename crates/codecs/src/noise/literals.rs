//! Finds the parts of a stream whose bytes are independent of one another and that share no words with the rest: what a search finds there is due
//! to chance, so that entropy codes alone are as small.

use super::independent::{hash, insert, mix, word_len};
use super::{Distribution, HASH_FACTOR, NoiseDetector, PIECE, SearchParams};
use super::{distribution, pieces};
use oxiblosc_error::Result;
use oxiblosc_memory::List;

/// The lengths of words. Each part is judged by those of the shortest length that is hardly repeated by chance.
const WORD_LENGTHS: [u32; 5] = [5, 6, 8, 11, 16];
/// One in this many words is sampled.
const SAMPLING: usize = 64;
/// The most words of a piece: where nearly all are alike, many more than usual may be chosen.
const MAX_WORDS: usize = 4 * PIECE / SAMPLING;
/// The most parts. What lies behind them is not looked at.
const MAX_PARTS: usize = u64::BITS as usize;
/// Parts in which fewer bytes are equal are hardly smaller as entropy codes, and a search passes over them.
const MIN_COLLISIONS: u64 = 65_536 / 160;

/// What is known of a part.
#[derive(Clone, Copy, Default)]
struct Part {
    /// Whether its words are sampled. Those of noise are not, nor those of runs: neither shares words with a part of another kind.
    is_sampled: bool,
    /// The index of the length of its words, if its bytes are distributed as those of a literal part.
    class: Option<usize>,
    /// How many words were sampled.
    words: usize,
    /// How many of them occur twice, for each length.
    repeats: [usize; WORD_LENGTHS.len()],
}

impl NoiseDetector {
    /// The parts of `part_len` bytes that are best written without a search: bit `n` is that of part `n`. Two bytes of such a part are equal
    /// in at most `max_collisions` of 65,536 cases, and no more than `max_repeats` of 256 sampled words of it occur elsewhere in the stream.
    #[inline(never)]
    pub(in super::super) fn literal_parts(
        &mut self,
        stream: &[u8],
        part_len: usize,
        max_collisions: u64,
        max_repeats: usize,
    ) -> Result<u64> {
        debug_assert!(part_len.is_multiple_of(PIECE));
        let stream = &stream[..stream.len().min(MAX_PARTS * part_len)];
        // Not on the stack, which may be small.
        let mut parts = List::new();
        parts.resize(MAX_PARTS, Part::default())?;
        for (part, bytes) in parts.iter_mut().zip(stream.chunks_exact(part_len)) {
            let (distribution, collisions) = distribution(bytes);
            let has_runs = matches!(distribution, Distribution::Runs | Distribution::Sparse);
            part.is_sampled = !has_runs && collisions >= MIN_COLLISIONS;
            if part.is_sampled
                && collisions <= max_collisions
                && !self.shares_short_words(bytes, collisions)?
            {
                let len = word_len(stream.len(), collisions);
                part.class = len.and_then(|len| WORD_LENGTHS.iter().position(|word| len < *word));
            }
        }
        if parts.iter().all(|part| part.class.is_none()) {
            return Ok(0);
        }
        self.count_shared_words(stream, part_len, &mut parts)?;
        let is_literal = |part: &Part| {
            (part.class).is_some_and(|class| 256 * part.repeats[class] <= max_repeats * part.words)
        };
        Ok((0..MAX_PARTS).fold(0, |mask, n| mask | u64::from(is_literal(&parts[n])) << n))
    }

    /// Counts the words that occur in two parts, for both, and those that occur twice in one.
    fn count_shared_words(
        &mut self,
        stream: &[u8],
        part_len: usize,
        parts: &mut [Part],
    ) -> Result<()> {
        let search = SearchParams {
            window: 4 * stream.len(),
            min_match: 0,
            sampling: SAMPLING,
            expected_repeats: 0,
            huffman_only: false,
        };
        self.start(search, stream)?;
        let shift = u64::BITS - search.slots().ilog2();
        let mut mixed_bytes = core::mem::take(&mut self.mixed_bytes);
        mixed_bytes.clear();
        mixed_bytes.resize(2 * PIECE, 0)?;
        for (at, piece) in pieces(stream).enumerate() {
            let part_of = |piece: u64| (piece - self.first) as usize * PIECE / part_len;
            let this = self.first + at as u64;
            let nth = part_of(this);
            if !parts[nth].is_sampled {
                continue;
            }
            let pattern = mix(piece, false, &mut mixed_bytes);
            let positions = self.positions.find::<2>(pattern, (SAMPLING - 1) as u8)?;
            for &position in positions.iter().take(MAX_WORDS) {
                let Some(bytes) = stream[at * PIECE + usize::from(position)..].first_chunk() else {
                    continue;
                };
                let word = u128::from_le_bytes(*bytes);
                for (class, len) in WORD_LENGTHS.iter().enumerate() {
                    let hash = hash(word & (u128::MAX >> (128 - 8 * len)));
                    // Its length tells a word from a longer one that ends with zeros.
                    let hash = (hash ^ hash >> 32 ^ u64::from(*len)).wrapping_mul(HASH_FACTOR);
                    if let Some(earlier) = insert(&mut self.table, hash, shift, this)
                        && earlier >= self.first
                    {
                        parts[part_of(earlier)].repeats[class] += 1;
                        parts[nth].repeats[class] += 1;
                    }
                }
                parts[nth].words += 1;
            }
        }
        self.mixed_bytes = mixed_bytes;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests;
    use super::*;

    const PART: usize = 32 << 10;

    /// Random bytes below `values`.
    fn random(len: usize, values: u16, seed: u64) -> Vec<u8> {
        let bytes = tests::random(len, seed).into_iter();
        bytes
            .map(|byte| (u16::from(byte) * values / 256) as u8)
            .collect()
    }

    fn literal_parts(parts: &[&[u8]]) -> u64 {
        let stream = parts.concat();
        let found = NoiseDetector::default().literal_parts(&stream, PART, 65_536 * 4 / 15, 2);
        found.unwrap()
    }

    #[test]
    fn parts_of_independent_bytes_of_few_values_are_literals() {
        for values in [4, 10, 100] {
            let part = |seed| random(PART, values, seed);
            let (first, second, third) = (part(1), part(2), part(3));
            assert_eq!(literal_parts(&[&first, &second, &third]), 0b111);
            // A last part that is shorter is not looked at.
            assert_eq!(literal_parts(&[&first, &second[..PART - 1]]), 0b1);
            // What occurs twice is to be searched in both places.
            assert_eq!(literal_parts(&[&first, &second, &third, &first]), 0b110);
            let mut half = second.clone();
            half[PART / 2..].copy_from_slice(&first[..PART / 2]);
            assert_eq!(literal_parts(&[&first, &half, &third]), 0b100);
            let repeated = first[..3000].repeat(11)[..PART].to_vec();
            assert_eq!(literal_parts(&[&repeated, &second]), 0b10);
        }
    }

    #[test]
    fn noise_runs_and_two_values_are_no_literals() {
        let (noise, two) = (random(PART, 256, 1), random(PART, 2, 2));
        let runs: Vec<u8> = random(PART / 32, 10, 3).repeat(32);
        assert_eq!(literal_parts(&[&noise, &two, &[7; PART], &runs]), 0);
    }

    #[test]
    fn no_more_parts_than_there_are_bits() {
        let parts: Vec<Vec<u8>> = (0..70).map(|seed| random(PART, 20, seed)).collect();
        let parts: Vec<&[u8]> = parts.iter().map(|part| &part[..]).collect();
        assert_eq!(literal_parts(&parts), u64::MAX);
    }
}
