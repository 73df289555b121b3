/* What a program does around the library: it cancels threads, ends them or jumps out of callbacks, rounds in another way, and has no keys of
   threads left. */
#define _GNU_SOURCE
#include <fenv.h>
#include <pthread.h>
#include <setjmp.h>
#include <unistd.h>

#include "b2nd.h"
#include "blosc2/codecs-registry.h"
#include "blosc2/filters-registry.h"
#include "check.h"
#include "data.h"

enum { NITEMS = 20000, NBYTES = NITEMS * 8, BLOCK = 16384 };

static char path[64];

static blosc2_schunk *new_frame(const char *urlpath, int16_t nthreads, blosc2_prefilter_fn prefilter) {
  blosc2_remove_urlpath(urlpath);
  blosc2_cparams cparams = BLOSC2_CPARAMS_DEFAULTS;
  blosc2_prefilter_params params = {0};
  cparams.typesize = 8;
  cparams.blocksize = BLOCK;
  cparams.nthreads = nthreads;
  cparams.prefilter = prefilter;
  cparams.preparams = prefilter == NULL ? NULL : &params;
  blosc2_storage storage = {.contiguous = true, .urlpath = (char *)urlpath, .cparams = &cparams};
  return blosc2_schunk_new(&storage);
}

/* Appends and reads until it is cancelled, which it can be between two calls. */
static void *user_of(void *schunk) {
  double *data = (double *)wave(NBYTES);
  pthread_cleanup_push(free, data);
  for (;;) {
    CHECK(blosc2_schunk_append_buffer(schunk, data, NBYTES) > 0, NULL);
    CHECK_EQ(blosc2_schunk_decompress_chunk(schunk, 0, data, NBYTES), NBYTES, NULL);
    pthread_testcancel();
  }
  pthread_cleanup_pop(1);
  return NULL;
}

static void cancelled_threads(void) {
  for (int round = 0; round < 40; round++) {
    blosc2_schunk *schunk = new_frame(round % 2 == 0 ? path : NULL, (int16_t)(1 + round % 3), NULL);
    CHECK(schunk != NULL);
    pthread_t user;
    CHECK_EQ(pthread_create(&user, NULL, user_of, schunk), 0);
    usleep((useconds_t)(137 * round));
    CHECK_EQ(pthread_cancel(user), 0);
    void *result = NULL;
    CHECK_EQ(pthread_join(user, &result), 0);
    CHECK(result == PTHREAD_CANCELED);
    const int64_t nchunks = schunk->nchunks;
    uint8_t *data = wave(NBYTES);
    CHECK_EQ(blosc2_schunk_append_buffer(schunk, data, NBYTES), nchunks + 1);
    free(data);
    CHECK_EQ(blosc2_schunk_free(schunk), 0);
  }
}

static volatile bool leaves;
static jmp_buf place;

static int ending(blosc2_prefilter_params *params) {
  if (leaves) {
    pthread_exit(NULL);
  }
  memset(params->output, 1, (size_t)params->output_size);
  return 0;
}

static int jumping(blosc2_prefilter_params *params) {
  if (leaves) {
    longjmp(place, 1);
  }
  memset(params->output, 1, (size_t)params->output_size);
  return 0;
}

/* A handle works on after a call whose prefilter has wanted to end the thread: the call is an error. */
static void *append_and_end(void *schunk) {
  uint8_t *data = wave(NBYTES);
  leaves = true;
  CHECK(blosc2_schunk_append_buffer(schunk, data, NBYTES) < 0, NULL);
  leaves = false;
  CHECK_EQ(blosc2_schunk_append_buffer(schunk, data, NBYTES), 1, NULL);
  free(data);
  return schunk;
}

static void threads_that_end_in_a_callback(void) {
  for (int16_t nthreads = 1; nthreads <= 4; nthreads++) {
    blosc2_schunk *schunk = new_frame(nthreads % 2 == 0 ? path : NULL, nthreads, ending);
    pthread_t user;
    CHECK_EQ(pthread_create(&user, NULL, append_and_end, schunk), 0);
    void *result = NULL;
    CHECK_EQ(pthread_join(user, &result), 0);
    CHECK(result == schunk);
    uint8_t *data = wave(NBYTES);
    CHECK_EQ(blosc2_schunk_append_buffer(schunk, data, NBYTES), 2);
    free(data);
    CHECK_EQ(blosc2_schunk_free(schunk), 0);
  }
}

/* Whether an append did not return. */
static bool append_and_jump(blosc2_schunk *schunk, const uint8_t *data) {
  if (setjmp(place) != 0) {
    leaves = false;
    return true;
  }
  leaves = true;
  blosc2_schunk_append_buffer(schunk, data, NBYTES);
  return false;
}

/* After a jump the handle can be read and freed. It is not changed, which the call says. */
static void jumps_out_of_a_callback(void) {
  uint8_t *data = wave(NBYTES);
  for (int in_file = 0; in_file < 2; in_file++) {
    blosc2_schunk *schunk = new_frame(in_file ? path : NULL, 1, jumping);
    CHECK_EQ(blosc2_schunk_append_buffer(schunk, data, NBYTES), 1);
    CHECK(append_and_jump(schunk, data));
    CHECK(blosc2_schunk_append_buffer(schunk, data, NBYTES) < 0);
    CHECK_EQ(blosc2_schunk_decompress_chunk(schunk, 0, data, NBYTES), NBYTES);
    CHECK_EQ(data[NBYTES - 1], 1);
    CHECK_EQ(blosc2_schunk_free(schunk), 0);
    if (in_file) {
      blosc2_schunk *again = blosc2_schunk_open(path);
      CHECK(again != NULL);
      CHECK_EQ(again->nchunks, 1);
      CHECK_EQ(blosc2_schunk_decompress_chunk(again, 0, data, NBYTES), NBYTES);
      CHECK_EQ(blosc2_schunk_free(again), 0);
    }
  }
  free(data);
}

