//! Arrays out of arrays: slices, copies, concatenations.

use super::array::{self, ArrayGuard};
use super::context::Params;
use super::create::{FillArray, UnpublishedArray, deliver, make};
use crate::capi::prelude::*;
use crate::capi::schunk::meta::copying;
use crate::capi::schunk::parts::dparams_of;
use oxiblosc::b2nd::array::CopyPlan;
use oxiblosc::b2nd::shape::box_shape;
use oxiblosc::format::chunk::header::Special;

/// Makes a new array of the items from `start` to before `stop` of `src`. Dimensions and shape of
/// `ctx` become those of the slice. Returns 0, or a negative error code; `*array` is then NULL.
///
/// # Safety
/// The pointers are NULL or valid; positions have `src->ndim` elements.
#[export]
pub unsafe extern "C" fn b2nd_get_slice(
    ctx: *mut b2nd_context_t,
    array: *mut *mut b2nd_array_t,
    src: *const b2nd_array_t,
    start: *const i64,
    stop: *const i64,
) -> c_int {
    let src = ArrayGuard::open(src, false)?;
    let params = Params::from_c(ctx)?;
    let (start, stop) = (items(start, src.ndim())?, items(stop, src.ndim())?);
    deliver(array, || {
        params.set_shape(&box_shape(start, stop)?);
        make(params, Special::Zero, &mut |array| {
            array.copy_box(&src, start)
        })
    })
}

/// Copies an array into the storage, the chunks and the blocks that parameters say; `more`, for
/// which the array is left, may change the copy further.
fn copy(params: &mut Params, src: ArrayGuard, more: FillArray) -> Result<*mut b2nd_array_t> {
    params.set_shape(&src.geometry.shape[..src.ndim()]);
    let mut copy = {
        let state = src.schunk.read()?;
        let (_, chunkshape, blockshape) = params.shapes();
        match src.copy_plan(chunkshape, blockshape, src.shown.metalayers(&state))? {
            // SAFETY: as in `UnpublishedArray::new`.
            CopyPlan::Chunks => unsafe { UnpublishedArray::copy_of(&src, &params.storage, true)? },
            CopyPlan::Items(items) => {
                let copy = UnpublishedArray::new(params, &items.metalayers, Special::Zero)?;
                items.fill(&copy.array, &copying(src.handle)?)?;
                copy
            }
        }
    };
    drop(src);
    // As everywhere, that of the parameters. A metalayer that was copied keeps what it says until
    // the shape changes.
    let (dtype, format) = params.dtype();
    copy.array.dtype = dtype.map(|dtype| (dtype, format));
    more(&mut copy.array)?;
    copy.finish((dtype, format))
}

/// Copies an array with its metalayers into the storage, the chunks and the blocks of `ctx`, whose
/// dimensions and shape become those of `src`. Returns 0, or a negative error code; `*array` is
/// then NULL.
///
/// # Safety
/// The pointers are NULL or valid.
#[export]
pub unsafe extern "C" fn b2nd_copy(
    ctx: *mut b2nd_context_t,
    src: *const b2nd_array_t,
    array: *mut *mut b2nd_array_t,
) -> c_int {
    let src = ArrayGuard::open(src, false)?;
    let params = Params::from_c(ctx)?;
    deliver(array, || copy(params, src, &mut |_| Ok(())))
}

/// A copy in memory of an array as it is now, which no other thread knows.
///
/// # Safety
/// `src` is null or valid.
#[inline(never)]
unsafe fn snapshot<'a>(src: *const b2nd_array_t) -> Result<UnpublishedArray<'a>> {
    unsafe_granted!({
        let src = ArrayGuard::open(src, false)?;
        let mut dparams = dparams_of(src.handle.as_c());
        let storage = blosc2_storage {
            contiguous: true,
            dparams: &raw mut dparams,
            ..blosc2_storage::defaults()
        };
        UnpublishedArray::copy_of(&src, &storage, false)
    })
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
        let first = ArrayGuard::open(src1, false)?.clone();
        first
            .joined(&*ArrayGuard::open(src2, false)?, axis)
            .map(drop)
    })
}

/// Joins two arrays along an axis; their other dimensions and their items are alike. With `copy`
/// the result is a new array in the storage, the chunks and the blocks of `ctx`, with the
/// metalayers of `src1`; without, `src1` itself grows, all at once, and `*array` is `src1`. Returns
/// 0, or a negative error code.
///
/// # Safety
/// The pointers are NULL or valid; without `copy`, `ctx` is not used.
#[export]
pub unsafe extern "C" fn b2nd_concatenate(
    ctx: *mut b2nd_context_t,
    src1: *const b2nd_array_t,
    src2: *const b2nd_array_t,
    axis: i8,
    copy: bool,
    array: *mut *mut b2nd_array_t,
) -> c_int {
    not_null!(src2, array)?;
    let same = std::ptr::eq(array::shown(src1)?.base(), array::shown(src2)?.base());
    if !copy && same {
        // An array cannot grow by itself.
        return Err(Error::INVALID_PARAM);
    }
    // One array is locked at a time: two threads that join two arrays crosswise would wait for each
    // other.
    let axis = size(axis)?;
    check_joinable(src1, src2, axis)?;
    if !copy {
        let second = snapshot(src2)?;
        let mut first = ArrayGuard::open(src1, true)?;
        *array = src1.cast_mut();
        return first.reshape(&mut |first| first.join(&second.array, axis));
    }
    let params = Params::from_c(ctx)?;
    deliver(array, || {
        self::copy(params, ArrayGuard::open(src1, false)?, &mut |copy| {
            copy.join(&*ArrayGuard::open(src2, false)?, axis)
        })
    })
}
