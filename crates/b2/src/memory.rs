//! How the tool ends when there is no memory for even the smallest things.
//!
//! Larger requests for memory are errors like others. But the standard library aborts if it lacks
//! some bytes, so the allocator ends the tool before, with a message and an exit code, and without
//! temporary files.

use crate::failure::NO_MEMORY;
#[cfg(unix)]
use crate::print::one_line;
use crate::print::print_error_about;
use crate::reserve;
use crate::scratch;
use oxiblosc_base::memory::lock;
#[cfg(unix)]
use oxiblosc_startup::aborts;
use oxiblosc_startup::{FAILED, exit_now, when_memory_lacks};
use std::path::Path;
use std::sync::Mutex;

/// The name of what the tool reads.
static INPUT: Mutex<String> = Mutex::new(String::new());

/// Keeps some memory for the end. To be called first. Ends the tool if there is less.
pub fn prepare() {
    if !reserve::keep() {
        say(NO_MEMORY);
        exit_now(FAILED);
    }
    when_memory_lacks(end);
    // The standard library makes the handle of a thread without this allocator. That of this thread
    // it makes here.
    let _ = std::thread::current();
}

/// From now on messages about lack of memory name this.
pub fn reads(input: &Path) {
    let input = input.display().to_string();
    #[cfg(unix)]
    aborts::print_first(format!("b2: {}: could not be done\n", one_line(&input)).into_bytes());
    *lock(&INPUT) = input;
}

/// Prints that there is not enough memory, and removes all temporary folders. Waits for no lock
/// that this thread may hold.
pub fn end() {
    reserve::release();
    say(NO_MEMORY);
    scratch::try_end();
}

/// Prints a message about the input. Waits for no lock, and allocates nothing.
pub fn say(text: &str) {
    match INPUT.try_lock() {
        Ok(input) => print_error_about(&input, text),
        Err(_) => print_error_about("", text),
    }
}