static int thirds(blosc2_prefilter_params *params) {
  double *to = (double *)params->output;
  for (int i = 0; i < params->output_size / 8; i++) {
    to[i] = 1.0 / (3.0 + params->output_offset + i);
  }
  return 0;
}

/* The mean of cells, ZFP's accuracy and a prefilter round as the caller does, however many threads there are. */
static void rounding_of_workers(void) {
  static const int modes[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
  static float items[512 * 512];
  for (int i = 0; i < 512 * 512; i++) {
    items[i] = (float)(i % 977) / 7.0f + (float)(i % 31) / 3.0f;
  }
  for (int what = 0; what < 3; what++) {
    for (size_t mode = 0; mode < sizeof modes / sizeof *modes; mode++) {
      uint8_t *chunks[2];
      int lengths[2];
      for (int many = 0; many < 2; many++) {
        blosc2_cparams cparams = BLOSC2_CPARAMS_DEFAULTS;
        blosc2_prefilter_params params = {0};
        cparams.typesize = what == 2 ? 8 : 4;
        cparams.nthreads = many ? 4 : 1;
        if (what == 0) {
          cparams.filters[4] = BLOSC_FILTER_NDMEAN;
          cparams.filters_meta[4] = 4;
        } else if (what == 1) {
          cparams.compcode = BLOSC_CODEC_ZFP_FIXED_ACCURACY;
          cparams.compcode_meta = (uint8_t)-1;
          memset(cparams.filters, 0, sizeof cparams.filters);
        } else {
          cparams.prefilter = thirds;
          cparams.preparams = &params;
        }
        const int64_t shape[] = {512, what == 2 ? 256 : 512};
        const int32_t chunk[] = {512, (int32_t)shape[1]}, block[] = {64, 64};
        blosc2_storage storage = {.contiguous = true, .cparams = &cparams};
        b2nd_context_t *ctx = b2nd_create_ctx(&storage, 2, shape, chunk, block, NULL, 0, NULL, 0);
        b2nd_array_t *array = NULL;
        fesetround(modes[mode]);
        CHECK_EQ(b2nd_from_cbuffer(ctx, &array, items, sizeof items), 0);
        CHECK_EQ(fegetround(), modes[mode]);
        fesetround(FE_TONEAREST);
        uint8_t *made = NULL;
        bool needs_free = false;
        lengths[many] = blosc2_schunk_get_chunk(array->sc, 0, &made, &needs_free);
        CHECK(lengths[many] > 0);
        chunks[many] = reserve((size_t)lengths[many]);
        memcpy(chunks[many], made, (size_t)lengths[many]);
        if (needs_free) {
          free(made);
        }
        b2nd_free(array);
        b2nd_free_ctx(ctx);
      }
      CHECK_EQ(lengths[0], lengths[1]);
      CHECK_BYTES(chunks[0], chunks[1], lengths[0]);
      free(chunks[0]);
      free(chunks[1]);
    }
  }
}

/* Where there are no keys any more, all goes on as it did, on each thread. */
static void *append_and_read(void *schunk) {
  uint8_t *data = wave(NBYTES), *back = reserve(NBYTES);
  CHECK(blosc2_schunk_append_buffer(schunk, data, NBYTES) > 0, NULL);
  CHECK_EQ(blosc2_schunk_decompress_chunk(schunk, 0, back, NBYTES), NBYTES, NULL);
  CHECK_BYTES(back, data, NBYTES, NULL);
  CHECK_EQ(blosc2_schunk_get_slice_buffer(schunk, 10, 1000, back), 0, NULL);
  free(data);
  free(back);
  return NULL;
}

static void no_keys_left(void) {
  pthread_key_t key;
  while (pthread_key_create(&key, NULL) == 0) {
  }
  blosc2_schunk *schunk = new_frame(path, 2, NULL);
  pthread_t users[8];
  for (int i = 0; i < 8; i++) {
    CHECK_EQ(pthread_create(&users[i], NULL, append_and_read, schunk), 0);
  }
  for (int i = 0; i < 8; i++) {
    CHECK_EQ(pthread_join(users[i], NULL), 0);
  }
  append_and_read(schunk);
  CHECK_EQ(blosc2_schunk_free(schunk), 0);
}

int main(int argc, char **argv) {
  snprintf(path, sizeof path, "surroundings-%d.b2frame", (int)getpid());
  /* First, before the library has its key. */
  if (argc > 1 && strcmp(argv[1], "without-keys") == 0) {
    RUN(no_keys_left);
    blosc2_remove_urlpath(path);
    return finish();
  }
  blosc2_init();
  RUN(cancelled_threads);
  RUN(threads_that_end_in_a_callback);
  RUN(jumps_out_of_a_callback);
  RUN(rounding_of_workers);
  blosc2_destroy();
  blosc2_remove_urlpath(path);
  return finish();
}
