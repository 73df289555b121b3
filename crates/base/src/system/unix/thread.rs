//! Threads by calls of pthreads, and values of theirs. The standard library's threads allocate
//! memory, and abort the process if there is none.

use crate::error::{Error, Result};
use std::ffi::{CStr, c_int, c_void};
use std::mem::MaybeUninit;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

/// What a thread does.
pub trait Work: Send + 'static {
    /// Does it. If it panics, the process is aborted.
    fn run(self: Box<Self>);
}

/// A thread that was started. If this is dropped, the thread is detached.
pub struct Thread(Option<libc::pthread_t>);

// SAFETY: a `pthread_t` identifies a thread and may be used by any thread, even where it is a
// pointer.
unsafe impl Send for Thread {}

impl Thread {
    /// Starts a thread with a stack of `stack` bytes.
    ///
    /// # Errors
    /// [`Error::MEMORY_ALLOC`]; [`Error::THREAD_CREATE`] if the system refuses.
    pub fn start<W: Work>(stack: usize, work: Box<W>) -> Result<Self> {
        let work = Box::into_raw(work);
        let mut thread = MaybeUninit::uninit();
        let mut attributes = MaybeUninit::uninit();
        // SAFETY: the attributes are initialised before they are used, and destroyed afterwards.
        // The new thread gets the pointer of the box and becomes its only owner.
        let refused = unsafe {
            if libc::pthread_attr_init(attributes.as_mut_ptr()) != 0 {
                drop(Box::from_raw(work));
                return Err(Error::MEMORY_ALLOC);
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
            return Err(Error::THREAD_CREATE);
        }
        // SAFETY: `pthread_create` succeeded, so it initialised `thread`.
        Ok(Self(Some(unsafe { thread.assume_init() })))
    }

    /// Whether this is the calling thread.
    pub fn is_this(&self) -> bool {
        // SAFETY: neither thread has been joined or detached: `join` and `drop` take it out of
        // here.
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
    // For good: nothing but what it calls knows this thread.
    std::mem::forget(NotCancelled::new());
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

/// Blocks signals on the current thread while it lives. Threads that are started meanwhile inherit
/// the mask for good, so that the host's signal handlers run on the host's own threads only.
/// Signals by which the processor reports a fault of the running thread stay unblocked, since a
/// blocked one would kill the process even if the host has a handler.
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
        // SAFETY: `sigfillset` initialises `block` before the other calls use it. `pthread_sigmask`
        // cannot fail with valid arguments, and initialises `before`.
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

/// Makes a call that writes, and takes back the signals that the system sends for such calls, of
/// which the call returns an error as well: those for a pipe that nothing reads, and for a file
/// that is longer than the process may write.
pub fn without_signals<T>(call: impl FnOnce() -> T) -> T {
    const SENT: [c_int; 2] = [libc::SIGPIPE, libc::SIGXFSZ];
    let (mut block, mut before) = (MaybeUninit::uninit(), MaybeUninit::uninit());
    // SAFETY: a set is initialised before it is used, and calls that get valid sets and signals
    // cannot fail. A signal that is waited for is pending, and blocked on this thread.
    unsafe {
        let pending = || {
            let mut set = MaybeUninit::uninit();
            libc::sigpending(set.as_mut_ptr());
            SENT.map(|signal| libc::sigismember(set.as_ptr(), signal) == 1)
        };
        libc::sigemptyset(block.as_mut_ptr());
        for signal in SENT {
            libc::sigaddset(block.as_mut_ptr(), signal);
        }
        libc::pthread_sigmask(libc::SIG_BLOCK, block.as_ptr(), before.as_mut_ptr());
        let earlier = pending();
        let result = call();
        for ((signal, earlier), now) in SENT.into_iter().zip(earlier).zip(pending()) {
            if now && !earlier {
                let mut one = MaybeUninit::uninit();
                libc::sigemptyset(one.as_mut_ptr());
                libc::sigaddset(one.as_mut_ptr(), signal);
                libc::sigwait(one.as_ptr(), &mut 0);
            }
        }
        libc::pthread_sigmask(libc::SIG_SETMASK, before.as_ptr(), std::ptr::null_mut());
        result
    }
}

#[cfg(not(target_os = "android"))]
unsafe extern "C" {
    fn pthread_setcancelstate(state: c_int, before: *mut c_int) -> c_int;
}

/// The calling thread is not cancelled while this lives: a cancellation stays pending. It would
/// unwind the stack without giving back what the library has locked, which ends the process at the
/// first function that drops a value.
pub struct NotCancelled {
    #[cfg(not(target_os = "android"))]
    before: c_int,
    /// It belongs to the thread that made it.
    _here: std::marker::PhantomData<*const ()>,
}

impl NotCancelled {
    /// From now on.
    #[inline]
    #[expect(
        clippy::new_without_default,
        reason = "nothing would make one by default"
    )]
    pub fn new() -> Self {
        #[cfg(not(target_os = "android"))]
        let before = {
            /// `PTHREAD_CANCEL_DISABLE`, whose number is each system's own.
            const DISABLE: c_int = if cfg!(target_vendor = "apple") { 0 } else { 1 };
            let mut before = 0;
            // SAFETY: a state, and room for one.
            unsafe { pthread_setcancelstate(DISABLE, &mut before) };
            before
        };
        Self {
            #[cfg(not(target_os = "android"))]
            before,
            _here: std::marker::PhantomData,
        }
    }
}

#[cfg(not(target_os = "android"))]
impl Drop for NotCancelled {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: the state that this thread had.
        unsafe { pthread_setcancelstate(self.before, &mut 0) };
    }
}

