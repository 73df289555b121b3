//! Embedded coding of coefficients, from the highest bit plane down. A coefficient is significant
//! from the first plane on in which its bit is set. In each plane, the bits of the significant
//! coefficients are written as they are. The others are coded by group tests: a bit says whether a
//! further coefficient becomes significant in this plane, and if so, a unary code says which one is
//! next.

use super::bits::{BitReader, BitWriter};
use super::one_dim;
use super::transpose::Planes;

/// Where coding ends.
#[derive(Clone, Copy)]
pub struct PlaneLimits {
    /// The number of bits of a coefficient, 32 or 64.
    pub precision: u32,
    /// How many planes are coded, from the highest on.
    pub planes: u32,
    /// The largest number of bits that may be written.
    pub bits: usize,
}

impl PlaneLimits {
    /// The lowest plane that is coded.
    fn last(&self) -> u32 {
        self.precision.saturating_sub(self.planes)
    }
}

/// The index of the first set bit of a plane from bit `from` on.
#[inline(always)]
fn next_one<const W: usize>(plane: &[u64; W], from: usize) -> Option<usize> {
    let mut word = from / 64;
    let mut bits = plane[word] >> (from % 64) << (from % 64);
    loop {
        if bits != 0 {
            return Some(64 * word + bits.trailing_zeros() as usize);
        }
        word += 1;
        bits = *plane.get(word)?;
    }
}

/// Writes a group test that succeeds and the unary code behind it: a 1 for the test, a 0 for each
/// of the `zeros` coefficients that are skipped, and a 1 for the one that becomes significant. For
/// the last coefficient of the cell that 1 is implied. At most `left` bits are written. Returns the
/// number of bits written.
#[inline(always)]
fn put_one(out: &mut BitWriter, zeros: usize, is_last: bool, left: usize) -> usize {
    let len = zeros + 1 + usize::from(!is_last);
    if len <= 64 {
        let bits = 1 | u64::from(!is_last) << 1 << zeros;
        let len = len.min(left);
        out.put(bits & u64::MAX >> (64 - len), len as u32);
    } else {
        out.put(1, 1);
        out.put_zeros(zeros.min(left - 1));
        if len <= left && !is_last {
            out.put(1, 1);
        }
    }
    len.min(left)
}

/// Reads a group test of 1, the lowest of the next `bits`, and the zeros behind it up to the first
/// 1, at most `most`. Returns the number of zeros, and the number of bits that were read behind the
/// test.
#[inline(always)]
fn take_zeros(input: &mut BitReader, bits: u64, most: usize) -> (usize, usize) {
    // Count the zeros in the 63 bits behind the group test. Only if all of these are 0, more bits
    // are needed.
    let zeros = (bits >> 1 | 1 << 63).trailing_zeros() as usize;
    if zeros < 63.min(most) {
        input.skip(zeros + 2);
        return (zeros, zeros + 1);
    }
    if most <= 63 {
        input.skip(1 + most);
        return (most, most);
    }
    input.skip(1);
    for zeros in 0..most {
        if input.take(1) == 1 {
            return (zeros, zeros + 1);
        }
    }
    (most, most)
}

/// Writes `N` coefficients, whose place the bit planes take. Returns the number of bits written.
/// `W` is the number of words that hold `N` bits.
#[inline(always)]
pub fn encode<const N: usize, const W: usize>(
    values: &mut [u64; N],
    limits: PlaneLimits,
    out: &mut BitWriter,
) -> usize {
    if N == 4
        && let Some(values) = values.first_chunk()
    {
        return one_dim::encode(values, limits, out);
    }
    let planes = Planes::<N, W>::from_coefficients(limits.precision, values);
    let mut left = limits.bits;
    // The number of significant coefficients. As they are ordered by frequency, all coefficients
    // before a significant one count too.
    let mut significant = 0usize;
    for k in (limits.last()..limits.precision).rev() {
        if left == 0 {
            break;
        }
        let plane = planes.get(k as usize);
        for (word, bits) in plane.iter().enumerate() {
            let count = significant.saturating_sub(64 * word).min(64).min(left) as u32;
            out.put(bits & u64::MAX.checked_shr(64 - count).unwrap_or(0), count);
            left -= count as usize;
        }
        while left > 0 && significant < N {
            let Some(next) = next_one(&plane, significant) else {
                out.put(0, 1);
                left -= 1;
                break;
            };
            left -= put_one(out, next - significant, next == N - 1, left);
            significant = next + 1;
        }
    }
    limits.bits - left
}

/// Reads `N` coefficients into `values`. Returns the number of bits read.
#[inline(always)]
pub fn decode<const N: usize, const W: usize>(
    values: &mut [u64; N],
    limits: PlaneLimits,
    input: &mut BitReader,
) -> usize {
    if N == 4
        && let Some(values) = values.first_chunk_mut()
    {
        let bits;
        (*values, bits) = one_dim::decode(limits, input);
        return bits;
    }
    let mut planes = Planes::<N, W>::zeros(values);
    let mut left = limits.bits;
    let mut significant = 0usize;
    for k in (limits.last()..limits.precision).rev() {
        if left == 0 {
            break;
        }
        let mut plane = [0; W];
        for (word, bits) in plane.iter_mut().enumerate() {
            let count = significant.saturating_sub(64 * word).min(64).min(left);
            if count > 0 {
                *bits = input.take(count as u32);
                left -= count;
            }
        }
        while left > 0 && significant < N {
            let bits = input.peek();
            left -= 1;
            if bits & 1 == 0 {
                input.skip(1);
                break;
            }
            let (zeros, len) = take_zeros(input, bits, left.min(N - 1 - significant));
            left -= len;
            significant += zeros;
            plane[significant / 64] |= 1 << (significant % 64);
            significant += 1;
        }
        planes.set(k as usize, plane);
    }
    planes.into_coefficients(limits.precision);
    limits.bits - left
}

#[cfg(test)]
mod tests;
