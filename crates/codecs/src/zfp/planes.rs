//! Embedded coding of coefficients, from the highest bit plane down. A coefficient is significant once it had a bit set. Of each
//! plane, the bits of the significant coefficients are written as they are. The others are coded by group tests: a bit says whether
//! any more becomes significant in this plane, and if so, a unary code tells which is the next.

use super::bits::{Reader, Writer};
use super::four;

/// When coding ends.
#[derive(Clone, Copy)]
pub struct Limits {
    /// The bits of a coefficient, 32 or 64.
    pub precision: u32,
    /// How many planes are coded, from the highest on.
    pub planes: u32,
    /// The most bits that may be written.
    pub bits: usize,
}

impl Limits {
    /// The lowest plane that is coded.
    fn last(&self) -> u32 {
        self.precision.saturating_sub(self.planes)
    }
}

/// One step of [`transpose`]: swaps blocks of `STEP` x `STEP` bits, if there are more rows than `STEP`.
#[inline(always)]
fn exchange<const N: usize, const STEP: usize>(rows: &mut [u64; N]) {
    if STEP >= N {
        return;
    }
    // The low half of every 2 * `STEP` bits.
    let mask = u64::MAX / ((1 << STEP) + 1);
    for pair in rows.chunks_exact_mut(2 * STEP) {
        let (upper, lower) = pair.split_at_mut(STEP);
        for (a, b) in upper.iter_mut().zip(lower) {
            let t = ((*a >> STEP) ^ *b) & mask;
            *b ^= t;
            *a ^= t << STEP;
        }
    }
}

/// Transposes the `N` x `N` bits in each of the 64 / `N` columns of `rows`: bit `i` of row `j` becomes bit `j` of row `i`. The steps
/// are written out because the compiler does not unroll a loop over them, and then the shifts would not be constant.
#[inline(always)]
pub fn transpose<const N: usize>(rows: &mut [u64; N]) {
    exchange::<N, 32>(rows);
    exchange::<N, 16>(rows);
    exchange::<N, 8>(rows);
    exchange::<N, 4>(rows);
    exchange::<N, 2>(rows);
    exchange::<N, 1>(rows);
}

/// Stores the planes of 64 coefficients with `precision` bits, 32 or 64, in word `word` of each plane.
#[inline(always)]
fn planes_of_64<const W: usize>(
    precision: u32,
    values: &[u64; 64],
    planes: &mut [[u64; W]; 64],
    word: usize,
) {
    if precision == 32 {
        // Coefficient `i` and coefficient `i + 32` share a row.
        let mut rows: [u64; 32] = std::array::from_fn(|i| values[i] | values[i + 32] << 32);
        transpose(&mut rows);
        for (plane, row) in planes.iter_mut().zip(rows) {
            plane[word] = row;
        }
    } else {
        let mut rows = *values;
        transpose(&mut rows);
        for (plane, row) in planes.iter_mut().zip(rows) {
            plane[word] = row;
        }
    }
}

/// The inverse of [`planes_of_64`].
#[inline(always)]
fn values_of_64<const W: usize>(
    precision: u32,
    planes: &[[u64; W]; 64],
    word: usize,
    values: &mut [u64; 64],
) {
    if precision == 32 {
        let mut rows: [u64; 32] = std::array::from_fn(|i| planes[i][word]);
        transpose(&mut rows);
        for (i, row) in rows.iter().enumerate() {
            (values[i], values[i + 32]) = (row & 0xffff_ffff, row >> 32);
        }
    } else {
        *values = std::array::from_fn(|i| planes[i][word]);
        transpose(values);
    }
}

/// Up to this many coefficients, the planes are kept packed.
const MAX_PACKED: usize = 16;

/// The planes of `N` coefficients (4, 16, 64 or 256), each of `W` words: bit `i` of plane `k` is bit `k` of coefficient `i`.
struct Planes<const N: usize, const W: usize> {
    /// Used for up to `MAX_PACKED` coefficients: of `N` rows, row `k % N` has plane `k` from bit `k - k % N` on.
    rows: [u64; MAX_PACKED],
    /// Used for more.
    all: [[u64; W]; 64],
}

impl<const N: usize, const W: usize> Planes<N, W> {
    const PACKED: bool = N <= MAX_PACKED;

    /// All bits 0.
    #[inline(always)]
    fn empty() -> Self {
        Self {
            rows: [0; MAX_PACKED],
            all: [[0; W]; 64],
        }
    }

    /// Makes these the planes of coefficients with `precision` bits. (In place: a copy has 2 KB, and the stack may be small.)
    #[inline(always)]
    fn fill(&mut self, precision: u32, values: &[u64; N]) {
        if let Some(rows) = self.rows.first_chunk_mut::<N>() {
            *rows = *values;
            transpose(rows);
            return;
        }
        for (word, values) in values.as_chunks::<64>().0.iter().enumerate() {
            planes_of_64(precision, values, &mut self.all, word);
        }
    }

