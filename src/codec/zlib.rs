//! Zlib streams, by two libraries.
//!
//! Measured on blocks of 16 KiB to 1 MiB against zlib-ng (which the reference uses). Deflating, zlib-rs makes the same
//! streams as zlib-ng in the same time; libdeflate is 1.3 to 6 times as fast at levels 5 to 9, but some of its streams
//! are more than 0.5 % larger (32-bit integers: 2.6 %), and all of them, being cut into many short blocks, inflate at
//! half the speed. Inflating, libdeflate is the faster one (by up to 1.3) but for very redundant data, where zlib-rs
//! is. zlib-ng itself would need cmake to build, for nothing more.

use core::ptr::NonNull;

use libdeflate_sys as sys;
use zlib_rs::{Deflate, DeflateFlush, Inflate, InflateFlush, Status};

use crate::error::{Error, Result};

/// The version reported to callers: the zlib that zlib-rs stands for.
pub(super) const VERSION: &str = "1.3.0-zlib-rs-0.6";

/// zlib's window, as a power of two.
const WINDOW_BITS: u8 = 15;
/// A stream that is smaller than its data by more than this factor is very redundant.
const REDUNDANT: usize = 8;

/// The compressor, with the level it was made for.
#[derive(Default)]
pub(super) struct Compressor(Option<(Box<Deflate>, u8)>);

impl Compressor {
    /// Bytes written; 0 when they do not fit.
    pub(super) fn compress(&mut self, clevel: u8, src: &[u8], dst: &mut [u8]) -> Result<usize> {
        let deflate = match &mut self.0 {
            Some((deflate, level)) if *level == clevel => {
                deflate.reset();
                deflate
            }
            _ => {
                let fresh = Deflate::new(clevel.into(), true, WINDOW_BITS);
                &mut self.0.insert((Box::new(fresh), clevel)).0
            }
        };
        match deflate.compress(src, dst, DeflateFlush::Finish) {
            Ok(Status::StreamEnd) => Ok(deflate.total_out() as usize),
            _ => {
                // A reset does not forget everything about a stream that was left unfinished (at level 1), and the next
                // stream's bytes must not depend on this one.
                self.0 = None;
                Ok(0)
            }
        }
    }
}

/// libdeflate's decompressor, freed with this value.
struct Whole(NonNull<sys::libdeflate_decompressor>);

// SAFETY: plain memory owned by this value alone.
unsafe impl Send for Whole {}

impl Drop for Whole {
    fn drop(&mut self) {
        // SAFETY: came from `libdeflate_alloc_decompressor`, freed once.
        unsafe { sys::libdeflate_free_decompressor(self.0.as_ptr()) };
    }
}

/// The decompressor.
#[derive(Default)]
pub(super) struct Decompressor {
    redundant: Option<Box<Inflate>>,
    whole: Option<Whole>,
}

impl Decompressor {
    /// Bytes written. What follows the stream in `src` is left alone.
    pub(super) fn decompress(&mut self, src: &[u8], dst: &mut [u8]) -> Result<usize> {
        if src.len() < dst.len() / REDUNDANT {
            let inflate = match &mut self.redundant {
                Some(inflate) => {
                    inflate.reset(true);
                    inflate
                }
                None => self
                    .redundant
                    .insert(Box::new(Inflate::new(true, WINDOW_BITS))),
            };
            return match inflate.decompress(src, dst, InflateFlush::Finish) {
                Ok(Status::StreamEnd) => Ok(inflate.total_out() as usize),
                _ => Err(Error::Data),
            };
        }
        let whole = match &self.whole {
            Some(whole) => whole,
            None => {
                // SAFETY: takes nothing; null when there is no memory.
                let raw = unsafe { sys::libdeflate_alloc_decompressor() };
                self.whole
                    .insert(Whole(NonNull::new(raw).ok_or(Error::MemoryAlloc)?))
            }
        };
        let (mut taken, mut written) = (0, 0);
        // SAFETY: live decompressor; reads `src`, writes at most `dst.len()`.
        let result = unsafe {
            sys::libdeflate_zlib_decompress_ex(
                whole.0.as_ptr(),
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
