//! The functions of super-chunks.

/// Chunks in and out.
pub mod chunks;
/// Copies, and super-chunks as buffers and files.
pub mod convert;
/// Making, opening and freeing.
pub mod create;
/// The struct behind the pointer.
pub mod handle;
/// Metalayers.
pub mod meta;
/// The window on the state.
pub mod mirror;
/// Parameters, order, locks.
pub mod misc;
/// Parameters and contexts.
pub mod parts;
/// Ranges of items, and single items.
pub mod slices;
/// The library's copy of a program's parameters.
pub mod storage;
/// Which chunks a range is in.
pub mod touched;
