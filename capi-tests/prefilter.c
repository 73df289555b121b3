/* Prefilters: functions that write the block which is then compressed. */
#include "check.h"
#include "data.h"

enum { NITEMS = 50000, NBYTES = NITEMS * 4, BLOCK = 16384, NBLOCKS = (NBYTES + BLOCK - 1) / BLOCK };

static struct {
  const uint8_t *input;
  int16_t nthreads;
  int32_t fail_at; /* the block that fails, or -1 */
  int seen[NBLOCKS];
} job;

/* Doubles every number, and checks all that it is told. */
static int twice(blosc2_prefilter_params *params) {
  const int32_t nblock = params->nblock;
  CHECK(params->user_data == &job, -1);
  CHECK(nblock >= 0 && nblock < NBLOCKS, -1);
  CHECK_EQ(params->output_offset, nblock * BLOCK, -1);
  CHECK_EQ(params->output_size, nblock == NBLOCKS - 1 ? NBYTES - nblock * BLOCK : BLOCK, -1);
  CHECK_EQ(params->output_typesize, 4, -1);
  CHECK_EQ(params->nchunk, -1, -1);
  CHECK(params->tid >= 0 && params->tid < job.nthreads, -1);
  CHECK(params->ctx != NULL, -1);
  CHECK(params->output != NULL && params->output != params->input, -1);
  CHECK(params->input == job.input + nblock * BLOCK, -1);
  CHECK(!params->output_is_disposable, -1);
  CHECK(params->ttmp != NULL && params->ttmp_nbytes >= (size_t)BLOCK, -1);
  __atomic_fetch_add(&job.seen[nblock], 1, __ATOMIC_RELAXED);
  for (int32_t at = 0; at < params->output_size; at += 4) {
    int32_t value;
    memcpy(&value, params->input + at, 4);
    value *= 2;
    memcpy(params->output + at, &value, 4);
  }
  return nblock == job.fail_at ? -1 : 0;
}

static uint8_t *prefiltered(const int32_t *src, uint8_t clevel, int16_t nthreads, int32_t fail_at, int *cbytes) {
  memset(&job, 0, sizeof job);
  job.input = (const uint8_t *)src;
  job.nthreads = nthreads;
  job.fail_at = fail_at;
  blosc2_prefilter_params params = {.user_data = &job};
  blosc2_cparams cparams = BLOSC2_CPARAMS_DEFAULTS;
  cparams.typesize = 4;
  cparams.clevel = clevel;
  cparams.nthreads = nthreads;
  cparams.blocksize = BLOCK;
  cparams.prefilter = twice;
  cparams.preparams = &params;
  return compress_with(cparams, src, NBYTES, cbytes);
}

static void every_block_passes_once(void) {
  int32_t *src = ramp(NITEMS);
  int32_t *back = reserve(NBYTES);
  for (uint8_t clevel = 1; clevel <= 9; clevel += 4) {
    for (int16_t nthreads = 1; nthreads <= 4; nthreads *= 2) {
      int cbytes;
      uint8_t *chunk = prefiltered(src, clevel, nthreads, -1, &cbytes);
      CHECK(cbytes > 0);
      for (int i = 0; i < NBLOCKS; i++) {
        CHECK_EQ(job.seen[i], 1);
      }
      CHECK_EQ(decompress_with(nthreads, chunk, cbytes, back, NBYTES), NBYTES);
      for (int i = 0; i < NITEMS; i++) {
        CHECK_EQ(back[i], i * 2);
      }
      free(chunk);
    }
  }
  free(src);
  free(back);
}

static void level_zero_passes_too(void) {
  int32_t *src = ramp(NITEMS);
  int32_t *back = reserve(NBYTES);
  int cbytes;
  uint8_t *chunk = prefiltered(src, 0, 1, -1, &cbytes);
  CHECK(cbytes > 0);
  CHECK_EQ(decompress_with(1, chunk, cbytes, back, NBYTES), NBYTES);
  for (int i = 0; i < NITEMS; i++) {
    CHECK_EQ(back[i], i * 2);
  }
  free(chunk);
  free(src);
  free(back);
}

static void failure_ends_the_compression(void) {
  int32_t *src = ramp(NITEMS);
  for (int16_t nthreads = 1; nthreads <= 2; nthreads++) {
    for (int32_t fail_at = 0; fail_at < NBLOCKS; fail_at += NBLOCKS - 1) {
      int cbytes;
      free(prefiltered(src, 5, nthreads, fail_at, &cbytes));
      CHECK(cbytes < 0);
    }
  }
  free(src);
}

static void context_keeps_its_own_copy(void) {
  /* What the caller does with its struct after the context is made does not matter. */
  int32_t *src = ramp(NITEMS);
  uint8_t *chunk = reserve(NBYTES + BLOSC2_MAX_OVERHEAD);
  blosc2_prefilter_params params = {.user_data = &job};
  blosc2_cparams cparams = BLOSC2_CPARAMS_DEFAULTS;
  cparams.typesize = 4;
  cparams.blocksize = BLOCK;
  cparams.prefilter = twice;
  cparams.preparams = &params;
  blosc2_context *cctx = blosc2_create_cctx(cparams);
  params.user_data = NULL;
  for (int i = 1; i <= 2; i++) {
    memset(&job, 0, sizeof job);
    job.input = (const uint8_t *)src;
    job.nthreads = 1;
    job.fail_at = -1;
    CHECK(blosc2_compress_ctx(cctx, src, NBYTES, chunk, NBYTES + BLOSC2_MAX_OVERHEAD) > 0);
    CHECK_EQ(job.seen[NBLOCKS - 1], 1);
  }
  blosc2_cparams told;
  CHECK_EQ(blosc2_ctx_get_cparams(cctx, &told), 0);
  CHECK(told.prefilter == twice);
  CHECK(told.preparams != NULL && told.preparams->user_data == &job);
  blosc2_free_ctx(cctx);
  free(src);
  free(chunk);
}

int main(void) {
  blosc2_init();
  RUN(every_block_passes_once);
  RUN(level_zero_passes_too);
  RUN(failure_ends_the_compression);
  RUN(context_keeps_its_own_copy);
  blosc2_destroy();
  return finish();
}
