//! With vectors of 256 bits, and the instruction for CRC-32C at the same time. Other units of the CPU do that, so that long data take
//! less time than by either alone: of each [`BLOCK`], three parts go through the instruction, side by side, since each has to wait for
//! its result, and what is behind them is folded.

use super::{factors, power_of_x};
use std::arch::x86_64::*;

/// Bytes of a vector.
const WIDTH: usize = size_of::<__m256i>();
/// How often two vectors are folded into the next two, and two words of each of the three parts taken.
const ROUNDS: usize = 16;
/// Bytes of one of the three parts.
const PART: usize = 16 * ROUNDS;
/// Bytes of what is folded.
const FOLDED: usize = 2 * WIDTH * (1 + ROUNDS);
/// Bytes of both.
const BLOCK: usize = 3 * PART + FOLDED;

#[target_feature(enable = "avx2")]
fn load(bytes: &[u8; WIDTH]) -> __m256i {
    // SAFETY: they are as many bytes as are read.
    unsafe { _mm256_loadu_si256(bytes.as_ptr().cast()) }
}

/// Factors for both halves of a vector.
#[target_feature(enable = "avx2")]
fn both((first, last): (i64, i64)) -> __m256i {
    _mm256_set_epi64x(last, first, last, first)
}

/// Adds 16 bytes, twice side by side, to others that are as far behind as the factors say.
#[target_feature(enable = "avx2,vpclmulqdq")]
fn fold(bytes: __m256i, factors: __m256i, behind: __m256i) -> __m256i {
    let first = _mm256_clmulepi64_epi128::<0x00>(bytes, factors);
    let last = _mm256_clmulepi64_epi128::<0x11>(bytes, factors);
    _mm256_xor_si256(_mm256_xor_si256(first, last), behind)
}

/// The remainder of a vector, to which `more` is added in its last eight bytes. The instruction divides by the polynomial.
#[target_feature(enable = "avx2,pclmulqdq,sse4.2")]
fn remainder(sum: __m256i, more: u64) -> u64 {
    const WITHIN: (i64, i64) = factors(16);
    let within = _mm_set_epi64x(WITHIN.1, WITHIN.0);
    let front = _mm256_castsi256_si128(sum);
    let first = _mm_clmulepi64_si128::<0x00>(front, within);
    let last = _mm_clmulepi64_si128::<0x11>(front, within);
    let behind = _mm256_extracti128_si256::<1>(sum);
    let sum = _mm_xor_si128(_mm_xor_si128(first, last), behind);
    let crc = _mm_crc32_u64(0, _mm_extract_epi64::<0>(sum) as u64);
    _mm_crc32_u64(crc, _mm_extract_epi64::<1>(sum) as u64 ^ more)
}

/// Moves a remainder by a power of x. It is still to be divided by the polynomial.
#[target_feature(enable = "pclmulqdq,sse4.1")]
fn moved(crc: u64, power: i64) -> u64 {
    let product =
        _mm_clmulepi64_si128::<0>(_mm_cvtsi64_si128(crc as i64), _mm_cvtsi64_si128(power));
    _mm_extract_epi64::<0>(product) as u64
}

/// What becomes of the difference of two CRC-32C when so many equal bytes follow.
#[target_feature(enable = "pclmulqdq,sse4.1,sse4.2")]
pub fn shifted(crc: u32, len: usize) -> u32 {
    /// From this power of x on its remainders repeat: the polynomial is x + 1 times a primitive one of degree 31.
    const ORDER: usize = (1 << 31) - 1;
    /// For one byte, two bytes, four bytes, ...; the instruction multiplies by the power of 32.
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
        crc = _mm_crc32_u64(0, moved(crc.into(), *power)) as u32;
        left &= left - 1;
    }
    crc
}

#[target_feature(enable = "sse4.2")]
fn words(crc: u64, bytes: &[u8]) -> u64 {
    let (words, _) = bytes.as_chunks();
    words.iter().fold(crc, |crc, word| {
        _mm_crc32_u64(crc, u64::from_le_bytes(*word))
    })
}

/// The remainder of a block, and of what `crc` stands for before it.
#[target_feature(enable = "avx2,vpclmulqdq,pclmulqdq,sse4.2")]
fn block(crc: u64, block: &[u8; BLOCK]) -> u64 {
    // To the last eight bytes of the block.
    const MOVES: [i64; 3] = [
        power_of_x(8 * (2 * PART + FOLDED) - 32),
        power_of_x(8 * (PART + FOLDED) - 32),
        power_of_x(8 * FOLDED - 32),
    ];
    let (parts, folded) = block.split_at(3 * PART);
    let (a, parts) = parts.split_at(PART);
    let (b, c) = parts.split_at(PART);
    let (a, b, c) = (
        a.as_chunks::<16>().0,
        b.as_chunks::<16>().0,
        c.as_chunks::<16>().0,
    );
    let (vectors, _) = folded.as_chunks::<WIDTH>();
    let Some((head, vectors)) = vectors.as_chunks::<2>().0.split_first() else {
        return crc;
    };
    let two_on = both(const { factors(2 * WIDTH) });
    let mut crcs = [crc, 0, 0];
    let mut sums = [load(&head[0]), load(&head[1])];
    for (((a, b), c), pair) in a.iter().zip(b).zip(c).zip(vectors) {
        crcs = [words(crcs[0], a), words(crcs[1], b), words(crcs[2], c)];
        sums = [
            fold(sums[0], two_on, load(&pair[0])),
            fold(sums[1], two_on, load(&pair[1])),
        ];
    }
    let sum = fold(sums[0], both(const { factors(WIDTH) }), sums[1]);
    let [a, b, c] = MOVES;
    remainder(
        sum,
        moved(crcs[0], a) ^ moved(crcs[1], b) ^ moved(crcs[2], c),
    )
}

/// The same of `head` and what is behind it, less than a block.
#[target_feature(enable = "avx2,vpclmulqdq,pclmulqdq,sse4.2")]
fn vectors(crc: u64, head: &[[u8; WIDTH]; 4], behind: &[[u8; WIDTH]]) -> u64 {
    let (fours, rest) = behind.as_chunks::<4>();
    let four_on = both(const { factors(4 * WIDTH) });
    let mut sums = [
        load(&head[0]),
        load(&head[1]),
        load(&head[2]),
        load(&head[3]),
    ];
    sums[0] = _mm256_xor_si256(sums[0], _mm256_set_epi64x(0, 0, 0, crc as i64));
    for four in fours {
        for (sum, bytes) in sums.iter_mut().zip(four) {
            *sum = fold(*sum, four_on, load(bytes));
        }
    }
    let next = both(const { factors(WIDTH) });
    let [first, others @ ..] = sums;
    let sum = others
        .into_iter()
        .fold(first, |sum, behind| fold(sum, next, behind));
    let sum = rest
        .iter()
        .fold(sum, |sum, bytes| fold(sum, next, load(bytes)));
    remainder(sum, 0)
}

/// The CRC-32C of what has this one and of bytes behind it.
#[target_feature(enable = "avx2,vpclmulqdq,pclmulqdq,sse4.2")]
pub fn extended(crc: u32, bytes: &[u8]) -> u32 {
    let (blocks, rest) = bytes.as_chunks();
    // A CRC-32C is the complement of the remainder.
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
