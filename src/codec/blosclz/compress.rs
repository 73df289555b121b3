//! The compressor: greedy, one candidate per position, and a probe that gives up early on what does not compress.
//!
//! Which matches are taken, and when it gives up, is what makes a BloscLZ stream's size; both follow the reference's
//! choices exactly, so that streams are the same bytes. How they are found does not.

use super::table::{MAX_LOG, SLOTS, Slot, Table, hash};
use super::{FAR, MAX_LITERALS, OUT_OF_REACH, read4, read8};
use crate::error::Result;

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

/// The compressor's tables: narrow slots for short streams, which leave the rest of the first-level cache to the data.
#[derive(Default)]
pub(in crate::codec) struct Compressor {
    narrow: Table<u16>,
    wide: Table<u32>,
}

impl Compressor {
    /// Compresses `src` into `dst` at level 1..=9: bytes written, 0 when it does not fit or is not worthwhile.
    pub(in crate::codec) fn compress(
        &mut self,
        clevel: u8,
        src: &[u8],
        dst: &mut [u8],
    ) -> Result<usize> {
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
        let (slots, base) = self.narrow.start(sample.len())?;
        if !probe::<LOG>(sample, slots, base, WORTHWHILE[usize::from(clevel)]) {
            return Ok(0);
        }
        let written = if Table::<u16>::serves(src.len()) {
            let (slots, base) = self.narrow.start(src.len())?;
            encode::<u16, LOG, TWICE>(src, dst, slots, base)
        } else {
            let (slots, base) = self.wide.start(src.len())?;
            encode::<u32, LOG, TWICE>(src, dst, slots, base)
        };
        Ok(written.unwrap_or(0))
    }
}

/// One past the first byte at which `src[a..]` and `src[b..]` differ, counted on `a` and not beyond `bound`; the first
/// seven bytes are known to agree.
#[inline(always)]
fn match_end(src: &[u8], a: usize, b: usize, bound: usize) -> usize {
    let ahead = &src[a..bound];
    let behind = &src[b..b + ahead.len()];
    let mut n = 7;
    while let (Some(x), Some(y)) = (
        ahead.get(n..).and_then(|t| t.first_chunk::<8>()),
        behind.get(n..).and_then(|t| t.first_chunk::<8>()),
    ) {
        let diff = u64::from_le_bytes(*x) ^ u64::from_le_bytes(*y);
        if diff != 0 {
            return a + n + (diff.trailing_zeros() / 8) as usize + 1;
        }
        n += 8;
    }
    while n < ahead.len() {
        if ahead[n] != behind[n] {
            return a + n + 1;
        }
        n += 1;
    }
    bound
}

/// Looks `src` at `at` up and puts it into the table: the position of an earlier occurrence of at least seven bytes.
#[inline(always)]
fn look_up<S: Slot, const LOG: u32>(
    src: &[u8],
    at: usize,
    slots: &mut [S; SLOTS],
    base: usize,
) -> Option<usize> {
    let here = read8(src, at);
    let slot = &mut slots[hash::<LOG>(here as u32)];
    let distance = (base + at).wrapping_sub(slot.to_usize());
    *slot = S::from_usize(base + at);
    // An entry of an earlier stream is further back than this stream reaches, and wraps to a position past its end.
    let from = at.wrapping_sub(distance);
    if distance >= OUT_OF_REACH || from >= at || (read8(src, from) ^ here) & MIN_MATCH_MASK != 0 {
        return None;
    }
    Some(from)
}

/// What encoding `sample` would give, judged as soon as it is certain: whether length over cost reaches `wanted`.
fn probe<const LOG: u32>(
    sample: &[u8],
    slots: &mut [u16; SLOTS],
    base: usize,
    wanted: f64,
) -> bool {
    let len = sample.len();
    if len <= TAIL {
        return false;
    }
    let bound = len - 1;
    let limit = len - TAIL;
    let mut at = 0;
    // Coded bytes so far, but for the literals since `anchor`.
    let mut cost = 5usize;
    let mut pending = 4usize;
    let mut anchor = 0;
    while at < limit {
        let Some(from) = look_up::<u16, LOG>(sample, at, slots, base) else {
            at += 1;
            continue;
        };
        let end = match_end(sample, at, from, bound);
        let coded = end - SHIFT - at;
        let literals = at - anchor;
        cost += literals + (pending + literals) / MAX_LITERALS;
        pending = (pending + literals) % MAX_LITERALS;
        if pending == 0 {
            cost -= 1;
        }
        if coded >= 7 {
            cost += (coded - 7) / 255 + 1;
        }
        cost += if at - from - 1 < FAR { 2 } else { 4 };
        at += coded;
        slots[hash::<LOG>(read4(sample, at))] = (base + at) as u16;
        at += 2;
        cost += 1;
        pending = 0;
        anchor = at;
        // Certain by now, whatever follows? At worst it is all literals; at best it is free.
        let worst = cost + (len.saturating_sub(at)) * (MAX_LITERALS + 1) / MAX_LITERALS + 2;
        if limit as f64 >= wanted * worst as f64 {
            return true;
        }
        if (len as f64) < wanted * (cost - 2) as f64 {
            return false;
        }
    }
    let literals = at - anchor;
    cost += literals + (pending + literals) / MAX_LITERALS;
    at as f64 / cost as f64 >= wanted
}

/// The encoder proper; `None` when `dst` is too short.
fn encode<S: Slot, const LOG: u32, const TWICE: bool>(
    src: &[u8],
    dst: &mut [u8],
    slots: &mut [S; SLOTS],
    base: usize,
) -> Option<usize> {
    let bound = src.len() - 1;
    let limit = src.len() - TAIL;
    let mut out = 0;
    let mut anchor = 0;
    slots[hash::<LOG>(read4(src, 0))] = S::from_usize(base);
    let mut at = 4;
    while at < limit {
        let Some(from) = look_up::<S, LOG>(src, at, slots, base) else {
            at += 1;
            continue;
        };
        let end = match_end(src, at, from, bound);
        let coded = end - SHIFT - at;
        let distance = at - from - 1;
        if coded <= SHORT && distance >= FAR {
            at += 1;
            continue;
        }
        out = put_literals(src, anchor, at, dst, out)?;
        out = put_match(dst, out, coded, distance)?;
        at += coded;
        let here = read4(src, at);
        slots[hash::<LOG>(here)] = S::from_usize(base + at);
        if TWICE {
            // Only three bytes of the next position go in: it finds what ends in a zero there.
            slots[hash::<LOG>(here >> 8)] = S::from_usize(base + at + 1);
        }
        at += 2;
        anchor = at;
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
