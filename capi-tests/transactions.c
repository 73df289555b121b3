/* Transactions: changes of a super-chunk and of an array that are committed together, or forgotten. */
#include <unistd.h>

#include "b2nd.h"
#include "check.h"
#include "data.h"
#include "oxiblosc.h"

enum { NITEMS = 5000, NBYTES = NITEMS * 4 };

/* Where super-chunks are kept. */
static const struct place {
  const char *path;
  bool contiguous;
} places[] = {{NULL, false}, {NULL, true}, {"transactions.b2frame", true}, {"transactions.dir", false}};
enum { PLACES = sizeof places / sizeof *places };

static blosc2_storage storage_at(const struct place *place, blosc2_cparams *cparams) {
  blosc2_storage storage = BLOSC2_STORAGE_DEFAULTS;
  storage.contiguous = place->contiguous;
  storage.urlpath = (char *)place->path;
  storage.cparams = cparams;
  if (place->path != NULL) {
    blosc2_remove_urlpath(place->path);
  }
  return storage;
}

/* A super-chunk with two chunks, the second of which begins with `NITEMS`. */
static blosc2_schunk *two_chunks(const struct place *place) {
  blosc2_cparams cparams = BLOSC2_CPARAMS_DEFAULTS;
  cparams.typesize = 4;
  blosc2_storage storage = storage_at(place, &cparams);
  blosc2_schunk *schunk = blosc2_schunk_new(&storage);
  int32_t *items = ramp(3 * NITEMS);
  for (int i = 0; schunk != NULL && i < 2; i++) {
    blosc2_schunk_append_buffer(schunk, items + i * NITEMS, NBYTES);
  }
  free(items);
  return schunk;
}

/* Makes some changes; gives the first code that is an error. */
static int64_t change(blosc2_schunk *schunk) {
  int32_t *items = ramp(4 * NITEMS);
  int64_t rc = blosc2_schunk_append_buffer(schunk, items + 3 * NITEMS, NBYTES);
  rc = rc < 0 ? rc : blosc2_schunk_delete_chunk(schunk, 0);
  rc = rc < 0 ? rc : blosc2_schunk_set_slice_buffer(schunk, NITEMS - 10, NITEMS + 10, items);
  rc = rc < 0 ? rc : blosc2_vlmeta_add(schunk, "note", (uint8_t *)items, 100, NULL);
  free(items);
  return rc;
}

/* The items at the seam of both chunks, and how many vlmetalayers there are. */
static void is(blosc2_schunk *schunk, int32_t before, int32_t behind, int vlmetalayers) {
  int32_t items[2];
  CHECK_EQ(schunk->nchunks, 2);
  CHECK_EQ(schunk->nvlmetalayers, vlmetalayers);
  CHECK_EQ(blosc2_schunk_get_slice_buffer(schunk, NITEMS - 1, NITEMS + 1, items), 0);
  CHECK_EQ(items[0], before);
  CHECK_EQ(items[1], behind);
}

static void committed_or_abandoned(void) {
  for (int i = 0; i < PLACES; i++) {
    blosc2_schunk *schunk = two_chunks(&places[i]);
    CHECK(schunk != NULL);
    CHECK_EQ(oxiblosc_schunk_begin(schunk), 0);
    CHECK(change(schunk) >= 0);
    is(schunk, 9, 10, 1);
    CHECK_EQ(oxiblosc_schunk_abandon(schunk), 0);
    is(schunk, NITEMS - 1, NITEMS, 0);
    CHECK_EQ(oxiblosc_schunk_begin(schunk), 0);
    CHECK(change(schunk) >= 0);
    if (places[i].path != NULL) {
      /* Others see nothing of it yet. */
      blosc2_schunk *other = blosc2_schunk_open(places[i].path);
      CHECK(other != NULL);
      is(other, NITEMS - 1, NITEMS, 0);
      CHECK_EQ(oxiblosc_schunk_commit(schunk), 0);
      CHECK_EQ(blosc2_schunk_refresh(other), 1);
      is(other, 9, 10, 1);
      blosc2_schunk_free(other);
    } else {
      CHECK_EQ(oxiblosc_schunk_commit(schunk), 0);
    }
    is(schunk, 9, 10, 1);
    /* Freed in the middle of another one. */
    CHECK_EQ(oxiblosc_schunk_begin(schunk), 0);
    CHECK_EQ(blosc2_schunk_delete_chunk(schunk, 0), 1);
    blosc2_schunk_free(schunk);
    if (places[i].path != NULL) {
      schunk = blosc2_schunk_open(places[i].path);
      CHECK(schunk != NULL);
      is(schunk, 9, 10, 1);
      blosc2_schunk_free(schunk);
      blosc2_remove_urlpath(places[i].path);
    }
  }
}

