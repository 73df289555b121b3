//! Finds the stretches of a stream on which a codec's search for repeated bytes is wasted, such as the low bytes of
//! measured numbers: it takes most of the time, and most of it for nothing.
//!
//! A stretch is judged by how evenly its bytes are spread, and by whether words of it were seen before in the stream.
//! The answer depends on the bytes of the stream alone.

/// The bytes that are judged as one; the last piece of a stream may be nearly twice as long.
const PIECE: usize = 4096;
/// The bytes at the start of a piece that tell most pieces on which the search is not wasted.
const GLANCE: usize = 512;
/// Words that are looked for begin with a byte of these low bits: places chosen by what is there and not by position,
/// so that what is repeated at any distance is found.
const CHOSEN: u8 = 0b1_0110;
/// The low bits of what is remembered of a word; above them is the number of its piece.
const WORD: u64 = (1 << 40) - 1;
/// The places looked at in one step.
const GROUP: usize = 16;

/// What a search finds.
#[derive(Clone, Copy)]
pub(super) struct Search {
    /// How far back, in bytes.
    pub window: usize,
    /// The bytes of the words that are worth referring to, at most 5.
    pub word: u32,
    /// One place of so many is looked at: a power of two, at most 32.
    pub sparse: usize,
    /// The words of a piece of noise that may have been seen before, in a window that is full: what chance gives.
    pub chance: u32,
    /// Whether the codec can do with a code alone.
    pub code: bool,
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
    /// From where on in the stream there is something that it repeats, as far as that can be told.
    pub repeats_from: usize,
}

/// The words of a piece that were seen before.
struct Repeats {
    count: u32,
    /// The first piece that has one of them; the piece itself if there is none.
    oldest: u64,
}

/// Judges streams; one per worker.
#[derive(Default)]
pub(super) struct Noise {
    /// The last word of the stream with this hash, and above its bits the number of the piece; 0 for none.
    seen: Vec<u64>,
    parts: Vec<Part>,
}

impl Noise {
    /// Whether a stream is noise from end to end, which no codec shortens.
    pub(super) fn fills(&mut self, stream: &[u8]) -> bool {
        // Most streams that are not show it in the first piece, before anything is made ready.
        pieces(stream).all(|piece| spread(piece) == Worth::Nothing) && {
            // Four bytes are alike by chance here and there in so much.
            let search = Search {
                window: 1 << 20,
                word: 5,
                sparse: 32,
                chance: 0,
                code: false,
            };
            self.forget(search);
            pieces(stream).zip(0..).all(|(piece, at)| {
                self.repeats(search, piece, at)
                    .is_some_and(|repeats| repeats.count == 0)
            })
        }
    }