/// Frees a value when its thread ends. This is the system's function itself: a thread may outlive
/// this library.
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

/// A pointer that each thread has of its own, null at first. When a thread ends, what its pointer
/// leads to is freed.
pub struct Key {
    /// Not asked for yet, none, or the system's number and [`Self::FIRST`].
    state: AtomicU64,
    /// The key that was made before this one.
    next: AtomicPtr<Self>,
}

/// The key that was made last.
static LAST_KEY: AtomicPtr<Key> = AtomicPtr::new(null_mut());

/// Gives back all keys when the library is unloaded, or the process ends, and what the calling
/// thread has under them.
extern "C" fn give_back() {
    let mut created = LAST_KEY.load(Ordering::Acquire);
    // SAFETY: the keys in the list are statics.
    while let Some(key) = unsafe { created.as_ref() } {
        created = key.next.load(Ordering::Relaxed);
        if let Some(key) = Key::number(key.state.swap(Key::NONE, Ordering::AcqRel)) {
            // SAFETY: as `set` was promised, the pointer is null or from `malloc`, and no call of
            // the library is going on in this thread.
            unsafe {
                libc::free(libc::pthread_getspecific(key));
                libc::pthread_key_delete(key);
            }
        }
    }
}

impl Key {
    const UNKNOWN: u64 = 0;
    const NONE: u64 = 1;
    const FIRST: u64 = 2;

    /// A key that is made when it is first used, and given back when the library is unloaded.
    pub const fn unmade() -> Self {
        Self {
            state: AtomicU64::new(Self::UNKNOWN),
            next: AtomicPtr::new(null_mut()),
        }
    }

    #[inline]
    fn number(state: u64) -> Option<libc::pthread_key_t> {
        let number = state.checked_sub(Self::FIRST)?;
        Some(number as libc::pthread_key_t)
    }

    /// The system's number of the key; none where the system has no more.
    #[inline]
    fn get_or_create(&'static self) -> Option<libc::pthread_key_t> {
        Self::number(match self.state.load(Ordering::Acquire) {
            Self::UNKNOWN => self.make(),
            known => known,
        })
    }

    /// Makes the key, and returns the state.
    #[cold]
    fn make(&'static self) -> u64 {
        let mut key = 0;
        // SAFETY: the key is written; `FREE` takes what `set` was promised.
        let created = match unsafe { libc::pthread_key_create(&raw mut key, Some(FREE)) } {
            0 => Self::FIRST + u64::from(key),
            _ => Self::NONE,
        };
        let (order, failed) = (Ordering::AcqRel, Ordering::Acquire);
        let known = self
            .state
            .compare_exchange(Self::UNKNOWN, created, order, failed);
        match (known, created) {
            (Ok(_), Self::NONE) => {}
            (Ok(_), _) => {
                let this = (&raw const *self).cast_mut();
                let mut before = LAST_KEY.load(Ordering::Relaxed);
                loop {
                    self.next.store(before, Ordering::Relaxed);
                    match LAST_KEY.compare_exchange(before, this, order, failed) {
                        Ok(_) => break,
                        Err(other) => before = other,
                    }
                }
                if before.is_null() {
                    // SAFETY: the function may be called at any time. Where the C library has no
                    // memory for it, the keys stay.
                    unsafe { libc::atexit(give_back) };
                }
            }
            (Err(known), created) => {
                if let Some(key) = Self::number(created) {
                    // SAFETY: made above, and known to nothing else.
                    unsafe { libc::pthread_key_delete(key) };
                }
                return known;
            }
        }
        created
    }

    /// The pointer of this thread; none where there is no key.
    #[inline]
    pub fn get(&'static self) -> Option<*mut c_void> {
        // SAFETY: any key will do.
        Some(unsafe { libc::pthread_getspecific(self.get_or_create()?) })
    }

    /// Sets the pointer of this thread; whether that could be done.
    ///
    /// # Safety
    /// The pointer is null, or came from `malloc`, and nothing frees what it leads to as long as it
    /// is set.
    pub unsafe fn set(&'static self, pointer: *mut c_void) -> bool {
        // SAFETY: a key of this process, and a pointer that `FREE` takes.
        self.get_or_create()
            .is_some_and(|key| unsafe { libc::pthread_setspecific(key, pointer) == 0 })
    }
}
