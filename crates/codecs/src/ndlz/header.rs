//! The header of a stream.

/// The length of the header, in front of the cells.
pub(super) const HEADER_LEN: usize = 9;
