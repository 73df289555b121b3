//! Damage of a single bit. A CRC-32C tells where it is: messages that differ in one bit have checksums that differ by what this bit
//! alone gives, and in less than 256 MB no two bits give the same.

use crate::checksum::crc32c;
use oxiblosc_filters::crc32c::POLYNOMIAL;

/// Which bit of `bytes` is wrong if they had this checksum and one bit has changed since, counted from the lowest bit of the first byte.
/// Greater damage looks like that of one bit with a chance of one in 2^32 for each bit.
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

/// Puts that bit right. False if there is none.
pub fn put_right(bytes: &mut [u8], sum: u32) -> bool {
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
                assert!(put_right(&mut other, sum) && other == bytes);
                // Two bits are not one.
                other[bit / 8] ^= 1 << (bit % 8);
                other[len - 1 - bit / 8] ^= 0x10;
                assert_ne!(find(&other, sum), Some(bit), "{len} {bit}");
            }
        }
    }
}
