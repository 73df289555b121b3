//! CRC-32C with vectors of 256 bits and the CRC-32C instruction at the same time. The two use
//! different units of the CPU, so that long data take less time than with either alone. Of each
//! [`BLOCK`], three parts go through the instruction, interleaved because each step waits for the
//! result of the step before. The rest of the block is folded.

use super::polynomial::{fold_factors, power_of_x};
use std::arch::x86_64::*;

/// The size of a vector in bytes.
const WIDTH: usize = size_of::<__m256i>();
/// The rounds of a block. Each folds two vectors into the next two, and takes two words of each of
/// the three parts.
const ROUNDS: usize = 16;
/// The size of each of the three parts.
const PART_BYTES: usize = 16 * ROUNDS;
/// The size of the rest of a block, which is folded.
const FOLDED_BYTES: usize = 2 * WIDTH * (1 + ROUNDS);
/// The size of a block.
const BLOCK: usize = 3 * PART_BYTES + FOLDED_BYTES;

#[target_feature(enable = "avx2")]
fn load(bytes: &[u8; WIDTH]) -> __m256i {
    // SAFETY: the array has the `WIDTH` bytes that are read, and the load needs no alignment.
    unsafe { _mm256_loadu_si256(bytes.as_ptr().cast()) }
}

/// The factors, repeated for both halves of a vector.
#[target_feature(enable = "avx2")]
fn broadcast((first, last): (i64, i64)) -> __m256i {
    _mm256_set_epi64x(last, first, last, first)
}

/// Folds both halves of `bytes` into those of `behind`, which lie as far behind as the factors say.
#[target_feature(enable = "avx2,vpclmulqdq")]
fn fold(bytes: __m256i, factors: __m256i, behind: __m256i) -> __m256i {
    let first = _mm256_clmulepi64_epi128::<0x00>(bytes, factors);
    let last = _mm256_clmulepi64_epi128::<0x11>(bytes, factors);
    _mm256_xor_si256(_mm256_xor_si256(first, last), behind)
}

/// The remainder of a vector, after `more` is added to its last eight bytes. The CRC-32C
/// instruction divides by the polynomial.
#[target_feature(enable = "avx2,pclmulqdq,sse4.2")]
fn remainder(sum: __m256i, more: u64) -> u64 {
    const WITHIN: (i64, i64) = fold_factors(16);
    let within = _mm_set_epi64x(WITHIN.1, WITHIN.0);
    let low = _mm256_castsi256_si128(sum);
    let first = _mm_clmulepi64_si128::<0x00>(low, within);
    let last = _mm_clmulepi64_si128::<0x11>(low, within);
    let behind = _mm256_extracti128_si256::<1>(sum);
    let sum = _mm_xor_si128(_mm_xor_si128(first, last), behind);
    let crc = _mm_crc32_u64(0, _mm_extract_epi64::<0>(sum) as u64);
    _mm_crc32_u64(crc, _mm_extract_epi64::<1>(sum) as u64 ^ more)
}

/// The product of a remainder and a power of x, not yet divided by the polynomial.
#[target_feature(enable = "pclmulqdq,sse4.1")]
fn multiplied(crc: u64, power: i64) -> u64 {
    let product =
        _mm_clmulepi64_si128::<0>(_mm_cvtsi64_si128(crc as i64), _mm_cvtsi64_si128(power));
    _mm_extract_epi64::<0>(product) as u64
}

/// See [`super::shifted`].
#[target_feature(enable = "pclmulqdq,sse4.1,sse4.2")]
pub fn shifted(crc: u32, len: usize) -> u32 {
    /// The remainders of the powers of x repeat with this period, since the polynomial is x + 1
    /// times a primitive polynomial of degree 31.
    const ORDER: usize = (1 << 31) - 1;
    /// The powers of x for one byte, two bytes, four bytes and so on, less x^32, by which the
    /// instruction multiplies.
    const MOVES: [i64; 48] = {
        let mut moves = [0; 48];
        let mut i = 0;
        while i < moves.len() {
            moves[i] = power_of_x((8 << i) + ORDER - 32);
            i += 1;
        }
        moves
    };
    let (mut crc, mut left) = (crc, len);
    while let Some(power) = MOVES.get(left.trailing_zeros() as usize) {
        crc = _mm_crc32_u64(0, multiplied(crc.into(), *power)) as u32;
        left &= left - 1;
    }
    crc
}

