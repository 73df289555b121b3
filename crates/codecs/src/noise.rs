//! Finds the incompressible stretches of a stream, such as the low bytes of measured numbers, on
//! which a codec would spend most of its time in a search for matches that finds nothing.
//!
//! A stretch is classified by a chi-square test of its byte histogram, and by whether its words
//! (short sequences of bytes) occurred before in the stream. Every byte is counted and every word
//! looked up, which takes a tenth of a search: a few samples could all lie where the stream is not
//! like the rest. The result depends on the bytes of the stream alone.

mod histogram;
mod pieces;
mod profile;
mod stretches;
mod words;

use core::hint::select_unpredictable;
use histogram::{Histogram, all_uniform};
use oxiblosc_base::Result;
use oxiblosc_base::memory::TryVec;
use pieces::{piece, pieces};
use stretches::{adapt_short, merge};
use words::{HASH_FACTOR, WordTable};

pub(super) use pieces::PIECE;
pub(super) use profile::has_noise;
pub(super) use stretches::{Method, Stretch};

/// If fewer than one in this many words are repeated, a search does not pay: it would save less
/// than a quarter of a percent, or half a percent, as half of the repeats from far back are missed.
const WORDS_PER_REPEAT: usize = 512;
/// The size of these words. No codec gains from shorter matches.
const WORD: u32 = 4;
/// The window of LZ4.
const LZ4_WINDOW: usize = 1 << 16;
/// An entry of the table of pieces has a word in this many low bits, and the number of its piece
/// above them.
const WORD_BITS: u32 = 40;
const WORD_MASK: u64 = (1 << WORD_BITS) - 1;
/// Properties of a codec's search for matches.
#[derive(Clone, Copy)]
pub(super) struct SearchParams {
    /// How far back matches reach, in bytes. A power of two.
    pub window: usize,
    /// The shortest match that saves something, in bytes. At most 5.
    pub min_match: u32,
    /// How many words of a piece may be repeated if it is stored, once the window is full.
    pub max_repeats: u32,
    /// Whether the codec can write Huffman codes without a search.
    pub huffman_only: bool,
}

/// If no more words of a piece than this are repeated, Huffman codes alone are as small as what a
/// search finds.
const MAX_HUFFMAN_REPEATS: u32 = (PIECE / 256) as u32;

/// The repeated words of a piece.
struct RepeatStats {
    /// How many of its words occurred before.
    count: u32,
    /// The first piece of the stream in which one of them occurred; this piece if none did.
    oldest: usize,
}

/// Classifies streams. One per worker.
#[derive(Default)]
pub(super) struct NoiseDetector {
    /// For each hash, the last word that has it and the number of its piece. The pieces of all
    /// streams are numbered consecutively from 1 on, so the table need not be cleared between
    /// streams.
    table: TryVec<u64>,
    /// The number of the first piece of this stream.
    first: u64,
    /// The number of the first piece of the next stream.
    next: u64,
    stretches: TryVec<Stretch>,
    words: WordTable,
}

impl NoiseDetector {
    /// Whether all of a stream is incompressible for every codec.
    pub(super) fn is_incompressible(&mut self, stream: &[u8]) -> Result<bool> {
        // The histogram is tested first, as it shows most compressible streams soon.
        Ok(all_uniform(stream) && self.rarely_repeats_within(stream, usize::MAX)?)
    }

    /// Whether so few words of a stream are repeated within LZ4's window that a codec without
    /// entropy coding would save less than half a percent. The histogram does not matter to such a
    /// codec.
    pub(super) fn rarely_repeats(&mut self, stream: &[u8]) -> Result<bool> {
        self.rarely_repeats_within(stream, LZ4_WINDOW)
    }

    fn rarely_repeats_within(&mut self, stream: &[u8], window: usize) -> Result<bool> {
        let most = stream.len() / WORDS_PER_REPEAT;
        Ok(self.words.repeats(stream, WORD, window, most)? <= most)
    }

    /// Divides a stream into stretches that are as long as possible. A few pieces beside others
    /// that deserve more effort get the method of those, because a stored piece interrupts matches,
    /// and each stretch needs Huffman codes of its own.
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
        // Twice: a stretch may have taken the method of a neighbour that then took the method of
        // its other neighbour.
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

