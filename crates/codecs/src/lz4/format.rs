//! The constants of the format, with the names that they have in the LZ4 library.

/// The length code in a token that says that extra bytes follow.
pub(super) const RUN_MASK: usize = 15;
/// The shortest match.
pub(super) const MIN_MATCH: usize = 4;
/// No match ends within this many bytes of the end of the data.
pub(super) const LAST_LITERALS: usize = 5;
/// No match begins within this many bytes of the end of the data.
pub(in super::super) const MF_LIMIT: usize = 12;
/// At least this many bytes of the stream follow literals that have a match behind them: the
/// distance and a last sequence.
pub(super) const MIN_REST: usize = 2 + 1 + LAST_LITERALS;
