//! The compressor: a greedy parse with one candidate per position, and a probe that gives up early on incompressible data.
//!
//! Which matches are taken, and when the probe gives up, follows the reference exactly, so that the streams are the same bytes.
//! How matches are found is our own.

use core::hint::select_unpredictable;

use super::{FAR, MAX_LITERALS, WINDOW};
use crate::copy::{array_at, array_at_mut, match_len, read4};
use crate::table::{SlotInt, Table, hash, position};
use crate::unaligned::{load, xor8};
use oxiblosc_error::Result;

/// Binary logarithm of the most slots that a table uses.
pub(super) const MAX_HASH_LOG: u32 = 14;
/// Slots of a table.
const SLOTS: usize = 1 << MAX_HASH_LOG;

/// Shorter streams are not compressed.
pub(super) const MIN_SRC: usize = 16;
/// With a shorter destination nothing is compressed.
pub(super) const MIN_DST: usize = 66;
/// No match starts within this many bytes of the end. This also allows reading eight bytes at every position that is tried.
const TAIL: usize = 12;
/// The reference codes a match as this many bytes shorter than what it found (before the format's own difference of 2), so the
/// search continues at the last byte but one of the match that was found.
const LENGTH_SHIFT: usize = 4;

/// In how many bytes a candidate must match, if its length is coded as so many bytes shorter.
const fn min_match(shift: usize) -> usize {
    2 * shift - 1
}

/// Matches with a coded length up to this are not taken at a far distance, which costs two bytes more.
const MAX_SHORT_CODE: usize = 5;

/// The compression ratio that the probe must predict, by level. The figures are the reference's.
pub(super) const MIN_RATIO: [f64; 10] = [0.0, 2.0, 1.5, 1.2, 1.2, 1.2, 1.2, 1.15, 1.1, 1.0];

/// Shorter streams share a table that is not cleared between them.
const SHORT_STREAM: usize = 1024;

/// The compressor's hash tables. Short streams get narrow slots, which leave more of the first-level cache to the data.
#[derive(Default)]
pub(crate) struct Compressor {
    narrow: Table<u16, SLOTS>,
    wide: Table<u32, SLOTS>,
}

impl Compressor {
    /// Compresses `src` into `dst` at level 1..=9. Returns the bytes written, or 0 if they do not fit or the probe gives up.
    pub(crate) fn compress(&mut self, clevel: u8, src: &[u8], dst: &mut [u8]) -> Result<usize> {
        if src.len() < MIN_SRC || dst.len() < MIN_DST {
            return Ok(0);
        }
        match clevel {
            1 => self.run::<{ MAX_HASH_LOG - 2 }, false>(clevel, src, dst),
            2 => self.run::<{ MAX_HASH_LOG - 1 }, false>(clevel, src, dst),
            9 => self.run::<MAX_HASH_LOG, true>(clevel, src, dst),
            _ => self.run::<MAX_HASH_LOG, false>(clevel, src, dst),
        }
    }

    fn run<const LOG: u32, const INSERT_TWO: bool>(
        &mut self,
        clevel: u8,
        src: &[u8],
        dst: &mut [u8],
    ) -> Result<usize> {
        // The probe looks at a sample near the end, a smaller one at lower levels.
        let divisor = match clevel {
            ..2 => 8,
            2..4 => 4,
            4..7 => 2,
            _ => 1,
        };
        let wanted = MIN_RATIO[usize::from(clevel)];
        if self.reached::<LOG, LENGTH_SHIFT, 1>(src, divisor, [wanted])? == 0 {
            return Ok(0);
        }
        self.write::<LOG, LENGTH_SHIFT, INSERT_TWO>(src, dst)
    }

    /// How many of these ratios, in ascending order, what a probe makes of the last `1 / divisor` of `src` has. It looks at `1 << LOG`
    /// bytes at most.
    #[inline(always)]
    pub(super) fn reached<const LOG: u32, const SHIFT: usize, const N: usize>(
        &mut self,
        src: &[u8],
        divisor: usize,
        wanted: [f64; N],
    ) -> Result<usize> {
        let part = src.len() / divisor;
        let start = src.len() - part;
        let sample = &src[start..start + part.min(1 << LOG)];
        Ok(if sample.len() < SHORT_STREAM {
            let (slots, base) = self.narrow.without_clearing(sample.len())?;
            probe(
                sample,
                &mut Finder::<u16, LOG, SHIFT, true> { slots, base },
                wanted,
            )
        } else {
            let slots = self.narrow.cleared(sample.len(), 1 << LOG)?;
            probe(
                sample,
                &mut Finder::<u16, LOG, SHIFT, false> { slots, base: 0 },
                wanted,
            )
        })
    }

