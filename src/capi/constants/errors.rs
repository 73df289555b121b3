//! The return codes of `blosc2.h`. [`oxiblosc_base::Error`] carries the same numbers inside the
//! library.

use core::ffi::c_int;

// Return codes: what a function returns that otherwise returns a size, a count or an index.
/// Done.
pub const BLOSC2_ERROR_SUCCESS: c_int = 0;
/// It failed, and no other code fits.
pub const BLOSC2_ERROR_FAILURE: c_int = -1;
/// The stream is broken.
pub const BLOSC2_ERROR_STREAM: c_int = -2;
/// The data is not what its headers say.
pub const BLOSC2_ERROR_DATA: c_int = -3;
/// No memory.
pub const BLOSC2_ERROR_MEMORY_ALLOC: c_int = -4;
/// The source ends too early.
pub const BLOSC2_ERROR_READ_BUFFER: c_int = -5;
/// The destination is too small.
pub const BLOSC2_ERROR_WRITE_BUFFER: c_int = -6;
/// This library does not have the codec.
pub const BLOSC2_ERROR_CODEC_SUPPORT: c_int = -7;
/// The codec refused a parameter.
pub const BLOSC2_ERROR_CODEC_PARAM: c_int = -8;
/// The codec refused its dictionary.
pub const BLOSC2_ERROR_CODEC_DICT: c_int = -9;
/// The format's version is newer than the library.
pub const BLOSC2_ERROR_VERSION_SUPPORT: c_int = -10;
/// A header holds a value that cannot be.
pub const BLOSC2_ERROR_INVALID_HEADER: c_int = -11;
/// The caller passed a value that cannot be.
pub const BLOSC2_ERROR_INVALID_PARAM: c_int = -12;
/// A file could not be read.
pub const BLOSC2_ERROR_FILE_READ: c_int = -13;
/// A file could not be written.
pub const BLOSC2_ERROR_FILE_WRITE: c_int = -14;
/// A file could not be opened.
pub const BLOSC2_ERROR_FILE_OPEN: c_int = -15;
/// There is no such thing.
pub const BLOSC2_ERROR_NOT_FOUND: c_int = -16;
/// A run of one repeated value is broken.
pub const BLOSC2_ERROR_RUN_LENGTH: c_int = -17;
/// A filter failed.
pub const BLOSC2_ERROR_FILTER_PIPELINE: c_int = -18;
/// A chunk could not be inserted.
pub const BLOSC2_ERROR_CHUNK_INSERT: c_int = -19;
/// A chunk could not be appended.
pub const BLOSC2_ERROR_CHUNK_APPEND: c_int = -20;
/// A chunk could not be replaced.
pub const BLOSC2_ERROR_CHUNK_UPDATE: c_int = -21;
/// More than 2 GiB where the format counts in 31 bits.
pub const BLOSC2_ERROR_2GB_LIMIT: c_int = -22;
/// A super-chunk could not be copied.
pub const BLOSC2_ERROR_SCHUNK_COPY: c_int = -23;
/// The frame is of the other kind, contiguous or sparse.
pub const BLOSC2_ERROR_FRAME_TYPE: c_int = -24;
/// A file could not be cut or extended.
pub const BLOSC2_ERROR_FILE_TRUNCATE: c_int = -25;
/// A worker thread could not be started.
pub const BLOSC2_ERROR_THREAD_CREATE: c_int = -26;
/// The postfilter failed.
pub const BLOSC2_ERROR_POSTFILTER: c_int = -27;
/// A frame of special values could not be made or read.
pub const BLOSC2_ERROR_FRAME_SPECIAL: c_int = -28;
/// A super-chunk could not be filled with special values.
pub const BLOSC2_ERROR_SCHUNK_SPECIAL: c_int = -29;
/// An input/output back end failed, or there is none of that id.
pub const BLOSC2_ERROR_PLUGIN_IO: c_int = -30;
/// A file could not be removed.
pub const BLOSC2_ERROR_FILE_REMOVE: c_int = -31;
/// A pointer is NULL that must not be.
pub const BLOSC2_ERROR_NULL_POINTER: c_int = -32;
/// An index lies outside.
pub const BLOSC2_ERROR_INVALID_INDEX: c_int = -33;
/// There is no metalayer of that name.
pub const BLOSC2_ERROR_METALAYER_NOT_FOUND: c_int = -34;
/// A buffer is larger than `BLOSC2_MAX_BUFFERSIZE`.
pub const BLOSC2_ERROR_MAX_BUFSIZE_EXCEEDED: c_int = -35;
/// A tuner failed.
pub const BLOSC2_ERROR_TUNER: c_int = -36;
/// The lock on a frame could not be taken or let go.
pub const BLOSC2_ERROR_LOCK: c_int = -37;
