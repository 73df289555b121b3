//! Parameters, order, special values, locks.

use super::parts::{cparams_of, dparams_of};
use crate::capi::context::compression;
use crate::capi::prelude::*;
use oxiblosc::encoding::special_chunk;
use oxiblosc::format::chunk::header::Special;
use oxiblosc_base::memory::{Collect, MallocOwned, TryVec, on_c_heap};

/// Gives parameters of a super-chunk in a struct that the program frees.
///
/// # Safety
/// `schunk` is null or valid; `params` is null or can be written.
unsafe fn give_params<T>(
    schunk: *mut blosc2_schunk,
    params: *mut *mut T,
    params_of: unsafe fn(*mut blosc2_schunk) -> T,
) -> Result<()> {
    let handle = unsafe_granted!(Handle::from_c(schunk)?).base();
    let _unchanged = handle.core().peek()?;
    not_null!(params)?;
    // SAFETY: by `# Safety` `params` can be written, as it is not null. `_unchanged` keeps the
    // structure from being written while it is read.
    unsafe { *params = on_c_heap(params_of(handle.as_c()))? };
    Ok(())
}

/// Gives the compression parameters of a super-chunk in a struct that the program frees with
/// `free`. Returns 0.
///
/// # Safety
/// Both pointers are valid.
#[export]
pub unsafe extern "C" fn blosc2_schunk_get_cparams(
    schunk: *mut blosc2_schunk,
    cparams: *mut *mut blosc2_cparams,
) -> c_int {
    give_params(schunk, cparams, cparams_of)
}

/// Gives the decompression parameters of a super-chunk in a struct that the program frees with
/// `free`. Returns 0.
///
/// # Safety
/// Both pointers are valid.
#[export]
pub unsafe extern "C" fn blosc2_schunk_get_dparams(
    schunk: *mut blosc2_schunk,
    dparams: *mut *mut blosc2_dparams,
) -> c_int {
    give_params(schunk, dparams, dparams_of)
}

/// Puts the chunks into another order: `offsets_order[i]` says which of them comes at place `i`.
/// Returns 0; `BLOSC2_ERROR_DATA` unless every chunk is named once.
///
/// # Safety
/// `schunk` is valid; `offsets_order` has `schunk->nchunks` elements.
#[export]
pub unsafe extern "C" fn blosc2_schunk_reorder_offsets(
    schunk: *mut blosc2_schunk,
    offsets_order: *mut i64,
) -> c_int {
    let schunk = &ViewedSchunk::from_c(schunk)?;
    schunk.reorder_by(|nchunks| {
        let order = items(offsets_order, nchunks)?;
        order.iter().map(|from| index(*from)).collect_vec()
    })
}

/// Bytes of the frame, as it is or will be once it is closed; without a frame an estimate.
///
/// # Safety
/// `schunk` is valid.
#[export]
pub unsafe extern "C" fn blosc2_schunk_frame_len(schunk: *mut blosc2_schunk) -> i64 {
    ViewedSchunk::from_c(schunk)?.frame_len()
}

/// Fills an empty super-chunk with `nitems` items of a special value (`BLOSC2_SPECIAL_ZERO`,
/// `BLOSC2_SPECIAL_NAN`, `BLOSC2_SPECIAL_UNINIT`) in chunks of `chunksize` bytes. In a frame they
/// take no room, however many they are. Returns the number of chunks, or a negative error code.
///
/// # Safety
/// `schunk` is valid.
#[export]
pub unsafe extern "C" fn blosc2_schunk_fill_special(
    schunk: *mut blosc2_schunk,
    nitems: i64,
    special_value: c_int,
    chunksize: i32,
) -> i64 {
    let schunk = &ViewedSchunk::from_c(schunk)?;
    let (nitems, kind) = (size(nitems)?, Special::fillable(special_value));
    let sample = |kind, nbytes| sample_of(schunk.shown().base(), kind, nbytes);
    schunk.fill_special(nitems as u64, kind, or_zero(chunksize), &sample)
}

/// A chunk of special values, as the super-chunk's own parameters have it.
pub fn sample_of(handle: &Handle, kind: Special, nbytes: i32) -> Result<TryVec<u8>> {
    // SAFETY: the operation that calls this keeps other threads from writing the structure. The
    // pointers in the parameters are null, but for that to the super-chunk.
    let (cparams, ctx) = unsafe {
        let cparams = cparams_of(handle.as_c());
        (cparams, compression(cparams)?)
    };
    special_chunk(&*ctx, cparams.typesize, (kind, &[]), nbytes)
}

/// Keeps other handles and processes away from the frame until `blosc2_schunk_unlock`, so that what
/// happens in between happens at once for them. Calls may nest. Without locking it does nothing.
/// Returns 0, or a negative error code.
///
/// # Safety
/// `schunk` is valid.
#[export]
pub unsafe extern "C" fn blosc2_schunk_lock(schunk: *mut blosc2_schunk) -> c_int {
    ViewedSchunk::from_c(schunk)?.lock()
}

/// Ends what `blosc2_schunk_lock` began. Returns 0, or a negative error code.
///
/// # Safety
/// `schunk` is valid.
#[export]
pub unsafe extern "C" fn blosc2_schunk_unlock(schunk: *mut blosc2_schunk) -> c_int {
    ViewedSchunk::from_c(schunk)?.unlock()
}

/// Brings the super-chunk up to date with its frame on disk, if another handle changed that.
/// Returns 1 if it did, 0 if there was nothing to do, or a negative error code.
///
/// # Safety
/// `schunk` is NULL or valid.
#[export]
pub unsafe extern "C" fn blosc2_schunk_refresh(schunk: *mut blosc2_schunk) -> c_int {
    ViewedSchunk::from_c(schunk)?.refresh()
}

/// Gives the offsets of the chunks of a frame, `schunk->nchunks` of them, in memory that the
/// program frees with `free`; see the format documents for what they mean. NULL without a frame or
/// without chunks.
///
/// # Safety
/// `schunk` is valid.
#[export]
pub unsafe extern "C" fn blosc2_frame_get_offsets(schunk: *mut blosc2_schunk) -> *mut i64 {
    let schunk = &ViewedSchunk::from_c(schunk)?;
    numbers_for_c(schunk.offsets()?.iter().copied())
}

/// Says whether `blosc2_schunk_free` is to leave the frame's buffer in memory to the program, which
/// then frees it with `free`. A buffer given to `blosc2_schunk_from_buffer` is the program's unless
/// `avoid_cframe_free` is false here.
///
/// # Safety
/// `schunk` is valid. When a buffer is handed over, it came from `malloc`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blosc2_schunk_avoid_cframe_free(
    schunk: *mut blosc2_schunk,
    avoid_cframe_free: bool,
) {
    unsafe_granted!(guard((), || {
        let Ok(handle) = Handle::from_c(schunk).map(Handle::base) else {
            return;
        };
        handle.set_avoid_free(avoid_cframe_free);
        if !avoid_cframe_free {
            let _ = handle.core().with_memory(|memory| {
                if let Some(start) = memory.borrowed() {
                    memory.take_over(MallocOwned::at(start));
                }
            });
        }
    }));
}
