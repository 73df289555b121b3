//! Blosc2 for Rust programs.
//!
//! - [`Compressor`] compresses data into chunks and [`Decompressor`] decompresses them, with
//!   [`CParams`] and [`DParams`]
//! - [`SuperChunk`]: chunks in order, with metalayers, in memory, in a file or in a directory
//!   ([`StorageParams`])
//! - [`Array`]: an n-dimensional array
//!
//! All of them may be shared by threads: reading takes a shared reference, and so does changing;
//! changes wait for each other. No input makes them panic. Errors are those of the C API
//! ([`Error`]). Results are in a [`Buffer`] or a [`TryVec`], which dereference to slices: growing
//! them returns an error where a vector would abort the process.
//!
//! ```no_run
//! use oxiblosc::{CParams, Place, StorageParams, SuperChunk, codec};
//! use std::path::Path;
//!
//! fn main() -> Result<(), oxiblosc::Error> {
//!     let numbers: Vec<u8> = (0..1_000_000i32).flat_map(|i| (i / 3).to_le_bytes()).collect();
//!     let cparams = CParams { typesize: 4, codec: codec::ZSTD, nthreads: 2, ..CParams::default() };
//!     let place = Place::File(Path::new("numbers.b2frame"));
//!
//!     let schunk = SuperChunk::create(StorageParams { place, cparams, ..StorageParams::default() })?;
//!     schunk.append_data(&numbers)?;
//!     let mut some = [0; 4000];
//!     schunk.read_bytes(2_000_000..2_004_000, &mut some)?;
//!     assert_eq!(some, numbers[2_000_000..2_004_000]);
//!     Ok(())
//! }
//! ```
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

/// N-dimensional arrays.
pub mod b2nd;
pub mod codec;
/// Contexts.
pub mod context;
/// Decompression with a context.
pub mod decoding;
/// Compression with a context.
pub mod encoding;
/// Environment variables.
pub mod environment;
/// Threads.
pub mod exec;
/// Chunks that are made block by block.
pub mod fill;
pub mod filter;
pub mod format;
/// Chunks of which only the front is in memory.
pub mod lazy;
/// The shapes of arrays.
pub mod ndim;
/// Parameters.
pub mod params;
/// The settings of the process.
pub mod process;
/// Registered codecs, filters and tuners.
pub mod registry;
/// The super-chunk.
pub mod schunk;
pub mod storage;

pub use b2nd::owned::{Array, Chunking, Initial, Layout, View};
pub use context::{Compressor, Decompressor};
pub use ndim::shape::Shape;
pub use oxiblosc_base::memory::{Buffer, TryVec};
pub use oxiblosc_base::{Doing, Error, ErrorKind, Result};
pub use oxiblosc_chunk::header::Special;
/// Codecs, filters and tuners in libraries of their own.
pub use oxiblosc_plugin as plugin;
pub use params::{CParams, DParams, Split};
pub use schunk::chunks::Position;
pub use schunk::open::{Place, Protection, StorageParams};
pub use schunk::special::NewChunks;
pub use schunk::{SuperChunk, Transaction};
