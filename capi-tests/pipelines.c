/* Pipelines of up to six filters in any order, their metadata, and the filter that loses bits. */
#include "check.h"
#include "data.h"

enum { NITEMS = 30000, NBYTES = NITEMS * 4 };

static void every_pair_in_every_slot(void) {
  uint8_t *src = wave(NBYTES);
  uint8_t *back = reserve(NBYTES);
  for (uint8_t first = BLOSC_NOFILTER; first <= BLOSC_DELTA; first++) {
    for (uint8_t second = BLOSC_NOFILTER; second <= BLOSC_DELTA; second++) {
      for (int slot = 0; slot + 1 < BLOSC2_MAX_FILTERS; slot++) {
        blosc2_cparams cparams = BLOSC2_CPARAMS_DEFAULTS;
        cparams.typesize = 4;
        cparams.compcode = BLOSC_LZ4;
        cparams.blocksize = 16384;
        memset(cparams.filters, 0, sizeof cparams.filters);
        cparams.filters[slot] = first;
        cparams.filters[slot + 1] = second;
        int cbytes;
        uint8_t *chunk = compress_with(cparams, src, NBYTES, &cbytes);
        CHECK(cbytes > 0);
        CHECK_BYTES(chunk + BLOSC2_CHUNK_FILTER_CODES, cparams.filters, BLOSC2_MAX_FILTERS);
        CHECK_EQ(decompress_with(1, chunk, cbytes, back, NBYTES), NBYTES);
        CHECK_BYTES(back, src, NBYTES);
        free(chunk);
      }
    }
  }
  free(src);
  free(back);
}

static void six_at_once(void) {
  static const uint8_t six[BLOSC2_MAX_FILTERS] = {BLOSC_SHUFFLE, BLOSC_BITSHUFFLE, BLOSC_SHUFFLE,
                                                  BLOSC_SHUFFLE, BLOSC_BITSHUFFLE, BLOSC_SHUFFLE};
  static const int32_t sizes[] = {16384, 16385, NBYTES - 1, NBYTES};
  int32_t *src = ramp(NITEMS);
  uint8_t *scratch = reserve(NBYTES);
  uint8_t *back = reserve(NBYTES);
  for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
    for (int16_t nthreads = 1; nthreads <= 2; nthreads++) {
      blosc2_cparams cparams = BLOSC2_CPARAMS_DEFAULTS;
      cparams.typesize = 4;
      cparams.blocksize = 16384;
      cparams.compcode = BLOSC_ZSTD;
      cparams.nthreads = nthreads;
      memcpy(cparams.filters, six, sizeof six);
      /* A copy, because the reference writes into its source from the third filter on: see beyond.c. */
      memcpy(scratch, src, NBYTES);
      int cbytes;
      uint8_t *chunk = compress_with(cparams, scratch, sizes[s], &cbytes);
      CHECK(cbytes > 0);
      CHECK_EQ(decompress_with(nthreads, chunk, cbytes, back, NBYTES), sizes[s]);
      CHECK_BYTES(back, src, sizes[s]);
      free(chunk);
    }
  }
  free(src);
  free(scratch);
  free(back);
}

static void shuffle_of_a_given_width(void) {
  /* The metadata of shuffle is the width to shuffle by, where that is not the typesize. */
  int32_t *src = ramp(NITEMS);
  int32_t *back = reserve(NBYTES);
  for (int width = 0; width <= 16; width++) {
    blosc2_cparams cparams = BLOSC2_CPARAMS_DEFAULTS;
    cparams.typesize = 16;
    cparams.compcode = BLOSC_ZSTD;
    cparams.filters_meta[BLOSC2_MAX_FILTERS - 1] = (uint8_t)width;
    int cbytes;
    uint8_t *chunk = compress_with(cparams, src, NBYTES, &cbytes);
    CHECK(cbytes > 0 && cbytes < NBYTES);
    CHECK_EQ(chunk[BLOSC2_CHUNK_FILTER_META + BLOSC2_MAX_FILTERS - 1], width);
    CHECK_EQ(decompress_with(1, chunk, cbytes, back, NBYTES), NBYTES);
    CHECK_BYTES(back, src, NBYTES);
    free(chunk);
  }
  free(src);
  free(back);
}

