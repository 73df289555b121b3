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

/** The last chunk that was read, decompressed. */
struct chunk_cache_s {
  /** The chunk's data. */
  uint8_t *data;
  /** The chunk's index; -1 when nothing is kept. */
  int64_t nchunk;
};

/**
 * What an array is made from, seen from C by its address alone. Made by `b2nd_create_ctx`, freed
 * by `b2nd_free_ctx`.
 */
typedef struct b2nd_context_s b2nd_context_t;

/**
 * An array: its shape is cut into chunks, each chunk into blocks, the last ones padded. Every
 * field is the library's to write, and every pointer the library's to free, with `b2nd_free`.
 * Shapes and strides count items, and use the first `ndim` entries.
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
 * Makes the parameters of an array: `ndim` dimensions, the shapes of the array, of its chunks and
 * of their blocks, the dtype as text (NULL: opaque bytes), and the format of that text.
 * `b2_storage` (NULL: the defaults) says how it is kept and compressed, and is copied with what it
 * points to; the block size follows from `blockshape`. Arrays get the `nmetalayers` metalayers at
 * `metalayers` beside their own; names and contents must stay as long as the context is used. Free
 * it with `b2nd_free_ctx`.
 *
 * Returns NULL for impossible shapes, or more than `B2ND_MAX_METALAYERS` metalayers.
 *
 * Required of the caller:
 * The shapes have `ndim` elements each; all pointers are NULL or valid.
 */
BLOSC_EXPORT
b2nd_context_t *b2nd_create_ctx(const blosc2_storage *b2_storage,
                                int8_t ndim,
                                const int64_t *shape,
                                const int32_t *chunkshape,
                                const int32_t *blockshape,
                                const char *dtype,
                                int8_t dtype_format,
                                const blosc2_metalayer *metalayers,
                                int32_t nmetalayers);

/**
 * Frees the parameters of an array. Returns 0, or `BLOSC2_ERROR_NULL_POINTER`.
 *
 * Required of the caller:
 * `ctx` is NULL or came from `b2nd_create_ctx` and was not freed.
 */
BLOSC_EXPORT int b2nd_free_ctx(b2nd_context_t *ctx);

/**
 * Writes an array as a contiguous frame in a buffer. Where `*needs_free` is set, the program frees
 * `*cframe` with `free`; else the buffer is the array's, until that changes. Returns 0, or a
 * negative error code.
 *
 * Required of the caller:
 * The pointers are NULL or valid.
 */
BLOSC_EXPORT int b2nd_to_cframe(const b2nd_array_t *array, uint8_t **cframe, int64_t *cframe_len, bool *needs_free);

/**
 * Makes an array of a contiguous frame of `cframe_len` bytes; `copy` as in
 * `blosc2_schunk_from_buffer`. Returns 0, or a negative error code; `*array` is then NULL.
 *
 * Required of the caller:
 * The pointers are NULL or valid; `cframe` has `cframe_len` bytes.
 */
BLOSC_EXPORT int b2nd_from_cframe(uint8_t *cframe, int64_t cframe_len, bool copy, b2nd_array_t **array);

/**
 * Opens the array at `urlpath`, a file or a directory. Returns 0, or a negative error code;
 * `*array` is then NULL.
 *
 * Required of the caller:
 * The pointers are NULL or valid.
 */
BLOSC_EXPORT int b2nd_open(const char *urlpath, b2nd_array_t **array);

/**
 * As `b2nd_open`, for an array that begins `offset` bytes into a file.
 *
 * Required of the caller:
 * As for `b2nd_open`.
 */
BLOSC_EXPORT int b2nd_open_offset(const char *urlpath, b2nd_array_t **array, int64_t offset);

/**
 * Writes a copy of an array to `urlpath`, where nothing may be yet: a file, or a directory if the
 * array's chunks are each on their own. Returns 0, or a negative error code.
 *
 * Required of the caller:
 * The pointers are NULL or valid.
 */
BLOSC_EXPORT int b2nd_save(const b2nd_array_t *array, char *urlpath);

/**
 * Appends an array to a file as a contiguous frame; `b2nd_open_offset` opens it there. Returns
 * where it begins in the file, or a negative error code.
 *
 * Required of the caller:
 * The pointers are NULL or valid.
 */
BLOSC_EXPORT int64_t b2nd_save_append(const b2nd_array_t *array, const char *urlpath);

/**
 * Makes an array of the items at `buffer`, in C order; `buffersize` is at least their size.
 * Returns 0, or a negative error code; `*array` is then NULL.
 *
 * Required of the caller:
 * The pointers are NULL or valid; `buffer` has `buffersize` bytes.
 */
