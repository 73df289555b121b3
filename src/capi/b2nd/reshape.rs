//! Arrays that grow and shrink.

use super::array::{self, ArrayGuard};
use crate::capi::prelude::*;

/// Gives an array another shape of as many dimensions. It grows and shrinks at the far ends; with
/// `start` not NULL, at these positions, which then, like the lengths that come or go, must be
/// multiples of the chunk's. What it grows by is zeros. The shape and the chunks change at once.
/// Returns 0, or a negative error code.
///
/// # Safety
/// The pointers are NULL or valid; shape and positions have `array->ndim` elements.
#[export]
pub unsafe extern "C" fn b2nd_resize(
    array: *mut b2nd_array_t,
    new_shape: *const i64,
    start: *const i64,
) -> c_int {
    not_null!(new_shape)?;
    let mut array = ArrayGuard::open(array, true)?;
    let ndim = array.ndim();
    let start = (!start.is_null()).then(|| items(start, ndim)).transpose()?;
    let shape = items(new_shape, ndim)?;
    array.reshape(&mut |array| array.resize(shape, start))
}

/// Puts the items of `buffer`, as many as `buffersize` bytes are, before position `insert_start`
/// along `axis`: at the end, or where a chunk begins. The shape and the chunks change at once.
/// Returns 0, or a negative error code.
///
/// # Safety
/// The pointers are NULL or valid; `buffer` has `buffersize` bytes.
#[export]
pub unsafe extern "C" fn b2nd_insert(
    array: *mut b2nd_array_t,
    buffer: *const c_void,
    buffersize: i64,
    axis: i8,
    insert_start: i64,
) -> c_int {
    not_null!(buffer)?;
    let mut array = ArrayGuard::open(array, true)?;
    let axis = size(axis)?;
    let buffer = bytes(buffer.cast(), size(buffersize)?)?;
    array.reshape(&mut |array| array.insert(buffer, axis, insert_start))
}

/// Puts the items of `buffer`, as many as `buffersize` bytes are, at the end of `axis`. The shape
/// and the chunks change at once. Returns 0, or a negative error code.
///
/// # Safety
/// As for `b2nd_insert`.
#[export]
pub unsafe extern "C" fn b2nd_append(
    array: *mut b2nd_array_t,
    buffer: *const c_void,
    buffersize: i64,
    axis: i8,
) -> c_int {
    not_null!(buffer)?;
    let mut array = ArrayGuard::open(array, true)?;
    let axis = size(axis)?;
    let buffer = bytes(buffer.cast(), size(buffersize)?)?;
    array.reshape(&mut |array| array.append(buffer, axis))
}

/// Takes `delete_len` items away from `axis`, from position `delete_start` on: the last ones, or
/// whole chunks. The shape and the chunks change at once. Returns 0, or a negative error code.
///
/// # Safety
/// `array` is NULL or valid.
#[export]
pub unsafe extern "C" fn b2nd_delete(
    array: *mut b2nd_array_t,
    axis: i8,
    delete_start: i64,
    delete_len: i64,
) -> c_int {
    let mut array = ArrayGuard::open(array, true)?;
    let axis = size(axis)?;
    array.reshape(&mut |array| array.delete(axis, delete_start, delete_len))
}

/// Follows what other handles and processes did to the shape of an array on disk. All functions
/// that read or write data do that by themselves. Returns 1 if the shape was read again, 0 if it
/// was current, or a negative error code; `BLOSC2_ERROR_DATA` if more than the shape is another.
///
/// # Safety
/// `array` is NULL or valid.
#[export]
pub unsafe extern "C" fn b2nd_refresh(array: *mut b2nd_array_t) -> c_int {
    array::refresh(array)
}
