/* Part of oxiblosc: the library of Blosc 1 in Rust. */
/* Generated from crates/blosc1/src by the test `headers`: change it there. */

#ifndef BLOSC_H
#define BLOSC_H

#include <limits.h>
#include <stdlib.h>
#include "blosc-export.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The release of c-blosc whose functions these are */
#define BLOSC_VERSION_MAJOR    1
#define BLOSC_VERSION_MINOR    21
#define BLOSC_VERSION_RELEASE  6
#define BLOSC_VERSION_STRING   "1.21.6"
#define BLOSC_VERSION_REVISION "$Rev$"
#define BLOSC_VERSION_DATE     "$Date:: 2024-06-24 #$"

/* The version of the chunk format, in a chunk's first byte */
#define BLOSC_VERSION_FORMAT 2

/* Limits, in bytes: of a chunk's header, of what a chunk has more than its data, of a buffer, of an item, of a block */
#define BLOSC_MIN_HEADER_LENGTH 16
#define BLOSC_MAX_OVERHEAD BLOSC_MIN_HEADER_LENGTH
#define BLOSC_MAX_BUFFERSIZE (INT_MAX - BLOSC_MAX_OVERHEAD)
#define BLOSC_MAX_TYPESIZE 255
#define BLOSC_MAX_BLOCKSIZE ((INT_MAX - BLOSC_MAX_TYPESIZE * sizeof(int32_t)) / 3)

/* The most threads */
#define BLOSC_MAX_THREADS 256

/* What is shuffled: nothing, the bytes of the items, or their bits */
#define BLOSC_NOSHUFFLE  0
#define BLOSC_SHUFFLE    1
#define BLOSC_BITSHUFFLE 2

/* Flags of a chunk: its bytes were shuffled, it is stored as it is, its bits were shuffled */
#define BLOSC_DOSHUFFLE    0x1
#define BLOSC_MEMCPYED     0x2
#define BLOSC_DOBITSHUFFLE 0x4

/* Codes of the compressors ... */
#define BLOSC_BLOSCLZ 0
#define BLOSC_LZ4     1
#define BLOSC_LZ4HC   2
#define BLOSC_SNAPPY  3
#define BLOSC_ZLIB    4
#define BLOSC_ZSTD    5

/* ... their names ... */
#define BLOSC_BLOSCLZ_COMPNAME "blosclz"
#define BLOSC_LZ4_COMPNAME     "lz4"
#define BLOSC_LZ4HC_COMPNAME   "lz4hc"
#define BLOSC_SNAPPY_COMPNAME  "snappy"
#define BLOSC_ZLIB_COMPNAME    "zlib"
#define BLOSC_ZSTD_COMPNAME    "zstd"

/* ... the codes and names of the libraries behind them ... */
#define BLOSC_BLOSCLZ_LIB 0
#define BLOSC_LZ4_LIB     1
#define BLOSC_SNAPPY_LIB  2
#define BLOSC_ZLIB_LIB    3
#define BLOSC_ZSTD_LIB    4

#define BLOSC_BLOSCLZ_LIBNAME "BloscLZ"
#define BLOSC_LZ4_LIBNAME     "LZ4"
#define BLOSC_SNAPPY_LIBNAME  "Snappy"
#define BLOSC_ZLIB_LIBNAME    "Zlib"
#define BLOSC_ZSTD_LIBNAME    "Zstd"

/* ... and their formats in a chunk, with the version of each */
#define BLOSC_BLOSCLZ_FORMAT BLOSC_BLOSCLZ_LIB
#define BLOSC_LZ4_FORMAT     BLOSC_LZ4_LIB
#define BLOSC_LZ4HC_FORMAT   BLOSC_LZ4_LIB
#define BLOSC_SNAPPY_FORMAT  BLOSC_SNAPPY_LIB
#define BLOSC_ZLIB_FORMAT    BLOSC_ZLIB_LIB
#define BLOSC_ZSTD_FORMAT    BLOSC_ZSTD_LIB

#define BLOSC_BLOSCLZ_VERSION_FORMAT 1
#define BLOSC_LZ4_VERSION_FORMAT     1
#define BLOSC_LZ4HC_VERSION_FORMAT   1
#define BLOSC_SNAPPY_VERSION_FORMAT  1
#define BLOSC_ZLIB_VERSION_FORMAT    1
#define BLOSC_ZSTD_VERSION_FORMAT    1

/* When blocks are split into one stream for each byte of an item: wherever readers expect that it may be so; never; where
   it is fast; and as all releases do */
