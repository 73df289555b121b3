//! Finds the incompressible stretches of a stream, such as the low bytes of measured numbers, on
//! which a codec would spend most of its time in a search for matches that finds nothing.
//!
//! A stretch is classified by a chi-square test of its byte histogram, and by whether its words
//! (short sequences of bytes) occurred before in the stream. Every byte is counted and every word
//! looked up: a few samples could all lie where the stream is not like the rest. The result depends
//! on the bytes of the stream alone.

mod words;

use oxiblosc_base::Result;
use oxiblosc_base::memory::TryVec;
use words::WordTable;

/// The size of a piece in bytes. Pieces are classified one by one. The last piece of a stream may
/// be nearly twice as long.
pub(super) const PIECE: usize = 4096;
/// The bytes at the start of a piece that are tested first. They are enough to recognise most
/// compressible pieces.
const PREFIX: usize = 512;

/// If fewer than one in this many words are repeated, a search does not pay: it would save less
/// than a quarter of a percent, or half a percent, as half of the repeats from far back are missed.
const WORDS_PER_REPEAT: usize = 512;
/// The size of these words. No codec gains from shorter matches.
const WORD: usize = 4;
/// The window of LZ4.
const LZ4_WINDOW: usize = 1 << 16;
/// The window of deflate.
const DEFLATE_WINDOW: usize = 1 << 15;
/// Deflate stores a piece if no more words of it are repeated: less than one in a hundred, each of
/// which saves a byte at most.
const MAX_REPEATS: usize = 32;
/// If no more words of a piece are repeated, Huffman codes alone are as small as what a search
/// finds.
const MAX_HUFFMAN_REPEATS: usize = 16;

/// How deflate compresses a stretch, from the most effort to the least.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Method {
    /// Search for matches.
    Search,
    /// Huffman codes without a search for matches, since nothing is repeated. Floating-point
    /// numbers that are not shuffled need this, and bit planes of few values: a search takes two to
    /// three times as long, and finds matches that are longer than literals.
    HuffmanOnly,
    /// Store the bytes, since they are random.
    Store,
}

/// A stretch of a stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Stretch {
    /// The length in bytes.
    pub len: usize,
    pub method: Method,
}

/// Classifies streams. One per worker.
#[derive(Default)]
pub(super) struct NoiseDetector {
    stretches: TryVec<Stretch>,
    words: WordTable,
}

impl NoiseDetector {
    /// Whether all of a stream is incompressible for every codec. Data that are compressed or
    /// encrypted need this: the highest level of Zstd takes fifty times as long to find it out.
    pub(super) fn is_incompressible(&mut self, stream: &[u8]) -> Result<bool> {
        // The last piece first: there lie the high bytes of numbers, which show most compressible
        // streams.
        let mut pieces = (0..piece_count(stream)).rev();
        Ok(
            pieces.all(|at| method(piece(stream, at), Method::Store) == Method::Store)
                && self.rarely_repeats_within(stream, usize::MAX)?,
        )
    }

    /// Whether so few words of a stream are repeated within LZ4's window that a codec without
    /// entropy coding would save less than half a percent. The histogram does not matter to such a
    /// codec. Measured numbers need this: LZ4HC takes a tenth more time without it.
    pub(super) fn rarely_repeats(&mut self, stream: &[u8]) -> Result<bool> {
        self.rarely_repeats_within(stream, LZ4_WINDOW)
    }

    fn rarely_repeats_within(&mut self, stream: &[u8], window: usize) -> Result<bool> {
        let most = stream.len() / WORDS_PER_REPEAT;
        Ok(self.count_repeats(stream, WORD, window, most)? <= most)
    }

    /// How many of 256 words of a stream occurred before in it. It stops when more than `enough`
    /// are. Words are so long that those of planes of few values are not repeated by chance alone.
    pub(super) fn repeats(&mut self, stream: &[u8], enough: usize) -> Result<usize> {
        const WORD: usize = 8;
        let most = enough * stream.len() / 256;
        let repeats = self.count_repeats(stream, WORD, usize::MAX, most)?;
        Ok(256 * repeats / stream.len().max(1))
    }

    /// Counts the words of `word` bytes that are repeated within about `window` bytes, until there
    /// are more than `enough`. It goes backward, since the high bytes of shuffled numbers, which
    /// repeat most often, come last.
    fn count_repeats(
        &mut self,
        stream: &[u8],
        word: usize,
        window: usize,
        enough: usize,
    ) -> Result<usize> {
        self.words.clear(stream.len().min(window))?;
        let mut repeats = 0;
        for at in (0..piece_count(stream)).rev() {
            repeats += self.look_up(stream, at, word);
            if repeats > enough {
                break;
            }
        }
        Ok(repeats)
    }

