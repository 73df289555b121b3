//! The metalayer by itself.

use super::array;
use crate::capi::prelude::*;
use oxiblosc_core::b2nd::MAX_DIM;
use oxiblosc_core::b2nd::array::metalayer;
use oxiblosc_core::b2nd::meta::Meta;
use oxiblosc_memory::{Buffer, Text};
use std::fmt::{self, Display};

/// A dtype as C has it, from `malloc`.
pub fn dtype_to_c(dtype: &[u8]) -> Result<*mut c_char> {
    let mut text = Buffer::copy_of(dtype)?;
    text.extend(&[0])?;
    Ok(text.into_raw().cast())
}

/// Copies `ndim` numbers to the front of an array of shapes.
///
/// # Safety
/// `from` has `ndim` elements.
pub unsafe fn shape_from_c<T: Copy>(
    from: *const T,
    ndim: usize,
    to: &mut [T; MAX_DIM],
) -> Result<()> {
    if ndim > 0 {
        not_null!(from)?;
        to[..ndim].copy_from_slice(unsafe_granted!(std::slice::from_raw_parts(from, ndim)));
    }
    Ok(())
}

/// Copies the first numbers of an array of shapes out.
///
/// # Safety
/// `to` has room for them.
unsafe fn shape_to_c<T: Copy>(from: &[T], to: *mut T) {
    unsafe_granted!(std::ptr::copy_nonoverlapping(from.as_ptr(), to, from.len()));
}

/// Writes the `b2nd` metalayer. `*smeta` is for the program to free with `free`. A `dtype` of NULL stands for
/// `B2ND_DEFAULT_DTYPE`. Returns the size of the metalayer; `BLOSC2_ERROR_FAILURE` for too many dimensions or a negative
/// `dtype_format`.
///
/// # Safety
/// The shapes have `ndim` elements each, `dtype` is NULL or a C string, `smeta` is valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn b2nd_serialize_meta(
    ndim: i8,
    shape: *const i64,
    chunkshape: *const i32,
    blockshape: *const i32,
    dtype: *const c_char,
    dtype_format: i8,
    smeta: *mut *mut u8,
) -> c_int {
    code("b2nd_serialize_meta", || {
        let ndim = usize::try_from(ndim).map_err(|_| Error::Failure)?;
        if ndim > MAX_DIM {
            return Err(Error::Failure);
        }
        let mut meta = Meta {
            ndim,
            shape: [1; MAX_DIM],
            chunkshape: [1; MAX_DIM],
            blockshape: [1; MAX_DIM],
            dtype: None,
            dtype_format,
        };
        unsafe_granted!({
            shape_from_c(shape, ndim, &mut meta.shape)?;
            shape_from_c(chunkshape, ndim, &mut meta.chunkshape)?;
            shape_from_c(blockshape, ndim, &mut meta.blockshape)?;
            if !dtype.is_null() {
                meta.dtype = Some(CStr::from_ptr(dtype).to_bytes());
            }
            let smeta = smeta.as_mut().ok_or(Error::NullPointer)?;
            let bytes = meta.serialize()?;
            *smeta = Buffer::copy_of(&bytes)?.into_raw();
            Ok(bytes.len())
        })
    })
}

/// Reads the `b2nd` metalayer, of `smeta_len` bytes. The shapes get `*ndim` elements each, at most `B2ND_MAX_DIM`.
/// `*dtype` gets a text for the program to free with `free`, NULL when the metalayer has none; with `dtype` or
/// `dtype_format` NULL that part is not read. Returns the bytes read; `BLOSC2_ERROR_NULL_POINTER` for another NULL
/// argument; `BLOSC2_ERROR_FAILURE` when the metalayer is broken.
///
/// # Safety
/// `smeta` has `smeta_len` bytes; the shapes have room for `B2ND_MAX_DIM` elements each.
#[unsafe(no_mangle)]
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
    code("b2nd_deserialize_meta", || {
        not_null!(smeta, ndim, shape, chunkshape, blockshape)?;
        unsafe_granted!({
            if let Some(dtype) = dtype.as_mut() {
                *dtype = null_mut();
            }
            if let Some(format) = dtype_format.as_mut() {
                *format = 0;
            }
            let smeta = bytes(smeta, usize::try_from(smeta_len).unwrap_or(0))?;
            let with_dtype = !dtype.is_null() && !dtype_format.is_null();
            let (meta, len) = Meta::parse(smeta, with_dtype)?;
            if let Some(text) = meta.dtype {
                *dtype = dtype_to_c(text)?;
                *dtype_format = meta.dtype_format;
            }
            *ndim = meta.ndim as i8;
            shape_to_c(&meta.shape[..meta.ndim], shape);
            shape_to_c(&meta.chunkshape[..meta.ndim], chunkshape);
            shape_to_c(&meta.blockshape[..meta.ndim], blockshape);
            Ok(len)
        })
    })
}

/// Numbers with commas between them.
struct Numbers<'a, T>(&'a [T]);

impl<T: Display> Display for Numbers<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, number) in self.0.iter().enumerate() {
            let comma = if i > 0 { ", " } else { "" };
            write!(f, "{comma}{number}")?;
        }
        Ok(())
    }
}

/// Prints a text of at most a kilobyte. C's own buffer keeps the order with what the program prints.
fn print(arguments: fmt::Arguments<'_>) {
    let text = Text::<1024>::of(arguments).with_nul();
    // SAFETY: both are C strings.
    unsafe { libc::printf(c"%s".as_ptr(), text.as_ptr()) };
}

/// Prints what the `b2nd` metalayer of an array says. Returns 0, or a negative error code.
///
/// # Safety
/// `array` is NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn b2nd_print_meta(array: *const b2nd_array_t) -> c_int {
    code("b2nd_print_meta", || {
        let shown = unsafe_granted!(array::shown(array)?);
        let state = shown.core().read_known()?;
        let (meta, _) = Meta::parse(metalayer(shown.metalayers(&state))?, true)?;
        print(format_args!(
            "b2nd metalayer parameters:\n Ndim:       {}\n shape:      {}\n chunkshape: {}\n",
            meta.ndim,
            Numbers(&meta.shape[..meta.ndim]),
            Numbers(&meta.chunkshape[..meta.ndim]),
        ));
        if let Some(dtype) = meta.dtype {
            let len = c_int::try_from(dtype.len()).map_err(|_| Error::Data)?;
            // SAFETY: as many bytes as are said.
            unsafe { libc::printf(c" dtype: %.*s\n".as_ptr(), len, dtype.as_ptr()) };
        }
        print(format_args!(
            " blockshape: {}\n",
            Numbers(&meta.blockshape[..meta.ndim])
        ));
        Ok(0)
    })
}
