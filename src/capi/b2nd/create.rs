//! Making and freeing arrays.

use super::array::{self, ArrayGuard};
use super::context::Params;
use crate::capi::context::compression;
use crate::capi::prelude::*;
use crate::capi::schunk::convert::copy;
use crate::capi::schunk::create as schunk;
use crate::capi::schunk::misc::sample_of;
use oxiblosc::b2nd::ArrayRef;
use oxiblosc::b2nd::array::{metalayer, read_metalayer};
use oxiblosc::b2nd::create::check;
use oxiblosc::b2nd::geometry::Geometry;
use oxiblosc::format::chunk::header::Special;
use oxiblosc::format::frame::meta::MetalayerRef;
use oxiblosc_base::memory::boxed;

/// Writes the result of making an array: the array, or null.
///
/// # Safety
/// `array` is null or valid.
pub unsafe fn deliver(
    array: *mut *mut b2nd_array_t,
    make: impl FnOnce() -> Result<*mut b2nd_array_t>,
) -> Result<()> {
    let array = unsafe_granted!(array.as_mut()).ok_or(Error::NULL_POINTER)?;
    *array = null_mut();
    *array = make()?;
    Ok(())
}

/// What puts items into a new array, and may change its shape.
pub type FillArray<'a> = &'a mut dyn FnMut(&mut ArrayRef) -> Result<()>;

/// A new array that C does not know yet. Where it is dropped, it is freed, and its file or
/// directory removed.
pub struct UnpublishedArray<'a> {
    sc: *mut blosc2_schunk,
    /// What is filled.
    pub array: Box<ArrayRef<'a>>,
}

impl<'a> UnpublishedArray<'a> {
    /// An array of special values, with these metalayers beside its own. Not inlined: what this has
    /// on the stack is gone when the array is filled.
    #[inline(never)]
    pub fn new(params: &mut Params, others: &[MetalayerRef], kind: Special) -> Result<Self> {
        let (shape, chunkshape, blockshape) = params.shapes();
        let geometry = Geometry::new(shape, chunkshape, blockshape)?;
        check(&geometry, kind, params.storage.cparams().typesize)?;
        let (dtype, dtype_format) = params.dtype();
        let meta = geometry.meta(dtype, dtype_format);
        // SAFETY: the storage is a copy with parameters of its own, whose pointers
        // `b2nd_create_ctx` requires to be valid.
        let sc = unsafe { schunk::make(&params.storage, true) }.map_err(Error::or_failure)?;
        // SAFETY: `sc` is from `make` above, and nothing else has it.
        unsafe {
            Self::over(sc, |handle| {
                let sample = |kind, nbytes| sample_of(handle, kind, nbytes);
                let core = handle.core();
                // As in the reference, whatever cannot be made has this one code.
                core.become_array(&meta, &geometry, others, (kind, &sample))
                    .map_err(Error::or_failure)
            })
        }
    }

    /// A copy of an array into a storage; the variable-length metalayers are left out if they are
    /// not wanted.
    ///
    /// # Safety
    /// The pointers in `storage` are null or valid.
    #[inline(never)]
    pub unsafe fn copy_of(
        src: &ArrayGuard<'a>,
        storage: &blosc2_storage,
        vlmetalayers: bool,
    ) -> Result<Self> {
        unsafe_granted!({
            let sc = copy(src.shown, storage, vlmetalayers).map_err(Error::or_failure)?;
            Self::over(sc, |handle| {
                Ok(ArrayRef {
                    schunk: handle.core(),
                    is_view: false,
                    ..ArrayRef::clone(src)
                })
            })
        })
    }

    /// The array that `array` makes of a super-chunk.
    ///
    /// # Safety
    /// The super-chunk was just made, and has no other owner.
    unsafe fn over(
        sc: *mut blosc2_schunk,
        array: impl FnOnce(&'a Handle) -> Result<ArrayRef<'a>>,
    ) -> Result<Self> {
        let created = unsafe_granted!(Handle::from_c(sc)).and_then(|handle| boxed(array(handle)?));
        let array = created.inspect_err(|_| unsafe_granted!(schunk::discard(sc)))?;
        Ok(Self { sc, array })
    }

    /// The array, for C.
    pub fn finish(mut self, dtype: (Option<&[u8]>, i8)) -> Result<*mut b2nd_array_t> {
        // SAFETY: `self` owns the super-chunk.
        let published = unsafe { Handle::from_c(self.sc)?.core().publish() };
        published.map_err(Error::or_failure)?;
        // SAFETY: `self` owns the super-chunk, and gives it to the array.
        let array = unsafe { array::make(self.sc, &self.array.geometry, dtype)? };
        self.sc = null_mut();
        Ok(array)
    }
}

impl Drop for UnpublishedArray<'_> {
    fn drop(&mut self) {
        // SAFETY: null after `finish`; otherwise only `self` owns it.
        unsafe { schunk::discard(self.sc) };
    }
}

