//! What a search for matches can find in a stream, judging by a few samples.

use super::{Histogram, NoiseDetector, PIECE, SAMPLE, SearchParams, is_uniform, pieces, runs};
use oxiblosc_error::Result;

/// How the values of bytes are distributed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in super::super) enum Distribution {
    /// Runs: three quarters of the groups of eight bytes consist of one byte repeated.
    Runs,
    /// Most bytes have one value, but not in runs: two random bytes are equal more often than not.
    Sparse,
    /// Uniform: entropy codes save nothing.
    Uniform,
    /// Nearly even: two random bytes are equal in at most one of 16 cases.
    Even,
    /// Two random bytes are equal more often than that: entropy codes are short, so that short matches save nothing.
    Skewed,
}

/// The distribution in samples of a stream, and in how many of 65,536 cases two random bytes are equal. If a few samples look uniform, more
/// are taken.
#[inline(never)]
pub(in super::super) fn distribution(stream: &[u8]) -> (Distribution, u64) {
    const FEW: usize = 8;
    const MANY: usize = 16;
    let (n, squares) = count(samples(stream, FEW));
    let distribution = if 16 * squares > n * n {
        let runs: usize = samples(stream, FEW).map(runs).sum();
        match 4 * 8 * runs >= 3 * n as usize {
            true => Distribution::Runs,
            false if 2 * squares > n * n => Distribution::Sparse,
            false => Distribution::Skewed,
        }
    } else {
        let uniform = is_uniform(n, squares) && {
            let (n, squares) = count(samples(stream, MANY));
            is_uniform(n, squares)
        };
        match uniform {
            true => Distribution::Uniform,
            false => Distribution::Even,
        }
    };
    // Pairs of a byte with itself do not count.
    let collisions = ((squares - n) << 16) / (n * (n - 1)).max(1);
    (distribution, collisions)
}

/// Whether two samples of a stream have as many different values as random bytes do: 57 in 64 bytes on average. This is a first test that
/// takes next to no time.
pub(in super::super) fn looks_uniform(stream: &[u8]) -> bool {
    /// Five times the standard deviation below the average.
    const MIN_VALUES: u32 = 45;
    [stream.len() / 2, stream.len() / 5 * 4]
        .iter()
        .all(|at| values(&stream[*at..]) >= MIN_VALUES)
}

/// Whether some sample of a stream has about as many different values as 64 random base64 digits, or more: 41 on average. Text has some 25.
#[inline(never)]
pub(in super::super) fn has_noise(stream: &[u8]) -> bool {
    const SAMPLE_INTERVAL: usize = 1024;
    const MIN_VALUES: u32 = 36;
    stream
        .chunks(SAMPLE_INTERVAL)
        .any(|chunk| values(&chunk[chunk.len() / 2..]) >= MIN_VALUES)
}

/// Whether bytes are more often equal to one that lies two to four before them than to the one before, as codes of categories are that
/// come several times in a row, but take turns with others.
#[inline(never)]
pub(in super::super) fn takes_turns(stream: &[u8]) -> bool {
    const SAMPLES: usize = 32;
    const LONGEST_TURN: usize = 4;
    let equal_at = |distance: usize| -> usize {
        samples(stream, SAMPLES)
            .map(|bytes| bytes.iter().zip(&bytes[distance..]))
            .map(|pairs| pairs.filter(|(byte, later)| byte == later).count())
            .sum()
    };
    let enough = 2 * equal_at(1) + SAMPLES * SAMPLE / 8;
    (2..=LONGEST_TURN).any(|distance| equal_at(distance) > enough)
}

/// How many different values the first `SAMPLE` bytes have.
fn values(bytes: &[u8]) -> u32 {
    let mut seen = [0_u64; 4];
    for byte in bytes.iter().take(SAMPLE) {
        seen[usize::from(byte >> 6)] |= 1 << (byte & 63);
    }
    seen.iter().map(|seen| seen.count_ones()).sum()
}

