//! Positions in an array, counted along its dimensions and counted through.

use crate::capi::prelude::*;
use oxiblosc::b2nd::geometry::{number, position};
use std::slice::from_raw_parts;

/// Gives, in `index`, the position along each of `ndim` dimensions of item `i` of an array of this
/// shape, counted in C order. A dimension of length 0 gives 0.
///
/// # Safety
/// `shape` and `index` have `ndim` numbers each.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blosc2_unidim_to_multidim(
    ndim: u8,
    shape: *mut i64,
    i: i64,
    index: *mut i64,
) {
    guard((), || {
        if shape.is_null() || index.is_null() {
            return;
        }
        let ndim = usize::from(ndim);
        let mut lengths = [0; u8::MAX as usize];
        // SAFETY: neither is null, so both have `ndim` numbers. The lengths are copied, since the
        // positions may lie in the same place.
        unsafe {
            std::ptr::copy_nonoverlapping(shape, lengths.as_mut_ptr(), ndim);
            for (dim, at) in position(&lengths[..ndim], i) {
                *index.add(dim) = at;
            }
        }
    });
}

/// Gives, in `i`, the sum of each of `ndim` positions times its stride, wrapping around.
///
/// # Safety
/// `index` and `strides` have `ndim` numbers each; `i` can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blosc2_multidim_to_unidim(
    index: *const i64,
    ndim: i8,
    strides: *const i64,
    i: *mut i64,
) {
    guard((), || {
        let ndim = usize::try_from(ndim).unwrap_or(0);
        if i.is_null() || (ndim > 0 && (index.is_null() || strides.is_null())) {
            return;
        }
        // SAFETY: `i` is not null. Where there are numbers, neither list is null, and each has
        // `ndim`.
        unsafe {
            *i = match ndim {
                0 => 0,
                _ => number(from_raw_parts(index, ndim), from_raw_parts(strides, ndim)),
            };
        }
    });
}
