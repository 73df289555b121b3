//! Finds the stretches of a stream on which a codec's search for repeated bytes is wasted, such as the low bytes of
//! measured numbers: it takes most of the time, and most of it for nothing.
//!
//! A stretch is judged by how evenly its bytes are spread, and by whether words of it were seen before in the stream.
//! The answer depends on the bytes of the stream alone.

mod short;
mod words;

use core::hint::select_unpredictable;
use oxiblosc_error::Result;
use oxiblosc_memory::List;

/// The bytes that are judged as one; the last piece of a stream may be nearly twice as long.
pub(super) const PIECE: usize = 4096;
/// The bytes at the start of a piece that tell most pieces on which the search is not wasted.
const GLANCE: usize = 512;
/// One repeated word of so many is not worth the search: all that it finds is shorter by half a percent.
const FEW: usize = 256;
/// The length below which a codec searches so closely that a small part of what it finds must not be missed.
const CLOSE: usize = 4 * PIECE;
/// The length from which on samples tell of a stream whether it is noise.
const SAMPLED: usize = 16 * PIECE;
/// The bytes of one sample.
const LINE: usize = 64;
/// Words that are looked for begin with a byte of these low bits: places chosen by what is there and not by position,
/// so that what is repeated at any distance is found.
const CHOSEN: u8 = 0b1_0110;
/// The low bits of what is remembered of a word; above them is the number of its piece.
const WORD_BITS: u32 = 40;
const WORD: u64 = (1 << WORD_BITS) - 1;
/// The places looked at in one step: many, since nobody can guess how many of them are chosen.
const GROUP: usize = 64;
/// Those at the end of a piece.
const SMALL_GROUP: usize = 16;

/// What a search finds.
#[derive(Clone, Copy)]
pub(super) struct Search {
    /// How far back, in bytes.
    pub window: usize,
    /// The bytes of the words that are worth referring to, at most 5.
    pub word: u32,
    /// One place of so many is looked at: a power of two, at most 128.
    pub sparse: usize,
    /// The words of a piece of noise that may have been seen before, in a window that is full: what chance gives.
    pub chance: u32,
    /// Whether the codec can do with a code alone.
    pub code: bool,
}

impl Search {
    /// How many words are remembered: twice as many as are chosen of a window.
    fn slots(self) -> usize {
        self.window.next_power_of_two() / self.sparse
    }
}

/// What is worth trying on a stretch, the most first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Worth {
    /// Looking for repeated bytes.
    Search,
    /// A code for single bytes: nothing is repeated.
    Code,
    /// Nothing: the bytes are as evenly spread as by chance.
    Nothing,
}

/// A stretch of a stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Part {
    pub len: usize,
    pub worth: Worth,
    /// From where on in the stream there is something that it or a later stretch repeats, as far as that can be told.
    pub repeats_from: usize,
}

/// What was found of the words of a piece.
struct Repeats {
    /// The words looked at.
    words: usize,
    /// Those that were seen before.
    count: u32,
    /// The first piece of the stream that has one of them; the piece itself if there is none.
    oldest: usize,
}

impl Repeats {
    /// Whether enough words of so many bytes were looked at to tell something: half as many as chance gives.
    fn tell(words: usize, len: usize, search: Search) -> bool {
        words >= len / (2 * search.sparse)
    }
}

/// Judges streams; one per worker.
#[derive(Default)]
pub(super) struct Noise {
    /// The last word with this hash, and above its bits the number of its piece. Pieces are numbered on and on from 1,
    /// so that nothing has to be forgotten between streams.
    seen: List<u64>,
    /// The numbers of the stream's first piece and of the next stream's.
    first: u64,
    next: u64,
    parts: List<Part>,
    places: Places,
    short: short::Short,
    words: words::Words<16>,
}

impl Noise {
    /// Whether a stream is noise from end to end, which no codec shortens.
    pub(super) fn fills(&mut self, stream: &[u8]) -> Result<bool> {
        if stream.len() < 2 * PIECE {
            return self.short.fills(stream);
        }
        let (window, sparse, least) = if stream.len() < CLOSE {
            (1 << 16, 16, FEW)
        } else if stream.len() < SAMPLED {
            (1 << 17, 32, FEW)
        } else {
            (1 << 20, 128, usize::MAX)
        };
        let few = stream.len() / sparse / least;
        let search = Search {
            window,
            // Four bytes are alike by chance here and there in so much.
            word: 5,
            sparse,
            chance: 0,
            code: false,
        };
        // Most streams that are not show it in their last piece: the high bytes of numbers.
        if !all_even(stream) {
            return Ok(false);
        }
        self.start(search, stream)?;
        let (mut words, mut count) = (0, 0);
        for (at, piece) in pieces(stream).enumerate() {
            let repeats = self.repeats(search, piece, at)?;
            words += repeats.words;
            count += repeats.count as usize;
            if count > few {
                return Ok(false);
            }
        }
        Ok(Repeats::tell(words, stream.len(), search))
    }