    /// Writes the stream. Returns its length, or 0 if it does not fit.
    #[inline(always)]
    pub(super) fn write<const LOG: u32, const SHIFT: usize, const INSERT_TWO: bool>(
        &mut self,
        src: &[u8],
        dst: &mut [u8],
    ) -> Result<usize> {
        let written = if src.len() < SHORT_STREAM {
            let (slots, base) = self.narrow.without_clearing(src.len())?;
            encode::<_, LOG, SHIFT, true, INSERT_TWO>(src, dst, &mut Finder { slots, base })
        } else if Table::<u16, SLOTS>::fits(src.len()) {
            let slots = self.narrow.cleared(src.len(), 1 << LOG)?;
            encode::<_, LOG, SHIFT, false, INSERT_TWO>(src, dst, &mut Finder { slots, base: 0 })
        } else {
            let slots = self.wide.cleared(src.len(), 1 << LOG)?;
            encode::<_, LOG, SHIFT, false, INSERT_TWO>(src, dst, &mut Finder { slots, base: 0 })
        };
        Ok(written.unwrap_or(0))
    }
}

/// A match finder with a table of `1 << LOG` slots. With `REUSED` the table was not cleared: entries below `base` are stale.
struct Finder<'a, S, const LOG: u32, const SHIFT: usize, const REUSED: bool> {
    slots: &'a mut [S; SLOTS],
    base: usize,
}

impl<S: SlotInt, const LOG: u32, const SHIFT: usize, const REUSED: bool>
    Finder<'_, S, LOG, SHIFT, REUSED>
{
    /// The bytes in which a candidate must match, the first lowest.
    const MIN_MATCH_MASK: u64 = (1 << (8 * min_match(SHIFT))) - 1;

    /// Inserts position `at`, whose four bytes are `four`.
    #[inline(always)]
    fn insert(&mut self, four: u32, at: usize) {
        self.slots[hash::<LOG>(four)] = S::new(self.base + at);
    }

    /// Finds the first position from `at` on that has a match of the least length, and inserts every position on the way.
    /// Returns both positions, or `None` when `limit` comes first.
    ///
    /// # Safety
    /// `limit + TAIL <= src.len()`, and all positions of `src` that were inserted lie before `at`.
    #[inline(always)]
    unsafe fn next(&mut self, src: &[u8], mut at: usize, limit: usize) -> Option<(usize, usize)> {
        debug_assert!(limit + TAIL <= src.len());
        let base = if REUSED { self.base } else { 0 };
        while at < limit {
            // SAFETY: `at < limit`, so the caller promises more than eight bytes there.
            let here = u64::from_le(unsafe { load(src, at) });
            let slot = &mut self.slots[hash::<LOG>(here as u32)];
            // An empty slot reads as position 0. That cannot be a false match: bytes like those at position 0 have the same
            // hash, so the slot would hold their position. A stale entry is turned into position 0 as well.
            let from = slot.get() as usize;
            let from = if REUSED {
                position(from, base, at)
            } else {
                from
            };
            *slot = S::new(base + at);
            debug_assert!(from < at || from == 0);
            // SAFETY: `from` was inserted, so the caller promises that it lies before `at`, or it is 0.
            let there = u64::from_le(unsafe { load(src, from) });
            if (there ^ here) & Self::MIN_MATCH_MASK == 0 && at - from < WINDOW && from < at {
                return Some((at, from));
            }
            at += 1;
        }
        None
    }
}

/// The position after the first byte at which `src[at..]` and `src[from..]` differ, at most that of the last byte of `src`. The first
/// `known` bytes match.
///
/// # Safety
/// `from < at` and `at + TAIL <= src.len()`.
#[inline(always)]
unsafe fn match_end(src: &[u8], at: usize, from: usize, known: usize) -> usize {
    debug_assert!(from < at && at + TAIL <= src.len());
    let bound = src.len() - 1;
    let compared = at + known;
    if compared + 8 <= bound {
        // SAFETY: the condition leaves eight bytes at `compared`, and `from` is less than `at`.
        let xor = unsafe { xor8(src, from + known, compared) };
        if xor != 0 {
            return compared + (xor.trailing_zeros() / 8) as usize + 1;
        }
    }
    (at + match_len(src, at, from, bound, known) + 1).min(bound)
}

