//! Decompression through a context.

use super::chunk::read_chunk;
use super::hooks::ContextHooks;
use crate::capi::prelude::*;
use oxiblosc::decoding::{self, DecodeContext};
use oxiblosc::format::chunk::getitem::ItemRange;
use oxiblosc::format::chunk::header::{ChunkHeader, EXTENDED_HEADER_LENGTH, flags2};
use oxiblosc::format::chunk::hooks::{Hooks, if_needed};
use oxiblosc::lazy::{LazySource, LazyTrailer};
use oxiblosc::schunk::lazy::lazy_source;
use oxiblosc_base::memory::{ToTryVec, TryVec};

impl DecodeContext for Context {
    fn hooks<'h>(&'h self, header: &ChunkHeader, prefix: &'h [u8]) -> Result<Box<dyn Hooks + 'h>> {
        let needed = self.postfilter.get().is_some() || !header.is_plain();
        if_needed(needed, || ContextHooks::for_decompression(self, prefix))
    }

    fn describe(&self, header: &ChunkHeader, src: &[u8], dest: Option<&mut [u8]>, capacity: usize) {
        self.describe_typesize(header);
        if self.postfilter.get().is_none() && header.is_plain() {
            // Only callbacks read them, and threads that share a super-chunk should not write the
            // same memory.
            return;
        }
        self.src.set(src.as_ptr());
        self.srcsize.set(src.len() as i32);
        self.dest.set(dest.map_or(null_mut(), <[u8]>::as_mut_ptr));
        self.destsize.set(c_size(capacity));
        self.sourcesize.set(header.nbytes as i32);
        self.blocksize.set(header.blocksize_field() as i32);
        self.nblocks.set(header.nblocks as i32);
        assign!(self, set header; filters, filters_meta, compcode_meta);
        let use_dict = header.blosc2_flags & flags2::USE_DICT != 0;
        self.use_dict.set(use_dict.into());
    }

    /// Threads that share a super-chunk need not write the field where it is the same.
    #[inline(always)]
    fn describe_typesize(&self, header: &ChunkHeader) {
        let typesize = i32::from(header.typesize);
        if typesize != self.typesize.get() {
            self.typesize.set(typesize);
        }
    }

    fn has_mask(&self) -> bool {
        !self.block_maskout.get().is_null()
    }

    fn mask(&self, nblocks: usize) -> Result<Option<TryVec<bool>>> {
        let mask = self.block_maskout.get();
        if mask.is_null() {
            return Ok(None);
        }
        if usize::try_from(self.block_maskout_nitems.get()) != Ok(nblocks) {
            return Err(Error::DATA);
        }
        // SAFETY: `blosc2_set_maskout` made this array, of this length.
        Ok(Some(
            unsafe { std::slice::from_raw_parts(mask, nblocks) }.to_try_vec()?,
        ))
    }

    fn lazy_source(&self, trailer: Result<LazyTrailer>) -> Result<LazySource> {
        let owner = self.owner().map_err(|_| Error::INVALID_PARAM)?;
        lazy_source(owner, trailer?)
    }

    fn has_postfilter(&self) -> bool {
        self.postfilter.get().is_some()
    }

    fn nthreads(&self) -> usize {
        self.update_nthreads()
    }
}

impl Context {
    /// The super-chunk that the context was made for.
    pub fn owner(&self) -> Result<&SuperChunk> {
        // SAFETY: the field is null, or a pointer from the parameters, which `blosc2_create_cctx`
        // and `blosc2_create_dctx` require to be valid as long as the context is used. The contexts
        // of a super-chunk are freed with it.
        unsafe { Handle::from_c(self.schunk.get()) }.map(Handle::core)
    }

    /// The context behind a pointer, if it is one for decompression.
    ///
    /// # Safety
    /// As for [`Self::from_c`].
    unsafe fn decompressing<'a>(ctx: *mut blosc2_context) -> Result<&'a Self> {
        let ctx = unsafe_granted!(Self::from_c(ctx)?);
        match ctx.do_compress.get() {
            0 => Ok(ctx),
            _ => Err(Error::INVALID_PARAM),
        }
    }

