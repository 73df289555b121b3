//! Threads by calls of pthreads, and values of theirs. The standard library's threads allocate memory, and abort the process if
//! there is none.

use oxiblosc_error::{Error, Result};
use std::ffi::{CStr, c_void};
use std::mem::MaybeUninit;

/// What a thread does.
pub trait Work: Send + 'static {
    /// Does it. If it panics, the process is aborted.
    fn run(self: Box<Self>);
}

/// A thread that was started. If this is dropped, the thread is detached.
pub struct Thread(Option<libc::pthread_t>);

// SAFETY: a `pthread_t` identifies a thread and may be used by any thread, even where it is a pointer.
unsafe impl Send for Thread {}

impl Thread {
    /// Starts a thread with a stack of `stack` bytes.
    ///
    /// # Errors
    /// [`Error::MemoryAlloc`]; [`Error::ThreadCreate`] if the system refuses.
    pub fn start<W: Work>(stack: usize, work: Box<W>) -> Result<Self> {
        let work = Box::into_raw(work);
        let mut thread = MaybeUninit::uninit();
        let mut attributes = MaybeUninit::uninit();
        // SAFETY: the attributes are initialised before they are used, and destroyed afterwards. The new thread gets the pointer
        // of the box and becomes its only owner.
        let refused = unsafe {
            if libc::pthread_attr_init(attributes.as_mut_ptr()) != 0 {
                drop(Box::from_raw(work));
                return Err(Error::MemoryAlloc);
            }
            // If the system rejects this size, the thread gets the default size.
            libc::pthread_attr_setstacksize(attributes.as_mut_ptr(), stack);
            let refused = libc::pthread_create(
                thread.as_mut_ptr(),
                attributes.as_ptr(),
                begin::<W>,
                work.cast(),
            );
            libc::pthread_attr_destroy(attributes.as_mut_ptr());
            refused
        };
        if refused != 0 {
            // SAFETY: no thread was started, so this function still owns the box.
            drop(unsafe { Box::from_raw(work) });
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

extern "C" fn begin<W: Work>(work: *mut c_void) -> *mut c_void {
    // SAFETY: `Thread::start` got the pointer from a box of this type, and left it to this thread.
    unsafe { Box::from_raw(work.cast::<W>()) }.run();
    std::ptr::null_mut()
}

/// A number that no other thread of the process has as long as the calling one lives.
pub fn number() -> u64 {
    // SAFETY: the call takes nothing. What identifies a thread is a number or an address.
    (unsafe { libc::pthread_self() }) as u64
}

/// Gives the calling thread a name of at most 15 bytes, where threads have names.
pub fn name_this(name: &CStr) {
    #[cfg(target_os = "linux")]
    // SAFETY: a C string, and the thread is this one.
    unsafe {
        libc::pthread_setname_np(libc::pthread_self(), name.as_ptr());
    }
    #[cfg(not(target_os = "linux"))]
    let _ = name;
}

/// The processors that are on.
pub fn processors() -> usize {
    // SAFETY: the call takes a number and returns one.
    usize::try_from(unsafe { libc::sysconf(libc::_SC_NPROCESSORS_ONLN) }).unwrap_or(1)
}

/// Blocks signals on the current thread while it lives. Threads that are started meanwhile inherit the mask for good, so that the
/// host's signal handlers run on the host's own threads only. Signals by which the processor reports a fault of the running thread
/// stay unblocked, since a blocked one would kill the process even if the host has a handler.
pub struct SignalsBlocked {
    before: libc::sigset_t,
    /// It belongs to the thread that made it.
    _here: std::marker::PhantomData<*const ()>,
}

impl SignalsBlocked {
    /// Blocks them.
    #[expect(
        clippy::new_without_default,
        reason = "nothing would make one by default"
    )]
    pub fn new() -> Self {
        let mut block = MaybeUninit::uninit();
        let mut before = MaybeUninit::uninit();
        // SAFETY: `sigfillset` initialises `block` before the other calls use it. `pthread_sigmask` cannot fail with valid
        // arguments, and initialises `before`.
        let before = unsafe {
            libc::sigfillset(block.as_mut_ptr());
            for fault in [
                libc::SIGSEGV,
                libc::SIGBUS,
                libc::SIGFPE,
                libc::SIGILL,
                libc::SIGTRAP,
                libc::SIGSYS,
            ] {
                libc::sigdelset(block.as_mut_ptr(), fault);
            }
            libc::pthread_sigmask(libc::SIG_SETMASK, block.as_ptr(), before.as_mut_ptr());
            before.assume_init()
        };
        Self {
            before,
            _here: std::marker::PhantomData,
        }
    }
}

impl Drop for SignalsBlocked {
    fn drop(&mut self) {
        // SAFETY: `new` got `before` as the mask of this thread, which it does not leave.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &self.before, std::ptr::null_mut()) };
    }
}

/// Frees a value when its thread ends. This is the system's function itself: a thread may outlive this library.
#[cfg(not(miri))]
const FREE: unsafe extern "C" fn(*mut c_void) = libc::free;

/// Miri ends a thread with compiled functions only.
#[cfg(miri)]
const FREE: unsafe extern "C" fn(*mut c_void) = {
    unsafe extern "C" fn free(value: *mut c_void) {
        // SAFETY: the caller promises what `free` requires.
        unsafe { libc::free(value) }
    }
    free
};

/// A pointer that each thread has of its own, null at first. When a thread ends, what its pointer leads to is freed.
#[derive(Clone, Copy)]
pub struct Key(libc::pthread_key_t);

impl Key {
    /// A new one; none where the system has no more.
    pub fn new() -> Option<Self> {
        let mut key = 0;
        // SAFETY: the key is written; `FREE` takes what `set` was promised.
        let rc = unsafe { libc::pthread_key_create(&raw mut key, Some(FREE)) };
        (rc == 0).then_some(Self(key))
    }

    /// The pointer of this thread.
    #[inline]
    pub fn get(self) -> *mut c_void {
        // SAFETY: any key will do.
        unsafe { libc::pthread_getspecific(self.0) }
    }

    /// Sets the pointer of this thread; whether that could be done.
    ///
    /// # Safety
    /// The pointer is null, or came from `malloc`, and nothing frees what it leads to as long as it is set.
    pub unsafe fn set(self, pointer: *mut c_void) -> bool {
        // SAFETY: a key of this process, and a pointer that `FREE` takes.
        unsafe { libc::pthread_setspecific(self.0, pointer) == 0 }
    }
}
