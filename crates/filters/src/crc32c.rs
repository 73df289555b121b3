//! CRC-32C. The crate `crc32c` computes it with the instruction that most CPUs have for it, at up
//! to 25 GB/s, and less than half of that for short data. Where the CPU multiplies polynomials in
//! vectors, the code here is one and a half to three times as fast. That matters beside LZ4, which
//! decompresses at a similar speed.
//!
//! The algorithm is that of Intel's paper "Fast CRC Computation for Generic Polynomials Using
//! PCLMULQDQ Instruction". Data are *folded*: a vector is multiplied by a power of x, and added to
//! a later vector. That does not change the remainder of the whole.

#[cfg(target_arch = "x86_64")]
mod avx2;
mod polynomial;

pub use polynomial::{POLYNOMIAL, product};

/// Whether the CPU can multiply polynomials in vectors of AVX2, and no setting forbids it. If not,
/// the crate `crc32c` is used.
#[cfg(target_arch = "x86_64")]
#[inline]
fn has_vectors() -> bool {
    use oxiblosc_base::memory::cpu::{Vectors, allows};
    use std::arch::is_x86_feature_detected as has;
    use std::sync::OnceLock;
    static ANSWER: OnceLock<bool> = OnceLock::new();
    *ANSWER.get_or_init(|| {
        let has_avx2 = has!("avx2") && has!("vpclmulqdq") && has!("pclmulqdq") && has!("sse4.2");
        has_avx2 && allows(Vectors::Avx2)
    })
}

/// The CRC-32C of `bytes`.
#[inline]
pub fn crc32c(bytes: &[u8]) -> u32 {
    extended(0, bytes)
}

/// The CRC-32C of data followed by `bytes`, given that of the data.
#[inline]
pub fn extended(crc: u32, bytes: &[u8]) -> u32 {
    #[cfg(target_arch = "x86_64")]
    if has_vectors() {
        // SAFETY: `has_vectors` checks that the CPU has AVX2, VPCLMULQDQ, PCLMULQDQ and SSE4.2.
        return unsafe { avx2::extended(crc, bytes) };
    }
    crc32c::crc32c_append(crc, bytes)
}

/// The XOR of the CRC-32C of two pieces of the same length.
#[inline]
pub fn difference(old: &[u8], new: &[u8]) -> u32 {
    debug_assert_eq!(old.len(), new.len());
    crc32c(old) ^ crc32c(new)
}

/// The remainders of x to the power of 8, 16, 32 and so on. These multiply a remainder when one
/// byte, two bytes, four bytes and so on follow.
const POWERS: [u32; 48] = {
    let mut powers = [0x80_0000; 48];
    let mut i = 1;
    while i < powers.len() {
        powers[i] = product(powers[i - 1], powers[i - 1]);
        i += 1;
    }
    powers
};

/// The XOR of two CRC-32C after `len` equal bytes follow on both sides, given the XOR before.
pub fn shifted(crc: u32, len: usize) -> u32 {
    #[cfg(target_arch = "x86_64")]
    if has_vectors() {
        // SAFETY: `has_vectors` checks that the CPU has PCLMULQDQ and SSE4.2, which includes
        // SSE4.1.
        return unsafe { avx2::shifted(crc, len) };
    }
    let powers = POWERS.iter().enumerate().take(usize::BITS as usize);
    let wanted = powers.filter(|(i, _)| len >> i & 1 != 0);
    wanted.fold(crc, |crc, (_, power)| product(crc, *power))
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
        for len in (0..4500).chain([16_384, 19_999]) {
            let bytes = &bytes[len % 64..][..len.min(bytes.len() - len % 64)];
            let expected = crc32c::crc32c(bytes);
            assert_eq!(crc32c(bytes), expected, "{len}");
            let (prefix, behind) = bytes.split_at(len / 3);
            assert_eq!(extended(crc32c(prefix), behind), expected, "{len}");
        }
    }

    #[test]
    fn the_difference_follows_from_the_bytes_that_changed() {
        let old: Vec<u8> = (0..12_000u32).map(|i| ((i * i) >> 5) as u8).collect();
        for (first, len) in (0..1500).map(|len| (len % 64, len)).chain([(4000, 4096)]) {
            let mut new = old.clone();
            for (i, byte) in new[first..first + len].iter_mut().enumerate() {
                *byte = byte.wrapping_mul(7).wrapping_add(i as u8);
            }
            let changed = difference(&old[first..first + len], &new[first..first + len]);
            for behind in [0, 1, 5, 777, 3400] {
                let all = ..first + len + behind;
                let expected = crc32c::crc32c(&old[all]) ^ crc32c::crc32c(&new[all]);
                assert_eq!(shifted(changed, behind), expected, "{len} {behind}");
            }
        }
    }

    #[test]
    fn a_difference_moves_behind_any_number_of_bytes() {
        for (i, power) in POWERS.iter().enumerate().take(usize::BITS as usize) {
            assert_eq!(shifted(0xdead_beef, 1 << i), product(0xdead_beef, *power));
        }
        assert_eq!(shifted(1 << 31, 0), 1 << 31);
    }
}
