/* Postfilters: functions that get each decompressed block and write what the caller receives. */
#include "check.h"
#include "data.h"

enum { NITEMS = 50000, NBYTES = NITEMS * 4, BLOCK = 16384, NBLOCKS = (NBYTES + BLOCK - 1) / BLOCK };

static struct {
  int16_t nthreads;
  int32_t fail_at; /* the block that fails, or -1 */
  int seen[NBLOCKS];
} job;

/* Adds one to every number, and checks all that it is told. */
static int plus_one(blosc2_postfilter_params *params) {
  const int32_t nblock = params->nblock;
  CHECK(params->user_data == &job, -1);
  CHECK(nblock >= 0 && nblock < NBLOCKS, -1);
  CHECK_EQ(params->offset, nblock * BLOCK, -1);
  CHECK_EQ(params->size, nblock == NBLOCKS - 1 ? NBYTES - nblock * BLOCK : BLOCK, -1);
  CHECK_EQ(params->typesize, 4, -1);
  CHECK_EQ(params->nchunk, -1, -1);
  CHECK(params->tid >= 0 && params->tid < job.nthreads, -1);
  CHECK(params->ctx != NULL && params->input != NULL && params->output != NULL, -1);
  CHECK(params->ttmp != NULL && params->ttmp_nbytes >= (size_t)BLOCK, -1);
  __atomic_fetch_add(&job.seen[nblock], 1, __ATOMIC_RELAXED);
  for (int32_t at = 0; at < params->size; at += 4) {
    int32_t value;
    memcpy(&value, params->input + at, 4);
    value += 1;
    memcpy(params->output + at, &value, 4);
  }
  return nblock == job.fail_at ? -1 : 0;
}

static blosc2_context *postfiltering(int16_t nthreads, int32_t fail_at) {
  static blosc2_postfilter_params params;
  memset(&job, 0, sizeof job);
  job.nthreads = nthreads;
  job.fail_at = fail_at;
  params.user_data = &job;
  blosc2_dparams dparams = BLOSC2_DPARAMS_DEFAULTS;
  dparams.nthreads = nthreads;
  dparams.postfilter = plus_one;
  dparams.postparams = &params;
  return blosc2_create_dctx(dparams);
}

static uint8_t *plain_chunk(uint8_t clevel, int *cbytes) {
  int32_t *src = ramp(NITEMS);
  blosc2_cparams cparams = BLOSC2_CPARAMS_DEFAULTS;
  cparams.typesize = 4;
  cparams.clevel = clevel;
  cparams.blocksize = BLOCK;
  uint8_t *chunk = compress_with(cparams, src, NBYTES, cbytes);
  free(src);
  return chunk;
}

static void every_block_passes_once(void) {
  int32_t *back = reserve(NBYTES);
  for (uint8_t clevel = 0; clevel <= 9; clevel += 3) {
    for (int16_t nthreads = 1; nthreads <= 4; nthreads *= 2) {
      int cbytes;
      uint8_t *chunk = plain_chunk(clevel, &cbytes);
      blosc2_context *dctx = postfiltering(nthreads, -1);
      CHECK_EQ(blosc2_decompress_ctx(dctx, chunk, cbytes, back, NBYTES), NBYTES);
      for (int i = 0; i < NBLOCKS; i++) {
        CHECK_EQ(job.seen[i], 1);
      }
      for (int i = 0; i < NITEMS; i++) {
        CHECK_EQ(back[i], i + 1);
      }
      blosc2_free_ctx(dctx);
      free(chunk);
    }
  }
  free(back);
}

static void items_pass_too(void) {
  int32_t back[100];
  for (uint8_t clevel = 0; clevel <= 5; clevel += 5) {
    int cbytes;
    uint8_t *chunk = plain_chunk(clevel, &cbytes);
    blosc2_context *dctx = postfiltering(1, -1);
    CHECK_EQ(blosc2_getitem_ctx(dctx, chunk, cbytes, 20000, 100, back, sizeof back), (int)sizeof back);
    for (int i = 0; i < 100; i++) {
      CHECK_EQ(back[i], 20001 + i);
    }
    blosc2_free_ctx(dctx);
    free(chunk);
  }
}

static void zeros_pass_too(void) {
  /* A chunk of zeros has no data, but its blocks are filtered all the same. */
  uint8_t chunk[BLOSC_EXTENDED_HEADER_LENGTH];
  int32_t *back = reserve(NBYTES);
  blosc2_cparams cparams = BLOSC2_CPARAMS_DEFAULTS;
  cparams.typesize = 4;
  cparams.blocksize = BLOCK;
  const int cbytes = blosc2_chunk_zeros(cparams, NBYTES, chunk, sizeof chunk);
  blosc2_context *dctx = postfiltering(1, -1);
  CHECK_EQ(blosc2_decompress_ctx(dctx, chunk, cbytes, back, NBYTES), NBYTES);
  for (int i = 0; i < NITEMS; i++) {
    CHECK_EQ(back[i], 1);
  }
  blosc2_free_ctx(dctx);
  free(back);
}

static void failure_ends_the_decompression(void) {
  int32_t *back = reserve(NBYTES);
  int cbytes;
  uint8_t *chunk = plain_chunk(5, &cbytes);
  for (int16_t nthreads = 1; nthreads <= 2; nthreads++) {
    for (int32_t fail_at = 0; fail_at < NBLOCKS; fail_at += NBLOCKS - 1) {
      blosc2_context *dctx = postfiltering(nthreads, fail_at);
      CHECK(blosc2_decompress_ctx(dctx, chunk, cbytes, back, NBYTES) < 0);
      blosc2_free_ctx(dctx);
    }
  }
  free(chunk);
  free(back);
}

int main(void) {
  blosc2_init();
  RUN(every_block_passes_once);
  RUN(items_pass_too);
  RUN(zeros_pass_too);
  RUN(failure_ends_the_decompression);
  blosc2_destroy();
  return finish();
}
