//! Planes of four coefficients: cells of one dimension.
//!
//! Planes are words of four bits here, sixteen to a `u64`. As long as the same coefficients are significant, planes take equally
//! many bits in a stream and are written or read all at once; the few between are looked up in tables.

use super::bits::{Reader, Writer};
use super::planes::{Limits, transpose};

/// Coefficients.
const N: usize = 4;
/// No plane takes more bits than this.
const LONGEST: u32 = 7;

/// A plane as it is in a stream, or what of a stream is a plane.
#[derive(Clone, Copy)]
struct Code {
    /// The plane's bits, or those that stand for them.
    bits: u8,
    /// Bits in the stream.
    len: u8,
    /// Coefficients that are significant from here on.
    known: u8,
}

/// What stands for a plane when `known` coefficients are significant.
const fn code_of(known: usize, plane: u8) -> Code {
    let mut bits = plane & ((1 << known) - 1);
    let (mut len, mut known) = (known, known);
    while known < N {
        // Whether there is one more, and then how far it is to that; for the last one there is nothing else.
        let rest = plane >> known;
        if rest == 0 {
            len += 1;
            break;
        }
        let zeros = rest.trailing_zeros() as usize;
        bits |= 1 << len;
        len += 1 + zeros;
        known += zeros + 1;
        if known < N {
            bits |= 1 << len;
            len += 1;
        }
    }
    Code {
        bits,
        len: len as u8,
        known: known as u8,
    }
}

/// The plane that begins with `bits`, of which only `left` are there, when `known` coefficients are significant.
const fn plane_of(known: usize, bits: u64, left: usize) -> Code {
    let mut len = if known < left { known } else { left };
    let mut plane = bits & ((1 << len) - 1);
    let mut known = known;
    while known < N && len < left {
        len += 1;
        if bits >> (len - 1) & 1 == 0 {
            break;
        }
        // Where bits end before a one, that is the place of it.
        while known < N - 1 && len < left {
            len += 1;
            if bits >> (len - 1) & 1 == 1 {
                break;
            }
            known += 1;
        }
        plane |= 1 << known;
        known += 1;
    }
    Code {
        bits: plane as u8,
        len: len as u8,
        known: known as u8,
    }
}

/// [`code_of`] by `known` and plane.
static CODES: [[Code; 1 << N]; N] = {
    let mut codes = [[code_of(0, 0); 1 << N]; N];
    let mut i = 0;
    while i < N << N {
        codes[i >> N][i % (1 << N)] = code_of(i >> N, (i % (1 << N)) as u8);
        i += 1;
    }
    codes
};

/// [`plane_of`] by `known` and as many bits as it takes.
static PLANES: [[Code; 1 << LONGEST]; N] = {
    let mut planes = [[plane_of(0, 0, 0); 1 << LONGEST]; N];
    let mut i = 0;
    while i < N << LONGEST {
        let bits = i % (1 << LONGEST);
        planes[i >> LONGEST][bits] = plane_of(i >> LONGEST, bits as u64, LONGEST as usize);
        i += 1;
    }
    planes
};

/// Planes in a word.
const PLANES_OF_WORD: usize = 16;

/// The lowest `count` bits, at most 64.
#[inline(always)]
fn low(bits: u64, count: usize) -> u64 {
    bits & u64::MAX.checked_shr(64 - count as u32).unwrap_or(0)
}

/// Groups of four bits in the opposite order.
#[inline(always)]
fn reversed(word: u64) -> u64 {
    let low = 0x0f0f_0f0f_0f0f_0f0f;
    ((word & low) << 4 | word >> 4 & low).swap_bytes()
}

/// Word `n` of the planes, the highest plane first, of which the rows of [`transpose`] hold every fourth.
#[inline(always)]
fn word_of(rows: &[u64; N], precision: u32, n: usize) -> u64 {
    let shift = precision as usize - PLANES_OF_WORD * (n + 1);
    let mut word = 0;
    for (n, row) in rows.iter().enumerate() {
        let four = row >> (shift % 64) & 0xffff;
        let four = (four | four << 24) & 0x0000_00ff_0000_00ff;
        word |= ((four | four << 12) & 0x000f_000f_000f_000f) << (4 * n);
    }
    reversed(word)
}

/// The inverse of [`word_of`], into rows that are 0 there.
#[inline(always)]
fn put_word(rows: &mut [u64; N], precision: u32, n: usize, word: u64) {
    let shift = precision as usize - PLANES_OF_WORD * (n + 1);
    let word = reversed(word);
    for (n, row) in rows.iter_mut().enumerate() {
        let four = word >> (4 * n) & 0x000f_000f_000f_000f;
        let four = (four | four >> 12) & 0x0000_00ff_0000_00ff;
        *row |= ((four | four >> 24) & 0xffff) << (shift % 64);
    }
}

