//! Chooses the size of items for a file of plain bytes, by compressing samples of it.

use crate::failure::{Failure, Result};
use crate::library::{Place, SuperChunk};
use crate::settings::Settings;
use oxiblosc_base::Error;
use oxiblosc_base::memory::Buffer;
use oxiblosc_repair::is_fault;

/// Sizes that are tried besides 1, in bytes: numbers, pixels of three bytes, and pairs and triples
/// of numbers.
const TRIED: [i32; 6] = [2, 3, 4, 8, 12, 16];
/// Bytes of a sample: a multiple of all sizes, so that each begins with an item.
pub const SAMPLE: usize = 48 << 10;
/// The most samples of a file.
pub const SAMPLES: u64 = 16;
/// Bytes of a longer piece. A file of single bytes gets large blocks, in which matches may be far
/// apart; samples are too short for those.
pub const PIECE: usize = 5 * SAMPLE;
/// The most pieces of a file.
pub const PIECES: u64 = 4;
/// At most one in this many bytes of a file is read.
const SHARE: u64 = 20;
/// A size is chosen only if the compressed samples become smaller by this many percent, since less
/// may be chance,
const GAIN: usize = 2;
/// and by one in this many bytes of the uncompressed samples: if they compress to almost nothing,
/// the larger blocks of the file compress so differently that samples prove little.
const PART: usize = 200;
/// The level at which samples are compressed: a fast one, which chooses the same sizes as the
/// others.
const LEVEL: u8 = 1;

/// The positions of at most `most` samples of `len` bytes, evenly spaced in a file of `size` bytes.
pub fn places(size: u64, len: usize, most: u64) -> Vec<u64> {
    let sample = len as u64;
    let whole = size / sample;
    let count = (size / (sample * SHARE)).clamp(1, most).min(whole);
    (0..count).map(|nth| nth * whole / count * sample).collect()
}

/// The size of items, in bytes, with which the samples compress best; 1 if none helps enough.
/// `settings` returns the parameters for a size, `failed` the failure for an error that does not
/// depend on it.
pub fn best(
    samples: &[Buffer],
    settings: impl Fn(i32) -> Result<Settings>,
    failed: impl Fn(Error) -> Failure,
) -> Result<i32> {
    let size = |typesize| -> Result<usize> {
        let settings = Settings {
            level: LEVEL,
            threads: 1,
            dict: false,
            ..settings(typesize)?
        };
        compressed(samples, &settings).map_err(&failed)
    };
    let plain = size(1)?;
    let nbytes = samples.iter().map(|sample| sample.len()).sum::<usize>();
    let least = (plain / 100 * GAIN).max(nbytes / PART);
    let mut best = (plain.saturating_sub(least), 1);
    for typesize in TRIED {
        best = best.min((size(typesize)?, typesize));
    }
    Ok(best.1)
}

/// Whether longer pieces compress better with `chosen` than with `plain`, too. True if there are
/// none.
pub fn is_better(
    pieces: &[Buffer],
    chosen: &Settings,
    plain: &Settings,
) -> std::result::Result<bool, Error> {
    Ok(pieces.is_empty() || compressed(pieces, chosen)? < compressed(pieces, plain)?)
}

/// The size of the compressed samples, in bytes; with parameters that the codec refuses more than
/// any other.
fn compressed(samples: &[Buffer], settings: &Settings) -> std::result::Result<usize, Error> {
    match try_compressed(samples, settings) {
        Err(error) if !is_fault(error) => Ok(usize::MAX),
        size => size,
    }
}

fn try_compressed(samples: &[Buffer], settings: &Settings) -> std::result::Result<usize, Error> {
    let contexts = SuperChunk::new(Place::Memory, settings)?;
    let mut buffer = Buffer::new();
    let sizes = samples
        .iter()
        .map(|sample| contexts.compress_into(sample, false, &mut buffer));
    sizes.sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compress::defaults;

    fn chosen(data: &[u8]) -> i32 {
        let samples = data.chunks_exact(SAMPLE).map(Buffer::copy_of);
        let samples: Vec<Buffer> = samples.map(|sample| sample.expect("memory")).collect();
        let failed = |error| Failure::of("samples", error);
        best(&samples, |typesize| Ok(defaults(typesize, 1)), failed).expect("chosen")
    }

    #[test]
    fn numbers_are_found() {
        let walk = |n: usize| (n as f64 / 1000.0).sin() * 20.0 + (n % 7) as f64 / 100.0;
        let floats: Vec<u8> = (0..SAMPLE / 4)
            .flat_map(|n| walk(n).to_le_bytes())
            .collect();
        assert_eq!(chosen(&floats), 8);
        let integers = (0..SAMPLE as i32).flat_map(|n| (n * 3 + n % 5).to_le_bytes());
        assert_eq!(chosen(&Vec::from_iter(integers)), 4);
        let shorts = (0..SAMPLE).flat_map(|n| ((walk(n) * 100.0) as i16).to_le_bytes());
        assert_eq!(chosen(&Vec::from_iter(shorts)), 2);
    }

    #[test]
    fn what_is_no_numbers_stays_as_it_is() {
        let sources = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/src"));
        let paths = sources
            .expect("a folder")
            .map(|file| file.expect("a file").path());
        let files = paths.filter(|path| path.is_file());
        let text: Vec<u8> = files
            .flat_map(|path| std::fs::read(path).expect("text"))
            .collect();
        assert!(text.len() > 2 * SAMPLE);
        assert_eq!(chosen(&text), 1);
        let noise = oxiblosc_testing::noise(SAMPLE * 2);
        assert_eq!(chosen(&noise), 1);
        assert_eq!(chosen(&[]), 1);
    }

    #[test]
    fn samples_lie_within_the_file() {
        for (len, most) in [(SAMPLE, SAMPLES), (PIECE, PIECES)] {
            let unit = len as u64;
            assert_eq!(places(100, len, most), []);
            assert_eq!(places(unit, len, most), [0]);
            for size in [1_000_000, 50_000_000, 1 << 40] {
                let places = places(size, len, most);
                let last = places.last().expect("some");
                assert!(last + unit <= size && places.len() as u64 <= most);
                assert!(places.iter().all(|place| place.is_multiple_of(unit)));
            }
        }
    }
}