    /// Chooses the method of each piece by itself. Cheap tests come first: the histogram of the
    /// first bytes finds most pieces that deserve a search, and repeated words find most of the
    /// others.
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
        // The number of pieces whose words have been looked up.
        let mut known = 0;
        for (at, piece) in pieces(stream).enumerate() {
            let mut histogram = Histogram::EMPTY;
            let method = histogram.add_prefix(piece);
            if method < min_method {
                continue;
            }
            if known == 0 {
                self.start(search, stream)?;
            }
            let mut count = 0;
            while known <= at {
                count = self.count_repeats(stream, search, known, &mut stretches[known]);
                known += 1;
            }
            // At the start of a stream the window is not full, so fewer words are repeated by
            // chance.
            let full = (at as u32 + 1).min(pieces_in_window);
            let max_repeats = search.max_repeats * full / pieces_in_window;
            // A piece with an uneven method is not random. Its repeats are not due to chance.
            let most = match method {
                Method::Store => max_repeats.max(MAX_HUFFMAN_REPEATS),
                _ => MAX_HUFFMAN_REPEATS,
            };
            if count <= most {
                let huffman_only = search.huffman_only && count <= MAX_HUFFMAN_REPEATS;
                stretches[at].method = match histogram.add_rest(piece) {
                    Method::HuffmanOnly if huffman_only => Method::HuffmanOnly,
                    Method::Store if count <= max_repeats => Method::Store,
                    _ => Method::Search,
                };
            }
        }
        if stretches
            .iter()
            .any(|stretch| stretch.method > Method::Search)
        {
            for (at, stretch) in stretches.iter_mut().enumerate().skip(known) {
                self.count_repeats(stream, search, at, stretch);
            }
        }
        Ok(())
    }

    /// How many words of a piece occurred before. Also sets `stretch.repeats_from`.
    fn count_repeats(
        &mut self,
        stream: &[u8],
        search: SearchParams,
        at: usize,
        stretch: &mut Stretch,
    ) -> u32 {
        let repeats = self.look_up(search, stream, at);
        stretch.repeats_from = repeats.oldest * PIECE;
        repeats.count
    }

    /// Whether many words are repeated at the beginning, in the middle and at the end of a stream.
    /// Such a stream is searched as a whole: classifying its pieces would take a tenth of the time
    /// for text.
    fn is_repetitive(&mut self, stream: &[u8], search: SearchParams) -> Result<bool> {
        const PROBE: usize = 3;
        let pieces_in_stream = stream.len() / PIECE;
        let mut repeats_itself = |first: usize| {
            let probe = &stream[first * PIECE..][..PROBE * PIECE];
            self.start(search, probe)?;
            let count: u32 = (0..PROBE)
                .map(|at| self.look_up(search, probe, at).count)
                .sum();
            Ok(8 * count as usize > probe.len())
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

    /// Prepares to look up the words of a stream.
    #[inline(never)]
    fn start(&mut self, search: SearchParams, stream: &[u8]) -> Result<()> {
        let len = self.table.len().max(search.window);
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

    /// Looks up the words of piece number `at` of the stream in the table, and inserts them.
    #[inline(never)]
    fn look_up(&mut self, search: SearchParams, stream: &[u8], at: usize) -> RepeatStats {
        let pieces_in_reach = search.window / PIECE + 1;
        let this = self.first + at as u64;
        let oldest = self.first.max(this.saturating_sub(pieces_in_reach as u64));
        let mask = (1 << (8 * search.min_match)) - 1;
        let shift = u64::BITS - search.window.ilog2();
        let table = &mut self.table[..search.window];
        let (mut count, mut first) = (0, this);
        let start = at * PIECE;
        let end = stream.len().min(start + piece(stream, at).len() + 7);
        for bytes in stream[start..end].array_windows() {
            let word = u64::from_le_bytes(*bytes) & mask;
            // The shift leaves fewer bits than the table has slots.
            let entry = &mut table[(word.wrapping_mul(HASH_FACTOR) >> shift) as usize];
            let earlier = core::mem::replace(entry, word | this << WORD_BITS);
            // Whether a word is repeated is unpredictable, so there is no branch.
            let repeated = earlier & WORD_MASK == word && earlier >> WORD_BITS >= oldest;
            count += u32::from(repeated);
            first = first.min(select_unpredictable(repeated, earlier >> WORD_BITS, this));
        }
        RepeatStats {
            count,
            oldest: (first - self.first) as usize,
        }
    }
}

#[cfg(test)]
mod tests;
