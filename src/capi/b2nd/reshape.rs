//! Arrays that grow and shrink.

use super::array::{self, Array};
use super::chunks::{self, Access, Compressor};
use super::slices::{dims, size};
use crate::capi::border::{bytes, code};
use crate::capi::types::*;
use oxiblosc_core::b2nd::reshape::{Reshape, target};
use oxiblosc_core::b2nd::select::Selection;
use oxiblosc_core::b2nd::write::{Rewriter, Writing};
use oxiblosc_core::b2nd::{Dims, MAX_DIM};
use oxiblosc_core::schunk::New;
use oxiblosc_error::{Error, Result};
use oxiblosc_memory::List;
use std::ffi::{c_int, c_void};

/// Makes chunks on the way from one shape to another.
pub type Write<'a> = dyn Fn(&Way) -> Result<List<New>> + 'a;

/// Gives an array another shape, and makes the chunks that `write` says, all at once. Without them, what comes to light is
/// zeros.
pub fn reshape(
    array: &mut Array,
    new_shape: &[i64],
    start: Option<&[i64]>,
    write: Option<&Write>,
) -> Result<()> {
    let old = array.geometry.clone();
    let new = target(&old, new_shape)?;
    let way = Reshape::new(&old, &new, start)?;
    if old.shape == new.shape {
        return Ok(());
    }
    if array.shown.is_view() {
        // The base has another shape.
        return Err(Error::InvalidParam);
    }
    let handle = array.handle;
    let compressor = Compressor::new(array)?;
    let changing = handle.reserve()?;
    if old.nchunks()? != handle.inner().store.nchunks() as i64 {
        // The metalayer speaks of other chunks.
        return Err(Error::Failure);
    }
    let origin = |nchunk| way.origin(nchunk);
    let chunks = {
        let way = Way {
            reshape: &way,
            array,
            rewriter: Rewriter {
                chunks: &Access::new(handle)?,
                maker: &compressor,
                sizes: array.sizes()?,
                in_place: false,
            },
        };
        match write {
            Some(write) => write(&way)?,
            None => way.reshape.cleared(&way.rewriter, array.writers()?)?,
        }
    };
    changing.commit(|inner| chunks::arrange(array, inner, new.clone(), &origin, chunks))?;
    changing.finish()
}

/// A reshaping under way.
pub struct Way<'a> {
    reshape: &'a Reshape<'a>,
    array: &'a Array<'a>,
    /// What chunks are made with.
    pub rewriter: Rewriter<'a>,
}

impl Way<'_> {
    /// The chunks that a selection of the new array makes.
    pub fn write(&self, selection: &Selection, buffer: &[u8]) -> Result<List<New>> {
        let origin = |nchunk: usize| {
            let old = self.reshape.origin(nchunk as i64)?;
            usize::try_from(old).ok()
        };
        let writing = Writing {
            selection,
            rewriter: self.rewriter,
            origin: &origin,
            buffer,
        };
        writing.chunks(self.array.writers()?)
    }
}

/// Gives an array another shape of as many dimensions. It grows and shrinks at the far ends; with `start` not NULL, at these
/// positions, which then, like the lengths that come or go, must be multiples of the chunk's. What it grows by is zeros. The
/// shape and the chunks change at once. Returns 0, or a negative error code.
///
/// # Safety
/// The pointers are NULL or valid; shape and positions have `array->ndim` elements.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn b2nd_resize(
    array: *mut b2nd_array_t,
    new_shape: *const i64,
    start: *const i64,
) -> c_int {
    // SAFETY: by the caller's word.
    code("b2nd_resize", || unsafe {
        if new_shape.is_null() {
            return Err(Error::NullPointer);
        }
        let (mut array, _locked) = Array::open(array, true)?;
        let ndim = array.geometry.ndim;
        let start = (!start.is_null()).then(|| dims(start, ndim)).transpose()?;
        reshape(&mut array, dims(new_shape, ndim)?, start, None)?;
        Ok(0)
    })
}

