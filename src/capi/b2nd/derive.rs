//! Arrays out of arrays: slices, copies, concatenations.

use super::array::{self, Array};
use super::context::Params;
use super::create::{Fill, deliver, make, make_with};
use crate::capi::prelude::*;
use crate::capi::schunk::convert::{copy as copy_schunk, copy_chunks};
use crate::capi::schunk::create as schunk;
use crate::capi::schunk::handle::{self, Handle};
use crate::capi::schunk::meta::copying;
use crate::capi::schunk::parts::dparams_of;
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

/// Copies an array into the storage, the chunks and the blocks that parameters say; `more`, for which the array is left, may change
/// the copy further.
fn copy(params: &mut Params, src: Array, more: Fill) -> Result<*mut b2nd_array_t> {
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
                    ..src.clone()
                };
                drop(src);
                more(&mut copy)?;
                // As everywhere, that of the parameters; the copied metalayer keeps what it says.
                let dtype = c_str(params.dtype).map(CStr::to_bytes);
                array::make(sc, &copy.geometry, (dtype, params.dtype_format))
            });
            made.inspect_err(|_| schunk::discard(sc))
        };
    }
    // The metalayers beside the array's own come along.
    let others = metalayers_but(src.shown.metalayers(&*src.schunk.read()?), &[NAME])?;
    let mut src = Some(src);
    make_with(params, &borrow(&others)?, Special::Zero, &mut |copy| {
        let src = src.take().ok_or(Error::Failure)?;
        copy.copy_box(&src, &Dims::default())?;
        copying(src.handle, &mut |coder| {
            copy.schunk.copy_vlmetalayers(src.schunk, coder)
        })?;
        drop(src);
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
        deliver(array, || copy(params, src, &mut |_| Ok(())))
    }))
}

/// A copy of an array in memory, which no other thread knows.
struct Snapshot<'a> {
    sc: *mut blosc2_schunk,
    array: ArrayRef<'a>,
}

impl Snapshot<'_> {
    /// Copies an array as it is now.
    ///
    /// # Safety
    /// `src` is null or valid.
    #[inline(never)]
    unsafe fn of(src: *const b2nd_array_t) -> Result<Self> {
        unsafe_granted!({
            let src = Array::open(src, false)?;
            let mut dparams = dparams_of(src.handle.as_c());
            let storage = blosc2_storage {
                contiguous: true,
                dparams: &raw mut dparams,
                ..blosc2_storage::defaults()
            };
            let sc = copy_chunks(src.shown.as_c(), &storage).map_err(Error::or_failure)?;
            let array = ArrayRef {
                schunk: Handle::core_of(sc)?,
                is_view: false,
                ..src.clone()
            };
            Ok(Self { sc, array })
        })
    }
}

impl Drop for Snapshot<'_> {
    fn drop(&mut self) {
        // SAFETY: made by `of`, and used no more.
        unsafe { handle::free(self.sc) };
    }
}

/// Checks that two arrays can be joined as they are now.
///
/// # Safety
/// The pointers are null or valid.
#[inline(never)]
unsafe fn check_joinable(
    src1: *const b2nd_array_t,
    src2: *const b2nd_array_t,
    axis: usize,
) -> Result<()> {
    unsafe_granted!({
        let first = Array::open(src1, false)?.clone();
        first.joined(&*Array::open(src2, false)?, axis).map(drop)
    })
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
        let same = std::ptr::eq(array::shown(src1)?.base(), array::shown(src2)?.base());
        if !copy && same {
            // An array cannot grow by itself.
            return Err(Error::InvalidParam);
        }
        // One array is in use at a time: who waits for one while he has the other waits for ever for who has them the other way round.
        let axis = size(axis)?;
        check_joinable(src1, src2, axis)?;
        if !copy {
            let second = Snapshot::of(src2)?;
            let mut first = Array::open(src1, true)?;
            let shape = first.joined(&second.array, axis)?;
            *array = src1.cast_mut();
            return first.reshape(&mut |first| first.join(&second.array, axis, &shape));
        }
        let params = Params::from_c(ctx)?;
        deliver(array, || {
            self::copy(params, Array::open(src1, false)?, &mut |copy| {
                let second = Array::open(src2, false)?;
                let shape = copy.joined(&second, axis)?;
                copy.join(&second, axis, &shape)
            })
        })
    }))
}
