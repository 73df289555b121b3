//! The tool `b2`, run as a person runs it.

mod archives;
mod arrays;
mod commands;
mod damage;
mod damage_files;
mod damage_table;
mod damaged_copies;
// Preloads a library before the C library, which only works with the GNU loader and a program that
// is linked dynamically.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod exchanged;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod faults;
mod headers;
mod hostile;
mod messages;
#[cfg(unix)]
mod pipes;
mod safety;
mod stores;
mod support;
// Preloads a library before the C library, which only works with the GNU loader and a program that
// is linked dynamically.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod synced;
#[cfg(unix)]
mod unix;
#[cfg(unix)]
mod unwritten;
mod verdicts;
