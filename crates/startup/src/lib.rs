//! How a program starts, and how it ends when it cannot go on.
//!
//! - whether standard input and output were closed when it started
//! - [`Allocator`]: ends it properly when there is not enough memory
//! - [`aborts`]: ends it with an exit code, and not with a signal, when it is aborted
//!
//! Before `main` Rust's runtime opens `/dev/null` in place of a closed standard stream, so that no
//! file gets its number. After that writes are lost, reads find nothing, and neither is an error.
//! This crate looks before the runtime does, in a function that the loader calls, and opens
//! something instead that can neither be read nor written. Only programs use it, and not the
//! library, which must not change the streams of the programs that load it.
#![warn(missing_docs, clippy::missing_errors_doc)]
#![warn(clippy::undocumented_unsafe_blocks)]

#[cfg(unix)]
pub mod aborts;
mod allocator;

pub use allocator::{Allocator, exit_now, when_memory_lacks, write_to_stderr};

/// The exit code of a program that could not go on: that of `b2` for a command that could not be
/// done.
pub const FAILED: i32 = 2;

/// Whether standard input was closed when the program started. Never on Windows, where nothing is
/// opened in its place.
pub fn stdin_was_closed() -> bool {
    kind::was_closed(0)
}

/// As [`stdin_was_closed`], for standard output.
pub fn stdout_was_closed() -> bool {
    kind::was_closed(1)
}

#[cfg(unix)]
mod kind {
    use libc::c_int;
    use std::sync::atomic::{AtomicBool, Ordering};

    /// Whether each descriptor was closed, by its number.
    static CLOSED: [AtomicBool; 2] = [const { AtomicBool::new(false) }; 2];

    // SAFETY: the section is a list of functions of this type, which the loader calls one after the
    // other before `main`.
    #[used]
    #[cfg_attr(
        target_vendor = "apple",
        unsafe(link_section = "__DATA,__mod_init_func")
    )]
    #[cfg_attr(not(target_vendor = "apple"), unsafe(link_section = ".init_array"))]
    static LOOK: extern "C" fn() = look;

    /// Runs before the runtime is set up, so it uses system calls only.
    extern "C" fn look() {
        crate::aborts::prepare();
        for (descriptor, closed) in CLOSED.iter().enumerate() {
            // SAFETY: the arguments are numbers. The first call fails only for a descriptor that is
            // not open. The second one opens the lowest free descriptor, which is this one. An
            // unconnected socket can neither be read nor written, nor opened as `/dev/stdout`. If
            // that fails the runtime opens `/dev/null`.
            unsafe {
                if libc::fcntl(descriptor as c_int, libc::F_GETFD) < 0 {
                    closed.store(true, Ordering::Relaxed);
                    libc::socket(libc::AF_UNIX, libc::SOCK_STREAM, 0);
                }
            }
        }
    }

    pub fn was_closed(descriptor: usize) -> bool {
        CLOSED[descriptor].load(Ordering::Relaxed)
    }
}

#[cfg(windows)]
mod kind {
    pub fn was_closed(_descriptor: usize) -> bool {
        false
    }
}
