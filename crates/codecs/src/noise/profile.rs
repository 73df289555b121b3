//! What a search for matches can find in a stream.

use super::NoiseDetector;
use oxiblosc_base::Result;

/// Whether some group of 64 bytes of a stream has about as many different values as 64 random
/// base64 digits, or more: 41 on average. Text has some 25.
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

impl NoiseDetector {
    /// How many of 256 words of a stream occurred before in it. It stops when more than `enough`
    /// are. Words are so long that those of planes of few values are not repeated by chance alone.
    pub(in super::super) fn repeats(&mut self, stream: &[u8], enough: usize) -> Result<usize> {
        const WORD: u32 = 8;
        let most = enough * stream.len() / 256;
        let repeats = self.words.repeats(stream, WORD, usize::MAX, most)?;
        Ok(256 * repeats / stream.len().max(1))
    }
}
