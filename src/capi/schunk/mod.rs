//! The functions of super-chunks.

/// Readers and changes.
pub mod access;
/// Chunks against the header of their frame.
pub mod agree;
/// Chunks in and out.
pub mod chunks;
/// Copies, and super-chunks as buffers and files.
pub mod convert;
/// Making, opening and freeing.
pub mod create;
/// The struct behind the pointer.
pub mod handle;
/// Chunks of which only the front is in memory.
pub mod lazychunk;
/// Metalayers.
pub mod meta;
/// Parameters, order, locks.
pub mod misc;
/// Metalayers and parameters of the struct.
pub mod parts;
/// Chunks that are compressed again with other parameters.
pub mod recompress;
/// Chunks in the places of others.
pub mod replace;
/// Ranges of items and single items.
pub mod slices;
/// The library's copy of a program's parameters.
pub mod storage;
/// Which chunks a range is in.
pub mod touched;
