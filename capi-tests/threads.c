/* Threads: the global number, contexts on many threads at once, and a program that brings threads of its own. */
#include <pthread.h>

#include "check.h"
#include "data.h"

enum { NITEMS = 60000, NBYTES = NITEMS * 4, BLOCK = 16384, CALLERS = 6, ROUNDS = 12 };

static void the_global_number(void) {
  int32_t *src = ramp(NITEMS);
  int32_t *back = reserve(NBYTES);
  uint8_t *chunk = reserve(NBYTES + BLOSC2_MAX_OVERHEAD);
  CHECK_EQ(blosc2_get_nthreads(), 1);
  int16_t before = 1;
  for (int16_t nthreads = 1; nthreads <= 8; nthreads++) {
    CHECK_EQ(blosc2_set_nthreads(nthreads), before);
    CHECK_EQ(blosc2_get_nthreads(), nthreads);
    const int cbytes = blosc2_compress(5, BLOSC_SHUFFLE, 4, src, NBYTES, chunk, NBYTES + BLOSC2_MAX_OVERHEAD);
    CHECK(cbytes > 0);
    memset(back, 0, NBYTES);
    CHECK_EQ(blosc2_decompress(chunk, cbytes, back, NBYTES), NBYTES);
    CHECK_BYTES(back, src, NBYTES);
    before = nthreads;
  }
  CHECK(blosc2_set_nthreads(0) < 0);
  CHECK(blosc2_set_nthreads(-3) < 0);
  CHECK_EQ(blosc2_get_nthreads(), before);
  CHECK_EQ(blosc2_set_nthreads(1), before);
  free(src);
  free(back);
  free(chunk);
}

static blosc2_cparams parameters(int16_t nthreads) {
  static const uint8_t codecs[] = {BLOSC_BLOSCLZ, BLOSC_LZ4, BLOSC_ZSTD};
  blosc2_cparams cparams = BLOSC2_CPARAMS_DEFAULTS;
  cparams.typesize = 4;
  cparams.blocksize = BLOCK;
  cparams.compcode = codecs[nthreads % 3];
  cparams.nthreads = nthreads;
  return cparams;
}

/* One caller: contexts of its own, but the same pools of threads as the other callers of its number. */
static void *caller(void *argument) {
  const int16_t nthreads = *(const int16_t *)argument;
  uint8_t *src = wave(NBYTES);
  uint8_t *back = reserve(NBYTES);
  for (int i = 0; i < ROUNDS; i++) {
    int cbytes;
    uint8_t *chunk = compress_with(parameters(nthreads), src, NBYTES, &cbytes);
    CHECK(cbytes > 0, NULL);
    memset(back, 0, NBYTES);
    CHECK_EQ(decompress_with(nthreads, chunk, cbytes, back, NBYTES), NBYTES, NULL);
    CHECK_BYTES(back, src, NBYTES, NULL);
    free(chunk);
  }
  free(src);
  free(back);
  return NULL;
}

static void many_callers_at_once(void) {
  pthread_t threads[CALLERS];
  int16_t nthreads[CALLERS];
  for (int i = 0; i < CALLERS; i++) {
    nthreads[i] = (int16_t)(1 + i % 4);
    CHECK_EQ(pthread_create(&threads[i], NULL, caller, &nthreads[i]), 0);
  }
  for (int i = 0; i < CALLERS; i++) {
    CHECK_EQ(pthread_join(threads[i], NULL), 0);
  }
}

/* The functions without a context take turns at the global one. */
static void *global_caller(void *unused) {
  (void)unused;
  uint8_t *src = wave(NBYTES);
  uint8_t *back = reserve(NBYTES);
  uint8_t *chunk = reserve(NBYTES + BLOSC2_MAX_OVERHEAD);
  for (int i = 0; i < ROUNDS; i++) {
    const int cbytes = blosc2_compress(5, BLOSC_SHUFFLE, 4, src, NBYTES, chunk, NBYTES + BLOSC2_MAX_OVERHEAD);
    CHECK(cbytes > 0, NULL);
    CHECK_EQ(blosc2_decompress(chunk, cbytes, back, NBYTES), NBYTES, NULL);
    CHECK_BYTES(back, src, NBYTES, NULL);
    CHECK_EQ(blosc2_getitem(chunk, cbytes, 1000, 10, back, NBYTES), 40, NULL);
    CHECK_BYTES(back, src + 4000, 40, NULL);
  }
  free(src);
  free(back);
  free(chunk);
  return NULL;
}

