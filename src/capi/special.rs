//! Chunks whose content follows from their header.

use super::context;
use crate::capi::prelude::*;
use oxiblosc::encoding::{check_special, make_special};
use oxiblosc::format::chunk::header::{EXTENDED_HEADER_LENGTH, Special};

/// Makes a special chunk with the block size that `cparams` lead to; `special` has the item that it
/// repeats, if it does.
///
/// # Safety
/// `dest` has `destsize` bytes; the pointers in `cparams` are valid.
unsafe fn make(
    cparams: blosc2_cparams,
    special: (Special, &[u8]),
    nbytes: i32,
    dest: *mut c_void,
    destsize: i32,
) -> Result<usize> {
    let capacity = or_zero(destsize);
    check_special(cparams.typesize, nbytes, special.1.len(), capacity)?;
    let ctx = unsafe_granted!(context::compression(cparams)?);
    let dest = unsafe_granted!(bytes_mut(dest.cast(), capacity));
    make_special(&*ctx, special, nbytes as usize, dest, capacity)
}

/// Makes a chunk of `nbytes` zeros (a multiple of the typesize) in `dest`, which has at least
/// `BLOSC_EXTENDED_HEADER_LENGTH` bytes. Returns the size of the chunk, or a negative error code.
///
/// # Safety
/// `dest` has `destsize` bytes; the pointers in `cparams` are valid.
#[export]
pub unsafe extern "C" fn blosc2_chunk_zeros(
    cparams: blosc2_cparams,
    nbytes: i32,
    dest: *mut c_void,
    destsize: i32,
) -> c_int {
    make(cparams, (Special::Zero, &[]), nbytes, dest, destsize)
}

/// Makes a chunk of NaNs, of 4 or 8 bytes each, in `dest`; otherwise as `blosc2_chunk_zeros`.
///
/// # Safety
/// As for `blosc2_chunk_zeros`.
#[export]
pub unsafe extern "C" fn blosc2_chunk_nans(
    cparams: blosc2_cparams,
    nbytes: i32,
    dest: *mut c_void,
    destsize: i32,
) -> c_int {
    make(cparams, (Special::Nan, &[]), nbytes, dest, destsize)
}

/// Makes a chunk of uninitialised values in `dest`: decompressing it leaves the destination as it
/// was. Otherwise as `blosc2_chunk_zeros`.
///
/// # Safety
/// As for `blosc2_chunk_zeros`.
#[export]
pub unsafe extern "C" fn blosc2_chunk_uninit(
    cparams: blosc2_cparams,
    nbytes: i32,
    dest: *mut c_void,
    destsize: i32,
) -> c_int {
    make(cparams, (Special::Uninit, &[]), nbytes, dest, destsize)
}

/// Makes a chunk of `nbytes` bytes that repeat the item at `repeatval`, of the typesize, in `dest`,
/// which has at least `BLOSC_EXTENDED_HEADER_LENGTH` bytes and an item's. Returns the size of the
/// chunk, or a negative error code.
///
/// # Safety
/// As for `blosc2_chunk_zeros`; `repeatval` has as many bytes as an item.
#[export]
pub unsafe extern "C" fn blosc2_chunk_repeatval(
    cparams: blosc2_cparams,
    nbytes: i32,
    dest: *mut c_void,
    destsize: i32,
    repeatval: *const c_void,
) -> c_int {
    let typesize = size(cparams.typesize)?;
    if or_zero(destsize) < EXTENDED_HEADER_LENGTH + typesize {
        return Err(Error::DATA);
    }
    let special = (Special::Value, bytes(repeatval.cast(), typesize)?);
    make(cparams, special, nbytes, dest, destsize)
}
