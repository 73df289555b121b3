/* numbers write|read FILE: a million numbers go into a frame, or come out of it. */
#include <blosc2.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { COUNT = 1000000 };
static int32_t numbers[COUNT], back[COUNT];

static int write_numbers(char *path) {
  blosc2_cparams cparams = BLOSC2_CPARAMS_DEFAULTS;
  blosc2_storage storage = BLOSC2_STORAGE_DEFAULTS;
  blosc2_schunk *schunk;
  int failed;
  cparams.typesize = sizeof(int32_t);
  storage.contiguous = true;
  storage.urlpath = path;
  storage.cparams = &cparams;
  schunk = blosc2_schunk_new(&storage);
  if (schunk == NULL) return 1;
  failed = blosc2_schunk_append_buffer(schunk, numbers, sizeof numbers) != 1;
  return blosc2_schunk_free(schunk) < 0 || failed;
}

static int read_numbers(const char *path) {
  blosc2_schunk *schunk = blosc2_schunk_open(path);
  if (schunk == NULL) return 1;
  if (blosc2_schunk_get_slice_buffer(schunk, 0, COUNT, back) < 0) return 1;
  printf("%lld bytes out of %lld\n", (long long)schunk->nbytes, (long long)schunk->cbytes);
  return blosc2_schunk_free(schunk) < 0 || memcmp(numbers, back, sizeof numbers) != 0;
}

int main(int argc, char **argv) {
  int failed;
  if (argc != 3) return 2;
  for (int i = 0; i < COUNT; i++) numbers[i] = i / 3;
  blosc2_init();
  failed = strcmp(argv[1], "write") == 0 ? write_numbers(argv[2]) : read_numbers(argv[2]);
  blosc2_destroy();
  return failed;
}
