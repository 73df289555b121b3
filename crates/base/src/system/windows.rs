//! Windows, from 10 on.

/// The clock of the timestamps.
pub mod clock;
/// Paths and open files.
pub mod files;
/// Directories that are looked up once.
pub mod folder;
/// Libraries that are loaded.
pub mod library;
/// Locks between processes.
pub mod locks;
/// Memory maps.
pub mod map;
/// Forks, and programs that are started.
pub mod process;
/// The streams of the C library.
pub mod streams;
/// Threads and values of theirs.
pub mod thread;
mod wide;
