/* Dictionaries: what the blocks of a chunk have in common is stored once. */
#include "check.h"
#include "data.h"

enum { NBYTES = 512 * 1024, BLOCK = 1024 };

static const uint8_t with_dictionaries[] = {BLOSC_ZSTD, BLOSC_LZ4, BLOSC_LZ4HC};

static blosc2_cparams parameters(uint8_t compcode, int16_t nthreads, int use_dict) {
  blosc2_cparams cparams = BLOSC2_CPARAMS_DEFAULTS;
  cparams.compcode = compcode;
  cparams.typesize = 1;
  cparams.nthreads = nthreads;
  cparams.blocksize = BLOCK;
  cparams.use_dict = use_dict;
  cparams.filters[BLOSC2_MAX_FILTERS - 1] = BLOSC_NOFILTER;
  return cparams;
}

static void small_blocks_shrink_more(void) {
  char *src = text(NBYTES);
  char *back = reserve(NBYTES);
  for (size_t c = 0; c < sizeof with_dictionaries; c++) {
    int without;
    uint8_t *plain = compress_with(parameters(with_dictionaries[c], 1, 0), src, NBYTES, &without);
    CHECK_EQ(plain[BLOSC2_CHUNK_BLOSC2_FLAGS] & BLOSC2_USEDICT, 0);
    free(plain);
    for (int16_t nthreads = 1; nthreads <= 2; nthreads++) {
      int with;
      uint8_t *chunk = compress_with(parameters(with_dictionaries[c], nthreads, 1), src, NBYTES, &with);
      CHECK(with > 0 && without > 0);
      CHECK(with < without);
      CHECK((chunk[BLOSC2_CHUNK_BLOSC2_FLAGS] & BLOSC2_USEDICT) != 0);
      CHECK_EQ(decompress_with(nthreads, chunk, with, back, NBYTES), NBYTES);
      CHECK_BYTES(back, src, NBYTES);
      blosc2_context *dctx = blosc2_create_dctx(BLOSC2_DPARAMS_DEFAULTS);
      memset(back, 0, NBYTES);
      CHECK_EQ(blosc2_decompress_ctx(dctx, chunk, with, back, NBYTES), NBYTES);
      CHECK_BYTES(back, src, NBYTES);
      blosc2_free_ctx(dctx);
      free(chunk);
    }
  }
  free(src);
  free(back);
}

static void one_context_many_dictionaries(void) {
  /* The dictionary is the chunk's, not the context's. */
  char *src = text(NBYTES);
  char *back = reserve(NBYTES);
  uint8_t *chunk = reserve(NBYTES + BLOSC2_MAX_OVERHEAD);
  for (size_t c = 0; c < sizeof with_dictionaries; c++) {
    blosc2_context *cctx = blosc2_create_cctx(parameters(with_dictionaries[c], 1, 1));
    blosc2_context *dctx = blosc2_create_dctx(BLOSC2_DPARAMS_DEFAULTS);
    for (int i = 0; i < 3; i++) {
      const int32_t nbytes = NBYTES - i * 100003;
      const int cbytes = blosc2_compress_ctx(cctx, src + i * 1000, nbytes, chunk, nbytes + BLOSC2_MAX_OVERHEAD);
      CHECK(cbytes > 0);
      CHECK_EQ(blosc2_decompress_ctx(dctx, chunk, cbytes, back, NBYTES), nbytes);
      CHECK_BYTES(back, src + i * 1000, nbytes);
    }
    blosc2_free_ctx(cctx);
    blosc2_free_ctx(dctx);
  }
  free(src);
  free(back);
  free(chunk);
}

static void too_little_to_learn_from(void) {
  char *src = text(1000);
  char back[1000];
  for (size_t c = 0; c < sizeof with_dictionaries; c++) {
    int cbytes;
    uint8_t *chunk = compress_with(parameters(with_dictionaries[c], 1, 1), src, 1000, &cbytes);
    CHECK(cbytes > 0);
    CHECK_EQ(chunk[BLOSC2_CHUNK_BLOSC2_FLAGS] & BLOSC2_USEDICT, 0);
    CHECK_EQ(decompress_with(1, chunk, cbytes, back, sizeof back), 1000);
    CHECK_BYTES(back, src, 1000);
    free(chunk);
  }
  free(src);
}

static void codecs_without_dictionaries(void) {
  static const uint8_t without[] = {BLOSC_BLOSCLZ, BLOSC_ZLIB};
  char *src = text(NBYTES);
  for (size_t c = 0; c < sizeof without; c++) {
    int cbytes;
    free(compress_with(parameters(without[c], 1, 1), src, NBYTES, &cbytes));
    CHECK_EQ(cbytes, BLOSC2_ERROR_CODEC_PARAM);
  }
  free(src);
}

int main(void) {
  blosc2_init();
  RUN(small_blocks_shrink_more);
  RUN(one_context_many_dictionaries);
  RUN(too_little_to_learn_from);
  RUN(codecs_without_dictionaries);
  blosc2_destroy();
  return finish();
}
