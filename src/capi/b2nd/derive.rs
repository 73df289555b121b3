//! Arrays out of arrays: slices, copies, concatenations.

use super::array::{self, Array};
use super::chunks::{Access, Compressor};
use super::context::Params;
use super::create::{deliver, discard, special};
use super::reshape::{Way, reshape};
use super::slices::get;
use crate::capi::border::code;
use crate::capi::constants::*;
use crate::capi::schunk::convert::copy as copy_schunk;
use crate::capi::schunk::create as schunk;
use crate::capi::schunk::meta::{blosc2_vlmeta_add, blosc2_vlmeta_get};
use crate::capi::schunk::replace::replace;
use crate::capi::types::*;
use oxiblosc_core::b2nd::geometry::Geometry;
use oxiblosc_core::b2nd::select::Selection;
use oxiblosc_core::b2nd::write::{Rewriter, Writing};
use oxiblosc_core::b2nd::{Dims, MAX_DIM};
use oxiblosc_core::schunk::New;
use oxiblosc_error::{Error, Result};
use oxiblosc_memory::{CStrBuf, List};
use std::ffi::c_int;
use std::ptr::null_mut;

/// A chunk's box in an array: from where to where, without padding.
fn chunk_box(geometry: &Geometry, nchunk: i64) -> (Dims, Dims) {
    let place = geometry.place_of(nchunk);
    let (mut start, mut stop) = (Dims::default(), Dims::default());
    for d in 0..geometry.ndim {
        let chunk = i64::from(geometry.chunkshape[d]);
        start[d] = place[d] * chunk;
        stop[d] = (start[d] + chunk).min(geometry.shape[d]);
    }
    (start, stop)
}

/// Reads a box of an array, with zeros where the array has nothing; none where it has nothing at all.
fn read_box(array: &Array, start: &Dims, stop: &Dims) -> Result<Option<(Dims, List<u8>)>> {
    let ndim = array.geometry.ndim;
    let mut shape = [1; MAX_DIM];
    let mut end = *stop;
    for d in 0..ndim {
        end[d] = stop[d].min(array.geometry.shape[d]);
    }
    if array.geometry.nitems > 0 && start[..ndim].iter().any(|at| *at < 0) {
        return Err(Error::Failure);
    }
    if (0..ndim).any(|d| start[d] >= end[d]) {
        return Ok(None);
    }
    let mut size = array.sizes()?.item;
    for d in 0..ndim {
        shape[d] = stop[d] - start[d];
        let len = usize::try_from(shape[d]).map_err(|_| Error::InvalidParam)?;
        size = size.checked_mul(len).ok_or(Error::InvalidParam)?;
    }
    let mut buffer = List::new();
    buffer.reserve_exact(size)?;
    buffer.resize(size, 0)?;
    get(
        array,
        &start[..ndim],
        &end[..ndim],
        &shape[..ndim],
        &mut buffer,
    )?;
    Ok(Some((shape, buffer)))
}

/// Fills a new array with what `src` has from `from` on.
fn fill(made: *mut b2nd_array_t, src: &Array, from: &Dims) -> Result<()> {
    // SAFETY: just made.
    let (array, _locked) = unsafe { Array::open(made, true)? };
    if array.typesize != src.typesize {
        return Err(Error::InvalidParam);
    }
    let geometry = &array.geometry;
    let ndim = geometry.ndim;
    let compressor = Compressor::new(&array)?;
    let workers = array.writers()?;
    let handle = array.handle;
    let changing = handle.reserve()?;
    let access = Access::new(handle)?;
    let mut new: List<New> = List::new();
    for nchunk in 0..geometry.nchunks()? {
        let (start, stop) = chunk_box(geometry, nchunk);
        let shift = |at: &Dims| {
            let mut shifted = *at;
            for d in 0..ndim {
                shifted[d] = at[d].checked_add(from[d]).ok_or(Error::InvalidParam)?;
            }
            Ok(shifted)
        };
        let Some((shape, buffer)) = read_box(src, &shift(&start)?, &shift(&stop)?)? else {
            continue;
        };
        let selection = Selection::slice(geometry, &start[..ndim], &stop[..ndim], &shape[..ndim])?;
        let Some(selection) = selection else {
            continue;
        };
        let writing = Writing {
            selection: &selection,
            rewriter: Rewriter {
                chunks: &access,
                maker: &compressor,
                sizes: array.sizes()?,
                in_place: false,
            },
            origin: &Some,
            buffer: &buffer,
        };
        new.extend(writing.chunks(workers)?)?;
    }
    changing.commit(|inner| replace(handle, inner, new))?;
    changing.finish()
}

