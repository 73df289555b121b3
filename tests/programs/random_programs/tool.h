/* What the random programs are made of: numbers, data, parameters, and the log that is compared. */
#pragma once
#define _GNU_SOURCE
#include <b2nd.h>
#include <blosc2.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) ((int64_t)(sizeof(array) / sizeof(*(array))))
/* One of a list of numbers. */
#define ONE_OF(...) (((const int[]){__VA_ARGS__})[below(COUNT(((const int[]){__VA_ARGS__})))])
#define MOST (1 << 17)

extern uint64_t random_state;

static inline uint64_t next_number(void) {
  uint64_t z = random_state += 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

static inline int64_t below(int64_t limit) { return limit <= 0 ? 0 : (int64_t)(next_number() % (uint64_t)limit); }
static inline int64_t between(int64_t least, int64_t most) { return least + below(most - least + 1); }
/* True once in `n` times. */
static inline bool once_in(int64_t n) { return below(n) == 0; }

/* A line of the log. What is written is flushed, so that it is there if the next call ends the process. */
__attribute__((format(printf, 1, 2))) static inline void say(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vprintf(format, arguments);
  va_end(arguments);
  putchar('\n');
  fflush(stdout);
}

static inline uint32_t hash(const void *data, int64_t len) {
  uint32_t sum = 2166136261;
  for (int64_t i = 0; i < len; i++) {
    sum = (sum ^ ((const uint8_t *)data)[i]) * 16777619;
  }
  return sum;
}

/* A buffer of at least a byte, of which more than `len` bytes are not zero at first. */
static inline uint8_t *buffer_of(int64_t len) {
  uint8_t *buffer = malloc((size_t)(len > 0 ? len : 1));
  if (buffer == NULL) {
    abort();
  }
  memset(buffer, 0xa5, (size_t)(len > 0 ? len : 1));
  return buffer;
}

/* Data of one of several kinds. */
static inline uint8_t *data_of(int64_t len, int32_t typesize) {
  uint8_t *data = buffer_of(len);
  int kind = (int)below(6);
  uint64_t first = next_number(), step = next_number() % 7;
  for (int64_t i = 0; i < len; i++) {
    int64_t item = i / typesize, byte = i % typesize;
    switch (kind) {
      case 0: data[i] = 0; break;
      case 1: data[i] = (uint8_t)(first >> (8 * (byte % 8))); break;
      case 2: data[i] = byte < 8 ? (uint8_t)((uint64_t)item * step >> (8 * byte)) : 0; break;
      case 3: data[i] = (uint8_t)(next_number() % 4 == 0 ? next_number() : first); break;
      case 4: data[i] = (uint8_t)next_number(); break;
      default: data[i] = (uint8_t)"a few words of a text, again and again"[(uint64_t)(item + (int64_t)(first % 9)) % 38];
    }
  }
  return data;
}

/* Parameters that the documentation allows. */
static inline blosc2_cparams random_cparams(int32_t typesize) {
  blosc2_cparams params = BLOSC2_CPARAMS_DEFAULTS;
  params.typesize = typesize;
  params.compcode = (uint8_t)ONE_OF(BLOSC_BLOSCLZ, BLOSC_LZ4, BLOSC_LZ4HC, BLOSC_ZLIB, BLOSC_ZSTD);
  params.clevel = (uint8_t)between(once_in(8) ? 0 : 1, 9);
  params.nthreads = (int16_t)between(1, 3);
  params.blocksize = once_in(2) ? 0 : (int32_t)between(8, 600) * typesize;
  params.splitmode = (int32_t)between(1, 4);
  memset(params.filters, 0, sizeof params.filters);
  int filters = (int)below(3);
  for (int i = 0; i < filters; i++) {
    int slot = BLOSC2_MAX_FILTERS - filters + i;
    switch (below(5)) {
      case 0: params.filters[slot] = BLOSC_BITSHUFFLE; break;
      case 1:
        if ((typesize == 4 || typesize == 8) && i == 0) {
          params.filters[slot] = BLOSC_TRUNC_PREC;
          params.filters_meta[slot] = (uint8_t)between(1, 20);
        }
        break;
      case 2:
        if (typesize > 1 && typesize <= 16) {
          params.filters[slot] = 35;
          params.filters_meta[slot] = 0;
        }
        break;
      default: params.filters[slot] = BLOSC_SHUFFLE;
    }
  }
  bool has_dictionaries = params.compcode == BLOSC_LZ4 || params.compcode == BLOSC_LZ4HC || params.compcode == BLOSC_ZSTD;
  params.use_dict = has_dictionaries && params.clevel > 0 && once_in(6);
  return params;
}

/* Whether as many bytes are written by both libraries. The order of the blocks depends on the threads in the reference. */
static inline bool same_bytes(const blosc2_cparams *params) {
  return (params->compcode == BLOSC_BLOSCLZ || params->compcode == BLOSC_LZ4) && params->use_dict == 0;
}

/* Whether items come back as they were. */
static inline bool lossless(const blosc2_cparams *params) {
  return params->filters[4] != BLOSC_TRUNC_PREC && params->filters[5] != BLOSC_TRUNC_PREC;
}

/* Whether a chunk is decompressed by the context of a super-chunk alone. */
static inline bool needs_schunk(const blosc2_cparams *params) { return params->filters[4] == 35 || params->filters[5] == 35; }

static inline blosc2_dparams random_dparams(void) {
  blosc2_dparams params = BLOSC2_DPARAMS_DEFAULTS;
  params.nthreads = (int16_t)between(1, 3);
  return params;
}

/* Return codes of compression, which say more only where the bytes are the same. */
static inline int64_t shown(int64_t rc, bool exact) { return exact || rc <= 0 ? rc : 1; }

void say_params(const blosc2_cparams *params);
void chunk_program(void);
void schunk_program(void);
void array_program(void);
void blosc1_program(void);
void plugin_array_program(void);
void plugin_chunk_program(void);
void invalid_chunk_program(void);
void invalid_schunk_program(void);
void invalid_array_program(void);
void uneven_program(void);
void handles_program(void);
void layers_program(void);
void orders_program(void);
/* Reads a frame of either library, in a file or a directory. */
void read_frame(const char *path);
void say_array(b2nd_array_t *array);
/* A copy of an array through a frame in memory; none where that fails. */
b2nd_array_t *through_cframe(b2nd_array_t *array);