    /// Decompresses the chunk at `src`; gives the size of the data.
    ///
    /// # Safety
    /// As for [`read_chunk`], and `dest` has `destsize` bytes.
    pub unsafe fn decompress(
        &self,
        src: *const c_void,
        srcsize: i32,
        dest: *mut c_void,
        destsize: i32,
    ) -> Result<usize> {
        let mut header = ChunkHeader::EMPTY;
        let src = unsafe_granted!(read_chunk(src, srcsize, &mut header)?);
        let capacity = or_zero(destsize);
        if destsize < 0 || header.nbytes > capacity {
            return Err(Error::WRITE_BUFFER);
        }
        apart(src.as_ptr(), src.len(), dest.cast(), header.nbytes)?;
        // SAFETY: `dest` has `destsize` bytes, which are not fewer, as was just checked, and none
        // of them is one of `src`.
        let data = unsafe { bytes_mut(dest.cast(), header.nbytes)? };
        decoding::decompress(self, &header, src, data, capacity)
    }

    /// Copies a range of items; gives its bytes.
    ///
    /// # Safety
    /// As for [`read_chunk`], and `dest` has room for the range.
    pub unsafe fn getitem(
        &self,
        src: *const c_void,
        srcsize: i32,
        range: impl FnOnce(&ChunkHeader) -> Result<ItemRange>,
        dest: *mut c_void,
        destsize: i32,
    ) -> Result<usize> {
        let mut header = ChunkHeader::EMPTY;
        let src = unsafe_granted!(read_chunk(src, srcsize, &mut header)?);
        let place = |read: &[u8], len| {
            apart(read.as_ptr(), read.len(), dest.cast(), len)?;
            unsafe_granted!(bytes_mut(dest.cast(), len))
        };
        let capacity = or_zero(destsize);
        decoding::decompress_items(self, (&header, src), range, place, capacity)
    }
}

/// Decompresses the chunk at `src` into `dest`, which has room for `destsize` bytes. The buffers
/// must not overlap. Returns the size of the data, or a negative error code. A mask of blocks is
/// forgotten afterwards, unless memory was short.
///
/// # Safety
/// `context` is a decompression context that no other thread uses during the call; `src` points to
/// a chunk, or to `srcsize` bytes if those are fewer; `dest` has `destsize` bytes.
#[export]
pub unsafe extern "C" fn blosc2_decompress_ctx(
    context: *mut blosc2_context,
    src: *const c_void,
    srcsize: i32,
    dest: *mut c_void,
    destsize: i32,
) -> c_int {
    let ctx = Context::decompressing(context)?;
    let result = ctx.decompress(src, srcsize, dest, destsize);
    // The same call may be made again when there is memory.
    if result != Err(Error::MEMORY_ALLOC) {
        ctx.clear_maskout();
    }
    result
}

/// Copies `nitems` items from item `start` on of the chunk at `src` to `dest`. An item has the
/// typesize that the chunk records, which is 1 for items of more than 255 bytes. Returns the bytes
/// copied, or a negative error code.
///
/// # Safety
/// `src` points to a chunk, or to `srcsize` bytes if those are fewer; `dest` has `destsize` bytes.
#[export]
pub unsafe extern "C" fn blosc2_getitem(
    src: *const c_void,
    srcsize: i32,
    start: c_int,
    nitems: c_int,
    dest: *mut c_void,
    destsize: i32,
) -> c_int {
    let range = |header: &ChunkHeader| ItemRange::new(header, start, nitems, destsize);
    Context::zeroed().getitem(src, srcsize, range, dest, destsize)
}

/// As `blosc2_getitem`, with the postfilter of a decompression context.
///
/// # Safety
/// As for `blosc2_getitem`; `context` is a decompression context that no other thread uses during
/// the call.
#[export]
pub unsafe extern "C" fn blosc2_getitem_ctx(
    context: *mut blosc2_context,
    src: *const c_void,
    srcsize: i32,
    start: c_int,
    nitems: c_int,
    dest: *mut c_void,
    destsize: i32,
) -> c_int {
    let range = |header: &ChunkHeader| ItemRange::new(header, start, nitems, destsize);
    Context::from_c(context)?.getitem(src, srcsize, range, dest, destsize)
}

