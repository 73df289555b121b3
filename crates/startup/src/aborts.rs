//! A program that is aborted ends with an exit code, and may first remove what is half done.
//!
//! The C library and Rust's runtime abort when they lack memory for something that they must have,
//! and when they find their own state broken. The signal for that is raised in the middle of
//! whatever the thread was doing, so its handler can do next to nothing: another thread, which
//! waits for signals, does it, while the handler waits.

use crate::FAILED;
use signal_hook::consts::SIGABRT;
use signal_hook::low_level;
use std::io;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

/// How often the handler waits for the other thread, and for how many nanoseconds each time: for
/// five seconds in all.
const WAITS: usize = 500;
const WAIT: libc::c_long = 10_000_000;

/// Whether another thread ends the program.
static WATCHED: AtomicBool = AtomicBool::new(false);

/// The line that is printed first; null if there is none. What it points to stays for ever.
static LINE: AtomicPtr<Vec<u8>> = AtomicPtr::new(null_mut());

/// Sets the line that an abort prints to standard error. It is never freed.
pub fn print_first(line: Vec<u8>) {
    LINE.store(Box::leak(Box::new(line)), Ordering::Release);
}

/// From now on an abort ends the program with an exit code. Uses system calls only.
pub(crate) fn prepare() {
    let handler: extern "C" fn(libc::c_int) = aborted;
    // SAFETY: the action is a plain structure, set up here; `aborted` is a handler of the kind that
    // the flags say.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler as libc::sighandler_t;
        action.sa_flags = libc::SA_ONSTACK;
        libc::sigemptyset(&raw mut action.sa_mask);
        libc::sigaction(libc::SIGABRT, &raw const action, null_mut());
    }
}

extern "C" fn aborted(_: libc::c_int) {
    // SAFETY: null, or from `Box::leak`, and not changed since it was stored.
    if let Some(line) = unsafe { LINE.load(Ordering::Acquire).as_ref() } {
        // SAFETY: the bytes of a vector. If they cannot be written, only the exit code is left.
        unsafe { libc::write(libc::STDERR_FILENO, line.as_ptr().cast(), line.len()) };
    }
    if !WATCHED.load(Ordering::Relaxed) {
        // SAFETY: it takes a number, and may be called in a handler.
        unsafe { libc::_exit(FAILED) }
    }
}

/// From now on an abort waits for another thread to end the program, for a few seconds. That thread
/// must be told by a handler that was registered with `signal_hook` before.
///
/// # Errors
/// The system's, if no handler can be registered.
pub fn wait_for_watcher() -> io::Result<()> {
    // SAFETY: the function makes system calls only, which are allowed in handlers.
    unsafe { low_level::register(SIGABRT, wait) }?;
    WATCHED.store(true, Ordering::Relaxed);
    Ok(())
}

fn wait() {
    let part = libc::timespec {
        tv_sec: 0,
        tv_nsec: WAIT,
    };
    for _ in 0..WAITS {
        // SAFETY: the time is a plain structure, and nothing is written back.
        unsafe { libc::nanosleep(&raw const part, null_mut()) };
    }
    // SAFETY: it takes a number.
    unsafe { libc::_exit(FAILED) }
}
