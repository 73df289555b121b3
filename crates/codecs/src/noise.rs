//! Finds the incompressible stretches of a stream, such as the low bytes of measured numbers, on which a codec would spend most of
//! its time in a search for matches that finds nothing.
//!
//! A stretch is classified by a chi-square test of its byte histogram, and by whether samples of its words (short sequences of
//! bytes) occurred before in the stream. The answer depends on the bytes of the stream alone.

mod histogram;
mod independent;
mod profile;
mod sampling;
mod short;
mod words;

use core::hint::select_unpredictable;
use histogram::{Histogram, MIN_SAMPLED, SAMPLE, all_uniform, is_uniform};
use oxiblosc_error::Result;
use oxiblosc_memory::List;
use sampling::{NearRepeats, Positions};

pub(super) use profile::{Distribution, distribution, has_noise, looks_uniform};

/// The bytes that are classified together. The last piece of a stream may be nearly twice as long.
pub(super) const PIECE: usize = 4096;
/// If fewer than one in this many words are repeated, a search is not worthwhile: it would save less than half a percent.
const WORDS_PER_REPEAT: usize = 256;
/// In shorter streams codecs search so thoroughly that more words must be sampled.
const MIN_SPARSE: usize = 4 * PIECE;
/// An entry of the table of words: a word in the low bits, and the number of its piece above them.
const WORD_BITS: u32 = 40;
const WORD_MASK: u64 = (1 << WORD_BITS) - 1;
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
    /// Whether the codec can do without a search, with Huffman codes only.
    pub huffman_only: bool,
}

impl SearchParams {
    /// Slots of the table of words: twice as many as words are sampled in a window.
    fn slots(self) -> usize {
        self.window.next_power_of_two() / self.sampling
    }
}

/// How to compress a stretch, from the most effort to the least.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Method {
    /// Search for matches.
    Search,
    /// Huffman codes for single bytes. Nothing is repeated.
    HuffmanOnly,
    /// Store the bytes. They are random.
    Store,
}

/// A stretch of a stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Part {
    pub len: usize,
    pub method: Method,
    /// Matches of this and later stretches refer to bytes from here on, judging by the samples.
    pub repeats_from: usize,
}

/// Statistics of the sampled words of a piece.
struct Repeats {
    /// Words that were sampled.
    words: usize,
    /// How many of them occurred before.
    count: u32,
    /// The first piece of the stream that has one of them; the piece itself if there is none.
    oldest: usize,
}

impl Repeats {
    /// Whether enough words were sampled for a piece of `len` bytes: at least half as many as expected.
    fn is_significant(words: usize, len: usize, search: SearchParams) -> bool {
        words >= len / (2 * search.sampling)
    }
}

/// Classifies streams. One per worker.
#[derive(Default)]
pub(super) struct Noise {
    /// For each hash, the last word with it and the number of its piece. Pieces of all streams are numbered consecutively from 1 on,
    /// so that the table need not be cleared between streams.
    table: List<u64>,
    /// The numbers of the first piece of this stream and of the next.
    first: u64,
    next: u64,
    parts: List<Part>,
    positions: Positions,
    /// What [`repeats`](Self::repeats) and [`long_repeats`](Self::long_repeats) make of a piece.
    mixed_bytes: List<u8>,
    short: short::Short,
    words: words::Words<16>,
    near: NearRepeats,
}

