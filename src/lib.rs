//! Blosc2 in Rust, behind the C ABI of `libblosc2.so.9`.
//!
//! The library itself is in the crates of `crates/`, layer by layer (`docs/architecture.md`). This
//! crate is its border: only here is there a raw pointer from a caller. Everything below works on
//! slices and checked types, and returns [`oxiblosc_base::Error`], whose numbers are the C return
//! codes.
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

/// Every `extern "C"` function, grouped as the headers are.
pub mod capi;
