//! The parameters and contexts of a super-chunk, among its public fields.

use super::handle::Unfinished;
use super::storage;
use crate::capi::context::{self, Context};
use crate::capi::prelude::*;
use oxiblosc_core::process;
use oxiblosc_frame::header::{Header, Kind};

/// Gives a handle in the making a storage, and sets the parameters among its public fields, and makes the contexts, from that.
///
/// # Safety
/// The storage came from [`storage::copy`], and has no other owner; the pointers in its parameters are valid as long as the
/// super-chunk is.
pub unsafe fn set_parameters(schunk: &mut Unfinished, storage: *mut blosc2_storage) -> Result<()> {
    let pointer = schunk.as_c();
    let c = schunk.fields();
    c.storage = storage;
    unsafe_granted!({
        let cparams = &mut *(*c.storage).cparams;
        let dparams = &mut *(*c.storage).dparams;
        assign!(c, cparams; filters, filters_meta, compcode, compcode_meta, clevel, typesize, blocksize, tuner_params, tuner_id);
        c.splitmode = cparams.splitmode as u8;
        c.use_dict = cparams.use_dict as u8;
        c.chunksize = -1;
        if cparams.tuner_id == BLOSC_BTUNE {
            cparams.use_dict = 0;
        }
        cparams.schunk = pointer.cast();
        dparams.schunk = pointer.cast();
        c.cctx = context::compression(*cparams)?.into_c();
        c.dctx = context::decompression(*dparams)?.into_c();
    });
    Ok(())
}

/// As [`set_parameters`], from a frame's header.
///
/// # Safety
/// `io` is null or valid.
pub unsafe fn set_parameters_from(
    schunk: &mut Unfinished,
    header: &Header,
    io: *const blosc2_io,
) -> Result<()> {
    let pointer = schunk.as_c();
    let c = schunk.fields();
    unsafe_granted!({
        assign!(c, header; typesize, blocksize, chunksize, compcode, compcode_meta, clevel, splitmode, filters, filters_meta);
        c.use_dict = u8::from(header.use_dict);
        let (mut cparams, mut dparams) = (cparams_of(pointer), dparams_of(pointer));
        c.cctx = context::compression(cparams)?.into_c();
        c.dctx = context::decompression(dparams)?.into_c();
        let storage = blosc2_storage {
            contiguous: header.kind == Kind::Contiguous,
            urlpath: null_mut(),
            cparams: &raw mut cparams,
            dparams: &raw mut dparams,
            io: io.cast_mut(),
        };
        c.storage = storage::copy(&storage)?;
    });
    Ok(())
}

/// The compression parameters that the public fields stand for.
///
/// # Safety
/// `schunk` is a super-chunk, finished or not, that is not changed meanwhile.
pub unsafe fn cparams_of(schunk: *mut blosc2_schunk) -> blosc2_cparams {
    // SAFETY: `# Safety` says that the structure is there and not changed; integers, bools, pointers and optional functions may be zero.
    let (c, mut cparams) = unsafe { (&*schunk, std::mem::zeroed::<blosc2_cparams>()) };
    // SAFETY: a context of this library, or null.
    let ctx = unsafe { Context::from_c(c.cctx) };
    cparams.nthreads = ctx.map_or_else(|_| process::nthreads(), |ctx| ctx.nthreads.get());
    cparams.schunk = schunk.cast();
    assign!(cparams, c; filters, filters_meta, compcode, compcode_meta, clevel, typesize, blocksize);
    cparams.splitmode = i32::from(c.splitmode);
    cparams.use_dict = i32::from(c.use_dict);
    cparams
}

/// The decompression parameters that the public fields stand for.
///
/// # Safety
/// As for [`cparams_of`].
pub unsafe fn dparams_of(schunk: *mut blosc2_schunk) -> blosc2_dparams {
    // SAFETY: as in `cparams_of`.
    let (c, mut dparams) = unsafe { (&*schunk, std::mem::zeroed::<blosc2_dparams>()) };
    // SAFETY: a context of this library, or null.
    let ctx = unsafe { Context::from_c(c.dctx) };
    dparams.nthreads = ctx.map_or_else(|_| process::nthreads(), |ctx| ctx.nthreads.get());
    dparams.schunk = schunk.cast();
    dparams
}
