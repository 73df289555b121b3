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
