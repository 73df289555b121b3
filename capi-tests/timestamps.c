/* The clock of the library. */
#include "check.h"
#include "data.h"

static void time_passes(void) {
  blosc_timestamp_t start, end;
  blosc_set_timestamp(&start);
  do {
    blosc_set_timestamp(&end);
  } while (blosc_elapsed_nsecs(start, end) < 1e6);
  CHECK(blosc_elapsed_nsecs(start, end) >= 1e6);
  CHECK(blosc_elapsed_secs(start, end) >= 0.001);
  CHECK(blosc_elapsed_secs(start, end) < 60.0);
}

#ifndef _WIN32 /* there the unit is the machine's own */
static void differences_are_exact(void) {
  const blosc_timestamp_t start = {.tv_sec = 100, .tv_nsec = 900000000};
  const blosc_timestamp_t end = {.tv_sec = 102, .tv_nsec = 150000000};
  CHECK(blosc_elapsed_nsecs(start, end) == 1.25e9);
  CHECK(blosc_elapsed_secs(start, end) > 1.2499999 && blosc_elapsed_secs(start, end) < 1.2500001);
  CHECK(blosc_elapsed_nsecs(start, start) == 0.0);
  CHECK(blosc_elapsed_nsecs(end, start) < 0.0);
}
#endif

int main(void) {
  RUN(time_passes);
#ifndef _WIN32
  RUN(differences_are_exact);
#endif
  return finish();
}
