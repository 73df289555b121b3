/* A process that has compressed with threads forks, and its child compresses again. */
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "data.h"

enum { NITEMS = 60000, NBYTES = NITEMS * 4 };

static bool round_trip(int16_t nthreads) {
  uint8_t *src = wave(NBYTES);
  uint8_t *back = reserve(NBYTES);
  blosc2_cparams cparams = BLOSC2_CPARAMS_DEFAULTS;
  cparams.typesize = 4;
  cparams.blocksize = 16384;
  cparams.nthreads = nthreads;
  int cbytes;
  uint8_t *chunk = compress_with(cparams, src, NBYTES, &cbytes);
  const bool same = cbytes > 0 && decompress_with(nthreads, chunk, cbytes, back, NBYTES) == NBYTES &&
                    memcmp(back, src, NBYTES) == 0;
  free(chunk);
  free(src);
  free(back);
  return same;
}

/* Runs the round trip in a child; a child that hangs is ended by its alarm and counts as failed. */
static void child_compresses(int16_t nthreads) {
  fflush(stdout);
  const pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    alarm(30);
    _exit(round_trip(nthreads) ? 0 : 1);
  }
  int status = 0;
  CHECK_EQ(waitpid(child, &status, 0), child);
  CHECK(WIFEXITED(status));
  CHECK_EQ(WEXITSTATUS(status), 0);
}

static void before_any_thread(void) {
  child_compresses(1);
  child_compresses(2);
}

static void after_one_thread(void) {
  CHECK(round_trip(1));
  child_compresses(1);
}

static void parent_goes_on(void) {
  CHECK(round_trip(1));
  for (int i = 0; i < 3; i++) {
    child_compresses(1);
    CHECK(round_trip(1));
  }
}

int main(void) {
  blosc2_init();
  RUN(before_any_thread);
  RUN(after_one_thread);
  RUN(parent_goes_on);
  blosc2_destroy();
  return finish();
}
