//! Hash tables of match finders: for each hash, the last position that had it.

use core::hint::select_unpredictable;

use oxiblosc_base::Result;
use oxiblosc_base::memory::TryVec;

/// The integer type of a slot. It must be wide enough for every position of a stream.
pub(super) trait SlotInt: Copy + Default {
    /// The largest value a slot holds.
    const MAX: usize;
    /// Converts from a value that is at most `MAX`.
    fn new(value: usize) -> Self;
    /// Converts back.
    fn get(self) -> u32;
}

impl SlotInt for u16 {
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

impl SlotInt for u32 {
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

/// A hash table of `SLOTS` slots, used for one stream at a time. A slot holds `base + position`.
///
/// For a long stream the table is cleared and the base is 0. For a short stream, clearing would be
/// half of the work. Instead its base is higher than every entry of earlier streams, so an entry
/// below the base is stale. Both ways find the same matches.
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

impl<S: SlotInt, const SLOTS: usize> Table<S, SLOTS> {
    /// Whether a slot can hold every position of a stream of this length.
    pub(super) fn fits(len: usize) -> bool {
        len.saturating_sub(1) <= S::MAX
    }

    fn slots(&mut self) -> Result<&mut [S; SLOTS]> {
        match &mut self.slots {
            Some(slots) => Ok(slots),
            none => Ok(none.insert(zeros()?)),
        }
    }

    /// The slots for a stream of `len` bytes, the first `used` of which are cleared. The base is 0.
    pub(super) fn cleared(&mut self, len: usize, used: usize) -> Result<&mut [S; SLOTS]> {
        self.next_base = self.next_base.max(len);
        let slots = self.slots()?;
        slots[..used].fill(S::default());
        Ok(slots)
    }

    /// The slots, which may have stale entries, and the base for a stream of `len` bytes.
    /// [`Table::fits`] must hold for `len`.
    pub(super) fn without_clearing(&mut self, len: usize) -> Result<(&mut [S; SLOTS], usize)> {
        if len > S::MAX.saturating_sub(self.next_base) {
            self.next_base = 0;
            self.slots()?.fill(S::default());
        }
        let base = self.next_base;
        self.next_base += len;
        Ok((self.slots()?, base))
    }
}

/// The position, before `at`, of an entry in a table with this base; 0 if the entry is stale.
///
/// Stale entries are unpredictable, so there is no branch. (`entry >= base` would become one: the
/// compiler combines it with the difference into a saturating subtraction.)
#[inline(always)]
pub(super) fn position(entry: usize, base: usize, at: usize) -> usize {
    let position = entry.wrapping_sub(base);
    select_unpredictable(position < at, position, 0)
}

/// An array of zeros on the heap, allocated without a copy on the stack.
pub(super) fn zeros<S: Copy + Default, const N: usize>() -> Result<Box<[S; N]>> {
    let mut fresh = TryVec::new();
    fresh.reserve_exact(N)?;
    fresh.resize(N, S::default())?;
    fresh.into_array()
}

/// The multiplier of Knuth's multiplicative hash: a prime near 2^32 divided by the golden ratio.
pub(super) const KNUTH_MULTIPLIER: u32 = 2_654_435_761;

/// The slot of a word of four bytes in a table of `1 << LOG` slots.
#[inline(always)]
pub(super) fn hash<const LOG: u32>(four: u32) -> usize {
    (four.wrapping_mul(KNUTH_MULTIPLIER) >> (32 - LOG)) as usize
}
