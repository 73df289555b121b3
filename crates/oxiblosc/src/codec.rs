//! The ids of codecs, as chunks and [`CParams`](crate::CParams) have them, and the table of all
//! codecs: those of the format ([`Codec`]), and the registered ones ([`REGISTERED_CODECS`]).
//!
//! [`NDLZ`] and the three of ZFP compress only blocks of arrays, and need a parameter
//! ([`CParams::codec_meta`](crate::CParams::codec_meta)). C programs may register more ids, which
//! contexts of this crate refuse.

pub use oxiblosc_codecs::codec_id::{NDLZ, ZFP_ACCURACY, ZFP_PRECISION, ZFP_RATE};
pub use oxiblosc_codecs::{
    Codec, OwnCodec, Parameter, REGISTERED_CODECS, RegisteredCodec, has_codec, own_codec,
    registered_codec, registered_name,
};

/// BloscLZ: fast, made for shuffled data.
pub const BLOSCLZ: u8 = Codec::BloscLz as u8;
/// LZ4: fast.
pub const LZ4: u8 = Codec::Lz4 as u8;
/// LZ4HC: the format of LZ4, compressed more slowly into fewer bytes.
pub const LZ4HC: u8 = Codec::Lz4hc as u8;
/// Zlib: a deflate stream, with a checksum of its own.
pub const ZLIB: u8 = Codec::Zlib as u8;
/// Zstandard: in most cases the smallest chunks.
pub const ZSTD: u8 = Codec::Zstd as u8;
