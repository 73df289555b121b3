//! Finds the incompressible stretches of a stream, such as the low bytes of measured numbers, on which a codec would spend most of
//! its time in a search for matches that finds nothing.
//!
//! A stretch is classified by a chi-square test of its byte histogram, and by whether sampled words of it (short sequences of bytes)
//! occurred before in the stream. The result depends on the bytes of the stream alone.

mod histogram;
mod independent;
mod literals;
mod profile;
mod sampling;
mod short;
mod stretches;
mod word_table;

use core::hint::select_unpredictable;
use histogram::{Histogram, MIN_SAMPLED, SAMPLE, all_uniform, is_uniform};
use oxiblosc_error::Result;
use oxiblosc_memory::List;
use sampling::{NearRepeats, SampledPositions};
use stretches::{adapt_short, merge};

pub(super) use profile::{Distribution, distribution, has_noise, looks_uniform, takes_turns};
pub(super) use stretches::{Method, Stretch};

/// The size of a piece in bytes. Pieces are classified one by one. The last piece of a stream may be nearly twice as long.
pub(super) const PIECE: usize = 4096;
/// If fewer than one in this many words are repeated, a search does not pay: it would save less than half a percent.
const WORDS_PER_REPEAT: usize = 256;
/// In shorter streams more words are sampled, because codecs search them more thoroughly.
const MIN_SPARSE: usize = 4 * PIECE;
/// An entry of the table of words has a word in this many low bits, and the number of its piece above them.
const WORD_BITS: u32 = 40;
const WORD_MASK: u64 = (1 << WORD_BITS) - 1;
/// The factor of multiplicative hashes: 2^64 over the golden ratio.
const HASH_FACTOR: u64 = 0x9E37_79B9_7F4A_7C15;

/// Properties of a codec's search for matches.
#[derive(Clone, Copy)]
pub(super) struct SearchParams {
    /// How far back matches reach, in bytes.
    pub window: usize,
    /// The shortest match that saves something, in bytes. At most 5 where words are sampled by it.
    pub min_match: u32,
    /// One in this many words is sampled. A power of two, at most 128.
    pub sampling: usize,
    /// How many repeated words a random piece has by chance if the window is full.
    pub expected_repeats: u32,
    /// Whether the codec can write Huffman codes without a search.
    pub huffman_only: bool,
}

impl SearchParams {
    /// The slots of the table of words: one for each sampled word of a full window.
    fn slots(self) -> usize {
        self.window.next_power_of_two() / self.sampling
    }
}

/// Statistics of the sampled words of a piece.
struct RepeatStats {
    /// How many words were sampled.
    words: usize,
    /// How many of them occurred before.
    count: u32,
    /// The first piece of the stream in which one of them occurred; this piece if none did.
    oldest: usize,
}

impl RepeatStats {
    /// Whether enough words were sampled in `len` bytes to draw conclusions: at least half as many as expected.
    fn is_significant(words: usize, len: usize, search: SearchParams) -> bool {
        words >= len / (2 * search.sampling)
    }
}

/// Classifies streams. One per worker.
#[derive(Default)]
pub(super) struct NoiseDetector {
    /// For each hash, the last word that has it and the number of its piece. The pieces of all streams are numbered consecutively from 1
    /// on, so the table need not be cleared between streams.
    table: List<u64>,
    /// The number of the first piece of this stream.
    first: u64,
    /// The number of the first piece of the next stream.
    next: u64,
    stretches: List<Stretch>,
    positions: SampledPositions,
    /// The bytes by which [`repeats`](Self::repeats) and [`long_repeats`](Self::long_repeats) choose the words of a piece that are sampled.
    mixed_bytes: List<u8>,
    /// How often a word of each hash occurs, for [`shares_short_words`](Self::shares_short_words).
    short_words: List<u8>,
    short: short::ShortDetector,
    words: word_table::WordTable<16>,
    near: NearRepeats,
}

impl NoiseDetector {
    /// Whether all of a stream is incompressible for every codec.
    #[inline]
    pub(super) fn is_incompressible(&mut self, stream: &[u8]) -> Result<bool> {
        if stream.len() < 2 * PIECE {
            return self.short.is_incompressible(stream);
        }
        self.is_long_stream_incompressible(stream)
    }