BLOSC_EXPORT int b2nd_from_cbuffer(b2nd_context_t *ctx, b2nd_array_t **array, const void *buffer, int64_t buffersize);

/**
 * Reads all items of an array into `buffer`, in C order; `buffersize` is at least their size.
 * Returns 0, or a negative error code.
 *
 * Required of the caller:
 * The pointers are NULL or valid; `buffer` has `buffersize` bytes.
 */
BLOSC_EXPORT int b2nd_to_cbuffer(const b2nd_array_t *array, void *buffer, int64_t buffersize);

/**
 * Copies the items from `src_start` to before `src_stop` of an array into another one, where they
 * begin at `dst_start`. Both have `ndim` dimensions and items of `itemsize` bytes, and lie in
 * buffers of the shapes given. Returns 0; `BLOSC2_ERROR_INVALID_PARAM` when the slice is not
 * inside both arrays.
 *
 * Required of the caller:
 * The buffers hold arrays of these shapes; shapes and positions have `ndim` elements.
 */
BLOSC_EXPORT
int b2nd_copy_buffer2(int8_t ndim,
                      int32_t itemsize,
                      const void *src,
                      const int64_t *src_pad_shape,
                      const int64_t *src_start,
                      const int64_t *src_stop,
                      void *dst,
                      const int64_t *dst_pad_shape,
                      const int64_t *dst_start);

/**
 * As `b2nd_copy_buffer2`, for items of at most 255 bytes.
 *
 * Required of the caller:
 * As for `b2nd_copy_buffer2`.
 */
BLOSC_EXPORT
B2ND_DEPRECATED("\"Use b2nd_copy_buffer2 instead.\"")
int b2nd_copy_buffer(int8_t ndim,
                     uint8_t itemsize,
                     const void *src,
                     const int64_t *src_pad_shape,
                     const int64_t *src_start,
                     const int64_t *src_stop,
                     void *dst,
                     const int64_t *dst_pad_shape,
                     const int64_t *dst_start);

/**
 * Makes an array whose items have no value yet: reading one gives anything. Returns 0, or a
 * negative error code; `*array` is then NULL.
 *
 * Required of the caller:
 * Both pointers are NULL or valid.
 */
BLOSC_EXPORT int b2nd_uninit(b2nd_context_t *ctx, b2nd_array_t **array);

/**
 * As `b2nd_zeros`.
 *
 * Required of the caller:
 * Both pointers are NULL or valid.
 */
BLOSC_EXPORT int b2nd_empty(b2nd_context_t *ctx, b2nd_array_t **array);

/**
 * Makes an array of zeros. Returns 0, or a negative error code; `*array` is then NULL.
 *
 * Required of the caller:
 * Both pointers are NULL or valid.
 */
BLOSC_EXPORT int b2nd_zeros(b2nd_context_t *ctx, b2nd_array_t **array);

/**
 * Makes an array of NaNs; items have 4 or 8 bytes. Returns 0, or a negative error code; `*array`
 * is then NULL.
 *
 * Required of the caller:
 * Both pointers are NULL or valid.
 */
BLOSC_EXPORT int b2nd_nans(b2nd_context_t *ctx, b2nd_array_t **array);

/**
 * Makes an array whose items are all the one at `fill_value`. What the array grows by later is
 * zeros, but for the rest of its last chunks, which hold the item already; where something was cut
 * off or written before, that is zeros too. Returns 0, or a negative error code; `*array` is then
 * NULL.
 *
 * Required of the caller:
 * The pointers are NULL or valid; `fill_value` points to an item.
 */
BLOSC_EXPORT int b2nd_full(b2nd_context_t *ctx, b2nd_array_t **array, const void *fill_value);

/**
 * Frees an array and its super-chunk. Views of it go on. Returns 0, or
 * `BLOSC2_ERROR_NULL_POINTER`.
 *
 * Required of the caller:
 * `array` is NULL or an array that was not freed and is not in use.
 */
BLOSC_EXPORT int b2nd_free(b2nd_array_t *array);

/**
 * Makes an array of a super-chunk that has the metalayer of one. The super-chunk is the array's
 * from then on, and is freed with it. Returns 0, or a negative error code; `*array` is then NULL.
 *
 * Required of the caller:
 * Both pointers are NULL or valid.
 */
BLOSC_EXPORT int b2nd_from_schunk(blosc2_schunk *schunk, b2nd_array_t **array);

