//! Detects data that consist of one repeated byte.

use super::simd;
use simd::bytes::PIECE;

/// How many bytes are compared first. They are enough to recognise nearly all data that are not a
/// run.
const FRONT: usize = 16;

/// The byte of which `data` consists; `None` if the data are empty or not a run.
#[inline]
pub fn run_of(data: &[u8]) -> Option<u8> {
    let value = *data.first()?;
    let is_run = match data.split_first_chunk::<FRONT>() {
        None => data.iter().all(|byte| *byte == value),
        Some((prefix, _)) if *prefix != [value; FRONT] => false,
        // Each byte is compared with the one `FRONT` before it, by `memcmp`. For short data that
        // takes less time than a kernel needs to start.
        Some((_, rest)) if data.len() <= PIECE => *rest == data[..rest.len()],
        Some((_, rest)) => simd::best().repeats(value, rest),
    };
    is_run.then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_different_byte_makes_it_not_a_run() {
        assert_eq!(run_of(&[]), None);
        for len in (1..40).chain([512, 513, 529, 1041, 5000]) {
            let mut data = vec![7; len];
            assert_eq!(run_of(&data), Some(7));
            for kernels in simd::supported() {
                assert!(kernels.repeats(7, &data) && !kernels.repeats(6, &data));
            }
            for at in (1..len).filter(|at| at % 13 == 0 || at + 3 > len) {
                data[at] = 6;
                assert_eq!(run_of(&data), None, "{at} of {len}");
                for kernels in simd::supported() {
                    assert!(!kernels.repeats(7, &data), "{} {at}", kernels.name());
                }
                data[at] = 7;
            }
        }
    }
}
