//! Truncated integers: sets their low bits to zero. Lossy; there is no inverse.

use oxiblosc_base::{Error, Result};

/// How many low bits of integers of `bits` bits are zeroed. An error if none would be kept.
fn zeroed_bits(precision: i8, bits: i16) -> Result<u32> {
    let precision = i16::from(precision);
    let zeroed = if precision >= 0 {
        bits - precision
    } else {
        -precision
    };
    if !(0..bits).contains(&zeroed) {
        return Err(Error::FAILURE);
    }
    Ok(u32::from(zeroed as u16))
}

/// ANDs `src` with `mask`, 8 bytes at a time, into `dst`. The last bytes, if fewer than 8, are
/// ANDed with the first bytes of the mask.
#[inline(always)]
fn mask_with(mask: u64, src: &[u8], dst: &mut [u8]) {
    let mask = mask.to_le_bytes();
    let (to, rest) = dst.as_chunks_mut::<8>();
    let (from, leftover) = src.as_chunks::<8>();
    for (to, from) in to.iter_mut().zip(from) {
        *to = (u64::from_le_bytes(*from) & u64::from_le_bytes(mask)).to_le_bytes();
    }
    for ((to, from), mask) in rest.iter_mut().zip(leftover).zip(mask) {
        *to = from & mask;
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn mask_with_avx2(mask: u64, src: &[u8], dst: &mut [u8]) {
    mask_with(mask, src, dst);
}

/// Zeroes low bits of the integers of `typesize` bytes in `src` into the first `src.len()` bytes of
/// `dst`.
///
/// `precision` is the filter's meta byte: 0 or more is the number of bits to keep, less than 0 the
/// number of bits to zero. Bytes after the last whole integer are copied as they are.
///
/// # Errors
/// [`Error::FAILURE`] if `typesize` is not 1, 2, 4 or 8, no bit would be kept, or more bits are to
/// be kept than there are.
///
/// # Panics
/// If `dst` is shorter than `src`.
pub fn truncate(precision: i8, typesize: usize, src: &[u8], dst: &mut [u8]) -> Result<()> {
    let dst = &mut dst[..src.len()];
    let mask = match typesize {
        1 => u64::from(u8::MAX << zeroed_bits(precision, 8)?) * 0x0101_0101_0101_0101,
        2 => u64::from(u16::MAX << zeroed_bits(precision, 16)?) * 0x0001_0001_0001_0001,
        4 => u64::from(u32::MAX << zeroed_bits(precision, 32)?) * 0x0000_0001_0000_0001,
        8 => u64::MAX << zeroed_bits(precision, 64)?,
        _ => return Err(Error::FAILURE),
    };
    let whole = src.len() / typesize * typesize;
    let (src, leftover) = src.split_at(whole);
    let (dst, rest) = dst.split_at_mut(whole);
    rest.copy_from_slice(leftover);
    #[cfg(target_arch = "x86_64")]
    if oxiblosc_base::memory::cpu::has_avx2() {
        // SAFETY: the check above says that the CPU has AVX2.
        unsafe { mask_with_avx2(mask, src, dst) };
        return Ok(());
    }
    mask_with(mask, src, dst);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use oxiblosc_testing::noise;

    fn expected(zeroed: u32, typesize: usize, src: &[u8]) -> Vec<u8> {
        let mut out = src.to_vec();
        for item in out.chunks_exact_mut(typesize) {
            let mut word = [0; 8];
            word[..typesize].copy_from_slice(item);
            let word = u64::from_le_bytes(word) >> zeroed << zeroed;
            item.copy_from_slice(&word.to_le_bytes()[..typesize]);
        }
        out
    }

    #[test]
    fn keeps_or_zeroes_the_bits_asked_for() {
        let data = noise(300);
        for typesize in [1usize, 2, 4, 8] {
            let bits = 8 * typesize as i8;
            for len in (0..40).chain([255, 256, 299]) {
                let src = &data[..len];
                for zeroed in [0, 1, 3, bits - 1] {
                    let (mut kept, mut cut) = (vec![0xee; len + 1], vec![0xee; len + 1]);
                    assert_eq!(truncate(bits - zeroed, typesize, src, &mut kept), Ok(()));
                    assert_eq!(kept[..len], expected(zeroed as u32, typesize, src));
                    assert_eq!(kept[len], 0xee);
                    let whole = truncate(-zeroed, typesize, src, &mut cut);
                    // A precision of -0 is 0, which would keep no bits.
                    assert_eq!(whole.is_ok(), zeroed > 0);
                    assert!(zeroed == 0 || cut == kept);
                }
            }
        }
    }

    #[test]
    fn rejects_what_keeps_nothing_or_too_much() {
        let mut out = [0; 8];
        for (precision, typesize) in [(0, 1), (9, 1), (-8, 1), (17, 2), (33, 4), (65, 8), (-64, 8)]
        {
            let refused = truncate(precision, typesize, &[1; 8], &mut out);
            assert_eq!(refused, Err(Error::FAILURE), "{precision} {typesize}");
        }
        for typesize in [0, 3, 5, 6, 7, 16] {
            assert_eq!(
                truncate(5, typesize, &[1; 8], &mut out),
                Err(Error::FAILURE)
            );
        }
        assert_eq!(truncate(-128, 8, &[1; 8], &mut out), Err(Error::FAILURE));
    }
}