/// Makes an array of special values, and fills it.
pub fn make(params: &mut Params, kind: Special, fill: FillArray) -> Result<*mut b2nd_array_t> {
    // SAFETY: `b2nd_create_ctx` requires that names and contents are valid, and the functions that
    // take its result that they still are.
    let others = unsafe { params.others()? };
    let mut new = UnpublishedArray::new(params, &others, kind)?;
    fill(&mut new.array)?;
    new.finish(params.dtype())
}

/// Makes an array of special values for C.
///
/// # Safety
/// Both pointers are null or valid.
unsafe fn create(
    ctx: *mut b2nd_context_t,
    array: *mut *mut b2nd_array_t,
    kind: Special,
) -> Result<()> {
    unsafe_granted!({
        let params = Params::from_c(ctx)?;
        deliver(array, || make(params, kind, &mut |_| Ok(())))
    })
}

/// Makes an array whose items have no value yet: reading one gives anything. Returns 0, or a
/// negative error code; `*array` is then NULL.
///
/// # Safety
/// Both pointers are NULL or valid.
#[export]
pub unsafe extern "C" fn b2nd_uninit(
    ctx: *mut b2nd_context_t,
    array: *mut *mut b2nd_array_t,
) -> c_int {
    create(ctx, array, Special::Uninit)
}

/// As `b2nd_zeros`.
///
/// # Safety
/// Both pointers are NULL or valid.
#[export]
pub unsafe extern "C" fn b2nd_empty(
    ctx: *mut b2nd_context_t,
    array: *mut *mut b2nd_array_t,
) -> c_int {
    create(ctx, array, Special::Zero)
}

/// Makes an array of zeros. Returns 0, or a negative error code; `*array` is then NULL.
///
/// # Safety
/// Both pointers are NULL or valid.
#[export]
pub unsafe extern "C" fn b2nd_zeros(
    ctx: *mut b2nd_context_t,
    array: *mut *mut b2nd_array_t,
) -> c_int {
    create(ctx, array, Special::Zero)
}

/// Makes an array of NaNs; items have 4 or 8 bytes. Returns 0, or a negative error code; `*array`
/// is then NULL.
///
/// # Safety
/// Both pointers are NULL or valid.
#[export]
pub unsafe extern "C" fn b2nd_nans(
    ctx: *mut b2nd_context_t,
    array: *mut *mut b2nd_array_t,
) -> c_int {
    create(ctx, array, Special::Nan)
}

/// Makes an array whose items are all the one at `fill_value`. What the array grows by later is
/// zeros, but for the rest of its last chunks, which hold the item already; where something was cut
/// off or written before, that is zeros too. Returns 0, or a negative error code; `*array` is then
/// NULL.
///
/// # Safety
/// The pointers are NULL or valid; `fill_value` points to an item.
#[export]
pub unsafe extern "C" fn b2nd_full(
    ctx: *mut b2nd_context_t,
    array: *mut *mut b2nd_array_t,
    fill_value: *const c_void,
) -> c_int {
    let params = Params::from_c(ctx)?;
    deliver(array, || {
        not_null!(fill_value)?;
        let cparams = *params.storage.cparams();
        make(params, Special::Zero, &mut |array| {
            let item = bytes(fill_value.cast(), array.sizes()?.item)?;
            array.fill_with(&*compression(cparams)?, item)
        })
    })
}

/// Frees an array and its super-chunk. Views of it go on. Returns 0, or
/// `BLOSC2_ERROR_NULL_POINTER`.
///
/// # Safety
/// `array` is NULL or an array that was not freed and is not in use.
#[export]
pub unsafe extern "C" fn b2nd_free(array: *mut b2nd_array_t) -> c_int {
    not_null!(array)?;
    array::free(array);
    Ok(0)
}

/// Makes an array of a super-chunk that has the metalayer of one. The super-chunk is the array's
/// from then on, and is freed with it. Returns 0, or a negative error code; `*array` is then NULL.
///
/// # Safety
/// Both pointers are NULL or valid.
#[export]
pub unsafe extern "C" fn b2nd_from_schunk(
    schunk: *mut blosc2_schunk,
    array: *mut *mut b2nd_array_t,
) -> c_int {
    not_null!(schunk)?;
    deliver(array, || adopt(schunk))
}

/// Makes an array of a super-chunk.
///
/// # Safety
/// `schunk` is valid.
pub unsafe fn adopt(schunk: *mut blosc2_schunk) -> Result<*mut b2nd_array_t> {
    unsafe_granted!({
        let handle = Handle::from_c(schunk)?;
        let state = handle.core().read_cached()?;
        let content = metalayer(handle.metalayers(&state))?;
        let (meta, geometry) = read_metalayer(content, &state)?;
        array::make(schunk, &geometry, (meta.dtype, meta.dtype_format))
    })
}
