//! What the functions that C programs call have in common, in both C libraries: `libblosc2` and
//! `libblosc`.
//!
//! - [`export`] exports a function whose body may fail: errors become codes, which can be traced
//!   ([`returned`]), and no panic leaves it ([`guard`])
//! - [`not_null`] refuses null pointers; [`bytes`], [`bytes_mut`], [`items`], [`any_items`],
//!   [`buffers`] and [`c_str`] turn pointers into references
//! - [`give`], [`hand_over`] and [`numbers_for_c`] return more than a code
//! - [`size`], [`index`](index()), [`or_zero`] and [`c_size`] convert numbers
#![deny(unsafe_op_in_unsafe_fn)]
#![warn(missing_docs, clippy::missing_errors_doc)]
#![warn(clippy::undocumented_unsafe_blocks)]
// These abort the process when an allocation fails. clippy.toml lists them and what to use instead.
#![cfg_attr(
    not(test),
    deny(
        clippy::disallowed_types,
        clippy::disallowed_methods,
        clippy::disallowed_macros
    )
)]

mod export;
mod pointers;

pub use export::{Argument, Done, Returned, guard, returned};
pub use oxiblosc_base::Error;
pub use oxiblosc_export::export;
pub use pointers::{
    any_items, apart, buffers, bytes, bytes_mut, c_str, give, hand_over, items, numbers_for_c, text,
};

use oxiblosc_base::Result;

/// `not_null!(a, b)?` refuses pointers that are null; `not_null!(a, b; DATA)?` with that error.
#[macro_export]
macro_rules! not_null {
    ($($pointer:expr),+) => { $crate::not_null!($($pointer),+; NULL_POINTER) };
    ($($pointer:expr),+; $error:ident) => {
        match $($pointer.is_null())||+ {
            true => Err($crate::Error::$error),
            false => Ok(()),
        }
    };
}

/// A size or a number of the program's.
///
/// # Errors
/// [`Error::INVALID_PARAM`] for negative ones.
#[inline]
pub fn size(number: impl TryInto<usize>) -> Result<usize> {
    number.try_into().map_err(|_| Error::INVALID_PARAM)
}

/// The index of a chunk or block. A negative one is as invalid as one behind the last.
#[inline]
pub fn index(number: impl TryInto<usize>) -> usize {
    number.try_into().unwrap_or(usize::MAX)
}

/// A number as C gives it; 0 for a negative one.
#[inline]
pub fn or_zero(size: impl TryInto<usize>) -> usize {
    size.try_into().unwrap_or(0)
}

/// A size as C takes it; chunks are smaller than 2 GiB.
#[inline]
pub fn c_size(len: usize) -> i32 {
    i32::try_from(len).unwrap_or(i32::MAX)
}
