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