impl Noise {
    /// Whether all of a stream is incompressible for every codec.
    pub(super) fn is_incompressible(&mut self, stream: &[u8]) -> Result<bool> {
        if stream.len() < 2 * PIECE {
            return self.short.is_incompressible(stream);
        }
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
            // In streams of this length words of four bytes are repeated by chance.
            min_match: 5,
            sampling,
            expected_repeats: 0,
            huffman_only: false,
        };
        // The histogram comes first, since it recognises most compressible streams by the last piece, the high bytes of numbers.
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
        Ok(Repeats::is_significant(words, stream.len(), search))
    }

    /// Whether so few words of a stream are repeated that a codec without entropy coding would save less than half a percent,
    /// however uneven the histogram is. The limit is half of the usual one, since slots are overwritten by other words: of repeats that
    /// are far apart half is missed.
    pub(super) fn rarely_repeats(&mut self, stream: &[u8]) -> Result<bool> {
        self.words
            .rarely_repeat(stream, stream.len() / (2 * WORDS_PER_REPEAT))
    }

    /// Divides a stream into stretches, as long as possible. A few pieces beside others that deserve more effort are treated like
    /// those, because a stored piece interrupts matches, and each stretch needs Huffman codes of its own.
    pub(super) fn parts(&mut self, stream: &[u8], search: SearchParams) -> Result<&[Part]> {
        let mut parts = core::mem::take(&mut self.parts);
        parts.clear();
        parts.extend(pieces(stream).map(|piece| Part {
            len: piece.len(),
            method: Method::Search,
            repeats_from: 0,
        }))?;
        if !self.is_repetitive(stream, search)? {
            self.classify(stream, search, &mut parts)?;
        }
        merge(&mut parts);
        // Twice, since one that was treated like a neighbour may have lost that one to its other neighbour.
        for _ in 0..2 {
            adapt_short(&mut parts);
            merge(&mut parts);
        }
        let mut from = usize::MAX;
        let searched = parts.iter_mut().rev();
        for part in searched.filter(|part| part.method == Method::Search) {
            from = from.min(part.repeats_from);
            part.repeats_from = from;
        }
        self.parts = parts;
        Ok(&self.parts)
    }

    /// Chooses the method of each piece by itself. Cheap tests come first: the first bytes recognise most pieces that deserve a
    /// search, and repeated words most others.
    fn classify(&mut self, stream: &[u8], search: SearchParams, parts: &mut [Part]) -> Result<()> {
        let min_method = match search.huffman_only {
            true => Method::HuffmanOnly,
            false => Method::Store,
        };
        let pieces_in_window = (search.window / PIECE) as u32;
        // How many pieces have been sampled.
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
                count = self.count_repeats(stream, search, sampled, &mut parts[sampled])?;
                sampled += 1;
            }
            // At the start of a stream the window holds less that could be repeated by chance.
            let expected =
                search.expected_repeats * (at as u32 + 1).min(pieces_in_window) / pieces_in_window;
            // A piece with an uneven prefix is not random, so no repeats are expected.
            let max_repeats = match prefix {
                Method::Store => expected.max(1),
                _ => 1,
            };
            if let Some(count) = count
                && count <= max_repeats
            {
                parts[at].method = match histogram.add_rest(piece) {
                    Method::HuffmanOnly
                        if search.huffman_only
                            && count <= 1
                            && !has_runs(piece)
                            && !self.near.repeats(piece)? =>
                    {
                        Method::HuffmanOnly
                    }
                    Method::Store if count <= expected => Method::Store,
                    _ => Method::Search,
                };
            }
        }
        if parts.iter().any(|part| part.method > Method::Search) {
            for (at, part) in parts.iter_mut().enumerate().skip(sampled) {
                self.count_repeats(stream, search, at, part)?;
            }
        }
        Ok(())
    }

    /// How many sampled words of a piece occurred before; `None` if there are too few samples. Also sets `part.repeats_from`.
    fn count_repeats(
        &mut self,
        stream: &[u8],
        search: SearchParams,
        at: usize,
        part: &mut Part,
    ) -> Result<Option<u32>> {
        let piece = piece(stream, at);
        let repeats = self.sample(search, piece, at)?;
        let significant = Repeats::is_significant(repeats.words, piece.len(), search);
        part.repeats_from = if significant {
            repeats.oldest * PIECE
        } else {
            0
        };
        Ok(significant.then_some(repeats.count))
    }

    /// Whether at the beginning, in the middle and at the end of a stream many words are repeated. Such a stream is not classified any
    /// further, which for text would take a tenth of the time.
    fn is_repetitive(&mut self, stream: &[u8], search: SearchParams) -> Result<bool> {
        const PROBE: usize = 3;
        const MIN_WORDS: usize = 64;
        let all = stream.len() / PIECE;
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
        if all < 5 * PROBE {
            return Ok(false);
        }
        for first in [0, all / 2, all - PROBE] {
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
    fn sample(&mut self, search: SearchParams, piece: &[u8], at: usize) -> Result<Repeats> {
        self.sample_where(search, piece, piece, at)
    }

    /// Samples those words of a piece that begin where a byte of `pattern` matches.
    #[inline(never)]
    fn sample_where(
        &mut self,
        search: SearchParams,
        piece: &[u8],
        pattern: &[u8],
        at: usize,
    ) -> Result<Repeats> {
        let reach = search.window / PIECE + 1;
        let this = self.first + at as u64;
        let oldest = self.first.max(this.saturating_sub(reach as u64));
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
            let hash = word.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> shift;
            let entry =
                core::mem::replace(&mut self.table[hash as usize], word | this << WORD_BITS);
            // No branch, since this is unpredictable.
            let repeated = entry & WORD_MASK == word && entry >> WORD_BITS >= oldest;
            count += u32::from(repeated);
            first = first.min(select_unpredictable(repeated, entry >> WORD_BITS, this));
        }
        Ok(Repeats {
            words: positions.len(),
            count,
            oldest: (first - self.first) as usize,
        })
    }
}

