//! Constants of `blosc2.h` that the preprocessor knows.

use core::ffi::{CStr, c_int};

/// The major number of the version: grows when programs have to be changed.
pub const BLOSC2_VERSION_MAJOR: c_int = 3;
/// The minor number of the version: grows when there is something new.
pub const BLOSC2_VERSION_MINOR: c_int = 3;
/// The last number of the version: grows with tweaks and corrections.
pub const BLOSC2_VERSION_RELEASE: c_int = 5;
/// The version as text.
pub const BLOSC2_VERSION_STRING: &CStr = c"3.3.5";
/// The day of the release that this library stands for.
pub const BLOSC2_VERSION_DATE: &CStr = c"$Date:: 2026-09-24 #$";

/// How many fixed-length metalayers a super-chunk holds.
pub const BLOSC2_MAX_METALAYERS: usize = 16;
/// Longest name of a metalayer in bytes, its end mark not counted.
pub const BLOSC2_METALAYER_NAME_MAXLEN: c_int = 31;
/// How many variable-length metalayers a super-chunk holds.
pub const BLOSC2_MAX_VLMETALAYERS: usize = 8 * 1024;
/// Longest name of a variable-length metalayer in bytes, its end mark not counted.
pub const BLOSC2_VLMETALAYERS_NAME_MAXLEN: c_int = BLOSC2_METALAYER_NAME_MAXLEN;