static int truncated(int32_t typesize, int meta, const void *src, void *back) {
  blosc2_cparams cparams = BLOSC2_CPARAMS_DEFAULTS;
  cparams.typesize = typesize;
  cparams.filters[0] = BLOSC_TRUNC_PREC;
  cparams.filters_meta[0] = (uint8_t)meta;
  int cbytes;
  uint8_t *chunk = compress_with(cparams, src, NBYTES, &cbytes);
  const int nbytes = cbytes > 0 ? decompress_with(1, chunk, cbytes, back, NBYTES) : cbytes;
  free(chunk);
  return nbytes;
}

static void precision_is_truncated(void) {
  float *floats = reserve(NBYTES), *fewer = reserve(NBYTES);
  double *doubles = reserve(NBYTES), *shorter = reserve(NBYTES);
  for (int i = 0; i < NITEMS; i++) {
    floats[i] = 1.0F + (float)i / NITEMS;
  }
  for (int i = 0; i < NITEMS / 2; i++) {
    doubles[i] = 1.0 + (double)i / NITEMS;
  }
  /* A positive number of bits is kept, a negative one is zeroed: 23 bits of mantissa less 15 are 8. */
  CHECK_EQ(truncated(4, 8, floats, fewer), NBYTES);
  for (int i = 0; i < NITEMS; i++) {
    uint32_t before, after;
    memcpy(&before, floats + i, 4);
    memcpy(&after, fewer + i, 4);
    CHECK_EQ(after, before & 0xFFFF8000U);
  }
  CHECK_EQ(truncated(4, -15, floats, shorter), NBYTES);
  CHECK_BYTES(shorter, fewer, NBYTES);
  CHECK_EQ(truncated(8, 20, doubles, shorter), NBYTES);
  for (int i = 0; i < NITEMS / 2; i++) {
    uint64_t before, after;
    memcpy(&before, doubles + i, 8);
    memcpy(&after, shorter + i, 8);
    CHECK(after == (before & ~UINT64_C(0xFFFFFFFF)));
  }
  /* More bits than a mantissa has, or a type without one, are errors. */
  CHECK(truncated(4, 24, floats, fewer) < 0);
  CHECK(truncated(4, -24, floats, fewer) < 0);
  CHECK(truncated(2, 4, floats, fewer) < 0);
  free(floats);
  free(fewer);
  free(doubles);
  free(shorter);
}

static void shuffle_pays(void) {
  /* The point of it all: numbers that grow slowly shrink far better after a shuffle. */
  int32_t *src = ramp(NITEMS);
  int plain, shuffled, bits;
  blosc2_cparams cparams = BLOSC2_CPARAMS_DEFAULTS;
  cparams.typesize = 4;
  cparams.compcode = BLOSC_LZ4;
  cparams.filters[BLOSC2_MAX_FILTERS - 1] = BLOSC_NOFILTER;
  free(compress_with(cparams, src, NBYTES, &plain));
  cparams.filters[BLOSC2_MAX_FILTERS - 1] = BLOSC_SHUFFLE;
  free(compress_with(cparams, src, NBYTES, &shuffled));
  cparams.filters[BLOSC2_MAX_FILTERS - 1] = BLOSC_BITSHUFFLE;
  free(compress_with(cparams, src, NBYTES, &bits));
  CHECK(shuffled > 0 && bits > 0);
  CHECK(shuffled * 4 < plain);
  CHECK(bits * 4 < plain);
  free(src);
}

int main(void) {
  blosc2_init();
  RUN(every_pair_in_every_slot);
  RUN(six_at_once);
  RUN(shuffle_of_a_given_width);
  RUN(precision_is_truncated);
  RUN(shuffle_pays);
  blosc2_destroy();
  return finish();
}
