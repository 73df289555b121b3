//! BloscLZ: byte-oriented LZ77 made for shuffled data.
//!
//! # The stream
//! Packets, each opened by a control byte; the first is always literals and has bit 5 set as a mark to be ignored.
//! - A control byte below 32: `control + 1` literal bytes follow.
//! - Any other is a match. Its top three bits are a length code `c`; for 7, bytes are added to it up to and including the first
//!   that is not 255. Its low five bits are the high part of the distance, and one more byte is the low part:
//!   `distance = high << 8 | low`, counted from 0 for the byte just written. When all thirteen bits are set, two more
//!   bytes (big-endian) follow, and `distance = 8191 + those`. The match is `c + 2` bytes long.
//!
//! Matches may overlap what they write. The last packet is literals.

#[cfg(feature = "blosc1")]
mod blosc1;
mod compress;
mod decompress;

pub(super) use compress::Compressor;
pub(super) use decompress::decompress;

/// The version of the reference's BloscLZ whose streams this codec reproduces.
pub(super) const VERSION: &str = "2.5.3";

/// Longest run of literals in a packet.
const MAX_LITERALS: usize = 32;
/// Distances below this, counted from 0, take two bytes; the others ("far") take four.
const FAR: usize = 8191;
/// Matches reach back less than this, counted from 1.
const WINDOW: usize = 65535 + FAR - 1;