#define BLOSC_ALWAYS_SPLIT         1
#define BLOSC_NEVER_SPLIT          2
#define BLOSC_AUTO_SPLIT           3
#define BLOSC_FORWARD_COMPAT_SPLIT 4

/**
 * Begins the use of the library. The other functions do it by themselves where it is needed.
 */
BLOSC_EXPORT void blosc_init(void);

/**
 * Ends the use of the library: worker threads end, and memory that was kept for the next call is freed. The settings stay.
 */
BLOSC_EXPORT
void blosc_destroy(void);

/**
 * Ends the worker threads and frees memory that was kept for the next call, which starts and takes what it needs. Returns 0, or -1 if
 * the library is not in use.
 */
BLOSC_EXPORT
int blosc_free_resources(void);

/**
 * Returns the number of threads that `blosc_compress` and `blosc_decompress` use.
 */
BLOSC_EXPORT int blosc_get_nthreads(void);

/**
 * Sets the number of threads, 1 to `BLOSC_MAX_THREADS`, that `blosc_compress` and `blosc_decompress` use. Returns the number before.
 */
BLOSC_EXPORT
int blosc_set_nthreads(int nthreads);

/**
 * Returns the name of the compressor that `blosc_compress` uses; NULL after one was asked for that does not exist. The name belongs
 * to the library.
 */
BLOSC_EXPORT
const char *blosc_get_compressor(void);

/**
 * Sets the compressor that `blosc_compress` uses, by name. Returns its code, or -1 for one that does not exist: until another is set,
 * nothing can be compressed then.
 *
 * Required of the caller:
 * `compname` is a C string, or null.
 */
BLOSC_EXPORT
int blosc_set_compressor(const char *compname);

/**
 * Returns the size of a block that `blosc_compress` uses; 0 means that it is chosen for each buffer.
 */
BLOSC_EXPORT int blosc_get_blocksize(void);

/**
 * Sets the size of a block, in bytes, that `blosc_compress` uses; 0 means that it is chosen for each buffer. Blocks that are split
 * may become larger.
 */
BLOSC_EXPORT
void blosc_set_blocksize(size_t blocksize);

/**
 * Sets when blocks are split into one stream for each byte of an item: `BLOSC_ALWAYS_SPLIT`, `BLOSC_NEVER_SPLIT`, `BLOSC_AUTO_SPLIT` or
 * `BLOSC_FORWARD_COMPAT_SPLIT`, which is the mode at the beginning. This holds for `blosc_compress_ctx`, too.
 */
BLOSC_EXPORT
void blosc_set_splitmode(int splitmode);

/**
 * Compresses the `nbytes` bytes at `src` into `dest`, which has room for `destsize`; what is never too little is
 * `nbytes + BLOSC_MAX_OVERHEAD`. The buffers must not overlap.
 *
 * `clevel` is 0 (store) to 9. `doshuffle` is `BLOSC_NOSHUFFLE`, `BLOSC_SHUFFLE` or `BLOSC_BITSHUFFLE`, for items of `typesize` bytes,
 * 1 to 255. The compressor, the number of threads, the size of a block and the split mode are those that were set.
 *
 * Environment variables override them: `BLOSC_CLEVEL`, `BLOSC_SHUFFLE` (`NOSHUFFLE`, `SHUFFLE`, `BITSHUFFLE`), `BLOSC_TYPESIZE`,
 * `BLOSC_COMPRESSOR`, `BLOSC_NTHREADS`, `BLOSC_BLOCKSIZE` and `BLOSC_SPLITMODE` (`FORWARD_COMPAT`, `AUTO`, `ALWAYS`, `NEVER`). With
 * `BLOSC_WARN=1` stderr says why a buffer cannot be compressed.
 *
 * Returns the size of the chunk, 0 if it does not fit, or a negative code.
 *
 * Required of the caller:
 * The buffers have the sizes given.
 */
BLOSC_EXPORT
int blosc_compress(int clevel,
                   int doshuffle,
                   size_t typesize,
                   size_t nbytes,
                   const void *src,
                   void *dest,
                   size_t destsize);

/**
 * As `blosc_compress`, but with all settings given: the compressor by name, the size of a block (0: automatic), and the number of
 * threads. Of the environment it heeds only `BLOSC_WARN`.
 *
 * Required of the caller:
 * The buffers have the sizes given; `compressor` is a C string, or null.
 */
BLOSC_EXPORT
int blosc_compress_ctx(int clevel,
                       int doshuffle,
                       size_t typesize,
                       size_t nbytes,
                       const void *src,
                       void *dest,
                       size_t destsize,
                       const char *compressor,
                       size_t blocksize,
                       int numinternalthreads);

