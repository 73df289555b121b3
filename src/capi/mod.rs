//! The C border: every exported function, grouped as the headers are. A function checks its pointers, borrows what
//! they point to, calls the core and turns the result into a return code.

/// N-dimensional arrays.
pub mod b2nd;
/// What every exported function goes through.
pub mod border;
mod coder;
/// Compression.
pub mod compress;
/// The constants of the C headers.
pub mod constants;
/// Contexts.
pub mod context;
/// Decompression, whole or in part.
pub mod decompress;
/// Defaults of parameter structs.
pub mod defaults;
/// Threads.
pub mod exec;
/// Files and paths.
pub mod files;
/// The shuffles by themselves.
pub mod filters;
/// The functions without a context.
pub mod global;
mod hooks;
/// Positions in arrays.
pub mod indices;
/// What a chunk and the library say of themselves.
pub mod info;
/// Back ends for input and output.
pub mod io;
/// Files through a memory map.
pub mod mmap;
/// Registered codecs, filters and tuners.
pub mod registry;
/// Super-chunks.
pub mod schunk;
/// Chunks of special values.
pub mod special;
/// The types of the C headers.
#[allow(non_camel_case_types, reason = "a C type keeps its C name")]
pub mod types;

pub use compress::{blosc2_compress_ctx, blosc2_vlcompress_ctx};