/**
 * Makes a new array of the items from `start` to before `stop` of `src`. Dimensions and shape of
 * `ctx` become those of the slice. Returns 0, or a negative error code; `*array` is then NULL.
 *
 * Required of the caller:
 * The pointers are NULL or valid; positions have `src->ndim` elements.
 */
BLOSC_EXPORT
int b2nd_get_slice(b2nd_context_t *ctx,
                   b2nd_array_t **array,
                   const b2nd_array_t *src,
                   const int64_t *start,
                   const int64_t *stop);

/**
 * Copies an array with its metalayers into the storage, the chunks and the blocks of `ctx`, whose
 * dimensions and shape become those of `src`. Returns 0, or a negative error code; `*array` is
 * then NULL.
 *
 * Required of the caller:
 * The pointers are NULL or valid.
 */
BLOSC_EXPORT int b2nd_copy(b2nd_context_t *ctx, const b2nd_array_t *src, b2nd_array_t **array);

/**
 * Joins two arrays along an axis; their other dimensions and their items are alike. With `copy`
 * the result is a new array in the storage, the chunks and the blocks of `ctx`, with the
 * metalayers of `src1`; without, `src1` itself grows, all at once, and `*array` is `src1`. Returns
 * 0, or a negative error code.
 *
 * Required of the caller:
 * The pointers are NULL or valid; without `copy`, `ctx` is not used.
 */
BLOSC_EXPORT
int b2nd_concatenate(b2nd_context_t *ctx,
                     const b2nd_array_t *src1,
                     const b2nd_array_t *src2,
                     int8_t axis,
                     bool copy,
                     b2nd_array_t **array);

/**
 * Writes the `b2nd` metalayer. `*smeta` is for the program to free with `free`. A `dtype` of NULL
 * stands for `B2ND_DEFAULT_DTYPE`. Returns the size of the metalayer; `BLOSC2_ERROR_FAILURE` for
 * too many dimensions or a negative `dtype_format`.
 *
 * Required of the caller:
 * The shapes have `ndim` elements each, `dtype` is NULL or a C string, `smeta` is valid.
 */
BLOSC_EXPORT
int b2nd_serialize_meta(int8_t ndim,
                        const int64_t *shape,
                        const int32_t *chunkshape,
                        const int32_t *blockshape,
                        const char *dtype,
                        int8_t dtype_format,
                        uint8_t **smeta);

/**
 * Reads the `b2nd` metalayer, of `smeta_len` bytes. The shapes get `*ndim` elements each, at most
 * `B2ND_MAX_DIM`. `*dtype` gets a text for the program to free with `free`, NULL when the
 * metalayer has none; with `dtype` or `dtype_format` NULL that part is not read. Returns the bytes
 * read; `BLOSC2_ERROR_NULL_POINTER` for another NULL argument; `BLOSC2_ERROR_FAILURE` when the
 * metalayer is broken.
 *
 * Required of the caller:
 * `smeta` has `smeta_len` bytes; the shapes have room for `B2ND_MAX_DIM` elements each.
 */
BLOSC_EXPORT
int b2nd_deserialize_meta(const uint8_t *smeta,
                          int32_t smeta_len,
                          int8_t *ndim,
                          int64_t *shape,
                          int32_t *chunkshape,
                          int32_t *blockshape,
                          char **dtype,
                          int8_t *dtype_format);

/**
 * Prints what the `b2nd` metalayer of an array says. Returns 0, or a negative error code.
 *
 * Required of the caller:
 * `array` is NULL or valid.
 */
BLOSC_EXPORT int b2nd_print_meta(const b2nd_array_t *array);

/**
 * Gives an array another shape of as many dimensions. It grows and shrinks at the far ends; with
 * `start` not NULL, at these positions, which then, like the lengths that come or go, must be
 * multiples of the chunk's. What it grows by is zeros. The shape and the chunks change at once.
 * Returns 0, or a negative error code.
 *
 * Required of the caller:
 * The pointers are NULL or valid; shape and positions have `array->ndim` elements.
 */
BLOSC_EXPORT int b2nd_resize(b2nd_array_t *array, const int64_t *new_shape, const int64_t *start);

/**
 * Puts the items of `buffer`, as many as `buffersize` bytes are, before position `insert_start`
 * along `axis`: at the end, or where a chunk begins. The shape and the chunks change at once.
 * Returns 0, or a negative error code.
 *
 * Required of the caller:
 * The pointers are NULL or valid; `buffer` has `buffersize` bytes.
 */
BLOSC_EXPORT
int b2nd_insert(b2nd_array_t *array,
                const void *buffer,
                int64_t buffersize,
                int8_t axis,
                int64_t insert_start);

