//! Worker threads: threads of the system, with names.

use oxiblosc_base::Result;
use oxiblosc_base::memory::{Text, boxed};
pub use oxiblosc_base::system::thread::Thread;
use oxiblosc_base::system::thread::{Work, name_this};
use std::ffi::CStr;

/// What a new thread starts with.
struct Start<F> {
    number: usize,
    work: F,
}

impl<F: FnOnce() + Send + 'static> Work for Start<F> {
    fn run(self: Box<Self>) {
        let Self { number, work } = *self;
        // Linux allows at most 15 bytes.
        let name = Text::<16>::of(format_args!("blosc2-{number}")).with_nul();
        if let Ok(name) = CStr::from_bytes_until_nul(&name) {
            name_this(name);
        }
        work();
    }
}

/// Starts a thread called `blosc2-number` with a stack of `stack` bytes. If `work` panics, the
/// process is aborted.
///
/// # Errors
/// [`Error::MEMORY_ALLOC`](oxiblosc_base::Error::MEMORY_ALLOC);
/// [`Error::THREAD_CREATE`](oxiblosc_base::Error::THREAD_CREATE) if the system refuses.
pub fn start<F: FnOnce() + Send + 'static>(number: usize, stack: usize, work: F) -> Result<Thread> {
    Thread::start(stack, boxed(Start { number, work })?)
}
