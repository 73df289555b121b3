//! CRC-32C with vectors of 512 bits.

use super::polynomial::fold_factors;
use std::arch::x86_64::*;

/// From this length on it is faster than [`avx2`](super::avx2). Four vectors are folded at the same
/// time, so it must be at least four vectors.
pub const LONG: usize = 512;

/// The size of a vector in bytes.
const WIDTH: usize = size_of::<__m512i>();

/// Folds the four quarters of `bytes` into those of `behind`, which lie as far behind as the
/// factors say.
#[target_feature(enable = "avx512f,vpclmulqdq")]
fn fold(bytes: __m512i, factors: __m512i, behind: __m512i) -> __m512i {
    let first = _mm512_clmulepi64_epi128::<0x00>(bytes, factors);
    let last = _mm512_clmulepi64_epi128::<0x11>(bytes, factors);
    // The XOR of all three.
    _mm512_ternarylogic_epi64::<0x96>(first, last, behind)
}

#[target_feature(enable = "avx512f")]
fn load(bytes: &[u8; WIDTH]) -> __m512i {
    // SAFETY: the array has the `WIDTH` bytes that are read, and the load needs no alignment.
    unsafe { _mm512_loadu_si512(bytes.as_ptr().cast()) }
}

/// See [`super::extended`].
#[target_feature(enable = "avx512f,vpclmulqdq,sse4.2")]
pub fn extended(crc: u32, bytes: &[u8]) -> u32 {
    // A CRC-32C is the complement of a remainder.
    !remainder::<false>(!crc, bytes, bytes)
}

/// See [`super::difference`]. Both pieces are read once.
#[target_feature(enable = "avx512f,vpclmulqdq,sse4.2")]
pub fn difference(old: &[u8], new: &[u8]) -> u32 {
    remainder::<true>(0, old, new)
}

/// `bytes` as a vector, with `DIFFERENCE` XORed with `others`.
#[target_feature(enable = "avx512f")]
fn loaded<const DIFFERENCE: bool>(bytes: &[u8; WIDTH], others: &[u8; WIDTH]) -> __m512i {
    match DIFFERENCE {
        true => _mm512_xor_si512(load(bytes), load(others)),
        false => load(bytes),
    }
}

/// The remainder of data followed by `bytes`, given the remainder `crc` of the data. With
/// `DIFFERENCE`, `bytes` are XORed with `others`, which have the same length.
#[target_feature(enable = "avx512f,vpclmulqdq,sse4.2")]
fn remainder<const DIFFERENCE: bool>(crc: u32, bytes: &[u8], others: &[u8]) -> u32 {
    const NEXT: (i64, i64) = fold_factors(WIDTH);
    const BY_FOUR: (i64, i64) = fold_factors(4 * WIDTH);
    const WITHIN: [(i64, i64); 3] = [fold_factors(48), fold_factors(32), fold_factors(16)];
    let all = |(first, last)| _mm512_set4_epi64(last, first, last, first);
    let (vectors, tail) = bytes.as_chunks::<WIDTH>();
    let (other_vectors, other_tail) = others.as_chunks::<WIDTH>();
    let (fours, rest) = vectors.as_chunks::<4>();
    let (other_fours, other_rest) = other_vectors.as_chunks::<4>();
    let (Some((head, fours)), Some((other_head, other_fours))) =
        (fours.split_first(), other_fours.split_first())
    else {
        return words::<DIFFERENCE>(crc, bytes, others);
    };
    let mut sums = [
        loaded::<DIFFERENCE>(&head[0], &other_head[0]),
        loaded::<DIFFERENCE>(&head[1], &other_head[1]),
        loaded::<DIFFERENCE>(&head[2], &other_head[2]),
        loaded::<DIFFERENCE>(&head[3], &other_head[3]),
    ];
    let before = _mm_cvtsi32_si128(crc as i32);
    sums[0] = _mm512_xor_si512(sums[0], _mm512_zextsi128_si512(before));
    let by_four = all(BY_FOUR);
    for (four, other) in fours.iter().zip(other_fours) {
        for (sum, (bytes, others)) in sums.iter_mut().zip(four.iter().zip(other)) {
            *sum = fold(*sum, by_four, loaded::<DIFFERENCE>(bytes, others));
        }
    }
    let next = all(NEXT);
    let [first, others @ ..] = sums;
    let sum = others
        .into_iter()
        .fold(first, |sum, behind| fold(sum, next, behind));
    let sum = rest
        .iter()
        .zip(other_rest)
        .fold(sum, |sum, (bytes, others)| {
            fold(sum, next, loaded::<DIFFERENCE>(bytes, others))
        });
    // The first three quarters are folded into the last.
    let [a, b, c] = WITHIN;
    let within = _mm512_set_epi64(0, 0, c.1, c.0, b.1, b.0, a.1, a.0);
    let moved = fold(sum, within, _mm512_setzero_si512());
    let last = _mm_xor_si128(
        _mm_xor_si128(
            _mm512_castsi512_si128(moved),
            _mm512_extracti32x4_epi32::<1>(moved),
        ),
        _mm_xor_si128(
            _mm512_extracti32x4_epi32::<2>(moved),
            _mm512_extracti32x4_epi32::<3>(sum),
        ),
    );
    // These 16 bytes have the remainder of the whole. The CRC-32C instruction divides by the
    // polynomial.
    let mut crc = _mm_crc32_u64(0, _mm_extract_epi64::<0>(last) as u64);
    crc = _mm_crc32_u64(crc, _mm_extract_epi64::<1>(last) as u64);
    words::<DIFFERENCE>(crc as u32, tail, other_tail)
}

/// [`remainder`] with the CRC-32C instruction alone.
#[target_feature(enable = "sse4.2")]
fn words<const DIFFERENCE: bool>(crc: u32, bytes: &[u8], others: &[u8]) -> u32 {
    let ((words, tail), (other_words, other_tail)) = (bytes.as_chunks(), others.as_chunks());
    let mut crc = u64::from(crc);
    for (word, other) in words.iter().zip(other_words) {
        let other = u64::from_le_bytes(*other);
        let word = u64::from_le_bytes(*word) ^ if DIFFERENCE { other } else { 0 };
        crc = _mm_crc32_u64(crc, word);
    }
    let bytes = tail.iter().zip(other_tail);
    bytes.fold(crc as u32, |crc, (byte, other)| {
        _mm_crc32_u8(crc, byte ^ if DIFFERENCE { *other } else { 0 })
    })
}
