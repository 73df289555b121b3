//! Corrects single flipped bits by a CRC-32C. Flipping a bit changes the checksum by a value that
//! depends only on the bit's distance from the end, and in messages of less than 256 MB no two bits
//! have the same value.

use crate::checksum::crc32c;
use oxiblosc_filters::crc32c::POLYNOMIAL;

/// Finds the bit of `bytes` that was flipped if their checksum was `sum`; bits count from the
/// lowest one of the first byte. Other damage is mistaken for a given flipped bit with a
/// probability of 2^-32.
pub fn find(bytes: &[u8], sum: u32) -> Option<usize> {
    let wanted = crc32c(bytes) ^ sum;
    let mut difference = POLYNOMIAL;
    for bit in (0..8 * bytes.len()).rev() {
        if difference == wanted {
            return Some(bit);
        }
        difference = (difference >> 1) ^ ((difference & 1) * POLYNOMIAL);
    }
    None
}

/// Flips that bit back. Returns false if there is none.
pub fn correct(bytes: &mut [u8], sum: u32) -> bool {
    let bit = find(bytes, sum);
    if let Some(bit) = bit {
        bytes[bit / 8] ^= 1 << (bit % 8);
    }
    bit.is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bit_is_found_and_nothing_else() {
        let bytes: Vec<u8> = (0..300u32).map(|i| ((i * i) >> 3) as u8).collect();
        for len in [1, 7, 64, 300] {
            let bytes = &bytes[..len];
            let sum = crc32c(bytes);
            assert_eq!(find(bytes, sum), None);
            for bit in 0..8 * len {
                let mut other = bytes.to_vec();
                other[bit / 8] ^= 1 << (bit % 8);
                assert_eq!(find(&other, sum), Some(bit));
                assert!(correct(&mut other, sum) && other == bytes);
                // Two bits are not one.
                other[bit / 8] ^= 1 << (bit % 8);
                other[len - 1 - bit / 8] ^= 0x10;
                assert_ne!(find(&other, sum), Some(bit), "{len} {bit}");
            }
        }
    }
}
