//! Libraries that are loaded.

use std::ffi::{CStr, c_void};

/// What stands before and behind the name of a plugin in the name of its library.
pub const PLUGIN: (&str, &str) = ("libblosc2_", ".so");

/// Opens a library by name or path; null where there is none. It runs what the library does when it
/// is loaded.
pub fn open(path: &CStr) -> *mut c_void {
    // SAFETY: a C string. What its initialisers do is the library's own affair; it is asked for by
    // name.
    unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW) }
}

/// Tells why [`open`] has just failed on this thread, if that is known.
pub fn explain(tell: impl FnOnce(&CStr)) {
    // SAFETY: a message, if there is one, is a C string of the loader's, valid until its next one
    // on this thread.
    let message = unsafe {
        let message = libc::dlerror();
        (!message.is_null()).then(|| CStr::from_ptr(message))
    };
    if let Some(message) = message {
        tell(message);
    }
}

/// The address of what a library exports; null where it does not.
///
/// # Safety
/// An open library.
pub unsafe fn symbol(library: *mut c_void, name: &CStr) -> *mut c_void {
    // SAFETY: an open library, by `# Safety`, and a C string.
    unsafe { libc::dlsym(library, name.as_ptr()) }
}

/// Closes a library.
///
/// # Safety
/// An open library, of which nothing is used any more.
pub unsafe fn close(library: *mut c_void) {
    // SAFETY: an open library that is not used any more, by `# Safety`.
    unsafe { libc::dlclose(library) };
}

/// Makes the functions of the library that an address is in known to all libraries: a program may
/// have opened it for itself alone.
#[allow(
    clippy::not_unsafe_ptr_arg_deref,
    reason = "the address is looked up, not read"
)]
pub fn show_to_all(inside: *const c_void) {
    // SAFETY: any address will do; the structure lives across the call.
    unsafe {
        let mut info: libc::Dl_info = std::mem::zeroed();
        if libc::dladdr(inside, &mut info) != 0 && !info.dli_fname.is_null() {
            let flags = libc::RTLD_LAZY | libc::RTLD_NOLOAD | libc::RTLD_GLOBAL;
            // Where it is part of a program there is nothing to make known, and this fails.
            libc::dlopen(info.dli_fname, flags);
        }
    }
}
