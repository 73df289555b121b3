//! The two types of items, and the integer types of their coefficients.

/// A signed integer with the wrapping arithmetic of the transform.
pub trait Int: Copy + Default {
    /// `self + other`.
    fn plus(self, other: Self) -> Self;
    /// `self - other`.
    fn minus(self, other: Self) -> Self;
    /// Half of `self`, rounded down.
    fn half(self) -> Self;
    /// The representation of `self` in base -2.
    fn to_negabinary(self) -> u64;
    /// The inverse of [`Int::to_negabinary`].
    fn from_negabinary(bits: u64) -> Self;
}

/// Every other bit, from the second one on.
const ODD_BITS: u64 = 0xaaaa_aaaa_aaaa_aaaa;

/// A floating-point number.
pub trait Real: Copy + Default {
    /// The type of its coefficients.
    type Int: Int;
    /// The size in bytes.
    const SIZE: usize;
    /// The number of bits of the exponent.
    const EXPONENT_BITS: u32;
    /// The number of bits of the fraction.
    const FRACTION_BITS: u32 = 8 * Self::SIZE as u32 - 1 - Self::EXPONENT_BITS;
    /// The bias of the exponent.
    const BIAS: i32 = (1 << (Self::EXPONENT_BITS - 1)) - 1;
    /// Reads a number from [`Real::SIZE`] bytes.
    fn read(bytes: &[u8]) -> Self;
    /// Writes the number to [`Real::SIZE`] bytes.
    fn write(self, bytes: &mut [u8]);
    /// The larger of `self` and the absolute value of `other`. NaN is less than any number.
    fn larger(self, other: Self) -> Self;
    /// The exponent as the format defines it, of a number that is not negative: the smallest `e`
    /// with `self` < 2^e, but not less than that of the smallest normal number. Minus
    /// [`Real::BIAS`] for 0, and 0 for infinity.
    fn exponent(self) -> i32;
    /// 2 to the power of `exponent`: infinity on overflow, 0 on underflow.
    fn power_of_two(exponent: i32) -> Self;
    /// `self * scale`, truncated. The smallest integer on overflow and for NaN.
    fn quantize(self, scale: Self) -> Self::Int;
    /// `int * scale`.
    fn dequantize(int: Self::Int, scale: Self) -> Self;
}

/// Implements the traits for a type of items. The arguments are its signed and its unsigned integer
/// type, the number of exponent bits, and the x86-64 intrinsics that convert it to an integer.
macro_rules! number {
    ($real:ident, $int:ident, $bits:ident, $exponent_bits:literal, $convert:ident($set:ident)) => {
        impl Int for $int {
            #[inline(always)]
            fn plus(self, other: Self) -> Self {
                self.wrapping_add(other)
            }

            #[inline(always)]
            fn minus(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }

            #[inline(always)]
            fn half(self) -> Self {
                self >> 1
            }

            #[inline(always)]
            fn to_negabinary(self) -> u64 {
                let mask = ODD_BITS as $bits;
                ((self as $bits).wrapping_add(mask) ^ mask).into()
            }

            #[inline(always)]
            fn from_negabinary(bits: u64) -> Self {
                let mask = ODD_BITS as $bits;
                (bits as $bits ^ mask).wrapping_sub(mask) as Self
            }
        }

        impl Real for $real {
            type Int = $int;
            const SIZE: usize = size_of::<Self>();
            const EXPONENT_BITS: u32 = $exponent_bits;

            #[inline(always)]
            fn read(bytes: &[u8]) -> Self {
                let mut array = [0; Self::SIZE];
                array.copy_from_slice(bytes);
                Self::from_le_bytes(array)
            }

            #[inline(always)]
            fn write(self, bytes: &mut [u8]) {
                bytes.copy_from_slice(&self.to_le_bytes());
            }

            #[inline(always)]
            fn larger(self, other: Self) -> Self {
                let other = other.abs();
                if self < other { other } else { self }
            }

            #[inline(always)]
            fn exponent(self) -> i32 {
                let biased = (self.to_bits() >> Self::FRACTION_BITS) as i32;
                match biased {
                    0 if self == 0.0 => -Self::BIAS,
                    0 => 1 - Self::BIAS,
                    biased if biased > 2 * Self::BIAS => 0,
                    biased => biased - (Self::BIAS - 1),
                }
            }

            #[inline(always)]
            fn power_of_two(exponent: i32) -> Self {
                let least = 1 - Self::BIAS - Self::FRACTION_BITS as i32;
                if exponent > Self::BIAS {
                    Self::INFINITY
                } else if exponent > -Self::BIAS {
                    Self::from_bits(((exponent + Self::BIAS) as $bits) << Self::FRACTION_BITS)
                } else if exponent >= least {
                    Self::from_bits(1 << (exponent - least))
                } else {
                    0.0
                }
            }

            #[inline(always)]
            fn quantize(self, scale: Self) -> $int {
                let scaled = self * scale;
                #[cfg(target_arch = "x86_64")]
                {
                    use core::arch::x86_64::{$convert, $set};
                    // SAFETY: every x86-64 has SSE and SSE2, and the intrinsics take values only.
                    unsafe { $convert($set(scaled)) }
                }
                #[cfg(not(target_arch = "x86_64"))]
                // Both bounds are powers of two, so their conversion is exact.
                if ($int::MIN as Self..-($int::MIN as Self)).contains(&scaled) {
                    scaled as $int
                } else {
                    $int::MIN
                }
            }

            #[inline(always)]
            fn dequantize(int: $int, scale: Self) -> Self {
                int as Self * scale
            }
        }
    };
}