/// How many of these ratios, in ascending order, compressing `sample` would reach. It parses like [`encode`] but only counts bytes, and
/// returns as soon as the answer is certain.
fn probe<const LOG: u32, const SHIFT: usize, const REUSED: bool, const N: usize>(
    sample: &[u8],
    finder: &mut Finder<'_, u16, LOG, SHIFT, REUSED>,
    wanted: [f64; N],
) -> usize {
    let len = sample.len();
    if len <= TAIL {
        return 0;
    }
    let limit = len - TAIL;
    // Compressed size so far, without the literals since `anchor`.
    let mut cost = 5usize;
    let mut pending = 4usize;
    let mut anchor = 0;
    // The first `reached` ratios are certain, those from `missed` on are not reached.
    let (mut reached, mut missed) = (0, N);
    while reached < missed {
        // At this size the ratio is missed, whatever follows. A literal costs at least a byte, so it is also missed if no match
        // starts before `stop`.
        let too_large = (len as f64 / wanted[reached]) as usize + 8;
        let stop = anchor + too_large.saturating_sub(cost);
        // SAFETY: `limit` lies `TAIL` bytes before the end. What was inserted lies before `anchor`.
        let Some((at, from)) = (unsafe { finder.next(sample, anchor, stop.min(limit)) }) else {
            if stop < limit {
                return reached;
            }
            let end = anchor.max(limit);
            let literals = end - anchor;
            cost += literals + (pending + literals) / MAX_LITERALS;
            let ratio = end as f64 / cost as f64;
            return reached
                + wanted[reached..missed]
                    .iter()
                    .filter(|wanted| ratio >= **wanted)
                    .count();
        };
        // SAFETY: `at < limit`, and `from` lies before it.
        let coded = unsafe { match_end(sample, at, from, min_match(SHIFT)) } - SHIFT - at;
        let literals = at - anchor;
        cost += literals + (pending + literals) / MAX_LITERALS;
        if (pending + literals).is_multiple_of(MAX_LITERALS) {
            cost -= 1;
        }
        if coded >= 7 {
            cost += (coded - 7) / 255 + 1;
        }
        cost += if at - from - 1 < FAR { 3 } else { 5 };
        let next = at + coded;
        finder.insert(read4(sample, next), next);
        pending = 0;
        anchor = next + 2;
        // Bounds of the final size: the rest is all literals at worst, and costs nothing at best.
        let worst = cost + len.saturating_sub(anchor) * (MAX_LITERALS + 1) / MAX_LITERALS + 2;
        while reached < missed && limit as f64 >= wanted[reached] * worst as f64 {
            reached += 1;
        }
        while reached < missed && (len as f64) < wanted[missed - 1] * (cost - 2) as f64 {
            missed -= 1;
        }
    }
    reached
}

/// Writes the stream. Returns its length, or `None` if `dst` is too short.
fn encode<
    S: SlotInt,
    const LOG: u32,
    const SHIFT: usize,
    const REUSED: bool,
    const INSERT_TWO: bool,
>(
    src: &[u8],
    dst: &mut [u8],
    finder: &mut Finder<'_, S, LOG, SHIFT, REUSED>,
) -> Option<usize> {
    let limit = src.len() - TAIL;
    let mut out = 0;
    let mut anchor = 0;
    finder.insert(read4(src, 0), 0);
    let mut start = 4;
    // SAFETY: `limit` lies `TAIL` bytes before the end. What was inserted lies before `start`.
    while let Some((at, from)) = unsafe { finder.next(src, start, limit) } {
        // SAFETY: `at < limit`, and `from` lies before it.
        let coded = unsafe { match_end(src, at, from, min_match(SHIFT)) } - SHIFT - at;
        let distance = at - from - 1;
        if coded <= MAX_SHORT_CODE && distance >= FAR {
            start = at + 1;
            continue;
        }
        out = put_sequence(src, (anchor, at), dst, out, coded, distance)?;
        let next = at + coded;
        let here = read4(src, next);
        finder.insert(here, next);
        if INSERT_TWO {
            // The reference hashes three bytes and a zero here, so this position is found only where a zero follows them.
            finder.insert(here >> 8, next + 1);
        }
        anchor = next + 2;
        start = anchor;
    }
    out = put_literals(src, anchor, src.len(), dst, out)?;
    // The mark of the first packet (see the module).
    dst[0] |= 1 << 5;
    Some(out)
}