/// Takes the whole words of `bytes` into a remainder.
#[target_feature(enable = "sse4.2")]
fn words(crc: u64, bytes: &[u8]) -> u64 {
    let (words, _) = bytes.as_chunks();
    words.iter().fold(crc, |crc, word| {
        _mm_crc32_u64(crc, u64::from_le_bytes(*word))
    })
}

/// The remainder of data followed by a block, given the remainder `crc` of the data.
#[target_feature(enable = "avx2,vpclmulqdq,pclmulqdq,sse4.2")]
fn block(crc: u64, block: &[u8; BLOCK]) -> u64 {
    // The powers of x that move the remainders of the three parts to the last eight bytes of the
    // block.
    const MOVES: [i64; 3] = [
        power_of_x(8 * (2 * PART_BYTES + FOLDED_BYTES) - 32),
        power_of_x(8 * (PART_BYTES + FOLDED_BYTES) - 32),
        power_of_x(8 * FOLDED_BYTES - 32),
    ];
    let (parts, folded) = block.split_at(3 * PART_BYTES);
    let (a, parts) = parts.split_at(PART_BYTES);
    let (b, c) = parts.split_at(PART_BYTES);
    let (a, b, c) = (
        a.as_chunks::<16>().0,
        b.as_chunks::<16>().0,
        c.as_chunks::<16>().0,
    );
    let (vectors, _) = folded.as_chunks::<WIDTH>();
    let Some((head, vectors)) = vectors.as_chunks::<2>().0.split_first() else {
        return crc;
    };
    let by_two = broadcast(const { fold_factors(2 * WIDTH) });
    let mut crcs = [crc, 0, 0];
    let mut sums = [load(&head[0]), load(&head[1])];
    for (((a, b), c), pair) in a.iter().zip(b).zip(c).zip(vectors) {
        crcs = [words(crcs[0], a), words(crcs[1], b), words(crcs[2], c)];
        sums = [
            fold(sums[0], by_two, load(&pair[0])),
            fold(sums[1], by_two, load(&pair[1])),
        ];
    }
    let sum = fold(sums[0], broadcast(const { fold_factors(WIDTH) }), sums[1]);
    let [a, b, c] = MOVES;
    remainder(
        sum,
        multiplied(crcs[0], a) ^ multiplied(crcs[1], b) ^ multiplied(crcs[2], c),
    )
}

/// The remainder of data followed by `head` and `behind`, given the remainder `crc` of the data.
#[target_feature(enable = "avx2,vpclmulqdq,pclmulqdq,sse4.2")]
fn vectors(crc: u64, head: &[[u8; WIDTH]; 4], behind: &[[u8; WIDTH]]) -> u64 {
    let (fours, rest) = behind.as_chunks::<4>();
    let by_four = broadcast(const { fold_factors(4 * WIDTH) });
    let mut sums = [
        load(&head[0]),
        load(&head[1]),
        load(&head[2]),
        load(&head[3]),
    ];
    sums[0] = _mm256_xor_si256(sums[0], _mm256_set_epi64x(0, 0, 0, crc as i64));
    for four in fours {
        for (sum, bytes) in sums.iter_mut().zip(four) {
            *sum = fold(*sum, by_four, load(bytes));
        }
    }
    let next = broadcast(const { fold_factors(WIDTH) });
    let [first, others @ ..] = sums;
    let sum = others
        .into_iter()
        .fold(first, |sum, behind| fold(sum, next, behind));
    let sum = rest
        .iter()
        .fold(sum, |sum, bytes| fold(sum, next, load(bytes)));
    remainder(sum, 0)
}

/// See [`super::extended`].
#[target_feature(enable = "avx2,vpclmulqdq,pclmulqdq,sse4.2")]
pub fn extended(crc: u32, bytes: &[u8]) -> u32 {
    let (blocks, rest) = bytes.as_chunks();
    // A CRC-32C is the complement of a remainder.
    let mut crc = blocks
        .iter()
        .fold((!crc).into(), |crc, bytes| block(crc, bytes));
    let (whole, rest) = rest.as_chunks();
    crc = match whole.split_first_chunk() {
        Some((head, behind)) => vectors(crc, head, behind),
        None => words(crc, whole.as_flattened()),
    };
    crc = words(crc, rest);
    let bytes = &rest[rest.len() / 8 * 8..];
    let last = bytes
        .iter()
        .fold(crc as u32, |crc, byte| _mm_crc32_u8(crc, *byte));
    !last
}