    /// Whether a stream has hardly a word twice, so that a codec that can only refer to what it repeats shortens it by less than
    /// half a percent, however uneven its bytes are. Some words hide behind others, a half of those that are far apart.
    pub(super) fn repeats_nothing(&mut self, stream: &[u8]) -> Result<bool> {
        self.words.hardly_repeat(stream, stream.len() / (2 * FEW))
    }

    /// The stretches that make up a stream, each as long as can be. A few pieces beside others that are worth more are
    /// treated like them, since what is cut off is not referred to and each stretch has a code of its own.
    pub(super) fn parts(&mut self, stream: &[u8], search: Search) -> Result<&[Part]> {
        let mut parts = core::mem::take(&mut self.parts);
        parts.clear();
        parts.extend(pieces(stream).map(|piece| Part {
            len: piece.len(),
            worth: Worth::Search,
            repeats_from: 0,
        }))?;
        if !self.is_repetitive(stream, search)? {
            self.judge(stream, search, &mut parts)?;
        }
        merge(&mut parts);
        for i in 0..parts.len() {
            let end = match parts[i].worth {
                Worth::Nothing => Worth::Nothing,
                _ => Worth::Search,
            };
            let beside = |j: usize| parts.get(j).map_or(end, |part| part.worth);
            let least = beside(i.wrapping_sub(1)).min(beside(i + 1));
            let part = &mut parts[i];
            let few = match part.worth {
                Worth::Nothing => 2 * PIECE,
                _ => 4 * PIECE,
            };
            if part.len < few {
                part.worth = part.worth.min(least);
            }
        }
        merge(&mut parts);
        let mut from = usize::MAX;
        let searched = parts.iter_mut().rev();
        for part in searched.filter(|part| part.worth == Worth::Search) {
            from = from.min(part.repeats_from);
            part.repeats_from = from;
        }
        self.parts = parts;
        Ok(&self.parts)
    }

    /// Says what each piece of a stream is worth by itself. What takes longer is done last: its first bytes tell most pieces
    /// that are worth a search, and repeated words most others.
    fn judge(&mut self, stream: &[u8], search: Search, parts: &mut [Part]) -> Result<()> {
        let least = match search.code {
            true => Worth::Code,
            false => Worth::Nothing,
        };
        let all = (search.window / PIECE) as u32;
        // The words of so many pieces were looked at.
        let mut known = 0;
        for (at, piece) in pieces(stream).enumerate() {
            let mut counts = Counts::NONE;
            let first = counts.glance(piece);
            if first < least {
                continue;
            }
            if known == 0 {
                self.start(search, stream)?;
            }
            let mut count = None;
            while known <= at {
                count = self.count_repeats(stream, search, known, &mut parts[known])?;
                known += 1;
            }
            // Of a stream's first pieces there is less that they could repeat.
            let chance = search.chance * (at as u32 + 1).min(all) / all;
            // A piece that begins unevenly is not noise.
            let most = match first {
                Worth::Nothing => chance.max(1),
                _ => 1,
            };
            if let Some(count) = count
                && count <= most
            {
                parts[at].worth = match counts.finish(piece) {
                    Worth::Code if search.code && count <= 1 && !has_runs(piece) => Worth::Code,
                    Worth::Nothing if count <= chance => Worth::Nothing,
                    _ => Worth::Search,
                };
            }
        }
        if parts.iter().any(|part| part.worth > Worth::Search) {
            for (at, part) in parts.iter_mut().enumerate().skip(known) {
                self.count_repeats(stream, search, at, part)?;
            }
        }
        Ok(())
    }

    /// How many words of a piece were seen before, none if too few tell; its part learns where.
    fn count_repeats(
        &mut self,
        stream: &[u8],
        search: Search,
        at: usize,
        part: &mut Part,
    ) -> Result<Option<u32>> {
        let piece = piece(stream, at);
        let repeats = self.repeats(search, piece, at)?;
        let tell = Repeats::tell(repeats.words, piece.len(), search);
        part.repeats_from = if tell { repeats.oldest * PIECE } else { 0 };
        Ok(tell.then_some(repeats.count))
    }

