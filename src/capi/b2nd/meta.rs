//! The metalayer by itself.

use super::array;
use crate::capi::prelude::*;
use oxiblosc::b2nd::array::metalayer;
use oxiblosc::b2nd::geometry::lengths;
use oxiblosc::b2nd::meta::{Meta, dimensions};
use oxiblosc_base::memory::{Buffer, CStrBuf};

/// Copies the first numbers of an array of shapes out.
///
/// # Safety
/// `to` has room for them.
unsafe fn shape_to_c<T: Copy>(from: &[T], to: *mut T) {
    unsafe_granted!(std::ptr::copy_nonoverlapping(from.as_ptr(), to, from.len()));
}

/// Writes the `b2nd` metalayer. `*smeta` is for the program to free with `free`. A `dtype` of NULL
/// stands for `B2ND_DEFAULT_DTYPE`. Returns the size of the metalayer; `BLOSC2_ERROR_FAILURE` for
/// too many dimensions or a negative `dtype_format`.
///
/// # Safety
/// The shapes have `ndim` elements each, `dtype` is NULL or a C string, `smeta` is valid.
#[export]
pub unsafe extern "C" fn b2nd_serialize_meta(
    ndim: i8,
    shape: *const i64,
    chunkshape: *const i32,
    blockshape: *const i32,
    dtype: *const c_char,
    dtype_format: i8,
    smeta: *mut *mut u8,
) -> c_int {
    let ndim = dimensions(ndim)?;
    let meta = Meta {
        ndim,
        shape: lengths(any_items(shape, ndim)?),
        chunkshape: lengths(any_items(chunkshape, ndim)?),
        blockshape: lengths(any_items(blockshape, ndim)?),
        dtype: c_str(dtype).map(CStr::to_bytes),
        dtype_format,
    };
    let smeta = smeta.as_mut().ok_or(Error::NULL_POINTER)?;
    let bytes = meta.serialize()?;
    *smeta = Buffer::copy_of(&bytes)?.into_raw();
    Ok(bytes.len())
}

/// Reads the `b2nd` metalayer, of `smeta_len` bytes. The shapes get `*ndim` elements each, at most
/// `B2ND_MAX_DIM`. `*dtype` gets a text for the program to free with `free`, NULL when the
/// metalayer has none; with `dtype` or `dtype_format` NULL that part is not read. Returns the bytes
/// read; `BLOSC2_ERROR_NULL_POINTER` for another NULL argument; `BLOSC2_ERROR_FAILURE` when the
/// metalayer is broken.
///
/// # Safety
/// `smeta` has `smeta_len` bytes; the shapes have room for `B2ND_MAX_DIM` elements each.
#[export]
pub unsafe extern "C" fn b2nd_deserialize_meta(
    smeta: *const u8,
    smeta_len: i32,
    ndim: *mut i8,
    shape: *mut i64,
    chunkshape: *mut i32,
    blockshape: *mut i32,
    dtype: *mut *mut c_char,
    dtype_format: *mut i8,
) -> c_int {
    not_null!(smeta, ndim, shape, chunkshape, blockshape)?;
    give(dtype, null_mut());
    give(dtype_format, 0);
    let smeta = bytes(smeta, or_zero(smeta_len))?;
    let with_dtype = !dtype.is_null() && !dtype_format.is_null();
    let (meta, len) = Meta::parse(smeta, with_dtype)?;
    if let Some(text) = meta.dtype {
        *dtype = CStrBuf::to_malloc(text)?;
        *dtype_format = meta.dtype_format;
    }
    *ndim = meta.ndim as i8;
    shape_to_c(&meta.shape[..meta.ndim], shape);
    shape_to_c(&meta.chunkshape[..meta.ndim], chunkshape);
    shape_to_c(&meta.blockshape[..meta.ndim], blockshape);
    Ok(len)
}

/// Prints what the `b2nd` metalayer of an array says. Returns 0, or a negative error code.
///
/// # Safety
/// `array` is NULL or valid.
#[export]
pub unsafe extern "C" fn b2nd_print_meta(array: *const b2nd_array_t) -> c_int {
    let shown = array::shown(array)?;
    let state = shown.core().read_cached()?;
    let (meta, _) = Meta::parse(metalayer(shown.metalayers(&state))?, true)?;
    let text = meta.describe()?;
    let len = c_int::try_from(text.len()).map_err(|_| Error::DATA)?;
    // C's own buffer keeps the order with what the program prints.
    // SAFETY: `%.*s` reads at most `len` bytes, the length of the text.
    unsafe { libc::printf(c"%.*s".as_ptr(), len, text.as_ptr()) };
    Ok(0)
}
