//! Codecs: they compress and decompress the streams of a block.
//!
//! Each worker has an [`Encoder`] and a [`Decoder`] of its own and reuses them, so that the state
//! of each codec is allocated once. Earlier streams never influence the bytes of later ones. Levels
//! run from 1 to 9 as in the C API, and each takes the same effort as in the reference.
#![deny(unsafe_op_in_unsafe_fn)]
#![warn(missing_docs, clippy::missing_errors_doc)]
#![warn(clippy::undocumented_unsafe_blocks)]
// These abort the process when an allocation fails. clippy.toml lists them and what to use instead.
#![cfg_attr(
    not(test),
    deny(
        clippy::disallowed_types,
        clippy::disallowed_methods,
        clippy::disallowed_macros
    )
)]

mod blosclz;
mod copy;
mod deflate;
mod dialect;
mod dict;
mod hash_table;
mod lz4;
mod names;
pub mod ndlz;
mod noise;
mod padded;
pub mod snappy;
mod state;
mod table;
mod unaligned;
mod unchecked;
pub mod zfp;
mod zlib;
mod zstd;

#[cfg(test)]
mod tests;

pub use dialect::{Dialect, HAS_BLOSC1};
pub use dict::{Dict, MAX_DICT_SIZE, MIN_USEFUL_DICT};
pub use names::{Codec, has_codec, registered_code, registered_name};
pub use padded::{PADDING, PaddedDst, PaddedSrc};
pub use state::{Decoder, Encoder};
pub use table::{
    CodecFunctions, OwnCodec, Parameter, REGISTERED_CODECS, RegisteredCodec, codec_id, own_codec,
    registered_codec,
};
