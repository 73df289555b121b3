//! BloscLZ: byte-oriented LZ77 made for shuffled data.
//!
//! # The stream
//! A stream consists of packets, each of which begins with a control byte. The first packet is
//! always literals. Its control byte has bit 5 set, which decoders ignore.
//! - If the control byte is below 32, `control + 1` literal bytes follow.
//! - Otherwise the packet is a match. The top three bits are a length code `c`. If it is 7, extra
//!   bytes follow and are added to it, up to and including the first that is not 255. The low five
//!   bits are the high part of the distance, and the next byte is the low part: `distance = high <<
//!   8 | low`, where 0 is the last byte written. If all thirteen bits are set, two more bytes
//!   (big-endian) follow, and `distance = 8191 + those`. The match is `c + 2` bytes long.
//!
//! Matches may overlap what they write. The last packet is literals.

mod blosc1;
mod compress;
mod decompress;

pub(super) use compress::Compressor;
pub(super) use decompress::decompress;

/// The version of the reference's BloscLZ whose streams this codec reproduces.
pub(super) const VERSION: &str = "2.5.3";

/// The largest number of literals in a packet.
const MAX_LITERALS: usize = 32;
/// A match with a distance below this (counted from 0) takes two bytes; a far one takes four.
const FAR: usize = 8191;
/// Distances (counted from 1) are less than this.
const WINDOW: usize = 65535 + FAR - 1;
