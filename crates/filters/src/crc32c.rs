//! CRC-32C. The crate crc32c has it with the instructions that most CPUs have for it, at 24 GB/s; where the CPU multiplies
//! polynomials in vectors of 512 bits, long data are folded with those first, at more than twice that speed: LZ4 decompresses
//! so fast that it is felt.
//!
//! The algorithm is from Intel's paper "Fast CRC Computation for Generic Polynomials Using PCLMULQDQ Instruction": a vector that is
//! multiplied by a power of x and added to a later one leaves the remainder of the whole as it was.

/// The polynomial, as all here with the bit of the highest power last.
const POLYNOMIAL: u32 = 0x82f6_3b78;

/// The product of two remainders.
pub const fn product(a: u32, mut b: u32) -> u32 {
    let (mut sum, mut bit) = (0, 32);
    while bit > 0 {
        bit -= 1;
        if a >> bit & 1 != 0 {
            sum ^= b;
        }
        b = b >> 1 ^ if b & 1 != 0 { POLYNOMIAL } else { 0 };
    }
    sum
}

/// The CRC-32C of bytes.
#[inline]
pub fn crc32c(bytes: &[u8]) -> u32 {
    #[cfg(target_arch = "x86_64")]
    if bytes.len() >= x86_64::LONG && x86_64::is_supported() {
        // SAFETY: the CPU has the instructions.
        return unsafe { x86_64::crc32c(bytes) };
    }
    crc32c::crc32c(bytes)
}

#[cfg(target_arch = "x86_64")]
mod x86_64 {
    use super::product;
    use oxiblosc_memory::cpu::{Vectors, allows};
    use std::arch::is_x86_feature_detected as has;
    use std::arch::x86_64::*;

    /// From how many bytes on it is worth it; at least a vector for each of the four that are under way at the same time.
    pub const LONG: usize = 512;

    /// Bytes of a vector.
    const WIDTH: usize = size_of::<__m512i>();

    pub fn is_supported() -> bool {
        has!("avx512f") && has!("vpclmulqdq") && has!("sse4.2") && allows(Vectors::Avx512)
    }

    /// The remainder of x to this power, at the place in 64 bits where a product of two such numbers comes out right: they have
    /// the bit of the highest power last, so that it would be one too low.
    const fn power_of_x(mut exponent: usize) -> i64 {
        let (mut power, mut x) = (1 << 31, 1 << 30);
        while exponent > 0 {
            if exponent & 1 != 0 {
                power = product(power, x);
            }
            x = product(x, x);
            exponent >>= 1;
        }
        (power as i64) << 1
    }

    /// What moves 16 bytes behind so many bytes: the factors of their first and of their last eight.
    const fn factors(bytes: usize) -> (i64, i64) {
        (power_of_x(8 * bytes + 32), power_of_x(8 * bytes - 32))
    }

    /// Adds 16 bytes, four times side by side, to others that are as far behind as the factors say.
    #[target_feature(enable = "avx512f,vpclmulqdq")]
    fn fold(bytes: __m512i, factors: __m512i, behind: __m512i) -> __m512i {
        let first = _mm512_clmulepi64_epi128::<0x00>(bytes, factors);
        let last = _mm512_clmulepi64_epi128::<0x11>(bytes, factors);
        // Exclusive or of all three.
        _mm512_ternarylogic_epi64::<0x96>(first, last, behind)
    }

    #[target_feature(enable = "avx512f")]
    fn load(bytes: &[u8; WIDTH]) -> __m512i {
        // SAFETY: they are as many bytes as are read.
        unsafe { _mm512_loadu_si512(bytes.as_ptr().cast()) }
    }

    /// The CRC-32C of bytes, of which there are at least four vectors.
    #[target_feature(enable = "avx512f,vpclmulqdq,sse4.2")]
    pub fn crc32c(bytes: &[u8]) -> u32 {
        const NEXT: (i64, i64) = factors(WIDTH);
        const FOUR_ON: (i64, i64) = factors(4 * WIDTH);
        const WITHIN: [(i64, i64); 3] = [factors(48), factors(32), factors(16)];
        let all = |(first, last)| _mm512_set4_epi64(last, first, last, first);
        let (vectors, tail) = bytes.as_chunks::<WIDTH>();
        let (fours, rest) = vectors.as_chunks::<4>();
        let Some((head, fours)) = fours.split_first() else {
            return crc32c::crc32c(bytes);
        };
        let mut sums = [
            load(&head[0]),
            load(&head[1]),
            load(&head[2]),
            load(&head[3]),
        ];
        // A CRC-32C begins with all bits set.
        sums[0] = _mm512_xor_si512(sums[0], _mm512_zextsi128_si512(_mm_cvtsi32_si128(-1)));
        let four_on = all(FOUR_ON);
        for four in fours {
            for (sum, bytes) in sums.iter_mut().zip(four) {
                *sum = fold(*sum, four_on, load(bytes));
            }
        }
        let next = all(NEXT);
        let [first, others @ ..] = sums;
        let sum = others
            .into_iter()
            .fold(first, |sum, behind| fold(sum, next, behind));
        let sum = rest
            .iter()
            .fold(sum, |sum, bytes| fold(sum, next, load(bytes)));
        // The first three quarters move behind the last.
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
        // These 16 bytes stand for all. The instruction divides by the polynomial.
        let mut crc = _mm_crc32_u64(0, _mm_extract_epi64::<0>(last) as u64);
        crc = _mm_crc32_u64(crc, _mm_extract_epi64::<1>(last) as u64);
        let (words, tail) = tail.as_chunks();
        for word in words {
            crc = _mm_crc32_u64(crc, u64::from_le_bytes(*word));
        }
        let last = tail
            .iter()
            .fold(crc as u32, |crc, byte| _mm_crc32_u8(crc, *byte));
        !last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_that_of_the_other_crate_whatever_the_length() {
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
        let mut state = 1u32;
        let bytes: Vec<u8> = (0..20_000)
            .map(|_| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                (state >> 24) as u8
            })
            .collect();
        for len in (0..1500).chain([4096, 16_384, 19_999]) {
            let bytes = &bytes[len % 64..][..len.min(bytes.len() - len % 64)];
            assert_eq!(crc32c(bytes), crc32c::crc32c(bytes), "{len}");
        }
    }
}
