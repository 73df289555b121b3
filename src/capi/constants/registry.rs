//! Ids that the project registered for codecs, filters and tuners of others: the enumerators of
//! `blosc2/codecs-registry.h`, `blosc2/filters-registry.h` and `blosc2/tuners-registry.h`.

use core::ffi::c_int;

// Registered codecs.
/// A small Lempel-Ziv codec for n-dimensional cells; the meta byte is the cell's side.
pub const BLOSC_CODEC_NDLZ: c_int = 32;
/// ZFP with a bound on the absolute error; the meta byte, signed, is the bound's decimal exponent.
pub const BLOSC_CODEC_ZFP_FIXED_ACCURACY: c_int = 33;
/// ZFP with a number of bit planes per value, in the meta byte.
pub const BLOSC_CODEC_ZFP_FIXED_PRECISION: c_int = 34;
/// ZFP with a fixed size, in the meta byte as a percentage of the data's.
pub const BLOSC_CODEC_ZFP_FIXED_RATE: c_int = 35;
/// High-throughput JPEG 2000 by OpenHTJ2K; a plugin.
pub const BLOSC_CODEC_OPENHTJ2K: c_int = 36;
/// JPEG 2000 by Grok; a plugin.
pub const BLOSC_CODEC_GROK: c_int = 37;
/// OpenZL; a plugin.
pub const BLOSC_CODEC_OPENZL: c_int = 38;
/// JPEG 2000; a plugin.
pub const BLOSC_CODEC_J2K: c_int = 39;
/// High-throughput JPEG 2000; a plugin.
pub const BLOSC_CODEC_HTJ2K: c_int = 40;

// Registered filters.
/// Reorders an n-dimensional block so that each cell is contiguous; the meta byte is the cell's
/// side.
pub const BLOSC_FILTER_NDCELL: c_int = 32;
/// Replaces each cell of an n-dimensional block by its mean; the meta byte is the cell's side.
pub const BLOSC_FILTER_NDMEAN: c_int = 33;
/// Bytedelta as first released, with its mistake: for reading old data only.
pub const BLOSC_FILTER_BYTEDELTA_BUGGY: c_int = 34;
/// Differences of neighbouring bytes in each of the byte streams that a shuffle made; the meta byte
/// is the typesize.
pub const BLOSC_FILTER_BYTEDELTA: c_int = 35;
/// Zeroes low bits of integers. The meta byte, signed: bits to keep if positive, bits to zero if
/// negative.
pub const BLOSC_FILTER_INT_TRUNC: c_int = 36;

// Registered tuners.
/// Btune; a plugin.
pub const BLOSC_BTUNE: c_int = 32;
