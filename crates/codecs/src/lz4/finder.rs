//! The hash tables of the fast compressor, which give one candidate for a position.

use super::format::MF_LIMIT;
use crate::hash_table::{hash, position};
use crate::unaligned::load;

/// Binary logarithm of the number of slots in the table with 16-bit positions.
pub(super) const NARROW_LOG: u32 = 13;
/// The same for the table with 32-bit positions.
pub(super) const WIDE_LOG: u32 = 12;
/// Matches reach back less than this.
const WINDOW: usize = 1 << 16;

/// The first bytes at a position, in little-endian order.
pub(super) trait Word: Sized {
    /// Loads those at `at`.
    ///
    /// # Safety
    /// `at + 8 <= src.len()`.
    unsafe fn load(src: &[u8], at: usize) -> Self;

    /// The lowest of `bytes`.
    fn of(bytes: u64) -> Self;
}

impl Word for u32 {
    #[inline(always)]
    unsafe fn load(src: &[u8], at: usize) -> Self {
        // SAFETY: more than four bytes lie at `at` (# Safety).
        Self::from_le(unsafe { load(src, at) })
    }

    #[inline(always)]
    fn of(bytes: u64) -> Self {
        bytes as Self
    }
}

impl Word for u64 {
    #[inline(always)]
    unsafe fn load(src: &[u8], at: usize) -> Self {
        // SAFETY: eight bytes lie at `at` (# Safety).
        Self::from_le(unsafe { load(src, at) })
    }

    #[inline(always)]
    fn of(bytes: u64) -> Self {
        bytes
    }
}

/// A hash table of positions. Positions are inserted in increasing order, from 0 on; an empty slot
/// reads as 0. So the candidate that a table returns for a position lies before that position,
/// unless the position is 0.
pub(super) trait Finder {
    /// Whether a candidate may lie outside the window.
    const CHECK_WINDOW: bool;

    /// The bytes that are hashed. From an `u64`, of which only four are, the compiler makes a
    /// product of 64 bits, in which the hash's multiplier takes a register or an instruction. For
    /// short streams `u32` is faster, for long ones `u64`.
    type Word: Word;

    /// The slot of a position at which this word lies.
    fn slot(&self, word: Self::Word) -> usize;

    /// Stores `at` in a slot and returns the position that the slot held before.
    fn replace(&mut self, slot: usize, at: usize) -> usize;

    /// Inserts `at` and returns the candidate: the last position with the same hash.
    ///
    /// # Safety
    /// `at + 8 <= src.len()`.
    #[inline(always)]
    unsafe fn insert(&mut self, src: &[u8], at: usize) -> usize {
        // SAFETY: `at + 8 <= src.len()` (# Safety).
        self.insert_word(at, unsafe { Self::Word::load(src, at) })
    }

    /// Like [`insert`](Self::insert) where the word at `at` is known.
    #[inline(always)]
    fn insert_word(&mut self, at: usize, word: Self::Word) -> usize {
        let candidate = self.replace(self.slot(word), at);
        debug_assert!(candidate < at || at == 0);
        candidate
    }

    /// Inserts the end of a match and the position two before it, like the LZ4 library. `end_bytes`
    /// holds at least the first five bytes at the end. Returns the candidate for the end.
    ///
    /// # Safety
    /// `end + MF_LIMIT <= src.len()`, and `end >= 2`.
    #[inline(always)]
    unsafe fn insert_end(&mut self, src: &[u8], end: usize, end_bytes: u64) -> usize {
        debug_assert!(end >= 2 && end + MF_LIMIT <= src.len());
        // SAFETY: `MF_LIMIT` is more than 8, and `end >= 2` (# Safety), so eight bytes lie at
        // `end - 2`.
        unsafe { self.insert(src, end - 2) };
        self.insert_word(end, Self::Word::of(end_bytes))
    }

    /// Whether the first four bytes match and the candidate `from` lies in the window.
    ///
    /// # Safety
    /// `from <= at` and `at + 4 <= src.len()`.
    #[inline(always)]
    unsafe fn is_match(src: &[u8], from: usize, at: usize) -> bool {
        debug_assert!(from <= at);
        // SAFETY: four bytes lie at `at`, and so at `from <= at` (# Safety).
        let xor = unsafe { load::<u32>(src, from) ^ load::<u32>(src, at) };
        let outside = if Self::CHECK_WINDOW {
            (at - from) / WINDOW
        } else {
            0
        };
        outside as u32 | xor == 0
    }
}

/// A table of 16-bit positions that was not cleared for this stream: entries below `base` are of
/// earlier streams.
pub(super) struct Stale<'a> {
    pub(super) slots: &'a mut [u16; 1 << NARROW_LOG],
    pub(super) base: usize,
}

impl Finder for Stale<'_> {
    const CHECK_WINDOW: bool = false;

    type Word = u32;

    #[inline(always)]
    fn slot(&self, word: u32) -> usize {
        hash::<NARROW_LOG>(word)
    }

    #[inline(always)]
    fn replace(&mut self, slot: usize, at: usize) -> usize {
        let entry = core::mem::replace(&mut self.slots[slot], (self.base + at) as u16);
        // An entry of an earlier stream reads as position 0, like an empty slot.
        position(entry.into(), self.base, at)
    }
}

/// A table of 16-bit positions that was cleared for this stream.
pub(super) struct Narrow<'a> {
    pub(super) slots: &'a mut [u16; 1 << NARROW_LOG],
}

impl Finder for Narrow<'_> {
    const CHECK_WINDOW: bool = false;

    type Word = u64;

    #[inline(always)]
    fn slot(&self, bytes: u64) -> usize {
        hash::<NARROW_LOG>(bytes as u32)
    }

    #[inline(always)]
    fn replace(&mut self, slot: usize, at: usize) -> usize {
        core::mem::replace(&mut self.slots[slot], at as u16).into()
    }
}

/// A table of 32-bit positions.
pub(super) struct Wide<'a> {
    pub(super) slots: &'a mut [u32; 1 << WIDE_LOG],
}

impl Finder for Wide<'_> {
    const CHECK_WINDOW: bool = true;

    type Word = u64;

    #[inline(always)]
    fn slot(&self, bytes: u64) -> usize {
        // A hash of four bytes would give too many candidates in a long stream that match in four
        // bytes only, so five are hashed. The multiplier must be the LZ4 library's for the streams
        // to be the same.
        let five = bytes << 24;
        (five.wrapping_mul(889_523_592_379) >> (64 - WIDE_LOG)) as usize
    }

    #[inline(always)]
    fn replace(&mut self, slot: usize, at: usize) -> usize {
        core::mem::replace(&mut self.slots[slot], at as u32) as usize
    }
}
