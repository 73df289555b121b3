//! Up to which size a frame is compact, and parts of its size.

/// A frame of fewer bytes and at most [`MAX_COMPACT_CHUNKS`] chunks is always compact.
pub(super) const MAX_COMPACT_LEN: u64 = 1 << 20;
/// The most chunks of a frame whose index is compressed and written as a whole with each change.
pub(crate) const MAX_COMPACT_CHUNKS: usize = 8 << 10;

/// A part of a number of bytes or offsets.
pub(super) struct Share {
    /// The number is divided by this.
    pub(super) divisor: u64,
    /// It is at least so many,
    pub(super) least: u64,
    /// and at most so many.
    pub(super) most: u64,
}

impl Share {
    pub(super) fn of(&self, whole: u64) -> u64 {
        (whole / self.divisor).clamp(self.least, self.most)
    }
}

/// The free space for chunks before an uncompressed index, of the chunks' bytes.
const SLACK: Share = Share {
    divisor: 64,
    least: 16 << 10,
    most: 16 << 20,
};

/// The free space, in bytes, before the index of a large frame whose chunks end at `end`.
pub(super) fn slack(end: u64) -> u64 {
    SLACK.of(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_has_bounds() {
        assert_eq!(slack(0), 16 << 10);
        assert_eq!(slack(64 << 20), 1 << 20);
        assert_eq!(slack(u64::MAX), 16 << 20);
    }
}