/**
 * Decompresses the chunk at `src` into `dest`, which has `destsize` bytes, with as many threads as were set, or as `BLOSC_NTHREADS`
 * says. How large the data are, `blosc_cbuffer_validate` tells. Returns their size, or 0 or a negative code if the chunk is damaged
 * or `dest` too small.
 *
 * Required of the caller:
 * `src` has as many bytes as its header says; `dest` has `destsize` bytes.
 */
BLOSC_EXPORT
int blosc_decompress(const void *src,
                     void *dest,
                     size_t destsize);

/**
 * As `blosc_decompress`, with the number of threads given.
 *
 * Required of the caller:
 * As for `blosc_decompress`.
 */
BLOSC_EXPORT int blosc_decompress_ctx(const void *src, void *dest, size_t destsize, int numinternalthreads);

/**
 * Copies `nitems` items, from item `start` on, out of the chunk at `src` into `dest`. Returns their size in bytes, or a negative code.
 *
 * Required of the caller:
 * `src` has as many bytes as its header says; `dest` has room for the items.
 */
BLOSC_EXPORT
int blosc_getitem(const void *src,
                  int start,
                  int nitems,
                  void *dest);

/**
 * Gives the name of a compressor through `compname`, which is null for a code that none has. Returns the code, or -1.
 *
 * Required of the caller:
 * `compname` can be written, or is null.
 */
BLOSC_EXPORT int blosc_compcode_to_compname(int compcode, const char **compname);

/**
 * Returns the code of the compressor of this name, or -1.
 *
 * Required of the caller:
 * `compname` is a C string, or null.
 */
BLOSC_EXPORT int blosc_compname_to_compcode(const char *compname);

/**
 * Returns the names of all compressors, with commas between them. They belong to the library.
 */
BLOSC_EXPORT const char *blosc_list_compressors(void);

/**
 * Returns the release of c-blosc whose functions these are. The text belongs to the library.
 */
BLOSC_EXPORT const char *blosc_get_version_string(void);

/**
 * Gives the name and the version of the library behind a compressor, each as a text that the caller frees with `free()`; a pointer
 * that is NULL gets none. Returns the number of the library, or -1, and no texts, for a compressor that does not exist.
 *
 * Required of the caller:
 * `compname` is a C string; the others can be written, or are null.
 */
BLOSC_EXPORT
int blosc_get_complib_info(const char *compname,
                           char **complib,
                           char **version);

/**
 * Gives the size of the data, of the chunk, and of a block, as its header says; zeros for a chunk of an unknown format.
 *
 * Required of the caller:
 * `cbuffer` has 16 bytes; the others can be written, or are null.
 */
BLOSC_EXPORT void blosc_cbuffer_sizes(const void *cbuffer, size_t *nbytes, size_t *cbytes, size_t *blocksize);

/**
 * Checks that the `cbytes` bytes at `cbuffer` can be a chunk, so that it is safe to decompress it (which may still fail), and gives
 * the size of its data. Returns 0, or -1.
 *
 * Required of the caller:
 * `cbuffer` has `cbytes` bytes; `nbytes` can be written, or is null.
 */
BLOSC_EXPORT
int blosc_cbuffer_validate(const void *cbuffer,
                           size_t cbytes,
                           size_t *nbytes);

/**
 * Gives the size of an item, and the bits `BLOSC_DOSHUFFLE`, `BLOSC_MEMCPYED` and `BLOSC_DOBITSHUFFLE`; zeros for a chunk of an
 * unknown format.
 *
 * Required of the caller:
 * `cbuffer` has 16 bytes; the others can be written, or are null.
 */
BLOSC_EXPORT
void blosc_cbuffer_metainfo(const void *cbuffer,
                            size_t *typesize,
                            int *flags);

/**
 * Gives the version of the chunk's format, and that of its codec's.
 *
 * Required of the caller:
 * `cbuffer` has 16 bytes; the others can be written, or are null.
 */
BLOSC_EXPORT void blosc_cbuffer_versions(const void *cbuffer, int *version, int *compversion);

/**
 * Returns the name of the library that a chunk was compressed with; NULL for one that is unknown. The name belongs to this library.
 *
 * Required of the caller:
 * `cbuffer` has 16 bytes.
 */
BLOSC_EXPORT
const char *blosc_cbuffer_complib(const void *cbuffer);

#ifdef __cplusplus
}
#endif

#endif /* BLOSC_H */
