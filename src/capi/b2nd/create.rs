//! Making and freeing arrays.

use super::array;
use super::context::Params;
use crate::capi::prelude::*;
use crate::capi::schunk::create as schunk;
use crate::capi::schunk::handle::{self, Handle};
use crate::capi::schunk::misc::sample_of;
use crate::capi::special;
use oxiblosc_chunk::header::{EXTENDED_HEADER_LENGTH, Special};
use oxiblosc_core::b2nd::ArrayRef;
use oxiblosc_core::b2nd::array::{metalayer, read_metalayer};
use oxiblosc_core::b2nd::create::chunksize;
use oxiblosc_core::b2nd::geometry::Geometry;
use oxiblosc_frame::meta::Borrowed;
use oxiblosc_memory::{List, boxed};

/// Writes the result of making an array: the array, or null.
///
/// # Safety
/// `array` is null or valid.
pub unsafe fn deliver(
    array: *mut *mut b2nd_array_t,
    make: impl FnOnce() -> Result<*mut b2nd_array_t>,
) -> Result<()> {
    let array = unsafe_granted!(array.as_mut()).ok_or(Error::NullPointer)?;
    *array = null_mut();
    *array = make()?;
    Ok(())
}

/// Frees an array and its super-chunk.
///
/// # Safety
/// `array` is valid, and used no more.
pub unsafe fn free(array: *mut b2nd_array_t) {
    unsafe_granted!(handle::free(array::take_apart(array)));
}

/// What puts items into a new array, and may change its shape.
pub type Fill<'a> = &'a mut dyn FnMut(&mut ArrayRef) -> Result<()>;

/// Makes an array of special values.
pub fn make(params: &mut Params, kind: Special, fill: Fill) -> Result<*mut b2nd_array_t> {
    // SAFETY: names and contents are the program's, which keeps them.
    let others = unsafe { params.metalayers.borrow()? };
    make_with(params, &others, kind, fill)
}

/// As [`make`], with these metalayers beside the array's own.
pub fn make_with(
    params: &mut Params,
    others: &[Borrowed],
    kind: Special,
    fill: Fill,
) -> Result<*mut b2nd_array_t> {
    let (sc, mut array) = begin(params, others, kind)?;
    // SAFETY: the dtype is a string of the parameters', or null. The super-chunk was just made, and is used no more where the rest fails.
    unsafe {
        let dtype = c_str(params.dtype).map(CStr::to_bytes);
        let made = fill(&mut array)
            .and_then(|()| array::make(sc, &array.geometry, (dtype, params.dtype_format)));
        made.inspect_err(|_| schunk::discard(sc))
    }
}

/// Makes the super-chunk of such an array. Not inlined: what this has on the stack is gone when the array is filled.
#[inline(never)]
fn begin<'a>(
    params: &mut Params,
    others: &[Borrowed],
    kind: Special,
) -> Result<(*mut blosc2_schunk, Box<ArrayRef<'a>>)> {
    let (chunkshape, blockshape) = (&params.chunkshape, &params.blockshape);
    let geometry = Geometry::new(params.ndim(), &params.shape, chunkshape, blockshape)?;
    geometry.nchunks()?;
    chunksize(&geometry, params.cparams().typesize)?;
    // SAFETY: the storage is complete; the dtype is a string of the parameters', or null. The super-chunk was just made, and is used no
    // more where the rest fails.
    unsafe {
        let sc = schunk::make(&*params.storage).map_err(Error::or_failure)?;
        let meta = geometry.meta(c_str(params.dtype).map(CStr::to_bytes), params.dtype_format);
        let made = Handle::from_c(sc).and_then(|handle| {
            let sample = |kind, nbytes| sample_of(handle, kind, nbytes);
            let core = handle.core();
            boxed(core.become_array(&meta, &geometry, others, (kind, &sample))?)
        });
        let array = made.inspect_err(|_| schunk::discard(sc))?;
        Ok((sc, array))
    }
}

/// Runs the body of the exported function `name`, which makes an array of parameters.
///
/// # Safety
/// Both pointers are null or valid.
pub unsafe fn create(
    name: &str,
    ctx: *mut b2nd_context_t,
    array: *mut *mut b2nd_array_t,
    make: impl FnOnce(&mut Params) -> Result<*mut b2nd_array_t>,
) -> c_int {
    unsafe_granted!(code(name, || {
        let params = Params::from_c(ctx)?;
        deliver(array, || make(params))
    }))
}

/// As [`create`], for an array of special values.
///
/// # Safety
/// As for that.
unsafe fn create_special(
    name: &str,
    ctx: *mut b2nd_context_t,
    array: *mut *mut b2nd_array_t,
    kind: Special,
) -> c_int {
    unsafe_granted!(create(name, ctx, array, |params| {
        if kind == Special::Nan && !matches!(params.cparams().typesize, 4 | 8) {
            return Err(Error::Data);
        }
        make(params, kind, &mut |_| Ok(()))
    }))
}

