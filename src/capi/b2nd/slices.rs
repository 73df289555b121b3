//! Slices: boxes of items, read and written.

use super::array::ArrayGuard;
use crate::capi::prelude::*;

/// Reads the items from `start` to before `stop` into `buffer`, an array of shape `buffershape` in
/// C order, from its front on; the rest of the `buffersize` bytes becomes zeros. Only the blocks
/// that are touched are decompressed. Returns 0, or a negative error code.
///
/// # Safety
/// The pointers are NULL or valid; positions and shape have `array->ndim` elements.
#[export]
pub unsafe extern "C" fn b2nd_get_slice_cbuffer(
    array: *const b2nd_array_t,
    start: *const i64,
    stop: *const i64,
    buffer: *mut c_void,
    buffershape: *const i64,
    buffersize: i64,
) -> c_int {
    not_null!(start, stop, buffershape, buffer)?;
    let array = ArrayGuard::open(array, false)?;
    let ndim = array.ndim();
    let buffer = bytes_mut(buffer.cast(), size(buffersize)?)?;
    let (start, stop) = (items(start, ndim)?, items(stop, ndim)?);
    array.read_slice(start, stop, items(buffershape, ndim)?, buffer)
}

/// Writes the items from `start` to before `stop` out of `buffer`, an array of shape `buffershape`
/// in C order, from its front on: all of them or, if that fails, none. Only the blocks that are
/// touched are compressed again. Returns 0, or a negative error code.
///
/// # Safety
/// The pointers are NULL or valid; positions and shape have `array->ndim` elements, `buffer` has
/// `buffersize` bytes.
#[export]
pub unsafe extern "C" fn b2nd_set_slice_cbuffer(
    buffer: *const c_void,
    buffershape: *const i64,
    buffersize: i64,
    start: *const i64,
    stop: *const i64,
    array: *mut b2nd_array_t,
) -> c_int {
    not_null!(start, stop, buffershape, buffer)?;
    let array = ArrayGuard::open(array, true)?;
    let ndim = array.ndim();
    let buffer = bytes(buffer.cast(), size(buffersize)?)?;
    let (start, stop) = (items(start, ndim)?, items(stop, ndim)?);
    let buffershape = items(buffershape, ndim)?;
    array.write(|array| array.write_slice(start, stop, buffershape, buffer))
}
