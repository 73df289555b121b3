//! Chunks whose content follows from their header.

use super::context;
use crate::capi::prelude::*;
use oxiblosc_chunk::header::{EXTENDED_HEADER_LENGTH, Special};
use oxiblosc_chunk::special;

/// Makes a special chunk with the block size that `cparams` lead to.
///
/// # Safety
/// `dest` has `destsize` bytes; the pointers in `cparams` are valid.
pub unsafe fn make(
    cparams: blosc2_cparams,
    kind: Special,
    nbytes: i32,
    value: &[u8],
    dest: *mut c_void,
    destsize: i32,
) -> Result<usize> {
    let needed = EXTENDED_HEADER_LENGTH + value.len();
    if usize::try_from(destsize).unwrap_or(0) < needed {
        return Err(Error::Data);
    }
    if cparams.typesize <= 0 || nbytes < 0 {
        return Err(Error::InvalidParam);
    }
    if nbytes % cparams.typesize != 0 {
        return Err(Error::Data);
    }
    let ctx = unsafe_granted!(context::compression(cparams)?);
    ctx.prepare_compression(null(), nbytes, dest.cast(), destsize)?;
    let (blocksize, typesize) = (ctx.blocksize.get() as usize, ctx.typesize.get() as usize);
    let dest = unsafe_granted!(bytes_mut(dest.cast(), needed)?);
    let nbytes = nbytes as usize;
    Ok(special::write(
        kind, nbytes, blocksize, typesize, value, dest,
    ))
}

/// Makes a chunk of `nbytes` zeros (a multiple of the typesize) in `dest`, which has at least
/// `BLOSC_EXTENDED_HEADER_LENGTH` bytes. Returns the size of the chunk, or a negative error code.
///
/// # Safety
/// `dest` has `destsize` bytes; the pointers in `cparams` are valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blosc2_chunk_zeros(
    cparams: blosc2_cparams,
    nbytes: i32,
    dest: *mut c_void,
    destsize: i32,
) -> c_int {
    unsafe_granted!(code("blosc2_chunk_zeros", || make(
        cparams,
        Special::Zero,
        nbytes,
        &[],
        dest,
        destsize
    )))
}

/// Makes a chunk of NaNs, of 4 or 8 bytes each, in `dest`; otherwise as `blosc2_chunk_zeros`.
///
/// # Safety
/// As for `blosc2_chunk_zeros`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blosc2_chunk_nans(
    cparams: blosc2_cparams,
    nbytes: i32,
    dest: *mut c_void,
    destsize: i32,
) -> c_int {
    unsafe_granted!(code("blosc2_chunk_nans", || make(
        cparams,
        Special::Nan,
        nbytes,
        &[],
        dest,
        destsize
    )))
}

/// Makes a chunk of uninitialised values in `dest`: decompressing it leaves the destination as it was. Otherwise as
/// `blosc2_chunk_zeros`.
///
/// # Safety
/// As for `blosc2_chunk_zeros`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blosc2_chunk_uninit(
    cparams: blosc2_cparams,
    nbytes: i32,
    dest: *mut c_void,
    destsize: i32,
) -> c_int {
    unsafe_granted!(code("blosc2_chunk_uninit", || make(
        cparams,
        Special::Uninit,
        nbytes,
        &[],
        dest,
        destsize
    )))
}

/// Makes a chunk of `nbytes` bytes that repeat the item at `repeatval`, of the typesize, in `dest`, which has at least
/// `BLOSC_EXTENDED_HEADER_LENGTH` bytes and an item's. Returns the size of the chunk, or a negative error code.
///
/// # Safety
/// As for `blosc2_chunk_zeros`; `repeatval` has as many bytes as an item.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blosc2_chunk_repeatval(
    cparams: blosc2_cparams,
    nbytes: i32,
    dest: *mut c_void,
    destsize: i32,
    repeatval: *const c_void,
) -> c_int {
    unsafe_granted!(code("blosc2_chunk_repeatval", || repeatval_chunk(
        cparams, nbytes, dest, destsize, repeatval
    )))
}

/// See [`blosc2_chunk_repeatval`].
///
/// # Safety
/// As for that.
pub unsafe fn repeatval_chunk(
    cparams: blosc2_cparams,
    nbytes: i32,
    dest: *mut c_void,
    destsize: i32,
    value: *const c_void,
) -> Result<usize> {
    let typesize = size(cparams.typesize)?;
    if i64::from(destsize) < EXTENDED_HEADER_LENGTH as i64 + typesize as i64 {
        return Err(Error::Data);
    }
    unsafe_granted!({
        let value = bytes(value.cast(), typesize)?;
        make(cparams, Special::Value, nbytes, value, dest, destsize)
    })
}
