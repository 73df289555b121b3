//! The two types of items, and the integers that their coefficients are.

/// A signed integer with the arithmetic of the transform, which wraps.
pub trait Int: Copy + Default {
    /// `self + other`.
    fn plus(self, other: Self) -> Self;
    /// `self - other`.
    fn minus(self, other: Self) -> Self;
    /// Half of it, rounded down.
    fn half(self) -> Self;
    /// Its bits in base -2.
    fn to_negabinary(self) -> u64;
    /// The inverse of [`Int::to_negabinary`].
    fn from_negabinary(bits: u64) -> Self;
}

impl Int for i32 {
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
        const MASK: u32 = 0xaaaa_aaaa;
        ((self as u32).wrapping_add(MASK) ^ MASK).into()
    }

    #[inline(always)]
    fn from_negabinary(bits: u64) -> Self {
        const MASK: u32 = 0xaaaa_aaaa;
        (bits as u32 ^ MASK).wrapping_sub(MASK) as i32
    }
}

impl Int for i64 {
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
        const MASK: u64 = 0xaaaa_aaaa_aaaa_aaaa;
        (self as u64).wrapping_add(MASK) ^ MASK
    }

    #[inline(always)]
    fn from_negabinary(bits: u64) -> Self {
        const MASK: u64 = 0xaaaa_aaaa_aaaa_aaaa;
        (bits ^ MASK).wrapping_sub(MASK) as i64
    }
}

/// A floating-point number.
pub trait Real: Copy + Default {
    /// What its coefficients are.
    type Int: Int;
    /// Bytes of an item.
    const SIZE: usize;
    /// Bits of its exponent.
    const EXPONENT_BITS: u32;
    /// What is added to an exponent to make it positive.
    const BIAS: i32 = (1 << (Self::EXPONENT_BITS - 1)) - 1;
    /// From [`Real::SIZE`] bytes.
    fn read(bytes: &[u8]) -> Self;
    /// Into [`Real::SIZE`] bytes.
    fn write(self, bytes: &mut [u8]);
    /// The larger one without its sign; NaN is smaller than anything.
    fn larger(self, other: Self) -> Self;
    /// The exponent of a number that is positive or 0, as the format has it: the smallest `e` with `self` < 2^e, but not
    /// below that of the smallest normal number; for 0 minus [`Real::BIAS`], and for infinity 0.
    fn exponent(self) -> i32;
    /// 2 to that power: infinity where it is too large, 0 where it is too small.
    fn power_of_two(exponent: i32) -> Self;
    /// `self * scale` without its fraction; the smallest integer where it does not fit.
    fn quantize(self, scale: Self) -> Self::Int;
    /// `int * scale`.
    fn dequantize(int: Self::Int, scale: Self) -> Self;
}

impl Real for f32 {
    type Int = i32;
    const SIZE: usize = 4;
    const EXPONENT_BITS: u32 = 8;

    #[inline(always)]
    fn read(bytes: &[u8]) -> Self {
        Self::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
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
        match (self.to_bits() >> 23) as i32 {
            0 if self == 0.0 => -Self::BIAS,
            0 => 1 - Self::BIAS,
            255 => 0,
            biased => biased - (Self::BIAS - 1),
        }
    }

    #[inline(always)]
    fn power_of_two(exponent: i32) -> Self {
        match exponent {
            128.. => Self::INFINITY,
            -126..128 => Self::from_bits(((exponent + 127) as u32) << 23),
            -149..-126 => Self::from_bits(1 << (exponent + 149)),
            _ => 0.0,
        }
    }

    #[inline(always)]
    fn quantize(self, scale: Self) -> i32 {
        let scaled = self * scale;
        #[cfg(target_arch = "x86_64")]
        {
            use core::arch::x86_64::{_mm_cvttss_si32, _mm_set_ss};
            // SAFETY: SSE2 is part of x86-64.
            unsafe { _mm_cvttss_si32(_mm_set_ss(scaled)) }
        }
        #[cfg(not(target_arch = "x86_64"))]
        if (-2147483648.0..2147483648.0).contains(&scaled) {
            scaled as i32
        } else {
            i32::MIN
        }
    }

    #[inline(always)]
    fn dequantize(int: i32, scale: Self) -> Self {
        int as Self * scale
    }
}

impl Real for f64 {
    type Int = i64;
    const SIZE: usize = 8;
    const EXPONENT_BITS: u32 = 11;

    #[inline(always)]
    fn read(bytes: &[u8]) -> Self {
        let mut array = [0; 8];
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
        match (self.to_bits() >> 52) as i32 {
            0 if self == 0.0 => -Self::BIAS,
            0 => 1 - Self::BIAS,
            2047 => 0,
            biased => biased - (Self::BIAS - 1),
        }
    }

    #[inline(always)]
    fn power_of_two(exponent: i32) -> Self {
        match exponent {
            1024.. => Self::INFINITY,
            -1022..1024 => Self::from_bits(((exponent + 1023) as u64) << 52),
            -1074..-1022 => Self::from_bits(1 << (exponent + 1074)),
            _ => 0.0,
        }
    }

    #[inline(always)]
    fn quantize(self, scale: Self) -> i64 {
        let scaled = self * scale;
        #[cfg(target_arch = "x86_64")]
        {
            use core::arch::x86_64::{_mm_cvttsd_si64, _mm_set_sd};
            // SAFETY: SSE2 is part of x86-64.
            unsafe { _mm_cvttsd_si64(_mm_set_sd(scaled)) }
        }
        #[cfg(not(target_arch = "x86_64"))]
        if (-9223372036854775808.0..9223372036854775808.0).contains(&scaled) {
            scaled as i64
        } else {
            i64::MIN
        }
    }

    #[inline(always)]
    fn dequantize(int: i64, scale: Self) -> Self {
        int as Self * scale
    }
}

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
