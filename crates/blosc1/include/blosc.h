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

/* The release of c-blosc that this library replaces */
#define BLOSC_VERSION_MAJOR    1
#define BLOSC_VERSION_MINOR    21
#define BLOSC_VERSION_RELEASE  6
#define BLOSC_VERSION_STRING   "1.21.6"
#define BLOSC_VERSION_REVISION "$Rev$"
#define BLOSC_VERSION_DATE     "$Date:: 2024-06-24 #$"

/* The version of the chunk format, in a chunk's first byte */
#define BLOSC_VERSION_FORMAT 2

/* Limits in bytes: the size of a chunk's header, by how much a chunk may be larger than its data, and the largest buffer, item and
   block */
#define BLOSC_MIN_HEADER_LENGTH 16
#define BLOSC_MAX_OVERHEAD BLOSC_MIN_HEADER_LENGTH
#define BLOSC_MAX_BUFFERSIZE (INT_MAX - BLOSC_MAX_OVERHEAD)
#define BLOSC_MAX_TYPESIZE 255
#define BLOSC_MAX_BLOCKSIZE ((INT_MAX - BLOSC_MAX_TYPESIZE * sizeof(int32_t)) / 3)

/* The largest number of threads */
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

/* The modes in which blocks are split into one stream for each byte of an item: always, if readers can recognise it; never; with
   the codecs that it makes faster; and in the cases in which older releases split them */
#define BLOSC_ALWAYS_SPLIT         1
#define BLOSC_NEVER_SPLIT          2
#define BLOSC_AUTO_SPLIT           3
#define BLOSC_FORWARD_COMPAT_SPLIT 4

/**
 * Initialises the library. Programs need not call it, since the other functions initialise the
 * library if that is necessary.
 */
BLOSC_EXPORT void blosc_init(void);

/**
 * Ends the worker threads, and frees the memory that is kept between calls. The settings stay, and
 * the library can be used again.
 */
BLOSC_EXPORT void blosc_destroy(void);

/**
 * Ends the worker threads, and frees the memory that is kept between calls. The next call creates
 * both again if it needs them. Returns 0, or -1 if the library is not initialised.
 */
BLOSC_EXPORT int blosc_free_resources(void);

/**
 * Returns the number of threads that `blosc_compress` and `blosc_decompress` use.
 */
BLOSC_EXPORT int blosc_get_nthreads(void);

/**
 * Sets the number of threads that `blosc_compress` and `blosc_decompress` use, 1 to
 * `BLOSC_MAX_THREADS`. Returns the previous number.
 */
BLOSC_EXPORT int blosc_set_nthreads(int nthreads);

/**
 * Returns the name of the compressor that `blosc_compress` uses, or NULL if the program has set
 * one that does not exist. The library owns the name.
 */
BLOSC_EXPORT const char *blosc_get_compressor(void);

/**
 * Sets the compressor that `blosc_compress` uses, by name. Returns its code, or -1 if it does not
 * exist: then `blosc_compress` fails until another compressor is set.
 *
 * Required of the caller:
 * `compname` is a C string, or null.
 */
BLOSC_EXPORT int blosc_set_compressor(const char *compname);

/**
 * Returns the block size that `blosc_compress` uses, in bytes; 0 if the library chooses it for
 * each buffer.
 */
BLOSC_EXPORT int blosc_get_blocksize(void);

/**
 * Sets the block size that `blosc_compress` uses, in bytes; with 0 the library chooses it for each
 * buffer. Blocks that are split may be larger.
 */
BLOSC_EXPORT void blosc_set_blocksize(size_t blocksize);

/**
 * Sets the mode in which blocks are split into one stream for each byte of an item:
 * `BLOSC_ALWAYS_SPLIT`, `BLOSC_NEVER_SPLIT`, `BLOSC_AUTO_SPLIT`, or `BLOSC_FORWARD_COMPAT_SPLIT`,
 * which is the default. `blosc_compress_ctx` uses the mode, too.
 */
BLOSC_EXPORT void blosc_set_splitmode(int splitmode);

/**
 * Compresses the `nbytes` bytes at `src` into `dest`, which has room for `destsize` bytes. With
 * `nbytes + BLOSC_MAX_OVERHEAD` bytes, every chunk fits. The buffers must not overlap.
 *
 * `clevel` is 0 (store) to 9. `doshuffle` is `BLOSC_NOSHUFFLE`, `BLOSC_SHUFFLE` or
 * `BLOSC_BITSHUFFLE`, for items of `typesize` bytes, 1 to 255. The compressor, the number of
 * threads, the block size and the split mode are settings of the process.
 *
 * Environment variables override arguments and settings: `BLOSC_CLEVEL`, `BLOSC_SHUFFLE`
 * (`NOSHUFFLE`, `SHUFFLE`, `BITSHUFFLE`), `BLOSC_TYPESIZE`, `BLOSC_COMPRESSOR`, `BLOSC_NTHREADS`,
 * `BLOSC_BLOCKSIZE` and `BLOSC_SPLITMODE` (`FORWARD_COMPAT`, `AUTO`, `ALWAYS`, `NEVER`). With
 * `BLOSC_WARN=1`, a message on stderr says why a buffer cannot be compressed.
 *
 * Returns the size of the chunk, 0 if it does not fit, or a negative code.
 *
 * Required of the caller:
 * The buffers have the given sizes.
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
 * Works like `blosc_compress`, but takes the settings as arguments: the name of the compressor,
 * the block size (0 if the library chooses it), and the number of threads. It ignores environment
 * variables except `BLOSC_WARN`.
 *
 * Required of the caller:
 * The buffers have the given sizes; `compressor` is a C string, or null.
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
 * Decompresses the chunk at `src` into `dest`, which has `destsize` bytes. `BLOSC_NTHREADS`
 * overrides the number of threads that was set. `blosc_cbuffer_validate` tells how large the data
 * are. Returns the size of the data, or 0 or a negative code if the chunk is damaged or `dest` is
 * too small.
 *
 * Required of the caller:
 * `src` has as many bytes as its header says; `dest` has `destsize` bytes.
 */
