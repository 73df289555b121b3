//! Snappy's compressor. Only Blosc 1 has the codec; streams are read by the crate `snap`.
//!
//! A stream is the length of the data (a varint), then elements, each of which begins with a tag.
//! The lower two bits of the tag say what the element is
//! (<https://github.com/google/snappy/blob/main/format_description.txt>): literals, a copy of 4 to
//! 11 bytes at a distance below 2 KiB, or a copy of up to 64 bytes at a distance below 64 KiB. (The
//! format also has copies from farther back. They are not written.)
//!
//! The parse is that of Google's compressor: greedy, with one candidate for each position, and
//! steps that grow while it finds nothing. Unlike Google's, it does not treat pieces of 64 KiB
//! separately, and it extends matches backward into pending literals, so streams are a little
//! smaller.

use core::hint::{cold_path, select_unpredictable};

use crate::copy::{array_at, array_at_mut};
use crate::hash_table::{KNUTH_MULTIPLIER, zeros};
use crate::lz4::{MF_LIMIT, SHORT_MATCH_MARGIN, match_end, match_len_backward, short_match};
use crate::unaligned::load;
use oxiblosc_base::Result;

/// Bits of the hash, for the longest streams and for the shortest.
const MAX_HASH_BITS: u32 = 14;
const MIN_HASH_BITS: u32 = 8;
/// The longest stream whose positions fit into 16 bits.
const SHORT_STREAM: usize = 1 << 16;
/// The shortest match.
const MIN_MATCH: usize = 4;
/// No match begins within this many bytes of the end, so that a search may read past the end of a
/// match.
const END_MARGIN: usize = 12;
// `match_end` requires this many bytes behind the beginning of a match.
const _: () = assert!(END_MARGIN >= MF_LIMIT);
/// After about `1 << SKIP_TRIGGER` positions without a match, the search step grows by one.
const SKIP_TRIGGER: u32 = 5;
/// The largest step, so that the search does not pass over too much behind a stretch of noise.
const MAX_STEP: usize = 512;
/// The longest copy.
const MAX_COPY: usize = 64;
/// The longest copy that can be written in two bytes.
const MAX_SHORT_COPY: usize = 11;
/// Only copies with a distance below this can be written in two bytes.
const SHORT_WINDOW: usize = 1 << 11;
/// The largest number of literals that fits into a tag.
const MAX_TAG_LITERALS: usize = 60;
/// The tag of a copy that is written in two bytes (with one byte of offset, hence the name in the
/// format).
const COPY_1: usize = 1;
/// The tag of a copy that is written in three bytes.
const COPY_2: usize = 2;

/// The memory of a compressor, reused from stream to stream.
#[derive(Default)]
pub struct Compressor {
    /// For each hash the last position with it, modulo `1 << 16`.
    slots: Option<Box<[u16; 1 << MAX_HASH_BITS]>>,
}

