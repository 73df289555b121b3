//! Positions in an array, counted along its dimensions and counted through.

use super::border::guard;

/// Gives, in `index`, the position along each of `ndim` dimensions of item `i` of an array of this shape, counted in
/// C order. A dimension of length 0 gives 0.
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
        let mut stride = 1i64;
        for dim in (0..usize::from(ndim)).rev() {
            // SAFETY: by the caller's word.
            let (length, at) = unsafe { (*shape.add(dim), index.add(dim)) };
            let next = stride.wrapping_mul(length);
            let rest = if dim == 0 {
                Some(i)
            } else {
                remainder(i, next)
            };
            let position = rest.and_then(|rest| quotient(rest, stride)).unwrap_or(0);
            // SAFETY: by the caller's word.
            unsafe { *at = position };
            stride = next;
        }
    });
}

/// `a / b`, wrapping around; none for a division by 0.
fn quotient(a: i64, b: i64) -> Option<i64> {
    (b != 0).then(|| a.wrapping_div(b))
}

/// `a % b`; none for a division by 0.
fn remainder(a: i64, b: i64) -> Option<i64> {
    (b != 0).then(|| a.wrapping_rem(b))
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
        let sum = (0..ndim).fold(0i64, |sum, dim| {
            // SAFETY: by the caller's word.
            let (position, stride) = unsafe { (*index.add(dim), *strides.add(dim)) };
            sum.wrapping_add(position.wrapping_mul(stride))
        });
        // SAFETY: by the caller's word.
        unsafe { *i = sum };
    });
}
