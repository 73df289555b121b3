//! Catches exceptions as the Itanium C++ ABI describes it.

use std::arch::naked_asm;
use std::ffi::{c_int, c_void};

/// The head of every exception.
#[repr(C, align(16))]
struct Exception {
    /// The language, and who implements it.
    class: u64,
    cleanup: Option<unsafe extern "C" fn(c_int, *mut Exception)>,
    private: [usize; 2],
}

/// Of Rust's own panics, in which the letters are in memory as they are here.
const RUST: u64 = u64::from_ne_bytes(*b"MOZ\0RUST");
/// Of the C++ of gcc and of clang. The last byte says whether several owners share the exception.
const CPP: [u64; 2] = [
    u64::from_be_bytes(*b"GNUCC++\0"),
    u64::from_be_bytes(*b"CLNGC++\0"),
];

/// The stack is searched for a function that catches the exception.
const SEARCH_PHASE: c_int = 1;
/// No exception, but the end of a thread, by `pthread_exit` or a cancellation.
const FORCE_UNWIND: c_int = 8;
/// Set in the address of what ends a thread.
const ENDS_THREAD: usize = 1;

const HANDLER_FOUND: c_int = 6;
const INSTALL_CONTEXT: c_int = 7;
const CONTINUE_UNWIND: c_int = 8;

unsafe extern "C" {
    fn _Unwind_SetGR(context: *mut c_void, register: c_int, value: usize);
    fn _Unwind_SetIP(context: *mut c_void, address: usize);
    fn _Unwind_DeleteException(exception: *mut Exception);
}

/// Decides for [`call`]: any exception is caught, by going on in [`landing`]. So is the end of a
/// thread, which would go on through functions that drop values; the standard library ends the
/// process at the first of them. The thread does not end then.
unsafe extern "C" fn personality(
    _version: c_int,
    actions: c_int,
    class: u64,
    exception: *mut Exception,
    context: *mut c_void,
) -> c_int {
    if class == RUST {
        return CONTINUE_UNWIND;
    }
    let thrown = match actions & FORCE_UNWIND {
        0 => exception,
        _ => exception.map_addr(|address| address | ENDS_THREAD),
    };
    if actions & SEARCH_PHASE != 0 {
        return HANDLER_FOUND;
    }
    // SAFETY: the unwinder passes its context, and restores the stack of `call`, which `landing`
    // expects. Register 0 is that of a function's result on both processors.
    unsafe {
        _Unwind_SetGR(context, 0, thrown as usize);
        _Unwind_SetIP(context, landing as *const () as usize);
    }
    INSTALL_CONTEXT
}

type Personality = unsafe extern "C" fn(c_int, c_int, u64, *mut Exception, *mut c_void) -> c_int;
/// The unwind table has the place of an address, so that it needs no relocation itself.
static PERSONALITY: Personality = personality;

/// Calls `function` with `data`. Returns null, or the exception that left it.
///
/// # Safety
/// `function` may be called with `data`.
#[unsafe(naked)]
unsafe extern "C-unwind" fn call(
    function: unsafe extern "C-unwind" fn(*mut c_void),
    data: *mut c_void,
) -> *mut Exception {
    #[cfg(target_arch = "x86_64")]
    naked_asm!(
        ".cfi_startproc",
        ".cfi_personality 0x9b, {personality}",
        "push rbp",
        ".cfi_def_cfa_offset 16",
        ".cfi_offset rbp, -16",
        "mov rbp, rsp",
        ".cfi_def_cfa_register rbp",
        "mov rax, rdi",
        "mov rdi, rsi",
        "call rax",
        "xor eax, eax",
        "pop rbp",
        ".cfi_def_cfa rsp, 8",
        "ret",
        ".cfi_endproc",
        personality = sym PERSONALITY,
    );
    #[cfg(target_arch = "aarch64")]
    naked_asm!(
        ".cfi_startproc",
        ".cfi_personality 0x9b, {personality}",
        "stp x29, x30, [sp, #-16]!",
        ".cfi_def_cfa_offset 16",
        ".cfi_offset w29, -16",
        ".cfi_offset w30, -8",
        "mov x29, sp",
        "mov x9, x0",
        "mov x0, x1",
        "blr x9",
        "mov x0, #0",
        "ldp x29, x30, [sp], #16",
        ".cfi_def_cfa_offset 0",
        "ret",
        ".cfi_endproc",
        personality = sym PERSONALITY,
    );
}

