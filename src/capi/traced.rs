//! How a trace of an error names the super-chunk or array that a function was called with.

use crate::capi::types::{b2nd_array_t, blosc2_schunk};
use std::ffi::c_char;
use std::ptr::null;

/// What may lie at a path.
pub trait AtPath {
    /// Its path; none in memory.
    ///
    /// # Safety
    /// `this` is valid.
    unsafe fn path(this: *const Self) -> Option<*const c_char>;
}

impl AtPath for blosc2_schunk {
    unsafe fn path(this: *const Self) -> Option<*const c_char> {
        // SAFETY: valid, as the caller says; a super-chunk keeps its storage, and that its path,
        // until it is freed.
        let path = unsafe { (*this).storage.as_ref()?.urlpath };
        (!path.is_null()).then_some(path)
    }
}

impl AtPath for b2nd_array_t {
    unsafe fn path(this: *const Self) -> Option<*const c_char> {
        // SAFETY: valid, as the caller says, and so is its super-chunk.
        unsafe { AtPath::path((*this).sc.as_ref()?) }
    }
}

/// The path of a super-chunk or array; words where it has none.
///
/// # Safety
/// `this` is NULL or valid.
pub unsafe fn path<T: AtPath>(this: *const T) -> *const c_char {
    if this.is_null() {
        return null();
    }
    // SAFETY: not NULL, so valid.
    unsafe { T::path(this) }.unwrap_or(c"in memory".as_ptr())
}
