//! What a search for matches can find in a stream.

use super::histogram::{Histogram, is_uniform, moments};
use super::words::MAX_WORD;
use super::{NoiseDetector, pieces};
use oxiblosc_error::Result;

/// The shortest word of independent bytes that is looked up. The library's searches find no shorter match, except of three bytes, which saves
/// little.
const MIN_WORD: u32 = 4;
/// Words are so long that fewer than one in this many is repeated by chance.
const WORDS_PER_CHANCE: u64 = 32;

/// How the values of bytes are distributed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in super::super) enum Distribution {
    /// Runs: three quarters of the groups of eight bytes consist of one byte repeated.
    Runs,
    /// Most bytes have one value, but not in runs: two random bytes are equal more often than not.
    Sparse,
    /// Uniform in each piece: entropy codes save nothing.
    Uniform,
    /// Nearly even: two random bytes are equal in at most one of 16 cases.
    Even,
    /// Two random bytes are equal more often than that: entropy codes are short, so that short matches save nothing.
    Skewed,
}

/// The distribution in a stream, and in how many of 65,536 cases two random bytes are equal.
#[inline(never)]
pub(in super::super) fn distribution(stream: &[u8]) -> (Distribution, u64) {
    let mut counts = [0; 256];
    let mut uniform = true;
    for piece in pieces(stream) {
        let mut histogram = Histogram::EMPTY;
        histogram.add(piece);
        let mut here = [0; 256];
        histogram.add_to(&mut here);
        let (n, squares) = moments(&here);
        uniform &= is_uniform(n, squares);
        histogram.add_to(&mut counts);
    }
    let (n, squares) = moments(&counts);
    let [wide_n, wide_squares] = [n, squares].map(u128::from);
    let distribution = if uniform {
        Distribution::Uniform
    } else if 16 * wide_squares <= wide_n * wide_n {
        Distribution::Even
    } else if 4 * runs(stream) >= 3 * stream.len() / 8 {
        Distribution::Runs
    } else if 2 * wide_squares > wide_n * wide_n {
        Distribution::Sparse
    } else {
        Distribution::Skewed
    };
    // Pairs of a byte with itself do not count.
    let collisions = ((wide_squares - wide_n) << 16) / (wide_n * wide_n.saturating_sub(1)).max(1);
    (distribution, collisions as u64)
}

/// How many groups of eight bytes consist of one byte repeated.
#[inline(never)]
fn runs(bytes: &[u8]) -> usize {
    let (words, _) = bytes.as_chunks::<8>();
    let runs = words.iter().filter(|word| {
        let word = u64::from_ne_bytes(**word);
        word == word.rotate_left(8)
    });
    runs.count()
}

/// Whether some group of 64 bytes of a stream has about as many different values as 64 random base64 digits, or more: 41 on average. Text has some
/// 25.
#[inline(never)]
pub(in super::super) fn has_noise(stream: &[u8]) -> bool {
    const GROUP: usize = 64;
    const MIN_VALUES: u32 = 36;
    let (groups, _) = stream.as_chunks::<GROUP>();
    groups.iter().any(|group| {
        let mut seen = [0_u64; 4];
        for byte in group {
            seen[usize::from(byte >> 6)] |= 1 << (byte & 63);
        }
        seen.iter().map(|seen| seen.count_ones()).sum::<u32>() >= MIN_VALUES
    })
}

/// Whether bytes are more often equal to one that lies two to four before them than to the one before, as codes of categories are that
/// come several times in a row, but take turns with others.
#[inline(never)]
pub(in super::super) fn takes_turns(stream: &[u8]) -> bool {
    const LONGEST_TURN: usize = 4;
    let equal_at = |distance: usize| {
        let later = stream.get(distance..).unwrap_or_default();
        let pairs = stream.iter().zip(later);
        pairs.filter(|(byte, later)| byte == later).count()
    };
    let enough = 2 * equal_at(1) + stream.len() / 8;
    (2..=LONGEST_TURN).any(|distance| equal_at(distance) > enough)
}

/// The shortest word length for which hardly any word is repeated by chance in a stream of `len` bytes. Two of its bytes are equal in
/// `collisions` of 65,536 cases, so that two words of `w` independent bytes are equal with that probability to the power of `w`.
///
/// A match of that length would also take fewer bits than codes for its bytes: it takes about the logarithm of the stream's length for the distance and
/// a few bits for the length, and saves the logarithm of the probability for each byte.
fn word_len(len: usize, collisions: u64) -> Option<u32> {
    let mut expected = (len as u64 * WORDS_PER_CHANCE) << 16;
    (1..=MAX_WORD)
        .find(|_| {
            expected = (expected * collisions) >> 16;
            expected >> 16 == 0
        })
        .map(|word| word.max(MIN_WORD))
}

impl NoiseDetector {
    /// How many of 256 words of `word_len` bytes of a stream occurred before in it. It stops when more than `enough` are.
    pub(in super::super) fn repeats(
        &mut self,
        stream: &[u8],
        word_len: u32,
        enough: usize,
    ) -> Result<usize> {
        let most = enough * stream.len() / 256;
        let repeats = self.words.repeats(stream, word_len, usize::MAX, most)?;
        Ok((256 * repeats).div_ceil(stream.len().max(1)))
    }

    /// As [`Self::repeats`], with words that are so long that chance repeats hardly any, where two bytes of the stream are equal in `collisions` of
    /// 65,536 cases. None if they would be too long.
    pub(in super::super) fn long_repeats(
        &mut self,
        stream: &[u8],
        collisions: u64,
        enough: usize,
    ) -> Result<Option<usize>> {
        let Some(word_len) = word_len(stream.len(), collisions) else {
            return Ok(None);
        };
        let most = enough * stream.len() / 256;
        let repeats = self.words.repeats(stream, word_len, usize::MAX, most)?;
        Ok(Some(256 * repeats / stream.len().max(1)))
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
        const SLOT_BITS: u32 = 15;
        // Not on the stack, which may be small.
        self.short_words.clear();
        self.short_words.resize(1 << SLOT_BITS, 0)?;
        let counts = &mut self.short_words;
        for word in stream.array_windows() {
            let hash = u32::from_le_bytes(*word).wrapping_mul(0x9E37_79B1);
            let count = &mut counts[(hash >> (u32::BITS - SLOT_BITS)) as usize];
            *count = count.saturating_add(1);
        }
        let (mut pairs, mut words) = (0_u128, 0_u128);
        for count in counts.iter().map(|count| u128::from(*count)) {
            pairs += count * count.saturating_sub(1) / 2;
            words += count;
        }
        let all = words * words.saturating_sub(1) / 2;
        let collisions = u128::from(collisions);
        let by_value = (0..size_of::<u32>()).fold(all, |pairs, _| (pairs * collisions) >> 16);
        // Words of different bytes may share a slot. For independent bytes the number of pairs differs by a third from what is expected.
        Ok(pairs > 2 * (by_value + (all >> SLOT_BITS)))
    }
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
}