/// As `blosc2_getitem_ctx`, with the range in bytes: both `start` and `nbytes` are multiples of the
/// typesize that the chunk records, else `BLOSC2_ERROR_INVALID_PARAM` is returned.
///
/// # Safety
/// As for `blosc2_getitem_ctx`.
#[export]
pub unsafe extern "C" fn blosc2_getitem_bytes_ctx(
    context: *mut blosc2_context,
    src: *const c_void,
    srcsize: i32,
    start: i32,
    nbytes: i32,
    dest: *mut c_void,
    destsize: i32,
) -> c_int {
    let range = |header: &ChunkHeader| ItemRange::of_bytes(header, start, nbytes, destsize);
    Context::from_c(context)?.getitem(src, srcsize, range, dest, destsize)
}

/// Gives the number of blocks of a chunk of variable-length blocks. Returns 0, or
/// `BLOSC2_ERROR_INVALID_PARAM` if the chunk is another one, or another negative error code.
///
/// # Safety
/// `src` points to `srcsize` bytes, `nblocks` can be written.
#[export]
pub unsafe extern "C" fn blosc2_vlchunk_get_nblocks(
    src: *const c_void,
    srcsize: i32,
    nblocks: *mut i32,
) -> c_int {
    not_null!(src, nblocks; INVALID_PARAM)?;
    let prefix = or_zero(srcsize).min(EXTENDED_HEADER_LENGTH);
    let header = ChunkHeader::parse(bytes(src.cast(), prefix)?)?;
    if !header.has_vlblocks() {
        return Err(Error::INVALID_PARAM);
    }
    *nblocks = header.nblocks as i32;
    Ok(0)
}

/// Decompresses a chunk of variable-length blocks, each into a buffer of its own: `dests[i]` gets a
/// buffer that the caller frees with `free()`, `destsizes[i]` its size. Both arrays have
/// `maxblocks` elements, at least as many as the chunk has blocks. Returns the number of blocks, or
/// a negative error code, in which case there is nothing to free.
///
/// # Safety
/// As for `blosc2_decompress_ctx`; the arrays have `maxblocks` elements.
#[export]
pub unsafe extern "C" fn blosc2_vldecompress_ctx(
    context: *mut blosc2_context,
    src: *const c_void,
    srcsize: i32,
    dests: *mut *mut c_void,
    destsizes: *mut i32,
    maxblocks: i32,
) -> c_int {
    if dests.is_null() || destsizes.is_null() || maxblocks <= 0 {
        return Err(Error::INVALID_PARAM);
    }
    let ctx = Context::decompressing(context)?;
    let mut header = ChunkHeader::EMPTY;
    let src = read_chunk(src, srcsize, &mut header)?;
    let most = size(maxblocks)?;
    let blocks = decoding::decompress_vlblocks(ctx, &header, src, most)?;
    for (i, block) in blocks.into_iter().enumerate() {
        // SAFETY: the arrays have `maxblocks` elements, and there are not more blocks.
        unsafe { hand_over(block, dests.add(i).cast(), destsizes.add(i)) };
    }
    Ok(header.nblocks)
}

/// Decompresses block `nblock` of a chunk of variable-length blocks: `*dest` gets a buffer that the
/// caller frees with `free()`, `*destsize` its size. Returns that size, or a negative error code.
///
/// # Safety
/// As for `blosc2_decompress_ctx`; `dest` and `destsize` can be written.
#[export]
pub unsafe extern "C" fn blosc2_vldecompress_block_ctx(
    context: *mut blosc2_context,
    src: *const c_void,
    srcsize: i32,
    nblock: i32,
    dest: *mut *mut u8,
    destsize: *mut i32,
) -> c_int {
    not_null!(dest, destsize; INVALID_PARAM)?;
    let ctx = Context::decompressing(context)?;
    let mut header = ChunkHeader::EMPTY;
    let src = read_chunk(src, srcsize, &mut header)?;
    let block = decoding::decompress_vlblock(ctx, &header, src, index(nblock))?;
    Ok(hand_over(block, dest, destsize))
}