/**
 * Puts the items of `buffer`, as many as `buffersize` bytes are, at the end of `axis`. The shape
 * and the chunks change at once. Returns 0, or a negative error code.
 *
 * Required of the caller:
 * As for `b2nd_insert`.
 */
BLOSC_EXPORT int b2nd_append(b2nd_array_t *array, const void *buffer, int64_t buffersize, int8_t axis);

/**
 * Takes `delete_len` items away from `axis`, from position `delete_start` on: the last ones, or
 * whole chunks. The shape and the chunks change at once. Returns 0, or a negative error code.
 *
 * Required of the caller:
 * `array` is NULL or valid.
 */
BLOSC_EXPORT int b2nd_delete(b2nd_array_t *array, int8_t axis, int64_t delete_start, int64_t delete_len);

/**
 * Follows what other handles and processes did to the shape of an array on disk. All functions
 * that read or write data do that by themselves. Returns 1 if the shape was read again, 0 if it
 * was current, or a negative error code; `BLOSC2_ERROR_DATA` if more than the shape is another.
 *
 * Required of the caller:
 * `array` is NULL or valid.
 */
BLOSC_EXPORT int b2nd_refresh(b2nd_array_t *array);

/**
 * Reads the items whose indices along each dimension are in `selection`, lists of `selection_size`
 * indices each, in any order and also repeated, into `buffer`, an array of shape `buffershape`.
 * Returns 0, or a negative error code.
 *
 * Required of the caller:
 * The pointers are NULL or valid; `buffer` has `buffersize` bytes.
 */
BLOSC_EXPORT
int b2nd_get_orthogonal_selection(const b2nd_array_t *array,
                                  int64_t **selection,
                                  int64_t *selection_size,
                                  void *buffer,
                                  int64_t *buffershape,
                                  int64_t buffersize);

/**
 * Writes the items whose indices along each dimension are in `selection`, lists of
 * `selection_size` indices each, out of `buffer`, an array of shape `buffershape`: all of them or,
 * if that fails, none. Of an item that is named more than once the last value counts. Returns 0,
 * or a negative error code.
 *
 * Required of the caller:
 * As for `b2nd_get_orthogonal_selection`.
 */
BLOSC_EXPORT
int b2nd_set_orthogonal_selection(b2nd_array_t *array,
                                  int64_t **selection,
                                  int64_t *selection_size,
                                  const void *buffer,
                                  int64_t *buffershape,
                                  int64_t buffersize);

/**
 * Reads `ncoords` items into `buffer`, one after the other. `coords` counts them through the whole
 * array in C order, in any order and also repeated. Returns 0, or a negative error code.
 *
 * Required of the caller:
 * The pointers are NULL or valid; `buffer` has `buffersize` bytes.
 */
BLOSC_EXPORT
int b2nd_get_sparse_cbuffer(const b2nd_array_t *array,
                            int64_t ncoords,
                            const int64_t *coords,
                            void *buffer,
                            int64_t buffersize);

/**
 * Reads the items from `start` to before `stop` into `buffer`, an array of shape `buffershape` in
 * C order, from its front on; the rest of the `buffersize` bytes becomes zeros. Only the blocks
 * that are touched are decompressed. Returns 0, or a negative error code.
 *
 * Required of the caller:
 * The pointers are NULL or valid; positions and shape have `array->ndim` elements.
 */
BLOSC_EXPORT
int b2nd_get_slice_cbuffer(const b2nd_array_t *array,
                           const int64_t *start,
                           const int64_t *stop,
                           void *buffer,
                           const int64_t *buffershape,
                           int64_t buffersize);

/**
 * Writes the items from `start` to before `stop` out of `buffer`, an array of shape `buffershape`
 * in C order, from its front on: all of them or, if that fails, none. Only the blocks that are
 * touched are compressed again. Returns 0, or a negative error code.
 *
 * Required of the caller:
 * The pointers are NULL or valid; positions and shape have `array->ndim` elements, `buffer` has
 * `buffersize` bytes.
 */
BLOSC_EXPORT
int b2nd_set_slice_cbuffer(const void *buffer,
                           const int64_t *buffershape,
                           int64_t buffersize,
                           const int64_t *start,
                           const int64_t *stop,
                           b2nd_array_t *array);

/**
 * Makes a view of an array with further dimensions of length 1: one wherever `axis`, of
 * `final_dims` elements, is true. It shows the same chunks, and keeps them alive. Returns 0, or a
 * negative error code; `*view` is then NULL.
 *
 * Required of the caller:
 * The pointers are NULL or valid.
 */