    /// How many words of a piece were looked up before.
    fn look_up(&mut self, stream: &[u8], at: usize, word: usize) -> usize {
        let start = at * PIECE;
        let end = start + piece(stream, at).len() + word.max(WORD) - 1;
        self.words
            .look_up(&stream[start..end.min(stream.len())], word)
    }

    /// Divides a stream into stretches that are as long as possible, for a search that begins with
    /// matches of `min_match` bytes, 3 or 4, in deflate's window, and methods from `least` on. A
    /// few pieces between others are searched, because a stored piece interrupts matches, and each
    /// stretch needs Huffman codes of its own.
    pub(super) fn stretches(
        &mut self,
        stream: &[u8],
        min_match: usize,
        least: Method,
    ) -> Result<&[Stretch]> {
        self.stretches.clear();
        // The number of pieces whose words have been looked up.
        let mut known = 0;
        for at in 0..piece_count(stream) {
            let len = piece(stream, at).len();
            let mut method = match len {
                ..PIECE => Method::Search,
                _ => method(piece(stream, at), least),
            };
            if method != Method::Search {
                if known == 0 {
                    self.words.clear(stream.len().min(DEFLATE_WINDOW))?;
                }
                let mut repeats = 0;
                for at in known..=at {
                    repeats = self.look_up(stream, at, min_match);
                }
                known = at + 1;
                let most = match method {
                    Method::Store => MAX_REPEATS,
                    _ => MAX_HUFFMAN_REPEATS,
                };
                if repeats > most {
                    method = Method::Search;
                }
            }
            match self.stretches.last_mut() {
                Some(last) if last.method == method => last.len += len,
                _ => self.stretches.push(Stretch { len, method })?,
            }
        }
        for stretch in &mut *self.stretches {
            let few = match stretch.method {
                Method::Store => 2,
                _ => 4,
            };
            if stretch.len < few * PIECE && stretch.len < stream.len() {
                stretch.method = Method::Search;
            }
        }
        self.stretches.dedup_by(|next, stretch| {
            let same = next.method == stretch.method;
            stretch.len += if same { next.len } else { 0 };
            same
        });
        Ok(&self.stretches)
    }
}

/// How many pieces a stream has: at least one.
fn piece_count(stream: &[u8]) -> usize {
    (stream.len() / PIECE).max(1)
}

/// Piece number `i` of a stream.
fn piece(stream: &[u8], i: usize) -> &[u8] {
    let end = match i + 1 == piece_count(stream) {
        true => stream.len(),
        false => (i + 1) * PIECE,
    };
    &stream[i * PIECE..end]
}

/// Chooses the method of a piece by its histogram: to store it if Pearson's chi-square test finds a
/// uniform distribution, and a search if two random bytes are equal in more than one of 12 cases,
/// so that words are repeated by chance. It is a search, too, if the method were less than `least`.
///
/// For random bytes chi-square is 255 on average, whatever their number `n` is. Where Huffman codes
/// would save 0.023 bits per byte, it is larger by `n / 32`; so little is not worth the time.
#[inline(never)]
fn method(piece: &[u8], least: Method) -> Method {
    /// More than five times the standard deviation of 22.6.
    const TOLERANCE: u64 = 128;
    // Alternate bytes are counted in two tables, because loading a count that was just stored
    // stalls.
    let mut counts = [[0_u16; 256]; 2];
    let (mut n, mut method) = (0, Method::Search);
    let (prefix, rest) = piece.split_at(piece.len().min(PREFIX));
    for part in [prefix, rest] {
        let (eights, rest) = part.as_chunks::<8>();
        for eight in eights {
            let eight = u64::from_le_bytes(*eight);
            for i in 0..8 {
                counts[i % 2][usize::from((eight >> (8 * i)) as u8)] += 1;
            }
        }
        for byte in rest {
            counts[0][usize::from(*byte)] += 1;
        }
        n += part.len() as u64;
        let both = counts[0].iter().zip(&counts[1]);
        let squares: u64 = both.map(|(a, b)| u64::from(a + b).pow(2)).sum();
        method = if 256 * squares <= n * (n + 255 + TOLERANCE.max(n / 32)) {
            Method::Store
        } else if 12 * squares <= n * n {
            Method::HuffmanOnly
        } else {
            Method::Search
        };
        if method < least {
            return Method::Search;
        }
    }
    method
}

#[cfg(test)]
mod tests;