/// The end of [`call`] for an exception, which is in the register of the result.
#[unsafe(naked)]
unsafe extern "C-unwind" fn landing() {
    #[cfg(target_arch = "x86_64")]
    naked_asm!("pop rbp", "ret");
    #[cfg(target_arch = "aarch64")]
    naked_asm!("ldp x29, x30, [sp], #16", "ret");
}

/// Ends the life of an exception that was caught. What ends a thread belongs to the C library,
/// which takes a call of its cleanup for an error.
fn dispose(exception: *mut Exception) {
    if exception.addr() & ENDS_THREAD != 0 {
        return;
    }
    // SAFETY: `call` returned it.
    let class = unsafe { (*exception).class };
    if CPP.contains(&(class & !0xff)) {
        // C++ counts the uncaught exceptions. Its library is there if one was thrown.
        // SAFETY: the names are C strings.
        let [begin, end] = [c"__cxa_begin_catch", c"__cxa_end_catch"]
            .map(|name| unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) });
        if !begin.is_null() && !end.is_null() {
            // SAFETY: these are their types, and a handler calls them in this order.
            unsafe {
                let begin: unsafe extern "C" fn(*mut Exception) -> *mut c_void =
                    std::mem::transmute(begin);
                let end: unsafe extern "C-unwind" fn() = std::mem::transmute(end);
                begin(exception);
                end();
            }
            return;
        }
    }
    // SAFETY: nothing else has it.
    unsafe { _Unwind_DeleteException(exception) };
}

/// Calls a function. None if an exception left it, or it wanted to end the thread.
pub fn caught<T, F: FnOnce() -> T>(function: F) -> Option<T> {
    struct Call<F, T> {
        function: Option<F>,
        result: Option<T>,
    }
    unsafe extern "C-unwind" fn run<F: FnOnce() -> T, T>(data: *mut c_void) {
        // SAFETY: `caught` passes a `Call` of these types, which it does not use meanwhile.
        let call = unsafe { &mut *data.cast::<Call<F, T>>() };
        call.result = call.function.take().map(|function| function());
    }
    let mut data = Call {
        function: Some(function),
        result: None,
    };
    // SAFETY: `run` is for data of this type.
    let exception = unsafe { call(run::<F, T>, (&raw mut data).cast()) };
    if !exception.is_null() {
        dispose(exception);
    }
    data.result
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    unsafe extern "C-unwind" {
        fn _Unwind_RaiseException(exception: *mut Exception) -> c_int;
    }

    static DELETED: AtomicUsize = AtomicUsize::new(0);

    unsafe extern "C" fn delete(_reason: c_int, exception: *mut Exception) {
        // SAFETY: `throw` leaked it.
        drop(unsafe { Box::from_raw(exception) });
        DELETED.fetch_add(1, Ordering::Relaxed);
    }

    /// Throws an exception of an unknown language.
    fn throw() -> ! {
        let exception = Exception {
            class: u64::from_be_bytes(*b"TESTTEST"),
            cleanup: Some(delete),
            private: [0; 2],
        };
        // SAFETY: it lives until it is deleted.
        unsafe { _Unwind_RaiseException(Box::into_raw(Box::new(exception))) };
        panic!("nothing caught it");
    }

    #[test]
    fn exceptions_end_at_the_call() {
        let local = String::from("kept");
        assert_eq!(caught(|| local.len()), Some(4));
        for depth in 0..3 {
            let thrown = caught(|| {
                let dropped = depth.to_string();
                assert_eq!(caught(|| dropped.len()), Some(1));
                throw();
            });
            assert_eq!(thrown, None::<()>);
            assert_eq!(DELETED.load(Ordering::Relaxed), depth + 1);
        }
        assert_eq!(local, "kept");
    }

    #[test]
    fn panics_go_on() {
        let panicked = std::panic::catch_unwind(|| caught(|| panic!("on purpose")));
        assert!(panicked.is_err_and(|text| text.downcast_ref() == Some(&"on purpose")));
    }
}
