//! Finds streams whose bytes are independent of each other. Entropy codes make such a stream smaller; matches in it are due to chance.
//!
//! If two bytes are equal with probability `p`, two words of `w` independent bytes are equal with probability `p` to the power of `w`. The
//! words that are looked up are so long that hardly two in a stream are equal by chance. A match of that length would also take fewer bits
//! than codes for its bytes: it takes about the logarithm of the stream's length for the distance and a few bits for the length, and saves
//! the logarithm of `1 / p` for each byte.

use super::{HASH_FACTOR, NoiseDetector, PIECE, SearchParams, WORD_BITS, WORD_MASK, pieces};
use oxiblosc_error::Result;

/// The shortest word. The library's searches find no shorter match, except of three bytes, which saves little.
const MIN_WORD: u32 = 4;
/// The longest word.
const MAX_WORD: u32 = 16;
/// Words are so long that fewer than one in this many is repeated by chance.
const WORDS_PER_CHANCE: u64 = 32;
/// Which of each eight pieces are sampled. Two of them lie at each distance from one piece to seven (a Golomb ruler), so that periodic data of
/// any period are recognised. Of other repeats half are missed.
const IS_SAMPLED: [bool; 8] = [true, true, false, false, true, false, true, false];
/// Fewer sampled words are too few for a conclusion.
const MIN_WORDS: usize = 48;

/// The shortest word length for which hardly any word is repeated by chance in a stream of `len` bytes. Two of its bytes are equal in
/// `collisions` of 65,536 cases.
pub(super) fn word_len(len: usize, collisions: u64) -> Option<u32> {
    let mut expected = (len as u64 * WORDS_PER_CHANCE) << 16;
    (1..=MAX_WORD)
        .find(|_| {
            expected = (expected * collisions) >> 16;
            expected >> 16 == 0
        })
        .map(|word| word.max(MIN_WORD))
}

#[inline(always)]
pub(super) fn hash(word: u128) -> u64 {
    let folded = word as u64 ^ ((word >> 64) as u64).rotate_left(29);
    folded.wrapping_mul(HASH_FACTOR)
}

/// Notes that a word with this hash occurs in piece `this`, and returns the piece that the table has for it. The upper bits of the hash, above
/// `shift`, select the slot, and 40 other bits stand for the word.
#[inline(always)]
pub(super) fn insert(table: &mut [u64], hash: u64, shift: u32, this: u64) -> Option<u64> {
    let tag = (hash >> 8) & WORD_MASK;
    let entry = &mut table[(hash >> shift) as usize];
    let earlier = core::mem::replace(entry, tag | this << WORD_BITS);
    (earlier & WORD_MASK == tag).then_some(earlier >> WORD_BITS)
}

impl NoiseDetector {
    /// How many of 256 sampled words occurred before in a stream. Two bytes of the stream are equal in `collisions` of 65,536 cases, which
    /// decides how long the words are. `None` if there are too few samples. It stops early when more than `enough` of 256 words or nearly
    /// all words are repeated.
    #[inline(never)]
    pub(in super::super) fn long_repeats(
        &mut self,
        stream: &[u8],
        collisions: u64,
        enough: usize,
    ) -> Result<Option<usize>> {
        let Some(word_len) = word_len(stream.len(), collisions) else {
            return Ok(None);
        };
        let search = SearchParams {
            window: stream.len().max(16 * PIECE),
            min_match: word_len,
            sampling: (stream.len() >> 9).next_power_of_two().clamp(16, 64),
            expected_repeats: 0,
            huffman_only: false,
        };
        self.start(search, stream)?;
        let sampled = IS_SAMPLED.iter().filter(|yes| **yes).count();
        let enough = enough * stream.len() / search.sampling / 256 * sampled / IS_SAMPLED.len();
        let mask = u128::MAX >> (128 - 8 * word_len);
        let shift = u64::BITS - search.slots().ilog2();
        let (mut words, mut repeats) = (0, 0);
        let mut mixed_bytes = core::mem::take(&mut self.mixed_bytes);
        mixed_bytes.clear();
        mixed_bytes.resize(2 * PIECE, 0)?;
        for (at, piece) in pieces(stream)
            .enumerate()
            .filter(|(at, _)| IS_SAMPLED[at % 8])
        {
            // Whether a word is sampled must depend on its own bytes alone, so short words are chosen by four bytes.
            let pattern = mix(piece, word_len >= 8, &mut mixed_bytes);
            let positions = self
                .positions
                .find::<8>(pattern, (search.sampling - 1) as u8)?;
            let this = self.first + at as u64;
            for &position in positions {
                let Some(bytes) = stream[at * PIECE + usize::from(position)..].first_chunk() else {
                    continue;
                };
                let hash = hash(u128::from_le_bytes(*bytes) & mask);
                let earlier = insert(&mut self.table, hash, shift, this);
                repeats += usize::from(earlier.is_some_and(|piece| piece >= self.first));
                words += 1;
            }
            // If two pieces have so few samples, they have a short period.
            if at > 0 && words < MIN_WORDS {
                break;
            }
            if words >= MIN_WORDS && (repeats > enough || 10 * repeats > 9 * words) {
                break;
            }
        }
        self.mixed_bytes = mixed_bytes;
        Ok((words >= MIN_WORDS).then(|| 256 * repeats / words))
    }