    /// The stretches that make up a stream, each as long as can be. A few pieces beside others that are worth more are
    /// treated like them, since what is cut off is not referred to and each stretch has a code of its own.
    pub(super) fn parts(&mut self, stream: &[u8], search: Search) -> &[Part] {
        let mut parts = core::mem::take(&mut self.parts);
        parts.clear();
        parts.extend(pieces(stream).map(|piece| Part {
            len: piece.len(),
            worth: match spread(piece) {
                Worth::Code if !search.code => Worth::Search,
                worth => worth,
            },
            repeats_from: 0,
        }));
        if parts.iter().any(|part| part.worth > Worth::Search) {
            self.forget(search);
            let all = (search.window / PIECE) as u32;
            for ((part, piece), at) in parts.iter_mut().zip(pieces(stream)).zip(0..) {
                let repeats = self.repeats(search, piece, at);
                // Of a stream's first pieces there is less that they could repeat.
                let chance = search.chance * (at as u32 + 1).min(all) / all;
                part.worth = match (part.worth, &repeats) {
                    (Worth::Code, Some(Repeats { count: 0..=1, .. })) => Worth::Code,
                    (Worth::Nothing, Some(repeats)) if repeats.count <= chance => Worth::Nothing,
                    _ => Worth::Search,
                };
                part.repeats_from = repeats.map_or(0, |repeats| repeats.oldest as usize * PIECE);
            }
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
        self.parts = parts;
        &self.parts
    }

    /// Forgets all words, and makes room for those of a window.
    fn forget(&mut self, search: Search) {
        self.seen.clear();
        self.seen
            .resize(search.window.next_power_of_two() / search.sparse, 0);
    }

    /// The words of the piece with this number that were seen before; none when it has so few words that they tell
    /// nothing. Remembers its words.
    #[inline(never)]
    fn repeats(&mut self, search: Search, piece: &[u8], at: u64) -> Option<Repeats> {
        let mut words = 0;
        let mut repeats = Repeats {
            count: 0,
            oldest: at,
        };
        let reach = (search.window / PIECE + 1) as u64;
        let choosing = (search.sparse - 1) as u8;
        let mask = (1 << (8 * search.word)) - 1;
        let shift = self.seen.len().leading_zeros() + 1;
        let mut look = |bytes: &[u8; 8]| {
            let word = u64::from_le_bytes(*bytes) & mask;
            let hash = word.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> shift;
            let seen = &mut self.seen[hash as usize];
            words += 1;
            if *seen & WORD == word && at - (*seen >> 40) <= reach {
                repeats.count += 1;
                repeats.oldest = repeats.oldest.min(*seen >> 40);
            }
            *seen = word | at << 40;
        };
        // A group, and the bytes behind it that words at its end reach into.
        for group in piece.windows(GROUP + 7).step_by(GROUP) {
            let mut places = chosen(group.first_chunk().expect("the group"), choosing);
            while places != 0 {
                let place = places.trailing_zeros() as usize;
                look(
                    group[place..]
                        .first_chunk()
                        .expect("within the bytes behind"),
                );
                places &= places - 1;
            }
        }
        // Half as many as chance gives are enough.
        (words >= piece.len() / (2 * search.sparse)).then_some(repeats)
    }
}

/// Makes one of parts that follow each other and are worth the same.
fn merge(parts: &mut Vec<Part>) {
    parts.dedup_by(|next, part| {
        let same = next.worth == part.worth;
        if same {
            part.len += next.len;
            part.repeats_from = part.repeats_from.min(next.repeats_from);
        }
        same
    });
}

/// The places of a group whose bytes are chosen by these bits, a bit each, the first lowest.
fn chosen(group: &[u8; GROUP], choosing: u8) -> u16 {
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

/// A stream in pieces, at least one.
fn pieces(stream: &[u8]) -> impl Iterator<Item = &[u8]> {
    let whole = (stream.len() / PIECE).max(1);
    (0..whole).map(move |i| {
        let end = if i + 1 == whole {
            stream.len()
        } else {
            (i + 1) * PIECE
        };
        &stream[i * PIECE..end]
    })
}

/// What a piece is worth if nothing in it is repeated, by how evenly its bytes are spread.
#[inline(never)]
fn spread(piece: &[u8]) -> Worth {
    if piece.len() < PIECE {
        return Worth::Search;
    }
    let mut counts = Counts([[0; 256]; 4]);
    let (glance, rest) = piece.split_at(GLANCE);
    counts.add(glance);
    if counts.worth(GLANCE) == Worth::Search {
        return Worth::Search;
    }
    counts.add(rest);
    counts.worth(piece.len())
}

/// How often each byte was seen, in four tables: a count that was just stored can't be loaded again at once.
struct Counts([[u16; 256]; 4]);

impl Counts {
    #[inline(never)]
    fn add(&mut self, bytes: &[u8]) {
        let (eights, rest) = bytes.as_chunks::<8>();
        for eight in eights {
            let eight = u64::from_le_bytes(*eight);
            for i in 0..8 {
                self.0[i % 4][usize::from((eight >> (8 * i)) as u8)] += 1;
            }
        }
        for &byte in rest {
            self.0[0][usize::from(byte)] += 1;
        }
    }

    /// Of Pearson's chi-square of the counts chance gives 255, whatever their number, and seldom much more. It is
    /// `n / 32` higher where a code gains 0.023 bits of each of `n` bytes, and that much is given up. Where two bytes
    /// are alike more often than one time in 12 there are repeated words also by chance.
    #[inline(never)]
    fn worth(&self, n: usize) -> Worth {
        /// More than five times the deviation of 22.6.
        const CHANCE: u64 = 128;
        let squares: u64 = (0..256)
            .map(|byte| {
                self.0
                    .iter()
                    .map(|table| u32::from(table[byte]))
                    .sum::<u32>()
            })
            .map(|count| u64::from(count * count))
            .sum();
        let n = n as u64;
        if 256 * squares <= n * (n + 255 + CHANCE.max(n / 32)) {
            Worth::Nothing
        } else if 12 * squares <= n * n {
            Worth::Code
        } else {
            Worth::Search
        }
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
    fn random(len: usize, mut seed: u64) -> Vec<u8> {
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
            assert!(noise.fills(&random(len, len as u64)), "{len} bytes");
        }
    }

    #[test]
    fn what_can_be_shortened_is_not() {
        let mut noise = Noise::default();
        let bytes = random(100_000, 1);
        assert!(!noise.fills(&bytes[..PIECE - 1]), "too few to tell");
        // Half a bit of each byte can be saved, and a tenth of one.
        let of = |values: u32| -> Vec<u8> {
            bytes
                .iter()
                .map(|byte| (u32::from(*byte) * values / 256) as u8)
                .collect()
        };
        for values in [181, 239] {
            assert!(!noise.fills(&of(values)));
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
            assert!(!noise.fills(&twice), "every {period}");
        }
        let mut once = bytes.clone();
        once.copy_within(100..400, 90_000);
        assert!(!noise.fills(&once));
        assert!(
            noise.fills(&bytes),
            "what was seen in one stream is forgotten in the next"
        );
    }

    /// The parts of a stream, without what they repeat.
    fn parts(stream: &[u8]) -> Vec<(usize, Worth)> {
        let mut noise = Noise::default();
        let parts = noise.parts(stream, SEARCH);
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
}
