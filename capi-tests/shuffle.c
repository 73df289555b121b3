/* The shuffle and bitshuffle functions, against what they are by definition. */
#include "check.h"
#include "data.h"

enum { NBYTES = 64 * 1024 + 13 };

static const int32_t typesizes[] = {1, 2, 3, 4, 5, 7, 8, 12, 16, 24, 31, 32, 33, 64, 255};
static const int32_t sizes[] = {0, 1, 15, 16, 31, 100, 128, 1000, 4096, NBYTES};

/* Byte j of item i goes to place j * nitems + i; what is no whole item is copied. */
static void shuffle_by_definition(int32_t typesize, int32_t nbytes, const uint8_t *src, uint8_t *dest) {
  const int32_t nitems = nbytes / typesize;
  for (int32_t i = 0; i < nitems; i++) {
    for (int32_t j = 0; j < typesize; j++) {
      dest[j * nitems + i] = src[i * typesize + j];
    }
  }
  memcpy(dest + nitems * typesize, src + nitems * typesize, (size_t)(nbytes - nitems * typesize));
}

/* Bit b of byte j of item i goes to bit i of row 8 * j + b; only whole groups of eight items take part. */
static void bitshuffle_by_definition(int32_t typesize, int32_t nbytes, const uint8_t *src, uint8_t *dest) {
  const int32_t nitems = nbytes / typesize / 8 * 8;
  memset(dest, 0, (size_t)(nitems * typesize));
  for (int32_t i = 0; i < nitems; i++) {
    for (int32_t j = 0; j < typesize; j++) {
      for (int32_t b = 0; b < 8; b++) {
        const int bit = src[i * typesize + j] >> b & 1;
        dest[(8 * j + b) * (nitems / 8) + i / 8] |= (uint8_t)(bit << (i % 8));
      }
    }
  }
  memcpy(dest + nitems * typesize, src + nitems * typesize, (size_t)(nbytes - nitems * typesize));
}

typedef int32_t (*transform)(const int32_t, const int32_t, const void *, void *);

static void check_pair(transform forward, transform backward, void (*definition)(int32_t, int32_t, const uint8_t *,
                                                                                 uint8_t *)) {
  uint8_t *src = noise(NBYTES, 5);
  uint8_t *expected = reserve(NBYTES), *there = reserve(NBYTES), *back = reserve(NBYTES);
  for (size_t t = 0; t < sizeof typesizes / sizeof *typesizes; t++) {
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
      definition(typesizes[t], sizes[s], src, expected);
      memset(there, 0xA5, NBYTES);
      CHECK_EQ(forward(typesizes[t], sizes[s], src, there), sizes[s]);
      CHECK_BYTES(there, expected, sizes[s]);
      CHECK_EQ(backward(typesizes[t], sizes[s], there, back), sizes[s]);
      CHECK_BYTES(back, src, sizes[s]);
      CHECK(sizes[s] == NBYTES || there[sizes[s]] == 0xA5);
    }
  }
  free(src);
  free(expected);
  free(there);
  free(back);
}

static void shuffle_and_back(void) { check_pair(blosc2_shuffle, blosc2_unshuffle, shuffle_by_definition); }

static void bitshuffle_and_back(void) {
  check_pair(blosc2_bitshuffle, blosc2_bitunshuffle, bitshuffle_by_definition);
}

static void typesizes_that_cannot_be(void) {
  uint8_t src[64] = {0}, dest[64];
  CHECK_EQ(blosc2_shuffle(0, 64, src, dest), BLOSC2_ERROR_INVALID_PARAM);
  CHECK_EQ(blosc2_unshuffle(0, 64, src, dest), BLOSC2_ERROR_INVALID_PARAM);
  CHECK_EQ(blosc2_shuffle(257, 64, src, dest), BLOSC2_ERROR_INVALID_PARAM);
  CHECK_EQ(blosc2_unshuffle(257, 64, src, dest), BLOSC2_ERROR_INVALID_PARAM);
  CHECK_EQ(blosc2_bitshuffle(257, 64, src, dest), BLOSC2_ERROR_INVALID_PARAM);
  CHECK_EQ(blosc2_shuffle(4, -1, src, dest), BLOSC2_ERROR_INVALID_PARAM);
  CHECK_EQ(blosc2_bitshuffle(4, -1, src, dest), BLOSC2_ERROR_INVALID_PARAM);
}

int main(void) {
  RUN(shuffle_and_back);
  RUN(bitshuffle_and_back);
  RUN(typesizes_that_cannot_be);
  return finish();
}