static void many_callers_of_the_global_context(void) {
  pthread_t threads[CALLERS];
  CHECK_EQ(blosc2_set_nthreads(2), 1);
  for (int i = 0; i < CALLERS; i++) {
    CHECK_EQ(pthread_create(&threads[i], NULL, global_caller, NULL), 0);
  }
  for (int i = 0; i < CALLERS; i++) {
    CHECK_EQ(pthread_join(threads[i], NULL), 0);
  }
  CHECK_EQ(blosc2_set_nthreads(1), 2);
}

static int callback_token, callback_calls, callback_jobs;

static void run_in_turn(void *data, void (*dojob)(void *), int numjobs, size_t elsize, void *jobdata) {
  CHECK(data == &callback_token);
  CHECK(numjobs > 1 && elsize > 0 && jobdata != NULL);
  callback_calls++;
  callback_jobs = numjobs;
  for (int i = 0; i < numjobs; i++) {
    dojob((char *)jobdata + (size_t)i * elsize);
  }
}

struct callback_job {
  void (*dojob)(void *);
  void *data;
};

static void *run_one(void *argument) {
  const struct callback_job *job = argument;
  job->dojob(job->data);
  return NULL;
}

static void run_in_threads(void *data, void (*dojob)(void *), int numjobs, size_t elsize, void *jobdata) {
  CHECK(data == &callback_token);
  CHECK(numjobs <= 8);
  callback_calls++;
  pthread_t threads[8];
  struct callback_job jobs[8];
  for (int i = 0; i < numjobs; i++) {
    jobs[i] = (struct callback_job){dojob, (char *)jobdata + (size_t)i * elsize};
    CHECK_EQ(pthread_create(&threads[i], NULL, run_one, &jobs[i]), 0);
  }
  for (int i = 0; i < numjobs; i++) {
    CHECK_EQ(pthread_join(threads[i], NULL), 0);
  }
}

static void threads_of_the_program(void) {
  static const blosc_threads_callback callbacks[] = {run_in_turn, run_in_threads};
  uint8_t *src = wave(NBYTES);
  uint8_t *back = reserve(NBYTES);
  for (int i = 0; i < 2; i++) {
    blosc2_set_threads_callback(callbacks[i], &callback_token);
    callback_calls = 0;
    int cbytes;
    uint8_t *chunk = compress_with(parameters(4), src, NBYTES, &cbytes);
    CHECK(cbytes > 0);
    CHECK_EQ(callback_calls, 1);
    CHECK_EQ(decompress_with(4, chunk, cbytes, back, NBYTES), NBYTES);
    CHECK_EQ(callback_calls, 2);
    CHECK_EQ(callback_jobs, 4);
    CHECK_BYTES(back, src, NBYTES);
    /* One thread needs no pool. */
    CHECK_EQ(decompress_with(1, chunk, cbytes, back, NBYTES), NBYTES);
    CHECK_EQ(callback_calls, 2);
    free(chunk);
  }
  blosc2_set_threads_callback(NULL, NULL);
  int cbytes;
  uint8_t *chunk = compress_with(parameters(4), src, NBYTES, &cbytes);
  CHECK_EQ(callback_calls, 2);
  CHECK_EQ(decompress_with(2, chunk, cbytes, back, NBYTES), NBYTES);
  CHECK_BYTES(back, src, NBYTES);
  free(chunk);
  free(src);
  free(back);
}

static void contexts_outlive_destroy(void) {
  uint8_t *src = wave(NBYTES);
  uint8_t *back = reserve(NBYTES);
  uint8_t *chunk = reserve(NBYTES + BLOSC2_MAX_OVERHEAD);
  blosc2_context *cctx = blosc2_create_cctx(parameters(2));
  CHECK(blosc2_compress_ctx(cctx, src, NBYTES, chunk, NBYTES + BLOSC2_MAX_OVERHEAD) > 0);
  blosc2_destroy();
  blosc2_init();
  const int cbytes = blosc2_compress_ctx(cctx, src, NBYTES, chunk, NBYTES + BLOSC2_MAX_OVERHEAD);
  CHECK(cbytes > 0);
  CHECK_EQ(decompress_with(2, chunk, cbytes, back, NBYTES), NBYTES);
  CHECK_BYTES(back, src, NBYTES);
  blosc2_free_ctx(cctx);
  free(src);
  free(back);
  free(chunk);
}

int main(void) {
  blosc2_init();
  RUN(the_global_number);
  RUN(many_callers_at_once);
  RUN(many_callers_of_the_global_context);
  RUN(threads_of_the_program);
  RUN(contexts_outlive_destroy);
  blosc2_destroy();
  return finish();
}
