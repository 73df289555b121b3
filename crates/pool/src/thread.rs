//! Threads by the system's own calls: those of the standard library take memory that they must have.

use oxiblosc_error::{Error, Result};
use oxiblosc_memory::{Text, boxed};
use std::ffi::c_void;
use std::mem::MaybeUninit;

/// A thread that was started. It goes on where this is dropped; nobody can wait for it then.
pub struct Thread(Option<libc::pthread_t>);

// SAFETY: a `pthread_t` is a name that any thread may use, where it is not a number but a pointer, too.
unsafe impl Send for Thread {}

/// What a thread begins with.
struct Start<F> {
    number: usize,
    work: F,
}

impl Thread {
    /// Starts a thread called `blosc2-number`, with a stack of so many bytes. A panic of its work ends the process.
    ///
    /// # Errors
    /// [`Error::MemoryAlloc`]; [`Error::ThreadCreate`] where the system has no thread.
    pub fn start<F: FnOnce() + Send + 'static>(
        number: usize,
        stack: usize,
        work: F,
    ) -> Result<Self> {
        let start = Box::into_raw(boxed(Start { number, work })?);
        let mut thread = MaybeUninit::uninit();
        let mut attributes = MaybeUninit::uninit();
        // SAFETY: the attributes are initialised before they are used, and destroyed after. The new thread gets the
        // box's pointer and is its only owner.
        let refused = unsafe {
            if libc::pthread_attr_init(attributes.as_mut_ptr()) != 0 {
                drop(Box::from_raw(start));
                return Err(Error::MemoryAlloc);
            }
            // A system that does not take this size has one of its own.
            libc::pthread_attr_setstacksize(attributes.as_mut_ptr(), stack);
            let refused = libc::pthread_create(
                thread.as_mut_ptr(),
                attributes.as_ptr(),
                begin::<F>,
                start.cast(),
            );
            libc::pthread_attr_destroy(attributes.as_mut_ptr());
            refused
        };
        if refused != 0 {
            // SAFETY: there is no thread, so the box is still this function's.
            drop(unsafe { Box::from_raw(start) });
            return Err(Error::ThreadCreate);
        }
        // SAFETY: initialised by the call, which succeeded.
        Ok(Self(Some(unsafe { thread.assume_init() })))
    }

    /// Whether this is the thread that asks.
    pub fn is_this(&self) -> bool {
        // SAFETY: both are threads that were not joined yet.
        self.0
            .is_some_and(|thread| unsafe { libc::pthread_equal(thread, libc::pthread_self()) } != 0)
    }

    /// Waits for the thread's end.
    pub fn join(mut self) {
        if let Some(thread) = self.0.take() {
            // SAFETY: neither joined nor detached before: both take it out of here.
            unsafe { libc::pthread_join(thread, std::ptr::null_mut()) };
        }
    }
}

impl Drop for Thread {
    fn drop(&mut self) {
        if let Some(thread) = self.0.take() {
            // SAFETY: as in `join`.
            unsafe { libc::pthread_detach(thread) };
        }
    }
}

extern "C" fn begin<F: FnOnce()>(start: *mut c_void) -> *mut c_void {
    // SAFETY: from `start`, which gave the box to this thread alone.
    let start = *unsafe { Box::from_raw(start.cast::<Start<F>>()) };
    // The system's names have at most 15 bytes.
    let name = Text::<16>::of(format_args!("blosc2-{}", start.number)).with_nul();
    #[cfg(target_os = "linux")]
    // SAFETY: the name ends in 0; the thread is this one.
    unsafe {
        libc::pthread_setname_np(libc::pthread_self(), name.as_ptr().cast());
    }
    #[cfg(not(target_os = "linux"))]
    let _ = name;
    (start.work)();
    std::ptr::null_mut()
}
