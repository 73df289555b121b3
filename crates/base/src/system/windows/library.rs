//! Libraries that are loaded.

use super::wide::WideString;
use std::ffi::{CStr, c_void};
use std::io::Write;
use std::ptr::null_mut;
use windows_sys::Win32::Foundation::{FreeLibrary, GetLastError};
use windows_sys::Win32::System::LibraryLoader::{
    GetProcAddress, LOAD_LIBRARY_SEARCH_DEFAULT_DIRS, LOAD_LIBRARY_SEARCH_DLL_LOAD_DIR,
    LoadLibraryExW,
};

/// What stands before and behind the name of a plugin in the name of its library.
pub const PLUGIN: (&str, &str) = ("blosc2_", ".dll");

/// Opens a library by name or path; null where there is none. It runs what the library does when it
/// is loaded. A name is looked for beside the program, in the system's directory and where the
/// program says (`AddDllDirectory`), not in the current directory.
pub fn open(path: &CStr) -> *mut c_void {
    let beside = match super::process::is_absolute(path.to_bytes()) {
        true => LOAD_LIBRARY_SEARCH_DLL_LOAD_DIR,
        false => 0,
    };
    let Ok(path) = WideString::path(path) else {
        return null_mut();
    };
    let flags = LOAD_LIBRARY_SEARCH_DEFAULT_DIRS | beside;
    // SAFETY: a text that ends. What its initialisers do is the library's own affair; it is asked
    // for by name.
    unsafe { LoadLibraryExW(path.as_ptr(), null_mut(), flags) }
}

/// Tells why [`open`] has just failed on this thread.
pub fn explain(tell: impl FnOnce(&CStr)) {
    // SAFETY: asks for a number.
    let code = unsafe { GetLastError() };
    let mut text = [0u8; 48];
    let rest = &mut text[..47];
    // There is room for it.
    let _ = write!(&mut *rest, "the library was not loaded: error {code}");
    if let Ok(text) = CStr::from_bytes_until_nul(&text) {
        tell(text);
    }
}

/// The address of what a library exports; null where it does not.
///
/// # Safety
/// An open library.
pub unsafe fn symbol(library: *mut c_void, name: &CStr) -> *mut c_void {
    // SAFETY: an open library, by `# Safety`, and a C string.
    let found = unsafe { GetProcAddress(library, name.as_ptr().cast()) };
    found.map_or(null_mut(), |address| address as *mut c_void)
}

/// Closes a library.
///
/// # Safety
/// An open library, of which nothing is used any more.
pub unsafe fn close(library: *mut c_void) {
    // SAFETY: an open library that is not used any more, by `# Safety`.
    unsafe { FreeLibrary(library) };
}

/// Does nothing: a library names the library whose functions it calls.
pub fn show_to_all(_inside: *const c_void) {}
