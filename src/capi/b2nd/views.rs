//! Views: arrays with more or fewer dimensions of length 1 over the same chunks. A view keeps the chunks of its array alive,
//! also when the array itself is freed.

use super::array::{self, Array};
use super::context::Params;
use super::create::deliver;
use crate::capi::border::code;
use crate::capi::schunk::handle::{self, BackEnd, Handle, Unfinished};
use crate::capi::schunk::parts::set_parameters;
use crate::capi::types::*;
use oxiblosc_core::b2nd::geometry::Geometry;
use oxiblosc_core::b2nd::meta::{Meta, NAME};
use oxiblosc_core::b2nd::{Dims, MAX_DIM};
use oxiblosc_error::{Error, Result};
use oxiblosc_frame::meta::Metalayer;
use oxiblosc_memory::ToList;
use std::ffi::c_int;
use std::ptr::null_mut;

/// The three shapes of a view in the making.
struct Shapes {
    ndim: usize,
    shape: Dims,
    chunkshape: [i32; MAX_DIM],
    blockshape: [i32; MAX_DIM],
}

impl Shapes {
    const NONE: Self = Self {
        ndim: 0,
        shape: [1; MAX_DIM],
        chunkshape: [1; MAX_DIM],
        blockshape: [1; MAX_DIM],
    };

    /// Adds a dimension of length 1, or the array's dimension `from`.
    fn push(&mut self, geometry: &Geometry, from: Option<usize>) -> Result<()> {
        if self.ndim == MAX_DIM {
            return Err(Error::InvalidParam);
        }
        if let Some(from) = from {
            self.shape[self.ndim] = geometry.shape[from];
            self.chunkshape[self.ndim] = geometry.chunkshape[from];
            self.blockshape[self.ndim] = geometry.blockshape[from];
        }
        self.ndim += 1;
        Ok(())
    }
}

/// Refuses arrays with metalayers that may speak of dimensions.
fn check(array: &Array) -> Result<()> {
    let state = array.core.schunk.read()?;
    let layers = array.shown.view_metalayers().unwrap_or(state.metalayers());
    if layers.iter().all(|layer| *layer.name == *NAME) {
        Ok(())
    } else {
        Err(Error::InvalidParam)
    }
}

fn view(array: &Array, shapes: &Shapes) -> Result<*mut b2nd_array_t> {
    let (dtype, dtype_format) = (array.dtype()?, array.dtype_format());
    // SAFETY: the storage of a super-chunk is complete.
    let mut params = unsafe {
        let own = array.handle.storage();
        Params::new(&blosc2_storage {
            cparams: own.cparams,
            dparams: own.dparams,
            ..blosc2_storage::defaults()
        })?
    };
    let Shapes {
        ndim,
        shape,
        chunkshape,
        blockshape,
    } = shapes;
    params.set_shapes(*ndim, shape, chunkshape, blockshape)?;
    let geometry = Geometry::new(*ndim, shape, chunkshape, blockshape)?;
    let meta = Meta {
        ndim: *ndim,
        shape: *shape,
        chunkshape: *chunkshape,
        blockshape: *blockshape,
        dtype: dtype.as_deref(),
        dtype_format,
    };
    let metalayer = Metalayer {
        name: NAME.to_list()?,
        content: meta.serialize()?,
    };
    let mut made = Unfinished::new(BackEnd::Handles)?;
    let storage = std::mem::replace(&mut params.storage, null_mut());
    // SAFETY: the storage was the parameters' own.
    unsafe {
        set_parameters(&mut made, storage)?;
        let sc = Handle::finish_view(array.handle, made, metalayer)?;
        let made = Handle::shown(sc).and_then(|shown| {
            shown.follow();
            array::make(sc, &geometry, dtype.as_deref(), dtype_format)
        });
        made.inspect_err(|_| {
            handle::free(sc);
        })
    }
}

/// Makes a view of an array with further dimensions of length 1: one wherever `axis`, of `final_dims` elements, is true. It
/// shows the same chunks, and keeps them alive. Returns 0, or a negative error code; `*view` is then NULL.
///
/// # Safety
/// The pointers are NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn b2nd_expand_dims(
    array: *const b2nd_array_t,
    view: *mut *mut b2nd_array_t,
    axis: *const bool,
    final_dims: u8,
) -> c_int {
    // SAFETY: by the caller's word.
    code("b2nd_expand_dims", || unsafe {
        let array = Array::open(array, false)?;
        check(&array)?;
        deliver(view, || {
            if axis.is_null() {
                return Err(Error::NullPointer);
            }
            let mut shapes = Shapes::NONE;
            let mut old = 0;
            for d in 0..usize::from(final_dims) {
                // Any byte but 0 is taken for true.
                if *axis.cast::<u8>().add(d) != 0 {
                    shapes.push(&array.core.geometry, None)?;
                } else if old < array.core.geometry.ndim {
                    shapes.push(&array.core.geometry, Some(old))?;
                    old += 1;
                } else {
                    return Err(Error::InvalidParam);
                }
            }
            if old < array.core.geometry.ndim {
                // A dimension would be lost.
                return Err(Error::InvalidParam);
            }
            self::view(&array, &shapes)
        })
    })
}

/// Makes a view without the dimensions that `drops` names, which are of length 1.
fn squeezed(array: &Array, drops: impl Fn(usize) -> bool) -> Result<*mut b2nd_array_t> {
    check(array)?;
    let mut shapes = Shapes::NONE;
    for d in 0..array.core.geometry.ndim {
        if !drops(d) {
            shapes.push(&array.core.geometry, Some(d))?;
        } else if array.core.geometry.shape[d] != 1 {
            return Err(Error::InvalidIndex);
        } else if array.core.geometry.extchunkshape[d] > 1 {
            // Its padding is between the items that would be neighbours.
            return Err(Error::InvalidParam);
        }
    }
    view(array, &shapes)
}

/// Makes a view of an array without its dimensions of length 1. It shows the same chunks, and keeps them alive. Returns 0, or
/// a negative error code; `*view` is then NULL.
///
/// # Safety
/// The pointers are NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn b2nd_squeeze(
    array: *mut b2nd_array_t,
    view: *mut *mut b2nd_array_t,
) -> c_int {
    // SAFETY: by the caller's word.
    code("b2nd_squeeze", || unsafe {
        let array = Array::open(array, false)?;
        deliver(view, || {
            squeezed(&array, |d| array.core.geometry.shape[d] == 1)
        })
    })
}

/// Makes a view of an array without the dimensions for which `index` is true, all of length 1. It shows the same chunks, and
/// keeps them alive. Returns 0, `BLOSC2_ERROR_INVALID_INDEX` for a dimension of another length, or another negative error
/// code; `*view` is then NULL.
///
/// # Safety
/// The pointers are NULL or valid; `index` has `array->ndim` elements.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn b2nd_squeeze_index(
    array: *mut b2nd_array_t,
    view: *mut *mut b2nd_array_t,
    index: *const bool,
) -> c_int {
    // SAFETY: by the caller's word.
    code("b2nd_squeeze_index", || unsafe {
        let array = Array::open(array, false)?;
        deliver(view, || {
            if index.is_null() {
                return Err(Error::NullPointer);
            }
            // Any byte but 0 is taken for true.
            squeezed(&array, |d| *index.cast::<u8>().add(d) != 0)
        })
    })
}
