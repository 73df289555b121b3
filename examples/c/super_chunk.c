/* A super-chunk: a series of any length, cut into chunks, here in a file. It grows, is read in part, changed, and opened again. */
#include <blosc2.h>
#include <stdio.h>

/* Ends the program where something is not as it should be. */
#define CHECK(is_right)                                                \
  do {                                                                 \
    if (!(is_right)) {                                                 \
      fprintf(stderr, "line %d: not so: %s\n", __LINE__, #is_right); \
      return 1;                                                        \
    }                                                                  \
  } while (0)

enum { NCHUNKS = 10, NITEMS = 100000 };
static int32_t numbers[NITEMS], some[1000];

int main(void) {
  const char *path = "super_chunk.b2frame";
  blosc2_init();
  blosc2_remove_urlpath(path); /* what an earlier run left: a new frame replaces nothing */
  blosc2_cparams cparams = BLOSC2_CPARAMS_DEFAULTS;
  cparams.typesize = sizeof(int32_t);
  blosc2_storage storage = BLOSC2_STORAGE_DEFAULTS;
  storage.contiguous = true; /* one file; false is a directory with a file for each chunk */
  storage.urlpath = (char *)path; /* NULL is memory */
  storage.cparams = &cparams;

  blosc2_schunk *schunk = blosc2_schunk_new(&storage);
  CHECK(schunk != NULL);
  for (int n = 0; n < NCHUNKS; n++) {
    for (int i = 0; i < NITEMS; i++) numbers[i] = n * NITEMS + i;
    CHECK(blosc2_schunk_append_buffer(schunk, numbers, sizeof numbers) == n + 1);
  }

  /* Items 250,000 to 251,000, which are in the third chunk: only its blocks that hold them are decompressed. */
  CHECK(blosc2_schunk_get_slice_buffer(schunk, 250000, 251000, some) == 0);
  CHECK(some[0] == 250000 && some[999] == 250999);
  for (int i = 0; i < 1000; i++) some[i] = -1;
  CHECK(blosc2_schunk_set_slice_buffer(schunk, 250000, 251000, some) == 0);
  CHECK(blosc2_schunk_delete_chunk(schunk, 0) == NCHUNKS - 1);
  printf("%lld bytes became %lld\n", (long long)schunk->nbytes, (long long)schunk->cbytes);
  CHECK(blosc2_schunk_free(schunk) == 0);

  schunk = blosc2_schunk_open(path);
  CHECK(schunk != NULL && schunk->nchunks == NCHUNKS - 1);
  CHECK(blosc2_schunk_decompress_chunk(schunk, 1, numbers, sizeof numbers) == sizeof numbers);
  CHECK(numbers[49999] == 249999 && numbers[50000] == -1 && numbers[51000] == 251000);
  blosc2_schunk_free(schunk);
  blosc2_remove_urlpath(path);
  blosc2_destroy();
  return 0;
}
