//! The parameters and contexts of a super-chunk, among its public fields.

use super::handle::Unfinished;
use super::mirror::parameters;
use super::storage::Storage;
use crate::capi::context;
use crate::capi::context::recorded;
use crate::capi::prelude::*;
use oxiblosc::format::frame::header::{FrameKind, Header};
use oxiblosc::process;
use oxiblosc::schunk::Parameters;

/// Writes the parameters into the fields of these names.
macro_rules! show {
    ($to:expr, $from:expr) => {
        assign!($to, $from; typesize, blocksize, compcode, compcode_meta, clevel, filters, filters_meta);
        $to.splitmode = $from.splitmode.into();
        $to.use_dict = $from.use_dict.into();
    };
}

/// A handle in the making with this storage, and with the parameters and contexts that follow from
/// it.
///
/// # Safety
/// The pointers in the storage's parameters are valid as long as the super-chunk is.
pub unsafe fn with_storage(storage: Storage) -> Result<Unfinished> {
    let mut schunk = Unfinished::new()?;
    let pointer = schunk.as_c();
    let c = schunk.fields();
    c.storage = storage.into_c();
    unsafe_granted!({
        let cparams = &mut *(*c.storage).cparams;
        let dparams = &mut *(*c.storage).dparams;
        show!(c, recorded(cparams));
        c.use_dict = cparams.use_dict as u8;
        assign!(c, cparams; tuner_params, tuner_id);
        c.chunksize = -1;
        if cparams.tuner_id == BLOSC_BTUNE {
            cparams.use_dict = 0;
        }
        cparams.schunk = pointer.cast();
        dparams.schunk = pointer.cast();
        c.cctx = context::compression(*cparams)?.into_c();
        c.dctx = context::decompression(*dparams)?.into_c();
    });
    Ok(schunk)
}

/// As [`with_storage`], for a frame with this header, and with files as the back end.
pub fn with_header(header: &Header) -> Result<Unfinished> {
    let nthreads = process::nthreads();
    let mut cparams = blosc2_cparams {
        nthreads,
        ..cparams_from(&header.parameters)
    };
    let mut dparams = blosc2_dparams {
        nthreads,
        typesize: 0,
        ..blosc2_dparams::defaults()
    };
    let storage = blosc2_storage {
        contiguous: header.kind == FrameKind::Contiguous,
        cparams: &raw mut cparams,
        dparams: &raw mut dparams,
        ..blosc2_storage::defaults()
    };
    // SAFETY: the pointers in the storage are null, or to the parameters above, in which they are
    // null.
    let mut schunk = unsafe { with_storage(Storage::copy_of(&storage)?)? };
    schunk.fields().chunksize = header.chunksize;
    Ok(schunk)
}

/// Parameters of compression, and nothing else.
pub fn cparams_from(parameters: &Parameters) -> blosc2_cparams {
    // SAFETY: integers, bools, pointers and optional functions may be zero.
    let mut cparams: blosc2_cparams = unsafe { std::mem::zeroed() };
    show!(cparams, parameters);
    cparams
}

/// The number of threads of a context, if there is one.
///
/// # Safety
/// `ctx` is null or valid.
unsafe fn nthreads_of(ctx: *mut blosc2_context) -> i16 {
    let ctx = unsafe_granted!(Context::from_c(ctx));
    ctx.map_or_else(|_| process::nthreads(), |ctx| ctx.nthreads.get())
}

/// The compression parameters that the public fields stand for.
///
/// # Safety
/// `schunk` is a super-chunk, finished or not, that is not changed meanwhile.
pub unsafe fn cparams_of(schunk: *mut blosc2_schunk) -> blosc2_cparams {
    unsafe_granted!(blosc2_cparams {
        nthreads: nthreads_of((*schunk).cctx),
        schunk: schunk.cast(),
        use_dict: (*schunk).use_dict.into(),
        ..cparams_from(&parameters(schunk))
    })
}

/// The decompression parameters that the public fields stand for.
///
/// # Safety
/// As for [`cparams_of`].
pub unsafe fn dparams_of(schunk: *mut blosc2_schunk) -> blosc2_dparams {
    unsafe_granted!(blosc2_dparams {
        nthreads: nthreads_of((*schunk).dctx),
        schunk: schunk.cast(),
        typesize: 0,
        ..blosc2_dparams::defaults()
    })
}
