//! The super-chunk: chunks in order, in memory, in a file or in a directory.
//!
//! - `superchunk`: `SuperChunk`, its readers and its changes
//! - `state`: its counters, parameters, metalayers and chunks; `Parameters`: how its chunks are
//!   compressed; `store`: where the chunks are, also those of a transaction; `layers`: the lists of
//!   metalayers
//! - `chunks`, `items`, `special`, `metalayers`: what can be read and changed; `ranges`, `sparse`,
//!   `rewrite`: how items are read and written
//! - `open`: creating and opening super-chunks in Rust programs; `save`: conversion to bytes and
//!   files
//! - `host`: what belongs to the program: contexts, and a window on the state
//! - `copy`, `recompress`: copies
//! - `parsed`: a parsed chunk, whether it is in memory or in a file
//! - `rules`: what a change does to the counters, and whether it may be made
//! - `transaction`: changes that are committed together
//! - `windows`: buffers in which C programs see metalayers
//! - `slices`: which bytes of which chunks a range of items is

/// Checksums.
pub mod checksums;
/// Reading and changing whole chunks.
pub mod chunks;
/// Copies.
pub mod copy;
/// Reading and writing items.
pub mod items;
mod layers;
/// Lazy chunks.
pub mod lazy;
/// Metalayers.
pub mod metalayers;
/// Creating and opening super-chunks in Rust programs.
pub mod open;
/// Parsed chunks, in memory or in a file.
pub mod parsed;
/// Reading ranges of bytes.
pub mod ranges;
/// Compressing chunks again with other parameters.
pub mod recompress;
mod rewrite;
/// Counters, and what changes do to them.
pub mod rules;
/// Conversion of super-chunks to bytes and files.
pub mod save;
/// Which bytes of which chunks a range of items is.
pub mod slices;
mod sparse;
/// Chunks of special values.
pub mod special;
/// The state.
pub mod state;
/// Where chunks are kept.
pub mod store;
/// The super-chunk.
pub mod superchunk;
/// Changes that are committed together.
pub mod transaction;
/// Buffers in which C programs see metalayers.
pub mod windows;

pub use chunks::WholeChunk;
pub use oxiblosc_chunk::parameters::Parameters;
pub use state::{State, host};
pub use store::{ChunkStore, ChunkUpdate, Location, Update};
pub use superchunk::{Changing, Peek, Reading, SuperChunk};
pub use transaction::Transaction;
