/* Tuners that the program brings: when each of their functions is called. */
#include "check.h"
#include "data.h"

enum { NITEMS = 50000, NBYTES = NITEMS * 4, MY_TUNER = 210 };

static struct {
  int init, next_blocksize, others;
} calls;
static int config = 42;
static int init_answer, next_blocksize_answer;

static int my_init(void *tuner_config, blosc2_context *cctx, blosc2_context *dctx) {
  CHECK(tuner_config == &config, -1);
  CHECK(cctx != NULL && dctx == NULL, -1);
  calls.init++;
  return init_answer;
}

static int my_next_blocksize(blosc2_context *context) {
  CHECK(context != NULL, -1);
  calls.next_blocksize++;
  return next_blocksize_answer;
}

/* The library asks for more only when init left something of its own in the context, which no public header lets it. */
static int never_called(blosc2_context *context) {
  (void)context;
  calls.others++;
  return 0;
}

static int never_updated(blosc2_context *context, double ctime) {
  (void)ctime;
  return never_called(context);
}

static blosc2_tuner my_tuner = {.init = my_init,
                                .next_blocksize = my_next_blocksize,
                                .next_cparams = never_called,
                                .update = never_updated,
                                .free = never_called,
                                .id = MY_TUNER,
                                .name = "counter"};

static void registration(void) {
  blosc2_tuner tuner = my_tuner;
  CHECK_EQ(blosc2_register_tuner(&tuner), BLOSC2_ERROR_SUCCESS);
  CHECK_EQ(blosc2_register_tuner(&tuner), BLOSC2_ERROR_SUCCESS);
  tuner.name = "another";
  CHECK_EQ(blosc2_register_tuner(&tuner), BLOSC2_ERROR_FAILURE);
  tuner.id = BLOSC2_USER_REGISTERED_TUNER_START - 1;
  CHECK_EQ(blosc2_register_tuner(&tuner), BLOSC2_ERROR_FAILURE);
}

static blosc2_cparams tuned(void) {
  blosc2_cparams cparams = BLOSC2_CPARAMS_DEFAULTS;
  cparams.typesize = 4;
  cparams.blocksize = 16384;
  cparams.tuner_id = MY_TUNER;
  cparams.tuner_params = &config;
  return cparams;
}

static void called_in_turn(void) {
  int32_t *src = ramp(NITEMS);
  int32_t *back = reserve(NBYTES);
  uint8_t *chunk = reserve(NBYTES + BLOSC2_MAX_OVERHEAD);
  blosc2_cparams cparams = tuned();
  memset(&calls, 0, sizeof calls);
  blosc2_context *cctx = blosc2_create_cctx(cparams);
  CHECK(cctx != NULL);
  CHECK_EQ(calls.init, 1);
  for (int i = 1; i <= 3; i++) {
    const int cbytes = blosc2_compress_ctx(cctx, src, NBYTES, chunk, NBYTES + BLOSC2_MAX_OVERHEAD);
    CHECK(cbytes > 0);
    CHECK_EQ(decompress_with(1, chunk, cbytes, back, NBYTES), NBYTES);
    CHECK_BYTES(back, src, NBYTES);
    CHECK_EQ(calls.next_blocksize, i);
  }
  blosc2_free_ctx(cctx);
  CHECK_EQ(calls.init, 1);
  CHECK_EQ(calls.others, 0);
  free(src);
  free(back);
  free(chunk);
}

static void errors_are_passed_on(void) {
  uint8_t src[1000] = {0}, chunk[1000 + BLOSC2_MAX_OVERHEAD];
  init_answer = -1;
  CHECK(blosc2_create_cctx(tuned()) == NULL);
  init_answer = 0;
  blosc2_context *cctx = blosc2_create_cctx(tuned());
  next_blocksize_answer = -1;
  CHECK_EQ(blosc2_compress_ctx(cctx, src, sizeof src, chunk, sizeof chunk), BLOSC2_ERROR_TUNER);
  next_blocksize_answer = 0;
  CHECK(blosc2_compress_ctx(cctx, src, sizeof src, chunk, sizeof chunk) > 0);
  blosc2_free_ctx(cctx);
}

static void unregistered_tuners(void) {
  blosc2_cparams cparams = BLOSC2_CPARAMS_DEFAULTS;
  cparams.tuner_id = MY_TUNER + 1;
  CHECK(blosc2_create_cctx(cparams) == NULL);
}

int main(void) {
  blosc2_init();
  RUN(registration);
  RUN(called_in_turn);
  RUN(errors_are_passed_on);
  RUN(unregistered_tuners);
  blosc2_destroy();
  return finish();
}