/// Samples of a stream, at irregular positions.
fn samples(stream: &[u8], number: usize) -> impl Iterator<Item = &[u8]> {
    let groups = stream.chunks_exact((stream.len() / number).max(SAMPLE));
    groups.zip(0_u32..).map(|(group, i)| {
        let free = (group.len() - SAMPLE) as u64;
        let at = (free * u64::from(i.wrapping_mul(0x9E37_79B9))) >> 32;
        &group[at as usize..][..SAMPLE]
    })
}

/// Counts the bytes in samples. Returns the number of bytes, and the sum of the squares of the counts of all values.
#[inline(never)]
fn count<'a>(samples: impl Iterator<Item = &'a [u8]>) -> (u64, u64) {
    let mut histogram = Histogram::EMPTY;
    samples.for_each(|sample| histogram.add(sample));
    let mut all = [0; 256];
    histogram.add_to(&mut all);
    all.iter().fold((0, 0), |(n, squares), count| {
        let count = u64::from(*count);
        (n + count, squares + count * count)
    })
}

impl NoiseDetector {
    /// How many of 256 sampled words of a stream occurred before in it; `None` if there are too few samples.
    ///
    /// Words are chosen by their first byte, or, with `mixed`, by their first three bytes. The latter takes longer, but suits streams in
    /// which a few values are frequent. Words of zeros are not sampled. With `quarter`, only a quarter of the stream is sampled. It stops
    /// when the result will be at least `enough` even if nothing in the rest of the stream is repeated.
    #[inline(never)]
    pub(in super::super) fn repeats(
        &mut self,
        stream: &[u8],
        mixed: bool,
        quarter: bool,
        enough: usize,
    ) -> Result<Option<usize>> {
        const MIN_WORDS: usize = 64;
        let most = if quarter { 64 } else { 128 };
        let sampling = (stream.len() >> 9).next_power_of_two().clamp(16, most);
        let search = SearchParams {
            window: stream.len().max(16 * PIECE),
            min_match: 5,
            sampling,
            expected_repeats: 0,
            huffman_only: false,
        };
        self.start(search, stream)?;
        let (mut words, mut count) = (0, 0);
        // Cleared, so that earlier streams do not influence which words are sampled.
        let mut mixed_bytes = core::mem::take(&mut self.mixed_bytes);
        mixed_bytes.clear();
        mixed_bytes.resize(if mixed { 2 * PIECE } else { 0 }, 0)?;
        // Two pieces of eight.
        let is_sampled = |(at, _): &(usize, _)| !quarter || matches!(at % 8, 1 | 2);
        for (at, piece) in pieces(stream).enumerate().filter(is_sampled) {
            let pattern = match mixed {
                true => mix(piece, &mut mixed_bytes),
                false => piece,
            };
            let repeats = self.sample_where(search, piece, pattern, at)?;
            words += repeats.words;
            count += repeats.count as usize;
            // The whole stream has as many words for its length as what was sampled of it.
            let [done, all] = [(at + 1) * PIECE, stream.len()].map(|len| len as u64);
            let is_enough = 256 * count as u64 * done > enough as u64 * words as u64 * all;
            if words >= MIN_WORDS && is_enough {
                break;
            }
        }
        self.mixed_bytes = mixed_bytes;
        Ok((words >= MIN_WORDS).then(|| (256 * count).div_ceil(words)))
    }
}

/// Replaces each byte by one that depends on three bytes: itself and the next two. The last bytes of a piece are left as they are in `mixed`.
#[inline(never)]
fn mix<'a>(piece: &[u8], mixed: &'a mut [u8]) -> &'a [u8] {
    const GROUP: usize = 64;
    let groups = mixed.as_chunks_mut::<GROUP>().0.iter_mut();
    for (group, mixed) in piece.windows(GROUP + 2).step_by(GROUP).zip(groups) {
        for (i, mixed) in mixed.iter_mut().enumerate() {
            let (b, c) = (group[i + 1], group[i + 2]);
            let (twice_b, twice_c) = (b.wrapping_add(b), c.wrapping_add(c));
            *mixed =
                group[i] ^ b.wrapping_add(twice_b) ^ c.wrapping_add(twice_c).wrapping_add(twice_c);
        }
    }
    &mixed[..piece.len()]
}
