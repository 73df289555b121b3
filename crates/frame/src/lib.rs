//! Frames: chunks with an index, parameters and metalayers, in a buffer, a file or a directory.
//!
//! From the bottom up:
//! - [`meta`], [`header`], [`trailer`], [`offsets`]: the parts of the format, each
//!   parsed once into a checked type
//! - [`runs`]: very many offsets in little memory
//! - [`change`]: what can be done to the chunks
//! - [`fingerprint`]: checksums of these parts
//! - [`binding`]: a checksum of which chunk is where
//! - [`free_list`], [`journal`], `leftovers`: what makes changes of files cheap, and safe against
//!   being killed
//! - [`memory`]: a contiguous frame in a buffer
//! - [`disk`]: a frame in a file or a directory
//! - [`container`]: several frames in one file, one behind the other
//!
//! The formats are written down in the documents on contiguous and sparse frames.
#![forbid(unsafe_code)]
#![warn(missing_docs, clippy::missing_errors_doc)]
// These abort the process when an allocation fails. clippy.toml lists them and what to use instead.
#![cfg_attr(
    not(test),
    deny(
        clippy::disallowed_types,
        clippy::disallowed_methods,
        clippy::disallowed_macros
    )
)]

pub mod binding;
pub mod change;
pub mod container;
pub mod disk;
pub mod fingerprint;
pub mod free_list;
pub mod header;
mod index;
pub mod journal;
mod leftovers;
mod loaded;
pub mod memory;
pub mod meta;
mod msgpack;
pub mod offsets;
mod replace;
pub mod runs;
pub mod trailer;

#[cfg(test)]
mod tests;