static void misuse(void) {
  blosc2_schunk *schunk = two_chunks(&places[1]);
  CHECK(schunk != NULL);
  CHECK_EQ(oxiblosc_schunk_begin(NULL), BLOSC2_ERROR_NULL_POINTER);
  CHECK_EQ(oxiblosc_schunk_commit(schunk), BLOSC2_ERROR_INVALID_PARAM);
  CHECK_EQ(oxiblosc_schunk_abandon(schunk), BLOSC2_ERROR_INVALID_PARAM);
  CHECK_EQ(oxiblosc_schunk_begin(schunk), 0);
  CHECK_EQ(oxiblosc_schunk_begin(schunk), BLOSC2_ERROR_INVALID_PARAM);
  CHECK_EQ(blosc2_schunk_delete_chunk(schunk, 7), BLOSC2_ERROR_INVALID_PARAM);
  CHECK_EQ(oxiblosc_schunk_commit(schunk), 0);
  is(schunk, NITEMS - 1, NITEMS, 0);
  blosc2_schunk_free(schunk);
}

static void changed_by_others(void) {
  blosc2_schunk *schunk = two_chunks(&places[2]);
  CHECK(schunk != NULL);
  blosc2_schunk *other = blosc2_schunk_open(places[2].path);
  CHECK(other != NULL);
  CHECK_EQ(oxiblosc_schunk_begin(schunk), 0);
  CHECK(change(schunk) >= 0);
  CHECK_EQ(blosc2_schunk_delete_chunk(other, 1), 1);
  CHECK_EQ(oxiblosc_schunk_commit(schunk), BLOSC2_ERROR_LOCK);
  CHECK_EQ(blosc2_schunk_delete_chunk(schunk, 0), BLOSC2_ERROR_LOCK);
  CHECK_EQ(oxiblosc_schunk_abandon(schunk), 0);
  CHECK_EQ(blosc2_schunk_refresh(schunk), 1);
  CHECK_EQ(schunk->nchunks, 1);
  blosc2_schunk_free(other);
  blosc2_schunk_free(schunk);
  blosc2_remove_urlpath(places[2].path);
}

static void arrays(void) {
  const int64_t shape[] = {40, 30}, other_shape[] = {60, 20}, start[] = {50, 10}, stop[] = {60, 20}, ten[] = {10, 10};
  const int32_t chunks[] = {20, 20}, blocks[] = {10, 10};
  int32_t *items = ramp(100);
  for (int i = 0; i < PLACES; i++) {
    blosc2_cparams cparams = BLOSC2_CPARAMS_DEFAULTS;
    cparams.typesize = 4;
    blosc2_storage storage = storage_at(&places[i], &cparams);
    b2nd_context_t *ctx = b2nd_create_ctx(&storage, 2, shape, chunks, blocks, NULL, 0, NULL, 0);
    b2nd_array_t *array = NULL;
    CHECK_EQ(b2nd_zeros(ctx, &array), 0);
    for (int commits = 0; commits < 2; commits++) {
      CHECK_EQ(oxiblosc_schunk_begin(array->sc), 0);
      CHECK_EQ(b2nd_resize(array, other_shape, NULL), 0);
      CHECK_EQ(b2nd_set_slice_cbuffer(items, ten, 400, start, stop, array), 0);
      int32_t back[100];
      CHECK_EQ(b2nd_get_slice_cbuffer(array, start, stop, back, ten, 400), 0);
      CHECK_BYTES(back, items, 400);
      CHECK_EQ(commits ? oxiblosc_schunk_commit(array->sc) : oxiblosc_schunk_abandon(array->sc), 0);
      CHECK(b2nd_refresh(array) >= 0);
      CHECK_EQ(array->shape[0], commits ? 60 : 40);
      CHECK_EQ(array->shape[1], commits ? 20 : 30);
    }
    b2nd_free(array);
    b2nd_free_ctx(ctx);
    if (places[i].path != NULL) {
      blosc2_remove_urlpath(places[i].path);
    }
  }
  free(items);
}

int main(void) {
  blosc2_init();
  RUN(committed_or_abandoned);
  RUN(misuse);
  RUN(changed_by_others);
  RUN(arrays);
  blosc2_destroy();
  return finish();
}