BLOSC_EXPORT int blosc_decompress(const void *src, void *dest, size_t destsize);

/**
 * Works like `blosc_decompress`, but takes the number of threads as an argument.
 *
 * Required of the caller:
 * As for `blosc_decompress`.
 */
BLOSC_EXPORT int blosc_decompress_ctx(const void *src, void *dest, size_t destsize, int numinternalthreads);

/**
 * Decompresses `nitems` items of the chunk at `src`, from item `start` on, into `dest`. Returns
 * their size in bytes, or a negative code.
 *
 * Required of the caller:
 * `src` has as many bytes as its header says; `dest` has room for the items.
 */
BLOSC_EXPORT int blosc_getitem(const void *src, int start, int nitems, void *dest);

/**
 * Sets `compname` to the name of the compressor with this code. Returns the code. If no compressor
 * has it, the name is NULL and the result -1.
 *
 * Required of the caller:
 * `compname` can be written, or is null.
 */
BLOSC_EXPORT int blosc_compcode_to_compname(int compcode, const char **compname);

/**
 * Returns the code of the compressor with this name, or -1 if there is none.
 *
 * Required of the caller:
 * `compname` is a C string, or null.
 */
BLOSC_EXPORT int blosc_compname_to_compcode(const char *compname);

/**
 * Returns the names of all compressors, separated by commas. The library owns the text.
 */
BLOSC_EXPORT const char *blosc_list_compressors(void);

/**
 * Returns the release of c-blosc that this library replaces. The library owns the text.
 */
BLOSC_EXPORT const char *blosc_get_version_string(void);

/**
 * Sets `complib` and `version`, unless they are NULL, to the name and the version of the library
 * that implements a compressor. The caller frees each text with `free()`. Returns the number of
 * the library. If the compressor does not exist, or memory is lacking, the texts are NULL and the
 * result is -1.
 *
 * Required of the caller:
 * `compname` is a C string; the others can be written, or are null.
 */
BLOSC_EXPORT int blosc_get_complib_info(const char *compname, char **complib, char **version);

/**
 * Reads the size of the data, of the chunk and of a block from the header. If the format is
 * unknown, they are 0.
 *
 * Required of the caller:
 * `cbuffer` has 16 bytes; the others can be written, or are null.
 */
BLOSC_EXPORT void blosc_cbuffer_sizes(const void *cbuffer, size_t *nbytes, size_t *cbytes, size_t *blocksize);

/**
 * Checks whether the `cbytes` bytes at `cbuffer` can be a chunk, and sets `nbytes` to the size of
 * its data. It is then safe to decompress the chunk, though this may fail. Returns 0, or -1 if the
 * bytes are no chunk.
 *
 * Required of the caller:
 * `cbuffer` has `cbytes` bytes; `nbytes` can be written, or is null.
 */
BLOSC_EXPORT int blosc_cbuffer_validate(const void *cbuffer, size_t cbytes, size_t *nbytes);

/**
 * Reads the size of an item, and the bits `BLOSC_DOSHUFFLE`, `BLOSC_MEMCPYED` and
 * `BLOSC_DOBITSHUFFLE` from the header. If the format is unknown, both are 0.
 *
 * Required of the caller:
 * `cbuffer` has 16 bytes; the others can be written, or are null.
 */
BLOSC_EXPORT void blosc_cbuffer_metainfo(const void *cbuffer, size_t *typesize, int *flags);

/**
 * Reads the version of the chunk format, and that of the codec's format, from the header.
 *
 * Required of the caller:
 * `cbuffer` has 16 bytes; the others can be written, or are null.
 */
BLOSC_EXPORT void blosc_cbuffer_versions(const void *cbuffer, int *version, int *compversion);

/**
 * Returns the name of the library that compressed a chunk, or NULL if it is unknown. This library
 * owns the name.
 *
 * Required of the caller:
 * `cbuffer` has 16 bytes.
 */
BLOSC_EXPORT const char *blosc_cbuffer_complib(const void *cbuffer);

#ifdef __cplusplus
}
#endif

#endif /* BLOSC_H */
