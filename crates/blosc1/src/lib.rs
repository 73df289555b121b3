//! Blosc 1 behind the C ABI of `libblosc.so.1`.
//!
//! The crate `oxiblosc-chunk` writes and reads the chunks, as it does those of Blosc 2. This crate
//! has the functions, their settings, and what only Blosc 1 has: its block sizes and Snappy.
//! [`oxiblosc_chunk::rules`] says how its chunks differ.
#![deny(unsafe_op_in_unsafe_fn)]
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

mod blocks;
mod border;
pub mod compress;
pub mod compressors;
pub mod decompress;
pub mod header;
pub mod settings;
mod snappy;
mod threads;