number!(f32, i32, u32, 8, _mm_cvttss_si32(_mm_set_ss));
number!(f64, i64, u64, 11, _mm_cvttsd_si64(_mm_set_sd));

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn negabinary_is_there_and_back() {
        for i in [0, 1, -1, 2, 1 << 29, -(1 << 30), i32::MAX, i32::MIN] {
            assert_eq!(i32::from_negabinary(i.to_negabinary()), i);
            let wide = i64::from(i) << 30 | 5;
            assert_eq!(i64::from_negabinary(wide.to_negabinary()), wide);
        }
        // 2 = 4 - 2, -1 = -2 + 1.
        assert_eq!((2i32.to_negabinary(), (-1i64).to_negabinary()), (6, 3));
    }

    #[test]
    fn exponents_and_powers_belong_together() {
        for e in -125..129 {
            let below = f32::from_bits(f32::power_of_two(e).to_bits() - 1);
            assert_eq!(below.exponent(), e.max(-126), "{e}");
        }
        for e in [-1021, -1, 0, 1, 62, 1024] {
            let below = f64::from_bits(f64::power_of_two(e).to_bits() - 1);
            assert_eq!(below.exponent(), e, "{e}");
        }
        assert_eq!((0f32.exponent(), 1e-45f32.exponent()), (-127, -126));
        assert_eq!((0f64.exponent(), 5e-324f64.exponent()), (-1023, -1022));
        assert_eq!((f32::INFINITY.exponent(), f64::INFINITY.exponent()), (0, 0));
        assert_eq!(f32::power_of_two(-149), 1e-45);
        assert_eq!(
            (f32::power_of_two(-150), f32::power_of_two(128)),
            (0.0, f32::INFINITY)
        );
        assert_eq!(f64::power_of_two(-1074), 5e-324);
        assert_eq!(
            (f64::power_of_two(-1075), f64::power_of_two(1024)),
            (0.0, f64::INFINITY)
        );
    }

    #[test]
    fn what_does_not_fit_becomes_the_smallest_integer() {
        assert_eq!((1.75f32).quantize(4.0), 7);
        assert_eq!((-1.9f64).quantize(1.0), -1);
        for x in [f32::INFINITY, f32::NAN, 3e9, -3e9] {
            assert_eq!(x.quantize(1.0), i32::MIN);
            assert_eq!((f64::from(x) * 1e10).quantize(1.0), i64::MIN);
        }
    }
}
