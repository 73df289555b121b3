//! The hash of cells and parts of cells: the upper bits of XXH32 (by Yann Collet) with seed 1.
//!
//! Several adjacent cells are hashed at once, one in each lane of a vector.

/// The number of bits of a hash that are used.
pub const BITS: u32 = 12;
/// The number of cells that are hashed at once.
pub const LANES: usize = 8;
/// One word of each cell.
pub type Lanes = [u32; LANES];

const SEED: u32 = 1;
const PRIMES: [u32; 5] = [2654435761, 2246822519, 3266489917, 668265263, 374761393];

/// A vector of one word per lane.
pub trait HashVector: Copy {
    /// Loads the words.
    ///
    /// # Safety
    /// The CPU has the features that the type needs.
    unsafe fn new(lanes: Lanes) -> Self;
    /// Stores the words.
    fn lanes(self) -> Lanes;
    /// Adds each word, wrapping.
    fn add(self, other: Self) -> Self;
    /// Multiplies each word by `word`, wrapping.
    fn mul(self, word: u32) -> Self;
    /// Rotates each word left by `BY` bits. `REST` must be `32 - BY`.
    fn rotate<const BY: i32, const REST: i32>(self) -> Self;
    /// XORs each word with itself shifted right by `BY` bits.
    fn xorshift<const BY: i32>(self) -> Self;
}

impl HashVector for Lanes {
    #[inline(always)]
    unsafe fn new(lane: Lanes) -> Self {
        lane
    }

    #[inline(always)]
    fn lanes(self) -> Lanes {
        self
    }

    #[inline(always)]
    fn add(mut self, other: Self) -> Self {
        for (word, other) in self.iter_mut().zip(other) {
            *word = word.wrapping_add(other);
        }
        self
    }

    #[inline(always)]
    fn mul(self, word: u32) -> Self {
        self.map(|own| own.wrapping_mul(word))
    }

    #[inline(always)]
    fn rotate<const BY: i32, const REST: i32>(self) -> Self {
        self.map(|word| word.rotate_left(BY as u32))
    }

    #[inline(always)]
    fn xorshift<const BY: i32>(self) -> Self {
        self.map(|word| word ^ (word >> BY))
    }
}

/// A vector for CPUs with AVX2. Invariant: where a value exists, the CPU has AVX2, since
/// [`new`](Vector::new) requires it.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy)]
pub struct Avx2Hashes(std::arch::x86_64::__m256i);

#[cfg(target_arch = "x86_64")]
impl HashVector for Avx2Hashes {
    #[inline(always)]
    unsafe fn new(lane: Lanes) -> Self {
        use std::arch::x86_64::_mm256_loadu_si256;
        // SAFETY: the CPU has AVX2 (# Safety). The array has 32 bytes, and the load needs no
        // alignment.
        Self(unsafe { _mm256_loadu_si256(lane.as_ptr().cast()) })
    }

    #[inline(always)]
    fn lanes(self) -> Lanes {
        use std::arch::x86_64::_mm256_storeu_si256;
        let mut lane = [0; LANES];
        // SAFETY: the CPU has AVX2 (invariant). The array has 32 bytes, and the store needs no
        // alignment.
        unsafe { _mm256_storeu_si256(lane.as_mut_ptr().cast(), self.0) };
        lane
    }

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        // SAFETY: the CPU has AVX2 (invariant).
        Self(unsafe { std::arch::x86_64::_mm256_add_epi32(self.0, other.0) })
    }

    #[inline(always)]
    fn mul(self, word: u32) -> Self {
        use std::arch::x86_64::{_mm256_mullo_epi32, _mm256_set1_epi32};
        // SAFETY: the CPU has AVX2 (invariant).
        Self(unsafe { _mm256_mullo_epi32(self.0, _mm256_set1_epi32(word as i32)) })
    }

    #[inline(always)]
    fn rotate<const BY: i32, const REST: i32>(self) -> Self {
        use std::arch::x86_64::{_mm256_or_si256, _mm256_slli_epi32, _mm256_srli_epi32};
        // SAFETY: the CPU has AVX2 (invariant).
        Self(unsafe {
            _mm256_or_si256(
                _mm256_slli_epi32::<BY>(self.0),
                _mm256_srli_epi32::<REST>(self.0),
            )
        })
    }

    #[inline(always)]
    fn xorshift<const BY: i32>(self) -> Self {
        use std::arch::x86_64::{_mm256_srli_epi32, _mm256_xor_si256};
        // SAFETY: the CPU has AVX2 (invariant).
        Self(unsafe { _mm256_xor_si256(self.0, _mm256_srli_epi32::<BY>(self.0)) })
    }
}

#[inline(always)]
fn round<V: HashVector>(state: V, words: V) -> V {
    let state = state.add(words.mul(PRIMES[1]));
    state.rotate::<13, 19>().mul(PRIMES[0])
}

#[inline(always)]
fn tail<V: HashVector>(hash: V, words: V) -> V {
    let hash = hash.add(words.mul(PRIMES[2]));
    hash.rotate::<17, 15>().mul(PRIMES[3])
}

