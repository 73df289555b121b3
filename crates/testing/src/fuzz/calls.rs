//! The C functions on slices. A slice that ends where the buffer does lets a sanitizer see every
//! byte too far.

use super::user;
use blosc2::capi::context::*;
use blosc2::capi::decompress::*;
use blosc2::capi::types::*;
use blosc2::capi::{blosc2_compress_ctx, blosc2_vlcompress_ctx};
use std::ffi::c_void;
use std::ptr::null_mut;

/// A length as the C functions take it.
pub fn c_len(len: usize) -> i32 {
    i32::try_from(len).expect("inputs are small")
}

/// A context, freed with this value.
struct Context(*mut blosc2_context);

impl Context {
    fn for_compression(cparams: blosc2_cparams) -> Option<Self> {
        // SAFETY: the parameters hold no pointers.
        let pointer = unsafe { blosc2_create_cctx(cparams) };
        (!pointer.is_null()).then_some(Self(pointer))
    }

    fn for_decompression(how: Decompression) -> Self {
        // SAFETY: a struct of numbers and pointers, all of which may be zero.
        let mut postparams: blosc2_postfilter_params = unsafe { std::mem::zeroed() };
        let mut dparams = blosc2_dparams::defaults();
        dparams.nthreads = how.nthreads;
        if how.postfilter {
            dparams.postfilter = Some(user::postfilter);
            dparams.postparams = &mut postparams;
        }
        // SAFETY: the postfilter's parameters are copied by the call.
        let pointer = unsafe { blosc2_create_dctx(dparams) };
        assert!(!pointer.is_null());
        Self(pointer)
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: made by the library, freed once.
        unsafe { blosc2_free_ctx(self.0) };
    }
}

/// How to decompress.
#[derive(Clone, Copy, Debug)]
pub struct Decompression {
    /// Threads of the context.
    pub nthreads: i16,
    /// Whether the blocks go through a postfilter (that changes nothing).
    pub postfilter: bool,
}

impl Decompression {
    /// With so many threads, and nothing else.
    pub fn on(nthreads: i16) -> Self {
        Self {
            nthreads,
            postfilter: false,
        }
    }
}

/// `blosc2_decompress_ctx`, leaving out the blocks in `mask`.
pub fn decompress(how: Decompression, mask: Option<&[bool]>, src: &[u8], dest: &mut [u8]) -> i32 {
    let ctx = Context::for_decompression(how);
    // SAFETY: the context is ours, the buffers have the sizes given; the mask is only read.
    unsafe {
        if let Some(mask) = mask {
            let code = blosc2_set_maskout(ctx.0, mask.as_ptr().cast_mut(), c_len(mask.len()));
            assert_eq!(code, 0);
        }
        blosc2_decompress_ctx(
            ctx.0,
            src.as_ptr().cast(),
            c_len(src.len()),
            dest.as_mut_ptr().cast(),
            c_len(dest.len()),
        )
    }
}

/// `blosc2_compress_ctx`; `None` if there is no context with such parameters.
pub fn compress(cparams: blosc2_cparams, src: &[u8], dest: &mut [u8]) -> Option<i32> {
    let ctx = Context::for_compression(cparams)?;
    // SAFETY: the context is ours, the buffers have the sizes given.
    Some(unsafe {
        blosc2_compress_ctx(
            ctx.0,
            src.as_ptr().cast(),
            c_len(src.len()),
            dest.as_mut_ptr().cast(),
            c_len(dest.len()),
        )
    })
}

/// `blosc2_vlcompress_ctx`; `None` if there is no context with such parameters.
pub fn vlcompress(cparams: blosc2_cparams, blocks: &[Box<[u8]>], dest: &mut [u8]) -> Option<i32> {
    let ctx = Context::for_compression(cparams)?;
    let srcs: Vec<*const c_void> = blocks.iter().map(|block| block.as_ptr().cast()).collect();
    let sizes: Vec<i32> = blocks.iter().map(|block| c_len(block.len())).collect();
    // SAFETY: the context is ours, the arrays have as many elements as there are blocks, the
    // buffers these sizes.
    Some(unsafe {
        blosc2_vlcompress_ctx(
            ctx.0,
            srcs.as_ptr(),
            sizes.as_ptr(),
            c_len(blocks.len()),
            dest.as_mut_ptr().cast(),
            c_len(dest.len()),
        )
    })
}

