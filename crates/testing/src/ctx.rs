//! Contexts and calls on slices, so that a test says what it means and no more.

use super::abi::*;
use super::library::Lib;
use core::ffi::{c_int, c_void};

/// A compression or decompression context, freed when dropped.
pub struct Ctx {
    lib: &'static Lib,
    raw: *mut Context,
}

// SAFETY: a context has no tie to the thread that made it; `Ctx` is not `Sync`, so one thread at a
// time uses it.
unsafe impl Send for Ctx {}

impl Drop for Ctx {
    fn drop(&mut self) {
        // SAFETY: made by this library and freed once.
        unsafe { (self.lib.f.blosc2_free_ctx)(self.raw) }
    }
}

impl Ctx {
    /// The context's address, for calls that have no method here.
    pub fn raw(&self) -> *mut Context {
        self.raw
    }

    /// `blosc2_compress_ctx` with the slices' lengths as sizes.
    pub fn compress(&self, src: &[u8], dest: &mut [u8]) -> i32 {
        // SAFETY: both pointers are good for the lengths that go with them.
        unsafe {
            (self.lib.f.blosc2_compress_ctx)(
                self.raw,
                src.as_ptr().cast(),
                src.len() as i32,
                dest.as_mut_ptr().cast(),
                dest.len() as i32,
            )
        }
    }

    /// `blosc2_decompress_ctx` with the slices' lengths as sizes.
    pub fn decompress(&self, src: &[u8], dest: &mut [u8]) -> i32 {
        // SAFETY: both pointers are good for the lengths that go with them.
        unsafe {
            (self.lib.f.blosc2_decompress_ctx)(
                self.raw,
                src.as_ptr().cast(),
                src.len() as i32,
                dest.as_mut_ptr().cast(),
                dest.len() as i32,
            )
        }
    }

    /// `blosc2_getitem_ctx`: positions in items.
    pub fn getitem(&self, src: &[u8], start: i32, nitems: i32, dest: &mut [u8]) -> i32 {
        // SAFETY: both pointers are good for the lengths that go with them.
        unsafe {
            (self.lib.f.blosc2_getitem_ctx)(
                self.raw,
                src.as_ptr().cast(),
                src.len() as i32,
                start,
                nitems,
                dest.as_mut_ptr().cast(),
                dest.len() as i32,
            )
        }
    }

    /// `blosc2_getitem_bytes_ctx`: positions in bytes.
    pub fn getitem_bytes(&self, src: &[u8], start: i32, nbytes: i32, dest: &mut [u8]) -> i32 {
        // SAFETY: both pointers are good for the lengths that go with them.
        unsafe {
            (self.lib.f.blosc2_getitem_bytes_ctx)(
                self.raw,
                src.as_ptr().cast(),
                src.len() as i32,
                start,
                nbytes,
                dest.as_mut_ptr().cast(),
                dest.len() as i32,
            )
        }
    }

    /// `blosc2_set_maskout`; the library copies the mask.
    pub fn maskout(&self, mask: &mut [bool]) -> i32 {
        // SAFETY: the pointer is good for the length that goes with it.
        unsafe { (self.lib.f.blosc2_set_maskout)(self.raw, mask.as_mut_ptr(), mask.len() as c_int) }
    }

    /// `blosc2_vlcompress_ctx`: one block a slice.
    pub fn vlcompress(&self, blocks: &[Vec<u8>], dest: &mut [u8]) -> i32 {
        let sources: Vec<*const c_void> =
            blocks.iter().map(|block| block.as_ptr().cast()).collect();
        let sizes: Vec<i32> = blocks.iter().map(|block| block.len() as i32).collect();
        // SAFETY: as many pointers as sizes, each good for its size.
        unsafe {
            (self.lib.f.blosc2_vlcompress_ctx)(
                self.raw,
                sources.as_ptr(),
                sizes.as_ptr(),
                blocks.len() as i32,
                dest.as_mut_ptr().cast(),
                dest.len() as i32,
            )
        }
    }

    /// `blosc2_vldecompress_ctx` with room for `maxblocks`: the return code and the blocks.
    pub fn vldecompress(&self, src: &[u8], maxblocks: usize) -> (i32, Vec<Vec<u8>>) {
        let mut dests = vec![core::ptr::null_mut::<c_void>(); maxblocks];
        let mut sizes = vec![0i32; maxblocks];
        // SAFETY: `dests` and `sizes` have `maxblocks` places.
        let rc = unsafe {
            (self.lib.f.blosc2_vldecompress_ctx)(
                self.raw,
                src.as_ptr().cast(),
                src.len() as i32,
                dests.as_mut_ptr(),
                sizes.as_mut_ptr(),
                maxblocks as i32,
            )
        };
        if rc < 0 {
            return (rc, Vec::new());
        }
        assert!(
            rc as usize <= maxblocks,
            "{rc} blocks where there is room for {maxblocks}"
        );
        let blocks = dests.iter().zip(&sizes).take(rc as usize);
        (
            rc,
            blocks
                .map(|(&block, &size)| take_malloced(block.cast(), size))
                .collect(),
        )
    }

