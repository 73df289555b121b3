//! The coding of [`planes`](super::planes) for cells of one dimension, which have four
//! coefficients.
//!
//! Here a plane is four bits, and a `u64` holds sixteen planes. While no further coefficient
//! becomes significant, each plane takes the same number of bits in the stream, so many planes are
//! written or read at once. The few planes in which a coefficient becomes significant are looked up
//! in tables.

use super::bits::{BitReader, BitWriter};
use super::planes::PlaneLimits;
use super::transpose::transpose;

/// The number of coefficients.
const N: usize = 4;
/// The largest number of bits that a plane takes in the stream.
const MAX_PLANE_BITS: u32 = 7;

/// An entry of the tables, which translate between planes and their codes in the stream.
#[derive(Clone, Copy)]
struct PlaneCode {
    /// In the table for encoding: the code. In the table for decoding: the plane.
    bits: u8,
    /// The length of the code in bits.
    len: u8,
    /// The number of significant coefficients after this plane.
    significant: u8,
}

/// The code of a plane if the first `significant` coefficients are significant.
const fn code_of(significant: usize, plane: u8) -> PlaneCode {
    let mut bits = plane & ((1 << significant) - 1);
    let (mut len, mut significant) = (significant, significant);
    while significant < N {
        // The group test, then a unary code for the distance to the next significant coefficient.
        // The 1 of the last coefficient is implied.
        let rest = plane >> significant;
        if rest == 0 {
            len += 1;
            break;
        }
        let zeros = rest.trailing_zeros() as usize;
        bits |= 1 << len;
        len += 1 + zeros;
        significant += zeros + 1;
        if significant < N {
            bits |= 1 << len;
            len += 1;
        }
    }
    PlaneCode {
        bits,
        len: len as u8,
        significant: significant as u8,
    }
}

/// The plane whose code is in the lowest of `bits`, if the first `significant` coefficients are
/// significant. Only `left` of the bits exist.
const fn plane_of(significant: usize, bits: u64, left: usize) -> PlaneCode {
    let mut len = if significant < left {
        significant
    } else {
        left
    };
    let mut plane = bits & ((1 << len) - 1);
    let mut significant = significant;
    while significant < N && len < left {
        len += 1;
        if bits >> (len - 1) & 1 == 0 {
            break;
        }
        // If the bits end within the unary code, the coefficient at that position becomes
        // significant.
        while significant < N - 1 && len < left {
            len += 1;
            if bits >> (len - 1) & 1 == 1 {
                break;
            }
            significant += 1;
        }
        plane |= 1 << significant;
        significant += 1;
    }
    PlaneCode {
        bits: plane as u8,
        len: len as u8,
        significant: significant as u8,
    }
}

/// [`code_of`], indexed by `significant` and the plane.
static ENCODE_TABLE: [[PlaneCode; 1 << N]; N] = {
    let mut codes = [[code_of(0, 0); 1 << N]; N];
    let mut i = 0;
    while i < N << N {
        codes[i >> N][i % (1 << N)] = code_of(i >> N, (i % (1 << N)) as u8);
        i += 1;
    }
    codes
};

/// [`plane_of`], indexed by `significant` and the next `MAX_PLANE_BITS` bits.
static DECODE_TABLE: [[PlaneCode; 1 << MAX_PLANE_BITS]; N] = {
    let mut planes = [[plane_of(0, 0, 0); 1 << MAX_PLANE_BITS]; N];
    let mut i = 0;
    while i < N << MAX_PLANE_BITS {
        let bits = i % (1 << MAX_PLANE_BITS);
        planes[i >> MAX_PLANE_BITS][bits] =
            plane_of(i >> MAX_PLANE_BITS, bits as u64, MAX_PLANE_BITS as usize);
        i += 1;
    }
    planes
};

/// How many planes a word holds.
const PLANES_PER_WORD: usize = 16;

/// The lowest `count` bits, 0 to 64.
#[inline(always)]
fn low_bits(bits: u64, count: usize) -> u64 {
    bits & u64::MAX.checked_shr(64 - count as u32).unwrap_or(0)
}

/// Reverses the order of the groups of four bits.
#[inline(always)]
fn reverse_nibbles(word: u64) -> u64 {
    let low = 0x0f0f_0f0f_0f0f_0f0f;
    ((word & low) << 4 | word >> 4 & low).swap_bytes()
}

/// Word `n` of the planes, the highest plane first. Each of the rows that [`transpose`] returned
/// holds every fourth plane.
#[inline(always)]
fn word_of(rows: &[u64; N], precision: u32, n: usize) -> u64 {
    let shift = precision as usize - PLANES_PER_WORD * (n + 1);
    let mut word = 0;
    for (n, row) in rows.iter().enumerate() {
        let four = row >> (shift % 64) & 0xffff;
        let four = (four | four << 24) & 0x0000_00ff_0000_00ff;
        word |= ((four | four << 12) & 0x000f_000f_000f_000f) << (4 * n);
    }
    reverse_nibbles(word)
}

/// The inverse of [`word_of`]. It may only be called once for a word, since it combines bits by OR.
#[inline(always)]
fn put_word(rows: &mut [u64; N], precision: u32, n: usize, word: u64) {
    let shift = precision as usize - PLANES_PER_WORD * (n + 1);
    let word = reverse_nibbles(word);
    for (n, row) in rows.iter_mut().enumerate() {
        let four = word >> (4 * n) & 0x000f_000f_000f_000f;
        let four = (four | four >> 12) & 0x0000_00ff_0000_00ff;
        *row |= ((four | four >> 24) & 0xffff) << (shift % 64);
    }
}