/// Puts the items of a buffer into an array, before position `at` along `axis`.
pub fn insert(array: &mut Array, buffer: &[u8], axis: usize, at: i64) -> Result<()> {
    let geometry = &array.geometry;
    let ndim = geometry.ndim;
    if !(0..=geometry.shape[axis]).contains(&at) {
        return Err(Error::InvalidParam);
    }
    let others = (0..ndim).filter(|d| *d != axis);
    let row = others
        .map(|d| geometry.shape[d])
        .try_fold(i64::from(array.typesize), i64::checked_mul)
        .ok_or(Error::InvalidParam)?;
    let nbytes = buffer.len() as i64;
    let len = match nbytes.checked_rem(row) {
        Some(0) => nbytes / row,
        // Rows of nothing: nothing can be inserted.
        None if nbytes == 0 => 0,
        _ => return Err(Error::InvalidParam),
    };
    if len == 0 {
        return Ok(());
    }
    let mut shape = geometry.shape;
    let at_end = at == shape[axis];
    shape[axis] = shape[axis].checked_add(len).ok_or(Error::InvalidParam)?;
    let mut start = [0; MAX_DIM];
    start[axis] = at;
    let mut stop: Dims = shape;
    stop[axis] = at + len;
    let mut buffershape = geometry.shape;
    buffershape[axis] = len;
    let new = target(geometry, &shape[..ndim])?;
    let write = |way: &Way| {
        let slice = Selection::slice(&new, &start[..ndim], &stop[..ndim], &buffershape[..ndim])?;
        match slice {
            Some(slice) => way.write(&slice, buffer),
            None => Ok(List::new()),
        }
    };
    let start = (!at_end).then_some(&start[..ndim]);
    reshape(array, &shape[..ndim], start, Some(&write))
}

/// An axis of the program's.
fn axis_of(array: &Array, axis: i8) -> Result<usize> {
    let axis = usize::try_from(axis).map_err(|_| Error::InvalidParam)?;
    if axis < array.geometry.ndim {
        Ok(axis)
    } else {
        Err(Error::InvalidParam)
    }
}

/// Puts the items of `buffer`, as many as `buffersize` bytes are, before position `insert_start` along `axis`: at the end, or
/// where a chunk begins. The shape and the chunks change at once. Returns 0, or a negative error code.
///
/// # Safety
/// The pointers are NULL or valid; `buffer` has `buffersize` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn b2nd_insert(
    array: *mut b2nd_array_t,
    buffer: *const c_void,
    buffersize: i64,
    axis: i8,
    insert_start: i64,
) -> c_int {
    // SAFETY: by the caller's word.
    code("b2nd_insert", || unsafe {
        if buffer.is_null() {
            return Err(Error::NullPointer);
        }
        let (mut array, _locked) = Array::open(array, true)?;
        let axis = axis_of(&array, axis)?;
        let buffer = bytes(buffer.cast(), size(buffersize)?)?;
        insert(&mut array, buffer, axis, insert_start)?;
        Ok(0)
    })
}

/// Puts the items of `buffer`, as many as `buffersize` bytes are, at the end of `axis`. The shape and the chunks change at
/// once. Returns 0, or a negative error code.
///
/// # Safety
/// As for `b2nd_insert`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn b2nd_append(
    array: *mut b2nd_array_t,
    buffer: *const c_void,
    buffersize: i64,
    axis: i8,
) -> c_int {
    // SAFETY: by the caller's word.
    code("b2nd_append", || unsafe {
        if buffer.is_null() {
            return Err(Error::NullPointer);
        }
        let (mut array, _locked) = Array::open(array, true)?;
        let axis = axis_of(&array, axis)?;
        let buffer = bytes(buffer.cast(), size(buffersize)?)?;
        let end = array.geometry.shape[axis];
        insert(&mut array, buffer, axis, end)?;
        Ok(0)
    })
}

/// Takes `delete_len` items away from `axis`, from position `delete_start` on: the last ones, or whole chunks. The shape and
/// the chunks change at once. Returns 0, or a negative error code.
///
/// # Safety
/// `array` is NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn b2nd_delete(
    array: *mut b2nd_array_t,
    axis: i8,
    delete_start: i64,
    delete_len: i64,
) -> c_int {
    // SAFETY: by the caller's word.
    code("b2nd_delete", || unsafe {
        let (mut array, _locked) = Array::open(array, true)?;
        let axis = axis_of(&array, axis)?;
        let ndim = array.geometry.ndim;
        let mut shape = array.geometry.shape;
        let left = shape[axis].checked_sub(delete_len);
        let left = left.ok_or(Error::InvalidParam)?;
        if delete_len < 0 || delete_start < 0 || delete_start > shape[axis] {
            return Err(Error::InvalidParam);
        }
        shape[axis] = left;
        let mut start = [0; MAX_DIM];
        start[axis] = delete_start;
        let start = (delete_start != left).then_some(&start[..ndim]);
        reshape(&mut array, &shape[..ndim], start, None)?;
        Ok(0)
    })
}

/// Follows what other handles and processes did to the shape of an array on disk. All functions that read or write data do
/// that by themselves. Returns 1 if the shape was read again, 0 if it was current, or a negative error code;
/// `BLOSC2_ERROR_DATA` if more than the shape is another.
///
/// # Safety
/// `array` is NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn b2nd_refresh(array: *mut b2nd_array_t) -> c_int {
    // SAFETY: by the caller's word.
    code("b2nd_refresh", || unsafe {
        Ok(c_int::from(array::refresh(array)?))
    })
}
