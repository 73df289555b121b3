//! The constants of `b2nd.h`, all known to the preprocessor.

use super::macros::BLOSC2_MAX_METALAYERS;
use core::ffi::{CStr, c_int};

/// Version of the `b2nd` metalayer, 0 to 127.
pub const B2ND_METALAYER_VERSION: c_int = 0;
/// Most dimensions an array has.
pub const B2ND_MAX_DIM: usize = 16;
/// How many metalayers of its own a program may add to an array: `b2nd` takes one.
pub const B2ND_MAX_METALAYERS: usize = BLOSC2_MAX_METALAYERS - 1;
/// The format of the dtype is NumPy's.
pub const DTYPE_NUMPY_FORMAT: c_int = 0;
/// The dtype of an array that was created without one: single bytes.
pub const B2ND_DEFAULT_DTYPE: &CStr = c"|u1";
/// The format of [`B2ND_DEFAULT_DTYPE`].
pub const B2ND_DEFAULT_DTYPE_FORMAT: c_int = DTYPE_NUMPY_FORMAT;
