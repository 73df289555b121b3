//! Bit planes: coefficients, transposed in place.

/// One step of [`transpose`]: swaps blocks of `STEP` x `STEP` bits, if there are more rows than
/// `STEP`.
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

/// Transposes the `N` x `N` bits in each of the 64 / `N` columns of `rows`: bit `i` of row `j`
/// becomes bit `j` of row `i`. The steps are written out because the compiler would not unroll a
/// loop over them, and the shifts would not be constants.
#[inline(always)]
pub fn transpose<const N: usize>(rows: &mut [u64; N]) {
    exchange::<N, 32>(rows);
    exchange::<N, 16>(rows);
    exchange::<N, 8>(rows);
    exchange::<N, 4>(rows);
    exchange::<N, 2>(rows);
    exchange::<N, 1>(rows);
}

/// Whether the planes of `N` coefficients are packed: several share a word.
const fn is_packed(n: usize) -> bool {
    n < 64
}

/// The planes of `N` coefficients (16, 64 or 256), each of `W` words, in the place of the
/// coefficients: bit `i` of plane `k` is bit `k` of coefficient `i`. Word `w` of plane `k` is row
/// `64 * w + k`. Planes of 16 coefficients are packed: row `k % 16` holds plane `k` from bit `k - k
/// % 16` on.
pub struct Planes<'a, const N: usize, const W: usize> {
    rows: &'a mut [u64; N],
}

impl<'a, const N: usize, const W: usize> Planes<'a, N, W> {
    /// Planes of zeros, in the place of `values`.
    #[inline(always)]
    pub fn zeros(values: &'a mut [u64; N]) -> Self {
        values.fill(0);
        Self { rows: values }
    }

    /// Turns coefficients of `precision` bits (32 or 64) into their planes.
    #[inline(always)]
    pub fn from_coefficients(precision: u32, values: &'a mut [u64; N]) -> Self {
        if is_packed(N) {
            transpose(values);
        }
        for values in values.as_chunks_mut::<64>().0 {
            if precision == 32
                && let Some((rows, upper)) = values.split_first_chunk_mut::<32>()
            {
                // Coefficient `i` and coefficient `i + 32` share a row.
                for (row, value) in rows.iter_mut().zip(upper) {
                    *row |= *value << 32;
                }
                transpose(rows);
            } else {
                transpose(values);
            }
        }
        Self { rows: values }
    }

    /// Turns the planes back into coefficients.
    #[inline(always)]
    pub fn into_coefficients(self, precision: u32) {
        if is_packed(N) {
            transpose(self.rows);
        }
        for values in self.rows.as_chunks_mut::<64>().0 {
            if precision == 32
                && let Some((rows, upper)) = values.split_first_chunk_mut::<32>()
            {
                transpose(rows);
                for (row, value) in rows.iter_mut().zip(upper) {
                    (*row, *value) = (*row & 0xffff_ffff, *row >> 32);
                }
            } else {
                transpose(values);
            }
        }
    }

    /// Plane `k`.
    #[inline(always)]
    pub fn get(&self, k: usize) -> [u64; W] {
        if is_packed(N) {
            let mut plane = [0; W];
            plane[0] = self.rows[k % N] >> (k - k % N) & ((1 << N) - 1);
            return plane;
        }
        std::array::from_fn(|w| self.rows[64 * w + k])
    }

    /// Sets plane `k`, which must be 0 before.
    #[inline(always)]
    pub fn set(&mut self, k: usize, plane: [u64; W]) {
        if is_packed(N) {
            self.rows[k % N] |= plane[0] << (k - k % N);
            return;
        }
        for (w, word) in plane.into_iter().enumerate() {
            self.rows[64 * w + k] = word;
        }
    }
}