    /// Not inlined: a short stream would otherwise pay for saving the registers that this needs.
    #[inline(never)]
    fn is_long_stream_incompressible(&mut self, stream: &[u8]) -> Result<bool> {
        let (window, sampling, words_per_repeat) = if stream.len() < MIN_SPARSE {
            (1 << 16, 16, WORDS_PER_REPEAT)
        } else if stream.len() < MIN_SAMPLED {
            (1 << 17, 32, WORDS_PER_REPEAT)
        } else {
            (1 << 20, 128, usize::MAX)
        };
        let max_repeats = stream.len() / sampling / words_per_repeat;
        let search = SearchParams {
            window,
            // In a stream of this length some words of four bytes are repeated by chance.
            min_match: 5,
            sampling,
            expected_repeats: 0,
            huffman_only: false,
        };
        // The histogram is tested first, from the last piece on. There lie the high bytes of numbers, which show most compressible streams.
        if !all_uniform(stream) {
            return Ok(false);
        }
        self.start(search, stream)?;
        let (mut words, mut count) = (0, 0);
        for (at, piece) in pieces(stream).enumerate() {
            let repeats = self.sample(search, piece, at)?;
            words += repeats.words;
            count += repeats.count as usize;
            if count > max_repeats {
                return Ok(false);
            }
        }
        Ok(RepeatStats::is_significant(words, stream.len(), search))
    }

    /// Whether so few words of a stream are repeated that a codec without entropy coding would save less than half a percent. The
    /// histogram does not matter to such a codec. The limit is half of the usual one, because half of the repeats from far back are
    /// missed: other words have overwritten their slots.
    pub(super) fn rarely_repeats(&mut self, stream: &[u8]) -> Result<bool> {
        self.words
            .rarely_repeat(stream, stream.len() / (2 * WORDS_PER_REPEAT))
    }

    /// Divides a stream into stretches that are as long as possible. A few pieces beside others that deserve more effort get the method of
    /// those, because a stored piece interrupts matches, and each stretch needs Huffman codes of its own.
    pub(super) fn stretches(&mut self, stream: &[u8], search: SearchParams) -> Result<&[Stretch]> {
        let mut stretches = core::mem::take(&mut self.stretches);
        stretches.clear();
        stretches.extend(pieces(stream).map(|piece| Stretch {
            len: piece.len(),
            method: Method::Search,
            repeats_from: 0,
        }))?;
        if !self.is_repetitive(stream, search)? {
            self.classify(stream, search, &mut stretches)?;
        }
        merge(&mut stretches);
        // Twice: a stretch may have taken the method of a neighbour that then took the method of its other neighbour.
        for _ in 0..2 {
            adapt_short(&mut stretches);
            merge(&mut stretches);
        }
        let mut from = usize::MAX;
        let searched = stretches.iter_mut().rev();
        for stretch in searched.filter(|stretch| stretch.method == Method::Search) {
            from = from.min(stretch.repeats_from);
            stretch.repeats_from = from;
        }
        self.stretches = stretches;
        Ok(&self.stretches)
    }

    /// Chooses the method of each piece by itself. Cheap tests come first: the histogram of the first bytes finds most pieces that deserve a
    /// search, and repeated words find most of the others.
    fn classify(
        &mut self,
        stream: &[u8],
        search: SearchParams,
        stretches: &mut [Stretch],
    ) -> Result<()> {
        let min_method = match search.huffman_only {
            true => Method::HuffmanOnly,
            false => Method::Store,
        };
        let pieces_in_window = (search.window / PIECE) as u32;
        // The number of pieces that have been sampled.
        let mut sampled = 0;
        for (at, piece) in pieces(stream).enumerate() {
            let mut histogram = Histogram::EMPTY;
            let prefix = histogram.add_prefix(piece);
            if prefix < min_method {
                continue;
            }
            if sampled == 0 {
                self.start(search, stream)?;
            }
            let mut count = None;
            while sampled <= at {
                count = self.count_repeats(stream, search, sampled, &mut stretches[sampled])?;
                sampled += 1;
            }
            // At the start of a stream the window is not full, so fewer repeats are due to chance.
            let expected =
                search.expected_repeats * (at as u32 + 1).min(pieces_in_window) / pieces_in_window;
            // A piece with an uneven prefix is not random. Its repeats are not expected ones.
            let max_repeats = match prefix {
                Method::Store => expected.max(1),
                _ => 1,
            };
            if let Some(count) = count
                && count <= max_repeats
            {
                let huffman_only = search.huffman_only && count <= 1;
                stretches[at].method = match histogram.add_rest(piece) {
                    Method::HuffmanOnly if huffman_only && !self.repeats_nearby(piece)? => {
                        Method::HuffmanOnly
                    }
                    Method::Store if count <= expected => Method::Store,
                    _ => Method::Search,
                };
            }
        }
        if stretches
            .iter()
            .any(|stretch| stretch.method > Method::Search)
        {
            for (at, stretch) in stretches.iter_mut().enumerate().skip(sampled) {
                self.count_repeats(stream, search, at, stretch)?;
            }
        }
        Ok(())
    }

    /// Whether a piece has runs, or repeats over short distances, which sampled words do not show.
    #[inline(always)]
    fn repeats_nearby(&mut self, piece: &[u8]) -> Result<bool> {
        Ok(has_runs(piece) || self.near.repeats(piece)?)
    }

