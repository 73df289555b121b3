//! BloscLZ: byte-oriented LZ77 made for shuffled data.
//!
//! # The stream
//! Packets, each opened by a control byte; the first is always literals and has bit 5 set as a mark to be ignored.
//! - Control below 32: `control + 1` literal bytes follow.
//! - Else a match. The top three bits are a length code `c`; for 7, bytes are added to it up to and including the first
//!   that is not 255. The low five bits are the high part of the distance and one more byte is its low part:
//!   `distance = high << 8 | low`, counted from 0 for the byte just written. When all thirteen bits are set, two more
//!   bytes (big-endian) follow and `distance = 8191 + them`. `c + 2` bytes are copied.
//!
//! Matches may overlap what they write. The last packet is literals.

mod compress;
mod decompress;

pub(super) use compress::Compressor;
pub(super) use decompress::decompress;

/// The version of the codec whose streams these are.
pub(super) const VERSION: &str = "2.5.3";

/// Longest run of literals in a packet.
const MAX_LITERALS: usize = 32;
/// Distances from here on, counted from 0, take two bytes more.
const FAR: usize = 8191;
/// Distances that no packet can hold, counted from 1: the largest is one less.
const OUT_OF_REACH: usize = 65535 + FAR - 1;
