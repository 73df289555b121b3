//! The system's allocator, for programs that must end properly when there is not enough memory.

use crate::FAILED;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
#[cfg(unix)]
use std::io::ErrorKind::Interrupted;
use std::panic::catch_unwind;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// If there is no memory for as few bytes as this, the program ends. Nothing useful can be done
/// without them, and the collections of the standard library would abort. Larger requests fail,
/// which most of those who make them expect.
const MAX_VITAL: usize = 64 << 10;

/// The function of [`when_memory_lacks`].
static END: OnceLock<fn()> = OnceLock::new();

/// Whether a thread ends the program.
static ENDING: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// Whether it is this thread.
    static ENDS_HERE: Cell<bool> = const { Cell::new(false) };
}

/// The system's allocator. When a small request fails, the program ends as [`when_memory_lacks`]
/// says.
pub struct Allocator;

/// Sets what is done before the program ends for lack of memory. `end` is called by the thread
/// whose request failed, while others go on. It may allocate, and should first free something that
/// was kept for this. It must not wait for a lock, which this thread may hold.
pub fn when_memory_lacks(end: fn()) {
    END.get_or_init(|| end);
}

/// Writes bytes to standard error, as far as that is possible. Waits for no lock: that of the
/// standard library may be held by a thread that waits until the program has ended.
pub fn write_to_stderr(bytes: &[u8]) {
    #[cfg(unix)]
    {
        let mut rest = bytes;
        while !rest.is_empty() {
            // SAFETY: the bytes of a slice.
            let written =
                unsafe { libc::write(libc::STDERR_FILENO, rest.as_ptr().cast(), rest.len()) };
            let is_interrupted = || std::io::Error::last_os_error().kind() == Interrupted;
            match usize::try_from(written) {
                Ok(written) => rest = &rest[written..],
                Err(_) if is_interrupted() => {}
                Err(_) => return,
            }
        }
    }
    #[cfg(not(unix))]
    {
        use std::io::Write;
        let _ = std::io::stderr().write_all(bytes);
    }
}

/// Ends the program at once, without the functions that are registered for its end.
pub fn exit_now(code: i32) -> ! {
    #[cfg(unix)]
    // SAFETY: it takes a number, and does not return.
    unsafe {
        libc::_exit(code)
    }
    #[cfg(not(unix))]
    std::process::exit(code)
}

/// Called when there is no memory for `size` bytes.
#[cold]
fn lacking(size: usize) {
    let Some(end) = END.get().filter(|_| size <= MAX_VITAL) else {
        return;
    };
    if ENDS_HERE.get() {
        exit_now(FAILED);
    }
    if ENDING.swap(true, Ordering::SeqCst) {
        // The thread that ends the program needs what memory there is.
        loop {
            std::thread::sleep(Duration::from_secs(1));
        }
    }
    ENDS_HERE.set(true);
    // A panic must not leave an allocator.
    let _ = catch_unwind(end);
    exit_now(FAILED);
}

// SAFETY: all requests go to the system's allocator as they are, and its answers back. Between them
// nothing unwinds: `lacking` catches panics.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller promises.
        let created = unsafe { System.alloc(layout) };
        if created.is_null() {
            lacking(layout.size());
        }
        created
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller promises.
        let created = unsafe { System.alloc_zeroed(layout) };
        if created.is_null() {
            lacking(layout.size());
        }
        created
    }

    unsafe fn realloc(&self, old: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as the caller promises.
        let created = unsafe { System.realloc(old, layout, size) };
        if created.is_null() {
            lacking(size);
        }
        created
    }

    unsafe fn dealloc(&self, old: *mut u8, layout: Layout) {
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(old, layout) }
    }
}