BLOSC_EXPORT int b2nd_expand_dims(const b2nd_array_t *array, b2nd_array_t **view, const bool *axis, uint8_t final_dims);

/**
 * Makes a view of an array without its dimensions of length 1. It shows the same chunks, and keeps
 * them alive. Returns 0, or a negative error code; `*view` is then NULL.
 *
 * Required of the caller:
 * The pointers are NULL or valid.
 */
BLOSC_EXPORT int b2nd_squeeze(b2nd_array_t *array, b2nd_array_t **view);

/**
 * Makes a view of an array without the dimensions for which `index` is true, all of length 1. It
 * shows the same chunks, and keeps them alive. Returns 0, `BLOSC2_ERROR_INVALID_INDEX` for a
 * dimension of another length, or another negative error code; `*view` is then NULL.
 *
 * Required of the caller:
 * The pointers are NULL or valid; `index` has `array->ndim` elements.
 */
BLOSC_EXPORT int b2nd_squeeze_index(b2nd_array_t *array, b2nd_array_t **view, const bool *index);

/* Leaves the function below when fewer than `nbytes` of the metalayer are left; only for what follows. */
#define B2ND_REQUIRE_META_NBYTES(nbytes)                                                          \
  do {                                                                                            \
    if (len - at < (size_t)(nbytes)) {                                                            \
      if (getenv("BLOSC_TRACE") != NULL) {                                                        \
        fprintf(stderr, "[error] - The b2nd metalayer ends early (%s:%d)\n", __FILE__, __LINE__); \
      }                                                                                           \
      return BLOSC2_ERROR_FAILURE;                                                                \
    }                                                                                             \
  } while (0)

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
  size_t at = 0;
  int list, dim;
  BLOSC_ERROR_NULL(smeta, BLOSC2_ERROR_NULL_POINTER);
  BLOSC_ERROR_NULL(ndim, BLOSC2_ERROR_NULL_POINTER);
  BLOSC_ERROR_NULL(shape, BLOSC2_ERROR_NULL_POINTER);
  BLOSC_ERROR_NULL(chunkshape, BLOSC2_ERROR_NULL_POINTER);
  BLOSC_ERROR_NULL(blockshape, BLOSC2_ERROR_NULL_POINTER);
  if (dtype != NULL) {
    *dtype = NULL;
  }
  if (dtype_format != NULL) {
    *dtype_format = 0;
  }
  /* The marks of an array and of the version, then ndim. */
  B2ND_REQUIRE_META_NBYTES(3);
  *ndim = (int8_t)smeta[2];
  at = 3;
  if (*ndim < 0 || *ndim > B2ND_MAX_DIM) {
    if (getenv("BLOSC_TRACE") != NULL) {
      fprintf(stderr, "[error] - The b2nd metalayer says %d dimensions (%s:%d)\n", *ndim, __FILE__, __LINE__);
    }
    return BLOSC2_ERROR_FAILURE;
  }

  /* Three lists of ndim numbers, a mark before each list and each number. */
  for (list = 0; list < 3; list++) {
    int32_t *const lengths = list == 1 ? chunkshape : blockshape;
    const size_t width = list == 0 ? sizeof(int64_t) : sizeof(int32_t);
    B2ND_REQUIRE_META_NBYTES(1 + (size_t)*ndim * (1 + width));
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
    B2ND_REQUIRE_META_NBYTES(2 + sizeof(text_len));
    if (smeta[at + 1] != 0xdb) {
      if (getenv("BLOSC_TRACE") != NULL) {
        fprintf(stderr, "[error] - The b2nd metalayer has no dtype where it should be (%s:%d)\n", __FILE__, __LINE__);
      }
      return BLOSC2_ERROR_FAILURE;
    }
    *dtype_format = (int8_t)smeta[at];
    swap_store(&text_len, smeta + at + 2, (int)sizeof(text_len));
    at += 2 + sizeof(text_len);
    /* A negative length is a huge one as a size. */
    B2ND_REQUIRE_META_NBYTES(text_len);
    *dtype = (char *)malloc((size_t)text_len + 1);
    if (*dtype == NULL) {
      BLOSC_ERROR(BLOSC2_ERROR_MEMORY_ALLOC);
    }
    memcpy(*dtype, smeta + at, (size_t)text_len);
    (*dtype)[text_len] = '\0';
    at += (size_t)text_len;
  }
  return (int)at;
}

#undef B2ND_REQUIRE_META_NBYTES

#ifdef __cplusplus
}
#endif

#endif /* BLOSC_B2ND_H */
