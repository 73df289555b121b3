//! The super-chunk: chunks in order, in memory, in a file or in a directory.
//!
//! - [`superchunk`]: [`SuperChunk`], its readers and its changes
//! - [`state`]: what it is, and what a change makes of that; [`Parameters`]: how its chunks are compressed; [`store`]: where the chunks are
//! - [`chunks`], [`ranges`], [`sparse`], [`special`], [`metalayers`]: what can be read and changed
//! - [`open`]: super-chunks of Rust programs; [`save`]: as bytes and as files
//! - [`copy`], [`recompress`]: copies; [`lazy`]: chunks of which only the front is in memory
//! - [`parsed`]: a chunk wherever it is, ready to be read
//! - [`rules`]: what a change does to the counters, and whether it may be made
//! - [`transaction`]: changes that are committed together; [`staged`]: the chunks meanwhile
//! - [`windows`]: where a program sees metalayers
//! - [`slices`]: which bytes of which chunks a range of items is

/// Checksums.
pub mod checksums;
/// Chunks in and out.
pub mod chunks;
/// Copies.
pub mod copy;
/// Chunks of which only the front is in memory.
pub mod lazy;
/// Metalayers.
pub mod metalayers;
/// Super-chunks of Rust programs.
pub mod open;
/// Chunks while something is done with them.
pub mod parsed;
/// Ranges of items, read and written.
pub mod ranges;
/// Chunks that are compressed again with other parameters.
pub mod recompress;
/// Counters, and what changes do to them.
pub mod rules;
/// Super-chunks as bytes and as files.
pub mod save;
/// Which bytes a range is.
pub mod slices;
/// Single items.
pub mod sparse;
/// Chunks of special values.
pub mod special;
/// Chunks in a transaction.
pub mod staged;
/// The state.
pub mod state;
/// Where chunks are kept.
pub mod store;
/// The super-chunk.
pub mod superchunk;
/// Changes that are committed together.
pub mod transaction;
/// Where a program sees metalayers.
pub mod windows;

pub use chunks::WholeChunk;
pub use oxiblosc_frame::parameters::Parameters;
pub use state::State;
pub use store::{ChunkStore, ChunkUpdate, Location, Update};
pub use superchunk::{Changing, Peek, Reading, SuperChunk};
pub use transaction::Transaction;
