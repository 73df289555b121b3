//! The compressor: greedy, one candidate per position, and a probe that gives up early on what does not compress.
//!
//! Which matches are taken, and when it gives up, is what makes a BloscLZ stream's size; both follow the reference's
//! choices exactly, so that streams are the same bytes. How they are found does not.

use core::hint::select_unpredictable;

use super::{FAR, MAX_LITERALS, OUT_OF_REACH};
use crate::copy::{match_len, read4, read8};
use crate::table::{Slot, Table, hash};
use oxiblosc_error::Result;

/// Logarithm of the slots of a table at its largest.
const MAX_LOG: u32 = 14;
/// Slots of a table.
const SLOTS: usize = 1 << MAX_LOG;

/// Streams shorter than this are not worth a packet.
const MIN_STREAM: usize = 16;
/// Nor is there any point with less room than this for the result.
const MIN_ROOM: usize = 66;
/// No match starts within this many bytes of the end; it is also what lets eight bytes be read at any position tried.
const TAIL: usize = 12;
/// What a match found is shortened by before it is coded: taken together with the two bytes that a coded length stands
/// short of its match, the search goes on at the match's last byte but one.
const SHIFT: usize = 4;
/// Of a candidate, the bytes that must agree: fewer would leave nothing to code after the shift.
const MIN_MATCH_MASK: u64 = (1 << (8 * 7)) - 1;
/// Coded lengths up to this are not worth a far distance.
const SHORT: usize = 5;

/// The ratio that the probe must promise, by level.
const WORTHWHILE: [f64; 10] = [0.0, 2.0, 1.5, 1.2, 1.2, 1.2, 1.2, 1.15, 1.1, 1.0];

/// Streams below this length share a table that is not cleared in between.
const SHORT_STREAM: usize = 1024;

/// The compressor's tables: narrow slots for short streams, which leave more of the first-level cache to the data.
#[derive(Default)]
pub(crate) struct Compressor {
    narrow: Table<u16, SLOTS>,
    wide: Table<u32, SLOTS>,
}

impl Compressor {
    /// Compresses `src` into `dst` at level 1..=9: bytes written, 0 when it does not fit or is not worthwhile.
    pub(crate) fn compress(&mut self, clevel: u8, src: &[u8], dst: &mut [u8]) -> Result<usize> {
        if src.len() < MIN_STREAM || dst.len() < MIN_ROOM {
            return Ok(0);
        }
        match clevel {
            1 => self.run::<{ MAX_LOG - 2 }, false>(clevel, src, dst),
            2 => self.run::<{ MAX_LOG - 1 }, false>(clevel, src, dst),
            9 => self.run::<MAX_LOG, true>(clevel, src, dst),
            _ => self.run::<MAX_LOG, false>(clevel, src, dst),
        }
    }

    fn run<const LOG: u32, const TWICE: bool>(
        &mut self,
        clevel: u8,
        src: &[u8],
        dst: &mut [u8],
    ) -> Result<usize> {
        // The part looked at lies at the end, and is the smaller the less effort is asked for.
        let share = match clevel {
            ..2 => 8,
            2..4 => 4,
            4..7 => 2,
            _ => 1,
        };
        let part = src.len() / share;
        let start = src.len() - part;
        let sample = &src[start..start + part.min(1 << LOG)];
        let wanted = WORTHWHILE[usize::from(clevel)];
        let worthwhile = if sample.len() < SHORT_STREAM {
            let (slots, base) = self.narrow.carried(sample.len())?;
            probe(
                sample,
                &mut Finder::<u16, LOG, true> { slots, base },
                wanted,
            )
        } else {
            let slots = self.narrow.cleared(sample.len(), 1 << LOG)?;
            probe(
                sample,
                &mut Finder::<u16, LOG, false> { slots, base: 0 },
                wanted,
            )
        };
        if !worthwhile {
            return Ok(0);
        }
        let written = if src.len() < SHORT_STREAM {
            let (slots, base) = self.narrow.carried(src.len())?;
            encode::<_, LOG, true, TWICE>(src, dst, &mut Finder { slots, base })
        } else if Table::<u16, SLOTS>::serves(src.len()) {
            let slots = self.narrow.cleared(src.len(), 1 << LOG)?;
            encode::<_, LOG, false, TWICE>(src, dst, &mut Finder { slots, base: 0 })
        } else {
            let slots = self.wide.cleared(src.len(), 1 << LOG)?;
            encode::<_, LOG, false, TWICE>(src, dst, &mut Finder { slots, base: 0 })
        };
        Ok(written.unwrap_or(0))
    }
}

/// Finds earlier occurrences with a table of `1 << LOG` slots, `CARRIED` over from other streams or cleared.
struct Finder<'a, S, const LOG: u32, const CARRIED: bool> {
    slots: &'a mut [S; SLOTS],
    base: usize,
}

