/* Decompressing only some of the blocks of a chunk. */
#include "check.h"
#include "data.h"

enum { BLOCK = 8192, NBLOCKS = 17, NBYTES = BLOCK * (NBLOCKS - 1) + 1000 };

static void masked_blocks_are_left_alone(void) {
  uint8_t *src = wave(NBYTES);
  uint8_t *back = reserve(NBYTES);
  blosc2_cparams cparams = BLOSC2_CPARAMS_DEFAULTS;
  cparams.typesize = 4;
  cparams.blocksize = BLOCK;
  for (int clevel = 0; clevel <= 5; clevel += 5) {
    cparams.clevel = (uint8_t)clevel;
    int cbytes;
    uint8_t *chunk = compress_with(cparams, src, NBYTES, &cbytes);
    CHECK(cbytes > 0);
    for (int16_t nthreads = 1; nthreads <= 2; nthreads++) {
      blosc2_dparams dparams = BLOSC2_DPARAMS_DEFAULTS;
      dparams.nthreads = nthreads;
      blosc2_context *dctx = blosc2_create_dctx(dparams);
      for (int every = 1; every <= 4; every++) {
        bool mask[NBLOCKS];
        for (int i = 0; i < NBLOCKS; i++) {
          mask[i] = i % every == 0;
        }
        memset(back, 0xEE, NBYTES);
        CHECK_EQ(blosc2_set_maskout(dctx, mask, NBLOCKS), 0);
        const int nbytes = blosc2_decompress_ctx(dctx, chunk, cbytes, back, NBYTES);
        CHECK_EQ(nbytes, NBYTES);
        for (int i = 0; i < NBLOCKS; i++) {
          const int size = i == NBLOCKS - 1 ? NBYTES % BLOCK : BLOCK;
          if (!mask[i]) {
            CHECK_BYTES(back + i * BLOCK, src + i * BLOCK, size);
          } else {
            for (int j = 0; j < size; j++) {
              CHECK_EQ(back[i * BLOCK + j], 0xEE);
            }
          }
        }
        /* A mask is good for one call. */
        CHECK_EQ(blosc2_decompress_ctx(dctx, chunk, cbytes, back, NBYTES), NBYTES);
        CHECK_BYTES(back, src, NBYTES);
      }
      blosc2_free_ctx(dctx);
    }
    free(chunk);
  }
  free(src);
  free(back);
}

static void mask_of_the_wrong_length(void) {
  uint8_t *src = wave(NBYTES);
  uint8_t *back = reserve(NBYTES);
  bool mask[NBLOCKS + 1] = {false};
  blosc2_cparams cparams = BLOSC2_CPARAMS_DEFAULTS;
  cparams.blocksize = BLOCK;
  int cbytes;
  uint8_t *chunk = compress_with(cparams, src, NBYTES, &cbytes);
  blosc2_context *dctx = blosc2_create_dctx(BLOSC2_DPARAMS_DEFAULTS);
  CHECK_EQ(blosc2_set_maskout(dctx, mask, NBLOCKS - 1), 0);
  CHECK_EQ(blosc2_decompress_ctx(dctx, chunk, cbytes, back, NBYTES), BLOSC2_ERROR_DATA);
  /* The second mask replaces the first. */
  CHECK_EQ(blosc2_set_maskout(dctx, mask, NBLOCKS + 1), 0);
  CHECK_EQ(blosc2_set_maskout(dctx, mask, NBLOCKS), 0);
  CHECK_EQ(blosc2_decompress_ctx(dctx, chunk, cbytes, back, NBYTES), NBYTES);
  CHECK_BYTES(back, src, NBYTES);
  /* A context may go with its mask unused. */
  CHECK_EQ(blosc2_set_maskout(dctx, mask, NBLOCKS), 0);
  blosc2_free_ctx(dctx);
  free(src);
  free(back);
  free(chunk);
}

int main(void) {
  blosc2_init();
  RUN(masked_blocks_are_left_alone);
  RUN(mask_of_the_wrong_length);
  blosc2_destroy();
  return finish();
}
