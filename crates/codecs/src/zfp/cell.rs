//! One cell of 4, 16, 64 or 256 items: numbers to integers with a common exponent, the transform along each dimension, and
//! back.

use super::bits::{Reader, Writer};
use super::number::{Int, Real};
use super::planes::{Coder, Limits};

/// How much of a cell is coded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quality {
    /// Bits that a cell takes at least, and at most.
    pub bits: (usize, usize),
    /// Planes that are coded at most.
    pub planes: u32,
    /// No plane is coded of which a bit is worth less than 2 to this power, roughly.
    pub exponent: i32,
    /// The order of the coefficients of a cell. It is here, and not where it is used, that compilers do not turn it into
    /// a line of code for each coefficient.
    pub order: &'static [u8],
}

impl Quality {
    /// Planes of a cell with this exponent.
    fn planes_of(&self, exponent: i32, dims: i32) -> u32 {
        let above = exponent - self.exponent + 2 * dims + 2;
        self.planes.min(above.max(0) as u32)
    }
}

/// Dimensions of a cell with so many items.
const fn dims_of(items: usize) -> usize {
    items.trailing_zeros() as usize / 2
}

/// One step of the transform: four integers become their average and differences.
#[inline(always)]
fn lift<I: Int>([mut x, mut y, mut z, mut w]: [I; 4]) -> [I; 4] {
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

/// The inverse of [`lift`], up to rounding.
#[inline(always)]
fn unlift<I: Int>([mut x, mut y, mut z, mut w]: [I; 4]) -> [I; 4] {
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

/// Applies a step along the dimension whose neighbours are `STRIDE` apart, if the cell has it.
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

/// Writes a cell of `N` items; `W` is the number of words that `N` bits need.
#[inline(always)]
pub fn put<R: Real, const N: usize, const W: usize>(
    coder: impl Coder,
    items: &[R; N],
    quality: &Quality,
    out: &mut Writer,
) {
    let largest = items
        .iter()
        .fold(R::default(), |max, item| max.larger(*item));
    let exponent = largest.exponent();
    let planes = quality.planes_of(exponent, dims_of(N) as i32);
    let (least, most) = quality.bits;
    if planes == 0 || exponent == -R::BIAS {
        out.put_zeros(least.max(1));
        return;
    }
    let front = 1 + R::EXPONENT_BITS;
    out.put(((exponent + R::BIAS) as u64) << 1 | 1, front);
    let precision = 8 * R::SIZE as u32;
    let scale = R::power_of_two(precision as i32 - 2 - exponent);
    let mut ints = items.map(|item| item.quantize(scale));
    along::<_, N, 1>(&mut ints, lift);
    along::<_, N, 4>(&mut ints, lift);
    along::<_, N, 16>(&mut ints, lift);
    along::<_, N, 64>(&mut ints, lift);
    let mut coefficients = [0; N];
    for (coefficient, place) in coefficients.iter_mut().zip(quality.order) {
        // All places are below `N`, which is a power of two.
        *coefficient = ints[usize::from(*place) % N].to_negabinary();
    }
    let limits = Limits {
        precision,
        planes,
        bits: most - front as usize,
    };
    let used = front as usize + coder.encode::<N, W>(&coefficients, limits, out);
    if used < least {
        out.put_zeros(least - used);
    }
}

/// Reads a cell into `items`.
#[inline(always)]
pub fn take<R: Real, const N: usize, const W: usize>(
    coder: impl Coder,
    quality: &Quality,
    input: &mut Reader,
    items: &mut [R; N],
) {
    let (least, most) = quality.bits;
    let front = 1 + R::EXPONENT_BITS;
    let used = front as usize;
    if input.take(1) == 0 {
        input.skip(least.max(1) - 1);
        *items = [R::default(); N];
        return;
    }
    let exponent = input.take(R::EXPONENT_BITS) as i32 - R::BIAS;
    let precision = 8 * R::SIZE as u32;
    let limits = Limits {
        precision,
        planes: quality.planes_of(exponent, dims_of(N) as i32),
        bits: most - front as usize,
    };
    let mut coefficients = [0; N];
    let bits = coder.decode::<N, W>(&mut coefficients, limits, input);
    input.skip(least.saturating_sub(used + bits));
    let mut ints = [R::Int::default(); N];
    for (place, coefficient) in quality.order.iter().zip(coefficients) {
        ints[usize::from(*place) % N] = R::Int::from_negabinary(coefficient);
    }
    along::<_, N, 64>(&mut ints, unlift);
    along::<_, N, 16>(&mut ints, unlift);
    along::<_, N, 4>(&mut ints, unlift);
    along::<_, N, 1>(&mut ints, unlift);
    let scale = R::power_of_two(exponent - (precision as i32 - 2));
    for (item, int) in items.iter_mut().zip(ints) {
        *item = R::dequantize(int, scale);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::zfp::planes::AnyCpu;

    #[test]
    fn the_transform_is_undone_up_to_rounding() {
        let mut seed = 1u32;
        for _ in 0..1000 {
            let four = [(); 4].map(|()| {
                seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                (seed >> 3) as i32 - (1 << 28)
            });
            let back = unlift(lift(four));
            for (a, b) in four.iter().zip(back) {
                assert!((a - b).abs() <= 8, "{four:?} {back:?}");
            }
        }
        assert_eq!(lift([5; 4]), [5, 0, 0, 0]);
    }

    #[test]
    fn a_smooth_cell_comes_back_within_the_tolerance() {
        let items: [f64; 64] = std::array::from_fn(|i| (i as f64 * 0.1).sin());
        for exponent in [-5, -20, -40] {
            let quality = Quality {
                bits: (1, 16658),
                planes: 64,
                exponent,
                order: crate::zfp::order::of(3),
            };
            let mut out = [0; 1000];
            let mut writer = Writer::new(&mut out);
            put::<f64, 64, 1>(AnyCpu, &items, &quality, &mut writer);
            let len = writer.finish().expect("there is room");
            let mut back = [0.0; 64];
            let mut reader = Reader::new(&out[..len], 0);
            take::<f64, 64, 1>(AnyCpu, &quality, &mut reader, &mut back);
            let worst = items.iter().zip(back).map(|(a, b)| (a - b).abs());
            assert!(worst.fold(0.0, f64::max) <= f64::power_of_two(exponent));
        }
    }
}
