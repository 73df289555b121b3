/* Chunks of one value, which hold that value and no data: zeros, NaNs, any repeated value, and "uninitialised". */
#include <math.h>

#include "check.h"
#include "data.h"

enum { NITEMS = 30000 };

static int special_kind(const uint8_t *chunk) {
  return (chunk[BLOSC2_CHUNK_BLOSC2_FLAGS] >> 4) & BLOSC2_SPECIAL_MASK;
}

static void zeros(void) {
  uint8_t chunk[BLOSC_EXTENDED_HEADER_LENGTH];
  uint8_t *back = reserve(NITEMS * 8);
  const uint8_t none[800] = {0};
  blosc2_cparams cparams = BLOSC2_CPARAMS_DEFAULTS;
  const int cbytes = blosc2_chunk_zeros(cparams, NITEMS * 8, chunk, sizeof chunk);
  CHECK_EQ(cbytes, BLOSC_EXTENDED_HEADER_LENGTH);
  CHECK_EQ(special_kind(chunk), BLOSC2_SPECIAL_ZERO);
  memset(back, 0xFF, NITEMS * 8);
  CHECK_EQ(blosc2_decompress(chunk, cbytes, back, NITEMS * 8), NITEMS * 8);
  for (int i = 0; i < NITEMS * 8; i++) {
    CHECK_EQ(back[i], 0);
  }
  memset(back, 0xFF, NITEMS * 8);
  CHECK_EQ(blosc2_getitem(chunk, cbytes, 100, 100, back, 800), 800);
  CHECK_BYTES(back, none, 800);
  free(back);
}

static void nans(void) {
  uint8_t chunk[BLOSC_EXTENDED_HEADER_LENGTH];
  double *doubles = reserve(NITEMS * sizeof *doubles);
  float *floats = reserve(NITEMS * sizeof *floats);
  blosc2_cparams cparams = BLOSC2_CPARAMS_DEFAULTS;
  cparams.typesize = sizeof *doubles;
  int cbytes = blosc2_chunk_nans(cparams, NITEMS * 8, chunk, sizeof chunk);
  CHECK_EQ(cbytes, BLOSC_EXTENDED_HEADER_LENGTH);
  CHECK_EQ(special_kind(chunk), BLOSC2_SPECIAL_NAN);
  CHECK_EQ(decompress_with(2, chunk, cbytes, doubles, NITEMS * 8), NITEMS * 8);
  for (int i = 0; i < NITEMS; i++) {
    CHECK(isnan(doubles[i]));
  }
  cparams.typesize = sizeof *floats;
  cbytes = blosc2_chunk_nans(cparams, NITEMS * 4, chunk, sizeof chunk);
  CHECK_EQ(cbytes, BLOSC_EXTENDED_HEADER_LENGTH);
  CHECK_EQ(blosc2_decompress(chunk, cbytes, floats, NITEMS * 4), NITEMS * 4);
  for (int i = 0; i < NITEMS; i++) {
    CHECK(isnan(floats[i]));
  }
  free(doubles);
  free(floats);
}

static void repeated_value(void) {
  /* Types as wide as a struct, and wider than the byte that the header has for them. */
  static const int32_t typesizes[] = {1, 3, 4, 8, 16, 255, 300};
  enum { COUNT = 500 };
  for (size_t t = 0; t < sizeof typesizes / sizeof *typesizes; t++) {
    const int32_t typesize = typesizes[t], nbytes = typesize * COUNT;
    uint8_t *value = noise((size_t)typesize, 9);
    uint8_t *chunk = reserve((size_t)(BLOSC_EXTENDED_HEADER_LENGTH + typesize));
    uint8_t *back = reserve((size_t)nbytes);
    blosc2_cparams cparams = BLOSC2_CPARAMS_DEFAULTS;
    cparams.typesize = typesize;
    const int cbytes =
        blosc2_chunk_repeatval(cparams, nbytes, chunk, BLOSC_EXTENDED_HEADER_LENGTH + typesize, value);
    CHECK_EQ(cbytes, BLOSC_EXTENDED_HEADER_LENGTH + typesize);
    CHECK_EQ(special_kind(chunk), BLOSC2_SPECIAL_VALUE);
    CHECK_BYTES(chunk + BLOSC_EXTENDED_HEADER_LENGTH, value, typesize);
    memset(back, 0, (size_t)nbytes);
    CHECK_EQ(blosc2_decompress(chunk, cbytes, back, nbytes), nbytes);
    for (int i = 0; i < COUNT; i++) {
      CHECK_BYTES(back + i * typesize, value, typesize);
    }
    /* One byte short of the value, and nothing is made. */
    CHECK_EQ(blosc2_chunk_repeatval(cparams, nbytes, chunk, BLOSC_EXTENDED_HEADER_LENGTH + typesize - 1, value),
             BLOSC2_ERROR_DATA);
    free(value);
    free(chunk);
    free(back);
  }
}

