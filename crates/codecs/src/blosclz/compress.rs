//! The compressor: a greedy parse with one candidate per position, after a probe that gives up on
//! incompressible data.
//!
//! It takes the same matches as the reference, and its probe gives up on the same data, so the
//! streams are the same bytes. The code is our own.

use core::hint::select_unpredictable;

use super::{FAR, MAX_LITERALS, WINDOW};
use crate::copy::{array_at, array_at_mut, match_len, read4};
use crate::hash_table::{SlotInt, Table, hash, position};
use crate::unaligned::{load, xor8};
use oxiblosc_base::Result;

/// Binary logarithm of the largest number of slots that a table uses.
pub(super) const MAX_HASH_LOG: u32 = 14;
/// The number of slots of a table.
const SLOTS: usize = 1 << MAX_HASH_LOG;

/// Shorter streams are not compressed.
pub(super) const MIN_SRC: usize = 16;
/// With a shorter destination nothing is compressed.
pub(super) const MIN_DST: usize = 66;
/// No match starts within this many bytes of the end. So eight bytes can be loaded at every
/// position that is tried.
const TAIL: usize = 12;
/// The reference writes a length code that is this much less than the length of the match that it
/// found. The decoder adds 2, so two bytes of the match are written again, and the search goes on
/// two bytes before the end of the match that was found.
pub(super) const LENGTH_SHIFT: usize = 4;

/// The length of the shortest match with this length shift.
const fn min_match(shift: usize) -> usize {
    2 * shift - 1
}

/// Matches with a length code up to this are not taken at a far distance, which costs two bytes
/// more.
const MAX_SHORT_CODE: usize = 5;

/// The compression ratio that the probe must predict, by level. The figures are the reference's.
pub(super) const MIN_RATIO: [f64; 10] = [0.0, 2.0, 1.5, 1.2, 1.2, 1.2, 1.2, 1.15, 1.1, 1.0];

/// The longest stream whose hash table is not cleared before. In longer ones the check for stale
/// entries, at each position, takes more time than clearing the table (measured).
const SHORT_STREAM: usize = 2048;
/// The same at level 9, which inserts two positions for each match.
const SHORT_STREAM_INSERT_TWO: usize = 1024;
/// The same for the sample of the probe.
const SHORT_SAMPLE: usize = 1024;

/// The compressor's hash tables. Short streams get narrow slots, which leave more of the
/// first-level cache to the data.
#[derive(Default)]
pub(crate) struct Compressor {
    narrow: Table<u16, SLOTS>,
    wide: Table<u32, SLOTS>,
}

