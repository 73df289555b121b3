//! Slices: boxes of items, read and written.

use super::array::Array;
use super::chunks::{Access, Compressor};
use crate::capi::border::{bytes, bytes_mut, code};
use crate::capi::schunk::replace::replace;
use crate::capi::types::*;
use oxiblosc_core::b2nd::read::Reading;
use oxiblosc_core::b2nd::select::Selection;
use oxiblosc_core::b2nd::write::{Rewriter, Writing};
use oxiblosc_error::{Error, Result};
use std::ffi::{c_int, c_void};

/// Positions or lengths of the program's.
///
/// # Safety
/// `dims` has `ndim` elements.
pub unsafe fn dims<'a>(dims: *const i64, ndim: usize) -> Result<&'a [i64]> {
    if dims.is_null() {
        return Err(Error::NullPointer);
    }
    // SAFETY: by the caller's word.
    Ok(unsafe { std::slice::from_raw_parts(dims, ndim) })
}

/// The size of a buffer of the program's.
pub fn size(buffersize: i64) -> Result<usize> {
    usize::try_from(buffersize).map_err(|_| Error::InvalidParam)
}

/// Checks that a slice's items fit into a buffer, and that its chunks are ones that there can be.
fn check(array: &Array, start: &[i64], stop: &[i64], buffersize: usize) -> Result<()> {
    if array.geometry.nitems == 0 {
        return Ok(());
    }
    let sizes = array.sizes()?;
    let items = start
        .iter()
        .zip(stop)
        .try_fold(1i64, |items, (start, stop)| {
            items.checked_mul(stop.checked_sub(*start)?.max(0))
        });
    let needed = items
        .and_then(|items| items.checked_mul(sizes.item as i64))
        .ok_or(Error::InvalidParam)?;
    if needed > buffersize as i64 {
        return Err(Error::InvalidParam);
    }
    Ok(())
}

/// Reads a slice into the front of `buffer`, which has the shape given. What the slice leaves of it becomes zeros.
pub fn get(
    array: &Array,
    start: &[i64],
    stop: &[i64],
    buffershape: &[i64],
    buffer: &mut [u8],
) -> Result<()> {
    check(array, start, stop, buffer.len())?;
    let selection = Selection::slice(&array.geometry, start, stop, buffershape)?;
    let Some(selection) = selection else {
        buffer.fill(0);
        return Ok(());
    };
    let sizes = array.sizes()?;
    let covered = selection.buffer_items()?.saturating_mul(sizes.item);
    let lengths = start.iter().zip(stop).zip(array.geometry.shape);
    // Where the slice has the buffer's shape, every byte up to its last item is written.
    let tight = lengths
        .zip(buffershape)
        .skip(1)
        .all(|(((start, stop), len), room)| stop - start == *room && *stop <= len);
    let rest = if tight { covered } else { 0 };
    if let Some(rest) = buffer.get_mut(rest..) {
        rest.fill(0);
    }
    let reading = Reading {
        selection: &selection,
        chunks: &array.chunks()?,
        sizes,
    };
    reading.read(buffer, array.readers()?)
}

/// Writes a slice out of the front of `buffer`, which has the shape given.
pub fn set(
    array: &Array,
    start: &[i64],
    stop: &[i64],
    buffershape: &[i64],
    buffer: &[u8],
) -> Result<()> {
    check(array, start, stop, buffer.len())?;
    let selection = Selection::slice(&array.geometry, start, stop, buffershape)?;
    match selection {
        Some(selection) => write(array, &selection, buffer),
        None => Ok(()),
    }
}

/// Writes a selection, all of it at once.
pub fn write(array: &Array, selection: &Selection, buffer: &[u8]) -> Result<()> {
    let handle = array.handle;
    let compressor = Compressor::new(array)?;
    let changing = handle.reserve()?;
    let writing = Writing {
        selection,
        rewriter: Rewriter {
            chunks: &Access::new(handle)?,
            maker: &compressor,
            sizes: array.sizes()?,
            in_place: handle.inner().store.edits(),
        },
        origin: &Some,
        buffer,
    };
    let new = writing.chunks(array.writers()?)?;
    changing.commit(|inner| replace(handle, inner, new))?;
    changing.finish()?;
    array.follow();
    Ok(())
}

/// Reads the items from `start` to before `stop` into `buffer`, an array of shape `buffershape` in C order, from its front
/// on; the rest of the `buffersize` bytes becomes zeros. Only the blocks that are touched are decompressed. Returns 0, or a
/// negative error code.
///
/// # Safety
/// The pointers are NULL or valid; positions and shape have `array->ndim` elements.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn b2nd_get_slice_cbuffer(
    array: *const b2nd_array_t,
    start: *const i64,
    stop: *const i64,
    buffer: *mut c_void,
    buffershape: *const i64,
    buffersize: i64,
) -> c_int {
    // SAFETY: by the caller's word.
    code("b2nd_get_slice_cbuffer", || unsafe {
        let pointers = [start, stop, buffershape];
        if pointers.iter().any(|p| p.is_null()) || buffer.is_null() {
            return Err(Error::NullPointer);
        }
        let (array, _locked) = Array::open(array, false)?;
        let ndim = array.geometry.ndim;
        let buffer = bytes_mut(buffer.cast(), size(buffersize)?)?;
        let (start, stop) = (dims(start, ndim)?, dims(stop, ndim)?);
        get(&array, start, stop, dims(buffershape, ndim)?, buffer)?;
        Ok(0)
    })
}

/// Writes the items from `start` to before `stop` out of `buffer`, an array of shape `buffershape` in C order, from its
/// front on: all of them or, if that fails, none. Only the blocks that are touched are compressed again. Returns 0, or a
/// negative error code.
///
/// # Safety
/// The pointers are NULL or valid; positions and shape have `array->ndim` elements, `buffer` has `buffersize` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn b2nd_set_slice_cbuffer(
    buffer: *const c_void,
    buffershape: *const i64,
    buffersize: i64,
    start: *const i64,
    stop: *const i64,
    array: *mut b2nd_array_t,
) -> c_int {
    // SAFETY: by the caller's word.
    code("b2nd_set_slice_cbuffer", || unsafe {
        let pointers = [start, stop, buffershape];
        if pointers.iter().any(|p| p.is_null()) || buffer.is_null() {
            return Err(Error::NullPointer);
        }
        let (array, _locked) = Array::open(array, true)?;
        let ndim = array.geometry.ndim;
        let buffer = bytes(buffer.cast(), size(buffersize)?)?;
        let (start, stop) = (dims(start, ndim)?, dims(stop, ndim)?);
        set(&array, start, stop, dims(buffershape, ndim)?, buffer)?;
        Ok(0)
    })
}
