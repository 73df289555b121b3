//! What the C structure of a super-chunk owns: metalayers, parameters, contexts.

use super::storage;
use crate::capi::constants::*;
use crate::capi::context::{self, Context};
use crate::capi::global::blosc2_get_nthreads;
use crate::capi::types::*;
use oxiblosc_error::{Error, Result};
use oxiblosc_frame::header::{Header, Kind};
use oxiblosc_frame::meta::Borrowed;
use oxiblosc_memory::Buffer;
use std::ffi::CStr;
use std::ptr::null_mut;

/// The parts of a metalayer.
///
/// # Safety
/// `layer` is null or the library's, and is not changed while the parts are used.
pub unsafe fn borrow<'a>(layer: *const blosc2_metalayer) -> Option<Borrowed<'a>> {
    // SAFETY: by the caller's word; the name ends in 0.
    unsafe {
        let layer = layer.as_ref()?;
        let name = CStr::from_ptr(layer.name).to_bytes();
        let len = usize::try_from(layer.content_len).unwrap_or(0);
        let content = if layer.content.is_null() {
            &[]
        } else {
            std::slice::from_raw_parts(layer.content, len)
        };
        Some((name, content))
    }
}

/// A metalayer as C sees it; to be freed with [`free_metalayer`].
pub fn to_c((name, content): Borrowed) -> Result<*mut blosc2_metalayer> {
    let content_len = i32::try_from(content.len()).map_err(|_| Error::InvalidParam)?;
    let mut copy = Buffer::copy_of(name)?;
    copy.extend(&[0])?;
    let mut content = Buffer::copy_of(content)?;
    let layer = storage::on_heap(blosc2_metalayer {
        name: copy.as_mut_ptr().cast(),
        content: content.as_mut_ptr(),
        content_len,
    })?;
    // They are the metalayer's from here on.
    copy.into_raw();
    content.into_raw();
    Ok(layer)
}

/// Frees what [`to_c`] made.
///
/// # Safety
/// `layer` is null or from [`to_c`], and is used no more.
pub unsafe fn free_metalayer(layer: *mut blosc2_metalayer) {
    // SAFETY: by the caller's word; all from `malloc`.
    unsafe {
        if let Some(layer) = layer.as_ref() {
            libc::free(layer.name.cast());
            libc::free(layer.content.cast());
        }
        libc::free(layer.cast());
    }
}

/// Frees all metalayers.
///
/// # Safety
/// The metalayers are the library's, and used no more.
pub unsafe fn free_metalayers(c: &mut blosc2_schunk) {
    let count = usize::from(c.nmetalayers).min(c.metalayers.len());
    let vlcount = usize::try_from(c.nvlmetalayers)
        .unwrap_or(0)
        .min(c.vlmetalayers.len());
    let layers = c.metalayers[..count]
        .iter_mut()
        .chain(&mut c.vlmetalayers[..vlcount]);
    for layer in layers {
        // SAFETY: by the caller's word.
        unsafe { free_metalayer(std::mem::replace(layer, null_mut())) };
    }
    c.nmetalayers = 0;
    c.nvlmetalayers = 0;
}

/// Sets the parameters among the public fields, and makes the contexts, from the storage's.
///
/// # Safety
/// `schunk` is a handle whose storage is complete; the pointers in its parameters are valid as long as it is.
pub unsafe fn set_parameters(schunk: *mut blosc2_schunk) -> Result<()> {
    // SAFETY: by the caller's word.
    unsafe {
        let c = &mut *schunk;
        let cparams = &mut *(*c.storage).cparams;
        let dparams = &mut *(*c.storage).dparams;
        c.filters = cparams.filters;
        c.filters_meta = cparams.filters_meta;
        c.compcode = cparams.compcode;
        c.compcode_meta = cparams.compcode_meta;
        c.clevel = cparams.clevel;
        c.splitmode = cparams.splitmode as u8;
        c.use_dict = cparams.use_dict as u8;
        c.typesize = cparams.typesize;
        c.blocksize = cparams.blocksize;
        c.chunksize = -1;
        c.tuner_params = cparams.tuner_params;
        c.tuner_id = cparams.tuner_id;
        if cparams.tuner_id == BLOSC_BTUNE {
            cparams.use_dict = 0;
        }
        cparams.schunk = schunk.cast();
        dparams.schunk = schunk.cast();
        c.cctx = context::compression(*cparams)?;
        c.dctx = context::decompression(*dparams)?;
    }
    Ok(())
}

/// Sets the parameters among the public fields, and makes contexts and storage, from a frame's header.
///
/// # Safety
/// `schunk` is a handle without storage; `io` is null or valid.
pub unsafe fn set_parameters_from(
    schunk: *mut blosc2_schunk,
    header: &Header,
    io: *const blosc2_io,
) -> Result<()> {
    // SAFETY: by the caller's word.
    unsafe {
        let c = &mut *schunk;
        c.typesize = header.typesize;
        c.blocksize = header.blocksize;
        c.chunksize = header.chunksize;
        c.compcode = header.compcode;
        c.compcode_meta = header.compcode_meta;
        c.clevel = header.clevel;
        c.splitmode = header.splitmode;
        c.use_dict = u8::from(header.use_dict);
        c.filters = header.filters;
        c.filters_meta = header.filters_meta;
        let (mut cparams, mut dparams) = (cparams_of(c), dparams_of(c));
        cparams.schunk = schunk.cast();
        dparams.schunk = schunk.cast();
        c.cctx = context::compression(cparams)?;
        c.dctx = context::decompression(dparams)?;
        let storage = blosc2_storage {
            contiguous: header.kind == Kind::Contiguous,
            urlpath: null_mut(),
            cparams: &raw mut cparams,
            dparams: &raw mut dparams,
            io: io.cast_mut(),
        };
        c.storage = storage::copy(&storage)?;
    }
    Ok(())
}

/// The compression parameters that the public fields stand for.
///
/// # Safety
/// The context among the fields is null or valid.
pub unsafe fn cparams_of(c: &mut blosc2_schunk) -> blosc2_cparams {
    // SAFETY: integers, bools, pointers and optional functions may be zero.
    let mut cparams: blosc2_cparams = unsafe { std::mem::zeroed() };
    // SAFETY: by the caller's word.
    let ctx = unsafe { Context::from_c(c.cctx) };
    cparams.nthreads = ctx.map_or_else(|_| blosc2_get_nthreads(), |ctx| ctx.nthreads.get());
    cparams.schunk = std::ptr::from_mut(c).cast();
    cparams.filters = c.filters;
    cparams.filters_meta = c.filters_meta;
    cparams.compcode = c.compcode;
    cparams.compcode_meta = c.compcode_meta;
    cparams.clevel = c.clevel;
    cparams.typesize = c.typesize;
    cparams.blocksize = c.blocksize;
    cparams.splitmode = i32::from(c.splitmode);
    cparams.use_dict = i32::from(c.use_dict);
    cparams
}

/// The decompression parameters that the public fields stand for.
///
/// # Safety
/// The context among the fields is null or valid.
pub unsafe fn dparams_of(c: &mut blosc2_schunk) -> blosc2_dparams {
    // SAFETY: as in `cparams_of`.
    let mut dparams: blosc2_dparams = unsafe { std::mem::zeroed() };
    // SAFETY: by the caller's word.
    let ctx = unsafe { Context::from_c(c.dctx) };
    dparams.nthreads = ctx.map_or_else(|_| blosc2_get_nthreads(), |ctx| ctx.nthreads.get());
    dparams.schunk = std::ptr::from_mut(c).cast();
    dparams
}
