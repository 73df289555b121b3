/* Views of arrays: the super-chunk of a view has dimensions of its own, and shows the chunks of the array and what is changed
 * through it. (The reference passes but for frames, where it refuses to add a metalayer through a view.) */
#include "check.h"

#include <b2nd.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 40 };

/* An array of 1 x 40 x 40 items in chunks of 1 x 20 x 20, item after item one more. */
static b2nd_array_t *make(bool contiguous) {
  static int32_t items[ROWS * ROWS];
  for (int i = 0; i < ROWS * ROWS; i++) {
    items[i] = i;
  }
  blosc2_cparams cparams = BLOSC2_CPARAMS_DEFAULTS;
  cparams.typesize = 4;
  blosc2_storage storage = {.cparams = &cparams, .contiguous = contiguous};
  int64_t shape[] = {1, ROWS, ROWS};
  int32_t chunkshape[] = {1, 20, 20}, blockshape[] = {1, 10, 10};
  b2nd_context_t *ctx = b2nd_create_ctx(&storage, 3, shape, chunkshape, blockshape, "<i4", 0, NULL, 0);
  b2nd_array_t *array = NULL;
  CHECK_EQ(b2nd_from_cbuffer(ctx, &array, items, sizeof items), 0, NULL);
  b2nd_free_ctx(ctx);
  return array;
}

/* The chunks that have items of rows 5 to 15 and columns `from` to 30 of a view with `ndim` dimensions. */
static void chunks_of_slice(b2nd_array_t *view, int ndim, int64_t from) {
  int64_t start[4] = {0}, stop[4] = {1, 1, 1, 1}, *chunks = NULL;
  start[ndim - 2] = 5, stop[ndim - 2] = 15;
  start[ndim - 1] = from, stop[ndim - 1] = 30;
  int64_t count = blosc2_get_slice_nchunks(view->sc, start, stop, &chunks);
  CHECK_EQ(count, from < 20 ? 2 : 1);
  CHECK_EQ(chunks[count - 1], 1);
  free(chunks);
}

static void its_own_dimensions(void) {
  b2nd_array_t *array = make(false), *squeezed = NULL, *expanded = NULL;
  CHECK_EQ(b2nd_squeeze(array, &squeezed), 0);
  bool axis[] = {true, false, false, false};
  CHECK_EQ(b2nd_expand_dims(array, &expanded, axis, 4), 0);
  CHECK_EQ(squeezed->ndim, 2);
  CHECK_EQ(expanded->ndim, 4);
  for (int64_t from = 0; from < 30; from += 25) {
    chunks_of_slice(array, 3, from);
    chunks_of_slice(squeezed, 2, from);
    chunks_of_slice(expanded, 4, from);
  }
  CHECK_EQ(b2nd_free(expanded), 0);
  CHECK_EQ(b2nd_free(squeezed), 0);
  CHECK_EQ(b2nd_free(array), 0);
}

/* As a program asks for names: with room for as many as the super-chunk says there are. */
static int names_of(blosc2_schunk *schunk, char **names) {
  int16_t room = schunk->nvlmetalayers;
  memset(names, 0, BLOSC2_MAX_VLMETALAYERS * sizeof *names);
  int count = blosc2_vlmeta_get_names(schunk, names);
  CHECK(count <= room, -1);
  CHECK(names[room] == NULL, -1);
  return count;
}

static void what_is_changed_through_it(bool contiguous) {
  b2nd_array_t *array = make(contiguous), *view = NULL;
  CHECK_EQ(b2nd_squeeze(array, &view), 0);
  static char *names[BLOSC2_MAX_VLMETALAYERS];
  uint8_t content[] = "content";
  CHECK_EQ(names_of(view->sc, names), 0);
  CHECK_EQ(blosc2_vlmeta_add(view->sc, "first", content, sizeof content, NULL), 0);
  CHECK_EQ(view->sc->nvlmetalayers, 1);
  CHECK_EQ(blosc2_vlmeta_add(view->sc, "second", content, sizeof content, NULL), 1);
  CHECK_EQ(view->sc->nvlmetalayers, 2);
  CHECK_EQ(names_of(view->sc, names), 2);
  CHECK_STR(names[0], "first");
  CHECK_STR(names[1], "second");
  CHECK_EQ(blosc2_vlmeta_delete(view->sc, "first"), 1);
  CHECK_EQ(names_of(view->sc, names), 1);
  CHECK_STR(names[0], "second");

  /* What is changed through the array writes nothing behind the room for the names. */
  CHECK(blosc2_vlmeta_add(array->sc, "third", content, sizeof content, NULL) >= 0);
  CHECK(names_of(view->sc, names) >= 1);

  int32_t chunk[20 * 20] = {0};
  int64_t before = view->sc->nchunks;
  CHECK_EQ(blosc2_schunk_append_buffer(view->sc, chunk, sizeof chunk), before + 1);
  CHECK_EQ(view->sc->nchunks, before + 1);
  CHECK_EQ(b2nd_free(view), 0);
  CHECK_EQ(b2nd_free(array), 0);
}

static void what_is_changed_in_chunks(void) { what_is_changed_through_it(false); }
static void what_is_changed_in_a_frame(void) { what_is_changed_through_it(true); }

int main(void) {
  blosc2_init();
  RUN(its_own_dimensions);
  RUN(what_is_changed_in_chunks);
  RUN(what_is_changed_in_a_frame);
  blosc2_destroy();
  return finish();
}