/// Treats short parts like the neighbour that deserves more effort. Beyond an end of the stream that is nothing that deserves more than the
/// part if it is stored, and a search otherwise.
fn adapt_short(parts: &mut [Part]) {
    for i in 0..parts.len() {
        let end = match parts[i].method {
            Method::Store => Method::Store,
            _ => Method::Search,
        };
        let neighbour = |j: usize| parts.get(j).map_or(end, |part| part.method);
        let most_effort = neighbour(i.wrapping_sub(1)).min(neighbour(i + 1));
        let part = &mut parts[i];
        let min_len = match part.method {
            Method::Store => 2 * PIECE,
            _ => 4 * PIECE,
        };
        if part.len < min_len {
            part.method = part.method.min(most_effort);
        }
    }
}

/// Joins adjacent parts with the same method.
fn merge(parts: &mut List<Part>) {
    parts.dedup_by(|next, part| {
        let same = next.method == part.method;
        if same {
            part.len += next.len;
            part.repeats_from = part.repeats_from.min(next.repeats_from);
        }
        same
    });
}

/// Whether more than one in 64 groups of eight bytes is one byte repeated. Such runs need not be among the sampled words, since
/// their byte may not match the pattern.
fn has_runs(piece: &[u8]) -> bool {
    64 * runs(piece) > piece.len() / 8
}

/// How many groups of eight bytes are one byte repeated.
#[inline(never)]
fn runs(bytes: &[u8]) -> usize {
    let (words, _) = bytes.as_chunks::<8>();
    let runs = words.iter().filter(|word| {
        let word = u64::from_ne_bytes(**word);
        word == word.rotate_left(8)
    });
    runs.count()
}

/// How many pieces a stream has; at least one.
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
mod tests {
    use super::*;

    const SEARCH: SearchParams = SearchParams {
        window: 1 << 15,
        min_match: 4,
        sampling: 16,
        expected_repeats: 0,
        huffman_only: true,
    };

