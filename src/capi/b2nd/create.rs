//! Making and freeing arrays.

use super::array::{self, Array};
use super::context::Params;
use crate::capi::border::code;
use crate::capi::constants::*;
use crate::capi::schunk::create::{self as schunk, blosc2_schunk_free};
use crate::capi::schunk::handle::Handle;
use crate::capi::schunk::meta::blosc2_meta_add;
use crate::capi::schunk::misc::blosc2_schunk_fill_special;
use crate::capi::schunk::replace::replace;
use crate::capi::special::blosc2_chunk_repeatval;
use crate::capi::types::*;
use oxiblosc_chunk::header::{EXTENDED_HEADER_LENGTH, MAX_BUFFERSIZE};
use oxiblosc_core::b2nd::geometry::Geometry;
use oxiblosc_core::b2nd::meta::Meta;
use oxiblosc_core::schunk::Made;
use oxiblosc_error::{Error, Result};
use oxiblosc_memory::{Buffer, Collect, List};
use std::ffi::{CStr, c_int, c_void};
use std::ptr::null_mut;

/// Writes the result of making an array: the array, or null.
///
/// # Safety
/// `array` is null or valid.
pub unsafe fn deliver(
    array: *mut *mut b2nd_array_t,
    make: impl FnOnce() -> Result<*mut b2nd_array_t>,
) -> Result<c_int> {
    // SAFETY: by the caller's word.
    unsafe {
        let array = array.as_mut().ok_or(Error::NullPointer)?;
        *array = null_mut();
        *array = make()?;
    }
    Ok(0)
}

/// Frees an array and its super-chunk.
///
/// # Safety
/// `array` is valid, and used no more.
pub unsafe fn free(array: *mut b2nd_array_t) {
    // SAFETY: by the caller's word; all from `malloc`, but for the super-chunk.
    unsafe {
        blosc2_schunk_free((*array).sc);
        libc::free((*array).dtype.cast());
        libc::free(array.cast());
    }
}

/// As [`free`], for an array that was just made and cannot be what it should be: its file or directory is removed, too.
///
/// # Safety
/// As for [`free`].
pub unsafe fn discard(array: *mut b2nd_array_t) {
    // SAFETY: as in `free`.
    unsafe {
        schunk::discard((*array).sc);
        libc::free((*array).dtype.cast());
        libc::free(array.cast());
    }
}

/// Makes an array of special values.
pub fn special(params: &mut Params, kind: c_int) -> Result<*mut b2nd_array_t> {
    let geometry = Geometry::new(
        params.ndim(),
        &params.shape,
        &params.chunkshape,
        &params.blockshape,
    )?;
    let nchunks = geometry.nchunks()?;
    let typesize = params.cparams().typesize;
    if typesize <= 0 {
        return Err(Error::InvalidParam);
    }
    let chunksize = geometry.extchunknitems.checked_mul(typesize.into());
    let chunksize = chunksize.ok_or(Error::InvalidParam)?;
    if chunksize > MAX_BUFFERSIZE.into() {
        return Err(Error::MaxBufsizeExceeded);
    }
    // SAFETY: the storage is complete.
    let sc = unsafe { schunk::make(&*params.storage) }.map_err(Error::or_failure)?;
    let filled = fill(sc, params, &geometry, nchunks, chunksize as i32, kind);
    filled.inspect_err(|_| {
        // SAFETY: just made, and used no more.
        unsafe { schunk::discard(sc) };
    })
}

fn fill(
    sc: *mut blosc2_schunk,
    params: &Params,
    geometry: &Geometry,
    nchunks: i64,
    chunksize: i32,
    kind: c_int,
) -> Result<*mut b2nd_array_t> {
    // SAFETY: a string of the parameters', or null.
    let dtype =
        unsafe { (!params.dtype.is_null()).then(|| CStr::from_ptr(params.dtype).to_bytes()) };
    let meta = Meta {
        ndim: geometry.ndim,
        shape: geometry.shape,
        chunkshape: geometry.chunkshape,
        blockshape: geometry.blockshape,
        dtype,
        dtype_format: params.dtype_format,
    };
    let mut content = meta.serialize()?;
    let len = i32::try_from(content.len()).map_err(|_| Error::Failure)?;
    // SAFETY: the super-chunk was just made; names and contents are the program's.
    unsafe {
        (*sc).chunksize = chunksize;
        let done = |code: i64| match i32::try_from(code) {
            Ok(code) if code < 0 => Err(Error::of_code(code, Error::Failure)),
            _ => Ok(()),
        };
        let add = |name, content, len| done(blosc2_meta_add(sc, name, content, len).into());
        add(c"b2nd".as_ptr(), content.as_mut_ptr(), len)?;
        for layer in params.metalayers.all() {
            add(layer.name, layer.content, layer.content_len)?;
        }
        let items = nchunks.checked_mul(geometry.extchunknitems);
        let items = items.ok_or(Error::Failure)?;
        if items > 0 {
            done(blosc2_schunk_fill_special(sc, items, kind, chunksize))?;
        }
        array::make(sc, geometry, dtype, params.dtype_format)
    }
}