impl Compressor {
    /// Compresses `src` into `dst`. Returns the bytes written, or 0 if they do not fit. Earlier
    /// streams never influence the bytes of later ones.
    ///
    /// # Errors
    /// [`Error::MEMORY_ALLOC`](oxiblosc_base::Error::MEMORY_ALLOC).
    pub fn compress(&mut self, src: &[u8], dst: &mut [u8]) -> Result<usize> {
        if u32::try_from(src.len()).is_err() {
            // The format cannot express a longer length.
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
    /// Inserts position `at`, whose four bytes are `four`. Returns the candidate, which is at most
    /// `at`: in a short stream the position that the slot held before; in a longer one the last
    /// position with these lower 16 bits. Positions must be inserted in increasing order.
    #[inline(always)]
    fn insert<const SHORT: bool>(&mut self, at: usize, four: u32) -> usize {
        let slot = (four.wrapping_mul(KNUTH_MULTIPLIER) >> self.shift) as usize;
        let slot = &mut self.slots[slot % (1 << MAX_HASH_BITS)];
        let entry = core::mem::replace(slot, at as u16);
        let candidate = match SHORT {
            true => entry.into(),
            // The difference is at most that to the position that the slot held, which is 0 or was
            // inserted before, so it is at most `at`.
            false => at - usize::from((at as u16).wrapping_sub(entry)),
        };
        debug_assert!(candidate <= at);
        candidate
    }

    /// Inserts `at`, whose four bytes are `four`, and returns the candidate if it has the same four
    /// bytes.
    ///
    /// # Safety
    /// `at + MIN_MATCH <= src.len()`.
    #[inline(always)]
    unsafe fn find<const SHORT: bool>(&mut self, at: usize, four: u32) -> Option<usize> {
        let from = self.insert::<SHORT>(at, four);
        // SAFETY: `MIN_MATCH` (4) bytes lie at `at` (# Safety), and `from <= at`, as `insert`
        // asserts.
        let xor = u32::from_le(unsafe { load(self.src, from) }) ^ four;
        (xor | u32::from(from == at) == 0).then_some(from)
    }

    /// The four bytes at `at`, in little-endian order.
    ///
    /// # Safety
    /// `at + MIN_MATCH <= src.len()`.
    #[inline(always)]
    unsafe fn four(&self, at: usize) -> u32 {
        // SAFETY: `MIN_MATCH` (4) bytes lie at `at` (# Safety).
        u32::from_le(unsafe { load(self.src, at) })
    }

    /// Inserts the last position of a match and its end, and returns the match there.
    ///
    /// # Safety
    /// `end + MIN_MATCH <= src.len()`, and `four` are the bytes there. `end` is not 0.
    #[inline(always)]
    unsafe fn find_at_end<const SHORT: bool>(&mut self, end: usize, four: u32) -> Option<usize> {
        debug_assert!(end > 0 && end + MIN_MATCH <= self.src.len());
        // SAFETY: four bytes lie at `end`, and so at `end - 1`, which is not negative (# Safety).
        unsafe {
            self.insert::<SHORT>(end - 1, self.four(end - 1));
            self.find::<SHORT>(end, four)
        }
    }

    /// The first match from `at` on, as position and candidate; `None` once the next position would
    /// lie behind `last`.
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
            // SAFETY: `at <= last`, and `MIN_MATCH` bytes lie at `last` (# Safety).
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

/// Writes a stream. Returns its length; `None` if it does not fit, here and below.
fn encode<const SHORT: bool>(mut finder: Finder, dst: &mut [u8]) -> Option<usize> {
    let src = finder.src;
    let mut out = put_size(dst, src.len())?;
    let mut anchor = 0;
    if let Some(last) = src.len().checked_sub(END_MARGIN) {
        let mut at = 1;
        // SAFETY: `at <= last`, and `END_MARGIN` bytes, more than `MIN_MATCH`, lie at `last`.
        while let Some((found, from)) = unsafe { finder.search::<SHORT>(at, last) } {
            // SAFETY: the limit is at most `from`; `find` returned `from < found`, and `found <=
            // last`.
            let back = unsafe { match_len_backward(src, from, found, from.min(found - anchor)) };
            let start = found - back;
            out = put_literals(dst, out, src, (anchor, start))?;
            let (mut start, mut found, mut from) = (start, found, from);
            loop {
                let has_margin = found + SHORT_MATCH_MARGIN <= src.len();
                // SAFETY: `find` returned `from < found`, and `has_margin` says that
                // `SHORT_MATCH_MARGIN` bytes lie at `found`.
                let short = unsafe { has_margin.then(|| short_match(src, from, found)) };
                // Another match often begins where this one ends.
                let next = if let Some((end, end_bytes)) = short.flatten() {
                    out = put_match(dst, out, found - from, end - start)?;
                    anchor = end;
                    // SAFETY: a short match ends `MF_LIMIT` bytes before the end of `src` or sooner
                    // (`SHORT_MATCH_MARGIN`).
                    unsafe { finder.find_at_end::<SHORT>(end, end_bytes as u32) }
                } else {
                    // SAFETY: `find` returned `from < found`. `found <= last`, where `END_MARGIN`
                    // bytes lie, at least `MF_LIMIT`.
                    let end = unsafe { match_end(src, from, found) };
                    out = put_match(dst, out, found - from, end - start)?;
                    anchor = end;
                    if end > last {
                        break;
                    }
                    // SAFETY: `end <= last`, where `END_MARGIN` bytes lie.
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

/// Writes the length of the data as a varint. Returns where it ends.
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

/// Writes the bytes of `src` from the first of two positions to the second as literals. Returns
/// where they end in `dst`.
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
        && let Some(buffer) = array_at_mut::<17>(dst, out)
    {
        // If there are no literals, the next element overwrites the tag.
        buffer[0] = (len.wrapping_sub(1) << 2) as u8;
        buffer[1..].copy_from_slice(sixteen);
        return Some(out + len + usize::from(len > 0));
    }
    put_long_literals(dst, out, &src[from..to])
}

/// Like [`put_literals`], for many literals and near the ends of the buffers.
#[inline(never)]
fn put_long_literals(dst: &mut [u8], out: usize, literals: &[u8]) -> Option<usize> {
    let Some(less_one) = literals.len().checked_sub(1) else {
        return Some(out);
    };
    let (head, extra) = if less_one < MAX_TAG_LITERALS {
        (less_one, 0)
    } else {
        // The number follows in as many bytes as it needs, at least one.
        let extra = (usize::BITS - less_one.leading_zeros()).div_ceil(8) as usize;
        (MAX_TAG_LITERALS - 1 + extra, extra)
    };
    let buffer = dst.get_mut(out..)?.get_mut(..1 + extra + literals.len())?;
    buffer[0] = (head << 2) as u8;
    buffer[1..1 + extra].copy_from_slice(&less_one.to_le_bytes()[..extra]);
    buffer[1 + extra..].copy_from_slice(literals);
    Some(out + 1 + extra + literals.len())
}

/// Writes a match of `len` bytes, at least `MIN_MATCH`, as copies. Returns where they end.
#[inline(always)]
fn put_match(dst: &mut [u8], mut out: usize, distance: usize, mut len: usize) -> Option<usize> {
    debug_assert!(len >= MIN_MATCH && distance < 1 << 16);
    while len > MAX_COPY {
        cold_path();
        // Leave at least `MIN_MATCH` for the last copy.
        let this = MAX_COPY.min(len - MIN_MATCH);
        out = put_copy(dst, out, distance, this)?;
        len -= this;
    }
    put_copy(dst, out, distance, len)
}

/// Writes a copy of `MIN_MATCH..=MAX_COPY` bytes. Returns where it ends.
#[inline(always)]
fn put_copy(dst: &mut [u8], out: usize, distance: usize, len: usize) -> Option<usize> {
    // The distance is unpredictable, so there is no branch.
    let is_short = (len <= MAX_SHORT_COPY) & (distance < SHORT_WINDOW);
    let short = COPY_1 | (len - MIN_MATCH) << 2 | distance >> 8 << 5 | (distance & 0xFF) << 8;
    let long = COPY_2 | (len - 1) << 2 | distance << 8;
    let word = (select_unpredictable(is_short, short, long) as u32).to_le_bytes();
    let end = out + 3 - usize::from(is_short);
    match array_at_mut(dst, out) {
        Some(buffer) => *buffer = word,
        None => {
            cold_path();
            let buffer = dst.get_mut(out..end)?;
            buffer.copy_from_slice(&word[..buffer.len()]);
        }
    }
    Some(end)
}
