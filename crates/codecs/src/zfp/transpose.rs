//! Bit planes: coefficients, transposed.

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

/// Transposes the `N` x `N` bits in each of the 64 / `N` columns of `rows`: bit `i` of row `j` becomes bit `j` of row `i`. The steps are
/// written out because the compiler would not unroll a loop over them, and the shifts would not be constants.
#[inline(always)]
pub fn transpose<const N: usize>(rows: &mut [u64; N]) {
    exchange::<N, 32>(rows);
    exchange::<N, 16>(rows);
    exchange::<N, 8>(rows);
    exchange::<N, 4>(rows);
    exchange::<N, 2>(rows);
    exchange::<N, 1>(rows);
}

/// Stores the planes of 64 coefficients of `precision` bits (32 or 64) in word `word` of each plane.
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

/// The planes of up to this many coefficients are packed: several share a word.
const MAX_PACKED: usize = 16;

/// The planes of `N` coefficients (4, 16, 64 or 256), each of `W` words: bit `i` of plane `k` is bit `k` of coefficient `i`.
pub struct Planes<const N: usize, const W: usize> {
    /// The packed planes of up to `MAX_PACKED` coefficients: row `k % N` of the first `N` holds plane `k` from bit `k - k % N` on.
    rows: [u64; MAX_PACKED],
    /// The planes of more coefficients.
    all: [[u64; W]; 64],
}

impl<const N: usize, const W: usize> Planes<N, W> {
    const PACKED: bool = N <= MAX_PACKED;

    /// Planes of zeros.
    #[inline(always)]
    pub fn empty() -> Self {
        Self {
            rows: [0; MAX_PACKED],
            all: [[0; W]; 64],
        }
    }

    /// Sets these to the planes of coefficients of `precision` bits. It works in place, because a copy has 2 KB and the stack may be small.
    #[inline(always)]
    pub fn fill(&mut self, precision: u32, values: &[u64; N]) {
        if let Some(rows) = self.rows.first_chunk_mut::<N>() {
            *rows = *values;
            transpose(rows);
            return;
        }
        for (word, values) in values.as_chunks::<64>().0.iter().enumerate() {
            planes_of_64(precision, values, &mut self.all, word);
        }
    }

    /// The coefficients of these planes: the inverse of [`fill`](Self::fill).
    #[inline(always)]
    pub fn values(&mut self, precision: u32, values: &mut [u64; N]) {
        if let Some(rows) = self.rows.first_chunk_mut::<N>() {
            transpose(rows);
            *values = *rows;
            return;
        }
        for (word, values) in values.as_chunks_mut::<64>().0.iter_mut().enumerate() {
            values_of_64(precision, &self.all, word, values);
        }
    }

    /// Plane `k`.
    #[inline(always)]
    pub fn get(&self, k: usize) -> [u64; W] {
        if !Self::PACKED {
            return self.all[k];
        }
        let mut plane = [0; W];
        plane[0] = self.rows[k % N] >> (k - k % N) & ((1 << N) - 1);
        plane
    }

    /// Sets plane `k`, which must be 0 before.
    #[inline(always)]
    pub fn set(&mut self, k: usize, plane: [u64; W]) {
        if Self::PACKED {
            self.rows[k % N] |= plane[0] << (k - k % N);
        } else {
            self.all[k] = plane;
        }
    }
}