/// Runs the body of a function that makes an array of special values.
///
/// # Safety
/// Both pointers are null or valid.
unsafe fn make(
    name: &str,
    ctx: *mut b2nd_context_t,
    array: *mut *mut b2nd_array_t,
    kind: c_int,
) -> c_int {
    // SAFETY: by the caller's word.
    code(name, || unsafe {
        let params = Params::from_c(ctx)?;
        deliver(array, || special(params, kind))
    })
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
    // SAFETY: by the caller's word.
    unsafe { make("b2nd_uninit", ctx, array, BLOSC2_SPECIAL_UNINIT) }
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
    // SAFETY: by the caller's word.
    unsafe { make("b2nd_empty", ctx, array, BLOSC2_SPECIAL_ZERO) }
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
    // SAFETY: by the caller's word.
    unsafe { make("b2nd_zeros", ctx, array, BLOSC2_SPECIAL_ZERO) }
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
    // SAFETY: by the caller's word.
    code("b2nd_nans", || unsafe {
        let params = Params::from_c(ctx)?;
        deliver(array, || {
            if !matches!(params.cparams().typesize, 4 | 8) {
                return Err(Error::Data);
            }
            special(params, BLOSC2_SPECIAL_NAN)
        })
    })
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
    // SAFETY: by the caller's word.
    code("b2nd_full", || unsafe {
        let params = Params::from_c(ctx)?;
        deliver(array, || {
            if fill_value.is_null() {
                return Err(Error::NullPointer);
            }
            let made = special(params, BLOSC2_SPECIAL_ZERO)?;
            let filled = repeat(params, made, fill_value);
            if let Err(error) = filled {
                discard(made);
                return Err(error);
            }
            Ok(made)
        })
    })
}

/// Makes every chunk of a new array one repeated item.
///
/// # Safety
/// `value` points to an item.
unsafe fn repeat(params: &mut Params, made: *mut b2nd_array_t, value: *const c_void) -> Result<()> {
    // SAFETY: just made.
    let (array, _locked) = unsafe { Array::open(made, true)? };
    let sizes = array.sizes()?;
    let count = usize::try_from(array.handle.counts().nchunks).unwrap_or(0);
    if count == 0 {
        return Ok(());
    }
    let mut chunk = List::filled(0u8, EXTENDED_HEADER_LENGTH + sizes.item)?;
    let nbytes = sizes.chunk as i32;
    // SAFETY: the buffer is as long as it is; the value by the caller's word.
    let cbytes = unsafe {
        let (dest, room) = (chunk.as_mut_ptr().cast(), chunk.len() as i32);
        blosc2_chunk_repeatval(*params.cparams(), nbytes, dest, room, value)
    };
    let len = usize::try_from(cbytes).map_err(|_| Error::of_code(cbytes, Error::Failure))?;
    chunk.truncate(len);
    let copy = |nchunk| Ok((nchunk, Made::Whole(Buffer::copy_of(&chunk)?)));
    let new = (0..count).map(copy).try_list()?;
    let handle = array.handle;
    handle.with(true, |inner| replace(handle, inner, new))
}

/// Frees an array and its super-chunk. Views of it go on. Returns 0, or `BLOSC2_ERROR_NULL_POINTER`.
///
/// # Safety
/// `array` is NULL or an array that was not freed, and nobody uses it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn b2nd_free(array: *mut b2nd_array_t) -> c_int {
    code("b2nd_free", || {
        if array.is_null() {
            return Err(Error::NullPointer);
        }
        // SAFETY: by the caller's word.
        unsafe { free(array) };
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
    // SAFETY: by the caller's word.
    code("b2nd_from_schunk", || unsafe {
        if schunk.is_null() {
            return Err(Error::NullPointer);
        }
        deliver(array, || adopt(schunk))
    })
}

/// Makes an array of a super-chunk.
///
/// # Safety
/// `schunk` is valid.
pub unsafe fn adopt(schunk: *mut blosc2_schunk) -> Result<*mut b2nd_array_t> {
    // SAFETY: by the caller's word.
    unsafe {
        let handle = Handle::shown(schunk)?;
        let content = array::metalayer(handle)?.ok_or(Error::MetalayerNotFound)?;
        let (meta, _) = Meta::parse(content, true)?;
        let lengths = meta.shape.iter().zip(meta.chunkshape).zip(meta.blockshape);
        for ((shape, chunk), block) in lengths.take(meta.ndim) {
            if *shape != 0 && (chunk == 0 || block == 0) {
                return Err(Error::InvalidParam);
            }
        }
        let geometry = Geometry::new(meta.ndim, &meta.shape, &meta.chunkshape, &meta.blockshape)?;
        agree(handle, &geometry)?;
        array::make(schunk, &geometry, meta.dtype, meta.dtype_format)
    }
}

/// Checks that the chunks of a frame are those of an array with these shapes. A super-chunk without chunks may get them later.
fn agree(handle: &Handle, geometry: &Geometry) -> Result<()> {
    let counts = handle.counts();
    if counts.nchunks == 0 || !handle.inner().store.is_frame() {
        return Ok(());
    }
    // SAFETY: one field.
    let typesize = unsafe { handle.fields().typesize };
    let chunk = geometry.chunk_nbytes(typesize)?;
    if i64::from(counts.chunksize) == chunk as i64 && counts.nchunks == geometry.nchunks()? {
        Ok(())
    } else {
        Err(Error::Data)
    }
}