#[inline(always)]
fn finish<V: HashVector>(hash: V) -> Lanes {
    let hash = hash.xorshift::<15>().mul(PRIMES[1]);
    let hash = hash.xorshift::<13>().mul(PRIMES[2]).xorshift::<16>();
    let mut lane = hash.lanes();
    for hash in &mut lane {
        *hash >>= 32 - BITS;
    }
    lane
}

/// The initial state for 16 bytes or more.
const fn start() -> [u32; 4] {
    [
        SEED.wrapping_add(PRIMES[0]).wrapping_add(PRIMES[1]),
        SEED.wrapping_add(PRIMES[1]),
        SEED,
        SEED.wrapping_sub(PRIMES[0]),
    ]
}

#[inline(always)]
fn merge<V: HashVector>([a, b, c, d]: [V; 4]) -> V {
    let (a, b) = (a.rotate::<1, 31>(), b.rotate::<7, 25>());
    let (c, d) = (c.rotate::<12, 20>(), d.rotate::<18, 14>());
    a.add(b).add(c.add(d))
}

/// What all hashes begin with that begin with these words of each lane. There is no closure in it,
/// nor in the functions below, because closures are not compiled with the CPU features of the
/// caller.
///
/// # Safety
/// As for [`HashVector::new`]. `stripes` is not empty.
#[inline(always)]
pub unsafe fn hash_stripes<V: HashVector>(stripes: &[[Lanes; 4]]) -> V {
    let [a, b, c, d] = start();
    // SAFETY: the CPU has the features of `V` (# Safety), here and below.
    let mut state = unsafe {
        [
            V::new([a; LANES]),
            V::new([b; LANES]),
            V::new([c; LANES]),
            V::new([d; LANES]),
        ]
    };
    for stripe in stripes {
        for (state, lane) in state.iter_mut().zip(stripe) {
            // SAFETY: as above.
            *state = round(*state, unsafe { V::new(*lane) });
        }
    }
    merge(state)
}

/// The hashes of what `begin` was made from and `rest`, `len` words together.
///
/// # Safety
/// As for [`HashVector::new`].
#[inline(always)]
pub unsafe fn hash_rest<V: HashVector>(begin: V, rest: &[Lanes], len: u32) -> Lanes {
    // SAFETY: the CPU has the features of `V` (# Safety), here and below.
    let mut hash = begin.add(unsafe { V::new([4 * len; LANES]) });
    for lane in rest {
        // SAFETY: as above.
        hash = tail(hash, unsafe { V::new(*lane) });
    }
    finish(hash)
}

/// Hashes `N` words, which are fewer than four.
#[inline(always)]
pub fn hash_few<const N: usize>(words: [u32; N]) -> u32 {
    const { assert!(N < 4) };
    let mut hash = SEED.wrapping_add(PRIMES[4]).wrapping_add(4 * N as u32);
    for word in words {
        hash = hash.wrapping_add(word.wrapping_mul(PRIMES[2]));
        hash = hash.rotate_left(17).wrapping_mul(PRIMES[3]);
    }
    hash = (hash ^ (hash >> 15)).wrapping_mul(PRIMES[1]);
    hash = (hash ^ (hash >> 13)).wrapping_mul(PRIMES[2]);
    // The lower 16 bits are not used, so the last step of XXH32 has no effect.
    hash >> (32 - BITS)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// XXH32 as it is specified, for lengths that are multiples of 4.
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

    /// # Safety
    /// As for [`HashVector::new`].
    unsafe fn hash<V: HashVector>(words: &[Lanes]) -> Lanes {
        let (stripes, rest) = words.as_chunks();
        // SAFETY: # Safety.
        unsafe { hash_rest(hash_stripes::<V>(stripes), rest, words.len() as u32) }
    }

    #[test]
    fn hashes_are_those_of_xxh32() {
        // Known values of the empty input, with seed 1.
        assert_eq!(xxh32(&[]), 0x0b2c_b792);
        fn check<const W: usize>() {
            let word = |w: usize, i: usize| ((w * LANES + i) as u32).wrapping_mul(0x9e37_79b9);
            let lanes: [Lanes; W] = std::array::from_fn(|w| std::array::from_fn(|i| word(w, i)));
            // SAFETY: `Lanes` needs no CPU feature.
            let hashes = unsafe { hash::<Lanes>(&lanes) };
            for (i, hash) in hashes.into_iter().enumerate() {
                let words: Vec<u32> = lanes.iter().map(|lane| lane[i]).collect();
                assert_eq!(hash, xxh32(&words) >> 20, "{W} words");
            }
            #[cfg(target_arch = "x86_64")]
            if std::arch::is_x86_feature_detected!("avx2") {
                // SAFETY: the CPU has AVX2.
                let by_avx2 = unsafe { hash::<Avx2Hashes>(&lanes) };
                assert_eq!(by_avx2, hashes, "{W} words");
            }
        }
        for [a, b, c] in
            std::array::from_fn::<[u32; 3], 9, _>(|i| [i as u32, u32::MAX >> i, 0x9e37])
        {
            assert_eq!(hash_few([a, b]), xxh32(&[a, b]) >> 20);
            assert_eq!(hash_few([a, b, c]), xxh32(&[a, b, c]) >> 20);
        }
        check::<4>();
        check::<6>();
        check::<16>();
    }
}