    /// Whether in the beginning, the middle and the end of a stream many words were seen shortly before: then nothing
    /// further is looked at, which with text would take a tenth of the time.
    fn is_repetitive(&mut self, stream: &[u8], search: Search) -> Result<bool> {
        const PROBE: usize = 3;
        const FEW: usize = 64;
        let all = stream.len() / PIECE;
        let mut repeats_itself = |first: usize| {
            let probe = &stream[first * PIECE..][..PROBE * PIECE];
            self.start(search, probe)?;
            let (mut words, mut count) = (0, 0);
            for (at, piece) in pieces(probe).enumerate() {
                let repeats = self.repeats(search, piece, at)?;
                words += repeats.words;
                count += repeats.count as usize;
            }
            Ok(words >= FEW && 8 * count > words)
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

    /// Makes ready to look at the words of a stream.
    fn start(&mut self, search: Search, stream: &[u8]) -> Result<()> {
        let len = self.seen.len().max(search.slots());
        let pieces = (stream.len() / PIECE).max(1) as u64;
        self.first = self.next;
        if self.seen.len() != len || (self.first + pieces) >> (u64::BITS - WORD_BITS) != 0 {
            self.seen.clear();
            self.seen.resize(len, 0)?;
            self.first = 1;
        }
        self.next = self.first + pieces;
        Ok(())
    }

    /// Looks at the words of the stream's piece with this number, and remembers them.
    #[inline(never)]
    fn repeats(&mut self, search: Search, piece: &[u8], at: usize) -> Result<Repeats> {
        let reach = search.window / PIECE + 1;
        let this = self.first + at as u64;
        let oldest = self.first.max(this.saturating_sub(reach as u64));
        let mask = (1 << (8 * search.word)) - 1;
        let shift = search.slots().leading_zeros() + 1;
        let (mut count, mut first) = (0, this);
        let choosing = (search.sparse - 1) as u8;
        let places = match choosing {
            ..16 => self.places.find::<8>(piece, choosing)?,
            _ => self.places.find::<2>(piece, choosing)?,
        };
        for &place in places {
            let bytes = piece[usize::from(place)..]
                .first_chunk()
                .expect("within the bytes behind");
            let word = u64::from_le_bytes(*bytes) & mask;
            let hash = word.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> shift;
            let seen = core::mem::replace(&mut self.seen[hash as usize], word | this << WORD_BITS);
            // Nobody can guess it.
            let again = seen & WORD == word && seen >> WORD_BITS >= oldest;
            count += u32::from(again);
            first = first.min(select_unpredictable(again, seen >> WORD_BITS, this));
        }
        Ok(Repeats {
            words: places.len(),
            count,
            oldest: (first - self.first) as usize,
        })
    }
}

/// Where in a piece the words begin that are looked for.
#[derive(Default)]
struct Places(List<u16>);

impl Places {
    /// Those of the bytes of a piece that are chosen by these bits, in order.
    ///
    /// Nobody can guess how many are chosen of a group, so `FEW` are taken, of which there hardly ever are more; those that are
    /// none are written over by the next group's.
    #[inline(always)]
    fn find<const FEW: usize>(&mut self, piece: &[u8], choosing: u8) -> Result<&[u16]> {
        self.0.resize(2 * PIECE + FEW, 0)?;
        let mut found = 0;
        let mut take = |at: usize, mut left: u64| {
            if FEW > 2 && left == 0 {
                return;
            }
            loop {
                let (places, _) = self.0[found..].split_at_mut(FEW);
                for place in places {
                    *place = (at + (left | 1 << 63).trailing_zeros() as usize) as u16;
                    found += usize::from(left != 0);
                    left &= left.wrapping_sub(1);
                }
                if left == 0 {
                    break;
                }
            }
        };
        // A group, and the bytes behind it that words at its end reach into.
        let mut at = 0;
        while let Some(group) = piece.get(at..at + GROUP + 7) {
            let (sixteens, _) = group.as_chunks::<SMALL_GROUP>();
            let places = sixteens[..GROUP / SMALL_GROUP]
                .iter()
                .rev()
                .fold(0, |places, sixteen| {
                    places << SMALL_GROUP | u64::from(chosen(sixteen, choosing))
                });
            take(at, places);
            at += GROUP;
        }
        while let Some(group) = piece.get(at..at + SMALL_GROUP + 7) {
            let first = group.first_chunk().expect("the group");
            take(at, chosen(first, choosing).into());
            at += SMALL_GROUP;
        }
        Ok(&self.0[..found])
    }
}

/// Makes one of parts that follow each other and are worth the same.
fn merge(parts: &mut List<Part>) {
    parts.dedup_by(|next, part| {
        let same = next.worth == part.worth;
        if same {
            part.len += next.len;
            part.repeats_from = part.repeats_from.min(next.repeats_from);
        }
        same
    });
}

/// Whether more than one of 64 words of eight bytes is one byte repeated, such as none of the words that are looked for may
/// be.
fn has_runs(piece: &[u8]) -> bool {
    let (words, _) = piece.as_chunks::<8>();
    let runs = words.iter().filter(|word| {
        let word = u64::from_ne_bytes(**word);
        word == word.rotate_left(8)
    });
    64 * runs.count() > words.len()
}

/// The places of a group whose bytes are chosen by these bits, a bit each, the first lowest.
fn chosen(group: &[u8; SMALL_GROUP], choosing: u8) -> u16 {
    let chosen = CHOSEN & choosing;
    #[cfg(target_arch = "x86_64")]
    {
        use core::arch::x86_64::*;
        // SAFETY: SSE2 is in every x86-64; the load takes the sixteen bytes of the group from anywhere.
        unsafe {
            let bytes = _mm_loadu_si128(group.as_ptr().cast());
            let low = _mm_and_si128(bytes, _mm_set1_epi8(choosing as i8));
            _mm_movemask_epi8(_mm_cmpeq_epi8(low, _mm_set1_epi8(chosen as i8))) as u16
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    group.iter().enumerate().fold(0, |places, (i, byte)| {
        places | u16::from(byte & choosing == chosen) << i
    })
}

/// How many pieces a stream has, at least one.
fn whole(stream: &[u8]) -> usize {
    (stream.len() / PIECE).max(1)
}

/// The piece of a stream with this number.
fn piece(stream: &[u8], i: usize) -> &[u8] {
    let end = if i + 1 == whole(stream) {
        stream.len()
    } else {
        (i + 1) * PIECE
    };
    &stream[i * PIECE..end]
}

/// A stream in pieces.
fn pieces(stream: &[u8]) -> impl DoubleEndedIterator<Item = &[u8]> {
    (0..whole(stream)).map(|i| piece(stream, i))
}

/// Whether the bytes of all pieces are as evenly spread as by chance. Of a long stream only a quarter is counted, each
/// piece's by itself and all together, which tells finer.
#[inline(never)]
fn all_even(stream: &[u8]) -> bool {
    if stream.len() < SAMPLED {
        return pieces(stream).rev().all(|piece| {
            let mut counts = Counts::NONE;
            counts.glance(piece) == Worth::Nothing && counts.finish(piece) == Worth::Nothing
        });
    }
    let mut all = [0; 256];
    let even = pieces(stream).rev().all(|piece| {
        let mut counts = Counts::NONE;
        // Lines that follow no pattern, lest they follow one of the data's.
        let (cells, rest) = piece.as_chunks::<{ 4 * LINE }>();
        for (cell, i) in cells.iter().zip(0_u32..) {
            let line = (i.wrapping_mul(0x9E37_79B9) >> 30) as usize;
            counts.add(&cell[line * LINE..][..LINE]);
        }
        counts.add(rest);
        counts.add_to(&mut all);
        counts.worth() == Worth::Nothing
    });
    even && worth(&all) == Worth::Nothing
}

/// How often each byte was seen, in two tables: a count that was just stored can't be loaded again at once.
struct Counts([[u16; 256]; 2]);

impl Counts {
    const NONE: Self = Self([[0; 256]; 2]);

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

    /// Counts the first bytes of a piece; what the piece may be worth, by them.
    fn glance(&mut self, piece: &[u8]) -> Worth {
        if piece.len() < PIECE {
            return Worth::Search;
        }
        self.add(&piece[..GLANCE]);
        self.worth()
    }

    /// Counts the others; what the piece is worth if nothing in it is repeated.
    fn finish(&mut self, piece: &[u8]) -> Worth {
        self.add(&piece[GLANCE..]);
        self.worth()
    }

    fn add_to(&self, all: &mut [u32; 256]) {
        let [even, odd] = &self.0;
        for ((count, even), odd) in all.iter_mut().zip(even).zip(odd) {
            *count += u32::from(*even) + u32::from(*odd);
        }
    }

    fn worth(&self) -> Worth {
        let mut all = [0; 256];
        self.add_to(&mut all);
        worth(&all)
    }
}

/// Of Pearson's chi-square of the counts of `n` bytes, whose `squares` add up to this, chance gives 255, whatever their
/// number, and seldom much more. It is `n / 32` higher where a code gains 0.023 bits of each byte, and that much is given up.
fn is_chance(n: u64, squares: u64) -> bool {
    /// More than five times the deviation of 22.6.
    const CHANCE: u64 = 128;
    256 * squares <= n * (n + 255 + CHANCE.max(n / 32))
}

/// What bytes with these counts are worth. Where two are alike more often than one time in 12 there are repeated words also
/// by chance.
#[inline(never)]
fn worth(counts: &[u32; 256]) -> Worth {
    let n: u64 = counts.iter().map(|count| u64::from(*count)).sum();
    let squares: u64 = counts
        .iter()
        .map(|count| u64::from(*count) * u64::from(*count))
        .sum();
    if is_chance(n, squares) {
        Worth::Nothing
    } else if 12 * squares <= n * n {
        Worth::Code
    } else {
        Worth::Search
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEARCH: Search = Search {
        window: 1 << 15,
        word: 4,
        sparse: 16,
        chance: 0,
        code: true,
    };

    /// Bytes of a small generator (splitmix), as even as any.
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
    fn random_bytes_are_noise() {
        let mut noise = Noise::default();
        for len in [PIECE, PIECE + 1, 2 * PIECE - 1, 100_000, 1 << 21] {
            assert!(
                noise.fills(&random(len, len as u64)).unwrap(),
                "{len} bytes"
            );
        }
    }

    #[test]
    fn what_can_be_shortened_is_not() {
        let mut noise = Noise::default();
        let bytes = random(100_000, 1);
        // Half a bit of each byte can be saved, and a tenth of one.
        let of = |values: u32| -> Vec<u8> {
            bytes
                .iter()
                .map(|byte| (u32::from(*byte) * values / 256) as u8)
                .collect()
        };
        for values in [181, 239] {
            assert!(!noise.fills(&of(values)).unwrap());
            assert_eq!(parts(&of(values)), [(100_000, Worth::Code)]);
        }
        assert_eq!(parts(&of(16)), [(100_000, Worth::Search)]);
        // Whatever is said twice, near, far and not at a whole piece.
        for (period, len) in [
            (1000, 8192),
            (5000, 20_000),
            (30_011, 100_000),
            (500_000, 1 << 20),
        ] {
            let twice: Vec<u8> = random(period, 2).into_iter().cycle().take(len).collect();
            assert!(!noise.fills(&twice).unwrap(), "every {period}");
        }
        let mut once = bytes.clone();
        once.copy_within(100..400, 90_000);
        assert!(!noise.fills(&once).unwrap());
        assert!(
            noise.fills(&bytes).unwrap(),
            "what was seen in one stream is forgotten in the next"
        );
    }

    /// The parts of a stream, without what they repeat.
    fn parts(stream: &[u8]) -> Vec<(usize, Worth)> {
        let mut noise = Noise::default();
        let parts = noise.parts(stream, SEARCH).unwrap();
        parts.iter().map(|part| (part.len, part.worth)).collect()
    }

    #[test]
    fn parts_make_up_the_stream() {
        use Worth::{Code, Nothing, Search};
        assert_eq!(parts(&[]), [(0, Search)]);
        assert_eq!(parts(&random(100, 3)), [(100, Search)]);
        assert_eq!(parts(&random(5 * PIECE + 7, 3)), [(5 * PIECE + 7, Nothing)]);
        let mut planes = vec![7; 3 * PIECE];
        planes.extend(random(4 * PIECE, 4));
        planes.extend(random(4 * PIECE, 6).iter().map(|byte| byte % 192));
        planes.extend(vec![8; PIECE]);
        // One piece alone is not worth a block of its own.
        planes.extend(random(PIECE, 5));
        planes.extend(vec![8; 99]);
        assert_eq!(
            parts(&planes),
            [
                (3 * PIECE, Search),
                (4 * PIECE, Nothing),
                (4 * PIECE, Code),
                (2 * PIECE + 99, Search)
            ]
        );
    }

    #[test]
    fn in_what_repeats_itself_throughout_no_noise_is_looked_for() {
        let mut noise = Noise::default();
        // Words, in no order.
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
