//! Where a hash of four bytes was last seen, carried over from stream to stream without being cleared.

use crate::error::{Error, Result};

/// Slots of a table at its largest.
pub(super) const SLOTS: usize = 1 << MAX_LOG;
/// Logarithm of [`SLOTS`].
pub(super) const MAX_LOG: u32 = 14;

/// A slot: wide enough for every position of the streams it serves.
pub(super) trait Slot: Copy + Default {
    /// The largest value a slot holds.
    const MAX: usize;
    /// From a value that is at most `MAX`.
    fn from_usize(value: usize) -> Self;
    /// Back again.
    fn to_usize(self) -> usize;
}

impl Slot for u16 {
    const MAX: usize = u16::MAX as usize;
    #[inline(always)]
    fn from_usize(value: usize) -> Self {
        value as u16
    }
    #[inline(always)]
    fn to_usize(self) -> usize {
        usize::from(self)
    }
}

impl Slot for u32 {
    const MAX: usize = u32::MAX as usize;
    #[inline(always)]
    fn from_usize(value: usize) -> Self {
        value as u32
    }
    #[inline(always)]
    fn to_usize(self) -> usize {
        self as usize
    }
}

/// A hash table over one stream at a time. A slot holds `base + position`; each stream gets a base above all that
/// earlier streams wrote, so that old entries show themselves by lying below it and the table need not be cleared
/// until the bases run out.
pub(super) struct Table<S> {
    slots: Option<Box<[S; SLOTS]>>,
    next_base: usize,
}

impl<S> Default for Table<S> {
    fn default() -> Self {
        Table {
            slots: None,
            next_base: 0,
        }
    }
}

impl<S: Slot> Table<S> {
    /// Whether streams of this length can be served.
    pub(super) fn serves(len: usize) -> bool {
        len <= S::MAX
    }

    /// The slots and the base for a stream of `len` bytes, which [`Table::serves`]. Every slot is either below the
    /// base, or 0, which reads as the first position of the stream.
    pub(super) fn start(&mut self, len: usize) -> Result<(&mut [S; SLOTS], usize)> {
        let slots = match &mut self.slots {
            Some(slots) => {
                if len > S::MAX - self.next_base {
                    slots.fill(S::default());
                    self.next_base = 0;
                }
                slots
            }
            none => {
                let mut fresh = Vec::new();
                fresh
                    .try_reserve_exact(SLOTS)
                    .map_err(|_| Error::MemoryAlloc)?;
                fresh.resize(SLOTS, S::default());
                none.insert(
                    fresh
                        .into_boxed_slice()
                        .try_into()
                        .map_err(|_| Error::MemoryAlloc)?,
                )
            }
        };
        let base = self.next_base;
        self.next_base += len;
        Ok((slots, base))
    }
}

/// The slot of four bytes, given as a number, in a table of `1 << LOG` slots.
#[inline(always)]
pub(super) fn hash<const LOG: u32>(four: u32) -> usize {
    (four.wrapping_mul(2_654_435_761) >> (32 - LOG)) as usize
}
