//! The compressor: greedy, one candidate per position, passing over more the longer nothing is found.
//!
//! It takes the matches that the library takes, so that streams are the same bytes; a test holds it to that. How it gets
//! there is its own. Whether a candidate is within reach, nobody can guess in a long stream that repeats little, so that is
//! no branch by itself; a match's end is found first, since the next search waits for it, and then its beginning, eight
//! bytes at once. Planes of bits, some of them noise, compress in two thirds of the time for it.

use core::hint::{cold_path, select_unpredictable};

use super::bytes::Bytes;
use super::decompress::{LAST_BEGIN, LAST_LITERALS, LEAST, OPEN_ENDED};
use crate::copy::copy_all;
use crate::known::{differ, first_difference, load};
use crate::table::{Table, hash};
use oxiblosc_error::Result;

/// Logarithm of the slots for streams whose positions take two bytes,
const NARROW: u32 = 13;
/// and for others.
const WIDE: u32 = 12;
/// Streams of this length and less are of the first kind: no match begins in the last bytes.
const NARROW_STREAM: usize = (1 << 16) + LAST_BEGIN - 2;
/// Streams below this length share a table that is not cleared in between.
const SHORT_STREAM: usize = 8192;
/// Matches reach back less than this.
const OUT_OF_REACH: usize = 1 << 16;
/// Searches without success after which one position more is passed over each time, as a logarithm.
const PATIENCE: u32 = 6;
/// Room, beside the literals, for a sequence with one further byte of each length, its literals copied 16 at once, and for the
/// last sequence.
const ROOM: usize = 24;

/// The compressor's tables.
#[derive(Default)]
pub(super) struct Tables {
    narrow: Table<u16, { 1 << NARROW }>,
    wide: Table<u32, { 1 << WIDE }>,
}

impl Tables {
    /// Compresses `src` into `dst`; bytes written, 0 when they do not fit. A search looks at two positions, then at each
    /// `acceleration`-th.
    pub(super) fn compress(
        &mut self,
        acceleration: usize,
        src: &[u8],
        dst: &mut [u8],
    ) -> Result<usize> {
        let len = src.len();
        let written = if len < SHORT_STREAM {
            let (slots, base) = self.narrow.carried(len)?;
            encode(Narrow::<true> { slots, base }, acceleration, src, dst)
        } else if len <= NARROW_STREAM {
            let slots = self.narrow.cleared(len, 1 << NARROW)?;
            encode(Narrow::<false> { slots, base: 0 }, acceleration, src, dst)
        } else {
            let slots = self.wide.cleared(len, 1 << WIDE)?;
            encode(Wide { slots }, acceleration, src, dst)
        };
        Ok(written.unwrap_or(0))
    }
}

/// Where the next bytes were last seen; at the first position, if nowhere.
trait Finder {
    /// Whether candidates may be out of reach.
    const FAR: bool;

    /// The slot of the bytes at `at`.
    ///
    /// # Safety
    /// There are eight of them.
    unsafe fn slot(&self, src: &[u8], at: usize) -> usize;

    /// Enters `at` into a slot; the position that was there, which is before it.
    fn replace(&mut self, slot: usize, at: usize) -> usize;

    /// Enters `at`; where its bytes were last seen.
    ///
    /// # Safety
    /// As for [`slot`](Self::slot).
    #[inline(always)]
    unsafe fn enter(&mut self, src: &[u8], at: usize) -> usize {
        // SAFETY: as the caller promises.
        let slot = unsafe { self.slot(src, at) };
        self.replace(slot, at)
    }

    /// Whether the four bytes at `at` are those at `from`, and near enough.
    ///
    /// # Safety
    /// They are in `src`.
    #[inline(always)]
    unsafe fn agree(src: &[u8], from: usize, at: usize) -> bool {
        // SAFETY: as the caller promises.
        let differ = unsafe { load::<u32>(src, from) ^ load::<u32>(src, at) };
        let far = if Self::FAR {
            (at - from) / OUT_OF_REACH
        } else {
            0
        };
        far as u32 | differ == 0
    }
}

/// A table of two-byte slots, `CARRIED` over from other streams or cleared.
struct Narrow<'a, const CARRIED: bool> {
    slots: &'a mut [u16; 1 << NARROW],
    base: usize,
}

