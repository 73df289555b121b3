//! Threads by calls of pthreads. The standard library's threads allocate memory, and abort the process if there is none.

use oxiblosc_error::{Error, Result};
use oxiblosc_memory::{Text, boxed};
use std::ffi::c_void;
use std::mem::MaybeUninit;

/// A thread that was started. If this is dropped, the thread is detached.
pub struct Thread(Option<libc::pthread_t>);

// SAFETY: a `pthread_t` identifies a thread and may be used by any thread, even where it is a pointer.
unsafe impl Send for Thread {}

/// The arguments of a new thread.
struct Start<F> {
    number: usize,
    work: F,
}

impl Thread {
    /// Starts a thread called `blosc2-number` with a stack of `stack` bytes. If `work` panics, the process is aborted.
    ///
    /// # Errors
    /// [`Error::MemoryAlloc`]; [`Error::ThreadCreate`] if the system refuses.
    pub fn start<F: FnOnce() + Send + 'static>(
        number: usize,
        stack: usize,
        work: F,
    ) -> Result<Self> {
        let start = Box::into_raw(boxed(Start { number, work })?);
        let mut thread = MaybeUninit::uninit();
        let mut attributes = MaybeUninit::uninit();
        // SAFETY: the attributes are initialised before they are used, and destroyed afterwards. The new thread gets the pointer
        // of the box and becomes its only owner.
        let refused = unsafe {
            if libc::pthread_attr_init(attributes.as_mut_ptr()) != 0 {
                drop(Box::from_raw(start));
                return Err(Error::MemoryAlloc);
            }
            // If the system rejects this size, the thread gets the default size.
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
            // SAFETY: no thread was started, so this function still owns the box.
            drop(unsafe { Box::from_raw(start) });
            return Err(Error::ThreadCreate);
        }
        // SAFETY: `pthread_create` succeeded, so it initialised `thread`.
        Ok(Self(Some(unsafe { thread.assume_init() })))
    }

    /// Whether this is the calling thread.
    pub fn is_this(&self) -> bool {
        // SAFETY: neither thread has been joined or detached: `join` and `drop` take it out of here.
        self.0
            .is_some_and(|thread| unsafe { libc::pthread_equal(thread, libc::pthread_self()) } != 0)
    }

    /// Waits until the thread has ended.
    pub fn join(mut self) {
        if let Some(thread) = self.0.take() {
            // SAFETY: the thread was neither joined nor detached before: both take it out of here.
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
    // SAFETY: `Thread::start` got the pointer from a box of this type, and left it to this thread.
    let start = *unsafe { Box::from_raw(start.cast::<Start<F>>()) };
    // Linux allows at most 15 bytes.
    let name = Text::<16>::of(format_args!("blosc2-{}", start.number)).with_nul();
    #[cfg(target_os = "linux")]
    // SAFETY: the name is nul-terminated, and the thread is this one.
    unsafe {
        libc::pthread_setname_np(libc::pthread_self(), name.as_ptr().cast());
    }
    #[cfg(not(target_os = "linux"))]
    let _ = name;
    (start.work)();
    std::ptr::null_mut()
}