    /// `blosc2_vldecompress_block_ctx`: the return code and the block.
    pub fn vldecompress_block(&self, src: &[u8], nblock: i32) -> (i32, Vec<u8>) {
        let mut dest = core::ptr::null_mut::<u8>();
        let mut size = 0i32;
        // SAFETY: the out parameters live across the call.
        let rc = unsafe {
            (self.lib.f.blosc2_vldecompress_block_ctx)(
                self.raw,
                src.as_ptr().cast(),
                src.len() as i32,
                nblock,
                &mut dest,
                &mut size,
            )
        };
        if rc < 0 {
            return (rc, Vec::new());
        }
        assert_eq!(rc, size, "the size of a block and the return code");
        (rc, take_malloced(dest, size))
    }
}

/// Copies a buffer that the library gave with `malloc` and frees it.
fn take_malloced(buffer: *mut u8, size: i32) -> Vec<u8> {
    if buffer.is_null() {
        assert_eq!(size, 0, "no buffer for a block of {size} bytes");
        return Vec::new();
    }
    // SAFETY: the library says that it allocated `size` bytes here, and leaves them to us.
    unsafe {
        let bytes = core::slice::from_raw_parts(buffer, size as usize).to_vec();
        libc::free(buffer.cast());
        bytes
    }
}

impl Lib {
    /// A compression context; `None` where the library refuses the parameters.
    ///
    /// The pointers in `cparams` must be null or outlive the context.
    pub fn cctx(&'static self, cparams: &CParams) -> Option<Ctx> {
        // SAFETY: what the parameters point to outlives the context, as asked of the caller.
        let raw = unsafe { (self.f.blosc2_create_cctx)(*cparams) };
        (!raw.is_null()).then_some(Ctx { lib: self, raw })
    }

    /// A decompression context.
    ///
    /// The pointers in `dparams` must be null or outlive the context.
    pub fn dctx(&'static self, dparams: &DParams) -> Ctx {
        // SAFETY: what the parameters point to outlives the context, as asked of the caller.
        let raw = unsafe { (self.f.blosc2_create_dctx)(*dparams) };
        assert!(!raw.is_null(), "{}: no decompression context", self.name);
        Ctx { lib: self, raw }
    }

    /// A decompression context with `nthreads` threads.
    pub fn dctx_threads(&'static self, nthreads: i16) -> Ctx {
        self.dctx(&DParams {
            nthreads,
            ..DParams::default()
        })
    }

    /// Compresses into a buffer of `destsize` bytes: the return code, and the chunk where it is
    /// positive.
    pub fn compress_into(
        &'static self,
        cparams: &CParams,
        src: &[u8],
        destsize: usize,
    ) -> (i32, Vec<u8>) {
        let Some(ctx) = self.cctx(cparams) else {
            return (i32::MIN, Vec::new());
        };
        let mut dest = vec![0u8; destsize];
        let rc = ctx.compress(src, &mut dest);
        assert!(
            rc <= destsize as i32,
            "{}: {rc} bytes into {destsize}",
            self.name
        );
        dest.truncate(rc.max(0) as usize);
        (rc, dest)
    }

    /// Compresses into a buffer in which it always fits.
    pub fn compress(&'static self, cparams: &CParams, src: &[u8]) -> (i32, Vec<u8>) {
        self.compress_into(cparams, src, src.len() + MAX_OVERHEAD)
    }

    /// Decompresses with a fresh context into `nbytes` bytes: the return code and all of the
    /// buffer, which held `0xA5` before.
    pub fn decompress(&'static self, chunk: &[u8], nbytes: usize, nthreads: i16) -> (i32, Vec<u8>) {
        let mut dest = vec![0xA5u8; nbytes];
        let rc = self.dctx_threads(nthreads).decompress(chunk, &mut dest);
        (rc, dest)
    }

    /// `blosc2_cbuffer_sizes`: the return code, then nbytes, cbytes and blocksize.
    pub fn sizes(&self, chunk: &[u8]) -> (i32, [i32; 3]) {
        assert!(chunk.len() >= 16, "the call reads a whole header");
        let mut sizes = [0i32; 3];
        let [nbytes, cbytes, blocksize] = &mut sizes;
        // SAFETY: the chunk has the 16 bytes that the call reads.
        let rc = unsafe {
            (self.f.blosc2_cbuffer_sizes)(chunk.as_ptr().cast(), nbytes, cbytes, blocksize)
        };
        (rc, sizes)
    }
}

/// The 32 bytes of a header without cbytes, which depends on how well a codec compresses.
pub fn header_but_cbytes(chunk: &[u8]) -> Vec<u8> {
    [&chunk[..12], &chunk[16..MAX_OVERHEAD]].concat()
}
