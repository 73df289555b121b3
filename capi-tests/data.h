/* Inputs for the tests: the same bytes on every machine, so that a failure can be repeated. */
#ifndef OXIBLOSC_DATA_H
#define OXIBLOSC_DATA_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "blosc2.h"

/* Memory that is there: a test cannot go on without it. The caller frees it. */
static inline void *reserve(size_t nbytes) {
  void *memory = malloc(nbytes > 0 ? nbytes : 1);
  if (memory == NULL) {
    fprintf(stderr, "no memory for %zu bytes\n", nbytes);
    abort();
  }
  return memory;
}

/* 0, 1, 2, ... as little numbers that compress well under every filter. The caller frees it. */
static inline int32_t *ramp(int32_t nitems) {
  int32_t *items = reserve((size_t)nitems * sizeof *items);
  for (int32_t i = 0; i < nitems; i++) {
    items[i] = i;
  }
  return items;
}

/* Bytes that no codec can shrink (xorshift64*). The caller frees it. */
static inline uint8_t *noise(size_t nbytes, uint64_t seed) {
  uint8_t *bytes = reserve(nbytes);
  uint64_t state = seed * 2 + 1;
  for (size_t i = 0; i < nbytes; i++) {
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    bytes[i] = (uint8_t)((state * UINT64_C(0x2545F4914F6CDD1D)) >> 56);
  }
  return bytes;
}

/* Bytes that compress somewhat: a slow wave with a little of everything in it. The caller frees it. */
static inline uint8_t *wave(size_t nbytes) {
  uint8_t *bytes = reserve(nbytes);
  for (size_t i = 0; i < nbytes; i++) {
    bytes[i] = (uint8_t)((i / 7) ^ (i >> 9) ^ (i % 251 == 0 ? i : 0));
  }
  return bytes;
}

/* Lines of made-up log text, as a dictionary or a match finder likes them. The caller frees it. */
static inline char *text(size_t nbytes) {
  static const char *const words[] = {"request", "served", "from", "cache", "node", "block", "missing", "retried"};
  char *bytes = reserve(nbytes + 64);
  size_t used = 0;
  for (uint32_t i = 0; used < nbytes; i++) {
    const uint32_t mixed = i * UINT32_C(2654435761);
    used += (size_t)sprintf(bytes + used, "%s %s %u\n", words[i % 8], words[mixed >> 29], mixed >> 4);
  }
  return bytes;
}

/* Compresses a buffer with the given parameters into memory that holds the worst case. Returns the chunk, which the
 * caller frees, and its size, or what the library answered, in *cbytes. */
static inline uint8_t *compress_with(blosc2_cparams cparams, const void *src, int32_t nbytes, int *cbytes) {
  uint8_t *chunk = reserve((size_t)nbytes + BLOSC2_MAX_OVERHEAD);
  blosc2_context *cctx = blosc2_create_cctx(cparams);
  *cbytes = cctx == NULL ? BLOSC2_ERROR_NULL_POINTER
                         : blosc2_compress_ctx(cctx, src, nbytes, chunk, nbytes + BLOSC2_MAX_OVERHEAD);
  if (cctx != NULL) {
    blosc2_free_ctx(cctx);
  }
  return chunk;
}

/* Decompresses a chunk with a context of `nthreads`; returns what the library answers. */
static inline int decompress_with(int16_t nthreads, const void *chunk, int32_t cbytes, void *dest, int32_t destsize) {
  blosc2_dparams dparams = BLOSC2_DPARAMS_DEFAULTS;
  dparams.nthreads = nthreads;
  blosc2_context *dctx = blosc2_create_dctx(dparams);
  const int nbytes = blosc2_decompress_ctx(dctx, chunk, cbytes, dest, destsize);
  blosc2_free_ctx(dctx);
  return nbytes;
}

#endif
