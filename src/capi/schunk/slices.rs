//! Ranges of items and single items, read and written.

use crate::capi::prelude::*;
use crate::capi::unwritten::unwritten;

/// Reads the items from `start` to before `stop` into `buffer`, which has room for them. Returns 0,
/// or a negative error code.
///
/// # Safety
/// `schunk` is valid; `buffer` has room for the items.
#[export]
pub unsafe extern "C" fn blosc2_schunk_get_slice_buffer(
    schunk: *mut blosc2_schunk,
    start: i64,
    stop: i64,
    buffer: *mut c_void,
) -> c_int {
    // `len` is the size of the items from `start` to before `stop`, for which the buffer is long
    // enough.
    ViewedSchunk::from_c(schunk)?.read_items(start, stop, |len| bytes_mut(buffer.cast(), len))
}

/// Writes the items from `start` to before `stop` out of `buffer`, all of them or, if that fails,
/// none. Of a chunk that is not written whole, only the blocks that change are compressed again.
/// Returns 0, or a negative error code.
///
/// # Safety
/// `schunk` is valid; `buffer` holds the items.
#[export]
pub unsafe extern "C" fn blosc2_schunk_set_slice_buffer(
    schunk: *mut blosc2_schunk,
    start: i64,
    stop: i64,
    buffer: *mut c_void,
) -> c_int {
    // `len` is the size of the items from `start` to before `stop`, which the buffer holds.
    let schunk = &ViewedSchunk::from_c(schunk)?;
    schunk
        .write_items(start, stop, |len| bytes(buffer.cast(), len))
        .map_err(unwritten(Error::CHUNK_UPDATE))
}

/// Reads the items at `coords`, `ncoords` of them in any order, into `buffer`. Returns 0, or a
/// negative error code.
///
/// # Safety
/// `schunk` is NULL or valid; `coords` has `ncoords` elements and `buffer` room for as many items.
#[export]
pub unsafe extern "C" fn blosc2_schunk_get_sparse_buffer(
    schunk: *mut blosc2_schunk,
    ncoords: i64,
    coords: *const i64,
    buffer: *mut c_void,
) -> c_int {
    not_null!(schunk; INVALID_PARAM)?;
    let schunk = Handle::from_c(schunk)?.core();
    let ncoords = size(ncoords)?;
    if ncoords == 0 {
        return Ok(());
    }
    not_null!(coords, buffer; INVALID_PARAM)?;
    let state = schunk.read()?;
    let len = ncoords.checked_mul(or_zero(state.parameters().typesize));
    let len = len.ok_or(Error::INVALID_PARAM)?;
    // A negative coordinate, read as an unsigned one, is behind the last item.
    let coords = items(coords.cast(), ncoords)?;
    schunk.read_sparse(coords, bytes_mut(buffer.cast(), len)?)
}
