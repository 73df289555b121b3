//! Constants that the header of Blosc 1 (`blosc.h`) defines too, with the same values.

use core::ffi::{CStr, c_int};

// Sizes shared with Blosc 1.
/// Bytes of a Blosc 1 chunk header, and of the first half of a Blosc 2 one.
pub const BLOSC_MIN_HEADER_LENGTH: c_int = 16;
/// Largest typesize that fits the header's byte; larger items are compressed as single bytes.
pub const BLOSC_MAX_TYPESIZE: c_int = 255;

// Filters shared with Blosc 1.
/// No shuffle: the name of `BLOSC_NOFILTER` in Blosc 1.
pub const BLOSC_NOSHUFFLE: c_int = 0;
/// An empty slot of the filter pipeline.
pub const BLOSC_NOFILTER: c_int = 0;
/// Transposes bytes, so that equal bytes of neighbouring items meet. Its meta byte is the number of
/// byte streams; 0 means the typesize.
pub const BLOSC_SHUFFLE: c_int = 1;
/// Transposes bits. Takes no meta byte.
pub const BLOSC_BITSHUFFLE: c_int = 2;

// Bits of the flags byte of a chunk (see `blosc1_cbuffer_metainfo`).
/// The bytes were shuffled.
pub const BLOSC_DOSHUFFLE: c_int = 0x1;
/// The data follows the header uncompressed.
pub const BLOSC_MEMCPYED: c_int = 0x2;
/// The bits were shuffled.
pub const BLOSC_DOBITSHUFFLE: c_int = 0x4;

// Codecs shared with Blosc 1.
/// BloscLZ, the codec that only Blosc has.
pub const BLOSC_BLOSCLZ: c_int = 0;
/// LZ4.
pub const BLOSC_LZ4: c_int = 1;
/// LZ4 with its slower, stronger compressor; the same stream as LZ4.
pub const BLOSC_LZ4HC: c_int = 2;
/// zlib.
pub const BLOSC_ZLIB: c_int = 4;
/// Zstandard.
pub const BLOSC_ZSTD: c_int = 5;

/// Name of [`BLOSC_BLOSCLZ`].
pub const BLOSC_BLOSCLZ_COMPNAME: &CStr = c"blosclz";
/// Name of [`BLOSC_LZ4`].
pub const BLOSC_LZ4_COMPNAME: &CStr = c"lz4";
/// Name of [`BLOSC_LZ4HC`].
pub const BLOSC_LZ4HC_COMPNAME: &CStr = c"lz4hc";
/// Name of [`BLOSC_ZLIB`].
pub const BLOSC_ZLIB_COMPNAME: &CStr = c"zlib";
/// Name of [`BLOSC_ZSTD`].
pub const BLOSC_ZSTD_COMPNAME: &CStr = c"zstd";

// Compression libraries: the three bits in a chunk's flags that say who reads its streams.
/// BloscLZ streams.
pub const BLOSC_BLOSCLZ_LIB: c_int = 0;
/// LZ4 streams, whichever of its compressors wrote them.
pub const BLOSC_LZ4_LIB: c_int = 1;
/// zlib streams.
pub const BLOSC_ZLIB_LIB: c_int = 3;
/// Zstandard frames.
pub const BLOSC_ZSTD_LIB: c_int = 4;

/// Name of [`BLOSC_BLOSCLZ_LIB`].
pub const BLOSC_BLOSCLZ_LIBNAME: &CStr = c"BloscLZ";
/// Name of [`BLOSC_LZ4_LIB`].
pub const BLOSC_LZ4_LIBNAME: &CStr = c"LZ4";
/// Name of [`BLOSC_ZLIB_LIB`].
pub const BLOSC_ZLIB_LIBNAME: &CStr = c"Zlib";
/// Name of [`BLOSC_ZSTD_LIB`].
pub const BLOSC_ZSTD_LIBNAME: &CStr = c"Zstd";

// Stream formats: one per library, since a library reads all it writes.
/// Format of BloscLZ.
pub const BLOSC_BLOSCLZ_FORMAT: c_int = BLOSC_BLOSCLZ_LIB;
/// Format of LZ4.
pub const BLOSC_LZ4_FORMAT: c_int = BLOSC_LZ4_LIB;
/// Format of LZ4HC: that of LZ4.
pub const BLOSC_LZ4HC_FORMAT: c_int = BLOSC_LZ4_LIB;
/// Format of zlib.
pub const BLOSC_ZLIB_FORMAT: c_int = BLOSC_ZLIB_LIB;
/// Format of Zstandard.
pub const BLOSC_ZSTD_FORMAT: c_int = BLOSC_ZSTD_LIB;

// Versions of the stream formats, counted from 1 (byte 1 of a chunk).
/// Version of BloscLZ streams.
pub const BLOSC_BLOSCLZ_VERSION_FORMAT: c_int = 1;
/// Version of LZ4 streams.
pub const BLOSC_LZ4_VERSION_FORMAT: c_int = 1;
/// Version of LZ4HC streams: those of LZ4.
pub const BLOSC_LZ4HC_VERSION_FORMAT: c_int = 1;
/// Version of zlib streams.
pub const BLOSC_ZLIB_VERSION_FORMAT: c_int = 1;
/// Version of Zstandard frames.
pub const BLOSC_ZSTD_VERSION_FORMAT: c_int = 1;

// Whether a block is cut into one stream per byte of the typesize before the codec sees it.
/// Always cut; for experiments with the ratio.
pub const BLOSC_ALWAYS_SPLIT: c_int = 1;
/// Never cut; for experiments with the ratio.
pub const BLOSC_NEVER_SPLIT: c_int = 2;
/// Cut where the codec, the level and the filters make it pay.
pub const BLOSC_AUTO_SPLIT: c_int = 3;
/// Cut as every Blosc that reads the chunk expects; the default.
pub const BLOSC_FORWARD_COMPAT_SPLIT: c_int = 4;