/// Makes a new array of a box of another one.
fn slice(params: &mut Params, src: &Array, start: &Dims, stop: &Dims) -> Result<*mut b2nd_array_t> {
    params.set_ndim(src.geometry.ndim);
    for d in 0..params.ndim() {
        params.shape[d] = stop[d].checked_sub(start[d]).ok_or(Error::InvalidParam)?;
    }
    let made = special(params, BLOSC2_SPECIAL_ZERO)?;
    if let Err(error) = fill(made, src, start) {
        // SAFETY: just made, and used no more.
        unsafe { discard(made) };
        return Err(error);
    }
    Ok(made)
}

fn dims_of(from: &[i64]) -> Dims {
    let mut dims = Dims::default();
    dims[..from.len()].copy_from_slice(from);
    dims
}

/// Makes a new array of the items from `start` to before `stop` of `src`. Dimensions and shape of `ctx` become those of the
/// slice. Returns 0, or a negative error code; `*array` is then NULL.
///
/// # Safety
/// The pointers are NULL or valid; positions have `src->ndim` elements.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn b2nd_get_slice(
    ctx: *mut b2nd_context_t,
    array: *mut *mut b2nd_array_t,
    src: *const b2nd_array_t,
    start: *const i64,
    stop: *const i64,
) -> c_int {
    // SAFETY: by the caller's word.
    code("b2nd_get_slice", || unsafe {
        let (src, _locked) = Array::open(src, false)?;
        let params = Params::from_c(ctx)?;
        let ndim = src.geometry.ndim;
        let start = dims_of(super::slices::dims(start, ndim)?);
        let stop = dims_of(super::slices::dims(stop, ndim)?);
        deliver(array, || slice(params, &src, &start, &stop))
    })
}

/// Copies an array as it is into another storage.
///
/// # Safety
/// The pointers in `storage` are null or valid.
pub unsafe fn copy_as(src: &Array, storage: &mut blosc2_storage) -> Result<*mut b2nd_array_t> {
    // SAFETY: by the caller's word.
    unsafe {
        let sc = copy_schunk(src.shown.as_c(), storage).map_err(Error::or_failure)?;
        let made = src
            .dtype()
            .and_then(|dtype| array::make(sc, &src.geometry, dtype.as_deref(), src.dtype_format()));
        made.inspect_err(|_| schunk::discard(sc))
    }
}

/// Copies an array into the storage, the chunks and the blocks that parameters say.
fn copy(params: &mut Params, src: &Array) -> Result<*mut b2nd_array_t> {
    let ndim = src.geometry.ndim;
    let same = params.chunkshape[..ndim] == src.geometry.chunkshape[..ndim]
        && params.blockshape[..ndim] == src.geometry.blockshape[..ndim];
    params.set_ndim(ndim);
    params.shape = src.geometry.shape;
    if same {
        // SAFETY: the parameters' storage is complete.
        return unsafe { copy_as(src, &mut *params.storage) };
    }
    let own = std::mem::take(&mut params.metalayers);
    let copied = copy_metalayers(params, src)
        .and_then(|()| slice(params, src, &Dims::default(), &src.geometry.shape));
    for layer in std::mem::replace(&mut params.metalayers, own).all() {
        // SAFETY: names were made by `copy_metalayers`, contents are the array's.
        unsafe { libc::free(layer.name.cast()) };
    }
    let made = copied?;
    if let Err(error) = copy_vlmetalayers(src, made) {
        // SAFETY: just made, and used no more.
        unsafe { discard(made) };
        return Err(error);
    }
    Ok(made)
}

/// The metalayers beside the array's own go into the parameters.
fn copy_metalayers(params: &mut Params, src: &Array) -> Result<()> {
    for (name, content) in src.shown.metalayers()? {
        if name == oxiblosc_core::b2nd::meta::NAME {
            continue;
        }
        let content_len = i32::try_from(content.len()).map_err(|_| Error::Failure)?;
        let name = CStrBuf::to_malloc(&CStrBuf::new(name)?)?;
        let added = params.metalayers.push(blosc2_metalayer {
            name,
            content: content.as_ptr().cast_mut(),
            content_len,
        });
        added.inspect_err(|_| {
            // SAFETY: made above.
            unsafe { libc::free(name.cast()) };
        })?;
    }
    Ok(())
}

