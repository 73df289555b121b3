/* Part of oxiblosc, the C library of Blosc2 in Rust; see its README.md. */
/* Generated from src/capi by the test `headers`: change it there. */

#ifndef BLOSC_B2ND_H
#define BLOSC_B2ND_H

#include "blosc2/blosc2-export.h"
#include "blosc2.h"

#include <stdio.h>
#include <stdlib.h>

/* Before a function that another one replaced. */
#if defined(__GNUC__) || defined(__clang__)
#define B2ND_DEPRECATED(msg) __attribute__((deprecated(msg)))
#else
#define B2ND_DEPRECATED(msg)
#endif

#ifdef __cplusplus
extern "C" {
#endif

/** Version of the `b2nd` metalayer, 0 to 127. */
#define B2ND_METALAYER_VERSION 0
/** Most dimensions an array has. */
#define B2ND_MAX_DIM 16
/** How many metalayers of its own a program may add to an array: `b2nd` takes one. */
#define B2ND_MAX_METALAYERS (BLOSC2_MAX_METALAYERS - 1)
/** The format of the dtype is NumPy's. */
#define DTYPE_NUMPY_FORMAT 0
/** The dtype of an array that was created without one: single bytes. */
#define B2ND_DEFAULT_DTYPE "|u1"
/** The format of `B2ND_DEFAULT_DTYPE`. */
#define B2ND_DEFAULT_DTYPE_FORMAT DTYPE_NUMPY_FORMAT

/**
 * What an array is made from, seen from C by its address alone. Made by `b2nd_create_ctx`, freed by `b2nd_free_ctx`.
 */
typedef struct b2nd_context_s b2nd_context_s;

/** The last chunk that was read, decompressed. */
typedef struct chunk_cache_s {
  /** The chunk's data. */
  uint8_t *data;
  /** The chunk's index; -1 when nothing is kept. */
  int64_t nchunk;
} chunk_cache_s;

/** The name by which C knows it. */
typedef struct b2nd_context_s b2nd_context_t;

/**
 * An array: its shape is cut into chunks, each chunk into blocks, the last ones padded. Every field is the library's to
 * write, and every pointer the library's to free, with `b2nd_free`. Shapes and strides count items, and use the first
 * `ndim` entries.
 */
typedef struct b2nd_array_t {
  /** The super-chunk that holds the data. */
  blosc2_schunk *sc;
  /** Shape of the array. */
  int64_t shape[B2ND_MAX_DIM];
  /** Shape of a chunk. */
  int32_t chunkshape[B2ND_MAX_DIM];
  /** Shape of the array, padded to whole chunks. */
  int64_t extshape[B2ND_MAX_DIM];
  /** Shape of a block. */
  int32_t blockshape[B2ND_MAX_DIM];
  /** Shape of a chunk, padded to whole blocks. */
  int64_t extchunkshape[B2ND_MAX_DIM];
  /** Items of the array. */
  int64_t nitems;
  /** Items of a chunk. */
  int32_t chunknitems;
  /** Items of the padded array. */
  int64_t extnitems;
  /** Items of a block. */
  int32_t blocknitems;
  /** Items of a padded chunk. */
  int64_t extchunknitems;
  /** Dimensions. */
  int8_t ndim;
  /** The last chunk that was read. */
  struct chunk_cache_s chunk_cache;
  /** From one item to the next along each dimension, in the array. */
  int64_t item_array_strides[B2ND_MAX_DIM];
  /** From one item to the next along each dimension, in a chunk. */
  int64_t item_chunk_strides[B2ND_MAX_DIM];
  /** From one item to the next along each dimension, in a padded chunk. */
  int64_t item_extchunk_strides[B2ND_MAX_DIM];
  /** From one item to the next along each dimension, in a block. */
  int64_t item_block_strides[B2ND_MAX_DIM];
  /** From one block to the next along each dimension, in a chunk. */
  int64_t block_chunk_strides[B2ND_MAX_DIM];
  /** From one chunk to the next along each dimension, in the array. */
  int64_t chunk_array_strides[B2ND_MAX_DIM];
  /** The dtype as text. */
  char *dtype;
  /** How to read the dtype; `DTYPE_NUMPY_FORMAT` by default. */
  int8_t dtype_format;
  /** The super-chunk's `change_tick` that these fields agree with. */
  int64_t last_tick;
} b2nd_array_t;

/**
 * Reads the `b2nd` metalayer, of `smeta_len` bytes. Inline, so that a plugin can do it without linking to the library.
 *
 * The shapes get `*ndim` entries each, at most `B2ND_MAX_DIM`. `*dtype` gets a text for the caller to `free`, NULL
 * when the metalayer has none; with `dtype` or `dtype_format` NULL that part is not read. Returns the bytes read;
 * `BLOSC2_ERROR_NULL_POINTER` for another NULL argument; `BLOSC2_ERROR_FAILURE` when the metalayer is broken; or
 * `BLOSC2_ERROR_MEMORY_ALLOC`.
 */
static inline int b2nd_deserialize_meta_inline(const uint8_t *smeta, int32_t smeta_len, int8_t *ndim, int64_t *shape,
                                               int32_t *chunkshape, int32_t *blockshape, char **dtype,
                                               int8_t *dtype_format) {
  const size_t len = smeta_len > 0 ? (size_t)smeta_len : 0;
  size_t at = 3; /* the marks of an array and of the version, then ndim */
  int list, dim;
  if (smeta == NULL || ndim == NULL || shape == NULL || chunkshape == NULL || blockshape == NULL) {
    BLOSC_TRACE_TEXT_("error", "Pointer is null");
    return BLOSC2_ERROR_NULL_POINTER;
  }
  if (dtype != NULL) {
    *dtype = NULL;
  }
  if (dtype_format != NULL) {
    *dtype_format = 0;
  }
  if (len < at) {
    BLOSC_TRACE_TEXT_("error", "The b2nd metalayer ends early");
    return BLOSC2_ERROR_FAILURE;
  }
  *ndim = (int8_t)smeta[2];
  if (*ndim < 0 || *ndim > B2ND_MAX_DIM) {
    BLOSC_TRACE_TEXT_("error", "The b2nd metalayer has too many dimensions");
    return BLOSC2_ERROR_FAILURE;
  }

  /* Three lists of ndim numbers, a mark before each list and each number. */
  for (list = 0; list < 3; list++) {
    int32_t *const lengths = list == 1 ? chunkshape : blockshape;
    const size_t width = list == 0 ? sizeof(int64_t) : sizeof(int32_t);
    if (len - at < 1 + (size_t)*ndim * (1 + width)) {
      BLOSC_TRACE_TEXT_("error", "The b2nd metalayer ends early");
      return BLOSC2_ERROR_FAILURE;
    }
    at += 1;
    for (dim = 0; dim < *ndim; dim++) {
      void *const number = list == 0 ? (void *)(shape + dim) : (void *)(lengths + dim);
      swap_store(number, smeta + at + 1, (int)width);
      at += 1 + width;
    }
  }

  /* The dtype: its format, then a text of up to 32 bits of length. Metalayers of before b2nd have none. */
  if (dtype != NULL && dtype_format != NULL && at < len) {
    int32_t text_len = -1;
    if (len - at < 2 + sizeof(text_len) || smeta[at + 1] != 0xdb) {
      BLOSC_TRACE_TEXT_("error", "The b2nd metalayer has no dtype where it should be");
      return BLOSC2_ERROR_FAILURE;
    }
    *dtype_format = (int8_t)smeta[at];
    swap_store(&text_len, smeta + at + 2, (int)sizeof(text_len));
    at += 2 + sizeof(text_len);
    if (text_len < 0 || len - at < (size_t)text_len) {
      BLOSC_TRACE_TEXT_("error", "The dtype of the b2nd metalayer ends early");
      return BLOSC2_ERROR_FAILURE;
    }
    *dtype = (char *)malloc((size_t)text_len + 1);
    if (*dtype == NULL) {
      BLOSC_TRACE_TEXT_("error", "No memory for the dtype");
      return BLOSC2_ERROR_MEMORY_ALLOC;
    }
    memcpy(*dtype, smeta + at, (size_t)text_len);
    (*dtype)[text_len] = '\0';
    at += (size_t)text_len;
  }
  return (int)at;
}

#ifdef __cplusplus
}
#endif

#endif /* BLOSC_B2ND_H */