    /// Pseudorandom bytes (splitmix).
    pub(super) fn random(len: usize, mut seed: u64) -> Vec<u8> {
        let next = || {
            seed = seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
            let z = (seed ^ (seed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
            (z ^ (z >> 31)) as u8
        };
        std::iter::repeat_with(next).take(len).collect()
    }

    #[test]
    fn random_bytes_are_incompressible() {
        let mut noise = Noise::default();
        for len in [PIECE, PIECE + 1, 2 * PIECE - 1, 100_000, 1 << 21] {
            assert!(
                noise.is_incompressible(&random(len, len as u64)).unwrap(),
                "{len} bytes"
            );
        }
    }

    #[test]
    fn compressible_bytes_are_recognised() {
        let mut noise = Noise::default();
        let bytes = random(100_000, 1);
        // Huffman codes could save half a bit per byte, and a tenth of one.
        let of = |values: u32| -> Vec<u8> {
            bytes
                .iter()
                .map(|byte| (u32::from(*byte) * values / 256) as u8)
                .collect()
        };
        for values in [181, 239] {
            assert!(!noise.is_incompressible(&of(values)).unwrap());
            assert_eq!(parts(&of(values)), [(100_000, Method::HuffmanOnly)]);
        }
        assert_eq!(parts(&of(16)), [(100_000, Method::Search)]);
        // Repeats: near, far, and not aligned to pieces.
        for (period, len) in [
            (1000, 8192),
            (5000, 20_000),
            (30_011, 100_000),
            (500_000, 1 << 20),
        ] {
            let twice: Vec<u8> = random(period, 2).into_iter().cycle().take(len).collect();
            assert!(!noise.is_incompressible(&twice).unwrap(), "every {period}");
        }
        let mut once = bytes.clone();
        once.copy_within(100..400, 90_000);
        assert!(!noise.is_incompressible(&once).unwrap());
        assert!(
            noise.is_incompressible(&bytes).unwrap(),
            "words of one stream do not count in the next"
        );
    }

    /// The parts of a stream, without `repeats_from`.
    fn parts(stream: &[u8]) -> Vec<(usize, Method)> {
        let mut noise = Noise::default();
        let parts = noise.parts(stream, SEARCH).unwrap();
        parts.iter().map(|part| (part.len, part.method)).collect()
    }

    #[test]
    fn parts_make_up_the_stream() {
        use Method::{HuffmanOnly, Search, Store};
        assert_eq!(parts(&[]), [(0, Search)]);
        assert_eq!(parts(&random(100, 3)), [(100, Search)]);
        assert_eq!(parts(&random(5 * PIECE + 7, 3)), [(5 * PIECE + 7, Store)]);
        let mut planes = vec![7; 3 * PIECE];
        planes.extend(random(4 * PIECE, 4));
        planes.extend(random(4 * PIECE, 6).iter().map(|byte| byte % 192));
        planes.extend(vec![8; PIECE]);
        // A single piece does not become a part of its own.
        planes.extend(random(PIECE, 5));
        planes.extend(vec![8; 99]);
        assert_eq!(
            parts(&planes),
            [
                (3 * PIECE, Search),
                (4 * PIECE, Store),
                (4 * PIECE, HuffmanOnly),
                (2 * PIECE + 99, Search)
            ]
        );
    }

    #[test]
    fn no_short_part_is_left_of_two_that_adapt() {
        use Method::{HuffmanOnly, Search};
        let part = |pieces: usize, method| Part {
            len: pieces * PIECE,
            method,
            repeats_from: 0,
        };
        // The stored one becomes like the next, and that like the last.
        let mut parts = [
            part(1, Method::Store),
            part(3, HuffmanOnly),
            part(9, Search),
        ];
        for _ in 0..2 {
            adapt_short(&mut parts);
        }
        assert!(parts.iter().all(|part| part.method == Search));
    }

    #[test]
    fn repetitive_streams_are_not_searched_for_noise() {
        let mut noise = Noise::default();
        // A text of random words.
        let words: Vec<_> = random(600, 7).chunks(6).map(<[u8]>::to_vec).collect();
        let order = random(20_000, 8);
        let text: Vec<u8> = order
            .iter()
            .flat_map(|i| words[usize::from(*i) % words.len()].clone())
            .collect();
        assert!(noise.is_repetitive(&text, SEARCH).unwrap());
        assert!(
            !noise.is_repetitive(&text[..10 * PIECE], SEARCH).unwrap(),
            "short"
        );
        assert!(!noise.is_repetitive(&random(text.len(), 9), SEARCH).unwrap());
        let pieces = text.len() / PIECE;
        for noisy in [0, pieces / 2, pieces - 3] {
            let mut mixed = text.clone();
            mixed[noisy * PIECE..][..3 * PIECE].copy_from_slice(&random(3 * PIECE, 10));
            assert!(!noise.is_repetitive(&mixed, SEARCH).unwrap(), "{noisy}");
        }
    }
}