impl<const CARRIED: bool> Finder for Narrow<'_, CARRIED> {
    const FAR: bool = false;

    #[inline(always)]
    unsafe fn slot(&self, src: &[u8], at: usize) -> usize {
        // SAFETY: as the caller promises.
        hash::<NARROW>(u32::from_le(unsafe { load(src, at) }))
    }

    #[inline(always)]
    fn replace(&mut self, slot: usize, at: usize) -> usize {
        if CARRIED {
            let before = core::mem::replace(&mut self.slots[slot], (self.base + at) as u16);
            // What an earlier stream left stands for the first position, as an unused slot does: nobody can guess it.
            let before = usize::from(before).wrapping_sub(self.base);
            select_unpredictable(before < at, before, 0)
        } else {
            core::mem::replace(&mut self.slots[slot], at as u16).into()
        }
    }
}

/// A table of slots for all positions.
struct Wide<'a> {
    slots: &'a mut [u32; 1 << WIDE],
}

impl Finder for Wide<'_> {
    const FAR: bool = true;

    #[inline(always)]
    unsafe fn slot(&self, src: &[u8], at: usize) -> usize {
        // Five bytes: in long streams four are found too often where no more agree.
        // SAFETY: as the caller promises.
        let five = u64::from_le(unsafe { load(src, at) }) << 24;
        (five.wrapping_mul(889_523_592_379) >> (64 - WIDE)) as usize
    }

    #[inline(always)]
    fn replace(&mut self, slot: usize, at: usize) -> usize {
        core::mem::replace(&mut self.slots[slot], at as u32) as usize
    }
}

/// How many further bytes a length has.
fn further_bytes(len: usize) -> usize {
    (len + 255 - OPEN_ENDED) / 255
}

/// Writes the further bytes of a length, at `out`; where they end.
fn put_further(dst: &mut [u8], out: usize, len: usize) -> usize {
    let end = out + further_bytes(len);
    if let Some((last, full)) = dst[out..end].split_last_mut() {
        full.fill(255);
        *last = ((len - OPEN_ENDED) % 255) as u8;
    }
    end
}

/// Writes a token and literals, for which there is room; where they end.
fn put_literals(dst: &mut [u8], out: usize, literals: &[u8], code: usize) -> usize {
    let len = literals.len();
    dst[out] = (len.min(OPEN_ENDED) << 4 | code) as u8;
    let out = put_further(dst, out + 1, len);
    copy_all(literals, &mut dst[out..out + len]);
    out + len
}

/// Where the match at `at` ends, of which eight bytes behind the first four agree, if there are so many. What
/// `copy::match_len` finds too, in steps that suit shuffled data: that a match has more than these, nobody can guess, and
/// where it ends is no branch then, up to 44 bytes.
#[inline(always)]
fn match_end(src: &[u8], at: usize, distance: usize) -> usize {
    let mut end = at + LEAST + 8;
    while end + 32 <= src.len() {
        // SAFETY: there are 32 bytes at `end`, and `distance` before.
        if let Some(first) = unsafe { first_difference(src, end - distance, end) } {
            return end + first;
        }
        end += 32;
    }
    cold_path();
    while end + 16 <= src.len() {
        // SAFETY: there are 16 bytes at `end`, and `distance` before.
        let differ = unsafe { load::<u128>(src, end) ^ load::<u128>(src, end - distance) };
        if differ != 0 {
            return end + (u128::from_le(differ).trailing_zeros() / 8) as usize;
        }
        end += 16;
    }
    if end + 8 <= src.len() {
        // SAFETY: as above.
        let differ = unsafe { differ(src, end - distance, end) };
        if differ != 0 {
            return end + (differ.trailing_zeros() / 8) as usize;
        }
    }
    cold_path();
    // The last eight bytes begin behind the first of the match, and those before `end` agree.
    let tail = src.len() - 8;
    // SAFETY: as above.
    tail + (unsafe { differ(src, tail - distance, tail) }.trailing_zeros() / 8) as usize
}

/// How many of the last bytes before `at` are those before `from`, at most `most`, which is `from` at most.
#[inline(always)]
fn agree_before(src: &[u8], from: usize, at: usize, most: usize) -> usize {
    let mut agree = 0;
    while from - agree >= 8 {
        // SAFETY: `at` is behind `from`, so there are eight bytes before both, less those that agree.
        let differ = unsafe { differ(src, from - agree - 8, at - agree - 8) }.swap_bytes();
        // The last byte is lowest now. (Counting zeros from above takes longer where it is no instruction of its own.)
        if differ != 0 {
            return most.min(agree + (differ.trailing_zeros() / 8) as usize);
        }
        cold_path();
        agree += 8;
        if agree >= most {
            return most;
        }
    }
    cold_path();
    while agree < most && src[at - agree - 1] == src[from - agree - 1] {
        agree += 1;
    }
    agree
}

