/* Several changes of a file, of which all are made or none. This library alone has transactions: its header is oxiblosc.h. */
#include <oxiblosc.h>
#include <stdio.h>

/* Ends the program where something is not as it should be. */
#define CHECK(is_right)                                                \
  do {                                                                 \
    if (!(is_right)) {                                                 \
      fprintf(stderr, "line %d: not so: %s\n", __LINE__, #is_right); \
      return 1;                                                        \
    }                                                                  \
  } while (0)

static int32_t items[10000];

int main(void) {
  const char *path = "transaction.b2frame";
  blosc2_init();
  blosc2_remove_urlpath(path);
  blosc2_cparams cparams = BLOSC2_CPARAMS_DEFAULTS;
  cparams.typesize = sizeof(int32_t);
  blosc2_storage storage = BLOSC2_STORAGE_DEFAULTS;
  storage.contiguous = true;
  storage.urlpath = (char *)path;
  storage.cparams = &cparams;
  blosc2_schunk *schunk = blosc2_schunk_new(&storage);
  CHECK(schunk != NULL);
  CHECK(blosc2_schunk_append_buffer(schunk, items, sizeof items) == 1);

  /* Until the commit nobody else sees the changes, and a program that dies has made none. */
  CHECK(oxiblosc_schunk_begin(schunk) == 0);
  CHECK(blosc2_schunk_append_buffer(schunk, items, sizeof items) == 2);
  CHECK(blosc2_vlmeta_add(schunk, "last", (uint8_t *)"2", 1, NULL) >= 0);
  blosc2_schunk *other = blosc2_schunk_open(path);
  CHECK(other != NULL && other->nchunks == 1);
  blosc2_schunk_free(other);
  CHECK(oxiblosc_schunk_commit(schunk) == 0);

  /* Or they are forgotten. */
  CHECK(oxiblosc_schunk_begin(schunk) == 0);
  CHECK(blosc2_schunk_delete_chunk(schunk, 0) == 1);
  CHECK(oxiblosc_schunk_abandon(schunk) == 0);
  CHECK(schunk->nchunks == 2);
  blosc2_schunk_free(schunk);

  schunk = blosc2_schunk_open(path);
  CHECK(schunk != NULL && schunk->nchunks == 2 && blosc2_vlmeta_exists(schunk, "last") >= 0);
  printf("%lld chunks\n", (long long)schunk->nchunks);
  blosc2_schunk_free(schunk);
  blosc2_remove_urlpath(path);
  blosc2_destroy();
  return 0;
}
