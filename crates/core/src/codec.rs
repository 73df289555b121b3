//! The ids of codecs, as chunks and [`CParams`](crate::CParams) have them.
//!
//! [`NDLZ`] and the three of ZFP compress the blocks of arrays alone, and need a parameter
//! ([`CParams::codec_meta`](crate::CParams::codec_meta)). Programs of the C library may register more ids; a context of this crate refuses them.

pub use oxiblosc_chunk::codec_id::{NDLZ, ZFP_ACCURACY, ZFP_PRECISION, ZFP_RATE};
use oxiblosc_codecs::Codec;

/// BloscLZ: fast, made for shuffled data.
pub const BLOSCLZ: u8 = Codec::BloscLz as u8;
/// LZ4: fast.
pub const LZ4: u8 = Codec::Lz4 as u8;
/// LZ4HC: the format of LZ4, compressed more slowly into fewer bytes.
pub const LZ4HC: u8 = Codec::Lz4hc as u8;
/// Zlib: a deflate stream, with a checksum of its own.
pub const ZLIB: u8 = Codec::Zlib as u8;
/// Zstandard: the fewest bytes at the same speed, in most cases.
pub const ZSTD: u8 = Codec::Zstd as u8;
