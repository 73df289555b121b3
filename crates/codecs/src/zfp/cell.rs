//! The coding of one cell of 4, 16, 64 or 256 items: the conversion to integers with a common
//! exponent (block floating point), the transform along each dimension, and the inverses of both.

use super::bits::{BitReader, BitWriter};
use super::coder::PlaneCoder;
use super::number::{Int, Real};
use super::planes::PlaneLimits;

/// How much of a cell is coded. The ZFP library calls the first four `minbits`, `maxbits`,
/// `maxprec` and `minexp`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CellParams {
    /// The smallest number of bits of a cell. A shorter cell is padded with zeros.
    pub min_bits: usize,
    /// The largest number of bits of a cell.
    pub max_bits: usize,
    /// The largest number of bit planes that are coded.
    pub max_precision: u32,
    /// The exponent of the lowest bit plane that is coded, approximately.
    pub min_exponent: i32,
    /// The order of the coefficients. It is a value at run time, because the compiler would unroll
    /// loops over a constant completely.
    pub order: &'static [u8],
}

impl CellParams {
    /// The number of bit planes of a cell with this exponent.
    fn precision(&self, exponent: i32, dims: i32) -> u32 {
        let planes = exponent - self.min_exponent + 2 * dims + 2;
        self.max_precision.min(planes.max(0) as u32)
    }
}

/// The number of dimensions of a cell with this number of items.
const fn dims_of(items: usize) -> usize {
    items.trailing_zeros() as usize / 2
}

/// The lifting scheme of the forward transform, which turns four integers into their average and
/// differences.
#[inline(always)]
fn forward_lift<I: Int>([mut x, mut y, mut z, mut w]: [I; 4]) -> [I; 4] {
    x = x.plus(w).half();
    w = w.minus(x);
    z = z.plus(y).half();
    y = y.minus(z);
    x = x.plus(z).half();
    z = z.minus(x);
    w = w.plus(y).half();
    y = y.minus(w);
    w = w.plus(y.half());
    y = y.minus(w.half());
    [x, y, z, w]
}

/// The inverse of [`forward_lift`], up to rounding.
#[inline(always)]
fn inverse_lift<I: Int>([mut x, mut y, mut z, mut w]: [I; 4]) -> [I; 4] {
    y = y.plus(w.half());
    w = w.minus(y.half());
    y = y.plus(w);
    w = w.plus(w).minus(y);
    z = z.plus(x);
    x = x.plus(x).minus(z);
    y = y.plus(z);
    z = z.plus(z).minus(y);
    w = w.plus(x);
    x = x.plus(x).minus(w);
    [x, y, z, w]
}

/// Applies a transform along the dimension in which neighbours are `STRIDE` apart, if the cell has
/// that dimension.
#[inline(always)]
fn along<I: Int, const N: usize, const STRIDE: usize>(
    cell: &mut [I; N],
    step: impl Fn([I; 4]) -> [I; 4],
) {
    if STRIDE >= N {
        return;
    }
    for group in cell.chunks_exact_mut(4 * STRIDE) {
        let (lower, upper) = group.split_at_mut(2 * STRIDE);
        let (x, y) = lower.split_at_mut(STRIDE);
        let (z, w) = upper.split_at_mut(STRIDE);
        for (((x, y), z), w) in x.iter_mut().zip(y).zip(z).zip(w) {
            [*x, *y, *z, *w] = step([*x, *y, *z, *w]);
        }
    }
}