fn copy_vlmetalayers(src: &Array, made: *mut b2nd_array_t) -> Result<()> {
    for (name, _) in src.handle.vlmetalayers()? {
        let name = CStrBuf::new(name)?;
        let (mut content, mut len) = (null_mut(), 0);
        // SAFETY: the content is ours to free; the array was just made.
        let added = unsafe {
            let sc = src.handle.as_c();
            let found = blosc2_vlmeta_get(sc, name.as_ptr(), &raw mut content, &raw mut len);
            let added = if found < 0 {
                found
            } else {
                blosc2_vlmeta_add((*made).sc, name.as_ptr(), content, len, null_mut())
            };
            libc::free(content.cast());
            added
        };
        if added < 0 {
            return Err(Error::of_code(added, Error::Failure));
        }
    }
    Ok(())
}

/// Copies an array with its metalayers into the storage, the chunks and the blocks of `ctx`, whose dimensions and shape
/// become those of `src`. Returns 0, or a negative error code; `*array` is then NULL.
///
/// # Safety
/// The pointers are NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn b2nd_copy(
    ctx: *mut b2nd_context_t,
    src: *const b2nd_array_t,
    array: *mut *mut b2nd_array_t,
) -> c_int {
    // SAFETY: by the caller's word.
    code("b2nd_copy", || unsafe {
        let (src, _locked) = Array::open(src, false)?;
        let params = Params::from_c(ctx)?;
        deliver(array, || copy(params, &src))
    })
}

/// The shape of two arrays joined along an axis.
fn joined(a: &Array, b: &Array, axis: i8) -> Result<(usize, Dims)> {
    let axis = usize::try_from(axis).map_err(|_| Error::InvalidParam)?;
    let (first, second) = (&a.geometry, &b.geometry);
    if axis >= first.ndim || a.typesize != b.typesize || first.ndim != second.ndim {
        return Err(Error::InvalidParam);
    }
    let mut shape = first.shape;
    for (d, len) in shape[..first.ndim].iter_mut().enumerate() {
        if d == axis {
            let sum = first.shape[d].checked_add(second.shape[d]);
            *len = sum.ok_or(Error::InvalidParam)?;
        } else if first.shape[d] != second.shape[d] {
            return Err(Error::InvalidParam);
        }
    }
    Ok((axis, shape))
}

/// Puts `src` behind the end of an array along an axis.
fn join(array: &mut Array, src: &Array, axis: usize, shape: &Dims) -> Result<()> {
    let ndim = array.geometry.ndim;
    let begin = array.geometry.shape[axis];
    let new = array.geometry.reshaped(shape)?;
    let write = |way: &Way| {
        let mut made: List<New> = List::new();
        for nchunk in 0..new.nchunks()? {
            let (mut start, stop) = chunk_box(&new, nchunk);
            if stop[axis] <= begin {
                continue;
            }
            start[axis] = start[axis].max(begin);
            let (mut from, mut to) = (start, stop);
            from[axis] -= begin;
            to[axis] -= begin;
            let Some((shape, buffer)) = read_box(src, &from, &to)? else {
                continue;
            };
            let selection = Selection::slice(&new, &start[..ndim], &stop[..ndim], &shape[..ndim])?;
            if let Some(selection) = selection {
                made.extend(way.write(&selection, &buffer)?)?;
            }
        }
        Ok(made)
    };
    reshape(array, &shape[..ndim], None, Some(&write))
}

/// Joins two arrays along an axis; their other dimensions and their items are alike. With `copy` the result is a new array in
/// the storage, the chunks and the blocks of `ctx`, with the metalayers of `src1`; without, `src1` itself grows, all at once,
/// and `*array` is `src1`. Returns 0, or a negative error code.
///
/// # Safety
/// The pointers are NULL or valid; without `copy`, `ctx` is not used.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn b2nd_concatenate(
    ctx: *mut b2nd_context_t,
    src1: *const b2nd_array_t,
    src2: *const b2nd_array_t,
    axis: i8,
    copy: bool,
    array: *mut *mut b2nd_array_t,
) -> c_int {
    // SAFETY: by the caller's word.
    code("b2nd_concatenate", || unsafe {
        if src2.is_null() || array.is_null() {
            return Err(Error::NullPointer);
        }
        let (mut first, _locked) = Array::open(src1, !copy)?;
        let (second, _other) = Array::open(src2, false)?;
        if !copy && first.handle.id() == second.handle.id() {
            // It would grow while it is read.
            return Err(Error::InvalidParam);
        }
        let (axis, shape) = joined(&first, &second, axis)?;
        if !copy {
            *array = src1.cast_mut();
            join(&mut first, &second, axis, &shape)?;
            return Ok(0);
        }
        let params = Params::from_c(ctx)?;
        deliver(array, || {
            let made = self::copy(params, &first)?;
            let done = Array::open(made, true)
                .and_then(|(mut copied, _locked)| join(&mut copied, &second, axis, &shape));
            if let Err(error) = done {
                discard(made);
                return Err(error);
            }
            Ok(made)
        })
    })
}
