//! Truncated precision: sets the low bits of the mantissas of floats and doubles to zero. Lossy;
//! there is no inverse.

use oxiblosc_base::{Error, Result};

/// Zeroes mantissa bits of the elements of `src` into the first `src.len()` bytes of `dst`.
///
/// `precision` is the filter's meta byte: 0 or more is the number of bits to keep, less than 0 the
/// number of bits to zero. Bytes after the last whole element are copied as they are.
///
/// # Errors
/// [`Error::FAILURE`] if `typesize` is neither 4 nor 8, the absolute value of `precision` is larger
/// than the mantissa (23 or 52 bits), or no bit of the mantissa would be kept. `dst` is not touched
/// then.
///
/// # Panics
/// If `dst` is shorter than `src`.
pub fn truncate(precision: i8, typesize: usize, src: &[u8], dst: &mut [u8]) -> Result<()> {
    let dst = &mut dst[..src.len()];
    match typesize {
        4 => {
            let mask = u32::MAX << zeroed_bits(precision, 23)?;
            let (to, rest) = dst.as_chunks_mut::<4>();
            let (from, leftover) = src.as_chunks::<4>();
            for (to, from) in to.iter_mut().zip(from) {
                *to = (u32::from_le_bytes(*from) & mask).to_le_bytes();
            }
            rest.copy_from_slice(leftover);
        }
        8 => {
            let mask = u64::MAX << zeroed_bits(precision, 52)?;
            let (to, rest) = dst.as_chunks_mut::<8>();
            let (from, leftover) = src.as_chunks::<8>();
            for (to, from) in to.iter_mut().zip(from) {
                *to = (u64::from_le_bytes(*from) & mask).to_le_bytes();
            }
            rest.copy_from_slice(leftover);
        }
        _ => return Err(Error::FAILURE),
    }
    Ok(())
}

/// How many of the `mantissa` bits are set to zero. An error if it would be all of them, since that
/// would turn NaNs into infinities.
fn zeroed_bits(precision: i8, mantissa: u8) -> Result<u8> {
    let asked = precision.unsigned_abs();
    if asked > mantissa {
        return Err(Error::FAILURE);
    }
    let zeroed = if precision >= 0 {
        mantissa - asked
    } else {
        asked
    };
    if zeroed >= mantissa {
        return Err(Error::FAILURE);
    }
    Ok(zeroed)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `truncate` on one float.
    fn float(precision: i8, value: f32) -> Result<f32> {
        let mut out = [0; 4];
        truncate(precision, 4, &value.to_le_bytes(), &mut out)?;
        Ok(f32::from_le_bytes(out))
    }

    /// `truncate` on one double.
    fn double(precision: i8, value: f64) -> Result<f64> {
        let mut out = [0; 8];
        truncate(precision, 8, &value.to_le_bytes(), &mut out)?;
        Ok(f64::from_le_bytes(out))
    }

    #[test]
    fn keeps_or_zeroes_the_bits_asked_for() {
        let third = 1.0_f32 / 3.0;
        assert_eq!(float(23, third), Ok(third));
        assert_eq!(
            float(10, third).map(f32::to_bits),
            Ok(third.to_bits() & !0x1fff)
        );
        assert_eq!(float(-13, third), float(10, third));
        assert_eq!(float(1, 1.75), Ok(1.5));
        let third = 1.0_f64 / 3.0;
        assert_eq!(double(52, third), Ok(third));
        assert_eq!(double(-40, third), double(12, third));
        assert_eq!(double(1, -1.75), Ok(-1.5));
    }

    #[test]
    fn rejects_what_leaves_no_mantissa_or_has_none() {
        for precision in [0, 24, 127, -23, -24, -128] {
            assert_eq!(float(precision, 1.0), Err(Error::FAILURE), "{precision}");
        }
        for precision in [0, 53, 127, -52, -53, -128] {
            assert_eq!(double(precision, 1.0), Err(Error::FAILURE), "{precision}");
        }
        for typesize in [0, 1, 2, 3, 5, 7, 9, 16] {
            let mut out = [7; 16];
            assert_eq!(
                truncate(5, typesize, &[1; 16], &mut out),
                Err(Error::FAILURE)
            );
            assert_eq!(out, [7; 16]);
        }
    }

    #[test]
    fn copies_what_is_left_over() {
        let mut out = [9; 8];
        assert_eq!(truncate(1, 4, &[0xff; 7], &mut out), Ok(()));
        assert_eq!(out, [0, 0, 0xc0, 0xff, 0xff, 0xff, 0xff, 9]);
    }
}