/// Encodes a cell of `N` items. `coefficients` is a buffer for their coefficients. `W` is the
/// number of words that hold `N` bits.
#[inline(always)]
pub fn encode<R: Real, const N: usize, const W: usize>(
    coder: impl PlaneCoder,
    items: &[R; N],
    coefficients: &mut [u64; N],
    params: &CellParams,
    out: &mut BitWriter,
) {
    let largest = items
        .iter()
        .fold(R::default(), |max, item| max.larger(*item));
    let exponent = largest.exponent();
    let planes = params.precision(exponent, dims_of(N) as i32);
    if planes == 0 || exponent == -R::BIAS {
        out.put_zeros(params.min_bits.max(1));
        return;
    }
    let header_bits = 1 + R::EXPONENT_BITS;
    out.put(((exponent + R::BIAS) as u64) << 1 | 1, header_bits);
    let precision = 8 * R::SIZE as u32;
    let scale = R::power_of_two(precision as i32 - 2 - exponent);
    let mut ints = items.map(|item| item.quantize(scale));
    along::<_, N, 1>(&mut ints, forward_lift);
    along::<_, N, 4>(&mut ints, forward_lift);
    along::<_, N, 16>(&mut ints, forward_lift);
    along::<_, N, 64>(&mut ints, forward_lift);
    for (coefficient, position) in coefficients.iter_mut().zip(params.order) {
        // Positions are less than `N`. The remainder only tells the compiler so, to avoid a bounds
        // check.
        *coefficient = ints[usize::from(*position) % N].to_negabinary();
    }
    let limits = PlaneLimits {
        precision,
        planes,
        bits: params.max_bits - header_bits as usize,
    };
    let used = header_bits as usize + coder.encode::<N, W>(coefficients, limits, out);
    if used < params.min_bits {
        out.put_zeros(params.min_bits - used);
    }
}

/// Decodes a cell into `items`. `coefficients` is a buffer for their coefficients.
#[inline(always)]
pub fn decode<R: Real, const N: usize, const W: usize>(
    coder: impl PlaneCoder,
    params: &CellParams,
    input: &mut BitReader,
    coefficients: &mut [u64; N],
    items: &mut [R; N],
) {
    let header_bits = 1 + R::EXPONENT_BITS as usize;
    if input.take(1) == 0 {
        input.skip(params.min_bits.max(1) - 1);
        *items = [R::default(); N];
        return;
    }
    let exponent = input.take(R::EXPONENT_BITS) as i32 - R::BIAS;
    let precision = 8 * R::SIZE as u32;
    let limits = PlaneLimits {
        precision,
        planes: params.precision(exponent, dims_of(N) as i32),
        bits: params.max_bits - header_bits,
    };
    let bits = coder.decode::<N, W>(coefficients, limits, input);
    input.skip(params.min_bits.saturating_sub(header_bits + bits));
    let mut ints = [R::Int::default(); N];
    for (position, coefficient) in params.order.iter().zip(&*coefficients) {
        ints[usize::from(*position) % N] = R::Int::from_negabinary(*coefficient);
    }
    along::<_, N, 64>(&mut ints, inverse_lift);
    along::<_, N, 16>(&mut ints, inverse_lift);
    along::<_, N, 4>(&mut ints, inverse_lift);
    along::<_, N, 1>(&mut ints, inverse_lift);
    let scale = R::power_of_two(exponent - (precision as i32 - 2));
    for (item, int) in items.iter_mut().zip(ints) {
        *item = R::dequantize(int, scale);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::zfp::coder::BaselineCoder;

    #[test]
    fn the_transform_is_undone_up_to_rounding() {
        let mut seed = 1u32;
        for _ in 0..1000 {
            let four = [(); 4].map(|()| {
                seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                (seed >> 3) as i32 - (1 << 28)
            });
            let back = inverse_lift(forward_lift(four));
            for (a, b) in four.iter().zip(back) {
                assert!((a - b).abs() <= 8, "{four:?} {back:?}");
            }
        }
        assert_eq!(forward_lift([5; 4]), [5, 0, 0, 0]);
    }

    #[test]
    fn a_smooth_cell_comes_back_within_the_tolerance() {
        let items: [f64; 64] = std::array::from_fn(|i| (i as f64 * 0.1).sin());
        for exponent in [-5, -20, -40] {
            let params = CellParams {
                min_bits: 1,
                max_bits: 16658,
                max_precision: 64,
                min_exponent: exponent,
                order: crate::zfp::order::of(3),
            };
            let mut out = [0; 1000];
            let mut writer = BitWriter::new(&mut out);
            encode::<f64, 64, 1>(BaselineCoder, &items, &mut [0; 64], &params, &mut writer);
            let len = writer.finish().expect("there is room");
            let mut back = [0.0; 64];
            let mut reader = BitReader::new(&out[..len], 0);
            decode::<f64, 64, 1>(BaselineCoder, &params, &mut reader, &mut [0; 64], &mut back);
            let worst = items.iter().zip(back).map(|(a, b)| (a - b).abs());
            assert!(worst.fold(0.0, f64::max) <= f64::power_of_two(exponent));
        }
    }
}
