//! Snappy's compressor. Only Blosc 1 has the codec; streams are read by the crate `snap`.
//!
//! A stream is the length of the data (a varint), then elements, each opened by a tag whose lower two bits say what it is
//! (<https://github.com/google/snappy/blob/main/format_description.txt>): literals, or a copy of 4 to 11 bytes from less than 2 KiB back, or
//! of up to 64 bytes from less than 64 KiB back. (Copies from farther back, which the format has too, are not written.)
//!
//! The parse is greedy, with one candidate for each position, and takes larger steps the longer it finds nothing, as Google's does. Other
//! than there, matches reach over the ends of pieces of 64 KiB, and back into what would be literals, so streams are a little smaller.

use core::hint::cold_path;

use crate::copy::{array_at, array_at_mut};
use crate::lz4::{match_end, match_len_backward};
use crate::table::{KNUTH_MULTIPLIER, zeros};
use crate::unaligned::load;
use oxiblosc_error::Result;

/// Bits of the hash, for the longest streams and for the shortest.
const MAX_HASH_BITS: u32 = 14;
const MIN_HASH_BITS: u32 = 8;
/// The shortest match.
const MIN_MATCH: usize = 4;
/// No match begins within this many bytes of the end, so that a search may read more than a match.
const END_MARGIN: usize = 12;
/// A search takes steps of one byte so many times, and then ever larger ones.
const SKIP_TRIGGER: u32 = 5;
/// The largest step, so that what comes behind noise is found.
const MAX_STEP: usize = 512;
/// The longest copy of one element, and what is left for the next one of a longer match, so that this is no shorter than `MIN_MATCH`.
const MAX_COPY: usize = 64;
/// The longest copy, and the distance from which on none is written in two bytes.
const MAX_SHORT_COPY: usize = 11;
const SHORT_WINDOW: usize = 1 << 11;
/// The most literals whose number is in the tag.
const MAX_TAG_LITERALS: usize = 60;
/// Tags, and what they add to lengths.
const COPY_1: usize = 1;
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
        let slots = match &mut self.slots {
            Some(slots) => slots,
            none => none.insert(zeros()?),
        };
        let bits = usize::BITS - src.len().leading_zeros();
        let bits = bits.clamp(MIN_HASH_BITS, MAX_HASH_BITS);
        slots[..1 << bits].fill(0);
        let shift = 32 - bits;
        Ok(encode(Finder { src, slots, shift }, dst).unwrap_or(0))
    }
}

/// A hash table of the positions in `src`.
struct Finder<'a> {
    src: &'a [u8],
    slots: &'a mut [u16; 1 << MAX_HASH_BITS],
    shift: u32,
}

impl Finder<'_> {
    /// Inserts `at` and returns the candidate: the position before it in the window whose hash was the last in the slot. It is `at` itself
    /// where there is none.
    ///
    /// # Safety
    /// `at + MIN_MATCH <= src.len()`.
    #[inline(always)]
    unsafe fn insert(&mut self, at: usize) -> usize {
        // SAFETY: the caller promises four bytes at `at`.
        let four = u32::from_le(unsafe { load(self.src, at) });
        let slot = (four.wrapping_mul(KNUTH_MULTIPLIER) >> self.shift) as usize;
        let slot = &mut self.slots[slot % (1 << MAX_HASH_BITS)];
        let distance = (at as u16).wrapping_sub(*slot);
        *slot = at as u16;
        // A slot that is empty, or that was not used for a whole window, leads to some position in the window.
        at.saturating_sub(distance.into())
    }

    /// Inserts `at` and returns the candidate if its first four bytes match.
    ///
    /// # Safety
    /// `at + MIN_MATCH <= src.len()`.
    #[inline(always)]
    unsafe fn find(&mut self, at: usize) -> Option<usize> {
        // SAFETY: the caller promises four bytes at `at`, and `from` is not after it.
        let (from, xor) = unsafe {
            let from = self.insert(at);
            let xor = load::<u32>(self.src, from) ^ load::<u32>(self.src, at);
            (from, xor)
        };
        (xor | u32::from(from == at) == 0).then_some(from)
    }

    /// The first match from `at` on, as position and candidate; `None` once the next position would lie behind `last`.
    ///
    /// # Safety
    /// `last + MIN_MATCH <= src.len()`.
    #[inline(always)]
    unsafe fn search(&mut self, mut at: usize, last: usize) -> Option<(usize, usize)> {
        let mut tries = 1 << SKIP_TRIGGER;
        while at <= last {
            // SAFETY: `at <= last`, so the caller promises four bytes there.
            if let Some(from) = unsafe { self.find(at) } {
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
fn encode(mut finder: Finder, dst: &mut [u8]) -> Option<usize> {
    let src = finder.src;
    let mut out = put_size(dst, src.len())?;
    let mut anchor = 0;
    if let Some(last) = src.len().checked_sub(END_MARGIN) {
        let mut at = 1;
        // SAFETY: `at <= last`, and `END_MARGIN` bytes, more than `MIN_MATCH`, lie at `last`.
        while let Some((found, from)) = unsafe { finder.search(at, last) } {
            let back = match_len_backward(src, from, found, from.min(found - anchor));
            let start = found - back;
            out = put_literals(dst, out, src, (anchor, start))?;
            let (mut start, mut found, mut from) = (start, found, from);
            loop {
                // SAFETY: `from < found`, and `END_MARGIN` bytes lie at `found`, which is `last` at most.
                let end = unsafe { match_end(src, from, found) };
                out = put_copy(dst, out, found - from, end - start)?;
                anchor = end;
                if end > last {
                    break;
                }
                // Another match often begins where this one ends.
                // SAFETY: `end <= last`, and `end - 1` is before it.
                let next = unsafe {
                    finder.insert(end - 1);
                    finder.find(end)
                };
                match next {
                    Some(next) => (start, found, from) = (end, end, next),
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
fn put_copy(dst: &mut [u8], mut out: usize, distance: usize, mut len: usize) -> Option<usize> {
    debug_assert!(len >= MIN_MATCH && distance < 1 << 16);
    while len > MAX_SHORT_COPY {
        // What is left is nothing, or at least `MIN_MATCH`.
        let this = match len {
            ..=MAX_COPY => len,
            _ => MAX_COPY.min(len - MIN_MATCH),
        };
        let word = COPY_2 | (this - 1) << 2 | distance << 8;
        out = put_element::<3>(dst, out, word)?;
        len -= this;
        if len == 0 {
            return Some(out);
        }
        cold_path();
    }
    if distance < SHORT_WINDOW {
        let word = COPY_1 | (len - MIN_MATCH) << 2 | distance >> 8 << 5 | (distance & 0xFF) << 8;
        put_element::<2>(dst, out, word)
    } else {
        put_element::<3>(dst, out, COPY_2 | (len - 1) << 2 | distance << 8)
    }
}

/// Writes the lowest `N` bytes of `word`. Returns where they end.
#[inline(always)]
fn put_element<const N: usize>(dst: &mut [u8], out: usize, word: usize) -> Option<usize> {
    *array_at_mut::<N>(dst, out)? = *(word as u32).to_le_bytes().first_chunk()?;
    Some(out + N)
}
