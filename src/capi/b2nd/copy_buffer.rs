//! Copies between buffers that are arrays of any shapes.

use crate::capi::prelude::*;
use oxiblosc::b2nd::MAX_DIM;
use oxiblosc::b2nd::runs::Transfer;

/// Copies items of `src`, with its shape and the slice's start and stop, into `dst`, with its shape
/// and the slice's start.
///
/// # Safety
/// As for `b2nd_copy_buffer2`.
unsafe fn copy(
    ndim: i8,
    itemsize: i32,
    (src, from): (*const c_void, [*const i64; 3]),
    (dst, to): (*mut c_void, [*const i64; 2]),
) -> Result<()> {
    let ndim = size(ndim)?;
    let itemsize = size(itemsize)?;
    if ndim > MAX_DIM {
        return Err(Error::INVALID_PARAM);
    }
    let transfer = unsafe_granted!({
        Transfer {
            src_shape: any_items(from[0], ndim)?,
            start: any_items(from[1], ndim)?,
            stop: any_items(from[2], ndim)?,
            dst_shape: any_items(to[0], ndim)?,
            dst_start: any_items(to[1], ndim)?,
        }
    });
    let Some(both) = transfer.runs()? else {
        return Ok(());
    };
    not_null!(src, dst)?;
    both.each(&mut |run| {
        // SAFETY: `Transfer::runs` gives runs inside both shapes, and the buffers hold arrays of
        // these. They may be one buffer.
        unsafe {
            let src = src.cast::<u8>().add(run.inside * itemsize);
            let dst = dst.cast::<u8>().add(run.at * itemsize);
            std::ptr::copy(src, dst, run.len * itemsize);
        }
        Ok(())
    })
}

/// Copies the items from `src_start` to before `src_stop` of an array into another one, where they
/// begin at `dst_start`. Both have `ndim` dimensions and items of `itemsize` bytes, and lie in
/// buffers of the shapes given. Returns 0; `BLOSC2_ERROR_INVALID_PARAM` when the slice is not
/// inside both arrays.
///
/// # Safety
/// The buffers hold arrays of these shapes; shapes and positions have `ndim` elements.
#[export]
pub unsafe extern "C" fn b2nd_copy_buffer2(
    ndim: i8,
    itemsize: i32,
    src: *const c_void,
    src_pad_shape: *const i64,
    src_start: *const i64,
    src_stop: *const i64,
    dst: *mut c_void,
    dst_pad_shape: *const i64,
    dst_start: *const i64,
) -> c_int {
    let from = (src, [src_pad_shape, src_start, src_stop]);
    let to = (dst, [dst_pad_shape, dst_start]);
    copy(ndim, itemsize, from, to)
}

/// As `b2nd_copy_buffer2`, for items of at most 255 bytes.
///
/// # Safety
/// As for `b2nd_copy_buffer2`.
#[deprecated(note = "\"Use b2nd_copy_buffer2 instead.\"")]
#[export]
pub unsafe extern "C" fn b2nd_copy_buffer(
    ndim: i8,
    itemsize: u8,
    src: *const c_void,
    src_pad_shape: *const i64,
    src_start: *const i64,
    src_stop: *const i64,
    dst: *mut c_void,
    dst_pad_shape: *const i64,
    dst_start: *const i64,
) -> c_int {
    let from = (src, [src_pad_shape, src_start, src_stop]);
    let to = (dst, [dst_pad_shape, dst_start]);
    copy(ndim, itemsize.into(), from, to)
}
