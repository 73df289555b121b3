//! Items picked by lists of indices, and one by one.

use super::array::ArrayGuard;
use crate::capi::prelude::*;
use oxiblosc::b2nd::ArrayRef;
use oxiblosc::b2nd::select::Selection;
use oxiblosc_base::memory::Collect;

/// What the lists of indices of the program's select, for a buffer of this shape and size; none if
/// there are no items.
///
/// # Safety
/// `selection` has as many lists as the array has dimensions, of the lengths that `sizes` says, and
/// `buffershape` as many numbers.
unsafe fn select<'a>(
    array: &'a ArrayRef,
    selection: *mut *mut i64,
    sizes: *mut i64,
    buffershape: *mut i64,
    buffersize: i64,
) -> Result<Option<Selection<'a>>> {
    not_null!(selection, sizes)?;
    unsafe_granted!({
        let list = |d| items((*selection.add(d)).cast_const(), or_zero(*sizes.add(d)));
        let lists = (0..array.geometry.ndim).map(list).try_collect_vec()?;
        let shape = items(buffershape, array.geometry.ndim)?;
        array.select(&lists, shape, buffersize)
    })
}

/// Reads the items whose indices along each dimension are in `selection`, lists of `selection_size`
/// indices each, in any order and also repeated, into `buffer`, an array of shape `buffershape`.
/// Returns 0, or a negative error code.
///
/// # Safety
/// The pointers are NULL or valid; `buffer` has `buffersize` bytes.
#[export]
pub unsafe extern "C" fn b2nd_get_orthogonal_selection(
    array: *const b2nd_array_t,
    selection: *mut *mut i64,
    selection_size: *mut i64,
    buffer: *mut c_void,
    buffershape: *mut i64,
    buffersize: i64,
) -> c_int {
    let array = ArrayGuard::open(array, false)?;
    let selection = select(&array, selection, selection_size, buffershape, buffersize)?;
    let Some(selection) = selection else {
        return Ok(());
    };
    let buffer = bytes_mut(buffer.cast(), size(buffersize)?)?;
    array.read_selection(&selection, buffer)
}

/// Writes the items whose indices along each dimension are in `selection`, lists of
/// `selection_size` indices each, out of `buffer`, an array of shape `buffershape`: all of them or,
/// if that fails, none. Of an item that is named more than once the last value counts. Returns 0,
/// or a negative error code.
///
/// # Safety
/// As for `b2nd_get_orthogonal_selection`.
#[export]
pub unsafe extern "C" fn b2nd_set_orthogonal_selection(
    array: *mut b2nd_array_t,
    selection: *mut *mut i64,
    selection_size: *mut i64,
    buffer: *const c_void,
    buffershape: *mut i64,
    buffersize: i64,
) -> c_int {
    let array = ArrayGuard::open(array, true)?;
    let selection = select(&array, selection, selection_size, buffershape, buffersize)?;
    let Some(selection) = selection else {
        return Ok(());
    };
    let buffer = bytes(buffer.cast(), size(buffersize)?)?;
    array.write(|array| array.write_selection(&selection, buffer))
}

/// Reads `ncoords` items into `buffer`, one after the other. `coords` counts them through the whole
/// array in C order, in any order and also repeated. Returns 0, or a negative error code.
///
/// # Safety
/// The pointers are NULL or valid; `buffer` has `buffersize` bytes.
#[export]
pub unsafe extern "C" fn b2nd_get_sparse_cbuffer(
    array: *const b2nd_array_t,
    ncoords: i64,
    coords: *const i64,
    buffer: *mut c_void,
    buffersize: i64,
) -> c_int {
    let array = ArrayGuard::open(array, false)?;
    let count = size(ncoords)?;
    if count == 0 {
        return Ok(());
    }
    not_null!(buffer)?;
    array.check_sparse(ncoords, buffersize)?;
    let coords = items(coords, count)?;
    array.read_sparse(coords, bytes_mut(buffer.cast(), size(buffersize)?)?)
}
