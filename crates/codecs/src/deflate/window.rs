//! The window: how far back matches reach, and the positions in it.

use super::symbols::MAX_MATCH;

/// The size of deflate's window, a power of two. Distances are smaller than it.
pub(super) const WINDOW_SIZE: usize = 1 << 15;
/// The number of bits of the hash for the longest streams.
pub(super) const MAX_HASH_BITS: u32 = 17;
/// The largest position relative to `base`. Before it is exceeded, the tables slide. Positions up
/// to the longest match behind it fit into 16 bits.
pub(super) const MAX_POSITION: usize = (1 << 16) - 2 * MAX_MATCH;
/// The largest distance that is searched.
pub(super) const MAX_DISTANCE: usize = WINDOW_SIZE - 1;
/// A match must be one byte longer for each so many bits by which its distance is longer.
const DISTANCE_BITS_PER_BYTE: u32 = 6;

/// A match. Its length is 0 if there is none.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Match {
    pub len: usize,
    pub distance: usize,
}

impl Match {
    /// A match with a larger distance is better than this one if it is longer by more than this,
    /// which makes up for the extra bits of the distance.
    #[inline(always)]
    pub(super) fn min_gain(self, distance: usize) -> usize {
        let bits = (distance | 1)
            .ilog2()
            .saturating_sub((self.distance | 1).ilog2());
        match self.len {
            0 => 0,
            _ => (bits / DISTANCE_BITS_PER_BYTE) as usize,
        }
    }
}
