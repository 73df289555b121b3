//! Blosc2 in Rust, behind the C ABI of `libblosc2.so.9`.
//!
//! Layers point one way: `capi` -> `b2nd` -> `schunk` -> `frame` -> `io`; all of these but `io` use `chunk` -> `codec`, `filter`,
//! `tune`, `pool`. `docs/architecture.md` has more. Only `capi` sees a raw pointer from a caller; everything below works on slices and
//! checked types, and returns [`error::Error`], whose numbers are the C return codes.
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

/// The error codes of the C API.
pub mod error;

/// N-dimensional arrays.
pub mod b2nd;
/// Every `extern "C"` function, grouped as the headers are.
pub mod capi;
/// Blocks of arrays, and the cells that filters and codecs cut them into.
pub mod cells;
/// The chunk format: header, plan, engine.
pub mod chunk;
/// Codecs: one file each, behind one interface.
pub mod codec;
/// Filters: one folder or file each.
pub mod filter;
/// Frames: chunks with an index, in a buffer, a file or a directory.
pub mod frame;
/// Input and output: files, memory maps, and what any other back end must give.
pub mod io;
/// Memory that C may come to own.
pub mod memory;
/// Libraries that are loaded when they are needed.
pub mod plugin;
/// Worker threads shared by every context of the same size.
pub mod pool;
/// The super-chunk.
pub mod schunk;
/// Block sizes and splits.
pub mod tune;

/// What tests of modules need, as those of the whole library do.
#[cfg(test)]
#[path = "../tests/common/needs.rs"]
mod needs;
