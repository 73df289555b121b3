//! The polynomial, and arithmetic with remainders of it.

/// The polynomial. Like all polynomials here it is reflected: the lowest bit is the coefficient of
/// the highest power.
pub const POLYNOMIAL: u32 = 0x82f6_3b78;

/// The product of two remainders, modulo the polynomial.
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

/// The remainder of x to the power of `exponent`, shifted left by one bit: the instruction's
/// product of two reflected numbers is one bit too low.
#[cfg(target_arch = "x86_64")]
pub(super) const fn power_of_x(mut exponent: usize) -> i64 {
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

/// The factors that fold 16 bytes into the 16 that lie `bytes` behind them: for their first and
/// their last eight bytes.
#[cfg(target_arch = "x86_64")]
pub(super) const fn fold_factors(bytes: usize) -> (i64, i64) {
    (power_of_x(8 * bytes + 32), power_of_x(8 * bytes - 32))
}
