//! Snappy's compressor. Only Blosc 1 has the codec; streams are read by the crate `snap`.
//!
//! A stream is the length of the data (a varint), then elements, each opened by a tag whose lower two bits say what it is
//! (<https://github.com/google/snappy/blob/main/format_description.txt>): literals, or a copy of 4 to 11 bytes from less than 2 KiB back, or
//! of up to 64 bytes from less than 64 KiB back. (Copies from farther back, which the format has too, are not written.)
//!
//! The parse is greedy, with one candidate for each position, and takes larger steps the longer it finds nothing, as Google's does. Other
//! than there, matches reach over the ends of pieces of 64 KiB, and back into what would be literals, so streams are a little smaller.

use core::hint::{cold_path, select_unpredictable};

use crate::copy::{array_at, array_at_mut};
use crate::lz4::{MF_LIMIT, SHORT_REACH, match_end, match_len_backward, short_match};
use crate::table::{KNUTH_MULTIPLIER, zeros};
use crate::unaligned::load;
use oxiblosc_error::Result;

/// Bits of the hash, for the longest streams and for the shortest.
const MAX_HASH_BITS: u32 = 14;
const MIN_HASH_BITS: u32 = 8;
/// The longest stream whose positions are their own lower 16 bits.
const SHORT_STREAM: usize = 1 << 16;
/// The shortest match.
const MIN_MATCH: usize = 4;
/// No match begins within this many bytes of the end, so that a search may read more than a match.
const END_MARGIN: usize = 12;
// `match_end` wants as many bytes behind a match's beginning.
const _: () = assert!(END_MARGIN >= MF_LIMIT);
/// A search takes steps of one byte so many times, and then ever larger ones.
const SKIP_TRIGGER: u32 = 5;
/// The largest step, so that what comes behind noise is found.
const MAX_STEP: usize = 512;
/// The longest copy.
const MAX_COPY: usize = 64;
/// The longest copy that is written in two bytes, and the distance from which on none is.
const MAX_SHORT_COPY: usize = 11;
const SHORT_WINDOW: usize = 1 << 11;
/// The most literals whose number is in the tag.
const MAX_TAG_LITERALS: usize = 60;
/// The tag of a copy in two bytes.
const COPY_1: usize = 1;
/// The tag of a copy in three bytes.
const COPY_2: usize = 2;

/// The memory of a compressor, reused from stream to stream.
#[derive(Default)]
pub struct Compressor {
    /// For each hash the last position with it, modulo `1 << 16`.
    slots: Option<Box<[u16; 1 << MAX_HASH_BITS]>>,
}

impl Compressor {
    /// Compresses `src` into `dst`. Returns the bytes written, or 0 if they do not fit. Earlier streams never influence the bytes of later ones.
    ///
    /// # Errors
    /// [`Error::MemoryAlloc`](oxiblosc_error::Error::MemoryAlloc).
    pub fn compress(&mut self, src: &[u8], dst: &mut [u8]) -> Result<usize> {
        if u32::try_from(src.len()).is_err() {
            // The format has no such length.
            return Ok(0);
        }
        let slots = match &mut self.slots {
            Some(slots) => slots,
            none => none.insert(zeros()?),
        };
        let bits = usize::BITS - src.len().saturating_sub(1).leading_zeros();
        let bits = bits.clamp(MIN_HASH_BITS, MAX_HASH_BITS);
        slots[..1 << bits].fill(0);
        let shift = 32 - bits;
        let finder = Finder { src, slots, shift };
        let written = match src.len() <= SHORT_STREAM {
            true => encode::<true>(finder, dst),
            false => encode::<false>(finder, dst),
        };
        Ok(written.unwrap_or(0))
    }
}

/// A hash table of the positions in `src`.
struct Finder<'a> {
    src: &'a [u8],
    slots: &'a mut [u16; 1 << MAX_HASH_BITS],
    shift: u32,
}