/// The encoder proper, once for each kind of table; `None` when `dst` is too short.
#[inline(never)]
fn encode<F: Finder>(
    mut finder: F,
    acceleration: usize,
    src: &[u8],
    dst: &mut [u8],
) -> Option<usize> {
    let mut dst = Bytes::new(dst);
    let mut out = 0;
    // What lies before it is written.
    let mut anchor = 0;
    if src.len() > LAST_BEGIN {
        let last = src.len() - LAST_BEGIN;
        // SAFETY: there are more than twelve bytes.
        unsafe { finder.enter(src, 0) };
        let mut at = 0;
        'sequences: loop {
            let mut tries = acceleration << PATIENCE;
            let mut step = 1;
            let mut from;
            at += 1;
            loop {
                let next = at + step;
                if next > last + 1 {
                    break 'sequences;
                }
                // SAFETY: `at` is not behind `last`, so there are twelve bytes, and what was entered lies before.
                unsafe {
                    from = finder.enter(src, at);
                    if F::agree(src, from, at) {
                        break;
                    }
                }
                at = next;
                step = tries >> PATIENCE;
                tries += 1;
            }
            // Where a match ends, another one may begin.
            loop {
                let distance = at - from;
                // SAFETY: there are twelve bytes at `at`.
                let differ = unsafe { differ(src, from + LEAST, at + LEAST) };
                let end = if differ != 0 {
                    at + LEAST + (differ.trailing_zeros() / 8) as usize
                } else {
                    match_end(src, at, distance)
                };
                let mut literals = at - anchor;
                if literals > 0 {
                    literals -= agree_before(src, from, at, literals.min(from));
                }
                let more = end - anchor - literals - LEAST;
                let distance = (distance as u16).to_le_bytes();
                let room = dst.len() - out;
                let code = more.min(OPEN_ENDED);
                if literals.max(more) < OPEN_ENDED + 255 && room >= literals + ROOM && end <= last {
                    // SAFETY: there is room for all of this. The match is of four bytes at least, and twelve are behind it.
                    unsafe {
                        if literals < OPEN_ENDED {
                            dst.store(out, (literals << 4 | code) as u8);
                            dst.store::<u128>(out + 1, load(src, anchor));
                            out += 1 + literals;
                        } else {
                            cold_path();
                            dst.store(out, (OPEN_ENDED << 4 | code) as u8);
                            dst.store(out + 1, (literals - OPEN_ENDED) as u8);
                            out += 2;
                            for done in (0..literals).step_by(16) {
                                dst.store::<u128>(out + done, load(src, anchor + done));
                            }
                            out += literals;
                        }
                        dst.store(out, distance);
                        // Written over where it does not count.
                        dst.store(out + 2, more.wrapping_sub(OPEN_ENDED) as u8);
                    }
                    out += 2 + usize::from(code == OPEN_ENDED);
                } else {
                    cold_path();
                    let end = end.min(last + (LAST_BEGIN - LAST_LITERALS));
                    let more = end - anchor - literals - LEAST;
                    let code = more.min(OPEN_ENDED);
                    // Behind the match comes a last sequence, of this many bytes at least.
                    let least = 1 + LAST_LITERALS;
                    let lengths = further_bytes(literals) + further_bytes(more);
                    if 1 + literals + 2 + lengths + least > room {
                        return None;
                    }
                    let dst = dst.slice();
                    out = put_literals(dst, out, &src[anchor..anchor + literals], code);
                    dst[out..out + 2].copy_from_slice(&distance);
                    out = put_further(dst, out + 2, more);
                    if end > last {
                        anchor = end;
                        break 'sequences;
                    }
                }
                at = end;
                anchor = end;
                // SAFETY: there are twelve bytes at `at`, and what was entered lies before.
                unsafe {
                    finder.enter(src, at - 2);
                    from = finder.enter(src, at);
                    if !F::agree(src, from, at) {
                        break;
                    }
                }
            }
        }
    }
    let literals = &src[anchor..];
    if 1 + literals.len() + further_bytes(literals.len()) > dst.len() - out {
        return None;
    }
    Some(put_literals(dst.slice(), out, literals, 0))
}
