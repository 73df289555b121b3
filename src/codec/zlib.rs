//! Zlib streams.

use core::ptr::NonNull;

use libdeflate_sys as sys;

use crate::error::{Error, Result};

/// The version reported to callers.
pub(super) const VERSION: &str = "2.3.3";

/// A compressor of the library, bound to one level.
struct Handle(NonNull<sys::libdeflate_compressor>, u8);

// SAFETY: plain memory owned by this value alone.
unsafe impl Send for Handle {}

impl Drop for Handle {
    fn drop(&mut self) {
        // SAFETY: came from `libdeflate_alloc_compressor`, freed once.
        unsafe { sys::libdeflate_free_compressor(self.0.as_ptr()) };
    }
}

/// The compressor.
#[derive(Default)]
pub(super) struct Compressor(Option<Handle>);

impl Compressor {
    /// Bytes written; 0 when they do not fit.
    pub(super) fn compress(&mut self, clevel: u8, src: &[u8], dst: &mut [u8]) -> Result<usize> {
        let handle = match &self.0 {
            Some(h) if h.1 == clevel => h,
            _ => {
                // SAFETY: a level that the library knows; null when there is no memory.
                let raw = unsafe { sys::libdeflate_alloc_compressor(i32::from(clevel)) };
                self.0
                    .insert(Handle(NonNull::new(raw).ok_or(Error::MemoryAlloc)?, clevel))
            }
        };
        // SAFETY: live compressor; reads `src`, writes at most `dst.len()`.
        Ok(unsafe {
            sys::libdeflate_zlib_compress(
                handle.0.as_ptr(),
                src.as_ptr().cast(),
                src.len(),
                dst.as_mut_ptr().cast(),
                dst.len(),
            )
        })
    }
}

/// The library's decompressor, freed with this value.
struct Inflater(NonNull<sys::libdeflate_decompressor>);

// SAFETY: plain memory owned by this value alone.
unsafe impl Send for Inflater {}

impl Drop for Inflater {
    fn drop(&mut self) {
        // SAFETY: came from `libdeflate_alloc_decompressor`, freed once.
        unsafe { sys::libdeflate_free_decompressor(self.0.as_ptr()) };
    }
}

/// The decompressor.
#[derive(Default)]
pub(super) struct Decompressor(Option<Inflater>);

impl Decompressor {
    /// Bytes written. What follows the stream in `src` is left alone.
    pub(super) fn decompress(&mut self, src: &[u8], dst: &mut [u8]) -> Result<usize> {
        let inflater = match &self.0 {
            Some(i) => i,
            None => {
                // SAFETY: takes nothing; null when there is no memory.
                let raw = unsafe { sys::libdeflate_alloc_decompressor() };
                self.0
                    .insert(Inflater(NonNull::new(raw).ok_or(Error::MemoryAlloc)?))
            }
        };
        let mut taken = 0;
        let mut written = 0;
        // SAFETY: live decompressor; reads `src`, writes at most `dst.len()`.
        let result = unsafe {
            sys::libdeflate_zlib_decompress_ex(
                inflater.0.as_ptr(),
                src.as_ptr().cast(),
                src.len(),
                dst.as_mut_ptr().cast(),
                dst.len(),
                &mut taken,
                &mut written,
            )
        };
        if result == sys::libdeflate_result_LIBDEFLATE_SUCCESS {
            Ok(written)
        } else {
            Err(Error::Data)
        }
    }
}