impl<S: Slot, const LOG: u32, const CARRIED: bool> Finder<'_, S, LOG, CARRIED> {
    /// Enters position `at`, whose four bytes are `four`.
    #[inline(always)]
    fn enter(&mut self, four: u32, at: usize) {
        self.slots[hash::<LOG>(four)] = S::new(self.base + at);
    }

    /// Goes from `at` to the next position that has an earlier occurrence of at least seven bytes, entering each
    /// position as it passes; both positions, or `None` when `limit` comes first.
    #[inline(always)]
    fn next(&mut self, src: &[u8], at: usize, limit: usize) -> Option<(usize, usize)> {
        let base = if CARRIED { self.base } else { 0 };
        // Windows spare a check of each position; `limit` leaves room for one.
        for (at, here) in (at..limit).zip(src.get(at..)?.windows(8)) {
            let here = read8(here, 0);
            let slot = &mut self.slots[hash::<LOG>(here as u32)];
            let mut from = slot.get();
            *slot = S::new(base + at);
            // An unused slot reads as the first position, and so does, by the selection below, one that an earlier
            // stream left. That cannot match: bytes like the first position's would have used this very slot. A
            // branch would hang on whether an entry is old, which no processor can guess.
            if CARRIED {
                from = from.wrapping_sub(base as u32);
                from = select_unpredictable((from as usize) < at, from, 0);
            }
            let from = from as usize;
            if (read8(src, from) ^ here) & MIN_MATCH_MASK == 0
                && at - from < OUT_OF_REACH
                && from < at
            {
                return Some((at, from));
            }
        }
        None
    }
}

/// One past the first byte at which `src[at..]` and `src[from..]` differ, counted on `at` and not beyond the last byte;
/// the first seven bytes are known to agree.
#[inline(always)]
fn match_end(src: &[u8], at: usize, from: usize) -> usize {
    let bound = src.len() - 1;
    (at + match_len(src, at, from, bound, 7) + 1).min(bound)
}

/// What encoding `sample` would give, judged as soon as it is certain: whether length over cost reaches `wanted`.
fn probe<const LOG: u32, const CARRIED: bool>(
    sample: &[u8],
    finder: &mut Finder<'_, u16, LOG, CARRIED>,
    wanted: f64,
) -> bool {
    let len = sample.len();
    if len <= TAIL {
        return false;
    }
    let limit = len - TAIL;
    // Coded bytes so far, but for the literals since `anchor`.
    let mut cost = 5usize;
    let mut pending = 4usize;
    let mut anchor = 0;
    // A sample that costs more falls short of what is wanted, however it ends. Literals cost a byte at least, so without
    // a match up to `stop` it does.
    let too_much = (len as f64 / wanted) as usize + 8;
    loop {
        let stop = anchor + too_much.saturating_sub(cost);
        let Some((at, from)) = finder.next(sample, anchor, stop.min(limit)) else {
            if stop < limit {
                return false;
            }
            break;
        };
        let coded = match_end(sample, at, from) - SHIFT - at;
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
        finder.enter(read4(sample, next), next);
        pending = 0;
        anchor = next + 2;
        // Certain by now, whatever follows? At worst it is all literals; at best it is free.
        let worst = cost + len.saturating_sub(anchor) * (MAX_LITERALS + 1) / MAX_LITERALS + 2;
        if limit as f64 >= wanted * worst as f64 {
            return true;
        }
        if (len as f64) < wanted * (cost - 2) as f64 {
            return false;
        }
    }
    let end = anchor.max(limit);
    let literals = end - anchor;
    cost += literals + (pending + literals) / MAX_LITERALS;
    end as f64 / cost as f64 >= wanted
}

/// The encoder proper; `None` when `dst` is too short.
fn encode<S: Slot, const LOG: u32, const CARRIED: bool, const TWICE: bool>(
    src: &[u8],
    dst: &mut [u8],
    finder: &mut Finder<'_, S, LOG, CARRIED>,
) -> Option<usize> {
    let limit = src.len() - TAIL;
    let mut out = 0;
    let mut anchor = 0;
    finder.enter(read4(src, 0), 0);
    let mut start = 4;
    while let Some((at, from)) = finder.next(src, start, limit) {
        let coded = match_end(src, at, from) - SHIFT - at;
        let distance = at - from - 1;
        if coded <= SHORT && distance >= FAR {
            start = at + 1;
            continue;
        }
        out = put_literals(src, anchor, at, dst, out)?;
        out = put_match(dst, out, coded, distance)?;
        let next = at + coded;
        let here = read4(src, next);
        finder.enter(here, next);
        if TWICE {
            // Only three bytes of the next position go in: it finds what ends in a zero there.
            finder.enter(here >> 8, next + 1);
        }
        anchor = next + 2;
        start = anchor;
    }
    out = put_literals(src, anchor, src.len(), dst, out)?;
    // The mark of the first packet.
    dst[0] |= 1 << 5;
    Some(out)
}

/// Writes `src[from..to]` as literals at `dst[out..]`; where the output then ends.
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
    // Where there is room on both sides a whole packet is copied; what is too much is written over later.
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

/// Writes a match at `dst[out..]`; where the output then ends.
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
