//! Which chunks a range of items is in.

use super::handle::Handle;
use crate::capi::border::code64;
use crate::capi::types::*;
use oxiblosc_core::b2nd::MAX_DIM;
use oxiblosc_core::b2nd::array::find_metalayer;
use oxiblosc_core::b2nd::geometry::Geometry;
use oxiblosc_core::b2nd::meta::Meta;
use oxiblosc_core::b2nd::select::Selection;
use oxiblosc_error::{Error, Result};
use oxiblosc_memory::{Buffer, Collect, List};
use std::ptr::null_mut;

/// The chunks of an array that have items of a slice.
///
/// # Safety
/// `start` and `stop` have a number for each dimension.
unsafe fn of_array(meta: &[u8], start: *const i64, stop: *const i64) -> Result<List<i64>> {
    let (meta, _) = Meta::parse(meta, true)?;
    let geometry = Geometry::new(meta.ndim, &meta.shape, &meta.chunkshape, &meta.blockshape)?;
    let (mut from, mut to, mut lens) = ([0; MAX_DIM], [0; MAX_DIM], [0; MAX_DIM]);
    for d in 0..meta.ndim {
        // SAFETY: by the caller's word.
        let (first, last) = unsafe { (*start.add(d), *stop.add(d)) };
        from[d] = first;
        to[d] = last.min(meta.shape[d]);
        if first < 0 {
            return Err(Error::InvalidParam);
        }
        if to[d] <= first {
            return Ok(List::new());
        }
        lens[d] = to[d] - first;
    }
    let n = meta.ndim;
    let Some(slice) = Selection::slice(&geometry, &from[..n], &to[..n], &lens[..n])? else {
        return Ok(List::new());
    };
    (0..slice.nchunks()).map(|i| slice.chunk(i).nchunk).list()
}

/// Says which chunks have items of the range from `*start` to before `*stop`; of an array, of the slice between the
/// positions `start` and `stop`. The program frees `*chunks_idx` with `free`; it is NULL if there are none. Returns how many
/// there are, or a negative error code.
///
/// # Safety
/// `schunk` is NULL or valid; `start` and `stop` have a number for each dimension.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blosc2_get_slice_nchunks(
    schunk: *mut blosc2_schunk,
    start: *mut i64,
    stop: *mut i64,
    chunks_idx: *mut *mut i64,
) -> i64 {
    code64("blosc2_get_slice_nchunks", || {
        // SAFETY: by the contract.
        let handle = unsafe { Handle::from_c(schunk)? };
        if start.is_null() || stop.is_null() || chunks_idx.is_null() {
            return Err(Error::NullPointer);
        }
        // SAFETY: by the contract.
        unsafe { *chunks_idx = null_mut() };
        let schunk = handle.core();
        let state = schunk.read()?;
        let layers = state.metalayers();
        let chunks = match find_metalayer(layers) {
            // SAFETY: by the contract.
            Some(at) => unsafe { of_array(&layers[at].content, start, stop)? },
            None => {
                let typesize = i64::from(state.parameters().typesize);
                // SAFETY: by the contract.
                let (start, stop) = unsafe { (*start, *stop) };
                let byte = |item: i64| {
                    let byte = item.checked_mul(typesize).ok_or(Error::InvalidParam)?;
                    u64::try_from(byte).map_err(|_| Error::InvalidParam)
                };
                schunk.chunks_of(byte(start)?..byte(stop)?)?
            }
        };
        if !chunks.is_empty() {
            let bytes: List<u8> = chunks
                .iter()
                .flat_map(|nchunk| nchunk.to_ne_bytes())
                .list()?;
            // SAFETY: by the caller's word.
            unsafe { *chunks_idx = Buffer::copy_of(&bytes)?.into_raw().cast() };
        }
        Ok(chunks.len() as i64)
    })
}