/// Which of the three functions gets the items.
#[derive(Clone, Copy, Debug)]
pub enum Getitem {
    /// `blosc2_getitem`.
    Plain,
    /// `blosc2_getitem_ctx`.
    Context(Decompression),
    /// `blosc2_getitem_bytes_ctx`, for which start and number are bytes.
    Bytes(Decompression),
}

/// Gets `n` items from item `start` on.
pub fn getitem(which: Getitem, src: &[u8], start: i32, n: i32, dest: &mut [u8]) -> i32 {
    let (from, srcsize) = (src.as_ptr().cast(), c_len(src.len()));
    let (to, destsize) = (dest.as_mut_ptr().cast(), c_len(dest.len()));
    // SAFETY: the contexts are ours, the buffers have the sizes given.
    unsafe {
        match which {
            Getitem::Plain => blosc2_getitem(from, srcsize, start, n, to, destsize),
            Getitem::Context(how) => {
                let ctx = Context::for_decompression(how);
                blosc2_getitem_ctx(ctx.0, from, srcsize, start, n, to, destsize)
            }
            Getitem::Bytes(how) => {
                let ctx = Context::for_decompression(how);
                blosc2_getitem_bytes_ctx(ctx.0, from, srcsize, start, n, to, destsize)
            }
        }
    }
}

/// A copy of a buffer that C code allocated, which is freed.
///
/// # Safety
/// The pointer came from `malloc`, has `len` bytes, and is used no more.
unsafe fn adopt(pointer: *mut u8, len: i32) -> Vec<u8> {
    assert!(!pointer.is_null() && len >= 0);
    // SAFETY: by the caller's word.
    unsafe {
        let copy = std::slice::from_raw_parts(pointer, len as usize).to_vec();
        libc::free(pointer.cast());
        copy
    }
}

/// `blosc2_vldecompress_ctx` into at most `maxblocks` blocks, without those in `mask`.
pub fn vldecompress(
    how: Decompression,
    mask: Option<&[bool]>,
    src: &[u8],
    maxblocks: usize,
) -> Result<Vec<Vec<u8>>, i32> {
    let ctx = Context::for_decompression(how);
    let mut dests: Box<[*mut c_void]> = vec![null_mut(); maxblocks].into();
    let mut sizes: Box<[i32]> = vec![-1; maxblocks].into();
    // SAFETY: the context is ours, the arrays have `maxblocks` elements, the source its size; the
    // mask is only read.
    let code = unsafe {
        if let Some(mask) = mask {
            let code = blosc2_set_maskout(ctx.0, mask.as_ptr().cast_mut(), c_len(mask.len()));
            assert_eq!(code, 0);
        }
        blosc2_vldecompress_ctx(
            ctx.0,
            src.as_ptr().cast(),
            c_len(src.len()),
            dests.as_mut_ptr(),
            sizes.as_mut_ptr(),
            c_len(maxblocks),
        )
    };
    if code < 0 {
        assert!(dests.iter().all(|dest| dest.is_null()), "given, but failed");
        return Err(code);
    }
    let blocks = dests.iter().zip(&sizes).take(code as usize);
    // SAFETY: the call succeeded, so these buffers are ours.
    Ok(blocks
        .map(|(dest, len)| unsafe { adopt(dest.cast(), *len) })
        .collect())
}

/// `blosc2_vldecompress_block_ctx`.
pub fn vldecompress_block(how: Decompression, src: &[u8], nblock: i32) -> Result<Vec<u8>, i32> {
    let ctx = Context::for_decompression(how);
    let (mut dest, mut size) = (null_mut(), -1);
    // SAFETY: the context is ours, the source has its size.
    let code = unsafe {
        blosc2_vldecompress_block_ctx(
            ctx.0,
            src.as_ptr().cast(),
            c_len(src.len()),
            nblock,
            &mut dest,
            &mut size,
        )
    };
    if code < 0 {
        assert!(dest.is_null(), "given, but failed");
        return Err(code);
    }
    assert_eq!(code, size);
    // SAFETY: the call succeeded, so the buffer is ours.
    Ok(unsafe { adopt(dest, size) })
}

/// `blosc2_vlchunk_get_nblocks`.
pub fn vlchunk_get_nblocks(src: &[u8]) -> Result<usize, i32> {
    let mut nblocks = -1;
    // SAFETY: the source has its size.
    let code =
        unsafe { blosc2_vlchunk_get_nblocks(src.as_ptr().cast(), c_len(src.len()), &mut nblocks) };
    if code < 0 {
        return Err(code);
    }
    Ok(usize::try_from(nblocks).expect("a count"))
}