/// Makes an array whose items have no value yet: reading one gives anything. Returns 0, or a negative error code; `*array`
/// is then NULL.
///
/// # Safety
/// Both pointers are NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn b2nd_uninit(
    ctx: *mut b2nd_context_t,
    array: *mut *mut b2nd_array_t,
) -> c_int {
    unsafe_granted!(create_special("b2nd_uninit", ctx, array, Special::Uninit))
}

/// As `b2nd_zeros`.
///
/// # Safety
/// Both pointers are NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn b2nd_empty(
    ctx: *mut b2nd_context_t,
    array: *mut *mut b2nd_array_t,
) -> c_int {
    unsafe_granted!(create_special("b2nd_empty", ctx, array, Special::Zero))
}

/// Makes an array of zeros. Returns 0, or a negative error code; `*array` is then NULL.
///
/// # Safety
/// Both pointers are NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn b2nd_zeros(
    ctx: *mut b2nd_context_t,
    array: *mut *mut b2nd_array_t,
) -> c_int {
    unsafe_granted!(create_special("b2nd_zeros", ctx, array, Special::Zero))
}

/// Makes an array of NaNs; items have 4 or 8 bytes. Returns 0, or a negative error code; `*array` is then NULL.
///
/// # Safety
/// Both pointers are NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn b2nd_nans(
    ctx: *mut b2nd_context_t,
    array: *mut *mut b2nd_array_t,
) -> c_int {
    unsafe_granted!(create_special("b2nd_nans", ctx, array, Special::Nan))
}

/// Makes an array whose items are all the one at `fill_value`. What the array grows by later is zeros, but for the rest of its
/// last chunks, which hold the item already; where something was cut off or written before, that is zeros too. Returns 0, or
/// a negative error code; `*array` is then NULL.
///
/// # Safety
/// The pointers are NULL or valid; `fill_value` points to an item.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn b2nd_full(
    ctx: *mut b2nd_context_t,
    array: *mut *mut b2nd_array_t,
    fill_value: *const c_void,
) -> c_int {
    unsafe_granted!(create("b2nd_full", ctx, array, |params| {
        not_null!(fill_value)?;
        let cparams = *params.cparams();
        make(params, Special::Zero, &mut |array| {
            repeat(array, cparams, fill_value)
        })
    }))
}

/// Makes every chunk of a new array one repeated item.
///
/// # Safety
/// `value` points to an item.
unsafe fn repeat(array: &ArrayRef, cparams: blosc2_cparams, value: *const c_void) -> Result<()> {
    if array.schunk.peek()?.nchunks() == 0 {
        return Ok(());
    }
    let sizes = array.sizes()?;
    let mut chunk = List::filled(0u8, EXTENDED_HEADER_LENGTH + sizes.item)?;
    let (nbytes, room) = (sizes.chunk as i32, chunk.len() as i32);
    let cbytes = unsafe_granted!({
        let item = (Special::Value, bytes(value.cast(), sizes.item)?);
        special::make(cparams, item, nbytes, Ok(&mut chunk), room)?
    });
    array.fill_with(&chunk[..cbytes])
}

/// Frees an array and its super-chunk. Views of it go on. Returns 0, or `BLOSC2_ERROR_NULL_POINTER`.
///
/// # Safety
/// `array` is NULL or an array that was not freed and is not in use.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn b2nd_free(array: *mut b2nd_array_t) -> c_int {
    code("b2nd_free", || {
        not_null!(array)?;
        unsafe_granted!(free(array));
        Ok(0)
    })
}

/// Makes an array of a super-chunk that has the metalayer of one. The super-chunk is the array's from then on, and is freed
/// with it. Returns 0, or a negative error code; `*array` is then NULL.
///
/// # Safety
/// Both pointers are NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn b2nd_from_schunk(
    schunk: *mut blosc2_schunk,
    array: *mut *mut b2nd_array_t,
) -> c_int {
    unsafe_granted!(code("b2nd_from_schunk", || {
        not_null!(schunk)?;
        deliver(array, || adopt(schunk))
    }))
}

/// Makes an array of a super-chunk.
///
/// # Safety
/// `schunk` is valid.
pub unsafe fn adopt(schunk: *mut blosc2_schunk) -> Result<*mut b2nd_array_t> {
    unsafe_granted!({
        let handle = Handle::shown(schunk)?;
        let state = handle.core().read_known()?;
        let content = metalayer(handle.metalayers(&state))?;
        let (meta, geometry) = read_metalayer(content, &state)?;
        array::make(schunk, &geometry, (meta.dtype, meta.dtype_format))
    })
}
