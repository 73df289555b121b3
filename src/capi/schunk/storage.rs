//! How a super-chunk is stored: the library's copy of what the program says.

use crate::capi::prelude::*;
use oxiblosc::storage::paths::local;
use oxiblosc_base::memory::{CStrBuf, on_c_heap};
use std::mem::ManuallyDrop;
use std::ops::Deref;

/// The library's copy of a storage and of what that points to, all of it from `malloc`. Path apart,
/// no pointer in it is null.
#[repr(transparent)]
pub struct Storage(*mut blosc2_storage);

/// A copy of a structure, or of the default where there is none.
///
/// # Safety
/// `from` is null or valid.
unsafe fn copy_or<T: Copy>(from: *const T, default: T) -> Result<*mut T> {
    on_c_heap(*unsafe_granted!(from.as_ref()).unwrap_or(&default))
}

impl Storage {
    /// Copies a storage and what it points to; what is null becomes the default.
    ///
    /// # Safety
    /// The pointers in `storage` are null or valid.
    pub unsafe fn copy_of(storage: &blosc2_storage) -> Result<Self> {
        let owner = Self(on_c_heap(blosc2_storage {
            contiguous: storage.contiguous,
            ..blosc2_storage::defaults()
        })?);
        unsafe_granted!({
            let copy = &mut *owner.0;
            copy.cparams = copy_or(storage.cparams, blosc2_cparams::defaults())?;
            copy.dparams = copy_or(storage.dparams, blosc2_dparams::defaults())?;
            copy.io = copy_or(storage.io, blosc2_io::defaults())?;
            if let Some(path) = c_str(storage.urlpath) {
                copy.urlpath = CStrBuf::to_malloc(local(path).to_bytes())?;
            }
        });
        Ok(owner)
    }

    /// Gives the copy to C, which gives it back with [`Self::from_c`].
    pub fn into_c(self) -> *mut blosc2_storage {
        ManuallyDrop::new(self).0
    }

    /// The copy that C had; none if the pointer is null.
    ///
    /// # Safety
    /// `storage` is null or from [`Self::into_c`], and is used no more.
    pub unsafe fn from_c(storage: *mut blosc2_storage) -> Option<Self> {
        (!storage.is_null()).then(|| Self(storage))
    }

    /// The parameters of compression.
    pub fn cparams(&mut self) -> &mut blosc2_cparams {
        // SAFETY: `copy_of` gave this copy parameters of its own.
        unsafe { &mut *self.cparams }
    }
}

impl Deref for Storage {
    type Target = blosc2_storage;

    fn deref(&self) -> &blosc2_storage {
        // SAFETY: the pointer is from `copy_of`, and not null; only this has it.
        unsafe { &*self.0 }
    }
}

impl Drop for Storage {
    fn drop(&mut self) {
        // SAFETY: `copy_of` took all of them from `malloc`, or left null, and only this has them.
        unsafe {
            libc::free(self.urlpath.cast());
            libc::free(self.cparams.cast());
            libc::free(self.dparams.cast());
            libc::free(self.io.cast());
            libc::free(self.0.cast());
        }
    }
}
