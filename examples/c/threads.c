/* Threads share one super-chunk: some read it while another appends. This library alone allows it; with another each thread needs a handle. */
#include <blosc2.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

/* Ends the program where something is not as it should be. */
#define CHECK(is_right)                                                \
  do {                                                                 \
    if (!(is_right)) {                                                 \
      fprintf(stderr, "line %d: not so: %s\n", __LINE__, #is_right); \
      return 1;                                                        \
    }                                                                  \
  } while (0)

enum { NITEMS = 10000, NCHUNKS = 200, READERS = 3 };
static blosc2_schunk *schunk;
static atomic_int written;

/* Appends chunks: all items of each are its number. */
static void *append(void *unused) {
  static int32_t items[NITEMS];
  for (int n = 0; n < NCHUNKS; n++) {
    for (int i = 0; i < NITEMS; i++) items[i] = n;
    if (blosc2_schunk_append_buffer(schunk, items, sizeof items) != n + 1) return schunk;
    atomic_store(&written, n + 1);
  }
  return unused;
}

/* Reads the newest chunk until the last is there. Gives something else than NULL if a chunk is wrong. */
static void *follow(void *unused) {
  int32_t items[NITEMS];
  int n;
  do {
    n = atomic_load(&written);
    if (n == 0) continue;
    if (blosc2_schunk_decompress_chunk(schunk, n - 1, items, sizeof items) != sizeof items) return schunk;
    if (items[0] != n - 1 || items[NITEMS - 1] != n - 1) return schunk;
  } while (n < NCHUNKS);
  return unused;
}

int main(void) {
  blosc2_init();
  blosc2_cparams cparams = BLOSC2_CPARAMS_DEFAULTS;
  cparams.typesize = sizeof(int32_t);
  blosc2_storage storage = BLOSC2_STORAGE_DEFAULTS;
  storage.cparams = &cparams;
  schunk = blosc2_schunk_new(&storage);
  CHECK(schunk != NULL);

  pthread_t writer, readers[READERS];
  CHECK(pthread_create(&writer, NULL, append, NULL) == 0);
  for (int i = 0; i < READERS; i++) CHECK(pthread_create(&readers[i], NULL, follow, NULL) == 0);
  void *wrong;
  CHECK(pthread_join(writer, &wrong) == 0 && wrong == NULL);
  for (int i = 0; i < READERS; i++) CHECK(pthread_join(readers[i], &wrong) == 0 && wrong == NULL);
  printf("%lld chunks\n", (long long)schunk->nchunks);
  blosc2_schunk_free(schunk);
  blosc2_destroy();
  return 0;
}
