//! The hash by which cells and parts of them are looked up: the upper bits of XXH32 with seed 1.
//!
//! Those of some cells side by side are computed at once, one in each lane, which compilers turn into vector instructions.

/// Bits of a hash that count.
pub const BITS: u32 = 12;
/// Cells that are hashed at once.
pub const LANES: usize = 8;
/// One word of each cell.
pub type Lane = [u32; LANES];

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

/// The hashes of parts of `W` words. To be compiled for the CPU features of the caller, so there is no closure in it.
#[inline(always)]
pub fn of<const W: usize>(words: [&Lane; W]) -> Lane {
    let mut hash = [SEED.wrapping_add(PRIMES[4]); LANES];
    let (stripes, rest) = words.as_chunks::<4>();
    for (i, hash) in hash.iter_mut().enumerate() {
        let mut state = start();
        for stripe in stripes {
            for (state, lane) in state.iter_mut().zip(stripe) {
                *state = round(*state, lane[i]);
            }
            *hash = merge(state);
        }
        *hash = hash.wrapping_add(4 * W as u32);
    }
    for lane in rest {
        for (hash, word) in hash.iter_mut().zip(*lane) {
            *hash = tail(*hash, *word);
        }
    }
    for hash in &mut hash {
        *hash = finish(*hash);
    }
    hash
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
        fn check<const W: usize>() {
            let word = |w: usize, i: usize| ((w * LANES + i) as u32).wrapping_mul(0x9e37_79b9);
            let lanes: [Lane; W] = std::array::from_fn(|w| std::array::from_fn(|i| word(w, i)));
            for (i, hash) in of(lanes.each_ref()).into_iter().enumerate() {
                let words: Vec<u32> = lanes.iter().map(|lane| lane[i]).collect();
                assert_eq!(hash, xxh32(&words) >> 20, "{W} words");
            }
        }
        check::<2>();
        check::<3>();
        check::<4>();
        check::<6>();
        check::<16>();
    }
}
