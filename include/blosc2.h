/* Part of oxiblosc, the C library of Blosc2 in Rust; see its README.md. */
/* Generated from src/capi by the test `headers`: change it there. */

#ifndef BLOSC_BLOSC2_H
#define BLOSC_BLOSC2_H

#include "blosc2/blosc2-export.h"
#include "blosc2/blosc2-common.h"
#include "blosc2/blosc2-stdio.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* A program for Blosc 1 that defines BLOSC1_COMPAT finds the functions and sizes of Blosc 1 under their old names. */
#ifdef BLOSC1_COMPAT
#define BLOSC_VERSION_MAJOR BLOSC2_VERSION_MAJOR
#define BLOSC_VERSION_MINOR BLOSC2_VERSION_MINOR
#define BLOSC_VERSION_RELEASE BLOSC2_VERSION_RELEASE
#define BLOSC_VERSION_STRING BLOSC2_VERSION_STRING
#define BLOSC_VERSION_DATE BLOSC2_VERSION_DATE
#define BLOSC_MAX_OVERHEAD BLOSC2_MAX_OVERHEAD
#define BLOSC_MAX_BUFFERSIZE BLOSC2_MAX_BUFFERSIZE
/* kept as Blosc 1 had them */
#define blosc_compress blosc1_compress
#define blosc_decompress blosc1_decompress
#define blosc_getitem blosc1_getitem
#define blosc_cbuffer_sizes blosc1_cbuffer_sizes
#define blosc_cbuffer_validate blosc1_cbuffer_validate
#define blosc_cbuffer_metainfo blosc1_cbuffer_metainfo
#define blosc_get_compressor blosc1_get_compressor
#define blosc_set_compressor blosc1_set_compressor
#define blosc_get_blocksize blosc1_get_blocksize
#define blosc_set_blocksize blosc1_set_blocksize
#define blosc_set_splitmode blosc1_set_splitmode
/* the same in Blosc 2 */
#define blosc_init blosc2_init
#define blosc_destroy blosc2_destroy
#define blosc_free_resources blosc2_free_resources
#define blosc_get_nthreads blosc2_get_nthreads
#define blosc_set_nthreads blosc2_set_nthreads
#define blosc_compcode_to_compname blosc2_compcode_to_compname
#define blosc_compname_to_compcode blosc2_compname_to_compcode
#define blosc_list_compressors blosc2_list_compressors
#define blosc_get_version_string blosc2_get_version_string
#define blosc_get_complib_info blosc2_get_complib_info
#define blosc_cbuffer_versions blosc2_cbuffer_versions
#define blosc_cbuffer_complib blosc2_cbuffer_complib
#endif /* BLOSC1_COMPAT */

