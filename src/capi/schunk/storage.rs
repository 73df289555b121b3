//! How a super-chunk is stored: the library's copy of what the program says.

use crate::capi::prelude::*;
use oxiblosc_io::paths::local;
use oxiblosc_memory::{CStrBuf, on_c_heap};

/// A copy of a structure, or of the default where there is none.
///
/// # Safety
/// `from` is null or valid.
unsafe fn copy_or<T: Copy>(from: *const T, default: T) -> Result<*mut T> {
    on_c_heap(*unsafe_granted!(from.as_ref()).unwrap_or(&default))
}

/// Copies a storage and what it points to; what is null becomes the default. To be freed with [`free_storage`].
///
/// # Safety
/// The pointers in `storage` are null or valid.
pub unsafe fn copy(storage: &blosc2_storage) -> Result<*mut blosc2_storage> {
    let mut copy = blosc2_storage {
        urlpath: null_mut(),
        cparams: null_mut(),
        dparams: null_mut(),
        io: null_mut(),
        ..*storage
    };
    let made = unsafe_granted!({
        (|| {
            if !storage.urlpath.is_null() {
                copy.urlpath =
                    CStrBuf::to_malloc(local(CStr::from_ptr(storage.urlpath)).to_bytes())?;
            }
            copy.cparams = copy_or(storage.cparams, blosc2_cparams::defaults())?;
            copy.dparams = copy_or(storage.dparams, blosc2_dparams::defaults())?;
            copy.io = copy_or(storage.io, blosc2_io::defaults())?;
            on_c_heap(copy)
        })()
    });
    if made.is_err() {
        // SAFETY: the pointers of `copy` are null, or were just made with `malloc`.
        unsafe { free_parts(&copy) };
    }
    made
}

/// Frees what a storage points to.
///
/// # Safety
/// The pointers in `storage` are null or from `malloc`, and are not used after this.
unsafe fn free_parts(storage: &blosc2_storage) {
    // SAFETY: by `# Safety` the pointers are null or from `malloc`.
    unsafe {
        libc::free(storage.urlpath.cast());
        libc::free(storage.cparams.cast());
        libc::free(storage.dparams.cast());
        libc::free(storage.io.cast());
    }
}

/// Frees what [`copy`] made.
///
/// # Safety
/// `storage` is null or from [`copy`], and is used no more.
pub unsafe fn free_storage(storage: *mut blosc2_storage) {
    unsafe_granted!({
        if let Some(parts) = storage.as_ref() {
            free_parts(parts);
        }
        libc::free(storage.cast());
    })
}
