//! Blosc2 for Rust programs: super-chunks and n-dimensional arrays.
#![forbid(unsafe_code)]
// What ends the process where there is no memory: clippy.toml names it, and what to use instead.
#![cfg_attr(
    not(test),
    deny(
        clippy::disallowed_types,
        clippy::disallowed_methods,
        clippy::disallowed_macros
    )
)]

/// N-dimensional arrays.
pub mod b2nd;
/// What makes chunks, and data of chunks.
pub mod coder;
/// Threads.
pub mod exec;
/// Chunks that are made block by block.
pub mod fill;
/// The super-chunk.
pub mod schunk;

pub use schunk::SuperChunk;