/* Messages on stderr, printed while the environment variable BLOSC_TRACE is set. `msg` is a literal format. */
#define BLOSC_TRACE_ERROR(msg, ...) BLOSC_TRACE(error, msg, ##__VA_ARGS__)
#define BLOSC_TRACE_WARNING(msg, ...) BLOSC_TRACE(warning, msg, ##__VA_ARGS__)
#define BLOSC_TRACE_INFO(msg, ...) BLOSC_TRACE(info, msg, ##__VA_ARGS__)
#define BLOSC_TRACE(cat, msg, ...)                                                                \
  do {                                                                                            \
    if (getenv("BLOSC_TRACE") != NULL) {                                                          \
      fprintf(stderr, "[%s] - " msg " (%s:%d)\n", #cat, ##__VA_ARGS__, __FILE__, __LINE__);       \
    }                                                                                             \
  } while (0)

/* A message on stderr, printed while the environment variable BLOSC_INFO is set. */
#define BLOSC_INFO(msg, ...)                                                                      \
  do {                                                                                            \
    if (getenv("BLOSC_INFO") != NULL) {                                                           \
      fprintf(stderr, "[INFO] - " msg "\n", ##__VA_ARGS__);                                       \
    }                                                                                             \
  } while (0)

/* Leaves the calling function with `rc` when the pointer is NULL. */
#define BLOSC_ERROR_NULL(pointer, rc)                                                             \
  do {                                                                                            \
    if ((pointer) == NULL) {                                                                      \
      if (getenv("BLOSC_TRACE") != NULL) {                                                        \
        fprintf(stderr, "[error] - Pointer is null (%s:%d)\n", __FILE__, __LINE__);               \
      }                                                                                           \
      return (rc);                                                                                \
    }                                                                                             \
  } while (0)

/* Leaves the calling function with `rc` when it is an error. */
#define BLOSC_ERROR(rc)                                                                           \
  do {                                                                                            \
    const int rc_ = (rc);                                                                         \
    if (rc_ < BLOSC2_ERROR_SUCCESS) {                                                             \
      if (getenv("BLOSC_TRACE") != NULL) {                                                        \
        fprintf(stderr, "[error] - %s (%s:%d)\n", print_error(rc_), __FILE__, __LINE__);          \
      }                                                                                           \
      return rc_;                                                                                 \
    }                                                                                             \
  } while (0)

#ifdef __GNUC__
#define BLOSC_ATTRIBUTE_UNUSED __attribute__((unused)) /* a function that may stay uncalled */
#else
#define BLOSC_ATTRIBUTE_UNUSED
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define BLOSC2_VERSION_MAJOR 3 /**< The major number of the version: grows when programs have to be changed. */
#define BLOSC2_VERSION_MINOR 3 /**< The minor number of the version: grows when there is something new. */
#define BLOSC2_VERSION_RELEASE 5 /**< The last number of the version: grows with tweaks and corrections. */
#define BLOSC2_VERSION_STRING "3.3.5" /**< The version as text. */
#define BLOSC2_VERSION_DATE "$Date:: 2026-09-24 #$" /**< The day of the release that this library stands for. */

/** How many fixed-length metalayers a super-chunk holds. */
#define BLOSC2_MAX_METALAYERS 16
/** Longest name of a metalayer in bytes, its end mark not counted. */
#define BLOSC2_METALAYER_NAME_MAXLEN 31
/** How many variable-length metalayers a super-chunk holds. */
#define BLOSC2_MAX_VLMETALAYERS (8 * 1024)
/** Longest name of a variable-length metalayer in bytes, its end mark not counted. */
#define BLOSC2_VLMETALAYERS_NAME_MAXLEN BLOSC2_METALAYER_NAME_MAXLEN

#ifndef BLOSC_H /* Blosc 1 defines these too */

/* Sizes shared with Blosc 1. */
enum {
  /** Bytes of a Blosc 1 chunk header, and of the first half of a Blosc 2 one. */
  BLOSC_MIN_HEADER_LENGTH = 16,
  /** Largest typesize that fits the header's byte; larger items are compressed as single bytes. */
  BLOSC_MAX_TYPESIZE = 255,
};

/* Filters shared with Blosc 1. */
enum {
  /** No shuffle: the name of `BLOSC_NOFILTER` in Blosc 1. */
  BLOSC_NOSHUFFLE = 0,
  /** An empty slot of the filter pipeline. */
  BLOSC_NOFILTER = 0,
  /**
   * Transposes bytes, so that equal bytes of neighbouring items meet. Its meta byte is the number of
   * byte streams; 0 means the typesize.
   */
  BLOSC_SHUFFLE = 1,
  /** Transposes bits. Takes no meta byte. */
  BLOSC_BITSHUFFLE = 2,
};

/* Bits of the flags byte of a chunk (see `blosc1_cbuffer_metainfo`). */
enum {
  /** The bytes were shuffled. */
  BLOSC_DOSHUFFLE = 1,
  /** The data follows the header uncompressed. */
  BLOSC_MEMCPYED = 2,
  /** The bits were shuffled. */
  BLOSC_DOBITSHUFFLE = 4,
};

/* Codecs shared with Blosc 1. */
enum {
  /** BloscLZ, the codec that only Blosc has. */
  BLOSC_BLOSCLZ = 0,
  /** LZ4. */
  BLOSC_LZ4 = 1,
  /** LZ4 with its slower, stronger compressor; the same stream as LZ4. */
  BLOSC_LZ4HC = 2,
  /** zlib. */
  BLOSC_ZLIB = 4,
  /** Zstandard. */
  BLOSC_ZSTD = 5,
};

/** Name of `BLOSC_BLOSCLZ`. */
#define BLOSC_BLOSCLZ_COMPNAME "blosclz"
/** Name of `BLOSC_LZ4`. */
#define BLOSC_LZ4_COMPNAME "lz4"
/** Name of `BLOSC_LZ4HC`. */
#define BLOSC_LZ4HC_COMPNAME "lz4hc"
/** Name of `BLOSC_ZLIB`. */
#define BLOSC_ZLIB_COMPNAME "zlib"
/** Name of `BLOSC_ZSTD`. */
#define BLOSC_ZSTD_COMPNAME "zstd"

/* Compression libraries: the three bits in a chunk's flags that say who reads its streams. */
enum {
  /** BloscLZ streams. */
  BLOSC_BLOSCLZ_LIB = 0,
  /** LZ4 streams, whichever of its compressors wrote them. */
  BLOSC_LZ4_LIB = 1,
  /** zlib streams. */
  BLOSC_ZLIB_LIB = 3,
  /** Zstandard frames. */
  BLOSC_ZSTD_LIB = 4,
};

/** Name of `BLOSC_BLOSCLZ_LIB`. */
#define BLOSC_BLOSCLZ_LIBNAME "BloscLZ"
/** Name of `BLOSC_LZ4_LIB`. */
#define BLOSC_LZ4_LIBNAME "LZ4"
/** Name of `BLOSC_ZLIB_LIB`. */
#define BLOSC_ZLIB_LIBNAME "Zlib"
/** Name of `BLOSC_ZSTD_LIB`. */
#define BLOSC_ZSTD_LIBNAME "Zstd"

/* Stream formats: one per library, since a library reads all it writes. */
enum {
  /** Format of BloscLZ. */
  BLOSC_BLOSCLZ_FORMAT = BLOSC_BLOSCLZ_LIB,
  /** Format of LZ4. */
  BLOSC_LZ4_FORMAT = BLOSC_LZ4_LIB,
  /** Format of LZ4HC: that of LZ4. */
  BLOSC_LZ4HC_FORMAT = BLOSC_LZ4_LIB,
  /** Format of zlib. */
  BLOSC_ZLIB_FORMAT = BLOSC_ZLIB_LIB,
  /** Format of Zstandard. */
  BLOSC_ZSTD_FORMAT = BLOSC_ZSTD_LIB,
};

/* Versions of the stream formats, counted from 1 (byte 1 of a chunk). */
enum {
  /** Version of BloscLZ streams. */
  BLOSC_BLOSCLZ_VERSION_FORMAT = 1,
  /** Version of LZ4 streams. */
  BLOSC_LZ4_VERSION_FORMAT = 1,
  /** Version of LZ4HC streams: those of LZ4. */
  BLOSC_LZ4HC_VERSION_FORMAT = 1,
  /** Version of zlib streams. */
  BLOSC_ZLIB_VERSION_FORMAT = 1,
  /** Version of Zstandard frames. */
  BLOSC_ZSTD_VERSION_FORMAT = 1,
};

/* Whether a block is cut into one stream per byte of the typesize before the codec sees it. */
enum {
  /** Always cut; for experiments with the ratio. */
  BLOSC_ALWAYS_SPLIT = 1,
  /** Never cut; for experiments with the ratio. */
  BLOSC_NEVER_SPLIT = 2,
  /** Cut where the codec, the level and the filters make it pay. */
  BLOSC_AUTO_SPLIT = 3,
  /** Cut as every Blosc that reads the chunk expects; the default. */
  BLOSC_FORWARD_COMPAT_SPLIT = 4,
};

#endif /* BLOSC_H */

/* Versions of the chunk format (byte 0 of a chunk). */
enum {
  /** Blosc before 1.0. */
  BLOSC1_VERSION_FORMAT_PRE1 = 1,
  /** Blosc 1: a header of 16 bytes. */
  BLOSC1_VERSION_FORMAT = 2,
  /** The alphas of Blosc 2: the first headers of 32 bytes. */
  BLOSC2_VERSION_FORMAT_ALPHA = 3,
  /** The first beta of Blosc 2. */
  BLOSC2_VERSION_FORMAT_BETA1 = 4,
  /** Blosc 2. */
  BLOSC2_VERSION_FORMAT_STABLE = 5,
  /** Blosc 2 with blocks of variable length. */
  BLOSC2_VERSION_FORMAT_VL_BLOCKS = 6,
  /** The newest version that the library reads. */
  BLOSC2_VERSION_FORMAT = BLOSC2_VERSION_FORMAT_VL_BLOCKS,
};

/* Versions of the frame format (four bits of a frame's header). */
enum {
  /** Frames from 2.0.0-beta2 on. */
  BLOSC2_VERSION_FRAME_FORMAT_BETA2 = 1,
  /** Frames from 2.0.0-rc1 on. */
  BLOSC2_VERSION_FRAME_FORMAT_RC1 = 2,
  /** Frames that may hold chunks with blocks of variable length. */
  BLOSC2_VERSION_FRAME_FORMAT_VL_BLOCKS = 3,
  /** The newest version that the library reads. */
  BLOSC2_VERSION_FRAME_FORMAT = BLOSC2_VERSION_FRAME_FORMAT_VL_BLOCKS,
};

/* Sizes of headers and buffers, in bytes. */
enum {
  /** Bytes of a Blosc 2 chunk header. */
  BLOSC_EXTENDED_HEADER_LENGTH = 32,
  /**
   * What a chunk may need above the size of its data: a destination that much larger always
   * suffices.
   */
  BLOSC2_MAX_OVERHEAD = BLOSC_EXTENDED_HEADER_LENGTH,
  /** Largest buffer that one chunk takes (`INT_MAX` less the overhead). */
  BLOSC2_MAX_BUFFERSIZE = (2147483647 - BLOSC2_MAX_OVERHEAD),
  /** Buffers shorter than this are stored, not compressed. */
  BLOSC_MIN_BUFFERSIZE = 32,
};

/* Ranges of tuner ids. */
enum {
  /** First id of the tuners that come with the library. */
  BLOSC2_DEFINED_TUNER_START = 0,
  /** Last id of the tuners that come with the library. */
  BLOSC2_DEFINED_TUNER_STOP = 31,
  /** First id of the tuners that the project registered for others. */
  BLOSC2_GLOBAL_REGISTERED_TUNER_START = 32,
  /** Last id of the tuners that the project registered for others. */
  BLOSC2_GLOBAL_REGISTERED_TUNER_STOP = 159,
  /** How many tuners the project registered so far. */
  BLOSC2_GLOBAL_REGISTERED_TUNERS = 0,
  /** First id that a program may register a tuner under. */
  BLOSC2_USER_REGISTERED_TUNER_START = 160,
  /** Last id that a program may register a tuner under. */
  BLOSC2_USER_REGISTERED_TUNER_STOP = 255,
};

/* Tuners. */
enum {
  /** The built-in tuner. */
  BLOSC_STUNE = 0,
  /** One past the last built-in tuner. */
  BLOSC_LAST_TUNER = 1,
  /** Last id in use among the registered tuners. */
  BLOSC_LAST_REGISTERED_TUNE = ((BLOSC2_GLOBAL_REGISTERED_TUNER_START + BLOSC2_GLOBAL_REGISTERED_TUNERS) - 1),
};

/* Ranges of filter ids, and how many filters there may be. */
enum {
  /** First id of the filters that come with the library. */
  BLOSC2_DEFINED_FILTERS_START = 0,
  /** Last id of the filters that come with the library. */
  BLOSC2_DEFINED_FILTERS_STOP = 31,
  /** First id of the filters that the project registered for others. */
  BLOSC2_GLOBAL_REGISTERED_FILTERS_START = 32,
  /** Last id of the filters that the project registered for others. */
  BLOSC2_GLOBAL_REGISTERED_FILTERS_STOP = 159,
  /** How many filters the project registered so far. */
  BLOSC2_GLOBAL_REGISTERED_FILTERS = 5,
  /** First id that a program may register a filter under. */
  BLOSC2_USER_REGISTERED_FILTERS_START = 160,
  /** Last id that a program may register a filter under. */
  BLOSC2_USER_REGISTERED_FILTERS_STOP = 255,
  /** Slots of the filter pipeline. */
  BLOSC2_MAX_FILTERS = 6,
  /** How many filters a program may register. */
  BLOSC2_MAX_UDFILTERS = 16,
};

/* Filters that Blosc 1 does not have. */
enum {
  /** Every block XORed with the chunk's first block. Takes no meta byte. */
  BLOSC_DELTA = 3,
  /**
   * Zeroes low bits of the mantissa of floats. The meta byte, signed: bits to keep if positive, bits
   * to zero if negative.
   */
  BLOSC_TRUNC_PREC = 4,
  /** One past the last built-in filter. */
  BLOSC_LAST_FILTER = 5,
  /** Last id in use among the registered filters. */
  BLOSC_LAST_REGISTERED_FILTER = ((BLOSC2_GLOBAL_REGISTERED_FILTERS_START + BLOSC2_GLOBAL_REGISTERED_FILTERS) - 1),
};

/* A bit of the flags byte of a chunk that Blosc 1 does not have. */
enum {
  /** The delta filter was applied. */
  BLOSC_DODELTA = 8,
};

/* Bits of the Blosc 2 flags byte of a chunk (offset `BLOSC2_CHUNK_BLOSC2_FLAGS`). */
enum {
  /** The streams need the dictionary that the chunk carries. */
  BLOSC2_USEDICT = 1,
  /** The data is big-endian. */
  BLOSC2_BIGENDIAN = 2,
  /** The chunk holds `blosc2_instr` measurements in place of data. */
  BLOSC2_INSTR_CODEC = 128,
};

/* Bits of the second flags byte of a chunk (offset `BLOSC2_CHUNK_BLOSC2_FLAGS2`). */
enum {
  /** The chunk's blocks have lengths of their own. */
  BLOSC2_VL_BLOCKS = 1,
};

/* Limits, in bytes. */
enum {
  /** Largest compression dictionary. */
  BLOSC2_MAXDICTSIZE = (32 * 1024),
  /** A trained dictionary shorter than this is dropped and the chunk compressed without one. */
  BLOSC2_MINUSEFULDICT = 256,
  /** Largest block. */
  BLOSC2_MAXBLOCKSIZE = 536866816,
  /** Largest item. */
  BLOSC2_MAXTYPESIZE = BLOSC2_MAXBLOCKSIZE,
};

/* Ranges of codec ids. */
enum {
  /** First id of the codecs that come with the library. */
  BLOSC2_DEFINED_CODECS_START = 0,
  /** Last id of the codecs that come with the library. */
  BLOSC2_DEFINED_CODECS_STOP = 31,
  /** First id of the codecs that the project registered for others. */
  BLOSC2_GLOBAL_REGISTERED_CODECS_START = 32,
  /** Last id of the codecs that the project registered for others. */
  BLOSC2_GLOBAL_REGISTERED_CODECS_STOP = 159,
  /** How many codecs the project registered so far. */
  BLOSC2_GLOBAL_REGISTERED_CODECS = 5,
  /** First id that a program may register a codec under. */
  BLOSC2_USER_REGISTERED_CODECS_START = 160,
  /** Last id that a program may register a codec under. */
  BLOSC2_USER_REGISTERED_CODECS_STOP = 255,
};

/* Ends of the lists of codecs. */
enum {
  /** One past the last built-in codec. */
  BLOSC_LAST_CODEC = 6,
  /** Last id in use among the registered codecs. */
  BLOSC_LAST_REGISTERED_CODEC = ((BLOSC2_GLOBAL_REGISTERED_CODECS_START + BLOSC2_GLOBAL_REGISTERED_CODECS) - 1),
};

/* Compression libraries that Blosc 1 does not have. */
enum {
  /** A registered codec: its own id is in the chunk's header. */
  BLOSC_UDCODEC_LIB = 6,
  /** A super-chunk, where each chunk says its own. */
  BLOSC_SCHUNK_LIB = 7,
};

/* Stream formats that Blosc 1 does not have. */
enum {
  /** Format of a registered codec. */
  BLOSC_UDCODEC_FORMAT = BLOSC_UDCODEC_LIB,
};

/* Versions of stream formats that Blosc 1 does not have. */
enum {
  /** Version of the streams of a registered codec. */
  BLOSC_UDCODEC_VERSION_FORMAT = 1,
};

/* Where each field of a chunk's header begins, in bytes. Numbers are little-endian. */
enum {
  /** `u8`: version of the chunk format. */
  BLOSC2_CHUNK_VERSION = 0,
  /** `u8`: version of the codec's stream format. */
  BLOSC2_CHUNK_VERSIONLZ = 1,
  /** `u8`: flags, and the compression library in the top three bits. */
  BLOSC2_CHUNK_FLAGS = 2,
  /** `u8`: bytes of one item. */
  BLOSC2_CHUNK_TYPESIZE = 3,
  /** `i32`: bytes of the data. */
  BLOSC2_CHUNK_NBYTES = 4,
  /** `i32`: bytes of one block of the data. */
  BLOSC2_CHUNK_BLOCKSIZE = 8,
  /** `i32`: bytes of the chunk, its header included. */
  BLOSC2_CHUNK_CBYTES = 12,
  /** Six `u8`: the filters. */
  BLOSC2_CHUNK_FILTER_CODES = 16,
  /** Six `u8`: a meta byte for each filter. */
  BLOSC2_CHUNK_FILTER_META = 24,
  /** `u8`: the second byte of Blosc 2 flags. */
  BLOSC2_CHUNK_BLOSC2_FLAGS2 = 30,
  /** `u8`: the first byte of Blosc 2 flags; three of its bits tell a special value. */
  BLOSC2_CHUNK_BLOSC2_FLAGS = 31,
};

/* Special values: a whole chunk told by its header. */
enum {
  /** An ordinary chunk. */
  BLOSC2_NO_SPECIAL = 0,
  /** All bytes are zero. */
  BLOSC2_SPECIAL_ZERO = 1,
  /** All items are NaN, of 4 or 8 bytes. */
  BLOSC2_SPECIAL_NAN = 2,
  /** All items equal the one that follows the header. */
  BLOSC2_SPECIAL_VALUE = 3,
  /** The data was never set; what it decompresses to is not defined. */
  BLOSC2_SPECIAL_UNINIT = 4,
  /** The last special value there is. */
  BLOSC2_SPECIAL_LASTID = 4,
  /** The three bits that hold a special value, once moved to the bottom of the flags byte. */
  BLOSC2_SPECIAL_MASK = 7,
};

/* Input/output back ends. */
enum {
  /** Files, through positioned reads and writes. */
  BLOSC2_IO_FILESYSTEM = 0,
  /** Files, through a memory map. */
  BLOSC2_IO_FILESYSTEM_MMAP = 1,
  /** One past the last built-in back end. */
  BLOSC_IO_LAST_BLOSC_DEFINED = 2,
  /** One past the last back end that the project registered for others. */
  BLOSC_IO_LAST_REGISTERED = 32,
};

/* Ranges of back-end ids: each value is one past its range. */
enum {
  /** Ids below are for back ends that come with the library. */
  BLOSC2_IO_BLOSC_DEFINED = 32,
  /**
   * Ids below, from `BLOSC2_IO_BLOSC_DEFINED` on, are for back ends that the project registered for
   * others.
   */
  BLOSC2_IO_REGISTERED = 160,
  /** Ids below, from `BLOSC2_IO_REGISTERED` on, are for programs. */
  BLOSC2_IO_USER_DEFINED = 256,
};

/* Return codes: what a function returns that otherwise returns a size, a count or an index. */
enum {
  /** Done. */
  BLOSC2_ERROR_SUCCESS = 0,
  /** It failed, and no other code fits. */
  BLOSC2_ERROR_FAILURE = -1,
  /** The stream is broken. */
  BLOSC2_ERROR_STREAM = -2,
  /** The data is not what its headers say. */
  BLOSC2_ERROR_DATA = -3,
  /** No memory. */
  BLOSC2_ERROR_MEMORY_ALLOC = -4,
  /** The source ends too early. */
  BLOSC2_ERROR_READ_BUFFER = -5,
  /** The destination is too small. */
  BLOSC2_ERROR_WRITE_BUFFER = -6,
  /** This library does not have the codec. */
  BLOSC2_ERROR_CODEC_SUPPORT = -7,
  /** The codec refused a parameter. */
  BLOSC2_ERROR_CODEC_PARAM = -8,
  /** The codec refused its dictionary. */
  BLOSC2_ERROR_CODEC_DICT = -9,
  /** The format's version is newer than the library. */
  BLOSC2_ERROR_VERSION_SUPPORT = -10,
  /** A header holds a value that cannot be. */
  BLOSC2_ERROR_INVALID_HEADER = -11,
  /** The caller passed a value that cannot be. */
  BLOSC2_ERROR_INVALID_PARAM = -12,
  /** A file could not be read. */
  BLOSC2_ERROR_FILE_READ = -13,
  /** A file could not be written. */
  BLOSC2_ERROR_FILE_WRITE = -14,
  /** A file could not be opened. */
  BLOSC2_ERROR_FILE_OPEN = -15,
  /** There is no such thing. */
  BLOSC2_ERROR_NOT_FOUND = -16,
  /** A run of one repeated value is broken. */
  BLOSC2_ERROR_RUN_LENGTH = -17,
  /** A filter failed. */
  BLOSC2_ERROR_FILTER_PIPELINE = -18,
  /** A chunk could not be inserted. */
  BLOSC2_ERROR_CHUNK_INSERT = -19,
  /** A chunk could not be appended. */
  BLOSC2_ERROR_CHUNK_APPEND = -20,
  /** A chunk could not be replaced. */
  BLOSC2_ERROR_CHUNK_UPDATE = -21,
  /** More than 2 GiB where the format counts in 31 bits. */
  BLOSC2_ERROR_2GB_LIMIT = -22,
  /** A super-chunk could not be copied. */
  BLOSC2_ERROR_SCHUNK_COPY = -23,
  /** The frame is of the other kind, contiguous or sparse. */
  BLOSC2_ERROR_FRAME_TYPE = -24,
  /** A file could not be cut or extended. */
  BLOSC2_ERROR_FILE_TRUNCATE = -25,
  /** A worker thread could not be started. */
  BLOSC2_ERROR_THREAD_CREATE = -26,
  /** The postfilter failed. */
  BLOSC2_ERROR_POSTFILTER = -27,
  /** A frame of special values could not be made or read. */
  BLOSC2_ERROR_FRAME_SPECIAL = -28,
  /** A super-chunk could not be filled with special values. */
  BLOSC2_ERROR_SCHUNK_SPECIAL = -29,
  /** An input/output back end failed, or there is none of that id. */
  BLOSC2_ERROR_PLUGIN_IO = -30,
  /** A file could not be removed. */
  BLOSC2_ERROR_FILE_REMOVE = -31,
  /** A pointer is NULL that must not be. */
  BLOSC2_ERROR_NULL_POINTER = -32,
  /** An index lies outside. */
  BLOSC2_ERROR_INVALID_INDEX = -33,
  /** There is no metalayer of that name. */
  BLOSC2_ERROR_METALAYER_NOT_FOUND = -34,
  /** A buffer is larger than `BLOSC2_MAX_BUFFERSIZE`. */
  BLOSC2_ERROR_MAX_BUFSIZE_EXCEEDED = -35,
  /** A tuner failed. */
  BLOSC2_ERROR_TUNER = -36,
  /** The lock on a frame could not be taken or let go. */
  BLOSC2_ERROR_LOCK = -37,
};

#if !defined(_WIN32)
/**
 * The time that the two functions measure between: seconds and nanoseconds of a clock that only
 * goes forward.
 */
typedef struct timespec blosc_timestamp_t;
#endif

#if defined(_WIN32)
/** The time that the two functions measure between: ticks of a clock that only goes forward. */
typedef LARGE_INTEGER blosc_timestamp_t;
#endif

/**
 * What was measured for one stream of a block; a chunk of an instrumented codec holds these in
 * place of data.
 */
typedef struct blosc2_instr {
  /** Bytes before over bytes after. */
  float cratio;
  /** Bytes per second through the codec. */
  float cspeed;
  /** Bytes per second through the filters. */
  float filter_speed;
  /** Flags; the first byte is 1 when the stream is a run of one value. */
  uint8_t flags[4];
} blosc2_instr;

/**
 * A thread pool of the program's own. It calls `dojob(jobdata + i * jobdata_elsize)` once for
 * every `i` in `0..numjobs`, on any threads and in any order, and returns when all calls have
 * returned.
 *
 * `callback_data` is what was handed to `blosc2_set_threads_callback`. `jobdata` is the library's
 * and lives until the callback returns.
 *
 * No C++ exception may leave it, nor a `longjmp`: an exception ends the process.
 */
typedef void (*blosc_threads_callback)(void *callback_data,
                                       void (*dojob)(void*),
                                       int numjobs,
                                       size_t jobdata_elsize,
                                       void *jobdata);

/**
 * A context for compression or decompression, seen from C by its address alone. Made by
 * `blosc2_create_cctx` or `blosc2_create_dctx`, freed by `blosc2_free_ctx`; one thread at a time
 * may use it.
 */
typedef struct blosc2_context_s blosc2_context;

/**
 * What a prefilter gets: the block to make and where it belongs. The struct and its buffers are
 * the library's, valid until the prefilter returns; `user_data` and `input` are what the program
 * put there.
 */
typedef struct blosc2_prefilter_params {
  /** The program's own, passed through. */
  void *user_data;
  /** The chunk's source buffer, from its start. */
  const uint8_t *input;
  /** Where the block goes: `output_size` bytes. */
  uint8_t *output;
  /** Bytes of this block. */
  int32_t output_size;
  /** Bytes of one item of the output; 0 from the program means those of the source's. */
  int32_t output_typesize;
  /** Bytes from the start of the chunk's data to this block. */
  int32_t output_offset;
  /** The chunk's index in its super-chunk; -1 without one. */
  int64_t nchunk;
  /** The block's index in its chunk. */
  int32_t nblock;
  /** Which worker runs, from 0 to the context's number of threads less one. */
  int32_t tid;
  /** Scratch that no other worker uses meanwhile. */
  uint8_t *ttmp;
  /** Bytes of `ttmp`. */
  size_t ttmp_nbytes;
  /** The context that compresses. */
  blosc2_context *ctx;
  /**
   * The program's word that it wants the calls and not the chunk: `output` is then not zeroed
   * beforehand, and a block for which the prefilter does not return 0 is dropped.
   */
  bool output_is_disposable;
} blosc2_prefilter_params;

/**
 * What a postfilter gets: the block that was decompressed and where its result goes. The struct
 * and its buffers are the library's, valid until the postfilter returns; `user_data` is what the
 * program put there.
 */
typedef struct blosc2_postfilter_params {
  /** The program's own, passed through. */
  void *user_data;
  /** The block as decompressed: `size` bytes. */
  const uint8_t *input;
  /** Where the result goes: `size` bytes. */
  uint8_t *output;
  /** Bytes of this block. */
  int32_t size;
  /** Bytes of one item. */
  int32_t typesize;
  /** Bytes from the start of the chunk's data to this block. */
  int32_t offset;
  /** The chunk's index in its super-chunk; -1 without one. */
  int64_t nchunk;
  /** The block's index in its chunk. */
  int32_t nblock;
  /** Which worker runs, from 0 to the context's number of threads less one. */
  int32_t tid;
  /** Scratch that no other worker uses meanwhile. */
  uint8_t *ttmp;
  /** Bytes of `ttmp`. */
  size_t ttmp_nbytes;
  /** The context that decompresses. */
  blosc2_context *ctx;
} blosc2_postfilter_params;

/**
 * Makes a block in place of the source buffer, before the filters; called by several threads at
 * once. Returns 0, or anything else to stop the compression.
 *
 * A C++ exception that leaves it is a failure; but on Linux alone, elsewhere it ends the process.
 * No `longjmp` may leave it.
 */
typedef int (*blosc2_prefilter_fn)(struct blosc2_prefilter_params *params);

/**
 * Changes a block after the filters were undone; called by several threads at once. Returns 0, or
 * anything else to stop the decompression.
 *
 * A C++ exception that leaves it is a failure; but on Linux alone, elsewhere it ends the process.
 * No `longjmp` may leave it.
 */
typedef int (*blosc2_postfilter_fn)(struct blosc2_postfilter_params *params);

/**
 * How to compress. Start from `BLOSC2_CPARAMS_DEFAULTS`; a context copies the struct, and keeps
 * its pointers.
 */
typedef struct blosc2_cparams {
  /** The codec: `BLOSC_BLOSCLZ` (default) to `BLOSC_ZSTD`, or a registered id. */
  uint8_t compcode;
  /** The codec's meta byte. */
  uint8_t compcode_meta;
  /** The level, 0 (stored) to 9; 5 by default. */
  uint8_t clevel;
  /** Not 0: train a dictionary for each chunk; for Zstd, LZ4 and LZ4HC only. */
  int use_dict;
  /** Bytes of one item; 8 by default. */
  int32_t typesize;
  /** Threads that work on one chunk; 1 by default. */
  int16_t nthreads;
  /** Bytes of one block; 0 (default) lets the tuner choose. */
  int32_t blocksize;
  /** `BLOSC_ALWAYS_SPLIT` to `BLOSC_FORWARD_COMPAT_SPLIT` (default). */
  int32_t splitmode;
  /** The super-chunk that the chunks are for, a `blosc2_schunk`, or NULL; not owned. */
  void *schunk;
  /**
   * The filters in the order of their application; `BLOSC_NOFILTER` leaves a slot empty. By
   * default a shuffle in the last slot.
   */
  uint8_t filters[BLOSC2_MAX_FILTERS];
  /** A meta byte for each filter. */
  uint8_t filters_meta[BLOSC2_MAX_FILTERS];
  /** Makes the blocks, or NULL. */
  blosc2_prefilter_fn prefilter;
  /** What the prefilter gets; copied when the context is made. */
  struct blosc2_prefilter_params *preparams;
  /** The tuner's configuration, or NULL; not owned. */
  void *tuner_params;
  /** The tuner. */
  int tuner_id;
  /** Whether to measure the codec in place of keeping the data (see `blosc2_instr`). */
  bool instr_codec;
  /** The codec's own parameters, or NULL; not owned. */
  void *codec_params;
  /** Each filter's own parameters, or NULL; not owned. */
  void *filter_params[BLOSC2_MAX_FILTERS];
} blosc2_cparams;

/**
 * How to decompress. Start from `BLOSC2_DPARAMS_DEFAULTS`; a context copies the struct, and keeps
 * its pointers.
 */
typedef struct blosc2_dparams {
  /** Threads that work on one chunk; 1 by default. */
  int16_t nthreads;
  /** The super-chunk that the chunks are from, a `blosc2_schunk`, or NULL; not owned. */
  void *schunk;
  /** Changes the blocks, or NULL. */
  blosc2_postfilter_fn postfilter;
  /** What the postfilter gets; copied when the context is made. */
  struct blosc2_postfilter_params *postparams;
  /** Bytes of one item; 8 by default. */
  int32_t typesize;
} blosc2_dparams;

/**
 * Opens `urlpath` in a `fopen` mode (`"rb"`, `"rb+"`, `"wb"`, ...); `params` come from the
 * `blosc2_io`. Returns the stream that the other callbacks get, or NULL.
 */
typedef void *(*blosc2_open_cb)(const char *urlpath, const char *mode, void *params);

/** Closes a stream and frees it. Returns 0, or a negative code. */
typedef int (*blosc2_close_cb)(void *stream);

/** Returns the stream's size in bytes, or a negative code. */
typedef int64_t (*blosc2_size_cb)(void *stream);

/**
 * Writes `nitems` items of `size` bytes from `ptr` at byte `position`, extending the stream where
 * it must. Returns how many items it wrote.
 */
typedef int64_t (*blosc2_write_cb)(const void *ptr, int64_t size, int64_t nitems, int64_t position, void *stream);

/**
 * Reads `nitems` items of `size` bytes at byte `position`. With `is_allocation_necessary`, `*ptr`
 * is a buffer of the library's to fill; without, the callback puts there an address of its own,
 * valid while the stream is open. Returns how many items it read.
 */
typedef int64_t (*blosc2_read_cb)(void **ptr, int64_t size, int64_t nitems, int64_t position, void *stream);

/** Makes the stream `size` bytes long. Returns 0, or a negative code. */
typedef int (*blosc2_truncate_cb)(void *stream, int64_t size);

/**
 * Told when a super-chunk is done with its back end, to free `params` if they are the back end's.
 * Returns 0, or a negative code.
 */
typedef int (*blosc2_destroy_cb)(void *params);

/**
 * A back end. `blosc2_register_io_cb` copies the struct; its name must outlive the library's use.
 *
 * A C++ exception that leaves one of its functions is a failure of that function; but on Linux
 * alone, elsewhere it ends the process. No `longjmp` may leave them.
 */
typedef struct blosc2_io_cb {
  /** The id, from `BLOSC2_IO_REGISTERED` up for programs. */
  uint8_t id;
  /** The name; not owned. */
  char *name;
  /** Whether `read` fills a buffer of the library's (true) or hands out addresses of its own. */
  bool is_allocation_necessary;
  /** Opens a stream. */
  blosc2_open_cb open;
  /** Closes it. */
  blosc2_close_cb close;
  /** Tells its size. */
  blosc2_size_cb size;
  /** Writes to it. */
  blosc2_write_cb write;
  /** Reads from it. */
  blosc2_read_cb read;
  /** Sets its size. */
  blosc2_truncate_cb truncate;
  /** Told when the back end is no longer used. */
  blosc2_destroy_cb destroy;
} blosc2_io_cb;

/** The choice of a back end, with its parameters. Start from `BLOSC2_IO_DEFAULTS`. */
typedef struct blosc2_io {
  /** The back end's id. */
  uint8_t id;
  /** The back end's name; not owned. */
  const char *name;
  /** What its `open` gets, or NULL; not owned, and must outlive the super-chunks that use it. */
  void *params;
} blosc2_io;

/**
 * Compresses `input_len` bytes into at most `output_len`. `meta` and `cparams` are those of the
 * chunk, `chunk` its first bytes. Returns the bytes written; 0 if they would not fit; or a
 * negative code.
 */
typedef int (*blosc2_codec_encoder_cb)(const uint8_t *input,
                                       int32_t input_len,
                                       uint8_t *output,
                                       int32_t output_len,
                                       uint8_t meta,
                                       struct blosc2_cparams *cparams,
                                       const void *chunk);

/**
 * Decompresses `input_len` bytes into at most `output_len`. `meta` and `dparams` are those of the
 * chunk, `chunk` its first byte. Returns the bytes written, or a negative code.
 */
typedef int (*blosc2_codec_decoder_cb)(const uint8_t *input,
                                       int32_t input_len,
                                       uint8_t *output,
                                       int32_t output_len,
                                       uint8_t meta,
                                       struct blosc2_dparams *dparams,
                                       const void *chunk);

/**
 * A codec.
 *
 * A C++ exception that leaves one of its functions is a failure of that function; but on Linux
 * alone, elsewhere it ends the process. No `longjmp` may leave them.
 */
typedef struct blosc2_codec {
  /**
   * The id, `BLOSC2_USER_REGISTERED_CODECS_START` to `BLOSC2_USER_REGISTERED_CODECS_STOP` for
   * programs.
   */
  uint8_t compcode;
  /** The name; copied. */
  char *compname;
  /** The library that reads its streams. */
  uint8_t complib;
  /** The version of its streams. */
  uint8_t version;
  /** Compresses; NULL to look for a plugin of this name. */
  blosc2_codec_encoder_cb encoder;
  /** Decompresses; NULL to look for a plugin of this name. */
  blosc2_codec_decoder_cb decoder;
} blosc2_codec;

/**
 * Filters a block: source, destination, bytes of both, the meta byte, the parameters, the filter's
 * id. Returns 0 (or more), or a negative code.
 */
typedef int (*blosc2_filter_forward_cb)(const uint8_t*, uint8_t*, int32_t, uint8_t, struct blosc2_cparams*, uint8_t);

/**
 * Undoes a filter: source, destination, bytes of both, the meta byte, the parameters, the filter's
 * id. Returns 0 (or more), or a negative code.
 */
typedef int (*blosc2_filter_backward_cb)(const uint8_t*, uint8_t*, int32_t, uint8_t, struct blosc2_dparams*, uint8_t);

/**
 * A filter.
 *
 * A C++ exception that leaves one of its functions is a failure of that function; but on Linux
 * alone, elsewhere it ends the process. No `longjmp` may leave them.
 */
typedef struct blosc2_filter {
  /**
   * The id, `BLOSC2_USER_REGISTERED_FILTERS_START` to `BLOSC2_USER_REGISTERED_FILTERS_STOP` for
   * programs.
   */
  uint8_t id;
  /** The name; copied. */
  char *name;
  /** The filter's version. */
  uint8_t version;
  /** Filters; NULL to look for a plugin of this name. */
  blosc2_filter_forward_cb forward;
  /** Undoes it; NULL to look for a plugin of this name. */
  blosc2_filter_backward_cb backward;
} blosc2_filter;

/**
 * A tuner: it sets a compression context's parameters chunk by chunk. Every function returns 0, or
 * a negative code.
 *
 * A C++ exception that leaves one of its functions is a failure of that function; but on Linux
 * alone, elsewhere it ends the process. No `longjmp` may leave them.
 */
typedef struct blosc2_tuner {
  /**
   * Begins: `config` is the `tuner_params` of the context (copy what is needed); `dctx` may be
   * NULL.
   */
  int (*init)(void *config, blosc2_context *cctx, blosc2_context *dctx);
  /** Sets the block size alone; for a context whose tuner was not begun. */
  int (*next_blocksize)(blosc2_context *context);
  /** Sets the parameters of the next chunk. */
  int (*next_cparams)(blosc2_context *context);
  /** Learns how long the last chunk took, in seconds. */
  int (*update)(blosc2_context *context, double ctime);
  /** Ends, and frees what `init` took. */
  int (*free)(blosc2_context *context);
  /**
   * The id, `BLOSC2_USER_REGISTERED_TUNER_START` to `BLOSC2_USER_REGISTERED_TUNER_STOP` for
   * programs.
   */
  int id;
  /** The name; copied. */
  char *name;
} blosc2_tuner;

/**
 * Where and how a super-chunk keeps its chunks. Start from `BLOSC2_STORAGE_DEFAULTS`. A
 * super-chunk copies the struct and what it points to.
 */
typedef struct blosc2_storage {
  /** Whether the chunks lie in one buffer or file (true) or each in its own. */
  bool contiguous;
  /** The path of the file or directory, or NULL to keep them in memory. */
  char *urlpath;
  /** How to compress; NULL for the defaults. */
  struct blosc2_cparams *cparams;
  /** How to decompress; NULL for the defaults. */
  struct blosc2_dparams *dparams;
  /** The back end; NULL for files. */
  struct blosc2_io *io;
} blosc2_storage;

/** The frame beneath a super-chunk, seen from C by its address alone. */
typedef struct blosc2_frame_s blosc2_frame;

/** Metadata under a name. */
typedef struct blosc2_metalayer {
  /** The name, at most `BLOSC2_METALAYER_NAME_MAXLEN` bytes. */
  char *name;
  /** The content, usually msgpack; that of a variable-length metalayer is a chunk. */
  uint8_t *content;
  /** Bytes of the content. */
  int32_t content_len;
} blosc2_metalayer;

/**
 * A super-chunk. Every field is the library's to write, and every pointer the library's to free;
 * made by `blosc2_schunk_new`, `blosc2_schunk_open` and their like, freed by `blosc2_schunk_free`.
 */
typedef struct blosc2_schunk {
  /** Version of the format. */
  uint8_t version;
  /** The codec of the chunks to come; a chunk may have another. */
  uint8_t compcode;
  /** The codec's meta byte; a chunk may have another. */
  uint8_t compcode_meta;
  /** The level. */
  uint8_t clevel;
  /** The split mode. */
  uint8_t splitmode;
  /** Bytes of one item. */
  int32_t typesize;
  /** Bytes of one block as asked for; 0 lets the tuner choose. */
  int32_t blocksize;
  /** Bytes of one chunk's data; 0 when the chunks differ. */
  int32_t chunksize;
  /** The second byte of Blosc 2 flags, the same in all chunks; 0 while there are none. */
  uint8_t flags2;
  /** 1 when chunks get a dictionary. */
  uint8_t use_dict;
  /** The filters in the order of their application. */
  uint8_t filters[BLOSC2_MAX_FILTERS];
  /** A meta byte for each filter. */
  uint8_t filters_meta[BLOSC2_MAX_FILTERS];
  /** How many chunks there are. */
  int64_t nchunks;
  /** The chunk being worked on. */
  int64_t current_nchunk;
  /** Bytes of all data. */
  int64_t nbytes;
  /** Bytes of all chunks, their headers included. */
  int64_t cbytes;
  /** The chunks, when there is no frame. */
  uint8_t **data;
  /** Bytes of the array that `data` points to. */
  size_t data_len;
  /** How it is stored. */
  struct blosc2_storage *storage;
  /** The frame that holds the chunks, or NULL. */
  blosc2_frame *frame;
  /** The context that compresses. */
  blosc2_context *cctx;
  /** The context that decompresses. */
  blosc2_context *dctx;
  /** The fixed-length metalayers. */
  struct blosc2_metalayer *metalayers[BLOSC2_MAX_METALAYERS];
  /** How many fixed-length metalayers there are. */
  uint16_t nmetalayers;
  /** The variable-length metalayers. */
  struct blosc2_metalayer *vlmetalayers[BLOSC2_MAX_VLMETALAYERS];
  /** How many variable-length metalayers there are. */
  int16_t nvlmetalayers;
  /** The tuner's configuration; the program's. */
  void *tuner_params;
  /** The tuner. */
  int tuner_id;
  /** Dimensions of the array that this holds, for codecs that ask. */
  int8_t ndim;
  /** The shape of a block of that array, for codecs that ask. */
  int64_t *blockshape;
  /** Whether another super-chunk owns the chunks. */
  bool view;
  /**
   * Grows whenever a metalayer changes, here or through another handle on the same frame: what
   * was decoded from metalayers at an older tick is out of date.
   */
  int64_t change_tick;
} blosc2_schunk;

/**
 * Compresses `srcsize` bytes at `src` into `dest`, which has room for `destsize`; a chunk never
 * needs more than `srcsize + BLOSC2_MAX_OVERHEAD`. The buffers must not overlap. Returns the size
 * of the chunk, 0 if it does not fit, or a negative error code.
 *
 * Required of the caller:
 * `context` is a compression context that no other thread uses during the call; the buffers have
 * the sizes given.
 */
BLOSC_EXPORT
int blosc2_compress_ctx(blosc2_context *context,
                        const void *src,
                        int32_t srcsize,
                        void *dest,
                        int32_t destsize);

/**
 * Compresses `nblocks` buffers, `srcs[i]` of `srcsizes[i]` bytes, into one chunk of as many blocks
 * of these sizes. Returns the size of the chunk, 0 if it does not fit into `destsize` bytes, or a
 * negative error code.
 *
 * Required of the caller:
 * `context` is a compression context that no other thread uses during the call; the arrays have
 * `nblocks` elements, the buffers the sizes given.
 */
BLOSC_EXPORT
int blosc2_vlcompress_ctx(blosc2_context *context,
                          const void *const *srcs,
                          const int32_t *srcsizes,
                          int32_t nblocks,
                          void *dest,
                          int32_t destsize);

/**
 * Makes a context for compression; environment variables override `cparams`. The context keeps the
 * pointers in `cparams`, except `preparams`, which is copied. Free it with `blosc2_free_ctx`.
 *
 * Returns NULL if a filter id is not assigned, `BLOSC_COMPRESSOR` names a user-defined codec, the
 * tuner is not there or refuses, or memory is short.
 *
 * Required of the caller:
 * The pointers in `cparams` are null or valid for as long as the context is used.
 */
BLOSC_EXPORT blosc2_context *blosc2_create_cctx(blosc2_cparams cparams);

/**
 * Makes a context for decompression; `BLOSC_NTHREADS` overrides `dparams`. The context keeps the
 * pointers in `dparams`, except `postparams`, which is copied. Free it with `blosc2_free_ctx`.
 * Returns NULL if memory is short.
 *
 * Required of the caller:
 * The pointers in `dparams` are null or valid for as long as the context is used.
 */
BLOSC_EXPORT blosc2_context *blosc2_create_dctx(blosc2_dparams dparams);

/**
 * Frees a context and what it owns. NULL is allowed.
 *
 * Required of the caller:
 * `context` came from `blosc2_create_cctx` or `blosc2_create_dctx`, was not freed and is not in
 * use.
 */
BLOSC_EXPORT void blosc2_free_ctx(blosc2_context *context);

/**
 * Writes the parameters of a compression context into `cparams`; `tuner_params` and
 * `filter_params` are left alone. Returns 0.
 *
 * Required of the caller:
 * Both pointers are valid.
 */
BLOSC_EXPORT int blosc2_ctx_get_cparams(blosc2_context *ctx, blosc2_cparams *cparams);

/**
 * Writes the parameters of a decompression context into `dparams`. Returns 0.
 *
 * Required of the caller:
 * Both pointers are valid.
 */
BLOSC_EXPORT int blosc2_ctx_get_dparams(blosc2_context *ctx, blosc2_dparams *dparams);

/**
 * Marks the blocks that the next `blosc2_decompress_ctx` is to leave alone: those for which
 * `maskout` is true. The mask, `nblocks` long, is copied; it holds for one call. Returns 0.
 *
 * Required of the caller:
 * `ctx` is valid, `maskout` points to `nblocks` values.
 */
BLOSC_EXPORT int blosc2_set_maskout(blosc2_context *ctx, bool *maskout, int nblocks);

/**
 * Decompresses the chunk at `src` into `dest`, which has room for `destsize` bytes. The buffers
 * must not overlap. Returns the size of the data, or a negative error code. A mask of blocks is
 * forgotten afterwards, unless memory was short.
 *
 * Required of the caller:
 * `context` is a decompression context that no other thread uses during the call; `src` points to
 * a chunk, or to `srcsize` bytes if those are fewer; `dest` has `destsize` bytes.
 */
BLOSC_EXPORT
int blosc2_decompress_ctx(blosc2_context *context,
                          const void *src,
                          int32_t srcsize,
                          void *dest,
                          int32_t destsize);

/**
 * Copies `nitems` items from item `start` on of the chunk at `src` to `dest`. An item has the
 * typesize that the chunk records, which is 1 for items of more than 255 bytes. Returns the bytes
 * copied, or a negative error code.
 *
 * Required of the caller:
 * `src` points to a chunk, or to `srcsize` bytes if those are fewer; `dest` has `destsize` bytes.
 */
BLOSC_EXPORT int blosc2_getitem(const void *src, int32_t srcsize, int start, int nitems, void *dest, int32_t destsize);

/**
 * As `blosc2_getitem`, with the postfilter of a decompression context.
 *
 * Required of the caller:
 * As for `blosc2_getitem`; `context` is a decompression context that no other thread uses during
 * the call.
 */
BLOSC_EXPORT
int blosc2_getitem_ctx(blosc2_context *context,
                       const void *src,
                       int32_t srcsize,
                       int start,
                       int nitems,
                       void *dest,
                       int32_t destsize);

/**
 * As `blosc2_getitem_ctx`, with the range in bytes: both `start` and `nbytes` are multiples of the
 * typesize that the chunk records, else `BLOSC2_ERROR_INVALID_PARAM` is returned.
 *
 * Required of the caller:
 * As for `blosc2_getitem_ctx`.
 */
BLOSC_EXPORT
int blosc2_getitem_bytes_ctx(blosc2_context *context,
                             const void *src,
                             int32_t srcsize,
                             int32_t start,
                             int32_t nbytes,
                             void *dest,
                             int32_t destsize);

/**
 * Gives the number of blocks of a chunk of variable-length blocks. Returns 0, or
 * `BLOSC2_ERROR_INVALID_PARAM` if the chunk is another one, or another negative error code.
 *
 * Required of the caller:
 * `src` points to `srcsize` bytes, `nblocks` can be written.
 */
BLOSC_EXPORT int blosc2_vlchunk_get_nblocks(const void *src, int32_t srcsize, int32_t *nblocks);

/**
 * Decompresses a chunk of variable-length blocks, each into a buffer of its own: `dests[i]` gets a
 * buffer that the caller frees with `free()`, `destsizes[i]` its size. Both arrays have
 * `maxblocks` elements, at least as many as the chunk has blocks. Returns the number of blocks, or
 * a negative error code, in which case there is nothing to free.
 *
 * Required of the caller:
 * As for `blosc2_decompress_ctx`; the arrays have `maxblocks` elements.
 */
BLOSC_EXPORT
int blosc2_vldecompress_ctx(blosc2_context *context,
                            const void *src,
                            int32_t srcsize,
                            void **dests,
                            int32_t *destsizes,
                            int32_t maxblocks);

/**
 * Decompresses block `nblock` of a chunk of variable-length blocks: `*dest` gets a buffer that the
 * caller frees with `free()`, `*destsize` its size. Returns that size, or a negative error code.
 *
 * Required of the caller:
 * As for `blosc2_decompress_ctx`; `dest` and `destsize` can be written.
 */
BLOSC_EXPORT
int blosc2_vldecompress_block_ctx(blosc2_context *context,
                                  const void *src,
                                  int32_t srcsize,
                                  int32_t nblock,
                                  uint8_t **dest,
                                  int32_t *destsize);

/** Returns `BLOSC2_CPARAMS_DEFAULTS`. */
BLOSC_EXPORT blosc2_cparams blosc2_get_blosc2_cparams_defaults(void);

/** Returns `BLOSC2_DPARAMS_DEFAULTS`. */
BLOSC_EXPORT blosc2_dparams blosc2_get_blosc2_dparams_defaults(void);

/** Returns `BLOSC2_STORAGE_DEFAULTS`. */
BLOSC_EXPORT blosc2_storage blosc2_get_blosc2_storage_defaults(void);

/** Returns `BLOSC2_IO_DEFAULTS`. */
BLOSC_EXPORT blosc2_io blosc2_get_blosc2_io_defaults(void);

/** Returns `BLOSC2_STDIO_MMAP_DEFAULTS`. */
BLOSC_EXPORT blosc2_stdio_mmap blosc2_get_blosc2_stdio_mmap_defaults(void);

/**
 * Makes the program's own threads do the work: whenever several workers are wanted, `callback` is
 * called and calls the function it gets for each of the jobs, on any threads. NULL goes back to
 * the library's own threads. To be called before anything else, as in the reference; a callback
 * that was replaced stays in memory. Where memory is short, the threads stay those that they were.
 *
 * Required of the caller:
 * `callback` can be called with `callback_data` until it is replaced.
 */
BLOSC_EXPORT void blosc2_set_threads_callback(blosc_threads_callback callback, void *callback_data);

/**
 * Removes a directory with the files in it, as those of a sparse frame. Links in it are removed,
 * not followed. Returns 0, `BLOSC2_ERROR_INVALID_PARAM` for an empty path,
 * `BLOSC2_ERROR_NOT_FOUND` if there is no such directory, or `BLOSC2_ERROR_FAILURE` if it holds
 * directories (then nothing is removed) or something cannot be removed.
 *
 * Required of the caller:
 * `path` is a C string or NULL.
 */
BLOSC_EXPORT int blosc2_remove_dir(const char *path);

/**
 * Removes the frame at a path: a file, with the lock file beside it, or a directory with the files
 * in it. Returns 0, also for NULL and where there is nothing; `BLOSC2_ERROR_FILE_REMOVE` if a file
 * cannot be removed, or what `blosc2_remove_dir` returns; `BLOSC2_ERROR_FAILURE` if the path
 * cannot be looked at.
 *
 * Required of the caller:
 * `path` is a C string or NULL.
 */
BLOSC_EXPORT int blosc2_remove_urlpath(const char *path);

/**
 * Renames the frame at a path, file or directory. Returns 0, also if a path is NULL, or
 * `BLOSC2_ERROR_FAILURE`.
 *
 * Required of the caller:
 * The paths are C strings or NULL.
 */
BLOSC_EXPORT int blosc2_rename_urlpath(char *old_urlpath, char *new_path);

/**
 * Shuffles the bytes of items of `typesize` bytes (1 to 256) from `src` to `dest`, both of
 * `blocksize` bytes. Returns `blocksize`, or a negative error code.
 *
 * Required of the caller:
 * Both buffers have `blocksize` bytes and do not overlap.
 */
BLOSC_EXPORT int32_t blosc2_shuffle(int32_t typesize, int32_t blocksize, const void *src, void *dest);

/**
 * Undoes `blosc2_shuffle`.
 *
 * Required of the caller:
 * As for `blosc2_shuffle`.
 */
BLOSC_EXPORT int32_t blosc2_unshuffle(int32_t typesize, int32_t blocksize, const void *src, void *dest);

/**
 * Shuffles the bits of items of `typesize` bytes (1 to 256) from `src` to `dest`, both of
 * `blocksize` bytes; items that do not make up eight, and bytes that do not make up an item, are
 * copied. Returns `blocksize`, or a negative error code.
 *
 * Required of the caller:
 * As for `blosc2_shuffle`.
 */
BLOSC_EXPORT int32_t blosc2_bitshuffle(int32_t typesize, int32_t blocksize, const void *src, void *dest);

/**
 * Undoes `blosc2_bitshuffle`; there is no largest typesize.
 *
 * Required of the caller:
 * As for `blosc2_shuffle`.
 */
BLOSC_EXPORT int32_t blosc2_bitunshuffle(int32_t typesize, int32_t blocksize, const void *src, void *dest);

/** Begins the use of the library. Other functions do it by themselves where it is needed. */
BLOSC_EXPORT void blosc2_init(void);

/**
 * Ends the use of the library: worker threads end, memory that was kept for the next call is
 * freed, and codecs, filters and tuners that the program registered are forgotten. Contexts stay
 * valid.
 */
BLOSC_EXPORT void blosc2_destroy(void);

/**
 * Frees memory that is kept for the next call. Returns 0, or `BLOSC2_ERROR_FAILURE` if the library
 * was not initialized.
 */
BLOSC_EXPORT int blosc2_free_resources(void);

/** Returns the number of threads that the functions without a context use. */
BLOSC_EXPORT int16_t blosc2_get_nthreads(void);

/**
 * Sets the number of threads, at least 1, that the functions without a context use. Returns the
 * number before, or `BLOSC2_ERROR_INVALID_PARAM`.
 */
BLOSC_EXPORT int16_t blosc2_set_nthreads(int16_t nthreads);

/** Returns the name of the codec that the functions without a context use (not to be freed). */
BLOSC_EXPORT const char *blosc1_get_compressor(void);

/**
 * Sets the codec that the functions without a context use, one of the built-in ones. Returns its
 * id, -1 if there is none of this name (later compressions then fail), or
 * `BLOSC2_ERROR_CODEC_SUPPORT` for a registered one.
 *
 * Required of the caller:
 * `compname` is a C string.
 */
BLOSC_EXPORT int blosc1_set_compressor(const char *compname);

/** Sets whether the functions without a context apply the delta filter (1) or not (0). */
BLOSC_EXPORT void blosc2_set_delta(int dodelta);

/**
 * Returns the block size that the functions without a context use; 0 means that it is chosen for
 * each buffer.
 */
BLOSC_EXPORT int blosc1_get_blocksize(void);

/**
 * Sets the block size in bytes that the functions without a context use; 0 means that it is chosen
 * for each buffer.
 */
BLOSC_EXPORT void blosc1_set_blocksize(size_t blocksize);

/** Sets when the functions without a context split blocks, `BLOSC_ALWAYS_SPLIT` and so on. */
BLOSC_EXPORT void blosc1_set_splitmode(int splitmode);

/**
 * Compresses without a context, with the process's settings, which environment variables override
 * (`BLOSC_CLEVEL`, `BLOSC_SHUFFLE`, `BLOSC_DELTA`, `BLOSC_TYPESIZE`, `BLOSC_COMPRESSOR`,
 * `BLOSC_BLOCKSIZE`, `BLOSC_NTHREADS`, `BLOSC_SPLITMODE`, `BLOSC_NOLOCK`, `BLOSC_BLOSC1_COMPAT`).
 * Returns the size of the chunk, 0 if it does not fit into `destsize` bytes, or a negative error
 * code.
 *
 * Required of the caller:
 * The buffers have the sizes given and do not overlap.
 */
BLOSC_EXPORT
int blosc2_compress(int clevel,
                    int doshuffle,
                    int32_t typesize,
                    const void *src,
                    int32_t srcsize,
                    void *dest,
                    int32_t destsize);

/**
 * As `blosc2_compress`, with sizes as Blosc 1 counts them.
 *
 * Required of the caller:
 * As for `blosc2_compress`.
 */
BLOSC_EXPORT
int blosc1_compress(int clevel,
                    int doshuffle,
                    size_t typesize,
                    size_t nbytes,
                    const void *src,
                    void *dest,
                    size_t destsize);

/**
 * Decompresses without a context, with the process's number of threads, which `BLOSC_NTHREADS`
 * overrides. Returns the size of the data, or a negative error code.
 *
 * Required of the caller:
 * `src` points to a chunk, or to `srcsize` bytes if those are fewer; `dest` has `destsize` bytes.
 */
BLOSC_EXPORT int blosc2_decompress(const void *src, int32_t srcsize, void *dest, int32_t destsize);

/**
 * As `blosc2_decompress`, for a chunk whose size only its header tells. Do not use it on data from
 * elsewhere: a chunk that was cut short is read past its end.
 *
 * Required of the caller:
 * `src` points to a whole chunk; `dest` has `destsize` bytes.
 */
BLOSC_EXPORT int blosc1_decompress(const void *src, void *dest, size_t destsize);

/**
 * As `blosc2_getitem`, for a chunk whose size only its header tells, and a destination with room
 * for the items.
 *
 * Required of the caller:
 * `src` points to a whole chunk; `dest` has room for `nitems` items.
 */
BLOSC_EXPORT int blosc1_getitem(const void *src, int start, int nitems, void *dest);

/**
 * Gives, in `index`, the position along each of `ndim` dimensions of item `i` of an array of this
 * shape, counted in C order. A dimension of length 0 gives 0.
 *
 * Required of the caller:
 * `shape` and `index` have `ndim` numbers each.
 */
BLOSC_EXPORT void blosc2_unidim_to_multidim(uint8_t ndim, int64_t *shape, int64_t i, int64_t *index);

/**
 * Gives, in `i`, the sum of each of `ndim` positions times its stride, wrapping around.
 *
 * Required of the caller:
 * `index` and `strides` have `ndim` numbers each; `i` can be written.
 */
BLOSC_EXPORT void blosc2_multidim_to_unidim(const int64_t *index, int8_t ndim, const int64_t *strides, int64_t *i);

/**
 * Gives the sizes in the header of a chunk: its data (`nbytes`), itself (`cbytes`), a block; all 0
 * if the header cannot be right. Each pointer may be NULL. Returns 0 or a negative error code.
 *
 * Required of the caller:
 * `cbuffer` has 16 bytes.
 */
BLOSC_EXPORT int blosc2_cbuffer_sizes(const void *cbuffer, int32_t *nbytes, int32_t *cbytes, int32_t *blocksize);

/**
 * As `blosc2_cbuffer_sizes`, for sizes as Blosc 1 counts them.
 *
 * Required of the caller:
 * `cbuffer` has 16 bytes; the pointers are NULL or can be written.
 */
BLOSC_EXPORT void blosc1_cbuffer_sizes(const void *cbuffer, size_t *nbytes, size_t *cbytes, size_t *blocksize);

/**
 * Whether `cbytes` bytes can be a chunk as far as its header tells: 0, and the size of the data in
 * `*nbytes`; or a negative error code, and 0.
 *
 * Required of the caller:
 * `cbuffer` has `cbytes` bytes; `nbytes` can be written.
 */
BLOSC_EXPORT int blosc1_cbuffer_validate(const void *cbuffer, size_t cbytes, size_t *nbytes);

/**
 * Gives the typesize and the flags in the header of a chunk (bits `BLOSC_DOSHUFFLE`,
 * `BLOSC_MEMCPYED`, ...), or zeros if the header cannot be right.
 *
 * Required of the caller:
 * `cbuffer` has 16 bytes; the pointers can be written.
 */
BLOSC_EXPORT void blosc1_cbuffer_metainfo(const void *cbuffer, size_t *typesize, int *flags);

/**
 * Gives the versions of the chunk's format and of its codec's format, or zeros if the header
 * cannot be right.
 *
 * Required of the caller:
 * `cbuffer` has 16 bytes; the pointers can be written.
 */
BLOSC_EXPORT void blosc2_cbuffer_versions(const void *cbuffer, int *version, int *versionlz);

/**
 * Returns the name of the library that reads a chunk's streams (the library's, not to be freed),
 * or NULL.
 *
 * Required of the caller:
 * `cbuffer` has 16 bytes.
 */
BLOSC_EXPORT const char *blosc2_cbuffer_complib(const void *cbuffer);

/** Returns the names of the built-in codecs, separated by commas (the library's, not to be freed). */
BLOSC_EXPORT const char *blosc2_list_compressors(void);

/**
 * Returns the version of the library this one stands for, `BLOSC2_VERSION_STRING` (not to be
 * freed).
 */
BLOSC_EXPORT const char *blosc2_get_version_string(void);

/** Returns what an error code means (the library's text, not to be freed). */
BLOSC_EXPORT const char *blosc2_error_string(int error_code);

/**
 * Gives the name and version of the library that a codec comes from, in buffers that the caller
 * frees with `free()`. Returns the library's code, or `BLOSC2_ERROR_NOT_FOUND` and NULLs for a
 * codec that is not there.
 *
 * Required of the caller:
 * `compname` is a C string; the other pointers can be written.
 */
BLOSC_EXPORT int blosc2_get_complib_info(const char *compname, char **complib, char **version);

/**
 * Sets a timestamp to now, on a clock that only goes forward.
 *
 * Required of the caller:
 * `timestamp` can be written.
 */
BLOSC_EXPORT void blosc_set_timestamp(blosc_timestamp_t *timestamp);

/** Returns the nanoseconds from one timestamp to another. */
BLOSC_EXPORT double blosc_elapsed_nsecs(blosc_timestamp_t start_time, blosc_timestamp_t end_time);

/** Returns the seconds from one timestamp to another. */
BLOSC_EXPORT double blosc_elapsed_secs(blosc_timestamp_t start_time, blosc_timestamp_t end_time);

/**
 * Registers a back end for the ids from `BLOSC2_IO_REGISTERED` on. The struct is copied; its name
 * is not, and is not looked at unless the id is registered again. Returns 0, also when a back end
 * of this name was registered before; `BLOSC2_ERROR_INVALID_PARAM` for NULL;
 * `BLOSC2_ERROR_PLUGIN_IO` if the id is not a program's or belongs to a back end of another name.
 *
 * Required of the caller:
 * `io` is NULL or points to a back end, whose functions can be called until the process ends. To
 * register an id twice, both names must be C strings, the first one still.
 */
BLOSC_EXPORT int blosc2_register_io_cb(const blosc2_io_cb *io);

/**
 * Returns the back end of this id (the library's, not to be freed), or NULL if there is none or
 * the library was not initialized.
 */
BLOSC_EXPORT blosc2_io_cb *blosc2_get_io_cb(uint8_t id);

/**
 * Registers a codec for the ids from `BLOSC2_USER_REGISTERED_CODECS_START` on. The struct and its
 * name are copied. Returns 0, also when this codec was registered before;
 * `BLOSC2_ERROR_CODEC_PARAM` if the id is not a user's or belongs to a codec of another name.
 *
 * Required of the caller:
 * `codec` points to a codec with a name; its functions can be called until `blosc2_destroy`.
 */
BLOSC_EXPORT int blosc2_register_codec(blosc2_codec *codec);

/**
 * Registers a filter for the ids from `BLOSC2_USER_REGISTERED_FILTERS_START` on. The struct and
 * its name are copied. Returns 0, also when this filter was registered before;
 * `BLOSC2_ERROR_FAILURE` if the id is not a user's or belongs to a filter of another name.
 *
 * Required of the caller:
 * `filter` points to a filter with a name; its functions can be called until `blosc2_destroy`.
 */
BLOSC_EXPORT int blosc2_register_filter(blosc2_filter *filter);

/**
 * Registers a tuner for the ids from `BLOSC2_USER_REGISTERED_TUNER_START` on. The struct and its
 * name are copied. Returns 0, also when this tuner was registered before; `BLOSC2_ERROR_FAILURE`
 * if the id is not a user's or belongs to a tuner of another name.
 *
 * Required of the caller:
 * `tuner` points to a tuner with a name; its functions can be called until `blosc2_destroy`.
 */
BLOSC_EXPORT int blosc2_register_tuner(blosc2_tuner *tuner);

/**
 * Gives the name of a codec in `*compname` (NULL if there is none of this id; the library's, not
 * to be freed). Returns the id, or -1.
 *
 * Required of the caller:
 * `compname` can be written.
 */
BLOSC_EXPORT int blosc2_compcode_to_compname(int compcode, const char **compname);

/**
 * Returns the id of the codec of this name, or -1.
 *
 * Required of the caller:
 * `compname` is a C string.
 */
BLOSC_EXPORT int blosc2_compname_to_compcode(const char *compname);

/**
 * Appends a chunk. With `copy` the chunk stays the program's; without, it came from `malloc` and
 * is the super-chunk's if this succeeds. Returns the number of chunks, or a negative error code.
 *
 * Required of the caller:
 * `schunk` is valid; `chunk` points to a whole chunk.
 */
BLOSC_EXPORT int64_t blosc2_schunk_append_chunk(blosc2_schunk *schunk, uint8_t *chunk, bool copy);

/**
 * Inserts a chunk before chunk `nchunk`, or behind the last one; `copy` as in
 * `blosc2_schunk_append_chunk`. Returns the number of chunks, or a negative error code.
 *
 * Required of the caller:
 * As for `blosc2_schunk_append_chunk`.
 */
BLOSC_EXPORT int64_t blosc2_schunk_insert_chunk(blosc2_schunk *schunk, int64_t nchunk, uint8_t *chunk, bool copy);

/**
 * Puts a chunk in the place of chunk `nchunk`; `copy` as in `blosc2_schunk_append_chunk`. Returns
 * the number of chunks, or a negative error code.
 *
 * Required of the caller:
 * As for `blosc2_schunk_append_chunk`.
 */
BLOSC_EXPORT int64_t blosc2_schunk_update_chunk(blosc2_schunk *schunk, int64_t nchunk, uint8_t *chunk, bool copy);

/**
 * Deletes chunk `nchunk`. Returns the number of chunks left, or a negative error code.
 *
 * Required of the caller:
 * `schunk` is valid.
 */
BLOSC_EXPORT int64_t blosc2_schunk_delete_chunk(blosc2_schunk *schunk, int64_t nchunk);

/**
 * Compresses `nbytes` bytes at `src` with the super-chunk's context and appends them as one chunk.
 * Returns the number of chunks, or a negative error code.
 *
 * Required of the caller:
 * `schunk` is valid, `src` has `nbytes` bytes.
 */
BLOSC_EXPORT int64_t blosc2_schunk_append_buffer(blosc2_schunk *schunk, const void *src, int32_t nbytes);

/**
 * Decompresses chunk `nchunk` into `dest`, which has `nbytes` bytes. Returns the size of its data,
 * or a negative error code.
 *
 * Required of the caller:
 * `schunk` is valid, `dest` has `nbytes` bytes.
 */
BLOSC_EXPORT int blosc2_schunk_decompress_chunk(blosc2_schunk *schunk, int64_t nchunk, void *dest, int32_t nbytes);

/**
 * Gives chunk `nchunk`, whole. Where `*needs_free` is set, the program frees `*chunk` with `free`;
 * else it is the super-chunk's, until that changes. Returns the size of the chunk, or a negative
 * error code.
 *
 * Required of the caller:
 * All pointers are valid.
 */
BLOSC_EXPORT int blosc2_schunk_get_chunk(blosc2_schunk *schunk, int64_t nchunk, uint8_t **chunk, bool *needs_free);

/**
 * As `blosc2_schunk_get_chunk`, but of a chunk on disk only the front is read: header, block
 * starts, and a trailer that tells where the blocks are. The functions that decompress fetch what
 * they need of it, through the context `schunk->dctx` or another one that was made for this
 * super-chunk.
 *
 * Required of the caller:
 * All pointers are valid.
 */
BLOSC_EXPORT int blosc2_schunk_get_lazychunk(blosc2_schunk *schunk, int64_t nchunk, uint8_t **chunk, bool *needs_free);

/**
 * Decompresses block `nblock` of chunk `nchunk`, which is one of variable-length blocks. The
 * program frees `*dest` with `free`. Returns the size of the block, or a negative error code.
 *
 * Required of the caller:
 * All pointers are valid or NULL.
 */
BLOSC_EXPORT
int blosc2_schunk_get_vlblock(blosc2_schunk *schunk,
                              int64_t nchunk,
                              int32_t nblock,
                              uint8_t **dest,
                              int32_t *destsize);

/**
 * Makes a super-chunk of a contiguous frame of `len` bytes at `cframe`. With `copy`, chunks are
 * copied and kept each on its own, and the buffer is used no more; a frame that tells of very many
 * chunks in few bytes is copied as it is. Without, the buffer is the super-chunk's storage and
 * must stay as long as the super-chunk; it is still the program's to free, unless that is handed
 * over with `blosc2_schunk_avoid_cframe_free`. Returns NULL if the buffer is no frame.
 *
 * Required of the caller:
 * `cframe` has `len` bytes.
 */
BLOSC_EXPORT blosc2_schunk *blosc2_schunk_from_buffer(uint8_t *cframe, int64_t len, bool copy);

/**
 * Gives a super-chunk as a contiguous frame in a buffer. Where `*needs_free` is set, the program
 * frees `*cframe` with `free`; else the buffer is the super-chunk's, until that changes. Returns
 * the size of the frame, or a negative error code.
 *
 * Required of the caller:
 * All pointers are valid.
 */
BLOSC_EXPORT int64_t blosc2_schunk_to_buffer(blosc2_schunk *schunk, uint8_t **cframe, bool *needs_free);

/**
 * Writes a super-chunk into a file as a contiguous frame. Returns the size of the frame, or a
 * negative error code.
 *
 * A frame in memory replaces a file that is there, in one step: an open finds the old bytes or the
 * new ones, and mode, owner and group stay, as far as the process may give them. Links are
 * followed. The directory must be writable, as the bytes are written to a file beside it first.
 * Any other super-chunk is written only where nothing is yet.
 *
 * Required of the caller:
 * `schunk` is valid, `urlpath` NULL or a C string.
 */
BLOSC_EXPORT int64_t blosc2_schunk_to_file(blosc2_schunk *schunk, const char *urlpath);

/**
 * Appends a super-chunk to a file as a contiguous frame; `blosc2_schunk_open_offset` opens it
 * there. Returns where the frame begins in the file, or a negative error code.
 *
 * Required of the caller:
 * As for `blosc2_schunk_to_file`.
 */
BLOSC_EXPORT int64_t blosc2_schunk_append_file(blosc2_schunk *schunk, const char *urlpath);

/**
 * Copies a super-chunk, with its metalayers, into the storage that is given. Chunks are copied as
 * they are unless the parameters in `storage` ask for others; NULL there means the same
 * parameters. Returns NULL if the storage is there already, or a chunk is damaged.
 *
 * Required of the caller:
 * Both pointers are valid, and those in `storage` NULL or valid.
 */
BLOSC_EXPORT blosc2_schunk *blosc2_schunk_copy(blosc2_schunk *schunk, blosc2_storage *storage);

/**
 * Makes a new super-chunk without chunks. It copies `storage` and what that points to, except the
 * parameters of tuners, filters and back ends, which must outlive it. With a path it makes a file
 * or a directory, which must not be there. Free it with `blosc2_schunk_free`.
 *
 * Returns NULL if the path exists or cannot be made, a parameter is impossible, or memory is
 * short.
 *
 * Required of the caller:
 * `storage` is valid, and the pointers in it are NULL or valid.
 */
BLOSC_EXPORT blosc2_schunk *blosc2_schunk_new(blosc2_storage *storage);

/**
 * Opens the super-chunk at `urlpath`, a file or a directory. Nothing is copied but the index and
 * the metalayers. Free it with `blosc2_schunk_free`. Returns NULL if there is none, or it is
 * damaged.
 *
 * Required of the caller:
 * `urlpath` is NULL or a C string.
 */
BLOSC_EXPORT blosc2_schunk *blosc2_schunk_open(const char *urlpath);

/**
 * As `blosc2_schunk_open`, for a frame that begins `offset` bytes into a file.
 *
 * Required of the caller:
 * As for `blosc2_schunk_open`.
 */
BLOSC_EXPORT blosc2_schunk *blosc2_schunk_open_offset(const char *urlpath, int64_t offset);

/**
 * As `blosc2_schunk_open`, through a back end.
 *
 * Required of the caller:
 * As for `blosc2_schunk_open`; `udio` is NULL or valid, and its parameters outlive the
 * super-chunk.
 */
BLOSC_EXPORT blosc2_schunk *blosc2_schunk_open_udio(const char *urlpath, const blosc2_io *udio);

/**
 * As `blosc2_schunk_open_offset`, through a back end.
 *
 * Required of the caller:
 * As for `blosc2_schunk_open_udio`.
 */
BLOSC_EXPORT blosc2_schunk *blosc2_schunk_open_offset_udio(const char *urlpath, int64_t offset, const blosc2_io *udio);

/**
 * Frees a super-chunk, its contexts and its metalayers, and closes its files. NULL is allowed.
 * Returns 0, or 1 if the back end could not free its own.
 *
 * Required of the caller:
 * `schunk` is NULL or a super-chunk that was not freed and is not in use.
 */
BLOSC_EXPORT int blosc2_schunk_free(blosc2_schunk *schunk);

/**
 * Adds a fixed-length metalayer: `content_len` bytes under a name of at most
 * `BLOSC2_METALAYER_NAME_MAXLEN`. Frames take them only as long as they hold no chunks, and views
 * not at all. Returns the index of the metalayer, or a negative error code.
 *
 * Required of the caller:
 * `schunk` and `name` are NULL or valid; `content` has `content_len` bytes.
 */
BLOSC_EXPORT int blosc2_meta_add(blosc2_schunk *schunk, const char *name, uint8_t *content, int32_t content_len);

/**
 * Overwrites the first `content_len` bytes of a fixed-length metalayer; its size stays. Content
 * that is longer than the metalayer changes nothing. Returns the index of the metalayer, or a
 * negative error code.
 *
 * Required of the caller:
 * As for `blosc2_meta_add`.
 */
BLOSC_EXPORT int blosc2_meta_update(blosc2_schunk *schunk, const char *name, uint8_t *content, int32_t content_len);

/**
 * Looks for a variable-length metalayer. Returns its index, or a negative error code.
 *
 * Required of the caller:
 * `schunk` is valid, `name` a C string.
 */
BLOSC_EXPORT int blosc2_vlmeta_exists(blosc2_schunk *schunk, const char *name);

/**
 * Adds a variable-length metalayer: `content_len` bytes, compressed as `cparams` say (NULL: the
 * defaults), under a name of at most `BLOSC2_METALAYER_NAME_MAXLEN`. Returns the index of the
 * metalayer, or a negative error code.
 *
 * Required of the caller:
 * As for `blosc2_meta_add`; `cparams` is NULL or valid.
 */
BLOSC_EXPORT
int blosc2_vlmeta_add(blosc2_schunk *schunk,
                      const char *name,
                      uint8_t *content,
                      int32_t content_len,
                      blosc2_cparams *cparams);

/**
 * Gives the content of a variable-length metalayer: `*content_len` bytes at `*content`, which the
 * program frees with `free`; NULL if there are none. Returns the index of the metalayer, or a
 * negative error code.
 *
 * Required of the caller:
 * The pointers are NULL or valid.
 */
BLOSC_EXPORT int blosc2_vlmeta_get(blosc2_schunk *schunk, const char *name, uint8_t **content, int32_t *content_len);

/**
 * Puts other content into a variable-length metalayer; the parameters are those of
 * `blosc2_vlmeta_add`. Returns the index of the metalayer, or a negative error code.
 *
 * Required of the caller:
 * As for `blosc2_vlmeta_add`.
 */
BLOSC_EXPORT
int blosc2_vlmeta_update(blosc2_schunk *schunk,
                         const char *name,
                         uint8_t *content,
                         int32_t content_len,
                         blosc2_cparams *cparams);

/**
 * Deletes a variable-length metalayer. Returns how many are left, or a negative error code.
 *
 * Required of the caller:
 * `schunk` is valid, `name` a C string.
 */
BLOSC_EXPORT int blosc2_vlmeta_delete(blosc2_schunk *schunk, const char *name);

/**
 * Writes the names of the variable-length metalayers into `names`, which has room for
 * `schunk->nvlmetalayers` pointers. The names stay the super-chunk's. Returns how many there are.
 *
 * Required of the caller:
 * As said.
 */
BLOSC_EXPORT int blosc2_vlmeta_get_names(blosc2_schunk *schunk, char **names);

/**
 * Gives the compression parameters of a super-chunk in a struct that the program frees with
 * `free`. Returns 0.
 *
 * Required of the caller:
 * Both pointers are valid.
 */
BLOSC_EXPORT int blosc2_schunk_get_cparams(blosc2_schunk *schunk, blosc2_cparams **cparams);

/**
 * Gives the decompression parameters of a super-chunk in a struct that the program frees with
 * `free`. Returns 0.
 *
 * Required of the caller:
 * Both pointers are valid.
 */
BLOSC_EXPORT int blosc2_schunk_get_dparams(blosc2_schunk *schunk, blosc2_dparams **dparams);

/**
 * Puts the chunks into another order: `offsets_order[i]` says which of them comes at place `i`.
 * Returns 0; `BLOSC2_ERROR_DATA` unless every chunk is named once.
 *
 * Required of the caller:
 * `schunk` is valid; `offsets_order` has `schunk->nchunks` elements.
 */
BLOSC_EXPORT int blosc2_schunk_reorder_offsets(blosc2_schunk *schunk, int64_t *offsets_order);

/**
 * Bytes of the frame, as it is or will be once it is closed; without a frame an estimate.
 *
 * Required of the caller:
 * `schunk` is valid.
 */
BLOSC_EXPORT int64_t blosc2_schunk_frame_len(blosc2_schunk *schunk);

/**
 * Fills an empty super-chunk with `nitems` items of a special value (`BLOSC2_SPECIAL_ZERO`,
 * `BLOSC2_SPECIAL_NAN`, `BLOSC2_SPECIAL_UNINIT`) in chunks of `chunksize` bytes. In a frame they
 * take no room, however many they are. Returns the number of chunks, or a negative error code.
 *
 * Required of the caller:
 * `schunk` is valid.
 */
BLOSC_EXPORT
int64_t blosc2_schunk_fill_special(blosc2_schunk *schunk,
                                   int64_t nitems,
                                   int special_value,
                                   int32_t chunksize);

/**
 * Keeps other handles and processes away from the frame until `blosc2_schunk_unlock`, so that what
 * happens in between happens at once for them. Calls may nest. Without locking it does nothing.
 * Returns 0, or a negative error code.
 *
 * Required of the caller:
 * `schunk` is valid.
 */
BLOSC_EXPORT int blosc2_schunk_lock(blosc2_schunk *schunk);

/**
 * Ends what `blosc2_schunk_lock` began. Returns 0, or a negative error code.
 *
 * Required of the caller:
 * `schunk` is valid.
 */
BLOSC_EXPORT int blosc2_schunk_unlock(blosc2_schunk *schunk);

/**
 * Brings the super-chunk up to date with its frame on disk, if another handle changed that.
 * Returns 1 if it did, 0 if there was nothing to do, or a negative error code.
 *
 * Required of the caller:
 * `schunk` is NULL or valid.
 */
BLOSC_EXPORT int blosc2_schunk_refresh(blosc2_schunk *schunk);

/**
 * Gives the offsets of the chunks of a frame, `schunk->nchunks` of them, in memory that the
 * program frees with `free`; see the format documents for what they mean. NULL without a frame or
 * without chunks.
 *
 * Required of the caller:
 * `schunk` is valid.
 */
BLOSC_EXPORT int64_t *blosc2_frame_get_offsets(blosc2_schunk *schunk);

/**
 * Says whether `blosc2_schunk_free` is to leave the frame's buffer in memory to the program, which
 * then frees it with `free`. A buffer given to `blosc2_schunk_from_buffer` is the program's unless
 * `avoid_cframe_free` is false here.
 *
 * Required of the caller:
 * `schunk` is valid. When a buffer is handed over, it came from `malloc`.
 */
BLOSC_EXPORT void blosc2_schunk_avoid_cframe_free(blosc2_schunk *schunk, bool avoid_cframe_free);

/**
 * Reads the items from `start` to before `stop` into `buffer`, which has room for them. Returns 0,
 * or a negative error code.
 *
 * Required of the caller:
 * `schunk` is valid; `buffer` has room for the items.
 */
BLOSC_EXPORT int blosc2_schunk_get_slice_buffer(blosc2_schunk *schunk, int64_t start, int64_t stop, void *buffer);

/**
 * Writes the items from `start` to before `stop` out of `buffer`, all of them or, if that fails,
 * none. Of a chunk that is not written whole, only the blocks that change are compressed again.
 * Returns 0, or a negative error code.
 *
 * Required of the caller:
 * `schunk` is valid; `buffer` holds the items.
 */
BLOSC_EXPORT int blosc2_schunk_set_slice_buffer(blosc2_schunk *schunk, int64_t start, int64_t stop, void *buffer);

/**
 * Reads the items at `coords`, `ncoords` of them in any order, into `buffer`. Returns 0, or a
 * negative error code.
 *
 * Required of the caller:
 * `schunk` is NULL or valid; `coords` has `ncoords` elements and `buffer` room for as many items.
 */
BLOSC_EXPORT
int blosc2_schunk_get_sparse_buffer(blosc2_schunk *schunk,
                                    int64_t ncoords,
                                    const int64_t *coords,
                                    void *buffer);

/**
 * Says which chunks have items of the range from `*start` to before `*stop`; of an array, of the
 * slice between the positions `start` and `stop`. The program frees `*chunks_idx` with `free`; it
 * is NULL if there are none. Returns how many there are, or a negative error code.
 *
 * Required of the caller:
 * `schunk` is NULL or valid; `start` and `stop` have a number for each dimension.
 */
BLOSC_EXPORT
int64_t blosc2_get_slice_nchunks(blosc2_schunk *schunk,
                                 int64_t *start,
                                 int64_t *stop,
                                 int64_t **chunks_idx);

/**
 * Makes a chunk of `nbytes` zeros (a multiple of the typesize) in `dest`, which has at least
 * `BLOSC_EXTENDED_HEADER_LENGTH` bytes. Returns the size of the chunk, or a negative error code.
 *
 * Required of the caller:
 * `dest` has `destsize` bytes; the pointers in `cparams` are valid.
 */
BLOSC_EXPORT int blosc2_chunk_zeros(blosc2_cparams cparams, int32_t nbytes, void *dest, int32_t destsize);

/**
 * Makes a chunk of NaNs, of 4 or 8 bytes each, in `dest`; otherwise as `blosc2_chunk_zeros`.
 *
 * Required of the caller:
 * As for `blosc2_chunk_zeros`.
 */
BLOSC_EXPORT int blosc2_chunk_nans(blosc2_cparams cparams, int32_t nbytes, void *dest, int32_t destsize);

/**
 * Makes a chunk of uninitialised values in `dest`: decompressing it leaves the destination as it
 * was. Otherwise as `blosc2_chunk_zeros`.
 *
 * Required of the caller:
 * As for `blosc2_chunk_zeros`.
 */
BLOSC_EXPORT int blosc2_chunk_uninit(blosc2_cparams cparams, int32_t nbytes, void *dest, int32_t destsize);

/**
 * Makes a chunk of `nbytes` bytes that repeat the item at `repeatval`, of the typesize, in `dest`,
 * which has at least `BLOSC_EXTENDED_HEADER_LENGTH` bytes and an item's. Returns the size of the
 * chunk, or a negative error code.
 *
 * Required of the caller:
 * As for `blosc2_chunk_zeros`; `repeatval` has as many bytes as an item.
 */
BLOSC_EXPORT
int blosc2_chunk_repeatval(blosc2_cparams cparams,
                           int32_t nbytes,
                           void *dest,
                           int32_t destsize,
                           const void *repeatval);

/** Compression by default: BloscLZ at level 5, shuffled items of 8 bytes, one thread. */
static const blosc2_cparams BLOSC2_CPARAMS_DEFAULTS = {
  BLOSC_BLOSCLZ, 0, 5,           /* codec, its meta byte, level */
  0, 8, 1, 0,                    /* dictionary, typesize, threads, block size */
  BLOSC_FORWARD_COMPAT_SPLIT, NULL,
  {0, 0, 0, 0, 0, BLOSC_SHUFFLE},
  {0, 0, 0, 0, 0, 0},
  NULL, NULL,                    /* prefilter */
  NULL, BLOSC_STUNE,             /* tuner */
  false, NULL,                   /* measuring, the codec's parameters */
  {NULL, NULL, NULL, NULL, NULL, NULL},
};

/** Decompression by default: one thread, no postfilter. */
static const blosc2_dparams BLOSC2_DPARAMS_DEFAULTS = {1, NULL, NULL, NULL, 8};

/** Input and output by default: files. */
static const blosc2_io BLOSC2_IO_DEFAULTS = {BLOSC2_IO_FILESYSTEM, "filesystem", NULL};

/** Storage by default: chunks apart from each other, in memory. */
static const blosc2_storage BLOSC2_STORAGE_DEFAULTS = {false, NULL, NULL, NULL, NULL};

/** `blosc2_error_string` under its older name. The text is static and must not be written to. */
static char *print_error(int rc) BLOSC_ATTRIBUTE_UNUSED;
static char *print_error(int rc) {
  return (char *)blosc2_error_string(rc);
}

/**
 * Looks for a fixed-length metalayer. Inline, as everything that a plugin needs without linking to the library.
 *
 * Returns its index; `BLOSC2_ERROR_NOT_FOUND`; or `BLOSC2_ERROR_INVALID_PARAM` without a super-chunk, without a name,
 * and for a name longer than `BLOSC2_METALAYER_NAME_MAXLEN`.
 */
static inline int blosc2_meta_exists(blosc2_schunk *schunk, const char *name) {
  int index;
  if (schunk == NULL || name == NULL || strlen(name) > BLOSC2_METALAYER_NAME_MAXLEN) {
    if (getenv("BLOSC_TRACE") != NULL) {
      fprintf(stderr, "[error] - A metalayer needs a super-chunk and a name of at most %d bytes (%s:%d)\n",
              BLOSC2_METALAYER_NAME_MAXLEN, __FILE__, __LINE__);
    }
    return BLOSC2_ERROR_INVALID_PARAM;
  }
  for (index = 0; index < schunk->nmetalayers; index++) {
    if (strcmp(schunk->metalayers[index]->name, name) == 0) {
      return index;
    }
  }
  return BLOSC2_ERROR_NOT_FOUND;
}

/**
 * Copies the content of a fixed-length metalayer. Inline, for the same reason.
 *
 * `*content` gets a copy for the caller to `free`, NULL when it is empty; `*content_len` its bytes. Returns the
 * metalayer's index; a code of `blosc2_meta_exists`; `BLOSC2_ERROR_INVALID_PARAM` for a NULL argument;
 * `BLOSC2_ERROR_DATA` when the super-chunk is broken; or `BLOSC2_ERROR_MEMORY_ALLOC`.
 */
static inline int blosc2_meta_get(blosc2_schunk *schunk, const char *name, uint8_t **content,
                                  int32_t *content_len) {
  const blosc2_metalayer *found;
  int index;
  BLOSC_ERROR_NULL(schunk, BLOSC2_ERROR_INVALID_PARAM);
  BLOSC_ERROR_NULL(name, BLOSC2_ERROR_INVALID_PARAM);
  BLOSC_ERROR_NULL(content, BLOSC2_ERROR_INVALID_PARAM);
  BLOSC_ERROR_NULL(content_len, BLOSC2_ERROR_INVALID_PARAM);
  index = blosc2_meta_exists(schunk, name);
  if (index < 0) {
    if (getenv("BLOSC_TRACE") != NULL) {
      fprintf(stderr, "[warning] - There is no metalayer \"%s\" (%s:%d)\n", name, __FILE__, __LINE__);
    }
    return index;
  }
  found = schunk->metalayers[index];
  if (found->content_len < 0 || (found->content_len > 0 && found->content == NULL)) {
    BLOSC_ERROR(BLOSC2_ERROR_DATA);
  }
  *content = NULL;
  *content_len = 0;
  if (found->content_len > 0) {
    *content = (uint8_t *)malloc((size_t)found->content_len);
    if (*content == NULL) {
      BLOSC_ERROR(BLOSC2_ERROR_MEMORY_ALLOC);
    }
    memcpy(*content, found->content, (size_t)found->content_len);
    *content_len = found->content_len;
  }
  return index;
}

/**
 * Copies a big-endian number of 1, 2, 4 or 8 bytes from `pa` into a native one at `dest`, or the reverse. They may be
 * the same place. Another size is reported on stderr, and nothing is copied.
 */
static inline void swap_store(void *dest, const void *pa, int size) {
  const uint16_t probe = 1;
  const uint8_t little_endian = *(const uint8_t *)&probe;
  const uint8_t *from = (const uint8_t *)pa;
  uint8_t number[8];
  int i;
  if (size != 1 && size != 2 && size != 4 && size != 8) {
    fprintf(stderr, "Unhandled nitems: %d\n", size);
    return;
  }
  for (i = 0; i < size; i++) {
    number[i] = from[little_endian ? size - 1 - i : i];
  }
  memcpy(dest, number, (size_t)size);
}

#ifdef __cplusplus
}
#endif

#endif /* BLOSC_BLOSC2_H */
