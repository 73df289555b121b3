/* Filters that the program brings: what they are called with, their place in the pipeline, and their errors. */
#include "check.h"
#include "data.h"

enum { NITEMS = 50000, NBYTES = NITEMS * 4, BLOCK = 16384, PLUS = 180, SPOILT = 181, META = 5 };

static int answer;
static int forward_calls, backward_calls;

static int plus(const uint8_t *src, uint8_t *dest, int32_t size, uint8_t meta, blosc2_cparams *cparams, uint8_t id) {
  CHECK_EQ(id, PLUS, -1);
  CHECK_EQ(cparams->typesize, 4, -1);
  CHECK(size > 0 && size <= BLOCK, -1);
  __atomic_fetch_add(&forward_calls, 1, __ATOMIC_RELAXED);
  for (int32_t i = 0; i < size; i++) {
    dest[i] = (uint8_t)(src[i] + meta);
  }
  return answer;
}

static int minus(const uint8_t *src, uint8_t *dest, int32_t size, uint8_t meta, blosc2_dparams *dparams, uint8_t id) {
  CHECK_EQ(id, PLUS, -1);
  CHECK(dparams != NULL, -1);
  __atomic_fetch_add(&backward_calls, 1, __ATOMIC_RELAXED);
  for (int32_t i = 0; i < size; i++) {
    dest[i] = (uint8_t)(src[i] - meta);
  }
  return answer;
}

static blosc2_cparams parameters(int16_t nthreads) {
  blosc2_cparams cparams = BLOSC2_CPARAMS_DEFAULTS;
  cparams.compcode = BLOSC_LZ4;
  cparams.typesize = 4;
  cparams.nthreads = nthreads;
  cparams.blocksize = BLOCK;
  cparams.filters[4] = PLUS;
  cparams.filters_meta[4] = META;
  return cparams;
}

static void registration(void) {
  blosc2_filter filter = {.id = PLUS, .name = "plus", .version = 1, .forward = plus, .backward = minus};
  CHECK_EQ(blosc2_register_filter(&filter), BLOSC2_ERROR_SUCCESS);
  CHECK_EQ(blosc2_register_filter(&filter), BLOSC2_ERROR_SUCCESS);
  filter.name = "another";
  CHECK_EQ(blosc2_register_filter(&filter), BLOSC2_ERROR_FAILURE);
  filter.id = BLOSC2_USER_REGISTERED_FILTERS_START - 1;
  CHECK_EQ(blosc2_register_filter(&filter), BLOSC2_ERROR_FAILURE);
  filter.id = BLOSC_SHUFFLE;
  CHECK_EQ(blosc2_register_filter(&filter), BLOSC2_ERROR_FAILURE);
}

static void round_trip(void) {
  int32_t *src = ramp(NITEMS);
  int32_t *back = reserve(NBYTES);
  const int nblocks = (NBYTES + BLOCK - 1) / BLOCK;
  for (int16_t nthreads = 1; nthreads <= 4; nthreads *= 2) {
    answer = BLOSC2_ERROR_SUCCESS;
    forward_calls = backward_calls = 0;
    int cbytes;
    uint8_t *chunk = compress_with(parameters(nthreads), src, NBYTES, &cbytes);
    CHECK(cbytes > 0 && cbytes < NBYTES);
    CHECK_EQ(forward_calls, nblocks);
    CHECK_EQ(chunk[BLOSC2_CHUNK_FILTER_CODES + 4], PLUS);
    CHECK_EQ(chunk[BLOSC2_CHUNK_FILTER_META + 4], META);
    CHECK_EQ(decompress_with(nthreads, chunk, cbytes, back, NBYTES), NBYTES);
    CHECK_EQ(backward_calls, nblocks);
    CHECK_BYTES(back, src, NBYTES);
    free(chunk);
  }
  free(src);
  free(back);
}

static void errors_are_passed_on(void) {
  int32_t *src = ramp(NITEMS);
  int32_t *back = reserve(NBYTES);
  int cbytes;
  uint8_t *chunk = compress_with(parameters(1), src, NBYTES, &cbytes);
  answer = -1;
  for (int16_t nthreads = 1; nthreads <= 2; nthreads++) {
    int failed;
    CHECK(decompress_with(nthreads, chunk, cbytes, back, NBYTES) < 0);
    free(compress_with(parameters(nthreads), src, NBYTES, &failed));
    CHECK(failed < 0);
  }
  answer = BLOSC2_ERROR_SUCCESS;
  free(src);
  free(back);
  free(chunk);
}

static void unregistered_filters(void) {
  int32_t *src = ramp(NITEMS);
  blosc2_cparams cparams = parameters(1);
  cparams.filters[4] = SPOILT;
  int cbytes;
  free(compress_with(cparams, src, NBYTES, &cbytes));
  CHECK(cbytes < 0);
  free(src);
}

int main(void) {
  blosc2_init();
  RUN(registration);
  RUN(round_trip);
  RUN(errors_are_passed_on);
  RUN(unregistered_filters);
  blosc2_destroy();
  return finish();
}