static void uninitialised(void) {
  uint8_t chunk[BLOSC_EXTENDED_HEADER_LENGTH];
  uint8_t *back = reserve(NITEMS * 8);
  blosc2_cparams cparams = BLOSC2_CPARAMS_DEFAULTS;
  const int cbytes = blosc2_chunk_uninit(cparams, NITEMS * 8, chunk, sizeof chunk);
  CHECK_EQ(cbytes, BLOSC_EXTENDED_HEADER_LENGTH);
  CHECK_EQ(special_kind(chunk), BLOSC2_SPECIAL_UNINIT);
  CHECK_EQ(blosc2_decompress(chunk, cbytes, back, NITEMS * 8), NITEMS * 8);
  free(back);
}

static void sizes_that_cannot_be(void) {
  uint8_t chunk[BLOSC_EXTENDED_HEADER_LENGTH + 8];
  const int64_t value = 7;
  blosc2_cparams cparams = BLOSC2_CPARAMS_DEFAULTS;
  const int32_t short_dest = BLOSC_EXTENDED_HEADER_LENGTH - 1, dest = sizeof chunk;
  CHECK_EQ(blosc2_chunk_zeros(cparams, 800, chunk, short_dest), BLOSC2_ERROR_DATA);
  CHECK_EQ(blosc2_chunk_nans(cparams, 800, chunk, short_dest), BLOSC2_ERROR_DATA);
  CHECK_EQ(blosc2_chunk_uninit(cparams, 800, chunk, short_dest), BLOSC2_ERROR_DATA);
  CHECK_EQ(blosc2_chunk_zeros(cparams, 801, chunk, dest), BLOSC2_ERROR_DATA);
  CHECK_EQ(blosc2_chunk_nans(cparams, 801, chunk, dest), BLOSC2_ERROR_DATA);
  CHECK_EQ(blosc2_chunk_uninit(cparams, 801, chunk, dest), BLOSC2_ERROR_DATA);
  CHECK_EQ(blosc2_chunk_repeatval(cparams, 801, chunk, dest, &value), BLOSC2_ERROR_DATA);
  CHECK_EQ(blosc2_chunk_zeros(cparams, 0, chunk, dest), BLOSC_EXTENDED_HEADER_LENGTH);
  uint8_t nothing;
  CHECK_EQ(blosc2_decompress(chunk, BLOSC_EXTENDED_HEADER_LENGTH, &nothing, 0), 0);
}

static void equal_bytes_become_special(void) {
  /* The compressor finds by itself that a buffer is all zeros. */
  uint8_t *src = reserve(NITEMS * 8);
  uint8_t *back = reserve(NITEMS * 8);
  memset(src, 0, NITEMS * 8);
  int cbytes;
  uint8_t *chunk = compress_with(BLOSC2_CPARAMS_DEFAULTS, src, NITEMS * 8, &cbytes);
  CHECK_EQ(cbytes, BLOSC_EXTENDED_HEADER_LENGTH);
  CHECK_EQ(special_kind(chunk), BLOSC2_SPECIAL_ZERO);
  memset(back, 0xFF, NITEMS * 8);
  CHECK_EQ(decompress_with(1, chunk, cbytes, back, NITEMS * 8), NITEMS * 8);
  CHECK_BYTES(back, src, NITEMS * 8);
  free(chunk);
  free(src);
  free(back);
}

int main(void) {
  blosc2_init();
  RUN(zeros);
  RUN(nans);
  RUN(repeated_value);
  RUN(uninitialised);
  RUN(sizes_that_cannot_be);
  RUN(equal_bytes_become_special);
  blosc2_destroy();
  return finish();
}
