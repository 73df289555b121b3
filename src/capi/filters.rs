//! The shuffles by themselves.

use crate::capi::prelude::*;
use core::ops::RangeInclusive;
use oxiblosc_chunk::header::version;
use oxiblosc_filters::{bitshuffle, shuffle};

/// The typesizes of the shuffles. Only the undoing of a bit shuffle takes larger ones.
const TYPESIZES: RangeInclusive<i32> = 1..=256;

/// Applies `filter` to `blocksize` bytes; gives their number.
///
/// # Safety
/// Both buffers have `blocksize` bytes.
unsafe fn apply(
    filter: impl FnOnce(usize, &[u8], &mut [u8]),
    typesizes: RangeInclusive<i32>,
    typesize: i32,
    blocksize: i32,
    src: *const c_void,
    dest: *mut c_void,
) -> Result<usize> {
    if !typesizes.contains(&typesize) {
        return Err(Error::InvalidParam);
    }
    let len = size(blocksize)?;
    let (src, dest) = unsafe_granted!(buffers((src.cast(), len), (dest.cast(), len))?);
    filter(typesize as usize, src, dest);
    Ok(len)
}

/// Shuffles the bytes of items of `typesize` bytes (1 to 256) from `src` to `dest`, both of `blocksize` bytes.
/// Returns `blocksize`, or a negative error code.
///
/// # Safety
/// Both buffers have `blocksize` bytes and do not overlap.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blosc2_shuffle(
    typesize: i32,
    blocksize: i32,
    src: *const c_void,
    dest: *mut c_void,
) -> i32 {
    unsafe_granted!(export(|| {
        apply(shuffle::shuffle, TYPESIZES, typesize, blocksize, src, dest)
    }))
}

/// Undoes `blosc2_shuffle`.
///
/// # Safety
/// As for `blosc2_shuffle`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blosc2_unshuffle(
    typesize: i32,
    blocksize: i32,
    src: *const c_void,
    dest: *mut c_void,
) -> i32 {
    unsafe_granted!(export(|| {
        apply(
            shuffle::unshuffle,
            TYPESIZES,
            typesize,
            blocksize,
            src,
            dest,
        )
    }))
}

/// Shuffles the bits of items of `typesize` bytes (1 to 256) from `src` to `dest`, both of `blocksize` bytes; items
/// that do not make up eight, and bytes that do not make up an item, are copied. Returns `blocksize`, or a negative
/// error code.
///
/// # Safety
/// As for `blosc2_shuffle`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blosc2_bitshuffle(
    typesize: i32,
    blocksize: i32,
    src: *const c_void,
    dest: *mut c_void,
) -> i32 {
    unsafe_granted!(export(|| {
        apply(
            bitshuffle::bitshuffle,
            TYPESIZES,
            typesize,
            blocksize,
            src,
            dest,
        )
    }))
}

/// Undoes `blosc2_bitshuffle`; there is no largest typesize.
///
/// # Safety
/// As for `blosc2_shuffle`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blosc2_bitunshuffle(
    typesize: i32,
    blocksize: i32,
    src: *const c_void,
    dest: *mut c_void,
) -> i32 {
    let undo = |typesize: usize, src: &[u8], dest: &mut [u8]| {
        bitshuffle::bitunshuffle(typesize, src, dest, version::VL_BLOCKS);
    };
    export(|| unsafe_granted!(apply(undo, 1..=i32::MAX, typesize, blocksize, src, dest)))
}
