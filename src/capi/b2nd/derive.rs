//! Arrays out of arrays: slices, copies, concatenations.

use super::array::{self, Array};
use super::context::Params;
use super::create::{Fill, deliver, make, make_with};
use crate::capi::prelude::*;
use crate::capi::schunk::convert::copy as copy_schunk;
use crate::capi::schunk::create as schunk;
use crate::capi::schunk::handle::Handle;
use crate::capi::schunk::meta::copying;
use oxiblosc_chunk::header::Special;
use oxiblosc_core::b2nd::meta::NAME;
use oxiblosc_core::b2nd::{ArrayRef, Dims};
use oxiblosc_core::schunk::copy::metalayers_but;
use oxiblosc_frame::meta::borrow;

/// Gives parameters the shape of a box.
fn set_box(params: &mut Params, ndim: usize, start: &Dims, stop: &Dims) -> Result<()> {
    params.set_ndim(ndim);
    for d in 0..params.ndim() {
        params.shape[d] = stop[d].checked_sub(start[d]).ok_or(Error::InvalidParam)?;
    }
    Ok(())
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
    unsafe_granted!(code("b2nd_get_slice", || {
        let src = Array::open(src, false)?;
        let params = Params::from_c(ctx)?;
        let start = dims_of(items(start, src.ndim())?);
        let stop = dims_of(items(stop, src.ndim())?);
        deliver(array, || {
            set_box(params, src.ndim(), &start, &stop)?;
            make(params, Special::Zero, &mut |array| {
                array.copy_box(&src, &start)
            })
        })
    }))
}

/// Copies an array into the storage, the chunks and the blocks that parameters say; `more` may change the copy further.
fn copy(params: &mut Params, src: &Array, more: Fill) -> Result<*mut b2nd_array_t> {
    let geometry = &src.geometry;
    let same = geometry.is_cut_into(&params.chunkshape, &params.blockshape);
    params.set_ndim(geometry.ndim);
    params.shape = geometry.shape;
    if same {
        // SAFETY: the parameters' storage is complete; the copy is used no more where the rest fails.
        return unsafe {
            let sc = copy_schunk(src.shown.as_c(), &*params.storage).map_err(Error::or_failure)?;
            let made = Handle::core_of(sc).and_then(|schunk| {
                let mut copy = ArrayRef {
                    schunk,
                    is_view: false,
                    ..(**src).clone()
                };
                more(&mut copy)?;
                array::make(sc, &copy.geometry, src.dtype())
            });
            made.inspect_err(|_| schunk::discard(sc))
        };
    }
    // The metalayers beside the array's own come along.
    let others = metalayers_but(src.shown.metalayers(&*src.schunk.read()?), &[NAME])?;
    make_with(params, &borrow(&others)?, Special::Zero, &mut |copy| {
        copy.copy_box(src, &Dims::default())?;
        copying(src.handle, &mut |coder| {
            copy.schunk.copy_vlmetalayers(src.schunk, coder)
        })?;
        more(copy)
    })
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
    unsafe_granted!(code("b2nd_copy", || {
        let src = Array::open(src, false)?;
        let params = Params::from_c(ctx)?;
        deliver(array, || copy(params, &src, &mut |_| Ok(())))
    }))
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
    unsafe_granted!(code("b2nd_concatenate", || {
        not_null!(src2, array)?;
        let mut first = Array::open(src1, !copy)?;
        let second = Array::open(src2, false)?;
        if !copy && first.schunk.id() == second.schunk.id() {
            // It would grow while it is read.
            return Err(Error::InvalidParam);
        }
        let axis = size(axis)?;
        let shape = first.joined(&second, axis)?;
        if !copy {
            *array = src1.cast_mut();
            return first.reshape(&mut |first| first.join(&second, axis, &shape));
        }
        let params = Params::from_c(ctx)?;
        deliver(array, || {
            self::copy(params, &first, &mut |copy| copy.join(&second, axis, &shape))
        })
    }))
}
