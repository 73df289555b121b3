/* The delta filter: by context and by the global switch. */
#include "check.h"
#include "data.h"

enum { NITEMS = 64000, NBYTES = NITEMS * 4 };

static void with_every_typesize_and_threads(void) {
  static const int32_t typesizes[] = {1, 2, 3, 4, 7, 8, 12, 16, 255, 300};
  uint8_t *src = wave(NBYTES);
  uint8_t *back = reserve(NBYTES);
  for (size_t t = 0; t < sizeof typesizes / sizeof *typesizes; t++) {
    for (int16_t nthreads = 1; nthreads <= 4; nthreads *= 2) {
      blosc2_cparams cparams = BLOSC2_CPARAMS_DEFAULTS;
      cparams.typesize = typesizes[t];
      cparams.nthreads = nthreads;
      cparams.compcode = BLOSC_LZ4;
      cparams.blocksize = typesizes[t] * 200;
      cparams.filters[BLOSC2_MAX_FILTERS - 2] = BLOSC_DELTA;
      int cbytes;
      uint8_t *chunk = compress_with(cparams, src, NBYTES, &cbytes);
      CHECK(cbytes > 0);
      memset(back, 0xFF, NBYTES);
      CHECK_EQ(decompress_with(nthreads, chunk, cbytes, back, NBYTES), NBYTES);
      CHECK_BYTES(back, src, NBYTES);
      free(chunk);
    }
  }
  free(src);
  free(back);
}

static void blocks_that_repeat_the_first(void) {
  /* Every block is the exclusive or with the first one: blocks that are alike become zeros. */
  enum { BLOCK = 16000 };
  uint8_t *block = noise(BLOCK, 3);
  uint8_t *src = reserve(BLOCK * 8), *back = reserve(BLOCK * 8);
  for (int i = 0; i < 8; i++) {
    memcpy(src + i * BLOCK, block, BLOCK);
  }
  blosc2_cparams cparams = BLOSC2_CPARAMS_DEFAULTS;
  cparams.blocksize = BLOCK;
  cparams.filters[0] = BLOSC_DELTA;
  int cbytes;
  uint8_t *chunk = compress_with(cparams, src, BLOCK * 8, &cbytes);
  CHECK(cbytes > 0 && cbytes < BLOCK * 2);
  CHECK_EQ(decompress_with(1, chunk, cbytes, back, BLOCK * 8), BLOCK * 8);
  CHECK_BYTES(back, src, BLOCK * 8);
  free(block);
  free(src);
  free(back);
  free(chunk);
}

static void the_global_switch(void) {
  int32_t *src = ramp(NITEMS);
  int32_t *back = reserve(NBYTES);
  uint8_t *chunk = reserve(NBYTES + BLOSC2_MAX_OVERHEAD);
  for (int on = 1; on >= 0; on--) {
    blosc2_set_delta(on);
    CHECK(blosc1_compress(5, BLOSC_SHUFFLE, 4, NBYTES, src, chunk, NBYTES) > 0);
    CHECK_EQ(chunk[BLOSC2_CHUNK_FILTER_CODES + BLOSC2_MAX_FILTERS - 2], on ? BLOSC_DELTA : BLOSC_NOFILTER);
    CHECK_EQ(blosc1_decompress(chunk, back, NBYTES), NBYTES);
    CHECK_BYTES(back, src, NBYTES);
  }
  free(src);
  free(back);
  free(chunk);
}

static void items_of_a_delta_chunk(void) {
  /* An item far from the first block still needs it. */
  int32_t *src = ramp(NITEMS);
  int32_t back[50];
  blosc2_cparams cparams = BLOSC2_CPARAMS_DEFAULTS;
  cparams.typesize = 4;
  cparams.blocksize = 8000;
  cparams.filters[BLOSC2_MAX_FILTERS - 2] = BLOSC_DELTA;
  int cbytes;
  uint8_t *chunk = compress_with(cparams, src, NBYTES, &cbytes);
  CHECK(cbytes > 0);
  CHECK_EQ(blosc2_getitem(chunk, cbytes, 100, 50, back, sizeof back), (int)sizeof back);
  CHECK_BYTES(back, src + 100, sizeof back);
  free(src);
  free(chunk);
}

int main(void) {
  blosc2_init();
  RUN(with_every_typesize_and_threads);
  RUN(blocks_that_repeat_the_first);
  RUN(the_global_switch);
  RUN(items_of_a_delta_chunk);
  blosc2_destroy();
  return finish();
}
