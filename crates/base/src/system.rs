//! The operating system: all that differs between kinds of systems, in a folder for each, `unix`
//! and `windows`. Both have the same modules, and the same items in them, so that no other crate
//! asks what it runs on.
//!
//! - `folder`: directories that are looked up once, and what is done with names in them
//! - `files`: paths and open files; `attributes`: extended attributes of these
//! - `exceptions`: C++ exceptions; `float`: the floating-point state of threads
//! - `locks`: locks between processes
//! - `map`: memory maps
//! - `streams`: the streams of the C library, which programs see
//! - `thread`: threads and values of theirs
//! - `process`: forks, and programs that are started
//! - `library`: libraries that are loaded
//! - `clock`: the clock of the timestamps; `random`: random numbers
//!
//! Paths are C strings here: the standard library makes copies of its paths, and ends the process
//! where there is no memory for one. On Windows a path is UTF-8, or in the code page of the process
//! if it cannot be UTF-8.

/// Extended attributes of open files.
pub mod attributes;
/// C++ exceptions that leave a function of the program.
pub mod exceptions;
/// The floating-point state of threads.
pub mod float;
mod map_mode;
/// Random numbers.
pub mod random;
mod region;
#[cfg(unix)]
mod unix;
#[cfg(unix)]
pub use unix::*;

#[cfg(windows)]
mod windows;
#[cfg(windows)]
pub use windows::*;