    /// Whether words of four bytes occur more often in a stream than they would if its bytes were independent, two of which are equal in
    /// `collisions` of 65,536 cases. A search finds such words, as in codes of categories that come several times in a row, even if no long
    /// word occurs twice.
    #[inline(never)]
    pub(in super::super) fn shares_short_words(
        &mut self,
        stream: &[u8],
        collisions: u64,
    ) -> Result<bool> {
        /// So many samples of so many bytes are looked at.
        const SAMPLES: usize = 32;
        const SAMPLE: usize = 64;
        const SLOT_BITS: u32 = 15;
        // Not on the stack, which may be small.
        self.short_words.clear();
        self.short_words.resize(1 << SLOT_BITS, 0)?;
        let counts = &mut self.short_words;
        let (mut pairs, mut words) = (0_u64, 0_u64);
        for sample in stream.chunks_exact((stream.len() / SAMPLES).max(SAMPLE)) {
            for word in sample[..SAMPLE].array_windows() {
                let hash = u32::from_le_bytes(*word).wrapping_mul(0x9E37_79B1);
                let count = &mut counts[(hash >> (u32::BITS - SLOT_BITS)) as usize];
                pairs += u64::from(*count);
                *count = count.saturating_add(1);
                words += 1;
            }
        }
        let all = words * words.saturating_sub(1) / 2;
        let by_value = (0..size_of::<u32>()).fold(all, |pairs, _| (pairs * collisions) >> 16);
        // Words of different bytes may share a slot. For independent bytes the number of pairs differs by a third from what is expected.
        Ok(pairs > 2 * (by_value + (all >> SLOT_BITS)))
    }
}

/// Replaces each byte by one that depends on four bytes, itself and the next three, or on eight with `eight`. Each step doubles the number
/// of bytes. The last bytes of a piece are left as they are in `mixed`.
#[inline(never)]
pub(super) fn mix<'a>(piece: &[u8], eight: bool, mixed: &'a mut [u8]) -> &'a [u8] {
    const GROUP: usize = 64;
    let groups = mixed.as_chunks_mut::<GROUP>().0.iter_mut();
    for (group, mixed) in piece.windows(GROUP + 7).step_by(GROUP).zip(groups) {
        let mut one = [0; GROUP + 7];
        for (one, byte) in one.iter_mut().zip(group) {
            *one = byte ^ (byte >> 3);
        }
        let mut two = [0; GROUP + 6];
        for (i, two) in two.iter_mut().enumerate() {
            *two = one[i].wrapping_add(times(one[i + 1], 2));
        }
        let mut four = [0; GROUP + 4];
        for (i, four) in four.iter_mut().enumerate() {
            *four = two[i] ^ times(two[i + 2], 3);
        }
        if !eight {
            mixed.copy_from_slice(&four[..GROUP]);
            continue;
        }
        for (i, mixed) in mixed.iter_mut().enumerate() {
            *mixed = four[i].wrapping_add(times(four[i + 4], 4));
        }
    }
    &mixed[..piece.len()]
}

