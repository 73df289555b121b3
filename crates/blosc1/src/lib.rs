//! Blosc 1 behind the C ABI of `libblosc.so.1`.
//!
//! The chunks are made and read by the crate `oxiblosc-chunk`, as those of Blosc 2 are: here are the functions, their settings, and
//! what only Blosc 1 has, its block sizes and Snappy. [`oxiblosc_chunk::rules`] says how its chunks differ.
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

mod blocks;
mod border;
pub mod compress;
pub mod compressors;
pub mod decompress;
pub mod header;
pub mod settings;
mod snappy;
mod threads;
