//! Where a hash of four bytes was last seen.

use oxiblosc_error::Result;
use oxiblosc_memory::List;

/// A slot: wide enough for every position of the streams it serves.
pub(super) trait Slot: Copy + Default {
    /// The largest value a slot holds.
    const MAX: usize;
    /// From a value that is at most `MAX`.
    fn new(value: usize) -> Self;
    /// Back again.
    fn get(self) -> u32;
}

impl Slot for u16 {
    const MAX: usize = u16::MAX as usize;
    #[inline(always)]
    fn new(value: usize) -> Self {
        value as u16
    }
    #[inline(always)]
    fn get(self) -> u32 {
        u32::from(self)
    }
}

impl Slot for u32 {
    const MAX: usize = u32::MAX as usize;
    #[inline(always)]
    fn new(value: usize) -> Self {
        value as u32
    }
    #[inline(always)]
    fn get(self) -> u32 {
        self
    }
}

/// A hash table of `SLOTS` slots over one stream at a time. A slot holds `base + position`. Long streams have the table cleared and a
/// base of 0. Short ones, for which clearing is half the work, get a base above all that earlier streams wrote: old
/// entries show themselves by lying below it. Either way the entries that count are the same.
pub(super) struct Table<S, const SLOTS: usize> {
    slots: Option<Box<[S; SLOTS]>>,
    next_base: usize,
}

impl<S, const SLOTS: usize> Default for Table<S, SLOTS> {
    fn default() -> Self {
        Table {
            slots: None,
            next_base: 0,
        }
    }
}

impl<S: Slot, const SLOTS: usize> Table<S, SLOTS> {
    /// Whether a slot can hold every position of a stream of this length.
    pub(super) fn serves(len: usize) -> bool {
        len.saturating_sub(1) <= S::MAX
    }

    fn slots(&mut self) -> Result<&mut [S; SLOTS]> {
        match &mut self.slots {
            Some(slots) => Ok(slots),
            none => Ok(none.insert(zeros()?)),
        }
    }

    /// The slots for a stream of `len` bytes, the first `used` of them cleared; its base is 0.
    pub(super) fn cleared(&mut self, len: usize, used: usize) -> Result<&mut [S; SLOTS]> {
        self.next_base = self.next_base.max(len);
        let slots = self.slots()?;
        slots[..used].fill(S::default());
        Ok(slots)
    }

    /// The slots and the base for a stream of `len` bytes that [`Table::serves`].
    pub(super) fn carried(&mut self, len: usize) -> Result<(&mut [S; SLOTS], usize)> {
        if len > S::MAX.saturating_sub(self.next_base) {
            self.next_base = 0;
            self.slots()?.fill(S::default());
        }
        let base = self.next_base;
        self.next_base += len;
        Ok((self.slots()?, base))
    }
}

/// An array of zeros on the heap.
pub(super) fn zeros<S: Copy + Default, const N: usize>() -> Result<Box<[S; N]>> {
    let mut fresh = List::new();
    fresh.reserve_exact(N)?;
    fresh.resize(N, S::default())?;
    fresh.into_array()
}

/// What a hash multiplies by: an odd number near the golden part of all that 32 bits count.
pub(super) const SPREAD: u32 = 2_654_435_761;

/// The slot of four bytes, given as a number, in a table of `1 << LOG` slots.
#[inline(always)]
pub(super) fn hash<const LOG: u32>(four: u32) -> usize {
    (four.wrapping_mul(SPREAD) >> (32 - LOG)) as usize
}