/// The most bytes of a sequence that is written at once: literals and a match of three bytes.
const SHORT_SEQUENCE: usize = MAX_LITERALS + 3;

/// Writes the bytes of `src` from the first of two positions to the second as literals, and a match. Returns the end of the output.
#[inline(always)]
fn put_sequence(
    src: &[u8],
    (from, to): (usize, usize),
    dst: &mut [u8],
    mut out: usize,
    coded: usize,
    distance: usize,
) -> Option<usize> {
    let literals = to - from;
    if literals < MAX_LITERALS
        && coded < 7 + 255
        && distance < FAR
        && let Some(bytes) = array_at::<MAX_LITERALS>(src, from)
        && let Some(room) = array_at_mut::<{ SHORT_SEQUENCE + 2 }>(dst, out)
    {
        // Fixed sizes are faster, and what they write too much is overwritten later. Without literals the match overwrites the first byte.
        room[0] = (literals as u8).wrapping_sub(1);
        room[1..=MAX_LITERALS].copy_from_slice(bytes);
        let start = literals + usize::from(literals > 0);
        let is_long = coded >= 7;
        let head = coded.min(7) << 5 | distance >> 8;
        let low = distance & 255;
        let long = (coded.wrapping_sub(7) & 255) << 8 | low << 16;
        let word = (head | select_unpredictable(is_long, long, low << 8)) as u32;
        room[start..start + 4].copy_from_slice(&word.to_le_bytes());
        return Some(out + start + 2 + usize::from(is_long));
    }
    out = put_literals(src, from, to, dst, out)?;
    put_match(dst, out, coded, distance)
}

/// Writes `src[from..to]` as literals at `dst[out..]`. Returns the end of the output.
#[inline(always)]
fn put_literals(
    src: &[u8],
    mut from: usize,
    to: usize,
    dst: &mut [u8],
    mut out: usize,
) -> Option<usize> {
    while to - from >= MAX_LITERALS {
        let packet = dst
            .get_mut(out..)?
            .first_chunk_mut::<{ MAX_LITERALS + 1 }>()?;
        packet[0] = (MAX_LITERALS - 1) as u8;
        packet[1..].copy_from_slice(&src[from..from + MAX_LITERALS]);
        from += MAX_LITERALS;
        out += MAX_LITERALS + 1;
    }
    let n = to - from;
    if n == 0 {
        return Some(out);
    }
    // Copy a packet of the largest size if both buffers have that much: a fixed-size copy is faster, and what it writes too much is
    // overwritten later.
    if let (Some(packet), Some(bytes)) = (
        dst.get_mut(out..)
            .and_then(|t| t.first_chunk_mut::<{ MAX_LITERALS + 1 }>()),
        src.get(from..)
            .and_then(|t| t.first_chunk::<MAX_LITERALS>()),
    ) {
        packet[0] = (n - 1) as u8;
        packet[1..].copy_from_slice(bytes);
    } else {
        let packet = dst.get_mut(out..out + n + 1)?;
        packet[0] = (n - 1) as u8;
        packet[1..].copy_from_slice(&src[from..to]);
    }
    Some(out + n + 1)
}

/// Writes a match at `dst[out..]`. Returns the end of the output.
#[inline(always)]
fn put_match(dst: &mut [u8], mut out: usize, coded: usize, mut distance: usize) -> Option<usize> {
    let far = distance >= FAR;
    if far {
        distance -= FAR;
    }
    let high = if far { 31 } else { (distance >> 8) as u8 };
    let code = coded.min(7) as u8;
    *dst.get_mut(out)? = code << 5 | high;
    out += 1;
    if coded >= 7 {
        let mut rest = coded - 7;
        if rest >= 255 {
            let n = rest / 255;
            dst.get_mut(out..out + n)?.fill(255);
            out += n;
            rest %= 255;
        }
        *dst.get_mut(out)? = rest as u8;
        out += 1;
    }
    if far {
        let tail = dst.get_mut(out..)?.first_chunk_mut::<3>()?;
        *tail = [255, (distance >> 8) as u8, distance as u8];
        Some(out + 3)
    } else {
        *dst.get_mut(out)? = distance as u8;
        Some(out + 1)
    }
}
