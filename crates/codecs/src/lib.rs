//! Codecs: what turns one stream of a block into fewer bytes and back.
//!
//! [`Encoder`] and [`Decoder`] belong to one worker each and are reused from call to call, so that a library's state is
//! allocated once; what they were used for before never shows in the bytes they write. Levels run from 1 to 9 as in the
//! C API, and mean the same effort as in the reference.
#![deny(unsafe_op_in_unsafe_fn)]
#![warn(clippy::undocumented_unsafe_blocks)]
// What ends the process where there is no memory: clippy.toml names it, and what to use instead.
#![cfg_attr(
    not(test),
    deny(
        clippy::disallowed_types,
        clippy::disallowed_methods,
        clippy::disallowed_macros
    )
)]

mod among;
mod blosclz;
mod copy;
mod deflate;
mod dict;
mod known;
mod lz4;
mod names;
pub mod ndlz;
mod noise;
mod state;
mod table;
pub mod zfp;
mod zlib;
mod zstd;

#[cfg(test)]
mod tests;

pub use among::{Packed, Room};
pub use dict::{Dict, MAX_DICT_SIZE, MIN_USEFUL_DICT};
pub use names::Codec;
pub use state::{Decoder, Encoder};
