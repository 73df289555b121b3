//! Which chunks a range of items is in.

use crate::capi::prelude::*;

/// Says which chunks have items of the range from `*start` to before `*stop`; of an array, of the
/// slice between the positions `start` and `stop`. The program frees `*chunks_idx` with `free`; it
/// is NULL if there are none. Returns how many there are, or a negative error code.
///
/// # Safety
/// `schunk` is NULL or valid; `start` and `stop` have a number for each dimension.
#[export]
pub unsafe extern "C" fn blosc2_get_slice_nchunks(
    schunk: *mut blosc2_schunk,
    start: *mut i64,
    stop: *mut i64,
    chunks_idx: *mut *mut i64,
) -> i64 {
    let shown = Handle::from_c(schunk)?;
    not_null!(start, stop, chunks_idx)?;
    *chunks_idx = null_mut();
    let schunk = shown.core();
    let state = schunk.read_cached()?;
    let chunks = schunk.chunks_of_slice(&state, shown.metalayers(&state), |ndim| {
        Ok((items(start, ndim)?, items(stop, ndim)?))
    })?;
    *chunks_idx = numbers_for_c(chunks.iter().map(|nchunk| *nchunk as i64))?;
    Ok(chunks.len())
}
