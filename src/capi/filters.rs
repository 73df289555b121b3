//! The shuffles by themselves.

use crate::capi::prelude::*;
use oxiblosc::filter::Transposition;

/// Applies a shuffle to `blocksize` bytes; gives their number.
///
/// # Safety
/// Both buffers have `blocksize` bytes.
unsafe fn apply(
    shuffle: Transposition,
    typesize: i32,
    blocksize: i32,
    src: *const c_void,
    dest: *mut c_void,
) -> Result<usize> {
    let (typesize, len) = (shuffle.typesize(typesize)?, size(blocksize)?);
    let (src, dest) = unsafe_granted!(buffers((src.cast(), len), (dest.cast(), len))?);
    shuffle.apply(typesize, src, dest);
    Ok(len)
}

/// Shuffles the bytes of items of `typesize` bytes (1 to 256) from `src` to `dest`, both of
/// `blocksize` bytes. Returns `blocksize`, or a negative error code.
///
/// # Safety
/// Both buffers have `blocksize` bytes and do not overlap.
#[export]
pub unsafe extern "C" fn blosc2_shuffle(
    typesize: i32,
    blocksize: i32,
    src: *const c_void,
    dest: *mut c_void,
) -> i32 {
    let shuffle = Transposition::Shuffle;
    apply(shuffle, typesize, blocksize, src, dest)
}

/// Undoes `blosc2_shuffle`.
///
/// # Safety
/// As for `blosc2_shuffle`.
#[export]
pub unsafe extern "C" fn blosc2_unshuffle(
    typesize: i32,
    blocksize: i32,
    src: *const c_void,
    dest: *mut c_void,
) -> i32 {
    let shuffle = Transposition::Unshuffle;
    apply(shuffle, typesize, blocksize, src, dest)
}

/// Shuffles the bits of items of `typesize` bytes (1 to 256) from `src` to `dest`, both of
/// `blocksize` bytes; items that do not make up eight, and bytes that do not make up an item, are
/// copied. Returns `blocksize`, or a negative error code.
///
/// # Safety
/// As for `blosc2_shuffle`.
#[export]
pub unsafe extern "C" fn blosc2_bitshuffle(
    typesize: i32,
    blocksize: i32,
    src: *const c_void,
    dest: *mut c_void,
) -> i32 {
    let shuffle = Transposition::Bitshuffle;
    apply(shuffle, typesize, blocksize, src, dest)
}

/// Undoes `blosc2_bitshuffle`; there is no largest typesize.
///
/// # Safety
/// As for `blosc2_shuffle`.
#[export]
pub unsafe extern "C" fn blosc2_bitunshuffle(
    typesize: i32,
    blocksize: i32,
    src: *const c_void,
    dest: *mut c_void,
) -> i32 {
    let shuffle = Transposition::Bitunshuffle;
    apply(shuffle, typesize, blocksize, src, dest)
}
