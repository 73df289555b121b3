//! Standard streams that a program was started without.
//!
//! Before `main` the runtime of Rust opens `/dev/null` in place of a standard stream that is closed, so that no file gets its number.
//! After that what is written there is lost, what is read there is empty, and nothing tells. So this looks before the runtime does, from
//! the list of functions that the loader calls, and puts something there that no byte goes through. It is a crate of its own for
//! programs: the library, which is loaded into programs of others, does without it.
#![warn(clippy::undocumented_unsafe_blocks)]

/// Whether standard input was closed when the program started. On Windows, where nothing is opened in its place, never.
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

    /// By the number of the descriptor.
    static CLOSED: [AtomicBool; 2] = [const { AtomicBool::new(false) }; 2];

    // SAFETY: the section is a list of functions of this type, which the loader calls one after the other before `main`.
    #[used]
    #[cfg_attr(
        target_vendor = "apple",
        unsafe(link_section = "__DATA,__mod_init_func")
    )]
    #[cfg_attr(not(target_vendor = "apple"), unsafe(link_section = ".init_array"))]
    static LOOK: extern "C" fn() = look;

    /// Needs nothing of what the runtime has yet to set up.
    extern "C" fn look() {
        for (descriptor, closed) in CLOSED.iter().enumerate() {
            // SAFETY: numbers. The first call fails for a descriptor that is not open, and for no other. The second one opens the lowest
            // that is not, which is this one: a socket without another end, through which nothing can be read or written, and which
            // cannot be opened as `/dev/stdout`. If it fails the runtime opens what it does.
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
