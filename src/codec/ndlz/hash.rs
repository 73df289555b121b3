//! The hash by which parts of cells are looked up: the upper bits of XXH32 with seed 1.
//!
//! Long parts of one cell are hashed side by side, one in each lane, which compilers turn into vector instructions.

/// Bits of a hash that count.
pub const BITS: u32 = 12;
/// Parts that are hashed at once.
pub const LANES: usize = 8;
/// One word of each part.
type Lane = [u32; LANES];

const SEED: u32 = 1;
const PRIMES: [u32; 5] = [2654435761, 2246822519, 3266489917, 668265263, 374761393];

#[inline(always)]
fn round(state: u32, word: u32) -> u32 {
    state
        .wrapping_add(word.wrapping_mul(PRIMES[1]))
        .rotate_left(13)
        .wrapping_mul(PRIMES[0])
}

#[inline(always)]
fn tail(hash: u32, word: u32) -> u32 {
    hash.wrapping_add(word.wrapping_mul(PRIMES[2]))
        .rotate_left(17)
        .wrapping_mul(PRIMES[3])
}

#[inline(always)]
fn finish(mut hash: u32) -> u32 {
    hash = (hash ^ (hash >> 15)).wrapping_mul(PRIMES[1]);
    hash = (hash ^ (hash >> 13)).wrapping_mul(PRIMES[2]);
    (hash ^ (hash >> 16)) >> (32 - BITS)
}

/// The state in which the hash of 16 bytes or more begins.
const fn start() -> [u32; 4] {
    [
        SEED.wrapping_add(PRIMES[0]).wrapping_add(PRIMES[1]),
        SEED.wrapping_add(PRIMES[1]),
        SEED,
        SEED.wrapping_sub(PRIMES[0]),
    ]
}

#[inline(always)]
fn merge(state: [u32; 4]) -> u32 {
    state[0]
        .rotate_left(1)
        .wrapping_add(state[1].rotate_left(7))
        .wrapping_add(state[2].rotate_left(12))
        .wrapping_add(state[3].rotate_left(18))
}

/// The hash of a whole cell: 16 bytes, or a multiple of that.
#[inline(always)]
pub fn of_cell(words: &[u32]) -> usize {
    let mut state = start();
    for stripe in words.as_chunks::<4>().0 {
        for (state, word) in state.iter_mut().zip(stripe) {
            *state = round(*state, *word);
        }
    }
    finish(merge(state).wrapping_add(4 * words.len() as u32)) as usize
}

/// The hash of a part shorter than 16 bytes, word by word: what parts have in common is hashed once.
#[derive(Clone, Copy)]
pub struct Partial(u32);

impl Partial {
    /// Before the first of `words` words.
    pub const fn new(words: u32) -> Self {
        Self(SEED.wrapping_add(PRIMES[4]).wrapping_add(4 * words))
    }

    /// With one word more, which went through [`Partial::weigh`].
    #[inline(always)]
    pub fn with(self, weighed: u32) -> Self {
        Self(
            self.0
                .wrapping_add(weighed)
                .rotate_left(17)
                .wrapping_mul(PRIMES[3]),
        )
    }

    /// What a word adds to a hash, wherever it is in the part.
    #[inline(always)]
    pub fn weigh(word: u32) -> u32 {
        word.wrapping_mul(PRIMES[2])
    }

    /// The slot that the hash stands for.
    #[inline(always)]
    pub fn slot(self) -> u32 {
        finish(self.0)
    }
}

/// The hashes of parts of `W` words, 4 to 7.
#[inline(always)]
pub fn of_long<const W: usize>(words: &[Lane; W]) -> Lane {
    let mut hash = [0; LANES];
    let start = start();
    for (i, hash) in hash.iter_mut().enumerate() {
        let state = [0, 1, 2, 3].map(|n| round(start[n], words[n][i]));
        *hash = merge(state).wrapping_add(4 * W as u32);
    }
    for lane in &words[4..] {
        for (hash, word) in hash.iter_mut().zip(lane) {
            *hash = tail(*hash, *word);
        }
    }
    hash.map(finish)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// XXH32 by its definition, for lengths that are multiples of 4.
    fn xxh32(words: &[u32]) -> u32 {
        let (stripes, rest) = words.as_chunks::<4>();
        let mut hash = SEED.wrapping_add(PRIMES[4]);
        if !stripes.is_empty() {
            let mut state = start();
            for stripe in stripes {
                for (state, word) in state.iter_mut().zip(stripe) {
                    *state = round(*state, *word);
                }
            }
            hash = merge(state);
        }
        hash = hash.wrapping_add(4 * words.len() as u32);
        hash = rest.iter().fold(hash, |hash, word| tail(hash, *word));
        hash = (hash ^ (hash >> 15)).wrapping_mul(PRIMES[1]);
        hash = (hash ^ (hash >> 13)).wrapping_mul(PRIMES[2]);
        hash ^ (hash >> 16)
    }

    #[test]
    fn hashes_are_those_of_xxh32() {
        // Known values of the empty input, with seed 1.
        assert_eq!(xxh32(&[]), 0x0b2c_b792);
        let words: Vec<u32> = (0..64u32).map(|i| i.wrapping_mul(0x9e37_79b9)).collect();
        assert_eq!(of_cell(&words[..4]), (xxh32(&words[..4]) >> 20) as usize);
        assert_eq!(of_cell(&words[..16]), (xxh32(&words[..16]) >> 20) as usize);
        let lane = |n: usize| std::array::from_fn(|i| words[7 * i + n]);
        let parts = |i: usize, len: usize| &words[7 * i..7 * i + len];
        let four: [Lane; 4] = std::array::from_fn(lane);
        let six: [Lane; 6] = std::array::from_fn(lane);
        for i in 0..LANES {
            for len in [2, 3] {
                let begin = Partial::new(len as u32);
                let part = parts(i, len).iter();
                let hash = part.fold(begin, |hash, word| hash.with(Partial::weigh(*word)));
                assert_eq!(hash.slot(), xxh32(parts(i, len)) >> 20);
            }
            assert_eq!(of_long(&four)[i], xxh32(parts(i, 4)) >> 20);
            assert_eq!(of_long(&six)[i], xxh32(parts(i, 6)) >> 20);
        }
    }
}