    /// How many sampled words of a piece occurred before; `None` if there are too few samples. Also sets `stretch.repeats_from`.
    fn count_repeats(
        &mut self,
        stream: &[u8],
        search: SearchParams,
        at: usize,
        stretch: &mut Stretch,
    ) -> Result<Option<u32>> {
        let piece = piece(stream, at);
        let repeats = self.sample(search, piece, at)?;
        let significant = RepeatStats::is_significant(repeats.words, piece.len(), search);
        stretch.repeats_from = if significant {
            repeats.oldest * PIECE
        } else {
            0
        };
        Ok(significant.then_some(repeats.count))
    }

    /// Whether many words are repeated at the beginning, in the middle and at the end of a stream. Such a stream is searched as a whole:
    /// classifying its pieces would take a tenth of the time for text.
    fn is_repetitive(&mut self, stream: &[u8], search: SearchParams) -> Result<bool> {
        const PROBE: usize = 3;
        const MIN_WORDS: usize = 64;
        let pieces_in_stream = stream.len() / PIECE;
        let mut repeats_itself = |first: usize| {
            let probe = &stream[first * PIECE..][..PROBE * PIECE];
            self.start(search, probe)?;
            let (mut words, mut count) = (0, 0);
            for (at, piece) in pieces(probe).enumerate() {
                let repeats = self.sample(search, piece, at)?;
                words += repeats.words;
                count += repeats.count as usize;
            }
            Ok(words >= MIN_WORDS && 8 * count > words)
        };
        if pieces_in_stream < 5 * PROBE {
            return Ok(false);
        }
        for first in [0, pieces_in_stream / 2, pieces_in_stream - PROBE] {
            if !repeats_itself(first)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Prepares to sample a stream.
    #[inline(never)]
    fn start(&mut self, search: SearchParams, stream: &[u8]) -> Result<()> {
        let len = self.table.len().max(search.slots());
        let pieces = (stream.len() / PIECE).max(1) as u64;
        self.first = self.next;
        if self.table.len() != len || (self.first + pieces) >> (u64::BITS - WORD_BITS) != 0 {
            self.table.clear();
            self.table.resize(len, 0)?;
            self.first = 1;
        }
        self.next = self.first + pieces;
        Ok(())
    }

    /// Samples words of piece number `at` of the stream: looks them up in the table, and inserts them.
    fn sample(&mut self, search: SearchParams, piece: &[u8], at: usize) -> Result<RepeatStats> {
        self.sample_where(search, piece, piece, at)
    }

    /// Like [`sample`](Self::sample), but chooses the words by the bytes of `pattern` in place of the piece's own.
    #[inline(never)]
    fn sample_where(
        &mut self,
        search: SearchParams,
        piece: &[u8],
        pattern: &[u8],
        at: usize,
    ) -> Result<RepeatStats> {
        let pieces_in_reach = search.window / PIECE + 1;
        let this = self.first + at as u64;
        let oldest = self.first.max(this.saturating_sub(pieces_in_reach as u64));
        let mask = (1 << (8 * search.min_match)) - 1;
        let shift = u64::BITS - search.slots().ilog2();
        let (mut count, mut first) = (0, this);
        let pattern_mask = (search.sampling - 1) as u8;
        let positions = match pattern_mask {
            ..16 => self.positions.find::<8>(pattern, pattern_mask)?,
            _ => self.positions.find::<2>(pattern, pattern_mask)?,
        };
        for &position in positions {
            let bytes = piece[usize::from(position)..]
                .first_chunk()
                .expect("`find` leaves seven bytes behind each position");
            let word = u64::from_le_bytes(*bytes) & mask;
            let hash = word.wrapping_mul(HASH_FACTOR) >> shift;
            let entry =
                core::mem::replace(&mut self.table[hash as usize], word | this << WORD_BITS);
            // Whether a word is repeated is unpredictable, so there is no branch.
            let repeated = entry & WORD_MASK == word && entry >> WORD_BITS >= oldest;
            count += u32::from(repeated);
            first = first.min(select_unpredictable(repeated, entry >> WORD_BITS, this));
        }
        Ok(RepeatStats {
            words: positions.len(),
            count,
            oldest: (first - self.first) as usize,
        })
    }
}

/// Whether more than one in 64 groups of eight bytes consists of one byte repeated. Sampled words may miss such runs, if their byte does not
/// match the pattern.
fn has_runs(piece: &[u8]) -> bool {
    64 * runs(piece) > piece.len() / 8
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

/// How many pieces a stream has: at least one.
fn piece_count(stream: &[u8]) -> usize {
    (stream.len() / PIECE).max(1)
}

/// Piece number `i` of a stream.
fn piece(stream: &[u8], i: usize) -> &[u8] {
    let end = if i + 1 == piece_count(stream) {
        stream.len()
    } else {
        (i + 1) * PIECE
    };
    &stream[i * PIECE..end]
}

/// The pieces of a stream.
fn pieces(stream: &[u8]) -> impl DoubleEndedIterator<Item = &[u8]> {
    (0..piece_count(stream)).map(|i| piece(stream, i))
}

#[cfg(test)]
mod tests;
