//! Byte histograms, and tests whether they are those of random bytes.

use super::pieces::{PIECE, pieces};
use super::stretches::Method;

/// The bytes at the start of a piece that are tested first. They are enough to recognise most
/// compressible pieces.
const PREFIX: usize = 512;
/// The same of a stream that is one short piece.
const SHORT_PREFIX: usize = 64;

/// Whether the bytes of each piece are uniformly distributed.
#[inline(never)]
pub(super) fn all_uniform(stream: &[u8]) -> bool {
    if stream.len() < 2 * PIECE {
        return is_short_uniform(stream);
    }
    // From the last piece on: there lie the high bytes of numbers, which show most compressible
    // streams.
    pieces(stream).rev().all(|piece| {
        let mut histogram = Histogram::EMPTY;
        histogram.add_prefix(piece) == Method::Store && histogram.add_rest(piece) == Method::Store
    })
}

/// Whether the bytes of a short stream are uniformly distributed.
fn is_short_uniform(stream: &[u8]) -> bool {
    let mut counts = [0_u16; 256];
    let (mut n, mut squares) = (0, 0);
    let (prefix, rest) = stream.split_at(stream.len().min(SHORT_PREFIX));
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

/// A byte histogram. Alternate bytes are counted in two tables, because loading a count that was
/// just stored stalls.
pub(super) struct Histogram([[u16; 256]; 2]);

impl Histogram {
    pub(super) const EMPTY: Self = Self([[0; 256]; 2]);

    #[inline(never)]
    fn add(&mut self, bytes: &[u8]) {
        let (eights, rest) = bytes.as_chunks::<8>();
        for eight in eights {
            let eight = u64::from_le_bytes(*eight);
            for i in 0..8 {
                self.0[i % 2][usize::from((eight >> (8 * i)) as u8)] += 1;
            }
        }
        for &byte in rest {
            self.0[0][usize::from(byte)] += 1;
        }
    }

    /// Counts the prefix of a piece, and chooses a method by it. A piece that is shorter than usual
    /// gets a search.
    pub(super) fn add_prefix(&mut self, piece: &[u8]) -> Method {
        if piece.len() < PIECE {
            return Method::Search;
        }
        self.add(&piece[..PREFIX]);
        self.method()
    }

    /// Counts the bytes behind the prefix, and chooses a method by all of the piece.
    pub(super) fn add_rest(&mut self, piece: &[u8]) -> Method {
        self.add(&piece[PREFIX..]);
        self.method()
    }

    fn add_to(&self, all: &mut [u32; 256]) {
        let [even, odd] = &self.0;
        for ((count, even), odd) in all.iter_mut().zip(even).zip(odd) {
            *count += u32::from(*even) + u32::from(*odd);
        }
    }

    fn method(&self) -> Method {
        let mut all = [0; 256];
        self.add_to(&mut all);
        method(&all)
    }
}

/// Pearson's chi-square test for a uniform distribution of `n` bytes, given the sum of the squares
/// of their counts.
///
/// For random bytes chi-square is 255 on average, whatever `n` is. Where Huffman codes would
/// save 0.023 bits per byte, it is larger by `n / 32`; so little is not worth the time.
fn is_uniform(n: u64, squares: u64) -> bool {
    /// More than five times the standard deviation of 22.6.
    const TOLERANCE: u64 = 128;
    256 * squares <= n * (n + 255 + TOLERANCE.max(n / 32))
}

/// Chooses a method by the counts of all bytes. If two random bytes are equal in more than one of
/// 12 cases, words are repeated by chance, and a search finds some of them.
#[inline(never)]
fn method(counts: &[u32; 256]) -> Method {
    let n: u64 = counts.iter().map(|count| u64::from(*count)).sum();
    let squares: u64 = counts
        .iter()
        .map(|count| u64::from(*count) * u64::from(*count))
        .sum();
    if is_uniform(n, squares) {
        Method::Store
    } else if 12 * squares <= n * n {
        Method::HuffmanOnly
    } else {
        Method::Search
    }
}