/// Moves the lowest `width` bits of each group of four bits together. The other bits must be 0.
#[inline(always)]
fn pack(word: u64, width: usize) -> u64 {
    let gap = 4 - width;
    let word = word & 0x0f0f_0f0f_0f0f_0f0f | (word & 0xf0f0_f0f0_f0f0_f0f0) >> gap;
    let word = word & 0x00ff_00ff_00ff_00ff | (word & 0xff00_ff00_ff00_ff00) >> (2 * gap);
    let word = word & 0x0000_ffff_0000_ffff | (word & 0xffff_0000_ffff_0000) >> (4 * gap);
    word & 0xffff_ffff | word >> 32 << (32 - 8 * gap)
}

/// The inverse of [`pack`].
#[inline(always)]
fn unpack(word: u64, width: usize) -> u64 {
    let gap = 4 - width;
    let half = low_bits(word, 8 * width);
    let word = half | (word ^ half) << (8 * gap);
    let half = word & (low_bits(u64::MAX, 4 * width) * 0x1_0000_0001);
    let word = half | (word ^ half) << (4 * gap);
    let half = word & (low_bits(u64::MAX, 2 * width) * 0x0001_0001_0001_0001);
    let word = half | (word ^ half) << (2 * gap);
    let half = word & (low_bits(u64::MAX, width) * 0x0101_0101_0101_0101);
    half | (word ^ half) << gap
}

/// Like [`super::planes::encode`].
#[inline(always)]
pub fn encode(values: &[u64; N], limits: PlaneLimits, out: &mut BitWriter) -> usize {
    let PlaneLimits {
        precision,
        planes,
        bits,
    } = limits;
    let mut rows = *values;
    transpose(&mut rows);
    // For each number of significant coefficients, the first plane in which a further one becomes
    // significant.
    let mut rest = 0;
    let mut next_new = [usize::MAX; N + 1];
    for (value, new) in values.iter().zip(&mut next_new).rev() {
        rest |= value;
        *new = (rest.leading_zeros() + precision - 64) as usize;
    }
    let end = precision.min(planes) as usize;
    let (mut at, mut significant, mut left) = (0, 0, bits);
    while at < end && left > 0 {
        let word = word_of(&rows, precision, at / PLANES_PER_WORD);
        let stop = end.min(at / PLANES_PER_WORD * PLANES_PER_WORD + PLANES_PER_WORD);
        while at < stop && left > 0 {
            let next = stop.min(next_new[significant]);
            // Each plane before `next` has the bits of the significant coefficients and a group
            // test of 0.
            let width = (significant + 1).min(N);
            let len = ((next - at) * width).min(left);
            let same = pack(word >> (4 * (at % PLANES_PER_WORD)), width);
            out.put(low_bits(same, len), len as u32);
            left -= len;
            at = next;
            if at < stop {
                let plane = word >> (4 * (at % PLANES_PER_WORD)) & 15;
                let code = ENCODE_TABLE[significant][plane as usize];
                let len = usize::from(code.len).min(left);
                out.put(low_bits(code.bits.into(), len), len as u32);
                left -= len;
                significant = code.significant.into();
                at += 1;
            }
        }
    }
    bits - left
}

/// For each number of significant coefficients, a mask of the group tests in a run of planes in
/// which no further one becomes significant. The first group test that is 1 ends the run.
const GROUP_TESTS: [u64; N + 1] = [
    u64::MAX,
    0xaaaa_aaaa_aaaa_aaaa,
    0x4924_9249_2492_4924,
    0x8888_8888_8888_8888,
    0,
];
/// The reciprocals of the number of bits that such planes take, times 2^16.
const RECIPROCALS: [usize; N + 1] = [65536, 32768, 21846, 16384, 16384];

/// Like [`super::planes::decode`].
#[inline(always)]
pub fn decode(limits: PlaneLimits, input: &mut BitReader) -> ([u64; N], usize) {
    let PlaneLimits {
        precision,
        planes,
        bits,
    } = limits;
    let end = precision.min(planes) as usize;
    let mut rows = [0; N];
    let (mut at, mut significant, mut left) = (0, 0, bits);
    while at < end && left > 0 {
        let first = at / PLANES_PER_WORD;
        let stop = end.min((first + 1) * PLANES_PER_WORD);
        let mut word = 0;
        while at < stop && left > 0 {
            let mut bits = input.peek();
            let width = (significant + 1).min(N);
            let planes_in = |bits: usize| (bits * RECIPROCALS[significant]) >> 16;
            let run = planes_in((bits & GROUP_TESTS[significant]).trailing_zeros() as usize);
            let count = run.min(stop - at).min(planes_in(left.min(64)));
            let mut len = count * width;
            word |= unpack(low_bits(bits, len), width) << (4 * (at % PLANES_PER_WORD));
            left -= len;
            at += count;
            if at < stop && left > 0 {
                // `bits` still holds the whole code. A run takes at most 15 planes of 4 bits, which
                // leaves 4 bits. Planes take 4 bits only with 3 or 4 significant coefficients, and
                // then no code is longer.
                bits >>= len;
                let code = if left >= MAX_PLANE_BITS as usize {
                    DECODE_TABLE[significant][bits as usize % (1 << MAX_PLANE_BITS)]
                } else {
                    plane_of(significant, bits, left)
                };
                word |= u64::from(code.bits) << (4 * (at % PLANES_PER_WORD));
                len += usize::from(code.len);
                left -= usize::from(code.len);
                significant = code.significant.into();
                at += 1;
            }
            input.skip(len);
        }
        put_word(&mut rows, precision, first, word);
    }
    transpose(&mut rows);
    (rows, bits - left)
}
