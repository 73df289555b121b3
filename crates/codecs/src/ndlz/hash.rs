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

/// Arithmetic on a word of each lane.
pub trait Words: Copy {
    /// These words.
    fn new(lane: Lane) -> Self;
    /// The words.
    fn lane(self) -> Lane;
    /// Sums.
    fn plus(self, other: Self) -> Self;
    /// Products with a word.
    fn times(self, word: u32) -> Self;
    /// Rotated to the left by `BY` bits; `REST` is 32 less that.
    fn rotated<const BY: i32, const REST: i32>(self) -> Self;
    /// Exclusive or with themselves shifted to the right.
    fn mixed<const BY: i32>(self) -> Self;
}

impl Words for Lane {
    #[inline(always)]
    fn new(lane: Lane) -> Self {
        lane
    }

    #[inline(always)]
    fn lane(self) -> Lane {
        self
    }

    #[inline(always)]
    fn plus(mut self, other: Self) -> Self {
        for (word, other) in self.iter_mut().zip(other) {
            *word = word.wrapping_add(other);
        }
        self
    }

    #[inline(always)]
    fn times(self, word: u32) -> Self {
        self.map(|own| own.wrapping_mul(word))
    }

    #[inline(always)]
    fn rotated<const BY: i32, const REST: i32>(self) -> Self {
        self.map(|word| word.rotate_left(BY as u32))
    }

    #[inline(always)]
    fn mixed<const BY: i32>(self) -> Self {
        self.map(|word| word ^ (word >> BY))
    }
}

/// Words for CPUs with AVX2. Only code that is compiled for these, and runs on them, makes any.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy)]
pub struct Avx2(std::arch::x86_64::__m256i);

#[cfg(target_arch = "x86_64")]
impl Words for Avx2 {
    #[inline(always)]
    fn new(lane: Lane) -> Self {
        use std::arch::x86_64::_mm256_loadu_si256;
        // SAFETY: 32 bytes; the CPU has AVX2, as everywhere below: see the type.
        Self(unsafe { _mm256_loadu_si256(lane.as_ptr().cast()) })
    }

    #[inline(always)]
    fn lane(self) -> Lane {
        use std::arch::x86_64::_mm256_storeu_si256;
        let mut lane = [0; LANES];
        // SAFETY: 32 bytes.
        unsafe { _mm256_storeu_si256(lane.as_mut_ptr().cast(), self.0) };
        lane
    }

    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        // SAFETY: see the type.
        Self(unsafe { std::arch::x86_64::_mm256_add_epi32(self.0, other.0) })
    }

    #[inline(always)]
    fn times(self, word: u32) -> Self {
        use std::arch::x86_64::{_mm256_mullo_epi32, _mm256_set1_epi32};
        // SAFETY: see the type.
        Self(unsafe { _mm256_mullo_epi32(self.0, _mm256_set1_epi32(word as i32)) })
    }

    #[inline(always)]
    fn rotated<const BY: i32, const REST: i32>(self) -> Self {
        use std::arch::x86_64::{_mm256_or_si256, _mm256_slli_epi32, _mm256_srli_epi32};
        // SAFETY: see the type.
        Self(unsafe {
            _mm256_or_si256(
                _mm256_slli_epi32::<BY>(self.0),
                _mm256_srli_epi32::<REST>(self.0),
            )
        })
    }

    #[inline(always)]
    fn mixed<const BY: i32>(self) -> Self {
        use std::arch::x86_64::{_mm256_srli_epi32, _mm256_xor_si256};
        // SAFETY: see the type.
        Self(unsafe { _mm256_xor_si256(self.0, _mm256_srli_epi32::<BY>(self.0)) })
    }
}

#[inline(always)]
fn round<V: Words>(state: V, words: V) -> V {
    let state = state.plus(words.times(PRIMES[1]));
    state.rotated::<13, 19>().times(PRIMES[0])
}

#[inline(always)]
fn tail<V: Words>(hash: V, words: V) -> V {
    let hash = hash.plus(words.times(PRIMES[2]));
    hash.rotated::<17, 15>().times(PRIMES[3])
}

#[inline(always)]
fn finish<V: Words>(hash: V) -> Lane {
    let hash = hash.mixed::<15>().times(PRIMES[1]);
    let hash = hash.mixed::<13>().times(PRIMES[2]).mixed::<16>();
    let mut lane = hash.lane();
    for hash in &mut lane {
        *hash >>= 32 - BITS;
    }
    lane
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
fn merge<V: Words>([a, b, c, d]: [V; 4]) -> V {
    let (a, b) = (a.rotated::<1, 31>(), b.rotated::<7, 25>());
    let (c, d) = (c.rotated::<12, 20>(), d.rotated::<18, 14>());
    a.plus(b).plus(c.plus(d))
}

/// The hashes of parts of `N` words. To be compiled for the CPU features of the caller, so no closure has a part in it.
#[inline(always)]
pub fn of<V: Words, const N: usize>(words: [&Lane; N]) -> Lane {
    let (stripes, rest) = words.as_chunks::<4>();
    let [a, b, c, d] = start();
    let mut state = [
        V::new([a; LANES]),
        V::new([b; LANES]),
        V::new([c; LANES]),
        V::new([d; LANES]),
    ];
    for stripe in stripes {
        for (state, lane) in state.iter_mut().zip(stripe) {
            *state = round(*state, V::new(**lane));
        }
    }
    let mut hash = if stripes.is_empty() {
        V::new([SEED.wrapping_add(PRIMES[4]); LANES])
    } else {
        merge(state)
    };
    hash = hash.plus(V::new([4 * N as u32; LANES]));
    for lane in rest {
        hash = tail(hash, V::new(**lane));
    }
    finish(hash)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// XXH32 by its definition, for lengths that are multiples of 4.
    fn xxh32(words: &[u32]) -> u32 {
        let (stripes, rest) = words.as_chunks::<4>();
        let round = |state: u32, word: u32| {
            let state = state.wrapping_add(word.wrapping_mul(PRIMES[1]));
            state.rotate_left(13).wrapping_mul(PRIMES[0])
        };
        let tail = |hash: u32, word: &u32| {
            let hash = hash.wrapping_add(word.wrapping_mul(PRIMES[2]));
            hash.rotate_left(17).wrapping_mul(PRIMES[3])
        };
        let mut hash = SEED.wrapping_add(PRIMES[4]);
        if !stripes.is_empty() {
            let mut state = start();
            for stripe in stripes {
                for (state, word) in state.iter_mut().zip(stripe) {
                    *state = round(*state, *word);
                }
            }
            let turned = state.iter().zip([1, 7, 12, 18]);
            let turned = turned.map(|(state, by)| state.rotate_left(by));
            hash = turned.fold(0, u32::wrapping_add);
        }
        hash = hash.wrapping_add(4 * words.len() as u32);
        hash = rest.iter().fold(hash, tail);
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
            let hashes = of::<Lane, W>(lanes.each_ref());
            for (i, hash) in hashes.into_iter().enumerate() {
                let words: Vec<u32> = lanes.iter().map(|lane| lane[i]).collect();
                assert_eq!(hash, xxh32(&words) >> 20, "{W} words");
            }
            #[cfg(target_arch = "x86_64")]
            if std::arch::is_x86_feature_detected!("avx2") {
                assert_eq!(of::<Avx2, W>(lanes.each_ref()), hashes, "{W} words");
            }
        }
        check::<2>();
        check::<3>();
        check::<4>();
        check::<6>();
        check::<16>();
    }
}
