//! Threads, and values of theirs. The standard library's threads allocate memory, and abort the
//! process if there is none.

use crate::error::{Error, Result};
use std::ffi::{CStr, c_void};
use std::ptr::null_mut;
use std::sync::OnceLock;
use windows_sys::Win32::Foundation::{CloseHandle, HANDLE};
use windows_sys::Win32::System::LibraryLoader::{
    GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS, GET_MODULE_HANDLE_EX_FLAG_PIN, GetModuleHandleExW,
};
use windows_sys::Win32::System::Threading::{
    CreateThread, FLS_OUT_OF_INDEXES, FlsAlloc, FlsGetValue, FlsSetValue, GetCurrentThread,
    GetCurrentThreadId, GetThreadId, INFINITE, STACK_SIZE_PARAM_IS_A_RESERVATION,
    SetThreadDescription, WaitForSingleObject,
};

/// What a thread does.
pub trait Work: Send + 'static {
    /// Does it. If it panics, the process is aborted.
    fn run(self: Box<Self>);
}

/// A thread that was started. If this is dropped, the thread goes on by itself.
pub struct Thread(HANDLE);

// SAFETY: a handle belongs to the process, and may be used by any of its threads.
unsafe impl Send for Thread {}

impl Thread {
    /// Starts a thread with a stack of `stack` bytes.
    ///
    /// # Errors
    /// [`Error::THREAD_CREATE`] if the system refuses.
    pub fn start<W: Work>(stack: usize, work: Box<W>) -> Result<Self> {
        stay_loaded();
        let work = Box::into_raw(work);
        // SAFETY: the new thread gets the pointer of the box and becomes its only owner.
        let thread = unsafe {
            CreateThread(
                std::ptr::null(),
                stack,
                Some(begin::<W>),
                work.cast(),
                STACK_SIZE_PARAM_IS_A_RESERVATION,
                null_mut(),
            )
        };
        if thread.is_null() {
            // SAFETY: no thread was started, so this function still owns the box.
            drop(unsafe { Box::from_raw(work) });
            return Err(Error::THREAD_CREATE);
        }
        Ok(Self(thread))
    }

    /// Whether this is the calling thread.
    pub fn is_this(&self) -> bool {
        // SAFETY: an open handle.
        unsafe { GetThreadId(self.0) == GetCurrentThreadId() }
    }

    /// Waits until the thread has ended.
    pub fn join(self) {
        // SAFETY: an open handle.
        unsafe { WaitForSingleObject(self.0, INFINITE) };
    }
}

impl Drop for Thread {
    fn drop(&mut self) {
        // SAFETY: an open handle, which nothing uses after this.
        unsafe { CloseHandle(self.0) };
    }
}

unsafe extern "system" fn begin<W: Work>(work: *mut c_void) -> u32 {
    // SAFETY: `Thread::start` got the pointer from a box of this type, and left it to this thread.
    unsafe { Box::from_raw(work.cast::<W>()) }.run();
    0
}

/// A number that no other thread of the process has as long as the calling one lives.
pub fn number() -> u64 {
    // SAFETY: the call takes nothing.
    u64::from(unsafe { GetCurrentThreadId() })
}

/// Gives the calling thread a name of at most 15 bytes.
pub fn name_this(name: &CStr) {
    let mut units = [0u16; 16];
    let ascii = name.to_bytes().iter().take(units.len() - 1);
    for (unit, byte) in units.iter_mut().zip(ascii) {
        *unit = u16::from(*byte);
    }
    // SAFETY: a text that ends, and this thread.
    unsafe { SetThreadDescription(GetCurrentThread(), units.as_ptr()) };
}

/// The processors that the process may use.
#[expect(clippy::disallowed_methods, reason = "it takes no memory here")]
pub fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, |count| count.get())
}

/// There are no signals to block.
pub struct SignalsBlocked;

impl SignalsBlocked {
    /// Does nothing.
    #[expect(
        clippy::new_without_default,
        reason = "nothing would make one by default"
    )]
    pub fn new() -> Self {
        Self
    }
}

/// Makes a call that writes: the system sends no signals here.
pub fn without_signals<T>(call: impl FnOnce() -> T) -> T {
    call()
}

/// Threads are not cancelled here.
pub struct NotCancelled;

impl NotCancelled {
    /// Does nothing.
    #[expect(
        clippy::new_without_default,
        reason = "nothing would make one by default"
    )]
    pub fn new() -> Self {
        Self
    }
}

/// The library stays loaded: threads run in it, or free their values by it when they end.
fn stay_loaded() {
    let own: fn() = stay_loaded;
    let flags = GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_PIN;
    let mut module = null_mut();
    // SAFETY: an address in this library or program, and room for a handle, which need not be given
    // back.
    unsafe { GetModuleHandleExW(flags, own as *const u16, &mut module) };
}

/// A pointer that each thread has of its own, null at first. When a thread ends, what its pointer
/// leads to is freed.
pub struct Key(OnceLock<Option<u32>>);

unsafe extern "system" fn free(value: *const c_void) {
    // SAFETY: `Key::set` was promised such a pointer.
    unsafe { libc::free(value.cast_mut()) };
}

impl Key {
    /// A key that is made when it is first used.
    pub const fn unmade() -> Self {
        Self(OnceLock::new())
    }

    /// The system's number of the key; none where the system has no more.
    fn get_or_create(&self) -> Option<u32> {
        *self.0.get_or_init(|| {
            stay_loaded();
            // SAFETY: the function stays where it is.
            let key = unsafe { FlsAlloc(Some(free)) };
            (key != FLS_OUT_OF_INDEXES).then_some(key)
        })
    }

    /// The pointer of this thread; none where there is no key.
    pub fn get(&'static self) -> Option<*mut c_void> {
        // SAFETY: any key will do.
        Some(unsafe { FlsGetValue(self.get_or_create()?) })
    }

    /// Sets the pointer of this thread; whether that could be done.
    ///
    /// # Safety
    /// The pointer is null, or came from `malloc`, and nothing frees what it leads to as long as it
    /// is set.
    pub unsafe fn set(&'static self, pointer: *mut c_void) -> bool {
        // SAFETY: a key of this process, and a pointer that `free` takes.
        self.get_or_create()
            .is_some_and(|key| unsafe { FlsSetValue(key, pointer) != 0 })
    }
}
