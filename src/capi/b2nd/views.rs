//! Views: arrays with more or fewer dimensions of length 1 over the same chunks. A view keeps the
//! chunks of its array alive, also when the array itself is freed.

use super::array::{self, ArrayGuard};
use super::create::deliver;
use crate::capi::prelude::*;
use crate::capi::schunk::handle;
use crate::capi::schunk::parts::with_storage;
use crate::capi::schunk::storage::Storage;
use oxiblosc::b2nd::MAX_DIM;
use oxiblosc::b2nd::geometry::{Geometry, blocksize};
use oxiblosc::b2nd::views::check_metalayers;

/// Refuses arrays with metalayers that may speak of dimensions.
fn check(array: &ArrayGuard) -> Result<()> {
    check_metalayers(array.shown.metalayers(&*array.schunk.read()?))
}

/// Makes a view with these shapes.
fn view(array: &ArrayGuard, geometry: &Geometry) -> Result<*mut b2nd_array_t> {
    let (dtype, dtype_format) = array.dtype();
    let metalayer = geometry.metalayer(dtype, dtype_format)?;
    // SAFETY: the storage of a handle and its copy are from `Storage::copy_of`, so they are valid,
    // with valid parameters.
    unsafe {
        let own = array.handle.storage();
        let mut storage = Storage::copy_of(&blosc2_storage {
            cparams: own.cparams,
            dparams: own.dparams,
            ..blosc2_storage::defaults()
        })?;
        let cparams = storage.cparams();
        let blockshape = &geometry.blockshape[..geometry.ndim];
        cparams.blocksize = blocksize(blockshape, cparams.typesize)?;
        let sc = Handle::finish_view(array.handle, with_storage(storage)?, metalayer)?;
        let created = Handle::from_c(sc).and_then(|shown| {
            shown.follow();
            array::make(sc, geometry, (dtype, dtype_format))
        });
        created.inspect_err(|_| {
            handle::free(sc);
        })
    }
}

/// Makes a view of an array with further dimensions of length 1: one wherever `axis`, of
/// `final_dims` elements, is true. It shows the same chunks, and keeps them alive. Returns 0, or a
/// negative error code; `*view` is then NULL.
///
/// # Safety
/// The pointers are NULL or valid.
#[export]
pub unsafe extern "C" fn b2nd_expand_dims(
    array: *const b2nd_array_t,
    view: *mut *mut b2nd_array_t,
    axis: *const bool,
    final_dims: u8,
) -> c_int {
    let array = ArrayGuard::open(array, false)?;
    check(&array)?;
    deliver(view, || {
        not_null!(axis)?;
        if usize::from(final_dims) > MAX_DIM {
            return Err(Error::INVALID_PARAM);
        }
        // Any byte but 0 is taken for true.
        let new = std::slice::from_raw_parts(axis.cast(), final_dims.into());
        self::view(&array, &array.geometry.expanded(new)?)
    })
}

/// Makes a view without the dimensions that `drops` names, which are of length 1.
fn squeezed(array: &ArrayGuard, drops: impl Fn(usize) -> bool) -> Result<*mut b2nd_array_t> {
    check(array)?;
    view(array, &array.geometry.squeezed(drops)?)
}

/// Makes a view of an array without its dimensions of length 1. It shows the same chunks, and keeps
/// them alive. Returns 0, or a negative error code; `*view` is then NULL.
///
/// # Safety
/// The pointers are NULL or valid.
#[export]
pub unsafe extern "C" fn b2nd_squeeze(
    array: *mut b2nd_array_t,
    view: *mut *mut b2nd_array_t,
) -> c_int {
    let array = ArrayGuard::open(array, false)?;
    deliver(view, || squeezed(&array, |d| array.geometry.shape[d] == 1))
}

/// Makes a view of an array without the dimensions for which `index` is true, all of length 1. It
/// shows the same chunks, and keeps them alive. Returns 0, `BLOSC2_ERROR_INVALID_INDEX` for a
/// dimension of another length, or another negative error code; `*view` is then NULL.
///
/// # Safety
/// The pointers are NULL or valid; `index` has `array->ndim` elements.
#[export]
pub unsafe extern "C" fn b2nd_squeeze_index(
    array: *mut b2nd_array_t,
    view: *mut *mut b2nd_array_t,
    index: *const bool,
) -> c_int {
    let array = ArrayGuard::open(array, false)?;
    deliver(view, || {
        not_null!(index)?;
        // Any byte but 0 is taken for true.
        squeezed(&array, |d| *index.cast::<u8>().add(d) != 0)
    })
}