impl Finder<'_> {
    /// Inserts `at`, where `four` lie, and returns the candidate, which is `at` itself or before it: in a short stream, of up to 64 KiB, the position
    /// that was in the slot; in others the position in the window that has its lower 16 bits. Positions are inserted in increasing order.
    #[inline(always)]
    fn insert<const SHORT: bool>(&mut self, at: usize, four: u32) -> usize {
        let slot = (four.wrapping_mul(KNUTH_MULTIPLIER) >> self.shift) as usize;
        let slot = &mut self.slots[slot % (1 << MAX_HASH_BITS)];
        let entry = core::mem::replace(slot, at as u16);
        let candidate = match SHORT {
            true => entry.into(),
            // It reaches back at most to the position that was in the slot, which is 0 or was inserted before.
            false => at - usize::from((at as u16).wrapping_sub(entry)),
        };
        debug_assert!(candidate <= at);
        candidate
    }

    /// Inserts `at` and returns the candidate if it has `four`, too, which are the bytes at `at`.
    ///
    /// # Safety
    /// `at + MIN_MATCH <= src.len()`.
    #[inline(always)]
    unsafe fn find<const SHORT: bool>(&mut self, at: usize, four: u32) -> Option<usize> {
        let from = self.insert::<SHORT>(at, four);
        // SAFETY: the caller promises four bytes at `at`, and `from` is not after it.
        let xor = u32::from_le(unsafe { load(self.src, from) }) ^ four;
        (xor | u32::from(from == at) == 0).then_some(from)
    }

    /// The bytes at `at`, the first one lowest.
    ///
    /// # Safety
    /// `at + MIN_MATCH <= src.len()`.
    #[inline(always)]
    unsafe fn four(&self, at: usize) -> u32 {
        // SAFETY: the caller promises four bytes at `at`.
        u32::from_le(unsafe { load(self.src, at) })
    }

    /// Inserts the last position of a match and its end, and returns the match there.
    ///
    /// # Safety
    /// `end + MIN_MATCH <= src.len()`, and `four` are the bytes there. `end` is not 0.
    #[inline(always)]
    unsafe fn find_at_end<const SHORT: bool>(&mut self, end: usize, four: u32) -> Option<usize> {
        // SAFETY: the caller promises as much.
        unsafe {
            self.insert::<SHORT>(end - 1, self.four(end - 1));
            self.find::<SHORT>(end, four)
        }
    }

    /// The first match from `at` on, as position and candidate; `None` once the next position would lie behind `last`.
    ///
    /// # Safety
    /// `last + MIN_MATCH <= src.len()`.
    #[inline(always)]
    unsafe fn search<const SHORT: bool>(
        &mut self,
        mut at: usize,
        last: usize,
    ) -> Option<(usize, usize)> {
        let mut tries = 1 << SKIP_TRIGGER;
        while at <= last {
            // SAFETY: `at <= last`, so the caller promises four bytes there.
            if let Some(from) = unsafe { self.find::<SHORT>(at, self.four(at)) } {
                return Some((at, from));
            }
            let step = (tries >> SKIP_TRIGGER).min(MAX_STEP);
            tries += step;
            at += step;
        }
        None
    }
}

/// Writes a stream. `None` if there is no room, here and below.
fn encode<const SHORT: bool>(mut finder: Finder, dst: &mut [u8]) -> Option<usize> {
    let src = finder.src;
    let mut out = put_size(dst, src.len())?;
    let mut anchor = 0;
    if let Some(last) = src.len().checked_sub(END_MARGIN) {
        let mut at = 1;
        // SAFETY: `at <= last`, and `END_MARGIN` bytes, more than `MIN_MATCH`, lie at `last`.
        while let Some((found, from)) = unsafe { finder.search::<SHORT>(at, last) } {
            let back = match_len_backward(src, from, found, from.min(found - anchor));
            let start = found - back;
            out = put_literals(dst, out, src, (anchor, start))?;
            let (mut start, mut found, mut from) = (start, found, from);
            loop {
                let reaches = found + SHORT_REACH <= src.len();
                // SAFETY: `from < found`, and `SHORT_REACH` bytes lie at `found`.
                let short = unsafe { reaches.then(|| short_match(src, from, found)) };
                // Another match often begins where this one ends.
                let next = if let Some((end, there)) = short.flatten() {
                    out = put_match(dst, out, found - from, end - start)?;
                    anchor = end;
                    // SAFETY: more than `MIN_MATCH` bytes lie at `end`.
                    unsafe { finder.find_at_end::<SHORT>(end, there as u32) }
                } else {
                    // SAFETY: `from < found`, and `END_MARGIN` bytes lie at `found`, which is `last` at most.
                    let end = unsafe { match_end(src, from, found) };
                    out = put_match(dst, out, found - from, end - start)?;
                    anchor = end;
                    if end > last {
                        break;
                    }
                    // SAFETY: `end <= last`.
                    unsafe { finder.find_at_end::<SHORT>(end, finder.four(end)) }
                };
                match next {
                    Some(next) => (start, found, from) = (anchor, anchor, next),
                    None => break,
                }
            }
            at = anchor + 1;
        }
    }
    put_literals(dst, out, src, (anchor, src.len()))
}