/// `byte * (2^log + 1)`, by additions, because vector units have no multiplication of bytes.
#[inline(always)]
fn times(byte: u8, log: u32) -> u8 {
    (0..log)
        .fold(byte, |product, _| product.wrapping_add(product))
        .wrapping_add(byte)
}

#[cfg(test)]
mod tests {
    use super::super::tests::random;
    use super::*;

    /// Bytes below `values`, independent of one another.
    fn of(values: u32, len: usize, seed: u64) -> Vec<u8> {
        let scaled = |byte: &u8| (u32::from(*byte) * values / 256) as u8;
        random(len, seed).iter().map(scaled).collect()
    }

    fn long_repeats(stream: &[u8], values: u64) -> Option<usize> {
        NoiseDetector::default()
            .long_repeats(stream, 65_536 / values, 256)
            .unwrap()
    }

    #[test]
    fn words_are_long_enough_that_chance_repeats_none() {
        assert_eq!(word_len(32 << 10, 65_536 / 256), Some(4), "at least");
        assert_eq!(word_len(32 << 10, 65_536 / 25), Some(5));
        assert_eq!(word_len(64 << 10, 65_536 / 25), Some(5));
        assert_eq!(word_len(64 << 10, 65_536 / 4), Some(11));
        assert_eq!(word_len(64 << 10, 65_536 / 2), None, "too long");
    }

    fn shares_short_words(stream: &[u8], values: u32) -> bool {
        NoiseDetector::default()
            .shares_short_words(stream, 65_536 / u64::from(values))
            .unwrap()
    }

    #[test]
    fn short_words_are_found_where_bytes_depend_on_each_other() {
        for len in [16 << 10, 100_003] {
            for values in [3, 10, 40, 200] {
                let stream = of(values, len, values.into());
                let shares = |stream: &[u8]| shares_short_words(stream, values);
                assert!(!shares(&stream), "{values}");
                // Each byte up to eight times in a row.
                let times = of(8, len, 1);
                let runs = stream.iter().zip(times);
                let in_runs: Vec<u8> = runs
                    .flat_map(|(byte, times)| std::iter::repeat_n(*byte, usize::from(times) + 1))
                    .take(len)
                    .collect();
                assert!(shares(&in_runs), "{values}");
            }
            assert!(!shares_short_words(&random(len, 7), 256));
        }
        assert!(!shares_short_words(&[], 256) && shares_short_words(&[0; 70], 256));
    }

    #[test]
    fn independent_bytes_repeat_nothing_and_others_do() {
        let len = 48 << 10;
        for values in [4, 8, 25, 100, 200] {
            let stream = of(values, len, values.into());
            let chance = long_repeats(&stream, values.into());
            assert!(matches!(chance, Some(..=5)), "{values}: {chance:?}");

            let mut far = stream.clone();
            far.copy_within(..len / 4, len / 2);
            let repeats = long_repeats(&far, values.into()).unwrap();
            assert!((16..96).contains(&repeats), "{values}: {repeats}");

            let near = stream[..2000].repeat(len / 2000);
            assert!(long_repeats(&near, values.into()) > Some(200), "{values}");
        }
        assert_eq!(long_repeats(&vec![7; len], 1), None);
    }

    #[test]
    fn bytes_of_two_equal_halves_are_sampled() {
        // Decimal fractions have such bytes: 0.2 is 0x3FC999...
        let stream: Vec<u8> = of(5, 32 << 10, 1).iter().map(|byte| byte * 0x33).collect();
        let repeats = long_repeats(&stream, 5);
        assert!(repeats.is_some_and(|repeats| repeats <= 2), "{repeats:?}");
    }

    #[test]
    fn streams_are_judged_by_themselves() {
        let stream = of(25, 32 << 10, 1);
        let mut noise = NoiseDetector::default();
        for _ in 0..3 {
            let repeats = noise.long_repeats(&stream, 65_536 / 25, 256).unwrap();
            assert!(repeats <= Some(5), "{repeats:?}");
        }
    }
}
