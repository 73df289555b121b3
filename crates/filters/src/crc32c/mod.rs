//! CRC-32C. The crate crc32c has it with the instructions that most CPUs have for it, at up to 25 GB/s, and less than half of that
//! for what is short. Where the CPU multiplies polynomials in vectors, they do most of it, at one and a half to three times that speed: LZ4
//! decompresses so fast that it is felt.
//!
//! The algorithm is from Intel's paper "Fast CRC Computation for Generic Polynomials Using PCLMULQDQ Instruction": a vector that is
//! multiplied by a power of x and added to a later one leaves the remainder of the whole as it was.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;

#[cfg(target_arch = "x86_64")]
use oxiblosc_memory::cpu::{Vectors, allows};

/// The polynomial, as all here with the bit of the highest power last.
pub const POLYNOMIAL: u32 = 0x82f6_3b78;

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

/// The remainder of x to this power, at the place in 64 bits where a product of two such numbers comes out right: they have
/// the bit of the highest power last, so that it would be one too low.
#[cfg(target_arch = "x86_64")]
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
#[cfg(target_arch = "x86_64")]
const fn factors(bytes: usize) -> (i64, i64) {
    (power_of_x(8 * bytes + 32), power_of_x(8 * bytes - 32))
}

/// The most that the CPU has and that may be used, if it is more than the crate uses.
#[cfg(target_arch = "x86_64")]
#[inline]
fn vectors() -> Option<Vectors> {
    use std::arch::is_x86_feature_detected as has;
    use std::sync::OnceLock;
    static MOST: OnceLock<Option<Vectors>> = OnceLock::new();
    *MOST.get_or_init(|| {
        let short = has!("avx2") && has!("vpclmulqdq") && has!("pclmulqdq") && has!("sse4.2");
        let most = match short && has!("avx512f") {
            true if allows(Vectors::Avx512) => Vectors::Avx512,
            _ => Vectors::Avx2,
        };
        (short && allows(most)).then_some(most)
    })
}

/// The CRC-32C of bytes.
#[inline]
pub fn crc32c(bytes: &[u8]) -> u32 {
    extended(0, bytes)
}

/// The CRC-32C of bytes and more of them, from that of the first.
#[inline]
pub fn extended(crc: u32, bytes: &[u8]) -> u32 {
    #[cfg(target_arch = "x86_64")]
    match vectors() {
        None => {}
        // SAFETY: the CPU has the instructions.
        Some(Vectors::Avx512) if bytes.len() >= avx512::LONG => unsafe {
            return avx512::extended(crc, bytes);
        },
        // SAFETY: as before.
        Some(_) => unsafe { return avx2::extended(crc, bytes) },
    }
    crc32c::crc32c_append(crc, bytes)
}

/// The difference of the CRC-32C of two pieces of the same length.
#[inline]
pub fn difference(old: &[u8], new: &[u8]) -> u32 {
    debug_assert_eq!(old.len(), new.len());
    #[cfg(target_arch = "x86_64")]
    if vectors() == Some(Vectors::Avx512) && new.len() >= avx512::LONG {
        // SAFETY: the CPU has the instructions.
        return unsafe { avx512::difference(old, new) };
    }
    crc32c(old) ^ crc32c(new)
}

/// The remainders of x to the power of 8, 16, 32, ...: what multiplies when one byte, two bytes, four bytes, ... follow.
const POWERS: [u32; 48] = {
    let mut powers = [0x80_0000; 48];
    let mut i = 1;
    while i < powers.len() {
        powers[i] = product(powers[i - 1], powers[i - 1]);
        i += 1;
    }
    powers
};

/// What becomes of the difference of two CRC-32C when so many equal bytes follow.
pub fn shifted(crc: u32, len: usize) -> u32 {
    #[cfg(target_arch = "x86_64")]
    if vectors().is_some() {
        // SAFETY: the CPU has the instructions.
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
            let (front, behind) = bytes.split_at(len / 3);
            assert_eq!(extended(crc32c(front), behind), expected, "{len}");
            #[cfg(target_arch = "x86_64")]
            if vectors().is_some() {
                // SAFETY: the CPU has the instructions.
                assert_eq!(unsafe { avx2::extended(0, bytes) }, expected, "{len}");
            }
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