    /// The inverse of [`fill`](Self::fill).
    #[inline(always)]
    fn values(&mut self, precision: u32, values: &mut [u64; N]) {
        if let Some(rows) = self.rows.first_chunk_mut::<N>() {
            transpose(rows);
            *values = *rows;
            return;
        }
        for (word, values) in values.as_chunks_mut::<64>().0.iter_mut().enumerate() {
            values_of_64(precision, &self.all, word, values);
        }
    }

    #[inline(always)]
    fn get(&self, k: usize) -> [u64; W] {
        if !Self::PACKED {
            return self.all[k];
        }
        let mut plane = [0; W];
        plane[0] = self.rows[k % N] >> (k - k % N) & ((1 << N) - 1);
        plane
    }

    /// Sets a plane, which must be 0.
    #[inline(always)]
    fn set(&mut self, k: usize, plane: [u64; W]) {
        if Self::PACKED {
            self.rows[k % N] |= plane[0] << (k - k % N);
        } else {
            self.all[k] = plane;
        }
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

/// Writes the group test and what follows it where there is another significant coefficient: a 1 for the test, a 0 for each of the
/// `zeros` coefficients that are skipped, and a 1 for the significant one. If that is the last coefficient, its 1 is implied. No more than
/// `left` bits are written. Returns their number.
#[inline(always)]
fn put_one(out: &mut Writer, zeros: usize, is_last: bool, left: usize) -> usize {
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

/// Reads a group test that is 1, the lowest of the next `bits`, then zeros up to the first 1, but no more than `most`. Returns the
/// number of zeros, and of all bits behind the test that were read.
#[inline(always)]
fn take_zeros(input: &mut Reader, bits: u64, most: usize) -> (usize, usize) {
    // Count zeros in the 63 bits behind the group test; more bits are needed only if all of them are 0.
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

/// Writes `N` coefficients. Returns the number of bits written. `W` is the number of words that `N` bits need.
#[inline(always)]
pub fn encode<const N: usize, const W: usize>(
    values: &[u64; N],
    limits: Limits,
    out: &mut Writer,
) -> usize {
    if N == 4
        && let Some(values) = values.first_chunk()
    {
        return four::encode(values, limits, out);
    }
    let mut planes = Planes::<N, W>::empty();
    planes.fill(limits.precision, values);
    let mut left = limits.bits;
    // The number of significant coefficients. Because of the order, all before the last of them count as significant.
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
    limits: Limits,
    input: &mut Reader,
) -> usize {
    if N == 4
        && let Some(values) = values.first_chunk_mut()
    {
        let bits;
        (*values, bits) = four::decode(limits, input);
        return bits;
    }
    let mut planes = Planes::<N, W>::empty();
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
    planes.values(limits.precision, values);
    limits.bits - left
}

/// The coding of bit planes with the instructions of one kind of CPU. It does not depend on the type of the items, so it is not
/// inlined (except for small cells, where a call would cost too much), to be compiled only once.
pub trait Coder: Copy {
    /// See [`encode`].
    fn encode<const N: usize, const W: usize>(
        self,
        values: &[u64; N],
        limits: Limits,
        out: &mut Writer,
    ) -> usize;
    /// See [`decode`].
    fn decode<const N: usize, const W: usize>(
        self,
        values: &mut [u64; N],
        limits: Limits,
        input: &mut Reader,
    ) -> usize;
}

/// The instructions that every CPU of the architecture has.
#[derive(Clone, Copy)]
pub struct AnyCpu;

impl Coder for AnyCpu {
    #[inline(never)]
    fn encode<const N: usize, const W: usize>(
        self,
        values: &[u64; N],
        limits: Limits,
        out: &mut Writer,
    ) -> usize {
        encode::<N, W>(values, limits, out)
    }

    #[inline(never)]
    fn decode<const N: usize, const W: usize>(
        self,
        values: &mut [u64; N],
        limits: Limits,
        input: &mut Reader,
    ) -> usize {
        decode::<N, W>(values, limits, input)
    }
}

/// AVX2, and the bit manipulation instructions that came with it. A value exists only if the CPU has them.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy)]
pub struct Avx2(());

#[cfg(target_arch = "x86_64")]
impl Avx2 {
    /// `None` if the CPU lacks one of the features.
    pub fn new() -> Option<Self> {
        (oxiblosc_memory::cpu::has_avx2()
            && std::arch::is_x86_feature_detected!("bmi1")
            && std::arch::is_x86_feature_detected!("bmi2")
            && std::arch::is_x86_feature_detected!("lzcnt"))
        .then_some(Self(()))
    }
}

#[cfg(target_arch = "x86_64")]
impl Coder for Avx2 {
    #[inline(always)]
    fn encode<const N: usize, const W: usize>(
        self,
        values: &[u64; N],
        limits: Limits,
        out: &mut Writer,
    ) -> usize {
        #[inline(never)]
        #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt")]
        fn with_avx2<const N: usize, const W: usize>(
            values: &[u64; N],
            limits: Limits,
            out: &mut Writer,
        ) -> usize {
            encode::<N, W>(values, limits, out)
        }
        if N == 4 {
            return encode::<N, W>(values, limits, out);
        }
        // SAFETY: only `new` makes values of this type, after it has detected all of these features.
        unsafe { with_avx2::<N, W>(values, limits, out) }
    }

    #[inline(always)]
    fn decode<const N: usize, const W: usize>(
        self,
        values: &mut [u64; N],
        limits: Limits,
        input: &mut Reader,
    ) -> usize {
        #[inline(never)]
        #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt")]
        fn with_avx2<const N: usize, const W: usize>(
            values: &mut [u64; N],
            limits: Limits,
            input: &mut Reader,
        ) -> usize {
            decode::<N, W>(values, limits, input)
        }
        if N == 4 {
            return decode::<N, W>(values, limits, input);
        }
        // SAFETY: as in `encode`.
        unsafe { with_avx2::<N, W>(values, limits, input) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use oxiblosc_testing::noise;

    /// The format bit by bit, as it is specified.
    fn slowly(values: &[u64], limits: Limits) -> Vec<bool> {
        let mut bits = Vec::new();
        let mut significant = 0;
        for k in (limits.last()..limits.precision).rev() {
            let bit = |i: usize| values[i] >> k & 1 == 1;
            bits.extend((0..significant).map(bit));
            while significant < values.len() {
                let any = (significant..values.len()).any(bit);
                bits.push(any);
                if !any {
                    break;
                }
                while significant < values.len() - 1 {
                    bits.push(bit(significant));
                    if bit(significant) {
                        break;
                    }
                    significant += 1;
                }
                significant += 1;
            }
        }
        bits.truncate(limits.bits);
        bits
    }

    fn check<const N: usize, const W: usize>(values: &[u64; N], limits: Limits) {
        let expected = slowly(values, limits);
        let mut out = vec![0; N * 10 + 16];
        let mut writer = Writer::new(&mut out);
        assert_eq!(encode::<N, W>(values, limits, &mut writer), expected.len());
        writer.finish().expect("there is room");
        let bit = |i: usize| out[i / 8] >> (i % 8) & 1 == 1;
        assert!(
            expected
                .iter()
                .enumerate()
                .all(|(i, expected)| bit(i) == *expected)
        );
        let mut reader = Reader::new(&out, 0);
        let mut decoded = [0; N];
        let len = decode::<N, W>(&mut decoded, limits, &mut reader);
        assert_eq!(len, expected.len());
        if limits.bits == usize::MAX {
            let last = limits.last();
            let kept = values.map(|value| value.checked_shr(last).map_or(0, |v| v << last));
            assert_eq!(decoded, kept);
        }
    }

    fn check_sizes<const N: usize, const W: usize>() {
        let data = noise(8 * N);
        for precision in [32, 64] {
            for scale in [0, 3, 20, 31, 40, 63] {
                let mut values = [0; N];
                for (i, value) in values.iter_mut().enumerate() {
                    let bytes = data[8 * i..8 * i + 8].try_into().expect("eight");
                    // Later ones are smaller, as in cells, and a few are large again.
                    let small = scale + if i % 29 == 28 { 0 } else { i as u32 % 64 / 8 };
                    *value = u64::from_le_bytes(bytes) >> (64 - precision) >> small.min(63);
                }
                for planes in [0, 1, 7, 32, 64] {
                    for bits in [0, 1, 2, 3, 50, 63, 64, 65, 100, 257, 1000, usize::MAX] {
                        let limits = Limits {
                            precision,
                            planes,
                            bits,
                        };
                        check::<N, W>(&values, limits);
                    }
                }
            }
        }
    }

    #[test]
    fn planes_are_coded_as_specified() {
        check_sizes::<4, 1>();
        check_sizes::<16, 1>();
        check_sizes::<64, 1>();
        check_sizes::<256, 4>();
    }

    #[test]
    fn noise_is_decoded_to_something() {
        let data = noise(4000);
        for at in 0..200 {
            let limits = Limits {
                precision: 64,
                planes: 64,
                bits: 5000,
            };
            let mut reader = Reader::new(&data[..at * 20], at);
            assert!(decode::<256, 4>(&mut [0; 256], limits, &mut reader) <= 5000);
            let mut reader = Reader::new(&data[..at * 20], at);
            assert!(decode::<64, 1>(&mut [0; 64], limits, &mut reader) <= 5000);
            let limits = Limits { bits: at, ..limits };
            let mut reader = Reader::new(&data[at..at + 20], at);
            assert!(decode::<4, 1>(&mut [0; 4], limits, &mut reader) <= at);
        }
    }
}