/// Puts the lowest `width` bits of each group of four side by side; the others are 0.
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
    let half = low(word, 8 * width);
    let word = half | (word ^ half) << (8 * gap);
    let half = word & (low(u64::MAX, 4 * width) * 0x1_0000_0001);
    let word = half | (word ^ half) << (4 * gap);
    let half = word & (low(u64::MAX, 2 * width) * 0x0001_0001_0001_0001);
    let word = half | (word ^ half) << (2 * gap);
    let half = word & (low(u64::MAX, width) * 0x0101_0101_0101_0101);
    half | (word ^ half) << gap
}

/// As [`super::planes::encode`].
#[inline(always)]
pub fn encode(values: &[u64; N], limits: Limits, out: &mut Writer) -> usize {
    let Limits {
        precision,
        planes,
        bits,
    } = limits;
    let mut rows = *values;
    transpose(&mut rows);
    // The first plane in which one is set that is not known, by how many are.
    let mut rest = 0;
    let mut news = [usize::MAX; N + 1];
    for (value, new) in values.iter().zip(&mut news).rev() {
        rest |= value;
        *new = (rest.leading_zeros() + precision - 64) as usize;
    }
    let end = precision.min(planes) as usize;
    let (mut at, mut known, mut left) = (0, 0, bits);
    while at < end && left > 0 {
        let word = word_of(&rows, precision, at / PLANES_OF_WORD);
        let stop = end.min(at / PLANES_OF_WORD * PLANES_OF_WORD + PLANES_OF_WORD);
        while at < stop && left > 0 {
            let next = stop.min(news[known]);
            // With the bit that says that there is no other.
            let width = (known + 1).min(N);
            let len = ((next - at) * width).min(left);
            let same = pack(word >> (4 * (at % PLANES_OF_WORD)), width);
            out.put(low(same, len), len as u32);
            left -= len;
            at = next;
            if at < stop {
                let plane = word >> (4 * (at % PLANES_OF_WORD)) & 15;
                let code = CODES[known][plane as usize];
                let len = usize::from(code.len).min(left);
                out.put(low(code.bits.into(), len), len as u32);
                left -= len;
                known = code.known.into();
                at += 1;
            }
        }
    }
    bits - left
}

/// The bits of which the first one that is set ends planes alike, by how many coefficients are known.
const ENDS: [u64; N + 1] = [
    u64::MAX,
    0xaaaa_aaaa_aaaa_aaaa,
    0x4924_9249_2492_4924,
    0x8888_8888_8888_8888,
    0,
];
/// What to multiply by to divide by the bits that such planes take, shifted left by 16.
const SHARES: [usize; N + 1] = [65536, 32768, 21846, 16384, 16384];

/// As [`super::planes::decode`].
#[inline(always)]
pub fn decode(limits: Limits, input: &mut Reader) -> ([u64; N], usize) {
    let Limits {
        precision,
        planes,
        bits,
    } = limits;
    let end = precision.min(planes) as usize;
    let mut rows = [0; N];
    let (mut at, mut known, mut left) = (0, 0, bits);
    while at < end && left > 0 {
        let first = at / PLANES_OF_WORD;
        let stop = end.min((first + 1) * PLANES_OF_WORD);
        let mut word = 0;
        while at < stop && left > 0 {
            let mut bits = input.peek();
            let width = (known + 1).min(N);
            let share = |bits: usize| (bits * SHARES[known]) >> 16;
            let alike = share((bits & ENDS[known]).trailing_zeros() as usize);
            let count = alike.min(stop - at).min(share(left.min(64)));
            let mut len = count * width;
            word |= unpack(low(bits, len), width) << (4 * (at % PLANES_OF_WORD));
            left -= len;
            at += count;
            if at < stop && left > 0 {
                // At least 4 bits are left, which is enough if there are so many planes of 4 bits.
                bits >>= len;
                let code = if left >= LONGEST as usize {
                    PLANES[known][bits as usize % (1 << LONGEST)]
                } else {
                    plane_of(known, bits, left)
                };
                word |= u64::from(code.bits) << (4 * (at % PLANES_OF_WORD));
                len += usize::from(code.len);
                left -= usize::from(code.len);
                known = code.known.into();
                at += 1;
            }
            input.skip(len);
        }
        put_word(&mut rows, precision, first, word);
    }
    transpose(&mut rows);
    (rows, bits - left)
}
