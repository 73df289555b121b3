/* Instrumented codecs: the chunk holds what was measured of every stream in the place of the data. */
#include "check.h"
#include "data.h"

enum { NITEMS = 100000, NBYTES = NITEMS * 4, BLOCK = 40000 };

static void measurements_come_back(void) {
  int32_t *src = ramp(NITEMS);
  blosc2_instr *measured = reserve(NBYTES);
  for (int16_t nthreads = 1; nthreads <= 2; nthreads++) {
    blosc2_cparams cparams = BLOSC2_CPARAMS_DEFAULTS;
    cparams.typesize = 4;
    cparams.splitmode = BLOSC_NEVER_SPLIT;
    cparams.blocksize = BLOCK;
    cparams.nthreads = nthreads;
    cparams.instr_codec = true;
    int cbytes;
    uint8_t *chunk = compress_with(cparams, src, NBYTES, &cbytes);
    CHECK(cbytes > 0);
    CHECK((chunk[BLOSC2_CHUNK_BLOSC2_FLAGS] & BLOSC2_INSTR_CODEC) != 0);
    memset(measured, 0, NBYTES);
    const int nbytes = decompress_with(nthreads, chunk, cbytes, measured, NBYTES);
    CHECK_EQ(nbytes, NBYTES / BLOCK * (int)sizeof *measured);
    for (int i = 0; i < NBYTES / BLOCK; i++) {
      CHECK(measured[i].cratio > 1.0F);
      CHECK(measured[i].cspeed > 0.0F);
      CHECK(measured[i].filter_speed > 0.0F);
      CHECK_EQ(measured[i].flags[0], 0);
    }
    free(chunk);
  }
  free(src);
  free(measured);
}

static void context_tells_it_is_instrumented(void) {
  blosc2_cparams cparams = BLOSC2_CPARAMS_DEFAULTS;
  cparams.instr_codec = true;
  blosc2_context *cctx = blosc2_create_cctx(cparams);
  blosc2_cparams told = BLOSC2_CPARAMS_DEFAULTS;
  CHECK_EQ(blosc2_ctx_get_cparams(cctx, &told), 0);
  CHECK(told.instr_codec);
  blosc2_free_ctx(cctx);
}

int main(void) {
  blosc2_init();
  RUN(measurements_come_back);
  RUN(context_tells_it_is_instrumented);
  blosc2_destroy();
  return finish();
}