impl Compressor {
    /// Compresses `src` into `dst` at level 1..=9. Returns the bytes written, or 0 if they do not
    /// fit or the probe gives up.
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
        // The probe takes a sample at the end, which is smaller at lower levels.
        let divisor = match clevel {
            ..2 => 8,
            2..4 => 4,
            4..7 => 2,
            _ => 1,
        };
        let wanted = MIN_RATIO[usize::from(clevel)];
        if self.reached_ratios::<LOG, LENGTH_SHIFT, 1>(src, divisor, [wanted])? == 0 {
            return Ok(0);
        }
        self.write::<LOG, LENGTH_SHIFT, INSERT_TWO>(src, dst)
    }

    /// How many of the `wanted` ratios, which are in ascending order, a probe predicts. It takes
    /// the last `1 / divisor` of `src`, but at most `1 << LOG` bytes.
    #[inline(always)]
    pub(super) fn reached_ratios<const LOG: u32, const SHIFT: usize, const N: usize>(
        &mut self,
        src: &[u8],
        divisor: usize,
        wanted: [f64; N],
    ) -> Result<usize> {
        let part = src.len() / divisor;
        let start = src.len() - part;
        let sample = &src[start..start + part.min(1 << LOG)];
        Ok(if sample.len() <= SHORT_SAMPLE {
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
        let short = if INSERT_TWO {
            SHORT_STREAM_INSERT_TWO
        } else {
            SHORT_STREAM
        };
        let written = if src.len() <= short {
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

/// A match finder with a table of `1 << LOG` slots. With `REUSED` the table was not cleared:
/// entries below `base` are stale.
///
/// Invariant: positions are inserted in increasing order, so an entry that is not stale is a
/// position before the next one, or 0.
struct Finder<'a, S, const LOG: u32, const SHIFT: usize, const REUSED: bool> {
    slots: &'a mut [S; SLOTS],
    base: usize,
}

impl<S: SlotInt, const LOG: u32, const SHIFT: usize, const REUSED: bool>
    Finder<'_, S, LOG, SHIFT, REUSED>
{
    /// The mask of the bytes in which a candidate must match, in little-endian order.
    const MIN_MATCH_MASK: u64 = (1 << (8 * min_match(SHIFT))) - 1;

    /// Inserts position `at`, whose four bytes are `four`.
    #[inline(always)]
    fn insert(&mut self, four: u32, at: usize) {
        self.slots[hash::<LOG>(four)] = S::new(self.base + at);
    }

    /// Finds the first position from `at` on that has a match of `min_match` bytes, and inserts
    /// every position that it tries. Returns the position and its candidate, or `None` if there is
    /// none before `limit`.
    ///
    /// # Safety
    /// `limit + TAIL <= src.len()`, and all positions that were inserted for `src` lie before `at`.
    #[inline(always)]
    unsafe fn next(&mut self, src: &[u8], mut at: usize, limit: usize) -> Option<(usize, usize)> {
        debug_assert!(limit + TAIL <= src.len());
        let base = if REUSED { self.base } else { 0 };
        while at < limit {
            // SAFETY: `at < limit`, so more than `TAIL` (12) bytes lie there (# Safety).
            let here = u64::from_le(unsafe { load(src, at) });
            let slot = &mut self.slots[hash::<LOG>(here as u32)];
            // An empty slot reads as position 0, and so does a stale entry. That is no false match:
            // if the bytes were those at position 0, they would have its hash, and the slot would
            // hold position 0 or a later one.
            let from = slot.get() as usize;
            let from = if REUSED {
                position(from, base, at)
            } else {
                from
            };
            *slot = S::new(base + at);
            debug_assert!(from < at || from == 0);
            // SAFETY: `from` is 0, or was inserted before and lies before `at` (invariant), where
            // eight bytes lie.
            let earlier = u64::from_le(unsafe { load(src, from) });
            if (earlier ^ here) & Self::MIN_MATCH_MASK == 0 && at - from < WINDOW && from < at {
                return Some((hide_from_optimizer(at), from));
            }
            at += 1;
        }
        None
    }
}

/// Returns `value`, but hides from the optimizer that it is the same. For a search loop the
/// optimizer would compute values such as `at + 7`, which are needed only once a match is found, in
/// registers of their own and update each of them at every position.
#[inline(always)]
fn hide_from_optimizer(value: usize) -> usize {
    // Miri runs no assembly.
    #[cfg(miri)]
    let hidden = value;
    #[cfg(not(miri))]
    let hidden;
    // SAFETY: there is no instruction.
    #[cfg(not(miri))]
    unsafe {
        core::arch::asm!("/* {0} */", inlateout(reg) value => hidden, options(pure, nomem, nostack, preserves_flags));
    }
    hidden
}

/// The position behind the first byte at which `src[at..]` and `src[from..]` differ, but not behind
/// the last byte of `src`. The first `known` bytes are known to match.
///
/// # Safety
/// `from < at` and `at + TAIL <= src.len()`.
#[inline(always)]
unsafe fn match_end(src: &[u8], at: usize, from: usize, known: usize) -> usize {
    debug_assert!(from < at && at + TAIL <= src.len());
    let bound = src.len() - 1;
    let compared = at + known;
    if compared + 8 <= bound {
        // SAFETY: the condition leaves eight bytes at `compared`, and `from < at` (# Safety).
        let xor = unsafe { xor8(src, from + known, compared) };
        if xor != 0 {
            return compared + (xor.trailing_zeros() / 8) as usize + 1;
        }
    }
    (at + match_len(src, at, from, bound, known) + 1).min(bound)
}

/// The bytes that literals and the match behind them take. `pending` literals before them, in the
/// same run, are counted already. The match is coded as `coded` bytes.
#[inline(always)]
fn sequence_cost(literals: usize, pending: usize, coded: usize, distance: usize) -> usize {
    let mut cost = if distance - 1 < FAR { 3 } else { 5 };
    cost += literals + (pending + literals) / MAX_LITERALS;
    if (pending + literals).is_multiple_of(MAX_LITERALS) {
        cost -= 1;
    }
    if coded >= 7 {
        cost += (coded - 7) / 255 + 1;
    }
    cost
}

/// How many of the `wanted` ratios, which are in ascending order, compressing `sample` would reach.
/// It parses like [`encode`] but only counts bytes, and returns as soon as the result is certain.
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
    // The compressed size so far, without the literals from `anchor` on.
    let mut cost = 5usize;
    let mut pending = 4usize;
    let mut anchor = 0;
    // The first `reached` ratios are certainly reached, those from `missed` on certainly not.
    let (mut reached, mut missed) = (0, N);
    while reached < missed {
        // From this size on the ratio is missed, whatever follows. A literal costs at least a byte,
        // so it is also missed if no match starts before `stop`.
        let too_large = (len as f64 / wanted[reached]) as usize + 8;
        let stop = anchor + too_large.saturating_sub(cost);
        // SAFETY: `limit` lies `TAIL` bytes before the end, and all inserted positions lie before
        // `anchor`, which is two behind the last one.
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
        // SAFETY: `next` returns `at < limit`, and a candidate before it.
        let coded = unsafe { match_end(sample, at, from, min_match(SHIFT)) } - SHIFT - at;
        cost += sequence_cost(at - anchor, pending, coded, at - from);
        let next = at + coded;
        finder.insert(read4(sample, next), next);
        pending = 0;
        anchor = next + 2;
        // Bounds of the final size: at worst the rest is literals, at best it costs nothing.
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
    // SAFETY: `limit` lies `TAIL` bytes before the end, and all inserted positions lie before
    // `start`.
    while let Some((at, from)) = unsafe { finder.next(src, start, limit) } {
        // SAFETY: `next` returns `at < limit`, and a candidate before it.
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
            // The reference hashes three bytes and a zero here, so the position is only found from
            // a position with a zero as the fourth byte.
            finder.insert(here >> 8, next + 1);
        }
        anchor = next + 2;
        start = anchor;
    }
    out = put_literals(src, anchor, src.len(), dst, out)?;
    // The first packet has bit 5 set (see the module).
    dst[0] |= 1 << 5;
    Some(out)
}

/// The largest size of a sequence that is written in one step: literals, and a match that takes
/// three bytes.
const SHORT_SEQUENCE: usize = MAX_LITERALS + 3;

/// Writes `src[from..to]` as literals, and a match, at `dst[out..]`. Returns the end of the output.
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
        && let Some(buffer) = array_at_mut::<{ SHORT_SEQUENCE + 2 }>(dst, out)
    {
        // Copies of fixed size are faster. The bytes that they write in excess are overwritten
        // later. Without literals the match overwrites the control byte.
        buffer[0] = (literals as u8).wrapping_sub(1);
        buffer[1..=MAX_LITERALS].copy_from_slice(bytes);
        let start = literals + usize::from(literals > 0);
        let is_long = coded >= 7;
        let head = coded.min(7) << 5 | distance >> 8;
        let low = distance & 255;
        let long = (coded.wrapping_sub(7) & 255) << 8 | low << 16;
        let word = (head | select_unpredictable(is_long, long, low << 8)) as u32;
        buffer[start..start + 4].copy_from_slice(&word.to_le_bytes());
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
    // A packet of the largest size is copied if both buffers have room for it: a copy of fixed size
    // is faster, and the bytes that it writes in excess are overwritten later.
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
