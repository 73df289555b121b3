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
