//! Streams too short for samples to tell anything: every byte is counted, and every word looked for.

use super::words::Words;
use super::{FEW, is_chance};
use oxiblosc_error::Result;

/// The bytes that tell most streams that are not noise.
const GLANCE: usize = 64;

/// Judges such streams; one per worker.
#[derive(Default)]
pub(super) struct Short(Words<13>);

impl Short {
    /// Whether a stream is noise, which no codec shortens.
    pub(super) fn fills(&mut self, stream: &[u8]) -> Result<bool> {
        Ok(is_even(stream) && self.0.hardly_repeat(stream, stream.len() / FEW)?)
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
            assert!(
                short.fills(&random(len, len as u64)).unwrap(),
                "{len} bytes"
            );
        }
        // More streams than there are numbers for.
        let one = random(32, 1);
        assert!((0..70_000).all(|_| short.fills(&one).unwrap()));
    }

    #[test]
    fn what_is_repeated_or_uneven_is_not() {
        let mut short = Short::default();
        for len in [32, 64, 128, 500, 4000] {
            let bytes = random(len, 1);
            assert!(short.fills(&bytes).unwrap(), "{len} bytes");
            // One word more than is not worth it, and as many again that others may hide.
            let n = 2 * (len / FEW) + 4;
            for (from, to) in [(0, len - n), (3, len / 2), (len / 4, len / 2 + 1)] {
                let mut twice = bytes.clone();
                twice.copy_within(from..from + n, to);
                assert!(
                    !short.fills(&twice).unwrap(),
                    "{len} bytes, {n} at {from} and {to}"
                );
            }
            let few: Vec<u8> = bytes.iter().map(|byte| byte % 16).collect();
            assert!(
                !short.fills(&few).unwrap(),
                "{len} bytes, of sixteen values"
            );
            let mut end = bytes.clone();
            end[len / 2..].fill(7);
            assert!(
                !short.fills(&end).unwrap(),
                "{len} bytes, half of them the same"
            );
        }
    }
}
