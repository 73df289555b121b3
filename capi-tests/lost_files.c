/* Changes through a handle whose file something else cut, overwrote or removed. Each is either an error that leaves the
 * handle as it was, or in the file when that is opened again. The reference changes its handle and returns an error, or
 * returns success and leaves a file that does not open, so this is run against our library only. */
#include "scene.h"

/* All that can be seen of a super-chunk. */
typedef struct {
  int64_t nchunks, nbytes;
  int64_t chunks[8]; /* the second item of each chunk, or the error when it is read */
  int16_t nmetalayers, nvlmetalayers;
  int note_len, fixed_len;
  uint8_t note[64], fixed[64];
} state;

static state look(blosc2_schunk *schunk) {
  state seen = {.nchunks = schunk->nchunks, .nbytes = schunk->nbytes, .nmetalayers = schunk->nmetalayers,
                .nvlmetalayers = schunk->nvlmetalayers, .note_len = -1, .fixed_len = -1};
  for (int i = 0; i < schunk->nchunks && i < 8; i++) {
    int64_t items[SCENE_ITEMS];
    const int nbytes = blosc2_schunk_decompress_chunk(schunk, i, items, SCENE_NBYTES);
    seen.chunks[i] = nbytes == SCENE_NBYTES ? items[1] : -1;
  }
  uint8_t *bytes = NULL;
  int32_t nbytes = 0;
  if (blosc2_vlmeta_get(schunk, "note", &bytes, &nbytes) >= 0) {
    seen.note_len = nbytes;
    memcpy(seen.note, bytes, (size_t)nbytes);
    free(bytes);
  }
  if (blosc2_meta_get(schunk, "fixed", &bytes, &nbytes) >= 0) {
    seen.fixed_len = nbytes;
    memcpy(seen.fixed, bytes, (size_t)nbytes);
    free(bytes);
  }
  return seen;
}

static void is_seen(const state *seen, const state *expected) {
  CHECK_EQ(seen->nchunks, expected->nchunks);
  CHECK_EQ(seen->nbytes, expected->nbytes);
  CHECK_EQ(seen->nmetalayers, expected->nmetalayers);
  CHECK_EQ(seen->nvlmetalayers, expected->nvlmetalayers);
  CHECK_EQ(seen->note_len, expected->note_len);
  CHECK_BYTES(seen->note, expected->note, sizeof seen->note);
  CHECK_EQ(seen->fixed_len, expected->fixed_len);
  CHECK_BYTES(seen->fixed, expected->fixed, sizeof seen->fixed);
  for (int i = 0; i < seen->nchunks && i < 8; i++) {
    CHECK_EQ(seen->chunks[i], expected->chunks[i]);
  }
}

typedef enum {
  VLMETA_ADD,
  VLMETA_UPDATE,
  VLMETA_DELETE,
  META_ADD,
  META_UPDATE,
  APPEND_BUFFER,
  APPEND_CHUNK,
  INSERT_CHUNK,
  UPDATE_CHUNK,
  DELETE_CHUNK,
  REORDER,
  SET_SLICE,
  FILL_SPECIAL,
  CHANGES
} change;

static const char *const change_names[] = {
    "vlmeta_add",   "vlmeta_update", "vlmeta_delete", "meta_add",  "meta_update",      "append_buffer",
    "append_chunk", "insert_chunk",  "update_chunk",  "delete_chunk", "reorder_offsets", "set_slice_buffer",
    "fill_special"};

/* The return code; negative for an error. */
static int64_t apply(blosc2_schunk *schunk, change change, uint8_t *chunk) {
  static uint8_t news[sizeof scene_fixed] = "other words";
  int64_t items[SCENE_ITEMS];
  scene_items(70, items);
  int64_t order[] = {2, 0, 1};
  switch (change) {
  case VLMETA_ADD:
    return blosc2_vlmeta_add(schunk, "second", news, sizeof news, NULL);
  case VLMETA_UPDATE:
    return blosc2_vlmeta_update(schunk, "note", news, sizeof news, NULL);
  case VLMETA_DELETE:
    return blosc2_vlmeta_delete(schunk, "note");
  case META_ADD:
    return blosc2_meta_add(schunk, "second", news, sizeof news);
  case META_UPDATE:
    return blosc2_meta_update(schunk, "fixed", news, sizeof news);
  case APPEND_BUFFER:
    return blosc2_schunk_append_buffer(schunk, items, SCENE_NBYTES);
  case APPEND_CHUNK:
    return blosc2_schunk_append_chunk(schunk, chunk, true);
  case INSERT_CHUNK:
    return blosc2_schunk_insert_chunk(schunk, 0, chunk, true);
  case UPDATE_CHUNK:
    return blosc2_schunk_update_chunk(schunk, 0, chunk, true);
  case DELETE_CHUNK:
    return blosc2_schunk_delete_chunk(schunk, 0);
  case REORDER:
    return blosc2_schunk_reorder_offsets(schunk, order);
  case SET_SLICE:
    return blosc2_schunk_set_slice_buffer(schunk, 0, SCENE_ITEMS / 2, items);
  default:
    return blosc2_schunk_fill_special(schunk, SCENE_ITEMS, BLOSC2_SPECIAL_ZERO, SCENE_NBYTES);
  }
}

static void changed(scene *s, loss loss, change change, uint8_t *chunk) {
  CHECK(scene_lose(s, loss));
  const state before = look(s->schunk);
  const int64_t rc = apply(s->schunk, change, chunk);
  const state after = look(s->schunk);
  if (rc < 0) {
    is_seen(&after, &before);
    return;
  }
  blosc2_schunk *again = blosc2_schunk_open(s->path);
  if (again == NULL) {
    CHECK_FAILED("%s returned %lld, and the frame does not open", change_names[change], (long long)rc);
    return;
  }
  const state there = look(again);
  is_seen(&there, &after);
  CHECK_EQ(blosc2_schunk_free(again), 0);
}

static void changes_are_made_or_not(void) {
  int64_t items[SCENE_ITEMS];
  scene_items(71, items);
  static uint8_t chunk[SCENE_NBYTES + BLOSC2_MAX_OVERHEAD];
  blosc2_cparams cparams = BLOSC2_CPARAMS_DEFAULTS;
  cparams.typesize = 8;
  blosc2_context *context = blosc2_create_cctx(cparams);
  CHECK(context != NULL);
  CHECK(blosc2_compress_ctx(context, items, SCENE_NBYTES, chunk, sizeof chunk) > 0);
  blosc2_free_ctx(context);
  for (loss loss = 0; loss < LOSSES; loss++) {
    for (change change = 0; change < CHANGES; change++) {
      const int failures_before = failures();
      FOR_EACH_SCENE(s, changed(&s, loss, change, chunk));
      if (failures() != failures_before) {
        fprintf(stderr, "  %s when it was %s\n", change_names[change], scene_losses[loss]);
      }
    }
  }
}

/* An error leaves the values that programs go on with: the same handle, freed, leaves what was on disk. */
static void freeing_does_not_write(void) {
  for (loss loss = 0; loss < LOSSES; loss++) {
    FOR_EACH_SCENE(s, {
      CHECK(scene_lose(&s, loss));
      const int64_t length = scene_length(s.index);
      CHECK_EQ(blosc2_schunk_free(s.schunk), 0);
      CHECK_EQ(scene_length(s.index), length);
      s.schunk = NULL;
    });
  }
}

int main(void) {
  blosc2_init();
  RUN(changes_are_made_or_not);
  RUN(freeing_does_not_write);
  blosc2_destroy();
  return finish();
}