/// Writes the length of the data. Returns where that ends.
fn put_size(dst: &mut [u8], mut size: usize) -> Option<usize> {
    let mut out = 0;
    while size >= 128 {
        *dst.get_mut(out)? = size as u8 | 128;
        size >>= 7;
        out += 1;
    }
    *dst.get_mut(out)? = size as u8;
    Some(out + 1)
}

/// Writes the bytes of `src` from the first of two positions to the second as literals. Returns where they end in `dst`.
#[inline(always)]
fn put_literals(
    dst: &mut [u8],
    out: usize,
    src: &[u8],
    (from, to): (usize, usize),
) -> Option<usize> {
    let len = to - from;
    if len <= 16
        && let Some(sixteen) = array_at::<16>(src, from)
        && let Some(room) = array_at_mut::<17>(dst, out)
    {
        // Without literals the tag is overwritten.
        room[0] = (len.wrapping_sub(1) << 2) as u8;
        room[1..].copy_from_slice(sixteen);
        return Some(out + len + usize::from(len > 0));
    }
    put_long_literals(dst, out, &src[from..to])
}

/// The same for many literals, and near the ends.
#[inline(never)]
fn put_long_literals(dst: &mut [u8], out: usize, literals: &[u8]) -> Option<usize> {
    let Some(less_one) = literals.len().checked_sub(1) else {
        return Some(out);
    };
    let (head, extra) = if less_one < MAX_TAG_LITERALS {
        (less_one, 0)
    } else {
        // As many bytes as the number needs follow, at least one.
        let extra = (usize::BITS - less_one.leading_zeros()).div_ceil(8) as usize;
        (MAX_TAG_LITERALS - 1 + extra, extra)
    };
    let room = dst.get_mut(out..)?.get_mut(..1 + extra + literals.len())?;
    room[0] = (head << 2) as u8;
    room[1..1 + extra].copy_from_slice(&less_one.to_le_bytes()[..extra]);
    room[1 + extra..].copy_from_slice(literals);
    Some(out + 1 + extra + literals.len())
}

/// Writes a match of `len` bytes, at least `MIN_MATCH`, as copies. Returns where they end.
#[inline(always)]
fn put_match(dst: &mut [u8], mut out: usize, distance: usize, mut len: usize) -> Option<usize> {
    debug_assert!(len >= MIN_MATCH && distance < 1 << 16);
    while len > MAX_COPY {
        cold_path();
        // What is left is at least `MIN_MATCH`.
        let this = MAX_COPY.min(len - MIN_MATCH);
        out = put_copy(dst, out, distance, this)?;
        len -= this;
    }
    put_copy(dst, out, distance, len)
}

/// Writes a copy of `MIN_MATCH..=MAX_COPY` bytes. Returns where it ends.
#[inline(always)]
fn put_copy(dst: &mut [u8], out: usize, distance: usize, len: usize) -> Option<usize> {
    // No branch, since the distance is unpredictable.
    let is_short = (len <= MAX_SHORT_COPY) & (distance < SHORT_WINDOW);
    let short = COPY_1 | (len - MIN_MATCH) << 2 | distance >> 8 << 5 | (distance & 0xFF) << 8;
    let long = COPY_2 | (len - 1) << 2 | distance << 8;
    let word = (select_unpredictable(is_short, short, long) as u32).to_le_bytes();
    let end = out + 3 - usize::from(is_short);
    match array_at_mut(dst, out) {
        Some(room) => *room = word,
        None => {
            cold_path();
            let room = dst.get_mut(out..end)?;
            room.copy_from_slice(&word[..room.len()]);
        }
    }
    Some(end)
}
